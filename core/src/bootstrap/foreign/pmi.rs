//! PMI-1 and PMI-2: lines and frames over a socket from the launcher (hydra, Slurm, and many
//! more).
//!
//! The task inherits the socket as a descriptor (`PMI_FD`) or connects it (`PMI_PORT`; the launcher
//! then tells the task its number). Both protocols begin with the same line; Slurm, which names the
//! job in `PMI_JOBID`, is asked for PMI-2, others for PMI-1.

mod link;
mod pmi1;
mod pmi2;

use std::time::Duration;

use super::mpi::{self, Phase};
use super::{Announced, Board};
use crate::bootstrap::environment::{Environment, bad};
use crate::bootstrap::error::BootstrapError;
use crate::bootstrap::protocol::MAX_TASKS;
use link::Link;

const FD: &str = "PMI_FD";
const PORT: &str = "PMI_PORT";
const ID: &str = "PMI_ID";
const RANK: &str = "PMI_RANK";
const SIZE: &str = "PMI_SIZE";
const JOBID: &str = "PMI_JOBID";

/// What the variables say; `None` if they speak of no launcher, or of one that has gone.
pub(crate) fn announced(environment: &Environment) -> Result<Option<Announced>, BootstrapError> {
    let set = |name| environment.get(name).is_some();
    if !set(FD) && !set(PORT) {
        return Ok(None);
    }
    let protocol = if set(JOBID) { "PMI-2" } else { "PMI-1" };
    let (task, tasks) = if set(FD) {
        environment.task_of(RANK, SIZE)?.map_or((None, None), |(task, tasks)| (Some(task), Some(tasks)))
    } else {
        // The launcher says it when it is spoken to.
        (environment.number(ID, 0, MAX_TASKS - 1)?, environment.number(SIZE, 1, MAX_TASKS)?)
    };
    Ok(Some(Announced { protocol, task, tasks }))
}

/// Opens the conversation.
pub(super) fn open(environment: &Environment, patience: Duration) -> Result<Box<dyn Board>, BootstrapError> {
    let (mut link, who) = match environment.number(FD, 0, i32::MAX as u32)? {
        Some(fd) => {
            let who = environment.task_of(RANK, SIZE)?.ok_or_else(|| BootstrapError::MissingVariable {
                present: format!("{FD}={fd}"),
                missing: SIZE,
                remedy: format!("the launcher sets both: pass the whole environment on, or unset {FD}"),
            })?;
            (Link::of_descriptor(fd as i32)?, who)
        }
        None => {
            let address = environment.get(PORT).unwrap_or_default();
            if mpi::phase() == Phase::During {
                // The launcher would take the second connection of a process for its only one.
                return Err(BootstrapError::NoService {
                    announced: format!("a launcher at {address} (PMI_PORT), with which MPI speaks already"),
                    remedy: "call LAPI_Init before MPI_Init, or start the tasks without -pmi-port".into(),
                });
            }
            let id = environment.number(ID, 0, MAX_TASKS - 1)?.unwrap_or(0);
            let Some((host, port)) = address.rsplit_once(':').and_then(|(h, p)| Some((h, p.parse().ok()?)))
            else {
                return Err(bad(PORT, address, "host:port is expected, as the launcher sets it".into()));
            };
            let mut link = Link::to_port(host, port, patience)?;
            let who = pmi1::introduce(&mut link, id, patience)?;
            (link, who)
        }
    };
    let (at_descriptor, job) = (environment.get(FD).is_some(), environment.get(JOBID));
    match (mpi::phase(), job) {
        // MPI has begun it. Slurm lets nobody begin twice.
        (Phase::During, job) if at_descriptor => match job.filter(|_| mpi::has_begun_pmi2()) {
            Some(job) => Ok(Box::new(pmi2::Two::join(link, &job, who, patience))),
            None => Ok(Box::new(pmi1::One::join(link, who, patience)?)),
        },
        (phase, Some(job)) if who.1 > 1 && pmi2::greet(&mut link, patience)? => {
            if phase == Phase::Before {
                tracing::warn!(
                    "this program has MPI as well, and Slurm lets only one of both begin to speak PMI: if it calls \
                     MPI_Init, it must do so before LAPI_Init (or be started by lapirun)"
                );
            }
            Ok(Box::new(pmi2::Two::open(link, &job, who.0, patience)?))
        }
        _ => Ok(Box::new(pmi1::One::open(link, who, patience)?)),
    }
}

/// Whether MPI says farewell to the launcher: both have one conversation, and who ends it ends it
/// for both. MPI does so in MPI_Finalize, which may have been called already.
fn mpi_says_farewell() -> bool {
    matches!(mpi::phase(), Phase::During | Phase::After)
}

/// Cuts a text into parts of at most `most` bytes; the first says how many there are.
fn cut(text: &str, most: usize) -> Vec<String> {
    // Room for the count.
    let most = most.saturating_sub(8).max(8);
    let parts: Vec<&[u8]> = text.as_bytes().chunks(most).collect();
    let count = parts.len().max(1);
    let mut out: Vec<String> = parts.iter().map(|p| String::from_utf8_lossy(p).into_owned()).collect();
    match out.first_mut() {
        Some(first) => first.insert_str(0, &format!("{count}:")),
        None => out.push("1:".into()),
    }
    out
}

/// The key of a part.
fn part_key(from: u32, key: &str, part: usize) -> String {
    format!("{key}.{from}.{part}")
}

/// Puts a text together again.
fn join(
    from: u32,
    key: &str,
    mut get: impl FnMut(&str) -> Result<String, BootstrapError>,
) -> Result<String, BootstrapError> {
    let first = get(&part_key(from, key, 0))?;
    let Some((count, text)) = first.split_once(':').and_then(|(n, t)| Some((n.parse::<usize>().ok()?, t)))
    else {
        return Err(BootstrapError::Manager {
            during: format!("reading {key:?} of task {from}"),
            reason: format!("{first:?} does not begin with the number of its parts"),
        });
    };
    let mut whole = text.to_owned();
    for part in 1..count.min(MAX_TASKS as usize) {
        whole.push_str(&get(&part_key(from, key, part))?);
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_the_servers_limit_and_put_together_again() {
        for most in [16, 17, 64, 1024] {
            for text in ["", "x", "1,abc,def", &"0123456789".repeat(60)] {
                let parts = cut(text, most);
                assert!(parts.iter().all(|p| p.len() <= most), "{most}");
                let whole = join(3, "k", |key| {
                    let at = key.strip_prefix("k.3.").unwrap().parse::<usize>().unwrap();
                    Ok(parts[at].clone())
                });
                assert_eq!(whole.unwrap(), text);
            }
        }
    }

    #[test]
    fn variables_say_who_speaks_what() {
        let say = |pairs: [(&str, &str); 3]| announced(&Environment::of(pairs)).unwrap();
        let none = ("X", "");
        assert_eq!(say([none, ("PMI_RANK", "1"), ("PMI_SIZE", "2")]), None);
        let found = say([("PMI_FD", "9"), ("PMI_RANK", "1"), ("PMI_SIZE", "2")]).unwrap();
        assert_eq!(found, Announced { protocol: "PMI-1", task: Some(1), tasks: Some(2) });
        let found = say([("PMI_PORT", "h:9"), ("PMI_ID", "1"), ("PMI_JOBID", "2.0")]).unwrap();
        assert_eq!(found, Announced { protocol: "PMI-2", task: Some(1), tasks: None });
        assert!(
            announced(&Environment::of([("PMI_FD", "9"), ("PMI_RANK", "2"), ("PMI_SIZE", "2")])).is_err()
        );
    }
}
