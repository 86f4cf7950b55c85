//! Real runs of tiny sizes.

use lapis_testing::{Finished, Job};

const PERF: &str = env!("CARGO_BIN_EXE_lapis-perf");

fn perf(tasks: u32, args: &[&str]) -> Finished {
    Job::new(tasks).run(PERF, args)
}

/// The job succeeded and said nothing on standard error, unless it took so long that its progress
/// is shown there.
#[track_caller]
fn expect_progress_at_most(done: Finished) -> Finished {
    let mut done = done.expect(0);
    let is_progress = |line: &str| line.starts_with('[') && line.contains(" left] ");
    done.err = done.err.lines().filter(|line| !is_progress(line)).collect();
    done.expect_quiet(0)
}

/// Bench, size, memory and value of each record.
fn records(done: &Finished) -> Vec<(String, u64, String, f64)> {
    let record = |line: &str| {
        let r: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!((r["peer"].as_str(), r["transport"].as_str()), (Some("lapis"), Some("shm")), "{line}");
        let (value, min, max) = (r["value"].as_f64(), r["min"].as_f64(), r["max"].as_f64());
        assert!(min > Some(0.0) && min <= value && value <= max, "{line}");
        let text = |name: &str| r[name].as_str().unwrap_or_default().to_owned();
        (text("bench"), r["size"].as_u64().unwrap(), text("memory"), value.unwrap())
    };
    done.out.lines().map(record).collect()
}

#[test]
fn tuning_leaves_a_file_that_shows_where_limits_come_from() {
    let folder = std::env::temp_dir().join(format!("lapis-perf-tune-{}", std::process::id()));
    let file = folder.join("tuning");
    let done = lapis_testing::clean(env!("CARGO_BIN_EXE_lapis-perf"))
        .arg("tune")
        .env("LAPIS_TUNING", &file)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    if text.contains("it takes two cores") {
        eprintln!("SKIP tuning_leaves_a_file_that_shows_where_limits_come_from: {text}");
    } else if text.contains("the machine is too busy") {
        // What was measured beside others is not kept.
        assert!(!done.status.success() && !file.exists(), "{text}");
    } else {
        assert!(done.status.success() && text.contains("LAPIS_SHM_COPIES=far="), "{text}");
        let written = std::fs::read_to_string(&file).unwrap();
        let value = written.lines().find_map(|line| line.strip_prefix("LAPIS_SHM_COPIES=")).unwrap();
        assert!(value.contains("attach="), "{written}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn tuned_collectives_are_kept_for_each_number_of_tasks_and_taken() {
    let folder = std::env::temp_dir().join(format!("lapis-perf-collectives-{}", std::process::id()));
    let file = folder.join("tuning");
    let tune = |tasks: u32, wish: &str| {
        let job = Job::new(tasks).var("LAPIS_TUNING", &file.to_string_lossy());
        let job = job.var("LAPIS_COLLECTIVES", wish);
        let done = job.run(PERF, &["tune", "collectives"]).expect(0);
        assert!(done.out.contains("lapis-info --collectives"), "{done:?}");
        std::fs::read_to_string(&file).expect("it was written")
    };
    let value = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("LAPIS_COLLECTIVES="));
        line.expect("the variable").to_owned()
    };
    let first = value(&tune(2, ""));
    for operation in
        ["barrier", "broadcast", "reduce", "allreduce", "reduce_scatter", "allgather", "alltoall"]
    {
        assert!(first.split(',').any(|wish| wish.starts_with(operation) && wish.contains("@2=")), "{first}");
    }
    // Another number of tasks: both are there, whatever the environment says.
    let both = value(&tune(3, "allreduce=ring"));
    assert!(both.starts_with(&first) && both.contains("barrier@3="), "{both}");
    // Jobs read it without a complaint.
    let job = Job::new(2).var("LAPIS_TUNING", &file.to_string_lossy());
    job.run(PERF, &["allreduce", "--sizes", "8,64K", "--time-ms", "1"]).expect_quiet(0);
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn every_bench_gives_its_records_in_both_modes_and_kinds_of_memory() {
    let line = ["all", "--sizes", "0,8,5000,70000", "--time-ms", "1", "--memory", "any,lapis", "--json"];
    for extra in [&[][..], &["--interrupts"][..]] {
        let done = expect_progress_at_most(perf(2, &[&line, extra].concat()));
        let records = records(&done);
        let of = |bench: &str| {
            records.iter().filter(|r| r.0 == bench).map(|r| (r.1, r.2.as_str())).collect::<Vec<_>>()
        };
        assert_eq!(of("am_lat"), [(0, ""), (8, ""), (5000, ""), (70_000, "")]);
        for stream in ["am_bw", "am_copy_bw"] {
            assert_eq!(of(stream), [(8, ""), (5000, ""), (70_000, "")]);
        }
        assert_eq!(of("am_copy_lat").len(), 4);
        assert_eq!(of("put_lat").len(), 8);
        assert_eq!(of("get_bw").len(), 6);
        for word in ["put_seen", "fadd", "fadd_rate", "cas"] {
            assert_eq!(of(word), [(8, "heap"), (8, "lapis")]);
        }
        assert_eq!(of("gfence"), [(0, "")]);
        for once in ["init_first", "init", "blocked"] {
            assert_eq!(of(once), [(0, "")]);
        }
    }
}

#[test]
fn tasks_beyond_the_second_wait() {
    let line = ["am_lat", "put_bw", "gfence", "--sizes", "64", "--time-ms", "1", "--json"];
    let done = expect_progress_at_most(perf(3, &line));
    assert_eq!(records(&done).len(), 3);
}

#[test]
fn people_get_a_table_and_a_drawing() {
    let file = std::env::temp_dir().join(format!("lapis-perf-test-{}.svg", std::process::id()));
    let path = file.to_string_lossy();
    let done =
        perf(2, &["am_lat", "put_bw", "--sizes", "8,64", "--time-ms", "1", "--plot", &path]).expect_quiet(0);
    let drawing = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(done.out.starts_with("am_lat: ") && done.out.contains("(shm, polling)"), "{done:?}");
    assert_eq!(done.out.lines().filter(|l| l.trim_start().starts_with("64 B ")).count(), 2, "{done:?}");
    assert!(
        drawing.starts_with("<svg ")
            && drawing.contains("am_lat")
            && drawing.contains("put_bw, lapis memory")
    );
}

#[test]
fn one_task_is_told_that_it_takes_two() {
    let done = perf(1, &["am_lat"]).expect(1);
    assert!(
        done.err.contains("takes two tasks")
            && done.err.contains("lapirun -n 2 --bind core lapis-perf am_lat"),
        "{done:?}"
    );
}

#[test]
fn nonsense_is_refused_once_whatever_the_number_of_tasks() {
    for (wrong, word) in
        [(&["am_lag"][..], "no bench is called `am_lag`"), (&["am_lat", "--sizes", "ten"], "not a size")]
    {
        let done = perf(2, wrong).expect(2);
        assert_eq!(done.err.matches(word).count(), 1, "{done:?}");
    }
    let done = perf(2, &["am_lat", "--transport", "smh"]).expect(1);
    assert!(done.err.contains("\"smh\"") && done.err.contains("did you mean \"shm\""), "{done:?}");
    let done = perf(2, &["am_lat", "--sizes", "8", "--plot", "x.svg"]).expect(2);
    assert!(done.err.contains("nothing to draw"), "{done:?}");
    let done = perf(2, &["am_lat", "--sizes", "8,64", "--plot", "/nowhere/x.svg"]).expect(1);
    assert_eq!(done.out, "", "what can't be kept is not measured");
    assert!(done.err.contains("cannot write the drawing to /nowhere/x.svg"), "{done:?}");
}
