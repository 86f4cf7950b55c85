//! The engines, the clock, and what is under way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use super::ledger::HEAD;
use super::task::{Bodies, Task};
use super::{Ledger, Note, Pipe, Random, Traffic, WorldSpec};
use crate::reliable::wire::Header;
use crate::reliable::{
    Authenticator, Body, Delivery, Engine, Event, FastUnit, Nanos, PathInfo, SubmitError, Transmit, Verdict,
    Via,
};

/// The job that all tasks belong to. Not text, so that recorded datagrams don't pass for text
/// files.
const JOB: u32 = 0x80ff_ee01;

/// As many units under way as let another take the fast path.
const FEW: usize = 4;

enum Happening {
    Arrival { task: u32, datagram: Vec<u8> },
    Wake { task: u32 },
    Timer { task: u32 },
}

/// N engines in virtual time.
pub struct World<A> {
    /// The time.
    pub now: Nanos,
    /// What was sent and what arrived.
    pub ledger: Ledger,
    /// The pipes, by [`World::pipe`]; tests change their faults as they go.
    pub pipes: Vec<Pipe>,
    /// Rates in parts per million at which the upper layer refuses a unit.
    pub refuse: u32,
    /// Notes of what arrived, if a test wants them.
    pub notes: Option<Vec<Note>>,
    /// All events but acknowledgements, with the task that got them.
    pub events: Vec<(u32, Event)>,
    /// The largest number of bytes that an engine held.
    pub most_memory: usize,
    /// Largest datagrams seen by the network's eavesdropper, for replays.
    pub overheard: Vec<(u32, Vec<u8>)>,
    /// How many datagrams to overhear.
    pub overhear: usize,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams for which a busy task's receive buffer had no room.
    pub overflows: u64,
    /// Units that took the fast path.
    pub fast: u64,
    tasks: Vec<Task<A>>,
    spec: WorldSpec,
    random: Random,
    heap: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    happenings: Vec<Option<Happening>>,
    free: Vec<usize>,
    order: u64,
    out: Transmit,
    steps: u64,
    route: fn(&WorldSpec, u32, u32, u8) -> usize,
    added: Vec<(u32, u32)>,
    /// Tasks become peers when they hear of each other.
    lazy: bool,
}

impl<A: Authenticator + Clone> World<A> {
    /// A world in which every task is everybody's peer, unless `neighbours` is false; then tasks
    /// become peers as traffic wants it.
    pub fn new(seed: u64, spec: &WorldSpec, auth: &A, neighbours: bool) -> Self {
        let tasks = (0..spec.tasks).map(|task| Task {
            engine: Engine::new(spec.config.clone(), task, JOB, auth.clone()).expect("a valid configuration"),
            traffic: VecDeque::new(),
            memory: HashMap::new(),
            next_token: 0,
            head: [0; HEAD],
            body: Vec::new(),
            timer: Nanos::MAX,
            busy_until: 0,
            socket: VecDeque::new(),
            socket_used: 0,
        });
        let pipes = vec![Pipe::new(spec.fault); spec.tasks as usize * usize::from(spec.paths)];
        let mut world = Self {
            now: 0,
            ledger: Ledger::default(),
            pipes,
            refuse: 0,
            notes: None,
            events: Vec::new(),
            most_memory: 0,
            overheard: Vec::new(),
            overhear: 0,
            datagrams: 0,
            overflows: 0,
            fast: 0,
            tasks: tasks.collect(),
            spec: spec.clone(),
            random: Random::new(seed),
            heap: BinaryHeap::new(),
            happenings: Vec::new(),
            free: Vec::new(),
            order: 0,
            out: Transmit::default(),
            steps: 0,
            route: |spec, _, to, path| to as usize * usize::from(spec.paths) + usize::from(path),
            added: Vec::new(),
            lazy: !neighbours,
        };
        if neighbours {
            for from in 0..spec.tasks {
                for to in (0..spec.tasks).filter(|&to| to != from) {
                    world.add_peer(from, to);
                }
            }
        }
        world
    }

    /// Chooses which pipe datagrams take: the argument is the world, sender, receiver and path.
    /// Without it, all that goes to one task over one path shares a pipe.
    pub fn set_route(&mut self, route: fn(&WorldSpec, u32, u32, u8) -> usize) {
        self.route = route;
    }

    /// The pipe from one task to another over a path.
    #[must_use]
    pub fn pipe(&self, from: u32, to: u32, path: u8) -> usize {
        (self.route)(&self.spec, from, to, path)
    }

    /// Makes `to` a peer of `from`.
    pub fn add_peer(&mut self, from: u32, to: u32) {
        let paths = self.path_infos();
        let known = self.spec.epochs_known.then_some(1);
        let engine = &mut self.tasks[from as usize].engine;
        engine.add_peer(self.now, to, 1, known, &paths).expect("a new peer");
        self.added.push((from, to));
    }

    /// The engine of a task. After anything that may make it send, call [`pump`](Self::pump).
    pub fn engine(&mut self, task: u32) -> &mut Engine<A> {
        &mut self.tasks[task as usize].engine
    }

    /// Replaces a task by a new incarnation of itself, which knows nothing.
    pub fn restart(&mut self, task: u32, epoch: u32, auth: &A) {
        let state = &mut self.tasks[task as usize];
        state.engine = Engine::new(self.spec.config.clone(), task, JOB, auth.clone()).expect("valid before");
        state.traffic.clear();
        for (_, (key, _)) in state.memory.drain() {
            self.ledger.purged(key);
        }
        state.timer = Nanos::MAX;
        let paths = self.path_infos();
        for peer in (0..self.spec.tasks).filter(|&peer| peer != task) {
            let engine = &mut self.tasks[task as usize].engine;
            engine.add_peer(self.now, peer, epoch, None, &paths).expect("a new peer");
        }
    }

    fn path_infos(&self) -> Vec<PathInfo> {
        let max_datagram = self.spec.max_datagram;
        let regular = self.spec.paths - self.spec.standby;
        let path = |path_id| PathInfo::new(path_id, max_datagram);
        (0..self.spec.paths)
            .map(|id| if id < regular { path(id) } else { path(id).standby(id - regular) })
            .collect()
    }

    /// Gives a task something to send.
    pub fn send(&mut self, from: u32, traffic: Traffic) {
        if self.lazy && self.engine(from).max_payload(traffic.to).is_none() {
            self.add_peer(from, traffic.to);
        }
        self.tasks[from as usize].traffic.push_back(traffic);
        self.pump(from);
    }

    /// Bytes held by all engines.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tasks.iter().map(|task| task.engine.memory()).sum()
    }

    /// Everything that was to be sent was submitted, delivered and acknowledged.
    #[must_use]
    pub fn done(&self) -> bool {
        self.ledger.missing == 0
            && self.tasks.iter().all(|task| task.traffic.is_empty())
            && self
                .added
                .iter()
                .all(|&(from, to)| self.tasks[from as usize].engine.outstanding(to) == Some(0))
    }

    /// Runs until everything is done.
    ///
    /// # Panics
    /// If that takes more than `limit` of virtual time.
    pub fn finish(&mut self, limit: Nanos) {
        let until = self.now + limit;
        while !self.done() {
            let next = self.next().unwrap_or(Nanos::MAX);
            if next > until {
                self.explain();
            }
            assert!(
                next <= until,
                "no end in sight after {} ms of virtual time: {} units missing, {} arrived",
                limit / 1_000_000,
                self.ledger.missing,
                self.ledger.arrived,
            );
            // `done` looks at every peer, which is not for every step of a large world.
            let burst = if self.ledger.missing > 0 { 1 + self.ledger.missing.min(1000) } else { 1 };
            for _ in 0..burst {
                if !self.step() {
                    break;
                }
            }
        }
    }

    /// Prints who waits for what.
    fn explain(&mut self) {
        for at in 0..self.added.len() {
            let (from, to) = self.added[at];
            let missing = self.ledger.missing_between(from, to);
            let waiting = self.tasks[from as usize].traffic.iter().filter(|traffic| traffic.to == to).count();
            let engine = &self.tasks[from as usize].engine;
            let outstanding = engine.outstanding(to).unwrap_or(0);
            if missing + waiting + outstanding > 0 {
                eprintln!(
                    "{from} -> {to}: {missing} missing, {outstanding} outstanding, more to come: {waiting}"
                );
                eprintln!("  {:?}", engine.stats(to));
                for peer in engine.peers.iter().filter(|peer| peer.task == to) {
                    eprintln!("  {}", peer.summary());
                }
                eprintln!("  there {:?}", self.tasks[to as usize].engine.stats(from));
            }
        }
    }

    /// Runs until the given time.
    pub fn run_until(&mut self, until: Nanos) {
        while self.next().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// When something happens next.
    #[must_use]
    pub fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|&Reverse((at, _, _))| at)
    }

    /// Lets the next thing happen.
    pub fn step(&mut self) -> bool {
        let Some(Reverse((at, _, slot))) = self.heap.pop() else { return false };
        self.now = self.now.max(at);
        self.steps += 1;
        self.free.push(slot);
        match self.happenings[slot].take() {
            Some(Happening::Arrival { task, datagram }) => {
                let state = &mut self.tasks[task as usize];
                if state.busy_until > self.now {
                    let config = &self.spec.config;
                    let cost = datagram.len() + config.datagram_overhead as usize;
                    if state.socket_used + cost > config.receive_buffer as usize {
                        self.overflows += 1;
                    } else {
                        state.socket_used += cost;
                        state.socket.push_back(datagram);
                    }
                } else {
                    self.arrive(task, &datagram);
                    self.pump(task);
                }
            }
            Some(Happening::Wake { task }) => {
                let state = &mut self.tasks[task as usize];
                if state.busy_until <= self.now {
                    state.socket_used = 0;
                    for datagram in std::mem::take(&mut state.socket) {
                        self.arrive(task, &datagram);
                    }
                    self.pump(task);
                }
            }
            Some(Happening::Timer { task }) => {
                let state = &mut self.tasks[task as usize];
                if state.timer == at {
                    state.timer = Nanos::MAX;
                    // A busy task looks at the clock when it wakes.
                    if state.busy_until <= self.now {
                        self.pump(task);
                    }
                }
            }
            None => {}
        }
        true
    }

    /// The task computes for a while and makes no progress; what arrives waits in its receive
    /// buffer.
    pub fn keep_busy(&mut self, task: u32, time: Nanos) {
        let until = self.now + time;
        self.tasks[task as usize].busy_until = until;
        self.plan(until, Happening::Wake { task });
    }

    /// Hands a datagram to a task's engine.
    pub fn arrive(&mut self, task: u32, datagram: &[u8]) {
        if self.lazy
            && let Ok((header, _)) = Header::parse(datagram)
            && self.engine(task).max_payload(header.source).is_none()
        {
            self.add_peer(task, header.source);
        }
        let (now, refuse) = (self.now, self.refuse);
        let (ledger, random, notes) = (&mut self.ledger, &mut self.random, &mut self.notes);
        let state = &mut self.tasks[task as usize];
        state.engine.on_datagram(now, datagram, |Delivery { peer, channel, packet }| {
            if random.chance(refuse) {
                return Verdict::Drop;
            }
            let note = ledger.check_off(now, task, peer, channel, packet);
            if let Some(notes) = notes {
                notes.push(note);
            }
            Verdict::Accept
        });
    }

    /// Lets a task submit, send and look at its timers.
    pub fn pump(&mut self, task: u32) {
        let state = &mut self.tasks[task as usize];
        state.engine.on_timeout(self.now);
        loop {
            let more = self.submit(task);
            let state = &mut self.tasks[task as usize];
            while let Some(event) = state.engine.poll_event() {
                match event {
                    Event::Acked { token, .. } | Event::Purged { token, .. } => {
                        let known = state.memory.remove(&token);
                        let (key, _) = known.expect("a token that was not given, or given back twice");
                        match event {
                            Event::Acked { .. } => self.ledger.acked(key),
                            _ => self.ledger.purged(key),
                        }
                    }
                    other => self.events.push((task, other)),
                }
            }
            let mut sent = false;
            while self.tasks[task as usize].transmit(self.now, &mut self.out) {
                sent = true;
                self.carry(task);
            }
            if !more && !sent {
                break;
            }
        }
        let state = &mut self.tasks[task as usize];
        if self.steps.is_multiple_of(64) {
            self.most_memory = self.most_memory.max(state.engine.memory());
        }
        if let Some(at) = state.engine.next_timeout()
            && at < state.timer
        {
            let at = at.max(self.now);
            state.timer = at;
            self.plan(at, Happening::Timer { task });
        }
    }

    /// Submits what the engine takes; true if it took something.
    fn submit(&mut self, task: u32) -> bool {
        let mut any = false;
        let mut stuck = 0;
        loop {
            let state = &mut self.tasks[task as usize];
            let Some(traffic) = state.traffic.get_mut(stuck) else { return any };
            let Some(max) = state.engine.max_payload(traffic.to) else { panic!("not a peer") };
            let (to, channel) = (traffic.to, traffic.channel);
            let token = state.next_token;
            // Some were made for a path that was wider before.
            let most = if token.is_multiple_of(7) { max.max(self.spec.max_datagram) } else { max };
            let size = traffic.size.min(most).max(HEAD);
            let (key, head) = self.ledger.enter(self.now, task, to, channel, size);
            if state.head != head || state.body.len() != size - HEAD {
                state.head = head;
                state.body.resize(size - HEAD, 0);
                Ledger::fill(&head, &mut state.body);
            }
            let body = &state.body[..];
            let given = if traffic.external {
                Body::External { buffer: token, offset: 3, len: body.len() as u32 }
            } else {
                Body::Copy(body)
            };
            // Every other one as a caller does who has nothing else to send.
            let unit = FastUnit { peer: to, channel, head: &head, body, token, few: FEW };
            let send = |out: &mut Transmit| out.copy_in(&mut { unit });
            let fast = !traffic.external
                && token.is_multiple_of(2)
                && state.engine.submit_fast(self.now, unit, &mut self.out, send);
            let via = Via::path(channel, self.spec.preferred(token));
            let mut submit = || state.engine.submit(self.now, to, via, &head, given, token);
            match if fast { Ok(()) } else { submit() } {
                Ok(()) => {
                    let held = if traffic.external { [&[0; 3], body].concat() } else { Vec::new() };
                    state.memory.insert(token, (key, held));
                    state.next_token += 1;
                    any = true;
                    traffic.count -= 1;
                    if traffic.count == 0 {
                        state.traffic.remove(stuck);
                    }
                    if fast {
                        self.fast += 1;
                        self.carry(task);
                    }
                }
                Err(SubmitError::Again) => {
                    self.ledger.withdraw(key);
                    stuck += 1;
                }
                Err(SubmitError::PeerDown(_)) => {
                    // Purged with traffic to come: the task gives up.
                    self.ledger.withdraw(key);
                    state.traffic.remove(stuck);
                }
                Err(error) => panic!("submit: {error}"),
            }
        }
    }

    fn carry(&mut self, from: u32) {
        let out = std::mem::take(&mut self.out);
        for index in 0..out.datagrams() {
            let mut datagram = Vec::new();
            out.copy_datagram(index, &mut Bodies(&self.tasks[from as usize].memory), &mut datagram);
            let size = if index + 1 < out.datagrams() { out.segment_size } else { datagram.len() };
            assert_eq!(datagram.len(), size, "datagram {index} of {} has another size", out.datagrams());
            assert!(size <= out.segment_size);
            self.datagrams += 1;
            if self.overheard.len() < self.overhear {
                self.overheard.push((out.peer, datagram.clone()));
            }
            let pipe = self.pipe(from, out.peer, out.path);
            let passages = self.pipes[pipe].pass(self.now, datagram.len(), &mut self.random);
            let mut passages = passages.into_iter().flatten().peekable();
            while let Some(passage) = passages.next() {
                let more = passages.peek().is_some();
                let mut datagram = if more { datagram.clone() } else { std::mem::take(&mut datagram) };
                if passage.corrupt {
                    for _ in 0..self.random.range(1..4) {
                        let bit = self.random.below(datagram.len() as u64 * 8) as usize;
                        datagram[bit / 8] ^= 1 << (bit % 8);
                    }
                }
                self.plan(passage.at, Happening::Arrival { task: out.peer, datagram });
            }
        }
        self.out = out;
    }

    fn plan(&mut self, at: Nanos, happening: Happening) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.happenings.push(None);
            self.happenings.len() - 1
        });
        self.happenings[slot] = Some(happening);
        self.order += 1;
        self.heap.push(Reverse((at, self.order, slot)));
    }
}

impl<A> std::fmt::Debug for World<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("now", &self.now)
            .field("tasks", &self.spec.tasks)
            .finish_non_exhaustive()
    }
}
