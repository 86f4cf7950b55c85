//! Which message goes to which Receive Context.
//!
//! Messages of one process are matched in the order in which it sent them, even if they arrive in
//! another one. Each message carries a number for this: it counts the messages from its sender to
//! this receiver. A message goes to the oldest Receive Context of its sender and tag. If there is
//! none, it waits.

use crate::abi::CONTEXTS;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Bytes that several may hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) all: Arc<Vec<u8>>,
    /// Where they begin.
    pub(crate) from: usize,
}

impl Bytes {
    pub(crate) fn get(&self) -> &[u8] {
        self.all.get(self.from..).unwrap_or_default()
    }
}

/// A message, or the offer of one.
#[derive(Debug)]
pub(crate) enum Arrival {
    Whole(Bytes),
    /// Bytes that the sender keeps, for this command of its own, until it is told where they go.
    Offered {
        send: u32,
    },
}

/// A meeting: a Receive Context, and what goes there.
pub(crate) type Met = (usize, Arrival);

/// What a Receive Context waits for, and the next one that waits for the same process.
#[derive(Clone, Copy)]
struct Link {
    tag: i32,
    next: u32,
}

/// The links of all Receive Contexts. Each waits for one process at a time: nothing is allocated.
type Links = [Link; CONTEXTS];

/// No context.
const NONE: u32 = u32::MAX;

/// Receive Contexts that wait for a process, the oldest first: a few dozen at most, which are
/// looked through faster than hashed.
struct Posted {
    /// [`NONE`]: nobody waits.
    first: u32,
    /// If somebody waits.
    last: u32,
}

impl Default for Posted {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl Posted {
    #[inline(always)]
    fn push(&mut self, links: &mut Links, at: usize, tag: i32) {
        let context = at as u32;
        links[at % CONTEXTS] = Link { tag, next: NONE };
        if self.first == NONE {
            self.first = context;
        } else {
            links[self.last as usize % CONTEXTS].next = context;
        }
        self.last = context;
    }

    /// The oldest one of a tag waits no longer.
    #[inline(always)]
    fn take(&mut self, links: &mut Links, tag: i32) -> Option<usize> {
        let at = self.first as usize;
        let link = links.get(at)?;
        if link.tag != tag {
            return self.take_later(links, tag);
        }
        self.first = link.next;
        Some(at)
    }

    /// The same where it is not the oldest of all.
    #[inline(never)]
    fn take_later(&mut self, links: &mut Links, tag: i32) -> Option<usize> {
        let mut before = self.first;
        loop {
            let at = links.get(before as usize)?.next;
            let Link { tag: of, next } = *links.get(at as usize)?;
            if of == tag {
                links[before as usize].next = next;
                if self.last == at {
                    self.last = before;
                }
                return Some(at as usize);
            }
            before = at;
        }
    }

    /// The oldest one waits no longer.
    fn take_first(&mut self, links: &mut Links) -> Option<usize> {
        let tag = links.get(self.first as usize)?.tag;
        self.take(links, tag)
    }
}

/// What is known of the messages from one process, and to it.
#[derive(Default)]
struct Peer {
    /// The number of the next message from it.
    next: u32,
    /// What overtook that.
    early: BTreeMap<u32, (i32, Arrival)>,
    /// How many messages there will be, if the process has ended; `Some(None)`: nobody knows how
    /// many are lost.
    ended: Option<Option<u32>>,
    /// Receive Contexts that wait for a message.
    posted: Posted,
    /// Messages that wait for a Receive Context, by their tags.
    waiting: BTreeMap<i32, VecDeque<Arrival>>,
    /// The number of the next message to it.
    to: u32,
    /// Messages from it have stood on a board.
    by_board: bool,
}

pub(crate) struct Matching {
    /// By task; those at the end that nothing is known of are left out.
    peers: Vec<Peer>,
    /// By Receive Context.
    links: Links,
}

impl Default for Matching {
    fn default() -> Self {
        Self { peers: Vec::new(), links: [Link { tag: 0, next: NONE }; CONTEXTS] }
    }
}

impl Matching {
    #[inline(always)]
    fn peer(&mut self, task: u32) -> &mut Peer {
        self.peer_and_links(task).0
    }

    #[inline(always)]
    fn peer_and_links(&mut self, task: u32) -> (&mut Peer, &mut Links) {
        let at = task as usize;
        if at < self.peers.len() { (&mut self.peers[at], &mut self.links) } else { self.grown(at) }
    }

    #[cold]
    fn grown(&mut self, at: usize) -> (&mut Peer, &mut Links) {
        self.peers.resize_with(at + 1, Peer::default);
        (&mut self.peers[at], &mut self.links)
    }

    /// The number of the next message to a task, which whoever sends that counts on.
    #[inline(always)]
    pub(crate) fn next_to(&mut self, task: u32) -> &mut u32 {
        &mut self.peer(task).to
    }

    /// The number of the next message to a task.
    #[inline]
    pub(crate) fn number_to(&mut self, task: u32) -> u32 {
        let next = self.next_to(task);
        let number = *next;
        *next = next.wrapping_add(1);
        number
    }

    /// A message from a task stood on a board.
    pub(crate) fn comes_by_board(&mut self, source: u32) {
        self.peer(source).by_board = true;
    }

    /// Whether messages from a task may be looked for on boards with some hope.
    #[inline]
    pub(crate) fn may_come_by_board(&self, source: u32) -> bool {
        self.peers.get(source as usize).is_some_and(|peer| peer.by_board)
    }

    /// How many messages a task was sent.
    pub(crate) fn sent_to(&self, task: u32) -> u32 {
        self.peers.get(task as usize).map_or(0, |peer| peer.to)
    }

    /// The context that the message of this number meets, if it is the next one and its arrival
    /// leads to nothing else: none has overtaken it, and the process has not ended.
    #[inline(always)]
    pub(crate) fn meets_at_once(&mut self, source: u32, number: u32, tag: i32) -> Option<usize> {
        let (peer, links) = self.peer_and_links(source);
        if peer.next != number || !peer.early.is_empty() || peer.ended.is_some() {
            return None;
        }
        let at = peer.posted.take(links, tag)?;
        peer.next = number.wrapping_add(1);
        Some(at)
    }

    /// A message arrives. What meets its context because of that, in order.
    pub(crate) fn arrived(&mut self, source: u32, number: u32, tag: i32, arrival: Arrival) -> Vec<Met> {
        let peer = self.peer(source);
        // What is handed on a second time, because whoever handed it on first has ended, may be
        // here already.
        if number.wrapping_sub(peer.next) < 1 << 31 {
            peer.early.insert(number, (tag, arrival));
        }
        self.next_in_order(source)
    }

    /// Takes what has come and is next.
    pub(crate) fn next_in_order(&mut self, source: u32) -> Vec<Met> {
        let mut met = Vec::new();
        let (peer, links) = self.peer_and_links(source);
        while let Some((tag, arrival)) = peer.early.remove(&peer.next) {
            peer.next = peer.next.wrapping_add(1);
            if peer.is_lost() && matches!(arrival, Arrival::Offered { .. }) {
                continue;
            }
            match peer.posted.take(links, tag) {
                Some(at) => met.push((at, arrival)),
                None => peer.waiting.entry(tag).or_default().push_back(arrival),
            }
        }
        met
    }

    /// A Receive Context waits for a message, unless one is there or none will come. False: nothing
    /// has happened.
    #[inline(always)]
    pub(crate) fn waits(&mut self, at: usize, source: u32, tag: i32) -> bool {
        let (peer, links) = self.peer_and_links(source);
        let waits = peer.waiting.is_empty() && peer.ended.is_none();
        if waits {
            peer.posted.push(links, at, tag);
        }
        waits
    }

    /// A Receive Context waits for a message. `Err`: none will come.
    pub(crate) fn post(&mut self, at: usize, source: u32, tag: i32) -> Result<Option<Arrival>, ()> {
        let (peer, links) = self.peer_and_links(source);
        if let Some(arrival) = peer.take_waiting(tag) {
            return Ok(Some(arrival));
        }
        if peer.is_over() {
            return Err(());
        }
        peer.posted.push(links, at, tag);
        Ok(None)
    }

    /// A process has ended: well, after so many messages to this one, or otherwise.
    pub(crate) fn ended(&mut self, source: u32, messages: Option<u32>) {
        let peer = self.peer(source);
        match messages {
            Some(_) => _ = peer.ended.get_or_insert(messages),
            None => peer.lose(),
        }
    }

    /// The contexts that wait in vain, because their process has ended and all that it sent is
    /// here.
    pub(crate) fn in_vain(&mut self, source: u32) -> Vec<usize> {
        let (peer, links) = self.peer_and_links(source);
        if !peer.is_over() {
            return Vec::new();
        }
        std::iter::from_fn(|| peer.posted.take_first(links)).collect()
    }
}

impl Peer {
    /// The oldest message of a tag that waits.
    fn take_waiting(&mut self, tag: i32) -> Option<Arrival> {
        let queue = self.waiting.get_mut(&tag)?;
        let arrival = queue.pop_front();
        // A program may use a new tag for each message.
        if queue.is_empty() {
            self.waiting.remove(&tag);
        }
        arrival
    }

    /// The process is lost, and what it has offered with it: nobody would send that.
    fn lose(&mut self) {
        self.ended = Some(None);
        self.waiting.retain(|_, queue| {
            queue.retain(|arrival| matches!(arrival, Arrival::Whole(_)));
            !queue.is_empty()
        });
    }

    fn is_lost(&self) -> bool {
        self.ended == Some(None)
    }

    fn is_over(&self) -> bool {
        match self.ended {
            None => false,
            Some(None) => true,
            Some(Some(messages)) => self.next == messages,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &[u8]) -> Arrival {
        Arrival::Whole(Bytes { all: Arc::new(text.to_vec()), from: 0 })
    }

    fn text((at, arrival): Met) -> (usize, Vec<u8>) {
        match arrival {
            Arrival::Whole(bytes) => (at, bytes.get().to_vec()),
            Arrival::Offered { .. } => panic!("nothing was offered"),
        }
    }

    #[test]
    fn messages_that_overtake_each_other_are_taken_in_order() {
        let mut matching = Matching::default();
        for at in 0..3 {
            assert!(matches!(matching.post(at, 5, 1), Ok(None)));
        }
        assert_eq!(matching.arrived(5, 2, 1, message(b"c")).len(), 0);
        assert_eq!(matching.meets_at_once(5, 1, 1), None);
        assert_eq!(matching.arrived(5, 1, 1, message(b"b")).len(), 0);
        let met: Vec<_> = matching.arrived(5, 0, 1, message(b"a")).into_iter().map(text).collect();
        assert_eq!(met, [(0, b"a".to_vec()), (1, b"b".to_vec()), (2, b"c".to_vec())]);
    }

    #[test]
    fn a_message_without_context_waits_for_its_tag() {
        let mut matching = Matching::default();
        assert!(matching.arrived(0, 0, 7, message(b"seven")).is_empty());
        assert!(matching.arrived(0, 1, 8, message(b"eight")).is_empty());
        assert!(matches!(matching.post(3, 0, 9), Ok(None)));
        let got = matching.post(4, 0, 8).unwrap_or_else(|()| panic!("it is here"));
        assert_eq!(got.map(|arrival| text((4, arrival))), Some((4, b"eight".to_vec())));
        assert_eq!(matching.meets_at_once(0, 2, 9), Some(3));
    }

    #[test]
    fn contexts_of_several_tags_wait_in_one_queue_from_whose_midst_and_end_they_are_taken() {
        let mut matching = Matching::default();
        let post = |matching: &mut Matching, at, tag| assert!(matching.waits(at, 4, tag));
        for (at, tag) in [(7, 1), (2, 2), (63, 1), (0, 3)] {
            post(&mut matching, at, tag);
        }
        assert_eq!(matching.meets_at_once(4, 0, 9), None);
        assert_eq!(matching.meets_at_once(4, 0, 2), Some(2), "from the midst");
        assert_eq!(matching.meets_at_once(4, 1, 3), Some(0), "from the end");
        // What comes behind an end that was taken.
        post(&mut matching, 2, 1);
        for (number, at) in [(2, 7), (3, 63), (4, 2)] {
            assert_eq!(matching.meets_at_once(4, number, 1), Some(at));
        }
        assert_eq!(matching.meets_at_once(4, 5, 1), None);
        // The queue is as good as new.
        post(&mut matching, 5, 1);
        post(&mut matching, 6, 1);
        matching.ended(4, None);
        assert_eq!(matching.in_vain(4), [5, 6]);
        assert_eq!(matching.in_vain(4), []);
    }

    #[test]
    fn an_end_is_no_end_before_the_last_message() {
        let mut matching = Matching::default();
        assert!(matches!(matching.post(0, 2, 1), Ok(None)));
        matching.ended(2, Some(1));
        assert_eq!(matching.in_vain(2), []);
        assert_eq!(matching.arrived(2, 0, 5, message(b"last")).len(), 0);
        assert_eq!(matching.in_vain(2), [0]);
        assert!(matching.post(1, 2, 1).is_err());
        assert!(matches!(matching.post(1, 2, 5), Ok(Some(_))));
        matching.ended(3, None);
        assert!(matching.post(1, 3, 1).is_err());
    }

    #[test]
    fn what_a_lost_process_has_offered_is_lost_and_what_it_has_sent_is_not() {
        let mut matching = Matching::default();
        let offer = |send| Arrival::Offered { send };
        assert!(matching.arrived(2, 0, 1, offer(0)).is_empty());
        assert!(matching.arrived(2, 1, 1, message(b"one")).is_empty());
        assert!(matching.arrived(2, 2, 3, offer(1)).is_empty());
        assert!(matching.arrived(2, 4, 5, offer(2)).is_empty(), "the one before it is missing");
        matching.ended(2, None);
        assert!(matches!(matching.post(0, 2, 1), Ok(Some(Arrival::Whole(_)))));
        assert!(matching.post(1, 2, 1).is_err() && matching.post(1, 2, 3).is_err());
        // Another one has handed it on.
        assert!(matching.arrived(2, 3, 4, message(b"three")).is_empty());
        assert!(matches!(matching.post(2, 2, 4), Ok(Some(Arrival::Whole(_)))));
        assert!(matching.post(3, 2, 5).is_err());
    }

    #[test]
    fn who_is_lost_after_it_has_ended_leaves_nobody_waiting() {
        let mut matching = Matching::default();
        assert!(matches!(matching.post(0, 2, 1), Ok(None)));
        matching.ended(2, Some(1));
        assert_eq!(matching.in_vain(2), [], "a message is to come");
        matching.ended(2, None);
        assert_eq!(matching.in_vain(2), [0]);
        matching.ended(2, Some(1));
        assert!(matching.post(1, 2, 1).is_err());
    }

    #[test]
    fn what_is_handed_on_twice_is_taken_once() {
        let mut matching = Matching::default();
        for number in [1, 1, 0, 1, 0] {
            matching.arrived(2, number, 1, message(&[number as u8]));
        }
        for number in [0, 1] {
            let got = matching.post(0, 2, 1).unwrap_or_else(|()| panic!("it is here"));
            assert_eq!(got.map(|arrival| text((0, arrival)).1), Some(vec![number]));
        }
        assert!(matches!(matching.post(0, 2, 1), Ok(None)));
    }
}
