//! Data gather/scatter programs from C: each program of `tests/dgsp` as a job of its own, over each transport there is.

mod support;

use std::path::PathBuf;
use support::{Job, compile, source};

fn program(name: &str) -> PathBuf {
    compile(&[source(&format!("dgsp/{name}.c"))], &[])
}

#[test]
fn registration_and_packing() {
    let program = program("util");
    Job::of(1).succeeds(&program);
    Job::of(2).succeeds(&program);
}

#[test]
fn transfers_with_either_side_in_any_layout() {
    let program = program("transfer");
    Job::of(1).succeeds(&program);
    Job::of(2).succeeds(&program);
}
