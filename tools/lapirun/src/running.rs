//! A running job: waits for its tasks, and passes on signals and output.

mod failures;
mod roll_calls;
mod shutdown;
mod standard_input;
mod watching;

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use lapis_core::bootstrap::{Server, ServerEvent};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Signal, getpid, kill_process};

use crate::causes::{Abort, Causes};
use crate::fault::Fault;
use crate::guard::{Guard, Line};
use crate::job::{JobSpec, Output};
use crate::output::{Fate, Outlets, Pile, Sink, Stream};
use crate::remote::{Listening, News, Remote};
use crate::rollcall::RollCalls;
use crate::signals::{self, Signals};
use crate::spawn::{Local, Outcome};

/// A task that was restarted.
pub(crate) enum Born {
    Here(Local),
    There(Remote),
}

/// Restarts a task that was started this many times before.
pub(crate) type Again<'a> = dyn Fn(u32, u32) -> Result<Born, Fault> + 'a;

struct Task {
    /// Absent for a task on another machine.
    local: Option<Local>,
    /// Where it is, for messages.
    shown: String,
    outcome: Option<Outcome>,
    /// How many processes it had before.
    before: u32,
}

/// What the launcher listens to, beside the tasks.
pub(crate) struct Ears {
    pub(crate) signals: Signals,
    pub(crate) events: mpsc::Receiver<ServerEvent>,
    /// Rung for an abort, for room in the outlets, and at the end of a look at the tasks.
    pub(crate) wake: Arc<OwnedFd>,
}

/// The processes of a job and what the launcher knows about them.
pub(crate) struct Running<'a> {
    spec: &'a JobSpec,
    server: Server,
    signals: Signals,
    guard: Guard,
    events: mpsc::Receiver<ServerEvent>,
    wake: Arc<OwnedFd>,
    /// The job's identity.
    job: String,
    calls: RollCalls,
    started: Instant,
    progress: watching::Progress,
    listening: Listening,
    feeding: standard_input::Feeding,
    tasks: BTreeMap<u32, Task>,
    streams: Vec<Stream>,
    remotes: Vec<Remote>,
    sinks: BTreeMap<(u32, bool), Sink>,
    outlets: Outlets,
    /// Output that is passed on in the order of the tasks.
    pile: Pile,
    /// What has gone wrong and is not judged yet.
    causes: Causes,
    /// The launcher's exit code, once something has gone wrong.
    verdict: Option<u8>,
    /// The exit code of the first task that failed while the others went on.
    failed: Option<u8>,
    /// Tasks that may still be restarted.
    restarts: u32,
    /// Tasks that are to be restarted.
    reborn: Vec<(u32, Outcome)>,
    /// When politeness ends.
    kill_at: Option<Instant>,
    /// When other machines are given up.
    leave_at: Option<Instant>,
    deadline: Option<Instant>,
    interrupts: u32,
    /// When output of another machine came last.
    heard: Instant,
}

impl<'a> Running<'a> {
    pub(crate) fn new(
        spec: &'a JobSpec,
        job: &str,
        server: Server,
        guard: Guard,
        outlets: Outlets,
        Ears { signals, events, wake }: Ears,
    ) -> Self {
        Self {
            spec,
            server,
            signals,
            guard,
            events,
            wake,
            job: job.to_owned(),
            calls: RollCalls::new(spec.watch),
            started: Instant::now(),
            progress: watching::Progress::new(spec.tasks),
            listening: Listening::new(),
            feeding: standard_input::Feeding::default(),
            tasks: BTreeMap::new(),
            streams: Vec::new(),
            remotes: Vec::new(),
            sinks: BTreeMap::new(),
            outlets,
            pile: Pile::default(),
            causes: Causes::default(),
            verdict: None,
            failed: None,
            restarts: spec.restarts,
            reborn: Vec::new(),
            kill_at: None,
            leave_at: None,
            deadline: spec.timeout.map(|t| Instant::now() + t),
            interrupts: 0,
            heard: Instant::now(),
        }
    }

    /// The signal mask that the launcher was started with.
    pub(crate) fn original_mask(&self) -> libc::sigset_t {
        self.signals.original
    }

    /// Where tasks announce themselves to the guard.
    pub(crate) fn guard_line(&self) -> Line {
        self.guard.line()
    }

    /// One line to the user.
    pub(crate) fn say(&self, text: &str) {
        self.outlets.say(self.spec.command, text);
    }

    /// Takes charge of a task on this machine.
    pub(crate) fn add_local(&mut self, task: u32, mut local: Local) {
        for (from, error) in local.take_output() {
            let fate = self.fate(task, error);
            let sink = Sink::new(&self.outlets, task, error, self.spec.tag_output, fate);
            self.streams.push(Stream::new(from, sink));
        }
        let shown = format!("process {}", local.pid.as_raw_nonzero());
        let before = self.tasks.get(&task).map_or(0, |former| former.before + 1);
        self.tasks.insert(task, Task { local: Some(local), shown, outcome: None, before });
        self.progress.started();
        self.show_progress();
    }

    /// What becomes of a task's output, or error output, which is always passed on.
    fn fate(&self, task: u32, error: bool) -> Fate {
        match self.spec.output {
            Output::Only(only) if !error && only != task => Fate::Dropped,
            Output::Ordered if !error => Fate::Piled(task, Arc::clone(&self.pile)),
            _ => Fate::Passed,
        }
    }

    /// Takes charge of an agent and the tasks of its branch.
    pub(crate) fn add_remote(&mut self, remote: Remote) {
        for (host, tasks) in &remote.machines {
            for &task in tasks {
                let shown = format!("on {host}");
                let before = self.tasks.get(&task).map_or(0, |former| former.before + 1);
                self.tasks.insert(task, Task { local: None, shown, outcome: None, before });
                for error in [false, true] {
                    // Of a former process: its last line may have no end.
                    self.sinks.remove(&(task, error)).iter_mut().for_each(Sink::finish);
                }
            }
        }
        self.remotes.push(remote);
    }

    /// Runs until every task has ended; the result is the launcher's exit code.
    pub(crate) fn until_the_end(mut self, again: &Again<'_>) -> u8 {
        while !self.all_ended() {
            self.wait();
            self.handle_server();
            self.feed();
            self.show_progress();
            self.call_roll();
            for signal in self.signals.read() {
                self.obey(signal);
            }
            let ended = self.look();
            self.record(&ended);
            self.judge();
            self.start_anew(again);
            self.check_time_limit();
        }
        self.judge();
        self.part();
        self.verdict.or(self.failed).unwrap_or(0)
    }

    /// The tasks of this machine that have ended since the last look.
    fn look(&self) -> Vec<(u32, Outcome)> {
        let mut ended: Vec<(u32, Outcome)> = Vec::new();
        loop {
            let before = ended.len();
            // Looking costs one system call per task; a lost SIGCHLD would cost the job.
            for (number, task) in &self.tasks {
                if task.outcome.is_none()
                    && !ended.iter().any(|(n, _)| n == number)
                    && let Some(outcome) = task.local.as_ref().and_then(Local::outcome)
                {
                    ended.push((*number, outcome));
                }
            }
            // A task may have ended behind the look, and one ahead of it because of that: both are
            // to be seen together.
            if ended.len() == before {
                return ended;
            }
        }
    }

    /// Sleeps until a signal, an abort, output or a deadline; deals with output and agents.
    fn wait(&mut self) {
        let due = self.causes.due(Instant::now());
        let next = self.kill_at.into_iter().chain(self.deadline).chain(self.leave_at).chain(due);
        let next = next
            .chain(self.calls.due())
            .chain(self.progress.due())
            .chain((!self.remotes.is_empty()).then(|| self.listening.next()))
            .min();
        let timeout = next.map(|at| {
            let left = at.saturating_duration_since(Instant::now()).as_millis() as i64 + 1;
            Timespec { tv_sec: left / 1000, tv_nsec: left % 1000 * 1_000_000 }
        });
        let borrowed = PollFd::from_borrowed_fd;
        let mut fds =
            vec![borrowed(self.signals.as_fd(), PollFlags::IN), borrowed(self.wake.as_fd(), PollFlags::IN)];
        // Who writes faster than the launcher's reader reads has to wait, as at a pipe of his own.
        // Not so at the job's end: an agent that can't get rid of output is deaf.
        let room = [false, true].map(|error| self.outlets.has_room(error));
        let ending = self.verdict.is_some() || self.interrupts > 0;
        let read = |may: bool| if may { PollFlags::IN } else { PollFlags::empty() };
        // A descriptor of which nothing is asked still tells of its other end's, again and again.
        let unless_full = |fd, may: bool| borrowed(if may { fd } else { self.wake.as_fd() }, read(may));
        fds.extend(self.streams.iter().map(|s| unless_full(s.from.as_fd(), room[usize::from(s.sink.error)])));
        fds.extend(self.remotes.iter().map(|r| unless_full(r.as_fd(), ending || room == [true; 2])));
        fds.extend(self.remotes.iter().filter_map(|r| Some(borrowed(r.unsent()?, PollFlags::OUT))));
        // Interrupted or failed: the loop looks at everything anyway.
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
        let mut ready = fds[2..].iter().map(|fd| !fd.revents().is_empty()).collect::<Vec<_>>().into_iter();
        drop(fds);
        self.streams.retain_mut(|stream| !ready.next().unwrap_or(false) || stream.pump());
        let spoken: Vec<usize> = (0..self.remotes.len())
            .filter(|at| ready.next().unwrap_or(false) || self.remotes[*at].is_cut())
            .collect();
        // From the last, so that those that leave do not move the others.
        for at in spoken.into_iter().rev() {
            self.handle_agent(at);
        }
        self.remotes.iter_mut().for_each(Remote::flush);
        let lines = self.listening.look(&mut self.remotes, ending || room == [true; 2]);
        lines.iter().for_each(|line| self.say(line));
    }

    fn handle_agent(&mut self, at: usize) {
        let (news, open) = self.remotes[at].hear();
        let mut ended = Vec::new();
        for item in news {
            match item {
                News::Started { task, pid } => {
                    self.progress.started();
                    if let Some(task) = self.tasks.get_mut(&task) {
                        task.shown = format!("process {pid} {}", task.shown);
                    }
                }
                News::Output { task, error, bytes } => {
                    self.heard = Instant::now();
                    let (outlets, tagged, fate) =
                        (&self.outlets, self.spec.tag_output, self.fate(task, error));
                    let sink = self
                        .sinks
                        .entry((task, error))
                        .or_insert_with(|| Sink::new(outlets, task, error, tagged, fate));
                    if !sink.push(&bytes) {
                        self.remotes[at].deafen(task, error);
                    }
                }
                News::Reports(reports) => self.calls.answer(reports),
                News::Exited { task, outcome } => ended.push((task, outcome)),
                News::Failed { code, text } => self.give_up(code, &text),
                News::Said(line) => self.say(&line),
                News::Taken { task, more } => self.feeding.taken(task, more),
            }
        }
        self.record(&ended);
        if open {
            return;
        }
        let remote = self.remotes.swap_remove(at);
        let (orphans, loss) = (remote.left(), remote.loss());
        remote.finish();
        if !orphans.is_empty() {
            self.give_up(1, &loss);
            let outcome = Outcome::Killed { signal: libc::SIGKILL, dumped: false };
            self.record(&orphans.iter().map(|&t| (t, outcome)).collect::<Vec<_>>());
        }
    }

    fn handle_server(&mut self) {
        let mut counter = [0u8; 8];
        let _ = rustix::io::read(&*self.wake, &mut counter);
        while let Ok(event) = self.events.try_recv() {
            match event {
                ServerEvent::Connected { task, .. } => {
                    self.progress.joined(task);
                    self.causes.connected(task);
                }
                ServerEvent::Lost { task } => self.causes.lost(task),
                ServerEvent::Aborted { task, code, message } if self.verdict.is_none() => {
                    self.causes.aborted(Abort { task, code, message }, Instant::now());
                }
                _ => {}
            }
        }
    }

    fn obey(&mut self, signal: i32) {
        match signal {
            libc::SIGTSTP => {
                self.send(libc::SIGTSTP);
                // The launcher stops as its tasks do, so that the shell sees a stopped job.
                let _ = kill_process(getpid(), Signal::STOP);
                self.send(libc::SIGCONT);
            }
            libc::SIGCONT => self.send(libc::SIGCONT),
            libc::SIGUSR1 if self.spec.roll_call => self.begin_roll_call(true),
            _ if signals::FORWARDED.contains(&signal) => {
                self.send(signal);
                if matches!(signal, libc::SIGINT | libc::SIGTERM | libc::SIGQUIT) {
                    self.interrupts += 1;
                    if self.interrupts > 1 {
                        // Asked twice: the tasks have had their chance.
                        self.kill_at = Some(Instant::now());
                        self.verdict.get_or_insert((128 + signal) as u8);
                    }
                }
            }
            _ => {}
        }
    }

    /// A signal to every task that still runs, with all that it has started.
    fn send(&mut self, signal: i32) {
        for task in self.tasks.values().filter(|t| t.outcome.is_none()) {
            if let Some(local) = &task.local {
                local.signal(signal);
            }
        }
        for remote in &mut self.remotes {
            remote.signal(signal);
        }
    }

    fn all_ended(&self) -> bool {
        self.tasks.values().all(|t| t.outcome.is_some())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.part();
    }
}
