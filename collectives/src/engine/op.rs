//! An operation ready to run: a member's steps with tasks in place of ranks, its scratch, and a
//! slot for each message. It is made once and can be run repeatedly; running allocates nothing.

use super::silence::{Asking, Silence, Stand};
use super::wire::{Header, Kind};
use crate::Signature;
use crate::board::{Layouts, Reach, Rounds};
use crate::combine::{Fold, fold_by};
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

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not reached.
    Idle,
    /// Waits for the other side.
    Posted,
    /// The receiver of long data is ready.
    Granted,
    /// In flight.
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

/// Who looks after an operation in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// The program, which will wait for it or test it.
    Program,
    /// A call that waits for it.
    Wait,
    /// Nobody: it goes on with arrivals.
    Arrivals,
}

/// Notified of the end of an operation without a call that waits.
pub(crate) type Ending = Box<dyn FnOnce(&Context, Result<()>) + Send>;

/// An operation. Accessed under the context's lock only, field by field: sending may re-enter and
/// change other fields.
pub(crate) struct Op {
    pub(crate) signature: Signature,
    pub(crate) name: &'static str,
    pub(crate) acts: Box<[Act]>,
    /// By task and tag.
    pub(crate) sends: Box<[Slot]>,
    pub(crate) receives: Box<[Slot]>,
    pub(crate) size: usize,
    pub(crate) fold: Fold,
    /// Rounds through memory, before the messages and after them.
    pub(crate) rounds: Option<Box<Rounds>>,
    /// Aligned for any element.
    scratch: Vec<[u64; 8]>,
    /// Its messages wait for their receivers now and then.
    runs_ahead: bool,
    // Of the present run:
    pub(crate) bases: [*mut u8; 3],
    pub(crate) number: u32,
    /// Messages of any length wait until their receiver is ready, as those of long data do.
    pub(crate) waits_for_receivers: bool,
    pub(crate) next: usize,
    pub(crate) running: bool,
    pub(crate) care: Care,
    pub(crate) silence: Silence,
    pub(crate) asking: Asking,
    /// Some thread is taking its steps.
    pub(crate) advancing: bool,
    pub(crate) open_receives: u32,
    pub(crate) open_sends: u32,
    /// Where the engine notes that operations can go on, for messages that have ended.
    pub(crate) attention: *mut bool,
    /// Sends whose receivers are ready: they are about to go.
    pub(crate) granted: Vec<u32>,
    /// Messages that came before it have been compared with it.
    pub(crate) compared: bool,
    /// The indices at which searches for an expected message begin.
    awaited: usize,
    lacking: usize,
    pub(crate) failure: Option<CollectiveError>,
    /// The layouts, if input and output are not buffers.
    pub(crate) layouts: Option<Box<dyn Layouts>>,
    /// No data that a message has brought is sent, copied or put on a board.
    straight: bool,
    /// A copy of the input, for operations in place that read it while they write the output; or
    /// the packed data of layouts that give.
    pub(crate) input: Vec<u8>,
    /// The packed data of layouts that receive.
    output: Vec<u8>,
    /// Its end must be notified, and no call waits for it.
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

    /// Loads its messages.
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
        self.compared = false;
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
            runs_ahead: signature.may_run_ahead(),
            bases: [std::ptr::null_mut(); 3],
            number: 0,
            waits_for_receivers: false,
            next: 0,
            running: false,
            care: Care::Program,
            silence: Silence::default(),
            asking: Asking::default(),
            advancing: false,
            open_receives: 0,
            open_sends: 0,
            attention: std::ptr::null_mut(),
            granted: Vec::new(),
            compared: false,
            awaited: 0,
            lacking: 0,
            failure: None,
            layouts: None,
            straight: false,
            input: Vec::new(),
            output: Vec::new(),
            ending: None,
            waker: None,
        }
    }

    /// Sets layouts in place of buffers.
    pub(crate) fn lay_out(&mut self, layouts: Box<dyn Layouts>) {
        let (input, output) = layouts.lens();
        self.layouts = Some(layouts);
        if self.packs() {
            (self.input, self.output) = (vec![0; input], vec![0; output]);
        }
    }

    /// Whether it carries the data of layouts packed. Operations that forward no data use layouts
    /// in place.
    pub(crate) fn packs(&self) -> bool {
        self.layouts.is_some() && !self.straight
    }

    /// Whether messages access data in layouts in place.
    pub(crate) fn is_straight(&self) -> bool {
        self.layouts.is_some() && self.straight
    }

    /// Packs the data of layouts that give; returns the buffers of input and output. `None` if
    /// layouts are used in place, or if there are none.
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

    /// Bytes of memory that it holds between runs.
    pub(crate) fn holds(&self) -> usize {
        let slots = size_of_val(&*self.acts) + size_of_val(&*self.sends) + size_of_val(&*self.receives);
        slots + self.scratch.capacity() * 64 + self.input.capacity() + self.output.capacity()
    }

    /// Unpacks received data into the layouts.
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

    /// Prepares another run.
    pub(crate) fn begin(&mut self, number: u32, input: *const u8, output: *mut u8) {
        self.bases = [input.cast_mut(), output, self.scratch.as_mut_ptr().cast()];
        for slot in self.sends.iter_mut().chain(self.receives.iter_mut()) {
            slot.state = State::Idle;
        }
        (self.number, self.next, self.running) = (number, 0, true);
        self.waits_for_receivers = self.runs_ahead && is_pause(number);
        (self.open_receives, self.open_sends, self.awaited, self.lacking) = (0, 0, 0, 0);
        self.granted.clear();
        self.compared = false;
        self.failure = None;
        self.silence = Silence::default();
        self.care = if self.ending.is_some() { Care::Arrivals } else { Care::Program };
        if let Some(rounds) = &mut self.rounds {
            rounds.enter(Reach::Before);
        }
    }

    /// If it has failed at task `me`, others must not read its input any more.
    pub(crate) fn take_input_back(&mut self, me: u32) {
        if let (Some(failure), Some(rounds)) = (&self.failure, &mut self.rounds)
            && let Some(word) = rounds.shown.take()
        {
            word.withdraw(failure.cause(me));
        }
    }

    /// Whether it goes on without a call that waits.
    pub(crate) fn is_unattended(&self) -> bool {
        self.care == Care::Arrivals
    }

    /// How far it has come: another value than before if anything has come for it since.
    pub(crate) fn stand(&self) -> Stand {
        let rounds = self.rounds.as_ref().map(|rounds| rounds.stand());
        (self.number, self.next, self.open_receives, self.open_sends, rounds)
    }

    /// Whether it is complete.
    pub(crate) fn is_done(&self) -> bool {
        self.next == self.acts.len() && self.rounds.as_ref().is_none_or(|rounds| rounds.reach == Reach::End)
    }

    /// The first byte of a span, and the number of bytes.
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

    /// Copies what its last rounds have left in the scratch.
    pub(crate) fn put_in_place(&mut self) {
        let place = |op: &Self, at: usize| op.rounds.as_ref()?.places().get(at).copied();
        let mut at = 0;
        while let Some((from, into)) = place(self, at) {
            self.copy(from, into);
            at += 1;
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
                fold_by(fold, from, into, side);
            }
            Fold::None => {}
        }
    }

    /// The mismatch of a message with this operation's number that belongs to another call. If only
    /// lengths differ, those of the data in the message are more precise.
    pub(crate) fn mismatch(&self, from: u32, header: &Header, got: usize) -> CollectiveError {
        let (theirs, mine) = (Signature(header.signature), self.signature);
        let slot = find(&self.receives, from, header.tag).filter(|_| theirs.differs_in_lengths(mine));
        let brings = matches!(header.kind, Kind::Data | Kind::Long);
        match slot.map(|slot| self.bytes(self.receives[slot].span).1) {
            Some(expected) if brings && got != expected => CollectiveError::Length { from, got, expected },
            _ => CollectiveError::mismatch(from, theirs, mine),
        }
    }

    /// Waits no longer for the rest of data that was on its way from a task.
    pub(crate) fn let_go_of(&mut self, task: u32) {
        let moving = |slot: &&mut Slot| slot.task == task && slot.state == State::Moving;
        for slot in self.receives.iter_mut().filter(moving) {
            slot.state = State::Done;
            self.open_receives -= 1;
        }
    }

    /// A task that must send something, if only that it is ready. Sends to a task are completed in
    /// any case.
    pub(crate) fn lacks(&mut self) -> Option<u32> {
        let waits = |receives, state| state == State::Posted || receives && state == State::Moving;
        let found = self.first(self.lacking, waits);
        self.lacking = found.map_or(0, |(at, _)| at);
        found.map(|(_, task)| task)
    }

    /// A task that the operation waits for.
    pub(crate) fn awaited(&mut self) -> Option<u32> {
        let waits = |_, state| matches!(state, State::Posted | State::Moving | State::Granted);
        let found = self.first(self.awaited, waits);
        self.awaited = found.map_or(0, |(at, _)| at);
        found.map(|(_, task)| task)
    }

    /// The first slot from an index on, or else of all, that `waits`, which is told whether it
    /// receives, and its state: its index and task. Receives come first.
    fn first(&self, from: usize, waits: impl Fn(bool, State) -> bool) -> Option<(usize, u32)> {
        let receives = self.receives.len();
        let all = || self.receives.iter().chain(self.sends.iter()).enumerate();
        let waits = |(at, slot): &(usize, &Slot)| waits(*at < receives, slot.state);
        // What was not reached when the index was found may be waited for now.
        let (at, slot) = all().skip(from).find(waits).or_else(|| all().find(waits))?;
        Some((at, slot.task))
    }
}

/// Whether the operation with this number is one, of 64, whose senders wait for their receivers.
/// Otherwise a member that only sends would fill the memory of one that is late. All members find
/// the same. They lie 89 apart at most, and some hundred of every second, third or so: multiples of
/// the golden ratio are spread evenly.
fn is_pause(number: u32) -> bool {
    const PART: u32 = 24;
    number.wrapping_mul(0x9e37_79b9) >> 26 == PART
}

/// The slot of a message.
pub(crate) fn find(slots: &[Slot], task: u32, tag: u32) -> Option<usize> {
    slots.binary_search_by_key(&(task, tag), Slot::key).ok()
}

/// The index of a buffer among the bases.
const _: () = assert!(Buffer::Scratch as usize == 2);
