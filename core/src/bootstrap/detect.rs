//! Which kind of job the environment describes.

use super::client::{Client, Membership};
use super::environment::{Environment, bad};
use super::error::BootstrapError;
use super::options::Options;
use super::protocol::{MAX_TASKS, Scheme};
use super::singleton::Singleton;
use super::{Address, Bootstrap, JobInfo, Origin, foreign, standalone, variables};

/// Joins the job that this process's environment announces.
pub fn detect(options: &Options) -> Result<Box<dyn Bootstrap>, BootstrapError> {
    refuse_elevated()?;
    detect_in(&Environment::process(), options)
}

/// In a set-user-id program no variable counts; that a job was announced to it must not go unsaid,
/// nor become a job of one.
pub(crate) fn refuse_elevated() -> Result<(), BootstrapError> {
    const NAMES: [&str; 7] = [
        variables::KVS,
        variables::TASKS,
        "PMIX_NAMESPACE",
        "PMI_FD",
        "PMI_PORT",
        variables::MP_PROCS,
        variables::MP_CHILD,
    ];
    if !crate::config::elevated() {
        return Ok(());
    }
    match NAMES.iter().find(|name| std::env::var_os(name).is_some()) {
        None => Ok(()),
        Some(name) => Err(BootstrapError::NoService {
            announced: format!("a job by {name}"),
            remedy:
                "this program has more rights than whoever started it (set-user-id, set-group-id or file \
                     capabilities), so no variable counts; start a program without them"
                    .into(),
        }),
    }
}

/// Joins the job that `environment` announces.
pub fn detect_in(environment: &Environment, options: &Options) -> Result<Box<dyn Bootstrap>, BootstrapError> {
    let mut options = options.clone();
    if options.patience.is_none() {
        options.patience = environment.seconds(variables::INIT_TIMEOUT)?;
    }
    for source in SOURCES {
        if let Some(job) = (source.join)(environment, &options)? {
            tracing::debug!(
                source = source.name,
                job = job.job().id,
                task = job.task(),
                tasks = job.tasks(),
                "joined a job"
            );
            return Ok(job);
        }
    }
    Ok(Box::new(Singleton::new(options.context)?))
}

type Joined = Result<Option<Box<dyn Bootstrap>>, BootstrapError>;

/// One way to learn about a job: `None` if the environment does not speak of it. Both look at
/// variables first, which costs nothing.
struct Source {
    name: &'static str,
    look: fn(&Environment) -> Result<Option<Seen>, BootstrapError>,
    join: fn(&Environment, &Options) -> Joined,
}

/// What the variables say.
#[derive(Default)]
struct Seen {
    task: Option<u32>,
    tasks: Option<u32>,
    /// Which of the source's protocols is spoken, if it has several.
    protocol: Option<&'static str>,
}

impl Seen {
    fn of((task, tasks): (u32, u32)) -> Self {
        Self { task: Some(task), tasks: Some(tasks), protocol: None }
    }
}

/// What the environment says about the job of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Announcement {
    /// Who started the tasks, or how they are joined; of PMI, which version is spoken.
    pub source: &'static str,
    /// Number of this task, if a variable says it.
    pub task: Option<u32>,
    /// Number of tasks, if a variable says it.
    pub tasks: Option<u32>,
}

impl Announcement {
    /// Whether the user has described the tasks, and no launcher knows them.
    pub fn is_by_hand(&self) -> bool {
        self.source == BY_HAND
    }
}

/// The way of tasks that the user describes.
const BY_HAND: &str = "tasks started by hand";

/// Names of the ways in which a job is looked for, in that order.
pub fn sources() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|source| source.name)
}

/// The job that `environment` announces, as [`detect_in`] would join it; nothing is joined. `None`:
/// a job of one task.
///
/// # Errors
/// Variables that contradict each other, or that announce several tasks which can't be joined.
pub fn announcement(environment: &Environment) -> Result<Option<Announcement>, BootstrapError> {
    for source in SOURCES {
        if let Some(Seen { task, tasks, protocol }) = (source.look)(environment)? {
            return Ok(Some(Announcement { source: protocol.unwrap_or(source.name), task, tasks }));
        }
    }
    Ok(None)
}

/// The order of detection.
const SOURCES: &[Source] = &[
    Source { name: "lapirun", look: see_launcher, join: from_launcher },
    Source { name: "PMIx", look: |e| see(foreign::announced_by_pmix(e)), join: foreign::from_pmix },
    Source { name: "PMI", look: |e| see(foreign::announced_by_pmi(e)), join: foreign::from_pmi },
    Source {
        name: "a launcher without PMI",
        look: |e| refuse_foreign(e).map(|()| None),
        join: |e, _| refuse_foreign(e).map(|()| None),
    },
    Source { name: BY_HAND, look: see_standalone, join: from_standalone },
];

fn see(
    announced: Result<Option<foreign::Announced>, BootstrapError>,
) -> Result<Option<Seen>, BootstrapError> {
    let several = announced?.filter(|found| found.tasks != Some(1));
    Ok(several.map(|found| Seen { task: found.task, tasks: found.tasks, protocol: Some(found.protocol) }))
}

fn see_launcher(environment: &Environment) -> Result<Option<Seen>, BootstrapError> {
    if environment.get(variables::KVS).is_none() {
        return Ok(None);
    }
    let found = environment.task_of(variables::TASK, variables::TASKS)?;
    Ok(Some(found.map_or_else(Seen::default, Seen::of)))
}

fn see_standalone(environment: &Environment) -> Result<Option<Seen>, BootstrapError> {
    if environment.get(variables::MP_CHILD).is_none()
        && environment.number(variables::MP_PROCS, 1, MAX_TASKS)? == Some(1)
    {
        // MP_PROCS=1 alone is a habit of people who start programs through poe: a job of one task
        // needs no number.
        return Ok(None);
    }
    let found = environment.task_of(variables::MP_CHILD, variables::MP_PROCS)?;
    Ok(found.filter(|(_, tasks)| *tasks > 1).map(Seen::of))
}

fn from_launcher(environment: &Environment, options: &Options) -> Joined {
    let Some(address) = environment.get(variables::KVS) else {
        return match environment.task_of(variables::TASK, variables::TASKS)? {
            // Half of what lapirun sets still announces a job.
            Some((_, tasks)) if tasks > 1 => Err(BootstrapError::MissingVariable {
                present: format!("{}={tasks}", variables::TASKS),
                missing: variables::KVS,
                remedy: "lapirun sets both: pass the whole environment on to the program, or unset LAPIS_TASKS and LAPIS_TASK"
                    .into(),
            }),
            _ => Ok(None),
        };
    };
    let missing = |missing| BootstrapError::MissingVariable {
        present: format!("{}={address}", variables::KVS),
        missing,
        remedy: "lapirun sets both: pass the whole environment on to the program, or unset LAPIS_KVS".into(),
    };
    let parsed: Address = address.parse().map_err(|_| {
        bad(
            variables::KVS,
            address.clone(),
            "unix:@name or tcp:host:port is expected, as lapirun sets it".into(),
        )
    })?;
    let id = environment.get(variables::JOB_ID).ok_or_else(|| missing(variables::JOB_ID))?;
    let secret = environment.secret(variables::JOB_SECRET)?.ok_or_else(|| missing(variables::JOB_SECRET))?;
    let (task, tasks) =
        environment.task_of(variables::TASK, variables::TASKS)?.ok_or_else(|| missing(variables::TASK))?;
    let local_tasks = environment.common_tasks(task, tasks)?;
    let job = JobInfo { id, secret, origin: Origin::Launcher, local_tasks };
    let membership = Membership {
        address: parsed,
        task,
        tasks,
        job,
        scheme: Scheme::Secret,
        patience: options.longest_search(),
    };
    Ok(Some(Box::new(Client::join(membership, options.context)?)))
}

fn from_standalone(environment: &Environment, options: &Options) -> Joined {
    let Some(Seen { task: Some(task), tasks: Some(tasks), .. }) = see_standalone(environment)? else {
        return Ok(None);
    };
    let partition =
        environment.get(variables::MP_PARTITION).ok_or_else(|| BootstrapError::MissingVariable {
            present: format!("{}={tasks}", variables::MP_PROCS),
            missing: variables::MP_PARTITION,
            remedy: format!(
                "set {} to one value for all tasks of the job, or start the program with lapirun or poe",
                variables::MP_PARTITION
            ),
        })?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if partition.is_empty() || partition.len() > 64 || !partition.chars().all(plain) {
        let expected = "1 to 64 letters, digits, dots, dashes or underscores are expected".into();
        return Err(bad(variables::MP_PARTITION, partition, expected));
    }
    let local_tasks = environment.common_tasks(task, tasks)?.or_else(|| Some((0..tasks).collect()));
    let secret = environment.secret(variables::JOB_SECRET)?;
    let partition =
        standalone::Partition::new(&partition, secret, task, tasks, local_tasks, options.longest_search());
    Ok(Some(standalone::join(&partition, options.context)?))
}

/// Variables that tell of several tasks, from launchers that offer this process no way to join
/// them.
const FOREIGN: &[(&str, &str, &str)] = &[
    (
        "PMI_SIZE",
        "a PMI launcher",
        "it left neither PMI_FD nor PMI_PORT: pass the whole environment and the open descriptors on to the program",
    ),
    (
        "OMPI_COMM_WORLD_SIZE",
        "Open MPI's mpirun",
        "it left no PMIX_NAMESPACE: pass the whole environment on to the program",
    ),
    (
        "MV2_COMM_WORLD_SIZE",
        "MVAPICH's mpirun_rsh",
        "its own protocol is not spoken here: start them with MVAPICH's mpiexec, which is hydra's",
    ),
    (
        "JSM_NAMESPACE_SIZE",
        "IBM's jsrun",
        "it left no PMIX_NAMESPACE: pass the whole environment on to the program",
    ),
    (
        "PMIX_SIZE",
        "a PMIx launcher",
        "it left no PMIX_NAMESPACE: pass the whole environment on to the program",
    ),
    (
        "SLURM_STEP_NUM_TASKS",
        "Slurm's srun",
        "srun offers them no way to meet: start them with srun --mpi=pmix or srun --mpi=pmi2 (srun --mpi=list shows what there is)",
    ),
    ("FLUX_JOB_SIZE", "Flux", "it left no PMI_FD: start them with flux run -o pmi=simple"),
];

fn refuse_foreign(environment: &Environment) -> Result<(), BootstrapError> {
    for (name, who, remedy) in FOREIGN {
        let Some(value) = environment.get(name) else { continue };
        if value.trim().parse::<u32>().is_ok_and(|n| n > 1) && !by_hand(environment) {
            return Err(BootstrapError::NoService {
                announced: format!("{value} tasks started by {who} ({name}={value})"),
                remedy: format!(
                    "{remedy}; or start them with lapirun (in the same allocation, if there is one); or unset {name} if each process is a job of its own"
                ),
            });
        }
    }
    Ok(())
}

/// The user has described the tasks himself, however they were started.
fn by_hand(environment: &Environment) -> bool {
    [variables::MP_CHILD, variables::MP_PROCS, variables::MP_PARTITION]
        .iter()
        .all(|name| environment.get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn fails<const N: usize>(pairs: [(&str, &str); N]) -> String {
        fails_within(Options::default().patience(Duration::from_millis(200)), pairs)
    }

    fn fails_within<const N: usize>(options: Options, pairs: [(&str, &str); N]) -> String {
        match detect_in(&Environment::of(pairs), &options) {
            Ok(job) => panic!("{pairs:?} was accepted as {:?}", job.job()),
            Err(error) => error.to_string(),
        }
    }

    #[track_caller]
    fn names(text: &str, parts: &[&str]) {
        for part in parts {
            assert!(text.contains(part), "{part:?} is missing in: {text}");
        }
    }

    #[test]
    fn nothing_set_is_a_job_of_one() {
        for environment in [
            Environment::of([]),
            Environment::of([("MP_PROCS", "1")]),
            Environment::of([("MP_PROCS", "1"), ("MP_CHILD", "0")]),
            Environment::of([("PMI_SIZE", "1")]),
        ] {
            let mut job = detect_in(&environment, &Options::default().context(3)).unwrap();
            assert_eq!((job.task(), job.tasks(), job.context_number()), (0, 1, 3));
            assert_eq!(job.job().origin, Origin::Singleton);
            assert_eq!(job.exchange("k", b"v", Duration::ZERO).unwrap(), vec![b"v".to_vec()]);
            job.fence(Duration::ZERO).unwrap();
            job.put("k", b"w").unwrap();
            assert_eq!(job.get("k", Duration::ZERO).unwrap(), b"w");
            assert!(job.get("other", Duration::MAX).is_err());
            assert!(job.context(1).unwrap().get("k", Duration::ZERO).is_err(), "contexts do not mix");
        }
    }

    #[test]
    fn wrong_numbers_name_variable_value_and_range() {
        names(
            &fails([("MP_CHILD", "4"), ("MP_PROCS", "4"), ("MP_PARTITION", "1")]),
            &["MP_CHILD", "4", "0 to 3"],
        );
        names(&fails([("MP_CHILD", "-1"), ("MP_PROCS", "4")]), &["MP_CHILD", "-1", "0 to 16383"]);
        names(&fails([("MP_CHILD", "0"), ("MP_PROCS", "0")]), &["MP_PROCS", "\"0\"", "1 to 16384"]);
        names(&fails([("MP_CHILD", "0"), ("MP_PROCS", "many")]), &["MP_PROCS", "many", "1 to 16384"]);
        names(&fails([("MP_PROCS", "4")]), &["MP_PROCS=4", "MP_CHILD", "lapirun"]);
        names(&fails([("MP_CHILD", "1")]), &["MP_CHILD=1", "MP_PROCS"]);
        names(&fails([("MP_CHILD", "1"), ("MP_PROCS", "2")]), &["MP_PARTITION", "lapirun"]);
        names(
            &fails([("MP_CHILD", "1"), ("MP_PROCS", "2"), ("MP_PARTITION", "a b")]),
            &["MP_PARTITION", "a b", "64 letters"],
        );
        let soon = fails_within(Options::default(), [("LAPIS_INIT_TIMEOUT", "soon")]);
        names(&soon, &["LAPIS_INIT_TIMEOUT", "soon", "86400"]);
    }

    #[test]
    fn common_tasks_are_checked() {
        let base = [("MP_CHILD", "1"), ("MP_PROCS", "4"), ("MP_PARTITION", "x")];
        for wrong in ["", "3", "3:0:2", "3:0:1:2", "2:0:4", "2:0:0", "x:0"] {
            let [a, b, c] = base;
            names(&fails([a, b, c, ("MP_COMMON_TASKS", wrong)]), &["MP_COMMON_TASKS", "0 to 3"]);
        }
        let environment = Environment::of([("MP_COMMON_TASKS", "3:0:2:3")]);
        assert_eq!(environment.common_tasks(1, 4).unwrap(), Some(vec![0, 1, 2, 3]));
        let environment = Environment::of([("MP_COMMON_TASKS", "0")]);
        assert_eq!(environment.common_tasks(1, 4).unwrap(), Some(vec![1]));
    }

    #[test]
    fn half_a_launcher_environment_is_refused() {
        let kvs = ("LAPIS_KVS", "unix:@lapis-nobody-listens-here");
        names(&fails([kvs]), &["LAPIS_KVS", "LAPIS_JOB_ID"]);
        names(&fails([kvs, ("LAPIS_JOB_ID", "j")]), &["LAPIS_JOB_SECRET"]);
        let secret = ("LAPIS_JOB_SECRET", "00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff");
        names(&fails([kvs, ("LAPIS_JOB_ID", "j"), secret]), &["LAPIS_TASK"]);
        names(
            &fails([kvs, ("LAPIS_JOB_ID", "j"), ("LAPIS_JOB_SECRET", "hush"), ("LAPIS_TASK", "0")]),
            &["LAPIS_JOB_SECRET", "4 characters", "64 hexadecimal"],
        );
        let all = [kvs, ("LAPIS_JOB_ID", "j"), secret, ("LAPIS_TASK", "0"), ("LAPIS_TASKS", "2")];
        names(&fails(all), &["unix:@lapis-nobody-listens-here", "attempts", "lapirun"]);
        names(&fails([("LAPIS_KVS", "carrier pigeon")]), &["carrier pigeon", "unix:@name"]);
    }

    #[test]
    fn a_secret_is_never_shown() {
        let text = fails([
            ("LAPIS_KVS", "unix:@x"),
            ("LAPIS_JOB_ID", "j"),
            ("LAPIS_JOB_SECRET", "almosthexbutnot"),
            ("LAPIS_TASK", "0"),
        ]);
        assert!(!text.contains("almosthex"), "{text}");
        let job = detect_in(&Environment::of([]), &Options::default()).unwrap();
        assert!(!format!("{:?}", job.job()).contains("secret:"));
    }

    #[test]
    fn other_launchers_are_never_taken_for_singletons() {
        names(&fails([("PMI_SIZE", "8")]), &["8 tasks", "PMI_SIZE", "lapirun"]);
        names(&fails([("OMPI_COMM_WORLD_SIZE", "2")]), &["OMPI_COMM_WORLD_SIZE", "lapirun"]);
        names(&fails([("MV2_COMM_WORLD_SIZE", "3")]), &["3 tasks", "mpirun_rsh", "mpiexec"]);
        names(&fails([("JSM_NAMESPACE_SIZE", "6")]), &["6 tasks", "jsrun", "PMIX_NAMESPACE"]);
        names(
            &fails([("SLURM_STEP_NUM_TASKS", "4")]),
            &["4 tasks", "srun --mpi=pmix", "lapirun", "allocation"],
        );
        for (name, ..) in FOREIGN {
            let text = fails([(name, "2")]);
            assert_eq!(text.matches("lapirun").count(), 1, "each remedy once: {text}");
        }
    }
}
