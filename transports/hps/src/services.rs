//! The daemon, as this task knows it: who gives windows, which adapters are up, and what happens
//! when it goes.

use crate::rail::Rail;
use crate::retry::Retry;
use lapis_adapters::channel::Address;
use lapis_adapters::client::{Daemon, DaemonError, Greeted, SHOWING};
use lapis_adapters::eth::Hop;
use lapis_adapters::key::Key;
use lapis_adapters::protocol::Place;
use rustix::process::{Pid, getpid};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Between two tries to reach a daemon after one has gone.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// For so long the daemon may take to hear that windows are closed: the task waits meanwhile.
const QUICK: Duration = Duration::from_millis(500);

/// News of the daemon.
#[derive(Debug)]
pub(crate) enum News {
    /// It has gone: nothing tells the state of adapters.
    Gone,
    /// There is one again, and it knows this task's windows.
    Back,
    /// There is one again, and it has given a window of this task to somebody else.
    Lost(String),
}

/// See the module.
pub(crate) struct Services {
    pub(crate) address: Address,
    pub(crate) key: Key,
    /// Kept when it has gone, for the matrix's last state.
    pub(crate) daemon: Daemon,
    gone: bool,
    /// A new one, which has not answered yet. Nobody waits for it: it may hang.
    greeted: Option<Greeted>,
    /// When a new one was looked for last.
    tried: Instant,
    /// The matrix's changes that this task has seen.
    seen: u64,
    /// When it is asked again what it has not answered.
    retry: Retry,
    /// A child of this process has no windows.
    process: Pid,
}

impl Services {
    pub(crate) fn connect(address: Address, key: Key) -> Result<Self, DaemonError> {
        let daemon = Daemon::connect(&address)?;
        let (tried, process) = (Instant::now(), getpid());
        let (retry, greeted) = (Retry::default(), None);
        Ok(Self { address, key, daemon, gone: false, greeted, tried, seen: u64::MAX, retry, process })
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

    /// A new daemon, if one has answered. Looks for one, and waits for nothing.
    fn find(&mut self) -> Option<Daemon> {
        if self.greeted.is_none() {
            if self.tried.elapsed() < PAUSE {
                return None;
            }
            self.tried = Instant::now();
            self.greeted = Greeted::at_once(&self.address).ok();
        }
        // If it has gone as well, the next look finds out who follows.
        match self.greeted.take()?.answer().ok()? {
            Ok(daemon) => Some(daemon),
            Err(greeted) => {
                self.greeted = Some(greeted);
                None
            }
        }
    }

    /// Looks whether the daemon is there. Costs a system call; answers what is new.
    #[cold]
    pub(crate) fn look(&mut self, rails: &[Rail]) -> Option<News> {
        if !self.gone {
            if !self.daemon.has_gone() {
                return None;
            }
            self.gone = true;
            return Some(News::Gone);
        }
        let daemon = self.find()?;
        let shown = daemon.within(SHOWING, |daemon| {
            // Each is shown, also behind one whose number somebody else has by now.
            let mut shown = Ok(());
            for rail in rails {
                let this = daemon.adopt(&rail.entry.place, self.key, &rail.parts);
                let is_silent = matches!(this, Err(DaemonError::Silent(..)));
                shown = shown.and(this);
                if is_silent {
                    break;
                }
            }
            shown
        });
        // Adapters keep their places: the names in the windows' places are the new daemon's, too.
        self.daemon = daemon;
        self.gone = false;
        self.seen = u64::MAX;
        self.retry = Retry::default();
        Some(match shown {
            Ok(()) => News::Back,
            Err(e) => News::Lost(e.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_adapters::listener::Listener;
    use lapis_nsd::{Options, Server, soft_adapters};
    use lapis_testing::Patience;

    /// A task that has lost its daemon, and the daemon's address.
    fn orphan(name: &str) -> (Services, Address) {
        let address = Address::new(&format!("lapis-test-{name}-{}", std::process::id()));
        let adapters = soft_adapters(1, 1, 4).expect("possible");
        let options = Options { address: address.clone(), adapters, ..Options::default() };
        let daemon = Server::open(options).and_then(Server::spawn).expect("a daemon");
        let mut services = Services::connect(address.clone(), Key::of_text("x")).expect("a daemon");
        drop(daemon);
        assert!(matches!(services.look(&[]), Some(News::Gone)));
        (services, address)
    }

    /// Looks at intervals at which every look tries anew; the processor time that they take is
    /// nothing, but a wait would be seen.
    #[track_caller]
    fn looks_take_no_time(services: &mut Services) {
        let mut took = Duration::ZERO;
        for _ in 0..10 {
            std::thread::sleep(PAUSE);
            let begun = Instant::now();
            assert!(services.look(&[]).is_none());
            took += begun.elapsed();
        }
        // Once each was half a second.
        assert!(took < Duration::from_secs(1), "{took:?}");
    }

    #[test]
    fn a_daemon_that_does_not_answer_is_not_waited_for_and_taken_when_it_does() {
        let (mut services, address) = orphan("services-slow");
        // The next one listens, and takes its time.
        let next = Listener::bind(&address).expect("nobody listens");
        next.listen().expect("it is bound");
        looks_take_no_time(&mut services);
        drop(next);
        let adapters = soft_adapters(1, 1, 4).expect("possible");
        let options = Options { address, adapters, ..Options::default() };
        let _daemon = Server::open(options).and_then(Server::spawn).expect("a daemon");
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while !matches!(services.look(&[]), Some(News::Back)) {
            assert!(!patience.is_over(), "the new daemon is not found");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn who_listens_at_the_daemons_name_and_takes_no_clients_keeps_nobody_waiting() {
        let (mut services, address) = orphan("services-full");
        let stranger = Listener::bind(&address).expect("nobody listens");
        stranger.listen().expect("it is bound");
        let queued: Vec<_> = std::iter::from_fn(|| Greeted::at_once(&address).ok()).collect();
        looks_take_no_time(&mut services);
        drop(queued);
    }
}
