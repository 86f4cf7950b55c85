//! Bulk transfer: when it is used, when not, and what happens when a step of it fails.

mod support;

use lapi_r::abi::{LAPI_NOT_USE_BULK_XFER, LAPI_USE_BULK_XFER};
use support::{Job, compile, setting, source, transports};

/// Transfers, bytes and refusals, as each task printed them.
fn counts(text: &str) -> Vec<[u64; 3]> {
    text.lines()
        .filter(|line| line.contains("bulk transfers"))
        .map(|line| {
            let mut numbers = line.split([' ', ',']).filter_map(|word| word.parse().ok());
            std::array::from_fn(|_| numbers.next().expect("three numbers"))
        })
        .collect()
}

/// Whether the machine lets tasks copy from one another. Says so if not.
fn copies(end: &support::Finished) -> bool {
    let refused = end.stderr().contains("are copied twice");
    if refused {
        eprintln!("SKIPPED: cross-memory attach is refused here, so that nothing can be transferred in bulk");
    }
    !refused
}

#[test]
fn variables_and_hints_decide_and_refused_steps_are_replaced_by_packets() {
    let source = source("jobs/bulk.c");
    assert_eq!(setting(&source, "tasks:"), None);
    let program = compile(std::slice::from_ref(&source), &[]);
    type Variables = &'static [(&'static str, &'static str)];
    const LONG: u64 = (33 << 20) + 5;
    let (yes, no) = (LAPI_USE_BULK_XFER, LAPI_NOT_USE_BULK_XFER);
    // What MP_REXMIT_BUF_SIZE covers would go in packets.
    let wanted: Variables =
        &[("MP_USE_BULK_XFER", "yes"), ("MP_BULK_MIN_MSG_SIZE", "1000"), ("MP_REXMIT_BUF_SIZE", "128")];
    // What comes of it where memory can be copied directly: each task sends, puts and gets once for
    // each length.
    let cases: [(Variables, i32, bool, [u64; 3]); 7] = [
        (&[], 0, false, [0, 0, 0]),
        (&[], yes, false, [6, 3 * (LONG + (150 << 10)), 0]),
        // A minimum below 4K counts as 4K; an active message that fits one packet goes in it.
        (wanted, 0, false, [10, 3 * (LONG + (150 << 10)) + 2 * (5000 + 4096), 0]),
        (wanted, no, false, [0, 0, 0]),
        (wanted, yes | no, false, [0, 0, 0]),
        // What was put or got in part goes by packets from the beginning; a pull goes on where it
        // was.
        (wanted, 0, true, [1, LONG, 3]),
        (wanted, no, true, [0, 0, 0]),
    ];
    for transport in transports() {
        for (env, flags, faulty, expected) in cases {
            // Over UDP there is no direct copy: hints may be ignored, and one such run is enough.
            if transport == "udp" && !(flags == yes || faulty && flags == 0) {
                continue;
            }
            let mut job = Job::of(2).env("LAPIS_TRANSPORT", transport).env("LAPIS_LOG", "lapis=info");
            for (name, value) in env {
                job = job.env(name, value);
            }
            job = job.arg(&flags.to_string());
            if faulty {
                job = job.arg("faulty");
            }
            let end = job.run(&program).success();
            let direct = transport != "udp";
            let expected = if direct { expected } else { [0, 0, 0] };
            if direct && !copies(&end) {
                return;
            }
            assert_eq!(counts(&end.stdout()), [expected; 2], "{transport} {env:?} {flags} {faulty}");
        }
    }
}

#[test]
fn hints_count_for_layouts_that_are_one_piece_at_the_origin() {
    let program = compile(&[source("jobs/bulk_layouts.c")], &[]);
    let (yes, no) = (LAPI_USE_BULK_XFER, LAPI_NOT_USE_BULK_XFER);
    let in_bulk = [1, 400_000, 0];
    let wanted = ("MP_USE_BULK_XFER", "yes");
    let cases = [
        (None, yes, in_bulk),
        (None, 0, [0; 3]),
        (Some(wanted), 0, in_bulk),
        (Some(wanted), no, [0; 3]),
        (Some(wanted), yes | no, [0; 3]),
    ];
    for transport in transports() {
        for (env, flags, expected) in cases {
            let mut job = Job::of(2).env("LAPIS_TRANSPORT", transport).env("LAPIS_LOG", "lapis=info");
            if let Some((name, value)) = env {
                job = job.env(name, value);
            }
            let end = job.arg(&flags.to_string()).run(&program).success();
            let direct = transport != "udp";
            if direct && !copies(&end) {
                return;
            }
            let expected = if direct { expected } else { [0; 3] };
            assert_eq!(counts(&end.stdout()), [expected; 2], "{transport} {env:?} {flags}");
        }
    }
}
