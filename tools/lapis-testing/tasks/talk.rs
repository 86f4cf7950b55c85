//! Messages.

use crate::{check, filled, join};
use lapis::core::sync::{AtomicBool, AtomicU64, Ordering};
use lapis::{
    CompletionHandler, Context, Counter, Delivery, Destination, HandlerId, RemoteMemory, Result, Run,
};
use lapis_patience::Patience;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

const DATA: HandlerId = HandlerId(1);
const PING: HandlerId = HandlerId(2);
const PONG: HandlerId = HandlerId(3);

/// Around every border that a path may have.
const SIZES: &[usize] = &[
    0,
    1,
    7,
    8,
    9,
    39,
    40,
    41,
    55,
    56,
    57,
    255,
    1000,
    4095,
    4096,
    4097,
    8192,
    16_383,
    16_384,
    16_385,
    40_000,
    65_536,
    300_001,
    1 << 20,
];

/// Everybody sends a message of every size to everybody, itself included, and waits for the
/// confirmations.
pub(crate) fn all_to_all() -> Result<()> {
    let context = join()?;
    let arrived = Arc::new(Counter::new(0));
    let here = Arc::clone(&arrived);
    context.set_handler(DATA, move |_, message| {
        let (from, len) = (message.source, message.len as usize);
        let here = Arc::clone(&here);
        if let Some(data) = message.data() {
            check(from, len, data);
            here.increment();
            return Delivery::bury();
        }
        let mut data = vec![0; len];
        let place = NonNull::from(data.as_mut_slice()).cast();
        let done = move |_: &Context| {
            check(from, len, &data);
            here.increment();
        };
        // Both ways of running are met: the odd lengths inline.
        let run = if len % 2 == 1 { Run::Inline } else { Run::Thread };
        let completion = Some(CompletionHandler::Closure(Box::new(done)));
        Delivery { into: Destination::Contiguous(place), drop: false, completion, run }
    })?;
    context.gfence()?;
    let me = context.task();
    let mut under_way = Vec::new();
    for &len in SIZES {
        for step in 0..context.tasks() {
            let to = (me + step) % context.tasks();
            under_way.push(context.send_and_confirm(to, DATA, &[], filled(me, len))?);
        }
    }
    for pending in under_way {
        let data = pending.wait()?;
        check(me, data.len(), &data);
    }
    let expected = SIZES.len() as i32 * context.tasks() as i32;
    assert_eq!(context.wait_counter(&arrived, expected)?, 0, "more messages than were sent");
    context.gfence()?;
    assert_eq!(arrived.value(), 0, "a message arrived twice");
    println!("all-to-all: {expected} messages");
    context.terminate()
}

/// One of many: starts, meets all others in a fence, and ends.
pub(crate) fn crowd() -> Result<()> {
    println!("task {} starts", std::process::id());
    let context = join()?;
    context.gfence()?;
    println!("task {} has met all", context.task());
    context.terminate()
}

/// Completion handlers that answer, while both sides send at once.
pub(crate) fn answers() -> Result<()> {
    const ROUNDS: u64 = 200;
    let context = join()?;
    let answered = Arc::new(AtomicU64::new(0));
    context.set_handler(PING, |_, message| {
        let (from, len) = (message.source, message.len as usize);
        Delivery::bury().then(move |context| {
            let answer = filled(context.task(), len);
            context.send(from, PONG, &[], &answer).expect("an answer can be sent");
        })
    })?;
    let here = Arc::clone(&answered);
    context.set_handler(PONG, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    let me = context.task();
    let data = filled(me, 3000);
    for round in 0..ROUNDS {
        for to in 0..context.tasks() {
            context.send(to, PING, &[], &data[..(round as usize * 37) % data.len()])?;
        }
    }
    let expected = ROUNDS * u64::from(context.tasks());
    context.wait_until(|| answered.load(Ordering::Relaxed) == expected)?;
    println!("answers: {expected}");
    context.gfence()?;
    context.terminate()
}

/// A task that computes is served in interrupt mode, also when it has polled all the time before,
/// and is not served in polling mode.
pub(crate) fn interrupts(mode: &str) -> Result<()> {
    let context = lapis::builder().interrupts(mode != "off").init()?;
    if mode == "after polling" {
        poll_all_the_time(&context)?;
    }
    let served = Arc::new(AtomicBool::new(false));
    let here = Arc::clone(&served);
    context.set_handler(PING, move |_, _| {
        here.store(true, Ordering::Relaxed);
        Delivery::bury()
    })?;
    // Both tasks look at task 0's word without a call of Lapis at task 0: 1 says that it computes,
    // 2 that the message is out.
    let word = context.alloc(8)?;
    let all = context.all_gather(&word.remote().to_bytes())?;
    let (all, _) = all.as_chunks();
    let stage = RemoteMemory::from_bytes(&all[0]);
    if context.task() == 1 {
        let mut now = [0; 8];
        while u64::from_ne_bytes(now) != 1 {
            context.get_bytes(stage, &mut now)?;
        }
        context.send(0, PING, &[], b"knock")?;
        context.put_bytes(stage, &2u64.to_ne_bytes())?;
    }
    if context.task() == 0 {
        word.atomic_u64(0).store(1, Ordering::Relaxed);
        while word.atomic_u64(0).load(Ordering::Relaxed) != 2 {
            std::thread::yield_now();
        }
        // Long, if it is to be served; a moment, if it must not be.
        let limit = if mode == "off" { Duration::from_millis(100) } else { Duration::from_secs(30) };
        let mut patience = Patience::with_myself(limit);
        while !served.load(Ordering::Relaxed) && !patience.is_over() {
            std::thread::yield_now();
        }
        println!("served while it computed: {}", served.load(Ordering::Relaxed));
        context.wait_until(|| served.load(Ordering::Relaxed))?;
    }
    context.gfence()?;
    drop(word);
    context.terminate()
}

/// Processor time of the calling thread.
fn time_of_this_thread() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid for the call.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(read, 0, "every thread has such a clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A thread of task 0 sleeps until a message comes, while another one polls all the time: it stays
/// asleep, and is woken at once.
pub(crate) fn sleep_beside_a_poller() -> Result<()> {
    const POLLS: Duration = Duration::from_millis(500);
    let context = lapis::builder().interrupts(true).init()?;
    let heard = Arc::new(AtomicBool::new(false));
    let here = Arc::clone(&heard);
    context.set_handler(PING, move |_, _| {
        here.store(true, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    if context.task() == 1 {
        std::thread::sleep(POLLS);
        context.send(0, PING, &[], b"wake")?;
    } else {
        let took = std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                context.wait_until(|| heard.load(Ordering::Relaxed))?;
                Ok::<_, lapis::Error>(time_of_this_thread())
            });
            while !heard.load(Ordering::Relaxed) {
                context.progress()?;
            }
            sleeper.join().expect("the thread ends well")
        })?;
        println!("slept beside a poller: {}", took < POLLS / 4);
    }
    context.gfence()?;
    context.terminate()
}

/// Two tasks answer each other until interrupts are left out at task 0, because it polls all the
/// time. Where others want its core they are not.
fn poll_all_the_time(context: &Context) -> Result<()> {
    let (heard, goes_on) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(true)));
    let (count, told) = (Arc::clone(&heard), Arc::clone(&goes_on));
    context.set_handler(PONG, move |_, message| {
        told.store(message.data() == Some(&[1]), Ordering::Relaxed);
        count.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    let mut patience = Patience::with_myself(Duration::from_secs(10));
    for round in 1.. {
        let first = context.task() == 0;
        if first {
            let enough = !context.arrivals_interrupt() || patience.is_over();
            goes_on.store(!enough, Ordering::Relaxed);
        } else {
            context.wait_until(|| heard.load(Ordering::Relaxed) == round)?;
        }
        let last = !goes_on.load(Ordering::Relaxed);
        context.send(1 - context.task(), PONG, &[], &[u8::from(!last)])?;
        if first {
            context.wait_until(|| heard.load(Ordering::Relaxed) == round)?;
        }
        if last {
            break;
        }
    }
    if context.task() == 0 {
        assert!(!context.arrivals_interrupt() || context.is_crowded(), "interrupts are never left out");
    }
    Ok(())
}

/// Tasks leave one after the other, and those who stay go on talking.
pub(crate) fn leave_unevenly() -> Result<()> {
    let context = join()?;
    let heard = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&heard);
    context.set_handler(PING, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    context.gfence()?;
    let (me, tasks) = (context.task(), context.tasks());
    // Task k hears from everybody above it, then tells everybody below it, and leaves.
    let above = u64::from(tasks - 1 - me);
    context.wait_until(|| heard.load(Ordering::Relaxed) == above)?;
    for below in 0..me {
        context.send(below, PING, &[], &[])?;
    }
    println!("left: {me}");
    context.terminate()
}

/// Messages that wait are all handled by one call that polls.
pub(crate) fn poll() -> Result<()> {
    const MESSAGES: usize = 10;
    let context = lapis::builder().interrupts(false).init()?;
    context.set_handler(PING, |_, _| Delivery::bury())?;
    // Tells task 0 without a call of Lapis there that all messages are out.
    let word = context.alloc(8)?;
    let all = context.all_gather(&word.remote().to_bytes())?;
    let (all, _) = all.as_chunks();
    let stage = RemoteMemory::from_bytes(&all[0]);
    context.gfence()?;
    // A call that handles nothing has looked at everything; the next one starts again.
    while context.progress()?.events > 0 {}
    let mut now = [0; 8];
    let mut reach = |wanted: u64| -> Result<()> {
        while u64::from_ne_bytes(now) != wanted {
            context.get_bytes(stage, &mut now)?;
            std::thread::yield_now();
        }
        Ok(())
    };
    if context.task() == 1 {
        reach(1)?;
        for _ in 0..MESSAGES {
            context.send(0, PING, &[], &[0; 8])?;
        }
        context.put_bytes(stage, &2u64.to_ne_bytes())?;
    } else {
        context.put_bytes(stage, &1u64.to_ne_bytes())?;
        reach(2)?;
        println!("handled by one call: {}", context.progress()?.events);
    }
    context.gfence()?;
    context.terminate()
}
