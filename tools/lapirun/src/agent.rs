//! The launcher's agent on another machine: `lapirun --agent`, started through ssh or the like.
//!
//! It takes its orders on standard input, so that the job's secret never stands on a command line,
//! and reports on standard output. The end of its input means that the launcher is gone: it kills
//! its tasks and exits. In a large job it starts further agents and forwards messages between them
//! and the launcher; they notice its end as it notices the launcher's.

mod child_agents;
mod standard_input;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use lapis_core::bootstrap::variables;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::process::Resource;

use crate::bind;
use crate::fault::Fault;
use crate::guard::Guard;
use crate::job::Binding;
use crate::output::tell;
use crate::rollcall::{self, Report};
use crate::signals::Signals;
use crate::spawn::{Local, Outcome, Program, Spawner};
use crate::windows::{self, Windows};
use crate::wire::{self, Frame, Inbox, Order};
use child_agents::Below;
use standard_input::Feeds;

/// Whether that is all that this process was told. A job starts its own command there, so each of
/// them must answer to it: lapirun, poe and acprun.
pub(crate) fn is_meant() -> bool {
    let mut words = std::env::args_os().skip(1);
    words.next().is_some_and(|word| word == wire::AGENT) && words.next().is_none()
}

/// Entry of `lapirun --agent`, or that of another command.
pub(crate) fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            let code = fault.exit_code();
            if wire::send(&mut io::stdout(), wire::FAULT, u32::from(code), fault.to_string().as_bytes())
                .is_err()
            {
                tell("lapirun agent", &fault.to_string());
            }
            ExitCode::from(code)
        }
    }
}

fn serve() -> Result<(), Fault> {
    let system = |what| move |source| Fault::System { what, source };
    let files = rustix::process::getrlimit(Resource::Nofile);
    let mut raised = files;
    raised.current = files.maximum;
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
    let signals = Signals::take().map_err(system("taking over the signals"))?;
    let guard = Guard::start().map_err(system("starting the guard process"))?;
    wire::send(&mut io::stdout(), wire::HELLO, 0, wire::GREETING).map_err(system("greeting the launcher"))?;

    let mut inbox = Inbox::default();
    let Some(mut order) = read_order(&mut inbox).map_err(system("reading the launcher's order"))? else {
        return Ok(());
    };
    // First those that take longest: the machines below start while this one does.
    let below =
        Below::start(order.branches(), signals.original, &guard.line()).map_err(system("starting agents"))?;
    std::env::set_current_dir(&order.folder)
        .map_err(|e| Fault::Folder { path: order.folder.clone(), source: e })?;
    let find = |(name, args): &(String, Vec<String>)| {
        Program::find(name.into(), args.iter().map(OsString::from).collect())
    };
    let programs = order.programs.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let windows = windows_for(&order)?;
    let all = order.env.iter().chain(windows.iter().map(|windows| &windows.variable));
    let env: Vec<(OsString, OsString)> = all.map(|(k, v)| (k.into(), v.into())).collect();
    let binding = Binding::from_word(&order.bind).unwrap_or(Binding::None);
    let cpus = bind::assign(binding, order.machine.here.len() as u32).unwrap_or_default();
    let spawner = Spawner {
        programs: &programs,
        which: &order.machine.which,
        folder: None,
        files: order.files.as_deref(),
        env: &env,
        here: &order.machine.here,
        mask: signals.original,
        limits: files,
        cpus: &cpus,
        piped: [order.files.is_none(); 2],
        guard: guard.line(),
    };
    let looks = Looks::new(&order).map_err(system("making an eventfd"))?;
    let mut agent = Agent {
        tasks: Vec::new(),
        streams: Vec::new(),
        feeds: Feeds::default(),
        signals,
        _guard: guard,
        inbox,
        looks,
        below,
        restarts: order.restarts,
    };
    agent.start(&order, &spawner)?;
    agent.run().map_err(system("reporting to the launcher"))
}

/// Windows for the tasks of this machine, if they want some and it has no daemon.
fn windows_for(order: &Order) -> Result<Option<Windows>, Fault> {
    let job = order.env.iter().find(|(name, _)| name == variables::JOB_ID);
    let value = |name: &str| {
        let told = order.env.iter().find(|(n, _)| n == name).map(|(_, value)| OsString::from(value));
        told.or_else(|| std::env::var_os(name))
    };
    windows::start(job.map_or("", |(_, id)| id), value).map_err(|text| Fault::Windows { text })
}

fn read_order(inbox: &mut Inbox) -> io::Result<Option<Order>> {
    let mut chunk = [0u8; 16 << 10];
    loop {
        let bad = |text| io::Error::new(io::ErrorKind::InvalidData, text);
        match inbox.next().map_err(bad)? {
            Some(Frame { kind: wire::ORDER, bytes, .. }) => return Ok(Some(serde_json::from_slice(&bytes)?)),
            Some(_) => continue,
            None => {}
        }
        // Not through the standard library's buffer: what comes later is read from the descriptor.
        match rustix::io::read(rustix::stdio::stdin(), &mut chunk) {
            Ok(0) => return Ok(None),
            Ok(n) => inbox.push(&chunk[..n]),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

struct Agent {
    tasks: Vec<(u32, Local, Option<Outcome>)>,
    streams: Vec<(u32, bool, OwnedFd)>,
    feeds: Feeds,
    signals: Signals,
    /// Dropped last: it watches until the tasks have ended.
    _guard: Guard,
    inbox: Inbox,
    looks: Looks,
    below: Below,
    /// Whether tasks that fail may be restarted.
    restarts: bool,
}

/// Roll calls, as far as they concern this machine.
struct Looks {
    job: String,
    sender: mpsc::Sender<Vec<Report>>,
    reports: mpsc::Receiver<Vec<Report>>,
    bell: Arc<OwnedFd>,
}

impl Looks {
    fn new(order: &Order) -> io::Result<Self> {
        let (sender, reports) = mpsc::channel();
        let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let job = order.env.iter().find(|(name, _)| name == variables::JOB_ID);
        let job = job.map_or_else(String::new, |(_, id)| id.clone());
        Ok(Self { job, sender, reports, bell: Arc::new(bell) })
    }

    /// Hands in what was seen.
    fn report(&self) -> io::Result<()> {
        let mut counter = [0u8; 8];
        let _ = rustix::io::read(&*self.bell, &mut counter);
        while let Ok(reports) = self.reports.try_recv() {
            wire::send(&mut io::stdout(), wire::REPORT, 0, &serde_json::to_vec(&reports)?)?;
        }
        Ok(())
    }
}

impl Agent {
    /// Starts the tasks of this machine.
    fn start(&mut self, order: &Order, spawner: &Spawner<'_>) -> Result<(), Fault> {
        let system = |what| move |source| Fault::System { what, source };
        for &task in &order.machine.tasks {
            let Some(place) = order.machine.here.iter().position(|t| *t == task) else { continue };
            let stdin = if order.input.is_read_by(task) { Stdio::piped() } else { Stdio::null() };
            let mut local = spawner.start(place, order.before, stdin).map_err(|e| spawner.fault(task, e))?;
            if let Some(to) = local.child.stdin.take() {
                self.feeds.add(task, to).map_err(system("preparing a task's input"))?;
            }
            for (from, error) in local.take_output() {
                let ready = rustix::io::ioctl_fionbio(&from, true).map_err(io::Error::from);
                ready.map_err(system("preparing a task's output"))?;
                self.streams.push((task, error, from));
            }
            let pid = local.pid.as_raw_nonzero().get().to_le_bytes();
            self.tasks.push((task, local, None));
            wire::send(&mut io::stdout(), wire::STARTED, task, &pid).map_err(system("reporting a start"))?;
        }
        Ok(())
    }

    fn run(&mut self) -> io::Result<()> {
        let mut beaten = Instant::now();
        // Behind the order there may be more already.
        self.obey()?;
        while self.below.any() || self.tasks.iter().any(|(_, _, outcome)| outcome.is_none()) {
            let mut fds = vec![
                PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.looks.bell.as_fd(), PollFlags::IN),
            ];
            fds.extend(
                self.streams.iter().map(|(_, _, from)| PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)),
            );
            let streams = 3..fds.len();
            fds.extend(self.feeds.descriptors().map(|to| PollFd::from_borrowed_fd(to, PollFlags::OUT)));
            let below = fds.len();
            fds.extend(self.below.descriptors());
            let pause = Timespec { tv_sec: 0, tv_nsec: wire::BEAT_EVERY.as_nanos() as i64 };
            let _ = rustix::event::poll(&mut fds, Some(&pause));
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if ready[0] && !self.hear()? {
                // The launcher is gone; dropping ends the tasks.
                return Ok(());
            }
            for signal in self.signals.read() {
                // A broken line to the launcher, or an administrator: the tasks hear it as well.
                if matches!(signal, libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT) {
                    self.signal(signal);
                }
            }
            self.looks.report()?;
            if beaten.elapsed() >= wire::BEAT_EVERY {
                beaten = Instant::now();
                wire::send(&mut io::stdout(), wire::BEAT, 0, &[])?;
            }
            self.pump(&ready[streams.clone()])?;
            self.feeds.flush()?;
            self.below.hand_on(&ready[below..])?;
            self.report_ends()?;
        }
        for (_, local, _) in &mut self.tasks {
            local.finish();
        }
        self.drain()
    }

    /// Tells the launcher of tasks that have ended. One that may be restarted leaves nothing that
    /// runs or writes beside its successor.
    fn report_ends(&mut self) -> io::Result<()> {
        for at in 0..self.tasks.len() {
            let (task, local, outcome @ None) = &mut self.tasks[at] else { continue };
            let Some(end) = local.outcome() else { continue };
            let number = *task;
            *outcome = Some(end);
            if self.restarts && end.failed() {
                local.finish();
                let is_its = |(task, _, _): &mut (u32, bool, OwnedFd)| *task == number;
                let its: Vec<_> = self.streams.extract_if(.., is_its).collect();
                let others = std::mem::replace(&mut self.streams, its);
                self.drain()?;
                self.streams = others;
            }
            wire::send(&mut io::stdout(), wire::EXITED, number, &end.to_bytes())?;
        }
        Ok(())
    }

    /// Hands on last words: everybody who could write has ended, or has left the tasks' groups.
    fn drain(&mut self) -> io::Result<()> {
        // A pipe holds a bounded amount; more comes only from a process that escaped, which is not
        // waited for.
        for _ in 0..64 {
            let from = self.streams.iter().map(|(_, _, from)| from.as_fd());
            let mut fds: Vec<_> = from.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            if !matches!(rustix::event::poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..)) {
                break;
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            self.pump(&ready)?;
        }
        Ok(())
    }

    /// Hears the launcher; `false` when it is gone.
    fn hear(&mut self) -> io::Result<bool> {
        let mut chunk = [0u8; 4096];
        match rustix::io::read(rustix::stdio::stdin(), &mut chunk) {
            Ok(0) => return Ok(false),
            Ok(n) => self.inbox.push(&chunk[..n]),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.obey()?;
        Ok(true)
    }

    /// Does what the launcher has said.
    fn obey(&mut self) -> io::Result<()> {
        while let Ok(Some(frame)) = self.inbox.next() {
            match frame.kind {
                wire::SIGNAL => self.signal(frame.number as i32),
                wire::ROLL => {
                    self.look();
                    self.below.call_roll();
                }
                wire::INPUT if self.below.has(frame.number) => self.below.feed(frame.number, &frame.bytes),
                wire::INPUT => self.feeds.push(frame.number, &frame.bytes)?,
                wire::DEAF => {
                    let error = frame.bytes == [1];
                    self.below.deafen(frame.number, error);
                    // Closing this end tells the task, as a pipe would.
                    self.streams.retain(|(task, is_error, _)| (*task, *is_error) != (frame.number, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Looks at the tasks that still run.
    fn look(&self) {
        let running = self.tasks.iter().filter(|(_, _, outcome)| outcome.is_none());
        let process = |local: &Local| local.pid.as_raw_nonzero().get().cast_unsigned();
        let tasks: BTreeMap<_, _> = running.map(|(task, local, _)| (*task, process(local))).collect();
        if tasks.is_empty() {
            // Of this machine nothing is expected any more.
            return;
        }
        rollcall::observe_in_thread(&self.looks.job, tasks, &self.looks.sender, &self.looks.bell);
    }

    fn signal(&mut self, signal: i32) {
        self.below.signal(signal);
        for (_, local, _) in self.tasks.iter().filter(|(_, _, outcome)| outcome.is_none()) {
            local.signal(signal);
        }
    }

    /// Passes on what the ready streams have.
    fn pump(&mut self, ready: &[bool]) -> io::Result<()> {
        let mut ready = ready.iter();
        let mut result = Ok(());
        self.streams.retain(|(task, error, from)| {
            if !ready.next().copied().unwrap_or(false) {
                return true;
            }
            let mut chunk = [0u8; 16 << 10];
            match rustix::io::read(from, &mut chunk) {
                Ok(n) if n > 0 => {
                    let kind = if *error { wire::ERROR } else { wire::OUTPUT };
                    if let Err(e) = wire::send(&mut io::stdout(), kind, *task, &chunk[..n]) {
                        result = Err(e);
                    }
                    true
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => true,
                _ => false,
            }
        });
        result
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        for (_, local, _) in &mut self.tasks {
            local.finish();
        }
        // The guard is sent away after this, by its own drop.
    }
}
