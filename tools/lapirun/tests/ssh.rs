//! Jobs through the real `ssh`, to a server that the test itself starts: on loopback addresses that
//! stand for two machines, with keys, configuration and port of its own, and as the user who runs
//! the tests. Nothing of the system's or the user's is changed.

mod common;

use lapis_patience::Patience;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::*;
use rustix::process::Signal;

/// What stands for two machines, and one where nobody listens.
const NEAR: &str = "127.0.0.1";
const FAR: &str = "127.0.0.2";
const NOWHERE: &str = "127.0.0.3";

/// A server, gone when the test is over.
struct Server {
    folder: PathBuf,
    child: Child,
    port: u16,
}

impl Server {
    /// `None`, and why, where there are no programs for it.
    fn start(test: &str) -> Option<Self> {
        let Some(daemon) = daemon() else {
            eprintln!("skipped: there is no sshd (`cargo xtask setup` installs openssh-server)");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("lapirun-ssh-{test}-{}", std::process::id()));
        if folder.to_string_lossy().contains(' ') {
            eprintln!("skipped: words of a remote command are split at blanks, as in {folder:?}");
            return None;
        }
        std::fs::create_dir_all(&folder).expect("a folder for the keys");
        for key in ["host", "user", "stranger"] {
            let made = clean("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(key))
                .status()
                .expect("ssh-keygen comes with ssh");
            assert!(made.success(), "ssh-keygen: {made}");
        }
        std::fs::copy(folder.join("user.pub"), folder.join("authorized")).expect("the key that is let in");
        // Another program may take the port between its choice and the server's start.
        let started = (0..5).find_map(|_| Self::listen(&daemon, &folder));
        let Some((child, port)) = started else {
            let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
            panic!("sshd does not start: {log}");
        };
        let server = Self { folder, child, port };
        let host = std::fs::read_to_string(server.path("host.pub")).expect("the server's key");
        let known: String = [NEAR, FAR, NOWHERE].map(|at| format!("[{at}]:{port} {host}")).concat();
        std::fs::write(server.path("known"), known).expect("the list of known hosts");
        Some(server)
    }

    fn listen(daemon: &Path, folder: &Path) -> Option<(Child, u16)> {
        let free = TcpListener::bind((NEAR, 0)).expect("a free port");
        let port = free.local_addr().expect("its number").port();
        drop(free);
        let at = folder.display();
        let config = format!(
            "ListenAddress {NEAR}:{port}\nListenAddress {FAR}:{port}\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
             PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nMaxStartups 100\n"
        );
        std::fs::write(folder.join("config"), config).expect("the server's configuration");
        let log = std::fs::File::create(folder.join("log")).expect("the server's log");
        let mut command = if rustix::process::getuid().is_root() {
            // For root it insists on an empty folder in /run, which is there only while the
            // system's own server runs: one of our own, which nobody else sees.
            let mut command = clean("unshare");
            let script = "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec \"$@\"";
            command.args(["--mount", "sh", "-c", script, "sh"]).arg(daemon);
            command
        } else {
            clean(daemon)
        };
        command.args(["-D", "-e", "-f"]).arg(folder.join("config")).stdout(Stdio::null()).stderr(log);
        let mut child = command.spawn().expect("sshd is a program");
        let mut patience = Patience::with(child.id(), WATCHDOG);
        while !patience.is_over() {
            if [NEAR, FAR].iter().all(|at| greets(at, port)) {
                return Some((child, port));
            }
            if let Ok(Some(_)) = child.try_wait() {
                return None;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = child.kill();
        let _ = child.wait();
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The launcher's own template, with what leads to this server instead of to the machine's.
    fn remote(&self, key: &str, known: &str) -> String {
        let at = self.folder.display();
        format!(
            "ssh -x -o BatchMode=yes -F none -p {} -i {at}/{key} -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes \
             -o GlobalKnownHostsFile=none -o UserKnownHostsFile={at}/{known} -o ConnectTimeout=60 {{host}}",
            self.port
        )
    }

    /// A job with so many tasks on each of these.
    fn job(&self, hosts: &str) -> Command {
        let mut command = lapirun();
        command.env("LAPIS_REMOTE", self.remote("user", "known"));
        command.env_remove("SSH_AUTH_SOCK").args(["-H", hosts, "--address", NEAR]);
        command
    }

    fn both(&self, program: &[&str]) -> Command {
        let mut command = self.job(&format!("{NEAR}:1,{FAR}:1"));
        command.args(program);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The server's program, which wants to be called by its whole path.
fn daemon() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.into_iter().map(|folder| folder.join("sshd")).find(|program| program.is_file())
}

/// Whether an SSH server says its name there.
fn greets(host: &str, port: u16) -> bool {
    let address = SocketAddr::new(host.parse().expect("an address"), port);
    let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else { return false };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("SSH-2.0")
}

#[test]
fn tasks_meet_and_find_folder_and_variables_of_the_launcher() {
    let Some(server) = Server::start("environment") else { return };
    let done = run(server.both(&[TASK, "exchange", "10"])).expect_quiet(0);
    assert_eq!(done.sorted(), ["done 0", "done 1"]);

    let folder = server.path("a folder");
    std::fs::create_dir(&folder).expect("a folder");
    let script =
        "set -- $SSH_CONNECTION; echo \"$MP_CHILD of $MP_PROCS on $3 in $PWD: $OWN, $MP_ACK_THRESH\"";
    let mut command = server.job(&format!("{NEAR}:1,{FAR}:2"));
    command.args(["-x", "OWN=it's \"$HOME\" ; *", "sh", "-c", script]);
    let done = run({
        command.current_dir(&folder).env("MP_ACK_THRESH", "17");
        command
    })
    .expect_quiet(0);
    let line = |task: u32, host: &str| {
        format!("{task} of 3 on {host} in {}: it's \"$HOME\" ; *, 17", folder.display())
    };
    assert_eq!(done.sorted(), [line(0, NEAR), line(1, FAR), line(2, FAR)]);
    // Nothing is said on the command lines that everybody can read: not even the job's variables.
    let done = run(server.both(&["sh", "-c", "tr '\\0' ' ' < /proc/$PPID/cmdline; echo"])).expect_quiet(0);
    assert!(done.out.lines().all(|line| line.trim_end().ends_with("lapirun --agent")), "{done:?}");
}

#[test]
fn exit_codes_come_back_with_the_name_of_the_host() {
    let Some(server) = Server::start("codes") else { return };
    run(server.both(&[TASK, "exit-of", "1", "5"])).expect(5);
    let done = run(server.both(&[TASK, "fence-without", "1", "kill"])).expect(137);
    assert!(done.err.contains("task 1 (process") && done.err.contains(&format!("on {FAR})")), "{done:?}");
    let done = run(server.both(&["no-such-program-anywhere"])).expect(127);
    assert!(done.err.contains("not found"), "{done:?}");
    let done = run(server.both(&["seq", "20000"])).expect_quiet(0);
    assert_eq!(done.out.lines().count(), 40_000);
}

#[test]
fn signals_go_there_and_a_dead_launcher_leaves_nothing() {
    let Some(server) = Server::start("signals") else { return };
    let script = "trap 'echo got; exit 0' USR2; echo ready; while :; do sleep 0.05; done";
    let mut job = Running::start(server.both(&["sh", "-c", script]));
    assert_eq!(job.read_lines(2), ["ready"; 2]);
    send_signal(&job, Signal::USR2);
    assert_eq!(job.wait().expect(0).sorted(), ["got", "got", "ready", "ready"]);

    for (signal, code) in [(Signal::TERM, Some(143)), (Signal::KILL, None)] {
        let mut job = Running::start(server.both(&[TASK, "linger"]));
        let left = pids(&job.read_lines(6));
        assert_eq!(left.len(), 4);
        send_signal(&job, signal);
        assert_eq!(job.wait().code, code);
        await_death(&left);
    }
}

#[test]
fn hosts_that_do_not_let_us_in_are_named_with_what_ssh_says() {
    let Some(server) = Server::start("refused") else { return };
    let job = |hosts: &str, remote: &str| {
        let mut command = server.job(hosts);
        command.args(["--remote", remote, "true"]);
        run(command)
    };
    let right = server.remote("user", "known");
    let done = job(&format!("{NEAR},{NOWHERE}"), &right);
    assert!(done.code != Some(0) && done.err.contains("Connection refused"), "{done:?}");
    assert!(done.err.contains(&format!("host {NOWHERE}: cannot be reached")), "{done:?}");
    let done = job(NEAR, &server.remote("stranger", "known"));
    assert!(done.code != Some(0) && done.err.contains("Permission denied"), "{done:?}");
    assert!(done.err.contains(&format!("host {NEAR}: cannot be reached")), "{done:?}");
    std::fs::File::create(server.path("nobody")).and_then(|mut file| file.flush()).expect("an empty list");
    let done = job(NEAR, &server.remote("user", "nobody"));
    assert!(done.code != Some(0) && done.err.contains("Host key verification failed"), "{done:?}");
    assert!(done.err.contains(&format!("host {NEAR}: cannot be reached")), "{done:?}");
}
