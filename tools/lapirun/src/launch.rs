//! Runs a job from its first process to its last.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use lapis_core::bootstrap::{Address, Listener, Server, ServerConfig, ServerEvent, random_secret, variables};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::process::{Pid, Resource, WaitId, WaitIdOptions, WaitIdStatus};

use crate::bind;
use crate::guard::Guard;
use crate::job::{Binding, Fault, JobSpec, resolve};
use crate::output::Stream;
use crate::signals::{self, Signals};
use crate::spawn::{Spawner, Started, take_output};

/// How long the others wait for the news of a task's end before they hear only that its connection broke.
const LINGER: Duration = Duration::from_millis(300);
/// Exit code of a job that outlived `--timeout`, as timeout(1) has it.
const TIMED_OUT: u8 = 124;

/// Runs the job; the result is the launcher's exit code.
pub fn run(spec: &JobSpec) -> Result<u8, Fault> {
    let system = |what| move |source| Fault::System { what, source };
    let program = resolve(&spec.program)?;
    let files = raise_descriptor_limit(spec)?;
    // The guard is forked while there is one thread, and after the signals are taken, so that it has them blocked.
    let signals = Signals::take().map_err(system("taking over the signals"))?;
    let guard = Guard::start().map_err(system("starting the guard process"))?;

    let secret = random_secret()?;
    let job = JobName::draw()?;
    let listener = Listener::bind(&Address::Unix(format!("lapis-{}", job.id)))
        .map_err(system("listening for the tasks"))?;
    let wake = Arc::new(
        rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| Fault::System { what: "making an eventfd", source: e.into() })?,
    );
    let (news, events) = mpsc::channel();
    let mut config = ServerConfig::new(spec.tasks, secret);
    config.job_id.clone_from(&job.id);
    config.linger = LINGER;
    let bell = Arc::clone(&wake);
    let server = Server::start(listener, config, move |event| {
        if matches!(event, ServerEvent::Aborted { .. }) && news.send(event).is_ok() {
            let _ = rustix::io::write(&*bell, &1u64.to_ne_bytes());
        }
    })
    .map_err(system("starting the key-value server"))?;

    let mut common = vec![
        (variables::KVS, server.address().to_string()),
        (variables::JOB_ID, job.id.clone()),
        (variables::JOB_SECRET, secret.iter().map(|b| format!("{b:02x}")).collect()),
        (variables::TASKS, spec.tasks.to_string()),
        (variables::MP_PROCS, spec.tasks.to_string()),
        (variables::MP_PARTITION, job.partition.to_string()),
    ];
    for (name, value) in [("MP_MSG_API", "lapi"), ("LAPI_USE_SHM", "yes")] {
        let given = std::env::var_os(name).is_some() || spec.env.iter().any(|(k, _)| k == name);
        if !given {
            common.push((name, value.to_owned()));
        }
    }
    let cpus = match spec.binding {
        Binding::None => Vec::new(),
        Binding::Core => bind::assign(spec.tasks).unwrap_or_else(|cores| {
            say(spec, &format!("--bind core needs {} cores and {cores} are usable: not binding", spec.tasks));
            Vec::new()
        }),
    };
    let spawner =
        Spawner { spec, program: &program, common: &common, mask: signals.original, files, cpus: &cpus };
    let mut running = Running::new(spec, server, signals, guard, events, wake);
    if let Err((task, source)) = running.start_all(&spawner) {
        running.kill_all();
        return Err(match source.raw_os_error() {
            Some(libc::ENOEXEC | libc::EACCES | libc::ELIBBAD | libc::ETXTBSY) => {
                Fault::NotExecutable { path: program, reason: source.to_string() }
            }
            // The file was there a moment ago: its interpreter is not.
            Some(libc::ENOENT) => Fault::NotExecutable {
                path: program,
                reason: "the interpreter or loader that it names does not exist".into(),
            },
            _ => Fault::Spawn { task, tasks: spec.tasks, source },
        });
    }
    Ok(running.until_the_end())
}

/// One line to the user.
pub(crate) fn say(spec: &JobSpec, text: &str) {
    let _ = writeln!(io::stderr(), "{}: {text}", spec.command);
}

struct JobName {
    id: String,
    partition: u32,
}

impl JobName {
    fn draw() -> Result<Self, Fault> {
        let draw = random_secret()?;
        let number = |at: usize| u32::from_le_bytes([draw[at], draw[at + 1], draw[at + 2], draw[at + 3]]);
        let pid = std::process::id();
        // MP_PARTITION is a plain positive number to programs that look at it.
        Ok(Self { id: format!("{pid}-{:08x}{:08x}", number(0), number(4)), partition: number(8) >> 1 })
    }
}

/// Lets the launcher open as much as the system allows; the tasks get the limit that the user has.
fn raise_descriptor_limit(spec: &JobSpec) -> Result<rustix::process::Rlimit, Fault> {
    let given = rustix::process::getrlimit(Resource::Nofile);
    let mut raised = given.clone();
    raised.current = given.maximum;
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
    let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // A connection each, two streams each if tagged; beside them the launcher's own and a few strangers.
    let each = if spec.tag_output { 3 } else { 1 };
    let need = u64::from(spec.tasks) * each + 24;
    if need > limit {
        return Err(Fault::Descriptors { tasks: spec.tasks, need, limit });
    }
    Ok(given)
}

/// How a task ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Exited(i32),
    Killed { signal: i32, dumped: bool },
}

impl Outcome {
    fn of(status: &WaitIdStatus) -> Self {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => {
                Self::Killed { signal: signal.unwrap_or(libc::SIGKILL), dumped: status.dumped() }
            }
        }
    }

    fn failed(self) -> bool {
        self != Self::Exited(0)
    }

    fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code as u8,
            Self::Killed { signal, .. } => (128 + signal) as u8,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Exited(code) => write!(f, "exited with status {code}"),
            Self::Killed { signal, dumped } => {
                let core = if dumped { ", core dumped" } else { "" };
                write!(f, "was killed by signal {signal} ({}{core})", signals::name(signal))
            }
        }
    }
}

struct Task {
    pid: Pid,
    /// Kept so that dropping it cannot reap: the zombie holds the group number until the job's end.
    child: Child,
    outcome: Option<Outcome>,
}

struct Running<'a> {
    spec: &'a JobSpec,
    server: Server,
    signals: Signals,
    guard: Guard,
    events: mpsc::Receiver<ServerEvent>,
    wake: Arc<OwnedFd>,
    tasks: BTreeMap<u32, Task>,
    streams: Vec<Stream>,
    /// The launcher's exit code, once something has gone wrong.
    verdict: Option<u8>,
    /// When politeness ends.
    kill_at: Option<Instant>,
    deadline: Option<Instant>,
    interrupts: u32,
}

impl<'a> Running<'a> {
    fn new(
        spec: &'a JobSpec,
        server: Server,
        signals: Signals,
        guard: Guard,
        events: mpsc::Receiver<ServerEvent>,
        wake: Arc<OwnedFd>,
    ) -> Self {
        Self {
            spec,
            server,
            signals,
            guard,
            events,
            wake,
            tasks: BTreeMap::new(),
            streams: Vec::new(),
            verdict: None,
            kill_at: None,
            deadline: spec.timeout.map(|t| Instant::now() + t),
            interrupts: 0,
        }
    }

    fn start_all(&mut self, spawner: &Spawner<'_>) -> Result<(), (u32, io::Error)> {
        for task in 0..self.spec.tasks {
            let mut own = vec![(variables::TASK, task.to_string()), (variables::MP_CHILD, task.to_string())];
            own.extend(common_tasks(task, self.spec.tasks).map(|list| (variables::MP_COMMON_TASKS, list)));
            let terminal = io::stdin().is_terminal();
            let stdin = match (task == 0 && self.spec.stdin, terminal) {
                (false, _) => Stdio::null(),
                (true, false) => Stdio::inherit(),
                // The terminal belongs to the launcher's group: a task that read it would be stopped.
                (true, true) => Stdio::piped(),
            };
            let Started { mut child, pid } = spawner.start(task, &own, stdin).map_err(|e| (task, e))?;
            self.guard.watch(pid);
            if let Some(to) = child.stdin.take() {
                forward_stdin(to);
            }
            for (from, error) in take_output(&mut child) {
                self.streams.push(Stream::new(task, from, error));
            }
            self.tasks.insert(task, Task { pid, child, outcome: None });
        }
        if self.spec.verbose {
            say(self.spec, &format!("started {} tasks of {:?}", self.spec.tasks, self.spec.program));
        }
        Ok(())
    }

    fn until_the_end(mut self) -> u8 {
        while self.tasks.values().any(|t| t.outcome.is_none()) {
            self.wait();
            self.hear_aborts();
            for signal in self.signals.read() {
                self.obey(signal);
            }
            // Looking costs one system call per task; a lost SIGCHLD would cost the job.
            self.look_for_exits();
            self.keep_time();
        }
        self.kill_all();
        self.verdict.unwrap_or(0)
    }

    /// Sleeps until a signal, an abort, output or a deadline.
    fn wait(&mut self) {
        let next = self.kill_at.into_iter().chain(self.deadline).min();
        let timeout = next.map(|at| {
            let left = at.saturating_duration_since(Instant::now()).as_millis() as i64 + 1;
            Timespec { tv_sec: left / 1000, tv_nsec: left % 1000 * 1_000_000 }
        });
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.wake.as_fd(), PollFlags::IN),
        ];
        fds.extend(self.streams.iter().map(|s| PollFd::from_borrowed_fd(s.from.as_fd(), PollFlags::IN)));
        // Interrupted or failed: the loop looks at everything anyway.
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
        let ready: Vec<bool> = fds[2..].iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut ready = ready.into_iter();
        self.streams.retain_mut(|stream| !ready.next().unwrap_or(false) || stream.pump());
    }

    fn hear_aborts(&mut self) {
        let mut counter = [0u8; 8];
        let _ = rustix::io::read(&*self.wake, &mut counter);
        while let Ok(event) = self.events.try_recv() {
            if let ServerEvent::Aborted { task, code, message } = event
                && self.verdict.is_none()
            {
                // A code of 0 would hide the abort from whoever started the job.
                let code = match code as u8 {
                    0 => 1,
                    code => code,
                };
                let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                self.give_up(code, &format!("task {task} aborted the job with code {code}: {message}"));
            }
        }
    }

    fn obey(&mut self, signal: i32) {
        match signal {
            libc::SIGTSTP => {
                self.send(libc::SIGTSTP);
                // The launcher stops as its tasks do, so that the shell sees a stopped job.
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
                self.send(libc::SIGCONT);
            }
            libc::SIGCONT => self.send(libc::SIGCONT),
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

    fn look_for_exits(&mut self) {
        let mut new = Vec::new();
        for (number, task) in &mut self.tasks {
            if task.outcome.is_some() {
                continue;
            }
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if let Ok(Some(status)) = rustix::process::waitid(WaitId::Pid(task.pid), options) {
                let outcome = Outcome::of(&status);
                task.outcome = Some(outcome);
                new.push((*number, outcome));
            }
        }
        for (number, outcome) in &new {
            self.server.task_exited(*number, &outcome.to_string());
        }
        // Several at once: a signal is rather the cause, an exit code rather the consequence.
        let failed = new.iter().filter(|(_, outcome)| outcome.failed());
        if self.verdict.is_none()
            && let Some((number, outcome)) = failed.min_by_key(|(_, o)| matches!(o, Outcome::Exited(_)))
        {
            let pid = self.tasks[number].pid.as_raw_nonzero();
            let others = self.tasks.values().filter(|t| t.outcome.is_none()).count();
            let rest = match others {
                0 => String::new(),
                1 => "; ending the other task".to_owned(),
                n => format!("; ending the other {n} tasks"),
            };
            self.give_up(outcome.exit_code(), &format!("task {number} (process {pid}) {outcome}{rest}"));
        }
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        if self.deadline.is_some_and(|at| now >= at) {
            self.deadline = None;
            let seconds = self.spec.timeout.unwrap_or_default().as_secs_f64();
            let left: Vec<String> =
                self.tasks.iter().filter(|(_, t)| t.outcome.is_none()).map(|(n, _)| n.to_string()).collect();
            let shown = left.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            let more = if left.len() > 8 { format!(" and {} more", left.len() - 8) } else { String::new() };
            self.give_up(
                TIMED_OUT,
                &format!("the job did not end in {seconds} s; still running: task {shown}{more}"),
            );
        }
        if self.kill_at.is_some_and(|at| now >= at) {
            // Again after a while: a task may have been between fork and exec of a child.
            self.kill_at = Some(now + Duration::from_secs(1));
            self.send(libc::SIGKILL);
        }
    }

    /// The job has failed: says why, once, and ends the tasks that still run.
    fn give_up(&mut self, code: u8, why: &str) {
        if self.verdict.is_some() {
            return;
        }
        self.verdict = Some(code);
        say(self.spec, why);
        self.send(libc::SIGTERM);
        // A stopped task could not react.
        self.send(libc::SIGCONT);
        self.kill_at.get_or_insert(Instant::now() + self.spec.grace);
    }

    /// A signal to every task that still runs, with all that it has started.
    fn send(&self, signal: i32) {
        for task in self.tasks.values().filter(|t| t.outcome.is_none()) {
            signals::send_group(task.pid, signal);
        }
    }

    /// Leaves nothing behind: neither tasks nor what they started, nor unread output.
    fn kill_all(&mut self) {
        for task in self.tasks.values() {
            signals::send_group(task.pid, libc::SIGKILL);
        }
        for task in self.tasks.values_mut() {
            let _ = task.child.wait();
        }
        for stream in &mut self.streams {
            if stream.pump() {
                stream.finish();
            }
        }
        self.streams.clear();
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.guard.dismiss();
    }
}

/// The guide's list of the other tasks on the node. Left out where it would be too long for an environment.
fn common_tasks(task: u32, tasks: u32) -> Option<String> {
    if tasks > 4096 {
        return None;
    }
    let mut list = (tasks - 1).to_string();
    for other in (0..tasks).filter(|&t| t != task) {
        list.push(':');
        list.push_str(&other.to_string());
    }
    Some(list)
}

/// Copies the terminal's input to task 0 until one of them ends.
fn forward_stdin(mut to: std::process::ChildStdin) {
    let copy = move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut to);
    };
    // Without the thread the task sees an empty input, which the user sees at once.
    let _ = std::thread::Builder::new().name("lapirun-stdin".into()).spawn(copy);
}
