//! All members of a collective in one thread, without a network: what schedules are checked with.
//!
//! The model runs the [`Script`]s of all members in any order and reports errors: members that wait
//! for ever, messages without a receiver, lengths that differ, memory that is changed while it is
//! in use. It has no notion of time.

use crate::{Buffer, Script, Side, Span, Step};
use std::collections::{HashMap, HashSet};

/// When a send has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// At once: the network takes all there is.
    Eager,
    /// When its receiver is ready: the network takes nothing.
    Synchronous,
}

/// What is wrong with scripts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Members wait for each other.
    #[error("members {0:?} wait for ever")]
    Deadlock(Vec<usize>),
    /// A message that nobody receives.
    #[error("what member {from} sends to {to} with tag {tag} is not received")]
    Unreceived {
        /// Sender.
        from: usize,
        /// Receiver.
        to: usize,
        /// Tag.
        tag: u32,
    },
    /// Lengths differ.
    #[error("member {from} sends {sent} elements to {to} with tag {tag}, which receives {wanted}")]
    Length {
        /// Sender.
        from: usize,
        /// Receiver.
        to: usize,
        /// Tag.
        tag: u32,
        /// Elements sent.
        sent: usize,
        /// Elements that there is room for.
        wanted: usize,
    },
    /// A step of a member that can't be.
    #[error("step {step} of member {member}: {what}")]
    Step {
        /// Whose.
        member: usize,
        /// Which.
        step: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// What members work on: three buffers of elements.
pub trait Cells {
    /// A copy of elements.
    type Data;
    /// Copies out; `None` beyond the end.
    fn read(&self, span: Span) -> Option<Self::Data>;
    /// Copies in.
    fn write(&mut self, span: Span, data: Self::Data) -> Option<()>;
    /// Folds.
    fn fold(&mut self, from: Span, into: Span, side: Side) -> Option<()>;
}

#[derive(Clone, Copy)]
struct Pending {
    peer: usize,
    tag: u32,
    span: Span,
    done: bool,
}

struct Member<C> {
    script: Script,
    next: usize,
    cells: C,
    sends: Vec<Pending>,
    receives: Vec<Pending>,
}

/// Sender, receiver and tag.
type Key = (usize, usize, u32);

/// A collective under way among all its members.
pub struct Model<C: Cells> {
    members: Vec<Member<C>>,
    sending: Sending,
    /// Input and output are the same memory.
    in_place: bool,
    /// Length and, if it is under way, content; by sender, receiver and tag.
    letters: HashMap<Key, (usize, Option<C::Data>)>,
    used: HashSet<Key>,
}

impl<C: Cells> Model<C> {
    /// Members with their scripts and memory, by rank.
    pub fn new(members: Vec<(Script, C)>, sending: Sending, in_place: bool) -> Self {
        let member =
            |(script, cells)| Member { script, next: 0, cells, sends: Vec::new(), receives: Vec::new() };
        let members = members.into_iter().map(member).collect();
        Self { members, sending, in_place, letters: HashMap::new(), used: HashSet::new() }
    }

    /// Runs to the end; `pick` chooses which of so many members that may go on does. Gives the
    /// members' memory.
    ///
    /// # Errors
    /// The first fault that is found.
    pub fn run(mut self, mut pick: impl FnMut(usize) -> usize) -> Result<Vec<C>, Fault> {
        let mut ready: Vec<usize> = (0..self.members.len()).collect();
        while !ready.is_empty() {
            let at = pick(ready.len()) % ready.len();
            let member = ready.swap_remove(at);
            self.advance(member, &mut ready)?;
        }
        let stuck = |m: &Member<C>| m.next < m.script.steps.len();
        let waiting: Vec<usize> = (0..self.members.len()).filter(|m| stuck(&self.members[*m])).collect();
        if !waiting.is_empty() {
            return Err(Fault::Deadlock(waiting));
        }
        if let Some((from, to, tag)) = self.letters.keys().next() {
            return Err(Fault::Unreceived { from: *from, to: *to, tag: *tag });
        }
        match self.members.iter().position(|m| !m.receives.is_empty() || !m.sends.is_empty()) {
            Some(member) => Err(Fault::Step {
                member,
                step: self.members[member].next,
                what: "ends with something under way",
            }),
            None => Ok(self.members.into_iter().map(|m| m.cells).collect()),
        }
    }

    /// Where a span really lies.
    fn real(&self, span: Span) -> Span {
        let aliased = self.in_place && span.buffer == Buffer::Input;
        if aliased { Span { buffer: Buffer::Output, ..span } } else { span }
    }

    fn advance(&mut self, member: usize, ready: &mut Vec<usize>) -> Result<(), Fault> {
        while let Some(step) = self.members[member].script.steps.get(self.members[member].next).copied() {
            let wrong = |what| Fault::Step { member, step: self.members[member].next, what };
            match step {
                Step::Wait => {
                    let m = &mut self.members[member];
                    if m.receives.iter().any(|r| !r.done) {
                        return Ok(());
                    }
                    m.receives.clear();
                }
                Step::Drain => {
                    let m = &mut self.members[member];
                    if m.sends.iter().any(|s| !s.done) {
                        return Ok(());
                    }
                    m.sends.clear();
                }
                Step::Send { to, tag, data } => {
                    let (to, data) = (to as usize, self.real(data));
                    if to == member || to >= self.members.len() {
                        return Err(wrong("sends to nobody else"));
                    }
                    self.reads(member, data).map_err(wrong)?;
                    if !self.used.insert((member, to, tag)) {
                        return Err(wrong("uses a tag again"));
                    }
                    self.begin_send(member, to, tag, data, ready)?;
                }
                Step::Receive { from, tag, into } => {
                    let (from, into) = (from as usize, self.real(into));
                    if from == member || from >= self.members.len() {
                        return Err(wrong("receives from nobody else"));
                    }
                    self.writes(member, into).map_err(wrong)?;
                    self.begin_receive(member, from, tag, into, ready)?;
                }
                Step::Look => {}
                Step::Copy { from, into } => self.copy(member, from, into)?,
                Step::Fold { from, into, side } => self.fold(member, from, into, side)?,
            }
            self.members[member].next += 1;
        }
        Ok(())
    }

    fn copy(&mut self, member: usize, from: Span, into: Span) -> Result<(), Fault> {
        let step = self.members[member].next;
        let wrong = |what| Fault::Step { member, step, what };
        let (from, into) = (self.real(from), self.real(into));
        if from != into {
            self.reads(member, from).map_err(wrong)?;
            self.writes(member, into).map_err(wrong)?;
            let cells = &mut self.members[member].cells;
            let done = from.len == into.len && !from.overlaps(&into);
            let data = cells.read(from).filter(|_| done);
            data.and_then(|data| cells.write(into, data)).ok_or(Fault::Step {
                member,
                step,
                what: "copies beyond an end, onto itself, or unequal lengths",
            })?;
        }
        Ok(())
    }

    fn fold(&mut self, member: usize, from: Span, into: Span, side: Side) -> Result<(), Fault> {
        let step = self.members[member].next;
        let wrong = |what| Fault::Step { member, step, what };
        let (from, into) = (self.real(from), self.real(into));
        self.reads(member, from).map_err(wrong)?;
        self.writes(member, into).map_err(wrong)?;
        let good = from.len == into.len && !from.overlaps(&into);
        let folded = good.then(|| self.members[member].cells.fold(from, into, side)).flatten();
        folded.ok_or(Fault::Step {
            member,
            step,
            what: "folds beyond an end, onto itself, or unequal lengths",
        })?;
        Ok(())
    }

    fn reads(&self, member: usize, span: Span) -> Result<(), &'static str> {
        let m = &self.members[member];
        match m.receives.iter().any(|r| r.span.overlaps(&span)) {
            true => Err("reads what is being received"),
            false => Ok(()),
        }
    }

    fn writes(&self, member: usize, span: Span) -> Result<(), &'static str> {
        let m = &self.members[member];
        if span.buffer == Buffer::Input && span.len > 0 {
            return Err("writes to the input");
        }
        if m.sends.iter().any(|s| s.span.overlaps(&span)) {
            return Err("writes to what is being sent");
        }
        self.reads(member, span)
    }

    fn begin_send(
        &mut self,
        member: usize,
        to: usize,
        tag: u32,
        span: Span,
        ready: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        let data = self.read(member, span)?;
        let waiting =
            self.members[to].receives.iter().position(|r| r.peer == member && r.tag == tag && !r.done);
        let eager = self.sending == Sending::Eager;
        self.members[member].sends.push(Pending { peer: to, tag, span, done: eager || waiting.is_some() });
        match waiting {
            Some(at) => self.deliver((member, to, tag), at, span.len, data, ready),
            None => {
                // What is sent later is read when it is fetched.
                self.letters.insert((member, to, tag), (span.len, eager.then_some(data)));
                Ok(())
            }
        }
    }

    fn begin_receive(
        &mut self,
        member: usize,
        from: usize,
        tag: u32,
        span: Span,
        ready: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        let key = (from, member, tag);
        self.members[member].receives.push(Pending { peer: from, tag, span, done: false });
        let Some((len, data)) = self.letters.remove(&key) else { return Ok(()) };
        let data = match data {
            Some(data) => data,
            None => {
                let sends = &mut self.members[from].sends;
                let at = sends.iter().position(|s| s.peer == member && s.tag == tag);
                let sent = at.map(|at| {
                    sends[at].done = true;
                    sends[at].span
                });
                ready.push(from);
                self.read(from, sent.unwrap_or(Span::NONE))?
            }
        };
        let at = self.members[member].receives.len() - 1;
        self.deliver(key, at, len, data, ready)
    }

    fn read(&self, member: usize, span: Span) -> Result<C::Data, Fault> {
        let step = self.members[member].next;
        self.members[member].cells.read(span).ok_or(Fault::Step { member, step, what: "sends beyond an end" })
    }

    fn deliver(
        &mut self,
        (from, to, tag): (usize, usize, u32),
        at: usize,
        sent: usize,
        data: C::Data,
        ready: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        let step = self.members[to].next;
        let receive = &mut self.members[to].receives[at];
        receive.done = true;
        let span = receive.span;
        if span.len != sent {
            return Err(Fault::Length { from, to, tag, sent, wanted: span.len });
        }
        let what = "receives beyond an end";
        self.members[to].cells.write(span, data).ok_or(Fault::Step { member: to, step, what })?;
        ready.push(to);
        Ok(())
    }
}

/// Cells of any values with a way to fold two.
#[derive(Clone, Debug)]
pub struct Values<T> {
    /// Input, output and scratch.
    pub buffers: [Vec<T>; 3],
    /// Combines a left and a right operand.
    pub fold: fn(&T, &T) -> T,
}

impl<T: Clone> Values<T> {
    fn range(&self, span: Span) -> Option<std::ops::Range<usize>> {
        let end = span.start.checked_add(span.len)?;
        (end <= self.buffers[span.buffer as usize].len()).then_some(span.start..end)
    }
}

impl<T: Clone> Cells for Values<T> {
    type Data = Vec<T>;

    fn read(&self, span: Span) -> Option<Vec<T>> {
        Some(self.buffers[span.buffer as usize][self.range(span)?].to_vec())
    }

    fn write(&mut self, span: Span, data: Vec<T>) -> Option<()> {
        let range = self.range(span)?;
        self.buffers[span.buffer as usize][range].clone_from_slice(&data);
        Some(())
    }

    fn fold(&mut self, from: Span, into: Span, side: Side) -> Option<()> {
        let (operand, range) = (self.read(from)?, self.range(into)?);
        for (place, value) in self.buffers[into.buffer as usize][range].iter_mut().zip(operand) {
            *place = match side {
                Side::Before => (self.fold)(&value, place),
                Side::After => (self.fold)(place, &value),
            };
        }
        Some(())
    }
}
