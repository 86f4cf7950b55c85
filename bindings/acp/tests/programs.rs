//! Every C program of `tests/programs`, as a job of its own, over each transport there is, with
//! losses where there can be some.

#[path = "../../lapi/tests/support/mod.rs"]
mod jobs;

use jobs::{Job, artifacts, checked, scratch, setting, transports};
use lapis_testing::Net;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const BINDING: &str = env!("CARGO_MANIFEST_DIR");

fn compile(source: &Path) -> PathBuf {
    compile_with(source, &[])
}

fn compile_with(source: &Path, extra: &[&str]) -> PathBuf {
    let dir = artifacts();
    let output = scratch(&source.file_stem().expect("sources have names").to_string_lossy());
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]).arg(source).arg("-o").arg(&output);
    cc.arg(format!("-I{BINDING}/include")).arg("-L").arg(dir).args(["-lacp", "-lm"]);
    checked(cc.args(extra).arg(format!("-Wl,-rpath,{}", dir.display())));
    output
}

fn source(name: &str) -> PathBuf {
    Path::new(BINDING).join("tests/programs").join(format!("{name}.c"))
}

/// A job as the program's leading comment wants it.
fn job(source: &Path) -> Job {
    let mut job = Job::of(setting(source, "tasks:").map_or(2, |n| n.parse().expect("a number of tasks")));
    for pair in setting(source, "env:").iter().flat_map(|pairs| pairs.split(' ')) {
        let (name, value) = pair.split_once('=').expect("NAME=value");
        job = job.env(name, value);
    }
    job
}

/// Runs a program over every transport, with losses over udp, and alone.
fn succeeds(name: &str) {
    let source = source(name);
    let (program, job) = (compile(&source), job(&source));
    job.succeeds(&program);
    if transports().contains(&"udp") {
        let faults = "drop=3%,dup=2%,reorder=5%,mtu=1400,seed=7";
        job.env("LAPIS_TRANSPORT", "udp").env("LAPIS_CHAOS", faults).run(&program).success();
    }
    Job::of(1).run(&program).success();
}

#[test]
fn ranks_arguments_and_ends() {
    succeeds("infrastructure");
}

#[test]
fn what_a_job_had_open_is_closed_when_the_next_one_has_ended() {
    succeeds("rejoins");
}

#[test]
fn a_forked_child_does_its_parents_job_no_harm() {
    succeeds("forked");
}

#[test]
fn addresses_name_what_is_registered_and_nothing_else() {
    succeeds("memory");
}

#[test]
fn anybody_copies_between_any_two() {
    succeeds("copies");
}

#[test]
fn variables_stay_atomic_whichever_way_operations_travel() {
    succeeds("atomics");
}

#[test]
fn accesses_keep_the_order_that_they_ask_for() {
    succeeds("orders");
}

#[test]
fn random_programs_do_what_the_model_says() {
    succeeds("random");
}

/// Each byte is a choice of `random.c`: so what proptest leaves out makes the program shorter.
#[test]
fn programs_of_any_choices_do_what_the_model_says() {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestCaseError, TestRunner};

    let program = compile(&source("random"));
    let choices = scratch("choices");
    let over = transports();
    let config = Config { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    let programs = (2..9u32, 0..over.len(), proptest::collection::vec(any::<u8>(), 0..1500));
    let outcome = TestRunner::new(config).run(&programs, |(tasks, transport, bytes)| {
        std::fs::write(&choices, &bytes).expect("a scratch file");
        let job = Job::of(tasks).env("LAPIS_TRANSPORT", over[transport]).arg(&choices.to_string_lossy());
        let end = job.run(&program);
        if end.code() == Some(0) { Ok(()) } else { Err(TestCaseError::fail(end.stderr())) }
    });
    let _ = std::fs::remove_file(&choices);
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn accesses_without_number_need_bounded_memory_and_no_call_of_the_target() {
    succeeds("many");
}

#[test]
fn channels_keep_messages_in_order_and_apart() {
    succeeds("channels");
}

#[test]
fn heaps_serve_all_processes_at_once() {
    succeeds("heaps");
}

#[test]
fn what_nobody_gave_is_found_out_and_harms_nothing() {
    succeeds("wild");
}

/// Each line that `arguments.c` names is there, in order.
#[test]
fn errors_say_which_argument_of_which_call_is_wrong() {
    let source = source("arguments");
    let end = job(&source).run(&compile(&source)).success();
    let out = end.stdout();
    let words: Vec<&str> = out.split_whitespace().collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| *word == name).expect("the program prints it");
        words[at + 1].to_owned()
    };
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address");
    let ga = number(&value("ga"));
    let text = std::fs::read_to_string(&source).expect("the source can be read");
    let wanted = text.lines().filter_map(|line| line.split_once("/* says: ")?.1.split_once(" */"));
    let said = end.stderr();
    let mut lines = said.lines();
    for (line, _) in wanted {
        let line = line.replace("GA+1", &format!("{:#x}", ga + 1)).replace("GA+2", &format!("{:#x}", ga + 2));
        let line = line.replace("GA+4", &format!("{:#x}", ga + 4)).replace("GA", &value("ga"));
        let line = line.replace("GONE", &value("gone")).replace("STARTER", &value("starter"));
        let line = line.replace("ADDR", &value("addr"));
        assert!(lines.any(|said| said.contains(&line)), "no line `{line}` (any more) in\n{said}");
    }
}

/// More processes than cores, over each transport, with losses over udp.
#[test]
fn eight_processes_do_what_two_do() {
    let faults = "drop=2%,dup=1%,reorder=3%,seed=11";
    for name in FAR.into_iter().chain(MORE) {
        let program = compile(&source(name));
        Job::of(8).env("LAPIS_TRANSPORT", "shm").run(&program).success();
        if transports().contains(&"udp") {
            Job::of(6).env("LAPIS_TRANSPORT", "udp").env("LAPIS_CHAOS", faults).run(&program).success();
        }
    }
}

#[test]
fn lists_and_vectors_of_release_1_do_what_it_says() {
    succeeds("lists_first");
}

#[test]
fn lists_do_what_a_model_does() {
    succeeds("lists");
}

#[test]
fn vectors_and_deques_do_what_a_model_does() {
    succeeds("sequences");
}

#[test]
fn structures_that_several_change_at_once_stay_whole() {
    succeeds("shared");
}

#[test]
fn sets_multisets_and_maps_do_what_a_model_does() {
    succeeds("hashed");
}

#[test]
fn multisets_become_sets_and_sets_become_lists() {
    succeeds("collapsed");
}

#[test]
fn keys_that_several_change_at_once_are_neither_lost_nor_torn() {
    succeeds("shared_hashed");
}

#[test]
fn a_walk_through_a_set_meets_what_stays_once_whatever_others_change() {
    succeeds("walked");
}

#[test]
fn one_element_is_spliced_whatever_others_do_behind_it() {
    succeeds("spliced");
}

#[test]
fn segments_come_whole_and_in_order() {
    succeeds("segbufs");
}

#[test]
fn workspaces_are_one_memory_in_pieces() {
    succeeds("workspaces");
}

/// The programs whose accesses and messages take every way there is.
const FAR: [&str; 6] = ["copies", "atomics", "orders", "random", "channels", "heaps"];

/// Programs whose processes share structures and buffers.
const MORE: [&str; 4] = ["shared", "shared_hashed", "segbufs", "workspaces"];

/// Over libfabric's TCP, by keys: no memory is mapped, and nothing is lost on the way.
#[test]
fn accesses_and_messages_go_over_libfabric() {
    for name in FAR {
        let source = source(name);
        let job = Job::of(5)
            .env("LAPIS_TRANSPORT", "rdma")
            .env("LAPIS_RDMA_PROVIDER", "tcp;ofi_rxm")
            .env("LAPIS_RDMA_ADDR", "127.0.0.1");
        let end = job.run(&compile(&source));
        let without = ["libfabric.so.1 not found", "built without libfabric's headers"];
        if without.iter().any(|why| end.stderr().contains(why)) {
            eprintln!("skipped: no libfabric, which rdma stands on: {}", end.stderr());
            return;
        }
        end.success();
    }
}

/// Processes of two hosts, several on each: between some pairs memory is mapped, between
/// others nothing is, and datagrams get lost there.
#[test]
fn processes_of_several_hosts_do_what_those_of_one_do() {
    let Some(net) = Net::make("acp", 1) else {
        eprintln!("skipped: network namespaces need root and iproute2");
        return;
    };
    let hosts: Vec<(&str, String)> = net.hosts();
    let kept = FAR.into_iter().chain(MORE).map(|name| (name, false));
    for (name, losses) in kept.chain([("random", true), ("channels", true)]) {
        if losses && !net.lose(2) {
            eprintln!("skipped: losing datagrams needs nftables");
            return;
        }
        let source = source(name);
        let list = format!("{}:3,{}:2", hosts[0].0, hosts[1].0);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", hosts[0].0]).arg(artifacts().join("lapirun"));
        command.args(["-H", &list, "--remote", "ip netns exec {host}", "--address", &hosts[0].1]);
        command.arg(compile(&source)).env("LAPIS_TRANSPORT_PATH", artifacts());
        command.env("LAPIS_TRANSPORT", "shm,udp");
        lapis_testing::run(command).expect(0);
    }
}

/// Runs a program in which one of the processes is killed, over every transport. The launcher tells
/// of that one; the others must have found everything as it should be, to their end.
fn survives(name: &str, left: usize) {
    let source = source(name);
    let (program, job) = (compile(&source), job(&source).option("--keep-going"));
    for transport in transports() {
        let end = job.clone().env("LAPIS_TRANSPORT", transport).run(&program);
        assert_ne!(end.code(), Some(124), "{transport}: it hung: {}", end.stderr());
        let done = end.stdout().lines().filter(|line| line.ends_with(" is done")).count();
        assert_eq!(done, left, "{transport}: {}\n{}", end.stdout(), end.stderr());
    }
}

#[test]
fn a_kill_is_told_to_who_needs_the_process_and_to_nobody_else() {
    survives("died", 3);
}

/// Ranks 1 and 2 lose each other, and rank 0 neither: nobody else tells it how its copies end.
#[test]
fn a_copy_between_two_that_have_lost_each_other_fails() {
    let Some(net) = Net::of("acpcut", 3, 1, false) else {
        eprintln!("skipped: network namespaces need root and iproute2");
        return;
    };
    if !net.lose(0) {
        eprintln!("skipped: cutting a link needs nftables");
        return;
    }
    let source = source("cut");
    let (program, job) = (compile(&source), job(&source));
    let mut command = net.launcher(artifacts().join("lapirun"));
    command.arg("--keep-going").arg(program).envs(job.env);
    command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TRANSPORT", "udp");
    lapis_testing::run(command).expect(0);
}

/// A process that is stopped is no process that has died: whoever waits for it must find that out.
#[test]
fn a_process_that_is_stopped_keeps_nobody_waiting() {
    // It is killed at the end.
    survives("stopped", 9);
}

#[test]
fn the_header_declares_what_the_library_has() {
    let header: String = ["acp.h", "acpdl.h"]
        .map(|name| std::fs::read_to_string(Path::new(BINDING).join("include").join(name)).expect("a header"))
        .concat();
    // Prototypes, not what comments say.
    let prototypes = header.lines().filter(|line| line.starts_with("extern ") && line.contains('('));
    let words = prototypes.flat_map(|line| line.split('(').next().and_then(|l| l.rsplit([' ', '*']).next()));
    let declared: BTreeSet<&str> = words.collect();
    let symbols =
        checked(Command::new("nm").args(["-D", "--defined-only"]).arg(artifacts().join("libacp.so")));
    let exported: BTreeSet<&str> = symbols
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .filter(|name| name.starts_with("acp_"))
        .collect();
    assert_eq!(declared, exported);
    // C++ takes it, too.
    let program = scratch("header").with_extension("cc");
    std::fs::write(&program, "#include <acp.h>\nint main() { return acp_rank() + 1; }\n")
        .expect("a scratch file");
    for release in [1, 3] {
        let mut cxx = Command::new("c++");
        cxx.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-Wno-long-long"]);
        cxx.arg(format!("-DACP_RELEASE={release}")).arg(format!("-I{BINDING}/include"));
        checked(cxx.arg(&program));
    }
}

#[test]
fn lapi_works_beside() {
    let source = source("beside");
    let include = format!("-I{BINDING}/../lapi/include");
    job(&source).succeeds(&compile_with(&source, &[&include, "-llapi_r"]));
}

#[test]
fn macros_name_the_call_of_a_type() {
    let source = source("macros");
    job(&source).succeeds(&compile(&source));
}

/// As the specification's section 2.3.3 has it: options before the program and among its words, a
/// file of machines, and an error for other words that begin so.
#[test]
fn acprun_starts_programs_and_keeps_its_arguments_from_them() {
    let program = compile(&source("started"));
    let nodes = scratch("nodefile");
    std::fs::write(&nodes, "localhost\n".repeat(4)).expect("a scratch file");
    let acprun = |words: &[&str]| {
        let mut command = Command::new(artifacts().join("acprun"));
        command.args(["-np", "3", &format!("--acp-nodefile={}", nodes.display())]).args(words);
        command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TUNING", "none");
        lapis_testing::run(command)
    };
    let name = program.to_string_lossy();
    let sizes = ["--acp-startermemsize=20000", &name, "one", "--acp-startermemsize-dl=4194304", "two"];
    acprun(&sizes).expect(0);
    acprun(&[&name, "hidden", "--acp-startermemsize=20000", "--acp-startermemsize-dl=4194304"]).expect(0);
    let refused = acprun(&[&name, "one", "--acp-what=1", "two"]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("unknown option \"--acp-what=1\""), "{}", refused.err);
    let _ = std::fs::remove_file(&nodes);
}

#[test]
fn every_call_says_so_before_acp_init_and_after_acp_finalize() {
    let source = source("outside");
    for release in ["-DACP_RELEASE=1", "-DACP_RELEASE=3"] {
        Job::of(1).run(&compile_with(&source, &[release])).success();
    }
}

#[test]
fn fortran_programs_get_what_c_programs_get() {
    if Command::new("gfortran").arg("--version").output().is_err() {
        eprintln!("skipped: no gfortran, which compiles module acp");
        return;
    }
    let (dir, source) = (artifacts(), Path::new(BINDING).join("tests/programs/module.f90"));
    let output = scratch("acp_module");
    let modules = output.with_extension("mod.d");
    std::fs::create_dir_all(&modules).expect("the target directory can be written");
    let mut fc = Command::new("gfortran");
    fc.args(["-std=f2018", "-Wall", "-Werror", "-Wno-unused-dummy-argument", "-J"]).arg(&modules);
    fc.arg(Path::new(BINDING).join("include/acp.f90")).arg(&source).arg("-o").arg(&output);
    checked(fc.arg("-L").arg(dir).arg("-lacp").arg(format!("-Wl,-rpath,{}", dir.display())));
    job(&source).succeeds(&output);
    Job::of(1).run(&output).success();
}

#[test]
fn an_abort_ends_everybody_with_its_message() {
    let source = source("aborts");
    let program = compile(&source);
    for transport in transports() {
        let end = job(&source).env("LAPIS_TRANSPORT", transport).run(&program);
        assert_eq!(end.code(), Some(1), "{transport}: {}", end.stderr());
        let said = end.stderr();
        assert!(said.contains("acp_abort: rank 1: nothing more to do: Bad address"), "{transport}: {said}");
    }
}
