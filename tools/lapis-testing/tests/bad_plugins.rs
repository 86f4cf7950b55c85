//! The zoo of bad plugins in whole jobs: each ends the job at once, with the reason, and with the
//! program's own exit code. `core/tests/loader.rs` looks at every kind more closely.

use lapis_testing::{Finished, Job, example, folder};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const TASK: &str = env!("CARGO_BIN_EXE_lapis-job-task");

/// A directory of this test's own, removed at its end.
struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Dir {
    fn new(test: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("lapis-bad-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory for plugins");
        Self(dir)
    }

    fn compile(&self, name: &str, flag: &str) {
        let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../core");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(self.0.join(format!("liblapis_{name}.so")));
        cc.arg(format!("-DNAME={name}")).arg(flag).arg("-I").arg(core.join("include"));
        let done = cc.arg(core.join("tests/zoo/plugin.c")).output().expect("cc runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn job(&self, transport: &str) -> Job {
        let job = Job::new(2).option("--timeout=60").var("RUST_BACKTRACE", "0");
        let path = format!("{}:{}", self.0.display(), folder().join("deps").display());
        job.var("LAPIS_TRANSPORT", transport).var("LAPIS_TRANSPORT_PATH", &path)
    }
}

#[track_caller]
fn refused(done: Finished, parts: &[&str]) {
    let done = done.expect(3);
    for part in parts {
        assert!(done.out.contains(part), "\"{part}\" is not in {done:?}");
    }
    assert_eq!(done.err.lines().filter(|l| l.starts_with("lapirun: task ")).count(), 1, "{done:?}");
}

#[test]
fn a_plugin_with_any_defect_ends_the_job_with_the_reason() {
    let dir = Dir::new("defects");
    for (name, flag, reason) in [
        ("nosymbol", "-DBUG_NO_SYMBOL", "no symbol lapis_transport_nosymbol_v1"),
        ("magic", "-DBUG_MAGIC", "bad magic"),
        ("nextmajor", "-DMAJOR=2", "built for ABI major 2, this host speaks major 1; rebuild the plugin"),
        ("shorttable", "-DBUG_SHORT", "short table: 128 bytes"),
        ("extrabit", "-DBUG_EXTRA_BIT", "capability PUT_ZCOPY is set but entry put_zcopy is null"),
        ("noopen", "-DBUG_OPEN", "device /dev/zoo0 is missing: load the zoo module"),
    ] {
        dir.compile(name, flag);
        refused(dir.job(name).run(TASK, &["all-to-all"]), &[&format!("transport `{name}`"), reason]);
        // Among others that are good, and named with one: still no silent fallback.
        refused(dir.job(&format!("shm,{name}")).run(TASK, &["all-to-all"]), &[name, reason]);
    }
}

#[test]
fn a_plugin_that_is_not_there_is_named_with_the_places_searched() {
    let dir = Dir::new("missing");
    let place = dir.0.to_string_lossy().into_owned();
    refused(dir.job("nowhere").run(TASK, &["all-to-all"]), &["no liblapis_nowhere.so in", &place]);
    refused(dir.job("smh").run(TASK, &["all-to-all"]), &["did you mean \"shm\"?"]);
}

#[test]
fn a_plugin_that_panics_ends_the_job_with_the_reason() {
    let dir = Dir::new("panics");
    let plugin = example("lapis-core", "panics");
    std::fs::copy(plugin, dir.0.join("liblapis_panics.so")).expect("the plugin is copied");
    for place in ["open", "am_short", "poll"] {
        let done = dir.job("panics").var("ZOO_PANICS", place).run(TASK, &["all-to-all"]);
        assert!(done.err.contains(&format!("the zoo's panic in {place}")), "{done:?}");
        // A transport that breaks while it is polled takes its peers with it.
        refused(
            done,
            &[if place == "poll" { "is down: the transport to it failed (Panicked)" } else { "panicked" }],
        );
    }
}

#[test]
fn a_truncated_plugin_and_one_that_others_can_write_end_the_job_with_the_reason() {
    let dir = Dir::new("harm");
    dir.compile("cut", "-DGOOD");
    let file = dir.0.join("liblapis_cut.so");
    let len = std::fs::metadata(&file).expect("it was just built").len() / 2;
    std::fs::File::options().write(true).open(&file).unwrap().set_len(len).unwrap();
    refused(dir.job("cut").run(TASK, &["all-to-all"]), &[&format!("truncated: {len} bytes")]);
    dir.compile("open", "-DGOOD");
    std::fs::set_permissions(&dir.0, Permissions::from_mode(0o1777)).unwrap();
    refused(dir.job("open").run(TASK, &["all-to-all"]), &["not trusted", "has mode 1777", "chmod go-w"]);
}

#[test]
fn beside_the_program_nothing_of_others_is_loaded() {
    let dir = Dir::new("beside");
    let program = dir.0.join("lapis-info");
    std::fs::copy(lapis_testing::program("lapis-info", "lapis-info"), &program).expect("it was built");
    let beside = dir.0.join("transports");
    std::fs::create_dir(&beside).unwrap();
    std::fs::set_permissions(&beside, Permissions::from_mode(0o1777)).unwrap();
    std::fs::copy(example("lapis-core", "panics"), beside.join("liblapis_panics.so")).unwrap();
    let said = || {
        let done = lapis_testing::clean(&program).arg("--transports").output().expect("it starts");
        // Long lines are wrapped.
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (open, place) = (said(), beside.display().to_string());
    assert!(open.contains(&format!("panics refused: not trusted: {place} has mode 1777")), "{open}");
    std::fs::set_permissions(&beside, Permissions::from_mode(0o755)).unwrap();
    let closed = said();
    assert!(closed.contains("panics usable"), "{closed}");
}

#[test]
fn in_a_set_user_id_program_no_variable_counts() {
    let dir = folder().join(format!("lapis-setuid-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder beside the programs");
    let dir = Dir(dir);
    let (program, tool) = (dir.0.join("task"), dir.0.join("lapis-info"));
    std::fs::copy(TASK, &program).expect("the program is copied");
    std::fs::copy(lapis_testing::program("lapis-info", "lapis-info"), &tool).expect("it was built");
    let of = |program: &Path, argument: &str, name: &str, value: &str| {
        let mut command = lapis_testing::clean(program);
        let done = command.arg(argument).env(name, value).output().expect("the program starts");
        (done.status.code(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
    };
    let run = |name: &str, value: &str| of(&program, "all-to-all", name, value);
    let complains_of_log = || of(&tool, "--transports", "LAPIS_LOG", "=,=!").1.contains("LAPIS_LOG=`=,=!`");
    assert!(complains_of_log());
    let plain = [("LAPIS_TRANSPORT", "nowhere"), ("LAPIS_TASKS", "2")].map(|(n, v)| run(n, v).0);
    assert_eq!(plain, [Some(3); 2], "without other rights both count");
    const STRANGER: u32 = 12345;
    if std::os::unix::fs::chown(&program, Some(STRANGER), None).is_err() {
        eprintln!("SKIPPED: only root can give programs away");
        return;
    }
    std::os::unix::fs::chown(&tool, Some(STRANGER), None).expect("as before");
    for program in [&program, &tool] {
        std::fs::set_permissions(program, Permissions::from_mode(0o4755)).unwrap();
    }
    assert!(!complains_of_log());
    let (code, said) = run("LAPIS_TRANSPORT", "nowhere");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run("LAPIS_TASKS", "2");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("LAPIS_TASKS") && said.contains("set-user-id"), "{said}");
}
