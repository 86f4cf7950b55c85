//! Measures the limits: two threads on two cores do what two tasks would.
//!
//! One thread stores messages in a ring that the other one reads, as the transport does, a few of
//! them under way: by ordinary stores and past the caches. Then the reader fetches from the other
//! one's memory by the kernel, and in comparison by one message alone in the ring. All of it is
//! done twice, and the time is taken for which the threads were without their cores: `trial.rs`
//! judges by it whether the figures count.

use crate::LEAST_PAST;
use crate::trial::{Figures, Row, Trial, is_away};
use lapis_core::sync::{AtomicU64, CachePadded, Ordering, spin_loop};
use lapis_core::transport::copy::copy_long;
use lapis_core::transport::lane::store_message;
use lapis_cross_memory::{Access, copy};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::time::{Duration, Instant};

/// Lengths of messages, in bytes.
const SIZES: [usize; 6] = [1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Bytes of the ring: more than second caches hold.
const RING: usize = 4 << 20;

/// Bytes from one line that is read alone to the next: no prefetch of one takes the other along.
const APART: usize = 256;

/// Messages under way in a stream.
const AHEAD: usize = 8;

/// Messages of a round: fewer where they are long.
fn round_of(bytes: usize) -> u64 {
    ((256 << 10) / bytes as u64).clamp(2, 32)
}

/// Measures for about so long: between the first two cores that this process may use, and, where
/// there are more, between the first and the last one. Nothing if there is one core only.
pub fn measure(budget: Duration) -> Vec<Trial> {
    let cores = cores();
    let (Some(first), Some(last)) = (cores.first().copied(), cores.last().copied()) else {
        return Vec::new();
    };
    let mut pairs: Vec<[usize; 2]> = cores.get(1).map(|second| [first, *second]).into_iter().collect();
    if cores.len() > 2 {
        pairs.push([first, last]);
    }
    let each = budget / pairs.len().max(1) as u32;
    pairs.into_iter().map(|pair| between(pair, each)).collect()
}

/// Cores that this thread may use.
fn cores() -> Vec<usize> {
    // SAFETY: a set of bits is valid with any, and the kernel writes no more than its length.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|core| libc::CPU_ISSET(*core, &set)).collect()
    }
}

/// Keeps this thread on a core. That it may not is no harm: the figures are what they are.
fn stay_on(core: usize) {
    // SAFETY: a set of bits is valid with any, and the kernel reads no more than its length.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// Bytes on lines of their own.
struct Bytes(*mut u8, usize);

// SAFETY: owned memory; who touches which part when is the measurement's business.
unsafe impl Send for Bytes {}
// SAFETY: shared, it is an address.
unsafe impl Sync for Bytes {}

impl Bytes {
    fn new(len: usize) -> Option<Self> {
        let layout = Layout::from_size_align(len, 4096).ok()?;
        // SAFETY: the length is not 0.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return None;
        }
        // SAFETY: just allocated. Each page is touched, so that no figure has the first touches.
        unsafe { start.write_bytes(1, len) };
        Some(Self(start, len))
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.0, Layout::from_size_align_unchecked(self.1, 4096)) };
    }
}

/// What the two threads share.
struct Pair {
    written: CachePadded<AtomicU64>,
    read: CachePadded<AtomicU64>,
    ring: Bytes,
    /// What is written, and where it is read to.
    ends: [Bytes; 2],
    /// The shortest read of a line that the other core has written, in nanoseconds.
    shortest: CachePadded<AtomicU64>,
    /// For how many nanoseconds either thread was without its core.
    away: [AtomicU64; 2],
}

/// Who looks at a number until it is large enough.
fn wait(number: &AtomicU64, least: u64) {
    let mut looks = 0u32;
    // SYNC: pairs with the Release stores of `written` and `read`.
    while number.load(Ordering::Acquire) < least {
        looks += 1;
        match looks.is_multiple_of(4096) {
            // Others may want the core.
            true => std::thread::yield_now(),
            false => spin_loop(),
        }
    }
}

/// A way of messages.
#[derive(Clone, Copy)]
enum Way {
    Line,
    /// A line of the ring is read, and timed as the transport times its reads.
    Read,
    Stream {
        past: bool,
    },
    Alone,
    Attach,
}

/// How long this thread has run so far, in nanoseconds.
fn ran() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a time, where one is.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Counts for how long a thread that never sleeps is without its core.
struct Watch<'a> {
    away: &'a AtomicU64,
    begun: Instant,
    ran: u64,
}

impl<'a> Watch<'a> {
    fn begin(away: &'a AtomicU64) -> Self {
        Self { away, begun: Instant::now(), ran: ran() }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let (passed, ran) = (self.begun.elapsed().as_nanos() as u64, ran() - self.ran);
        self.away.fetch_add(passed.saturating_sub(ran), Ordering::Relaxed);
    }
}

fn between(cores: [usize; 2], budget: Duration) -> Trial {
    let begun = Instant::now();
    let largest = SIZES[SIZES.len() - 1];
    let mut trial = Trial { cores, passes: Default::default(), away: Duration::ZERO, took: Duration::ZERO };
    let (Some(ring), Some(from), Some(to)) = (Bytes::new(RING), Bytes::new(largest), Bytes::new(largest))
    else {
        return trial;
    };
    let pair = Pair {
        written: CachePadded::new(AtomicU64::new(0)),
        read: CachePadded::new(AtomicU64::new(0)),
        ring,
        ends: [from, to],
        shortest: CachePadded::new(AtomicU64::new(u64::MAX)),
        away: [AtomicU64::new(0), AtomicU64::new(0)],
    };
    let each = budget / (trial.passes.len() as u32 * (4 * SIZES.len() as u32 + 2));
    for index in 0..trial.passes.len() {
        trial.passes[index] = pass(&pair, cores, each);
        let away = pair.away.iter().map(|away| away.load(Ordering::Relaxed)).max().unwrap_or(0);
        (trial.away, trial.took) = (Duration::from_nanos(away), begun.elapsed());
        // It would not count, whatever follows.
        if is_away(trial.away, trial.took) {
            break;
        }
    }
    trial
}

/// Each way at each length, for so long.
fn pass(pair: &Pair, cores: [usize; 2], each: Duration) -> Figures {
    let took = |way, bytes| best(pair, cores, way, bytes, each);
    // SAFETY: the first bytes of either end, which nobody else uses now.
    let may_attach = unsafe {
        let from = pair.ends[0].0.expose_provenance() as u64;
        copy(Access::Read, libc::getpid(), pair.ends[1].0, from, 8).is_ok()
    };
    let line = took(Way::Line, 8) as u32;
    pair.shortest.store(u64::MAX, Ordering::Relaxed);
    took(Way::Read, APART);
    let read = u32::try_from(pair.shortest.load(Ordering::Relaxed)).unwrap_or(0);
    let row = |bytes| Row {
        bytes,
        cached: took(Way::Stream { past: false }, bytes),
        past: took(Way::Stream { past: true }, bytes),
        alone: took(Way::Alone, bytes),
        attach: if may_attach { took(Way::Attach, bytes) } else { 0 },
    };
    Figures { line, read, rows: SIZES.map(row).into() }
}

/// The best round, in nanoseconds for each message.
fn best(pair: &Pair, cores: [usize; 2], way: Way, bytes: usize, budget: Duration) -> u64 {
    let mut best = u64::MAX;
    // SYNC: threads that start see them, those of the round before have ended.
    pair.written.store(0, Ordering::Relaxed);
    pair.read.store(0, Ordering::Relaxed);
    let rounds = AtomicU64::new(1);
    let length = round_of(bytes);
    std::thread::scope(|scope| {
        let rounds = &rounds;
        let reads = std::thread::Builder::new().spawn_scoped(scope, move || {
            stay_on(cores[1]);
            let _watch = Watch::begin(&pair.away[1]);
            read_rounds(pair, way, bytes, rounds);
        });
        if reads.is_err() {
            return;
        }
        let writes = std::thread::Builder::new().spawn_scoped(scope, || {
            stay_on(cores[0]);
            let _watch = Watch::begin(&pair.away[0]);
            let start = Instant::now();
            let mut round = 0;
            loop {
                let begun = Instant::now();
                (1..=length).for_each(|i| send(pair, way, bytes, round * length + i));
                wait(&pair.read, (round + 1) * length);
                best = best.min(begun.elapsed().as_nanos() as u64 / length);
                round += 1;
                if start.elapsed() >= budget && round > 1 {
                    break;
                }
                rounds.store(round + 1, Ordering::Relaxed);
            }
            rounds.store(round, Ordering::Relaxed);
            // SYNC: pairs with the Acquire load in `wait`: the last one is seen before.
            pair.written.store(round * length + 1, Ordering::Release);
        });
        if writes.is_err() {
            rounds.store(0, Ordering::Relaxed);
            // SYNC: pairs with the Acquire load in `wait`: that there are no rounds is seen before.
            pair.written.store(1, Ordering::Release);
        }
    });
    if best == u64::MAX {
        // The system has no more threads.
        return 0;
    }
    match way {
        // There and back.
        Way::Line => best / 2,
        _ => best,
    }
}

/// The reader's side of so many rounds.
fn read_rounds(pair: &Pair, way: Way, bytes: usize, rounds: &AtomicU64) {
    let length = round_of(bytes);
    for round in 0.. {
        wait(&pair.written, round * length + 1);
        // SYNC: read after `written`, before which it was stored.
        if round >= rounds.load(Ordering::Relaxed) {
            return;
        }
        (1..=length).for_each(|i| receive(pair, way, bytes, round * length + i));
    }
}

/// Where a message is in the ring.
fn place(pair: &Pair, bytes: usize, number: u64) -> *mut u8 {
    let slots = (RING / bytes) as u64;
    pair.ring.0.wrapping_add((number % slots) as usize * bytes)
}

fn send(pair: &Pair, way: Way, bytes: usize, number: u64) {
    let ahead = match way {
        Way::Stream { .. } => AHEAD.min(RING / bytes / 2) as u64,
        _ => 1,
    };
    wait(&pair.read, number.saturating_sub(ahead));
    // SAFETY: whole lines of the ring that the reader has given back, or memory that it does not
    // read now.
    unsafe {
        let past = if let Way::Stream { past: true } = way { LEAST_PAST } else { 0 };
        if matches!(way, Way::Alone | Way::Attach) {
            // As a program would, just before it sends: the kernel's copy finds it in this core's
            // caches, as the other way does.
            pair.ends[0].0.write_bytes(number as u8, bytes);
        }
        match way {
            Way::Line | Way::Attach => {}
            _ => {
                let from = std::slice::from_raw_parts(pair.ends[0].0, bytes);
                store_message(&[], from, place(pair, bytes, number), past);
            }
        }
    }
    // SYNC: pairs with the Acquire load in `wait`: the bytes come first.
    pair.written.store(number, Ordering::Release);
}

fn receive(pair: &Pair, way: Way, bytes: usize, number: u64) {
    wait(&pair.written, number);
    // SAFETY: the writer has stored as many bytes there, and stores no more before they are given
    // back; the other end is this thread's.
    unsafe {
        match way {
            Way::Line => {}
            Way::Read => {
                let begun = Instant::now();
                place(pair, bytes, number).cast::<u64>().read_volatile();
                let took = begun.elapsed().as_nanos() as u64;
                pair.shortest.fetch_min(took, Ordering::Relaxed);
            }
            Way::Attach => {
                let from = pair.ends[0].0.expose_provenance() as u64;
                // Refused, it takes the time of a call, and the transport finds out for itself.
                let _ = copy(Access::Read, libc::getpid(), pair.ends[1].0, from, bytes);
            }
            _ => copy_long(place(pair, bytes, number), pair.ends[1].0, bytes),
        }
    }
    // SYNC: pairs with the Acquire load in `wait`: what was read is read.
    pair.read.store(number, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_measured_on_two_cores() {
        let all = measure(Duration::from_millis(20));
        assert_eq!(all.is_empty(), cores().len() < 2);
        for one in all {
            let passes = if is_away(one.away, one.took) { 1 } else { 2 };
            let rows = one.passes[..passes].iter().flat_map(|pass| &pass.rows);
            assert_eq!(rows.clone().map(|row| row.bytes).collect::<Vec<_>>(), SIZES.repeat(passes));
            assert!(rows.clone().all(|row| row.cached > 0 && row.past > 0 && row.alone > 0), "{one:?}");
            assert!(one.away < one.took, "{one:?}");
        }
    }
}
