//! Send and Receive Contexts with their doorbells.

use crate::abi::{CONTEXTS, Hps, VisibleContext, doorbell, ring};
use crate::error::{Error, Result};
use crate::memory::Segments;
use crate::names::Name;
use lapis_core::sync::{AtomicI32, Ordering};
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
    /// The other process. Commands that name their processes themselves need none.
    pub(crate) peer: Option<Name>,
    /// Its task, if a process has that name.
    pub(crate) task: Option<u32>,
    pub(crate) tag: i32,
    pub(crate) doorbell: bool,
    pub(crate) len: usize,
    /// For the program to look at.
    pub(crate) size: i32,
    pub(crate) pool_index: i32,
}

/// The data of a context that is assigned.
pub(crate) enum Data<'a> {
    /// To be kept in the context itself.
    Registers(&'a [u8]),
    /// Memory of the program's.
    Lent(Segments),
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
    pub(crate) registers: Vec<u8>,
    /// Where the data is, be it there.
    pub(crate) segments: Segments,
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

/// All contexts of a kind.
pub(crate) struct Table {
    slots: Box<[Slot; CONTEXTS]>,
    hps: Arc<Hps>,
    sending: bool,
    under_way: usize,
    /// A bit for each context that is free.
    free: u64,
}

/// A table's contexts have a bit each.
const _: () = assert!(CONTEXTS == u64::BITS as usize);

impl Table {
    pub(crate) fn new(hps: &Arc<Hps>, sending: bool) -> Self {
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
        let slots = Box::new(std::array::from_fn(|_| slot()));
        Self { slots, hps: Arc::clone(hps), sending, under_way: 0, free: u64::MAX }
    }

    #[inline]
    fn bell(&self, at: usize) -> &AtomicI32 {
        if self.sending { &self.hps.send_doorbell[at] } else { &self.hps.receive_doorbell[at] }
    }

    #[inline]
    fn visible(&self, at: usize) -> &VisibleContext {
        if self.sending { &self.hps.send_context[at] } else { &self.hps.receive_context[at] }
    }

    /// Commands that have not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Assigns the first context that is free.
    #[inline(always)]
    pub(crate) fn assign(&mut self, wanted: &Assignment, data: Data<'_>) -> Result<usize> {
        //= QNIX API, qx_send_context, takes the first context that is free
        let at = self.free.trailing_zeros() as usize;
        let slot = self.slots.get_mut(at).ok_or(Error::NoContext)?;
        self.free &= !(1 << at);
        slot.state = State::Set;
        (slot.task, slot.tag, slot.doorbell) = (wanted.task, wanted.tag, wanted.doorbell);
        slot.len = wanted.len;
        match data {
            Data::Registers(data) => {
                //= QNIX API, qx_send_context, copies data into the context
                slot.registers.clear();
                slot.registers.extend_from_slice(data);
                (slot.segments, slot.in_registers) = (Segments::of(slot.registers.as_slice()), true);
            }
            Data::Lent(segments) => (slot.segments, slot.in_registers) = (segments, false),
        }
        let v = self.visible(at);
        let peer = wanted.peer.unwrap_or_default();
        v.proc_name[0].store(peer.application, Ordering::Relaxed);
        v.proc_name[1].store(peer.process, Ordering::Relaxed);
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
    #[inline]
    pub(crate) fn get(&mut self, at: usize) -> Result<&mut Slot> {
        self.slots.get_mut(at).filter(|slot| slot.state != State::Free).ok_or(Error::Context)
    }

    /// A context that waits for its command.
    #[inline]
    pub(crate) fn ready(&mut self, at: usize) -> Result<&mut Slot> {
        let slot = self.get(at)?;
        if slot.state == State::Set { Ok(slot) } else { Err(Error::State) }
    }

    /// A command begins.
    #[inline]
    pub(crate) fn post(&mut self, at: usize, waits_for: Option<u32>) -> Result<Key> {
        let slot = self.ready(at)?;
        slot.waits_for = waits_for;
        slot.on_boards = false;
        slot.generation = slot.generation.wrapping_add(1) & 0xff_ffff;
        let (key, rings) = (Key(slot.generation << 8 | at as u32), slot.doorbell);
        self.under_way += 1;
        self.turn(at, State::Posted);
        if rings {
            ring(self.bell(at), doorbell::BUSY);
        }
        Ok(key)
    }

    /// The command of a context that is [ready](Self::ready) begins and ends well at once.
    #[inline]
    pub(crate) fn pass(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        debug_assert_eq!(slot.state, State::Set);
        slot.generation = slot.generation.wrapping_add(1) & 0xff_ffff;
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
        let result = match outcome {
            Ok(bytes) => bytes as i32,
            Err(error) => error.number(),
        };
        self.close(at, result);
    }

    /// What a command's end leaves: its result and the doorbell, or a free context.
    #[inline]
    fn close(&mut self, at: usize, result: i32) {
        let slot = &mut self.slots[at];
        let rings = slot.doorbell;
        slot.result = result;
        self.visible(at).result.store(result, Ordering::Relaxed);
        self.turn(at, if rings { State::Ended } else { State::Free });
        if rings {
            ring(self.bell(at), doorbell::DONE);
        }
    }

    /// A context gets into a state.
    #[inline]
    fn turn(&mut self, at: usize, state: State) {
        self.slots[at].state = state;
        self.free |= u64::from(state == State::Free) << at;
        self.visible(at).state.store(state as i32, Ordering::Relaxed);
    }

    /// A command that waits for a task which has ended.
    pub(crate) fn waiting_for(&self, task: u32) -> Vec<usize> {
        let waits = |slot: &Slot| slot.state == State::Posted && slot.waits_for == Some(task);
        self.slots.iter().enumerate().filter(|(_, slot)| waits(slot)).map(|(at, _)| at).collect()
    }

    /// Whether a context's doorbell may be polled.
    #[inline]
    pub(crate) fn may_poll(&mut self, at: usize) -> Result {
        let slot = self.get(at)?;
        match slot.state {
            _ if !slot.doorbell => Err(Error::Doorbell),
            State::Free | State::Set => Err(Error::State),
            State::Posted | State::Ended => Ok(()),
        }
    }

    /// The outcome of a command that has ended; its doorbell and the context are free.
    #[inline]
    pub(crate) fn collect(&mut self, at: usize) -> Result<i32> {
        let slot = self.get(at)?;
        if slot.state != State::Ended {
            return Err(Error::State);
        }
        //= QNIX API, qx_poll_for_send, sets the doorbell to Free
        //= QNIX API, qx_poll_for_receive, sets the doorbell to Free
        let result = slot.result;
        self.turn(at, State::Free);
        ring(self.bell(at), doorbell::FREE);
        if result >= 0 { Ok(result) } else { Err(Error::of_number(result).unwrap_or(Error::Internal)) }
    }

    /// Gives a context back that no command was posted with.
    pub(crate) fn release(&mut self, at: usize) {
        if self.ready(at).is_ok() {
            self.turn(at, State::Free);
        }
    }
}

impl Table {
    /// The key of a command that is under way.
    pub(crate) fn key(&self, at: usize) -> Option<Key> {
        let slot = self.slots.get(at).filter(|slot| slot.state == State::Posted)?;
        Some(Key(slot.generation << 8 | at as u32))
    }

    /// [`end`](Self::end) by key; a late one is left alone.
    pub(crate) fn end_key(&mut self, key: Key, outcome: Result<usize>) {
        if let Some((at, _)) = self.of_key(key) {
            self.end(at, outcome);
        }
    }
}
