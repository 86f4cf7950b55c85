//! For tests of what happens when a peer has ended and the system has given its number away.

/// A process that was started under a number chosen, and does nothing. Killed when dropped.
pub(crate) struct Namesake(pub(crate) libc::pid_t);

impl Namesake {
    /// `None` where the system does not let us choose (`CAP_CHECKPOINT_RESTORE`).
    pub(crate) fn start(pid: libc::pid_t) -> Option<Self> {
        let wanted = [pid];
        // SAFETY: plain data.
        let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
        args.exit_signal = libc::SIGCHLD as u64;
        args.set_tid = wanted.as_ptr().expose_provenance() as u64;
        args.set_tid_size = 1;
        // SAFETY: as `fork`; the child makes system calls only.
        let made = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) };
        if made == 0 {
            // SAFETY: calls without pointers. Should this test be killed, the child is, too.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                loop {
                    libc::pause();
                }
            }
        }
        if made < 0 {
            let e = std::io::Error::last_os_error();
            eprintln!("SKIPPED: no process can be started under a number chosen: {e}");
            return None;
        }
        assert_eq!(made, libc::c_long::from(pid));
        Some(Self(pid))
    }
}

impl Drop for Namesake {
    fn drop(&mut self) {
        // SAFETY: the process is our child and not waited for yet.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}
