//! A job of one task: every operation completes at once.

use std::collections::HashMap;
use std::time::Duration;

use super::auth::random_secret;
use super::client::check_sizes;
use super::error::BootstrapError;
use super::{Bootstrap, JobInfo, Origin};

pub(crate) struct Singleton {
    job: JobInfo,
    context: u32,
    keys: HashMap<String, Vec<u8>>,
}

impl Singleton {
    pub(crate) fn new(context: u32) -> Result<Self, BootstrapError> {
        let secret = random_secret()?;
        let draw = random_secret()?;
        let serial = u64::from_le_bytes(*draw.first_chunk().expect("a draw has 32 bytes"));
        let id = format!("single-{}-{serial:016x}", std::process::id());
        let job = JobInfo { id, secret, origin: Origin::Singleton, local_tasks: Some(vec![0]) };
        Ok(Self { job, context, keys: HashMap::new() })
    }
}

impl Bootstrap for Singleton {
    fn task(&self) -> u32 {
        0
    }

    fn tasks(&self) -> u32 {
        1
    }

    fn job(&self) -> &JobInfo {
        &self.job
    }

    fn context_number(&self) -> u32 {
        self.context
    }

    fn context(&self, number: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        Ok(Box::new(Self { job: self.job.clone(), context: number, keys: HashMap::new() }))
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        check_sizes(key, value.len())?;
        self.keys.insert(key.into(), value.into());
        Ok(())
    }

    fn get(&mut self, key: &str, _timeout: Duration) -> Result<Vec<u8>, BootstrapError> {
        // Nobody else could put it: waiting would only hide the mistake.
        self.keys.get(key).cloned().ok_or_else(|| BootstrapError::Timeout {
            during: format!("get of {key:?}"),
            waited: Duration::ZERO,
            detail: "this is a job of one task and it has not put that key".into(),
        })
    }

    fn fence(&mut self, _timeout: Duration) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn exchange(
        &mut self,
        key: &str,
        value: &[u8],
        _timeout: Duration,
    ) -> Result<Vec<Vec<u8>>, BootstrapError> {
        check_sizes(key, value.len())?;
        Ok(vec![value.to_vec()])
    }

    fn abort(&mut self, _code: i32, _message: &str) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn finalize(&mut self) -> Result<(), BootstrapError> {
        Ok(())
    }
}
