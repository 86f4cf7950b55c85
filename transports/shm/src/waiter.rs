//! Sleeping until something arrives.

use crate::handshake;
use crate::layout::{self, LANES, SHARED_SLOTS, SLOTS};
use crate::mailbox_lines::Watched;
use crate::mpsc_ring::is_ready;
use crate::segment::Segment;
use crate::sys::{self, io_error};
use crate::wake::{self, Attention, Sleeper};
use lapis_core::sync::blocking::OnceLock;
use lapis_core::sync::{Arc, AtomicBool, AtomicU32, AtomicU64, Ordering, membarrier};
use lapis_core::transport::lane::{Slot, slot_at};
use lapis_core::transport::{TransportError, Waiter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long one sleep lasts at most before we look whether a peer has died. Fifty looks a second,
/// of which each takes up to 35 µs with its wake-up, cost two thousandths of a core.
const SLICE: Duration = Duration::from_millis(20);

/// Mark of the wake-up socket in the watch set; peers' marks are smaller.
pub(crate) const SOCKET_MARK: u64 = u64::MAX;

/// How far the transport has read, for sleepers who must find out by themselves whether something
/// waits.
pub(crate) struct Progress {
    /// Lanes that are read, by bit.
    pub(crate) lanes: AtomicU64,
    /// Next position of every lane.
    pub(crate) next: [AtomicU64; LANES],
    /// Next position of the shared ring, or `u64::MAX` when it is not in use.
    pub(crate) shared: AtomicU64,
    /// The table of senders that was read last.
    pub(crate) claims: AtomicU64,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            lanes: AtomicU64::new(0),
            next: std::array::from_fn(|_| AtomicU64::new(0)),
            shared: AtomicU64::new(u64::MAX),
            claims: AtomicU64::new(u64::MAX),
        }
    }
}

/// What the transport and its waiter share.
pub(crate) struct Notifier {
    pub(crate) segment: Arc<Segment>,
    pub(crate) sleeper: Sleeper,
    /// Somebody may sleep without [`arm`](lapis_core::transport::Transport::arm).
    pub(crate) interrupts: AtomicBool,
    pub(crate) progress: Progress,
    pub(crate) mailboxes: Watched,
    pub(crate) membarrier: bool,
    /// An epoll set of the peers' process descriptors and, when asked for, the wake-up socket.
    pub(crate) watch: OwnedFd,
    /// Count of wake-ups when sleep was last announced.
    pub(crate) armed: AtomicU32,
    /// [`Waiter::wake`] was called and nobody has noticed yet.
    pub(crate) notified: AtomicBool,
    /// A sleeper saw the watch set stir.
    pub(crate) stirred: AtomicBool,
    /// Name of the listening socket.
    pub(crate) name: String,
    pub(crate) socket: OnceLock<Option<OwnedFd>>,
}

impl Notifier {
    /// For a task that nobody knows yet.
    pub(crate) fn new(
        segment: Arc<Segment>,
        name: String,
        interrupts: bool,
        membarrier: bool,
    ) -> Result<Self, TransportError> {
        // SAFETY: the line lives as long as the segment, which is kept beside it; nobody has been
        // told of it yet.
        let sleeper = unsafe { Sleeper::new(&raw const segment.header().attention.0, membarrier) };
        sleeper.set_fence(interrupts, !membarrier);
        Ok(Self {
            segment,
            sleeper,
            interrupts: AtomicBool::new(interrupts),
            progress: Progress::default(),
            mailboxes: Watched::default(),
            membarrier,
            watch: sys::epoll().map_err(|e| io_error("make an epoll set", &e))?,
            armed: AtomicU32::new(0),
            notified: AtomicBool::new(false),
            stirred: AtomicBool::new(false),
            name,
            socket: OnceLock::new(),
        })
    }

    fn line(&self) -> *const Attention {
        &raw const self.segment.header().attention.0
    }

    fn futex(&self) -> *const u32 {
        // SAFETY: the line lives as long as the segment; only an address is computed.
        unsafe { (&raw const (*self.line()).wakes).cast() }
    }

    /// Wake-ups so far.
    pub(crate) fn wakes(&self) -> u32 {
        // SYNC: pairs with the Release increment of `count_wake`.
        self.segment.header().attention.0.wakes.load(Ordering::Acquire)
    }

    /// Whether something waits to be read, by what the transport last said about its progress.
    fn unread(&self) -> bool {
        let (header, progress) = (self.segment.header(), &self.progress);
        // SYNC: pairs with the increment in `open_peer`.
        if progress.claims.load(Ordering::Relaxed) != u64::from(header.claims.0.load(Ordering::Acquire)) {
            return true;
        }
        let mut lanes = progress.lanes.load(Ordering::Relaxed);
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let next = progress.next[lane].load(Ordering::Relaxed);
            // Ordered after SLEEP by the fence in `arm`, as all looks here are.
            // SAFETY: the lane exists as long as the segment does, and has so many slots.
            if unsafe { Slot::holds(slot_at(self.segment.lane(lane).0, next, SLOTS as u64 - 1), next) } {
                return true;
            }
        }
        let next = progress.shared.load(Ordering::Relaxed);
        // SAFETY: the ring exists as long as the segment does, and the index is masked.
        let full = unsafe {
            is_ready(layout::shared(self.segment.base()).slots.add(next as usize % SHARED_SLOTS), next)
        };
        next != u64::MAX && full || self.mailboxes.unread()
    }

    /// The barrier that makes senders' light ones count.
    pub(crate) fn barrier(&self) {
        if self.membarrier {
            membarrier::heavy();
        }
    }

    /// A sleeper has seen the watch set stir.
    fn stir(&self) {
        // SYNC: pairs with the Acquire swap in the transport's `arm`.
        self.stirred.store(true, Ordering::Release);
    }

    /// The wake-up socket, if somebody has asked for a descriptor.
    pub(crate) fn socket(&self) -> Option<&OwnedFd> {
        self.socket.get().and_then(Option::as_ref)
    }
}

/// The sleeping half of [`Shm`](crate::Shm).
pub struct ShmWaiter(pub(crate) Arc<Notifier>);

impl std::fmt::Debug for ShmWaiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ShmWaiter").field(&self.0.name).finish()
    }
}

impl Waiter for ShmWaiter {
    fn wait(&self, timeout_ns: u64) {
        let notifier = &*self.0;
        if timeout_ns == 0 && sys::readable(notifier.watch.as_raw_fd()) {
            // Whoever slept on the descriptor comes here when it became readable.
            notifier.stir();
        }
        // SYNC: pairs with the Release store in `wake`.
        if notifier.notified.swap(false, Ordering::Acquire) {
            return;
        }
        let end = Instant::now().checked_add(Duration::from_nanos(timeout_ns));
        loop {
            let expected = if notifier.interrupts.load(Ordering::Relaxed) {
                let wakes = notifier.sleeper.arm(|| notifier.barrier());
                if notifier.unread() {
                    break;
                }
                wakes
            } else {
                // SYNC: pairs with the Release store in the transport's `arm`.
                notifier.armed.load(Ordering::Acquire)
            };
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            // A wake that came before the sleep was announced has left its mark here.
            if left.is_zero() || notifier.wakes() != expected || notifier.notified.load(Ordering::Relaxed) {
                break;
            }
            // SAFETY: the word lives as long as the segment.
            unsafe { sys::futex_wait(notifier.futex(), expected, left.min(SLICE).as_nanos() as u64) };
            if notifier.wakes() != expected {
                break;
            }
            if sys::readable(notifier.watch.as_raw_fd()) {
                notifier.stir();
                break;
            }
        }
        notifier.notified.store(false, Ordering::Relaxed);
    }

    fn wake(&self) {
        let notifier = &*self.0;
        // SYNC: pairs with the Acquire swaps in `wait` and in the transport's `arm`.
        notifier.notified.store(true, Ordering::Release);
        // SAFETY: line and word live as long as the segment.
        unsafe {
            wake::count_wake(notifier.line());
            sys::futex_wake(notifier.futex());
        }
        if let Some(socket) = notifier.socket() {
            handshake::ring(socket.as_raw_fd(), &notifier.name);
        }
    }

    fn fd(&self) -> i32 {
        let notifier = &*self.0;
        let socket = notifier.socket.get_or_init(|| {
            let socket = handshake::wake_socket(&notifier.name).ok()?;
            sys::epoll_add(notifier.watch.as_raw_fd(), socket.as_raw_fd(), SOCKET_MARK).ok()?;
            // SYNC: pairs with the Acquire load of a sender that takes on the duty of waking.
            notifier.segment.header().attention.0.on_descriptor.store(1, Ordering::Release);
            // A sender that has just taken that duty did not know of the socket yet.
            handshake::ring(socket.as_raw_fd(), &notifier.name);
            Some(socket)
        });
        if socket.is_some() { notifier.watch.as_raw_fd() } else { -1 }
    }
}
