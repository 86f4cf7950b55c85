//! Memory that a task lends to a peer for one transfer; the peer is purged or dies meanwhile.

use crate::join;
use lapis::core::message::{AmSend, GetArgs, PutArgs};
use lapis::core::sync::{AtomicU32, AtomicU64, Ordering};
use lapis::{Context, Delivery, Destination, HandlerId, Notify, Result, Source};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HELLO: HandlerId = HandlerId(1);
const DATA: HandlerId = HandlerId(2);
const AWAY: HandlerId = HandlerId(3);
const LENDER: u32 = 0;
const OTHER: u32 = 1;
/// More than sockets hold.
const LEN: usize = 32 << 20;
/// What the lender writes once the memory is its own again.
const OWN: u8 = 0xaa;
const THEIRS: u8 = 7;
/// In place of a time.
const STOPPED: &str = "stopped";
/// How long an answer is waited for.
const AGAIN: Duration = Duration::from_millis(20);
/// Looks that leave a transfer begun and not ended.
const AMID: usize = 20;

/// The process and the memory of the other task, which nobody registers.
fn meet(context: &Context) -> Result<(libc::pid_t, u64)> {
    let memory = Box::leak(vec![THEIRS; LEN].into_boxed_slice()).as_mut_ptr();
    let mut mine = [0; 12];
    mine[..8].copy_from_slice(&(memory.expose_provenance() as u64).to_le_bytes());
    mine[8..].copy_from_slice(&std::process::id().to_le_bytes());
    let all = context.all_gather(&mine)?;
    let other = &all[mine.len()..];
    let (memory, process) = other.split_at(8);
    let memory = u64::from_le_bytes(memory.try_into().expect("8 bytes"));
    let process = u32::from_le_bytes(process.try_into().expect("4 bytes"));
    Ok((process as libc::pid_t, memory))
}

/// Counts how often the end of an operation is told.
fn watch() -> (Arc<AtomicU32>, Notify) {
    let told = Arc::new(AtomicU32::new(0));
    let here = Arc::clone(&told);
    let notify = Notify::Dyn(Box::new(move |_: u32, _: Result<()>| {
        here.fetch_add(1, Ordering::Relaxed);
    }));
    (told, notify)
}

/// Begins a get of all of the other task's memory; the answer counts how often its end was told.
fn begin_get(context: &Context, remote: u64, into: NonNull<u8>) -> Result<Arc<AtomicU32>> {
    let (told, origin) = watch();
    let destination = Destination::Contiguous(into);
    let get = GetArgs {
        target: OTHER,
        remote,
        len: LEN as u64,
        destination,
        target_counter: 0,
        origin,
        checked: false,
    };
    // SAFETY: both sides' memory is leaked.
    unsafe { context.get(get)? };
    Ok(told)
}

/// Begins a put of as much memory; the answer counts how often the origin's end was told.
fn begin_put(context: &Context, remote: u64, from: NonNull<u8>) -> Result<Arc<AtomicU32>> {
    let (told, origin) = watch();
    let put = PutArgs {
        target: OTHER,
        remote,
        source: Source::Contiguous(from.as_ptr(), LEN as u64),
        target_counter: 0,
        origin,
        completion: Notify::None,
        checked: false,
    };
    // SAFETY: both sides' memory is leaked.
    unsafe { context.put(put)? };
    Ok(told)
}

/// Begins a message of as many bytes; the answer counts how often the origin's end was told.
fn begin_message(context: &Context, from: NonNull<u8>) -> Result<Arc<AtomicU32>> {
    let (told, origin) = watch();
    let message = AmSend {
        target: OTHER,
        handler: u64::from(DATA.0),
        user_header: &[],
        source: Source::Contiguous(from.as_ptr(), LEN as u64),
        target_counter: 0,
        origin,
        completion: Notify::None,
    };
    // SAFETY: the memory is leaked.
    unsafe { context.am_send(message)? };
    Ok(told)
}

fn begin(context: &Context, what: &str, remote: u64, here: NonNull<u8>) -> Result<Arc<AtomicU32>> {
    match what {
        "get" => begin_get(context, remote, here),
        "put" => begin_put(context, remote, here),
        _ => begin_message(context, here),
    }
}

/// The other task is killed while it puts what was asked for into memory of the lender's, which is
/// the lender's own again when the get has ended.
pub(crate) fn die_amid_a_loan() -> Result<()> {
    let context = lapis::builder().on_error(|_, _, _| true).init()?;
    let (other, remote) = meet(&context)?;
    if context.task() != LENDER {
        return context.wait_until(|| false);
    }
    let into = NonNull::from(Box::leak(vec![0u8; LEN].into_boxed_slice())).cast::<u8>();
    let told = begin_get(&context, remote, into)?;
    // SAFETY: within the memory, which a peer may write.
    let at = |index: usize| unsafe { into.as_ptr().add(index).read_volatile() };
    // What has come lies in the sockets: first with the beginning, which names the memory, then
    // without it.
    let pause = || std::thread::sleep(Duration::from_millis(200));
    // SAFETY: sends signals to a process of this job, which nobody has waited for.
    let signal = |number| unsafe { libc::kill(other, number) };
    pause();
    signal(libc::SIGSTOP);
    while at(0) != THEIRS {
        context.progress()?;
    }
    signal(libc::SIGCONT);
    pause();
    signal(libc::SIGKILL);
    pause();
    context.wait_until(|| told.load(Ordering::Relaxed) == 1)?;
    let come = (0..LEN).filter(|&index| at(index) == THEIRS).count();
    eprintln!("{come} of {LEN} bytes had come");
    // SAFETY: the get has ended, and the memory with it.
    unsafe { into.as_ptr().write_bytes(OWN, LEN) };
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        context.progress()?;
    }
    let wrong = (0..LEN).filter(|&index| at(index) != OWN).count();
    println!("{wrong} bytes came later");
    context.terminate()
}

/// A task is purged while one of them is to fetch, or to put, what the lender has begun. Then they
/// talk, and the same transfers work. `how`: what is begun, who purges (lender, other, both), and
/// how many milliseconds the other task calls nothing meanwhile: `get-lender-300`. With 0 a get has
/// begun to arrive when the lender purges; with `stopped` the other task runs when it has.
pub(crate) fn purge_amid_a_loan(how: &str) -> Result<()> {
    let mut parts = how.split('-');
    let mut part = || parts.next().unwrap_or_default();
    let (what, who, away) = (part(), part(), part());
    let context = join()?;
    let (hello, is_away) = (count_messages(&context, HELLO)?, count_messages(&context, AWAY)?);
    let messages = count_data(&context)?;
    let (other, remote) = meet(&context)?;
    let own = leaked(1);
    context.gfence()?;
    let lends = context.task() == LENDER;
    let peer = if lends { OTHER } else { LENDER };
    let begun = if lends {
        context.wait_until(|| has_come(&is_away))?;
        Some(lend(&context, (what, away), remote, own, other)?)
    } else {
        stay_away(&context, away)?;
        None
    };
    if who == "both" || (who == "lender") == lends {
        context.purge(peer)?;
        if away == STOPPED {
            signal(other, libc::SIGCONT);
        }
        context.resume(peer)?;
    }
    let has_ended = |told: &AtomicU32| told.load(Ordering::Relaxed) == 1;
    let ended_at_once = begun.as_deref().is_some_and(has_ended);
    if ended_at_once {
        make_own(own);
    }
    greet(&context, peer, &hello)?;
    if let Some(told) = begun {
        context.wait_until(|| has_ended(&told))?;
        if !ended_at_once {
            make_own(own);
        }
        transfer_again(&context, remote)?;
        assert_eq!(count(own, OWN), LEN, "nobody has written to it since");
        context.send(OTHER, AWAY, &[], &[])?;
    } else {
        // The lender has done all of that.
        context.wait_until(|| has_come(&is_away) && has_come(&messages))?;
    }
    println!("they talk");
    context.terminate()
}

fn has_come(count: &AtomicU64) -> bool {
    count.load(Ordering::Relaxed) > 0
}

/// Counts the messages to a handler.
fn count_messages(context: &Context, handler: HandlerId) -> Result<Arc<AtomicU64>> {
    let count = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&count);
    context.set_handler(handler, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    Ok(count)
}

/// Counts long messages. Of one that was purged nothing is heard, or all of it as it was sent.
fn count_data(context: &Context) -> Result<Arc<AtomicU64>> {
    let count = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&count);
    context.set_handler(DATA, move |_, message| {
        let here = Arc::clone(&here);
        Delivery::collect(message, move |data| {
            assert_eq!(data.iter().filter(|&&byte| byte == data[0]).count(), LEN);
            here.fetch_add(1, Ordering::Relaxed);
        })
    })?;
    Ok(count)
}

/// The lender begins, while the other task is away, or looks now and then.
fn lend(
    context: &Context,
    (what, away): (&str, &str),
    remote: u64,
    own: NonNull<u8>,
    other: libc::pid_t,
) -> Result<Arc<AtomicU32>> {
    if away == STOPPED {
        stop(other);
    }
    let told = begin(context, what, remote, own)?;
    // SAFETY: within the memory, which a peer may write.
    while away == "0" && what == "get" && unsafe { own.as_ptr().read_volatile() } != THEIRS {
        context.progress()?;
    }
    Ok(told)
}

/// The other task calls nothing for a while, and then a little.
fn stay_away(context: &Context, away: &str) -> Result<()> {
    // Its last call: the request waits for it.
    context.send(LENDER, AWAY, &[], &[])?;
    let away = if away == STOPPED { 300 } else { away.parse().expect("milliseconds") };
    std::thread::sleep(Duration::from_millis(away));
    // Some of it is under way when this task purges.
    (0..AMID).try_for_each(|_| context.progress().map(drop))
}

/// What is sent before a purge is known is dropped. Whoever hears the other one is heard by it.
fn greet(context: &Context, peer: u32, heard: &AtomicU64) -> Result<()> {
    while !has_come(heard) {
        let _ = context.send(peer, HELLO, &[], &[]);
        let sent = Instant::now();
        while !has_come(heard) && sent.elapsed() < AGAIN {
            context.progress()?;
        }
    }
    context.send(peer, HELLO, &[], &[])
}

/// Each kind of transfer works.
fn transfer_again(context: &Context, remote: u64) -> Result<()> {
    for what in ["put", "get", "message"] {
        let again = leaked(THEIRS);
        let told = begin(context, what, remote, again)?;
        context.wait_until(|| told.load(Ordering::Relaxed) == 1)?;
        assert_eq!(count(again, THEIRS), LEN, "{what} after the purge");
    }
    Ok(())
}

/// Memory of this process for as long as it lives.
fn leaked(value: u8) -> NonNull<u8> {
    NonNull::from(Box::leak(vec![value; LEN].into_boxed_slice())).cast()
}

/// Such memory is this task's own again, and changes.
fn make_own(at: NonNull<u8>) {
    // SAFETY: leaked memory of this length, which no operation uses any more.
    unsafe { at.as_ptr().write_bytes(OWN, LEN) };
}

fn signal(process: libc::pid_t, number: libc::c_int) {
    // SAFETY: sends a signal to a process of this job, which nobody has waited for.
    unsafe { libc::kill(process, number) };
}

/// Stops a process of this job.
fn stop(process: libc::pid_t) {
    signal(process, libc::SIGSTOP);
    let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    while !state().contains(") T ") {
        std::thread::yield_now();
    }
}

/// How many bytes of such memory have a value.
fn count(at: NonNull<u8>, value: u8) -> usize {
    // SAFETY: leaked memory, which a peer may write.
    (0..LEN).filter(|&index| unsafe { at.as_ptr().add(index).read_volatile() } == value).count()
}
