//! Windows for a job that needs them on a machine without a daemon: the launcher acts as the daemon
//! while the job runs.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_nsd::{Handle, Options, Server, soft_adapters};

/// Where tasks look for the daemon.
const DAEMON: &str = "LAPIS_NSD";

/// Adapters of a job's own daemon: as many as a task may have windows, on two networks.
const ADAPTERS: u32 = 8;
const NETWORKS: u32 = 2;
/// Windows of each of them: more than a machine has room for tasks.
const WINDOWS: u32 = 1 << 14;

/// A daemon of the machine that does not answer within this time is not there. Nobody hears the
/// launcher meanwhile, and it hears nobody.
const PATIENCE: Duration = Duration::from_secs(1);

/// A daemon of the job's own, and the variable by which its tasks find it.
pub(crate) struct Windows {
    pub(crate) variable: (String, String),
    _daemon: Option<Handle>,
}

/// Whether tasks with these variables may open windows.
fn are_wanted(value: &impl Fn(&str) -> Option<OsString>) -> bool {
    match value("LAPIS_TRANSPORT") {
        Some(named) => named.to_string_lossy().split(',').any(|name| name.trim() == "hps"),
        None => value("MP_EUILIB").as_deref() == Some(OsStr::new("us")),
    }
}

/// Starts a daemon for the tasks of this job on this machine, unless they want no windows, the user
/// has named a daemon, or the machine has one. `value` tells the tasks' variables.
///
/// # Errors
/// It can't be started: in one line, with the remedy.
pub(crate) fn start(job: &str, value: impl Fn(&str) -> Option<OsString>) -> Result<Option<Windows>, String> {
    start_beside(&Address::default(), job, value)
}

/// The same where the machine's daemon would be at this address.
fn start_beside(
    host: &Address,
    job: &str,
    value: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Windows>, String> {
    let is_there = || Daemon::connect_within(host, PATIENCE).is_ok();
    if !are_wanted(&value) || value(DAEMON).is_some() || is_there() {
        return Ok(None);
    }
    let name = format!("lapis-nsd-{job}");
    let adapters = soft_adapters(ADAPTERS, NETWORKS, WINDOWS)?;
    // Its windows are the job's, and so of one user, who may have them all.
    let address = Address::new(&name);
    let options =
        Options { address, adapters, share: Some(WINDOWS), own_user_only: true, ..Options::default() };
    let daemon = match Server::open(options).and_then(Server::spawn) {
        Ok(handle) => Some(handle),
        // The launcher's hand for other tasks of this machine was quicker.
        Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => None,
        Err(e) => {
            return Err(format!("cannot give the job windows of its own ({e}); start lapis-nsd instead"));
        }
    };
    Ok(Some(Windows { variable: (DAEMON.to_owned(), name), _daemon: daemon }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn windows_are_wanted_by_name_or_for_user_space() {
        let wanted = |pairs: &[(&str, &str)]| {
            are_wanted(&|name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into()))
        };
        assert!(wanted(&[("MP_EUILIB", "us")]));
        assert!(wanted(&[("LAPIS_TRANSPORT", "shm, hps")]));
        assert!(!wanted(&[]));
        assert!(!wanted(&[("MP_EUILIB", "ip")]));
        assert!(!wanted(&[("MP_EUILIB", "us"), ("LAPIS_TRANSPORT", "udp")]));
    }

    const STRANGER: &str = "LAPIS_TEST_STRANGER";

    #[test]
    fn a_jobs_daemon_serves_its_user_only() {
        if !rustix::process::geteuid().is_root() || Daemon::connect(&Address::default()).is_ok() {
            return eprintln!("SKIPPED: only root can be two users, and only without a daemon");
        }
        let job = format!("strangers-{}", std::process::id());
        let windows = start(&job, |name| (name == "LAPIS_TRANSPORT").then(|| "hps".into()));
        let windows = windows.expect("starts").expect("is wanted");
        let as_user = |user: u32| {
            let mut command = Command::new(std::env::current_exe().expect("the test has a file"));
            command.args(["windows::tests::stranger", "--exact", "--nocapture"]).uid(user);
            command.env(STRANGER, &windows.variable.1).output()
        };
        let Ok(stranger) = as_user(65_534) else {
            return eprintln!("SKIPPED: that user may not run the tests' programs");
        };
        let said = |output: std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
        let (stranger, root) = (said(stranger), said(as_user(0).expect("root may")));
        assert!(stranger.contains("does not answer"), "{stranger}");
        assert!(root.contains("8 adapters"), "{root}");
    }

    #[test]
    fn stranger() {
        let Ok(address) = std::env::var(STRANGER) else { return };
        match Daemon::connect(&Address::new(&address)).and_then(|daemon| daemon.adapters()) {
            Ok(adapters) => println!("\n{} adapters", adapters.len()),
            Err(e) => println!("\n{e}"),
        }
    }

    #[test]
    fn a_job_gets_a_daemon_of_its_own_and_none_where_the_user_named_one() {
        let job = format!("test-{}", std::process::id());
        let us = |name: &str| (name == "LAPIS_TRANSPORT").then(|| "hps".into());
        if Daemon::connect(&Address::default()).is_err() {
            let windows = start(&job, us).expect("starts").expect("is wanted");
            let daemon = Daemon::connect(&Address::new(&windows.variable.1)).expect("answers");
            assert_eq!(daemon.adapters().expect("answers").len(), ADAPTERS as usize);
            let second = start(&job, us).expect("is there").expect("is wanted");
            assert_eq!(second.variable, windows.variable);
        }
        assert!(start(&job, |_| Some("hps".into())).expect("nothing to do").is_none());
    }

    /// A daemon that hangs, or a stranger at its name.
    #[test]
    fn a_daemon_that_does_not_answer_holds_no_job_up() {
        let name = format!("lapis-nsd-hangs-{}", std::process::id());
        let silent = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let silent = silent.expect("a socket");
        bind(&silent, &SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name")).expect("free");
        listen(&silent, 8).expect("listens");
        let us = |name: &str| (name == "LAPIS_TRANSPORT").then(|| "hps".into());
        let began = Instant::now();
        let windows = start_beside(&Address::new(&name), &name, us).expect("starts").expect("is wanted");
        assert!(Daemon::connect(&Address::new(&windows.variable.1)).is_ok());
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }
}
