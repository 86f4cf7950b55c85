//! Every C program of `tests/programs`, as a job of its own, over each transport there is, with
//! losses where there can be some; and the examples, which print what the file beside them says.

#[path = "../../lapi/tests/support/mod.rs"]
mod jobs;

use jobs::{Job, artifacts, setting, transports};
use lapis_testing::{Interface, Net, Running, checked, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;

const BINDING: &str = env!("CARGO_MANIFEST_DIR");
static QNIX: Interface = Interface::new(BINDING, "qnix");

fn source(name: &str) -> PathBuf {
    QNIX.source(name)
}

fn compile(source: &Path) -> PathBuf {
    QNIX.compile(source, &[])
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

fn succeeds(name: &str) {
    let source = source(name);
    let (program, job) = (compile(&source), job(&source));
    job.succeeds(&program);
    if transports().contains(&"udp") {
        let faults = "drop=3%,dup=2%,reorder=5%,mtu=1400,seed=7";
        job.env("LAPIS_TRANSPORT", "udp").env("LAPIS_CHAOS", faults).run(&program).success();
    }
}

#[test]
fn messages_between_two() {
    succeeds("pair");
}

#[test]
fn what_is_locked_stays_locked_when_a_process_joins_again() {
    succeeds("again");
}

#[test]
fn what_a_cluster_had_open_is_closed_when_the_next_one_has_ended() {
    succeeds("rejoins");
}

#[test]
fn a_forked_child_does_its_parents_cluster_no_harm() {
    succeeds("forked");
}

#[test]
fn memory_is_locked_by_several_threads_while_messages_go_on() {
    succeeds("locking");
}

#[test]
fn messages_to_oneself() {
    Job::of(1).run(&compile(&source("pair"))).success();
}

#[test]
fn every_error_has_its_number() {
    succeeds("errors");
}

#[test]
fn structures_and_limits_are_what_the_header_says() {
    succeeds("structures");
}

#[test]
fn groups_across_two_applications() {
    succeeds("groups");
}

/// Processes that poll look at boards between calls, too, and are asked to look once they sleep.
#[test]
fn groups_of_processes_that_poll() {
    let source = source("groups");
    job(&source).env("LAPIS_INTERRUPT", "no").succeeds(&compile(&source));
}

/// Nobody finds out later, when the program looks at a doorbell for ever.
#[test]
fn who_polls_is_told_once_that_doorbells_ring_in_calls_alone() {
    let source = source("groups");
    let (program, job) = (compile(&source), job(&source).env("LAPIS_LOG", "warn,lapis::qnix=info"));
    let told =
        |job: Job| job.run(&program).success().stderr().matches("never while the program only").count();
    assert_eq!(told(job.clone().env("LAPIS_TRANSPORT", "shm")), 0);
    assert_eq!(told(job.env("LAPIS_TRANSPORT", "shm").env("LAPIS_INTERRUPT", "no")), 5);
}

#[test]
fn random_programs_do_what_the_model_says() {
    succeeds("random");
}

#[test]
fn groups_come_about_whoever_leaves_that_is_no_member() {
    succeeds("keepers");
}

#[test]
fn a_complete_group_can_not_be_joined_whoever_dies_that_kept_its_name() {
    let source = source("orphans");
    let (program, job) = (compile(&source), job(&source).option("--keep-going"));
    for transport in transports() {
        let end = job.clone().env("LAPIS_TRANSPORT", transport).run(&program);
        assert_ne!(end.code(), Some(124), "{transport}: it hung: {}", end.stderr());
        assert_eq!(end.stdout().matches("as it should be").count(), 3, "{transport}: {}", end.stderr());
    }
}

#[test]
fn an_end_is_told_to_who_waits_and_to_nobody_else() {
    let source = source("died");
    let (program, job) = (compile(&source), job(&source).option("--keep-going"));
    for transport in transports() {
        let end = job.clone().env("LAPIS_TRANSPORT", transport).run(&program);
        // One of them was killed: the launcher says so. The others must have found everything as it
        // should be.
        assert!(!end.stderr().contains("died.c:"), "{transport}: {}", end.stderr());
        assert_ne!(end.code(), Some(124), "{transport}: it hung: {}", end.stderr());
    }
}

/// Two processes without a launcher.
#[test]
fn started_by_hand() {
    let program = compile(&source("pair"));
    let start = |child: &str| {
        let mut command = Command::new(&program);
        command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPI_USE_SHM", "yes");
        command
            .env("MP_PROCS", "2")
            .env("MP_CHILD", child)
            .env("MP_PARTITION", format!("qnix-{}", std::process::id()));
        command.spawn().expect("the program was just built")
    };
    let both = [start("0"), start("1")];
    for mut process in both {
        assert!(process.wait().expect("it was started").success());
    }
}

#[test]
fn arguments_without_sense_are_refused() {
    succeeds("fuzz");
}

#[test]
fn whoever_is_killed_at_any_moment_takes_nobody_along() {
    let source = source("killed");
    let (program, job) = (compile(&source), job(&source).option("--keep-going"));
    for transport in transports() {
        for (victim, microseconds) in [("0", "3000"), ("3", "17000"), ("1", "60000")] {
            let job = job.clone().env("LAPIS_TRANSPORT", transport);
            let end = job.env("VICTIM", victim).env("MICROSECONDS", microseconds).run(&program);
            let what = format!("{transport}, process {victim} after {microseconds} µs: {}", end.stderr());
            assert_ne!(end.code(), Some(124), "it hung: {what}");
            assert_eq!(end.stdout().matches("survived").count(), 3, "{what}");
        }
    }
}

#[test]
fn whoever_ends_before_it_hands_a_message_on_leaves_nobody_without_it() {
    let source = source("forwarders");
    let (program, job) = (compile(&source), job(&source).option("--keep-going"));
    for transport in transports() {
        for way in ["killed", "left"] {
            let end = job.clone().env("LAPIS_TRANSPORT", transport).env("WAY", way).run(&program);
            let what = format!("{transport}, {way}: {}", end.stderr());
            assert_ne!(end.code(), Some(124), "it hung: {what}");
            assert_eq!(end.stdout().matches("all is there").count(), 4, "{what}");
        }
    }
}

/// Under launchers of MPI, which tell the numbers of tasks each in its own way.
#[test]
fn other_launchers_give_names() {
    let program = compile(&source("groups"));
    let rooted: &[&str] = &["--allow-run-as-root", "--oversubscribe"];
    for (launcher, options) in [("mpiexec.hydra", &[][..]), ("mpirun.openmpi", rooted)] {
        if Command::new(launcher).arg("--version").output().is_err() {
            eprintln!("skipped: {launcher} is not installed");
            continue;
        }
        let mut command = Command::new(launcher);
        command.args(options).args(["-n", "5"]).arg(&program);
        command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPI_USE_SHM", "yes").envs(APART);
        lapis_testing::run(command).expect(0);
    }
}

/// Under Slurm, whose `srun` lets tasks meet by PMI-2 and by PMIx: a cluster of two nodes on this
/// machine, which PMIx, whose plugin knows nodes by the host's name, takes for one.
#[test]
fn slurm_gives_names() {
    // SAFETY: asks for a number.
    let root = unsafe { libc::geteuid() } == 0;
    let there = ["srun", "slurmctld", "slurmd", "munged"].iter().all(|program| {
        ["/usr/bin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(program).is_file())
    });
    if !root || !there {
        eprintln!("skipped: a cluster of one's own takes root and Slurm (cargo xtask setup)");
        return;
    }
    let [groups, pair] = ["groups", "pair"].map(|name| compile(&source(name)).display().to_string());
    let script = format!(
        "set -e; for way in 'pmi2 2' 'pmix 1'; do set -- $way; \
         srun --mpi=list 2>&1 | grep -qw $1 || {{ echo no $1; continue; }}; \
         QX_APPLICATIONS=7:2,3:3 srun --mpi=$1 -N $2 -n 5 --overcommit {groups}; \
         srun --mpi=$1 -N $2 -n 2 --overcommit {pair}; echo done $1; done"
    );
    let mut command = lapis_testing::clean("bash");
    command.arg(Path::new(BINDING).join("../../tools/lapis-testing/tests/cluster.sh"));
    command.arg(scratch("slurm")).args(["bash", "-c", &script]);
    command.env("LAPIS_TRANSPORT_PATH", artifacts()).env("LAPIS_TRANSPORT", "shm,udp");
    let done = lapis_testing::run(command).expect(0);
    assert!(done.out.contains("done pmi"), "{done:?}");
    done.out
        .lines()
        .filter(|line| line.starts_with("no "))
        .for_each(|line| eprintln!("skipped: srun has {line}"));
}

/// What applications of a cluster say that are started apart.
const APART: [(&str, &str); 1] = [("QX_APPLICATIONS", "7:2,3:3")];

/// A command whose process, or whose tasks, belong to a cluster of this test's.
fn apart(program: &str, test: &str, application: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LAPIS_TRANSPORT_PATH", artifacts()).envs(APART).env("QX_APPLICATION", application);
    command.env("QX_CLUSTER", format!("qnix-{test}-{}", std::process::id()));
    command
}

#[test]
fn applications_of_two_launchers_meet() {
    let program = compile(&source("groups"));
    let launcher = artifacts().join("lapirun").display().to_string();
    for transport in transports().into_iter().filter(|transport| *transport != "hps") {
        let start = |application: &str, processes: &str| {
            let mut command = apart(&launcher, transport, application);
            command.args(["-n", processes]).arg(&program).env("LAPIS_TRANSPORT", transport);
            Running::start(command)
        };
        let both = [start("3", "3"), start("7", "2")];
        for job in both {
            job.wait().expect(0);
        }
    }
}

#[test]
fn applications_started_by_hand_meet() {
    let program = compile(&source("groups")).display().to_string();
    let start = |application: &str, process: &str| {
        let mut command = apart(&program, "hand", application);
        command.env("QX_PROCESS", process);
        Running::start(command)
    };
    let all = [("7", "1"), ("3", "0"), ("3", "2"), ("7", "0"), ("3", "1")].map(|(a, p)| start(a, p));
    for process in all {
        process.wait().expect(0);
    }
}

/// Two processes that know their names, one of which asks nobody for it.
#[test]
fn who_knows_its_name_needs_no_variable_for_it() {
    let program = compile(&source("pair")).display().to_string();
    let start = |process: u32| {
        let mut command = apart(&program, "known", "");
        command.env_remove("QX_APPLICATION").env("QX_APPLICATIONS", "4:2");
        command.env("OWN_NAME", format!("4:{process}:2"));
        Running::start(command)
    };
    for process in [1, 0].map(start) {
        process.wait().expect(0);
    }
}

#[test]
fn a_cluster_that_makes_no_sense_is_named() {
    let program = compile(&source("groups")).display().to_string();
    for (name, value, says) in [
        ("QX_APPLICATIONS", "7:2,7:3", "each application once"),
        ("QX_APPLICATION", "4", "none of those"),
        ("QX_PROCESS", "5", "none of those"),
    ] {
        let mut command = apart(&program, "nonsense", "3");
        command.env("QX_PROCESS", "0").env(name, value);
        let done = lapis_testing::run(command).expect(3);
        assert!(done.err.contains(says), "{done:?}");
    }
}

/// Two machines, on which processes of both applications are: messages to several go over the
/// network once for each machine.
#[test]
fn processes_of_one_application_on_several_hosts() {
    let Some(net) = Net::make("qx", 1) else {
        eprintln!("skipped: network namespaces need root and iproute2");
        return;
    };
    for (name, losses) in [("groups", false), ("random", true)] {
        let source = source(name);
        let hosts: Vec<(&str, String)> = net.hosts();
        if losses && !net.lose(2) {
            eprintln!("skipped: losing datagrams needs nftables");
            continue;
        }
        let list = format!("{}:3,{}:2", hosts[0].0, hosts[1].0);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", hosts[0].0]).arg(artifacts().join("lapirun"));
        command.args(["-H", &list, "--remote", "ip netns exec {host}", "--address", &hosts[0].1]);
        command.arg(compile(&source)).env("LAPIS_TRANSPORT_PATH", artifacts());
        command.env("LAPIS_TRANSPORT", "shm,udp").env("LAPIS_LOG", "warn,lapis::qnix=info");
        let applications = setting(&source, "env: QX_APPLICATIONS=").expect("two applications");
        let done = lapis_testing::run({
            command.env("QX_APPLICATIONS", applications);
            command
        })
        .expect(0);
        // Each of the five says so.
        assert_eq!(done.err.matches("one write for all receivers").count(), 5, "{done:?}");
    }
}

#[test]
fn broadcasts_of_one_host_are_written_once() {
    let program = compile(&source("groups"));
    let job = Job::of(5).env("QX_APPLICATIONS", "7:2,3:3").env("LAPIS_LOG", "warn,lapis::qnix=info");
    let says =
        |transport: &str| job.clone().env("LAPIS_TRANSPORT", transport).run(&program).success().stderr();
    assert_eq!(says("shm").matches("one write for all receivers").count(), 5);
    assert_eq!(says("udp").matches("go by messages").count(), 5);
}

#[test]
fn a_process_that_never_comes_is_named() {
    let mut command = Command::new(compile(&source("nobody")));
    command.env("MP_PROCS", "2").env("MP_CHILD", "0").env("LAPIS_INIT_TIMEOUT", "1");
    command.env("MP_PARTITION", format!("qnix-nobody-{}", std::process::id()));
    let done = lapis_testing::run(command).expect(0);
    assert!(done.err.contains("task 1 (never connected)"), "{done:?}");
}

fn example(name: &str, tasks: u32, env: &[(&str, &str)]) {
    let source = Path::new(BINDING).join("../../examples/qnix").join(format!("{name}.c"));
    let program = compile(&source);
    let expected = std::fs::read_to_string(source.with_extension("out")).expect("the expected output");
    for transport in transports() {
        let mut job = Job::of(tasks).env("LAPIS_TRANSPORT", transport);
        for (name, value) in env {
            job = job.env(name, value);
        }
        let printed = job.run(&program).success().stdout();
        let text = |line: &str| line.split_once("] ").map_or(line, |(_, text)| text).to_owned();
        let mut lines: Vec<String> = printed.lines().map(text).collect();
        lines.sort();
        assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{name} over {transport}");
    }
}

#[test]
fn examples_print_what_they_should() {
    example("pingpong", 2, &[]);
    example("alltoall", 4, &[]);
    example("pi", 5, &[("QX_APPLICATIONS", "1:2,2:3")]);
    example("pipeline", 4, &[]);
}

#[test]
fn the_header_says_what_the_library_means() {
    let dir = scratch("constants");
    std::fs::create_dir_all(&dir).expect("the target directory can be written");
    let names = qnix::Error::ALL.iter().map(|error| (error.c_name(), i64::from(error.number())));
    let limits = [
        ("QX_CONTEXTS", qnix::CONTEXTS),
        ("QX_PACKET_SIZE", qnix::PACKET_SIZE),
        ("QX_SHORT_MAX", qnix::SHORT_MAX),
        ("QX_SEND_MAX", qnix::SEND_MAX),
        ("QX_POOL_MAX", qnix::POOL_MAX),
    ];
    let all: Vec<(&str, i64)> = names.chain(limits.map(|(name, value)| (name, value as i64))).collect();
    let header = std::fs::read_to_string(Path::new(BINDING).join("include/qx.h")).expect("the header");
    assert_eq!(header.matches("QX_ERR_").count() - 2, qnix::Error::ALL.len(), "errors of the header");
    let mut text = String::from(
        "#include <qx.h>\n#define MEANS(name, value) typedef char means_##name[(name) == (value) ? 1 : -1];\n",
    );
    for (name, value) in all {
        text += &format!("MEANS({name}, {value})\n");
    }
    // Offsets of the visible structures, as the library lays them out.
    text += "#include <stddef.h>\n";
    for (field, offset) in
        [("page_size", 16), ("buffer_pool", 24), ("send_doorbell", 32), ("receive_doorbell", 288)]
    {
        text += &format!("typedef char at_{field}[offsetof(qx_hps_t, {field}) == {offset} ? 1 : -1];\n");
    }
    text += "typedef char context_size[sizeof(qx_context_t) == 40 ? 1 : -1];\n";
    std::fs::write(dir.join("constants.c"), text).expect("the file can be written");
    for (compiler, standard) in
        [("cc", "-std=c89"), ("cc", "-std=gnu17"), ("c++", "-std=c++98"), ("c++", "-std=c++17")]
    {
        let mut command = Command::new(compiler);
        command
            .args([standard, "-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
            .arg(format!("-I{BINDING}/include"));
        if compiler == "c++" {
            command.args(["-x", "c++"]);
        }
        checked(command.arg(dir.join("constants.c")));
    }
}

/// Whatever the header declares is exported, and nothing else is.
#[test]
fn the_library_has_the_calls_of_the_header() {
    let header = std::fs::read_to_string(Path::new(BINDING).join("include/qx.h")).expect("the header");
    let symbols = checked(
        Command::new("nm").args(["-D", "--defined-only"]).arg(lapis_testing::built().join("libqnix.so")),
    );
    let mut exported: Vec<&str> = symbols.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    let prototype = |line: &'static str| {
        let (head, _) = line.split_once('(').filter(|_| !line.starts_with(['#', ' ', '/']))?;
        Some(head.rsplit([' ', '*']).next().unwrap_or(head))
    };
    let mut declared: Vec<&str> = String::leak(header).lines().filter_map(prototype).collect();
    exported.sort_unstable();
    declared.sort_unstable();
    assert_eq!(exported, declared);
}
