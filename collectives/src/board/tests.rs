//! Teams over several hosts. Those of one machine are told apart here by rank alone: memory is used
//! within each, and messages between them, as on machines that are really several.

#[path = "shown/tests.rs"]
mod shown;
#[path = "../../tests/support/mod.rs"]
pub(crate) mod support;

use super::rounds::MEET_MEMBERS;
use super::stores::store_policy;
use super::{AREA_STRIDE, LINE, PAGE, Places};
use crate::{By, Call, CollectiveError, Combine, Operator, Part, Team, Type};
use lapis_core::message::{Gather, Scatter};
use lapis_core::sync::{AtomicBool, Ordering};
use lapis_schedules::levels::Hosts;
use support::{SHM, job};

/// A team whose members live where `host` says.
fn team(context: &lapis_core::Context, host: fn(usize) -> usize) -> Team {
    let team = Team::world(context).unwrap();
    let hosts = Hosts::of((0..team.len()).map(|rank| host(rank) as u64));
    assert!(team.0.hosts.set(Some(hosts)).is_ok());
    team
}

fn value(rank: usize, i: usize) -> u64 {
    (rank * 7919 + i * 31) as u64
}

fn calls(team: &Team, count: usize, round: usize) {
    let (me, n) = (team.rank(), team.len());
    team.barrier().unwrap();
    let mine: Vec<u64> = (0..count).map(|i| value(me, i)).collect();
    let sums: Vec<u64> = (0..count).map(|i| (0..n).map(|rank| value(rank, i)).sum()).collect();
    let mut all = mine.clone();
    if (me + round).is_multiple_of(2) {
        team.all_reduce(&mut all, Operator::Sum).unwrap();
    } else {
        let sum = Combine::from(Operator::Sum);
        let call = Call::AllReduce { count };
        all = team.start(&call, sum, mine.clone(), vec![0; count]).unwrap().wait().unwrap().1;
    }
    assert_eq!(all, sums, "{count} elements among {n}");
    let mut first = mine.clone();
    team.all_reduce(&mut first, Combine::ordered(|a: u64, _| a)).unwrap();
    assert!((0..count).all(|i| first[i] == value(0, i)));
    for root in [0, n / 2, n - 1] {
        let mut data = mine.clone();
        team.broadcast(&mut data, root).unwrap();
        assert!((0..count).all(|i| data[i] == value(root, i)), "root {root}");
    }
}

/// Calls whose data is ordered by rank, blocking or not.
fn ordered_calls(team: &Team, count: usize, round: usize) {
    let (me, n) = (team.rank(), team.len());
    let root = round * 5 % n;
    let mine: Vec<u64> = (0..count).map(|i| value(me, i)).collect();
    let all: Vec<u64> = (0..n).flat_map(|rank| (0..count).map(move |i| value(rank, i))).collect();
    let given: Vec<u64> = (0..n * count).map(|i| value(me, i)).collect();
    let sum = |i: usize| (0..n).map(|rank| value(rank, i)).sum::<u64>();
    let run = |call: Call<'static>, by: Option<Operator>, input: &[u64], mut output: Vec<u64>| {
        if (me + round).is_multiple_of(2) {
            let by = by.map_or(By::Nothing, By::Operator);
            let (from, into) = (input.as_ptr().cast(), output.as_mut_ptr().cast());
            // SAFETY: the buffers are as long as the call needs them.
            unsafe { team.call_raw(&call, Type::U64, by, from, into).unwrap() };
            return output;
        }
        team.start(&call, by.map(Combine::from), input.to_vec(), output).unwrap().wait().unwrap().1
    };
    let at = |root: usize, len: usize| vec![0; if me == root { len } else { 0 }];
    let got = run(Call::AllGather { count }, None, &mine, vec![0; n * count]);
    assert!(got == all, "allgather of {count} among {n}");
    let got = run(Call::Gather { root, count }, None, &mine, at(root, n * count));
    assert!(me != root || got == all, "gather of {count} among {n} to {root}");
    let parts = if me == root { all } else { Vec::new() };
    let got = run(Call::Scatter { root, count }, None, &parts, vec![0; count]);
    assert!(got == mine, "scatter of {count} among {n} from {root}");
    let got = run(Call::Reduce { root, count }, Some(Operator::Sum), &mine, at(root, count));
    assert!(got.iter().enumerate().all(|(i, got)| *got == sum(i)), "reduce of {count} among {n} to {root}");
    let got = run(Call::ReduceScatterBlock { count }, Some(Operator::Sum), &given, vec![0; count]);
    let expected = |i: usize| sum(me * count + i);
    assert!(
        got.iter().enumerate().all(|(i, got)| *got == expected(i)),
        "reduce_scatter of {count} among {n}"
    );
}

/// Bytes with gaps of one between them.
#[derive(Clone, Copy)]
struct Spread(*mut u8);

// SAFETY: the tests keep the memory, and use it from one thread.
unsafe impl Send for Spread {}

impl Gather for Spread {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        for (at, byte) in out.iter_mut().enumerate() {
            // SAFETY: the memory is twice as long as the data.
            *byte = unsafe { self.0.add(2 * (position as usize + at)).read() };
        }
    }
}

impl Scatter for Spread {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate() {
            // SAFETY: the memory is twice as long as the data.
            unsafe { self.0.add(2 * (position as usize + at)).write(*byte) }
        }
    }
}

/// Layouts go packed between hosts, and within the host of who sends the messages; the others there
/// take them straight.
fn layouts(team: &Team, count: usize, round: usize) {
    let (me, root) = (team.rank(), round % team.len());
    let byte = |rank: usize, at: usize| (rank * 31 + at * 7 + round) as u8;
    let mut data = vec![0xee; 2 * count];
    let mut bytes = Spread(data.as_mut_ptr());
    // SAFETY: the memory is twice as long as the data.
    unsafe { bytes.write(0, &(0..count).map(|at| byte(me, at)).collect::<Vec<u8>>()) };
    let laid = team.broadcast_w(Part { layout: bytes, len: count }, root).unwrap();
    // SAFETY: the memory is kept, and nobody else uses it.
    unsafe {
        match (me + round) % 3 {
            0 => laid.call().unwrap(),
            1 => laid.start().unwrap().wait().unwrap(),
            _ => {
                let mut kept = laid.persistent().unwrap();
                kept.start().unwrap();
                kept.wait().unwrap();
            }
        }
    }
    let whole = (0..count).all(|at| data[2 * at..2 * at + 2] == [byte(root, at), 0xee]);
    assert!(whole, "{count} bytes of {root} at {me}");
}

fn on_hosts(n: u32, host: fn(usize) -> usize, counts: &'static [usize]) {
    job(n, SHM, move |context| {
        let team = team(context, host);
        for (round, count) in counts.iter().copied().enumerate() {
            calls(&team, count, round);
            ordered_calls(&team, count, round);
            layouts(&team, count, round);
            layouts(&team, 8 * count, round + 1);
        }
        // SAFETY: the lock is held; the reference ends here.
        let board = unsafe {
            let _held = crate::engine::Held::new(context);
            (*team.0.members.as_ptr()).memory.board.as_ref().map(|board| board.tasks().len())
        };
        let here = (0..n as usize).filter(|rank| host(*rank) == host(team.rank())).count();
        assert_eq!(board, Some(here), "memory was used by those of one host");
    });
}

#[test]
fn teams_over_several_hosts_use_memory_within_each() {
    // Blocks of ranks, ranks in turns, and a host of one among others.
    on_hosts(5, |rank| rank / 2, &[0, 1, 13, 900, 70_000]);
    on_hosts(6, |rank| rank % 2, &[1, 13, 20_000]);
    on_hosts(4, |rank| usize::from(rank == 2), &[1, 900, 20_000]);
    on_hosts(12, |rank| rank / 5, &[1, 5000]);
}

/// A scatter and an alltoall in a form and of a length that depend on the round, in place or not.
fn long_parts(team: &Team, count: usize, round: usize) {
    let (me, n) = (team.rank(), team.len());
    let part = |from: usize, to: usize| (0..count).map(move |i| value(from, to * count + i) + round as u64);
    let given: Vec<u64> = (0..n).flat_map(|to| part(me, to)).collect();
    let crossed: Vec<u64> = (0..n).flat_map(|from| part(from, me)).collect();
    let call = Call::AllToAll { count };
    let got = match (me + round) % 3 {
        0 => {
            let mut got = vec![0; n * count];
            team.all_to_all(&given, &mut got, count).unwrap();
            got
        }
        1 => {
            let mut data = given.clone();
            let (input, output) = (data.as_ptr().cast(), data.as_mut_ptr().cast());
            // SAFETY: the buffer has a part for each member.
            unsafe { team.call_raw(&call, Type::U64, By::Nothing, input, output).unwrap() };
            data
        }
        _ => team.start(&call, None, given.clone(), vec![0; n * count]).unwrap().wait().unwrap().1,
    };
    assert!(got == crossed, "alltoall of {count} among {n}");
    let root = round % n;
    let mut got = vec![0; count];
    team.scatter(&given, &mut got, root).unwrap();
    assert!(got.iter().copied().eq(part(root, me)), "scatter of {count} among {n}");
    let mut data = given;
    let (input, output) = (data.as_ptr().cast(), data.as_mut_ptr().cast());
    // SAFETY: the buffer has a part for each member.
    unsafe { team.call_raw(&Call::Scatter { root, count }, Type::U64, By::Nothing, input, output).unwrap() };
    assert!(data[..count].iter().copied().eq(part(root, me)), "scatter of {count} among {n} in place");
    // Areas are used one by one again.
    let mut data: Vec<u64> = part(me, 0).collect();
    team.broadcast(&mut data, root).unwrap();
    assert!(data.iter().copied().eq(part(root, 0)), "broadcast of {count} among {n}");
}

#[test]
fn long_parts_arrive_where_tasks_outnumber_cores() {
    for n in [3, 4, 9] {
        job(n, SHM, |context| {
            let team = Team::world(context).unwrap();
            for (round, count) in [1, 8191, 8192, 9000, 40_000].into_iter().cycle().take(15).enumerate() {
                long_parts(&team, count, round);
            }
            assert_eq!(reads(&team), context.is_crowded());
        });
    }
}

fn reads(team: &Team) -> bool {
    // SAFETY: the lock is held; the reference ends here.
    unsafe {
        let _held = crate::engine::Held::new(team.context());
        (*team.0.members.as_ptr()).memory.board.as_ref().is_some_and(|board| board.reads)
    }
}

#[test]
fn a_line_that_may_be_in_use_again_tells_no_call() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let _held = crate::engine::Held::new(context);
        // SAFETY: the lock is held; the reference ends with it.
        let board = unsafe { (&(*team.0.members.as_ptr()).memory.board).as_ref().unwrap() };
        let (me, round, lines) = (board.me, 1000, board.places.line_count as u64);
        board.lines(me).line(round).show(round, 7);
        board.begun(me).set(round + lines - 2);
        assert_eq!(board.called(me, round), Some(7));
        board.begun(me).set(round + lines - 1);
        assert_eq!(board.called(me, round), None);
    });
}

#[test]
fn a_function_is_not_called_for_no_elements() {
    for n in [2, MEET_MEMBERS as u32] {
        job(n, SHM, |context| {
            let team = Team::world(context).unwrap();
            for commutes in [true, false] {
                let called = AtomicBool::new(false);
                let fold = |_: &[u8], _: &mut [u8], _| called.store(true, Ordering::Relaxed);
                let (call, by) = (Call::AllReduce { count: 0 }, By::User { fold: Box::new(fold), commutes });
                // SAFETY: without elements there are no buffers.
                let ended =
                    unsafe { team.call_raw(&call, Type::U64, by, std::ptr::null(), std::ptr::null_mut()) };
                assert!(ended.is_ok() && !called.load(Ordering::Relaxed), "{ended:?}");
            }
        });
    }
}

#[test]
fn an_input_that_can_not_be_read_is_an_error_at_all_members() {
    job(4, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        if !reads(&team) {
            return;
        }
        let count = 64 << 10;
        // SAFETY: new memory, which nobody can access.
        let hole = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                4 * count,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(hole, libc::MAP_FAILED);
        let mut got = vec![0u8; count];
        let call = Call::Scatter { root: 1, count };
        // SAFETY: the output is long enough. The input is the kernel's to refuse: this member
        // reads its own part only if the others could.
        let ended = unsafe { team.call_raw(&call, Type::U8, By::Nothing, hole.cast(), got.as_mut_ptr()) };
        let error = ended.unwrap_err();
        let expected =
            matches!(error, CollectiveError::Unreadable { from: 1, .. } | CollectiveError::Broken { .. });
        assert!(expected, "{error}");
        // SAFETY: it was mapped above.
        assert_eq!(unsafe { libc::munmap(hole, 4 * count) }, 0);
    });
}

#[test]
fn a_team_that_is_dropped_at_once_leaves_nothing_behind() {
    job(3, SHM, |context| {
        for round in 0..20 {
            let team = Team::world(context).unwrap();
            if round % 2 == 0 {
                team.start_barrier().unwrap().wait().unwrap();
            }
            drop(team);
        }
    });
}

#[test]
fn boards_go_by_the_limits_of_the_transport() {
    const SAID: &[(&str, &str)] = &[("LAPI_USE_SHM", "only"), ("LAPIS_SHM_COPIES", "near-past=3000")];
    job(2, SAID, |context| {
        let said = if context.is_crowded() { 0 } else { 3000 };
        assert_eq!(store_policy(context).past(), said);
    });
}

#[test]
fn nothing_on_a_board_overlaps() {
    for n in [1, 2, 63, 64, 65, 127, 128, 129, 1000, 5000] {
        let places = Places::of(n);
        assert!(LINE + n <= places.dozing, "{n} members: {places:?}");
        assert!(places.dozing + n.div_ceil(64) * 8 <= places.lines, "{n} members: {places:?}");
        assert!(places.lines + places.line_count * LINE <= places.areas, "{n} members: {places:?}");
        assert!(places.lines.is_multiple_of(LINE) && places.areas.is_multiple_of(PAGE));
        assert!(
            places.areas + places.area_count * AREA_STRIDE <= places.len && places.len.is_multiple_of(PAGE)
        );
        assert_eq!(places.len_of(n - 1), places.len + if n == 1 { places.hall.len } else { 0 });
        assert_eq!(places.hall.len > 0, n >= MEET_MEMBERS, "{n} members: {places:?}");
        assert!(places.hall.fits(n, places.len), "{n} members: {places:?}");
    }
}
