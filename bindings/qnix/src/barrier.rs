//! Barriers of a group.
//!
//! Where all members share a host and its boards, each counts in a word of its board how many it
//! has entered (or shows a record, if it has no word left), and a barrier ends when all have
//! entered. Otherwise it takes ⌈log₂ n⌉ rounds of messages: in round r each member notifies the one
//! 2ʳ places further on. A member that waits for one that has gone tells all others that the
//! barrier is broken: they may be waiting for its own notification.
//!
//! A barrier command ends by itself, whether the program polls for it or not, and succeeds if all
//! members have entered, even if some of them have left since. So the commands have a barrier of
//! their own instead of those of the crate `collectives`, which are tied to the calling thread; the
//! words stand in lines of that crate.

pub(crate) mod course;

use crate::board::Boards;
use std::collections::VecDeque;

/// Most rounds of a barrier.
const ROUNDS: usize = 32;

/// What tells a member that others have come.
pub(crate) enum Seen {
    /// Notices so far, by round.
    Rounds(Box<[u64; ROUNDS]>),
    /// What members say on their boards.
    Boards(Entered),
}

/// How many barriers the members of a group on one host have entered.
pub(crate) struct Entered {
    /// By rank.
    members: Vec<Member>,
    /// Those before it have entered the barrier under way.
    first: usize,
    /// This process's own word.
    mine: Option<usize>,
}

struct Member {
    place: usize,
    /// Barriers that it has told by records and messages, which it does without a word.
    told: u64,
    /// Its word, once it is found.
    word: Option<usize>,
}

impl Member {
    /// Whether it has entered so many barriers.
    #[inline(always)]
    fn has_entered(&mut self, barriers: u64, name: i32, boards: &Boards) -> bool {
        if self.word.is_none() {
            self.word = boards.word_of(self.place, name);
        }
        self.told >= barriers || self.word.is_some_and(|word| boards.has_entered(self.place, word, barriers))
    }
}

impl Entered {
    /// Whether all but this process, whose rank is `me`, have entered so many. Nobody who has is
    /// looked at again.
    #[inline(always)]
    fn by_all(&mut self, begun: u64, me: Option<usize>, name: i32, boards: &Boards) -> bool {
        while let Some(member) = self.members.get_mut(self.first) {
            if Some(self.first) != me && !member.has_entered(begun, name, boards) {
                return false;
            }
            self.first += 1;
        }
        true
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
    /// `boards`: the members' places on the host whose boards they all see, by rank, and this one's
    /// word, if it has one.
    pub(crate) fn new(boards: Option<(Vec<usize>, Option<usize>)>) -> Self {
        let seen = match boards {
            Some((places, mine)) => {
                let member = |place| Member { place, told: 0, word: None };
                Seen::Boards(Entered { members: places.into_iter().map(member).collect(), first: 0, mine })
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

    /// The next command is under way.
    fn begin(&mut self, at: usize) {
        self.begun += 1;
        self.now = Some((at, 0));
        if let Seen::Boards(entered) = &mut self.seen {
            entered.first = 0;
        }
    }

    /// Whether it goes on when others' words change.
    fn waits_for_words(&self) -> bool {
        self.is_on_boards() && self.now.is_some()
    }
}
