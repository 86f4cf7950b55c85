//! The state and owner of each window.
//!
//! ```text
//!            reserve                load
//!   free ─────────────► reserved ─────────► loaded        by hand; belong to a user
//!    │ ▲ ◄───────────── │      ▲ ◄───────── │
//!    │ │    release     │      │   unload   │
//!    │ │           open │      │ close      │ open, by the job of the key only
//!    ▼ │ close          ▼      │            ▼
//!   open by a task; closed when it says so, ends, or loses its connection
//! ```

mod cards;
mod interfaces;
mod ports;
mod reservations;

use crate::adapters::AdapterSpec;
use crate::caller::Caller;
use crate::closer::Unused;
use crate::ports::{NewPort, Ports};
use crate::process::Process;
use crate::remote_daemons::RemoteDaemons;
use crate::shares::Shares;
use crate::youth::Youth;
use cards::{Card, Entry, Opened, Share};
use lapis_adapters::fifo::Geometry;
use lapis_adapters::key::Key;
use lapis_adapters::matrix::{ADAPTERS, Writer};
use lapis_adapters::protocol::{Counts, Place, Reply, Request, WINDOWS_AT_ONCE, Why, Window};
use lapis_adapters::soft::Parts;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// The UDP port of window 0 of each interface: below those that systems give to programs.
const FIRST_PORT: u16 = 28_672;

/// An answer: the reply, and descriptors that go with it.
type Answer = Result<(Reply, Vec<OwnedFd>), (Why, String)>;

/// Who may open windows of interfaces, beside root and the daemon's user: such a window's socket
/// sends any frame that its task writes, in anybody's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users(pub Vec<u32>);

/// The adapters and their windows.
pub struct Tables {
    cards: Vec<Card>,
    /// The most windows of one adapter that one user may have; none: half of those that it has.
    share: Option<u32>,
    shares: Shares,
    matrix: Writer,
    changed: bool,
    ports: Ports,
    /// Daemons of other hosts, if their nodes are known.
    others: Option<RemoteDaemons>,
    /// Who may open windows of interfaces.
    users: Users,
    youth: Youth,
    /// What nobody needs any more.
    unused: Vec<Unused>,
}

impl Tables {
    /// Tables with these adapters, all up and free. `share` is how many windows of an adapter one
    /// user may have, so that nobody else starves; by default half of them.
    ///
    /// # Errors
    /// Memory for the availability matrix is short, or an interface can't be taken.
    pub fn new(specs: Vec<AdapterSpec>, share: Option<u32>) -> io::Result<Self> {
        let matrix = Writer::new()?;
        let cards = specs.into_iter().take(ADAPTERS).map(Card::new);
        let cards = cards.collect::<Result<Vec<Card>, String>>().map_err(io::Error::other)?;
        for (index, card) in cards.iter().enumerate() {
            matrix.set(index, card.is_up());
            if let Some((_, state)) = &card.interface {
                // Tasks that go on with windows of a daemon before know another one.
                matrix.set_room(index, state.room);
            }
        }
        let (users, ports) = (Users::default(), Ports::default());
        Ok(Self {
            cards,
            share,
            shares: Shares::ALL,
            matrix,
            changed: false,
            users,
            ports,
            others: None,
            youth: Youth::begin(Duration::ZERO),
            unused: Vec::new(),
        })
    }

    /// Lets these users open windows of interfaces, too.
    pub fn set_users(&mut self, users: Users) {
        self.users = users;
    }

    /// How many windows users may have of all adapters, for want of descriptors.
    pub(crate) fn set_shares(&mut self, shares: Shares) {
        self.shares = shares;
    }

    /// What a user may have of one adapter's windows at present.
    fn share_of(&self, caller: Caller) -> Share {
        let is_theirs = |entry: &&Entry| entry.user == caller.user;
        let theirs = self.cards.iter().map(|card| card.windows.values().filter(is_theirs).count()).sum();
        let is_short = !self.shares.has_windows(caller.administrator, theirs, self.taken());
        Share { most: self.share, is_short }
    }

    /// Begins a time in which nobody gets windows but those who have them: windows of tasks that a
    /// daemon before this one served would be given to others.
    pub fn be_young(&mut self, lasts: Duration) {
        self.youth = Youth::begin(lasts);
    }

    /// Refuses what is to be asked for again when the daemon knows the windows that are taken.
    fn grown_up(&self) -> Result<(), (Why, String)> {
        if self.youth.is_over() {
            return Ok(());
        }
        let text = "the services daemon has just begun, and waits for tasks that have windows already";
        Err((Why::Soon, text.to_owned()))
    }

    /// The availability matrix.
    pub fn matrix(&self) -> &Writer {
        &self.matrix
    }

    /// Whether the matrix has changed since the last call.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Windows that are not free, of all adapters.
    pub fn taken(&self) -> usize {
        self.cards.iter().map(|card| card.windows.len()).sum()
    }

    /// What the last request, or the last client that has gone, has left: windows, whose memory
    /// takes time to be marked and freed, and what was passed in vain. It is the caller's to close.
    pub fn take_unused(&mut self) -> Vec<Unused> {
        std::mem::take(&mut self.unused)
    }

    /// A client has gone: its windows are free, or reserved again, and so are those that it held.
    /// `lives`: its process, which has not ended, and may have lost the connection only.
    pub fn gone(&mut self, client: u64, lives: Option<Process>) {
        let unused = &mut self.unused;
        for card in &mut self.cards {
            let interface = &mut card.interface;
            card.windows.retain(|number, entry| {
                if let Some(open) = entry.open.take_if(|open| open.client == client) {
                    unused.push(Unused::Window(open.parts));
                    if let Some((interface, _)) = interface {
                        interface.close(*number, lives.clone());
                    }
                }
                if entry.holder == Some(client) {
                    (entry.reserved, entry.holder) = (false, None);
                }
                entry.reserved || entry.open.is_some()
            });
        }
        self.after_closing();
        self.ports.gone(client);
    }

    /// Does what is asked, or says why not. Nothing changes if it is refused.
    pub fn handle(
        &mut self,
        caller: Caller,
        request: Request,
        mut fds: Vec<OwnedFd>,
    ) -> (Reply, Vec<OwnedFd>) {
        let answer = match request {
            Request::Hello { .. } => Err((Why::Malformed, "the conversation has begun already".to_owned())),
            Request::Adapters => Ok((self.adapters(caller), Vec::new())),
            Request::Windows { adapter, from } => self.windows(&adapter, from),
            Request::Open { adapter, window, key } => self.open(caller, &adapter, window, key),
            Request::Adopt { place, key, geometry } => self.adopt(caller, &place, key, geometry, &mut fds),
            Request::Attach { place, key } => self.attach(caller, &place, key),
            Request::Hop { adapter, address } => self.hop(caller, &adapter, address),
            Request::Close { place } => self.close(caller, &place),
            Request::Reserve { adapter, window, held } => self.reserve(caller, &adapter, window, held),
            Request::Release { place } => self.release(caller, &place),
            Request::Load { place, key } => self.load(caller, &place, Some(key)),
            Request::Unload { place } => self.load(caller, &place, None),
            Request::OpenPort { node, board, port, name, key } => {
                self.open_port(caller, NewPort { node, board, port, name }, key)
            }
            Request::AdoptPort { node, host, board, port, name, life, place, key, geometry } => {
                let wish = NewPort { node: host, board, port, name };
                self.adopt_port(caller, (node, life, wish), &place, (key, geometry), &mut fds)
            }
            Request::AttachPort { from, node, port, key } => {
                self.attach_port(caller, (from, node, port), key)
            }
            Request::Nodes { from } => Ok((self.nodes(from), Vec::new())),
            Request::Set { adapter, up } => self.set(caller, &adapter, up),
        };
        self.unused.extend(fds.into_iter().map(Unused::Descriptor));
        answer.unwrap_or_else(|(why, text)| (Reply::Refused { why, text }, Vec::new()))
    }

    fn card(&mut self, name: &str) -> Result<&mut Card, (Why, String)> {
        let names: Vec<&str> = self.cards.iter().map(|card| card.spec.name.as_str()).collect();
        let text = format!("there is no adapter `{name:.32}`; there are {}", names.join(", "));
        self.cards.iter_mut().find(|card| card.spec.name == name).ok_or((Why::NoAdapter, text))
    }

    /// The same, if the caller may have windows of it.
    fn card_for(&mut self, caller: Caller, name: &str) -> Result<&mut Card, (Why, String)> {
        let may_send = self.may_send(caller);
        let card = self.card(name)?;
        match card.denied(caller, may_send) {
            Some(text) => Err((Why::NotAllowed, text)),
            None => Ok(card),
        }
    }

    /// Whether a caller may open windows of interfaces.
    fn may_send(&self, caller: Caller) -> bool {
        caller.administrator || self.users.0.contains(&caller.user)
    }

    /// What the adapters are to this caller.
    fn adapters(&mut self, caller: Caller) -> Reply {
        let may_send = self.may_send(caller);
        let tell = |(index, card): (u32, &mut Card)| {
            let mut adapter = card.tell(index, may_send);
            if let Some(text) = card.denied(caller, may_send) {
                (adapter.refused, adapter.soon) = (Some(text), false);
            }
            adapter
        };
        Reply::Adapters { adapters: (0..).zip(&mut self.cards).map(tell).collect() }
    }

    fn windows(&mut self, adapter: &str, from: u32) -> Answer {
        let card = self.card(adapter)?;
        let mut entries = card.windows.range(from..);
        let interface = card.interface.as_ref();
        let counts = |number: u32, open: &Opened| {
            let (taken, refused, notes) = open.parts.counts().ok()?;
            let frames = interface.map_or(0, |(interface, _)| interface.taken(number));
            Some(Counts {
                taken: taken.wrapping_add(frames),
                refused,
                lost: interface.map_or(0, |(interface, _)| interface.lost(number)),
                notes,
            })
        };
        let tell = |(number, entry): (&u32, &Entry)| Window {
            window: *number,
            state: entry.state().to_owned(),
            user: entry.user,
            process: entry.open.as_ref().map(|open| open.process).filter(|process| *process != 0),
            job: entry.open.as_ref().map(|o| o.key).or(entry.loaded).map(|key| key.fingerprint()),
            counts: entry.open.as_ref().and_then(|open| counts(*number, open)),
        };
        let windows = entries.by_ref().take(WINDOWS_AT_ONCE).map(tell).collect();
        let next = entries.next().map(|(number, _)| *number);
        Ok((Reply::Windows { windows, next }, Vec::new()))
    }

    fn open(&mut self, caller: Caller, adapter: &str, window: Option<u32>, key: Key) -> Answer {
        let (share, grown_up) = (self.share_of(caller), self.grown_up());
        let card = self.card_for(caller, adapter)?;
        if !card.is_up() {
            return Err((Why::Down, format!("{adapter} is down: `lapis-windows up {adapter}` takes it up")));
        }
        grown_up?;
        let number = match window {
            Some(number) => {
                card.may_open(caller, number, key)?;
                if let Some(process) = card.still_used_by(number) {
                    let place = Place { adapter: adapter.to_owned(), window: number };
                    return Err(still_used(&place, process));
                }
                number
            }
            None => card.free(adapter)?,
        };
        if !card.windows.contains_key(&number) {
            card.within(caller, share, adapter)?;
        }
        let short = |e: io::Error| {
            (
                Why::Exhausted,
                format!("window {number} of {adapter} can't be made: the daemon's system says {e}"),
            )
        };
        let place = Place { adapter: adapter.to_owned(), window: number };
        let parts = Parts::make_for(&place, card.spec.geometry).map_err(short)?;
        let theirs = parts.try_clone().map_err(short)?;
        let geometry = parts.geometry;
        let mut fds = vec![theirs.memory, theirs.bell];
        let opened = card.interface.as_mut().map(|(interface, _)| interface.open(number, caller.user));
        let wire = opened.transpose()?.map(|(wire, more)| {
            fds.extend(more);
            wire
        });
        card.put(number, caller, key, parts);
        Ok((Reply::Opened { window: number, geometry, wire }, fds))
    }

    fn adopt(
        &mut self,
        caller: Caller,
        place: &Place,
        key: Key,
        geometry: Geometry,
        fds: &mut Vec<OwnedFd>,
    ) -> Answer {
        let share = self.share_of(caller);
        let card = self.card_for(caller, &place.adapter)?;
        let is_mine = |open: &Opened| open.client == caller.client && open.key == key;
        if card.windows.get(&place.window).and_then(|entry| entry.open.as_ref()).is_some_and(is_mine) {
            // The answer came too late for its task.
            return Ok((Reply::Done, Vec::new()));
        }
        card.may_open(caller, place.window, key)?;
        if let Some(process) = card.still_used_by(place.window).filter(|who| !who.is(caller.process)) {
            return Err(still_used(place, process));
        }
        if !card.windows.contains_key(&place.window) {
            card.within(caller, share, &place.adapter)?;
        }
        let malformed = |text: String| (Why::Malformed, text);
        let count = fds.len();
        let (Some(bell), Some(memory), true) = (fds.pop(), fds.pop(), count == 2) else {
            return Err(malformed(format!("a window has two descriptors, not {count}")));
        };
        let parts = Parts { memory, bell, geometry };
        let wrong = match parts.check() {
            Err(e) => Some(format!("that is no window: {e}")),
            // A stranger's memory would take the place of what its task still has to show.
            Ok(()) if !parts.are_for(place) => Some(format!("no daemon has made that for {place}")),
            Ok(()) => None,
        };
        if let Some(text) = wrong {
            fds.extend([parts.memory, parts.bell]);
            return Err(malformed(text));
        }
        if let Some((interface, _)) = &mut card.interface {
            interface.resume(place.window);
        }
        card.put(place.window, caller, key, parts);
        Ok((Reply::Done, Vec::new()))
    }

    fn attach(&mut self, caller: Caller, place: &Place, key: Key) -> Answer {
        let grown_up = self.grown_up();
        let card = self.card(&place.adapter)?;
        let open = card.windows.get(&place.window).and_then(|entry| Some((entry.user, entry.open.as_ref()?)));
        let Some((user, open)) = open else {
            grown_up?;
            return Err((Why::NoWindow, format!("{place} is not open: has its task ended?")));
        };
        if user != caller.user || open.key != key {
            // Not which of the two it is: that would tell a stranger something.
            return Err((Why::WrongKey, format!("{place} belongs to another job or user")));
        }
        let parts = open.parts.try_clone();
        let parts = parts.map_err(|e| (Why::Exhausted, format!("{place}: the daemon's system says {e}")))?;
        Ok((Reply::Attached { geometry: parts.geometry }, vec![parts.memory, parts.bell]))
    }

    fn close(&mut self, caller: Caller, place: &Place) -> Answer {
        let card = self.card(&place.adapter)?;
        let mine = |entry: &&mut Entry| entry.open.as_ref().is_some_and(|open| open.client == caller.client);
        let Some(entry) = card.windows.get_mut(&place.window).filter(mine) else {
            return Err((Why::NoWindow, format!("{place} is not open over this connection")));
        };
        let closed = entry.open.take();
        if !entry.reserved {
            card.windows.remove(&place.window);
        }
        if let Some((interface, _)) = &mut card.interface {
            interface.close(place.window, None);
        }
        if let Some(open) = closed {
            self.unused.push(Unused::Window(open.parts));
        }
        self.after_closing();
        self.ports.closed(place);
        Ok((Reply::Done, Vec::new()))
    }

    fn set(&mut self, caller: Caller, adapter: &str, up: bool) -> Answer {
        if !caller.administrator {
            let text = format!(
                "user {} may not take adapters up or down: root may, and the daemon's user",
                caller.user
            );
            return Err((Why::NotAllowed, text));
        }
        let card = self.card(adapter)?;
        card.wanted = up;
        let up = card.is_up();
        let index = self.cards.iter().position(|card| card.spec.name == adapter).unwrap_or(ADAPTERS);
        self.matrix.set(index, up);
        self.changed = true;
        Ok((Reply::Done, Vec::new()))
    }
}

/// Somebody has lost the connection by which he had a window, and may go on with it.
fn still_used(place: &Place, by: &Process) -> (Why, String) {
    (Why::Soon, format!("{place} is still used by {by}, which has let go of it without closing it"))
}

#[cfg(test)]
mod tests;
