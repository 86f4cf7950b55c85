//! What the tests share: the library, C programs, and a daemon of a test's own.
#![allow(dead_code, reason = "no test uses all of it")]

use lapis_adapters::channel::Address;
use lapis_nsd::{Handle, Options, Server, Users, soft_adapters};
use lapis_testing::{Finished, clean, folder};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub(crate) const BINDING: &str = env!("CARGO_MANIFEST_DIR");

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
        let mut server = Server::open(Options { address, adapters, share: 64, users: Users::default() })
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

pub(crate) fn checked(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The directory with the library, which is built if need be.
pub(crate) fn library() -> &'static Path {
    static BUILT: OnceLock<()> = OnceLock::new();
    let dir = folder();
    BUILT.get_or_init(|| {
        let profile = match dir.file_name().and_then(std::ffi::OsStr::to_str) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--profile", profile, "-p", "lapis-gm", "--target-dir"]);
        checked(
            build.arg(dir.parent().expect("the profile lies in the target directory")).current_dir(BINDING),
        );
    });
    dir
}

pub(crate) fn compile(name: &str) -> PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let output =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gm-{name}-{}-{number}", std::process::id()));
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]);
    cc.arg(Path::new(BINDING).join(format!("tests/programs/{name}.c"))).arg("-o").arg(&output);
    cc.arg(format!("-I{BINDING}/include")).arg("-L").arg(library()).args(["-lgm", "-pthread"]);
    checked(cc.arg(format!("-Wl,-rpath,{}", library().display())));
    output
}
