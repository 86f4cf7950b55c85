//! What the program says of real environments.

use lapis_testing::{clean, folder};
use std::path::Path;
use std::process::{Command, Output};

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
fn where_no_plugin_is_found_the_text_says_so() {
    let (_, out, _) = info(&["--transports"], &[("LAPIS_TRANSPORT_PATH", "/nowhere")]);
    assert!(out.contains("\nOrder of use: none to other tasks ("), "{out}");
}

#[test]
fn the_way_to_the_job_is_named_and_no_job_is_joined() {
    let all = ["Bootstrap", "lapirun, PMIx, PMI"];
    let see = |environment: &[(&str, &str)], parts: &[&str], code| {
        let (found, out, err) = info(&["--bootstrap"], environment);
        assert_eq!(found, Some(code), "{out}{err}");
        let text = format!("{out}{err}");
        parts.iter().for_each(|part| assert!(text.contains(part), "{part}: {text}"));
        assert!(!out.contains("Transports") && !out.contains("LAPIS_SPIN_US"), "{out}");
    };
    see(&[], &[all[0], all[1], "alone"], 0);
    see(&[("PMI_FD", "3"), ("PMI_RANK", "1"), ("PMI_SIZE", "4")], &["by PMI-1: task 1 of 4"], 0);
    let slurm = [("PMI_FD", "3"), ("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("PMI_JOBID", "7.0")];
    see(&slurm, &["by PMI-2: task 1 of 4"], 0);
    see(&[("PMIX_NAMESPACE", "n"), ("PMIX_RANK", "2")], &["by PMIx: task 2 of ?"], 0);
    let by_hand = [("MP_CHILD", "0"), ("MP_PROCS", "2"), ("MP_PARTITION", "7")];
    see(&by_hand, &["by tasks started by hand: task 0 of 2"], 0);
    see(&[("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PROCID", "1")], &["srun --mpi=pmi2"], 2);
    see(&[("OMPI_COMM_WORLD_SIZE", "4")], &["Open MPI", "PMIX_NAMESPACE"], 2);
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
fn copies_are_shown_with_where_they_come_from() {
    use std::os::unix::fs::PermissionsExt;
    let (code, out, _) = info(&["--copies"], &[("LAPIS_TUNING", "none")]);
    assert_eq!(code, Some(0));
    for part in ["processor: ", "limits:    far=", "file:      none", "put, get: any memory"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let file = std::env::temp_dir().join(format!("lapis-info-tuning-{}", std::process::id()));
    let path = file.to_str().unwrap();
    std::fs::write(&file, "# a test\nLAPIS_SHM_COPIES=far-past=4096\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (_, out, err) = info(&["--copies"], &[("LAPIS_TUNING", path)]);
    assert!(out.contains("far-past=4096") && out.contains("from:      tuning file"), "{out}{err}");
    let (_, out, _) = info(&["--copies"], &[("LAPIS_TUNING", path), ("LAPIS_SHM_COPIES", "attach=7")]);
    assert!(out.contains("attach=7") && out.contains("environment variable LAPIS_SHM_COPIES"), "{out}");
    let (_, config, _) = info(&["--config"], &[("LAPIS_TUNING", path)]);
    let line = config.lines().find(|l| l.contains("LAPIS_SHM_COPIES")).unwrap();
    assert!(line.contains("tuning file"), "{line}");
    // A file that others can change costs a line, and nothing in it counts.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let (code, out, err) = info(&["--copies"], &[("LAPIS_TUNING", path)]);
    assert_eq!((code, err.lines().count()), (Some(0), 1), "{err}");
    assert!(err.contains("has mode 0666") && !out.contains("4096,"), "{out}{err}");
    let (code, _, err) = info(&["--copies"], &[("LAPIS_SHM_COPIES", "far=x")]);
    assert!(code == Some(2) && err.contains("LAPIS_SHM_COPIES: far=`x`: it takes a number"), "{err}");
    let _ = std::fs::remove_file(&file);
}

#[test]
fn choices_of_collectives_follow_rules_and_wishes() {
    let row = |out: &str, name: &str| {
        let line = out.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.trim_start()[name.len()..].trim_start().split("  ").next().unwrap().trim().to_owned()
    };
    let (code, out, _) = info(&["--collectives"], &[]);
    assert!(code == Some(0) && !out.contains("Transports"), "{out}");
    assert_eq!(row(&out, "allreduce 8 B"), "memory (doubling)");
    assert!(out.contains("memory+messages (two-levels)"), "{out}");
    let (_, out, _) = info(&["--collectives"], &[("LAPIS_COLLECTIVES", "allreduce=ring")]);
    assert_eq!(row(&out, "allreduce 8 B"), "ring");
    let (code, _, err) = info(&["--collectives"], &[("LAPIS_COLLECTIVES", "allreduce=magic")]);
    assert!(code == Some(2) && err.contains("no algorithm `magic`"), "{err}");
    let (_, json, _) = info(&["--collectives", "--json"], &[]);
    assert!(json.contains("\"operation\": \"barrier\""), "{json}");
}

#[test]
fn tuned_choices_of_collectives_are_shown_where_teams_take_them() {
    use std::os::unix::fs::PermissionsExt;
    let file = std::env::temp_dir().join(format!("lapis-info-collectives-{}", std::process::id()));
    let tuned = |value: &str, form: &[&str]| {
        std::fs::write(&file, format!("LAPIS_COLLECTIVES={value}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        info(&[&["--collectives"], form].concat(), &[("LAPIS_TUNING", file.to_str().unwrap())])
    };
    let value = "allreduce@16=ring,reduce_scatter@16=pairwise";
    let (code, out, err) = tuned(value, &[]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("(tuning file, for teams of one host)"), "{out}");
    let found: serde_json::Value = serde_json::from_str(&tuned(value, &["--json"]).1).unwrap();
    let choices = found["collectives"]["choices"].as_array().unwrap();
    for (name, algorithm) in [("allreduce", "ring"), ("reduce_scatter", "pairwise")] {
        let here = choices.iter().filter(|c| c["operation"] == name && c["bytes"] == 16 << 10);
        let taken = |hosts: u64| {
            let choice = here.clone().find(|c| c["members"] == 16 && c["hosts"] == hosts);
            choice.and_then(|choice| choice["algorithm"].as_str()).unwrap_or_default()
        };
        assert_eq!(taken(1), algorithm, "{name} on one host");
        assert!(taken(2).starts_with("memory+messages ("), "{name} on two hosts: {}", taken(2));
    }
    // What another version may have written stops no program.
    let (code, out, err) = tuned("allreduce=magic", &[]);
    assert_eq!((code, err.lines().count()), (Some(0), 1), "{err}");
    assert!(err.contains("no algorithm `magic`") && out.contains("LAPIS_COLLECTIVES: unset"), "{out}{err}");
    let _ = std::fs::remove_file(&file);
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
fn what_udp_knows_only_after_connecting_is_not_shown_as_zero() {
    let (code, out, _) = info(&["--transports"], &[]);
    assert_eq!(code, Some(0));
    let udp: String = out.split("  udp  ").nth(1).expect("udp is found").lines().take(9).collect();
    let words = udp.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("max_packed, receive_buffer, paths, max_peers known after connecting"), "{words}");
    assert!(!words.contains("paths 0") && words.contains("perhaps LENT_PAGES"), "{words}");
    let (_, json, _) = info(&["--json", "--transports"], &[]);
    let facts: serde_json::Value = serde_json::from_str(&json).unwrap();
    let candidates = facts["transports"]["candidates"].as_array().unwrap();
    let udp = candidates.iter().find(|c| c["name"] == "udp" && c["usable"] == true).expect("udp");
    let limits = udp["opened"]["limits"].as_array().unwrap();
    assert!(limits.iter().any(|l| l[0] == "paths" && l[1].is_null()), "{limits:?}");
}

#[test]
fn every_device_is_shown_with_whether_it_is_taken_and_why() {
    let tcp = ("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm");
    let of_rdma = |environment: &[(&str, &str)]| {
        let (_, json, _) = info(&["--json", "--transports"], environment);
        let facts: serde_json::Value = serde_json::from_str(&json).unwrap();
        let candidates = facts["transports"]["candidates"].as_array().unwrap();
        let rdma = candidates.iter().find(|c| c["name"] == "rdma").expect("the plugin is built");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        text(&rdma["opened"]["note"]) + &text(&rdma["reason"])
    };
    let note = of_rdma(&[tcp, ("LAPIS_RDMA_ADDR", "127.0.0.1")]);
    assert!(note.contains("; taken: tcp;ofi_rxm on lo"), "{note}");
    assert!(note.contains("; registration: ") && note.contains("; order of messages: kept"), "{note}");
    assert!(note.contains("; not taken, LAPIS_RDMA_PROVIDER names another: "), "{note}");
    // What is refused altogether says what there is, too.
    let none = of_rdma(&[tcp, ("LAPIS_RDMA_DOMAIN", "rxe9")]);
    assert!(none.contains("LAPIS_RDMA_DOMAIN=rxe9"), "{none}");
    assert!(none.contains("; not taken, LAPIS_RDMA_DOMAIN names others: tcp;ofi_rxm on "), "{none}");
    // A line each for people.
    let (_, out, _) = info(&["--transports"], &[tcp, ("LAPIS_RDMA_ADDR", "127.0.0.1")]);
    assert!(out.lines().any(|line| line.trim() == "taken: tcp;ofi_rxm on lo"), "{out}");
}

/// The plugin in C of the examples, as a stranger would build it.
fn echo() -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins/c-echo");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-echo");
    std::fs::create_dir_all(&out).unwrap();
    let mut make = Command::new("make");
    let done = make.arg("-C").arg(examples).arg(format!("OUT={}", out.display())).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    out.display().to_string()
}

#[test]
fn a_strangers_plugin_shows_its_variables_with_value_and_origin() {
    let path = echo();
    let place = ("LAPIS_TRANSPORT_PATH", path.as_str());
    let line = |environment: &[(&str, &str)], args: &[&str]| {
        let (code, out, err) = info(args, environment);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out.contains("\n  Transport echo\n"), "{out}");
        let line = out.lines().find(|l| l.contains("LAPIS_ECHO_SLOTS")).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(line(&[place], &[]), ["LAPIS_ECHO_SLOTS", "256", "default"]);
    let sixteen = ("LAPIS_ECHO_SLOTS", "16");
    assert_eq!(line(&[place, sixteen], &["--config"]), ["LAPIS_ECHO_SLOTS", "16", "environment"]);
    let (_, out, _) = info(&["--config"], &[place]);
    assert!(out.contains("How many messages an echo holds. Takes a number from 1 to 256."), "{out}");
    let (code, _, err) = info(&["--config"], &[place, ("LAPIS_ECHO_SLOTS", "1000")]);
    let refused = "LAPIS_ECHO_SLOTS=`1000`: the value is too large; it takes a number from 1 to 256";
    assert!(code == Some(2) && err.contains(refused), "{err}");
    let (_, _, err) = info(&["--config"], &[place, ("LAPIS_ECHO_SLOT", "16")]);
    assert!(err.contains("LAPIS_ECHO_SLOT is not known and ignored: is LAPIS_ECHO_SLOTS meant?"), "{err}");
}

#[test]
fn the_order_of_use_is_that_of_cost_and_of_what_the_guides_variables_want() {
    let order = |environment: &[(&str, &str)]| {
        let (_, json, _) = info(&["--json", "--transports"], environment);
        let facts: serde_json::Value = serde_json::from_str(&json).unwrap();
        let names = facts["transports"]["order"].as_array().unwrap();
        names.iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let shm = ("LAPI_USE_SHM", "yes");
    assert_eq!(order(&[shm]), ["shm", "udp"]);
    assert_eq!(order(&[]), ["udp"]);
    assert_eq!(order(&[("LAPI_USE_SHM", "only")]), ["shm"]);
    assert!(!order(&[shm, ("MP_EUILIB", "us")]).contains(&"udp".to_owned()));
    assert_eq!(order(&[("LAPIS_TRANSPORT", "udp,shm")]), ["udp", "shm"]);
}

#[test]
fn a_place_that_is_not_there_is_warned_of() {
    let (code, _, err) = info(&["--transports"], &[("LAPIS_TRANSPORT_PATH", "/nowhere/at/all:relative")]);
    assert_eq!(code, Some(0));
    assert!(err.contains("no plugins can come from /nowhere/at/all"), "{err}");
    assert!(err.contains("\"relative\" is left out"), "{err}");
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

#[test]
fn adapters_and_windows_are_those_of_the_daemon() {
    use lapis_adapters::{channel::Address, client::Daemon, key::Key};
    use lapis_nsd::{Options, Server, soft_adapters};
    let name = format!("lapis-test-info-{}", std::process::id());
    let place = ("LAPIS_NSD", name.as_str());
    let (code, out, err) = info(&["--windows"], &[place]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("no services daemon") && !out.contains("Transports"), "{out}");
    let adapters = soft_adapters(2, 2, 8).expect("possible");
    let options = Options { address: Address::new(&name), adapters, share: Some(8), ..Options::default() };
    let _daemon = Server::open(options).and_then(Server::spawn).expect("a daemon");
    let client = Daemon::connect(&Address::new(&name)).expect("a daemon");
    let _window = client.open("sn1", Some(5), Key::of_text("job")).expect("free");
    let (_, out, _) = info(&["--windows"], &[place]);
    let line: Vec<&str> =
        out.lines().find(|line| line.starts_with("  5,sn1")).expect("told").split_whitespace().collect();
    assert_eq!((line[1], line[5]), ("open", "0"), "{out}");
    let (_, json, _) = info(&["--windows", "--json"], &[place]);
    let facts: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let adapters = facts["windows"]["adapters"].as_array().expect("a list");
    assert_eq!(adapters.len(), 2);
    assert_eq!(adapters[1]["name"], "sn1");
    assert_eq!(adapters[1]["not_free"][0]["window"], 5);
    assert_eq!(adapters[1]["not_free"][0]["counts"]["taken"], 0);
    // The whole listing does without: transports say what is amiss.
    assert!(!info(&[], &[place]).1.contains("Adapters and windows"));
}
