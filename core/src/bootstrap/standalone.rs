//! Tasks started by hand on one node (LAPI Guide, Chapter 16): whoever comes first serves the store for the others.
//!
//! The store listens on an abstract unix socket named from the user and MP_PARTITION. Binding it is the election: the kernel
//! lets exactly one process have the name. All are processes of one user on one machine, which the kernel attests
//! (SO_PEERCRED, checked by both sides), so the server may hand the random job secret to those who ask.
//!
//! Abstract names are first come, first served for every user of the machine. Where a stranger has taken the partition's, the tasks
//! go on to the next of a few names; all look in the same order, and at all names before they take one.

use std::io;
use std::time::{Duration, Instant};

use super::auth::random_secret;
use super::client::{Client, JoinError, Membership, pause};
use super::error::BootstrapError;
use super::hosted::{Rendezvous, serve_here};
use super::protocol::Scheme;
use super::server::ServerConfig;
use super::{Address, Bootstrap, Entry, JobInfo, Listener, Origin, address};

/// Names that a partition may have.
const NAMES: u32 = 8;

/// A name that is taken, but under which nobody has listened for so long, is a stranger's. Who is about to serve takes microseconds.
const MUTE: Duration = Duration::from_secs(1);

pub(crate) fn membership(
    partition: &str,
    task: u32,
    tasks: u32,
    local_tasks: Option<Vec<u32>>,
    patience: Duration,
) -> Membership {
    let address = Address::Unix(format!("lapis-partition-{}-{partition}", address::own_uid()));
    // Identity and secret are the server's to make up; the handshake brings them.
    let job = JobInfo { id: partition.to_owned(), secret: [0; 32], origin: Origin::Standalone, local_tasks };
    Membership { address, task, tasks, job, scheme: Scheme::SameUser, patience }
}

/// Meets the other tasks; returns when all are there.
pub(crate) fn join(mut membership: Membership, context: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
    let start = Instant::now();
    // The handshake is keyed by what every task knows before it starts; a handle that opens another context has
    // learnt the real secret meanwhile.
    membership.job.secret = [0; 32];
    let partition = partition_of(&membership);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let left = membership.patience.saturating_sub(start.elapsed());
        let mut client = match meet(&membership, context, left, start.elapsed() > MUTE)? {
            Some(client) => client,
            None if left.is_zero() => {
                return Err(BootstrapError::PartnersMissing {
                    partition,
                    tasks: membership.tasks,
                    detail: format!("no answer at {} in {attempts} attempts", membership.address),
                });
            }
            None => {
                std::thread::sleep(pause(attempts).min(left));
                continue;
            }
        };
        // Those who were started anew find the others past the meeting.
        if client.entry() == Entry::Again {
            return Ok(Box::new(Rendezvous::of_partition(client)));
        }
        match client.fence(left.max(Duration::from_millis(100))) {
            Ok(()) => return Ok(Box::new(Rendezvous::of_partition(client))),
            // The server was the last breath of an earlier job of this partition: meet again.
            Err(BootstrapError::ServerLost { .. }) if !left.is_zero() => std::thread::sleep(pause(attempts)),
            Err(BootstrapError::Timeout { detail, .. }) => {
                return Err(BootstrapError::PartnersMissing { partition, tasks: membership.tasks, detail });
            }
            Err(other) => return Err(other),
        }
    }
}

fn partition_of(membership: &Membership) -> String {
    let Address::Unix(name) = &membership.address else {
        return String::new();
    };
    name.splitn(4, '-').nth(3).unwrap_or_default().to_owned()
}

/// The membership under each name that the partition may have.
fn under_each_name(membership: &Membership) -> impl Iterator<Item = Membership> {
    (0..NAMES).map(|number| {
        let mut next = membership.clone();
        if let (Address::Unix(name), true) = (&mut next.address, number > 0) {
            name.push_str(&format!("~{number}"));
        }
        next
    })
}

/// One attempt to connect to the partition's store or to become it. `long`: whoever was about to serve does by now.
fn meet(
    membership: &Membership,
    context: u32,
    left: Duration,
    long: bool,
) -> Result<Option<Client>, BootstrapError> {
    let (mut silent, mut taken) = (Vec::new(), None);
    for membership in under_each_name(membership) {
        match Client::try_join(&membership, context, left) {
            Ok(client) => return Ok(Some(client)),
            Err(JoinError::Final(error @ BootstrapError::Impostor { .. })) => {
                tracing::warn!(address = %membership.address, "another user serves the partition's name");
                taken = Some(error);
            }
            Err(JoinError::Final(error)) => return Err(error),
            Err(JoinError::Again(_)) => silent.push(membership),
        }
    }
    for membership in silent {
        match Listener::bind(&membership.address) {
            Ok(listener) => return serve(&membership, listener).map(|()| None),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse && long => {}
            // Somebody was faster: connect to them in the next round.
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Ok(None),
            Err(source) => {
                let what = format!("listening at {}", membership.address);
                return Err(BootstrapError::System { what, source });
            }
        }
    }
    taken.map_or(Ok(None), Err)
}

fn serve(membership: &Membership, listener: Listener) -> Result<(), BootstrapError> {
    let (secret, draw) = (random_secret()?, random_secret()?);
    let serial = u64::from_le_bytes(*draw.first_chunk().expect("a secret has 32 bytes"));
    let mut config = ServerConfig::new(membership.tasks, secret);
    config.job_id = format!("partition-{}-{serial:016x}", partition_of(membership));
    config.same_user = true;
    serve_here(listener, config)
}
