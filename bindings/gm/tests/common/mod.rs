//! What the tests share: the library, C programs, and a daemon of a test's own.
#![allow(dead_code, reason = "no test uses all of it")]

use lapis_adapters::channel::Address;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use lapis_testing::{Finished, Interface, clean};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const BINDING: &str = env!("CARGO_MANIFEST_DIR");
static GM: Interface = Interface::new(BINDING, "gm");

/// A daemon of a test's own, with the nodes `left` and `right`.
pub(crate) struct Daemon {
    pub(crate) name: String,
    _handle: Handle,
}

impl Daemon {
    pub(crate) fn start(test: &str) -> Self {
        let name = format!("lapis-gm-{test}-{}", std::process::id());
        let address = Address::new(&name);
        let adapters = soft_adapters(2, 2, 64).expect("possible");
        let mut server = Server::open(Options { address, adapters, share: Some(64), ..Options::default() })
            .expect("nobody listens there");
        server.add_nodes(&["left".to_owned(), "right".to_owned()]).expect("names");
        Self { name, _handle: server.spawn().expect("a thread") }
    }

    /// A program of the node `node`.
    pub(crate) fn command(&self, node: &str, program: &Path, args: &[&str]) -> Command {
        let mut command = clean(program);
        command.args(args).env("LAPIS_NSD", &self.name).env("LAPIS_GM_NODE", node);
        command
    }

    pub(crate) fn run(&self, node: &str, program: &Path, args: &[&str]) -> Finished {
        lapis_testing::run(self.command(node, program, args))
    }
}

/// The directory with the library, which is built if need be.
pub(crate) fn library() -> &'static Path {
    lapis_testing::built()
}

pub(crate) fn compile(name: &str) -> PathBuf {
    GM.compile(&GM.source(name), &[])
}
