//! Network namespaces without names: they end with this process, however it ends.

use crate::clean;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd;
use std::process::Stdio;

/// A network namespace, kept by a descriptor.
#[derive(Debug)]
pub struct Space(File);

impl Space {
    /// A new one, with nothing but a loopback interface that is down. `None` where this process may
    /// not make namespaces.
    pub fn new() -> Option<Self> {
        let make = || {
            // SAFETY: a call without pointers; it concerns this thread alone, which ends here.
            let done = unsafe { libc::unshare(libc::CLONE_NEWNET) };
            (done == 0).then(|| File::open("/proc/thread-self/ns/net").ok()).flatten()
        };
        std::thread::spawn(make).join().ok()?.map(Self)
    }

    /// Does something in it, in a thread of its own. What that one opens and starts is there, too.
    ///
    /// # Panics
    /// The thread can't enter the namespace, or panics.
    pub fn inside<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        let run = || {
            // SAFETY: the descriptor is a namespace's; the call concerns this thread alone.
            assert_eq!(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) }, 0, "setns");
            what()
        };
        std::thread::scope(|scope| match scope.spawn(run).join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// Whether `ip` with these words succeeds in it.
    pub fn ip(&self, words: &str) -> bool {
        self.ip_all(&[words.to_owned()])
    }

    /// Whether `ip` succeeds in it with all these lines of words, which one process does.
    fn ip_all(&self, lines: &[String]) -> bool {
        self.inside(|| {
            let mut command = clean("ip");
            command.args(["-batch", "-"]).stdin(Stdio::piped()).stderr(Stdio::null()).stdout(Stdio::null());
            let Ok(mut child) = command.spawn() else { return false };
            let said =
                child.stdin.take().is_some_and(|mut to| to.write_all(lines.join("\n").as_bytes()).is_ok());
            child.wait().is_ok_and(|status| said && status.success())
        })
    }

    /// How `ip` finds it from another one.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    fn end(&self, rail: u32, number: u32) -> [String; 2] {
        [format!("addr add 10.217.{rail}.{number}/24 dev r{rail}"), format!("link set r{rail} up")]
    }

    /// Joins hosts by so many bridges in this one, each host by interfaces `rN` with the addresses
    /// 10.217.N.HOST, HOST from 1 on.
    pub fn switch(&self, hosts: &[&Self], rails: u32) -> bool {
        let bridges = (0..rails)
            .flat_map(|rail| [format!("link add b{rail} type bridge"), format!("link set b{rail} up")]);
        let mut here: Vec<String> = bridges.collect();
        let all = (1..).zip(hosts).all(|(number, host)| {
            let mut there = vec!["link set lo up".to_owned()];
            for rail in 0..rails {
                let port = format!("r{rail}p{number}");
                there.push(format!("link add r{rail} type veth peer name {port} netns {}", self.path()));
                there.extend(host.end(rail, number));
                here.push(format!("link set {port} master b{rail} up"));
            }
            host.ip_all(&there)
        });
        all && self.ip_all(&here)
    }

    /// Takes a host's addresses of IPv4 from its rails, and gives them fd17:N::HOST in their place.
    pub fn only_v6(&self, rails: u32, number: u32) -> bool {
        // Nobody else is here who could have the addresses: the kernel need not ask for seconds.
        let sure =
            |which: &str| std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/accept_dad"), "0").is_ok();
        let mut lines = Vec::new();
        for rail in 0..rails {
            lines.push(format!("link set r{rail} down"));
            lines.push(format!("addr flush dev r{rail}"));
            lines.push(format!("link set r{rail} up"));
            lines.push(format!("addr add fd17:{rail}::{number}/64 dev r{rail} nodad"));
        }
        let all = || (0..rails).all(|rail| sure(&format!("r{rail}"))) && sure("all");
        self.inside(all) && self.ip_all(&lines)
    }

    /// Joins two by so many pairs of interfaces `rN`, with the addresses 10.217.N.1 and 10.217.N.2.
    pub fn join(&self, other: &Self, rails: u32) -> bool {
        let mut here = vec!["link set lo up".to_owned()];
        let mut there = here.clone();
        for rail in 0..rails {
            here.push(format!("link add r{rail} type veth peer name r{rail} netns {}", other.path()));
            here.extend(self.end(rail, 1));
            there.extend(other.end(rail, 2));
        }
        self.ip_all(&here) && other.ip_all(&there)
    }
}
