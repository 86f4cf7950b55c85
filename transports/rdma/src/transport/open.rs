//! Opening the rails of a task.

use super::Rdma;
use super::slots::SlotsOfPeers;
use super::vouch::Vouching;
use crate::address::Card;
use crate::declaration::DESCRIPTOR;
use crate::header::End;
use crate::library::Library;
use crate::links::Links;
use crate::memory::Memory;
use crate::peers::Peers;
use crate::provider::{self, Wanted};
use crate::rail::Rail;
use crate::rest::StreamRest;
use crate::stripes::Stripes;
use crate::survey;
use crate::touch::Touch;
use crate::waiter::{Bell, RdmaWaiter};
use lapis_core::sync::Arc;
use lapis_core::transport::{FailoverTrouble, Host, OpenParams, TransportError, Troubles};
use std::collections::VecDeque;
use std::time::Instant;

/// Opens as many rails as are wanted.
pub(super) fn open(host: Host, params: &OpenParams<'_>) -> Result<(Rdma, RdmaWaiter), TransportError> {
    let library = Library::load()?;
    let wanted = Wanted::of(&host)?;
    let (mut rails, mut troubles) = rails(library, &host, params, &wanted)?;
    let about = about(library, params, &wanted, &mut rails);
    let devices = rails.iter().map(|rail| rail.endpoint.domain_name());
    let links = if rails.len() == 1 { Ok(Links::default()) } else { Links::watch(devices) };
    let links = links.unwrap_or_else(|e| {
        let text = format!(
            "The kernel does not tell of its network links (netlink: {e}). Paths that fail are left when they are silent."
        );
        troubles.push(FailoverTrouble::Unwatched, text);
        Links::default()
    });
    finish(host, params, (library, rails, about), (links, troubles))
}

/// What a job of one task says of the machine: whoever opens the transport to look at it gets it.
fn about(library: Library, params: &OpenParams<'_>, wanted: &Wanted, rails: &mut [Rail]) -> String {
    if params.tasks > 1 {
        return String::new();
    }
    let taken: Vec<_> =
        rails.iter().map(|rail| (rail.endpoint.provider(), rail.endpoint.domain_name())).collect();
    let habits = rails.first_mut().map(|rail| rail.endpoint.habits());
    habits.unwrap_or_default() + &survey::text(&provider::seen(&library), wanted, &taken)
}

fn rails(
    library: Library,
    host: &Host,
    params: &OpenParams<'_>,
    wanted: &Wanted,
) -> Result<(Vec<Rail>, Troubles), TransportError> {
    let infos = provider::choose(&library, wanted).map_err(|error| match error {
        TransportError::Io(text) if params.tasks == 1 => {
            TransportError::Io(text + &survey::text(&provider::seen(&library), wanted, &[]))
        }
        error => error,
    })?;
    let descriptor = host.word(&DESCRIPTOR)? != Some("no");
    let mut rails = Vec::with_capacity(infos.len());
    for (at, info) in infos.into_iter().enumerate() {
        rails.push(Rail::open(library, info, (params.tasks, at), descriptor)?);
    }
    let mut troubles = Troubles::default();
    let first = rails[0].endpoint.domain_name();
    if rails.len() > 1 && !rails.iter().all(Rail::can_fail_over) {
        let text =
            "This provider keeps no order of messages, or sends none without a buffer: one rail is used.";
        troubles.push(FailoverTrouble::SetUp, text.to_owned());
        rails.truncate(1);
    } else if rails.len() > 1 && rails.iter().all(|rail| rail.endpoint.domain_name() == first) {
        let text = format!("All rails of this task are on one device, {first}.");
        troubles.push(FailoverTrouble::SetUp, text);
    }
    Ok((rails, troubles))
}

fn finish(
    host: Host,
    params: &OpenParams<'_>,
    (library, mut rails, about): (Library, Vec<Rail>, String),
    (links, troubles): (Links, Troubles),
) -> Result<(Rdma, RdmaWaiter), TransportError> {
    let me = End { task: params.task, nonce: nonce()? };
    let memory = Memory::new(rails[0].endpoint.keys(nonce()?), rails[0].endpoint.joint());
    let sleeps = rails.iter_mut().all(|rail| rail.endpoint.queue().fd().is_some());
    let ordered = rails.iter().all(|rail| rail.endpoint.keeps_order());
    let bell = Bell::new(links.fd())
        .map_err(|e| TransportError::Io(format!("preparing to sleep on the completion queue: {e}")))?;
    let bell = Arc::new(bell);
    let gets = rails.len() == 1 || !rails.iter().any(|rail| rail.endpoint.ends_gets_twice());
    log_rails(&host, params.task, &rails, (!gets).then(|| library.version()));
    let (rest, now) = (StreamRest::new(rails[0].endpoint.rest_of_streams()), Instant::now());
    let touch = rails.iter().any(|rail| rail.endpoint.closes_on_refusal()).then(Touch::new);
    let this = Rdma {
        memory,
        slots: SlotsOfPeers::default(),
        rails,
        stripes: Stripes::default(),
        links,
        host,
        me,
        secret: *params.secret,
        peers: Peers::new(params.tasks),
        to_tell: VecDeque::new(),
        tell_now: false,
        news: Vec::new(),
        lost: VecDeque::new(),
        early: VecDeque::new(),
        preferred: None,
        refused: false,
        ordered,
        gets,
        fails_over: false,
        watched: Vec::new(),
        next_look: now,
        to_renew: Vec::new(),
        next_opening: now,
        troubles,
        cut_off: false,
        bell: Arc::clone(&bell),
        watchful: params.interrupts,
        listens: false,
        vouching: Vouching::default(),
        said_deaf: false,
        napping: false,
        sleeps,
        library: library.version(),
        about,
        rest,
        looked: false,
        unread: false,
        touch,
    };
    Ok((this, RdmaWaiter(bell)))
}

/// What the log says of the rails that this task has; `no_gets`: the version of libfabric for which
/// this task gets nothing itself.
fn log_rails(host: &Host, task: u32, rails: &[Rail], no_gets: Option<(u32, u32)>) {
    if rails[0].endpoint.is_fragile() {
        host.warn(format_args!(
            "{} without FI_OFI_RXM_USE_SRX=1: libfabric (seen with 1.17) may end the process when a context is closed \
             while messages arrive",
            rails[0].endpoint.provider()
        ));
    }
    if let Some((major, minor)) = no_gets {
        host.info(format_args!(
            "targets put what this task would get, and short gets go in packets: over several rails libfabric \
             {major}.{minor} could end this process if one fails amid a get of {} (1.18 does not)",
            rails[0].endpoint.provider()
        ));
    }
    for (at, rail) in rails.iter().enumerate() {
        host.debug(format_args!(
            "task {}, rail {at}: provider {}, domain {}, network {}",
            task,
            rail.endpoint.provider(),
            rail.endpoint.domain_name(),
            rail.endpoint.network()
        ));
    }
}

/// A number that no other life of this task has.
fn nonce() -> Result<u64, TransportError> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| TransportError::Io(format!("reading random bytes: {e}")))?;
    Ok(u64::from_le_bytes(bytes))
}

impl Rdma {
    /// What peers are told of this task.
    pub(super) fn card(&self) -> Card {
        let first = &self.rails[0].endpoint;
        Card {
            nonce: self.me.nonce,
            format: first.address_format(),
            provider: first.provider(),
            rails: self.rails.iter().map(|rail| rail.entry.clone()).collect(),
        }
    }

    /// The longest put or get.
    pub(super) fn longest_transfer(&self) -> u64 {
        self.rails.iter().map(|rail| rail.endpoint.longest_transfer()).min().unwrap_or(0)
    }
}
