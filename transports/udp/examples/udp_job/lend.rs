//! Messages so long that the packet engine reads them from the program's memory, which changes and
//! goes away at once when the program has been told that it may.

use super::{DATA, join, pattern, receive, wait_patiently};
use lapis::core::message::AmSend;
use lapis::{Counter, Notify, Result, Source};
use std::sync::atomic::Ordering;

const LEN: usize = 3_000_000;

pub(super) fn run(rounds: u64) -> Result<()> {
    let context = join()?;
    let tally = receive(&context)?;
    context.gfence()?;
    // They live as long as the process, whatever fails.
    let counter = || -> &'static Counter { Box::leak(Box::new(Counter::new(0))) };
    let (origin, completion) = (counter(), counter());
    let me = context.task();
    for number in (0..rounds as u32).filter(|_| me == 0) {
        let mut data = pattern(u64::from(number), LEN);
        let mut header = vec![number as u8; 12];
        header[..4].copy_from_slice(&number.to_le_bytes());
        let by_completion = number % 3 == 1;
        let message = AmSend {
            target: 1,
            handler: u64::from(DATA.0),
            user_header: &header,
            source: Source::Contiguous(data.as_ptr(), data.len() as u64),
            target_counter: 0,
            origin: if by_completion { Notify::None } else { Notify::counter(origin) },
            completion: if by_completion { Notify::counter(completion) } else { Notify::None },
        };
        // SAFETY: the data live until one of the three says that they have arrived.
        unsafe { context.am_send(message)? };
        match number % 3 {
            0 => drop(context.wait_counter(origin, 1)?),
            1 => drop(context.wait_counter(completion, 1)?),
            _ => context.fence()?,
        }
        data.fill(0xee);
        drop(data);
        if number % 3 == 2 {
            // A fence leaves nothing open.
            assert_eq!(context.wait_counter(origin, 1)?, 0);
        }
    }
    let all = || tally.messages.load(Ordering::Relaxed) >= rounds || me == 0;
    assert!(wait_patiently(&context, all)?, "messages are missing");
    context.gfence()?;
    assert_eq!(tally.faults.load(Ordering::Relaxed), 0, "messages with wrong bytes");
    let s = context.statistics().total();
    println!("ok task {me} resent {} duplicates {}", s.retransmissions, s.duplicates);
    context.gfence()
}
