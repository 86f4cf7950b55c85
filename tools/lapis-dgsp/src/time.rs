//! `lapis-dgsp time`: packs, unpacks and copies each shape with the engine, a hand-written loop,
//! memcpy and peer programs, in turn within every round, and prints medians and ratios.
#![allow(unsafe_code, reason = "times loops over raw memory")]

mod peer;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use clap::Args;
use lapis_bench::record::Record;
use lapis_bench::stats::Summary;
use lapis_dgsp::Registered;
use peer::Peer;

use crate::core::{Core, preemptions};
use crate::file::Failure;
use crate::shape::Shape;
use crate::shapes;

/// What is timed, and how.
#[derive(Args)]
pub(crate) struct TimeArgs {
    /// Print records of docs/bench-format.md, one per line, instead of a table.
    #[arg(long)]
    json: bool,
    /// Only these shapes.
    #[arg(long, value_delimiter = ',')]
    shapes: Vec<String>,
    /// Number of rounds, over which medians are taken.
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Minimum duration of one measurement, in microseconds.
    #[arg(long, default_value_t = 200)]
    micros: u64,
    /// Seconds to wait, in all, for rounds in which nothing else runs on the core; after that,
    /// disturbed rounds count as well.
    #[arg(long, default_value_t = 2.0)]
    patience: f64,
    /// A program that times the same shapes on request (see peers/mpi_pack.c), as NAME=COMMAND; may
    /// be repeated.
    #[arg(long, value_name = "NAME=COMMAND")]
    peer: Vec<String>,
}

/// What is timed. `copy` goes from one memory to another of the same layout; by hand, through a
/// packed buffer.
const DIRECTIONS: [&str; 3] = ["pack", "unpack", "copy"];

struct Row {
    shape: &'static str,
    direction: &'static str,
    bytes: usize,
    blocks: usize,
    /// Nanoseconds, by engine.
    times: BTreeMap<String, Summary>,
    /// Rounds that count although something else ran on the core: there were no others.
    disturbed: u64,
}

impl Row {
    /// Time of the others, divided by ours: above 1 we are faster.
    fn ratios(&self) -> impl Iterator<Item = (&str, f64)> {
        let ours = self.times["lapis"].median;
        let others = self.times.iter().filter(|(name, _)| *name != "lapis");
        others.map(move |(name, time)| (name.as_str(), time.median / ours))
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        self.times.iter().map(|(engine, &time)| {
            let bench = format!("dgsp_{}", self.direction);
            let (bench, peer) =
                if engine == "memcpy" { ("memcpy", "floor") } else { (bench.as_str(), engine.as_str()) };
            let record = Record::latency(bench, self.bytes as u64, time).of(peer, "memory");
            record.shaped(self.shape, self.blocks as u64).disturbed(self.disturbed)
        })
    }
}

pub(crate) fn run(args: &TimeArgs) -> Result<(), Failure> {
    let mut all = shapes::all()?;
    for name in &args.shapes {
        if !all.iter().any(|s| s.name == name) {
            let names: Vec<_> = all.iter().map(|s| s.name).collect();
            return Err(Failure::NoShape(name.clone(), names.join(", ")));
        }
    }
    all.retain(|s| args.shapes.is_empty() || args.shapes.iter().any(|n| n == s.name));
    let mut peers = args.peer.iter().map(|p| Peer::start(p)).collect::<Result<Vec<_>, _>>()?;
    let mut means: BTreeMap<String, (f64, u32)> = BTreeMap::new();
    let mut turns =
        Turns { core: Core::new(), patience: Duration::from_secs_f64(args.patience.clamp(0.0, 1e6)) };
    for shape in &all {
        let bench = Bench::new(shape)?;
        for direction in DIRECTIONS {
            let row = bench.rounds(direction, args, &mut peers, &mut turns)?;
            for (engine, ratio) in row.ratios().filter(|_| direction != "copy") {
                let mean = means.entry(engine.to_owned()).or_default();
                *mean = (mean.0 + ratio.ln(), mean.1 + 1);
            }
            print_row(&row, args.json);
        }
    }
    if !args.json {
        for (engine, (logs, n)) in means {
            println!("geometric mean, {engine} / lapis: {:.2}", (logs / f64::from(n)).exp());
        }
    }
    Ok(())
}

fn print_row(row: &Row, json: bool) {
    if json {
        row.records().for_each(|r| r.print());
        return;
    }
    print!("{:<15} {:<7} {:>8} B {:>6} blocks", row.shape, row.direction, row.bytes, row.blocks);
    print!("  lapis {:>9.0} ns", row.times["lapis"].median);
    for (engine, ratio) in row.ratios() {
        print!("  {engine} ×{ratio:.2}");
    }
    if row.disturbed > 0 {
        print!("  ({} disturbed rounds)", row.disturbed);
    }
    println!();
}

struct Bench<'s> {
    shape: &'s Shape,
    engine: Registered,
    blocks: usize,
}

impl<'s> Bench<'s> {
    fn new(shape: &'s Shape) -> Result<Self, Failure> {
        let desc = shape.layout.compile()?;
        let mut machine = lapis_dgsp::Machine::new(&desc)?;
        let (mut blocks, mut left) = (0, shape.bytes());
        while left > 0 {
            left -= machine.next_piece(left)?.len;
            blocks += 1;
        }
        let bench = Self { shape, engine: Registered::verified(desc)?, blocks };
        bench.check()?;
        Ok(bench)
    }

    /// The engine and the hand-written loops do the same.
    fn check(&self) -> Result<(), Failure> {
        let wrong =
            |direction| Failure::Wrong { shape: self.shape.name.to_owned(), direction, engine: "engine" };
        let mem: Vec<u8> = (0..self.shape.memory).map(|i| (i * 7 + i / 256) as u8).collect();
        let (mut a, mut b) = (vec![0; self.shape.bytes()], vec![1; self.shape.bytes()]);
        self.engine.pack_slice(&mem, 0, 0, &mut a)?;
        // SAFETY: memory and buffer have the shape's sizes; packing only reads the memory.
        unsafe { (self.shape.hand.pack)(self.shape, mem.as_ptr().cast_mut(), b.as_mut_ptr()) };
        if a != b {
            return Err(wrong("pack"));
        }
        let (mut x, mut y) = (vec![0; mem.len()], vec![0; mem.len()]);
        self.engine.unpack_slice(&mut x, 0, 0, &a)?;
        // SAFETY: memory and buffer have the shape's sizes.
        unsafe { (self.shape.hand.unpack)(self.shape, y.as_mut_ptr(), a.as_mut_ptr()) };
        if x != y {
            return Err(wrong("unpack"));
        }
        let mut z = vec![0; mem.len()];
        // SAFETY: both memories have the shape's size.
        let moved = unsafe {
            lapis_dgsp::copy(&self.engine, mem.as_ptr(), 0, &self.engine, z.as_mut_ptr(), 0, a.len())
        }?;
        if moved == a.len() && z == y { Ok(()) } else { Err(wrong("copy")) }
    }

    fn rounds(
        &self,
        direction: &'static str,
        args: &TimeArgs,
        peers: &mut [Peer],
        turns: &mut Turns,
    ) -> Result<Row, Failure> {
        let s = self.shape;
        let mut arena = Arena::new(s.memory, s.bytes(), 0);
        // Two memories of one job are seldom at the same place modulo a page, which would stall
        // every copy.
        let mut far = Arena::new(s.memory, s.bytes(), 1472);
        let mut rounds = Vec::new();
        for _ in 0..args.rounds.max(1) {
            rounds.push(
                turns
                    .quiet(|core| self.round(direction, args.micros, (&mut arena, &mut far), peers, core))?,
            );
        }
        let (times, disturbed) = sum_up(rounds);
        Ok(Row { shape: s.name, direction, bytes: s.bytes(), blocks: self.blocks, times, disturbed })
    }

    /// Every engine's turn, and whether nothing else ran on the core before and after each.
    fn round(
        &self,
        direction: &str,
        micros: u64,
        (arena, far): (&mut Arena, &mut Arena),
        peers: &mut [Peer],
        core: &mut Core,
    ) -> Result<(Round, bool), Failure> {
        let (mem, buf) = arena.halves();
        let (far_mem, other) = far.halves();
        let at = Places { mem: mem.as_mut_ptr(), buf: buf.as_mut_ptr(), far: far_mem.as_mut_ptr() };
        let least = Duration::from_micros(micros);
        let before = preemptions();
        let (mut round, mut alone) = (Round::new(), !core.shared());
        let mut note = |engine: &str, ns| {
            round.push((engine.to_owned(), ns));
            alone &= !core.shared();
        };
        // SAFETY: memories and buffer have the shape's sizes.
        note("lapis", unsafe { self.engine_time(direction, least, at) });
        // SAFETY: memories and buffer have the shape's sizes.
        note("hand", unsafe { self.hand_time(direction, least, at) });
        note("memcpy", time(least, || black_box(&mut *other).copy_from_slice(black_box(&*buf))));
        // Peers and we wake each other, which may count as preemption: theirs is not looked at.
        let undisturbed = preemptions() == before;
        for peer in peers.iter_mut().filter(|_| direction != "copy") {
            let ns = peer.time(direction, self.shape.name, micros)?;
            note(&peer.name, ns);
        }
        Ok((round, alone && undisturbed))
    }

    /// Which way the bytes go is decided before the clock starts: to look at it in every call takes
    /// as long as copying a hundred bytes.
    ///
    /// # Safety
    /// The places are alive, as [`Places`] says.
    unsafe fn engine_time(&self, direction: &str, least: Duration, at: Places) -> f64 {
        let Places { mem, buf, far } = at;
        let (engine, bytes) = (&self.engine, self.shape.bytes());
        // SAFETY: the caller's promise.
        let pack = || unsafe {
            let out = std::slice::from_raw_parts_mut(black_box(buf), bytes);
            black_box(black_box(engine).pack_into(black_box(mem), 0, out).is_ok());
        };
        // SAFETY: the caller's promise.
        let unpack = || unsafe {
            let data = std::slice::from_raw_parts(black_box(buf), bytes);
            black_box(black_box(engine).unpack_from(black_box(mem), 0, data).is_ok());
        };
        // SAFETY: the caller's promise.
        let copy = || unsafe {
            let done =
                lapis_dgsp::copy(black_box(engine), black_box(mem), 0, engine, black_box(far), 0, bytes);
            black_box(done.is_ok());
        };
        match direction {
            "pack" => time(least, pack),
            "unpack" => time(least, unpack),
            _ => time(least, copy),
        }
    }

    /// # Safety
    /// As `engine_time`.
    unsafe fn hand_time(&self, direction: &str, least: Duration, at: Places) -> f64 {
        let Places { mem, buf, far } = at;
        let (shape, hand) = (self.shape, self.shape.hand);
        // SAFETY: the caller's promise.
        let pack = || unsafe { black_box(hand.pack)(black_box(shape), black_box(mem), black_box(buf)) };
        // SAFETY: the caller's promise.
        let unpack = |to| unsafe { black_box(hand.unpack)(black_box(shape), black_box(to), black_box(buf)) };
        match direction {
            "pack" => time(least, pack),
            "unpack" => time(least, || unpack(mem)),
            _ => time(least, || {
                pack();
                unpack(far);
            }),
        }
    }
}

/// Where bytes are moved from and to: `mem` and `far` have the size of the shape's memory, `buf`
/// that of its bytes; none overlaps another.
#[derive(Clone, Copy)]
struct Places {
    mem: *mut u8,
    buf: *mut u8,
    far: *mut u8,
}

/// One time of each engine.
type Round = Vec<(String, f64)>;

/// The times of the rounds in which the core was our own; where there are none, of all, and how
/// many those are.
fn sum_up(rounds: Vec<(Round, bool)>) -> (BTreeMap<String, Summary>, u64) {
    let some = rounds.iter().any(|r| r.1);
    let disturbed = if some { 0 } else { rounds.len() as u64 };
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, ns) in rounds.into_iter().filter(|r| r.1 || !some).flat_map(|r| r.0) {
        times.entry(name).or_default().push(ns);
    }
    (times.into_iter().map(|(name, ns)| (name, Summary::of(&ns))).collect(), disturbed)
}

/// Takes rounds while the core is our own, for as long as there is patience.
struct Turns {
    core: Core,
    patience: Duration,
}

impl Turns {
    /// How long to wait before looking again: neighbours stay for a second or so.
    const PAUSE: Duration = Duration::from_millis(2);

    /// A round, and whether the core was our own all the time. One that was disturbed is taken
    /// again, so that all engines meet the same conditions.
    fn quiet(
        &mut self,
        mut round: impl FnMut(&mut Core) -> Result<(Round, bool), Failure>,
    ) -> Result<(Round, bool), Failure> {
        let mut start = Instant::now();
        loop {
            while !self.patience.is_zero() && self.core.shared() {
                std::thread::sleep(Self::PAUSE);
                self.spend(&mut start);
            }
            let (times, alone) = round(&mut self.core)?;
            if alone || self.patience.is_zero() {
                return Ok((times, alone));
            }
            self.spend(&mut start);
        }
    }

    fn spend(&mut self, since: &mut Instant) {
        self.patience = self.patience.saturating_sub(since.elapsed());
        *since = Instant::now();
    }
}

/// User memory and packed buffer on huge pages, at the same places as in the peer program: which
/// sets of the caches they fall into would else differ from process to process by more than the
/// engines do.
struct Arena {
    bytes: Vec<u8>,
    start: usize,
    memory: usize,
    buf: usize,
    packed: usize,
}

impl Arena {
    const HUGE: usize = 2 << 20;

    fn new(memory: usize, packed: usize, skew: usize) -> Self {
        // Off the memory's own line of the first-level cache.
        let buf = memory.next_multiple_of(4096) + 2112;
        let size = (skew + buf + packed).next_multiple_of(Self::HUGE);
        let mut bytes: Vec<u8> = Vec::with_capacity(size + Self::HUGE);
        let start = bytes.as_ptr().align_offset(Self::HUGE);
        // SAFETY: the advice concerns pages of our own allocation, which nobody has touched, and
        // changes no contents.
        let _ = unsafe {
            let pages = bytes.as_mut_ptr().wrapping_add(start).cast();
            rustix::mm::madvise(pages, size, rustix::mm::Advice::LinuxHugepage)
        };
        bytes.resize(size + Self::HUGE, 1);
        Self { bytes, start: start + skew, memory, buf, packed }
    }

    fn halves(&mut self) -> (&mut [u8], &mut [u8]) {
        let (mem, buf) = self.bytes[self.start..].split_at_mut(self.buf);
        (&mut mem[..self.memory], &mut buf[..self.packed])
    }
}

/// Nanoseconds of one call: calls are repeated until they take long enough to time, and then once
/// more, which counts. Whoever had the core before left his own lines in the caches, and two calls
/// don't bring all of ours back where they were.
fn time(least: Duration, mut call: impl FnMut()) -> f64 {
    let mut run = |calls: u32| {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        start.elapsed()
    };
    run(1);
    let mut calls = 1u32;
    loop {
        let took = run(calls);
        if took >= least {
            return run(calls).as_nanos() as f64 / f64::from(calls);
        }
        let scale = least.as_secs_f64() / took.as_secs_f64().max(1e-9);
        calls = (f64::from(calls) * (scale * 1.2).clamp(1.5, 100.0)).ceil() as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engine_and_hand_written_loop_agree_on_every_shape() {
        for shape in shapes::all().expect("the shapes are sound") {
            let bench = Bench::new(&shape).unwrap_or_else(|e| panic!("{e}"));
            assert!(bench.engine.is_compiled() && bench.blocks > 0, "{}", shape.name);
        }
    }

    #[test]
    fn a_round_times_all_engines() {
        let shape = shapes::all().expect("sound").remove(4);
        let (bench, peer) = (Bench::new(&shape).expect("sound"), Vec::new());
        let args = TimeArgs { json: true, shapes: Vec::new(), rounds: 3, micros: 1, patience: 0.0, peer };
        let mut turns = Turns { core: Core::new(), patience: Duration::ZERO };
        let row = bench.rounds("unpack", &args, &mut [], &mut turns).expect("no peer can fail");
        assert_eq!((row.bytes, row.blocks), (4080, 102));
        assert_eq!(row.times.keys().collect::<Vec<_>>(), ["hand", "lapis", "memcpy"]);
        assert!(row.times.values().all(|t| t.min > 0.0 && (1..=3).contains(&t.samples)));
        let floor = row.records().find(|r| r.peer == "floor").expect("memcpy is timed");
        assert_eq!(
            (floor.bench.as_str(), floor.shape.as_deref(), floor.blocks),
            ("memcpy", Some("nas_lu_y"), Some(102))
        );
    }

    #[test]
    fn disturbed_rounds_count_only_where_there_are_no_others() {
        let round = |ns, alone| (vec![("lapis".to_owned(), ns)], alone);
        let (times, disturbed) = sum_up(vec![round(9.0, false), round(2.0, true), round(4.0, true)]);
        assert_eq!((times["lapis"].median, times["lapis"].samples, disturbed), (3.0, 2, 0));
        let (times, disturbed) = sum_up(vec![round(9.0, false), round(5.0, false)]);
        assert_eq!((times["lapis"].median, disturbed), (7.0, 2));
    }

    #[test]
    fn disturbed_rounds_are_taken_again_while_there_is_patience() {
        let mut turns = Turns { core: Core::new(), patience: Duration::from_millis(500) };
        let mut rounds = 0;
        let mut take = |turns: &mut Turns, good: usize| {
            let taken = turns.quiet(|_| {
                rounds += 1;
                std::thread::sleep(Duration::from_millis(3));
                Ok((vec![("lapis".to_owned(), rounds as f64)], rounds == good))
            });
            taken.map(|(round, alone)| (round[0].1, alone)).expect("no round fails")
        };
        let (first, alone) = take(&mut turns, 3);
        // On a core that is never our own patience ends first.
        assert!((first, alone) == (3.0, true) || turns.patience.is_zero());
        turns.patience = Duration::ZERO;
        assert!(!take(&mut turns, 0).1, "without patience rounds are kept as they come");
    }

    #[test]
    fn a_peer_is_asked_and_answers() {
        let mut peer = Peer::start("echo=sed -u s/.*/12.5/").expect("sed is everywhere");
        assert_eq!(peer.time("pack", "column", 7).ok(), Some(12.5));
        let mut mute = Peer::start("mute=true").expect("true is everywhere");
        assert!(mute.time("pack", "column", 7).is_err());
        assert!(Peer::start("no command").is_err());
    }
}
