//! C programs of `tests/programs`, on two nodes of this host, with a services daemon of their own.

use lapis_adapters::channel::Address;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use lapis_testing::{Finished, Running, clean, folder};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BINDING: &str = env!("CARGO_MANIFEST_DIR");

/// A daemon of a test's own, with the nodes `left` and `right`.
struct Daemon {
    name: String,
    _handle: Handle,
}

impl Daemon {
    fn start(test: &str) -> Self {
        let name = format!("lapis-gm-{test}-{}", std::process::id());
        let address = Address::new(&name);
        let adapters = soft_adapters(2, 2, 64).expect("possible");
        let mut server = Server::open(Options { address, adapters, share: 64 }).expect("nobody listens there");
        server.add_nodes(&["left".to_owned(), "right".to_owned()]).expect("names");
        Self { name, _handle: server.spawn().expect("a thread") }
    }

    /// A program of the node `node`.
    fn command(&self, node: &str, program: &Path, args: &[&str]) -> Command {
        let mut command = clean(program);
        command.args(args).env("LAPIS_NSD", &self.name).env("LAPIS_GM_NODE", node);
        command
    }

    fn run(&self, node: &str, program: &Path, args: &[&str]) -> Finished {
        lapis_testing::run(self.command(node, program, args))
    }
}

fn checked(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The directory with the library, which is built if need be.
fn library() -> &'static Path {
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
        checked(build.arg(dir.parent().expect("the profile lies in the target directory")).current_dir(BINDING));
    });
    dir
}

fn compile(name: &str) -> PathBuf {
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

fn traffic(test: &str, count: &str, more: &[(&str, &str)]) {
    let (daemon, program) = (Daemon::start(test), compile("traffic"));
    let start = |node, args: &[&str]| {
        let mut command = daemon.command(node, &program, args);
        command.envs(more.iter().copied());
        Running::start(command)
    };
    let left = start("left", &["right", "1234567", "7654321", count]);
    let right = start("right", &["left", "7654321", "1234567", count]);
    let said = format!("sent {count} received {count}\n");
    for end in [left.wait().expect_quiet(0), right.wait().expect_quiet(0)] {
        assert_eq!(end.out, said);
    }
}

#[test]
fn random_traffic_arrives_as_the_model_says() {
    traffic("traffic", "1500", &[]);
}

#[test]
fn random_traffic_arrives_whatever_gets_lost() {
    traffic("loss", "300", &[("LAPIS_GM_LOSS", "5")]);
}
