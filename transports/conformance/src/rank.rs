//! A task of a case: its link, what arrived over it, and its wire to the other tasks' test code.

use crate::control::{self, Report};
use crate::subject::{Mode, Options, Source};
use lapis_core::config::Environment;
use lapis_core::transport::{
    Caps, Event, EventKind, Link, OpenParams, PeerId, Plugin, RawSlice, RegionInfo, RemoteAddr, Status,
    with_options,
};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;

/// What a task is told at its start.
pub(crate) struct Setup {
    pub(crate) control: String,
    pub(crate) task: u32,
    pub(crate) tasks: u32,
    pub(crate) mode: Mode,
    pub(crate) source: Source,
    pub(crate) options: Options,
}

/// A message that arrived, copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) peer: PeerId,
    pub(crate) bytes: Vec<u8>,
}

/// See the module.
pub struct Rank {
    pub(crate) task: u32,
    pub(crate) tasks: u32,
    pub(crate) mode: Mode,
    /// Messages that arrived and were not yet looked at.
    pub(crate) inbox: VecDeque<Message>,
    /// Completions by token. A token that completes twice fails the case at once.
    pub(crate) completed: HashMap<u64, Status>,
    /// Peers reported gone, in order.
    pub(crate) down: Vec<PeerId>,
    plugin: Plugin,
    options: Options,
    job: String,
    life: u32,
    link: Option<Link>,
    control: UnixStream,
    common: Caps,
    expected: Vec<String>,
    next_token: u64,
    random: u64,
}

impl Rank {
    /// Opens an instance and connects it to all others (alone: to itself).
    pub(crate) fn open(plugin: Plugin, setup: &Setup, control: UnixStream) -> Result<Self, String> {
        let mut rank = Self {
            task: setup.task,
            tasks: setup.tasks,
            mode: setup.mode,
            inbox: VecDeque::new(),
            completed: HashMap::new(),
            down: Vec::new(),
            plugin,
            options: setup.options,
            job: setup.control.clone(),
            life: 0,
            link: None,
            control,
            common: Caps::empty(),
            expected: Vec::new(),
            next_token: 1,
            random: 0x9e37_79b9_7f4a_7c15 ^ u64::from(setup.task),
        };
        rank.reopen()?;
        Ok(rank)
    }

    /// Opens a new instance in place of the present one, if any, and connects it. All tasks do it
    /// together.
    pub(crate) fn reopen(&mut self) -> Result<(), String> {
        self.link = None;
        self.inbox.clear();
        self.completed.clear();
        // Nobody connects to an instance that is about to be closed.
        self.gather("closed", &[], |_| ())?;
        self.link = Some(self.open_link(self.life)?);
        self.life += 1;
        self.connect()
    }

    /// Opens an instance that nobody is connected to.
    pub(crate) fn open_link(&self, incarnation: u32) -> Result<Link, String> {
        let params = OpenParams {
            task: self.task,
            tasks: self.tasks,
            context: 0,
            incarnation,
            job: &self.job,
            secret: &[7; 32],
            interrupts: false,
        };
        let open = || self.plugin.open(&params).map_err(|e| e.to_string());
        if self.options.is_empty() {
            return open();
        }
        // Tasks may have values of their own.
        let task = self.task.to_string();
        let values: Vec<(&str, String)> =
            self.options.iter().map(|(name, value)| (*name, value.replace("{task}", &task))).collect();
        let pairs = values.iter().map(|(name, value)| (*name, &**value));
        with_options(&Environment::from_pairs(pairs), open)
    }

    fn connect(&mut self) -> Result<(), String> {
        let caps = self.link().caps();
        if self.mode != Mode::Alone && caps.contains(Caps::SELF_ONLY) {
            return Err("enrolled as together, but it reaches only itself".to_owned());
        }
        let mut part = caps.bits().to_le_bytes().to_vec();
        part.extend(self.link_mut().address().map_err(|e| format!("address: {e}"))?);
        let parts = self.gather("addresses", &part, |_| ())?;
        for peer in self.peers() {
            let address = &parts[&peer][8..];
            self.link_mut().connect(peer, address).map_err(|e| format!("connecting task {peer}: {e}"))?;
        }
        loop {
            let step =
                |link: &mut Link| link.progress_connect().map_err(|e| format!("progress_connect: {e}"));
            let mut failed = None;
            let done = step(self.link_mut())?;
            let parts = self.gather("connected", &[u8::from(done)], |rank| {
                if let Err(e) = step(rank.link_mut()) {
                    failed = Some(e);
                }
            })?;
            if let Some(e) = failed {
                return Err(e);
            }
            if parts.values().all(|p| p == &[1]) {
                break;
            }
        }
        self.link_mut().refresh_attributes().map_err(|e| e.to_string())?;
        let bits = self.link().caps().bits().to_le_bytes();
        let parts = self.gather("capabilities", &bits, |_| ())?;
        self.common = parts
            .values()
            .map(|p| Caps::from_bits_truncate(u64::from_le_bytes(p[..8].try_into().expect("8 bytes"))))
            .fold(Caps::all(), Caps::intersection);
        Ok(())
    }

    /// The peers: all others, or itself when alone.
    pub(crate) fn peers(&self) -> Vec<PeerId> {
        if self.mode == Mode::Alone {
            return vec![self.task];
        }
        (0..self.tasks).filter(|p| *p != self.task).collect()
    }

    /// The peer this task mostly sends to; every task is somebody's.
    pub(crate) fn next(&self) -> PeerId {
        (self.task + 1) % self.tasks
    }

    /// The peer this task mostly receives from.
    pub(crate) fn previous(&self) -> PeerId {
        (self.task + self.tasks - 1) % self.tasks
    }

    /// The open link.
    pub fn link(&self) -> &Link {
        self.link.as_ref().expect("the link is open")
    }

    /// The open link.
    pub(crate) fn link_mut(&mut self) -> &mut Link {
        self.link.as_mut().expect("the link is open")
    }

    pub(crate) fn plugin(&self) -> &Plugin {
        &self.plugin
    }

    /// Capabilities that all tasks' instances have.
    pub(crate) fn common_caps(&self) -> Caps {
        self.common
    }

    /// Closes the instance.
    pub(crate) fn close(&mut self) {
        self.link = None;
    }

    /// Says what comes, for the watchdog.
    pub(crate) fn doing(&mut self, what: impl Into<String>) {
        let _ = control::send(&mut self.control, &Report::Doing(what.into()));
    }

    /// Lines at WARN or ERROR with this text in them are part of the case.
    pub(crate) fn expect_log(&mut self, text: &str) {
        self.expected.push(text.to_owned());
    }

    /// Waits until all living tasks are here, with progress meanwhile.
    pub(crate) fn sync(&mut self, what: &str) {
        self.exchange(what, &[]);
    }

    /// Gives `part` to all living tasks and gets theirs, with progress meanwhile.
    pub(crate) fn exchange(&mut self, what: &str, part: &[u8]) -> BTreeMap<u32, Vec<u8>> {
        let parts = self.gather(what, part, |rank| {
            if rank.link.is_some() {
                rank.poll();
            }
        });
        parts.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Like [`sync`](Self::sync), but without touching the link.
    pub(crate) fn sync_idle(&mut self, what: &str) {
        self.gather(what, &[], |_| ()).unwrap_or_else(|e| panic!("{e}"));
    }

    /// Like [`exchange`](Self::exchange), but without touching the link.
    pub(crate) fn exchange_idle(&mut self, what: &str, part: &[u8]) -> BTreeMap<u32, Vec<u8>> {
        self.gather(what, part, |_| ()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn gather(
        &mut self,
        what: &str,
        part: &[u8],
        mut meanwhile: impl FnMut(&mut Self),
    ) -> Result<BTreeMap<u32, Vec<u8>>, String> {
        let lost = |e| format!("the coordinator is gone: {e}");
        control::send(&mut self.control, &Report::Gather(what.to_owned(), part.to_vec())).map_err(lost)?;
        // Peeks for the answer's first byte between steps; the rest follows at once.
        self.control.set_nonblocking(true).map_err(lost)?;
        let mut first = [0u8; 1];
        loop {
            match rustix::net::recv(&self.control, &mut first, rustix::net::RecvFlags::PEEK) {
                Ok((_, 0)) => return Err("the coordinator gave up".to_owned()),
                Ok(_) => break,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(lost(e.into())),
            }
            meanwhile(self);
            std::thread::yield_now();
        }
        self.control.set_nonblocking(false).map_err(lost)?;
        let (_, name, parts) = control::read_frame(&mut self.control).map_err(lost)?;
        assert_eq!(name, what, "the coordinator answered another exchange");
        let mut all = BTreeMap::new();
        let mut rest = &parts[..];
        while !rest.is_empty() {
            let word = |i: usize| u32::from_le_bytes(rest[i..i + 4].try_into().expect("4 bytes"));
            let (task, len) = (word(0), word(4) as usize);
            all.insert(task, rest[8..8 + len].to_vec());
            rest = &rest[8 + len..];
        }
        Ok(all)
    }

    /// Ends the case for this task; gives the log lines that were expected.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.sync("the end");
        self.link = None;
        // Nobody's closing may disturb another's last poll: all have left the link alone by now.
        self.sync("closed at the end");
        std::mem::take(&mut self.expected)
    }

    /// One poll; sorts what came into [`inbox`](Self::inbox), [`completed`](Self::completed) and
    /// [`down`](Self::down). Returns how many events there were.
    pub(crate) fn poll(&mut self) -> usize {
        let mut events = [Event::EMPTY; 32];
        let n = self.link_mut().poll(&mut events).unwrap_or_else(|status| panic!("poll answered {status:?}"));
        for event in &events[..n] {
            self.sort(event);
        }
        n
    }

    pub(crate) fn sort(&mut self, event: &Event) {
        match event.kind {
            k if k == EventKind::Message as u32 => {
                self.inbox.push_back(Message { peer: event.peer, bytes: bytes(event).to_vec() });
            }
            k if k == EventKind::Complete as u32 => {
                let status = Status::from_raw(event.status);
                let before = self.completed.insert(event.token, status);
                assert_eq!(before, None, "token {} completed twice", event.token);
            }
            k if k == EventKind::PeerDown as u32 => self.down.push(event.peer),
            k if k == EventKind::Datagram as u32 => {
                self.inbox.push_back(Message { peer: event.peer, bytes: bytes(event).to_vec() });
            }
            k if k == EventKind::Path as u32 || k == EventKind::Failover as u32 => {}
            other => panic!("an event of unknown kind {other}: {event:?}"),
        }
    }

    /// Polls until there is something to see.
    pub(crate) fn poll_until(&mut self, what: &str, mut there: impl FnMut(&mut Self) -> bool) {
        let mut said = false;
        while !there(self) {
            if self.poll() == 0 {
                if !said {
                    self.doing(what);
                    said = true;
                }
                std::thread::yield_now();
            }
        }
    }

    /// The next message, waited for.
    pub(crate) fn receive(&mut self) -> Message {
        self.poll_until("waiting for a message", |r| !r.inbox.is_empty());
        self.inbox.pop_front().expect("waited for")
    }

    /// Calls an operation, polling, until it is accepted. The answer is `Done` or `InProgress`.
    pub(crate) fn insist(&mut self, what: &str, mut operation: impl FnMut(&mut Link) -> Status) -> Status {
        let mut said = false;
        loop {
            match operation(self.link_mut()) {
                Status::Again => {
                    if !said {
                        self.doing(format!("{what}: again and again"));
                        said = true;
                    }
                    self.poll();
                    std::thread::yield_now();
                }
                status @ (Status::Done | Status::InProgress) => return status,
                status => panic!("{what}: answered {status:?}"),
            }
        }
    }

    /// As [`insist`](Self::insist), for operations with a token: waits for the completion, too, and
    /// gives its status.
    pub(crate) fn complete(
        &mut self,
        what: &str,
        mut operation: impl FnMut(&mut Link, u64) -> Status,
    ) -> Status {
        let token = self.token();
        if self.insist(what, |link| operation(link, token)) == Status::Done {
            return Status::Done;
        }
        self.poll_until(what, |r| r.completed.contains_key(&token));
        self.completed[&token]
    }

    /// A token not used before.
    pub(crate) fn token(&mut self) -> u64 {
        self.next_token += 1;
        // The high half is set, so that a transport which cuts tokens is found out.
        self.next_token | (u64::from(self.task) + 0xfeed) << 40
    }

    /// A number that looks random and is the same in every run.
    pub(crate) fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Memory that peers may reach, in the most direct manner the transport has.
    pub(crate) fn shared(&mut self, len: usize) -> Shared {
        let caps = self.common;
        if caps.contains(Caps::ALLOCATE) {
            let region = self.link_mut().mem_alloc(len).unwrap_or_else(|e| panic!("mem_alloc of {len}: {e}"));
            return Shared { region, _own: Vec::new() };
        }
        self.registered(len)
    }

    /// Registered memory, or plain memory where any address will do.
    pub(crate) fn registered(&mut self, len: usize) -> Shared {
        let mut own = vec![0u64; len.div_ceil(8)];
        let range = RawSlice { ptr: own.as_mut_ptr().cast(), len };
        let region = if self.common.contains(Caps::REGISTER) {
            // SAFETY: the memory stays until `Shared` is dropped, at the end of the case.
            unsafe { self.link_mut().mem_register(range) }.unwrap_or_else(|e| panic!("mem_register: {e}"))
        } else {
            assert!(
                self.common.contains(Caps::ANY_ADDRESS),
                "one-sided operations without REGISTER, ALLOCATE or ANY_ADDRESS reach nothing"
            );
            RegionInfo { addr: own.as_mut_ptr() as u64, len: len as u64, id: 0, key: 0 }
        };
        Shared { region, _own: own }
    }

    /// Publishes a region and gets the others'.
    pub(crate) fn exchange_regions(&mut self, mine: &Shared) -> BTreeMap<u32, RemoteAddr> {
        let part = [mine.region.addr.to_le_bytes(), mine.region.key.to_le_bytes()].concat();
        let parts = self.exchange("regions", &part);
        let word = |p: &[u8], i: usize| u64::from_le_bytes(p[i..i + 8].try_into().expect("8 bytes"));
        parts.iter().map(|(t, p)| (*t, RemoteAddr { addr: word(p, 0), key: word(p, 8) })).collect()
    }
}

/// The bytes of a message event. They are valid until the next poll; callers look at them at once.
pub(crate) fn bytes(event: &Event) -> &[u8] {
    if event.len == 0 {
        return &[];
    }
    assert!(!event.data.is_null(), "a message of {} bytes at address 0", event.len);
    // SAFETY: by the contract the bytes are there until the next poll.
    unsafe { std::slice::from_raw_parts(event.data, event.len as usize) }
}

/// Memory that peers may reach.
pub(crate) struct Shared {
    pub(crate) region: RegionInfo,
    _own: Vec<u64>,
}

impl Shared {
    /// A copy of the bytes. The tasks synchronise before it is looked at.
    pub(crate) fn read(&self, at: usize, len: usize) -> Vec<u8> {
        assert!(at + len <= self.region.len as usize);
        let base = self.region.addr as *const u8;
        // SAFETY: within the region. Volatile, since others write to it.
        (at..at + len).map(|i| unsafe { base.add(i).read_volatile() }).collect()
    }

    /// Writes the bytes.
    pub(crate) fn write(&self, at: usize, data: &[u8]) {
        assert!(at + data.len() <= self.region.len as usize);
        let base = self.region.addr as *mut u8;
        for (i, byte) in data.iter().enumerate() {
            // SAFETY: within the region.
            unsafe { base.add(at + i).write_volatile(*byte) };
        }
    }
}

/// Bytes that differ from one `seed` and place to another.
pub(crate) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| ((i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29) as u8).collect()
}

/// `data` as a transport wants it.
pub(crate) fn raw(data: &[u8]) -> RawSlice {
    RawSlice { ptr: data.as_ptr().cast_mut(), len: data.len() }
}

/// Lengths from 0 to `max`, dense at both ends and around powers of two.
pub(crate) fn lengths(max: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..=max.min(300)).collect();
    let mut power = 512;
    while power <= max {
        all.extend([power - 1, power, power + 1]);
        power *= 2;
    }
    all.extend(max.saturating_sub(3)..=max);
    all.retain(|l| *l <= max);
    all.sort_unstable();
    all.dedup();
    all
}
