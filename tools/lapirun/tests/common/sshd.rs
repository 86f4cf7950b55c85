//! Servers of OpenSSH that a test starts for itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::{WATCHDOG, clean};

/// A network namespace, if it is not this process's own, and the addresses to listen at there.
pub(crate) type Place = (Option<String>, Vec<String>);

/// A server, gone when the test is over.
pub(crate) struct Server {
    folder: PathBuf,
    children: Vec<Child>,
    port: u16,
}

impl Server {
    /// `None`, and why, where there are no programs for it.
    pub(crate) fn start(test: &str, places: &[Place], nowhere: &[String]) -> Option<Self> {
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
        let mut server = Self { folder, children: Vec::new(), port: 0 };
        // Another program may take the port between its choice and the servers' start.
        let started = (0..5).any(|_| server.listen_at_all(&daemon, places));
        assert!(started, "sshd does not start: see {:?}", server.folder);
        let host = std::fs::read_to_string(server.path("host.pub")).expect("the server's key");
        let all = places.iter().flat_map(|(_, addresses)| addresses).chain(nowhere);
        let known: String = all.map(|at| format!("[{at}]:{} {host}", server.port)).collect();
        std::fs::write(server.path("known"), known).expect("the list of known hosts");
        Some(server)
    }

    fn listen_at_all(&mut self, daemon: &Path, places: &[Place]) -> bool {
        self.end();
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        self.port = free.local_addr().expect("its number").port();
        drop(free);
        let folder = self.folder.clone();
        let started = places.iter().map_while(|place| Self::listen(daemon, &folder, place, self.port));
        self.children = started.collect();
        self.children.len() == places.len()
    }

    fn end(&mut self) {
        for mut child in self.children.drain(..) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// A server for the addresses of one place, on a port that was free a moment ago.
    fn listen(daemon: &Path, folder: &Path, (space, addresses): &Place, port: u16) -> Option<Child> {
        let name = format!("log-{}", addresses[0]);
        let (at, log) = (folder.display(), folder.join(&name));
        let listen: String = addresses.iter().map(|at| format!("ListenAddress {at}:{port}\n")).collect();
        // Start-up files of the user's own shell are no part of the test: they may print, and fail
        // where many log in at once.
        let config = format!(
            "{listen}SetEnv HOME={at}\nHostKey {at}/host\nAuthorizedKeysFile {at}/authorized\n\
             PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nMaxStartups 100\n"
        );
        let file = folder.join(format!("config-{}", addresses[0]));
        std::fs::write(&file, config).expect("the server's configuration");
        let to = std::fs::File::create(&log).expect("the server's log");
        let mut words: Vec<&str> = Vec::new();
        if let Some(space) = space {
            words.extend(["ip", "netns", "exec", space]);
        }
        // For root it insists on an empty folder in /run, which is there only while the system's
        // own server runs: one of our own, which nobody else sees.
        let script = "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec \"$@\"";
        if rustix::process::getuid().is_root() {
            words.extend(["unshare", "--mount", "sh", "-c", script, "sh"]);
        }
        words.push(daemon.to_str().expect("a path of plain characters"));
        let mut command = clean(words[0]);
        command.args(&words[1..]).args(["-D", "-e", "-f"]).arg(file).stdout(Stdio::null()).stderr(to);
        let mut child = command.spawn().expect("sshd is a program");
        let start = Instant::now();
        while start.elapsed() < WATCHDOG {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            if said.matches("Server listening on").count() == addresses.len() {
                return Some(child);
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

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The launcher's own template, with what leads to this server instead of to the machine's.
    pub(crate) fn remote(&self, key: &str, known: &str) -> String {
        let at = self.folder.display();
        format!(
            "ssh -x -o BatchMode=yes -F none -p {} -i {at}/{key} -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes \
             -o GlobalKnownHostsFile=none -o UserKnownHostsFile={at}/{known} -o ConnectTimeout=60 {{host}}",
            self.port
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
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
