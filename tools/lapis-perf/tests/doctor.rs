//! What the doctor says of machines that lack something, and of one where all works.

use lapis_testing::{Finished, clean, folder, run, scratch};
use serde_json::Value;
use std::path::Path;

/// The doctor with these variables, and with the plugins of a folder.
fn doctor(plugins: &Path, args: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-perf"));
    command.arg("doctor").args(args).env("LAPIS_TRANSPORT_PATH", plugins);
    command.envs(variables.iter().copied());
    run(command)
}

/// All plugins of the workspace.
fn all() -> std::path::PathBuf {
    folder().join("deps")
}

/// A folder with the plugin of one transport.
fn only(name: &str) -> std::path::PathBuf {
    let place = scratch("doctor");
    let file = format!("liblapis_{name}.so");
    std::fs::create_dir_all(&place).expect("a folder of this test's");
    std::os::unix::fs::symlink(all().join(&file), place.join(&file)).expect("a link in it");
    place
}

/// The line of a check.
#[track_caller]
fn line<'a>(done: &'a Finished, check: &str) -> &'a str {
    let found = done.out.lines().find_map(|line| line.trim_start().strip_prefix(check));
    found.unwrap_or_else(|| panic!("{check}: {done:?}")).trim_start()
}

#[test]
fn where_a_provider_works_each_check_is_a_line_that_says_ok() {
    let tcp = [("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm"), ("LAPIS_RDMA_ADDR", "127.0.0.1")];
    let done = doctor(&all(), &["--transport", "rdma"], &tcp).expect(0);
    assert!(line(&done, "open").starts_with("ok tcp;ofi_rxm on lo (libfabric "), "{done:?}");
    for check in ["start", "messages", "answers", "puts", "short puts", "gets", "atomics", "registration"] {
        assert!(line(&done, check).starts_with("ok "), "{check}: {done:?}");
    }
    for check in ["rails", "sleeping", "end"] {
        assert!(line(&done, check).starts_with("ok "), "{check}: {done:?}");
    }
    assert!(done.out.ends_with("0 failed, 0 with a warning\n"), "{done:?}");
    // Whoever names a transport hears of no other.
    assert!(!done.out.contains("\nudp"), "{done:?}");
}

#[test]
fn the_json_is_one_document_with_every_check() {
    let done = doctor(&all(), &["--json", "--transport", "shm"], &[]).expect(0);
    let report: Value = serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    assert_eq!(report["failures"], 0);
    let subjects: Vec<_> = report["sections"].as_array().unwrap().iter().map(|s| &s["subject"]).collect();
    assert_eq!(subjects, ["machine", "shm"]);
    let checks = report["sections"][1]["checks"].as_array().unwrap();
    let atomics = checks.iter().find(|check| check["check"] == "atomics").expect("it is there");
    assert_eq!(atomics["status"], "ok");
}

#[test]
fn a_provider_that_is_not_there_fails_with_what_to_do() {
    let wrong = [("LAPIS_RDMA_PROVIDER", "no-such-provider")];
    let done = doctor(&all(), &["--transport", "rdma"], &wrong).expect(1);
    let open = line(&done, "open");
    assert!(
        open.starts_with("failed: ") && open.contains("LAPIS_RDMA_PROVIDER=no-such-provider"),
        "{done:?}"
    );
    assert!(open.contains("fi_info"), "{done:?}");
    assert!(!done.out.contains("messages"), "no job is started over it: {done:?}");
    // Whoever sets a transport's variable asks for it.
    let place = only("rdma");
    let done = doctor(&place, &[], &wrong).expect(1);
    assert!(line(&done, "open").starts_with("failed: "), "{done:?}");
    let _ = std::fs::remove_dir_all(place);
}

#[test]
fn a_machine_without_an_adapter_is_warned_of_and_fails_only_who_wants_one() {
    if std::fs::read_dir("/sys/class/infiniband").is_ok_and(|devices| devices.count() > 0) {
        eprintln!("SKIP a_machine_without_an_adapter: this one has devices");
        return;
    }
    let place = only("rdma");
    let done = doctor(&place, &[], &[]).expect(0);
    let open = line(&done, "open");
    assert!(
        open.starts_with("warning: ") && open.contains("LAPIS_RDMA_PROVIDER names a provider"),
        "{done:?}"
    );
    let done = doctor(&place, &["--transport", "rdma"], &[]).expect(1);
    assert!(line(&done, "open").starts_with("failed: "), "{done:?}");
    let _ = std::fs::remove_dir_all(place);
}

#[test]
fn transports_that_are_not_there_and_words_that_mean_nothing_are_refused() {
    let done = doctor(&all(), &["--transport", "smh"], &[]).expect(1);
    assert!(line(&done, "found").contains("did you mean \"shm\""), "{done:?}");
    let done = doctor(Path::new("/nowhere"), &[], &[("LAPIS_SPIN_US", "banana")]).expect(1);
    assert!(line(&done, "configuration").starts_with("failed: "), "{done:?}");
    let done = doctor(&all(), &["am_lat"], &[]).expect(2);
    assert!(done.err.contains("takes --transport and --json"), "{done:?}");
}

#[test]
fn one_task_of_a_job_speaks() {
    let done = doctor(Path::new("/nowhere"), &[], &[("LAPIS_TASK", "1")]).expect(0);
    assert_eq!((done.out.as_str(), done.err.as_str()), ("", ""));
    let done = doctor(Path::new("/nowhere"), &[], &[("LAPIS_TASK", "0")]).expect(1);
    assert!(line(&done, "found").starts_with("failed: "), "{done:?}");
}
