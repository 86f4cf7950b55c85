//! The transport itself: set-up, memory, and the trait that ties the parts together.

use crate::address::{Address, HostId, Place};
use crate::declaration;
use crate::handshake::{self, Key};
use crate::heap::Heap;
use crate::inbox::Inbox;
use crate::layout::{MAX_MESSAGE, MEMBERS};
use crate::mailbox_lines::Mailboxes;
use crate::outbox::Outbox;
use crate::peer::{Peer, State, Waiting};
use crate::segment::{Segment, page};
use crate::sys::{self, io_error};
use crate::waiter::{Notifier, ShmWaiter};
use crate::wake::CLOSED;
use lapis_copies::{Copies, of_host};
use lapis_core::sync::{Arc, Ordering, membarrier};
use lapis_core::transport::lane::{ReceiveLanes, SendLane};
use lapis_core::transport::*;
use lapis_cross_memory::{self as cross_memory, Access};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How bytes of large transfers travel (`LAPIS_SHM_COPY`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copying {
    /// Cross-memory attach if it works.
    Auto,
    /// Cross-memory attach or an error.
    Attach,
    /// Never cross-memory attach.
    Double,
}

/// An open instance.
pub struct Shm {
    pub(crate) outbox: Outbox,
    pub(crate) inbox: Inbox,
    pub(crate) peers: Vec<Peer>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) host: Host,
    pub(crate) me: Address,
    pub(crate) tasks: u32,
    pub(crate) key: Key,
    pub(crate) listener: OwnedFd,
    pub(crate) file: OwnedFd,
    pub(crate) waiting: Waiting,
    pub(crate) copying: Copying,
    pub(crate) copies: Copies,
    /// Why cross-memory attach is not used.
    pub(crate) no_attach: Option<String>,
    pub(crate) membarrier: bool,
    /// The user knows that contacts wait for descriptors or memory.
    pub(crate) told_shortage: bool,
    /// Looks at the peers since interrupts were turned off, as long as senders still pay for them.
    pub(crate) calm: u32,
    pub(crate) mailboxes: Mailboxes,
    heap: Heap,
    owner: i32,
}

impl std::fmt::Debug for Shm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shm").field("me", &self.me).field("peers", &self.peers.len()).finish_non_exhaustive()
    }
}

fn copying(host: &Host) -> Result<Copying, TransportError> {
    Ok(match host.word(&declaration::COPY)? {
        Some("cma") => Copying::Attach,
        Some("double") => Copying::Double,
        _ => Copying::Auto,
    })
}

/// Tasks of a job up to which all get to know each other when they connect. With each peer that
/// costs 50 to 100 µs of both sides' time, and 12 KiB of page tables, used or not.
const ACQUAINTED: u32 = 16;

/// A process that was there this short a time ago counts as being there: its number goes to another
/// one only when all others have been given out.
const STAYS: Duration = Duration::from_millis(1);

/// Whether tasks get to know each other when one of them needs the other.
fn meets_later(host: &Host, tasks: u32) -> Result<bool, TransportError> {
    Ok(match host.word(&declaration::CONTACT)? {
        Some("start") => false,
        Some("need") => true,
        _ => tasks > ACQUAINTED,
    })
}

/// Address space only: pages come into being when they are touched.
fn heap(host: &Host) -> Result<usize, TransportError> {
    Ok(host.number(&declaration::HEAP)?.and_then(|n| n.try_into().ok()).unwrap_or_default())
}

/// The name of a task's listening socket.
fn socket_name(params: &OpenParams<'_>, key: &Key, owner: libc::pid_t) -> String {
    let who = format!("{}.{}.{}", params.task, params.context, params.incarnation);
    // The keyed hash keeps a second job of the same name apart.
    let tag = u32::from_le_bytes(key.tag(who.as_bytes())[..4].try_into().unwrap_or_default());
    let job: String = params.job.chars().filter(char::is_ascii).take(40).collect();
    format!("lapis-shm.{job}.{who}.{owner}.{tag:08x}")
}

impl Shm {
    fn zcopy(&mut self, access: Access, peer: PeerId, local: RawSlice, remote: RemoteAddr) -> Status {
        let Some(dense) = self.outbox.find(peer) else { return Status::Invalid };
        if self.peers[dense].state == State::Known
            && let Err(status) = self.meet_now(dense)
        {
            return status;
        }
        let peer = &self.peers[dense];
        match peer.state {
            State::Open => {}
            State::Known => return Status::Again,
            State::Down => return Status::PeerDown,
            State::Greeting | State::Greeted => return Status::Again,
            State::Gone => return Status::Invalid,
        }
        if self.no_attach.is_some() {
            return Status::Unsupported;
        }
        // The kernel knows processes by their numbers, and gives the number of one that has ended
        // to another. Nobody may have looked at the peer for long.
        let now = Instant::now();
        if peer.seen.is_none_or(|seen| now.duration_since(seen) >= STAYS) {
            if self.is_gone(dense) {
                self.lost(dense);
                return Status::PeerDown;
            }
            self.peers[dense].seen = Some(now);
        }
        let peer = &self.peers[dense];
        // SAFETY: the caller of the transport promises that the local range is valid.
        match unsafe { cross_memory::copy(access, peer.pid, local.ptr, remote.addr, local.len) } {
            Ok(()) => Status::Done,
            Err(e) => match e.raw_os_error() {
                Some(libc::EFAULT) => Status::Invalid,
                Some(libc::ESRCH) => Status::PeerDown,
                _ => {
                    self.host.error(format_args!(
                        "cross-memory attach ({access:?}, {} bytes at {:#x} of task {}, process {}) failed: {e}",
                        local.len, remote.addr, peer.address.task, peer.pid
                    ));
                    Status::Io
                }
            },
        }
    }
}

impl Transport for Shm {
    const NAME: &'static str = "shm";
    const VERSION: &'static str = "0.1.0";
    const CAPS: Caps = Caps::AM_SHORT
        .union(Caps::AM_PACKED)
        .union(Caps::PUT_ZCOPY)
        .union(Caps::GET_ZCOPY)
        .union(Caps::ALLOCATE)
        .union(Caps::WINDOW)
        .union(Caps::WAIT)
        .union(Caps::LANES)
        .union(Caps::RELIABLE)
        .union(Caps::ORDERED)
        .union(Caps::ANY_ADDRESS)
        .union(Caps::FAST_PACKETS)
        .union(Caps::LATE_CONTACT)
        .union(Caps::PEER_FAILURE)
        .union(Caps::LOCAL_ONLY);
    const DECLARATION: Declaration = declaration::DECLARATION;
    type Waiter = ShmWaiter;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, ShmWaiter), TransportError> {
        if params.task >= params.tasks {
            return Err(TransportError::Invalid(format!(
                "task {} of a job of {} tasks",
                params.task, params.tasks
            )));
        }
        let (heap, copying, copies) = (heap(&host)?, copying(&host)?, of_host(&host, params.tasks)?);
        let later = meets_later(&host, params.tasks)?;
        let key = Key::new(params.job, params.secret);
        let owner = std::process::id() as libc::pid_t;
        let name = socket_name(params, &key, owner);
        let (segment, file) = Segment::create(&host, params.task, params.tasks, heap)?;
        let segment = Arc::new(segment);
        let membarrier = membarrier::register() && membarrier::heavy();
        let listener = handshake::listen(&name)
            .map_err(|e| io_error(&format!("listen on the abstract socket {name}"), &e))?;
        let notifier = Notifier::new(Arc::clone(&segment), name.clone(), params.interrupts, membarrier)?;
        let notifier = Arc::new(notifier);
        let (_, heap) = segment.heap();
        let me = Address {
            host: HostId::current(),
            task: params.task,
            context: params.context,
            incarnation: params.incarnation,
            total: (segment.heap_at() + heap) as u64,
            place: later
                .then(|| Place::of_process(file.as_raw_fd(), segment.header().nonce.load(Ordering::Relaxed)))
                .flatten(),
            socket: name,
        };
        let shm = Self {
            outbox: Outbox::new(copies),
            inbox: Inbox::new(Arc::clone(&segment), Arc::clone(&notifier)),
            peers: Vec::new(),
            notifier: Arc::clone(&notifier),
            host,
            me,
            tasks: params.tasks,
            key,
            listener,
            file,
            waiting: Waiting::default(),
            copying,
            copies,
            no_attach: (copying == Copying::Double)
                .then(|| "switched off by LAPIS_SHM_COPY=double".to_owned()),
            membarrier,
            told_shortage: false,
            calm: 0,
            mailboxes: Mailboxes::default(),
            heap: Heap::new(heap),
            owner,
        };
        if !membarrier {
            shm.host
                .info(format_args!("membarrier is not available: every message to this task costs a fence"));
        }
        Ok((shm, ShmWaiter(notifier)))
    }

    fn attributes(&self) -> Attributes {
        let mut caps = Self::CAPS;
        if self.me.place.is_none() {
            caps -= Caps::LATE_CONTACT;
        }
        if self.copying == Copying::Attach {
            caps -= Caps::FAST_PACKETS;
        }
        let mut note = format!("heap of {} MiB", self.heap.len() >> 20);
        if let Some(why) = &self.no_attach {
            caps -= Caps::PUT_ZCOPY | Caps::GET_ZCOPY | Caps::ANY_ADDRESS;
            note = format!("cross-memory attach {why}: large messages are copied twice; {note}");
        }
        if !self.membarrier {
            note.push_str("; no membarrier");
        }
        let limits = Limits {
            max_short: MAX_MESSAGE as u32,
            max_packed: MAX_MESSAGE as u32,
            max_head: 0,
            receive_buffer: 0,
            max_zcopy: if self.no_attach.is_none() { u64::MAX } else { 0 },
            zcopy_from: self.copies.attach,
            paths: 1,
            max_peers: MEMBERS as u32,
        };
        Attributes { caps, limits, note }
    }

    fn address(&self) -> Vec<u8> {
        self.me.encode()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        self.connect_to(peer, address)
    }

    fn progress_connect(&mut self) -> Result<bool, TransportError> {
        self.progress()
    }

    fn disconnect(&mut self, peer: PeerId) {
        self.forget(peer);
    }

    #[inline(always)]
    fn am_short(&mut self, peer: PeerId, head: &[u8], body: &[u8]) -> Status {
        self.send_short(peer, head, body)
    }

    #[inline(always)]
    fn am_packed(&mut self, peer: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        self.send_packed(peer, len, pack)
    }

    unsafe fn put_zcopy(&mut self, peer: PeerId, data: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        self.zcopy(Access::Write, peer, data, remote)
    }

    unsafe fn get_zcopy(&mut self, peer: PeerId, into: RawSlice, remote: RemoteAddr, _token: u64) -> Status {
        self.zcopy(Access::Read, peer, into, remote)
    }

    #[inline(always)]
    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.receive(events)
    }

    fn send_lane(&mut self, peer: PeerId) -> *mut SendLane {
        self.lane_to(peer)
    }

    fn receive_lanes(&mut self) -> *const ReceiveLanes {
        self.inbox.direct()
    }

    fn attend(&mut self, peer: PeerId, attention: u32) -> Status {
        self.attend_to(peer, attention)
    }

    fn arm(&mut self) -> Status {
        self.prepare_sleep()
    }

    fn disarm(&mut self) {
        self.notifier.sleeper.clear(crate::wake::SLEEP);
    }

    fn set_interrupts(&mut self, on: bool) {
        self.notifier.interrupts.store(on, Ordering::Relaxed);
        self.calm = 0;
        if on {
            self.notifier.sleeper.set_fence(true, !self.membarrier);
        }
        // Off takes effect when it has lasted (`check_peers`): programs turn interrupts off and on
        // around short polling loops, and on would cost a membarrier each time.
    }

    fn mem_alloc(&mut self, len: usize) -> Result<RegionInfo, TransportError> {
        let (base, total) = self.notifier.segment.heap();
        let Some(at) = self.heap.take(len, page()) else {
            let (longest, used) = self.heap.state();
            return Err(TransportError::Exhausted(format!(
                "no {len} bytes of directly reachable memory: of {total} bytes {used} are in use and the longest free \
                 block has {longest}; raise LAPIS_SHM_HEAP"
            )));
        };
        // SAFETY: the block lies inside the heap.
        let addr = unsafe { base.add(at) } as u64;
        Ok(RegionInfo { addr, len: len as u64, id: at as u64 + 1, key: 0 })
    }

    fn mem_release(&mut self, id: u64) {
        let Some(at) = id.checked_sub(1).and_then(|at| usize::try_from(at).ok()) else { return };
        let Some(len) = self.heap.used(at) else { return };
        let (base, _) = self.notifier.segment.heap();
        let (first, last) = (at.next_multiple_of(page()), (at + len) & !(page() - 1));
        let zero = |from: usize, to: usize| {
            // SAFETY: the range lies inside the block, which nobody uses any more.
            unsafe { base.add(from).write_bytes(0, to.saturating_sub(from)) }
        };
        if first < last
            && sys::punch(self.file.as_raw_fd(), self.notifier.segment.heap_at() + first, last - first)
                .is_ok()
        {
            zero(at, first);
            zero(last, at + len);
        } else {
            zero(at, at + len);
        }
        self.heap.give(at);
    }

    fn window(&mut self, peer: PeerId) -> Option<Window> {
        let dense = self.outbox.find(peer)?;
        self.meet_now(dense).ok()?;
        let peer = &self.peers[dense];
        let segment = peer.segment.as_ref()?;
        let (local_base, len) = segment.heap();
        let remote_base = peer.base + segment.heap_at() as u64;
        (len > 0).then_some(Window { remote_base, len: len as u64, local_base })
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.notifier.mailboxes.forget_all();
        // SAFETY: a call without pointers.
        if unsafe { libc::getpid() } != self.owner {
            // A forked child: the segment is still its parent's.
            return;
        }
        // SYNC: pairs with the peers' looks: what we published is published before the end.
        self.notifier.segment.header().attention.0.word.fetch_or(CLOSED, Ordering::AcqRel);
    }
}

const _: () = assert!(MAX_MESSAGE <= lapis_lanes::LONGEST_RING / 4);
