//! A path to a peer, from one of this task's rails to one of the peer's; and the messages that are
//! sent again over another path if one fails.

use crate::ffi::fi_addr_t;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Pauses between two tries of a path that is down: from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// So many questions in a row may find no room; then what fills a path does not move, and it counts
/// as silent.
const EXCUSES: u32 = 10;

/// How much of new measurements of a path's speed counts.
const FRESH: f64 = 0.25;

/// A path that takes nothing because it was slow is tried again after so many times of what a piece
/// of `PIECE` bytes would take there: what made it slow may be over.
const DOUBT: f64 = 4.0;
const PIECE: f64 = (1 << 20) as f64;

/// See the module.
#[derive(Debug)]
pub(crate) struct Path {
    /// Numbers of the rails, ours and the peer's.
    pub(crate) rail: usize,
    pub(crate) theirs: usize,
    /// How often the peer has closed its rail; `to` is an address of after that.
    pub(crate) life: u32,
    pub(crate) to: fi_addr_t,
    /// The peer's address, as its provider gave it; empty while its rail is closed.
    pub(crate) address: Box<[u8]>,
    /// Whether anything is sent over it.
    pub(crate) up: bool,
    /// Whether libfabric has taken a message over it: connections, where the provider has such, are
    /// made by then.
    pub(crate) greeted: bool,
    /// Since when a connection is being made, if messages should take it.
    pub(crate) connecting: Option<Instant>,
    /// Puts may be under way that the peer's rail still carries out, until that is reopened.
    pub(crate) unsafe_puts: bool,
    /// The last that was tried over it has failed.
    pub(crate) failed: bool,
    /// Since when it is down, if it was ever used.
    pub(crate) left: Option<Instant>,
    /// It was left, and the peer is still to be told.
    pub(crate) to_say: bool,
    /// When it is tried next while it is down.
    pub(crate) next_try: Instant,
    pause: Duration,
    /// Answers to rounds of questions from this one on are of after it was left.
    pub(crate) since: u32,
    /// The last round of questions that it answered.
    pub(crate) answered: u32,
    /// Questions in a row that found no room.
    excuses: u32,
    /// The peer's question over it that had no answer for want of room.
    pub(crate) owed: Option<u32>,
    /// Bytes of transfers under way.
    pub(crate) under_way: u64,
    /// Bytes a microsecond, as measured.
    speed: Option<f64>,
    /// When a transfer last ended over it.
    last_end: Option<Instant>,
}

impl Path {
    /// `(rail, theirs)`: the rails' numbers. `(to, address)`: where the peer's is.
    pub(crate) fn new(
        (rail, theirs): (usize, usize),
        (to, address): (fi_addr_t, &[u8]),
        up: bool,
        now: Instant,
    ) -> Self {
        Self {
            rail,
            theirs,
            life: 0,
            to,
            address: address.into(),
            up,
            greeted: false,
            connecting: None,
            unsafe_puts: false,
            failed: false,
            left: None,
            to_say: false,
            next_try: now,
            pause: FIRST_PAUSE,
            since: 0,
            answered: 0,
            excuses: 0,
            owed: None,
            under_way: 0,
            speed: None,
            last_end: None,
        }
    }

    /// Nothing is sent over it from now on.
    pub(crate) fn leave(&mut self, now: Instant, failed: bool) {
        (self.up, self.greeted, self.left, self.failed) = (false, false, Some(now), failed);
        (self.next_try, self.pause, self.connecting) = (now, FIRST_PAUSE, None);
    }

    /// It works again.
    pub(crate) fn take_back(&mut self) {
        (self.up, self.greeted, self.left, self.failed) = (true, true, None, false);
        (self.to_say, self.connecting) = (false, None);
    }

    /// It is being tried; the next time is later.
    pub(crate) fn tried(&mut self, now: Instant) {
        self.next_try = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// There was no room for a try.
    pub(crate) fn put_off(&mut self, now: Instant) {
        self.next_try = now + FIRST_PAUSE;
    }

    /// The next try is at once.
    pub(crate) fn hurry(&mut self, now: Instant) {
        (self.next_try, self.pause) = (now, FIRST_PAUSE);
    }

    /// A question was sent, which is to be answered.
    pub(crate) fn was_asked(&mut self) {
        self.excuses = 0;
    }

    /// A question of a round found no room: it needs no answer, unless that happens too many times
    /// in a row.
    pub(crate) fn excuse(&mut self, round: u32) {
        self.excuses += 1;
        if self.excuses <= EXCUSES {
            self.answered = round;
        }
    }

    /// A transfer of so many bytes has ended well. The first tells nothing of the speed: its time
    /// may be that of a connection that was being made.
    pub(crate) fn measure(&mut self, len: u64, begun: Instant, now: Instant) {
        self.excuses = 0;
        let Some(last) = self.last_end.replace(now) else { return };
        let time = now.duration_since(begun.max(last)).as_secs_f64() * 1e6;
        let speed = len as f64 / time.max(0.1);
        let old = self.speed.filter(|old| !is_doubtful(*old, last, begun));
        self.speed = Some(old.map_or(speed, |old| old + FRESH * (speed - old)));
    }

    /// Its speed in bytes a microsecond, if that is known and not too long ago.
    pub(crate) fn speed(&self, now: Instant) -> Option<f64> {
        let last = self.last_end.filter(|_| self.under_way == 0);
        self.speed.filter(|speed| last.is_none_or(|last| !is_doubtful(*speed, last, now)))
    }

    /// When what is under way and so many bytes more will have come at a speed, in microseconds
    /// from now.
    pub(crate) fn finish(&self, more: u64, speed: f64) -> f64 {
        (self.under_way + more) as f64 / speed.max(1.0)
    }
}

/// Whether a path of this speed, which has had nothing to do since `last`, is to be tried again.
fn is_doubtful(speed: f64, last: Instant, now: Instant) -> bool {
    now.saturating_duration_since(last).as_secs_f64() * 1e6 > DOUBT * PIECE / speed.max(1.0)
}

/// Messages to a peer that are not known to be consumed, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Retained {
    kept: VecDeque<Vec<u8>>,
    /// Memory of those that were consumed.
    spare: Vec<Vec<u8>>,
}

impl Retained {
    /// Keeps a message of `len` bytes that `fill` writes.
    pub(crate) fn keep(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> &[u8] {
        let mut message = self.spare.pop().unwrap_or_default();
        message.clear();
        message.resize(len, 0);
        fill(&mut message);
        self.kept.push_back(message);
        self.kept.back().map_or(&[], Vec::as_slice)
    }

    /// The newest was not sent after all.
    pub(crate) fn drop_newest(&mut self) {
        self.spare.extend(self.kept.pop_back());
    }

    /// All but the newest `count` have been consumed.
    pub(crate) fn shorten(&mut self, count: usize) {
        while self.kept.len() > count {
            self.spare.extend(self.kept.pop_front());
        }
    }

    /// The one that is so many behind the oldest.
    pub(crate) fn get(&self, at: usize) -> Option<&[u8]> {
        self.kept.get(at).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_consumed_is_let_go_of_and_the_rest_can_go_again() {
        let mut retained = Retained::default();
        for n in 0..5u8 {
            assert_eq!(retained.keep(n.into(), |out| out.fill(n)), vec![n; n.into()]);
        }
        retained.drop_newest();
        retained.shorten(2);
        assert_eq!(retained.get(0), Some(&[2, 2][..]));
        assert_eq!(retained.get(1), Some(&[3, 3, 3][..]));
        assert_eq!(retained.get(2), None);
    }

    #[test]
    fn a_question_without_room_is_excused_a_few_times_in_a_row() {
        let mut path = Path::new((0, 0), (0, &[]), true, Instant::now());
        for first in [1, 100] {
            for round in first..first + EXCUSES {
                path.excuse(round);
                assert_eq!(path.answered, round);
            }
            path.excuse(first + EXCUSES);
            assert_eq!(path.answered, first + EXCUSES - 1, "it counts as silent");
            path.was_asked();
            assert_eq!(path.answered, first + EXCUSES - 1, "it was asked, and owes an answer");
        }
    }

    #[test]
    fn a_faster_path_is_expected_to_end_sooner() {
        let now = Instant::now();
        let mut path = Path::new((0, 0), (0, &[]), true, now);
        path.under_way = 1 << 20;
        assert!(path.finish(1 << 20, 1000.0) < path.finish(1 << 20, 333.0));
    }

    #[test]
    fn a_slow_path_is_tried_again_later_and_its_first_transfer_tells_nothing() {
        let now = Instant::now();
        let after = |micros| now + Duration::from_micros(micros);
        let mut path = Path::new((0, 0), (0, &[]), true, now);
        assert_eq!(path.speed(now), None);
        path.measure(1 << 20, now, after(1_000_000));
        assert_eq!(path.speed(after(1_000_000)), None, "a connection was made");
        path.measure(1 << 20, now, after(1_010_000));
        let speed = path.speed(after(1_010_000)).expect("it is known");
        assert!((100.0..110.0).contains(&speed), "10 ms for 1 MiB: {speed}");
        assert_eq!(path.speed(after(1_049_000)), Some(speed));
        assert_eq!(path.speed(after(1_051_000)), None, "four times as long without anything");
        path.under_way = 1;
        assert_eq!(path.speed(after(1_051_000)), Some(speed), "it is being measured");
        path.measure(1 << 20, after(1_051_000), after(1_052_000));
        assert!(
            path.speed(after(1_052_000)).is_some_and(|speed| speed > 1000.0),
            "the old one does not count"
        );
    }
}
