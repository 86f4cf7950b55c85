//! Starting one task on this machine.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit};
use rustix::thread::CpuSet;

use crate::job::JobSpec;

/// How the tasks of a job are started; the same for all.
pub(crate) struct Spawner<'a> {
    pub(crate) spec: &'a JobSpec,
    pub(crate) program: &'a Path,
    /// Variables that are the same for all tasks.
    pub(crate) common: &'a [(&'static str, String)],
    pub(crate) mask: libc::sigset_t,
    pub(crate) files: Rlimit,
    /// Processors of each task, empty without binding.
    pub(crate) cpus: &'a [CpuSet],
}

/// A started task.
pub(crate) struct Started {
    pub(crate) child: Child,
    /// The task's process and group number.
    pub(crate) pid: Pid,
}

impl Spawner<'_> {
    /// Starts a task with its own variables.
    pub(crate) fn start(
        &self,
        task: u32,
        own: &[(&'static str, String)],
        stdin: Stdio,
    ) -> io::Result<Started> {
        let mut command = Command::new(self.program);
        command.arg0(&self.spec.program).args(&self.spec.args);
        command.envs(self.spec.env.iter().map(|(k, v)| (k, v)));
        command.envs(self.common.iter().map(|(k, v)| (k, v)));
        command.envs(own.iter().map(|(k, v)| (k, v)));
        command.process_group(0).stdin(stdin);
        if self.spec.tag_output {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let launcher = rustix::process::getpid();
        let (mask, files, cpus) = (self.mask, self.files.clone(), self.cpus.get(task as usize).copied());
        // SAFETY: the closure runs between fork and exec and makes system calls only: no allocation, no locks.
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
                if libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, std::ptr::null_mut()) != 0 {
                    return Err(io::Error::last_os_error());
                }
                rustix::process::setrlimit(Resource::Nofile, files.clone())?;
                if let Some(cpus) = &cpus {
                    rustix::thread::sched_setaffinity(None, cpus)?;
                }
                Ok(())
            });
        }
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        Ok(Started { child, pid })
    }
}

/// The ends of a tagged task's output.
pub(crate) fn take_output(child: &mut Child) -> Vec<(OwnedFd, bool)> {
    let out = child.stdout.take().map(|s| (OwnedFd::from(s), false));
    let err = child.stderr.take().map(|s| (OwnedFd::from(s), true));
    out.into_iter().chain(err).collect()
}
