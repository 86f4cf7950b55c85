//! Stores that one of the job's tasks serves, and leaving them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::client::Client;
use super::error::BootstrapError;
use super::server::{Server, ServerConfig};
use super::{Bootstrap, Entry, JobInfo, Listener};

/// Stores that this process serves, by address. They live as long as the process: a later context
/// of the same partition finds them again, and the other tasks never see a store vanish between two
/// contexts.
// A second copy of the library in the process finds the address taken.
// tidy-allow(statics): it connects to it instead.
static SERVED: Mutex<Option<HashMap<String, Server>>> = Mutex::new(None);

/// Longest wait at the end for tasks that are still busy: the server's process must not leave
/// before them.
const PARTING: Duration = Duration::from_secs(10);

/// Serves a store as long as this process lives.
pub(super) fn serve_here(listener: Listener, config: ServerConfig) -> Result<(), BootstrapError> {
    let name = listener.address().to_string();
    let server = Server::start(listener, config, |_| {})
        .map_err(|source| BootstrapError::System { what: format!("serving {name}"), source })?;
    let mut served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
    // An entry under the same name can only be a fork parent's, whose thread does not exist here;
    // dropping it would join that thread.
    if let Some(stale) = served.get_or_insert_default().insert(name, server) {
        std::mem::forget(stale);
    }
    Ok(())
}

/// How the tasks came together, which knows whom else to tell.
pub(super) trait Meeting: Send {
    /// Opens another context of the job.
    fn open(&self, context: u32) -> Result<Box<dyn Bootstrap>, BootstrapError>;
    /// A task has the job end.
    fn abort(&self, code: i32, message: &str);
    /// A context has been left.
    fn left(&self);
}

/// A client whose farewell is collective, because the server lives in one of the tasks.
pub(super) struct Rendezvous {
    client: Client,
    meeting: Box<dyn Meeting>,
    finalised: bool,
}

impl Rendezvous {
    pub(super) fn new(client: Client, meeting: impl Meeting + 'static) -> Self {
        Self { client, meeting: Box::new(meeting), finalised: false }
    }
}

impl Bootstrap for Rendezvous {
    fn task(&self) -> u32 {
        self.client.task()
    }

    fn tasks(&self) -> u32 {
        self.client.tasks()
    }

    fn job(&self) -> &JobInfo {
        self.client.job()
    }

    fn context_number(&self) -> u32 {
        self.client.context_number()
    }

    fn context(&self, number: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        self.meeting.open(number)
    }

    fn generation(&self) -> u32 {
        self.client.generation()
    }

    fn entry(&self) -> Entry {
        self.client.entry()
    }

    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        self.client.put(key, value)
    }

    fn get(&mut self, key: &str, timeout: Duration) -> Result<Vec<u8>, BootstrapError> {
        self.client.get(key, timeout)
    }

    fn fence(&mut self, timeout: Duration) -> Result<(), BootstrapError> {
        self.client.fence(timeout)
    }

    fn exchange(
        &mut self,
        key: &str,
        value: &[u8],
        timeout: Duration,
    ) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.client.exchange(key, value, timeout)
    }

    fn abort(&mut self, code: i32, message: &str) -> Result<(), BootstrapError> {
        let told = self.client.abort(code, message);
        self.meeting.abort(code, message);
        told
    }

    fn ended(&mut self) -> Vec<(u32, String)> {
        self.client.ended()
    }

    fn finalize(&mut self) -> Result<(), BootstrapError> {
        if std::mem::replace(&mut self.finalised, true) {
            return Ok(());
        }
        // A partner that fails or is late must not keep this task from leaving in order.
        if let Err(error) = self.client.fence(PARTING) {
            tracing::debug!(%error, "the tasks did not leave together");
        }
        let left = match self.client.finalize() {
            // The task that served has gone before this one.
            Err(BootstrapError::ServerLost { .. }) => Ok(()),
            other => other,
        };
        self.meeting.left();
        left
    }
}

/// As where the start of a context has failed: the launcher does not wait for it, nor this task for
/// others.
impl Drop for Rendezvous {
    fn drop(&mut self) {
        if !self.finalised && self.client.is_of_this_process() {
            self.meeting.left();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::client::Membership;
    use super::super::protocol::Scheme;
    use super::super::{Address, Origin};
    use super::*;
    use crate::sync::{AtomicU32, Ordering};
    use std::sync::Arc;

    /// Counts who has left.
    struct Counting(Arc<AtomicU32>);

    impl Meeting for Counting {
        fn open(&self, _: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
            unreachable!("there is one context")
        }

        fn abort(&self, _: i32, _: &str) {}

        fn left(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Task 0 of a job of so many, which is alone in it; and how often it has left.
    fn first_of(tasks: u32) -> (Rendezvous, Arc<AtomicU32>, Server) {
        let secret = [7; 32];
        let address = Address::Unix(format!("lapis-test-hosted-{tasks}-{}", std::process::id()));
        let listener = Listener::bind(&address).unwrap();
        let server = Server::start(listener, ServerConfig::new(tasks, secret), |_| {}).unwrap();
        let job = JobInfo { id: String::new(), secret, origin: Origin::Pmi, local_tasks: None };
        let patience = Duration::from_secs(100);
        let membership = Membership { address, task: 0, tasks, job, scheme: Scheme::Secret, patience };
        let left = Arc::new(AtomicU32::new(0));
        let client = Client::join(membership, 0).unwrap();
        (Rendezvous::new(client, Counting(Arc::clone(&left))), left, server)
    }

    /// As where the start of a context fails.
    #[test]
    fn a_handle_that_is_dropped_counts_as_one_that_has_left_and_waits_for_nobody() {
        let (handle, left, _server) = first_of(2);
        drop(handle);
        assert_eq!(left.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_handle_leaves_once() {
        let (mut handle, left, _server) = first_of(1);
        handle.finalize().unwrap();
        drop(handle);
        assert_eq!(left.load(Ordering::Relaxed), 1);
    }
}
