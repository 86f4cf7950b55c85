//! An operation ready to run: a member's steps with tasks in place of ranks, its scratch, and a
//! slot for each message. It is made once and can be run repeatedly; running allocates nothing.

use super::wire::{Header, Kind};
use crate::Signature;
use crate::board::{Layouts, Reach, Rounds};
use crate::combine::Fold;
use crate::error::{CollectiveError, Result};
use lapis_core::Context;
use lapis_schedules::group::Group;
use lapis_schedules::{Buffer, Script, Side, Span, Step};

/// A step with everything looked up.
#[derive(Clone, Copy)]
pub(crate) enum Act {
    Send { slot: u32 },
    Receive { slot: u32 },
    Wait,
    Drain,
    Look,
    Copy { from: Span, into: Span },
    Fold { from: Span, into: Span, side: Side },
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not reached.
    Idle,
    /// Waits for the other side.
    Posted,
    /// The receiver of long data is ready.
    Granted,
    /// On its way.
    Moving,
    Done,
}

/// A message that is sent or received.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) task: u32,
    pub(crate) tag: u32,
    pub(crate) span: Span,
    pub(crate) state: State,
}

impl Slot {
    fn key(&self) -> (u32, u32) {
        (self.task, self.tag)
    }
}

/// What is told of the end of an operation that nobody waits for.
pub(crate) type Ending = Box<dyn FnOnce(&Context, Result<()>) + Send>;

/// An operation. Touched under the context's lock only, field by field: sending may come back and
/// change others.
pub(crate) struct Op {
    pub(crate) signature: Signature,
    pub(crate) name: &'static str,
    pub(crate) acts: Box<[Act]>,
    /// By task and tag.
    pub(crate) sends: Box<[Slot]>,
    pub(crate) receives: Box<[Slot]>,
    pub(crate) size: usize,
    pub(crate) fold: Fold,
    /// What goes through memory, before the messages and after them.
    pub(crate) rounds: Option<Box<Rounds>>,
    /// Aligned for any element.
    scratch: Vec<[u64; 8]>,
    // Of the present run:
    pub(crate) bases: [*mut u8; 3],
    pub(crate) number: u32,
    pub(crate) next: usize,
    pub(crate) running: bool,
    /// Some thread is taking its steps.
    pub(crate) advancing: bool,
    pub(crate) open_receives: u32,
    pub(crate) open_sends: u32,
    pub(crate) granted: u32,
    /// Where the search for a message that is waited for begins.
    pub(crate) awaited: usize,
    pub(crate) failure: Option<CollectiveError>,
    /// Where input and output are, if they are not buffers.
    pub(crate) layouts: Option<Box<dyn Layouts>>,
    /// Nothing that is sent, copied or put on a board is what a message has brought.
    straight: bool,
    /// The input of what reads it while it writes the output, where both are the same; or what
    /// layouts give, packed.
    pub(crate) input: Vec<u8>,
    /// What layouts get, packed.
    output: Vec<u8>,
    /// Somebody must be told, and nobody calls.
    pub(crate) ending: Option<Ending>,
    pub(crate) waker: Option<std::task::Waker>,
}

// SAFETY: the pointers are those of the call under way, whose caller vouches for them; everything
// is used under the context's lock.
unsafe impl Send for Op {}

impl Op {
    pub(crate) fn new(
        script: &Script,
        group: &Group,
        size: usize,
        fold: Fold,
        signature: Signature,
        name: &'static str,
        rounds: Option<Box<Rounds>>,
    ) -> Self {
        let mut op = Self::without_messages(size, fold, signature, name, rounds);
        op.load(script, group);
        op
    }

    /// Gives it its messages.
    pub(crate) fn load(&mut self, script: &Script, group: &Group) {
        let task = |rank: u32| group.task(rank as usize).unwrap_or(u32::MAX);
        let slot = |peer: u32, tag, span| Slot { task: task(peer), tag, span, state: State::Idle };
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for step in &script.steps {
            match *step {
                Step::Send { to, tag, data } => sends.push(slot(to, tag, data)),
                Step::Receive { from, tag, into } => receives.push(slot(from, tag, into)),
                _ => {}
            }
        }
        sends.sort_by_key(Slot::key);
        receives.sort_by_key(Slot::key);
        let place = |slots: &[Slot], peer: u32, tag: u32| find(slots, task(peer), tag).unwrap_or(0) as u32;
        let act = |step: &Step| match *step {
            Step::Send { to, tag, .. } => Act::Send { slot: place(&sends, to, tag) },
            Step::Receive { from, tag, .. } => Act::Receive { slot: place(&receives, from, tag) },
            Step::Wait => Act::Wait,
            Step::Drain => Act::Drain,
            Step::Look => Act::Look,
            Step::Copy { from, into } => Act::Copy { from, into },
            Step::Fold { from, into, side } => Act::Fold { from, into, side },
        };
        self.acts = script.steps.iter().map(act).collect();
        (self.sends, self.receives) = (sends.into(), receives.into());
        self.straight = if self.rounds.is_some() { self.acts.is_empty() } else { self.passes_nothing_on() };
        let rounds = self.rounds.as_ref().map_or(0, |rounds| rounds.scratch());
        let scratch = rounds.max(script.scratch * self.size);
        self.scratch = vec![[0; 8]; scratch.div_ceil(64)];
        self.bases[Buffer::Scratch as usize] = self.scratch.as_mut_ptr().cast();
    }

    fn without_messages(
        size: usize,
        fold: Fold,
        signature: Signature,
        name: &'static str,
        rounds: Option<Box<Rounds>>,
    ) -> Self {
        Self {
            signature,
            name,
            acts: Box::default(),
            sends: Box::default(),
            receives: Box::default(),
            size,
            fold,
            rounds,
            scratch: Vec::new(),
            bases: [std::ptr::null_mut(); 3],
            number: 0,
            next: 0,
            running: false,
            advancing: false,
            open_receives: 0,
            open_sends: 0,
            granted: 0,
            awaited: 0,
            failure: None,
            layouts: None,
            straight: false,
            input: Vec::new(),
            output: Vec::new(),
            ending: None,
            waker: None,
        }
    }

    /// Lets it work on layouts in place of buffers.
    pub(crate) fn lay_out(&mut self, layouts: Box<dyn Layouts>) {
        let (input, output) = layouts.lens();
        self.layouts = Some(layouts);
        if self.packs() {
            (self.input, self.output) = (vec![0; input], vec![0; output]);
        }
    }

    /// Whether it carries the data of layouts packed: what passes on nothing that messages have
    /// brought uses layouts where they are.
    pub(crate) fn packs(&self) -> bool {
        self.layouts.is_some() && !self.straight
    }

    /// Whether messages find data in layouts where it is.
    pub(crate) fn is_straight(&self) -> bool {
        self.layouts.is_some() && self.straight
    }

    /// Packs for messages what layouts give: where it is, and where what comes for them goes.
    /// `None`: they are used where they are, or there are none.
    ///
    /// # Safety
    /// The layouts' memory is valid, and nobody else's.
    pub(crate) unsafe fn pack(&mut self) -> Option<(*const u8, *mut u8)> {
        let packs = self.packs();
        let layouts = self.layouts.as_deref_mut().filter(|_| packs)?;
        let (input, output) = layouts.lens();
        self.input.resize(input, 0);
        self.output.resize(output, 0);
        // SAFETY: the caller's promise.
        unsafe { layouts.pack(&mut self.input, &mut self.output) };
        Some((self.input.as_ptr(), self.output.as_mut_ptr()))
    }

    /// Unpacks for layouts what messages have brought.
    ///
    /// # Safety
    /// As for [`pack`](Self::pack), which came before, if anything was to be packed.
    pub(crate) unsafe fn unpack(&mut self) {
        let packs = self.packs();
        if let Some(layouts) = self.layouts.as_deref_mut().filter(|_| packs) {
            // SAFETY: the caller's promise.
            unsafe { layouts.unpack(&self.output) };
        }
    }

    /// Makes it ready for another run.
    pub(crate) fn begin(&mut self, number: u32, input: *const u8, output: *mut u8) {
        self.bases = [input.cast_mut(), output, self.scratch.as_mut_ptr().cast()];
        for slot in self.sends.iter_mut().chain(self.receives.iter_mut()) {
            slot.state = State::Idle;
        }
        (self.number, self.next, self.running) = (number, 0, true);
        (self.open_receives, self.open_sends, self.granted, self.awaited) = (0, 0, 0, 0);
        self.failure = None;
        if let Some(rounds) = &mut self.rounds {
            rounds.enter(Reach::Before);
        }
    }

    /// Whether somebody is told of its end who does not look for it.
    pub(crate) fn is_unattended(&self) -> bool {
        self.ending.is_some() || self.waker.is_some()
    }

    /// Whether all has been done.
    pub(crate) fn is_done(&self) -> bool {
        self.next == self.acts.len() && self.rounds.as_ref().is_none_or(|rounds| rounds.reach == Reach::End)
    }

    /// First byte of a span, and how many there are.
    pub(crate) fn bytes(&self, span: Span) -> (*mut u8, usize) {
        let base = self.bases[span.buffer as usize];
        (base.wrapping_add(span.start * self.size), span.len * self.size)
    }

    pub(crate) fn copy(&mut self, from: Span, into: Span) {
        let straight = self.is_straight();
        if let Some(layouts) = self.layouts.as_deref_mut().filter(|_| straight) {
            // SAFETY: the starter of the operation vouches for its layouts, the schedule's tests
            // for its spans.
            return unsafe { layouts.copy(&[(from, into)]) };
        }
        let ((from, len), (into, _)) = (self.bytes(from), self.bytes(into));
        if from != into {
            // SAFETY: the starter of the operation vouches for its buffers, the schedule's tests
            // for its spans. What is done in place may overlap.
            unsafe { std::ptr::copy(from, into, len) };
        }
    }

    pub(crate) fn fold(&self, from: Span, into: Span, side: Side) {
        let ((from, len), (into, _)) = (self.bytes(from), self.bytes(into));
        match &self.fold {
            // SAFETY: the starter of the operation vouches for its buffers, the schedule's tests
            // for its spans; those that are folded do not overlap.
            Fold::Kernel(kernel) => unsafe { kernel(into, from, len / self.size) },
            Fold::User(fold) => {
                // SAFETY: spans lie within the operation's buffers and do not overlap; nobody else
                // touches these bytes while the lock is held.
                let (from, into) = unsafe {
                    (std::slice::from_raw_parts(from, len), std::slice::from_raw_parts_mut(into, len))
                };
                fold(from, into, side);
            }
            Fold::None => {}
        }
    }

    /// Why a message of this operation's number is of another call. Where lengths alone differ,
    /// those of the data that came with it say more than the calls.
    pub(crate) fn mismatch(&self, from: u32, header: &Header, got: usize) -> CollectiveError {
        let (theirs, mine) = (Signature(header.signature), self.signature);
        let slot = find(&self.receives, from, header.tag).filter(|_| theirs.differs_in_lengths(mine));
        let brings = matches!(header.kind, Kind::Data | Kind::Long);
        match slot.map(|slot| self.bytes(self.receives[slot].span).1) {
            Some(expected) if brings && got != expected => CollectiveError::Length { from, got, expected },
            _ => CollectiveError::Mismatch { from, theirs, mine },
        }
    }

    /// The first task that must send something, be it that it is ready. The end of what is on its
    /// way to a task is told in any case.
    pub(crate) fn lacks(&self) -> Option<u32> {
        let data = |slot: &&Slot| matches!(slot.state, State::Posted | State::Moving);
        let ready = |slot: &&Slot| slot.state == State::Posted;
        let (data, ready) = (self.receives.iter().find(data), self.sends.iter().find(ready));
        data.or(ready).map(|slot| slot.task)
    }

    /// The task that is waited for first, if one is.
    pub(crate) fn awaited(&mut self) -> Option<u32> {
        let waits = |slot: &Slot| matches!(slot.state, State::Posted | State::Moving | State::Granted);
        let all = || self.receives.iter().chain(self.sends.iter());
        match all().enumerate().skip(self.awaited).find(|(_, slot)| waits(slot)) {
            Some((at, slot)) => {
                let task = slot.task;
                self.awaited = at;
                Some(task)
            }
            None => {
                // What was not reached then may be waited for now.
                let found = all().position(waits);
                self.awaited = found.unwrap_or(0);
                found.and_then(|at| all().nth(at).map(|slot| slot.task))
            }
        }
    }
}

/// The slot of a message.
pub(crate) fn find(slots: &[Slot], task: u32, tag: u32) -> Option<usize> {
    slots.binary_search_by_key(&(task, tag), Slot::key).ok()
}

/// A buffer's place among the bases.
const _: () = assert!(Buffer::Scratch as usize == 2);
