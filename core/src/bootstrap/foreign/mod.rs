//! Jobs started by another launcher: hydra, Slurm, Open MPI, and others that use PMI-1, PMI-2 or
//! PMIx.
//!
//! The launcher has to provide a board on which tasks publish short texts, and a fence. Task 0
//! serves the job's store, as a task does in jobs started by hand. The board tells the others the
//! address of the store, and serves to agree on one secret:
//!
//! ```text
//!   every task     publishes its public key                fence
//!   task 0         reads each key, pins for each task the secret, masked by what the two agree on (X25519)     fence
//!   every task     reads task 0's card and what is pinned for it, and joins the store with the secret
//! ```
//!
//! So the secret is never on the board in the clear, and no task but the first reads more than two
//! texts. The launcher guarantees which task published a text: docs/launching.md says how far each
//! launcher can be trusted.

mod card;
mod key_agreement;
mod mpi;
mod pmi;
mod pmix;

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::sync::blocking::{Mutex, MutexGuard};

use super::auth::random_secret;
use super::client::{Client, JoinError, Membership};
use super::environment::Environment;
use super::error::BootstrapError;
use super::hosted::{Meeting, Rendezvous, serve_here};
use super::key::Key;
use super::options::Options;
use super::protocol::Scheme;
use super::server::ServerConfig;
use super::{Address, Bootstrap, JobInfo, Listener, Origin};
use card::Card;
use key_agreement::Agreement;

pub(super) use pmi::announced as announced_by_pmi;
pub(super) use pmix::announced as announced_by_pmix;

/// What a task gets from the launcher that has started it.
pub(super) trait Board: Send {
    /// Number of this task.
    fn task(&self) -> u32;
    /// Number of tasks.
    fn tasks(&self) -> u32;
    /// Name of the job, the same in all its tasks.
    fn job(&self) -> &str;
    /// Shows a text to the other tasks, from the next fence on.
    fn pin(&mut self, key: &str, text: &str) -> Result<(), BootstrapError>;
    /// Waits until all tasks are here.
    fn fence(&mut self, patience: Duration) -> Result<(), BootstrapError>;
    /// What task `from` has pinned.
    fn read(&mut self, from: u32, key: &str, patience: Duration) -> Result<String, BootstrapError>;
    /// Has the launcher end the job.
    fn abort(&mut self, code: i32, message: &str);
    /// Tells the launcher that this task has done its work in good order.
    fn leave(&mut self);
}

/// The job of this process, as long as the process lives: a board can be met only once.
struct Joined {
    /// Absent for a job of one task, which every context is on its own.
    membership: Option<Membership>,
    board: Box<dyn Board>,
    /// Handles that were not finalised.
    open: u32,
}

// The board is one of the process, by descriptor or by library.
// tidy-allow(statics): a second copy of Lapis could not use it.
static JOINED: Mutex<Option<Joined>> = Mutex::new(None);

fn joined() -> MutexGuard<'static, Option<Joined>> {
    JOINED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A task of several, as a launcher's variables announce it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Announced {
    /// How the launcher is spoken to.
    pub(super) protocol: &'static str,
    pub(super) task: Option<u32>,
    pub(super) tasks: Option<u32>,
}

type Joining = Result<Option<Box<dyn Bootstrap>>, BootstrapError>;

/// Joins through PMIx if the environment speaks of it.
pub(super) fn from_pmix(environment: &Environment, options: &Options) -> Joining {
    match pmix::announced(environment)? {
        None | Some(Announced { tasks: Some(1), .. }) => Ok(None),
        Some(_) => enter(Origin::Pmix, options, |patience| pmix::Pmix::open(environment, patience)),
    }
}

/// Joins through PMI-1 or PMI-2 if the environment speaks of them.
pub(super) fn from_pmi(environment: &Environment, options: &Options) -> Joining {
    match pmi::announced(environment)? {
        None | Some(Announced { tasks: Some(1), .. }) => Ok(None),
        Some(_) => enter(Origin::Pmi, options, |patience| pmi::open(environment, patience)),
    }
}

/// Joins through a board, which the first context of a process opens; `None` for a job of one task.
fn enter(
    origin: Origin,
    options: &Options,
    open: impl FnOnce(Duration) -> Result<Box<dyn Board>, BootstrapError>,
) -> Joining {
    let mut joined = joined();
    if joined.is_none() {
        let mut board = open(options.longest_search())?;
        if board.tasks() == 1 {
            board.leave();
            *joined = Some(Joined { membership: None, board, open: 0 });
            return Ok(None);
        }
        let membership = Some(meet(&mut *board, origin, options.longest_search())?);
        *joined = Some(Joined { membership, board, open: 0 });
    }
    let Some(Joined { membership: Some(membership), open, .. }) = &mut *joined else { return Ok(None) };
    let client = Client::join(membership.clone(), options.context)?;
    *open += 1;
    Ok(Some(Box::new(Rendezvous::new(client, OverBoard))))
}

/// Through the launcher's board, which has to hear of aborts and of the end.
struct OverBoard;

impl Meeting for OverBoard {
    fn open(&self, context: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        let mut joined = joined();
        let Some(Joined { membership: Some(membership), open, .. }) = &mut *joined else {
            let why = "belongs to another process".into();
            return Err(BootstrapError::Unusable { during: "opening a context".into(), why });
        };
        let client = Client::join(membership.clone(), context)?;
        *open += 1;
        Ok(Box::new(Rendezvous::new(client, Self)))
    }

    fn abort(&self, code: i32, message: &str) {
        if let Some(joined) = &mut *joined() {
            joined.board.abort(code, message);
        }
    }

    /// After the last context the launcher hears that this task is done.
    fn left(&self) {
        if let Some(joined) = &mut *joined() {
            joined.open = joined.open.saturating_sub(1);
            if joined.open == 0 {
                joined.board.leave();
            }
        }
    }
}

/// The exchange that the module's documentation draws.
fn meet(board: &mut dyn Board, origin: Origin, patience: Duration) -> Result<Membership, BootstrapError> {
    let (task, tasks) = (board.task(), board.tasks());
    let agreement = Agreement::new()?;
    let mut card = Card { key: agreement.public(), host: card::host(), addresses: Vec::new() };
    let mut listener = None;
    if task == 0 {
        let system = |source| BootstrapError::System { what: "listening for the tasks".into(), source };
        let bound = Listener::bind(&Address::Tcp { host: "::".into(), port: 0 })
            .or_else(|_| Listener::bind(&Address::Tcp { host: "0.0.0.0".into(), port: 0 }))
            .map_err(system)?;
        if let Address::Tcp { port, .. } = bound.address() {
            card.addresses = card::own_addresses(*port);
        }
        listener = Some(bound);
    }
    board.pin("lapis-card", &card.to_string())?;
    board.fence(patience)?;
    let mut secret = [0; 32];
    if let Some(listener) = listener {
        secret = random_secret()?;
        for other in 1..tasks {
            let theirs: Card = card::parse(&board.read(other, "lapis-card", patience)?, other)?;
            let masked = agreement.mask(&theirs.key, other, &secret)?;
            board.pin(&format!("lapis-for-{other}"), &card::hex(&masked))?;
        }
        let mut config = ServerConfig::new(tasks, secret);
        config.job_id = board.job().to_owned();
        serve_here(listener, config)?;
    }
    board.fence(patience)?;
    let first: Card = card::parse(&board.read(0, "lapis-card", patience)?, 0)?;
    if task != 0 {
        let masked = board.read(0, &format!("lapis-for-{task}"), patience)?;
        let masked: Key = card::unhex(&masked).ok_or_else(|| card::unreadable(0, &masked))?;
        secret = agreement.mask(&first.key, task, &masked)?;
    }
    let job = JobInfo { id: board.job().to_owned(), secret, origin, local_tasks: None };
    let address = Address::Tcp { host: "localhost".into(), port: 0 };
    let mut membership = Membership { address, task, tasks, job, scheme: Scheme::Secret, patience };
    membership.address = reachable(&membership, &first, patience)?;
    Ok(membership)
}

/// The first of task 0's addresses at which the job's store answers.
fn reachable(membership: &Membership, first: &Card, patience: Duration) -> Result<Address, BootstrapError> {
    let candidates = first.candidates();
    let start = Instant::now();
    let mut failure = None;
    let mut attempts = 0;
    loop {
        for address in &candidates {
            attempts += 1;
            let trial = Membership { address: address.clone(), ..membership.clone() };
            // A context of its own, which nobody else opens.
            match Client::try_join(&trial, PROBE, Duration::from_secs(2)) {
                Ok(mut client) => {
                    let _ = client.finalize();
                    return Ok(address.clone());
                }
                Err(JoinError::Again(error)) => failure = Some(error),
                // Somebody else's server, at an address that several machines have.
                Err(JoinError::Final(error)) => failure = Some(std::io::Error::other(error.to_string())),
            }
        }
        if start.elapsed() >= patience || candidates.is_empty() {
            let shown: Vec<String> = candidates.iter().map(Address::to_string).collect();
            return Err(BootstrapError::Unreachable {
                address: shown.join(" or "),
                waited: start.elapsed(),
                attempts,
                source: failure.unwrap_or_else(|| std::io::ErrorKind::AddrNotAvailable.into()),
                remedy: "task 0 serves the job there: check that its process runs, and that no firewall stands between \
                         the machines",
            });
        }
        std::thread::sleep(super::client::pause(attempts));
    }
}

/// Number of a context that is only opened to see whether the store answers.
const PROBE: u32 = u32::MAX;

#[cfg(test)]
mod tests;
