//! Lapis's client of PMIx against a server of the same version, which `pmix/server.c` is when it is
//! compiled against that version: no launcher of it is needed.
//!
//! The version that the machine has; and those of `LAPIS_TEST_PMIX`, folders with `include` and
//! `lib`, separated by colons, where PMIx was installed besides.

mod launching;

use lapis_testing::{checked, clean, run, scratch};
use launching::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a version of PMIx is.
struct Version {
    headers: PathBuf,
    library: Option<PathBuf>,
}

/// All that are there; says so where there is none.
fn versions() -> Vec<Version> {
    let named = std::env::var_os("LAPIS_TEST_PMIX").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty());
    let mut all: Vec<Version> = named
        .map(|folder| Version { headers: folder.join("include"), library: Some(folder.join("lib")) })
        .collect();
    all.extend(of_the_machine());
    if all.is_empty() {
        eprintln!("SKIP: PMIx's headers are not installed (cargo xtask setup)");
    }
    all
}

fn of_the_machine() -> Option<Version> {
    let told = Command::new("cc").arg("-dumpmachine").output().ok()?;
    let machine = String::from_utf8_lossy(&told.stdout).trim().replace("-pc-", "-");
    let debian = Path::new("/usr/lib").join(machine).join("pmix2/include");
    let headers = [debian, "/usr/include".into()].into_iter().find(|f| f.join("pmix_server.h").is_file())?;
    Some(Version { headers, library: None })
}

impl Version {
    /// The server of this version.
    fn server(&self) -> PathBuf {
        let program = scratch("pmix-server");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&self.headers);
        cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pmix/server.c")).arg("-o").arg(&program);
        checked(cc.args(self.library.iter().map(|at| format!("-L{}", at.display()))).arg("-lpmix"));
        program
    }

    /// A job of it: the tasks find the library that the server has.
    fn job(&self, server: &Path, tasks: u32, program: &str, words: &[&str]) -> Command {
        let mut command = clean(server);
        command.arg(tasks.to_string()).arg(program).args(words);
        common(&mut command, "shm,udp");
        if let Some(library) = &self.library {
            command.env("LD_LIBRARY_PATH", library);
        }
        command
    }
}

#[test]
fn tasks_meet_end_and_abort_by_each_version_of_pmix_that_is_there() {
    for version in versions() {
        let server = version.server();
        let done = run(version.job(&server, 4, TASK, &["all-to-all"])).expect(0);
        eprintln!("{}", done.err.trim());
        assert_eq!(done.lines_with("all-to-all: 96 messages").len(), 4, "{done:?}");
        let small = small_task();
        let done = run(version.job(&server, 16, &small, &["exchange", "3"])).expect(0);
        assert_eq!(done.lines_with("done ").len(), 16, "{done:?}");
        run(version.job(&server, 3, &small, &["leave-with", "1", "5"])).expect(5);
        let done = run(version.job(&server, 3, &small, &["abort", "2", "7"]));
        assert!(done.code != Some(0) && done.err.contains("aborts with 7: the cards are bad"), "{done:?}");
        std::fs::remove_file(&server).unwrap();
    }
}
