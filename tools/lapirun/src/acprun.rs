//! The command line of `acprun`, which starts programs that use Advanced Communication Primitives:
//! the options of ACP's own `acprun`, translated.
//!
//! Short options stand before the program; those that begin with `--acp-` may stand anywhere, and
//! any other word that begins so is an error, as ACP's specification has it. What `acp_init` has to
//! know is added to the program's arguments.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use lapis_core::bootstrap::{MAX_TASKS, MOST_MEMORY};

use crate::cli::finish;
use crate::hosts::{self, Host};
use crate::job::{Input, JobSpec, SSH};
use crate::output::tell;

const USAGE: &str = "\
Usage: acprun [OPTIONS] PROGRAM [ARGS]

Starts a program that uses Advanced Communication Primitives (ACP).
  -np, -n N                   --acp-nprocs=N               number of processes (1)
  -nodefile, -machinefile F   --acp-nodefile=F             a machine in each line, for a process each
  -host, -node H1,H2          --acp-host=H1,H2             machines, instead of a file
  -envnet, -net, -ndev NET    --acp-envnet=NET             the network between machines: udp or ib
  -ssh, -rsh, -remoteshell C  --acp-remoteshell=C          the command that reaches a machine
  -address ADDR               --acp-address=ADDR           where other machines reach this one (its host name)
  -startermemsize N           --acp-startermemsize=N       bytes of each process's starter memory (4096)
  -startermemsize-dl N        --acp-startermemsize-dl=N    bytes that acp_malloc has of each process (256 MiB)
  -startermemsize-cl N        --acp-startermemsize-cl=N    bytes for channels within a host (8 MiB)
  -debug                      --acp-debug                  say what is started
  -v, -version                --acp-version                the version
  -h, -help                   --acp-help                   this text

The options that begin with --acp- may stand among the program's arguments, too. Every other word that begins so is an error.
lapirun has further options, and starts ACP's programs as well: see lapirun --help.";

/// What options mean, their names before the program, and the ends of their names after `--acp-`.
const OPTIONS: &[(Meaning, &[&str], &[&str])] = &[
    (Meaning::Processes, &["-n", "-np"], &["n", "np", "nprocs"]),
    (Meaning::File, &["-nodefile", "-machinefile"], &["nodefile", "machinefile"]),
    (Meaning::Hosts, &["-host", "-node"], &["host", "node"]),
    (Meaning::Network, &["-net", "-ndev", "-envnet"], &["net", "ndev", "envnet"]),
    (Meaning::Remote, &["-rsh", "-ssh", "-remoteshell"], &["rsh", "ssh", "remoteshell"]),
    (Meaning::Address, &["-address"], &["address"]),
    (Meaning::Size(""), &["-smemsize", "-startermemsize"], &["smemsize", "startermemsize"]),
    (Meaning::Size("-cl"), &["-smemsize-cl", "-startermemsize-cl"], &["smemsize-cl", "startermemsize-cl"]),
    (Meaning::Size("-dl"), &["-smemsize-dl", "-startermemsize-dl"], &["smemsize-dl", "startermemsize-dl"]),
    (Meaning::Debug, &["-debug"], &["debug"]),
    (Meaning::Version, &["-v", "-version"], &["version"]),
    (Meaning::Help, &["-h", "-help", "--help"], &["help"]),
];

/// Options of the original's that mean nothing here, and why.
const REFUSED: &[(&str, &str)] = &[
    ("multirun", "several jobs are not joined into one; start one job of several programs with lapirun"),
    ("portfile", "ports are found without a file"),
    ("offsetrank", "ranks begin with 0"),
];

const LONG: &str = "--acp-";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Processes,
    File,
    Hosts,
    Network,
    Remote,
    Address,
    /// Of which memory.
    Size(&'static str),
    Debug,
    Version,
    Help,
}

impl Meaning {
    fn has_value(self) -> bool {
        !matches!(self, Self::Debug | Self::Version | Self::Help)
    }
}

/// Why a command line is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcprunError {
    /// The program is missing.
    #[error("the program is missing: acprun [OPTIONS] PROGRAM [ARGS], see acprun --help")]
    NoProgram,
    /// An option that there is not.
    #[error("unknown option {0:?}; see acprun --help")]
    Unknown(String),
    /// An option without its value.
    #[error("option {0} needs a value")]
    NoValue(String),
    /// An option of the original's that has no meaning here.
    #[error("option {option} is not taken: {why}")]
    Meaningless {
        /// The option.
        option: String,
        /// What takes its place.
        why: &'static str,
    },
    /// A value that can't be used.
    #[error("{option} {value:?}: {expected}")]
    BadValue {
        /// The option.
        option: String,
        /// What was given.
        value: String,
        /// What is accepted.
        expected: String,
    },
}

/// What a command line asks for.
#[derive(Debug)]
pub enum Wish {
    /// A job.
    Job(Box<JobSpec>),
    /// The text of `--help`.
    Help,
    /// The version.
    Version,
}

/// Entry of the `acprun` command.
pub fn main() -> ExitCode {
    if crate::agent::is_meant() {
        return crate::agent::main();
    }
    match translate(std::env::args_os().skip(1).collect(), &|name| std::env::var(name).ok()) {
        Ok(Wish::Job(spec)) => finish("acprun", crate::run(&spec)),
        Ok(Wish::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Wish::Version) => {
            println!("acprun (Lapis) {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            tell("acprun", &error.to_string());
            ExitCode::from(2)
        }
    }
}

#[derive(Default)]
struct Line {
    processes: Option<u32>,
    hosts: Vec<Host>,
    network: Option<&'static str>,
    remote: Option<String>,
    address: Option<String>,
    /// For acp_init.
    sizes: Vec<OsString>,
    verbose: bool,
    other: Option<Meaning>,
    words: Vec<OsString>,
}

/// The job that a command line and an environment describe.
///
/// # Errors
/// An option that is unknown or lacks its value; no program.
pub fn translate(
    words: Vec<OsString>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Wish, AcprunError> {
    let mut line = Line::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        if let Some(long) = text.strip_prefix(LONG) {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            let found = OPTIONS.iter().find(|(_, _, names)| names.contains(&name)).map(|found| found.0);
            let meaning = found.ok_or_else(|| unknown(&text, name))?;
            line.take(meaning, &format!("{LONG}{name}"), value)?;
        } else if line.words.is_empty() && text.starts_with('-') {
            let found = OPTIONS.iter().find(|(_, names, _)| names.contains(&text.as_str()));
            let meaning = found.map(|found| found.0).ok_or_else(|| unknown(&text, text.trim_matches('-')))?;
            let value = if meaning.has_value() { words.next() } else { None };
            line.take(meaning, &text, value.map(|value| value.to_string_lossy().into_owned()))?;
        } else {
            line.words.push(word);
        }
    }
    match line.other {
        Some(Meaning::Help) => Ok(Wish::Help),
        Some(_) => Ok(Wish::Version),
        None => line.job(environment).map(|job| Wish::Job(Box::new(job))),
    }
}

fn unknown(option: &str, name: &str) -> AcprunError {
    match REFUSED.iter().find(|(refused, _)| *refused == name) {
        Some((_, why)) => AcprunError::Meaningless { option: option.to_owned(), why },
        None => AcprunError::Unknown(option.to_owned()),
    }
}

impl Line {
    fn take(&mut self, meaning: Meaning, option: &str, value: Option<String>) -> Result<(), AcprunError> {
        if !meaning.has_value() {
            match meaning {
                Meaning::Debug => self.verbose = true,
                _ => self.other = Some(meaning),
            }
            return Ok(());
        }
        let missing = || AcprunError::NoValue(option.to_owned());
        let value = value.filter(|value| !value.is_empty()).ok_or_else(missing)?;
        let bad = |expected: String| AcprunError::BadValue {
            option: option.to_owned(),
            value: value.clone(),
            expected,
        };
        match meaning {
            Meaning::Processes => {
                let number = value.parse().ok().filter(|n| (1..=MAX_TASKS).contains(n));
                self.processes =
                    Some(number.ok_or_else(|| bad(format!("a number from 1 to {MAX_TASKS} is expected")))?);
            }
            Meaning::File => {
                self.hosts = hosts::from_file(Path::new(&value)).map_err(|e| bad(e.to_string()))?;
            }
            Meaning::Hosts => self.hosts = hosts::from_list(&value).map_err(|e| bad(e.to_string()))?,
            // Processes of one machine use its memory in any case.
            Meaning::Network => {
                self.network = Some(match value.to_lowercase().as_str() {
                    "udp" => "shm,udp",
                    "ib" | "infiniband" => "shm,rdma",
                    _ => return Err(bad("udp or ib is expected".to_owned())),
                });
            }
            Meaning::Remote => self.remote = Some(value),
            Meaning::Address => self.address = Some(value),
            Meaning::Size(of) => {
                let bytes = value.parse().ok().filter(|bytes| (1..=MOST_MEMORY).contains(bytes));
                let expected = || bad(format!("a number of bytes from 1 to {MOST_MEMORY} is expected"));
                let bytes = bytes.ok_or_else(expected)?;
                self.sizes.push(format!("{LONG}startermemsize{of}={bytes}").into());
            }
            Meaning::Debug | Meaning::Version | Meaning::Help => {}
        }
        Ok(())
    }

    fn job(self, environment: &dyn Fn(&str) -> Option<String>) -> Result<JobSpec, AcprunError> {
        let mut words = self.words.into_iter();
        let program = words.next().ok_or(AcprunError::NoProgram)?;
        let tasks = self.processes.unwrap_or(1);
        let mut hosts = self.hosts;
        let offered = hosts::places(&hosts);
        if offered < u64::from(tasks) && !hosts.is_empty() {
            let each = tasks.div_ceil(hosts.len() as u32);
            hosts.iter_mut().for_each(|host| host.slots = each);
        }
        let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
        if hosts.iter().all(|host| host.name == "localhost" || host.name == own) {
            hosts.clear();
        }
        // Whoever names transports has reasons to.
        let network = self.network.filter(|_| environment("LAPIS_TRANSPORT").is_none());
        let env = network.into_iter().map(|list| ("LAPIS_TRANSPORT".into(), list.into())).collect();
        // ssh alone: the machine's name follows it.
        let remote = self.remote.map(|c| if c.contains("{host}") { c } else { format!("{c} {{host}}") });
        Ok(JobSpec {
            env,
            input: Input::Task(0),
            verbose: self.verbose,
            hosts,
            remote: remote.or_else(|| environment("LAPIS_REMOTE")).unwrap_or_else(|| SSH.to_owned()),
            address: self.address,
            ..JobSpec::here("acprun", tasks, program, words.chain(self.sizes).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<JobSpec, AcprunError> {
        let words = line.split_whitespace().map(OsString::from).collect();
        match translate(words, &|_| None)? {
            Wish::Job(spec) => Ok(*spec),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn long_options_may_stand_anywhere_and_short_ones_before_the_program() {
        let spec = parse("-np 3 -envnet udp prog -a --acp-startermemsize=99 -np --acp-debug b").unwrap();
        assert_eq!((spec.tasks, spec.verbose), (3, true));
        assert_eq!(spec.parts[0].program, "prog");
        assert_eq!(spec.parts[0].args, ["-a", "-np", "b", "--acp-startermemsize=99"]);
        assert_eq!(spec.env, [("LAPIS_TRANSPORT".into(), "shm,udp".into())]);
        assert_eq!(parse("--acp-nprocs=4 prog").unwrap().tasks, 4);
        assert_eq!(parse("prog").unwrap().tasks, 1);
    }

    #[test]
    fn machines_take_as_many_processes_as_are_wanted() {
        let spec = parse("-np 5 -host a,b prog").unwrap();
        assert_eq!(spec.hosts, [Host { name: "a".into(), slots: 3 }, Host { name: "b".into(), slots: 3 }]);
        assert!(parse("-np 5 -host localhost prog").unwrap().hosts.is_empty());
        assert_eq!(parse("-host a -ssh rsh prog").unwrap().remote, "rsh {host}");
        for line in ["-host a -address 10.0.0.1 prog", "-host a prog --acp-address=10.0.0.1"] {
            assert_eq!(parse(line).unwrap().address.as_deref(), Some("10.0.0.1"), "{line}");
        }
    }

    #[test]
    fn wrong_command_lines_are_named() {
        for (line, parts) in [
            ("", ["program is missing", "acprun"]),
            ("-frobnicate prog", ["-frobnicate", "--help"]),
            ("prog --acp-other", ["--acp-other", "--help"]),
            ("-multirun prog", ["option -multirun is not taken", "lapirun"]),
            ("-np", ["-np", "value"]),
            ("-np 0 prog", ["-np", "1 to"]),
            ("--acp-nprocs prog", ["--acp-nprocs", "value"]),
            ("-envnet tofu prog", ["tofu", "udp or ib"]),
            ("--acp-envnet=tofu prog", ["--acp-envnet \"tofu\"", "udp or ib"]),
            ("-startermemsize 99999999999999 prog", ["99999999999999", "bytes from 1 to 17592186044415"]),
            ("-startermemsize x prog", ["\"x\"", "bytes"]),
            ("-nodefile /nonexistent/hosts prog", ["/nonexistent/hosts", "-nodefile"]),
        ] {
            let said = parse(line).unwrap_err().to_string();
            assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
        }
    }

    #[test]
    fn help_and_version_start_nothing() {
        for line in ["-h", "--help", "--acp-help", "prog --acp-help"] {
            let words = line.split_whitespace().map(OsString::from).collect();
            assert!(matches!(translate(words, &|_| None), Ok(Wish::Help)), "{line}");
        }
        assert!(matches!(translate(vec!["-v".into()], &|_| None), Ok(Wish::Version)));
    }

    #[test]
    fn the_manual_names_the_options_of_the_help() {
        lapis_testing::manual_by_hand("acprun", USAGE);
    }
}
