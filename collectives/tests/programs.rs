//! Random programs: calls of overlapping teams, some in progress while others begin, with messages
//! and puts to any task in between. Everything is checked, at the end what has come.

mod support;

use lapis_collectives::{By, Call, Combine, Group, Operator, Request, Team, Type};
use lapis_core::message::PutArgs;
use lapis_core::{Context, Delivery, HandlerId, Notify, Source};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{LOSSY, SHM, Settings, UDP, job};

const TASKS: usize = 5;
const STEPS: usize = 150;
const MESSAGE: HandlerId = HandlerId(9);

/// Puts of one task to another at most: one in each step.
const PUTS: usize = STEPS;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// A call, what it is given, and what must come of it.
struct Made {
    call: Call<'static>,
    input: Vec<u64>,
    output: Vec<u64>,
    expected: Vec<u64>,
}

/// What a member has in a step.
fn value(step: usize, rank: usize, i: usize) -> u64 {
    ((step * 31 + rank) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ i as u64
}

fn made(kind: usize, step: usize, root: usize, count: usize, team: &Team) -> Made {
    let (me, n) = (team.rank(), team.len());
    let own = |rank: usize, len: usize| -> Vec<u64> { (0..len).map(|i| value(step, rank, i)).collect() };
    let sums = |who: std::ops::Range<usize>, from: usize| -> Vec<u64> {
        let one = |i| who.clone().map(|rank| value(step, rank, from + i)).fold(0, u64::wrapping_add);
        (0..count).map(one).collect()
    };
    let all = || -> Vec<u64> { (0..n).flat_map(|rank| own(rank, count)).collect() };
    let at_root = |values: Vec<u64>| if me == root { values } else { vec![] };
    let made =
        |call, input, expected: Vec<u64>| Made { call, input, output: vec![9; expected.len()], expected };
    match kind {
        0 => made(Call::Barrier, vec![], vec![]),
        1 => {
            Made { output: own(me, count), ..made(Call::Broadcast { root, count }, vec![], own(root, count)) }
        }
        2 => made(Call::Reduce { root, count }, own(me, count), at_root(sums(0..n, 0))),
        3 => made(Call::AllReduce { count }, own(me, count), sums(0..n, 0)),
        4 => made(Call::ReduceScatterBlock { count }, own(me, n * count), sums(0..n, me * count)),
        5 => made(Call::Gather { root, count }, own(me, count), at_root(all())),
        6 => {
            let part = own(root, n * count)[me * count..][..count].to_vec();
            made(Call::Scatter { root, count }, at_root(own(me, n * count)), part)
        }
        7 => made(Call::AllGather { count }, own(me, count), all()),
        8 => {
            let part = |rank: usize| own(rank, n * count)[me * count..][..count].to_vec();
            made(Call::AllToAll { count }, own(me, n * count), (0..n).flat_map(part).collect())
        }
        9 => made(Call::Scan { count }, own(me, count), sums(0..me + 1, 0)),
        _ => {
            let expected = if me == 0 { vec![9; count] } else { sums(0..me, 0) };
            made(Call::ExScan { count }, own(me, count), expected)
        }
    }
}

/// The teams that the calling task is in; all tasks make them in this order.
fn teams(context: &Context) -> Vec<Option<Team>> {
    let groups: [&[u32]; 6] =
        [&[0, 1, 2, 3, 4], &[4, 2, 0], &[1, 2, 3], &[3, 4], &[0, 1, 2, 3, 4], &[2, 1, 0, 3]];
    let team = |list: &&[u32]| {
        list.contains(&context.task()).then(|| Team::of(context, Group::from_list(list).unwrap()).unwrap())
    };
    groups.iter().map(team).collect()
}

/// A request, its step, and what must come of it.
type Pending = (Request<(Vec<u64>, Vec<u64>)>, usize, Vec<u64>);

fn wait_for(pending: Pending) {
    let (request, step, expected) = pending;
    assert_eq!(request.wait().unwrap().1, expected, "step {step}");
}

/// Makes a call, waiting for it, or begins it.
fn call(team: &Team, step: usize, made: Made, waits: bool, pending: &mut Vec<Pending>) {
    let Made { call, input, mut output, expected } = made;
    if !waits {
        let by = call.folds().then(|| Combine::from(Operator::Sum));
        pending.push((team.start(&call, by, input, output).unwrap(), step, expected));
        return;
    }
    let by = if call.folds() { By::Operator(Operator::Sum) } else { By::Nothing };
    let into = output.as_mut_ptr().cast::<u8>();
    let from = if matches!(call, Call::Broadcast { .. }) { into.cast_const() } else { input.as_ptr().cast() };
    // SAFETY: both buffers are as long as the call needs them at this member.
    unsafe { team.call_raw(&call, Type::U64, by, from, into) }.unwrap();
    assert_eq!(output, expected, "step {step}");
}

/// What a task has been sent and has been put.
struct Mail {
    messages: Arc<[AtomicU64; 2]>,
    /// A place for each put of each task.
    places: Vec<AtomicU64>,
    /// Where the others' places are.
    addresses: Vec<u64>,
    /// Messages to each task and the sum of what they bring; puts to each.
    sent: Vec<[u64; 2]>,
    put: Vec<u64>,
}

impl Mail {
    fn new(context: &Context, world: &Team) -> Self {
        let messages = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let here = Arc::clone(&messages);
        context
            .set_handler(MESSAGE, move |_, message| {
                let bytes = message.data().and_then(|data| data.first_chunk()).copied().unwrap();
                here[1].fetch_add(u64::from_le_bytes(bytes), Ordering::Relaxed);
                here[0].fetch_add(1, Ordering::Relaxed);
                Delivery::bury()
            })
            .unwrap();
        let places: Vec<_> = (0..TASKS * PUTS).map(|_| AtomicU64::new(0)).collect();
        let mut addresses = vec![0; TASKS];
        // All have their handler when this is over.
        world.all_gather(&[places.as_ptr().expose_provenance() as u64], &mut addresses).unwrap();
        Self { messages, places, addresses, sent: vec![[0; 2]; TASKS], put: vec![0; TASKS] }
    }

    fn send(&mut self, context: &Context, to: usize, value: u64) {
        context.send(to as u32, MESSAGE, &[], &value.to_le_bytes()).unwrap();
        self.sent[to][0] += 1;
        self.sent[to][1] = self.sent[to][1].wrapping_add(value);
    }

    /// What is put tells whose put it is, and which.
    fn put(&mut self, context: &Context, to: usize) {
        let (me, which) = (context.task() as usize, self.put[to] as usize);
        let word = Box::leak(Box::new(put_value(me, which)));
        // SAFETY: the target keeps its places until the fence at the end; the word stays.
        unsafe {
            let put = PutArgs {
                target: to as u32,
                remote: self.addresses[to] + ((me * PUTS + which) * size_of::<u64>()) as u64,
                source: Source::Contiguous(std::ptr::from_mut(word).cast(), size_of::<u64>() as u64),
                target_counter: 0,
                origin: Notify::None,
                completion: Notify::None,
                checked: false,
            };
            context.put(put).unwrap();
        }
        self.put[to] += 1;
    }

    /// All that was sent has come, and nothing else.
    fn check(&self, context: &Context, world: &Team) {
        let given: Vec<u64> = self.sent.iter().zip(&self.put).flat_map(|(s, p)| [s[0], s[1], *p]).collect();
        let mut got = vec![0; 3 * TASKS];
        world.all_to_all(&given, &mut got, 3).unwrap();
        let sum = |at: usize| got.chunks(3).map(|from| from[at]).fold(0, u64::wrapping_add);
        context.wait_until(|| self.messages[0].load(Ordering::Relaxed) >= sum(0)).unwrap();
        context.gfence().unwrap();
        assert_eq!(self.messages.each_ref().map(|word| word.load(Ordering::Relaxed)), [sum(0), sum(1)]);
        for (from, places) in self.places.chunks(PUTS).enumerate() {
            let count = got[3 * from + 2] as usize;
            for (which, place) in places.iter().enumerate() {
                let word = place.load(Ordering::Relaxed);
                let expected = if which < count { put_value(from, which) } else { 0 };
                assert_eq!(word, expected, "put {which} of task {from}");
            }
        }
    }
}

fn put_value(from: usize, which: usize) -> u64 {
    ((from as u64) << 32 | which as u64) + 1
}

fn run(context: &Context, seed: u64) {
    let teams = teams(context);
    let world = teams[0].clone().unwrap();
    let mut mail = Mail::new(context, &world);
    // What all know, and what is this task's own.
    let (mut common, mut own) = (Random(seed), Random(seed ^ (u64::from(context.task()) + 1) << 40));
    let mut pending = Vec::new();
    for step in 0..STEPS {
        let (which, kind) = (common.below(teams.len()), common.below(11));
        let count = [0, 1, 3, 20, 300, 3000][common.below(6)];
        let root = common.below(60);
        if let Some(team) = &teams[which] {
            let made = made(kind, step, root % team.len(), count, team);
            call(team, step, made, own.below(2) == 0, &mut pending);
        }
        match own.below(4) {
            0 => mail.send(context, own.below(TASKS), value(step, 7, 7)),
            1 => mail.put(context, own.below(TASKS)),
            2 if pending.len() > 2 => wait_for(pending.swap_remove(own.below(pending.len()))),
            _ => {}
        }
    }
    pending.into_iter().for_each(wait_for);
    mail.check(context, &world);
    // Nobody's places go before all have looked at theirs.
    world.barrier().unwrap();
}

fn programs(settings: Settings, seeds: u64) {
    for seed in 0..seeds {
        job(TASKS as u32, settings, move |context| run(context, seed * 77 + 5));
    }
}

#[test]
fn random_programs_of_calls_messages_and_puts_end_as_they_must() {
    programs(SHM, 6);
    programs(UDP, 3);
}

/// Messages whose data the receiver asks for end late, while their senders wait for other calls.
#[test]
fn random_programs_end_over_datagrams_that_get_lost() {
    programs(LOSSY, 2);
}
