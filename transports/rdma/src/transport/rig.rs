//! For tests: a whole job in this thread, over loopback sockets, some of whose calls are refused.

use super::{Rdma, between, open};
use crate::transfer::Direction;
use lapis_core::transport::abi::HostTable;
use lapis_core::transport::{
    Event, EventKind, Host, OpenParams, PeerId, RawSlice, RemoteAddr, Status, Transport,
};
use lapis_patience::Patience;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Addresses of one rail of each task, and of two.
pub(super) const ONE: &str = "127.0.0.1";
pub(super) const TWO: &str = "127.0.0.1,127.0.0.2";

thread_local! {
    static ADDRESSES: Cell<&'static str> = const { Cell::new(ONE) };
    /// Warnings and errors.
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

static HOST: HostTable =
    HostTable { struct_size: size_of::<HostTable>() as u32, abi_major: 1, log, log_enabled, option };

unsafe extern "C" fn log(_: u32, _: *const u8, _: usize, text: *const u8, len: usize) {
    // SAFETY: the text is readable for its length.
    let text = unsafe { std::slice::from_raw_parts(text, len) };
    SAID.with_borrow_mut(|said| said.push(String::from_utf8_lossy(text).into_owned()));
}

unsafe extern "C" fn log_enabled(level: u32, _: *const u8, _: usize) -> i32 {
    i32::from(level <= 2)
}

unsafe extern "C" fn option(name: *const u8, len: usize, into: *mut u8, room: usize) -> isize {
    // SAFETY: the name is readable for its length.
    let value: &[u8] = match unsafe { std::slice::from_raw_parts(name, len) } {
        b"LAPIS_RDMA_PROVIDER" => b"tcp;ofi_rxm",
        b"LAPIS_RDMA_ADDR" => ADDRESSES.get().as_bytes(),
        _ => return -1,
    };
    // SAFETY: the caller has so much room there.
    unsafe { into.copy_from_nonoverlapping(value.as_ptr(), value.len().min(room)) };
    value.len() as isize
}

/// The warnings and errors of this thread so far.
pub(super) fn said() -> Vec<String> {
    SAID.take()
}

/// Opens one task of a job. `None` where there is no libfabric; says so.
pub(super) fn task(task: u32, tasks: u32, addresses: &'static str) -> Option<Rdma> {
    ADDRESSES.set(addresses);
    // SAFETY: the table lives as long as the process.
    let host = unsafe { Host::from_raw(&raw const HOST, "lapis::rdma") };
    let secret = &[7; 32];
    let (context, incarnation, job, interrupts) = (0, 0, "rig", false);
    let opened = open::open(host, &OpenParams { task, tasks, context, incarnation, job, secret, interrupts });
    opened.map(|(rdma, _)| rdma).map_err(|e| eprintln!("SKIPPED: {e}")).ok()
}

/// All tasks of a job, connected.
pub(super) struct Job {
    pub(super) tasks: Vec<Rdma>,
    /// By task and source: messages that have come.
    pub(super) got: Vec<Vec<u64>>,
    /// By task: tokens of puts and gets that have ended, and how.
    pub(super) ended: Vec<Vec<(u64, i32)>>,
    /// By task: peers that it has lost.
    pub(super) lost: Vec<Vec<PeerId>>,
}

impl Job {
    /// `None` where there is no libfabric; says so.
    pub(super) fn open(count: u32, addresses: &'static str) -> Option<Self> {
        let mut this = Self::before_connecting(count, addresses)?;
        this.connect();
        this.until("all paths are up", Self::step, Self::all_up);
        Some(this)
    }

    /// The same of tasks that know each other's addresses, and have no connections.
    pub(super) fn before_connecting(count: u32, addresses: &'static str) -> Option<Self> {
        let tasks: Vec<Rdma> = (0..count).map(|at| task(at, count, addresses)).collect::<Option<_>>()?;
        let n = count as usize;
        let mut this =
            Self { tasks, got: vec![vec![0; n]; n], ended: vec![vec![]; n], lost: vec![vec![]; n] };
        let cards: Vec<Vec<u8>> = this.tasks.iter().map(Transport::address).collect();
        for (at, rdma) in this.tasks.iter_mut().enumerate() {
            for (peer, card) in cards.iter().enumerate().filter(|(peer, _)| *peer != at) {
                rdma.connect(peer as PeerId, card).expect("an address of this provider");
            }
        }
        Some(this)
    }

    /// The process of a task ends, and another one takes its place, of which the others know.
    pub(super) fn replace(&mut self, at: usize, addresses: &'static str) {
        let count = self.tasks.len() as u32;
        let cards: Vec<Vec<u8>> = self.tasks.iter().map(Transport::address).collect();
        let mut new = task(at as u32, count, addresses).expect("it has opened before");
        let card = new.address();
        std::mem::swap(&mut self.tasks[at], &mut new);
        drop(new);
        for peer in (0..self.tasks.len()).filter(|peer| *peer != at) {
            self.tasks[peer].disconnect(at as PeerId);
            self.tasks[peer].connect(at as PeerId, &card).expect("an address of this provider");
            self.tasks[at].connect(peer as PeerId, &cards[peer]).expect("an address of this provider");
        }
    }

    /// Makes the connections.
    pub(super) fn connect(&mut self) {
        let mut connected = vec![false; self.tasks.len()];
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while !connected.iter().all(|connected| *connected) {
            assert!(!patience.is_over(), "the tasks do not connect");
            for (rdma, connected) in self.tasks.iter_mut().zip(&mut connected) {
                *connected = rdma.progress_connect().expect("nothing fails yet");
            }
        }
    }

    /// Whether every path carries messages, as far as its task knows.
    pub(super) fn all_up(&mut self) -> bool {
        let n = self.tasks.len() as u32;
        let mut peers = self.tasks.iter().flat_map(|rdma| (0..n).filter_map(|peer| rdma.peers.get(peer)));
        peers.all(|p| p.paths.iter().all(|path| path.up))
    }

    /// What one task sends another over one rail is answered with this error number from now on.
    pub(super) fn refuse(&mut self, (from, rail): (usize, usize), to: PeerId, code: Option<i32>) {
        let address = self.tasks[from].peers.get_mut(to).and_then(|p| Some(p.over(rail)?.to));
        self.tasks[from].rails[rail].endpoint.refuse(address.expect("a path over this rail"), code);
    }

    /// Sends 8 bytes, if they are taken now.
    pub(super) fn send(&mut self, from: usize, to: PeerId) -> bool {
        self.tasks[from].am_short(to, &[7; 8], &[]) == Status::Done
    }

    /// Polls one task.
    pub(super) fn poll(&mut self, at: usize) {
        self.poll_for(at, &mut [Event::EMPTY; 64]);
    }

    /// Polls one task for as many events as there is room for.
    pub(super) fn poll_for(&mut self, at: usize, events: &mut [Event]) {
        let n = self.tasks[at].poll(events);
        for event in &events[..n] {
            match event.kind {
                kind if kind == EventKind::Message as u32 => self.got[at][event.peer as usize] += 1,
                kind if kind == EventKind::Complete as u32 => {
                    self.ended[at].push((event.token, event.status));
                }
                kind if kind == EventKind::PeerDown as u32 => self.lost[at].push(event.peer),
                _ => {}
            }
        }
    }

    /// Polls the first of two tasks, and has it do something `then`, while the other one acts
    /// between its looks. The bytes of the first message, as they are when core reads them.
    pub(super) fn poll_amid(
        &mut self,
        mut act: impl FnMut(&mut Rdma) + 'static,
        then: impl FnOnce(&mut Rdma),
    ) -> Option<Vec<u8>> {
        let other = Rc::new(RefCell::new(self.tasks.pop().expect("another task")));
        let acting = Rc::clone(&other);
        between::BETWEEN.set(Some(Box::new(move || act(&mut acting.borrow_mut()))));
        let mut events = [Event::EMPTY; 64];
        let n = self.tasks[0].poll(&mut events);
        then(&mut self.tasks[0]);
        between::BETWEEN.set(None);
        self.tasks.push(Rc::into_inner(other).expect("nobody acts any more").into_inner());
        let first = events[..n].iter().find(|event| event.kind == EventKind::Message as u32)?;
        // SAFETY: the bytes of a message stay until the next poll.
        Some(unsafe { std::slice::from_raw_parts(first.data, first.len as usize) }.to_vec())
    }

    /// Polls every task.
    pub(super) fn step(&mut self) {
        (0..self.tasks.len()).for_each(|at| self.poll(at));
    }

    /// Does something until it has come to what is wanted.
    #[track_caller]
    pub(super) fn until(
        &mut self,
        wanted: &str,
        mut act: impl FnMut(&mut Self),
        mut is_so: impl FnMut(&mut Self) -> bool,
    ) {
        let mut patience = Patience::with_myself(Duration::from_secs(20));
        while !is_so(self) {
            assert!(!patience.is_over(), "in vain: {wanted}; messages {:?}, lost {:?}", self.got, self.lost);
            act(self);
        }
    }

    /// Begins a put or get, of a task that has just polled.
    ///
    /// # Safety
    /// Both sides stay until it has ended, or the tasks have.
    pub(super) unsafe fn begin(
        &mut self,
        (from, to): (usize, PeerId),
        way: Direction,
        local: RawSlice,
        remote: RemoteAddr,
    ) -> Status {
        let token = 7;
        // A machine that is busy may stop this thread behind the poll.
        for _ in 0..100 {
            self.poll(from);
            // SAFETY: the caller's promise.
            let begun = unsafe {
                match way {
                    Direction::Put => self.tasks[from].put_zcopy(to, local, remote, token),
                    Direction::Get => self.tasks[from].get_zcopy(to, local, remote, token),
                }
            };
            if begun != Status::Again {
                return begun;
            }
        }
        Status::Again
    }

    /// A put or get, to its end: its status.
    pub(super) fn transfer(
        &mut self,
        (from, to): (usize, PeerId),
        way: Direction,
        memory: &mut [u8],
        remote: RemoteAddr,
    ) -> i32 {
        let local = RawSlice { ptr: memory.as_mut_ptr(), len: memory.len() };
        self.ended[from].clear();
        // SAFETY: the memory stays until the end, which is waited for; the other side is the
        // caller's.
        let begun = unsafe { self.begin((from, to), way, local, remote) };
        if begun != Status::InProgress {
            return begun as i32;
        }
        self.until("the end of a transfer", Self::step, |job| !job.ended[from].is_empty());
        self.ended[from][0].1
    }
}
