//! What callgrind counts for `cargo xtask bench instructions`.
//!
//! Two contexts in one thread talk to each other over shared memory, or by datagrams, so that
//! nobody waits and nothing depends on time. What is counted runs within [`lapis_counted`]:
//! [`BATCH`] times an operation, again and again, with what prepares and ends a batch outside of
//! it. For each operation this prints a line `operation<TAB>bytes<TAB>times` and brackets the
//! counted batches by [`lapis_begin`] and [`lapis_end`], which also ends each of the [`PARTS`] in
//! which they are counted. The first operation does nothing: what it costs is to be taken off the
//! others.

use lapi_r::abi::*;
use lapi_r::exports::*;
use lapis_collectives::{Call, CollectiveError, Combine, Operator, Team};
use lapis_core::bootstrap::{
    Address, Environment, Listener, Options, Server, ServerConfig, detect_in, random_secret,
};
use lapis_core::context::HandlerId;
use lapis_core::message::{GetArgs, PutArgs, Source};
use lapis_core::{Context, Counter, Delivery, Destination, Error, Notify};
use std::cell::Cell;
use std::ffi::{c_ulong, c_void};
use std::hint::black_box;
use std::ptr::{NonNull, null_mut};

type Result<T> = std::result::Result<T, Error>;

/// Counts messages of one packet, which are looked at where they are.
const BALL: HandlerId = HandlerId(1);
/// Counts longer ones, too.
const BALE: HandlerId = HandlerId(2);
/// The longest message of one packet here, in bytes.
const PACKET: usize = 16 << 10;
/// Operations of a batch. As many messages fit a lane, and are found there by one look at it.
const BATCH: u64 = 16;
const BATCHES: u64 = 120;
/// Parts of equal length, each counted by itself: `cargo xtask bench instructions` knows their
/// number and takes the median.
const PARTS: u64 = 5;
/// Batches before those that count: caches, biases and choices have settled by then.
const WARM_UP: u64 = 120;

thread_local! {
    static CAUGHT: Cell<u64> = const { Cell::new(0) };
}

/// What callgrind knows by name: it counts what runs within this function,
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lapis_counted(times: u64, operation: &mut Operation<'_>) {
    for _ in 0..times {
        (operation.0)();
    }
}

/// from here on,
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lapis_begin() {
    black_box("begin");
}

/// and writes down what it has counted when this is called. (Functions that do the same would be
/// one.)
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lapis_end() {
    black_box("end");
}

struct Operation<'a>(&'a mut dyn FnMut());

fn count(name: &str, bytes: usize, operation: impl FnMut()) {
    count_within(name, bytes, BATCH, || {}, operation, || {});
}

/// Counts batches of operations alone: `before` and `after` run around each.
fn count_within(
    name: &str,
    bytes: usize,
    times: u64,
    before: impl FnMut(),
    operation: impl FnMut(),
    after: impl FnMut(),
) {
    count_batches(name, bytes, (times, BATCH), before, operation, after);
}

/// The same where `operation` is called so many times in a batch, for so many operations.
fn count_batches(
    name: &str,
    bytes: usize,
    (times, operations): (u64, u64),
    mut before: impl FnMut(),
    mut operation: impl FnMut(),
    mut after: impl FnMut(),
) {
    println!("{name}\t{bytes}\t{}", BATCHES * operations);
    for batch in 0..WARM_UP + BATCHES {
        if batch == WARM_UP {
            lapis_begin();
        }
        before();
        lapis_counted(black_box(times), &mut Operation(&mut operation));
        after();
        if batch >= WARM_UP && (batch + 1 - WARM_UP).is_multiple_of(BATCHES / PARTS) {
            lapis_end();
        }
    }
}

fn join(server: &Address, secret: &str, task: &str, (over, trace): (&str, Option<&str>)) -> Result<Context> {
    let environment = Environment::of([
        ("LAPIS_KVS", &*server.to_string()),
        ("LAPIS_JOB_ID", "instructions"),
        ("LAPIS_JOB_SECRET", secret),
        ("LAPIS_TASK", task),
        ("LAPIS_TASKS", "2"),
    ]);
    let job = detect_in(&environment, &Options::default()).expect("the job's store");
    let builder = Context::builder().bootstrap(job).set("LAPIS_TRANSPORT", over).interrupts(false);
    let builder = match trace {
        Some(folder) => builder.set("LAPIS_TRACE", folder),
        None => builder,
    };
    let context = builder.transport(lapis_loopback::table()).init()?;
    context.set_handler(BALL, |_, _| {
        CAUGHT.set(CAUGHT.get() + 1);
        Delivery::bury()
    })?;
    context.set_handler(BALE, |_, message| {
        CAUGHT.set(CAUGHT.get() + 1);
        // Packets of one piece are looked at where they are; others need a place.
        thread_local! {
            static PLACE: Cell<*mut u8> = const { Cell::new(null_mut()) };
        }
        if PLACE.get().is_null() {
            PLACE.set(vec![0u8; 1 << 20].leak().as_mut_ptr());
        }
        match NonNull::new(PLACE.get()) {
            Some(place) if message.data().is_none() => {
                Delivery { into: Destination::Contiguous(place), ..Delivery::bury() }
            }
            _ => Delivery::bury(),
        }
    })?;
    context.gfence()?;
    Ok(context)
}

/// Two contexts of one job over a transport, which write traces into a folder if there is one.
fn pair(over: &str, trace: Option<&str>) -> Result<(Context, Context)> {
    let secret = random_secret().expect("random numbers");
    let hex: String = secret.iter().map(|b| format!("{b:02x}")).collect();
    let name = format!("unix:@lapis-instructions-{}-{over}-{}", std::process::id(), trace.is_some());
    let listener = Listener::bind(&name.parse().expect("an address")).expect("a socket");
    let server = Server::start(listener, ServerConfig::new(2, secret), |_| {}).expect("a store");
    let address = server.address().clone();
    // Lives as long as the process.
    std::mem::forget(server);
    let (a, b) = std::thread::scope(|scope| {
        let other = scope.spawn(|| join(&address, &hex, "1", (over, trace)));
        (join(&address, &hex, "0", (over, trace)), other.join().expect("the other task joins"))
    });
    Ok((a?, b?))
}

/// Lets both look at everything, which they do again some messages after: so each row begins at the
/// same place of that rhythm, however many messages went before it.
fn settle(a: &Context, b: &Context) {
    for context in [a, b, a, b] {
        while context.progress().expect("the peer is there").events > 0 {}
    }
}

/// Polls until all messages that are under way have come: one call finds what waits in a lane.
fn receive(context: &Context, until: u64) {
    while CAUGHT.get() < until {
        context.progress().expect("the peer is there");
    }
}

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

unsafe extern "C" fn nothing(
    _: *mut lapi_handle_t,
    _: *mut c_void,
    _: *mut u32,
    _: *mut c_ulong,
    _: *mut Option<compl_hndlr_t>,
    _: *mut *mut c_void,
) -> *mut c_void {
    null_mut()
}

/// Calls of the C interface, to the task itself.
fn calls_from_c() {
    let mut handle = 0;
    let (mut from, mut to, mut value) = (7u64, 0u64, 0);
    let (from, to) = ((&raw mut from).cast::<c_void>(), (&raw mut to).cast::<c_void>());
    let no_counter = null_mut();
    // SAFETY: all zero bytes are what the guide asks for; everything that is passed lives until the
    // end.
    unsafe {
        let mut info: lapi_info_t = std::mem::zeroed();
        assert_eq!(LAPI_Init(&mut handle, &mut info), LAPI_SUCCESS);
        LAPI_Senv(handle, INTERRUPT_SET, 0);
        LAPI_Addr_set(handle, nothing as *mut _, 1);
        count("C: LAPI_Qenv", 4, || {
            LAPI_Qenv(black_box(handle), INTERRUPT_SET, &mut value);
        });
        count("C: LAPI_Put to itself", 8, || {
            LAPI_Put(black_box(handle), 0, 8, to, from, no_counter, no_counter, no_counter);
        });
        count("C: LAPI_Amsend to itself, LAPI_Probe", 8, || {
            let handler = std::ptr::without_provenance_mut(1);
            let (header, length) = (null_mut(), 0);
            LAPI_Amsend(
                black_box(handle),
                0,
                handler,
                header,
                length,
                from,
                8,
                no_counter,
                no_counter,
                no_counter,
            );
            LAPI_Probe(handle);
        });
    }
}

fn main() -> Result<()> {
    count("nothing", 0, || {
        black_box(());
    });
    calls_from_c();
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
