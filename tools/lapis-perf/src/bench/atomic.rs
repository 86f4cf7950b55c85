//! Remote atomics on a variable of task 1.

use super::{Batch, idle};
use crate::session::{Session, Target};
use anyhow::Result;
use lapis::core::message::RmwArgs;
use lapis::core::transport::RmwOp;
use lapis::{Counter, Notify};
use std::hint::black_box;

/// Atomics under way at a time in a stream.
pub(super) const WINDOW: u64 = 64;

/// What an operation's answer goes to; leaked, so that it lives whatever fails.
struct Answer {
    previous: u64,
    here: Counter,
}

/// Adds one, `window` operations under way.
pub(super) fn fetch_add<'s>(session: &'s Session, target: &'s Target, window: u64) -> Batch<'s> {
    if !session.leads() {
        return idle();
    }
    let context = &session.context;
    let far = target.far;
    if context.direct(far.task, far.addr, 8).is_some() {
        return Box::new(move |count| {
            for _ in 0..count {
                black_box(context.fetch_add(black_box(far), 1)?);
            }
            Ok(())
        });
    }
    let answer = answer();
    Box::new(move |count| {
        let mut under_way = 0;
        for _ in 0..count {
            if under_way == window {
                wait(session, answer, 1)?;
                under_way -= 1;
            }
            rmw(session, target, RmwOp::FetchAndAdd, 1, 0, answer)?;
            under_way += 1;
        }
        wait(session, answer, under_way)
    })
}

/// Replaces the value that the last operation left.
pub(super) fn compare_swap<'s>(session: &'s Session, target: &'s Target) -> Batch<'s> {
    if !session.leads() {
        return idle();
    }
    let context = &session.context;
    let far = target.far;
    let mut last = 0;
    if context.direct(far.task, far.addr, 8).is_some() {
        return Box::new(move |count| {
            for _ in 0..count {
                // The first one may fail and learns the value.
                let found = context.compare_and_swap(black_box(far), last, last + 1)?;
                last = if found == last { last + 1 } else { found };
            }
            Ok(())
        });
    }
    let answer = answer();
    Box::new(move |count| {
        for _ in 0..count {
            rmw(session, target, RmwOp::CompareAndSwap, last + 1, last, answer)?;
            wait(session, answer, 1)?;
            // SAFETY: the operation has ended, so nobody writes the answer now.
            let found = unsafe { (&raw const (*answer).previous).read() };
            last = if found == last { last + 1 } else { found };
        }
        Ok(())
    })
}

fn answer() -> *mut Answer {
    Box::into_raw(Box::new(Answer { previous: 0, here: Counter::new(0) }))
}

fn wait(session: &Session, answer: *mut Answer, count: u64) -> Result<()> {
    // SAFETY: leaked, and only shared references to the counter are ever made.
    let here = unsafe { &(*answer).here };
    session.context.wait_counter(here, count as i32)?;
    Ok(())
}

fn rmw(
    session: &Session,
    target: &Target,
    op: RmwOp,
    operand: u64,
    compare: u64,
    answer: *mut Answer,
) -> Result<()> {
    // SAFETY: leaked, so both places are valid for good.
    let (previous, here) = unsafe { (&raw mut (*answer).previous, &raw const (*answer).here) };
    let args = RmwArgs {
        target: target.far.task,
        op,
        width: 8,
        remote: target.far.addr,
        operand,
        compare,
        previous: previous.cast(),
        swap_answers_success: false,
        origin: Notify::counter(here),
        // Memory that Lapis did not allocate is registered nowhere.
        checked: false,
    };
    // SAFETY: the other task gave the variable out for this; answer and counter live until the
    // process ends.
    unsafe { session.context.rmw(args)? };
    Ok(())
}
