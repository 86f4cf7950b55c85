//! Machines on this one: network namespaces, in which the kernel's run has another identity each.

use lapis_testing::{Net, clean, folder, program};
use std::path::PathBuf;
use std::process::Command;

/// Starts tasks on machines, which need an identity of their own each.
pub(crate) struct Machines {
    net: Net,
    script: PathBuf,
}

impl Machines {
    /// `None`, said aloud, where this process may not make namespaces.
    pub(crate) fn make(tag: &str, count: usize) -> Option<Self> {
        let Some(net) = Net::of(tag, count, 1, false) else {
            eprintln!("SKIP {tag}: this process may not make network namespaces");
            return None;
        };
        let script = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{tag}-{}", std::process::id()));
        // The namespaces' name, in the place of the identity of the kernel's run, for all that is
        // started there.
        let text = "host=$1; shift; echo $host > $0-$host\n\
                    exec ip netns exec $host sh -c 'mount --bind $0 /proc/sys/kernel/random/boot_id && exec \"$@\"' \
                    $0-$host \"$@\"\n";
        std::fs::write(&script, text).expect("the target directory can be written");
        Some(Self { net, script })
    }

    /// A launcher with these options that is to start so many tasks on each machine; the program's
    /// name and its arguments are still to come.
    pub(crate) fn command(&self, tasks: u32, options: &[&str]) -> Command {
        let hosts = self.net.hosts();
        let list: Vec<String> = hosts.iter().map(|(host, _)| format!("{host}:{tasks}")).collect();
        let mut command = clean("ip");
        command.args(["netns", "exec", hosts[0].0]).arg(program("lapirun", "lapirun")).args(options);
        command.args(["--address", &hosts[0].1, "-H", &list.join(","), "--remote"]);
        command.arg(format!("sh {} {{host}}", self.script.display()));
        command.env("LAPIS_TRANSPORT_PATH", folder().join("deps"));
        command
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.script);
        for (host, _) in self.net.hosts() {
            let _ = std::fs::remove_file(format!("{}-{host}", self.script.display()));
        }
    }
}
