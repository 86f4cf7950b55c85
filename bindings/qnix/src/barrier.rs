//! Barriers of a group.
//!
//! Where all members share a host and its boards, each counts in a word of its board how many it
//! has entered (or shows a record, if it has no word left), and a barrier ends when all have
//! entered. Else it takes ⌈log₂ n⌉ rounds of messages: in round r each member tells the one 2ʳ
//! places further on. A member that waits for one who has gone tells all others that the barrier is
//! broken: they may wait for what it would have told.
//!
//! A barrier command ends by itself, whether somebody polls for it or not, and one that has been
//! told by all ends well even if some of them have left since. So the commands have their own
//! barrier beside those of the crate `collectives`, whose calls belong to who makes them.

use crate::board::{Boards, Content, places};
use crate::error::{Error, Result};
use crate::groups::{Group, Groups};
use crate::node::{Shared, State};
use crate::outbox::{Letter, Outbox};
use crate::protocol::{then, words_of};
use lapis_core::{Context, Delivery, Incoming};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Most rounds of a barrier.
const ROUNDS: usize = 32;

/// What tells a member that others have come.
pub(crate) enum Seen {
    /// Notices so far, by round.
    Rounds(Box<[u64; ROUNDS]>),
    /// What members say on their boards.
    Boards(Entered),
}

/// How many barriers the members of a group on one host have entered, by rank.
pub(crate) struct Entered {
    /// Those that they have told by records and messages.
    told: Vec<u64>,
    places: Vec<usize>,
    /// Their words, which say the same, once they are found.
    words: Vec<Option<usize>>,
    /// This process's own word.
    mine: Option<usize>,
}

impl Entered {
    #[inline]
    fn by(&mut self, rank: usize, name: i32, boards: &Boards) -> u64 {
        let place = self.places[rank];
        let word = self.words[rank].or_else(|| boards.word_of(place, name));
        self.words[rank] = word;
        self.told[rank] + word.map_or(0, |word| boards.entered(place, word))
    }
}

/// The barriers of a group as a member sees them.
pub(crate) struct Barrier {
    /// Barriers that this process has begun.
    begun: u64,
    /// The command under way, and the round that it is in.
    now: Option<(usize, usize)>,
    /// Those that follow.
    next: VecDeque<usize>,
    /// The first one that can't end.
    broken: Option<u64>,
    seen: Seen,
}

/// What came of a group that this process does not know to be complete yet.
#[derive(Clone, Copy)]
pub(crate) enum Sign {
    Round(usize),
    /// This task has entered.
    Entered(u32),
    /// The barrier of this number is broken.
    Broken(u64),
}

impl Barrier {
    /// Of a group of so many members. `boards`: their places on the host whose boards they all see,
    /// and this one's word, if it has one.
    pub(crate) fn new(members: usize, boards: Option<(Vec<usize>, Option<usize>)>) -> Self {
        let seen = match boards {
            Some((places, mine)) => {
                let (told, words) = (vec![0; members], vec![None; members]);
                Seen::Boards(Entered { told, places, words, mine })
            }
            None => Seen::Rounds(Box::new([0; ROUNDS])),
        };
        Self { begun: 0, now: None, next: VecDeque::new(), broken: None, seen }
    }

    /// Whether its members look at boards for each other.
    pub(crate) fn is_on_boards(&self) -> bool {
        matches!(self.seen, Seen::Boards(_))
    }

    /// This process's word for it.
    fn word(&self) -> Option<usize> {
        match &self.seen {
            Seen::Boards(entered) => entered.mine,
            Seen::Rounds(_) => None,
        }
    }
}

impl Group {
    /// Notes what a member has told.
    pub(crate) fn note(&mut self, sign: Sign) {
        match (&mut self.barrier.seen, sign) {
            (Seen::Rounds(seen), Sign::Round(round)) => seen[round] += 1,
            (Seen::Boards(entered), Sign::Entered(task)) => {
                if let Some(rank) = self.members.rank(task) {
                    entered.told[rank] += 1;
                }
            }
            (_, Sign::Broken(barrier)) => {
                let first = self.barrier.broken.map_or(barrier, |known| known.min(barrier));
                self.barrier.broken = Some(first);
            }
            // Members agree on the way: this would be a defect.
            _ => tracing::warn!(target: "lapis::qnix", "a barrier was told in the wrong way"),
        }
    }

    fn rounds(&self) -> usize {
        match self.barrier.seen {
            Seen::Rounds(_) => self.members.len().next_power_of_two().ilog2() as usize,
            Seen::Boards(_) => usize::from(self.members.len() > 1),
        }
    }

    /// Whether a round of the barrier under way has been told by all who tell it to this process.
    #[inline]
    fn is_told(&mut self, round: usize, name: i32, boards: Option<&Boards>) -> bool {
        let (begun, me) = (self.barrier.begun, self.me);
        match (&mut self.barrier.seen, boards) {
            (Seen::Rounds(seen), _) => seen[round] >= begun,
            (Seen::Boards(entered), Some(boards)) => (0..entered.told.len())
                .filter(|rank| Some(*rank) != me)
                .all(|rank| entered.by(rank, name, boards) >= begun),
            (Seen::Boards(_), None) => false,
        }
    }

    /// Whether a round waits for a task of which `gone` holds.
    fn is_hopeless(&mut self, round: usize, name: i32, boards: Option<&Boards>, gone: &HashSet<u32>) -> bool {
        let (Some(me), n) = (self.me, self.members.len()) else { return false };
        let begun = self.barrier.begun;
        let members = &self.members;
        let is_gone = |rank: usize| members.task(rank).is_some_and(|task| gone.contains(&task));
        match (&mut self.barrier.seen, boards) {
            (Seen::Rounds(seen), _) => seen[round] < begun && is_gone((me + n - (1 << round) % n) % n),
            (Seen::Boards(entered), Some(boards)) => {
                (0..n).any(|rank| rank != me && is_gone(rank) && entered.by(rank, name, boards) < begun)
            }
            (Seen::Boards(_), None) => false,
        }
    }
}

impl State {
    /// A barrier begins, when those before it have ended.
    pub(crate) fn enter_barrier(&mut self, name: i32, at: usize, out: &mut Outbox) {
        if let Some(group) = self.groups.known.get_mut(&name) {
            group.barrier.next.push_back(at);
        }
        self.go_on(name, out);
    }

    /// A member has told something.
    fn told(&mut self, name: i32, sign: Sign, out: &mut Outbox) {
        let Some(group) = self.groups.known.get_mut(&name) else {
            self.groups.early.entry(name).or_default().push(sign);
            return;
        };
        group.note(sign);
        self.go_on(name, out);
    }

    /// A task has entered its next barrier of a group.
    pub(crate) fn entered(&mut self, name: i32, task: u32, out: &mut Outbox) {
        self.told(name, Sign::Entered(task), out);
    }

    /// Does what can be done of a group's barriers.
    fn go_on(&mut self, name: i32, out: &mut Outbox) {
        loop {
            let boards = self.board.as_ref().map(|writer| &**writer.boards());
            let Some(group) = self.groups.known.get_mut(&name) else { return };
            let now = group.barrier.now;
            let (at, round) = match now {
                Some((at, round)) if group.is_told(round, name, boards) => (at, round + 1),
                Some(_) => break,
                None => match group.barrier.next.pop_front() {
                    Some(at) => {
                        group.barrier.begun += 1;
                        (at, 0)
                    }
                    None => break,
                },
            };
            //= QNIX API, qx_barrier, ends when all members have come
            if round == group.rounds() {
                group.barrier.now = None;
                self.sends.end(at, Ok(0));
                continue;
            }
            group.barrier.now = Some((at, round));
            self.tell(name, round, out);
        }
        self.fail_barriers(name, out);
        self.note_waiting(name);
    }

    /// Whether words have to be looked at for a group's barrier.
    fn note_waiting(&mut self, name: i32) {
        let waits = |group: &Group| group.barrier.is_on_boards() && group.barrier.now.is_some();
        let waits = self.groups.known.get(&name).is_some_and(waits);
        let waiting = &mut self.groups.waiting;
        match waiting.iter().position(|waiting| *waiting == name) {
            None if waits => waiting.push(name),
            Some(at) if !waits => {
                waiting.swap_remove(at);
            }
            _ => return,
        }
        let (writer, awaited) = (self.board.as_ref(), waiting.len());
        writer.into_iter().for_each(|writer| writer.boards().set_awaited(awaited));
    }

    /// Whether a barrier that this process waits in can go on because of a word of somebody's.
    pub(crate) fn words_have_news(&mut self) -> bool {
        let boards = self.board.as_ref().map(|writer| &**writer.boards());
        let Groups { known, waiting, .. } = &mut self.groups;
        waiting.iter().any(|name| {
            let group = known.get_mut(name);
            group.is_some_and(|group| {
                group.barrier.now.is_some_and(|(_, round)| group.is_told(round, *name, boards))
            })
        })
    }

    /// Looks at the words of others. Says whether barriers have gone on.
    pub(crate) fn look_at_words(&mut self, out: &mut Outbox) -> bool {
        if !self.words_have_news() {
            return false;
        }
        for name in self.groups.waiting.clone() {
            self.go_on(name, out);
        }
        true
    }

    /// Tells others that this process is in a round of a group's barrier.
    fn tell(&mut self, name: i32, round: usize, out: &mut Outbox) {
        let Some(group) = self.groups.known.get(&name) else { return };
        let (Some(me), n) = (group.me, group.members.len()) else { return };
        if !group.barrier.is_on_boards() {
            if let Some(to) = group.members.task((me + (1 << round)) % n) {
                out.push(Letter::Notice { to, group: name, round });
            }
            return;
        }
        if let (Some(word), Some(writer)) = (group.barrier.word(), self.board.as_mut()) {
            let asleep = writer.enter(word, group.barrier.begun, group.near);
            return out.extend(asleep.map(|to| Letter::Look { to }));
        }
        let (task, boards) = (group.members.task(me).unwrap_or_default(), self.board.as_mut());
        let shown = boards.and_then(|writer| {
            let content = Content::Entered { task, group: name };
            let asleep = writer.show(content, places(group.near).map(|place| (place, 0)), &[])?;
            out.extend(asleep.map(|to| Letter::Look { to }));
            Some(())
        });
        if shown.is_none() {
            let others = group.members.iter().filter(|to| *to != task);
            out.extend(others.map(|to| Letter::Entered { to, group: name }));
        }
    }

    /// Ends barriers that wait for a process which has ended.
    fn fail_barriers(&mut self, name: i32, out: &mut Outbox) {
        let boards = self.board.as_ref().map(|writer| &**writer.boards());
        let Some(group) = self.groups.known.get_mut(&name) else { return };
        let Some((at, round)) = group.barrier.now else { return };
        let told = group.barrier.broken.is_some_and(|broken| broken <= group.barrier.begun);
        if !told && self.gone.is_empty() {
            return;
        }
        let rounds = group.rounds();
        if !(told || (round..rounds).any(|round| group.is_hopeless(round, name, boards, &self.gone))) {
            return;
        }
        // On boards everybody sees by itself who has not come.
        if !told && !group.barrier.is_on_boards() {
            let barrier = group.barrier.begun;
            let others =
                group.members.iter().filter(|to| Some(*to) != group.me.and_then(|me| group.members.task(me)));
            out.extend(others.map(|to| Letter::Broken { to, group: name, barrier }));
        }
        group.barrier.now = None;
        let failed: Vec<usize> = std::iter::once(at).chain(group.barrier.next.drain(..)).collect();
        // Each of those would have been begun, and have failed in its turn.
        group.barrier.begun += failed.len() as u64 - 1;
        for at in failed {
            self.sends.end(at, Err(Error::Peer));
        }
    }

    /// A process has ended: what it means for barriers.
    pub(crate) fn left_barriers(&mut self, task: u32, out: &mut Outbox) {
        let groups = self.groups.known.iter().filter(|(_, group)| group.members.rank(task).is_some());
        for name in groups.map(|(name, _)| *name).collect::<Vec<i32>>() {
            self.fail_barriers(name, out);
            self.note_waiting(name);
        }
    }

    /// Whether this process may enter a barrier, and whether its members look at boards then.
    pub(crate) fn may_enter(&self, name: i32, size: i32) -> Result<bool> {
        let group = self.groups.get(name)?;
        group.me.ok_or(Error::Member)?;
        if usize::try_from(size) != Ok(group.members.len()) {
            return Err(Error::GroupSize);
        }
        Ok(group.barrier.is_on_boards())
    }
}

fn sign_arrived(context: &Context, shared: &Arc<Shared>, name: i32, sign: Sign) -> Delivery {
    let mut out = Outbox::new();
    shared.lock(context).told(name, sign, &mut out);
    if out.is_empty() { Delivery::bury() } else { then(move |context| crate::outbox::send(context, &out)) }
}

pub(crate) fn notice_arrived(
    context: &Context,
    shared: &Arc<Shared>,
    message: &Incoming<'_>,
) -> Option<Delivery> {
    let [name, round] = words_of(message.user_header)?;
    let round = round as usize;
    (round < ROUNDS).then(|| sign_arrived(context, shared, name as i32, Sign::Round(round)))
}

/// What a record would have said, had there been room.
pub(crate) fn entered_arrived(
    context: &Context,
    shared: &Arc<Shared>,
    message: &Incoming<'_>,
) -> Option<Delivery> {
    let [name] = words_of(message.user_header)?;
    Some(sign_arrived(context, shared, name as i32, Sign::Entered(message.source)))
}

/// Some member waits for one who has gone.
pub(crate) fn broken_arrived(
    context: &Context,
    shared: &Arc<Shared>,
    message: &Incoming<'_>,
) -> Option<Delivery> {
    let [name, barrier] = words_of(message.user_header)?;
    Some(sign_arrived(context, shared, name as i32, Sign::Broken(u64::from(barrier))))
}
