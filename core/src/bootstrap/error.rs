//! Errors of a job's bootstrap, with their remedies.

use std::io;
use std::time::Duration;

use super::protocol::ProtocolError;

/// A bootstrap failure: says what failed, where, with which numbers, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// An environment variable holds a value outside its range.
    #[error("{variable}={value:?} is not valid: {expected}")]
    BadVariable {
        /// The variable's name.
        variable: &'static str,
        /// The value found (the job secret is never shown).
        value: String,
        /// The values that are accepted.
        expected: String,
    },
    /// Some variables of a group are set and one that belongs to them is not.
    #[error("{present} is set but {missing} is not: {remedy}")]
    MissingVariable {
        /// The variable that announces the group.
        present: String,
        /// The variable that is absent.
        missing: &'static str,
        /// What to do.
        remedy: String,
    },
    /// The environment announces a job of several tasks that cannot be joined.
    #[error("the environment announces {announced} but no bootstrap service can be joined: {remedy}")]
    NoService {
        /// What announced the job, e.g. `4 tasks (MP_PROCS=4)`.
        announced: String,
        /// What to do.
        remedy: String,
    },
    /// A launcher that is not ours refused something, or said what can't be.
    #[error("the launcher failed {during}: {reason}")]
    Manager {
        /// What was asked of it.
        during: String,
        /// What it answered.
        reason: String,
    },
    /// The text of an address does not follow the syntax.
    #[error("bootstrap address {text:?}: {reason}; write unix:@name or tcp:host:port")]
    BadAddress {
        /// The text found.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no answer at the server's address.
    #[error(
        "no answer from the bootstrap server at {address} after {attempts} attempts in {:.1} s ({source}): {remedy}",
        waited.as_secs_f64()
    )]
    Unreachable {
        /// The server's address.
        address: String,
        /// How long was tried.
        waited: Duration,
        /// How often was tried.
        attempts: u32,
        /// The last failure.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// The server answered and does not want this task.
    #[error("the bootstrap server at {address} refused task {task}: {reason}")]
    Refused {
        /// The server's address.
        address: String,
        /// The task that asked.
        task: u32,
        /// The server's reason.
        reason: String,
    },
    /// The server could not prove that it knows the job's secret.
    #[error(
        "the server at {address} does not know the secret of job {job}: another program listens there; \
         start the job again"
    )]
    Impostor {
        /// The server's address.
        address: String,
        /// The job's identity.
        job: String,
    },
    /// Some tasks of a job without a launcher never came.
    #[error("partition {partition}: {detail}; start every task 0..{} with the same MP_PARTITION and MP_PROCS={tasks}, \
             or raise LAPIS_INIT_TIMEOUT", tasks.saturating_sub(1))]
    PartnersMissing {
        /// The value of MP_PARTITION.
        partition: String,
        /// The number of tasks expected.
        tasks: u32,
        /// Who is missing.
        detail: String,
    },
    /// The connection broke in the middle of an operation.
    #[error(
        "lost the bootstrap server at {address} during {during} ({source}): the launcher has ended or was killed"
    )]
    ServerLost {
        /// The server's address.
        address: String,
        /// The operation.
        during: String,
        /// The failure of the connection.
        source: io::Error,
    },
    /// The server sent something that is not the protocol.
    #[error("the bootstrap server at {address} broke the protocol during {during}: {source}")]
    Protocol {
        /// The server's address.
        address: String,
        /// The operation.
        during: String,
        /// What was wrong.
        source: ProtocolError,
    },
    /// Another task ended, so that the operation can never complete.
    #[error("task {task} {how} while this task waited in {during}")]
    TaskLost {
        /// The task that ended.
        task: u32,
        /// How it ended.
        how: String,
        /// The operation of this task that it leaves incomplete.
        during: String,
    },
    /// A task aborted the job.
    #[error("task {task} aborted the job with code {code}: {message}")]
    Aborted {
        /// The task that aborted.
        task: u32,
        /// Its code.
        code: i32,
        /// Its message.
        message: String,
    },
    /// The deadline of an operation passed.
    #[error("{during} did not complete in {:.1} s: {detail}", waited.as_secs_f64())]
    Timeout {
        /// The operation.
        during: String,
        /// The deadline.
        waited: Duration,
        /// Who or what is missing.
        detail: String,
    },
    /// The tasks called different collective operations.
    #[error(
        "the tasks disagree about the collective operation: {detail}; all tasks must call fence and exchange in the same order"
    )]
    Mismatch {
        /// Who called what.
        detail: String,
    },
    /// A key, value or the whole store is too large.
    #[error("{what} has {len} bytes, the limit is {limit}")]
    TooLarge {
        /// The offending thing.
        what: String,
        /// Its size.
        len: usize,
        /// The limit.
        limit: usize,
    },
    /// The server is full.
    #[error("the bootstrap server refused {during}: {detail}")]
    Limit {
        /// The operation.
        during: String,
        /// The server's reason.
        detail: String,
    },
    /// The handle was finalised, failed in an earlier collective operation, or came through a fork.
    #[error("{during} on a bootstrap handle that {why}")]
    Unusable {
        /// The operation.
        during: String,
        /// Why the handle cannot be used.
        why: String,
    },
    /// The operating system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
}
