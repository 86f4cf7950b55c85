//! Compiles Fortran programs in both forms, with the include file and with the module.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test program uses its part")]

#[path = "../../../lapi/tests/support/mod.rs"]
pub mod jobs;

pub use jobs::{Job, adapters, artifacts, checked, scratch, transports};

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BINDING: &str = env!("CARGO_MANIFEST_DIR");

/// How a program is written, and where its declarations come from.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The ending by which the compiler knows the form.
    pub ending: &'static str,
    /// What `declarations.inc` says.
    pub declarations: &'static str,
}

/// All there are.
pub fn styles() -> impl Iterator<Item = Style> {
    ["f", "f90"].into_iter().flat_map(|ending| {
        ["INCLUDE 'lapif.h'", "USE lapi"].map(|declarations| Style { ending, declarations })
    })
}

/// A file of this package's tests.
pub fn source(name: &str) -> PathBuf {
    Path::new(BINDING).join("tests").join(name)
}

/// The directory with the compiled modules.
pub fn module() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = scratch("module");
        std::fs::create_dir_all(&dir).expect("a directory for the modules");
        let mut fc = Command::new("gfortran");
        fc.args(["-std=f2018", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-J"]).arg(&dir);
        checked(fc.args(["lapi", "lapis"].map(|name| format!("{BINDING}/include/{name}.f90"))));
        dir
    })
}

/// Compiles and links a source that both forms can read.
pub fn compile(source: &Path, style: Style) -> PathBuf {
    let stem = source.file_stem().expect("sources have names").to_string_lossy();
    let dir = scratch(&format!("{stem}-{}", style.ending));
    std::fs::create_dir_all(&dir).expect("a directory for the program");
    std::fs::write(dir.join("declarations.inc"), format!("      {}\n", style.declarations))
        .expect("declarations can be written");
    let copy = dir.join(format!("program.{}", style.ending));
    std::fs::copy(source, &copy).expect("sources can be copied");
    let parent = source.parent().expect("sources lie in a directory");
    // The include file has no interfaces, so calls that differ in their arguments get warnings: the
    // others are asked for.
    link(
        &["-g", "-fimplicit-none", "-fcheck=bounds"],
        &[&copy],
        &[&dir, module(), parent],
        &dir.join("program"),
    )
}

/// Calls the wrapper compiler; what it prints is dropped unless it fails.
pub fn link(flags: &[&str], sources: &[&Path], includes: &[&Path], output: &Path) -> PathBuf {
    let mut fc = Command::new(artifacts().join("lapifc"));
    fc.args(flags).args(sources).arg("-o").arg(output);
    checked(fc.args(includes.iter().map(|dir| format!("-I{}", dir.display()))));
    output.to_owned()
}

/// Runs a program over every transport there is. What isn't there is said.
pub fn succeeds(tasks: u32, program: &Path) -> Vec<String> {
    if tasks == 1 {
        return vec![Job::of(1).run(program).success().stdout()];
    }
    let there = transports();
    for missing in ["shm", "udp", "hps"].into_iter().filter(|name| !there.contains(name)) {
        eprintln!("SKIPPED over {missing}: liblapis_{missing}.so is not built");
    }
    assert!(!there.is_empty(), "no transport");
    there
        .into_iter()
        .map(|name| Job::of(tasks).env("LAPIS_TRANSPORT", name).run(program).success().stdout())
        .collect()
}
