//! Part of `cargo xtask nightly`: the copy engine of `lapis-dgsp` under tools that see accesses out of bounds. All of its
//! `unsafe` code is run by the crate's tests against lists of bytes.

use crate::{sh, workspace};
use std::process::{Command, Stdio};

const CRATE: &str = "lapis-dgsp";
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Runs the tests under AddressSanitizer, and under Miri where it is installed. Answers what failed.
pub(crate) fn check() -> Vec<String> {
    let mut failed = Vec::new();
    // Doctests are left out: rustdoc wants flags of its own.
    let mut sanitized = sh::cargo(["test", "--quiet", "-p", CRATE, "--lib", "--tests", "--target", TARGET]);
    sanitized.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    sanitized.env("CARGO_TARGET_DIR", workspace::target_dir().join("asan"));
    eprintln!("--- {CRATE} under AddressSanitizer");
    if sh::run(&mut sanitized).is_err() {
        failed.push(format!("{CRATE} under AddressSanitizer"));
    }
    if !has_miri() {
        eprintln!(
            "SKIPPED: {CRATE} under Miri: `cargo miri` is not installed (a component of nightly toolchains)"
        );
        return failed;
    }
    eprintln!("--- {CRATE} under Miri");
    if sh::run(&mut sh::cargo(["miri", "test", "-p", CRATE])).is_err() {
        failed.push(format!("{CRATE} under Miri"));
    }
    failed
}

fn has_miri() -> bool {
    let mut cargo: Command = sh::cargo(["miri", "--version"]);
    cargo.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
