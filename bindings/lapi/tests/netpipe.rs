//! NetPIPE 3.7.2's LAPI module, unmodified, from Debian's source package.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Job, checked, compile_as, transports};

const ARCHIVE: &str = "netpipe_3.7.2.orig.tar.gz";

/// Fetches the source through apt, with lists of its own so that the machine's stay as they are.
/// `None`, said aloud, where that is not possible.
fn source() -> Option<PathBuf> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("netpipe");
    let tree = home.join("NetPIPE-3.7.2/src");
    if tree.join("lapi.c").is_file() {
        return Some(tree);
    }
    for dir in ["lists/partial", "cache/archives/partial"] {
        std::fs::create_dir_all(home.join(dir)).expect("the target directory can be written");
    }
    let list = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n";
    std::fs::write(home.join("sources.list"), list).expect("the target directory can be written");
    let apt = |words: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.current_dir(&home).args(["-o", "Dir::Etc::sourceparts=-", "-o", "APT::Sandbox::User=root"]);
        for (option, place) in [
            ("Dir::Etc::sourcelist", "sources.list"),
            ("Dir::State::lists", "lists"),
            ("Dir::Cache", "cache"),
        ] {
            apt.arg("-o").arg(format!("{option}={}", home.join(place).display()));
        }
        apt.args(["-o", "Acquire::http::Timeout=20", "-o", "Acquire::Retries=1"]).args(words);
        let output = apt.output().map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(text) }
    };
    let fetched =
        apt(&["update"]).and_then(|()| apt(&["source", "--download-only", "--tar-only", "netpipe=3.7.2-8"]));
    if let (Err(why), false) = (&fetched, home.join(ARCHIVE).is_file()) {
        eprintln!("SKIPPED: NetPIPE's source is not to be had here: {}", why.trim());
        return None;
    }
    checked(Command::new("tar").current_dir(&home).args(["-xzf", ARCHIVE]));
    Some(tree)
}

#[test]
fn netpipe_compiles_unmodified_and_its_data_arrive_whole() {
    let Some(tree) = source() else { return };
    let program = compile_as(&["-O1", "-w", "-DLAPI"], &[tree.join("netpipe.c"), tree.join("lapi.c")], &[]);
    let out = support::scratch("np.out");
    for transport in transports() {
        let job = Job::of(2).env("LAPIS_TRANSPORT", transport).arg("-o").arg(out.to_str().expect("UTF-8"));
        let times = job.clone().arg("-n").arg("20").arg("-u").arg("70000").run(&program).success();
        assert!(times.stderr().contains("65539 bytes"), "{}", times.stderr());
        let whole = job.arg("-i").arg("-u").arg("9000").run(&program).success();
        assert!(whole.stderr().matches("Integrity check passed").count() > 10, "{}", whole.stderr());
        assert!(!whole.stderr().contains("failed"), "{}", whole.stderr());
    }
}
