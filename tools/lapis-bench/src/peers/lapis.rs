//! Lapis as a party: its own speed tool, and C programs through each of its interfaces.

use super::{Absent, How, Party, compile};
use crate::exec::Line;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Lapis itself: launcher and speed tool beside this program.
pub(crate) fn lapis(transport: &str) -> Result<Party, Absent> {
    lapis_in(&beside(), "lapis", transport)
}

/// The folder of this program.
fn beside() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    exe.parent().unwrap_or(Path::new(".")).to_owned()
}

/// Lapis as it was built in a folder: launcher, speed tool and plugins.
pub(crate) fn lapis_in(folder: &Path, name: &str, transport: &str) -> Result<Party, Absent> {
    let (launcher, tool) = (folder.join("lapirun"), folder.join("lapis-perf"));
    for program in [&launcher, &tool] {
        if !program.is_file() {
            let why = format!("{} is not there", program.display());
            return Err(Absent { name: name.into(), why });
        }
    }
    let words: [OsString; 6] =
        [launcher.into(), "-n".into(), "2".into(), "--bind".into(), "core".into(), tool.into()];
    let line = over(Line::new(words), transport).var("LAPIS_TRANSPORT_PATH", folder);
    Ok(Party { name: name.into(), transport: transport.into(), how: How::Lapis(line) })
}

/// The provider of libfabric that is measured beside Lapis over the same one.
pub(super) fn provider() -> String {
    std::env::var("LAPIS_RDMA_PROVIDER").unwrap_or_else(|_| "tcp;ofi_rxm".to_owned())
}

/// Lapis uses a transport.
fn over(line: Line, transport: &str) -> Line {
    let line = line.var("LAPIS_TRANSPORT", transport);
    match transport {
        "rdma" => {
            let provider = provider();
            // Memory that is shared has no addresses.
            let line = if provider == "shm" { line } else { line.var("LAPIS_RDMA_ADDR", "127.0.0.1") };
            line.var("LAPIS_RDMA_PROVIDER", provider)
        }
        _ => line,
    }
}

/// Lapis over shared memory in jobs of so many tasks.
pub(crate) fn lapis_of(tasks: usize) -> Result<Party, Absent> {
    let mut party = lapis("shm")?;
    if let How::Lapis(line) = &mut party.how {
        set_tasks(line, tasks);
    }
    Ok(party)
}

/// Lapis over shared memory, beside which another transport of one host is seen.
pub(crate) fn lapis_as_reference() -> Result<Party, Absent> {
    lapis_in(&beside(), "lapis-shm", "shm")
}

/// Gives a launcher's line, which is for two tasks, another number of them.
pub(crate) fn set_tasks(line: &mut Line, tasks: usize) {
    line.words[2] = tasks.to_string().into();
    if tasks > 2 {
        // Without `--bind core`: tasks that outnumber cores are the kernel's business.
        line.words.drain(3..5);
    }
}

/// Lapis through its C interface, compiled against this tree's header and the library beside this
/// program.
pub(crate) fn lapis_from_c(transport: &str) -> Result<Party, Absent> {
    lapis_from_c_in(&beside(), "lapis-c", transport)
}

/// The same with the library in a folder.
pub(crate) fn lapis_from_c_in(libraries: &Path, name: &str, transport: &str) -> Result<Party, Absent> {
    of_interface(libraries, name, transport, ["lapi", "lapi_r", "lapi"])
}

/// The program of crowds in a job of so many tasks.
pub(super) fn crowd_of(tasks: usize) -> Result<Party, Absent> {
    let mut party = of_interface(&beside(), "lapis", "shm", ["crowd", "lapi_r", "lapi"])?;
    if let How::Program(line) = &mut party.how {
        set_tasks(line, tasks);
    }
    Ok(party)
}

/// Lapis through QNIX, in a job of so many tasks.
pub(crate) fn lapis_from_qnix(transport: &str, tasks: usize) -> Result<Party, Absent> {
    let name = if tasks == 2 { "lapis-qnix".to_owned() } else { format!("lapis-qnix-{tasks}") };
    let mut party = of_interface(&beside(), &name, transport, ["qnix", "qnix", "qnix"])?;
    if let How::Program(line) = &mut party.how {
        set_tasks(line, tasks);
        // As all parties do it polls; the interface has no call for that.
        *line = std::mem::take(line).var("LAPIS_INTERRUPT", "no");
    }
    Ok(party)
}

/// Lapis through ACP.
pub(crate) fn lapis_from_acp(transport: &str) -> Result<Party, Absent> {
    of_interface(&beside(), "lapis-acp", transport, ["acp", "acp", "acp"])
}

/// Lapis through GM, over windows of soft adapters. The launcher is the programs' services daemon,
/// no more: the ports find each other.
pub(crate) fn lapis_from_gm() -> Result<Party, Absent> {
    of_interface(&beside(), "lapis-gm", "hps", ["gm", "gm", "gm"])
}

/// A C program, compiled against the header of an interface and the library in a folder.
fn of_interface(
    libraries: &Path,
    name: &str,
    transport: &str,
    [program, library, binding]: [&str; 3],
) -> Result<Party, Absent> {
    let absent = |why: String| Absent { name: name.into(), why };
    if !libraries.join(format!("lib{library}.so")).is_file() {
        return Err(absent(format!("no lib{library}.so in {}", libraries.display())));
    }
    let bindings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings");
    let flags = [
        format!("-I{bindings}/{binding}/include"),
        format!("-L{}", libraries.display()),
        format!("-l{library}"),
        format!("-Wl,-rpath,{}", libraries.display()),
    ];
    let source = format!("{program}.c");
    let program = compile::program(&source, program, &["gcc".into()], &flags.map(OsString::from))
        .map_err(|error| absent(format!("{error:#}")))?;
    let launcher = libraries.join("lapirun");
    let words: [OsString; 6] =
        [launcher.into(), "-n".into(), "2".into(), "--bind".into(), "core".into(), program.into()];
    let line = over(Line::new(words), transport).var("LAPIS_TRANSPORT_PATH", libraries);
    // Another build's is the same program.
    let line = line.var("LD_LIBRARY_PATH", libraries);
    Ok(Party { name: name.into(), transport: transport.into(), how: How::Program(line) })
}

/// What Lapis' calls through C cost above the same calls of Rust.
pub(crate) fn c_calls() -> Result<Party, Absent> {
    let (name, exe) = ("lapis", std::env::current_exe().unwrap_or_default());
    let program = exe.parent().unwrap_or(Path::new(".")).join("examples/overhead");
    if !program.is_file() {
        let why = format!("{} is not there (cargo xtask bench builds it)", program.display());
        return Err(Absent { name: "C above Rust".into(), why });
    }
    Ok(Party { name: name.into(), transport: "C above Rust,".into(), how: How::Calls(Line::new([program])) })
}
