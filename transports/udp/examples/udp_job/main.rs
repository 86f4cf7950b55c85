//! Jobs over UDP for the tests: `udp_job -n 2 udp_job task mix 50` is launcher and task in one
//! file.

mod answer;
mod attack;
mod lend;
mod restart;

use lapis::{Context, Delivery, Destination, Error, HandlerId, RemoteMemory, Result};
use lapis_patience::Patience;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const DATA: HandlerId = HandlerId(1);
const PONG: HandlerId = HandlerId(2);

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) != Some("task") {
        return lapirun::cli::main();
    }
    let number = |at: usize, default: u64| args.get(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let outcome = match args.get(2).map_or("", String::as_str) {
        "mix" => mix(number(3, 20)),
        "mix-again" => restart::recreated(number(3, 5)),
        "stream" => stream(number(3, 100), number(4, 1 << 20)),
        "flood" => flood(number(3, 100_000)),
        "pingpong" => pingpong(number(3, 20_000)),
        "silence" => silence(number(3, 1), args.get(4).is_some()),
        "lend" => lend::run(number(3, 9)),
        "answer" => answer::run(number(3, 1000)),
        "purge" => purge(),
        "unreachable" => unreachable(),
        "die" => die(),
        "storm" => storm(number(3, 100_000)),
        "cut" => cut(),
        "watch" => watch(),
        "paths" => paths(),
        "reborn" => restart::run(restart::Signs::of(&args[3..]).as_ref()),
        "reborn-fenced" => restart::fenced(),
        "teams" => restart::teams(),
        other => panic!("unknown scenario {other}"),
    };
    match outcome {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("failed: {e}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn interrupts() -> bool {
    std::env::var("UDP_JOB_INTERRUPTS").is_ok()
}

fn join() -> Result<Context> {
    lapis::builder().transport(lapis_udp::table()).interrupts(interrupts()).init()
}

/// Bytes that tell who sent them and which message they are.
fn pattern(seed: u64, len: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = vec![0; len];
    for chunk in bytes.chunks_mut(8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        chunk.copy_from_slice(&x.to_le_bytes()[..chunk.len()]);
    }
    bytes
}

const SIZES: [usize; 14] = [0, 1, 7, 8, 100, 1000, 1100, 1400, 4096, 8190, 8300, 20_000, 300_000, 2_000_000];

/// What arrived: messages and bytes, and what was wrong.
#[derive(Default)]
struct Tally {
    messages: AtomicU64,
    bytes: AtomicU64,
    faults: AtomicU64,
    seen: Mutex<std::collections::HashSet<(u32, u32)>>,
}

fn receive(context: &Context) -> Result<Arc<Tally>> {
    let tally = Arc::new(Tally::default());
    let here = Arc::clone(&tally);
    context.set_handler(DATA, move |_, message| {
        let word = |at: usize| u32::from_le_bytes(message.user_header[at..at + 4].try_into().unwrap());
        let (number, source) = (word(0), message.source);
        if message.user_header[8..].iter().any(|b| *b != number as u8) {
            here.faults.fetch_add(1, Ordering::Relaxed);
        }
        let len = message.len as usize;
        let mut buffer = vec![0u8; len].into_boxed_slice();
        let into = NonNull::new(buffer.as_mut_ptr()).map_or(Destination::Discard, Destination::Contiguous);
        let here = Arc::clone(&here);
        Delivery { into, ..Delivery::bury() }.then(move |_| {
            let expected = pattern(u64::from(source) << 32 | u64::from(number), buffer.len());
            let fresh = here.seen.lock().unwrap().insert((source, number));
            if *buffer != expected[..] || !fresh {
                here.faults.fetch_add(1, Ordering::Relaxed);
            }
            here.bytes.fetch_add(buffer.len() as u64, Ordering::Relaxed);
            here.messages.fetch_add(1, Ordering::Relaxed);
        })
    })?;
    Ok(tally)
}

fn remotes(context: &Context, mine: RemoteMemory) -> Result<Vec<RemoteMemory>> {
    let all = context.all_gather(&mine.to_bytes())?;
    Ok(all
        .chunks_exact(RemoteMemory::SIZE)
        .map(|c| RemoteMemory::from_bytes(c.try_into().expect("the right size")))
        .collect())
}

/// Messages of all sizes, puts, gets and atomics from everybody to everybody, each checked.
fn mix(rounds: u64) -> Result<()> {
    let context = join()?;
    let (me, tasks) = (context.task(), context.tasks());
    let tally = receive(&context)?;
    let window = 3_000_000;
    let memory = context.alloc(64 + window * tasks as usize)?;
    let peers = remotes(&context, memory.remote())?;
    context.gfence()?;
    let (mut sent, mut bytes) = (0u64, 0u64);
    for round in 0..rounds {
        for step in 1..tasks {
            let to = (me + step) % tasks;
            // Long ones rarely: their share of the time is large enough.
            let kinds = if round % 10 == 9 { SIZES.len() } else { SIZES.len() - 2 };
            for size in &SIZES[..kinds] {
                let number = sent as u32;
                let mut header = vec![number as u8; 8 + 4 * (sent as usize % 250)];
                header[..4].copy_from_slice(&number.to_le_bytes());
                let data = pattern(u64::from(me) << 32 | u64::from(number), *size);
                context.send(to, DATA, &header, &data)?;
                (sent, bytes) = (sent + 1, bytes + *size as u64);
            }
            let at = peers[to as usize];
            context.fetch_add(at.part(0, 8).expect("within"), 1)?;
            let size = SIZES[(round as usize + step as usize) % SIZES.len()];
            let place = at.part((64 + window * me as usize) as u64, size as u64).expect("within");
            let data = pattern(round << 8 | u64::from(me), size);
            context.put_bytes(place, &data)?;
            context.fence()?;
            let mut back = vec![0; size];
            context.get_bytes(place, &mut back)?;
            assert!(back == data, "task {me}: {size} bytes put to {to} and got back differ");
        }
    }
    context.gfence()?;
    let others = u64::from(tasks - 1);
    // All send the same number of messages of the same sizes.
    wait_patiently(&context, || tally.messages.load(Ordering::Relaxed) >= sent)?;
    let got = tally.messages.load(Ordering::Relaxed);
    assert_eq!((got, tally.faults.load(Ordering::Relaxed)), (sent, 0), "messages and faults at task {me}");
    assert_eq!(tally.bytes.load(Ordering::Relaxed), bytes);
    assert_eq!(memory.atomic_u64(0).load(Ordering::Relaxed), rounds * others);
    let s = context.statistics().total();
    let over = context.transport_to((me + 1) % tasks).unwrap_or("?");
    println!("ok task {me} over {over} resent {} duplicates {}", s.retransmissions, s.duplicates);
    context.gfence()
}

/// Task 0 sends messages of one size to task 1 and says how fast they were.
fn stream(count: u64, size: u64) -> Result<()> {
    let context = join()?;
    let arrived = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&arrived);
    let buffer = Arc::new(Mutex::new(vec![0u8; size as usize]));
    let place = buffer.lock().unwrap().as_mut_ptr().expose_provenance();
    context.set_handler(DATA, move |_, message| {
        if message.data().is_some() {
            here.fetch_add(1, Ordering::Relaxed);
            return Delivery::bury();
        }
        let here = Arc::clone(&here);
        let into = NonNull::new(std::ptr::with_exposed_provenance_mut::<u8>(place));
        let run = lapis::Run::Inline;
        let into = into.map_or(Destination::Discard, Destination::Contiguous);
        let mut delivery = Delivery { into, ..Delivery::bury() }.then(move |_| {
            here.fetch_add(1, Ordering::Relaxed);
        });
        delivery.run = run;
        delivery
    })?;
    context.gfence()?;
    let start = Instant::now();
    match context.task() {
        0 => {
            let data = pattern(7, size as usize);
            for _ in 0..count {
                context.send(1, DATA, &[], &data)?;
            }
            context.fence()?;
            let s = start.elapsed().as_secs_f64();
            let totals = context.statistics().total();
            println!(
                "{:.3} M/s {:.3} GB/s of {size} bytes; resent {} in {s:.2} s",
                count as f64 / s / 1e6,
                (count * size) as f64 / s / 1e9,
                totals.retransmissions
            );
        }
        1 => context.wait_until(|| arrived.load(Ordering::Relaxed) >= count)?,
        _ => {}
    }
    context.gfence()
}

/// Small messages from everybody to everybody as fast as they go.
fn flood(count: u64) -> Result<()> {
    let context = join()?;
    let sum = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&sum);
    context.set_handler(DATA, move |_, message| {
        let bytes = message.data().and_then(|d| d.try_into().ok()).unwrap_or([0; 8]);
        here.fetch_add(u64::from_le_bytes(bytes), Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    let (me, tasks) = (context.task(), context.tasks());
    let start = Instant::now();
    for n in 0..count {
        let to = (me + 1 + (n % u64::from(tasks - 1)) as u32) % tasks;
        context.send(to, DATA, &[], &n.to_le_bytes())?;
    }
    context.gfence()?;
    let rate = count as f64 / start.elapsed().as_secs_f64() / 1e6;
    let all = context.all_gather(&sum.load(Ordering::Relaxed).to_le_bytes())?;
    let total: u64 = all.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).sum();
    assert_eq!(total, u64::from(tasks) * (count * (count - 1) / 2), "something was lost or came twice");
    let s = context.statistics().total();
    println!("ok task {me} {rate:.3} M/s resent {} duplicates {}", s.retransmissions, s.duplicates);
    Ok(())
}

fn pingpong(rounds: u64) -> Result<()> {
    let context = join()?;
    let caught = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&caught);
    context.set_handler(PONG, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    let (me, mut times) = (context.task(), Vec::new());
    for round in 1..=rounds {
        let start = Instant::now();
        if me == 0 {
            context.send(1, PONG, &[], &round.to_le_bytes())?;
        }
        context.wait_until(|| caught.load(Ordering::Relaxed) >= round)?;
        if me == 1 {
            context.send(0, PONG, &[], &round.to_le_bytes())?;
        }
        times.push(start.elapsed().as_nanos() as u64);
    }
    if me == 0 {
        times.sort_unstable();
        let at = |p: f64| times[((times.len() - 1) as f64 * p) as usize] as f64 / 1e3;
        let s = context.statistics().total();
        println!(
            "round trip: median {:.2} us, p99 {:.2} us, p99.9 {:.2} us; resent {}",
            at(0.5),
            at(0.99),
            at(0.999),
            s.retransmissions
        );
    }
    context.gfence()
}

/// The flood, while a stranger on the same machine sends recorded, torn, spoilt and senseless
/// datagrams to all tasks.
fn storm(count: u64) -> Result<()> {
    let context = join()?;
    let sum = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&sum);
    context.set_handler(DATA, move |_, message| {
        let bytes = message.data().and_then(|d| d.try_into().ok()).unwrap_or([0; 8]);
        here.fetch_add(u64::from_le_bytes(bytes), Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    let (me, tasks) = (context.task(), context.tasks());
    let attack = (me == 0).then(|| attack::Attack::start().expect("a raw socket, which needs root"));
    let mut memory = Vec::new();
    for part in 0..10 {
        for n in 0..count / 10 {
            let to = (me + 1 + (n % u64::from(tasks - 1)) as u32) % tasks;
            context.send(to, DATA, &[], &n.to_le_bytes())?;
        }
        context.gfence()?;
        if part >= 4 {
            memory.push(resident());
        }
    }
    let sent = attack.map_or(0, attack::Attack::stop);
    context.gfence()?;
    let n = count / 10;
    let all = context.all_gather(&sum.load(Ordering::Relaxed).to_le_bytes())?;
    let total: u64 = all.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).sum();
    assert_eq!(total, u64::from(tasks) * 10 * (n * (n - 1) / 2), "something was lost or came twice");
    let growth = memory[memory.len() - 1].saturating_sub(memory[0]);
    assert!(growth < 4 << 20, "memory grew by {growth} bytes: {memory:?}");
    let (refused, s) = (context.statistics().refused_datagrams(), context.statistics().total());
    println!("ok task {me} refused {refused} duplicates {} attacked {sent}", s.duplicates);
    context.gfence()
}

/// Bytes of memory in use.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Task 1 stops answering; task 0 hears of it from its error handler after TIMEOUT, be it that a
/// message is not acknowledged or that what was acknowledged is not answered.
fn silence(patient: u64, acknowledges: bool) -> Result<()> {
    let told = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&told);
    let context = lapis::builder()
        .transport(lapis_udp::table())
        .interrupts(false)
        .on_error(move |_, error, peer| {
            println!("told of task {peer}: {error}");
            // Patience for so many times.
            here.fetch_add(1, Ordering::Relaxed) + 1 < patient
        })
        .init()?;
    context.gfence()?;
    if context.task() == 1 {
        let start = Instant::now();
        while acknowledges && start.elapsed() < Duration::from_secs(1) {
            context.progress()?;
        }
        // Not a word, and no progress.
        std::thread::sleep(Duration::from_secs(3600));
    }
    let outcome = match acknowledges {
        true => context.gfence(),
        false => context.send(1, DATA, &[], &[1]).and_then(|()| context.fence()),
    };
    assert!(matches!(outcome, Err(Error::TargetDown { task: 1, .. })), "{outcome:?}");
    assert_eq!(told.load(Ordering::Relaxed), patient + 1);
    println!("ok");
    // Ends the sleeper, too.
    std::process::exit(3);
}

/// Task 0 purges task 1 in the midst of traffic, resumes it, and all is well again.
fn purge() -> Result<()> {
    let context = join()?;
    let tally = receive(&context)?;
    context.gfence()?;
    let me = context.task();
    let number = |n: u32| {
        let mut header = vec![n as u8; 12];
        header[..4].copy_from_slice(&n.to_le_bytes());
        (header, pattern(u64::from(me) << 32 | u64::from(n), 5000))
    };
    if me == 0 {
        for n in 0..200 {
            let (header, data) = number(n);
            context.send(1, DATA, &header, &data)?;
        }
        context.purge(1)?;
        let (header, data) = number(999);
        assert!(matches!(context.send(1, DATA, &header, &data), Err(Error::Purged { task: 1 })));
        std::thread::sleep(Duration::from_millis(50));
        context.resume(1)?;
        for n in 1000..1200 {
            let (header, data) = number(n);
            context.send(1, DATA, &header, &data)?;
        }
        context.fence()?;
        println!("ok task 0");
    } else {
        let done = || {
            let seen = tally.seen.lock().unwrap();
            (1000..1200).all(|n| seen.contains(&(0, n)))
        };
        assert!(wait_patiently(&context, done)?, "messages after the resumption are missing");
        assert_eq!(tally.faults.load(Ordering::Relaxed), 0);
        let (header, data) = number(1);
        context.send(0, DATA, &header, &data)?;
        context.fence()?;
        println!("ok task 1");
    }
    context.gfence()
}

/// The tasks are cut off from each other in the midst of traffic, and are told.
fn cut() -> Result<()> {
    let told = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&told);
    let context = lapis::builder()
        .transport(lapis_udp::table())
        .interrupts(false)
        .on_error(move |_, error, peer| {
            println!("told of task {peer}: {error}");
            here.fetch_add(1, Ordering::Relaxed);
            true
        })
        .init()?;
    let _tally = receive(&context)?;
    context.gfence()?;
    let other = 1 - context.task();
    println!("streaming");
    let header = [0u8; 12];
    let told = || told.load(Ordering::Relaxed) > 0;
    let mut left = 1500; // Fewer than would fill the window: a send that waits for room would wait for ever.
    while !told() {
        context.wait_quietly(told, Some(Instant::now() + Duration::from_millis(1)))?;
        if left > 0 && !told() {
            context.send(other, DATA, &header, &[7; 100])?;
            left -= 1;
        }
    }
    context.purge(other)?;
    println!("ok cut");
    std::process::exit(0)
}

/// Waits until `done` says so (true), or for half a minute of this process' own time.
fn wait_patiently(context: &Context, mut done: impl FnMut() -> bool) -> Result<bool> {
    let mut patience = Patience::with_myself(Duration::from_secs(30));
    loop {
        let glance = Instant::now() + Duration::from_millis(100);
        let found = context.wait_quietly(&mut done, Some(glance))?;
        if found || patience.is_over() {
            return Ok(found);
        }
    }
}

/// Task 0 says which of its paths carry data, whenever that changes, and ends when it has seen one
/// go and come back. Nothing is sent meanwhile: only the link can tell.
fn watch() -> Result<()> {
    let context = join()?;
    context.gfence()?;
    if context.task() == 0 {
        let (mut before, mut changes) = (Vec::new(), 0);
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while changes < 3 {
            assert!(!patience.is_over(), "the paths stay as they are: {before:?}");
            let glance = Instant::now() + Duration::from_millis(50);
            context.wait_quietly(|| context.paths_to(1) != before, Some(glance))?;
            let now = context.paths_to(1);
            if now != before {
                println!("paths {now:?}");
                (before, changes) = (now, changes + 1);
            }
        }
    }
    println!("ok task {}", context.task());
    context.gfence()
}

/// Says which paths lead to the next task once data has gone both ways.
fn paths() -> Result<()> {
    let context = join()?;
    context.gfence()?;
    let next = (context.task() + 1) % context.tasks();
    println!("paths {:?}", context.paths_to(next));
    context.gfence()
}

fn unreachable() -> Result<()> {
    match join() {
        Err(e) => println!("{}", e.with_causes()),
        Ok(_) => panic!("nobody can be reached, yet initialisation went well"),
    }
    std::process::exit(0)
}

/// Task 1 dies in the midst of traffic; the launcher ends the rest.
fn die() -> Result<()> {
    let context = join()?;
    let _tally = receive(&context)?;
    context.gfence()?;
    if context.task() == 1 {
        std::process::abort();
    }
    let mut header = [0u8; 12];
    loop {
        header[0] = header[0].wrapping_add(1);
        context.send(1, DATA, &header, &[7; 1000])?;
    }
}
