//! The command line of `poe`: the common options of IBM's Parallel Operating Environment,
//! translated.
//!
//! As with the original, options may stand anywhere after the program and are taken out of its
//! arguments; each has a variable MP_… that the option overrides. What Lapis cannot do is refused
//! by name, never ignored.

mod settings;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use lapis_core::bootstrap::MAX_TASKS;

use crate::cli::finish;
use crate::hosts::{self, Host};
use crate::job::{Binding, Input, JobSpec, Output, Part, SSH};
use crate::output::tell;
use settings::{Settings, Taken, USAGE};

pub use settings::PoeError;

/// Entry of the `poe` command.
pub fn main() -> ExitCode {
    if crate::agent::is_meant() {
        return crate::agent::main();
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some("-h" | "-help" | "--help") = words.first().and_then(|w| w.to_str()) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match translate(words, &|name| std::env::var(name).ok()) {
        Ok((spec, idle)) => {
            if !idle.is_empty() {
                tell("poe", &format!("without effect here: {}", idle.join(", ")));
            }
            finish("poe", crate::run(&spec))
        }
        Err(error) => {
            tell("poe", &error.to_string());
            ExitCode::from(2)
        }
    }
}

/// The job that a command line and an environment describe, and what of them has no effect.
pub fn translate(
    words: Vec<OsString>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(JobSpec, Vec<String>), PoeError> {
    let Taken { settings, rest, idle } = Settings::take(words, environment)?;
    Ok((spec(&settings, rest)?, idle))
}

fn spec(settings: &Settings<'_>, rest: Vec<OsString>) -> Result<JobSpec, PoeError> {
    let (tasks, hosts) = places(settings)?;
    let tag_output = settings.choice("MP_LABELIO", &["yes", "no"])? == Some("yes");
    let level = settings.number("MP_INFOLEVEL", 0, 6)?.unwrap_or(0);
    let parts = programs(settings, rest, tasks)?;
    let tasks = parts.iter().map(|part| part.tasks).sum();
    Ok(JobSpec {
        command: "poe",
        tasks,
        parts,
        env: variables(settings, level)?,
        binding: match settings.choice("LAPIS_BIND", &["core", "cache", "numa", "none"])? {
            Some(word) => Binding::from_word(word).unwrap_or(Binding::None),
            None => Binding::None,
        },
        tag_output,
        input: match mode(settings, "MP_STDINMODE", &["all", "none"])? {
            Some(Mode::Word("all")) => Input::All,
            Some(Mode::Word(_)) => Input::None,
            Some(Mode::Task(task)) => Input::Task(task),
            None => Input::Task(0),
        },
        output: match mode(settings, "MP_STDOUTMODE", &["unordered", "ordered"])? {
            Some(Mode::Word("ordered")) => Output::Ordered,
            Some(Mode::Task(task)) => Output::Only(task),
            _ => Output::Unordered,
        },
        files: None,
        folder: None,
        dry_run: false,
        save_hosts: settings.file("MP_SAVEHOSTFILE"),
        roll_call: false,
        watch: None,
        timeout: None,
        grace: Duration::from_secs(2),
        restarts: 0,
        keep_going: false,
        verbose: level >= 2,
        hosts,
        by_node: false,
        fan_out: crate::tree::FAN_OUT,
        remote: (settings.environment)("LAPIS_REMOTE").unwrap_or_else(|| SSH.to_owned()),
        address: None,
    })
}

/// A word or the number of a task.
enum Mode {
    Word(&'static str),
    Task(u32),
}

fn mode(settings: &Settings<'_>, variable: &str, words: &[&'static str]) -> Result<Option<Mode>, PoeError> {
    let Some((origin, value)) = settings.get(variable) else {
        return Ok(None);
    };
    if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(&value)) {
        return Ok(Some(Mode::Word(word)));
    }
    match value.parse() {
        Ok(task) if task < MAX_TASKS => Ok(Some(Mode::Task(task))),
        _ => {
            let expected = format!("{} or a task's number", words.join(", "));
            Err(PoeError::BadValue { origin, value, expected })
        }
    }
}

/// The number of tasks, and the machines; none for this one.
fn places(settings: &Settings<'_>) -> Result<(u32, Vec<Host>), PoeError> {
    let procs = settings.number("MP_PROCS", 1, MAX_TASKS)?;
    let nodes = settings.number("MP_NODES", 1, MAX_TASKS)?;
    let each = settings.number("MP_TASKS_PER_NODE", 1, MAX_TASKS)?;
    let Some(file) = settings.file("MP_HOSTFILE") else {
        if nodes.is_some_and(|n| n > 1) {
            return Err(PoeError::Usage("MP_NODES or -nodes above 1 needs MP_HOSTFILE or -hostfile".into()));
        }
        return Ok((procs.or(each).unwrap_or(1), Vec::new()));
    };
    let listed = hosts::from_file(&file).map_err(|e| PoeError::Usage(e.to_string()))?;
    let hosts = match (nodes, each) {
        // As the file says: a task for each line.
        (None, None) => listed,
        _ => {
            let mut single: Vec<Host> = Vec::new();
            for host in listed {
                if !single.iter().any(|h| h.name == host.name) {
                    single.push(host);
                }
            }
            let used = nodes.map_or(single.len(), |n| n as usize);
            if used > single.len() {
                let (there, shown) = (single.len(), file.display());
                return Err(PoeError::Usage(format!("{used} nodes are wanted and {shown} names {there}")));
            }
            single.truncate(used);
            let each = each.or(procs.map(|p| p.div_ceil(used as u32))).unwrap_or(1);
            single.iter_mut().for_each(|host| host.slots = each);
            single
        }
    };
    let offered = u32::try_from(hosts::places(&hosts)).unwrap_or(MAX_TASKS);
    let tasks = procs.unwrap_or(offered.min(MAX_TASKS));
    let own = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let here = hosts.iter().all(|host| host.name == "localhost" || host.name == own);
    Ok((tasks, if here { Vec::new() } else { hosts }))
}

/// What each task runs.
fn programs(settings: &Settings<'_>, rest: Vec<OsString>, tasks: u32) -> Result<Vec<Part>, PoeError> {
    let several = settings.choice("MP_PGMMODEL", &["spmd", "mpmd"])? == Some("mpmd");
    let file = settings.file("MP_CMDFILE");
    match (several, file) {
        (false, Some(_)) => {
            Err(PoeError::Usage("MP_CMDFILE or -cmdfile goes with MP_PGMMODEL=mpmd or -pgmmodel mpmd".into()))
        }
        (true, None) => {
            Err(PoeError::Usage("mpmd needs the commands of the tasks: MP_CMDFILE or -cmdfile".into()))
        }
        (false, None) => {
            let mut rest = rest.into_iter();
            let program = rest.next().ok_or(PoeError::NoProgram)?;
            Ok(vec![Part { program, args: rest.collect(), tasks }])
        }
        (true, Some(file)) => {
            let text = std::fs::read_to_string(&file)
                .map_err(|e| PoeError::Usage(format!("{}: {e}", file.display())))?;
            let lines =
                text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with(['#', '!', '*']));
            let part = |line: &str| {
                let mut words = line.split_whitespace().map(OsString::from);
                Part { program: words.next().unwrap_or_default(), args: words.collect(), tasks: 1 }
            };
            let parts: Vec<Part> = lines.take(tasks as usize).map(part).collect();
            if parts.len() < tasks as usize {
                let (there, shown) = (parts.len(), file.display());
                return Err(PoeError::Usage(format!(
                    "{shown} has {there} commands and the job {tasks} tasks"
                )));
            }
            Ok(parts)
        }
    }
}

/// What the tasks get beside poe's own environment.
fn variables(settings: &Settings<'_>, level: u32) -> Result<Vec<(OsString, OsString)>, PoeError> {
    let mut env: Vec<(OsString, OsString)> = Vec::new();
    let mut set = |name: &str, value: &str| env.push((name.into(), value.into()));
    if let Some(api) = settings.choice("MP_MSG_API", &["lapi", "lapi,mpi", "mpi,lapi", "mpi_lapi", "mpi"])? {
        set("MP_MSG_API", api);
    }
    if let Some(shared) = settings.choice("MP_SHARED_MEMORY", &["yes", "no"])? {
        set("LAPI_USE_SHM", shared);
    }
    if let Some(library) = settings.choice("MP_EUILIB", &["ip", "us"])? {
        set("MP_EUILIB", library);
    }
    if let Some((_, device)) = settings.get("MP_EUIDEVICE") {
        set("MP_EUIDEVICE", &device);
    }
    set("MP_INFOLEVEL", &level.to_string());
    Ok(env)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, environment: &[(&str, &str)]) -> Result<JobSpec, PoeError> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let find = |name: &str| environment.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).to_owned());
        translate(words, &find).map(|(spec, _)| spec)
    }

    #[test]
    fn options_are_taken_out_of_the_programs_arguments() {
        let spec =
            parse("prog -a -procs 4 b -labelio yes -infolevel 2 -shared_memory no -- -procs 9", &[]).unwrap();
        assert_eq!((spec.tasks, spec.tag_output, spec.verbose), (4, true, true));
        assert_eq!(spec.parts[0].program, "prog");
        assert_eq!(spec.parts[0].args, ["-a", "b", "-procs", "9"]);
        assert!(spec.env.contains(&("LAPI_USE_SHM".into(), "no".into())));
    }

    #[test]
    fn the_manual_names_the_options_of_the_help() {
        lapis_testing::manual_by_hand("poe", USAGE);
    }

    #[test]
    fn options_override_variables() {
        let environment = [("MP_PROCS", "3"), ("MP_LABELIO", "YES"), ("MP_HOSTFILE", "NULL")];
        let spec = parse("prog", &environment).unwrap();
        assert_eq!((spec.tasks, spec.tag_output), (3, true));
        let spec = parse("prog -procs 5 -labelio no", &environment).unwrap();
        assert_eq!((spec.tasks, spec.tag_output), (5, false));
        assert_eq!(parse("prog", &[]).unwrap().tasks, 1);
    }

    #[test]
    fn wrong_command_lines_are_named() {
        for (line, parts) in [
            ("", vec!["program is missing"]),
            ("-procs 4", vec!["program is missing"]),
            ("-frobnicate prog", vec!["-frobnicate", "--help"]),
            ("prog -procs", vec!["-procs", "value"]),
            ("prog -procs 0", vec!["-procs", "\"0\"", "1 to 16384"]),
            ("prog -procs many", vec!["-procs", "many"]),
            ("prog -labelio maybe", vec!["-labelio", "maybe", "yes or no"]),
            ("prog -hostfile /nonexistent/hosts", vec!["/nonexistent/hosts"]),
            ("prog -nodes 2", vec!["-nodes", "-hostfile"]),
            ("prog -pgmmodel mpmd", vec!["mpmd", "-cmdfile"]),
            ("prog -cmdfile c", vec!["-cmdfile", "mpmd"]),
            ("prog -stdoutmode maybe", vec!["-stdoutmode", "maybe", "ordered"]),
            ("prog -newjob yes", vec!["-newjob", "one step"]),
            ("prog -msg_api smoke", vec!["-msg_api", "smoke", "mpi_lapi"]),
            ("prog -infolevel 7", vec!["-infolevel", "0 to 6"]),
        ] {
            let error = parse(line, &[]).unwrap_err().to_string();
            for part in parts {
                assert!(error.contains(part), "{line}: {part} missing in {error}");
            }
        }
        let error = parse("prog", &[("MP_LLFILE", "h.list")]).unwrap_err().to_string();
        assert!(error.contains("MP_LLFILE=h.list"), "{error}");
        let error = parse("prog", &[("MP_PROCS", "-2")]).unwrap_err().to_string();
        assert!(error.contains("MP_PROCS") && error.contains("-2"), "{error}");
    }

    #[test]
    fn machines_come_from_the_host_file() {
        let file = std::env::temp_dir().join(format!("poe-hosts-{}", std::process::id()));
        std::fs::write(&file, "a\na\nb\nc\n").unwrap();
        let name = file.to_str().unwrap();
        let place = |line: &str| {
            let spec = parse(&format!("prog -hostfile {name} {line}"), &[]).unwrap();
            let hosts: Vec<String> = spec.hosts.iter().map(|h| format!("{}:{}", h.name, h.slots)).collect();
            format!("{} {}", spec.tasks, hosts.join(","))
        };
        assert_eq!(place(""), "4 a:1,a:1,b:1,c:1");
        assert_eq!(place("-procs 3"), "3 a:1,a:1,b:1,c:1");
        assert_eq!(place("-nodes 2 -tasks_per_node 3"), "6 a:3,b:3");
        assert_eq!(place("-nodes 2 -procs 5"), "5 a:3,b:3");
        assert_eq!(place("-tasks_per_node 2"), "6 a:2,b:2,c:2");
        assert!(parse(&format!("prog -hostfile {name} -nodes 4"), &[]).is_err());
        let by_variables = [("MP_HOSTFILE", name), ("MP_NODES", "2"), ("MP_TASKS_PER_NODE", "3")];
        let spec = parse("prog", &by_variables).unwrap();
        assert_eq!((spec.tasks, spec.hosts.len(), spec.hosts[0].slots), (6, 2, 3));
        std::fs::write(&file, "localhost\nlocalhost\n").unwrap();
        assert_eq!(place(""), "2 ");
        std::fs::write(&file, "a.out -x 1\n# no\nb.out\n").unwrap();
        let several = parse(&format!("-pgmmodel mpmd -cmdfile {name} -procs 2"), &[]).unwrap();
        assert_eq!(several.parts.iter().map(|p| p.program.clone()).collect::<Vec<_>>(), ["a.out", "b.out"]);
        assert!(parse(&format!("-pgmmodel mpmd -cmdfile {name} -procs 3"), &[]).is_err());
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn what_means_nothing_is_taken_and_named() {
        let words = "prog -resd yes a -pulse 10".split_whitespace().map(OsString::from).collect();
        let (spec, idle) = translate(words, &|name| (name == "MP_RMPOOL").then(|| "1".to_owned())).unwrap();
        assert_eq!(spec.parts[0].args, ["a"]);
        assert_eq!(idle, ["-resd yes", "-pulse 10", "MP_RMPOOL=1"]);
    }

    #[test]
    fn modes_are_words_or_tasks() {
        let spec = parse("p -stdoutmode 3 -stdinmode all", &[]).unwrap();
        assert_eq!((spec.output, spec.input), (Output::Only(3), Input::All));
        let spec = parse("p", &[("MP_STDOUTMODE", "ORDERED"), ("MP_STDINMODE", "none")]).unwrap();
        assert_eq!((spec.output, spec.input), (Output::Ordered, Input::None));
    }
}
