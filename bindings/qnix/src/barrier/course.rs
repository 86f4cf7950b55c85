//! Progress of a group's barriers: from the call that starts one, through the messages of members,
//! to its end.

use super::{ROUNDS, Seen, Sign};
use crate::board::{Boards, Content, Writer, places};
use crate::contexts::Sends;
use crate::error::{Error, Result};
use crate::groups::{Group, Groups};
use crate::outbox::{self, Letter, Outbox};
use crate::state::{Shared, State};
use crate::wire::{then, words_of};
use lapis_core::sync::spin_loop;
use lapis_core::{Context, Delivery, Incoming};
use std::collections::HashSet;
use std::sync::Arc;

impl Group {
    /// Notes what a member has told.
    pub(crate) fn note(&mut self, sign: Sign) {
        match (&mut self.barrier.seen, sign) {
            (Seen::Rounds(seen), Sign::Round(round)) => seen[round] += 1,
            (Seen::Boards(entered), Sign::Entered(task)) => {
                if let Some(rank) = self.members.rank(task) {
                    entered.members[rank].told += 1;
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

    /// Whether the barrier under way has been told by all who tell its round to this process.
    #[inline]
    fn is_told(&mut self, round: usize, boards: Option<&Boards>) -> bool {
        let begun = self.barrier.begun;
        match (&mut self.barrier.seen, boards) {
            (Seen::Rounds(seen), _) => seen[round] >= begun,
            (Seen::Boards(entered), Some(boards)) => entered.by_all(begun, self.me, self.name, boards),
            (Seen::Boards(_), None) => false,
        }
    }

    /// Whether a round waits for a task of which `gone` holds.
    fn is_hopeless(&mut self, round: usize, boards: Option<&Boards>, gone: &HashSet<u32>) -> bool {
        let (Some(me), n) = (self.me, self.members.len()) else { return false };
        let (begun, name) = (self.barrier.begun, self.name);
        let members = &self.members;
        let is_gone = |rank: usize| members.task(rank).is_some_and(|task| gone.contains(&task));
        match (&mut self.barrier.seen, boards) {
            (Seen::Rounds(seen), _) => seen[round] < begun && is_gone((me + n - (1 << round) % n) % n),
            (Seen::Boards(entered), Some(boards)) => {
                let late = |rank: usize| !entered.members[rank].has_entered(begun, name, boards);
                (0..n).filter(|rank| *rank != me && is_gone(*rank)).any(late)
            }
            (Seen::Boards(_), None) => false,
        }
    }

    /// The members, this process excepted.
    fn others(&self) -> impl Iterator<Item = u32> {
        let task = self.me.and_then(|me| self.members.task(me));
        self.members.iter().filter(move |other| Some(*other) != task)
    }

    /// Does what can be done of its barriers. Says whether that was anything.
    fn go_on(&mut self, sends: &mut Sends, board: &mut Option<Writer>, out: &mut Outbox) -> bool {
        let mut went = false;
        loop {
            let boards = board.as_ref().map(|writer| &**writer.boards());
            let now = self.barrier.now;
            let (at, round) = match now {
                Some((at, round)) if self.is_told(round, boards) => (at, round + 1),
                Some(_) => return went,
                None => match self.barrier.next.pop_front() {
                    Some(at) => {
                        self.barrier.begin(at);
                        (at, 0)
                    }
                    None => return went,
                },
            };
            went = true;
            //= QNIX API, qx_barrier, ends when all members have come
            if round == self.rounds() {
                self.barrier.now = None;
                sends.end(at, Ok(0));
                if let (Some(writer), Some(word)) = (&mut *board, self.barrier.word()) {
                    writer.expect(word, self.barrier.begun);
                }
                continue;
            }
            self.barrier.now = Some((at, round));
            self.tell(round, board, out);
        }
    }

    /// Tells others that this process is in a round of its barrier.
    fn tell(&self, round: usize, board: &mut Option<Writer>, out: &mut Outbox) {
        let (Some(me), n) = (self.me, self.members.len()) else { return };
        if !self.barrier.is_on_boards() {
            if let Some(to) = self.members.task((me + (1 << round)) % n) {
                out.push(Letter::Notice { to, group: self.name, round });
            }
            return;
        }
        let Some(writer) = board else { return };
        if let Some(word) = self.barrier.word() {
            let asleep = writer.enter(word, self.barrier.begun, self.near);
            return out.extend(asleep.map(|to| Letter::Look { to }));
        }
        let content = Content::Entered { task: self.members.task(me).unwrap_or_default(), group: self.name };
        match writer.show(content, places(self.near).map(|place| (place, 0)), &[]) {
            Some(asleep) => out.extend(asleep.map(|to| Letter::Look { to })),
            None => out.extend(self.others().map(|to| Letter::Entered { to, group: self.name })),
        }
    }

    /// Ends barriers that wait for a process which has ended.
    #[cold]
    fn fail(&mut self, sends: &mut Sends, boards: Option<&Boards>, gone: &HashSet<u32>, out: &mut Outbox) {
        let Some((at, round)) = self.barrier.now else { return };
        let told = self.barrier.broken.is_some_and(|broken| broken <= self.barrier.begun);
        let rounds = self.rounds();
        if !(told || (round..rounds).any(|round| self.is_hopeless(round, boards, gone))) {
            return;
        }
        // On boards everybody sees by itself who has not come.
        if !told && !self.barrier.is_on_boards() {
            let (group, barrier) = (self.name, self.barrier.begun);
            out.extend(self.others().map(|to| Letter::Broken { to, group, barrier }));
        }
        self.barrier.now = None;
        let failed: Vec<usize> = std::iter::once(at).chain(self.barrier.next.drain(..)).collect();
        // Each of those would have been begun, and have failed in its turn.
        self.barrier.begun += failed.len() as u64 - 1;
        for at in failed {
            sends.end(at, Err(Error::Peer));
        }
    }
}

impl State {
    /// A barrier begins, when those before it have ended.
    pub(crate) fn enter_barrier(&mut self, name: i32, at: usize, out: &mut Outbox) {
        if let Some(group) = self.groups.known.get_mut(name) {
            group.barrier.next.push_back(at);
        }
        self.go_on(name, out);
    }

    /// A member has told something.
    fn told(&mut self, name: i32, sign: Sign, out: &mut Outbox) {
        let Some(group) = self.groups.known.get_mut(name) else {
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

    /// Does what can be done of a group's barriers. Says whether that was anything.
    fn go_on(&mut self, name: i32, out: &mut Outbox) -> bool {
        let Self { groups: Groups { known, waiting, .. }, sends, board, gone, .. } = self;
        let Some(group) = known.get_mut(name) else { return false };
        let went = group.go_on(sends, board, out);
        let boards = board.as_ref().map(|writer| &**writer.boards());
        if !gone.is_empty() || group.barrier.broken.is_some() {
            group.fail(sends, boards, gone, out);
        }
        // Whether words have to be looked at from now on.
        match waiting.iter().position(|waiting| *waiting == name) {
            None if group.barrier.waits_for_words() => waiting.push(name),
            Some(at) if !group.barrier.waits_for_words() => {
                waiting.swap_remove(at);
            }
            _ => return went,
        }
        boards.into_iter().for_each(|boards| boards.set_awaited(waiting.len()));
        went
    }

    /// Whether a barrier that this process waits in can go on because of a word of somebody's.
    #[inline]
    pub(crate) fn words_have_news(&mut self) -> bool {
        let Self { groups: Groups { known, waiting, .. }, board, .. } = self;
        let boards = board.as_ref().map(|writer| &**writer.boards());
        let has_news = |group: &mut Group| {
            let round = group.barrier.now.map(|(_, round)| round);
            round.is_some_and(|round| group.is_told(round, boards))
        };
        waiting.iter().any(|name| known.get_mut(*name).is_some_and(has_news))
    }

    /// Looks some times for what the first barrier of this process waits for. Says whether it is
    /// there, or does not come that way.
    ///
    /// It pauses after each look: where a line comes from far, looks in a row slow down the store
    /// that they wait for.
    #[inline(always)]
    pub(crate) fn looks_for_words(&mut self, looks: u32) -> bool {
        let Self { groups: Groups { known, waiting, .. }, board, .. } = self;
        let boards = board.as_ref().map(|writer| &**writer.boards());
        let group = waiting.first().and_then(|name| known.get_mut(*name));
        // A group without words is told by records.
        let Some(group) = group.filter(|group| group.barrier.word().is_some()) else { return true };
        (0..looks).any(|_| {
            let told = group.is_told(0, boards);
            if !told {
                spin_loop();
            }
            told
        })
    }

    /// Looks at the words of others. Says whether barriers have gone on.
    pub(crate) fn look_at_words(&mut self, out: &mut Outbox) -> bool {
        let (mut at, mut went) = (0, false);
        while let Some(name) = self.groups.waiting.get(at).copied() {
            went |= self.go_on(name, out);
            // A group that waits no longer has left its place to another one.
            at += usize::from(self.groups.waiting.get(at) == Some(&name));
        }
        went
    }

    /// A process has ended: what it means for barriers.
    pub(crate) fn left_barriers(&mut self, task: u32, out: &mut Outbox) {
        let groups = self.groups.known.iter().filter(|group| group.members.rank(task).is_some());
        for name in groups.map(|group| group.name).collect::<Vec<i32>>() {
            self.go_on(name, out);
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
    if out.is_empty() { Delivery::bury() } else { then(move |context| outbox::send(context, &out)) }
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
