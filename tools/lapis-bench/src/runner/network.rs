//! Two hosts as network namespaces with rails between them, which lose packets, are slow, or go
//! down as asked.

use crate::exec::{Line, Running};
use anyhow::{Context, Result, bail};
use lapis_bench::pin;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than any of these commands takes.
const PROMPT: Duration = Duration::from_secs(20);

/// Two namespaces, joined by rails `r0`, `r1`… and by one more pair of interfaces for the launcher.
/// Nothing of it is seen from outside; all is removed at the end.
pub(super) struct Network {
    hosts: [String; 2],
    rails: usize,
    programs: PathBuf,
    /// How the launcher starts something on a host.
    remote: String,
}

/// What [`on_host`] runs.
#[derive(clap::Args)]
pub(crate) struct OnHost {
    host: String,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Becomes a program on one of the two hosts, on the core of that host's task.
pub(crate) fn on_host(args: &OnHost) -> Result<()> {
    let (near, far) = pin::pair();
    let is_first = args.host.starts_with(&name_of("a"));
    pin::to(if is_first { near } else { far }).context("a core of its own")?;
    let error = Command::new("ip").args(["netns", "exec", &args.host]).args(&args.words).exec();
    Err(error).context("no ip program")
}

fn name_of(side: &str) -> String {
    format!("lapis-bench-{side}-")
}

impl Network {
    /// Fails where this process may not make namespaces.
    pub(super) fn make(rails: usize) -> Result<Self> {
        let exe = std::env::current_exe().context("where this program lies")?;
        let programs = exe.parent().unwrap_or(Path::new(".")).to_owned();
        let hosts = ["a", "b"].map(|side| name_of(side) + &std::process::id().to_string());
        let remote = "ip netns exec {host}".to_owned();
        let network = Self { hosts, rails, programs, remote };
        let [a, b] = &network.hosts;
        let mut lines = vec![format!("netns add {a}"), format!("netns add {b}")];
        for (name, subnet) in (0..rails).map(|i| (format!("r{i}"), i)).chain([("boot".to_owned(), 99)]) {
            lines.push(format!("link add {name} netns {a} type veth peer name {name} netns {b}"));
            for (host, number) in [(a, 1), (b, 2)] {
                lines.push(format!("-n {host} addr add 10.217.{subnet}.{number}/24 dev {name}"));
                lines.push(format!("-n {host} link set {name} up"));
            }
        }
        lines.extend([a, b].map(|host| format!("-n {host} link set lo up")));
        for line in lines {
            ip(&line).context("no network namespaces: they need root and iproute2")?;
        }
        Ok(network)
    }

    /// The same with the programs of another folder, each task on a core of its own.
    pub(super) fn of_build(mut self, folder: &Path) -> Result<Self> {
        self.programs = folder.to_owned();
        let exe = std::env::current_exe().context("where this program lies")?;
        self.remote = format!("{} on-host {{host}}", exe.display());
        Ok(self)
    }

    /// `lapis-perf` with these arguments, a task on each host, over the first so many rails.
    pub(super) fn perf(&self, rails: usize, arguments: &[&str]) -> Line {
        self.perf_over("udp", rails, arguments)
    }

    /// The same over another transport.
    pub(super) fn perf_over(&self, transport: &str, rails: usize, arguments: &[&str]) -> Line {
        let line = self.perf_on_all(transport, arguments);
        if rails == 1 { line.var("MP_EUIDEVICE", "r0") } else { line.var("MP_INSTANCES", rails.to_string()) }
    }

    /// The same over the rails that the transport chooses.
    pub(super) fn perf_on_all(&self, transport: &str, arguments: &[&str]) -> Line {
        let [a, b] = &self.hosts;
        let program = |name: &str| self.programs.join(name).into_os_string();
        let line = Line::new(["ip", "netns", "exec", a]).args([program("lapirun")]);
        let line = line.args(["-H", &format!("{a}:1,{b}:1"), "--remote", &self.remote]);
        let line = line.args(["--address", "10.217.99.1"]).args([program("lapis-perf")]).args(arguments);
        let line = line.args(["--json"]).var("LAPIS_TRANSPORT", transport);
        line.var("LAPIS_TRANSPORT_PATH", &self.programs)
    }

    /// A daemon of windows on each host, which has taken its rails.
    pub(super) fn daemons(&self) -> Result<Vec<Running>> {
        let program = |name: &str| self.programs.join(name).into_os_string();
        let mut daemons = Vec::new();
        for host in &self.hosts {
            let inside = || Line::new(["ip", "netns", "exec", host]);
            let interfaces = (0..self.rails).map(|rail| format!("--eth=r{rail}"));
            daemons.push(inside().args([program("lapis-nsd")]).args(interfaces).spawn()?);
            let status = inside().args([program("lapis-windows")]).args(["status"]);
            let start = Instant::now();
            while let Err(error) = status.output(PROMPT) {
                if start.elapsed() > PROMPT {
                    return Err(error.context("the daemon of windows does not serve"));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(daemons)
    }

    /// Lets so many percent of what arrives over UDP get lost, on both sides.
    pub(super) fn lose(&self, percent: u32) -> Result<()> {
        for host in 0..2 {
            // There is no table yet the first time.
            let _ = self.inside(host, "nft delete table inet lapis");
            if percent == 0 {
                continue;
            }
            for line in [
                "nft add table inet lapis".to_owned(),
                "nft add chain inet lapis in { type filter hook input priority 0 ; }".to_owned(),
                format!("nft add rule inet lapis in meta l4proto udp numgen random mod 100 < {percent} drop"),
            ] {
                self.inside(host, &line).context("no packet filter: it needs nftables")?;
            }
        }
        Ok(())
    }

    /// Makes every rail as slow as this, in megabits a second, in both directions; 0: as fast as it
    /// goes.
    pub(super) fn slow_down(&self, megabits: u32) -> Result<()> {
        for (host, rail) in (0..2).flat_map(|host| (0..self.rails).map(move |rail| (host, rail))) {
            let _ = self.inside(host, &format!("tc qdisc del dev r{rail} root"));
            if megabits > 0 {
                let limit = format!("tbf rate {megabits}mbit burst 256kb latency 20ms");
                self.inside(host, &format!("tc qdisc add dev r{rail} root {limit}"))
                    .context("rails can't be made slower: that needs tc and the tbf queue")?;
            }
        }
        Ok(())
    }

    /// Waits until every rail carries: libfabric lists no others.
    pub(super) fn settle(&self) -> Result<()> {
        let start = Instant::now();
        for (host, rail) in (0..2).flat_map(|host| (0..self.rails).map(move |rail| (host, rail))) {
            let state = format!("cat /sys/class/net/r{rail}/operstate");
            while self.inside(host, &state)?.trim() != "up" {
                if start.elapsed() > PROMPT {
                    bail!("rail r{rail} does not come up");
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    /// Sets a rail up, on the near side.
    fn mend(&self, rail: usize) -> Result<()> {
        ip(&format!("-n {} link set r{rail} up", self.hosts[0]))
    }

    /// A program that stands ready to set a rail down: who starts one at that moment takes
    /// milliseconds from a core that is measured, as nobody does who pulls a plug.
    fn ready_to_pull(&self) -> Result<Hand> {
        let mut command = Command::new("ip");
        command.args(["-n", &self.hosts[0], "-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Hand(command.spawn().context("no ip program")?))
    }

    /// Runs a job of several figures and sets a rail down so long after the first one, and up again
    /// at its end; what it prints of the figures behind the first. How long a job takes to start
    /// depends on the machine, so the first figure says when the others begin.
    pub(super) fn pull_amid(
        &self,
        job: &Line,
        rail: usize,
        after: Duration,
        limit: Duration,
    ) -> Result<String> {
        let mut hand = self.ready_to_pull()?;
        let mut job = job.spawn()?;
        job.await_line(limit)?;
        std::thread::sleep(after);
        hand.pull(rail)?;
        let text = job.finish(limit);
        drop(hand);
        self.mend(rail)?;
        Ok(text?.split_once('\n').map(|(_, others)| others.to_owned()).unwrap_or_default())
    }

    /// Starts a program that cuts a rail after a while: all that comes over it gets lost, and no
    /// link says so. It outranks the measured tasks, which never let go of their cores.
    pub(super) fn cut_later(&self, rail: usize, after: Duration) -> Result<Running> {
        let chain = "add table inet cut ; add chain inet cut in { type filter hook input priority 0 ; }";
        let cut = format!("add rule inet cut in iifname r{rail} drop");
        let mut script = format!("sleep {}", after.as_secs_f64());
        for (host, name) in self.hosts.iter().enumerate() {
            self.inside(host, &format!("nft {chain}")).context("no packet filter: it needs nftables")?;
            script += &format!("; ip netns exec {name} nft {cut}");
        }
        Line::new(["chrt", "-f", "30", "sh", "-c", &script]).spawn().context("no chrt program")
    }

    /// Undoes what was cut.
    pub(super) fn uncut(&self) {
        for host in 0..2 {
            let _ = self.inside(host, "nft delete table inet cut");
        }
    }

    fn inside(&self, host: usize, line: &str) -> Result<String> {
        Line::new(["ip", "netns", "exec", &self.hosts[host]]).args(line.split(' ')).output(PROMPT)
    }
}

/// What pulls a rail when told.
struct Hand(Child);

impl Hand {
    fn pull(&mut self, rail: usize) -> Result<()> {
        let mut said = self.0.stdin.take().context("a hand pulls once")?;
        writeln!(said, "link set r{rail} down").context("ip does not listen")
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        // Without anything more to read it ends by itself.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in &self.hosts {
            let _ = ip(&format!("netns del {host}"));
        }
    }
}

fn ip(line: &str) -> Result<()> {
    let done = Line::new(["ip"]).args(line.split(' ')).output(PROMPT);
    if let Err(error) = done {
        bail!("ip {line}: {error:#}");
    }
    Ok(())
}
