//! Plugins outside of the workspace, one in C and one in Rust, built as their authors would, then
//! loaded and tried.

use lapis_conformance::{Mode, Source, run_every_case};
use lapis_core::transport::{Caps, DatagramBatch, OpenParams, RawSlice, load_file};
use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins")
}

/// A place for build results that cargo made for the tests of this crate.
fn place(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).expect("a directory for build results");
    dir
}

fn must(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
}

#[test]
fn the_echo_in_c_keeps_the_contract() {
    let out = place("c-echo");
    must(Command::new("make").arg("-C").arg(examples().join("c-echo")).arg(format!("OUT={}", out.display())));
    let file: &'static str = out.join("liblapis_echo.so").display().to_string().leak();
    run_every_case(Mode::Alone, Source::File(file), "c-echo");
}

#[test]
fn the_null_in_rust_loads_and_forgets() {
    let out = place("rust-null");
    // The versions that are downloaded already, so that no network is needed.
    let root = examples().join("../..");
    std::fs::copy(root.join("Cargo.lock"), examples().join("rust-null/Cargo.lock")).expect("a lock file");
    must(
        Command::new(env!("CARGO"))
            .args(["build", "--manifest-path"])
            .arg(examples().join("rust-null/Cargo.toml"))
            .arg("--target-dir")
            .arg(&out)
            // Settings of the outer cargo's build are not for this one.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_TARGET_DIR"),
    );
    let plugin = load_file(&out.join("debug/liblapis_null.so")).expect("it loads");
    assert_eq!((plugin.name(), plugin.caps()), ("null", Caps::DATAGRAM));
    let params = OpenParams {
        task: 0,
        tasks: 2,
        context: 0,
        incarnation: 0,
        job: "j",
        secret: &[0; 32],
        interrupts: false,
    };
    let mut link = plugin.open(&params).expect("it opens");
    assert_eq!(link.note(), "loses everything by design");
    let address = link.address().expect("it has one");
    assert!(link.connect(1, b"udp").unwrap_err().to_string().contains("doesn't run the null transport"));
    link.connect(1, &address).expect("anybody");
    let slice = RawSlice { ptr: b"bytes".as_ptr().cast_mut(), len: 5 };
    let batch = DatagramBatch { peer: 1, path: 0, slices: &slice, count: 1, segment: 5 };
    // SAFETY: the slice outlives the call.
    assert_eq!(unsafe { link.send_datagrams(&[batch, batch]) }, Ok(2));
    assert_eq!(link.poll(&mut [lapis_core::transport::Event::EMPTY; 4]), Ok(0));
}
