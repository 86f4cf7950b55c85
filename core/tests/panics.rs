//! Handlers that panic: a completion handler on a handler thread has ended, and the program goes
//! on; what runs amid the dispatcher ends the process with a line that names it.

use lapis_core::config::Environment;
use lapis_core::message::AmSend;
use lapis_core::{Context, Counter, Delivery, HandlerId, Notify, Run, Source};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PANICS: HandlerId = HandlerId(1);
const PANICS_WITH_LOCK: HandlerId = HandlerId(2);
const COUNTS: HandlerId = HandlerId(3);

fn alone() -> Context {
    Context::builder()
        .environment(Environment::default())
        .bootstrap(lapis_core::bootstrap::singleton(0).unwrap())
        .transport(lapis_loopback::table())
        .interrupts(false)
        .init()
        .unwrap()
}

#[test]
fn a_completion_handler_that_panics_has_ended_and_the_next_ones_run() {
    let context = alone();
    context.set_handler(PANICS, |_, _| Delivery::bury().then(|_| panic!("on purpose"))).unwrap();
    let holds = |context: &Context| {
        context.lock();
        panic!("on purpose");
    };
    context.set_handler(PANICS_WITH_LOCK, move |_, _| Delivery::bury().then(holds)).unwrap();
    let run = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&run);
    context
        .set_handler(COUNTS, move |_, _| {
            let counted = Arc::clone(&counted);
            Delivery::bury().then(move |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            })
        })
        .unwrap();
    let (target, completion) = (Counter::new(0), Counter::new(0));
    for handler in [PANICS, PANICS_WITH_LOCK, COUNTS] {
        let message = AmSend {
            target: 0,
            handler: handler.0.into(),
            user_header: &[],
            source: Source::Contiguous(std::ptr::null(), 0),
            target_counter: (&raw const target).expose_provenance() as u64,
            origin: Notify::None,
            completion: Notify::counter(&completion),
        };
        // SAFETY: the counters outlive the wait below.
        unsafe { context.am_send(message).unwrap() };
    }
    let end = Instant::now() + Duration::from_secs(20);
    let counts = || (run.load(Ordering::SeqCst), target.value(), completion.value());
    context.wait_until(|| counts() == (1, 3, 3) || Instant::now() > end).unwrap();
    assert_eq!(counts(), (1, 3, 3));
    // The lock came back when its holder panicked.
    let began = Instant::now();
    context.terminate().unwrap();
    assert!(began.elapsed() < Duration::from_secs(4), "nothing is waited for");
}

/// Has a handler panic that runs amid the dispatcher.
fn panic_within(delivery: fn() -> Delivery) {
    let context = alone();
    context.set_handler(PANICS, move |_, _| delivery()).unwrap();
    context.send(0, PANICS, &[], b"x").unwrap();
    for _ in 0..100 {
        // What has come through to here would be lost on whoever catches it.
        let _ = catch_unwind(AssertUnwindSafe(|| context.progress()));
    }
    std::process::exit(0);
}

#[test]
#[ignore = "ends the process: the test below starts it"]
fn header() {
    panic_within(|| panic!("on purpose"));
}

#[test]
#[ignore = "ends the process: the test below starts it"]
fn inline() {
    let delivery = || Delivery { run: Run::Inline, ..Delivery::bury().then(|_| panic!("on purpose")) };
    panic_within(delivery);
}

#[test]
fn a_panic_amid_the_dispatcher_ends_the_process_with_a_line() {
    let program = std::env::current_exe().expect("this program");
    for (test, what) in [("header", "a header handler"), ("inline", "a completion handler that runs inline")]
    {
        let ended =
            Command::new(&program).args([test, "--exact", "--ignored", "--nocapture"]).output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{test}: {:?}: {text}", ended.status);
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("lapis: ")).collect();
        assert!(lines.len() == 1 && lines[0].contains(&format!("{what} has panicked")), "{test}: {text}");
        assert!(text.contains("on purpose"), "{test}: {text}");
    }
}
