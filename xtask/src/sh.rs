//! Running other programs: every command line is printed before it runs, every failure names it.

use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Prints the command line, runs it, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = show(command);
    eprintln!("+ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs a command, passing its two outputs through and also returning them, together with its
/// status.
///
/// Standard error goes to our standard error line by line, so that a long test run stays visible.
pub(crate) fn tee(command: &mut Command) -> Result<(ExitStatus, String)> {
    let line = show(command);
    eprintln!("+ {line}");
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{line}`"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let echo_out = std::thread::spawn(move || out.map_or_else(String::new, |o| echo(o, std::io::stdout())));
    let echo_err = std::thread::spawn(move || err.map_or_else(String::new, |e| echo(e, std::io::stderr())));
    let status = child.wait().with_context(|| format!("cannot wait for `{line}`"))?;
    let mut text = echo_out.join().unwrap_or_default();
    text.push_str(&echo_err.join().unwrap_or_default());
    Ok((status, text))
}

/// Runs a command quietly; its standard output if it could be started and succeeded.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let out = command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The full path of a program found through `PATH`.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|p| is_executable(p))
}

/// `cargo`, the one that runs us, in the repository's root.
pub(crate) fn cargo(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::workspace::root()).args(arguments);
    command
}

/// A program of this tree, which finds the libraries of the build that it belongs to.
///
/// `cargo run`, by which we were started, has put the folder of our own build in front of
/// `LD_LIBRARY_PATH`, and that comes before the run path of a program: a release or sanitized one
/// would be given the debug build's `liblapi_r.so`.
pub(crate) fn ours(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", outside(&path, &crate::workspace::target_dir()));
    }
    command
}

/// A search path without the folders below `dir`.
fn outside(path: &OsStr, dir: &Path) -> OsString {
    let kept = std::env::split_paths(path).filter(|p| !p.starts_with(dir));
    std::env::join_paths(kept).unwrap_or_default()
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn echo(source: impl std::io::Read, mut sink: impl Write) -> String {
    let mut text = String::new();
    for line in BufReader::new(source).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // A closed terminal must not stop the run that feeds it.
        let _ = writeln!(sink, "{line}");
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn show(command: &Command) -> String {
    let mut line = String::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            line.push_str(&format!("{}={} ", name.to_string_lossy(), quoted(&value.to_string_lossy())));
        }
    }
    let program = Path::new(command.get_program());
    line.push_str(&program.file_name().unwrap_or(program.as_os_str()).to_string_lossy());
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&quoted(&argument.to_string_lossy()));
    }
    line
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '(', ')', '*', '$']) { format!("'{word}'") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_target_folder_are_not_searched() {
        let path = "/tree/target/debug/deps:/opt/mpi/lib:/tree/target/debug:/toolchain/lib";
        assert_eq!(outside(path.as_ref(), Path::new("/tree/target")), "/opt/mpi/lib:/toolchain/lib");
        assert_eq!(outside("/tree/target/debug".as_ref(), Path::new("/tree/target")), "");
    }
}
