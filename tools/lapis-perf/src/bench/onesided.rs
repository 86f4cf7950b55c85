//! Puts and gets. Task 0 works on task 1's memory, which takes no part beyond making progress.

use super::{Batch, idle};
use crate::session::{Session, Target};
use anyhow::{Context as _, Result};
use lapis::core::message::{GetArgs, PutArgs};
use lapis::core::sync::Ordering;
use lapis::{Counter, Destination, Notify, Source};
use std::hint::black_box;

/// Gets under way at a time.
const WINDOW: u64 = 64;

fn counter() -> &'static Counter {
    // Leaked, so that it lives whatever fails.
    Box::leak(Box::new(Counter::new(0)))
}

/// A put, then waiting until the data are known to be there.
pub(super) fn put_and_know<'s>(session: &'s Session, target: &'s Target, size: u64) -> Batch<'s> {
    if !session.leads() {
        return idle();
    }
    let context = &session.context;
    let far = target.far;
    if context.direct(far.task, far.addr, size).is_some() {
        // Stores of this task's own: done when the call returns.
        let data = session.buffer.bytes(size);
        return Box::new(move |count| {
            for _ in 0..count {
                context.put_bytes(black_box(far), black_box(data))?;
            }
            Ok(())
        });
    }
    let there = counter();
    Box::new(move |count| {
        for _ in 0..count {
            put(session, target, size, Notify::counter(there))?;
            context.wait_counter(there, 1)?;
        }
        Ok(())
    })
}

/// A word that one task puts and the other one sees and puts back.
pub(super) fn put_until_seen<'s>(session: &'s Session, target: &'s Target) -> Result<Batch<'s>> {
    const WORD: u64 = size_of::<u64>() as u64;
    let (context, word, far) = (&session.context, target.word(), target.far);
    // What benches before this one have left there is no answer.
    word.store(0, Ordering::Relaxed);
    session.agree(0)?;
    if !session.plays() {
        return Ok(idle());
    }
    let direct = context.direct(far.task, far.addr, WORD).is_some();
    let far = far.part(0, WORD).context("memory of a word at least")?;
    let leads = session.leads();
    let mut turn = 0u64;
    let throw = move |turn: u64| -> Result<()> {
        if direct {
            return Ok(context.put_bytes(black_box(far), &turn.to_ne_bytes())?);
        }
        // SAFETY: the buffer is longer than a word, and free: the put before this one was seen.
        unsafe { session.buffer.start().cast::<u64>().write_unaligned(turn) };
        put(session, target, WORD, Notify::None)
    };
    Ok(Box::new(move |count| {
        for _ in 0..count {
            turn += 1;
            if leads {
                throw(turn)?;
            }
            // Nothing says that a put has come, so whoever slept might sleep on.
            while word.load(Ordering::Relaxed) != turn {
                context.progress()?;
            }
            if !leads {
                throw(turn)?;
            }
        }
        Ok(())
    }))
}

/// Puts, and one fence at the end.
pub(super) fn put_stream<'s>(session: &'s Session, target: &'s Target, size: u64) -> Batch<'s> {
    if !session.leads() {
        return idle();
    }
    let context = &session.context;
    let far = target.far;
    let direct = context.direct(far.task, far.addr, size).is_some();
    let data = session.buffer.bytes(size);
    Box::new(move |count| {
        for _ in 0..count {
            match direct {
                true => context.put_bytes(black_box(far), black_box(data))?,
                false => put(session, target, size, Notify::None)?,
            }
        }
        Ok(context.fence()?)
    })
}

/// A get, with its data.
pub(super) fn get_and_have<'s>(session: &'s Session, target: &'s Target, size: u64) -> Batch<'s> {
    if !session.leads() {
        return idle();
    }
    let far = target.far;
    if session.context.direct(far.task, far.addr, size).is_some() {
        let into = session.buffer.start();
        return Box::new(move |count| {
            for _ in 0..count {
                // SAFETY: as long as the longest transfer, and nothing else uses it during a batch.
                let into = unsafe { std::slice::from_raw_parts_mut(into.as_ptr(), size as usize) };
                session.context.get_bytes(black_box(far), black_box(into))?;
            }
            Ok(())
        });
    }
    let here = counter();
    Box::new(move |count| {
        for _ in 0..count {
            get(session, target, size, here)?;
            session.context.wait_counter(here, 1)?;
        }
        Ok(())
    })
}

/// Gets, a window of them under way.
pub(super) fn get_stream<'s>(session: &'s Session, target: &'s Target, size: u64) -> Batch<'s> {
    if !session.leads() {
        return idle();
    }
    let here = counter();
    Box::new(move |count| {
        let mut under_way = 0;
        for _ in 0..count {
            if under_way == WINDOW {
                session.context.wait_counter(here, 1)?;
                under_way -= 1;
            }
            get(session, target, size, here)?;
            under_way += 1;
        }
        session.context.wait_counter(here, under_way as i32)?;
        Ok(())
    })
}

#[inline]
fn put(session: &Session, target: &Target, size: u64, completion: Notify) -> Result<()> {
    let args = PutArgs {
        target: target.far.task,
        remote: target.far.addr,
        source: Source::Contiguous(session.buffer.start().as_ptr(), size),
        target_counter: 0,
        origin: Notify::None,
        completion,
        // Memory that Lapis did not allocate is registered nowhere.
        checked: false,
    };
    // SAFETY: buffer and counter live until the process ends; the other task gave its memory out
    // for this, and it is as long as the longest transfer.
    unsafe { session.context.put(args)? };
    Ok(())
}

#[inline]
fn get(session: &Session, target: &Target, size: u64, here: &'static Counter) -> Result<()> {
    let args = GetArgs {
        target: target.far.task,
        remote: target.far.addr,
        len: size,
        destination: Destination::Contiguous(session.buffer.start()),
        target_counter: 0,
        origin: Notify::counter(here),
        checked: false,
    };
    // SAFETY: buffer and counter live until the process ends, and nobody reads the buffer while
    // gets write to it; the other task gave its memory out for this.
    unsafe { session.context.get(args)? };
    Ok(())
}
