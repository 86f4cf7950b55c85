//! Opening the transports and reaching every task.

use super::adaptive_wait::look_until;
use super::card::{address_for, address_in, card_key, cores_of, epoch_of, hosts, own_card, plain_address};
use super::flags::{self, Flags};
use super::init_errors::{boot_error, link_error, not_opened, not_there};
use super::steps::{barrier_steps, levels};
use super::tally::{Places, Tallies};
use super::{host_topology, init_errors};
use crate::bootstrap::{self, Bootstrap, Entry};
use crate::config::{Config, Environment, UseShm};
use crate::datagrams::{self, Datagrams, Parties, Timing};
use crate::error::{Error, Result};
use crate::state::{Barrier, Collectives, Exchanges, Peer, PeerState, Route};
use crate::transport::{
    Caps, Link, OpenParams, PeerId, Reach, Registry, Request, Selection, TransportError, Window, standby,
    with_options,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What connecting gives.
pub(super) struct Connected {
    pub(super) links: Vec<Link>,
    pub(super) datagrams: Vec<Option<Box<Datagrams>>>,
    pub(super) peers: Vec<Peer>,
    /// By task; none of those that are not met yet.
    pub(super) windows: Vec<Option<Window>>,
    pub(super) tallies: Tallies,
    /// More tasks on this machine than cores for them.
    pub(super) crowded: bool,
    pub(super) flags: Flags,
    /// What this task does in barriers and exchanges.
    pub(super) collectives: Collectives,
    /// By task: the first task of the same machine.
    pub(super) hosts: Box<[u32]>,
}

/// Opens the transports found and connects to all tasks.
pub(super) fn connect(
    registry: &mut Registry,
    request: &Request,
    config: &Config,
    environment: &Environment,
    job: &mut dyn Bootstrap,
    number: u32,
    addresses: &[Vec<SocketAddr>],
) -> Result<Connected> {
    let patience = *config.init_timeout.get();
    let (mut links, absent) = open_all(registry, request, config, environment, job, number)?;
    let entry = job.entry();
    let epoch = datagrams::epoch(former_epoch(job, entry));
    let places = Places::new(&mut links, job.tasks());
    let flags = flags::place(&mut links, job.task(), job.tasks());
    let card = own_card(&mut links, epoch, (places.mapped, places.fetched()), flags)?;
    let cards = exchange_cards(job, &card, patience)?;
    let mut peers = Vec::with_capacity(cards.len());
    for (task, card) in cards.iter().enumerate() {
        let plain = addresses.get(task).map(|paths| plain_address(paths));
        let mut peer = reach(&mut links, &absent, task as PeerId, job.task(), card, plain.as_deref(), entry)?;
        peer.process = epoch_of(card).filter(|_| entry != Entry::Once);
        peers.push(peer);
    }
    finish_connections(&mut links, patience)?;
    // Before anybody may send.
    let datagrams = engines(&mut links, config, job, (number, epoch), &peers, &cards)?;
    if entry != Entry::Again {
        job.fence(patience).map_err(boot_error)?;
    }
    let mut windows = Vec::with_capacity(peers.len());
    for (task, peer) in (0..).zip(&mut peers) {
        peer.met = task == job.task() || is_met(&mut links, task, peer);
        windows.push(peer.met.then(|| window(&mut links, task, job.task(), peer)));
    }
    let flags = Flags::new(job.task(), flags, &cards, &windows);
    let hosts = hosts(&cards);
    let levels = levels(job.task(), &cards, &hosts);
    let tallies = Tallies::new(job.task(), places, &cards, &windows);
    Ok(Connected {
        links,
        datagrams,
        peers,
        windows,
        tallies,
        crowded: crowded(&cards, addresses, job.task()),
        collectives: Collectives::new(
            Barrier::new(&barrier_steps(job.task(), cards.len(), levels.as_ref())),
            Exchanges {
                levels: levels.map(Arc::new),
                in_memory: flags::have_rows(&cards, &hosts),
                ..Exchanges::default()
            },
        ),
        flags,
        hosts,
    })
}

/// Opens the transports that were found, and says why others are absent.
fn open_all(
    registry: &mut Registry,
    request: &Request,
    config: &Config,
    environment: &Environment,
    job: &dyn Bootstrap,
    number: u32,
) -> Result<(Vec<Link>, Vec<String>)> {
    // Nothing may take the place of shared memory where it alone is allowed.
    let only = *config.use_shm.get() == UseShm::Only && job.tasks() > 1;
    if only {
        let names = registry.sought(&request.selection);
        registry.require(&names, request).map_err(|e| not_there(registry, request, &e))?;
    }
    contradiction(config, registry)?;
    let must = only || matches!(request.selection, Selection::Named(_));
    let links = with_options(environment, || open(registry, config, must, job, number))?;
    let open: Vec<_> = links.iter().map(Link::name).collect();
    let absent = init_errors::why_unreachable(registry, request, &open);
    // Only who names two transports wants the second one where the first is there.
    if !matches!(request.selection, Selection::Named(_)) {
        return Ok((links, absent));
    }
    let joined = standby::join_neighbours(links, job.tasks());
    joined.map(|links| (links, absent)).map_err(|why| not_opened("standby", Caps::empty(), &why))
}

/// The cards of all tasks. A task that may be restarted, or was, publishes its own.
fn exchange_cards(job: &mut dyn Bootstrap, card: &[u8], patience: Duration) -> Result<Vec<Vec<u8>>> {
    let entry = job.entry();
    if entry != Entry::Once && job.tasks() > 1 {
        job.put(&card_key(job.task()), card).map_err(boot_error)?;
    }
    match entry {
        Entry::Again => present_cards(job, card, patience),
        Entry::First | Entry::Once => job.exchange("transports", card, patience).map_err(boot_error),
    }
}

/// Shared memory alone was asked for, and by name a transport that reaches other machines.
fn contradiction(config: &Config, registry: &Registry) -> Result<()> {
    if *config.use_shm.get() != UseShm::Only || config.transport.get().is_none() {
        return Ok(());
    }
    let near = Caps::LOCAL_ONLY | Caps::SELF_ONLY;
    let Some(far) = registry.transports().iter().find(|p| !p.caps().intersects(near)) else { return Ok(()) };
    Err(Error::SharedMemory {
        what: format!(
            "LAPI_USE_SHM=only allows nothing but shared memory, and LAPIS_TRANSPORT names `{}`, which reaches other \
             machines: unset one of them",
            far.name()
        ),
        source: None,
    })
}

/// An engine for every link that needs one.
fn engines(
    links: &mut [Link],
    config: &Config,
    job: &dyn Bootstrap,
    (context, epoch): (u32, u32),
    peers: &[Peer],
    cards: &[Vec<u8>],
) -> Result<Vec<Option<Box<Datagrams>>>> {
    let info = job.job();
    let mut made = Vec::with_capacity(links.len());
    for (index, link) in links.iter_mut().enumerate() {
        if !link.caps().contains(Caps::DATAGRAM) {
            made.push(None);
            continue;
        }
        // The others may have started again with each other, and with this task's former process,
        // any number of times.
        let known = job.entry() != Entry::Again;
        let to: Vec<_> = (0..)
            .zip(peers.iter().zip(cards))
            .filter(|(_, (peer, _))| peer.route.index() == index)
            .map(|(task, (_, card))| (task, epoch_of(card).filter(|_| known)))
            .collect();
        if to.is_empty() {
            made.push(None);
            continue;
        }
        // A poll of a datagram transport is a system call: where others are waited for as well, it
        // can't be all the time.
        let alone = to.len() + 1 >= peers.len();
        let parties = Parties {
            task: job.task(),
            job: &info.id,
            context: (context, job.generation()),
            secret: &info.secret,
            epoch,
            alone,
            peers: to,
        };
        made.push(Some(Box::new(Datagrams::new(link, Timing::of(config), &parties)?)));
    }
    Ok(made)
}

/// Opens the transports that were found, best first. With `must`, each has to open; the way of a
/// task to itself always has.
fn open(
    registry: &mut Registry,
    config: &Config,
    must: bool,
    job: &dyn Bootstrap,
    number: u32,
) -> Result<Vec<Link>> {
    let info = job.job();
    let params = OpenParams {
        task: job.task(),
        tasks: job.tasks(),
        context: number,
        // Told apart from earlier contexts of this process and of a task restarted.
        incarnation: incarnation(),
        job: &info.id,
        secret: &info.secret,
        interrupts: *config.interrupt.get(),
    };
    let mut links = Vec::new();
    for plugin in registry.transports().to_vec() {
        let must = must || plugin.reach() == Reach::Itself;
        // A job of one task needs no way to others.
        if job.tasks() == 1 && !must {
            continue;
        }
        match plugin.open(&params) {
            Ok(link) => links.push(link),
            Err(why) => {
                let error = not_opened(plugin.name(), plugin.caps(), &why);
                registry.refuse(plugin.name(), why);
                if must {
                    return Err(error);
                }
            }
        }
    }
    if links.is_empty() {
        return Err(Error::TransportNotFound {
            name: "any".into(),
            searched: vec!["nothing was found; see lapis-info".into()],
        });
    }
    Ok(links)
}

/// Asked for by datagram transports: the addresses that the program has told the other tasks, one
/// for each path, with commas between. They receive there and nowhere else. No variable for users.
const BIND: &str = "LAPIS_JOB_BIND";

/// A job whose program knows the addresses of all tasks.
pub(super) fn listed(
    config: &Config,
    settings: &mut Environment,
    addresses: &[Vec<SocketAddr>],
    context: u32,
) -> Result<Box<dyn Bootstrap>> {
    let missing = |what: &str| Error::Bootstrap {
        what: format!("the program tells the addresses of {} tasks, but {what}", addresses.len()),
        source: None,
    };
    let Some(task) = *config.child.get() else {
        return Err(missing("MP_CHILD does not say which one this is"));
    };
    let Some(own) = addresses.get(task as usize).filter(|own| !own.is_empty()) else {
        return Err(missing(&format!("none for this one, which is task {task}")));
    };
    if addresses.iter().any(|paths| paths.len() != own.len()) {
        return Err(missing("not as many for each"));
    }
    let list: Vec<String> = own.iter().map(ToString::to_string).collect();
    settings.set(BIND, list.join(","));
    let partition = config.partition.get().clone().unwrap_or_else(|| "0".into());
    let variables = (&*settings).into();
    let tasks = addresses.len() as u32;
    let told = bootstrap::Told {
        partition: &partition,
        task,
        tasks,
        loopback: addresses.iter().flatten().all(|at| at.ip().is_loopback()),
        meet: meets(config).then(|| common(&variables, addresses, task)).transpose()?,
        patience: *config.init_timeout.get(),
    };
    bootstrap::listed(&variables, &told, context).map_err(boot_error)
}

/// Whether tasks of one machine are to use more than the addresses that the program tells: they
/// must meet for that.
fn meets(config: &Config) -> bool {
    match config.transport.get() {
        Some(names) => names.len() > 1,
        None => *config.use_shm.get() != UseShm::No,
    }
}

/// The tasks of this machine: those that MP_COMMON_TASKS lists, or else those at this one's
/// address.
fn common(
    variables: &bootstrap::Environment,
    addresses: &[Vec<SocketAddr>],
    task: PeerId,
) -> Result<Vec<PeerId>> {
    if let Some(common) = variables.common_tasks(task, addresses.len() as u32).map_err(boot_error)? {
        return Ok(common);
    }
    let host = |paths: &[SocketAddr]| paths.first().map(SocketAddr::ip);
    let own = host(&addresses[task as usize]);
    Ok((0..).zip(addresses).filter(|(_, paths)| host(paths) == own).map(|(task, _)| task).collect())
}

/// The epoch of this task's former process, if it was restarted. Its clock may have been another
/// one's.
fn former_epoch(job: &mut dyn Bootstrap, entry: Entry) -> Option<u32> {
    if entry != Entry::Again {
        return None;
    }
    let card = job.get(&card_key(job.task()), Duration::from_secs(2));
    let card =
        card.map_err(|e| tracing::debug!("the store does not have the former process's card: {e}")).ok()?;
    epoch_of(&card)
}

/// The present cards of all tasks, for a task that was restarted.
fn present_cards(job: &mut dyn Bootstrap, own: &[u8], patience: Duration) -> Result<Vec<Vec<u8>>> {
    let me = job.task();
    (0..job.tasks())
        .map(|task| {
            if task == me {
                return Ok(own.to_vec());
            }
            job.get(&card_key(task), patience).map_err(boot_error)
        })
        .collect()
}

/// Connects to a task over the first transport that reaches it. `plain` is its address if the
/// program told it.
fn reach(
    links: &mut [Link],
    absent: &[String],
    task: PeerId,
    me: PeerId,
    card: &[u8],
    plain: Option<&[u8]>,
    entry: Entry,
) -> Result<Peer> {
    let mut peer = Peer::new();
    let mut reasons = Vec::new();
    for (index, link) in links.iter_mut().enumerate() {
        if link.caps().contains(Caps::SELF_ONLY) != (task == me) {
            continue;
        }
        let datagrams = link.caps().contains(Caps::DATAGRAM);
        // A task that was met has a card, whatever the program told.
        let only_told = plain.is_some() && card.is_empty();
        if task != me && !datagrams && (entry == Entry::Again || only_told) {
            let why = if only_told {
                "the program told no address for it"
            } else {
                "it can't take up a task that was restarted"
            };
            reasons.push(format!("{}: {why}", link.name()));
            continue;
        }
        let Some(address) = address_for(link, card, plain.filter(|_| datagrams)) else {
            reasons.push(format!("{}: task {task} does not have it", link.name()));
            continue;
        };
        match link.connect(task, &address) {
            Ok(()) => {
                peer.route = Route::over(index);
                return Ok(peer);
            }
            Err(TransportError::Unreachable(why)) => reasons.push(format!("{}: {why}", link.name())),
            Err(e) => return Err(link_error(link.name(), &e)),
        }
    }
    reasons.extend_from_slice(absent);
    peer.state = PeerState::Down;
    Err(Error::NoConnectivity { task, reasons })
}

fn finish_connections(links: &mut [Link], patience: Duration) -> Result<()> {
    let deadline = Instant::now() + patience;
    for link in links.iter_mut() {
        let connected = look_until(deadline, || match link.progress_connect() {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(e) => Some(Err(e)),
        });
        match connected {
            Some(connected) => connected.map_err(|e| link_error(link.name(), &e))?,
            None => {
                return Err(Error::InitTimeout {
                    seconds: patience.as_secs(),
                    missing: format!("tasks that don't answer over {}", link.name()),
                });
            }
        }
        link.refresh_attributes().map_err(|e| Error::Transport {
            transport: link.name().into(),
            what: e.to_string(),
            source: None,
        })?;
        tracing::info!(transport = link.name(), caps = ?link.caps(), note = link.note(), "connected");
    }
    Ok(())
}

/// Whether what leads to a peer can be asked for without getting to know it.
fn is_met(links: &mut [Link], task: PeerId, peer: &Peer) -> bool {
    let link = links.get_mut(peer.route.index()).filter(|link| link.caps().contains(Caps::LATE_CONTACT));
    link.is_none_or(|link| link.send_lane(task).is_some())
}

fn window(links: &mut [Link], task: PeerId, me: PeerId, peer: &Peer) -> Window {
    if task == me {
        // The whole address space, as it is.
        return Window { remote_base: 0, len: u64::MAX, local_base: std::ptr::null_mut() };
    }
    links.get_mut(peer.route.index()).and_then(|l| l.window(task)).unwrap_or(Window {
        remote_base: 0,
        len: 0,
        local_base: std::ptr::null_mut(),
    })
}

/// A number that earlier contexts of this task did not have: the time, which goes on even where the
/// process is a new one.
fn incarnation() -> u32 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u32 ^ std::process::id().rotate_left(16)
}

/// Whether the tasks of this machine outnumber the cores that they may run on, all together.
fn crowded(cards: &[Vec<u8>], addresses: &[Vec<SocketAddr>], me: PeerId) -> bool {
    if let Some(own) = addresses.get(me as usize).and_then(|paths| paths.first()) {
        let local = addresses.iter().flat_map(|paths| paths.first()).filter(|a| a.ip() == own.ip()).count();
        return local > host_topology::cores().iter().map(|byte| byte.count_ones() as usize).sum();
    }
    let here = host_topology::identity();
    let local: Vec<_> = cards.iter().filter(|c| address_in(c, "host") == Some(&here)).collect();
    local.len() > cores_of(&local)
}
