//! Errors: LAPI's codes and the typed errors of the Rust interface.
//!
//! [`LapiCode`] is the number that C and Fortran programs see; [`Error`] says what happened and
//! where, with the numbers and the remedy. Every `Error` maps to one code by [`Error::code`].

mod lock_held;
mod refusal;

pub use crate::code::{ALIASES, CODES, CodeEntry, LapiCode, OWN_CODES, Severity};
pub use lock_held::LockHeld;
pub use refusal::{Access, Reason, Refusal};

use crate::config::{ConfigError, SetError};

/// The result of most calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an error that another crate reports.
pub type BoxedSource = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a call or a communication failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A task number that the job does not have.
    #[error("target {task} is not a task of this job: it has tasks 0 to {}", .tasks.saturating_sub(1))]
    InvalidTarget {
        /// The target that was named.
        task: u32,
        /// How many tasks the job has.
        tasks: u32,
    },

    /// The target ended or its node cannot be reached any more.
    #[error("task {task} is down: {reason}")]
    TargetDown {
        /// The task that is gone.
        task: u32,
        /// How that was noticed.
        reason: String,
    },

    /// The target was purged and not resumed.
    #[error("task {task} is purged: call LAPI_Resume_totask once it runs again")]
    Purged {
        /// The purged task.
        task: u32,
    },

    /// The target has purged this task, or was restarted, before it had what was sent to it.
    #[error("task {task} has purged this task, or was restarted: what was under way to it is lost")]
    PurgedBy {
        /// The task that has purged this one.
        task: u32,
    },

    /// A collective call after a task's process was replaced, or after a purge in the midst of an
    /// allgather.
    #[error(
        "collective calls are over: task {task} was restarted, or purged during one, so that the tasks' calls no longer match: \
         let messages and counters do their work"
    )]
    CollectivesOver {
        /// The task that was restarted or purged.
        task: u32,
    },

    /// The target has not done what a put, get or atomic asked of it.
    #[error(transparent)]
    Refused(#[from] Refusal),

    /// A task stayed silent for longer than the TIMEOUT attribute allows.
    #[error(
        "no answer from task {task} within {seconds} s while {doing}: is it stopped, or TIMEOUT too short?"
    )]
    Timeout {
        /// The silent task.
        task: u32,
        /// The timeout that passed.
        seconds: u64,
        /// What was waited for, as in "sending a message".
        doing: &'static str,
    },

    /// Start-up did not end in time.
    #[error(
        "initialization did not complete within {seconds} s: still waiting for {missing}; see LAPIS_INIT_TIMEOUT"
    )]
    InitTimeout {
        /// The timeout that passed.
        seconds: u64,
        /// Who or what is missing, as in "tasks 2, 3".
        missing: String,
    },

    /// Memory could not be allocated.
    #[error("out of memory: {bytes} bytes for {what}")]
    MemoryExhausted {
        /// What the memory was for.
        what: &'static str,
        /// How much was asked for.
        bytes: usize,
    },

    /// A message longer than LAPI transfers.
    #[error("data length {len} exceeds the largest message, {max} bytes")]
    DataLength {
        /// The length that was asked for.
        len: u64,
        /// The largest length.
        max: u64,
    },

    /// A user header longer than the MAX_UHDR_SZ attribute.
    #[error("user header of {len} bytes exceeds the maximum of {max}: query MAX_UHDR_SZ")]
    UhdrTooBig {
        /// The length that was asked for.
        len: usize,
        /// The largest length.
        max: usize,
    },

    /// A user header whose length is not a multiple of the alignment.
    #[error("user header of {len} bytes: its length must be a multiple of {align}")]
    UhdrMisaligned {
        /// The length that was asked for.
        len: usize,
        /// What it must be a multiple of.
        align: usize,
    },

    /// A pointer that must not be NULL is NULL.
    #[error("{what} is NULL")]
    NullPointer {
        /// The parameter, as in "tgt_addr".
        what: &'static str,
        /// The code that the guide gives this parameter.
        code: LapiCode,
    },

    /// A handle that was never given out, or whose context is terminated.
    #[error("handle {handle} is not the handle of an initialized context")]
    HandleInvalid {
        /// The handle that was passed.
        handle: u32,
    },

    /// As many contexts as a process may have are in use.
    #[error("all {max} contexts of this process are in use: terminate one first")]
    AllHandlesInUse {
        /// How many there may be.
        max: usize,
    },

    /// The instance that is asked for can't be had, though others may be free.
    #[error(
        "instance {wanted} is asked for and {why}: ask for a free one of 1 to {max}, or 0 for the next free one"
    )]
    InstanceRefused {
        /// The instance's number.
        wanted: u32,
        /// How many there may be.
        max: usize,
        /// What speaks against it.
        why: &'static str,
    },

    /// The handle belongs to the parent of this process.
    #[error(
        "this process ({child}) was forked from the one that initialized the context ({parent}): initialize anew"
    )]
    ForkedChild {
        /// The process that initialized the context.
        parent: u32,
        /// The process that called.
        child: u32,
    },

    /// A configuration value that cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),

    /// A setting that does not exist.
    #[error("`{name}` is not a variable of the configuration{}", .nearest.map(|n| format!(": is {n} meant?")).unwrap_or_default())]
    UnknownSetting {
        /// The name that was given.
        name: String,
        /// The known name it is nearest to.
        nearest: Option<&'static str>,
    },

    /// A variable that this way of starting tasks requires is not set.
    #[error("environment variable {name} is not set: {remedy}")]
    MissingVariable {
        /// The variable.
        name: &'static str,
        /// What to do.
        remedy: String,
    },

    /// A transport was named that no plugin provides.
    #[error("transport `{name}` not found; looked in {}", .searched.join(", "))]
    TransportNotFound {
        /// The transport that was named.
        name: String,
        /// The places that were searched.
        searched: Vec<String>,
    },

    /// Candidates for a transport were found, and none of them could be used.
    #[error("transport `{name}` cannot be used: {}", .reasons.join("; "))]
    TransportRefused {
        /// The transport that was named.
        name: String,
        /// One reason for each candidate.
        reasons: Vec<String>,
    },

    /// No transport of the allowed set reaches a task.
    #[error("no transport reaches task {task}: {}", .reasons.join("; "))]
    NoConnectivity {
        /// The task that cannot be reached.
        task: u32,
        /// One reason for each transport.
        reasons: Vec<String>,
    },

    /// No adapter of a network is up.
    #[error("all adapters are down: {what}")]
    AdaptersDown {
        /// What was found of each.
        what: String,
    },

    /// A transport reported a failure.
    #[error("transport `{transport}`: {what}")]
    Transport {
        /// The transport's name.
        transport: String,
        /// What failed.
        what: String,
        /// The transport's own error.
        #[source]
        source: Option<BoxedSource>,
    },

    /// Shared memory is demanded and cannot be set up.
    #[error("shared memory: {what}")]
    SharedMemory {
        /// What failed.
        what: String,
        /// The cause.
        #[source]
        source: Option<BoxedSource>,
    },

    /// The tasks of the job could not find each other.
    #[error("bootstrap: {what}")]
    Bootstrap {
        /// What failed, and what to do.
        what: String,
        /// The cause.
        #[source]
        source: Option<BoxedSource>,
    },

    /// A system call failed.
    #[error("{what}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },

    /// A UDP socket operation failed.
    #[error("UDP socket: {what}")]
    UdpSocket {
        /// What was attempted, and the system's answer if it has none of its own.
        what: String,
        /// The system's answer.
        #[source]
        source: Option<std::io::Error>,
    },

    /// The user's UDP handler returned a failure.
    #[error("the user-defined UDP handler failed with {status}")]
    UdpHandlerFailed {
        /// What it returned.
        status: i32,
    },

    /// An index outside the address table.
    #[error("address index {index} is outside 1 to {max}")]
    AddressIndex {
        /// The index that was passed.
        index: i64,
        /// The largest index.
        max: usize,
    },

    /// An active message without a header handler.
    #[error("the active message from task {origin} names no header handler (handler {handler:#x})")]
    HeaderHandlerNull {
        /// Who sent the message.
        origin: u32,
        /// The index or address that the message carries.
        handler: u64,
    },

    /// An unknown read-modify-write operation.
    #[error("read-modify-write operation {op} is not known")]
    RmwOp {
        /// The number that was passed.
        op: i32,
    },

    /// A read-modify-write width other than 32 or 64.
    #[error("read-modify-write size {bits} is neither 32 nor 64")]
    RmwSize {
        /// The size that was passed.
        bits: u32,
    },

    /// A counter value that cannot be waited for.
    #[error("counter value {value} is not greater than 0")]
    CounterValue {
        /// The value that was passed.
        value: i64,
    },

    /// Another thread already waits for the counter.
    #[error("another thread is already waiting for the counter at {address:#x}")]
    MultipleWaiters {
        /// Where the counter is.
        address: usize,
    },

    /// An unknown runtime attribute, or one that cannot be used this way.
    #[error("runtime attribute {query} cannot be {attempt}")]
    QueryType {
        /// The number that was passed.
        query: i32,
        /// "queried" or "set".
        attempt: &'static str,
    },

    /// Vectors that do not describe a transfer.
    #[error("{side} vector, element {element}: {problem}")]
    Vector {
        /// "origin", "target" or "both".
        side: &'static str,
        /// The element that is at fault.
        element: usize,
        /// What is wrong.
        problem: &'static str,
        /// The code that the guide gives this problem.
        code: LapiCode,
    },

    /// A DGSP that cannot be registered or run.
    #[error("DGSP: {problem}")]
    Dgsp {
        /// What is wrong, and in which instruction.
        problem: String,
        /// The code that the guide gives this problem.
        code: LapiCode,
    },

    /// A call that is not allowed here, such as one from within a header handler.
    #[error("{call} cannot be called {place}: {remedy}")]
    NotAllowed {
        /// The call.
        call: &'static str,
        /// Where it was made, as in "within a header handler".
        place: &'static str,
        /// What to do instead.
        remedy: &'static str,
    },

    /// Another thread holds the context's lock.
    #[error(transparent)]
    LockHeld(#[from] LockHeld),

    /// Any other failure that a synchronous check of the C interface found.
    #[error("{what}: {}", .code.text())]
    Invalid {
        /// The parameter at fault.
        what: &'static str,
        /// The code that the guide gives it.
        code: LapiCode,
    },

    /// Lapis contradicts itself: a defect.
    #[error("internal error: {what}; please report it")]
    Internal {
        /// What was found.
        what: String,
    },
}

impl From<SetError> for Error {
    fn from(error: SetError) -> Self {
        match error {
            SetError::UnknownName { name, nearest } => Self::UnknownSetting { name, nearest },
            SetError::Value(error) => Self::Config(error),
        }
    }
}

impl Error {
    /// The same for a call of another name: an interface above has names of its own, and its
    /// programs know no others.
    #[must_use]
    pub fn in_call(self, name: &'static str) -> Self {
        match self {
            Self::NotAllowed { place, remedy, .. } => Self::NotAllowed { call: name, place, remedy },
            Self::LockHeld(held) => Self::LockHeld(LockHeld { call: name, ..held }),
            other => other,
        }
    }

    /// The code that the C and Fortran interfaces return for this error.
    pub fn code(&self) -> LapiCode {
        match self {
            Self::InvalidTarget { .. } => LapiCode::ERR_TGT,
            Self::TargetDown { .. } | Self::NoConnectivity { .. } => LapiCode::ERR_NO_CONNECTIVITY,
            Self::Purged { .. } | Self::PurgedBy { .. } | Self::CollectivesOver { .. } => {
                LapiCode::ERR_TGT_PURGED
            }
            Self::Refused(refusal) => refusal.code(),
            Self::Timeout { .. } | Self::InitTimeout { .. } => LapiCode::ERR_TIMEOUT,
            Self::MemoryExhausted { .. } => LapiCode::ERR_MEMORY_EXHAUSTED,
            Self::DataLength { .. } => LapiCode::ERR_DATA_LEN,
            Self::UhdrTooBig { .. } => LapiCode::ERR_UHDR_LEN,
            Self::UhdrMisaligned { .. } => LapiCode::ERR_HDR_LEN,
            Self::HandleInvalid { .. } | Self::ForkedChild { .. } => LapiCode::ERR_HNDL_INVALID,
            Self::AllHandlesInUse { .. } => LapiCode::ERR_ALL_HNDL_IN_USE,
            Self::InstanceRefused { .. } => LapiCode::ERR_SET_VAL,
            Self::Config(error) => error.code(),
            Self::MissingVariable { .. } => LapiCode::ERR_NO_ENV_VAR,
            Self::TransportNotFound { .. } | Self::TransportRefused { .. } => LapiCode::ERR_CSS_LOAD_FAILED,
            Self::AdaptersDown { .. } => LapiCode::ERR_ADAPTERS_DOWN,
            Self::SharedMemory { .. } => LapiCode::ERR_SHM_SETUP,
            Self::UdpSocket { .. } => LapiCode::ERR_UDP_SOCKET,
            Self::UdpHandlerFailed { .. } => LapiCode::ERR_USER_UDP_HNDLR_FAIL,
            Self::AddressIndex { .. } => LapiCode::ERR_ADDR_HNDL_RANGE,
            Self::HeaderHandlerNull { .. } => LapiCode::ERR_HDR_HNDLR_NULL,
            Self::RmwOp { .. } => LapiCode::ERR_RMW_OP,
            Self::RmwSize { .. } => LapiCode::ERR_OP_SZ,
            Self::CounterValue { .. } => LapiCode::ERR_CNTR_VAL,
            Self::MultipleWaiters { .. } => LapiCode::ERR_MULTIPLE_WAITERS,
            Self::QueryType { .. } => LapiCode::ERR_QUERY_TYPE,
            Self::UnknownSetting { .. } => LapiCode::ERR_SET_VAL,
            Self::NullPointer { code, .. }
            | Self::Vector { code, .. }
            | Self::Dgsp { code, .. }
            | Self::Invalid { code, .. } => *code,
            Self::Bootstrap { .. }
            | Self::System { .. }
            | Self::Transport { .. }
            | Self::NotAllowed { .. }
            | Self::LockHeld(_)
            | Self::Internal { .. } => LapiCode::ERR_UNKNOWN,
        }
    }

    /// The message followed by those of its causes, on one line.
    pub fn with_causes(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            line.push_str(": ");
            line.push_str(&error.to_string());
            cause = error.source();
        }
        line
    }
}

#[cfg(test)]
mod tests;
