//! Two adapters of this host, with a daemon of their own, that go down and up while a job runs.

use super::{artifacts, scratch};
use lapis_testing::{Running, clean, run};

/// See the module.
pub struct Adapters {
    name: String,
    daemon: Option<Running>,
}

impl Adapters {
    /// A daemon with so many adapters, each on a network of its own.
    pub fn new(count: u32) -> Self {
        let name = scratch("adapters").to_string_lossy().into_owned();
        let mut command = clean(artifacts().join("lapis-nsd"));
        let count = count.to_string();
        command.args(["--socket", &name, "--soft", &count, "--networks", &count]);
        let mut daemon = Running::start(command);
        daemon.read_line("listening");
        Self { name, daemon: Some(daemon) }
    }

    /// Where the daemon listens.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The variables that give a job's tasks windows of these adapters.
    pub fn variables(&self) -> [(&'static str, String); 3] {
        [
            ("LAPIS_TRANSPORT", "hps".to_owned()),
            ("LAPIS_NSD", self.name.clone()),
            ("MP_INSTANCES", "2".to_owned()),
        ]
    }

    /// Takes an adapter down or up.
    pub fn set(&self, adapter: &str, up: bool) {
        set(&self.name, adapter, up);
    }

    /// Ends the daemon.
    pub fn end(&mut self) {
        self.daemon = None;
    }
}

fn windows(daemon: &str, words: &[&str]) {
    let mut command = clean(artifacts().join("lapis-windows"));
    command.args(["--socket", daemon]).args(words);
    run(command).expect(0);
}

fn set(daemon: &str, adapter: &str, up: bool) {
    windows(daemon, &[if up { "up" } else { "down" }, adapter]);
}

impl Drop for Adapters {
    fn drop(&mut self) {
        self.end();
        let _ = std::fs::remove_file(&self.name);
    }
}
