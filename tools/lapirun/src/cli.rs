//! The command line of `lapirun`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser};
use lapis_core::bootstrap::MAX_TASKS;

use crate::allocation;
use crate::fault::Fault;
use crate::hosts::{self, Host};
use crate::job::{Binding, Input, JobSpec, Output, Part, SSH, variables};
use crate::output::tell;
use crate::tree;

const AFTER: &str = "\
Environment of the tasks: LAPIS_KVS, LAPIS_JOB_ID, LAPIS_JOB_SECRET, LAPIS_TASK and LAPIS_TASKS describe the job; MP_CHILD, \
MP_PROCS, MP_PARTITION and MP_COMMON_TASKS do so in the terms of the LAPI guide. A task that --restart has restarted finds how many times in LAPIS_JOB_RESTARTS. MP_MSG_API=lapi and LAPI_USE_SHM=yes are set \
unless you set them (a program started by hand has LAPI_USE_SHM=no, as the guide says).

Exit code: that of the first task that failed (128 + signal if one killed it); 124 after --timeout; 126 if the program cannot be \
run, 127 if it is not found; 2 for a wrong command line.

On other machines the tasks get the variables LAPIS_*, LAPI_* and MP_* of this one and those given with -x (`-x 'OMP_*'`), and start in the same \
folder, which must exist there, as must lapirun at the same path. The standard input goes there, too: --stdin none leaves it \
to what comes after lapirun in a script.

Signals INT, TERM, HUP, QUIT and USR2 go to all tasks and what they have started; a second INT, TERM or QUIT kills. USR1 calls the roll: lapirun says what each task does and who waits for whom, on its standard error; a task that hangs is seen as well, for tasks are looked at from outside.";

/// Starts the tasks of a Lapis job, on this machine or on others, and ends them all together.
#[derive(Debug, Parser)]
#[command(name = "lapirun", version, after_help = AFTER, disable_help_subcommand = true)]
struct Cli {
    /// Number of tasks [default with hosts or in a batch system's allocation: as many as they have
    /// room for].
    #[arg(short = 'n', long = "tasks", value_name = "N", value_parser = number_of_tasks)]
    tasks: Option<u32>,

    /// Sets a variable for the tasks, or passes on a variable that must be set, or, with a star in
    /// the name, all that match.
    #[arg(short = 'x', long = "export", value_name = "VAR[=VALUE]|PATTERN")]
    export: Vec<String>,

    /// Where tasks may run: on a core each, on the cores that share a cache or a memory, or
    /// anywhere [default: LAPIS_BIND, or none].
    #[arg(long, value_enum)]
    bind: Option<Binding>,

    /// Folder of the tasks [default: that of lapirun].
    #[arg(long, value_name = "FOLDER")]
    wdir: Option<PathBuf>,

    /// The tasks that read the standard input: a task's number, all, or none.
    #[arg(long, value_name = "TASK", value_parser = input, default_value = "0")]
    stdin: Input,

    /// File for the output of a task, instead of lapirun's own output; %t stands for the task's
    /// number.
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with = "tag_output")]
    output: Option<String>,

    /// Begins each line of output with the task's number.
    #[arg(long)]
    tag_output: bool,

    /// Checks the tasks at this interval, in seconds, and shows which task waits for which when one
    /// has waited for that long.
    #[arg(long, value_name = "S", value_parser = interval)]
    watch: Option<Duration>,

    /// Ends the job after this many seconds.
    #[arg(long, value_name = "S", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Seconds between SIGTERM and SIGKILL when the job is ended.
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "2")]
    grace: Duration,

    /// Restarts tasks that fail, up to this many times in all. See LAPI_Purge_totask and
    /// LAPI_Resume_totask.
    #[arg(long, value_name = "N", default_value_t = 0)]
    restart: u32,

    /// Lets the other tasks continue when one has failed; the exit code is still that of the first
    /// one that failed.
    #[arg(long)]
    keep_going: bool,

    /// Shows where each task would be started, without starting any.
    #[arg(long)]
    dry_run: bool,

    /// Shows what is started.
    #[arg(short, long)]
    verbose: bool,

    /// Machines to run on, each with its number of tasks (default 1).
    #[arg(short = 'H', long, value_name = "HOST[:N],…", conflicts_with = "hostfile")]
    hosts: Option<String>,

    /// File with a machine on each line: HOST, HOST:N or HOST slots=N.
    #[arg(long, value_name = "FILE")]
    hostfile: Option<PathBuf>,

    /// Tasks on each machine, overriding the list.
    #[arg(long, value_name = "N", value_parser = number_of_tasks)]
    ppn: Option<u32>,

    /// Whether tasks fill one machine after the other, or are dealt to each in turn.
    #[arg(long, value_enum, default_value = "slot")]
    map_by: MapBy,

    /// Command that runs a program on a machine; {host} stands for its name. Words are split at
    /// blanks [default: ssh -x -o BatchMode=yes {host}, in an allocation the batch system's].
    #[arg(long, value_name = "COMMAND", env = "LAPIS_REMOTE")]
    remote: Option<String>,

    /// The number of machines that each machine, including this one, starts at most: in larger
    /// jobs, running machines start others. The remote command must then work from each of them.
    #[arg(long, value_name = "N", value_parser = number_of_machines, default_value_t = tree::FAN_OUT)]
    fan_out: u32,

    /// Name or number under which the other machines reach this one [default: its host name].
    #[arg(long, value_name = "HOST")]
    address: Option<String>,

    /// Used by a launcher on another machine: reads its orders from the standard input.
    #[arg(long, hide = true)]
    agent: bool,

    /// The program and its arguments. Several programs are one job: `-n 2 ocean in.nml : -n 6 air`.
    #[arg(required_unless_present = "agent", trailing_var_arg = true, value_name = "PROGRAM [ARGS]")]
    program: Vec<OsString>,
}

/// How tasks are distributed over machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum MapBy {
    /// One machine after the other is filled.
    Slot,
    /// Each machine gets a task in turn.
    Node,
}

fn input(text: &str) -> Result<Input, String> {
    match text {
        "all" => Ok(Input::All),
        "none" => Ok(Input::None),
        number => {
            number.parse().map(Input::Task).map_err(|_| "a task's number, all or none is expected".into())
        }
    }
}

/// Cuts the command line at each `:` that begins another program of the job: `: -n N PROGRAM ARGS`.
fn parts(words: Vec<OsString>, first: Option<u32>) -> Result<Vec<Part>, Fault> {
    let begins =
        |at: usize| words[at] == ":" && words.get(at + 1).is_some_and(|w| w == "-n" || w == "--tasks");
    let cuts: Vec<usize> = (0..words.len()).filter(|at| begins(*at)).collect();
    let part = |words: &[OsString], tasks| {
        let mut words = words.iter().cloned();
        Part { program: words.next().unwrap_or_default(), args: words.collect(), tasks }
    };
    let Some(&end) = cuts.first() else { return Ok(vec![part(&words, first.unwrap_or(0))]) };
    let tasks = first.ok_or_else(|| Fault::Usage("several programs need -n N before each".into()))?;
    let mut all = vec![part(&words[..end], tasks)];
    for (&cut, end) in cuts.iter().zip(cuts[1..].iter().copied().chain([words.len()])) {
        let number = words.get(cut + 2).map(|w| w.to_string_lossy().into_owned()).unwrap_or_default();
        let tasks = number_of_tasks(&number)
            .map_err(|e| Fault::Usage(format!("-n {number:?} after a colon: {e}")))?;
        if cut + 3 >= end {
            return Err(Fault::Usage(format!("the program after `: -n {number}` is missing")));
        }
        all.push(part(&words[cut + 3..end], tasks));
    }
    Ok(all)
}

fn number_of_tasks(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n) if (1..=MAX_TASKS).contains(&n) => Ok(n),
        _ => Err(format!("an integer from 1 to {MAX_TASKS} (MAX_TASKS) is expected")),
    }
}

fn number_of_machines(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(n) if n >= 1 => Ok(n),
        _ => Err("an integer from 1 on is expected".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=1e9).contains(&s) => Ok(Duration::from_secs_f64(s)),
        _ => Err("seconds from 0 to 1000000000 are expected".into()),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let wrong = "seconds from 0.1 to 1000000000 are expected".to_owned();
    seconds(text)
        .map_err(|_| wrong.clone())
        .and_then(|s| if s.as_millis() < 100 { Err(wrong) } else { Ok(s) })
}

/// Entry of the `lapirun` command.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.agent {
        return crate::agent::main();
    }
    finish("lapirun", spec(cli).and_then(|spec| crate::run(&spec)))
}

/// The machines that the command line or an allocation gives, and how the latter are reached.
fn machines(cli: &Cli) -> Result<(Vec<Host>, Option<&'static str>), Fault> {
    let mut remote = None;
    let mut hosts = match (&cli.hosts, &cli.hostfile) {
        (Some(list), _) => hosts::from_list(list)?,
        (None, Some(path)) => hosts::from_file(path)?,
        (None, None) => match allocation::current(&|name| std::env::var(name).ok())? {
            Some(found) => {
                remote = found.remote;
                found.hosts
            }
            None => Vec::new(),
        },
    };
    match (cli.ppn, hosts.is_empty()) {
        (Some(_), true) => {
            return Err(Fault::Usage("--ppn needs machines: -H, --hostfile, or an allocation".into()));
        }
        (Some(each), false) => hosts.iter_mut().for_each(|host| host.slots = each),
        (None, _) => {}
    }
    Ok((hosts, remote))
}

fn spec(cli: Cli) -> Result<JobSpec, Fault> {
    let (hosts, remote) = machines(&cli)?;
    let offered = u32::try_from(hosts::places(&hosts)).unwrap_or(u32::MAX);
    if cli.tasks.is_none() && hosts.is_empty() {
        let kind = clap::error::ErrorKind::MissingRequiredArgument;
        Cli::command().error(kind, "the number of tasks is missing: -n N").exit();
    }
    let mut parts = parts(cli.program, cli.tasks)?;
    if let ([only], None) = (&mut parts[..], cli.tasks) {
        only.tasks = offered;
    }
    let tasks = parts.iter().map(|part| part.tasks).fold(0, u32::saturating_add);
    if tasks > MAX_TASKS {
        let reason = format!("the job would have {tasks} tasks, it has at most {MAX_TASKS} (MAX_TASKS)");
        return Err(Fault::Hosts { text: cli.hosts.unwrap_or_default(), reason });
    }
    Ok(JobSpec {
        command: "lapirun",
        tasks,
        parts,
        env: cli.export.iter().map(|text| variables(text)).collect::<Result<Vec<_>, _>>()?.concat(),
        binding: cli.bind.map_or_else(Binding::of_environment, Ok)?,
        tag_output: cli.tag_output,
        input: cli.stdin,
        output: Output::Unordered,
        files: cli.output,
        folder: cli.wdir,
        dry_run: cli.dry_run,
        save_hosts: None,
        roll_call: true,
        watch: cli.watch,
        timeout: cli.timeout,
        grace: cli.grace,
        restarts: cli.restart,
        keep_going: cli.keep_going,
        verbose: cli.verbose,
        hosts,
        by_node: cli.map_by == MapBy::Node,
        remote: cli.remote.unwrap_or_else(|| remote.unwrap_or(SSH).to_owned()),
        fan_out: cli.fan_out,
        address: cli.address,
    })
}

/// Turns a job's result into the command's.
pub(crate) fn finish(command: &str, result: Result<u8, Fault>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(fault) => {
            tell(command, &fault.to_string());
            ExitCode::from(fault.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_manual_says_what_the_help_says() {
        lapis_testing::manual(Cli::command());
    }

    #[test]
    fn options_after_the_program_are_the_programs() {
        let cli = Cli::try_parse_from(["lapirun", "-n", "2", "prog", "-n", "7", "--", "--timeout"]).unwrap();
        assert_eq!(cli.tasks, Some(2));
        assert_eq!(cli.program, ["prog", "-n", "7", "--", "--timeout"]);
    }

    #[test]
    fn unknown_options_before_the_program_are_named() {
        for (line, name) in [
            (&["--bogus", "-n", "2", "true"][..], "--bogus"),
            (&["-n", "2", "--bogus", "true"], "--bogus"),
            (&["-n", "2", "--tag", "true"], "--tag"),
            (&["-n", "2", "-q", "true"], "-q"),
        ] {
            let words = ["lapirun"].iter().chain(line);
            let error = Cli::try_parse_from(words).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(&format!("'{name}'")), "{error}");
        }
        let cli = Cli::try_parse_from(["lapirun", "-n", "2", "--", "--odd", "-x"]).unwrap();
        assert_eq!(cli.program, ["--odd", "-x"]);
    }

    #[test]
    fn several_programs_are_one_job() {
        let cut = |line: &str, first| parts(line.split_whitespace().map(OsString::from).collect(), first);
        let shown = |line: &str, first| {
            let all = cut(line, first).unwrap();
            all.iter()
                .map(|p| format!("{}x{:?}{:?}", p.tasks, p.program, p.args))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(shown("a b : c", Some(2)), r#"2x"a"["b", ":", "c"]"#);
        assert_eq!(shown("a b : -n 3 c -d : --tasks 1 e", Some(2)), r#"2x"a"["b"] 3x"c"["-d"] 1x"e"[]"#);
        for (wrong, first) in
            [("a : -n 0 b", Some(1)), ("a : -n 2", Some(1)), ("a : -n", Some(1)), ("a : -n 2 b", None)]
        {
            assert!(matches!(cut(wrong, first), Err(Fault::Usage(_))), "{wrong}");
        }
    }

    #[test]
    fn wrong_numbers_are_refused_with_the_range() {
        for wrong in ["0", "-1", "16385", "20000", "99999999999999999999", "two", ""] {
            let arg = format!("-n={wrong}");
            let error = Cli::try_parse_from(["lapirun", &arg, "prog"]).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong}");
        }
        let error = Cli::try_parse_from(["lapirun", "-n", "0", "prog"]).unwrap_err().to_string();
        assert!(error.contains("from 1 to 16384 (MAX_TASKS)"), "{error}");
        assert!(Cli::try_parse_from(["lapirun", "-n", "2"]).is_err());
        assert!(Cli::try_parse_from(["lapirun", "-n", "2", "--timeout", "-3", "x"]).is_err());
    }
}
