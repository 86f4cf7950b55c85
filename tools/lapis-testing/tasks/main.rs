//! A task of the jobs in `tests/jobs.rs`: `lapis-job-task SCENARIO`.

mod by_key;
mod deaths;
mod failover;
mod faults;
mod hangs;
mod huge;
mod limits;
mod loans;
mod memory;
mod refused;
mod short_puts;
mod slow_peers;
mod stale_keys;
mod talk;

use lapis::{Context, Result};
use std::process::ExitCode;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

/// Where LAPIS_LOG is set, its diagnostics go to standard error.
fn show_diagnostics() {
    let filter = std::env::var("LAPIS_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    if let Some(filter) = filter {
        let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
        tracing_subscriber::registry().with(lines).with(filter).init();
    }
}

fn main() -> ExitCode {
    show_diagnostics();
    let mut arguments = std::env::args().skip(1);
    let (scenario, detail) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    let outcome = match scenario.as_str() {
        "all-to-all" => talk::all_to_all(),
        "crowd" => talk::crowd(),
        "answers" => talk::answers(),
        "interrupts" => talk::interrupts(&detail),
        "sleep-beside-a-poller" => talk::sleep_beside_a_poller(),
        "poll" => talk::poll(),
        "one-sided" => memory::one_sided(),
        "by-key" => by_key::by_key(true),
        "given" => by_key::by_key(false),
        "unregistered" => by_key::unregistered(),
        "put-and-wait" => by_key::put_and_wait(),
        "short-puts" => short_puts::short_puts(&detail, arguments.next().unwrap_or_default().as_ref()),
        "stale-key" => stale_keys::stale_key(&detail, arguments.next().unwrap_or_default().as_ref()),
        "purged-owner" => stale_keys::purged_owner(&detail, arguments.next().unwrap_or_default().as_ref()),
        "unread-key" => stale_keys::unread_key(&detail, arguments.next().unwrap_or_default().as_ref()),
        "slow-peers" => slow_peers::slow_peers(detail.as_ref()),
        "fenced-words" => short_puts::fenced_words(),
        "long-messages" => by_key::long_messages(),
        "refused" => refused::refused(),
        "fence-storm" => memory::fence_storm(),
        "leave-unevenly" => talk::leave_unevenly(),
        "die" => deaths::die(&detail),
        "turmoil" => deaths::turmoil(),
        "survive" => deaths::survive(),
        "die-amid-transfers" => deaths::die_amid_transfers(),
        "die-amid-a-loan" => loans::die_amid_a_loan(),
        "purge-amid-a-loan" => loans::purge_amid_a_loan(&detail),
        "fork" => deaths::fork(),
        "begin-anew" => deaths::begin_anew(&detail),
        "faults" => {
            let slot = arguments.next().and_then(|text| text.parse().ok());
            faults::faults(number(&detail, 40), slot.unwrap_or(faults::SLOT))
        }
        "pauses" => failover::pauses(&detail),
        "huge" => huge::huge(),
        "hang" => hangs::hang(&detail, &arguments.next().unwrap_or_default()),
        "builder-heap" => limits::heap_of_the_builder(),
        "few-descriptors" => limits::descriptors(number(&detail, 64)).and_then(|()| talk::all_to_all()),
        "little-address-space" => limits::address_space(number(&detail, 0)).and_then(|()| talk::all_to_all()),
        "frugal" => limits::address_space(number(&detail, 0)).and_then(|()| limits::frugal()),
        "no-attach" => {
            limits::refuse_attach().and_then(|()| talk::all_to_all()).and_then(|()| memory::one_sided())
        }
        other => panic!("no scenario is called `{other}`"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {}", error.with_causes());
            ExitCode::from(3)
        }
    }
}

/// What a detail says, if it is a number.
fn number<N: std::str::FromStr>(detail: &str, otherwise: N) -> N {
    detail.parse().unwrap_or(otherwise)
}

/// Joins the job with the configuration of the environment.
fn join() -> Result<Context> {
    lapis::init()
}

/// What task `from` writes at `index` of something `len` bytes long.
fn pattern(from: u32, len: usize, index: usize) -> u8 {
    (from as usize * 31 + len * 7 + index * 13 + (index >> 8)) as u8
}

fn filled(from: u32, len: usize) -> Vec<u8> {
    (0..len).map(|i| pattern(from, len, i)).collect()
}

#[track_caller]
fn check(from: u32, len: usize, data: &[u8]) {
    assert_eq!(data.len(), len);
    let wrong = data.iter().enumerate().find(|&(i, &b)| b != pattern(from, len, i));
    assert!(wrong.is_none(), "{len} bytes from task {from}: wrong at {wrong:?}");
}
