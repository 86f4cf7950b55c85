//! What tests with plugins share: the zoo's plugin in C with any defect, and a good one that is
//! linked.

#![allow(dead_code, reason = "each test binary uses a part")]

use lapis_core::transport::{OpenParams, Unusable, load_file};
use std::path::{Path, PathBuf};
use std::process::Command;

const SECRET: [u8; 32] = [1; 32];

pub(crate) fn params(job: &str) -> OpenParams<'_> {
    OpenParams { task: 0, tasks: 1, context: 0, incarnation: 0, job, secret: &SECRET, interrupts: false }
}

/// A directory of this test's own, removed at its end: in cargo's output, where what a killed test
/// leaves is in nobody's way.
pub(crate) struct Dir(pub(crate) PathBuf);

impl Dir {
    pub(crate) fn new(test: &str) -> Self {
        let dir = lapis_testing::scratch(&format!("zoo-{test}"));
        std::fs::create_dir_all(&dir).expect("a directory for plugins");
        Self(dir)
    }

    /// Compiles the zoo's plugin with the given definitions into `liblapis_<name>.so`.
    pub(crate) fn build(&self, name: &str, flags: &[&str]) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = self.0.join(format!("liblapis_{name}.so"));
        let output = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-o"])
            .arg(&file)
            .arg(format!("-DNAME={name}"))
            .args(flags)
            .arg("-I")
            .arg(root.join("include"))
            .arg(root.join("tests/zoo/plugin.c"))
            .output()
            .expect("cc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        file
    }

    /// Builds and loads a plugin that is to be refused; the reason.
    pub(crate) fn refused(&self, name: &str, flags: &[&str]) -> Unusable {
        load_file(&self.build(name, flags)).expect_err("a bad plugin was accepted")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
pub(crate) fn says(error: &impl std::fmt::Display, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "\"{part}\" is not in \"{text}\"");
    }
}

/// A transport with `am_packed`, linked.
pub(crate) mod packs {
    use lapis_core::transport::{
        Attributes, Caps, Event, Host, Limits, NoWaiter, OpenParams, PeerId, Status, Transport,
        TransportError,
    };

    pub(crate) struct Packs;

    impl Transport for Packs {
        const NAME: &'static str = "packs";
        const VERSION: &'static str = "0.0.1";
        const CAPS: Caps = Caps::AM_PACKED.union(Caps::RELIABLE);
        type Waiter = NoWaiter;

        fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
            Ok((Self, NoWaiter))
        }
        fn attributes(&self) -> Attributes {
            Attributes { caps: Self::CAPS, limits: Limits::default(), note: String::new() }
        }
        fn address(&self) -> Vec<u8> {
            Vec::new()
        }
        fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
            Ok(())
        }
        fn am_packed(&mut self, _: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
            pack(&mut vec![0; len]);
            Status::Done
        }
        fn poll(&mut self, _: &mut [Event]) -> usize {
            0
        }
    }

    lapis_core::export_transport!(Packs, "packs", "0.0.1");
}
