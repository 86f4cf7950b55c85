//! The launcher's hand on another machine: `lapirun --agent`, started through ssh or the like.
//!
//! It takes its orders on standard input, so that the job's secret never stands on a command line,
//! and reports on standard output. The end of its input means that the launcher is gone: it kills
//! its tasks and leaves.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use lapis_core::bootstrap::variables;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::process::Resource;

use crate::bind;
use crate::guard::Guard;
use crate::job::{Binding, Fault};
use crate::output::tell;
use crate::rollcall::{self, Report};
use crate::signals::{self, Signals};
use crate::spawn::{Local, Outcome, Program, Spawner};
use crate::wire::{self, Frame, Inbox, Order};

/// Entry of `lapirun --agent`.
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
    let Some(order) = read_order(&mut inbox).map_err(system("reading the launcher's order"))? else {
        return Ok(());
    };
    std::env::set_current_dir(&order.folder)
        .map_err(|e| Fault::Folder { path: order.folder.clone(), source: e })?;
    let find = |(name, args): &(String, Vec<String>)| {
        Program::find(name.into(), args.iter().map(OsString::from).collect())
    };
    let programs = order.programs.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let env: Vec<(OsString, OsString)> = order.env.iter().map(|(k, v)| (k.into(), v.into())).collect();
    let binding = Binding::from_word(&order.bind).unwrap_or(Binding::None);
    let cpus = bind::assign(binding, order.here.len() as u32).unwrap_or_default();
    let spawner = Spawner {
        programs: &programs,
        which: &order.which,
        folder: None,
        files: order.files.as_deref(),
        env: &env,
        here: &order.here,
        mask: signals.original,
        limits: files,
        cpus: &cpus,
        piped: [order.files.is_none(); 2],
        guard: guard.line(),
    };
    let looks = Looks::new(&order).map_err(system("making an eventfd"))?;
    let mut agent = Agent { tasks: Vec::new(), streams: Vec::new(), signals, _guard: guard, inbox, looks };
    for &task in &order.tasks {
        let Some(place) = order.here.iter().position(|t| *t == task) else { continue };
        let mut local =
            spawner.start(place, order.before, Stdio::null()).map_err(|e| spawner.fault(task, e))?;
        agent.streams.extend(local.take_output().into_iter().map(|(from, error)| (task, error, from)));
        let pid = local.pid.as_raw_nonzero().get().to_le_bytes();
        agent.tasks.push((task, local, None));
        wire::send(&mut io::stdout(), wire::STARTED, task, &pid).map_err(system("reporting a start"))?;
    }
    agent.run().map_err(system("reporting to the launcher"))
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
    signals: Signals,
    /// Dropped last: it watches until the tasks have ended.
    _guard: Guard,
    inbox: Inbox,
    looks: Looks,
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
    fn run(&mut self) -> io::Result<()> {
        let mut beaten = Instant::now();
        while self.tasks.iter().any(|(_, _, outcome)| outcome.is_none()) {
            let mut fds = vec![
                PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.looks.bell.as_fd(), PollFlags::IN),
            ];
            fds.extend(
                self.streams.iter().map(|(_, _, from)| PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)),
            );
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
            self.pump(&ready[3..])?;
            for (task, local, outcome) in &mut self.tasks {
                if outcome.is_none()
                    && let Some(end) = local.outcome()
                {
                    *outcome = Some(end);
                    wire::send(&mut io::stdout(), wire::EXITED, *task, &end.to_bytes())?;
                }
            }
        }
        for (_, local, _) in &mut self.tasks {
            local.finish();
        }
        // Everybody who could write is gone: the rest is finite.
        while !self.streams.is_empty() {
            let all = vec![true; self.streams.len()];
            self.pump(&all)?;
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
        while let Ok(Some(frame)) = self.inbox.next() {
            match frame.kind {
                wire::SIGNAL => self.signal(frame.number as i32),
                wire::ROLL => self.look(),
                _ => {}
            }
        }
        Ok(true)
    }

    /// Looks at the tasks that still run.
    fn look(&self) {
        let running = self.tasks.iter().filter(|(_, _, outcome)| outcome.is_none());
        let process = |local: &Local| local.pid.as_raw_nonzero().get().cast_unsigned();
        let tasks = running.map(|(task, local, _)| (*task, process(local))).collect();
        rollcall::look_apart(&self.looks.job, tasks, &self.looks.sender, &self.looks.bell);
    }

    fn signal(&self, signal: i32) {
        for (_, local, _) in self.tasks.iter().filter(|(_, _, outcome)| outcome.is_none()) {
            signals::send_group(local.pid, signal);
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

/// A launcher's view of one agent.
pub(crate) struct Remote {
    pub(crate) host: String,
    pub(crate) tasks: Vec<u32>,
    /// Those of them that have ended here.
    ended: Vec<u32>,
    child: std::process::Child,
    to: std::process::ChildStdin,
    from: std::process::ChildStdout,
    inbox: Inbox,
    greeted: bool,
    /// For how long it has given no sign of life while the launcher listened.
    pub(crate) silence: Duration,
    /// The user has been told of that.
    pub(crate) suspected: bool,
}

/// What an agent has said.
pub(crate) enum News {
    Started {
        task: u32,
        pid: u32,
    },
    Output {
        task: u32,
        error: bool,
        bytes: Vec<u8>,
    },
    Exited {
        task: u32,
        outcome: Outcome,
    },
    /// What its tasks do.
    Reports(Vec<Report>),
    /// The agent has failed or is not one; the text goes after "host h: ".
    Failed {
        code: u8,
        text: String,
    },
}

impl Remote {
    /// Starts an agent through `words`, the remote command, and gives it its order.
    pub(crate) fn start(
        host: &str,
        words: &[String],
        order: &Order,
        mask: libc::sigset_t,
    ) -> io::Result<Self> {
        let agent = std::env::current_exe()?;
        let (first, rest) = match words.split_first() {
            Some((first, rest)) => (OsString::from(first), rest),
            None => (agent.clone().into_os_string(), words),
        };
        let mut command = std::process::Command::new(first);
        command.args(rest);
        if !words.is_empty() {
            command.arg(agent);
        }
        // A group of its own keeps ^C from the remote command: the launcher passes signals on
        // itself.
        command.process_group(0);
        // SAFETY: the closure runs between fork and exec and makes one system call: no allocation,
        // no locks.
        unsafe {
            // The launcher's blocked signals would be inherited all the way down to the tasks.
            command.pre_exec(move || {
                match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut()) {
                    0 => Ok(()),
                    error => Err(io::Error::from_raw_os_error(error)),
                }
            });
        }
        let mut child = command.arg("--agent").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(mut to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        rustix::io::ioctl_fionbio(&from, true)?;
        // A remote command that fails at once closes this pipe: its end, seen later, tells more
        // than the error here.
        let _ = wire::send(&mut to, wire::ORDER, 0, &serde_json::to_vec(order)?);
        Ok(Self {
            host: host.into(),
            tasks: order.tasks.clone(),
            ended: Vec::new(),
            child,
            to,
            from,
            inbox: Inbox::default(),
            greeted: false,
            silence: Duration::ZERO,
            suspected: false,
        })
    }

    /// Tasks that have not ended, as far as the agent has said.
    pub(crate) fn left(&self) -> Vec<u32> {
        self.tasks.iter().copied().filter(|task| !self.ended.contains(task)).collect()
    }

    pub(crate) fn signal(&mut self, signal: i32) {
        let _ = wire::send(&mut self.to, wire::SIGNAL, signal as u32, &[]);
    }

    /// Whether it has begun to give signs of life.
    pub(crate) fn beats(&self) -> bool {
        self.greeted
    }

    /// Cuts the connection: what comes next is its end.
    pub(crate) fn cut(&mut self) {
        let _ = self.child.kill();
    }

    /// Asks what its tasks do.
    pub(crate) fn call_roll(&mut self) {
        let _ = wire::send(&mut self.to, wire::ROLL, 0, &[]);
    }

    /// What the agent has said since the last call; the flag is `false` when it has said its last
    /// word.
    pub(crate) fn hear(&mut self) -> (Vec<News>, bool) {
        let mut chunk = [0u8; 64 << 10];
        let mut open = true;
        match self.from.read(&mut chunk) {
            Ok(0) => open = false,
            Ok(n) => {
                self.silence = Duration::ZERO;
                self.inbox.push(&chunk[..n]);
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => open = false,
        }
        let mut news = Vec::new();
        loop {
            match self.inbox.next() {
                Ok(None) => break,
                Ok(Some(frame)) => match self.interpret(frame) {
                    Some(item) => news.extend(item),
                    None => {
                        news.push(News::Failed { code: 1, text: "its agent is of another version".into() });
                        return (news, false);
                    }
                },
                Err(text) => {
                    let text = format!(
                        "said {text:?} instead of the agent's greeting (does its shell's start-up print?)"
                    );
                    news.push(News::Failed { code: 1, text });
                    return (news, false);
                }
            }
        }
        if !open && !self.greeted {
            let how = match self.child.wait() {
                Ok(status) => status.to_string(),
                Err(e) => e.to_string(),
            };
            news.push(News::Failed {
                code: 1,
                text: format!("cannot be reached: the remote command ended with {how}"),
            });
        }
        (news, open)
    }

    /// `None`: not what an agent of this version says.
    fn interpret(&mut self, frame: Frame) -> Option<Option<News>> {
        let task = frame.number;
        if frame.kind == wire::HELLO {
            self.greeted = frame.bytes == wire::GREETING;
            return self.greeted.then_some(None);
        }
        if frame.kind == wire::FAULT {
            let text = String::from_utf8_lossy(&frame.bytes).into_owned();
            return Some(Some(News::Failed { code: task.clamp(1, 255) as u8, text }));
        }
        if self.greeted && frame.kind == wire::BEAT {
            return Some(None);
        }
        if self.greeted && frame.kind == wire::REPORT {
            return Some(Some(News::Reports(serde_json::from_slice(&frame.bytes).ok()?)));
        }
        if !self.greeted || !self.tasks.contains(&task) {
            return None;
        }
        Some(Some(match frame.kind {
            wire::STARTED => News::Started { task, pid: u32::from_le_bytes(frame.bytes.try_into().ok()?) },
            wire::OUTPUT | wire::ERROR => {
                News::Output { task, error: frame.kind == wire::ERROR, bytes: frame.bytes }
            }
            wire::EXITED => {
                self.ended.push(task);
                News::Exited { task, outcome: Outcome::from_bytes(&frame.bytes)? }
            }
            _ => return None,
        }))
    }

    /// Takes leave: the end of its input ends an agent that still runs.
    pub(crate) fn finish(self) {
        let Self { mut child, to, from, .. } = self;
        drop((to, from));
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl AsFd for Remote {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.from.as_fd()
    }
}
