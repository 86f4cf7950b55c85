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

fn main() -> Result<(), lapis_core::Error> {
    let context =
        Context::builder().number(15).interrupts(false).transport(lapis_loopback::table()).init()?;
    context.set_handler(lapis_core::context::HandlerId(1), |_, _| lapis_core::Delivery::bury())?;
    let mut hndl = 0;
    // SAFETY: all zero bytes are what the guide asks for.
    let mut info: lapi_info_t = unsafe { std::mem::zeroed() };
    // Function pointers that the compiler can't see through, as a program has them.
    type Counters = *mut lapi_cntr_t;
    type Any = *mut std::ffi::c_void;
    type Put = unsafe extern "C" fn(u32, u32, u64, Any, Any, Counters, Counters, Counters) -> i32;
    type Rmw = unsafe extern "C" fn(u32, i32, u32, *mut i64, *mut i64, *mut i64, Counters) -> i32;
    type Send = unsafe extern "C" fn(u32, u32, Any, Any, u32, Any, u64, Counters, Counters, Counters) -> i32;
    let put = black_box(LAPI_Put as Put);
    let rmw = black_box(LAPI_Rmw64 as Rmw);
    let send = black_box(LAPI_Amsend as Send);
    let probe = black_box(LAPI_Probe as unsafe extern "C" fn(u32) -> i32);
    let query = black_box(LAPI_Qenv as unsafe extern "C" fn(u32, i32, *mut i32) -> i32);
    let (mut from, mut to, mut one, mut previous) = (7u64, 0u64, 1i64, 0i64);
    let (from, to, previous) = (&raw mut from, &raw mut to, &raw mut previous);
    let counter = Counter::default();
    let counter_pointer = (&raw const counter).cast_mut();
    // SAFETY: everything that is passed lives until the end.
    unsafe {
        assert_eq!(LAPI_Init(&mut hndl, &mut info), LAPI_SUCCESS);
        LAPI_Senv(hndl, INTERRUPT_SET, 0);
        LAPI_Addr_set(hndl, nothing as *mut _, 1);
        compare(
            "put 8",
            || {
                put(hndl, 0, 8, to.cast(), from.cast(), null_mut(), null_mut(), null_mut());
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
                let _ = black_box(context.put(black_box(args)));
            },
        );
        compare(
            "rmw64 8",
            || {
                rmw(hndl, FETCH_AND_ADD, 0, to.cast(), &raw mut one, previous, counter_pointer.cast());
            },
            || {
                let args = RmwArgs {
                    target: 0,
                    op: RmwOp::FetchAndAdd,
                    width: 8,
                    remote: to.addr() as u64,
                    operand: 1,
                    compare: 0,
                    previous: previous.cast(),
                    swap_answers_success: true,
                    origin: Notify::counter(counter_pointer),
                    checked: false,
                };
                let _ = black_box(context.rmw(black_box(args)));
            },
        );
        compare_with_pauses(
            "amsend 8",
            (
                || {
                    send(
                        hndl,
                        0,
                        std::ptr::without_provenance_mut(1),
                        null_mut(),
                        0,
                        from.cast(),
                        8,
                        null_mut(),
                        null_mut(),
                        null_mut(),
                    );
                },
                || {
                    probe(hndl);
                },
            ),
            (
                || {
                    let message = AmSend {
                        target: 0,
                        handler: 1,
                        user_header: &[],
                        source: Source::Contiguous(from.cast(), 8),
                        target_counter: 0,
                        origin: Notify::None,
                        completion: Notify::None,
                    };
                    let _ = black_box(context.am_send(black_box(message)));
                },
                || {
                    let _ = context.progress();
                },
            ),
        );
        let mut value = 0;
        compare(
            "qenv int",
            || {
                query(hndl, INTERRUPT_SET, &mut value);
            },
            || {
                black_box(context.interrupts());
            },
        );
        let (mut on, mut off) = (false, false);
        compare(
            "senv int",
            || {
                on = !on;
                LAPI_Senv(hndl, INTERRUPT_SET, on.into());
            },
            || {
                off = !off;
                let _ = context.set_interrupts(off);
            },
        );
        LAPI_Term(hndl);
    }
    context.terminate()
}
