//! Questions that header handlers answer at length: what they send can't wait for room.

use super::{DATA, PONG, interrupts, join, pattern};
use lapis::core::message::AmSend;
use lapis::{Context, Counter, Delivery, Destination, Notify, Result, Source};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lengths of questions and answers: within a packet, about one, several.
const LENGTHS: [usize; 5] = [0, 1200, 6000, 20_000, 100_000];

/// Questions under way.
const WINDOW: u64 = 48;

fn send(
    context: &Context,
    target: u32,
    handler: u64,
    number: u64,
    data: &'static [u8],
    wait: Notify,
) -> Result<()> {
    let header = [number.to_le_bytes(); 4].concat();
    let message = AmSend {
        target,
        handler,
        user_header: &header,
        source: Source::Contiguous(data.as_ptr(), data.len() as u64),
        target_counter: 0,
        origin: Notify::None,
        completion: wait,
    };
    // SAFETY: the data live as long as the process.
    unsafe { context.am_send(message) }
}

/// The data of a message by its number; those of answers differ from those of questions.
fn text(all: &'static [u8], number: u64, answer: bool) -> &'static [u8] {
    let len = LENGTHS[(number + u64::from(answer)) as usize % LENGTHS.len()];
    let from = 8 * (number as usize % 1000);
    &all[from..from + len]
}

fn checked(
    all: &'static [u8],
    answer: bool,
    then: impl Fn(&Context, u32, u64) + Send + Sync + Clone + 'static,
) -> impl Fn(&Context, &lapis::Incoming<'_>) -> Delivery {
    move |_, message| {
        let number = u64::from_le_bytes(message.user_header[..8].try_into().unwrap());
        assert!(message.user_header == [number.to_le_bytes(); 4].concat());
        let (source, len, then) = (message.source, message.len as usize, then.clone());
        let mut buffer = vec![0u8; len].into_boxed_slice();
        let into = NonNull::new(buffer.as_mut_ptr()).map_or(Destination::Discard, Destination::Contiguous);
        let mut delivery = Delivery { into, ..Delivery::bury() }.then(move |context| {
            assert!(*buffer == *text(all, number, answer), "message {number} of task {source} has changed");
            then(context, source, number);
        });
        delivery.run = lapis::Run::Inline;
        delivery
    }
}

pub(super) fn run(rounds: u64) -> Result<()> {
    let context = join()?;
    let all: &'static [u8] = Box::leak(pattern(7, 200_000).into_boxed_slice());
    let answers = Arc::new(AtomicU64::new(0));
    context.set_handler(
        DATA,
        checked(all, false, move |context, source, number| {
            send(context, source, u64::from(PONG.0), number, text(all, number, true), Notify::None)
                .expect("deferred at worst");
        }),
    )?;
    let here = Arc::clone(&answers);
    context.set_handler(
        PONG,
        checked(all, true, move |_, _, _| {
            here.fetch_add(1, Ordering::Relaxed);
        }),
    )?;
    let arrived: &'static Counter = Box::leak(Box::new(Counter::new(0)));
    context.gfence()?;
    let (me, tasks) = (context.task(), context.tasks());
    for number in 0..rounds {
        let to = (me + 1 + (number % u64::from(tasks - 1)) as u32) % tasks;
        let wait = if number % 3 == 0 { Notify::counter(arrived) } else { Notify::None };
        send(&context, to, u64::from(DATA.0), number, text(all, number, false), wait)?;
        if number % 100 == 99 {
            context.fence()?;
        }
        context.wait_until(|| answers.load(Ordering::Relaxed) + WINDOW > number)?;
    }
    context.wait_counter(arrived, rounds.div_ceil(3) as i32)?;
    context.wait_until(|| answers.load(Ordering::Relaxed) == rounds)?;
    context.gfence()?;
    let s = context.statistics().total();
    println!("ok task {me} resent {} interrupts {}", s.retransmissions, interrupts());
    Ok(())
}
