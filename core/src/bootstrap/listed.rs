//! A job whose program knows where its tasks are: nobody has to be met, and nothing is exchanged.
//!
//! LAPI Guide, "Using UDP/IP mode": the user handler or the user list tells every task everybody's address.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::client::check_sizes;
use super::environment::Environment;
use super::error::BootstrapError;
use super::{Bootstrap, JobInfo, Origin, variables};

/// A job of `tasks` tasks in which this is `task`, whose addresses the program knows.
///
/// Everything that [`Bootstrap`] offers is local: an exchange gives the other tasks' values as empty. The job's secret comes
/// from `LAPIS_JOB_SECRET`; without it, it follows from the partition's name, which keeps jobs apart but is no secret.
///
/// # Errors
/// `LAPIS_JOB_SECRET` holds something else than 64 hexadecimal digits.
pub fn listed(
    environment: &Environment,
    partition: &str,
    task: u32,
    tasks: u32,
    context: u32,
) -> Result<Box<dyn Bootstrap>, BootstrapError> {
    let secret = environment.secret(variables::JOB_SECRET)?.unwrap_or_else(|| {
        tracing::info!("LAPIS_JOB_SECRET is not set: datagrams are told apart, but anybody can make them");
        Sha256::new().chain_update(b"lapis listed job ").chain_update(partition).finalize().into()
    });
    let id = format!("listed-{partition}");
    let job = JobInfo { id, secret, origin: Origin::Listed, local_tasks: None };
    Ok(Box::new(Listed { job, task, tasks, context, keys: HashMap::new() }))
}

struct Listed {
    job: JobInfo,
    task: u32,
    tasks: u32,
    context: u32,
    keys: HashMap<String, Vec<u8>>,
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
        Ok(Box::new(Self { job: self.job.clone(), context: number, keys: HashMap::new(), ..*self }))
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

    fn fence(&mut self, _: Duration) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn exchange(&mut self, key: &str, value: &[u8], _: Duration) -> Result<Vec<Vec<u8>>, BootstrapError> {
        check_sizes(key, value.len())?;
        let mut all = vec![Vec::new(); self.tasks as usize];
        all[self.task as usize] = value.to_vec();
        Ok(all)
    }

    fn abort(&mut self, code: i32, message: &str) -> Result<(), BootstrapError> {
        tracing::debug!(code, message, "no launcher to tell that the job is to end");
        Ok(())
    }

    fn finalize(&mut self) -> Result<(), BootstrapError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pairs: [(&str, &str); 1], partition: &str) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        listed(&Environment::of(pairs), partition, 1, 3, 0)
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
    fn the_secret_is_the_users_or_follows_from_the_partition() {
        let secret = |pairs, p| made(pairs, p).unwrap().job().secret;
        let none = [("X", "")];
        assert_eq!(secret(none, "p"), secret(none, "p"));
        assert_ne!(secret(none, "p"), secret(none, "q"));
        let given = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        assert_eq!(secret([("LAPIS_JOB_SECRET", given)], "p"), secret([("LAPIS_JOB_SECRET", given)], "q"));
        assert!(made([("LAPIS_JOB_SECRET", "short")], "p").is_err());
    }
}
