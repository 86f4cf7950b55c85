//! What a context knows of each other task.

use super::copy_choice::CopyChoice;
use super::epochs::Epochs;
use super::peer_lane::PeerLane;
use super::regions::PeerRegions;
use super::sequence_window::SequenceWindow;
use crate::error::Error;
use crate::transport::PeerId;
use std::ops::{Index, IndexMut};
use std::ptr::NonNull;
use std::time::Duration;

/// How packets reach a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route(u8);

impl Route {
    pub(crate) const NONE: Self = Self(u8::MAX);

    pub(crate) fn over(link: usize) -> Self {
        Self(link as u8)
    }

    /// Index of the link; beyond the end of the links for [`Self::NONE`].
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether a peer can be talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerState {
    Up,
    /// It died or fell silent.
    Down,
    /// It terminated its context in good order.
    Ended,
    /// The program asked not to talk to it until it is resumed.
    Purged,
}

/// What a task knows of a peer's silence.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Silence {
    /// Since when it owes something, or when it last gave a sign of life after that.
    pub(crate) since: Option<Duration>,
    /// It has been asked for one since.
    pub(crate) asked: bool,
    /// What was to go past its link's datagrams last found no room.
    pub(crate) held_up: bool,
}

/// When silence is looked at next.
#[derive(Debug, Default)]
pub(crate) struct Vigil {
    pub(crate) next: Duration,
    pub(crate) looks: u32,
}

/// One other task. Aligned, so that finding one is a shift.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Peer {
    pub(crate) route: Route,
    pub(crate) state: PeerState,
    /// The lane to it, where its transport has one. None but to peers that are up, and of which no
    /// packet is held: whoever finds a lane need ask nothing else.
    pub(crate) lane: PeerLane,
    /// Its transport's ways to it are known: lane and window. In large jobs that takes a first
    /// contact.
    pub(crate) met: bool,
    /// It is another process than the one that its first link led to. What still comes from links
    /// without an engine is the former one's.
    pub(crate) moved: bool,
    /// How often everything began anew with it: it was purged, purged us, or was started anew.
    pub(crate) life: u32,
    /// Which purges of either side the packets of both belong to.
    pub(crate) epochs: Epochs,
    /// Since when it gives no sign of life.
    pub(crate) silence: Silence,
    /// Calls that wait for something that it alone can send.
    pub(crate) awaited: u32,
    /// The epoch of its process, as far as the bootstrap told.
    pub(crate) process: Option<u32>,
    /// It is another process than the one that took part in the job's start. Of this task itself:
    /// this process is.
    pub(crate) replaced: bool,
    /// Its process is known to have ended without a farewell.
    pub(crate) dead: bool,
    /// How it went down.
    pub(crate) cause: Option<Box<str>>,
    /// It took leave.
    pub(crate) farewell: bool,
    /// How many messages have been numbered for it. A message carries the low 32 bits.
    pub(crate) numbered: u64,
    /// The first so many of them are known to be done there.
    pub(crate) confirmed: u64,
    /// Number of the next operation that it must answer.
    pub(crate) next_operation: u32,
    /// Operations of ours that it answered.
    pub(crate) answered: SequenceWindow,
    /// Short puts may be on their way that nothing asks after yet.
    pub(crate) puts_land: bool,
    /// Messages of its that are done here.
    pub(crate) arrived: SequenceWindow,
    /// Steps of barriers that its packets have announced.
    pub(crate) barriers: u32,
    /// Fences of its that wait for `arrived` to get there.
    pub(crate) fences: Vec<u64>,
    /// Short messages sent past its engine since it was heard last.
    pub(crate) unheard: u8,
    /// What [`signs_of_life`](Self::signs_of_life) were when they were asked for last.
    pub(crate) heard: [u32; 2],
    /// How puts and gets of ordinary memory go, from the first one on.
    pub(crate) copy_choice: Option<Box<CopyChoice>>,
    /// What it has registered, from the first transfer on that would need it.
    pub(crate) regions: Option<Box<PeerRegions>>,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Self {
            route: Route::NONE,
            state: PeerState::Up,
            lane: PeerLane::none(),
            met: true,
            moved: false,
            life: 0,
            epochs: Epochs::FIRST,
            silence: Silence::default(),
            awaited: 0,
            process: None,
            replaced: false,
            dead: false,
            cause: None,
            farewell: false,
            numbered: 0,
            confirmed: 0,
            next_operation: 0,
            answered: SequenceWindow::default(),
            puts_land: false,
            arrived: SequenceWindow::default(),
            barriers: 0,
            fences: Vec::new(),
            unheard: 0,
            heard: [0; 2],
            copy_choice: None,
            regions: None,
        }
    }

    /// The number of the next message to it.
    #[inline(always)]
    pub(crate) fn next_number(&self) -> u32 {
        self.numbered as u32
    }

    /// The number of a message that is being sent to it.
    #[inline(always)]
    pub(crate) fn take_number(&mut self) -> u32 {
        let number = self.next_number();
        self.numbered += 1;
        number
    }

    /// A message that has taken a number was not sent after all. A fence would wait for it.
    pub(crate) fn give_number_back(&mut self) {
        // Unless everything was given up, or has begun anew, since it took the number.
        if self.numbered > self.confirmed {
            self.numbered -= 1;
        }
    }

    /// Two numbers: one that changes when a message of its is done here, and one that changes when
    /// anything else comes from it.
    pub(crate) fn signs_of_life(&self) -> [u32; 2] {
        let [arrived, answered] = [&self.arrived, &self.answered].map(SequenceWindow::count);
        [arrived, answered.wrapping_add(self.confirmed as u32).wrapping_add(self.barriers)]
    }

    /// Why nothing can be sent to it, for the state it is in.
    #[cold]
    pub(crate) fn refusal(&self, task: PeerId) -> Error {
        match self.state {
            PeerState::Purged => Error::Purged { task },
            PeerState::Ended => Error::TargetDown { task, reason: "it has terminated its context".into() },
            PeerState::Down | PeerState::Up => {
                let unknown = || "its process has ended or fallen silent".into();
                Error::TargetDown { task, reason: self.cause.as_deref().map_or_else(unknown, Into::into) }
            }
        }
    }
}

/// How many packets were sent and how many operations numbered: neither changes while nothing is
/// begun for which a fence would wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) packets: u64,
    pub(crate) operations: u64,
}

/// All tasks of the job as this one knows them.
pub(crate) struct Peers {
    all: Vec<Peer>,
    /// How many there are with which no pair of epochs is agreed, or that have moved: most of what
    /// comes from them, other than by an engine, is dropped.
    pub(crate) unsettled: u32,
    /// Those over engines that were purged since units were taken, of which the rest are handled
    /// next, or since what was put off was handled again.
    pub(crate) purged_in_turn: Vec<PeerId>,
    /// Those that died and that the program has not acknowledged.
    pub(crate) unacknowledged: Vec<PeerId>,
    /// This task has said goodbye to all of them.
    pub(crate) parted: bool,
    /// Packets received when the last one heard from was looked for.
    pub(crate) heard: u64,
    /// Operations that were numbered, with whichever peer.
    pub(crate) operations_begun: u64,
    /// What had been begun when a fence found that nothing was left to wait for.
    pub(crate) all_done_at: Option<Begun>,
    /// When silent ones are looked for next.
    pub(crate) vigil: Vigil,
}

impl Peers {
    pub(super) fn new(all: Vec<Peer>) -> Self {
        Self {
            all,
            unsettled: 0,
            purged_in_turn: Vec::new(),
            unacknowledged: Vec::new(),
            parted: false,
            heard: 0,
            operations_begun: 0,
            all_done_at: None,
            vigil: Vigil::default(),
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, peer: PeerId) -> Option<&Peer> {
        self.all.get(peer as usize)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, peer: PeerId) -> Option<&mut Peer> {
        self.all.get_mut(peer as usize)
    }

    /// Where a peer is kept: for as long as the state lives.
    #[inline(always)]
    pub(crate) fn place(&mut self, peer: PeerId) -> Option<NonNull<Peer>> {
        if peer as usize >= self.all.len() {
            return None;
        }
        // From the beginning of the list, so that others may borrow this peer meanwhile.
        // SAFETY: just compared.
        NonNull::new(unsafe { self.all.as_mut_ptr().add(peer as usize) })
    }

    pub(crate) fn len(&self) -> PeerId {
        self.all.len() as PeerId
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.all.iter_mut()
    }

    /// The message whose handler purged its sender has counted as done since, among those of the
    /// new life. Of these none has come yet.
    pub(crate) fn forget_messages_of_purged(&mut self) {
        while let Some(peer) = self.purged_in_turn.pop() {
            self[peer].arrived.restart(0);
        }
    }

    /// Why nothing can be sent to a peer.
    #[cold]
    pub(crate) fn refusal(&self, peer: PeerId) -> Error {
        self[peer].refusal(peer)
    }
}

impl Index<PeerId> for Peers {
    type Output = Peer;

    #[inline(always)]
    fn index(&self, peer: PeerId) -> &Peer {
        &self.all[peer as usize]
    }
}

impl IndexMut<PeerId> for Peers {
    #[inline(always)]
    fn index_mut(&mut self, peer: PeerId) -> &mut Peer {
        &mut self.all[peer as usize]
    }
}
