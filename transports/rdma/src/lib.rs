//! The RDMA transport of Lapis: reliable messages over libfabric, from its tcp provider to real
//! verbs.
//!
//! libfabric is loaded when the transport is opened, not linked, so that the plugin is there on
//! every machine and says in one line what is missing.
//!
//! | file | concern |
//! |---|---|
//! | `library.rs` | loading libfabric; its few exported functions |
//! | `declaration.rs` | cost, usage and variables |
//! | `provider.rs`, `choice.rs` | which provider, domains and addresses are used, and how many |
//! | `nearness.rs`, `survey.rs` | which devices are near; what there is and why it is taken or not |
//! | `rail.rs` | one endpoint with what goes through it |
//! | `endpoint.rs` | the objects of one open endpoint; all calls that move data |
//! | `queue.rs` | the completion queue, and the descriptor to sleep on |
//! | `waiter.rs` | sleeping |
//! | `header.rs` | what goes before each message: who sent it, and for which instance |
//! | `buffers.rs` | registered memory for messages |
//! | `endpoint/one_sided.rs` | its puts, gets and registrations; `endpoint/habits.rs`: what it says of its provider; `endpoint/limits.rs`: what to do where memory is refused |
//! | `memory.rs`, `ranges.rs`, `keys.rs` | registered memory; which of it holds a range; keys, by which peers name it |
//! | `transfer.rs` | puts and gets under way |
//! | `path.rs` | a path from a rail of ours to one of a peer's; messages that may have to go again |
//! | `stripes.rs` | puts and gets in pieces over several paths |
//! | `links.rs` | the state of the network links |
//! | `send.rs` | send buffers |
//! | `receive.rs` | receive buffers that hold many messages each |
//! | `slots.rs` | short messages that peers write straight into memory here |
//! | `peers.rs` | peers, their credits and their cookies |
//! | `address.rs` | what a task publishes about itself |
//! | `transport.rs` | the contract; `transport/arrivals.rs`: what libfabric tells; `transport/slots.rs`: short messages that are written; `transport/one_sided.rs`: puts and gets; `transport/loss.rs`: peers that are lost; `transport/open.rs`: opening; `transport/report.rs`: what each rail has carried; `transport/stripe.rs`: pieces; `transport/failover.rs`: paths that fail and come back; `transport/watch.rs`: noticing that; `transport/vouch.rs`: noticing what was lost last; `transport/rig.rs`: a whole job for tests |
//! | `absent.rs` | the same contract where libfabric's headers were missing at build time |

mod declaration;

#[cfg(libfabric)]
mod address;
#[cfg(libfabric)]
mod buffers;
#[cfg(libfabric)]
mod choice;
#[cfg(libfabric)]
mod endpoint;
#[cfg(libfabric)]
mod header;
#[cfg(libfabric)]
mod keys;
#[cfg(libfabric)]
mod library;
#[cfg(libfabric)]
mod links;
#[cfg(libfabric)]
mod memory;
#[cfg(libfabric)]
mod nearness;
#[cfg(libfabric)]
mod path;
#[cfg(libfabric)]
mod peers;
#[cfg(libfabric)]
mod provider;
#[cfg(libfabric)]
mod queue;
#[cfg(libfabric)]
mod rail;
#[cfg(libfabric)]
mod ranges;
#[cfg(libfabric)]
mod receive;
#[cfg(libfabric)]
mod rest;
#[cfg(libfabric)]
mod send;
#[cfg(libfabric)]
mod slots;
#[cfg(libfabric)]
mod stripes;
#[cfg(libfabric)]
mod survey;
#[cfg(libfabric)]
mod touch;
#[cfg(libfabric)]
mod transfer;
#[cfg(libfabric)]
mod transport;
#[cfg(libfabric)]
mod waiter;

#[cfg(not(libfabric))]
mod absent;

/// libfabric's types and constants, from its own headers.
#[cfg(libfabric)]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_upper_case_globals,
    unreachable_pub,
    dead_code,
    unsafe_op_in_unsafe_fn,
    unused_qualifications,
    clippy::all,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::use_self,
    reason = "generated from libfabric's headers"
)]
mod ffi {
    include!(concat!(env!("OUT_DIR"), "/libfabric.rs"));
}

#[cfg(not(libfabric))]
pub use absent::Rdma;
#[cfg(libfabric)]
pub use transport::Rdma;
#[cfg(libfabric)]
pub use waiter::RdmaWaiter;

lapis_core::export_transport!(Rdma, "rdma", env!("CARGO_PKG_VERSION"));
