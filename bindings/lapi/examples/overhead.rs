//! What the C entry costs above the Rust call: both do the same operation on the task itself, in
//! turns.
//!
//!     cargo run --release -p lapis-lapi --example overhead
//!
//! With `--json` it prints the differences of put, read-modify-write and active message as
//! `cargo xtask bench` reads them (docs/bench-format.md).

use lapi_r::abi::*;
use lapi_r::exports::*;
use lapis_core::message::{AmSend, PutArgs, RmwArgs, Source};
use lapis_core::transport::RmwOp;
use lapis_core::{Context, Counter, Notify};
use std::hint::black_box;
use std::ptr::null_mut;
use std::time::Instant;

const CALLS: u32 = 200_000;
const ROUNDS: usize = 21;

/// Calls between two pauses, which aren't measured.
const BURST: u32 = 64;

/// Nanoseconds per call, the median of rounds that take turns. What the pauses do is not measured.
fn compare(name: &str, c: impl FnMut(), rust: impl FnMut()) {
    compare_with_pauses(name, (c, || ()), (rust, || ()));
}

fn compare_with_pauses(
    name: &str,
    (mut c, mut c_pause): (impl FnMut(), impl FnMut()),
    (mut rust, mut rust_pause): (impl FnMut(), impl FnMut()),
) {
    let mut results = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let (c, rust) = (measure(&mut c, &mut c_pause), measure(&mut rust, &mut rust_pause));
        [c, rust, c - rust].iter().zip(&mut results).for_each(|(time, times)| times.push(*time));
    }
    results.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let [c, rust, above] = results.each_ref().map(|times| times[ROUNDS / 2]);
    if !std::env::args().any(|word| word == "--json") {
        println!("{name:<12} C {c:7.1} ns   Rust {rust:7.1} ns   difference {above:5.1} ns");
    } else if let Some((call, "8")) = name.split_once(' ') {
        let (least, most) = (results[2][0], results[2][ROUNDS - 1]);
        println!(
            r#"{{"bench":"c_call","peer":"lapis","transport":"C","size":8,"value":{above:.2},"unit":"ns","min":{least:.2},"max":{most:.2},"samples":{ROUNDS},"memory":"{call}","note":"C {c:.1}, Rust {rust:.1}"}}"#
        );
    }
}

/// Nanoseconds per call in the median burst: what else runs on the machine lengthens a few of them
/// a lot.
fn measure(call: &mut impl FnMut(), pause: &mut impl FnMut()) -> f64 {
    let mut bursts: Vec<u128> = (0..CALLS / BURST)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BURST {
                call();
            }
            let took = start.elapsed().as_nanos();
            pause();
            took
        })
        .collect();
    bursts.sort_unstable();
    bursts[bursts.len() / 2] as f64 / f64::from(BURST)
}

unsafe extern "C" fn nothing(
    _: *mut lapi_handle_t,
    _: *mut std::ffi::c_void,
    _: *mut u32,
    _: *mut std::ffi::c_ulong,
    _: *mut Option<compl_hndlr_t>,
    _: *mut *mut std::ffi::c_void,
) -> *mut std::ffi::c_void {
    null_mut()
}

// Function pointers that the compiler can't see through, as a program has them.
type Counters = *mut lapi_cntr_t;
type Any = *mut std::ffi::c_void;
type Put = unsafe extern "C" fn(u32, u32, u64, Any, Any, Counters, Counters, Counters) -> i32;
type Rmw = unsafe extern "C" fn(u32, i32, u32, *mut i64, *mut i64, *mut i64, Counters) -> i32;
type Send = unsafe extern "C" fn(u32, u32, Any, Any, u32, Any, u64, Counters, Counters, Counters) -> i32;
type Probe = unsafe extern "C" fn(u32) -> i32;
type Query = unsafe extern "C" fn(u32, i32, *mut i32) -> i32;

/// Both ways to the same task: its C handle and its Rust context.
struct Pair {
    hndl: u32,
    context: Context,
}

impl Pair {
    fn puts(&self, from: *mut u64, to: *mut u64) {
        let put = black_box(LAPI_Put as Put);
        let none = null_mut();
        compare(
            "put 8",
            || {
                // SAFETY: `main`'s variables.
                unsafe { put(self.hndl, 0, 8, to.cast(), from.cast(), none, none, none) };
            },
            || {
                let args = PutArgs {
                    target: 0,
                    remote: to.addr() as u64,
                    source: Source::Contiguous(from.cast(), 8),
                    target_counter: 0,
                    origin: Notify::None,
                    completion: Notify::None,
                    checked: false,
                };
                // SAFETY: `main`'s variables.
                let _ = black_box(unsafe { self.context.put(black_box(args)) });
            },
        );
    }

    fn atomics(&self, variable: *mut u64, previous: *mut i64) {
        let rmw = black_box(LAPI_Rmw64 as Rmw);
        let mut one = 1i64;
        let one = &raw mut one;
        let counter = Counter::default();
        let counted = (&raw const counter).cast_mut();
        compare(
            "rmw64 8",
            || {
                // SAFETY: variables of this function and of `main`.
                unsafe { rmw(self.hndl, FETCH_AND_ADD, 0, variable.cast(), one, previous, counted.cast()) };
            },
            || {
                let args = RmwArgs {
                    target: 0,
                    op: RmwOp::FetchAndAdd,
                    width: 8,
                    remote: variable.addr() as u64,
                    operand: 1,
                    compare: 0,
                    previous: previous.cast(),
                    swap_answers_success: true,
                    origin: Notify::counter(counted),
                    checked: false,
                };
                // SAFETY: variables of this function and of `main`.
                let _ = black_box(unsafe { self.context.rmw(black_box(args)) });
            },
        );
    }

    fn messages(&self, from: *mut u64) {
        let send = black_box(LAPI_Amsend as Send);
        let probe = black_box(LAPI_Probe as Probe);
        let (none, no_counter) = (null_mut(), null_mut());
        let handler = std::ptr::without_provenance_mut(1);
        let through_c = || {
            // SAFETY: `main`'s variable.
            unsafe {
                send(self.hndl, 0, handler, none, 0, from.cast(), 8, no_counter, no_counter, no_counter);
            }
        };
        let through_rust = || {
            let message = AmSend {
                target: 0,
                handler: 1,
                user_header: &[],
                source: Source::Contiguous(from.cast(), 8),
                target_counter: 0,
                origin: Notify::None,
                completion: Notify::None,
            };
            // SAFETY: `main`'s variable.
            let _ = black_box(unsafe { self.context.am_send(black_box(message)) });
        };
        let pause_in_c = || {
            // SAFETY: the handle is that of the C interface's context.
            unsafe { probe(self.hndl) };
        };
        let pause_in_rust = || {
            let _ = self.context.progress();
        };
        compare_with_pauses("amsend 8", (through_c, pause_in_c), (through_rust, pause_in_rust));
    }

    fn attributes(&self) {
        let query = black_box(LAPI_Qenv as Query);
        let mut value = 0;
        compare(
            "qenv int",
            || {
                // SAFETY: a variable of this function.
                unsafe { query(self.hndl, INTERRUPT_SET, &mut value) };
            },
            || {
                black_box(self.context.interrupts());
            },
        );
        let (mut on, mut off) = (false, false);
        compare(
            "senv int",
            || {
                on = !on;
                // SAFETY: the handle is that of the C interface's context.
                unsafe { LAPI_Senv(self.hndl, INTERRUPT_SET, on.into()) };
            },
            || {
                off = !off;
                let _ = self.context.set_interrupts(off);
            },
        );
    }
}

fn main() -> Result<(), lapis_core::Error> {
    let context =
        Context::builder().number(15).interrupts(false).transport(lapis_loopback::table()).init()?;
    context.set_handler(lapis_core::context::HandlerId(1), |_, _| lapis_core::Delivery::bury())?;
    let mut hndl = 0;
    // SAFETY: all zero bytes are what the guide asks for.
    let mut info: lapi_info_t = unsafe { std::mem::zeroed() };
    // SAFETY: handle and structure are variables of this function.
    unsafe {
        assert_eq!(LAPI_Init(&mut hndl, &mut info), LAPI_SUCCESS);
        LAPI_Senv(hndl, INTERRUPT_SET, 0);
        LAPI_Addr_set(hndl, nothing as *mut _, 1);
    }
    let (mut from, mut to, mut previous) = (7u64, 0u64, 0i64);
    let (from, to, previous) = (&raw mut from, &raw mut to, &raw mut previous);
    let pair = Pair { hndl, context };
    pair.puts(from, to);
    pair.atomics(to, previous);
    pair.messages(from);
    pair.attributes();
    // SAFETY: the handle is that of the C interface's context.
    unsafe { LAPI_Term(hndl) };
    pair.context.terminate()
}
