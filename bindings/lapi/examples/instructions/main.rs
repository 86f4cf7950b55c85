//! What callgrind counts for `cargo xtask bench instructions`.
//!
//! Two contexts in one thread talk to each other over shared memory, or by datagrams, so that
//! nobody waits and nothing depends on time. What is counted runs within
//! [`lapis_counted`](counting::lapis_counted): [`BATCH`] times an operation, again and again, with
//! what prepares and ends a batch outside of it. For each operation this prints a line
//! `operation<TAB>bytes<TAB>times` and brackets the counted batches by `lapis_begin` and
//! `lapis_end`, which also ends each of the parts in which they are counted. The first operation
//! does nothing: what it costs is to be taken off the others.

mod counting;
mod from_c;
mod jobs;

use counting::{BATCH, count, count_batches, count_within};
use jobs::{BALE, BALL, CAUGHT, Result, pair, receive, settle};
use lapis_collectives::{Call, CollectiveError, Combine, Operator, Team};
use lapis_core::message::{GetArgs, PutArgs, RmwArgs, Source};
use lapis_core::transport::RmwOp;
use lapis_core::{Context, Counter, Destination, Notify};
use std::cell::Cell;
use std::hint::black_box;
use std::ptr::{NonNull, null_mut};

/// The longest message of one packet here, in bytes.
const PACKET: usize = 16 << 10;

/// Messages of several sizes; `what` begins the rows' names.
fn messages(a: &Context, b: &Context, what: &str, sizes: &[usize]) {
    let data = vec![7; 32 << 10];
    for &bytes in sizes {
        let data = &data[..bytes];
        let name = |row: &str| format!("{what}: {row}");
        let handler = if bytes > PACKET { BALE } else { BALL };
        let send = move |from: &Context, to: u32| {
            from.send(to, handler, &[], data).expect("the peer is there");
        };
        let to = b.task();
        let all = || CAUGHT.get() + BATCH;
        let batch = move || (0..BATCH).for_each(|_| send(a, to));
        let end = Cell::new(0);
        settle(a, b);
        count_within(
            &name("send"),
            bytes,
            BATCH,
            || end.set(all()),
            move || send(a, to),
            || receive(b, end.get()),
        );
        let sent = || {
            end.set(all());
            batch();
        };
        settle(a, b);
        count_within(&name("receive"), bytes, 1, sent, || receive(b, end.get()), || {});
        let both = || {
            sent();
            receive(b, end.get());
        };
        settle(a, b);
        count_within(&name("one way"), bytes, 1, || {}, both, || {});
        settle(a, b);
        // Two messages, of which half is reported.
        count(&name("to and fro, waiting"), bytes, || {
            for (from, to) in [(a, b), (b, a)] {
                let before = CAUGHT.get();
                send(from, to.task());
                to.wait_until(|| CAUGHT.get() != before).expect("the message comes");
            }
        });
    }
}

/// Messages that travel alone, each the answer to the one before, in datagrams.
fn datagrams(a: &Context, b: &Context) {
    let send = |from: &Context, to: &Context| {
        from.send(to.task(), BALL, &[], &[7; 8]).expect("the peer is there");
    };
    let catch = |at: &Context, since: u64| {
        at.wait_until(|| CAUGHT.get() != since).expect("the message comes");
    };
    let travel = |from: &Context, to: &Context| {
        let before = CAUGHT.get();
        send(from, to);
        catch(to, before);
    };
    let both = || [(a, b), (b, a)].into_iter().for_each(|(from, to)| travel(from, to));
    let since = Cell::new(0);
    settle(a, b);
    let before = || since.set(CAUGHT.get());
    let after = || {
        catch(b, since.get());
        travel(b, a);
    };
    count_batches("datagram: send", 8, (1, 1), before, || send(a, b), after);
    settle(a, b);
    let before = || {
        since.set(CAUGHT.get());
        send(a, b);
    };
    count_batches("datagram: receive", 8, (1, 1), before, || catch(b, since.get()), || travel(b, a));
    settle(a, b);
    // Two messages, of which half is reported.
    count("datagram: to and fro, waiting", 8, both);
}

fn put_and_get(a: &Context, b: &Context) -> Result<()> {
    let shared = b.alloc(64)?;
    let heap = vec![0u64; 8].leak();
    let here = vec![0u64; 8].leak();
    let (from, done) = (here.as_ptr().cast::<u8>(), Counter::new(0));
    let mapped = shared.remote();
    let mut eight = [1; 8];
    count("put, mapped memory", 8, || a.put_bytes(mapped, black_box(&eight)).expect("it is mapped"));
    count("get, mapped memory", 8, || a.get_bytes(mapped, black_box(&mut eight)).expect("it is mapped"));
    let add = || RmwArgs {
        target: 1,
        op: RmwOp::FetchAndAdd,
        width: 8,
        remote: shared.as_ptr().addr() as u64,
        operand: 1,
        compare: 0,
        previous: null_mut(),
        swap_answers_success: true,
        origin: Notify::None,
        checked: false,
    };
    count("fetch and add, mapped memory", 8, || {
        // SAFETY: the variable lives until the process ends.
        unsafe { a.rmw(black_box(add())) }.expect("it is mapped");
    });
    let remote = heap.as_ptr().addr() as u64;
    settle(a, b);
    let put = || PutArgs {
        target: 1,
        remote,
        source: Source::Contiguous(from, 8),
        target_counter: 0,
        origin: Notify::None,
        completion: Notify::None,
        checked: false,
    };
    count("put, any memory", 8, || {
        // SAFETY: both places live until the process ends.
        unsafe { a.put(black_box(put())) }.expect("the peer is there");
        b.progress().expect("there is something");
    });
    let get = || GetArgs {
        target: 1,
        remote,
        len: 8,
        destination: Destination::Contiguous(NonNull::from(&*here).cast()),
        target_counter: 0,
        origin: Notify::counter(&raw const done),
        checked: false,
    };
    settle(a, b);
    count("get, any memory", 8, || {
        // SAFETY: both contexts are this program's, and the memory outlives them; nobody else uses
        // what is written.
        unsafe { a.get(black_box(get())) }.expect("the peer is there");
        b.progress().expect("there is something");
        a.wait_counter(&done, 1).expect("the answer comes");
    });
    Ok(())
}

/// Collectives of both tasks, which block at one of them. The other one has begun its call before,
/// so that nobody waits.
fn collectives(a: &Context, b: &Context) -> std::result::Result<(), CollectiveError> {
    let teams = [Team::world(a)?, Team::world(b)?];
    // Both find each other's memory by messages.
    let mut first = [teams[0].start_barrier()?, teams[1].start_barrier()?];
    while [first[0].test()?, first[1].test()?] != [true; 2] {}
    let [team, other] = &teams;
    let begun = Cell::new(None);
    let count = |name: &str, call: Call<'_>, by: Option<Operator>, blocking: &mut dyn FnMut()| {
        let begin = || {
            let by = by.map(Combine::<f64>::from);
            begun.set(Some(other.start(&call, by, vec![1.0], vec![1.0]).expect("it begins")));
        };
        let end = || {
            begun.take().map(|call| call.wait().expect("it ends"));
        };
        let bytes = if matches!(call, Call::Barrier) { 0 } else { 8 };
        count_batches(&format!("collective: {name}"), bytes, (1, 1), begin, blocking, end);
    };
    let (mut data, given) = ([1.0], [1.0]);
    count("barrier", Call::Barrier, None, &mut || team.barrier().expect("all call"));
    for (name, root) in [("broadcast to others", 0), ("broadcast from another", 1)] {
        count(name, Call::Broadcast { root, count: 1 }, None, &mut || {
            team.broadcast(black_box(&mut data), root).expect("all call");
        });
    }
    count("allreduce", Call::AllReduce { count: 1 }, Some(Operator::Sum), &mut || {
        team.all_reduce_into(black_box(&given), &mut data, Operator::Sum).expect("all call");
    });
    count("reduce", Call::Reduce { root: 0, count: 1 }, Some(Operator::Sum), &mut || {
        team.reduce(black_box(&given), &mut data, Operator::Sum, 0).expect("all call");
    });
    Ok(())
}

fn main() -> Result<()> {
    count("nothing", 0, || {
        black_box(());
    });
    from_c::to_itself();
    from_c::to_another()?;
    let (a, b) = pair("shm", None)?;
    messages(&a, &b, "message", &[8, 64, 200, 1 << 10, 4 << 10, 16 << 10, 32 << 10]);
    put_and_get(&a, &b)?;
    let (c, d) = pair("udp", None)?;
    datagrams(&c, &d);
    collectives(&a, &b).expect("collectives of both");
    // What traces cost is held against the rows of the same names.
    let folder = std::env::temp_dir().join(format!("lapis-instructions-{}", std::process::id()));
    let (a, b) = pair("shm", folder.to_str())?;
    messages(&a, &b, "traced message", &[8]);
    assert_eq!(std::fs::read_dir(&folder).map(Iterator::count).ok(), Some(2), "a trace of each task");
    let _ = std::fs::remove_dir_all(&folder);
    std::process::exit(0)
}
