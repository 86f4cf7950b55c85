//! A job whose program knows the addresses of its tasks: they need not meet, and nothing is
//! exchanged. Only the tasks of one machine meet, if they are to use shared memory.
//!
//! LAPI Guide, "Using UDP/IP mode": the user handler or the user list gives every task the
//! addresses of all.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::client::check_sizes;
use super::environment::Environment;
use super::error::BootstrapError;
use super::{Bootstrap, Entry, JobInfo, Origin, standalone, user_secret, variables};

/// What a program knows of its job.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// What tells the job from others.
    pub partition: &'a str,
    /// This task.
    pub task: u32,
    /// How many there are.
    pub tasks: u32,
    /// All addresses are of the loopback interface.
    pub loopback: bool,
    /// The tasks of this machine, including this one, that are to meet; `None`: none.
    pub meet: Option<Vec<u32>>,
    /// Longest wait for those.
    pub patience: Duration,
}

/// A job whose addresses the program knows. An exchange gives the values of the tasks that meet,
/// and the others' as empty; without a meeting, everything that [`Bootstrap`] offers is local.
///
/// The job's secret comes from `LAPIS_JOB_SECRET`. Without it, it follows from a file of the user's
/// if all tasks are on this machine; else from the partition's name, which keeps jobs apart but is
/// no secret, and a warning says so.
///
/// # Errors
/// `LAPIS_JOB_SECRET` holds something else than 64 hexadecimal digits; a task that is to be met
/// doesn't come.
pub fn listed(
    environment: &Environment,
    told: &Told<'_>,
    context: u32,
) -> Result<Box<dyn Bootstrap>, BootstrapError> {
    let &Told { partition, task, tasks, loopback, ref meet, patience } = told;
    let given = environment.secret(variables::JOB_SECRET)?;
    let secret = given.unwrap_or_else(|| own_secret(partition, loopback));
    let common = meet.clone().filter(|common| common.len() > 1);
    let met = match &common {
        None => None,
        Some(common) => {
            let place = common.iter().position(|t| *t == task).unwrap_or_default() as u32;
            let count = common.len() as u32;
            let all = Some((0..count).collect());
            let name = meeting(partition, tasks, common);
            let partition = standalone::Partition::new(&name, given, place, count, all, patience);
            let job = standalone::join(&partition, context)?;
            if job.entry() == Entry::Again {
                tracing::info!("the other tasks of this machine are under way: this one doesn't meet them");
                None
            } else {
                Some(job)
            }
        }
    };
    let id = format!("listed-{partition}");
    let job = JobInfo { id, secret, origin: Origin::Listed, local_tasks: common.clone() };
    let common = common.unwrap_or_default();
    Ok(Box::new(Listed { job, task, tasks, context, keys: HashMap::new(), common, met }))
}

/// A secret for tasks that were given none.
fn own_secret(partition: &str, loopback: bool) -> [u8; 32] {
    let from_partition = Sha256::new().chain_update(b"lapis listed job ").chain_update(partition);
    let remedy = "set LAPIS_JOB_SECRET to 64 random hexadecimal digits, the same for all tasks \
                  (openssl rand -hex 32)";
    if !loopback {
        tracing::warn!(
            "LAPIS_JOB_SECRET is not set: whoever guesses MP_PARTITION={partition} and reaches this task's UDP port \
             can take part in the job; {remedy}"
        );
        return from_partition.finalize().into();
    }
    match user_secret::of_user() {
        Ok(secret) => from_partition.chain_update(secret).finalize().into(),
        Err(e) => {
            tracing::warn!(
                "LAPIS_JOB_SECRET is not set and this user has no secret ({e}): whoever guesses \
                 MP_PARTITION={partition} on this machine can take part in the job; {remedy}"
            );
            from_partition.finalize().into()
        }
    }
}

/// The name under which the tasks of one machine meet: they have the same list of each other.
fn meeting(partition: &str, tasks: u32, common: &[u32]) -> String {
    let digest = Sha256::new().chain_update(format!("{tasks} {common:?} {partition}")).finalize();
    digest.iter().take(16).fold("listed.".to_owned(), |name, byte| format!("{name}{byte:02x}"))
}

struct Listed {
    job: JobInfo,
    task: u32,
    tasks: u32,
    context: u32,
    keys: HashMap<String, Vec<u8>>,
    /// The tasks that meet, ascending, and where they do.
    common: Vec<u32>,
    met: Option<Box<dyn Bootstrap>>,
}

impl Bootstrap for Listed {
    fn task(&self) -> u32 {
        self.task
    }

    fn tasks(&self) -> u32 {
        self.tasks
    }

    fn job(&self) -> &JobInfo {
        &self.job
    }

    fn context_number(&self) -> u32 {
        self.context
    }

    fn context(&self, number: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        let met = match &self.met {
            Some(met) => Some(met.context(number)?),
            None => None,
        };
        let (job, common) = (self.job.clone(), self.common.clone());
        Ok(Box::new(Self { job, context: number, keys: HashMap::new(), common, met, ..*self }))
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        check_sizes(key, value.len())?;
        self.keys.insert(key.to_owned(), value.to_vec());
        Ok(())
    }

    fn get(&mut self, key: &str, timeout: Duration) -> Result<Vec<u8>, BootstrapError> {
        self.keys.get(key).cloned().ok_or_else(|| BootstrapError::Timeout {
            during: format!("get of {key:?}"),
            waited: timeout,
            detail: "the tasks of this job exchange nothing".into(),
        })
    }

    fn fence(&mut self, timeout: Duration) -> Result<(), BootstrapError> {
        self.met.as_mut().map_or(Ok(()), |met| met.fence(timeout))
    }

    fn exchange(
        &mut self,
        key: &str,
        value: &[u8],
        timeout: Duration,
    ) -> Result<Vec<Vec<u8>>, BootstrapError> {
        check_sizes(key, value.len())?;
        let mut all = vec![Vec::new(); self.tasks as usize];
        if let Some(met) = &mut self.met {
            for (task, value) in self.common.iter().zip(met.exchange(key, value, timeout)?) {
                all[*task as usize] = value;
            }
        }
        all[self.task as usize] = value.to_vec();
        Ok(all)
    }

    fn abort(&mut self, code: i32, message: &str) -> Result<(), BootstrapError> {
        tracing::debug!(code, message, "no launcher to tell that the job is to end");
        self.met.as_mut().map_or(Ok(()), |met| met.abort(code, message))
    }

    fn finalize(&mut self) -> Result<(), BootstrapError> {
        self.met.as_mut().map_or(Ok(()), |met| met.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pairs: [(&str, &str); 1], partition: &str) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        let patience = Duration::from_secs(60);
        let told = Told { partition, task: 1, tasks: 3, loopback: true, meet: None, patience };
        listed(&Environment::of(pairs), &told, 0)
    }

    #[test]
    fn an_exchange_gives_ones_own_value_only_and_nothing_waits() {
        let mut job = made([("X", "")], "p").unwrap();
        assert_eq!(job.exchange("k", b"v", Duration::MAX).unwrap(), [&b""[..], b"v", b""]);
        job.fence(Duration::MAX).unwrap();
        assert!(job.get("k", Duration::MAX).is_err());
        job.put("k", b"w").unwrap();
        assert_eq!(job.get("k", Duration::ZERO).unwrap(), b"w");
        assert!(job.context(1).unwrap().get("k", Duration::MAX).is_err());
    }

    #[test]
    fn the_secret_is_the_jobs_or_the_users_and_the_partitions() {
        let secret = |pairs, p| made(pairs, p).unwrap().job().secret;
        let none = [("X", "")];
        assert_eq!(secret(none, "p"), secret(none, "p"));
        assert_ne!(secret(none, "p"), secret(none, "q"));
        // Who knows the partition alone doesn't know it.
        assert_ne!(secret(none, "p"), own_secret("p", false));
        let given = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        assert_eq!(secret([("LAPIS_JOB_SECRET", given)], "p"), secret([("LAPIS_JOB_SECRET", given)], "q"));
        assert!(made([("LAPIS_JOB_SECRET", "short")], "p").is_err());
    }

    #[test]
    fn the_tasks_of_a_machine_meet_and_give_each_other_their_values() {
        let partition = format!("listed-test-{}", std::process::id());
        let values = std::thread::scope(|scope| {
            let tasks = [0u32, 2].map(|task| {
                let partition = &partition;
                scope.spawn(move || {
                    let meet = Some(vec![0, 2]);
                    let patience = Duration::from_secs(60);
                    let told = Told { partition, task, tasks: 3, loopback: true, meet, patience };
                    let mut job = listed(&Environment::of([]), &told, 0).unwrap();
                    let all = job.exchange("k", &[task as u8 + 1], patience).unwrap();
                    job.fence(patience).unwrap();
                    job.finalize().unwrap();
                    (all, job.job().local_tasks.clone())
                })
            });
            tasks.map(|task| task.join().unwrap())
        });
        for (all, local) in values {
            assert_eq!(all, [vec![1], vec![], vec![3]]);
            assert_eq!(local, Some(vec![0, 2]));
        }
    }
}
