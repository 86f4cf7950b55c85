//! The program as a whole: its floors give figures, its report is written, nonsense is refused.

use lapis_bench::record::Record;
use std::process::{Command, Output};

/// The floors end by their own watchdog (SIGALRM) if they hang.
fn lapis_bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lapis-bench"))
        .args(arguments)
        .output()
        .expect("cannot start lapis-bench")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_floor_gives_figures() {
    let list = text(&lapis_bench(&["floor", "--list"]).stdout);
    let names: Vec<&str> = list.lines().filter_map(|l| l.split_whitespace().next()).collect();
    assert!(names.len() >= 10, "{list}");
    for name in names {
        let output = lapis_bench(&["floor", "--only", name, "--sizes", "8,64,4K", "--time-ms", "1"]);
        let (records, errors) = (Record::read_all(&text(&output.stdout)), text(&output.stderr));
        // A container may forbid cross-memory attach; everything else works on every Linux.
        if name.starts_with("cma_") && errors.contains("refused") {
            eprintln!("skipped: {name}: {errors}");
            continue;
        }
        assert!(output.status.success() && !records.is_empty(), "{name}: {errors}");
        for record in records {
            assert!(record.bench.starts_with(name) && record.peer == "floor", "{record:?}");
            let ordered = record.min > 0.0 && record.min <= record.value && record.value <= record.max;
            assert!(ordered && record.max.is_finite() && record.samples >= 5, "{record:?}");
        }
    }
}

#[test]
fn a_run_writes_page_json_and_plot() {
    let folder = std::env::temp_dir().join(format!("lapis-bench-{}", std::process::id()));
    let out = folder.to_string_lossy().into_owned();
    let options = ["--quick", "--rounds", "1", "--time-ms", "1", "--only", "put_bw,fadd", "--out", &out];
    let output = lapis_bench(&[&["run"], options.as_slice()].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let find = |ending: &str| {
        let entries = std::fs::read_dir(&folder).unwrap().flatten().map(|e| e.path());
        let path = entries.into_iter().find(|p| p.to_string_lossy().ends_with(ending));
        std::fs::read_to_string(path.unwrap_or_else(|| panic!("no {ending} in {out}"))).unwrap()
    };
    let document: serde_json::Value = serde_json::from_str(&find("-shm.json")).unwrap();
    let records = document["records"].as_array().unwrap();
    assert!(records.iter().any(|r| r["bench"] == "atomic_add" && r["of"] == "fadd"), "{document}");
    assert!(find("-shm.md").contains("## put_bw (GB/s)"));
    assert!(find("-shm-put_bw.svg").trim_end().ends_with("</svg>"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    for (arguments, reason) in [
        (&["floor", "--only", "nothing"][..], "no floor is called `nothing`"),
        (&["floor", "--sizes", "1G"][..], "`1G` is not a size"),
        (&["run", "--only", "nothing"][..], "no bench is called `nothing`"),
        (&["run", "--transport", "pigeon"][..], "pigeon"),
    ] {
        let output = lapis_bench(arguments);
        assert!(!output.status.success() && text(&output.stderr).contains(reason), "{arguments:?}");
    }
}
