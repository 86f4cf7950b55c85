//! `module lapis`: programs as jobs, and whether it has what `lapis.h` has.

#[path = "../../lapi/tests/support/pulled.rs"]
mod pulled;
mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use support::{Job, artifacts, checked, link, module, scratch, source, succeeds};

const PROGRAMS: [&str; 5] = ["checks", "collectives", "teams", "layouts", "refusals"];

/// Compiles a program of `programs/own`.
fn compile(name: &str) -> PathBuf {
    let dir = scratch(&format!("own-{name}"));
    std::fs::create_dir_all(&dir).expect("a directory for the program");
    let modules = format!("-J{}", dir.display());
    let flags = [
        "-std=f2018",
        "-fimplicit-none",
        "-Wall",
        "-Werror",
        "-g",
        "-fcheck=bounds,do,mem,pointer",
        &modules,
    ];
    let sources = ["checks", name].map(|name| source(&format!("programs/own/{name}.f90")));
    let sources = sources.each_ref().map(PathBuf::as_path);
    link(&flags, &sources, &[module()], &dir.join("program"))
}

/// Compiles a program and runs it in jobs of some sizes; every task says that it came to the end.
fn works(name: &str, says: &str) {
    let program = compile(name);
    for tasks in [2, 3, 4] {
        for output in succeeds(tasks, &program) {
            assert_eq!(output.matches(says).count(), tasks as usize, "{output}");
        }
    }
}

#[test]
fn every_collective_works_in_three_forms() {
    works("collectives", "every collective works");
}

#[test]
fn teams_requests_operators_and_memory_work() {
    works("teams", "every team works");
}

#[test]
fn data_in_layouts_is_moved() {
    works("layouts", "every layout works");
}

#[test]
fn calls_that_mean_nothing_are_refused() {
    works("refusals", "every refusal works");
}

#[test]
fn every_program_works_while_adapters_are_pulled() {
    for (name, says) in [
        ("collectives", "every collective works"),
        ("teams", "every team works"),
        ("layouts", "every layout works"),
        ("refusals", "every refusal works"),
    ] {
        for output in pulled::succeeds(&Job::of(3), &compile(name)) {
            assert_eq!(output.matches(says).count(), 3, "{name}: {output}");
        }
    }
}

fn text(path: &str) -> String {
    let path = source(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What stands between `before` and the first character that is in no name, everywhere.
fn names_after(text: &str, before: &str) -> BTreeSet<String> {
    let rest = text.split(before).skip(1);
    let name = |rest: &str| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest[..end].to_lowercase()
    };
    rest.map(name).filter(|name| name.starts_with("lapis_")).collect()
}

#[test]
fn the_module_has_every_call_of_the_header_and_no_other() {
    let in_c = names_after(&text("../../lapi/include/lapis.h"), "\nint ");
    assert!(in_c.len() > 80, "{in_c:?}");
    let module = text("../include/lapis.f90");
    // What the abstract interfaces declare are functions of the program's.
    let declared = names_after(&module, "\n    subroutine ");
    let procedures = ["lapis_fold_t", "lapis_done_t"].map(str::to_owned);
    let expected: BTreeSet<String> = in_c.iter().cloned().chain(procedures).collect();
    assert_eq!(declared, expected);
    let mut nm = Command::new("nm");
    let symbols = checked(nm.args(["-D", "--defined-only"]).arg(artifacts().join("liblapi_r.so")));
    let exported: BTreeSet<&str> = symbols
        .lines()
        .filter_map(|line| line.split(' ').nth(2)?.split('@').next())
        .filter(|name| name.starts_with("lapis_") && name.ends_with('_'))
        .collect();
    let bound: BTreeSet<String> = names_after(&module, "name=\"");
    assert!(bound.iter().map(String::as_str).eq(exported), "{bound:?}");
    assert_eq!(bound.len(), in_c.len() + 2, "LAPIS_BYTES and LAPIS_IN_PLACE besides");
}

#[test]
fn every_call_is_tried() {
    let programs: String = PROGRAMS.map(|name| text(&format!("programs/own/{name}.f90"))).concat();
    let called = names_after(&programs, "call ");
    let in_c = names_after(&text("../../lapi/include/lapis.h"), "\nint ");
    let missing: Vec<_> = in_c.difference(&called).collect();
    assert!(missing.is_empty(), "no program calls {missing:?}");
}
