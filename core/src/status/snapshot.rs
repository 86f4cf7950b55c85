//! What a page says, as plain values.

use super::page::{
    BYTES, MAGIC, NOBODY, OPEN, OpenSlot, Page, RAILS, RailSlot, WAITS, WaitSlot, monotonic_ns,
};
use super::{Awaiting, OpenKind};
use crate::stats::{BulkStatistics, PathStatistics, Statistics};
use crate::transport::PeerId;
use std::mem::offset_of;
use std::time::Duration;

/// What one context showed at one moment. Times are ages: how long ago something was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Process, as it numbers itself.
    pub process: u32,
    /// Identity of the job; long ones are cut.
    pub job: String,
    /// This task's number.
    pub task: PeerId,
    /// How many tasks there are.
    pub tasks: u32,
    /// Number of the context.
    pub context: u32,
    /// Since the context was made.
    pub age: Duration,
    /// Since the task was last inside the library for long enough to publish more than its counts.
    pub told: Duration,
    /// Threads of the program that are in a call which polls.
    pub polling: u32,
    /// Arrivals are served while the program computes.
    pub interrupts: bool,
    /// The task from which something last arrived, and how long ago that was noticed.
    pub last_heard: Option<(PeerId, Duration)>,
    /// The same for messages, puts and the like, without steps of barriers and answers.
    pub last_message: Option<(PeerId, Duration)>,
    /// Sends that wait for room.
    pub room: Option<Room>,
    /// Compare-and-swaps that failed.
    pub swap: Option<Swap>,
    /// Calls that wait.
    pub waits: Vec<Wait>,
    /// Waits that were long enough to be recorded.
    pub waits_begun: u64,
    /// How long those that have ended took, altogether.
    pub waited: Duration,
    /// Operations whose answers are outstanding.
    pub open: u64,
    /// The first of them.
    pub opened: Vec<Open>,
    /// The first tasks that have not confirmed or answered everything.
    pub owing: Vec<PeerId>,
    /// The first tasks that are known to be down.
    pub down: Vec<PeerId>,
    /// Counts by path: network, shared memory, itself.
    pub paths: [PathCounts; 3],
    /// Datagrams that were dropped because they are of no peer.
    pub refused: u64,
    /// Bulk transfers.
    pub bulk: BulkStatistics,
    /// Paths of datagram links, and rails of other transports.
    pub rails: Vec<Rail>,
}

/// Counts for one way of packets.
pub type PathCounts = PathStatistics;

/// A call that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wait {
    /// For what.
    pub kind: Awaiting,
    /// For how long.
    pub age: Duration,
    /// The task that alone can end it, if there is one.
    pub peer: Option<PeerId>,
    /// The counter: its address, its value when the task looked last, the value waited for.
    pub counter: Option<(u64, i32, i32)>,
    /// Number of the thread.
    pub thread: u32,
}

/// Sends that wait for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Room {
    /// For how long.
    pub age: Duration,
    /// Since a send last found no room.
    pub seen: Duration,
    /// The target of the packet.
    pub peer: PeerId,
}

/// Compare-and-swaps that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swap {
    /// The owner of the variable of the last one.
    pub peer: PeerId,
    /// Its address there.
    pub address: u64,
    /// How many so far.
    pub failed: u64,
}

/// An operation whose answer is outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Open {
    /// The task that is to answer.
    pub peer: PeerId,
    /// What it is.
    pub kind: OpenKind,
}

/// The traffic of a rail whose transport counts it. Such rails have no windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RailTraffic {
    /// Its link is up, and it is open.
    pub up: bool,
    /// Messages, the transport's own among them.
    pub messages_sent: u64,
    /// The same of those that came.
    pub messages_received: u64,
    /// Bytes of messages and of puts.
    pub bytes_sent: u64,
    /// Bytes of messages that came, and of gets.
    pub bytes_received: u64,
    /// Puts and gets of this task, or pieces of them.
    pub transfers: u64,
    /// How often it has been closed, to be reopened.
    pub renewals: u64,
}

/// One path of a datagram link, or one rail of another transport, all peers together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rail {
    /// The transport.
    pub transport: String,
    /// The path's number.
    pub number: u32,
    /// Peers that it leads to.
    pub peers: u32,
    /// Those of them that don't acknowledge on it at present, or to which nothing is sent over it.
    pub suspects: u32,
    /// The first of these.
    pub suspect: Option<PeerId>,
    /// Datagrams that are not acknowledged.
    pub open: u64,
    /// Their bytes.
    pub in_flight: u64,
    /// Bytes that the congestion windows allow.
    pub window: u64,
    /// Bytes that the peers are ready to take.
    pub credit: u64,
    /// Timers that have expired since the last acknowledgement.
    pub timeouts: u64,
    /// Its traffic, if the transport counts it; the five fields above are then 0.
    pub traffic: Option<RailTraffic>,
}

impl Snapshot {
    /// Counts of all paths together.
    pub fn total(&self) -> PathCounts {
        PathCounts::sum(&self.paths)
    }

    /// Reads a page. `None`: it is none of this layout.
    pub(super) fn parse(page: &[u8]) -> Option<Self> {
        let words = Words(page.get(..BYTES)?, monotonic_ns());
        if words.long(offset_of!(Page, magic)) != MAGIC {
            return None;
        }
        let last = words.task(offset_of!(Page, last_from));
        let (paths, refused, bulk) = words.counts();
        Some(Self {
            process: words.short(offset_of!(Page, process)),
            job: words.text(offset_of!(Page, job), 64),
            task: words.short(offset_of!(Page, task)),
            tasks: words.short(offset_of!(Page, tasks)),
            context: words.short(offset_of!(Page, context)),
            age: words.age(offset_of!(Page, began)),
            told: words.age(offset_of!(Page, told)),
            polling: words.short(offset_of!(Page, polling)),
            interrupts: words.short(offset_of!(Page, interrupts)) != 0,
            last_heard: last.map(|task| (task, words.age(offset_of!(Page, last_at)))),
            last_message: words
                .task(offset_of!(Page, message_from))
                .map(|task| (task, words.age(offset_of!(Page, message_at)))),
            room: words.room(),
            swap: words.task(offset_of!(Page, swap_peer)).map(|peer| Swap {
                peer,
                address: words.long(offset_of!(Page, swap_address)),
                failed: words.long(offset_of!(Page, swaps_failed)),
            }),
            waits: words.waits(),
            waits_begun: words.long(offset_of!(Page, waits_begun)),
            waited: Duration::from_nanos(words.long(offset_of!(Page, waited_ns))),
            open: words.long(offset_of!(Page, open)),
            opened: words.opened(),
            owing: words.list(offset_of!(Page, owing), offset_of!(Page, owers)),
            down: words.list(offset_of!(Page, down), offset_of!(Page, downs)),
            paths,
            refused,
            bulk,
            rails: words.rails(),
        })
    }
}

/// A page and the time at which it was read.
struct Words<'a>(&'a [u8], u64);

impl Words<'_> {
    fn long(&self, at: usize) -> u64 {
        self.0.get(at..at + 8).map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or_default()))
    }

    fn short(&self, at: usize) -> u32 {
        self.0.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes(b.try_into().unwrap_or_default()))
    }

    fn task(&self, at: usize) -> Option<PeerId> {
        Some(self.short(at)).filter(|task| *task != NOBODY)
    }

    fn age(&self, at: usize) -> Duration {
        Duration::from_nanos(self.1.saturating_sub(self.long(at)))
    }

    fn text(&self, at: usize, len: usize) -> String {
        let bytes = self.0.get(at..at + len).unwrap_or_default();
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(len);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    fn list(&self, count: usize, at: usize) -> Vec<PeerId> {
        let count = self.long(count).min(OPEN as u64) as usize;
        (0..count).map(|n| self.short(at + 4 * n)).collect()
    }

    fn room(&self) -> Option<Room> {
        let peer = self.task(offset_of!(Page, room_peer))?;
        let [age, seen] = [offset_of!(Page, room_since), offset_of!(Page, room_at)].map(|at| self.age(at));
        Some(Room { age, seen, peer })
    }

    fn waits(&self) -> Vec<Wait> {
        let slots = (0..WAITS).map(|n| offset_of!(Page, waits) + n * size_of::<WaitSlot>());
        let wait = |at: usize| {
            if self.long(at + offset_of!(WaitSlot, since)) == 0 {
                return None;
            }
            let value = |at| self.short(at).cast_signed();
            let address = self.long(at + offset_of!(WaitSlot, counter));
            let values =
                [offset_of!(WaitSlot, value), offset_of!(WaitSlot, wanted)].map(|field| value(at + field));
            Some(Wait {
                kind: Awaiting::of(self.short(at + offset_of!(WaitSlot, kind)))?,
                age: self.age(at + offset_of!(WaitSlot, since)),
                peer: self.task(at + offset_of!(WaitSlot, peer)),
                counter: (address != 0).then_some((address, values[0], values[1])),
                thread: self.short(at + offset_of!(WaitSlot, thread)),
            })
        };
        slots.filter_map(wait).collect()
    }

    fn opened(&self) -> Vec<Open> {
        let count = self.long(offset_of!(Page, open)).min(OPEN as u64) as usize;
        let slots = (0..count).map(|n| offset_of!(Page, opened) + n * size_of::<OpenSlot>());
        let open = |at: usize| {
            let kind = OpenKind::of(self.short(at + offset_of!(OpenSlot, kind)))?;
            Some(Open { peer: self.short(at + offset_of!(OpenSlot, peer)), kind })
        };
        slots.filter_map(open).collect()
    }

    fn counts(&self) -> ([PathCounts; 3], u64, BulkStatistics) {
        let base = offset_of!(Page, statistics);
        let words = |at: usize, n: usize| (0..n).map(move |n| self.long(at + 8 * n)).collect::<Vec<_>>();
        let path = |n: usize| {
            let w = words(base + Statistics::PATHS_AT + n * size_of::<PathStatistics>(), 6);
            PathStatistics {
                packets_sent: w[0],
                packets_received: w[1],
                data_sent: w[2],
                data_received: w[3],
                duplicates: w[4],
                retransmissions: w[5],
            }
        };
        let mut paths = [path(0), path(1), path(2)];
        paths[0].duplicates += self.long(offset_of!(Page, duplicates));
        paths[0].retransmissions += self.long(offset_of!(Page, retransmissions));
        for (n, path) in paths.iter_mut().enumerate() {
            path.data_sent += self.long(offset_of!(Page, direct) + 16 * n);
            path.data_received += self.long(offset_of!(Page, direct) + 16 * n + 8);
        }
        let bulk = words(base + Statistics::BULK_AT, 3);
        let bulk = BulkStatistics { transfers: bulk[0], bytes: bulk[1], refused: bulk[2] };
        let refused = self.long(base + Statistics::REFUSED_AT) + self.long(offset_of!(Page, refused));
        (paths, refused, bulk)
    }

    fn traffic(&self, slot: usize) -> Option<RailTraffic> {
        let counted = self.long(slot + offset_of!(RailSlot, counted));
        let [messages_sent, messages_received, bytes_sent, bytes_received, transfers, renewals] =
            std::array::from_fn(|n| self.long(slot + offset_of!(RailSlot, traffic) + 8 * n));
        (counted > 0).then_some(RailTraffic {
            up: counted == 2,
            messages_sent,
            messages_received,
            bytes_sent,
            bytes_received,
            transfers,
            renewals,
        })
    }

    fn rails(&self) -> Vec<Rail> {
        let slots = (0..RAILS).map(|n| offset_of!(Page, rails) + n * size_of::<RailSlot>());
        let rail = |at: usize| {
            let short = |field| self.short(at + field);
            let long = |field| self.long(at + field);
            Rail {
                transport: self.text(at + offset_of!(RailSlot, name), 16),
                number: short(offset_of!(RailSlot, number)),
                peers: short(offset_of!(RailSlot, peers)),
                suspects: short(offset_of!(RailSlot, suspects)),
                suspect: self.task(at + offset_of!(RailSlot, suspect)),
                open: long(offset_of!(RailSlot, open)),
                in_flight: long(offset_of!(RailSlot, in_flight)),
                window: long(offset_of!(RailSlot, window)),
                credit: long(offset_of!(RailSlot, credit)),
                timeouts: long(offset_of!(RailSlot, timeouts)),
                traffic: self.traffic(at),
            }
        };
        slots.map(rail).filter(|rail| rail.peers > 0).collect()
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::super::page::StatusPage;
    use super::super::search::of_process;
    use crate::stats::Path;

    #[test]
    fn a_page_is_found_read_and_gone_with_its_owner() {
        let page = StatusPage::new("a-job-of-this-test", 3, 7, 2).unwrap();
        let mut counts = page.counts();
        counts.path_mut(Path::SharedMemory).packets_sent = 5;
        counts.path_mut(Path::Network).data_received = 6;
        counts.bulk.count(100);
        let find = || {
            let all = of_process(std::process::id());
            all.into_iter().find(|s| s.job == "a-job-of-this-test")
        };
        let seen = find().expect("the page is among this process's files");
        assert_eq!((seen.task, seen.tasks, seen.context), (3, 7, 2));
        assert_eq!((seen.paths[1].packets_sent, seen.paths[0].data_received), (5, 6));
        assert_eq!((seen.bulk.transfers, seen.bulk.bytes), (1, 100));
        assert_eq!((seen.waits.len(), seen.room, seen.last_heard), (0, None, None));
        drop(page);
        assert_eq!(find(), None);
    }

    #[test]
    fn what_is_no_page_is_not_read() {
        assert_eq!(super::Snapshot::parse(&[0; super::BYTES]), None);
        assert_eq!(super::Snapshot::parse(&[0xff; super::BYTES]), None);
        assert_eq!(super::Snapshot::parse(b"lapisST\x01"), None);
    }
}
