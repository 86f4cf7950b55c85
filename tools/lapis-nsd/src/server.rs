//! The socket, the clients, and the ends of their processes.

use crate::adapters::AdapterSpec;
use crate::caller::Caller;
use crate::closer::{Closer, Unused};
use crate::conversation::Conversation;
use crate::eth::netlink::{Heard, News};
use crate::process::Process;
use crate::shares::Shares;
use crate::tables::{Tables, Users};
use lapis_adapters::bell::Bell;
use lapis_adapters::channel::{Address, Channel};
use lapis_adapters::listener::Listener;
use lapis_adapters::protocol::{MAX_REQUEST, Reply};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Of one who has more than this to be closed, nothing is heard until it is: he passes faster than
/// he lets close.
const UNCLOSED_OF_A_USER: usize = 8192;

/// For so long nobody is accepted when descriptors are short. Who waits goes on waiting.
const DEAF: Duration = Duration::from_millis(10);

/// Clients that are accepted for one event.
const AT_ONCE: usize = 64;

/// So much may a client have left unread to be told of changes: answers need the rest of the room.
const UNREAD: usize = 32 << 10;

/// What marks in the watch set mean: clients have their numbers, twice each.
const LISTENER: u64 = 0;
const STOP: u64 = 1;
const NEWS: u64 = u64::MAX;
const OTHERS: u64 = u64::MAX - 1;

/// What a daemon is to be.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where it listens.
    pub address: Address,
    /// Its adapters.
    pub adapters: Vec<AdapterSpec>,
    /// The most windows of one adapter that one user may have; none: half of those that it has.
    pub share: Option<u32>,
    /// Who may open windows of interfaces, beside root and the daemon's user.
    pub users: Users,
    /// Serves root and the daemon's user only.
    pub own_user_only: bool,
    /// For so long it gives no windows, so that tasks of a daemon before it can show theirs.
    pub youth: Duration,
}

struct Client {
    channel: Channel,
    conversation: Conversation,
    /// It may end although a child of its has the connection, too, or live on without it.
    process: Option<Process>,
}

/// A daemon that listens.
pub struct Server {
    options: Options,
    listener: Listener,
    watch: OwnedFd,
    stop: Arc<Bell>,
    tables: Tables,
    /// Tells that interfaces have changed.
    news: Option<News>,
    closer: Closer,
    shares: Shares,
    /// Until then nobody is accepted.
    deaf_until: Option<Instant>,
    /// Nothing is passed over a connection before it is admitted.
    empty_handed: bool,
    clients: HashMap<u64, Client>,
    next: u64,
    number: u64,
    user: u32,
}

/// Ends a daemon that runs in a thread when dropped.
#[derive(Debug)]
pub struct Handle {
    stop: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Begins to listen.
    ///
    /// # Errors
    /// Another daemon listens there, or the system is short of something.
    pub fn open(options: Options) -> io::Result<Self> {
        // To take interfaces may last: nobody else gets the address, and clients need not wait.
        let listener = Listener::bind(&options.address)?;
        let mut tables = Tables::new(options.adapters.clone(), options.share)?;
        tables.set_users(options.users.clone());
        let shares = if options.own_user_only { Shares::ALL } else { Shares::of_process() };
        tables.set_shares(shares);
        tables.be_young(options.youth);
        let news = if tables.has_interfaces() { Some(News::open()?) } else { None };
        let watch = epoll::create(CreateFlags::CLOEXEC)?;
        let stop = Arc::new(Bell::new()?);
        epoll::add(&watch, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&watch, &*stop, EventData::new_u64(STOP), EventFlags::IN)?;
        if let Some(news) = &news {
            epoll::add(&watch, news, EventData::new_u64(NEWS), EventFlags::IN)?;
            // What happened before it was heard of.
            tables.look(Heard::ALL);
        }
        let empty_handed = listener.listen()?;
        let mut number = [0; 8];
        rustix::rand::getrandom(&mut number, rustix::rand::GetRandomFlags::empty())?;
        let user = rustix::process::geteuid().as_raw();
        let number = u64::from_le_bytes(number);
        let (clients, closer) = (HashMap::new(), Closer::default());
        Ok(Self {
            options,
            listener,
            watch,
            stop,
            tables,
            news,
            closer,
            shares,
            deaf_until: None,
            empty_handed,
            clients,
            next: 1,
            number,
            user,
        })
    }

    /// Makes host names known to whoever looks for nodes, before a program of theirs opens a port;
    /// with addresses (NAME@ADDRESS, all or none), the nodes of all hosts, in the same order at
    /// each.
    ///
    /// # Errors
    /// A name or address can't be one, or there are too many; or this host has no way to others.
    pub fn add_nodes(&mut self, names: &[String]) -> Result<(), String> {
        self.tables.add_nodes(names)?;
        if let Some(others) = self.tables.others() {
            epoll::add(&self.watch, others, EventData::new_u64(OTHERS), EventFlags::IN)
                .map_err(|e| format!("daemons of other hosts: {e}"))?;
        }
        Ok(())
    }

    /// What ends [`run`](Self::run) when it is rung.
    pub fn stop(&self) -> Arc<Bell> {
        Arc::clone(&self.stop)
    }

    /// Why interfaces can't be used at present.
    pub fn troubles(&self) -> Vec<String> {
        self.tables.troubles().map(str::to_owned).collect()
    }

    fn hear_news(&mut self) {
        let heard = self.news.as_ref().map_or(Heard::ALL, News::take);
        self.tables.look(heard);
    }

    /// How long the next wait may be. `due` is when something has to be done at interfaces.
    fn patience(&self, due: &mut Option<Instant>) -> Option<Timespec> {
        let now = Instant::now();
        *due = self.tables.settles_in().map(|pause| due.unwrap_or(now + pause).min(now + pause));
        let next = (*due).into_iter().chain(self.deaf_until).min();
        let pause = next?.saturating_duration_since(now);
        Some(Timespec { tv_sec: pause.as_secs().cast_signed(), tv_nsec: pause.subsec_nanos().into() })
    }

    /// Serves until it is told to stop.
    ///
    /// # Errors
    /// The kernel refuses to watch descriptors.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        let mut due = None;
        loop {
            events.clear();
            let patience = self.patience(&mut due);
            let room = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.watch, room, patience.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            if due.take_if(|due| *due <= Instant::now()).is_some() {
                self.tables.settle();
            }
            if self.deaf_until.take_if(|until| *until <= Instant::now()).is_some() {
                self.listen_for(EventFlags::IN)?;
            }
            for event in &events {
                match event.data.u64() {
                    STOP => return Ok(()),
                    NEWS => self.hear_news(),
                    OTHERS => self.tables.receive_from_remote_daemons(),
                    LISTENER => self.accept(),
                    // Odd marks are of processes, which have ended.
                    mark if mark % 2 == 1 => self.let_go(mark / 2),
                    mark => self.hear(mark / 2, { event.flags }.contains(EventFlags::HUP)),
                }
            }
            if self.tables.take_changed() {
                self.tell_all();
            }
        }
    }

    /// Serves in a thread of its own, until the handle is dropped.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn spawn(self) -> io::Result<Handle> {
        let stop = self.stop();
        let serve = || {
            if let Err(e) = self.run() {
                eprintln!("lapis-nsd: the daemon ends: {e}");
            }
        };
        let thread = std::thread::Builder::new().name("lapis-nsd".to_owned()).spawn(serve)?;
        Ok(Handle { stop, thread: Some(thread) })
    }

    /// Whether clients that come are an event.
    fn listen_for(&self, events: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(&self.watch, &self.listener, EventData::new_u64(LISTENER), events)?)
    }

    /// Takes clients that wait: some at a time, so that those who come and go at once leave time
    /// for others. The rest is another event.
    fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            let channel = match self.listener.accept() {
                Ok(Some(channel)) => channel,
                Ok(None) => return,
                // Descriptors are short. Clients that are there are served meanwhile.
                Err(_) => {
                    if self.listen_for(EventFlags::empty()).is_ok() {
                        self.deaf_until = Some(Instant::now() + DEAF);
                    }
                    return;
                }
            };
            if let Err(channel) = self.admit(channel) {
                self.refuse(channel);
            }
        }
    }

    fn admit(&mut self, channel: Channel) -> Result<(), Channel> {
        let Ok((user, process)) = channel.peer() else { return Err(channel) };
        let administrator = user == 0 || user == self.user;
        if self.options.own_user_only && !administrator {
            return Err(channel);
        }
        let theirs = self.clients.values().filter(|client| client.conversation.caller().user == user).count();
        let theirs = theirs + self.closer.waiting(user);
        if !self.shares.admit(administrator, theirs, self.clients.len()) {
            return Err(channel);
        }
        let client = self.next;
        self.next += 1;
        let caller = Caller { client, user, process, administrator };
        let mark = |odd| EventData::new_u64(client * 2 + odd);
        if epoll::add(&self.watch, &channel, mark(0), EventFlags::IN | EventFlags::RDHUP).is_err() {
            return Err(channel);
        }
        let process = Process::behind(&channel, process)
            .filter(|process| epoll::add(&self.watch, process, mark(1), EventFlags::IN).is_ok());
        // From now on it counts, and so does what it passes.
        channel.let_descriptors_in(true);
        let conversation = Conversation::new(caller);
        self.clients.insert(client, Client { channel, conversation, process });
        Ok(())
    }

    /// The client sees that it is not wanted.
    fn refuse(&self, channel: Channel) {
        let user = channel.peer().map_or(u32::MAX, |(user, _)| user);
        if self.empty_handed {
            // Nothing can have been passed over it, so that closing it takes no time. Who has as
            // many as he may have can't make more of them wait.
            drop(channel.hang_up());
        } else if let Some(connection) = channel.hang_up_and_close() {
            // The kernel lets a user have only so many descriptors under way (RLIMIT_NOFILE).
            self.closer.close(user, vec![Unused::Descriptor(connection)]);
        }
    }

    fn hear(&mut self, number: u64, hung_up: bool) {
        let Some(client) = self.clients.get_mut(&number) else { return };
        let user = client.conversation.caller().user;
        let close_each = |fds: Vec<OwnedFd>| {
            fds.into_iter().for_each(|fd| self.closer.close(user, vec![Unused::Descriptor(fd)]));
        };
        if self.closer.waiting(user) >= UNCLOSED_OF_A_USER {
            return self.let_go(number);
        }
        let (mut bytes, mut fds) = ([0; MAX_REQUEST], Vec::new());
        let heard = client.channel.receive(&mut bytes, &mut fds, false);
        let len = match heard {
            Ok(len) if len > 0 => len,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && !hung_up => return,
            _ => {
                close_each(fds);
                return self.let_go(number);
            }
        };
        let answer = client.conversation.answer(&mut self.tables, self.number, &bytes[..len], fds);
        let fds: Vec<_> = answer.fds.iter().map(AsFd::as_fd).collect();
        // A client that doesn't read its answers gets no more of them.
        let sent = client.channel.send(&answer.bytes, &fds, false);
        close_each(answer.refused);
        self.closer.close(user, self.tables.take_unused());
        if sent.is_err() || answer.last {
            self.let_go(number);
        }
    }

    fn let_go(&mut self, number: u64) {
        if let Some(client) = self.clients.remove(&number) {
            // Until it is closed it would be reported.
            let _ = epoll::delete(&self.watch, &client.channel);
            // Its descriptor may outlive the client.
            if let Some(process) = &client.process {
                let _ = epoll::delete(&self.watch, process);
            }
            self.tables.gone(number, client.process.filter(|process| !process.has_ended()));
            let mut unused = self.tables.take_unused();
            unused.push(Unused::Descriptor(client.channel.hang_up()));
            self.closer.close(client.conversation.caller().user, unused);
        }
    }

    /// Tells those who may sleep that adapters went up or down.
    fn tell_all(&self) {
        let changed = serde_json::to_vec(&Reply::Changed).unwrap_or_default();
        for client in self.clients.values().filter(|client| client.conversation.has_begun()) {
            // One that has not read what it was told before knows that something has changed.
            if !client.channel.unread().is_ok_and(|bytes| bytes >= UNREAD) {
                let _ = client.channel.send(&changed, &[], false);
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::soft_adapters;

    #[test]
    fn clients_that_come_without_end_leave_time_for_others() {
        let address = Address::new(&format!("lapis-test-accept-{}", std::process::id()));
        let adapters = soft_adapters(1, 1, 4).expect("possible");
        let options = Options { address: address.clone(), adapters, ..Options::default() };
        let mut server = Server::open(options).expect("free");
        let connect = |_| Channel::connect(&address, Duration::from_secs(60)).expect("listens");
        let waiting: Vec<Channel> = (0..AT_ONCE + 1).map(connect).collect();
        server.accept();
        assert_eq!(server.clients.len(), AT_ONCE);
        server.accept();
        assert_eq!(server.clients.len(), waiting.len());
    }
}
