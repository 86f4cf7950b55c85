//! What errors say, and the codes that they map to.

use super::*;

#[test]
fn messages_carry_the_numbers() {
    let error = Error::InvalidTarget { task: 9, tasks: 4 };
    assert_eq!(error.to_string(), "target 9 is not a task of this job: it has tasks 0 to 3");
    assert_eq!(error.code(), LapiCode::ERR_TGT);
}

#[test]
fn causes_follow_on_the_same_line() {
    let error = Error::System {
        what: "opening the wake-up descriptor",
        source: std::io::Error::from_raw_os_error(24),
    };
    assert!(error.with_causes().starts_with("opening the wake-up descriptor: Too many open files"));
    assert_eq!(error.code(), LapiCode::ERR_UNKNOWN);
}

#[test]
fn errors_can_cross_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Error>();
}

#[test]
fn a_lock_that_is_held_is_reported_with_its_holder() {
    let error = Error::from(LockHeld { call: "terminate", holder: 0x7f00_1234, seconds: 5 });
    let text = error.in_call("LAPI_Term").to_string();
    assert!(text.starts_with("LAPI_Term waited 5 s") && text.contains("thread 0x7f001234"), "{text}");
}
