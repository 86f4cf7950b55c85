//! NetPIPE 3.7.2's module for GM, unchanged, between two nodes of this host. Its source is
//! Debian's, from the mirror that apt is configured for.

mod common;

use common::{BINDING, Daemon, library};
use lapis_testing::{Running, clean};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a Debian mirror has the source, and what apt calls its sum.
const POOL: &str = "pool/main/n/netpipe/netpipe_3.7.2.orig.tar.gz";
const SUM: &str = "SHA256:13dac884ff52951636f651c421f5ff4a853218a95aa28a4a852402ee385a2ab8";
/// What downloads a file as apt does: with apt's proxies, and checked.
const HELPER: &str = "/usr/lib/apt/apt-helper";

/// What a command writes, or its last words.
fn done(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().rfind(|line| !line.is_empty()).unwrap_or("no reason given");
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{name}: {why}"))
    }
}

/// The Debian mirror that packages of this system come from.
fn mirror() -> Result<String, String> {
    let listed = done(clean("apt-get").args(["indextargets", "--format", "$(REPO_URI)"]))?;
    let is_debian = |uri: &&str| uri.trim_end_matches('/').ends_with("/debian");
    let mirror = listed.lines().find(is_debian).ok_or("apt has no mirror of Debian")?;
    Ok(mirror.trim_end_matches('/').to_owned())
}

/// The folder with NetPIPE's source.
fn source() -> Result<PathBuf, String> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("netpipe");
    let (sources, archive) = (place.join("NetPIPE-3.7.2/src"), place.join("netpipe.tar.gz"));
    std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    if !archive.is_file() {
        let uri = format!("{}/{POOL}", mirror()?);
        let fresh = place.join(format!("fresh-{}", std::process::id()));
        let mut helper = clean("timeout");
        helper.args(["120", HELPER, "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20"]);
        done(helper.arg("download-file").arg(&uri).arg(&fresh).arg(SUM))
            .map_err(|why| format!("{uri}: {why}"))?;
        std::fs::rename(&fresh, &archive).map_err(|e| e.to_string())?;
    }
    // Unpacked again each time: unchanged is what the sum says of the archive.
    done(clean("tar").arg("xzf").arg(&archive).current_dir(&place))?;
    Ok(sources)
}

/// NetPIPE for GM, in a folder of its own.
fn compile(sources: &Path) -> PathBuf {
    let program = sources.join("NPgm");
    let mut cc = clean("cc");
    // A variable of it has the name of a call that is newer than its time, and a header defines
    // what each of its files has: C and its linker as they were then.
    cc.args(["-O2", "-w", "-std=c99", "-D_POSIX_C_SOURCE=199506L", "-fcommon", "-DGM"]);
    cc.args(["netpipe.c", "gm.c"].map(|file| sources.join(file))).arg("-o").arg(&program);
    cc.arg(format!("-I{BINDING}/include")).arg("-L").arg(library()).arg("-lgm");
    done(cc.arg(format!("-Wl,-rpath,{}", library().display()))).expect("it compiles unchanged");
    program
}

#[test]
fn netpipe_runs_unchanged_between_two_nodes() {
    let sources = match source() {
        Ok(sources) => sources,
        Err(why) => return eprintln!("SKIP netpipe: its source can't be had: {why}"),
    };
    let program = compile(&sources);
    let daemon = Daemon::start("netpipe");
    // -i has each message's bytes checked; the second time NetPIPE measures.
    for (mode, passed) in [(&["-i", "-n", "5"][..], "Integrity check passed"), (&["-n", "20"], " Mbps in ")] {
        let start = |node: &str, more: &[&str]| {
            let mut command = daemon.command(node, &program, mode);
            command.args(["-l", "1", "-u", "300000"]).args(more).current_dir(&sources);
            Running::start(command)
        };
        let right = start("right", &[]);
        let left = start("left", &["-h", "right"]);
        let (left, right) = (left.wait(), right.wait());
        let said = format!("{}{}{}{}", left.out, left.err, right.out, right.err);
        assert!(said.matches(passed).count() > 25 && !said.contains("failed"), "{said}");
        assert_eq!((left.code, right.code), (Some(0), Some(0)), "{said}");
    }
}
