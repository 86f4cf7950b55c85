//! The Fortran samples: each compiles without warnings and prints what its leading comment says.

mod support;

use std::path::{Path, PathBuf};
use support::{link, module, scratch, source, succeeds};

fn settings(text: &str, key: &str) -> Vec<String> {
    let comment = text.lines().take_while(|line| line.starts_with(['!', 'C']));
    comment.filter_map(|line| Some(line.split_once(key)?.1.trim().to_owned())).collect()
}

fn run(program: &Path, with: &[PathBuf]) {
    let text = std::fs::read_to_string(program).expect("samples can be read");
    let tasks = settings(&text, "tasks:")[0].parse().expect("a number of tasks");
    let mut expected = settings(&text, "output:");
    expected.sort();
    assert!(!expected.is_empty(), "{} has no expected output", program.display());
    let dir = scratch("sample");
    std::fs::create_dir_all(&dir).expect("a directory");
    let modules = format!("-J{}", dir.display());
    let sources: Vec<&Path> = with.iter().map(PathBuf::as_path).chain([program]).collect();
    // Modules warn when they are compiled with checks of interfaces that they can't have: not
    // these.
    let flags =
        if program.extension().is_some_and(|e| e == "f") { ["-w", "-O1"] } else { ["-Wall", "-Werror"] };
    let binary =
        link(&[flags[0], flags[1], "-g", modules.as_str()], &sources, &[module()], &dir.join("program"));
    for output in succeeds(tasks, &binary) {
        // The launcher says whose line it is.
        let mut lines: Vec<_> =
            output.lines().map(|line| line.split_once("] ").map_or(line, |(_, rest)| rest).trim()).collect();
        lines.sort_unstable();
        assert_eq!(lines, expected, "{}", program.display());
    }
}

fn samples(folder: &str) -> Vec<PathBuf> {
    let dir = source("../../../examples/fortran").join(folder);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut all: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    all.retain(|path| {
        path.extension().is_some_and(|e| e == "f" || e == "f90") && !path.ends_with("buddies.f90")
    });
    all.sort();
    all
}

#[test]
fn one_sample_for_each_call() {
    let buddies = source("../../../examples/fortran/lapi_api/buddies.f90");
    let all = samples("lapi_api");
    assert_eq!(all.len(), 8);
    for program in all {
        run(&program, std::slice::from_ref(&buddies));
    }
}

#[test]
fn basic_samples() {
    let all = samples("basic");
    assert!(!all.is_empty());
    for program in all {
        run(&program, &[]);
    }
}

#[test]
fn samples_of_collectives() {
    let all = samples("collectives");
    assert!(!all.is_empty());
    for program in all {
        run(&program, &[]);
    }
}

#[test]
fn dgsp_samples() {
    let all = samples("dgsp");
    assert!(!all.is_empty());
    for program in all {
        run(&program, &[]);
    }
}
