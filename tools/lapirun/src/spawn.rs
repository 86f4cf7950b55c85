//! Starting one task on this machine, and how tasks end.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lapis_core::bootstrap::variables;
use rustix::process::{Pid, Resource, Rlimit, WaitId, WaitIdOptions, WaitIdStatus};
use rustix::thread::CpuSet;

use crate::fault::Fault;
use crate::guard::Line;
use crate::job::resolve;
use crate::signals;

/// A program of the job.
pub(crate) struct Program {
    /// The file to run.
    pub(crate) path: PathBuf,
    /// Its name as the user wrote it.
    pub(crate) name: OsString,
    pub(crate) args: Vec<OsString>,
}

impl Program {
    /// Looks for it as a shell does.
    pub(crate) fn find(name: OsString, args: Vec<OsString>) -> Result<Self, Fault> {
        let path = resolve(&name)?;
        // A folder of the tasks' own must not lead it elsewhere.
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(Self { path, name, args })
    }
}

/// How the tasks of a job are started; the same for all.
pub(crate) struct Spawner<'a> {
    pub(crate) programs: &'a [Program],
    /// Which of them each task of this machine runs, in the order of `here`.
    pub(crate) which: &'a [usize],
    /// Where tasks start, if not in this process's folder.
    pub(crate) folder: Option<&'a Path>,
    /// File that gets what a task writes, with `%t` for its number.
    pub(crate) files: Option<&'a str>,
    /// Variables that are the same for all tasks.
    pub(crate) env: &'a [(OsString, OsString)],
    /// The tasks of this machine.
    pub(crate) here: &'a [u32],
    pub(crate) mask: libc::sigset_t,
    /// The descriptors that the tasks may have, as the launcher was given them.
    pub(crate) limits: Rlimit,
    /// Processors of each task, in the order of `here`; empty without binding.
    pub(crate) cpus: &'a [CpuSet],
    /// Whether the launcher reads the tasks' standard output and standard error.
    pub(crate) piped: [bool; 2],
    /// Where a task announces itself to the guard.
    pub(crate) guard: Line,
}

/// A task on this machine.
pub(crate) struct Local {
    /// The task's process and group number.
    pub(crate) pid: Pid,
    pub(crate) child: Child,
    /// Its number may be another's by now.
    reaped: bool,
    guard: Line,
}

impl Local {
    /// How the task ended, if it has. It is not reaped: the zombie holds the group number until the
    /// job's end.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match rustix::process::waitid(WaitId::Pid(self.pid), options) {
            Ok(status) => status.map(|status| Outcome::of(&status)),
            // Nobody will ever know how.
            Err(_) => Some(Outcome::Killed { signal: libc::SIGKILL, dumped: false }),
        }
    }

    /// A signal for the task and all that it has started.
    pub(crate) fn signal(&self, signal: i32) {
        if self.reaped {
            return;
        }
        signals::send_group(self.pid, signal);
        // Some wrappers put what they become into another group.
        if rustix::process::getpgid(Some(self.pid)) != Ok(self.pid) {
            signals::send(self.pid, signal);
        }
    }

    /// Ends the task with all that it has started and left running, and reaps it.
    pub(crate) fn finish(&mut self) {
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
        if !std::mem::replace(&mut self.reaped, true) {
            // If it is gone, there is nobody who would kill the group.
            let _ = self.guard.forget(self.pid.as_raw_nonzero().get());
        }
    }

    /// The reading ends of the task's output; `true` marks standard error.
    pub(crate) fn take_output(&mut self) -> Vec<(OwnedFd, bool)> {
        let out = self.child.stdout.take().map(|s| (OwnedFd::from(s), false));
        let err = self.child.stderr.take().map(|s| (OwnedFd::from(s), true));
        out.into_iter().chain(err).collect()
    }
}

impl Spawner<'_> {
    /// Starts the task at a place in `here`, which was started `before` so many times.
    pub(crate) fn start(&self, place: usize, before: u32, stdin: Stdio) -> io::Result<Local> {
        let task = self.here[place];
        let program = &self.programs[self.which[place]];
        let mut command = Command::new(&program.path);
        command.arg0(&program.name).args(&program.args);
        if let Some(folder) = self.folder {
            command.current_dir(folder);
        }
        command.envs(self.env.iter().map(|(k, v)| (k, v)));
        command.env(variables::TASK, task.to_string()).env(variables::MP_CHILD, task.to_string());
        if before > 0 {
            command.env(variables::RESTARTS, before.to_string());
        } else {
            // The launcher may be started by a task that was itself restarted.
            command.env_remove(variables::RESTARTS);
        }
        match common_tasks(task, self.here) {
            Some(list) => command.env(variables::MP_COMMON_TASKS, list),
            None => command.env_remove(variables::MP_COMMON_TASKS),
        };
        command.process_group(0).stdin(stdin);
        if let Some(pattern) = self.files {
            let file = self.file_of(pattern, task, before)?;
            command.stdout(file.try_clone()?).stderr(file);
        }
        if self.piped[0] {
            command.stdout(Stdio::piped());
        }
        if self.piped[1] {
            command.stderr(Stdio::piped());
        }
        let (launcher, guard) = (rustix::process::getpid(), self.guard.clone());
        let (mask, limits, cpus) = (self.mask, self.limits, self.cpus.get(place).copied());
        // SAFETY: the closure runs between fork and exec and makes system calls only: no
        // allocation, no locks.
        unsafe {
            command.pre_exec(move || {
                // The kernel sends this when the launcher's main thread, which forks, ends.
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                    return Err(io::Error::last_os_error());
                }
                if rustix::process::getppid() != Some(launcher) {
                    // The launcher died before the request was made.
                    libc::_exit(1);
                }
                guard.announce_own()?;
                if libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut()) != 0 {
                    return Err(io::Error::last_os_error());
                }
                rustix::process::setrlimit(Resource::Nofile, limits)?;
                if let Some(cpus) = &cpus {
                    rustix::thread::sched_setaffinity(None, cpus)?;
                }
                Ok(())
            });
        }
        let child = command.spawn()?;
        Ok(Local { pid: Pid::from_child(&child), child, reaped: false, guard: self.guard.clone() })
    }

    /// Removes what an earlier job has written to the file of all tasks.
    pub(crate) fn clear_common_file(&self) {
        if let Some(name) = self.files.filter(|pattern| !pattern.contains("%t")) {
            let _ = std::fs::remove_file(self.path_of(name));
        }
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.folder.map_or_else(|| name.into(), |folder| folder.join(name))
    }

    /// The file of a task's output; one that is restarted writes on.
    fn file_of(&self, pattern: &str, task: u32, before: u32) -> io::Result<File> {
        let path = self.path_of(&pattern.replace("%t", &task.to_string()));
        let mut options = File::options();
        options.create(true).append(true);
        if before == 0 && pattern.contains("%t") {
            let _ = std::fs::remove_file(&path);
        }
        options.open(&path).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
    }

    /// Says why a start failed.
    pub(crate) fn fault(&self, task: u32, source: io::Error) -> Fault {
        let place = self.here.iter().position(|t| *t == task).unwrap_or(0);
        let path = self.programs[self.which[place]].path.clone();
        // The system's word for a folder that can't be entered is that for a program without an
        // interpreter.
        if let Some(folder) = self.folder
            && source.raw_os_error().is_some()
            && let Err(source) = std::fs::metadata(folder.join("."))
        {
            return Fault::Folder { path: folder.display().to_string(), source };
        }
        match source.raw_os_error() {
            // The error of a file or folder carries its own text.
            None => Fault::Spawn { task, source },
            Some(libc::ENOEXEC | libc::EACCES | libc::ELIBBAD | libc::ETXTBSY) => {
                Fault::NotExecutable { path, reason: source.to_string() }
            }
            // The file was there a moment ago: its interpreter is not.
            Some(libc::ENOENT) => Fault::NotExecutable {
                path,
                reason: "the interpreter or loader that it names does not exist".into(),
            },
            _ => Fault::Spawn { task, source: with_limits(source) },
        }
    }
}

/// What stands behind the system's bare word for "no more processes and threads".
pub(crate) fn with_limits(source: io::Error) -> io::Error {
    if source.raw_os_error() != Some(libc::EAGAIN) {
        return source;
    }
    let what = format!(
        "{source}: the user has as many processes and threads as RLIMIT_NPROC (`ulimit -u`) or the control group \
         (pids.max) allows"
    );
    io::Error::new(source.kind(), what)
}

/// The guide's list of the other tasks on the node. Left out where it would be too long for an
/// environment.
fn common_tasks(task: u32, here: &[u32]) -> Option<String> {
    if here.len() > 4096 {
        return None;
    }
    let mut list = (here.len() - 1).to_string();
    for other in here.iter().filter(|&&t| t != task) {
        list.push(':');
        list.push_str(&other.to_string());
    }
    Some(list)
}

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
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

    pub(crate) fn failed(self) -> bool {
        self != Self::Exited(0)
    }

    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code as u8,
            Self::Killed { signal, .. } => (128 + signal) as u8,
        }
    }

    /// As it stands in a message of an agent.
    pub(crate) fn to_bytes(self) -> [u8; 5] {
        let (how, number) = match self {
            Self::Exited(code) => (0, code),
            Self::Killed { signal, dumped } => (1 + u8::from(dumped), signal),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [how, a, b, c, d]
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let &[how, a, b, c, d] = bytes else { return None };
        let number = i32::from_le_bytes([a, b, c, d]);
        match how {
            0 => Some(Self::Exited(number)),
            1 | 2 if (1..=64).contains(&number) => Some(Self::Killed { signal: number, dumped: how == 2 }),
            _ => None,
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Exited(code) => write!(f, "exited with status {code}"),
            Self::Killed { signal, dumped } => {
                let core = if dumped { ", core dumped" } else { "" };
                write!(f, "was killed by signal {signal} ({}{core})", signals::name(signal))?;
                f.write_str(match signal {
                    libc::SIGXFSZ => ": a file would have grown beyond RLIMIT_FSIZE (`ulimit -f`)",
                    libc::SIGXCPU => ": it had used the processor time of RLIMIT_CPU (`ulimit -t`)",
                    _ => "",
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_travel() {
        for outcome in [
            Outcome::Exited(0),
            Outcome::Exited(255),
            Outcome::Killed { signal: 11, dumped: true },
            Outcome::Killed { signal: 9, dumped: false },
        ] {
            assert_eq!(Outcome::from_bytes(&outcome.to_bytes()), Some(outcome));
        }
        assert_eq!(Outcome::from_bytes(&[1, 0, 0, 0, 0]), None);
        assert_eq!(Outcome::from_bytes(&[0; 4]), None);
    }

    #[test]
    fn limits_that_end_a_task_are_named() {
        let killed = |signal| Outcome::Killed { signal, dumped: false }.to_string();
        assert!(killed(libc::SIGXFSZ).contains("(SIGXFSZ): a file would have grown beyond RLIMIT_FSIZE"));
        assert!(killed(libc::SIGXCPU).contains("`ulimit -t`"));
        assert!(killed(libc::SIGSEGV).ends_with("(SIGSEGV)"));
    }

    #[test]
    fn common_tasks_are_the_others_of_the_node() {
        assert_eq!(common_tasks(1, &[0, 1, 2, 3]).unwrap(), "3:0:2:3");
        assert_eq!(common_tasks(5, &[5]).unwrap(), "0");
    }
}
