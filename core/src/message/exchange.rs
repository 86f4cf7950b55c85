//! The exchange of small values: every task gets the values of all.
//!
//! If all tasks share a machine, short values go through memory that all of them map
//! (`core/src/context/flags/row.rs`): put, barrier, read.
//!
//! Other values go by messages, in a schedule of `lapis_schedules`. Tasks may be one call ahead of
//! each other, never two, so data is stored by call, sender and tag. Several hosts with several
//! tasks each use two levels: the first task of each host collects the values there, exchanges them
//! with those of other hosts, and gives everything to its host. A round in which all send and
//! receive needs as many task switches as there are tasks per core. So if the tasks of a single
//! machine outnumber its cores, all send their value to the first one, too, which sends all values
//! to everybody.

use crate::Context;
use crate::context::{Awaited, Checked, Flags, Locked, ROWS_AT};
use crate::error::{Error, Result};
use crate::state::{Blocks, Levels, PeerState};
use crate::status::Awaiting;
use crate::transport::PeerId;
use crate::wire::{Header, Kind, MAX_HEADER};
use lapis_ablation::{Optimization, without};
use lapis_schedules::{Buffer, Place, Script, Span, Step, doubling, levels, phase_and_tag};

/// What an exchange works on: the caller's value, everybody's, and what a schedule keeps.
struct Buffers<'a> {
    input: &'a [u8],
    output: Vec<u8>,
    scratch: Vec<u8>,
}

impl Buffers<'_> {
    fn read(&self, span: Span) -> &[u8] {
        let buffer = match span.buffer {
            Buffer::Input => self.input,
            Buffer::Output => &self.output,
            Buffer::Scratch => &self.scratch,
        };
        &buffer[span.start..][..span.len]
    }

    fn write(&mut self, span: Span, bytes: &[u8]) {
        let buffer = match span.buffer {
            Buffer::Input => unreachable!("schedules never write the input"),
            Buffer::Output => &mut self.output,
            Buffer::Scratch => &mut self.scratch,
        };
        buffer[span.start..][..span.len].copy_from_slice(bytes);
    }
}

/// Bits of a packet's tag.
const TAG: u32 = 8;

/// The most bytes that the values of all tasks may have together, which one block may bring: 16384
/// tasks with 8 KiB each.
const MOST: u64 = 128 << 20;

/// A schedule's tag as packets have it: two bits for the phase, and the round.
fn packed(tag: u32) -> u32 {
    let (phase, round) = phase_and_tag(tag);
    debug_assert!(phase < 4 && round < 64, "tag {round} in phase {phase} of an exchange");
    phase << 6 | round
}

impl Context {
    /// Gathers the values of all tasks at every task, in the order of task numbers. All values have
    /// the same length, and together at most 128 MiB: collectives of teams are made for longer
    /// ones.
    ///
    /// # Errors
    /// Values that are too long, at all tasks; otherwise as for [`barrier`](Self::barrier).
    pub fn all_gather(&self, value: &[u8]) -> Result<Vec<u8>> {
        self.usable()?;
        self.may_wait("all_gather")?;
        self.collectives_go_on()?;
        // The same at all tasks, so nobody begins.
        let len = (value.len() as u64).saturating_mul(u64::from(self.shared.tasks));
        if len > MOST {
            return Err(Error::DataLength { len, max: MOST });
        }
        self.count_exchange(1);
        let all = self.run_exchange(value);
        self.count_exchange(u32::MAX);
        all
    }

    fn count_exchange(&self, change: u32) {
        let exchanges = &mut self.locked().collectives.exchanges;
        exchanges.under_way = exchanges.under_way.wrapping_add(change);
    }

    fn run_exchange(&self, value: &[u8]) -> Result<Vec<u8>> {
        let (number, in_memory) = {
            let exchanges = &mut self.locked().collectives.exchanges;
            (exchanges.enter(), exchanges.in_memory)
        };
        if in_memory
            && !without(Optimization::ExchangeRows)
            && Flags::fit_in_row(value.len())
            && let Some(all) = self.exchange_in_memory(number, value)?
        {
            return Ok(all);
        }
        self.exchange_by_messages(number, value)
    }

    /// `None`, and at all tasks: one of them does not reach the memory.
    fn exchange_in_memory(&self, number: u64, value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.locked().meet(ROWS_AT);
        self.shared.flags.put_in_row(number, value);
        self.barrier()?;
        Ok(self.shared.flags.row(number, value.len()))
    }

    fn exchange_by_messages(&self, number: u64, value: &[u8]) -> Result<Vec<u8>> {
        let (me, n) = (self.shared.task as usize, self.shared.tasks as usize);
        let on_levels = self.locked().collectives.exchanges.levels.clone();
        let (mut script, at, len) = (Script::default(), Place::all(me, n), value.len());
        match on_levels.as_deref() {
            Some(Levels { hosts, radix }) => levels::all_gather(&mut script, at, hosts, len, *radix),
            None => doubling::all_gather_any(&mut script, at, |task| (task * len, len)),
        }
        let (output, scratch) = (vec![0; n * value.len()], vec![0; script.scratch]);
        let mut buffers = Buffers { input: value, output, scratch };
        let mut begun = Vec::new();
        for step in &script.steps {
            match *step {
                Step::Send { to, tag, data } => {
                    self.locked().send_blocks(to, number, tag, buffers.read(data))?;
                }
                Step::Receive { from, tag, into } => begun.push((from, tag, into)),
                Step::Wait => {
                    for (from, tag, into) in begun.drain(..) {
                        buffers.write(into, &self.await_blocks(from, number, tag, into.len)?);
                    }
                }
                Step::Copy { from, into } => {
                    let bytes = buffers.read(from).to_vec();
                    buffers.write(into, &bytes);
                }
                // Packets were copied when they were sent.
                Step::Drain | Step::Look => {}
                Step::Fold { .. } => unreachable!("an exchange folds nothing"),
            }
        }
        Ok(buffers.output)
    }

    /// Waits for so many bytes of a task.
    fn await_blocks(&self, from: PeerId, number: u64, tag: u32, len: usize) -> Result<Vec<u8>> {
        let all_there = |locked: &mut Locked<'_>| -> Checked<Blocks> {
            let state = &mut **locked;
            let key = (number, from, packed(tag));
            if state.collectives.exchanges.inbox.get(&key).is_some_and(|b| b.received >= b.bytes.len()) {
                return Ok(state.collectives.exchanges.inbox.remove(&key));
            }
            state.collectives.barrier.not_over()?;
            let peer = &state.peers[from];
            if peer.state == PeerState::Up { Ok(None) } else { Err(peer.refusal(from).into()) }
        };
        let awaited = Awaited::of(Awaiting::Exchange).from(from);
        let bytes = self.await_peer(from, || self.wait_for(awaited, all_there))?.bytes;
        if bytes.len() == len {
            return Ok(bytes);
        }
        Err(Error::Internal {
            what: format!("task {from} gave {} bytes to an exchange that needs {len}", bytes.len()),
        })
    }
}

impl Locked<'_> {
    fn send_blocks(&mut self, to: PeerId, number: u64, tag: u32, bytes: &[u8]) -> Result<()> {
        let mut offset = 0;
        loop {
            let room = self.room_to(to).saturating_sub(MAX_HEADER).max(1);
            let n = room.min(bytes.len() - offset);
            let mut header = Header::new(Kind::Gather, 0, number << TAG | u64::from(packed(tag)));
            header.total = bytes.len() as u64;
            header.extra[0] = offset as u64;
            self.send_packet(to, &header, &[], &bytes[offset..offset + n])?;
            offset += n;
            if offset == bytes.len() {
                return Ok(());
            }
        }
    }

    pub(crate) fn gather_arrived(&mut self, source: PeerId, header: &Header, data: &[u8]) {
        if self.refused_as_over(source) {
            return;
        }
        let key = (header.subject >> TAG, source, header.subject as u32 & ((1 << TAG) - 1));
        let (total, offset) = (header.total, header.extra[0]);
        if total > MOST || offset.checked_add(data.len() as u64).is_none_or(|end| end > total) {
            return tracing::warn!(source, total, offset, len = data.len(), "block of an exchange dropped");
        }
        let blocks = self.collectives.exchanges.inbox.entry(key).or_default();
        blocks.bytes.resize(total as usize, 0);
        blocks.bytes[offset as usize..offset as usize + data.len()].copy_from_slice(data);
        blocks.received += data.len();
    }
}
