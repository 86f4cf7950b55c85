//! An installed tree, moved away from where it was installed: programs are built against it in
//! every documented way, and run from another directory with no help from the environment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of this test's own, removed at its end.
struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A command that knows nothing of where Lapis is or was built, in a directory that is neither.
fn bare(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir("/");
    for name in ["PATH", "HOME", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

#[track_caller]
fn good(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    out.into_owned()
}

/// Installs what this test was built with, and moves the tree.
fn installed(dir: &Path) -> PathBuf {
    let (first, moved) = (dir.join("first"), dir.join("second place"));
    let mut install = Command::new(env!("CARGO_BIN_EXE_xtask"));
    install.args(["install", "--prefix"]).arg(&first);
    let exe = std::env::current_exe().expect("a test knows its own path");
    if !exe.ancestors().any(|d| d.ends_with("release")) {
        install.arg("--debug");
    }
    // The folder above <profile>/deps, wherever whoever runs the tests has it.
    install.env("CARGO_TARGET_DIR", exe.ancestors().nth(3).expect("tests lie in Cargo's output directory"));
    good(&mut install);
    std::fs::rename(&first, &moved).expect("the tree moves");
    std::fs::canonicalize(moved).expect("the tree is there")
}

struct Tree(PathBuf);

impl Tree {
    fn path(&self, what: &str) -> PathBuf {
        self.0.join(what)
    }

    fn runs(&self, launcher: &str, arguments: &[&str], program: &Path, lines: &[&str]) {
        let mut launch = bare(self.path("bin").join(launcher));
        launch.env("LAPIS_TRANSPORT", "shm").args(arguments);
        if launcher == "poe" {
            launch.arg(program).args(["-procs", "2"]);
        } else {
            launch.args(["-n", "2", "--timeout", "60"]).arg(program);
        }
        let out = good(&mut launch);
        let mut got: Vec<&str> = out.lines().map(str::trim_end).collect();
        got.sort_unstable();
        assert_eq!(got, lines, "{launch:?}");
    }

    /// The library that the loader gives the program is the installed one.
    fn owns_the_library_of(&self, program: &Path) {
        let list = good(bare("ldd").arg(program));
        let found = list
            .lines()
            .find_map(|l| l.trim().strip_prefix("liblapi_r.so.1 => ")?.rsplit_once(" (").map(|(p, _)| p));
        let found = found.and_then(|path| std::fs::canonicalize(path).ok());
        assert_eq!(found, Some(self.path("lib/liblapi_r.so.1")), "{list}");
    }
}

const HELLO: [&str; 2] = ["hello from task 0 of 2", "hello from task 1 of 2"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!("SKIPPED: {program} is not installed; `cargo xtask setup` installs it");
    }
    there
}

#[test]
fn programs_build_against_an_installed_tree_and_run_anywhere() {
    let dir = Dir(std::env::temp_dir().join(format!("lapis-install-{}", std::process::id())));
    std::fs::create_dir_all(&dir.0).expect("a directory to install into");
    let tree = Tree(installed(&dir.0));
    let hello = examples().join("c/hello.c");

    the_library_has_its_name_and_versions(&tree);
    programs_run_with_the_library_that_they_were_not_built_against(&tree, &dir.0, &hello);
    for file in [
        "include/lapi.h",
        "include/lapif.h",
        "lib/lapis/liblapis_shm.so",
        "share/man/man1/lapirun.1",
        "share/man/man1/lapicc.1",
        "share/man/man3/LAPI_Put.3",
        "share/lapis/examples/c/hello.c",
        "share/lapis/examples/fortran/README.md",
        "bin/lapis-perf",
    ] {
        assert!(tree.path(file).is_file(), "{file}");
    }

    for program in std::fs::read_dir(tree.path("bin")).expect("programs").flatten() {
        let page = format!("share/man/man1/{}.1", program.file_name().to_string_lossy());
        assert!(tree.path(&page).is_file(), "{page}");
    }

    let program = dir.0.join("by-lapicc");
    good(bare(tree.path("bin/lapicc")).arg(&hello).arg("-o").arg(&program));
    tree.owns_the_library_of(&program);
    tree.runs("lapirun", &[], &program, &HELLO);
    tree.runs("poe", &[], &program, &HELLO);
    let info = good(&mut bare(tree.path("bin/lapis-info")));
    assert!(info.contains(&*tree.path("lib/lapis/liblapis_shm.so").to_string_lossy()), "{info}");

    let flags = pkg_config(&tree, &["--cflags", "--libs"]);
    let program = dir.0.join("by-pkg-config");
    good(bare("sh").arg("-c").arg(format!(
        "exec cc '{}' -o '{}' {flags}",
        hello.display(),
        program.display()
    )));
    tree.owns_the_library_of(&program);
    tree.runs("lapirun", &[], &program, &HELLO);

    if has("cmake") {
        let program = by_cmake(&tree, &dir.0, &hello);
        tree.owns_the_library_of(&program);
        tree.runs("lapirun", &[], &program, &HELLO);
    }
    if has("gfortran") {
        let program = dir.0.join("by-lapifc");
        let sources = ["buddies.f90", "put.f90"].map(|s| examples().join("fortran/lapi_api").join(s));
        // Modules that the program brings are written where the compiler runs.
        let mut lapifc = bare(tree.path("bin/lapifc"));
        good(lapifc.current_dir(&dir.0).args(&sources).arg("-o").arg(&program));
        tree.owns_the_library_of(&program);
        tree.runs("lapirun", &[], &program, &["task 1 has 1 2 3 4 5 6 7 8"]);
        assert!(tree.path("include/lapis.f90").is_file() && tree.path("include/lapis.mod").is_file());
        let collective = dir.0.join("collective-by-lapifc");
        let source = examples().join("fortran/collectives/histogram.f90");
        good(bare(tree.path("bin/lapifc")).arg(source).arg("-o").arg(&collective));
        tree.owns_the_library_of(&collective);
    }
}

fn the_library_has_its_name_and_versions(tree: &Tree) {
    let library = tree.path("lib/liblapi_r.so");
    assert!(good(bare("readelf").arg("-d").arg(&library)).contains("soname: [liblapi_r.so.1]"));
    let symbols = good(bare("readelf").args(["-W", "--dyn-syms"]).arg(&library));
    let defined = symbols.lines().filter(|l| !l.contains(" UND ") && l.contains(" GLOBAL "));
    let (versioned, bare): (Vec<&str>, Vec<&str>) = defined.partition(|l| l.ends_with("@@liblapi_r.so.1"));
    assert!(versioned.iter().any(|l| l.contains(" LAPI_Put@")), "{symbols}");
    // The version's own name is a symbol as well.
    assert!(bare.iter().all(|l| l.ends_with(" liblapi_r.so.1")), "{bare:?}");
}

/// The library that Cargo links and the installed one give their symbols the same versions.
fn programs_run_with_the_library_that_they_were_not_built_against(tree: &Tree, dir: &Path, hello: &Path) {
    let exe = std::env::current_exe().expect("a test knows its own path");
    let cargos = exe.ancestors().nth(2).expect("tests lie in Cargo's output directory").to_owned();
    let installed = tree.path("lib");
    for (at_link, at_start) in [(&cargos, &installed), (&installed, &cargos)] {
        let program = dir.join("linked-elsewhere");
        let mut cc = bare("cc");
        cc.arg(hello).arg("-o").arg(&program).arg("-I").arg(tree.path("include"));
        good(cc.arg("-L").arg(at_link).arg("-llapi_r"));
        let mut start = bare(&program);
        let output = start.env("LD_LIBRARY_PATH", at_start).output().expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !errors.contains("version"), "{at_start:?}: {errors}");
    }
}

fn pkg_config(tree: &Tree, what: &[&str]) -> String {
    let mut command = bare("pkg-config");
    command.env("PKG_CONFIG_PATH", tree.path("lib/pkgconfig"));
    good(command.args(what).arg("lapi")).trim().to_owned()
}

fn by_cmake(tree: &Tree, dir: &Path, hello: &Path) -> PathBuf {
    let (source, build) = (dir.join("cmake"), dir.join("cmake-build"));
    std::fs::create_dir_all(&source).expect("a directory for a project");
    let project = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(hello C)\nfind_package(lapi 0.1 REQUIRED)\n\
         add_executable(hello \"{}\")\ntarget_link_libraries(hello lapi::lapi)\n",
        hello.display()
    );
    std::fs::write(source.join("CMakeLists.txt"), project).expect("the project is written");
    let mut configure = bare("cmake");
    configure.arg("-S").arg(&source).arg("-B").arg(&build);
    good(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", tree.0.display())));
    good(bare("cmake").arg("--build").arg(&build));
    build.join("hello")
}
