//! Send and Receive Contexts with their doorbells.

use crate::abi::{CONTEXTS, Hps, VisibleContext, doorbell, ring};
use crate::error::{Error, Result};
use crate::names::Name;
use crate::segments::Segments;
use lapis_core::sync::{AtomicI32, Ordering};
use lapis_core::transport::lane::{INLINE, copy_short};
use std::sync::Arc;

/// States of a context, as `qx.h` numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    #[doc(alias = "QX_CONTEXT_FREE")]
    Free = 0,
    #[doc(alias = "QX_CONTEXT_SET")]
    Set = 1,
    #[doc(alias = "QX_CONTEXT_POSTED")]
    Posted = 2,
    #[doc(alias = "QX_CONTEXT_ENDED")]
    Ended = 3,
}

/// What a context is assigned, beside its data.
#[derive(Default)]
pub(crate) struct Assignment {
    /// The other process, for the program to look at. Commands that name their processes
    /// themselves need none.
    pub(crate) peer: Name,
    /// Its task, if a process has that name.
    pub(crate) task: Option<u32>,
    pub(crate) tag: i32,
    pub(crate) doorbell: bool,
    pub(crate) len: usize,
    /// For the program to look at.
    pub(crate) size: i32,
    pub(crate) pool_index: i32,
}

pub(crate) struct Slot {
    pub(crate) state: State,
    /// The other process's task.
    pub(crate) task: Option<u32>,
    pub(crate) tag: i32,
    doorbell: bool,
    pub(crate) len: usize,
    pub(crate) in_registers: bool,
    /// Data that the context holds itself.
    registers: Vec<u8>,
    /// Where the data is, if it is not there.
    segments: Segments,
    /// Commands so far: a message that names an earlier one is late.
    generation: u32,
    /// The task whose end ends the command, if it waits for one.
    pub(crate) waits_for: Option<u32>,
    /// Its end stands on boards.
    pub(crate) on_boards: bool,
    result: i32,
}

/// A command under way, for messages that have to name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(pub(crate) u32);

/// All contexts of a kind. The kind is known where code is compiled: each message asks for it many
/// times.
pub(crate) struct Table<const SENDING: bool> {
    slots: [Slot; CONTEXTS],
    hps: Arc<Hps>,
    under_way: usize,
    /// A bit for each context that is free.
    free: u64,
}

/// All Send Contexts.
pub(crate) type Sends = Table<true>;
/// All Receive Contexts.
pub(crate) type Receives = Table<false>;

/// A table's contexts have a bit each.
const _: () = assert!(CONTEXTS == u64::BITS as usize);

/// What of a slot's generation travels in keys.
const GENERATION: u32 = 0xff_ffff;

impl Slot {
    /// Copies data into the context: a word at a time, for most have few.
    //= QNIX API, qx_send_context, copies data into the context
    #[inline(always)]
    pub(crate) fn hold(&mut self, data: &[u8]) {
        self.in_registers = true;
        if data.len() > INLINE || self.registers.capacity() < INLINE {
            return self.hold_with_more_room(data);
        }
        // SAFETY: there is room for so many, and they are the slice's.
        unsafe {
            copy_short(data.as_ptr(), self.registers.as_mut_ptr(), data.len());
            self.registers.set_len(data.len());
        }
    }

    #[inline(never)]
    fn hold_with_more_room(&mut self, data: &[u8]) {
        self.registers.clear();
        self.registers.reserve(data.len().max(INLINE));
        self.registers.extend_from_slice(data);
    }

    /// The data is in memory of the program's.
    #[inline(always)]
    pub(crate) fn lend(&mut self, segments: Segments) {
        self.segments.replace_with(segments);
        self.in_registers = false;
    }

    /// Where the data is, be it in the context itself.
    pub(crate) fn segments(&mut self) -> &mut Segments {
        if self.in_registers {
            self.segments = Segments::of(self.registers.as_slice());
        }
        &mut self.segments
    }

    /// The data, if it is in one piece.
    ///
    /// # Safety
    /// The program has lent it to a command that is under way, or begins, as long as the answer is
    /// used.
    #[inline(always)]
    pub(crate) unsafe fn piece(&self) -> Option<&[u8]> {
        match &self.segments {
            _ if self.in_registers => Some(&self.registers),
            Segments::None => Some(&[]),
            // SAFETY: the caller's promise.
            Segments::One(one) => Some(unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance(one.address), one.len)
            }),
            Segments::Several(_) => None,
        }
    }

    /// One more command: whatever names an earlier one is late.
    #[inline(always)]
    fn count(&mut self) {
        self.generation = self.generation.wrapping_add(1) & GENERATION;
    }

    /// The key of the command under way, by the context's place.
    fn key(&self, at: usize) -> Key {
        Key(self.generation << 8 | at as u32)
    }
}

/// The visible part of a context that there is, as the remainder says to the compiler.
#[inline(always)]
fn visible<const SENDING: bool>(hps: &Hps, at: usize) -> &VisibleContext {
    let all = if SENDING { &hps.send_context } else { &hps.receive_context };
    &all[at % CONTEXTS]
}

/// Its doorbell.
#[inline(always)]
fn bell<const SENDING: bool>(hps: &Hps, at: usize) -> &AtomicI32 {
    &hps.bells::<SENDING>()[at % CONTEXTS]
}

impl<const SENDING: bool> Table<SENDING> {
    pub(crate) fn new(hps: &Arc<Hps>) -> Self {
        let slot = || Slot {
            state: State::Free,
            task: None,
            tag: 0,
            doorbell: false,
            len: 0,
            in_registers: false,
            registers: Vec::new(),
            segments: Segments::None,
            generation: 0,
            waits_for: None,
            on_boards: false,
            result: 0,
        };
        let slots = std::array::from_fn(|_| slot());
        Self { slots, hps: Arc::clone(hps), under_way: 0, free: u64::MAX }
    }

    /// What is in use is one of the contexts: the remainder says so to the compiler.
    #[inline(always)]
    fn slot(&mut self, at: usize) -> &mut Slot {
        &mut self.slots[at % CONTEXTS]
    }

    /// Commands that have not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Assigns the first context that is free, and what `data` says. An error leaves it free.
    #[inline(always)]
    pub(crate) fn assign(
        &mut self,
        wanted: &Assignment,
        data: impl FnOnce(&mut Slot) -> Result,
    ) -> Result<usize> {
        //= QNIX API, qx_send_context, takes the first context that is free
        let at = self.free.trailing_zeros() as usize;
        let slot = self.slots.get_mut(at).ok_or(Error::NoContext)?;
        data(slot)?;
        self.free &= self.free.wrapping_sub(1);
        slot.state = State::Set;
        (slot.task, slot.tag, slot.doorbell) = (wanted.task, wanted.tag, wanted.doorbell);
        slot.len = wanted.len;
        let v = visible::<SENDING>(&self.hps, at);
        v.proc_name[0].store(wanted.peer.application, Ordering::Relaxed);
        v.proc_name[1].store(wanted.peer.process, Ordering::Relaxed);
        v.tag.store(wanted.tag, Ordering::Relaxed);
        v.doorbell_flag.store(wanted.doorbell.into(), Ordering::Relaxed);
        v.size.store(wanted.size, Ordering::Relaxed);
        v.buffer_pool_index.store(wanted.pool_index, Ordering::Relaxed);
        v.len.store(wanted.len, Ordering::Relaxed);
        v.result.store(0, Ordering::Relaxed);
        v.state.store(State::Set as i32, Ordering::Relaxed);
        Ok(at)
    }

    /// A context that is assigned.
    #[inline(always)]
    pub(crate) fn get(&mut self, at: usize) -> Result<&mut Slot> {
        self.slots.get_mut(at).filter(|slot| slot.state != State::Free).ok_or(Error::Context)
    }

    /// A context that waits for its command.
    #[inline(always)]
    pub(crate) fn ready(&mut self, at: usize) -> Result<&mut Slot> {
        let slot = self.get(at)?;
        if slot.state == State::Set { Ok(slot) } else { Err(Error::State) }
    }

    /// A command begins.
    pub(crate) fn post(&mut self, at: usize, waits_for: Option<u32>) -> Result<Key> {
        self.ready(at)?;
        self.begin(at, waits_for);
        Ok(self.slot(at).key(at))
    }

    /// The command of a context that is [ready](Self::ready) begins.
    #[inline(always)]
    pub(crate) fn begin(&mut self, at: usize, waits_for: Option<u32>) {
        let slot = self.slot(at);
        debug_assert_eq!(slot.state, State::Set);
        (slot.waits_for, slot.on_boards) = (waits_for, false);
        slot.count();
        let rings = slot.doorbell;
        self.under_way += 1;
        self.turn(at, State::Posted);
        if rings {
            ring(bell::<SENDING>(&self.hps, at), doorbell::BUSY);
        }
    }

    /// The command of a context that is [ready](Self::ready) begins and ends well at once.
    #[inline(always)]
    pub(crate) fn pass(&mut self, at: usize) {
        let slot = self.slot(at);
        debug_assert_eq!(slot.state, State::Set);
        slot.count();
        self.close(at, 0);
    }

    /// The context of a command that is under way.
    pub(crate) fn of_key(&mut self, key: Key) -> Option<(usize, &mut Slot)> {
        let at = (key.0 & 0xff) as usize;
        let slot = self.slots.get_mut(at)?;
        (slot.state == State::Posted && slot.generation == key.0 >> 8).then_some((at, slot))
    }

    /// A command ends.
    #[inline]
    pub(crate) fn end(&mut self, at: usize, outcome: Result<usize>) {
        if self.slots.get(at).is_none_or(|slot| slot.state != State::Posted) {
            return;
        }
        self.under_way -= 1;
        self.close(at, outcome.map_or_else(|error| error.number(), |bytes| bytes as i32));
    }

    /// What a command's end leaves: its result and the doorbell, or a free context.
    #[inline(always)]
    fn close(&mut self, at: usize, result: i32) {
        let hps = &*self.hps;
        let (visible, slot) = (visible::<SENDING>(hps, at), &mut self.slots[at % CONTEXTS]);
        slot.result = result;
        visible.result.store(result, Ordering::Relaxed);
        if slot.doorbell {
            slot.state = State::Ended;
            visible.state.store(State::Ended as i32, Ordering::Relaxed);
            ring(bell::<SENDING>(hps, at), doorbell::DONE);
        } else {
            self.turn(at, State::Free);
        }
    }

    /// A context gets into a state.
    #[inline(always)]
    fn turn(&mut self, at: usize, state: State) {
        self.slot(at).state = state;
        if state == State::Free {
            self.free |= 1 << (at % CONTEXTS);
        }
        visible::<SENDING>(&self.hps, at).state.store(state as i32, Ordering::Relaxed);
    }

    /// A command that waits for a task which has ended.
    pub(crate) fn waiting_for(&self, task: u32) -> Vec<usize> {
        let waits = |slot: &Slot| slot.state == State::Posted && slot.waits_for == Some(task);
        self.slots.iter().enumerate().filter(|(_, slot)| waits(slot)).map(|(at, _)| at).collect()
    }

    /// A context whose doorbell may be polled.
    #[inline(always)]
    pub(crate) fn may_poll(&mut self, at: usize) -> Result<&Slot> {
        let slot = self.get(at)?;
        match slot.state {
            _ if !slot.doorbell => Err(Error::Doorbell),
            State::Free | State::Set => Err(Error::State),
            State::Posted | State::Ended => Ok(slot),
        }
    }

    /// The outcome of a command that has ended: bytes received, or 0. Its doorbell and the context
    /// are free.
    #[inline(always)]
    pub(crate) fn collect(&mut self, at: usize) -> Result<usize> {
        let slot = self.slots.get_mut(at).ok_or(Error::Context)?;
        if slot.state != State::Ended {
            return Err(if slot.state == State::Free { Error::Context } else { Error::State });
        }
        //= QNIX API, qx_poll_for_send, sets the doorbell to Free
        //= QNIX API, qx_poll_for_receive, sets the doorbell to Free
        let result = slot.result;
        self.turn(at, State::Free);
        ring(bell::<SENDING>(&self.hps, at), doorbell::FREE);
        usize::try_from(result).map_err(|_| Error::of_number(result).unwrap_or(Error::Internal))
    }

    /// Gives a context back that no command was posted with.
    pub(crate) fn release(&mut self, at: usize) {
        if self.ready(at).is_ok() {
            self.turn(at, State::Free);
        }
    }
}

impl<const SENDING: bool> Table<SENDING> {
    /// The key of a command that is under way.
    pub(crate) fn key(&self, at: usize) -> Option<Key> {
        let slot = self.slots.get(at).filter(|slot| slot.state == State::Posted)?;
        Some(slot.key(at))
    }

    /// [`end`](Self::end) by key; a late one is left alone.
    pub(crate) fn end_key(&mut self, key: Key, outcome: Result<usize>) {
        if let Some((at, _)) = self.of_key(key) {
            self.end(at, outcome);
        }
    }
}

impl Receives {
    /// Ends a command that is under way with these bytes.
    #[inline(always)]
    pub(crate) fn fill(&mut self, at: usize, data: &[u8]) {
        let Some(slot) = self.slots.get_mut(at).filter(|slot| slot.state == State::Posted) else { return };
        match &slot.segments {
            Segments::None => {}
            // SAFETY: the program has lent the memory to the command until it ends.
            Segments::One(segment) => unsafe { segment.write(data) },
            Segments::Several(several) => {
                let mut rest = data;
                for segment in several {
                    let (here, later) = rest.split_at(rest.len().min(segment.len));
                    // SAFETY: the command, which the program has lent them to, has not ended.
                    unsafe { segment.write(here) };
                    rest = later;
                }
            }
        }
        let fits = data.len() <= slot.len;
        self.under_way -= 1;
        self.close(at, if fits { data.len() as i32 } else { Error::Truncated.number() });
    }
}
