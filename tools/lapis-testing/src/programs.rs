//! C programs in the tests of an interface: compiled against its header and its library as it is
//! now.

use crate::{built, folder};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// An interface of the workspace for C programs: a header and a shared library.
#[derive(Debug)]
pub struct Interface {
    home: &'static str,
    library: &'static str,
}

impl Interface {
    /// The interface of the package in the folder `home` (its `CARGO_MANIFEST_DIR`), whose library
    /// the linker knows as `library`.
    pub const fn new(home: &'static str, library: &'static str) -> Self {
        Self { home, library }
    }

    /// A program of the package's tests.
    pub fn source(&self, name: &str) -> PathBuf {
        Path::new(self.home).join("tests/programs").join(name).with_extension("c")
    }

    /// Compiles and links a program; `extra` comes last.
    ///
    /// # Panics
    /// The library does not build, or the compiler has something to say.
    pub fn compile(&self, source: &Path, extra: &[&str]) -> PathBuf {
        let dir = built();
        let output = scratch(&source.file_stem().unwrap_or(OsStr::new("program")).to_string_lossy());
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]).arg(source);
        cc.arg("-o").arg(&output).arg(format!("-I{}/include", self.home)).arg("-L").arg(dir);
        cc.arg(format!("-l{}", self.library)).args(["-lm", "-pthread"]).args(extra);
        checked(cc.arg(format!("-Wl,-rpath,{}", dir.display())));
        output
    }
}

/// A file name that no other test uses.
pub fn scratch(stem: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let all = folder().parent().unwrap_or(folder()).join("tmp");
    all.join(format!("{stem}-{}-{number}", std::process::id()))
}

/// What a command prints that must succeed.
///
/// # Panics
/// It does not.
#[track_caller]
pub fn checked(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap_or_else(|e| panic!("{command:?}: {e}"))
}
