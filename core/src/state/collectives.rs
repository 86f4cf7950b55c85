//! Barriers and exchanges in progress. `core/src/message/barrier.rs` and `exchange.rs` explain how
//! they work.

use crate::error::Error;
use crate::transport::PeerId;
use lapis_schedules::levels::Hosts;
use lapis_schedules::{Script, Step, phase_and_tag};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Rounds of a dissemination: jobs have at most 2³¹ tasks.
const ROUNDS: u32 = 32;

/// Steps of barriers, as packets and flags number them: rounds, and two for the way to a machine's
/// first task and back.
pub(crate) const STEPS: usize = ROUNDS as usize + 2;
const UP: u32 = ROUNDS;
const DOWN: u32 = ROUNDS + 1;

/// The number of a step, which one task sends to another one once in a barrier.
fn step_of(tag: u32) -> u8 {
    let step = match phase_and_tag(tag) {
        // Everybody, or one task of each machine.
        (0 | 2, round) => round,
        (1, 0) => UP,
        (3, 0) => DOWN,
        (phase, tag) => unreachable!("tag {tag} in phase {phase} of a barrier"),
    };
    step as u8
}

/// The collective calls under way.
pub(crate) struct Collectives {
    pub(crate) barrier: Barrier,
    pub(crate) exchanges: Exchanges,
}

impl Collectives {
    pub(crate) fn new(barrier: Barrier, exchanges: Exchanges) -> Self {
        Self { barrier, exchanges }
    }
}

/// What a task does in a barrier. A step carries nothing but the barrier's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Says that it has come to a step.
    Send { to: PeerId, step: u8 },
    /// Waits for another task to come to a step; where its packet is noted.
    Await { from: PeerId, step: u8, receipt: u32 },
}

/// The last barrier for which a packet of a task has said that it has come to a step.
struct Receipt {
    step: u8,
    from: PeerId,
    barrier: u64,
}

/// Barriers of all tasks.
pub(crate) struct Barrier {
    /// Collective calls are over because of this task.
    pub(crate) over: Option<PeerId>,
    /// What this task does in each, in order.
    pub(crate) acts: Box<[Act]>,
    /// The last barrier in which this task has come to each step.
    pub(crate) sent: [u64; STEPS],
    /// Barriers this task has entered.
    entered: u64,
    /// In the order of steps and tasks.
    receipts: Box<[Receipt]>,
}

/// The tasks of each host, and the radix of trees among them: on this task's host the number of
/// tasks, if they meet at the first one.
pub(crate) struct Levels {
    pub(crate) hosts: Hosts,
    pub(crate) radix: usize,
}

/// Data of exchanges.
#[derive(Default)]
pub(crate) struct Exchanges {
    /// How messages go, if not between all tasks by themselves.
    pub(crate) levels: Option<Arc<Levels>>,
    /// Short values go through memory that all tasks map, as far as the cards say.
    pub(crate) in_memory: bool,
    /// Exchanges this task has entered.
    pub(crate) entered: u64,
    /// Exchanges that this task is in.
    pub(crate) under_way: u32,
    /// By number of the exchange, sender, and tag.
    pub(crate) inbox: FxHashMap<(u64, PeerId, u32), Blocks>,
}

#[derive(Default)]
pub(crate) struct Blocks {
    pub(crate) bytes: Vec<u8>,
    pub(crate) received: usize,
}

impl Exchanges {
    /// This task enters one more; gives its number.
    pub(crate) fn enter(&mut self) -> u64 {
        self.entered += 1;
        self.entered
    }
}

impl Default for Barrier {
    fn default() -> Self {
        Self::new(&Script::default())
    }
}

impl Barrier {
    /// Barriers of these steps. None of them carries data.
    pub(crate) fn new(script: &Script) -> Self {
        let mut receipts: Vec<Receipt> = script.steps.iter().filter_map(receipt).collect();
        receipts.sort_unstable_by_key(|r| (r.step, r.from));
        let mut acts = Vec::new();
        let mut begun = Vec::new();
        for step in &script.steps {
            match *step {
                Step::Send { to, tag, .. } => acts.push(Act::Send { to, step: step_of(tag) }),
                Step::Receive { from, tag, .. } => {
                    let step = step_of(tag);
                    let receipt = receipts.partition_point(|r| (r.step, r.from) < (step, from)) as u32;
                    begun.push(Act::Await { from, step, receipt });
                }
                Step::Wait => acts.append(&mut begun),
                // Without data there is nothing to do in these.
                Step::Drain | Step::Look | Step::Copy { .. } | Step::Fold { .. } => {}
            }
        }
        Self { over: None, acts: acts.into(), sent: [0; STEPS], entered: 0, receipts: receipts.into() }
    }

    /// This task enters one more; gives its number.
    pub(crate) fn enter(&mut self) -> u64 {
        self.entered += 1;
        self.entered
    }

    /// A packet says that a task has come to a step. False if this task does not wait for it in any
    /// barrier.
    pub(crate) fn note(&mut self, from: PeerId, step: u8, barrier: u64) -> bool {
        let Ok(at) = self.receipts.binary_search_by_key(&(step, from), |r| (r.step, r.from)) else {
            return false;
        };
        let noted = &mut self.receipts[at].barrier;
        *noted = (*noted).max(barrier);
        true
    }

    /// Whether a packet has said so.
    #[inline(always)]
    pub(crate) fn is_noted(&self, receipt: u32, barrier: u64) -> bool {
        self.receipts[receipt as usize].barrier >= barrier
    }

    /// Boxed, so that the answer of a check in a loop that polls travels in registers.
    #[inline]
    pub(crate) fn not_over(&self) -> Result<(), Box<Error>> {
        self.over.map_or(Ok(()), |task| Err(Box::new(Error::CollectivesOver { task })))
    }
}

fn receipt(step: &Step) -> Option<Receipt> {
    match *step {
        Step::Receive { from, tag, .. } => Some(Receipt { step: step_of(tag), from, barrier: 0 }),
        _ => None,
    }
}
