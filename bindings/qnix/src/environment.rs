//! Reading from the environment the name of this process, and its cluster if the cluster's
//! applications are started separately.
//!
//! | variable | meaning |
//! |---|---|
//! | `QX_APPLICATIONS` | all applications and their sizes, as in `1:3,2:2` |
//! | `QX_CLUSTER` | a name: processes that have the same one meet, whoever started them |
//! | `QX_APPLICATION` | which application this process belongs to, where they are started apart |
//! | `QX_PROCESS` | its number in it, where no launcher gives one |

use crate::error::{Error, Result};
use crate::names::Name;
use lapis_core::bootstrap::{self, Bootstrap, BootstrapError, Options, variables};
use lapis_core::config::Environment;

const APPLICATIONS: &str = "QX_APPLICATIONS";
const CLUSTER: &str = "QX_CLUSTER";
const APPLICATION: &str = "QX_APPLICATION";
const PROCESS: &str = "QX_PROCESS";

/// Sizes of jobs as launchers tell them beside PMIx, whose variables don't.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE"];

/// An application, and how many processes it has.
type Application = (i32, i32);

/// The name that the environment gives this process, and the size of its application.
///
/// # Errors
/// Variables without sense, which a line on standard error names.
pub(crate) fn name() -> Result<(Name, i32)> {
    let environment = Environment::of_process();
    let job = job(&environment)?;
    name_in(&environment, job).map_err(|why| refused(&why))
}

fn refused(why: &str) -> Error {
    tracing::error!(target: "lapis::qnix", "{why}");
    Error::Name
}

/// Number of this task and of all tasks as the launcher, or who started it by hand, says it. The
/// number of all may be unknown.
fn job(environment: &Environment) -> Result<(i32, Option<i32>)> {
    let announced = bootstrap::announcement(&environment.into()).map_err(|error| {
        tracing::error!(target: "lapis::qnix", "qx_whoami: {error}");
        Error::Job
    })?;
    let Some(announced) = announced else { return Ok((0, Some(1))) };
    let size = || SIZES.iter().find_map(|name| environment.get(name)?.trim().parse().ok());
    let tasks = announced.tasks.map(|tasks| tasks as i32).or_else(size);
    Ok((announced.task.unwrap_or(0) as i32, tasks))
}

fn name_in(environment: &Environment, (task, tasks): (i32, Option<i32>)) -> Result<(Name, i32), String> {
    let list = environment.get(APPLICATIONS).map(applications).transpose()?;
    let apart = environment.get(CLUSTER).is_some();
    if !apart {
        if let Some(name) = [APPLICATION, PROCESS].iter().find(|name| environment.get(name).is_some()) {
            return Err(format!(
                "{name} is set and {CLUSTER} is not: applications that are started apart meet by its value"
            ));
        }
        let unknown = || format!("the launcher does not say how many tasks there are: set {APPLICATIONS}");
        let list = match list {
            Some(list) => list,
            None => vec![(1, tasks.ok_or_else(unknown)?)],
        };
        return dealt(&list, task, tasks);
    }
    let list =
        list.ok_or_else(|| format!("{CLUSTER} needs {APPLICATIONS}: all applications of it, as in 1:3,2:2"))?;
    let number = |name: &str| {
        let value = environment.get(name)?;
        Some(value.trim().parse::<i32>().map_err(|_| format!("{name}=`{value}`: a number is expected")))
    };
    let application = number(APPLICATION).ok_or_else(|| {
        format!("{CLUSTER} needs {APPLICATION}: which of those in {APPLICATIONS} this is")
    })??;
    let process = number(PROCESS).unwrap_or(Ok(task))?;
    let name = Name { application, process };
    let (_, size) = place(&list, name)?;
    Ok((name, size))
}

/// The applications of a list such as `1:3,2:2`.
fn applications(text: &str) -> Result<Vec<Application>, String> {
    let number = |text: &str| text.trim().parse::<i32>().ok().filter(|number| *number >= 0);
    let pair = |text: &str| {
        let (application, size) = text.split_once(':')?;
        Some((number(application)?, number(size).filter(|size| *size > 0)?))
    };
    let list: Option<Vec<Application>> = text.split(',').map(pair).collect();
    let once = |list: &Vec<Application>| {
        (1..list.len()).all(|at| list[..at].iter().all(|(other, _)| *other != list[at].0))
    };
    let sum = |list: &Vec<Application>| {
        list.iter().try_fold(0i32, |sum, (_, size)| sum.checked_add(*size)).is_some()
    };
    list.filter(|list| once(list) && sum(list)).ok_or_else(|| {
        format!("{APPLICATIONS}=`{text}`: pairs as in 1:3,2:2 are expected, each application once with the number of its processes")
    })
}

/// Deals the tasks of a job out: `1:3,2:2` makes tasks 0 to 2 application 1, and tasks 3 and 4
/// application 2.
fn dealt(list: &[Application], task: i32, tasks: Option<i32>) -> Result<(Name, i32), String> {
    let sum: i32 = list.iter().map(|(_, size)| size).sum();
    let mut before = 0;
    for (application, size) in list {
        if task < before + size && tasks.is_none_or(|tasks| tasks == sum) {
            return Ok((Name { application: *application, process: task - before }, *size));
        }
        before += size;
    }
    let of = tasks.map_or_else(|| format!("task {task}"), |tasks| format!("{tasks} tasks"));
    Err(format!("{APPLICATIONS} has {sum} processes, and the job has {of}"))
}

/// How many processes of the list come before a process, and the size of its application.
fn place(list: &[Application], name: Name) -> Result<(i32, i32), String> {
    let mut before = 0;
    for (application, size) in list {
        if *application == name.application && (0..*size).contains(&name.process) {
            return Ok((before + name.process, *size));
        }
        before += size;
    }
    Err(format!(
        "process ({}, {}) is none of those that {APPLICATIONS} names",
        name.application, name.process
    ))
}

/// How the process of a name finds the others of its cluster, if its applications are started
/// apart: as tasks do that are started by hand. `None`: the environment's job is the cluster.
///
/// # Errors
/// Variables without sense; others that don't come within LAPIS_INIT_TIMEOUT.
pub(crate) fn cluster(name: Name, size: i32) -> Result<Option<Box<dyn Bootstrap>>> {
    let environment = Environment::of_process();
    let Some(by_hand) =
        by_hand(&environment, name, size).map_err(|why| refused(&format!("qx_init: {why}")))?
    else {
        return Ok(None);
    };
    let failed = |error: BootstrapError| {
        tracing::error!(target: "lapis::qnix", "qx_init: {CLUSTER}: {error}");
        Error::Job
    };
    bootstrap::detect_in(&(&by_hand).into(), &Options::default()).map(Some).map_err(failed)
}

/// The variables of a task started by hand that is this process in its cluster.
fn by_hand(environment: &Environment, name: Name, size: i32) -> Result<Option<Environment>, String> {
    let Some(cluster) = environment.get(CLUSTER) else { return Ok(None) };
    let list = environment.get(APPLICATIONS).unwrap_or_default();
    let list = applications(list)?;
    let (task, listed) = place(&list, name)?;
    if listed != size {
        return Err(format!(
            "application {} has {listed} processes by {APPLICATIONS}, and {size} by its program",
            name.application
        ));
    }
    let tasks: i32 = list.iter().map(|(_, size)| size).sum();
    let mut by_hand = Environment::from_pairs([
        (variables::MP_PARTITION, cluster.to_owned()),
        (variables::MP_CHILD, task.to_string()),
        (variables::MP_PROCS, tasks.to_string()),
    ]);
    // A launcher's secret is that of its own job.
    let own = environment.get(variables::KVS).is_some();
    for kept in [variables::INIT_TIMEOUT, variables::JOB_SECRET] {
        if let Some(value) = environment.get(kept).filter(|_| kept == variables::INIT_TIMEOUT || !own) {
            by_hand.set(kept, value);
        }
    }
    Ok(Some(by_hand))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().copied())
    }

    fn named(application: i32, process: i32, size: i32) -> Result<(Name, i32), String> {
        Ok((Name { application, process }, size))
    }

    #[test]
    fn a_list_deals_tasks_out() {
        let at = |list: &str, task, tasks| name_in(&environment(&[(APPLICATIONS, list)]), (task, tasks));
        assert_eq!(at("1:3,2:2", 2, Some(5)), named(1, 2, 3));
        assert_eq!(at("1:3,2:2", 3, Some(5)), named(2, 0, 2));
        assert_eq!(at("1:3,2:2", 4, None), named(2, 1, 2));
        for bad in ["1:3,2:3", "1:3", "", "x", "1:-3,2:8", "1:3,1:2", "1:0,2:5", "1:2147483647,2:2147483647"]
        {
            assert!(at(bad, 0, Some(5)).is_err(), "{bad}");
        }
        assert!(at("1:3,2:2", 5, None).is_err());
    }

    #[test]
    fn without_a_list_all_tasks_are_application_1() {
        assert_eq!(name_in(&environment(&[]), (3, Some(4))), named(1, 3, 4));
        assert!(name_in(&environment(&[]), (3, None)).is_err());
        assert!(name_in(&environment(&[(APPLICATION, "1")]), (0, Some(1))).is_err());
    }

    #[test]
    fn a_cluster_of_applications_started_apart_has_one_place_for_each_process() {
        let both = [(APPLICATIONS, "7:2,3:3"), (CLUSTER, "night")];
        let with = |more: &[(&str, &str)]| environment(&[&both[..], more].concat());
        assert_eq!(name_in(&with(&[(APPLICATION, "3")]), (1, Some(3))), named(3, 1, 3));
        assert_eq!(name_in(&with(&[(APPLICATION, "3"), (PROCESS, "2")]), (0, Some(1))), named(3, 2, 3));
        for bad in
            [&[][..], &[(APPLICATION, "4")], &[(APPLICATION, "x")], &[(APPLICATION, "7"), (PROCESS, "2")]]
        {
            assert!(name_in(&with(bad), (0, Some(1))).is_err(), "{bad:?}");
        }
        let name = Name { application: 3, process: 1 };
        let found = by_hand(&with(&[("LAPIS_KVS", "unix:@x"), ("LAPIS_JOB_SECRET", "0")]), name, 3);
        let found = found.unwrap_or_else(|e| panic!("{e}")).unwrap_or_default();
        let says = ["MP_CHILD", "MP_PROCS", "MP_PARTITION", "LAPIS_KVS", "LAPIS_JOB_SECRET"]
            .map(|name| found.get(name));
        assert_eq!(says, [Some("3"), Some("5"), Some("night"), None, None]);
        assert!(by_hand(&with(&[]), name, 2).is_err());
        assert!(by_hand(&with(&[]), Name { application: 4, process: 0 }, 1).is_err());
        assert_eq!(by_hand(&environment(&[]), name, 3), Ok(None));
    }
}
