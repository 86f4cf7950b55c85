//! Two hosts with a daemon of windows each, joined by a wire: network namespaces of this machine.

use super::{Finished, Job, artifacts, scratch};
use lapis_testing::{Running, Space, clean, joined};
use std::path::Path;

/// Two hosts with daemons.
pub struct Hosts {
    /// Where the daemons listen: with the host's number behind it.
    name: String,
    _spaces: [Space; 2],
    _daemons: Vec<Running>,
}

impl Hosts {
    /// `None`, said aloud, where this machine has no namespaces or no AF_XDP.
    pub fn make(test: &str) -> Option<Self> {
        let made = Space::new().zip(Space::new()).filter(|(a, b)| a.join(b, 1));
        let Some((a, b)) = made else {
            eprintln!("SKIP {test}: this process may not make network namespaces");
            return None;
        };
        let name = scratch("ethernet").to_string_lossy().into_owned();
        let mut daemons = Vec::new();
        for (host, space) in [&a, &b].into_iter().enumerate() {
            let mut command = clean(artifacts().join("lapis-nsd"));
            command.args(["--socket", &format!("{name}-{host}"), "--eth", "r0", "--eth-windows", "32"]);
            let mut running = space.inside(|| Running::start(joined(&command)));
            let line = running.read_lines(1).remove(0);
            if !line.contains("listening") {
                assert!(line.contains("no AF_XDP") || line.contains("CAP_BPF"), "{line}");
                eprintln!("SKIP {test}: {line}");
                return None;
            }
            daemons.push(running);
        }
        Some(Self { name, _spaces: [a, b], _daemons: daemons })
    }

    /// Runs a job whose tasks are on the hosts by turns.
    pub fn run(&self, job: Job, program: &Path) -> Finished {
        let on_its_host = r#"LAPIS_NSD=$LAPIS_NSD-$((LAPIS_TASK % 2)) exec "$0" "$@""#;
        let mut job = job.env("LAPIS_TRANSPORT", "hps").env("LAPIS_NSD", &self.name);
        let start = ["-c", on_its_host, &*program.to_string_lossy()].map(str::to_owned);
        job.args.splice(0..0, start);
        job.run(Path::new("/bin/sh")).success()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 0..2 {
            let _ = std::fs::remove_file(format!("{}-{host}", self.name));
        }
    }
}
