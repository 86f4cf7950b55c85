//! The daemon, as this task knows it: who gives windows, which adapters are up, and what happens
//! when it goes.

use crate::rail::Rail;
use crate::retry::Retry;
use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, DaemonError, Greeted, Greeting, SHOWING};
use lapis_adapters::eth::Hop;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::{Place, Why};
use rustix::process::{Pid, getpid};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Between two tries to reach a daemon after one has gone.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// For so long a daemon may take to hear of closed windows: the task waits meanwhile.
const QUICK: Duration = Duration::from_millis(500);

/// News of the daemon.
#[derive(Debug)]
pub(crate) enum News {
    /// It has gone: nothing tells the state of adapters.
    Gone,
    /// There is one again, and it knows this task's windows.
    Back,
    /// There is one again, and it does not take a window of this task over.
    Lost(String),
    /// By now it has taken them all over.
    Shown,
}

/// See the module.
pub(crate) struct Services {
    pub(crate) address: Address,
    pub(crate) key: Key,
    /// Kept when it has gone, for the matrix's last state.
    pub(crate) daemon: Daemon,
    gone: bool,
    /// When a new one was looked for last.
    tried: Instant,
    /// A new one that has not answered yet.
    greeting: Option<Greeting>,
    /// The matrix's changes that this task has seen.
    seen: u64,
    /// When it is asked again what it has not answered.
    retry: Retry,
    /// Windows that it has still to take over.
    unshown: Vec<Place>,
    /// When they are shown to it again.
    showing: Retry,
    /// A child of this process has no windows.
    process: Pid,
}

impl Services {
    pub(crate) fn connect(address: Address, key: Key) -> Result<Self, DaemonError> {
        let daemon = Daemon::connect(&address)?;
        let (tried, process) = (Instant::now(), getpid());
        let (retry, showing) = (Retry::default(), Retry::default());
        let (greeting, unshown, seen) = (None, Vec::new(), u64::MAX);
        Ok(Self {
            address,
            key,
            daemon,
            gone: false,
            tried,
            greeting,
            seen,
            retry,
            unshown,
            showing,
            process,
        })
    }

    /// Whether the matrix has changed since it was [looked at](Self::take_change) last.
    #[inline]
    pub(crate) fn has_changed(&self) -> bool {
        self.daemon.matrix().changes() != self.seen
    }

    /// The same, and from now on it counts as seen.
    #[inline]
    pub(crate) fn take_change(&mut self) -> bool {
        let now = self.daemon.matrix().changes();
        std::mem::replace(&mut self.seen, now) != now
    }

    /// Whether there is no daemon at present.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(crate) fn is_up(&self, index: usize) -> bool {
        self.daemon.matrix().is_up(index)
    }

    /// How long a datagram may be that leaves over the adapter.
    pub(crate) fn room(&self, index: usize) -> usize {
        match self.daemon.matrix().room(index) {
            0 => usize::MAX,
            room => room as usize,
        }
    }

    /// Another number when next hops may have changed.
    pub(crate) fn hops(&self, index: usize) -> u32 {
        self.daemon.matrix().hops(index)
    }

    /// Whether nobody answers at an adapter's network.
    pub(crate) fn is_silent(&self, index: usize) -> bool {
        self.daemon.matrix().is_silent(index)
    }

    /// The next hop from an adapter to an address; none, while it is looked for.
    pub(crate) fn hop(&self, adapter: &str, address: IpAddr) -> Result<Option<Hop>, DaemonError> {
        self.daemon.hop(adapter, address)
    }

    /// The same, for a task whose other traffic stands still meanwhile: the answer is waited for
    /// this long at most.
    pub(crate) fn hop_within(
        &self,
        patience: Duration,
        adapter: &str,
        address: IpAddr,
    ) -> Result<Option<Hop>, DaemonError> {
        self.daemon.within(patience, |daemon| daemon.hop(adapter, address))
    }

    /// For so long the answer to a question is waited for amid traffic.
    pub(crate) fn patience(&self) -> Duration {
        self.retry.patience()
    }

    /// Notes whether the daemon has answered all that it was asked for. If not, it is asked again.
    pub(crate) fn note_answers(&mut self, answered: bool) {
        self.retry.note(answered, Instant::now());
    }

    /// Whether there is something to ask the daemon again.
    pub(crate) fn owes_answers(&self) -> bool {
        self.retry.is_pending()
    }

    /// Whether it is time to.
    pub(crate) fn is_to_be_asked(&self) -> bool {
        self.retry.is_pending() && !self.gone && self.retry.is_due(Instant::now())
    }

    /// Closes windows, and says so: a child that this process has made by fork(2) has the
    /// connection, too, and keeps it open.
    pub(crate) fn give_back(&self, rails: &mut Vec<Rail>) {
        let places: Vec<Place> = rails.drain(..).map(|rail| rail.entry.place).collect();
        if self.gone || self.process != getpid() {
            return;
        }
        // One that was lost to somebody else, or is free already, is refused. A daemon that is busy
        // hears of it later; one that has gone need not.
        let is_heard = |closed| matches!(closed, Ok(()) | Err(DaemonError::Refused { .. }));
        self.daemon.within(QUICK, |daemon| places.iter().all(|place| is_heard(daemon.close(place))));
    }

    /// Looks whether the daemon is there. Costs a system call; answers what is new.
    #[cold]
    pub(crate) fn look(&mut self, rails: &[Rail]) -> Option<News> {
        if !self.gone {
            if self.daemon.has_gone() {
                self.gone = true;
                return Some(News::Gone);
            }
            if !self.showing.is_due(Instant::now()) {
                return None;
            }
            let patience = self.showing.patience();
            let shown = self.show(rails, patience);
            return (!self.showing.is_pending()).then(|| match shown {
                Ok(()) => News::Shown,
                Err(e) => News::Lost(e.to_string()),
            });
        }
        // Adapters keep their places: the names in the windows' places are the new daemon's, too.
        self.daemon = self.find()?;
        self.gone = false;
        self.seen = u64::MAX;
        (self.retry, self.showing) = (Retry::default(), Retry::default());
        self.unshown = rails.iter().map(|rail| rail.entry.place.clone()).collect();
        Some(match self.show(rails, SHOWING) {
            Ok(()) => News::Back,
            Err(e) if self.showing.is_pending() => News::Lost(format!("{e}; it is asked again")),
            Err(e) => News::Lost(e.to_string()),
        })
    }

    /// Shows the daemon the windows that it has not taken over, and notes those that are to be
    /// shown to it again.
    fn show(&mut self, rails: &[Rail], patience: Duration) -> Result<(), DaemonError> {
        let (key, unshown) = (self.key, &mut self.unshown);
        let shown = self.daemon.within(patience, |daemon| {
            // Each is shown, also behind one whose number somebody else has by now.
            let (mut shown, mut is_silent) = (Ok(()), false);
            for rail in rails {
                let place = &rail.entry.place;
                if is_silent || !unshown.contains(place) {
                    continue;
                }
                let this = daemon.adopt(place, key, &rail.parts);
                is_silent = matches!(this, Err(DaemonError::Silent(..)));
                if !this.as_ref().is_err_and(may_pass) {
                    unshown.retain(|one| one != place);
                }
                shown = shown.and(this);
            }
            shown
        });
        self.showing.note(self.unshown.is_empty(), Instant::now());
        shown
    }

    /// The pause before windows are shown to the daemon again, if there are any.
    pub(crate) fn shows_after(&self) -> Option<Duration> {
        self.showing.current().filter(|_| !self.gone)
    }

    /// A new daemon, if one is there and has answered. Traffic goes on until it has: whoever has
    /// the name may be stopped, or a stranger.
    fn find(&mut self) -> Option<Daemon> {
        if self.greeting.is_none() {
            if self.tried.elapsed() < PAUSE {
                return None;
            }
            self.tried = Instant::now();
            self.greeting = Greeting::say(&self.address).ok();
        }
        match self.greeting.take()?.answered().ok()? {
            Greeted::Daemon(daemon) => Some(daemon),
            Greeted::Waiting(greeting) => {
                self.greeting = Some(greeting);
                None
            }
        }
    }
}

/// Whether a daemon that does not take a window over may do so later.
fn may_pass(e: &DaemonError) -> bool {
    match e {
        DaemonError::Silent(..) => true,
        DaemonError::Refused { why, .. } => {
            matches!(why, Why::Soon | Why::Taken | Why::Full | Why::Exhausted)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Entry;
    use lapis_adapters::channel::Channel;
    use lapis_adapters::listener::Listener;
    use lapis_adapters::matrix::Writer;
    use lapis_adapters::protocol::{Reply, VERSION};
    use lapis_adapters::soft::Parts;
    use lapis_nsd::{Handle, Options, Server, soft_adapters};
    use lapis_testing::Patience;

    fn start(address: &Address) -> Handle {
        let adapters = soft_adapters(1, 1, 4).expect("possible");
        let options = Options { address: address.clone(), adapters, ..Options::default() };
        Server::open(options).and_then(Server::spawn).expect("a daemon")
    }

    fn address_for(test: &str) -> Address {
        Address::new(&format!("lapis-test-services-{test}-{}", std::process::id()))
    }

    /// Services whose daemon has gone, and the address at which the next one is looked for.
    fn bereft(test: &str) -> (Services, Address) {
        let address = address_for(test);
        let daemon = start(&address);
        let mut services = Services::connect(address.clone(), Key::of_text("x")).expect("a daemon");
        drop(daemon);
        assert!(matches!(services.look(&[]), Some(News::Gone)));
        (services, address)
    }

    fn listen(address: &Address) -> Listener {
        let listener = Listener::bind(address).expect("nobody listens");
        listener.listen().expect("it is bound");
        listener
    }

    /// The one who takes its time is this thread: it answers when the task goes on.
    #[test]
    fn a_task_goes_on_while_the_next_daemon_takes_its_time_to_answer() {
        let (mut services, address) = bereft("slow");
        let next = listen(&address);
        let client = loop {
            assert!(services.look(&[]).is_none(), "it has not answered");
            if let Some(client) = next.accept().expect("descriptors") {
                break client;
            }
        };
        let (mut bytes, mut fds) = ([0; 4096], Vec::new());
        client.receive(&mut bytes, &mut fds, true).expect("a hello");
        assert!(services.look(&[]).is_none(), "it has not answered yet");
        let matrix = Writer::new().expect("memory");
        let welcome = Reply::Welcome { version: VERSION, daemon: 1 };
        client.send(&serde_json::to_vec(&welcome).expect("plain"), &[matrix.file()], true).expect("room");
        assert!(matches!(services.look(&[]), Some(News::Back)));
        assert!(next.accept().expect("descriptors").is_none(), "it was greeted once");
    }

    /// As the daemon's name may be a stranger's, who takes no clients.
    #[test]
    fn tries_of_a_daemon_whose_queue_is_full_take_no_time() {
        const TRIES: u32 = 40;
        let (mut services, address) = bereft("full");
        let _next = listen(&address);
        let connect = || Channel::connect(&address, Duration::from_millis(1)).ok();
        let _queued: Vec<Channel> = std::iter::from_fn(connect).collect();
        // Were each to last half a second, these would take 20.
        let mut patience = Patience::with_myself(Duration::from_secs(10));
        let (begun, mut tries) = (Instant::now(), 0);
        while tries < TRIES {
            let before = services.tried;
            assert!(services.look(&[]).is_none());
            tries += u32::from(services.tried != before);
            assert!(!patience.is_over(), "{tries} tries took {:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(begun.elapsed() >= (TRIES - 1) * PAUSE, "{:?}", begun.elapsed());
    }

    fn news(services: &mut Services, rails: &[Rail]) -> News {
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        loop {
            if let Some(news) = services.look(rails) {
                return news;
            }
            assert!(!patience.is_over(), "nothing is new");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Somebody has its number in the next daemon, and lets go of it.
    #[test]
    fn a_window_that_the_next_daemon_refuses_is_shown_to_it_again() {
        let (address, key) = (address_for("again"), Key::of_text("x"));
        let first = start(&address);
        let mut services = Services::connect(address.clone(), key).expect("a daemon");
        let (place, parts) = services.daemon.open("sn0", Some(1), key).expect("it is free");
        let entry = Entry { network: 0, index: 0, place: place.clone(), wire: None };
        let rails = [Rail::open(entry, parts, None).expect("memory")];
        drop(first);
        assert!(matches!(news(&mut services, &rails), News::Gone));
        let _next = start(&address);
        let taker = Daemon::connect(&address).expect("it listens");
        let others = Parts::make_for(&place, rails[0].parts.geometry).expect("memory");
        taker.adopt(&place, Key::of_text("y"), &others).expect("nobody has shown it");
        let News::Lost(why) = news(&mut services, &rails) else { panic!("somebody has it") };
        assert!(why.contains("is taken") && why.ends_with("it is asked again"), "{why}");
        assert!(services.shows_after().is_some());
        drop(taker);
        assert!(matches!(news(&mut services, &rails), News::Shown));
        assert!(services.shows_after().is_none());
        Daemon::connect(&address).and_then(|peer| peer.attach(&place, key)).expect("it is the task's again");
    }
}
