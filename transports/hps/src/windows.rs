//! Which windows a context has, by MP_MSG_API.
//!
//! | MP_MSG_API | windows |
//! |---|---|
//! | `lapi`, none | each context has its own |
//! | `lapi,mpi`, `mpi,lapi` | the same; the first context of a process holds as many again for the next one |
//! | `mpi_lapi` | all contexts of a process share those of the first |

use crate::address::{Contact, Entry};
use crate::choice;
use crate::options::{MAX_RAILS, Options};
use crate::rail::Rail;
use crate::services::Services;
use crate::shared::{Identity, Inbox, Shared};
use crate::waiter::Notifier;
use lapis_adapters::client::{DaemonError, SHOWING};
use lapis_adapters::eth::Wire;
use lapis_adapters::eth::port::Port;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{Adapter, Place, Why};
use lapis_core::config::MsgApi;
use lapis_core::sync::Arc;
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use lapis_core::transport::{Host, OpenParams, TransportError};
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

/// So often at most a task chooses among the adapters. Some go down while it opens windows of them.
const CHOICES: u32 = 8;

/// The windows of a context.
pub(crate) enum Rails {
    Own(Vec<Rail>),
    Shared(Share),
}

/// A context's part of shared windows.
pub(crate) struct Share {
    pub(crate) all: Arc<Shared>,
    pub(crate) context: u32,
    pub(crate) inbox: Arc<Inbox>,
    /// Losses of windows that the context has heard of.
    pub(crate) losses: u64,
}

/// What a context opens.
pub(crate) struct Opened {
    pub(crate) services: Services,
    pub(crate) rails: Rails,
    pub(crate) held: Option<Held>,
}

/// The windows while this context works with them.
pub(crate) enum Working<'a> {
    Own(&'a mut Vec<Rail>),
    Shared(MutexGuard<'a, Vec<Rail>>),
}

/// The same, to look at: a context's own windows are shared with whoever else looks, and lent to
/// one who works.
pub(crate) enum Looking<'a> {
    Own(&'a Vec<Rail>),
    Shared(MutexGuard<'a, Vec<Rail>>),
}

impl Rails {
    #[inline]
    pub(crate) fn work(&mut self) -> Working<'_> {
        match self {
            Self::Own(rails) => Working::Own(rails),
            Self::Shared(share) => Working::Shared(share.all.rails()),
        }
    }

    pub(crate) fn look(&self) -> Looking<'_> {
        match self {
            Self::Own(rails) => Looking::Own(rails),
            Self::Shared(share) => Looking::Shared(share.all.rails()),
        }
    }

    /// The context whose number stands behind each datagram, if windows are shared.
    pub(crate) fn suffix(&self) -> Option<u32> {
        match self {
            Self::Own(_) => None,
            Self::Shared(share) => Some(share.context),
        }
    }
}

impl Deref for Looking<'_> {
    type Target = Vec<Rail>;

    fn deref(&self) -> &Vec<Rail> {
        match self {
            Self::Own(rails) => rails,
            Self::Shared(rails) => rails,
        }
    }
}

impl Deref for Working<'_> {
    type Target = Vec<Rail>;

    #[inline]
    fn deref(&self) -> &Vec<Rail> {
        match self {
            Self::Own(rails) => rails,
            Self::Shared(rails) => rails,
        }
    }
}

impl DerefMut for Working<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<Rail> {
        match self {
            Self::Own(rails) => rails,
            Self::Shared(rails) => rails,
        }
    }
}

pub(crate) fn refused(e: DaemonError) -> TransportError {
    match &e {
        DaemonError::Refused { why: Why::Full | Why::Exhausted, .. } => {
            TransportError::Exhausted(e.to_string())
        }
        _ => TransportError::Unreachable(e.to_string()),
    }
}

/// The same when windows are opened: adapters that are down are reported as such, and nothing else.
fn unopened(e: DaemonError) -> TransportError {
    match refused(e) {
        e @ TransportError::Exhausted(_) => e,
        e => TransportError::Invalid(e.to_string()),
    }
}

/// Opens the windows of a context, or joins it to those that are there.
pub(crate) fn open(
    options: &Options,
    params: &OpenParams<'_>,
    notifier: &Arc<Notifier>,
    host: &Host,
) -> Result<Opened, TransportError> {
    let job = params.job;
    let identity = Identity { task: params.task, job: format!("{job} at {}", options.daemon) };
    let connect = |key| Services::connect(options.daemon.clone(), key).map_err(unopened);
    if options.api == Some(MsgApi::Shared) {
        // The windows' own connection lives as long as any context. Each context has another one
        // beside it, by which it attaches to peers' windows and sleeps, with answers of its own.
        let key = Key::of_job(params.secret, &format!("{job}/all"));
        let all = Shared::of(identity, || {
            let keeper = connect(key)?;
            let rails = open_rails(options, &keeper, None, host)?;
            Ok((keeper, rails))
        })?;
        let services = connect(key)?;
        let inbox = all.join(params.context, Arc::clone(notifier));
        let losses = all.losses();
        let rails = Rails::Shared(Share { all, context: params.context, inbox, losses });
        return Ok(Opened { services, rails, held: None });
    }
    // Contexts of one job have windows of their own, which only their like can reach.
    let services = connect(Key::of_job(params.secret, &format!("{job}/{}", params.context)))?;
    let side_by_side = matches!(options.api, Some(MsgApi::LapiMpi | MsgApi::MpiLapi));
    if !side_by_side {
        let rails = Rails::Own(open_rails(options, &services, None, host)?);
        return Ok(Opened { services, rails, held: None });
    }
    // Contexts that are opened at once come one after the other: the second one finds what the
    // first one holds for it.
    let _turn = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut held = Held::begin(identity);
    let rails = open_rails(options, &services, Some(&held), host)?;
    held.hold_for_another(&services, &rails)?;
    Ok(Opened { services, rails: Rails::Own(rails), held: Some(held) })
}

/// Opens windows: those that are held for the context, those named, or free ones. An adapter that
/// goes down before its window is open counts as one that was down before: the choice is made
/// again.
fn open_rails(
    options: &Options,
    services: &Services,
    held: Option<&Held>,
    host: &Host,
) -> Result<Vec<Rail>, TransportError> {
    let mut choices = 1;
    loop {
        let there = services.daemon.settled_adapters().map_err(unopened)?;
        let mut rails = Vec::new();
        let failed = choose(options, &there, held, host)?.into_iter().find_map(|(window, adapter)| {
            let rail = open_rail(services, window, adapter);
            rail.map(|rail| rails.push(rail)).err().map(|e| (adapter, e))
        });
        let Some((adapter, failed)) = failed else { return Ok(rails) };
        if !matches!(failed, Unopened::Down) || choices == CHOICES {
            return Err(failed.into_error(&adapter.name));
        }
        for rail in rails {
            services.daemon.close(&rail.entry.place).map_err(unopened)?;
        }
        host.warn(format_args!("{} went down while windows were opened: without it", adapter.name));
        choices += 1;
    }
}

/// Windows to open, by number or any, and their adapters.
fn choose<'a>(
    options: &Options,
    there: &'a [Adapter],
    held: Option<&Held>,
    host: &Host,
) -> Result<Vec<(Option<u32>, &'a Adapter)>, TransportError> {
    if let Some(held) = held.filter(|held| !held.taken.is_empty()) {
        let places = held.taken.iter().map(|place| (place.window, place.adapter.clone()));
        // The program's user has not named these: any of them will do.
        let is_down = |name: &str| there.iter().any(|adapter| adapter.name == name && !adapter.up);
        let (down, up): (Vec<_>, Vec<_>) = places.partition(|(_, name)| is_down(name));
        if up.is_empty() {
            return named(&down, there, "MP_MSG_API");
        }
        for (window, name) in down {
            host.warn(format_args!("{name} is down: without window {window}, which is held for MPI"));
        }
        return named(&up, there, "MP_MSG_API");
    }
    if !options.windows.is_empty() {
        return named(&options.windows, there, "MP_LAPI_NETWORK");
    }
    let chosen = choice::adapters(options, there)?;
    Ok(chosen.into_iter().map(|adapter| (None, adapter)).collect())
}

/// Windows by number, and their adapters. `by` is the variable that wants them.
fn named<'a>(
    windows: &[(u32, String)],
    there: &'a [Adapter],
    by: &str,
) -> Result<Vec<(Option<u32>, &'a Adapter)>, TransportError> {
    let one = |(window, name): &(u32, String)| {
        let adapter = choice::named(name, there).map_err(|e| match e {
            TransportError::Unreachable(why) => TransportError::Unreachable(format!("{by}: {why}")),
            e => TransportError::Invalid(format!("{by}: {e}")),
        });
        Ok((Some(*window), adapter?))
    };
    windows.iter().take(MAX_RAILS).map(one).collect()
}

/// Why a window is not open.
enum Unopened {
    /// Its adapter is down by now.
    Down,
    Other(TransportError),
}

impl Unopened {
    fn into_error(self, adapter: &str) -> TransportError {
        match self {
            Self::Down => TransportError::Unreachable(format!("{adapter} goes down again and again")),
            Self::Other(e) => e,
        }
    }
}

fn open_rail(services: &Services, window: Option<u32>, adapter: &Adapter) -> Result<Rail, Unopened> {
    let opened = services.daemon.open_window(&adapter.name, window, services.key).map_err(|e| match e {
        DaemonError::Refused { why: Why::Down, .. } => Unopened::Down,
        other => Unopened::Other(unopened(other)),
    })?;
    let text = |e| Unopened::Other(TransportError::Exhausted(format!("window {}: {e}", adapter.name)));
    let number = opened.place.window;
    let port = opened.wire.map(|wire| Port::open(wire, number, services.key.tag()));
    let port = port.transpose().map_err(text)?;
    let wire = port.as_ref().map(Port::wire);
    let contact =
        |w: &Wire| Contact { address: w.address, port: w.port, room: w.room as u16, joins: w.joins };
    let wire = wire.map(contact);
    let entry = Entry { network: adapter.network, index: adapter.index, place: opened.place, wire };
    Rail::open(entry, opened.parts, port).map_err(text)
}

/// Windows that the first context of a process holds for the next one, as long as it lives.
struct Store {
    identity: Identity,
    /// Tells this holder from those before and after it.
    holder: Arc<()>,
    /// Those that nobody has open.
    places: Vec<Place>,
}

static STORES: Mutex<Vec<Store>> = Mutex::new(Vec::new());

/// Held by a context from the look at what is held until it holds something itself.
static OPENING: Mutex<()> = Mutex::new(());

fn stores() -> MutexGuard<'static, Vec<Store>> {
    STORES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a context has to do with windows that are held for another one.
pub(crate) struct Held {
    identity: Identity,
    /// Who holds what it has taken, or itself.
    holder: Arc<()>,
    /// It has opened these, which the first context holds.
    taken: Vec<Place>,
    /// It is the first one, and holds these.
    own: Vec<Place>,
}

impl Held {
    /// Takes what is held, if there is something.
    fn begin(identity: Identity) -> Self {
        let mut stores = stores();
        let store = stores.iter_mut().find(|store| store.identity == identity);
        let (holder, taken) = store.map_or_else(Default::default, |store| {
            (Arc::clone(&store.holder), std::mem::take(&mut store.places))
        });
        Self { identity, holder, taken, own: Vec::new() }
    }

    /// The first context holds a window on each of its adapters.
    //= LAPI Guide, Setting environment variables, MP_MSG_API=lapi,mpi, separate adapter windows
    fn hold_for_another(&mut self, services: &Services, rails: &[Rail]) -> Result<(), TransportError> {
        let mut stores = stores();
        if stores.iter().any(|store| store.identity == self.identity) {
            return Ok(());
        }
        let hold = |rail: &Rail| services.daemon.hold(&rail.entry.place.adapter, None);
        let places: Result<Vec<Place>, _> = rails.iter().map(hold).collect();
        let places = places.map_err(|e| match unopened(e) {
            TransportError::Exhausted(why) => TransportError::Exhausted(format!(
                "MP_MSG_API=lapi,mpi wants windows for MPI, too: {why}; mpi_lapi shares LAPI's"
            )),
            other => other,
        })?;
        self.keep(&mut stores, places);
        Ok(())
    }

    /// Has the next context find these.
    fn keep(&mut self, stores: &mut Vec<Store>, places: Vec<Place>) {
        self.own.clone_from(&places);
        stores.push(Store { identity: self.identity.clone(), holder: Arc::clone(&self.holder), places });
    }

    /// The windows of which the first context tells the next daemon.
    pub(crate) fn hold_again(&self, services: &Services) {
        services.daemon.within(SHOWING, |daemon| {
            for place in &self.own {
                // Whoever has it open may have shown it already; then it is not free.
                let held = daemon.hold(&place.adapter, Some(place.window));
                if matches!(held, Err(DaemonError::Silent(..))) {
                    break;
                }
            }
        });
    }

    /// What is held at present, for people.
    pub(crate) fn told(&self) -> Option<String> {
        let list: Vec<String> = self.own.iter().map(Place::to_string).collect();
        (!list.is_empty()).then(|| format!("held for MPI: {}", list.join(", ")))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut stores = stores();
        if !self.own.is_empty() {
            // They are free when the connection ends.
            stores.retain(|store| !Arc::ptr_eq(&store.holder, &self.holder));
        } else if let Some(store) = stores.iter_mut().find(|store| Arc::ptr_eq(&store.holder, &self.holder)) {
            // A later holder holds others, and does not get these.
            store.places.append(&mut self.taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_adapters::channel::Address;
    use lapis_adapters::client::Daemon;
    use lapis_adapters::listener::Listener;
    use lapis_nsd::{Server, soft_adapters};
    use std::os::fd::AsFd as _;
    use std::time::Duration;

    fn begin() -> Held {
        Held::begin(Identity { task: 3, job: "windows held in a unit test".to_owned() })
    }

    fn keep(held: &mut Held, window: u32) {
        held.keep(&mut stores(), places(window));
    }

    fn places(window: u32) -> Vec<Place> {
        vec![Place { adapter: "sn0".to_owned(), window }]
    }

    /// Another transport may lead to the task; if none does, no transport reaches it.
    #[test]
    fn a_task_whose_window_a_silent_daemon_keeps_is_out_of_reach_and_no_socket_has_failed() {
        let address = Address::new(&format!("lapis-test-silent-{}", std::process::id()));
        let silent = Listener::bind(&address).expect("nobody listens");
        silent.listen().expect("it is bound");
        let found = Daemon::connect_within(&address, Duration::from_millis(10));
        let why = found.expect_err("it does not answer");
        assert!(matches!(why, DaemonError::Silent(..)), "{why}");
        let why = refused(why);
        let TransportError::Unreachable(text) = why else { panic!("{why:?}") };
        assert!(text.contains("does not answer"), "{text}");
    }

    /// A child of a program that has ended its contexts has the connection as before.
    #[test]
    fn windows_are_free_though_a_child_has_their_connection() {
        let address = Address::new(&format!("lapis-test-windows-{}", std::process::id()));
        let adapters = soft_adapters(1, 1, 4).expect("possible");
        let options = lapis_nsd::Options { address: address.clone(), adapters, ..Default::default() };
        let _daemon = Server::open(options).and_then(Server::spawn).expect("a daemon");
        let mut childs = Vec::new();
        for _ in 0..2 {
            let services = Services::connect(address.clone(), Key::of_text("x")).expect("a daemon");
            let adapter = services.daemon.adapters().expect("adapters").remove(0);
            let rail = open_rail(&services, Some(3), &adapter);
            let mut rails = vec![rail.unwrap_or_else(|e| panic!("{}", e.into_error("sn0")))];
            childs.push(services.daemon.as_fd().try_clone_to_owned().expect("descriptors"));
            services.give_back(&mut rails);
        }
    }

    #[test]
    fn windows_go_back_to_the_context_that_holds_them_and_to_no_later_one() {
        let mut first = begin();
        assert_eq!(first.taken, []);
        keep(&mut first, 1);
        let second = begin();
        assert_eq!((&second.taken, &begin().taken), (&places(1), &vec![]));
        drop(second);
        let second = begin();
        assert_eq!(second.taken, places(1), "given back");
        drop(first);
        let mut third = begin();
        assert_eq!(third.taken, []);
        keep(&mut third, 5);
        drop(second);
        assert_eq!(begin().taken, places(5), "nobody holds the first one's windows any more");
    }
}
