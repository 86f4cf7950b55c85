//! Prepares a job: checks, secret, key-value server, processes.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::process::Stdio;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use lapis_core::bootstrap::{Address, Listener, Server, ServerConfig, ServerEvent, random_secret, variables};
use rustix::event::EventfdFlags;
use rustix::process::{Resource, Rlimit};

use crate::bind;
use crate::fault::Fault;
use crate::guard::{Guard, Line};
use crate::hosts;
use crate::input;
use crate::job::{Input, JobSpec, Output, Part};
use crate::output::Outlets;
use crate::remote::Remote;
use crate::running::{Born, Ears, Running};
use crate::signals::Signals;
use crate::spawn::{Program, Spawner, with_limits};
use crate::tree;
use crate::windows;
use crate::wire::{Machine, Order};

/// How long the others wait for the news of a task's end before they hear only that its connection
/// broke.
const LINGER: Duration = Duration::from_millis(300);

/// Runs the job; the result is the launcher's exit code.
pub fn run(spec: &JobSpec) -> Result<u8, Fault> {
    let placed = hosts::place(&spec.hosts, if spec.hosts.is_empty() { 0 } else { spec.tasks }, spec.by_node)?;
    let programs = programs_of(spec, placed.is_empty())?;
    check_streams(spec)?;
    let hosts = hosts_of(spec, &placed);
    if let Some(path) = &spec.save_hosts {
        std::fs::write(path, hosts.join("\n") + "\n")
            .map_err(|source| Fault::File { path: path.clone(), source })?;
    }
    if spec.dry_run {
        dry_run(spec, &hosts);
        return Ok(0);
    }
    let (limits, piped) = raise_descriptor_limit(spec)?;
    let secret = random_secret()?;
    let job = JobName::draw()?;
    let (running, address) = serve(spec, &job, secret)?;
    let mut env = variables_of(spec, &job, &address, &secret);
    if placed.is_empty() {
        // Where tasks run elsewhere, the launcher's hands there see to it.
        let value = |name: &str| {
            let own = env.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
            own.or_else(|| std::env::var_os(name))
        };
        let windows = windows::start(&job.id, value).map_err(|text| Fault::Windows { text })?;
        env.extend(windows.iter().map(|w| (OsString::from(&w.variable.0), OsString::from(&w.variable.1))));
        run_here(spec, &programs, &env, (limits, piped), running)
    } else {
        run_there(spec, &placed, &env, running)
    }
}

/// The programs, looked for before anything is started; other machines look for themselves.
fn programs_of(spec: &JobSpec, here: bool) -> Result<Vec<Program>, Fault> {
    let parts = if here { &spec.parts[..] } else { &[] };
    parts.iter().map(|part| Program::find(part.program.clone(), part.args.clone())).collect()
}

fn check_streams(spec: &JobSpec) -> Result<(), Fault> {
    let refused = |task: u32, what: &str| {
        Err(Fault::Usage(format!("task {task} cannot {what}: the job has {} tasks", spec.tasks)))
    };
    match (spec.input, spec.output) {
        (Input::Task(task @ 1..), _) if task >= spec.tasks => refused(task, "read the input"),
        (_, Output::Only(task)) if task >= spec.tasks => refused(task, "write the output"),
        _ => Ok(()),
    }
}

/// Takes the signals and starts guard, server and writers: everything but the tasks.
fn serve<'s>(spec: &'s JobSpec, job: &JobName, secret: [u8; 32]) -> Result<(Running<'s>, Address), Fault> {
    let system = |what| move |source| Fault::System { what, source: with_limits(source) };
    // The guard is forked while there is one thread, and after the signals are taken, so that it
    // has them blocked.
    let signals = Signals::take().map_err(system("taking over the signals"))?;
    let guard = Guard::start().map_err(system("starting the guard process"))?;
    let (listener, address) = listen(spec, &job.id).map_err(system("listening for the tasks"))?;
    let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(|e| Fault::System { what: "making an eventfd", source: e.into() })?;
    let wake = Arc::new(wake);
    let (news, events) = mpsc::channel();
    let mut config = ServerConfig::new(spec.tasks, secret);
    config.job_id.clone_from(&job.id);
    config.linger = LINGER;
    let outlets = Outlets::start(&wake).map_err(system("starting the threads that write"))?;
    let notifier = Arc::clone(&wake);
    let server = Server::start(listener, config, move |event| {
        // What nobody would look at is not kept: strangers may knock as often as they like.
        if matches!(event, ServerEvent::Refused { .. } | ServerEvent::Finalised { .. }) {
            return;
        }
        let urgent = matches!(event, ServerEvent::Aborted { .. });
        if news.send(event).is_ok() && urgent {
            let _ = rustix::io::write(&*notifier, &1u64.to_ne_bytes());
        }
    })
    .map_err(system("starting the key-value server"))?;
    Ok((Running::new(spec, &job.id, server, guard, outlets, Ears { signals, events, wake }), address))
}

/// Runs all tasks on this machine.
fn run_here(
    spec: &JobSpec,
    programs: &[Program],
    env: &[(OsString, OsString)],
    (limits, piped): (Rlimit, [bool; 2]),
    mut running: Running<'_>,
) -> Result<u8, Fault> {
    let here: Vec<u32> = (0..spec.tasks).collect();
    let which: Vec<usize> = here.iter().map(|task| spec.part_of(*task)).collect();
    let cpus = bind::assign(spec.binding, spec.tasks).unwrap_or_else(|cores| {
        let need = spec.tasks;
        running.say(&format!("--bind core needs {need} cores and {cores} are usable: not binding"));
        Vec::new()
    });
    let spawner = Spawner {
        programs,
        which: &which,
        folder: spec.folder.as_deref(),
        files: spec.files.as_deref(),
        env,
        here: &here,
        mask: running.original_mask(),
        limits,
        cpus: &cpus,
        piped,
        guard: running.guard_line(),
    };
    spawner.clear_common_file();
    start_here(spec, &spawner, &mut running)?;
    Ok(running.until_the_end(&|task, before| {
        let local = spawner.start(task as usize, before, Stdio::null());
        local.map(Born::Here).map_err(|e| spawner.fault(task, e))
    }))
}

/// Runs the tasks where they are placed, by an agent on each machine.
fn run_there(
    spec: &JobSpec,
    placed: &[(String, Vec<u32>)],
    env: &[(OsString, OsString)],
    mut running: Running<'_>,
) -> Result<u8, Fault> {
    let (mask, guard) = (running.original_mask(), running.guard_line());
    let agents = Agents { spec, env: environment(env)?, mask, guard };
    let machine = |(host, tasks): &(String, Vec<u32>)| agents.machine(host, tasks, tasks);
    for (machine, below) in tree::branches(placed.iter().map(machine).collect(), spec.fan_out) {
        running.add_remote(agents.start(machine, below, 0)?);
    }
    running.begin_to_feed();
    say_started(&running, spec);
    Ok(running.until_the_end(&|task, before| {
        let place = placed.iter().find(|(_, tasks)| tasks.contains(&task));
        let (host, here) = place.expect("every task has a place");
        agents.start(agents.machine(host, &[task], here), Vec::new(), before).map(Born::There)
    }))
}

/// The machine of each task.
fn hosts_of(spec: &JobSpec, placed: &[(String, Vec<u32>)]) -> Vec<String> {
    let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let of = |task| placed.iter().find(|(_, tasks)| tasks.contains(&task)).map(|(host, _)| host.clone());
    (0..spec.tasks).map(|task| of(task).unwrap_or_else(own)).collect()
}

/// Says what would be started where.
fn dry_run(spec: &JobSpec, hosts: &[String]) {
    let mut text = String::new();
    for (task, host) in (0u32..).zip(hosts) {
        let part = &spec.parts[spec.part_of(task)];
        let words: Vec<_> =
            std::iter::once(&part.program).chain(&part.args).map(|w| w.to_string_lossy()).collect();
        text.push_str(&format!("task {task} on {host}: {}\n", words.join(" ")));
    }
    // A closed pipe (`lapirun --dry-run … | head`) is no reason to complain.
    let _ = io::stdout().write_all(text.as_bytes());
}

fn start_here(spec: &JobSpec, spawner: &Spawner<'_>, running: &mut Running<'_>) -> Result<(), Fault> {
    let mut readers = Vec::new();
    for task in 0..spec.tasks {
        let copied = io::stdin().is_terminal() || spec.input == Input::All;
        let stdin = match (spec.input.is_read_by(task), copied) {
            (false, _) => Stdio::null(),
            (true, false) => Stdio::inherit(),
            // The terminal belongs to the launcher's group: a task that read it would be stopped.
            (true, true) => Stdio::piped(),
        };
        let mut local = spawner.start(task as usize, 0, stdin).map_err(|e| spawner.fault(task, e))?;
        readers.extend(local.child.stdin.take());
        running.add_local(task, local);
    }
    if !readers.is_empty() {
        input::copy_to(readers);
    }
    say_started(running, spec);
    Ok(())
}

fn say_started(running: &Running<'_>, spec: &JobSpec) {
    if spec.verbose {
        let programs: Vec<String> = spec.parts.iter().map(|part| format!("{:?}", part.program)).collect();
        running.say(&format!("started {} tasks of {}", spec.tasks, programs.join(", ")));
    }
}

fn utf8(s: &OsStr) -> Result<String, Fault> {
    match s.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Fault::NotText { text: s.to_string_lossy().into_owned() }),
    }
}

/// Variables for tasks on other machines: ours of this machine, then those of the job.
fn environment(env: &[(OsString, OsString)]) -> Result<Vec<(String, String)>, Fault> {
    let mut all = Vec::new();
    for (name, value) in std::env::vars_os() {
        let ours = ["LAPIS_", "LAPI_", "MP_"].iter().any(|p| name.to_string_lossy().starts_with(p));
        if ours && !env.iter().any(|(n, _)| *n == name) {
            all.push((utf8(&name)?, utf8(&value)?));
        }
    }
    for (name, value) in env {
        all.push((utf8(name)?, utf8(value)?));
    }
    Ok(all)
}

/// Starts tasks on other machines.
struct Agents<'a> {
    spec: &'a JobSpec,
    env: Vec<(String, String)>,
    mask: libc::sigset_t,
    guard: Line,
}

impl Agents<'_> {
    /// A machine with those of its tasks that are to be started.
    fn machine(&self, host: &str, tasks: &[u32], here: &[u32]) -> Machine {
        let which = here.iter().map(|task| self.spec.part_of(*task)).collect();
        Machine { host: host.to_owned(), tasks: tasks.to_vec(), here: here.to_vec(), which }
    }

    /// Starts the agent of a machine, with others below it, for the first time or after so many
    /// times.
    fn start(&self, machine: Machine, below: Vec<Machine>, before: u32) -> Result<Remote, Fault> {
        let spec = self.spec;
        let folder = match &spec.folder {
            Some(folder) => std::path::absolute(folder),
            None => std::env::current_dir(),
        };
        let folder = folder.map_err(|source| Fault::System { what: "the current folder", source })?;
        let program = |part: &Part| -> Result<_, Fault> {
            let args = part.args.iter().map(|a| utf8(a)).collect::<Result<Vec<_>, _>>()?;
            Ok((utf8(&part.program)?, args))
        };
        let order = Order {
            machine,
            below,
            fan_out: spec.fan_out,
            remote: spec.remote.clone(),
            before,
            restarts: spec.restarts > 0,
            programs: spec.parts.iter().map(program).collect::<Result<_, _>>()?,
            env: self.env.clone(),
            folder: utf8(folder.as_os_str())?,
            bind: spec.binding.word().to_owned(),
            files: spec.files.clone(),
            // Of one that is restarted the input has gone by.
            input: if before == 0 { spec.input } else { Input::None },
        };
        Remote::start(&order, self.mask, self.guard.clone()).map_err(|e| Fault::Hosts {
            text: order.machine.host.clone(),
            reason: format!("cannot run the remote command {:?}: {e}", spec.remote),
        })
    }
}

/// The store's socket, and the address that tasks are told.
fn listen(spec: &JobSpec, job: &str) -> io::Result<(Listener, Address)> {
    if spec.hosts.is_empty() {
        let listener = Listener::bind(&Address::Unix(format!("lapis-{job}")))?;
        let address = listener.address().clone();
        return Ok((listener, address));
    }
    // Every interface: which one a host comes through is the routing's business, and strangers lack
    // the secret.
    let listener = Listener::bind(&Address::Tcp { host: "::".into(), port: 0 })
        .or_else(|_| Listener::bind(&Address::Tcp { host: "0.0.0.0".into(), port: 0 }))?;
    let Address::Tcp { port, .. } = *listener.address() else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    let own = || rustix::system::uname().nodename().to_string_lossy().into_owned();
    let host = spec.address.clone().unwrap_or_else(own);
    Ok((listener, Address::Tcp { host, port }))
}

/// What every task finds in its environment.
fn variables_of(
    spec: &JobSpec,
    job: &JobName,
    address: &Address,
    secret: &[u8; 32],
) -> Vec<(OsString, OsString)> {
    let mut all = spec.env.clone();
    for (name, value) in [("MP_MSG_API", "lapi"), ("LAPI_USE_SHM", "yes")] {
        if std::env::var_os(name).is_none() && !spec.env.iter().any(|(k, _)| k == name) {
            all.push((name.into(), value.into()));
        }
    }
    for (name, value) in [
        (variables::KVS, address.to_string()),
        (variables::JOB_ID, job.id.clone()),
        (variables::JOB_SECRET, secret.iter().map(|b| format!("{b:02x}")).collect()),
        (variables::TASKS, spec.tasks.to_string()),
        (variables::MP_PROCS, spec.tasks.to_string()),
        (variables::MP_PARTITION, job.partition.to_string()),
    ] {
        all.push((name.into(), value.into()));
    }
    all
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
/// Says as well which of the tasks' standard output and standard error the launcher reads.
fn raise_descriptor_limit(spec: &JobSpec) -> Result<(Rlimit, [bool; 2]), Fault> {
    let given = rustix::process::getrlimit(Resource::Nofile);
    let mut raised = given;
    raised.current = given.maximum;
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
    let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // A connection each, two pipes per machine that is started from here; beside them the
    // launcher's own and a few strangers.
    let streams = if spec.hosts.is_empty() { 2 * u64::from(spec.tasks) } else { 0 };
    let agents = (spec.hosts.len() as u64).min(u64::from(spec.fan_out));
    let need = u64::from(spec.tasks) + 2 * agents + 24;
    if spec.files.is_some() {
        return match need {
            need if need > limit => Err(Fault::Descriptors { tasks: spec.tasks, need, limit }),
            _ => Ok((given, [false; 2])),
        };
    }
    if spec.tag_output || spec.output != Output::Unordered {
        return match need + streams {
            need if need > limit => Err(Fault::Descriptors { tasks: spec.tasks, need, limit }),
            _ => Ok((given, [true; 2])),
        };
    }
    if need > limit {
        return Err(Fault::Descriptors { tasks: spec.tasks, need, limit });
    }
    // Lines of several tasks stay whole when the launcher joins them. At a terminal tasks write
    // line by line, if it is theirs.
    let wanted = spec.tasks > 1 && need + streams <= limit;
    Ok((given, [io::stdout().is_terminal(), io::stderr().is_terminal()].map(|terminal| wanted && !terminal)))
}
