//! What the program says of real environments.

use lapis_testing::{clean, folder};
use std::process::Output;

fn info(args: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut command = clean(env!("CARGO_BIN_EXE_lapis-info"));
    command.args(args).env("LAPIS_TRANSPORT_PATH", folder().join("deps"));
    command.envs(environment.iter().copied());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_clean_environment_is_shown_whole() {
    let (code, out, err) = info(&[], &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for part in [
        "loopback  usable",
        "shm       usable",
        "liblapis_shm.so",
        "WINDOW",
        "max_peers",
        "Places searched",
        "LAPIS_SPIN_US",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn parts_can_be_asked_for() {
    let (_, transports, _) = info(&["--transports"], &[]);
    assert!(transports.contains("shm ") && !transports.contains("LAPIS_SPIN_US"), "{transports}");
    let (_, config, _) = info(&["--config"], &[("LAPIS_SPIN_US", "77")]);
    let line = config.lines().find(|l| l.contains("LAPIS_SPIN_US")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["LAPIS_SPIN_US", "77", "environment"]);
    assert!(config.contains("microseconds from 0") && !config.contains("Places searched"), "{config}");
}

#[test]
fn the_json_names_transports_reasons_and_values() {
    let bad = std::env::temp_dir().join(format!("lapis-info-test-{}", std::process::id()));
    std::fs::create_dir_all(&bad).unwrap();
    std::fs::write(bad.join("liblapis_broken.so"), "not a library").unwrap();
    let path = format!("{}:{}", bad.display(), folder().join("deps").display());
    let (code, out, _) = info(&["--json"], &[("LAPIS_TRANSPORT_PATH", &path)]);
    std::fs::remove_dir_all(&bad).unwrap();
    assert_eq!(code, Some(0));
    for part in [
        "\"name\": \"broken\"",
        "not loadable",
        "\"name\": \"shm\"",
        "\"usable\": true",
        "\"origin\": \"environment\"",
        "\"capabilities\"",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn values_that_programs_would_refuse_are_errors() {
    for (name, value, word) in [
        ("LAPIS_SPIN_US", "banana", "takes microseconds from 0"),
        ("LAPIS_TRANSPORT", "smh", "did you mean \"shm\""),
        ("LAPIS_CHAOS", "rain=1%", "LAPIS_CHAOS"),
        ("LAPI_USE_SHM", "maybe", "LAPI_USE_SHM"),
    ] {
        let (code, _, err) = info(&[], &[(name, value)]);
        assert_eq!(code, Some(2), "{name}={value}: {err}");
        assert!(err.contains(name) && err.contains(word), "{err}");
    }
}

#[test]
fn probable_mistakes_are_warnings() {
    let (code, _, err) = info(&["--config"], &[("LAPIS_TRANSPROT", "shm")]);
    assert_eq!(code, Some(0));
    assert!(err.contains("LAPIS_TRANSPROT") && err.contains("LAPIS_TRANSPORT meant"), "{err}");
}
