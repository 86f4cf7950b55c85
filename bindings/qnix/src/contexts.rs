//! Send and Receive Contexts with their doorbells.

use crate::abi::{CONTEXTS, Hps, VisibleContext, doorbell, ring};
use crate::error::{Error, Result};
use crate::memory::Segment;
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

/// What a context is assigned.
#[derive(Default)]
pub(crate) struct Assignment<'a> {
    /// The other process. Commands that name their processes themselves need none.
    pub(crate) peer: Option<Name>,
    pub(crate) tag: i32,
    pub(crate) doorbell: bool,
    pub(crate) len: usize,
    /// Data to be kept in the context itself.
    pub(crate) registers: Option<&'a [u8]>,
    /// Where the data is otherwise.
    pub(crate) segments: Vec<Segment>,
    /// For the program to look at.
    pub(crate) size: i32,
    pub(crate) pool_index: i32,
}

pub(crate) struct Slot {
    pub(crate) state: State,
    pub(crate) peer: Option<Name>,
    pub(crate) tag: i32,
    doorbell: bool,
    pub(crate) len: usize,
    pub(crate) in_registers: bool,
    pub(crate) registers: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
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
    slots: Vec<Slot>,
    hps: Arc<Hps>,
    sending: bool,
    under_way: usize,
}

impl Table {
    pub(crate) fn new(hps: &Arc<Hps>, sending: bool) -> Self {
        let slot = || Slot {
            state: State::Free,
            peer: None,
            tag: 0,
            doorbell: false,
            len: 0,
            in_registers: false,
            registers: Vec::new(),
            segments: Vec::new(),
            generation: 0,
            waits_for: None,
            on_boards: false,
            result: 0,
        };
        Self { slots: (0..CONTEXTS).map(|_| slot()).collect(), hps: Arc::clone(hps), sending, under_way: 0 }
    }

    fn bell(&self, at: usize) -> &AtomicI32 {
        if self.sending { &self.hps.send_doorbell[at] } else { &self.hps.receive_doorbell[at] }
    }

    fn visible(&self, at: usize) -> &VisibleContext {
        if self.sending { &self.hps.send_context[at] } else { &self.hps.receive_context[at] }
    }

    /// Commands that have not ended.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Assigns the first context that is free.
    pub(crate) fn assign(&mut self, wanted: Assignment<'_>) -> Result<usize> {
        //= QNIX API, qx_send_context, takes the first context that is free
        let at = self.slots.iter().position(|slot| slot.state == State::Free).ok_or(Error::NoContext)?;
        let slot = &mut self.slots[at];
        slot.state = State::Set;
        (slot.peer, slot.tag, slot.doorbell) = (wanted.peer, wanted.tag, wanted.doorbell);
        (slot.len, slot.segments, slot.in_registers) =
            (wanted.len, wanted.segments, wanted.registers.is_some());
        //= QNIX API, qx_send_context, copies data into the context
        slot.registers.clear();
        slot.registers.extend_from_slice(wanted.registers.unwrap_or_default());
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
    pub(crate) fn get(&mut self, at: usize) -> Result<&mut Slot> {
        self.slots.get_mut(at).filter(|slot| slot.state != State::Free).ok_or(Error::Context)
    }

    /// A context that waits for its command.
    pub(crate) fn ready(&mut self, at: usize) -> Result<&mut Slot> {
        let slot = self.get(at)?;
        if slot.state == State::Set { Ok(slot) } else { Err(Error::State) }
    }

    /// A command begins.
    pub(crate) fn post(&mut self, at: usize, waits_for: Option<u32>) -> Result<Key> {
        let slot = self.ready(at)?;
        slot.state = State::Posted;
        slot.waits_for = waits_for;
        slot.on_boards = false;
        slot.generation = slot.generation.wrapping_add(1) & 0xff_ffff;
        let (key, rings) = (Key(slot.generation << 8 | at as u32), slot.doorbell);
        self.under_way += 1;
        self.visible(at).state.store(State::Posted as i32, Ordering::Relaxed);
        if rings {
            ring(self.bell(at), doorbell::BUSY);
        }
        Ok(key)
    }

    /// The context of a command that is under way.
    pub(crate) fn of_key(&mut self, key: Key) -> Option<(usize, &mut Slot)> {
        let at = (key.0 & 0xff) as usize;
        let slot = self.slots.get_mut(at)?;
        (slot.state == State::Posted && slot.generation == key.0 >> 8).then_some((at, slot))
    }

    /// A command ends.
    pub(crate) fn end(&mut self, at: usize, outcome: Result<usize>) {
        let Some(slot) = self.slots.get_mut(at).filter(|slot| slot.state == State::Posted) else { return };
        slot.result = match outcome {
            Ok(bytes) => bytes as i32,
            Err(error) => error.number(),
        };
        slot.state = if slot.doorbell { State::Ended } else { State::Free };
        let (result, state) = (slot.result, slot.state);
        self.under_way -= 1;
        let visible = self.visible(at);
        visible.result.store(result, Ordering::Relaxed);
        visible.state.store(state as i32, Ordering::Relaxed);
        if state == State::Ended {
            ring(self.bell(at), doorbell::DONE);
        }
    }

    /// A command that waits for a task which has ended.
    pub(crate) fn waiting_for(&self, task: u32) -> Vec<usize> {
        let waits = |slot: &Slot| slot.state == State::Posted && slot.waits_for == Some(task);
        self.slots.iter().enumerate().filter(|(_, slot)| waits(slot)).map(|(at, _)| at).collect()
    }

    /// Whether a context's doorbell may be polled.
    pub(crate) fn may_poll(&mut self, at: usize) -> Result {
        let slot = self.get(at)?;
        match slot.state {
            _ if !slot.doorbell => Err(Error::Doorbell),
            State::Free | State::Set => Err(Error::State),
            State::Posted | State::Ended => Ok(()),
        }
    }

    /// The outcome of a command that has ended; its doorbell and the context are free.
    pub(crate) fn collect(&mut self, at: usize) -> Result<i32> {
        let slot = self.get(at)?;
        if slot.state != State::Ended {
            return Err(Error::State);
        }
        //= QNIX API, qx_poll_for_send, sets the doorbell to Free
        //= QNIX API, qx_poll_for_receive, sets the doorbell to Free
        slot.state = State::Free;
        let result = slot.result;
        self.visible(at).state.store(State::Free as i32, Ordering::Relaxed);
        ring(self.bell(at), doorbell::FREE);
        Error::of_number(result).map_or(Ok(result), Err)
    }

    /// Gives a context back that no command was posted with.
    pub(crate) fn release(&mut self, at: usize) {
        if let Ok(slot) = self.ready(at) {
            slot.state = State::Free;
            self.visible(at).state.store(State::Free as i32, Ordering::Relaxed);
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
