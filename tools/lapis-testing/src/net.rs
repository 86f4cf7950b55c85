//! Hosts as network namespaces, with rails between them.

use crate::clean;
use lapis_patience::Patience;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Number of the subnet that is the launcher's.
const LAUNCHER: usize = 99;

/// Namespaces, joined by rails `r0`, `r1`… (10.217.N.0/24 or fd17:N::/64) and by one more network
/// for the launcher. Two are joined by pairs of interfaces, more of them by bridges in a namespace
/// of their own. Nothing of it is seen from outside; all is removed at the end.
#[derive(Debug)]
pub struct Net {
    hosts: Vec<String>,
    switch: Option<String>,
    rails: usize,
    v6: bool,
}

impl Net {
    /// Two hosts. `None` where this process may not make namespaces.
    pub fn make(tag: &str, rails: usize) -> Option<Self> {
        Self::of(tag, 2, rails, false)
    }

    /// So many hosts, whose rails have addresses of IPv6 alone if wanted.
    pub fn of(tag: &str, hosts: usize, rails: usize, v6: bool) -> Option<Self> {
        let id = std::process::id();
        let hosts: Vec<String> = (0..hosts).map(|n| format!("lapis-{tag}{n}-{id}")).collect();
        let switch = (hosts.len() > 2).then(|| format!("lapis-{tag}s-{id}"));
        let net = Self { hosts, switch, rails, v6 };
        let mut lines: Vec<String> =
            net.hosts.iter().chain(&net.switch).map(|name| format!("netns add {name}")).collect();
        for (name, subnet) in (0..rails).map(|i| (format!("r{i}"), i)).chain([("boot".to_owned(), LAUNCHER)])
        {
            if let Some(switch) = &net.switch {
                lines.push(format!("-n {switch} link add {name} type bridge"));
                lines.push(format!("-n {switch} link set {name} up"));
                for (at, host) in net.hosts.iter().enumerate() {
                    let port = format!("{name}p{at}");
                    lines.push(format!(
                        "link add {name} netns {host} type veth peer name {port} netns {switch}"
                    ));
                    lines.push(format!("-n {switch} link set {port} master {name} up"));
                }
            } else {
                let [a, b] = [&net.hosts[0], &net.hosts[1]];
                lines.push(format!("link add {name} netns {a} type veth peer name {name} netns {b}"));
            }
            for (number, host) in (1..).zip(&net.hosts) {
                // Without the second in which IPv6 asks whether somebody else has the address.
                let address = match v6 && subnet != LAUNCHER {
                    true => format!("fd17:{subnet}::{number}/64 dev {name} nodad"),
                    false => format!("10.217.{subnet}.{number}/24 dev {name}"),
                };
                lines.push(format!("-n {host} addr add {address}"));
                lines.push(format!("-n {host} link set {name} up"));
            }
        }
        for host in &net.hosts {
            lines.push(format!("-n {host} link set lo up"));
        }
        if !lines.iter().all(|line| ip(line)) {
            return None;
        }
        if v6 {
            // For a second or two the kernel makes sure of its own addresses of link-local scope,
            // and answers nobody's questions.
            let unsure =
                |host| net.inside(host, "ip -6 addr show tentative").is_some_and(|list| !list.is_empty());
            let mut patience = Patience::with_myself(Duration::from_secs(20));
            while (0..net.hosts.len()).any(unsure) && !patience.is_over() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Some(net)
    }

    /// The hosts, each with its address in the launcher's network.
    pub fn hosts(&self) -> Vec<(&str, String)> {
        (1..).zip(&self.hosts).map(|(n, host)| (host.as_str(), format!("10.217.{LAUNCHER}.{n}"))).collect()
    }

    /// Number of rails.
    pub fn rails(&self) -> usize {
        self.rails
    }

    /// A launcher that is to start a task on each host; the program's name and its arguments are
    /// still to come.
    pub fn launcher(&self, launcher: impl AsRef<OsStr>) -> Command {
        let list: Vec<String> = self.hosts.iter().map(|host| format!("{host}:1")).collect();
        let mut command = clean("ip");
        command.args(["netns", "exec", &self.hosts[0]]).arg(launcher);
        command.args(["-H", &list.join(","), "--remote", "ip netns exec {host}"]);
        command.args(["--address", "10.217.99.1"]);
        command
    }

    fn inside(&self, host: usize, line: &str) -> Option<String> {
        let mut command = clean("ip");
        command.args(["netns", "exec", &self.hosts[host]]).args(line.split(' ')).stderr(Stdio::null());
        let done = command.output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Lets so many percent of the datagrams that arrive get lost, on both sides. False: there is
    /// no packet filter.
    pub fn lose(&self, percent: u32) -> bool {
        (0..self.hosts.len()).all(|host| {
            // There is no table yet the first time.
            let _ = self.inside(host, "nft delete table inet lapis");
            [
                "nft add table inet lapis".to_owned(),
                "nft add chain inet lapis in { type filter hook input priority 0 ; }".to_owned(),
                format!("nft add rule inet lapis in meta l4proto udp numgen random mod 100 < {percent} drop"),
            ]
            .iter()
            .all(|line| self.inside(host, line).is_some())
        })
    }

    /// Sets a rail down or up, on the near side. One that is set up carries again afterwards.
    pub fn rail(&self, rail: usize, up: bool) {
        let (host, to) = (&self.hosts[0], if up { "up" } else { "down" });
        assert!(ip(&format!("-n {host} link set r{rail} {to}")));
        if up && self.v6 {
            // An interface that is set down loses its addresses of IPv6; whoever set them sets them
            // again.
            assert!(ip(&format!("-n {host} addr replace fd17:{rail}::1/64 dev r{rail} nodad")));
        }
        if up {
            self.wait_for(rail, 0);
        }
    }

    /// Waits until every rail carries at every host. A moment after they were made some may not.
    pub fn settle(&self) {
        for rail in 0..self.rails {
            (0..self.hosts.len()).for_each(|host| self.wait_for(rail, host));
        }
    }

    /// Waits until a rail carries at a host.
    fn wait_for(&self, rail: usize, host: usize) {
        let state = format!("cat /sys/class/net/r{rail}/operstate");
        let carries = || self.inside(host, &state).is_some_and(|state| state.trim() == "up");
        let mut patience = Patience::with_myself(Duration::from_secs(20));
        while !carries() && !patience.is_over() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Lets each host send so many megabits a second over the first rail. False: there is no
    /// traffic control.
    pub fn slow(&self, megabits: u32) -> bool {
        (0..self.hosts.len()).all(|host| {
            let rate = format!("tc qdisc add dev r0 root tbf rate {megabits}mbit burst 64kb latency 5ms");
            self.inside(host, &rate).is_some()
        })
    }

    /// Sets the MTU of every rail on one side. From now on each side drops in silence what is
    /// larger than its MTU, as networks do whose routers' messages get lost.
    pub fn mtu_at(&self, host: usize, mtu: u32) {
        for rail in 0..self.rails {
            // Batches that the kernel has not cut yet pass whatever their size.
            for host in &self.hosts {
                assert!(ip(&format!("-n {host} link set r{rail} gso_max_segs 1")));
            }
            assert!(ip(&format!("-n {} link set r{rail} mtu {mtu}", self.hosts[host])));
        }
    }

    /// Sets the MTU of every rail, on all sides.
    pub fn mtu(&self, mtu: u32) {
        for host in &self.hosts {
            for rail in 0..self.rails {
                assert!(ip(&format!("-n {host} link set r{rail} mtu {mtu}")));
            }
        }
    }

    /// Packets that left over each rail of the near side so far.
    pub fn packets(&self) -> Vec<u64> {
        let count = |rail| {
            let text = self.inside(0, &format!("cat /sys/class/net/r{rail}/statistics/tx_packets"));
            text.and_then(|t| t.trim().parse().ok()).expect("a count")
        };
        (0..self.rails).map(count).collect()
    }

    /// Bytes that left and came over each rail of the near side so far.
    pub fn bytes(&self) -> Vec<u64> {
        let count = |rail| {
            let files = ["tx", "rx"].map(|way| format!("/sys/class/net/r{rail}/statistics/{way}_bytes"));
            let text = self.inside(0, &format!("cat {}", files.join(" "))).expect("counts");
            text.lines().filter_map(|line| line.trim().parse::<u64>().ok()).sum()
        };
        (0..self.rails).map(count).collect()
    }

    /// IP fragments that were made on the near side.
    pub fn fragments(&self) -> u64 {
        let text = self.inside(0, "cat /proc/net/snmp").expect("counts");
        let mut lines = text.lines().filter(|l| l.starts_with("Ip:"));
        let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
        let at = names.split(' ').position(|n| n == "FragCreates").expect("the count");
        values.split(' ').nth(at).and_then(|v| v.parse().ok()).expect("a number")
    }

    /// Gives the far side of the first rail an address of another subnet. `routed`: both sides know
    /// the way.
    pub fn move_far_side(&self, routed: bool) {
        let [near, far] = [&self.hosts[0], &self.hosts[1]];
        assert!(ip(&format!("-n {far} addr flush dev r0")));
        assert!(ip(&format!("-n {far} addr add 10.218.0.2/24 dev r0")));
        if routed {
            assert!(ip(&format!("-n {near} route add 10.218.0.0/24 dev r0")));
            assert!(ip(&format!("-n {far} route add 10.217.0.0/24 dev r0")));
        }
    }

    /// Gives each host a bridge of its own that nothing else is joined to, with addresses of one
    /// subnet.
    pub fn add_bridges(&self) {
        for (number, host) in (1..).zip(&self.hosts) {
            assert!(ip(&format!("-n {host} link add br0 type bridge")));
            assert!(ip(&format!("-n {host} addr add 172.31.0.{number}/16 dev br0")));
            assert!(ip(&format!("-n {host} link set br0 up")));
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for host in self.hosts.iter().chain(&self.switch) {
            let _ = clean("ip").args(["netns", "del", host]).stderr(Stdio::null()).status();
        }
    }
}

fn ip(line: &str) -> bool {
    clean("ip").args(line.split(' ')).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}
