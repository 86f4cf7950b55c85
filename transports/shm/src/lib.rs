//! The shared-memory transport of Lapis: tasks of one machine exchange messages through memory that
//! they share.
//!
//! # Overview
//!
//! Every task makes one *segment*: an anonymous file (`memfd`, sealed against shrinking) with a
//! header, the lanes in which others send to it, a ring for senders beyond the lanes, and a heap.
//! The file's descriptor travels over an abstract socket, so that nothing is in the file system,
//! the size of `/dev/shm` does not matter, and nothing stays behind whatever ends the tasks.
//!
//! * The lane of one sender to one receiver (the crate `lapis-lanes`). A message of up to 184 bytes
//!   is one slot whose first word, stored last, says that it is there; longer ones lie in a data
//!   ring beside the lane, and the receiver reads both in place. The code of both is core's, which
//!   sends and receives there itself.
//! * `mailbox_lines`: a line that a pair of tasks writes alternately: whoever answers at once uses
//!   no lane.
//! * `mpsc_ring`: the ring for senders number 65 and later; a sender that dies leaves no hole that
//!   blocks others.
//! * `wake`, `waiter`: sleeping. Senders learn from one load that nobody sleeps; the store of the
//!   message and that load are kept in order by the sleeper's `membarrier(2)`, or by fences in
//!   interrupt mode.
//! * `handshake`, `address`, `connect`: getting to know peers. Greetings carry an authenticator
//!   keyed with the job's secret, and the kernel vouches for the user.
//! * `contact`: in large jobs, getting to know a peer when one of the two needs the other, without
//!   its help: its memory is opened through the kernel's list of its descriptors.
//! * `peer`: what is known of a peer, and of callers that may become one.
//! * `outbox`, `inbox`: the data path; `transport` holds one of each. A receiver with more than
//!   eight senders reads a bitmap instead of every lane.
//! * Whether the bytes of long messages go through the caches or past them, as the receiver's core
//!   is near or far, says `lapis-lanes`, too.
//! * Long puts and gets go by cross-memory attach (the crate `lapis-cross-memory`), which is tried
//!   out on every peer before it is promised.
//!
//! Peers are trusted to be of the job, not to be sane: what is read from shared memory is masked or
//! checked before it is used, only atomics and raw pointers touch it, and nonsense makes the sender
//! a dead peer. The one exception is the slice that a packing callback is handed, which the
//! receiver does not read before it is published.
//!
//! # Capabilities
//!
//! Active messages (short, packed), zero-copy put and get by cross-memory attach to any address,
//! allocated memory that peers load from and store to directly, sleeping. Reliable, ordered per
//! peer, reports the death of peers (by pidfd: within milliseconds; after the last message that the
//! dead task had completed). A peer that closes its end counts as dead for those who have not
//! disconnected it. Where cross-memory attach is refused, `PUT_ZCOPY`, `GET_ZCOPY` and
//! `ANY_ADDRESS` are missing from the attributes and the note says why.
//!
//! Long active messages go in packets (`FAST_PACKETS`), both sides copying at the same time: that
//! takes half as long as the receiver's `process_vm_readv`, which has to pin each page. Puts and
//! gets, for which the other side need do nothing, go by cross-memory attach.
//!
//! # Limits
//!
//! * Messages up to 16 KiB; a lane holds 64 messages and 4 MiB of long ones (2 MiB from 10 tasks
//!   on, 1 MiB from 18 on). Pages come into being as they are used: messages below 1 KiB go round
//!   in the first 256 KiB, those below 17 KiB in the first 2 MiB (of 1 MiB: in all of it), and only
//!   packets of longer messages use the rest.
//! * 64 senders with lanes and about 4000 others per receiver. Tasks must share host, network
//!   namespace and user.
//! * One descriptor per peer and six of our own; while connections are made, a few more.
//! * One segment of address space per peer: 261 MiB (less with shorter rings) and the heap. Where
//!   address space is limited both shrink, and where a peer's heap does not fit its memory is
//!   reached by messages and cross-memory attach only.
//! * The wake-up descriptor stirs for arrivals after `arm` only, in interrupt mode as well.
//! * Cross-memory attach names a process by its number. Before a copy, though at most once in a
//!   millisecond, we ask whether the peer's process has ended: by its pidfd, or, where descriptors
//!   are too scarce for one, by reading its nonce. Only if the process ends, is waited for, and its
//!   number is given to another process of the same user, all within that time, is that one hit.
//!   The kernel gives out all other numbers first, which takes longer.
//! * Where descriptors or memory run out at a first contact, what is sent waits until there are
//!   some; a warning says so once.
//! * After `fork` the child must not use the parent's instance; dropping it there is harmless.
//!
//! # Environment
//!
//! `LAPIS_SHM_HEAP`, `LAPIS_SHM_COPY` and `LAPIS_SHM_CONTACT`: see `declaration.rs`;
//! `LAPIS_SHM_COPIES`: see the crate `lapis-copies`.
//!
//! # Not tested
//!
//! The model checker has seen the shared ring with one living and one dying sender in its first
//! lap, not going round.
//!
//! Tasks in different process-number namespaces; kernels before 6.5 (no SO_PEERPIDFD) and without
//! membarrier; 32-bit hosts; machines with several memory nodes; other processors than x86-64.

#![allow(
    clippy::disallowed_types,
    reason = "the atomics come from lapis_core::sync; the lint sees through it"
)]
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod mpsc_ring;
mod wake;

#[cfg(not(loom))]
mod address;
#[cfg(not(loom))]
mod connect;
#[cfg(not(loom))]
mod contact;
#[cfg(not(loom))]
mod declaration;
#[cfg(not(loom))]
mod handshake;
#[cfg(not(loom))]
mod heap;
#[cfg(not(loom))]
mod inbox;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod mailbox_lines;
#[cfg(not(loom))]
mod outbox;
#[cfg(not(loom))]
mod peer;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod sys;
#[cfg(not(loom))]
mod transport;
#[cfg(not(loom))]
mod waiter;

#[cfg(all(test, loom))]
mod loom_tests;

#[cfg(not(loom))]
pub use transport::Shm;
#[cfg(not(loom))]
pub use waiter::ShmWaiter;

#[cfg(not(loom))]
lapis_core::export_transport!(Shm, "shm", "0.1.0");
