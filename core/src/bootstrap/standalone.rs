//! Tasks started by hand on one node (LAPI Guide, Chapter 16): the first one serves the store for
//! the others.
//!
//! The store listens on an abstract unix socket. Binding it is the election: the kernel lets
//! exactly one process have the name. All are processes of one user on one machine, which the
//! kernel attests (SO_PEERCRED, checked by both sides first), so the server may send them the
//! random job secret.
//!
//! Any user of the machine can bind an abstract name. So a partition's names are derived from a
//! secret, the job's or the user's. A user who saw a name in use may bind it before the next job;
//! the tasks then use the next of many names. So they do where the process that served has ended
//! and one that it had forked holds its socket open. All tasks try the names in the same order, and
//! try all of them before they bind one.

use std::io;
use std::time::{Duration, Instant};

use super::auth::{mac_of, random_secret};
use super::client::{Client, JoinError, Membership, pause};
use super::error::BootstrapError;
use super::hosted::{Meeting, Rendezvous, serve_here};
use super::key::Key;
use super::protocol::Scheme;
use super::server::ServerConfig;
use super::{Address, Bootstrap, Entry, JobInfo, Listener, Origin, address, user_secret};

/// Names that a partition may have: to block it, a stranger must have seen as many of its jobs.
const NAMES: u32 = 64;

/// A name that is taken, but under which nobody has listened for so long, is a stranger's. Who is
/// about to serve takes microseconds.
const MUTE: Duration = Duration::from_secs(1);

/// Where the tasks of a partition meet.
#[derive(Clone)]
pub(crate) struct Partition {
    name: String,
    /// What its names follow from.
    key: Key,
    membership: Membership,
}

impl Partition {
    /// `secret`: the job's, if the tasks were given one. Without it the user's counts, which all
    /// processes of the user find.
    pub(crate) fn new(
        name: &str,
        secret: Option<Key>,
        task: u32,
        tasks: u32,
        local_tasks: Option<Vec<u32>>,
        patience: Duration,
    ) -> Self {
        let key = secret.unwrap_or_else(|| {
            user_secret::of_user().unwrap_or_else(|e| {
                tracing::warn!(
                    "this user has no secret ({e}): other users of this machine can guess the names under which the \
                     tasks of MP_PARTITION={name} meet, and keep them from starting; set LAPIS_JOB_SECRET to 64 random \
                     hexadecimal digits, the same for all tasks (openssl rand -hex 32)"
                );
                [0; 32]
            })
        });
        // Identity and secret are the server's to make up; the handshake brings them. It is keyed
        // by what every task knows before.
        let job = JobInfo { id: name.to_owned(), secret: [0; 32], origin: Origin::Standalone, local_tasks };
        let address = address_of(&key, name, 0);
        let membership = Membership { address, task, tasks, job, scheme: Scheme::SameUser, patience };
        Self { name: name.to_owned(), key, membership }
    }

    /// The membership under each name that the partition may have.
    fn under_each_name(&self) -> impl Iterator<Item = Membership> {
        (0..NAMES).map(|number| {
            let address = address_of(&self.key, &self.name, number);
            Membership { address, ..self.membership.clone() }
        })
    }
}

/// Nobody but the tasks has to hear of aborts and of the end.
impl Meeting for Partition {
    fn open(&self, context: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        join(self, context)
    }

    fn abort(&self, _: i32, _: &str) {}

    fn left(&self) {}
}

/// One of a partition's names.
fn address_of(key: &Key, partition: &str, number: u32) -> Address {
    let drawn = mac_of(key, &[b"lapis partition ", &number.to_le_bytes(), partition.as_bytes()]);
    let name = format!("lapis-partition-{}-", address::own_uid());
    Address::Unix(drawn.iter().take(16).fold(name, |name, byte| format!("{name}{byte:02x}")))
}

/// Meets the other tasks; returns when all are there.
pub(crate) fn join(partition: &Partition, context: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
    let start = Instant::now();
    let membership = &partition.membership;
    let missing = |detail| BootstrapError::PartnersMissing {
        partition: partition.name.clone(),
        tasks: membership.tasks,
        detail,
    };
    let mut attempts = 0;
    loop {
        attempts += 1;
        let left = membership.patience.saturating_sub(start.elapsed());
        let mut client = match meet(partition, context, left, start.elapsed() > MUTE)? {
            Some(client) => client,
            None if left.is_zero() => {
                return Err(missing(format!("no answer at {} in {attempts} attempts", membership.address)));
            }
            None => {
                std::thread::sleep(pause(attempts).min(left));
                continue;
            }
        };
        // Those who were restarted find the others past the meeting.
        if client.entry() == Entry::Again {
            return Ok(Box::new(Rendezvous::new(client, partition.clone())));
        }
        match client.fence(left.max(Duration::from_millis(100))) {
            Ok(()) => return Ok(Box::new(Rendezvous::new(client, partition.clone()))),
            // The server was the last breath of an earlier job of this partition: meet again.
            Err(BootstrapError::ServerLost { .. }) if !left.is_zero() => std::thread::sleep(pause(attempts)),
            Err(BootstrapError::Timeout { detail, .. }) => return Err(missing(detail)),
            Err(other) => return Err(other),
        }
    }
}

/// One attempt to connect to the partition's store or to become it. `long`: whoever was about to
/// serve does by now.
fn meet(
    partition: &Partition,
    context: u32,
    left: Duration,
    long: bool,
) -> Result<Option<Client>, BootstrapError> {
    let (mut silent, mut taken) = (Vec::new(), None);
    for membership in partition.under_each_name() {
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
            Ok(listener) => return serve(partition, listener).map(|()| None),
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

fn serve(partition: &Partition, listener: Listener) -> Result<(), BootstrapError> {
    let (secret, draw) = (random_secret()?, random_secret()?);
    let serial = u64::from_le_bytes(*draw.first_chunk().expect("a secret has 32 bytes"));
    let mut config = ServerConfig::new(partition.membership.tasks, secret);
    config.job_id = format!("partition-{}-{serial:016x}", partition.name);
    config.same_user = true;
    serve_here(listener, config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
    use std::io::Read;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    /// Whoever binds a name and never listens stands for a stranger: a user of another number can't
    /// be had in a test.
    fn take(address: &Address) -> OwnedFd {
        let Address::Unix(name) = address else { unreachable!("names are of unix sockets") };
        let stranger = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&stranger, &SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()).unwrap();
        stranger
    }

    #[test]
    fn who_does_not_know_the_secret_does_not_know_a_name() {
        let all = [[1; 32], [2; 32]].map(|key| (0..NAMES).map(move |n| address_of(&key, "p", n).to_string()));
        let mut all: Vec<String> = all.into_iter().flatten().collect();
        assert!(all.iter().all(|name| !name.ends_with("-p")));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 2 * NAMES as usize);
    }

    #[test]
    fn tasks_meet_although_strangers_have_taken_names_that_they_saw() {
        let partition = format!("seen-{}", std::process::id());
        let key = [7; 32];
        let _strangers: Vec<_> = (0..9).map(|n| take(&address_of(&key, &partition, n))).collect();
        three_meet(&partition, key);
    }

    /// A process that listens at a name ends, and leaves another one that holds the socket open: a
    /// task of an earlier job with a child.
    #[test]
    fn tasks_meet_although_a_child_of_an_earlier_server_keeps_its_name() {
        let partition = format!("kept-{}", std::process::id());
        let key = [7; 32];
        let socket = take(&address_of(&key, &partition, 0));
        let mut server = Command::new("sh");
        server.args(["-c", "sleep 600 >/dev/null 2>&1 & echo $!"]).stdout(Stdio::piped());
        let number = socket.as_raw_fd();
        // SAFETY: the closure runs between fork and exec and makes one system call: no allocation,
        // no locks.
        unsafe {
            server.pre_exec(move || {
                if libc::listen(number, 16) == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
            });
        }
        let mut server = server.spawn().unwrap();
        drop(socket);
        let mut kept = String::new();
        server.stdout.take().unwrap().read_to_string(&mut kept).unwrap();
        assert!(server.wait().unwrap().success());
        let met = std::panic::catch_unwind(|| three_meet(&partition, key));
        let kept = rustix::process::Pid::from_raw(kept.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(kept, rustix::process::Signal::KILL).unwrap();
        met.unwrap();
    }

    fn three_meet(partition: &str, key: Key) {
        let patience = Duration::from_secs(100);
        std::thread::scope(|scope| {
            let tasks = [0, 1, 2].map(|task: u32| {
                scope.spawn(move || {
                    let partition = Partition::new(partition, Some(key), task, 3, None, patience);
                    let mut me = join(&partition, 0).unwrap();
                    let all = me.exchange("k", &[task as u8], patience).unwrap();
                    assert_eq!(all, [[0], [1], [2]]);
                    me.finalize().unwrap();
                })
            });
            // Joined one by one: the sanitizer does not see how a scope waits.
            tasks.into_iter().for_each(|task| task.join().unwrap());
        });
    }
}
