//! Fortran programs as jobs.

#[path = "../../lapi/tests/support/pulled.rs"]
mod pulled;
mod support;

use std::process::Command;
use support::{Job, artifacts, checked, compile, link, module, scratch, source, styles, succeeds};

#[test]
fn every_subroutine_works_in_both_forms_with_include_file_and_module() {
    for style in styles() {
        let program = compile(&source("programs/calls.inc"), style);
        for tasks in [1, 2] {
            for output in succeeds(tasks, &program) {
                assert_eq!(output.matches("every call works").count(), tasks as usize, "{style:?}\n{output}");
            }
        }
    }
}

#[test]
fn data_that_is_not_contiguous_is_described_in_fortran() {
    for style in styles() {
        let program = compile(&source("programs/layouts.inc"), style);
        for tasks in [1, 2] {
            for output in succeeds(tasks, &program) {
                assert_eq!(
                    output.matches("every layout works").count(),
                    tasks as usize,
                    "{style:?}\n{output}"
                );
            }
        }
    }
}

#[test]
fn an_error_handler_in_fortran_hears_of_errors() {
    for style in styles() {
        let program = compile(&source("programs/error_handler.inc"), style);
        for output in succeeds(2, &program) {
            assert_eq!(output.matches("went on").count(), 2, "{style:?}\n{output}");
        }
    }
}

#[test]
fn every_program_works_while_adapters_are_pulled() {
    // One form of each is enough: what differs is done with when the program is compiled.
    let style = styles().next().expect("a style");
    for (name, says) in
        [("calls", "every call works"), ("layouts", "every layout works"), ("error_handler", "went on")]
    {
        let program = compile(&source(&format!("programs/{name}.inc")), style);
        for output in pulled::succeeds(&Job::of(2), &program) {
            assert_eq!(output.matches(says).count(), 2, "{name}: {output}");
        }
    }
}

/// Task 0 is a C program and task 1 a Fortran program of one job.
#[test]
fn c_and_fortran_tasks_work_together() {
    let dir = scratch("mixed");
    std::fs::create_dir_all(&dir).expect("a directory");
    let c = dir.join("in_c");
    let mut cc = Command::new(artifacts().join("lapicc"));
    checked(cc.args(["-Wall", "-Werror"]).arg(source("programs/mixed.c")).arg("-o").arg(&c));
    let fortran = dir.join("in_fortran");
    link(&["-Wall", "-Werror"], &[&source("programs/mixed.f90")], &[module()], &fortran);
    let job = dir.join("job");
    let script =
        "#!/bin/sh\ncase $MP_CHILD in 0) exec \"${0%/*}/in_c\";; *) exec \"${0%/*}/in_fortran\";; esac\n";
    std::fs::write(&job, script).expect("the script can be written");
    checked(Command::new("chmod").arg("+x").arg(&job));
    for output in succeeds(3, &job).into_iter().chain(pulled::succeeds(&Job::of(3), &job)) {
        assert!(output.contains("C: sum 33 from Fortran"), "{output}");
        assert_eq!(output.matches("Fortran: 10 numbers from C").count(), 2, "{output}");
    }
}

/// The library that chapter 9 describes, in C, seen from a Fortran program: by its C names and by
/// its Fortran names.
#[test]
fn profiling_libraries_interpose() {
    let program = compile(&source("programs/calls.inc"), styles().next().expect("a style"));
    for (define, seen) in [("-DIN_C", "C: init 1 put 3"), ("-DIN_FORTRAN", "Fortran: init 1 put 3")] {
        let profiler = scratch("libprofiler.so");
        let mut cc = Command::new(artifacts().join("lapicc"));
        cc.args(["-shared", "-fPIC", "-Wall", "-Werror", define]);
        checked(cc.arg(source("programs/profiler.c")).arg("-o").arg(&profiler));
        let preload = profiler.to_str().expect("UTF-8");
        let output = Job::of(1).env("LD_PRELOAD", preload).run(&program).success().stdout();
        assert!(output.contains(seen), "{output}");
    }
}

#[test]
fn an_old_program_compiles_and_runs() {
    let program = scratch("hwinit");
    link(&["-w"], &[&source("programs/hwinit.f")], &[], &program);
    for output in succeeds(2, &program).into_iter().chain(pulled::succeeds(&Job::of(2), &program)) {
        assert_eq!(
            output.lines().filter(|line| line.ends_with("0")).count(),
            4,
            "two tasks print two zeros each: {output}"
        );
    }
}

#[test]
fn lapifc_shows_its_command() {
    let mut lapifc = Command::new(artifacts().join("lapifc"));
    let shown = checked(lapifc.args(["-show", "a.f90", "-o", "a"]).env_remove("LAPIS_FC"));
    assert!(shown.starts_with("gfortran -I"), "{shown}");
    assert!(shown.contains("-llapi_r") && shown.contains("a.f90 -o a"), "{shown}");
}
