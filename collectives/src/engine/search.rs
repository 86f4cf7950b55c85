//! Discovery of shared memory by the members of a team: those of a host tell each other the
//! addresses of their boards and look them up, and all members of the team agree whether every one
//! has found them. It is an operation of messages like others, before the first one that can use
//! memory. A member keeps a word for each member of its host, whose boards it maps, and nothing for
//! other members.

use super::silence::Silence;
use super::{Engine, Members, Op};
use crate::Signature;
use crate::board::Board;
use crate::combine::Fold;
use crate::element::{Operator, Type, kernel};
use crate::error::Result;
use lapis_core::Context;
use lapis_core::sync::membarrier;
use lapis_core::transport::RegionInfo;
use lapis_schedules::group::Group;
use lapis_schedules::{Place, Script, Span, doubling};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

/// A team's use of shared memory. Accessed under the context's lock.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) found: Found,
    /// A call is taking rounds.
    pub(crate) busy: bool,
    pub(crate) board: Option<Box<Board>>,
    /// Operations that use memory, or will if it is found. Members take their rounds in the order
    /// of calls, one after the other.
    pub(crate) queue: VecDeque<NonNull<Op>>,
    /// The number of a blocking call that takes rounds without an operation.
    pub(crate) blocking: Option<u32>,
    /// The task for which that call waits, and for how long it has.
    pub(super) awaited: Option<u32>,
    pub(super) silence: Silence,
}

/// The state of the search.
#[derive(Default)]
pub(crate) enum Found {
    #[default]
    Unknown,
    Looking(Box<Search>),
    /// It is known whether there is a board.
    Known,
}

impl Memory {
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.found, Found::Known)
    }
}

/// Members of the caller's host: ranks in the team, and the caller's place among them.
pub(crate) struct Here {
    pub(crate) ranks: Group,
    pub(crate) me: usize,
}

/// A search in progress.
pub(crate) struct Search {
    memory: Option<RegionInfo>,
    here: Here,
    /// The addresses of boards, by place among the members of the host; the common results; the
    /// address of this member's board.
    words: Box<[u64]>,
    board: Option<Board>,
    op: NonNull<Op>,
}

impl Search {
    /// The operation that does it.
    pub(crate) fn op(&self) -> NonNull<Op> {
        self.op
    }
}

/// What a member has found: 0 for nothing; boards; boards of processes that are registered for
/// `membarrier(2)`; the same, and tasks outnumber cores, so that long data would take task switches
/// for each area; the same, and the others' memory can be read.
const BOARDS: u64 = 1;
const BARRIERS: u64 = 2;
const CROWDED: u64 = 3;
const READS: u64 = 4;

/// The results of a member: what it has found; whether it checks calls. All agree on the least of
/// each.
const RESULTS: usize = 2;

/// The steps of a search by member `me` of `n`. The members of its host, `here`, exchange the
/// addresses of their boards, by Bruck's algorithm; each looks the boards up; all members of the
/// team agree on the least results of any, by recursive doubling.
///
/// Both take a logarithm of rounds of short messages, for any number of members, once in the life
/// of a team. So there is no choice among schedules as for calls, and no special case for tasks
/// that outnumber their cores.
fn script(me: usize, n: usize, here: &Here) -> Script {
    let mut script = Script::default();
    let (count, rank) = (here.ranks.len(), |place: usize| here.ranks.task(place).unwrap_or(0) as usize);
    let within = Place { me: here.me, n: count, rank: &rank, phase: 0 };
    doubling::all_gather_any(&mut script, within, |place| (place, 1));
    script.steps.push(lapis_schedules::Step::Look);
    doubling::all_reduce_in(&mut script, Place::all(me, n).phase(1), Span::output(count, RESULTS));
    script.steps.push(lapis_schedules::Step::Drain);
    script
}

/// Begins the search.
///
/// # Safety
/// The lock is held; the team lives, and no search has begun.
pub(crate) unsafe fn begin(
    context: &Context,
    engine: &Arc<Engine>,
    team: NonNull<Members>,
    me: usize,
    here: Here,
) {
    // SAFETY: the team lives; its group never changes.
    let group = unsafe { &(*team.as_ptr()).group };
    let (n, count) = (group.len(), here.ranks.len());
    let memory = Board::memory(context, here.me, count);
    let mut words = vec![0u64; count + RESULTS + 1].into_boxed_slice();
    words[count + RESULTS] = memory.map_or(0, |memory| memory.addr);
    let of = Type::U64;
    let fold = kernel(of, Operator::Min).map_or(Fold::None, Fold::Kernel);
    let signature = Signature::of_search();
    let op = Op::new(&script(me, n, &here), group, of.size(), fold, signature, "the search for memory", None);
    let op = NonNull::from(Box::leak(Box::new(op)));
    let (input, output) = (words[count + RESULTS..].as_ptr().cast(), words.as_mut_ptr().cast());
    let (owner, engine_then) = (team.as_ptr().expose_provenance(), Arc::clone(engine));
    // SAFETY: endings run under the lock; an operation ends while its team lives, or never.
    let end = move |context: &Context, ended: Result<()>| unsafe {
        let team = std::ptr::with_exposed_provenance_mut::<Members>(owner);
        finish(context, &engine_then, team, ended);
    };
    // SAFETY: operation and words live until the end, which gives them back; the lock is held.
    unsafe {
        (*op.as_ptr()).ending = Some(Box::new(end));
        let search = Search { memory, here, words, board: None, op };
        (*team.as_ptr()).memory.found = Found::Looking(Box::new(search));
        engine.start(context, team, op, input, output);
    }
}

/// All addresses are known: looks up the boards of the host.
///
/// # Safety
/// The lock is held, and the team's search is in progress.
pub(crate) unsafe fn look(context: &Context, team: NonNull<Members>) {
    // SAFETY: the caller's promise; nothing below calls out.
    unsafe {
        let group = &(*team.as_ptr()).group;
        let Found::Looking(search) = &mut (*team.as_ptr()).memory.found else { return };
        let ranks = &search.here.ranks;
        let tasks: Vec<u32> = ranks.iter().filter_map(|rank| group.task(rank as usize)).collect();
        let address = |member: usize| search.words[member];
        search.board = match (search.memory, Group::from_list(&tasks)) {
            (Some(memory), Ok(group)) => Board::new(context, memory, search.here.me, group, address),
            _ => None,
        };
        let found = match search.board {
            None => 0,
            Some(_) if !membarrier::register() => BOARDS,
            Some(_) if !context.is_crowded() => BARRIERS,
            Some(_) if reads_all(context, search.here.me, &tasks, address) => READS,
            Some(_) => CROWDED,
        };
        let results = tasks.len();
        search.words[results..][..RESULTS].copy_from_slice(&[found, context.checks().into()]);
    }
}

impl Engine {
    /// The number and the call of an operation, to be compared with others'; in place of a search
    /// those of the operation that it is for.
    ///
    /// # Safety
    /// The lock is held; the operation is one of the team's under way.
    pub(super) unsafe fn call_of(&self, team: NonNull<Members>, op: *mut Op) -> (u32, Signature) {
        // SAFETY: the caller's promise; operations in queues live; references end here.
        unsafe {
            let memory = &(*team.as_ptr()).memory;
            let of = match (&memory.found, memory.queue.front()) {
                (Found::Looking(search), Some(head)) if search.op.as_ptr() == op => head.as_ptr(),
                _ => op,
            };
            ((*of).number, (*of).signature)
        }
    }
}

/// Whether this member can read the memory of all others, where their boards are.
fn reads_all(context: &Context, me: usize, tasks: &[u32], address: impl Fn(usize) -> u64) -> bool {
    let mut word = 0u64;
    tasks.iter().enumerate().filter(|(member, _)| *member != me).all(|(member, task)| {
        // SAFETY: the word can be written.
        unsafe { context.read_memory(*task, address(member), (&raw mut word).cast(), size_of::<u64>()) }
    })
}

/// All results are known.
///
/// # Safety
/// The lock is held; the team lives, and its search has ended.
unsafe fn finish(context: &Context, engine: &Engine, team: *mut Members, ended: Result<()>) {
    // SAFETY: the caller's promise; the operation is not used any more.
    unsafe {
        let Found::Looking(search) = std::mem::replace(&mut (*team).memory.found, Found::Known) else {
            return;
        };
        let results = search.words.len() - RESULTS - 1;
        let (all, check) = (search.words[results], search.words[results + 1]);
        let (memory, op) = (search.memory, search.op);
        let mut board = search.board;
        drop(Box::from_raw(op.as_ptr()));
        engine.attend();
        // After a failure some may have agreed: the memory stays until the context ends. The call
        // that it was for fails for the same reason.
        if let Err(failure) = ended {
            if let Some(head) = (&(*team).memory.queue).front().map(|head| head.as_ptr()) {
                let mine = (*head).signature;
                (*head).failure.get_or_insert(failure.for_call(mine));
            }
            return;
        }
        if let Some(board) = board.as_mut().filter(|_| all >= BARRIERS) {
            board.spare_fences();
        }
        if let Some(board) = board.as_mut().filter(|_| all >= CROWDED) {
            board.spare_turns(all == READS);
        }
        if let Some(board) = board.as_mut().filter(|_| check > 0) {
            board.compare_roots();
        }
        (*team).memory.board = board.filter(|_| all > 0).map(Box::new);
        if all == 0
            && let Some(memory) = memory
        {
            // It came from this context, and nobody has used it, as not all have reached all.
            context.free_raw(memory);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use lapis_schedules::model::{Model, Sending, Values};

    /// Members by turns on hosts, or the first ones on the first host.
    fn places(n: usize, hosts: usize, by_turns: bool) -> Vec<Here> {
        let host = |rank: usize| if by_turns { rank % hosts } else { rank * hosts / n };
        let here = |me: usize| {
            let all: Vec<u32> =
                (0..n).filter(|rank| host(*rank) == host(me)).map(|rank| rank as u32).collect();
            let ranks = Group::from_list(&all).unwrap();
            Here { me: ranks.rank(me as u32).unwrap(), ranks }
        };
        (0..n).map(here).collect()
    }

    #[test]
    fn members_of_a_host_learn_where_boards_are_and_all_what_the_least_lucky_has_found() {
        let most: usize = if cfg!(miri) { 5 } else { 40 };
        for (n, hosts, by_turns) in (1..=most)
            .flat_map(|n| [(n, 1, true), (n, n.div_ceil(4), true), (n, n.div_ceil(3), false), (n, n, true)])
        {
            let places = places(n, hosts, by_turns);
            let found = |me: usize| [1 + (me as u64 * 7) % 5, (me as u64 + 3) % 4];
            let member = |me: usize| {
                let script = script(me, n, &places[me]);
                let mut words = vec![0; places[me].ranks.len()];
                words.extend(found(me));
                let buffers = [vec![1000 + me as u64], words, vec![0; script.scratch]];
                (script, Values { buffers, fold: |a: &u64, b: &u64| *a.min(b) })
            };
            let least = |at: usize| (0..n).map(|me| found(me)[at]).min();
            for sending in [Sending::Eager, Sending::Synchronous] {
                let model = Model::new((0..n).map(member).collect(), sending, false);
                let ends = model.run(|len| len / 2).unwrap();
                for (end, here) in ends.iter().zip(&places) {
                    let boards = here.ranks.iter().map(|rank| 1000 + u64::from(rank));
                    let expected: Vec<u64> = boards.chain(least(0)).chain(least(1)).collect();
                    assert_eq!(end.buffers[1], expected, "{n} members on {hosts} hosts, {sending:?}");
                }
            }
        }
    }

    #[test]
    fn what_a_search_keeps_grows_with_the_host_and_the_logarithm_of_the_members() {
        for n in [1usize << 10, 1 << 16, 1 << 20, 1_000_000] {
            for on_host in [1, 8] {
                let log = n.next_power_of_two().trailing_zeros() as usize;
                for me in [0, 1, n / 2, n / 3, n - 1] {
                    let first = me / on_host * on_host;
                    let ranks = Group::strided(first as u32, 1, on_host as u32).unwrap();
                    let script = script(me, n, &Here { me: me - first, ranks });
                    assert!(script.steps.len() <= 8 * log + 20, "{n}: {} steps", script.steps.len());
                    assert!(script.scratch <= on_host + RESULTS, "{n}: {} words of scratch", script.scratch);
                }
            }
        }
    }
}
