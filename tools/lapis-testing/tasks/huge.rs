//! Transfers longer than 2 GiB: lengths and offsets that don't fit 31 bits, in one piece for the
//! caller.

use crate::join;
use lapis::core::message::{GetArgs, PutArgs};
use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{
    CompletionHandler, Context, Counter, Delivery, Destination, HandlerId, Notify, RemoteMemory, Result, Run,
    Source,
};
use std::ptr::NonNull;
use std::sync::Arc;

/// Beyond 2 GiB, and no multiple of anything.
const LEN: usize = (2 << 30) + (1 << 20) + 5;
const MESSAGE: HandlerId = HandlerId(1);
/// Distance of the places that are looked at, no multiple of a page or of a piece.
const STEP: usize = (1 << 20) + 4099;
const MARK: usize = 8;

/// The one buffer of a task. Pages that nobody has written to take no memory.
struct Buffer(Vec<u8>);

impl Buffer {
    fn new() -> Self {
        Self(vec![0; LEN])
    }

    /// Places all over, and around 2 GiB, where a signed number of 32 bits ends.
    fn places() -> impl Iterator<Item = usize> {
        Self::steps().chain([(2 << 30) - MARK, 2 << 30, LEN - MARK])
    }

    /// Those behind which nothing is written.
    fn steps() -> impl Iterator<Item = usize> {
        (0..(2 << 30) - 2 * STEP).step_by(STEP)
    }

    fn mark(place: usize, round: u64) -> [u8; MARK] {
        (place as u64 ^ round << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
    }

    fn fill(&mut self, round: u64) {
        Self::places().for_each(|place| self.0[place..][..MARK].copy_from_slice(&Self::mark(place, round)));
    }

    #[track_caller]
    fn check(&self, round: u64) {
        let wrong: Vec<usize> =
            Self::places().filter(|&place| self.0[place..][..MARK] != Self::mark(place, round)).collect();
        assert!(
            wrong.is_empty(),
            "round {round}: {} places are wrong, the first {:?}",
            wrong.len(),
            wrong[0]
        );
        let between = Self::steps().map(|place| place + MARK).find(|&at| self.0[at] != 0);
        assert!(between.is_none(), "round {round}: something was written behind {between:?}");
    }

    fn at(&mut self) -> NonNull<u8> {
        NonNull::from(self.0.as_mut_slice()).cast()
    }
}

/// Task 0 sends, puts and gets back; first with memory that nobody has registered, then by key.
pub(crate) fn huge() -> Result<()> {
    let context = join()?;
    let mut own = Buffer::new();
    let arrived = Counter::new(0);
    let counter = std::ptr::from_ref(&arrived).expose_provenance() as u64;
    let counters = context.all_gather(&counter.to_le_bytes())?;
    let (counters, _) = counters.as_chunks();
    let mine = RemoteMemory {
        task: context.task(),
        addr: own.at().expose_provenance().get() as u64,
        len: LEN as u64,
    };
    let all = context.all_gather(&mine.to_bytes())?;
    let (all, _) = all.as_chunks();
    let far = RemoteMemory::from_bytes(&all[1]);
    message(&context, &mut own)?;
    one_sided(&context, &mut own, far, u64::from_le_bytes(counters[1]), &arrived, 2)?;
    // SAFETY: the buffer lives until the registration is dropped, and nobody looks at it while
    // others may write to it.
    let registered = unsafe { context.register(own.at(), LEN)? };
    context.gfence()?;
    one_sided(&context, &mut own, far, u64::from_le_bytes(counters[1]), &arrived, 4)?;
    context.gfence()?;
    drop(registered);
    counted(&context);
    println!("huge: done");
    context.terminate()
}

/// Bytes are counted where the task takes part: those that were put and got by key, at the origin.
#[track_caller]
fn counted(context: &Context) {
    let total = context.statistics().total();
    let (sent, received) = if context.task() == 0 { (3, 2) } else { (1, 2) };
    let (sent, received) = (sent * LEN as u64, received * LEN as u64);
    assert!(
        total.data_sent >= sent && total.data_received >= received && total.packets_sent < 1000,
        "{sent} bytes sent and {received} received, in few packets: {total:?}"
    );
}

/// A message, straight into the other task's buffer.
fn message(context: &Context, own: &mut Buffer) -> Result<()> {
    let came = Arc::new(AtomicU64::new(0));
    let (here, into) = (Arc::clone(&came), own.at().expose_provenance());
    context.set_handler(MESSAGE, move |_, message| {
        assert_eq!(message.len, LEN as u64, "the length that the handler is told");
        let (here, len) = (Arc::clone(&here), message.len);
        let count = move |_: &Context| {
            here.fetch_add(len, Ordering::Relaxed);
        };
        let into = Destination::Contiguous(NonNull::with_exposed_provenance(into));
        let completion = Some(CompletionHandler::Closure(Box::new(count)));
        Delivery { into, drop: false, completion, run: Run::Inline }
    })?;
    context.gfence()?;
    if context.task() == 0 {
        own.fill(1);
        context.send(1, MESSAGE, &[], &own.0)?;
    } else {
        context.wait_until(|| came.load(Ordering::Relaxed) == LEN as u64)?;
        own.check(1);
    }
    println!("huge: message");
    context.gfence()
}

/// A put, and a get of the same into a buffer that has other contents by then.
fn one_sided(
    context: &Context,
    own: &mut Buffer,
    far: RemoteMemory,
    arrivals: u64,
    arrived: &Counter,
    round: u64,
) -> Result<()> {
    let (sent, there, here) = (Counter::new(0), Counter::new(0), Counter::new(0));
    if context.task() == 0 {
        own.fill(round);
        // SAFETY: buffer and counters outlive the waits; the target gave its memory out for this.
        unsafe {
            context.put(PutArgs {
                target: 1,
                remote: far.addr,
                source: Source::Contiguous(own.at().as_ptr(), LEN as u64),
                target_counter: arrivals,
                origin: Notify::counter(&sent),
                completion: Notify::counter(&there),
                checked: false,
            })?;
        }
        context.wait_counter(&sent, 1)?;
        context.wait_counter(&there, 1)?;
    } else {
        context.wait_counter(arrived, 1)?;
        own.check(round);
        own.fill(round + 1);
    }
    println!("huge: put");
    context.gfence()?;
    if context.task() == 0 {
        // SAFETY: buffer and counter outlive the wait, and nobody looks at the buffer until
        // the data have come.
        unsafe {
            context.get(GetArgs {
                target: 1,
                remote: far.addr,
                len: LEN as u64,
                destination: Destination::Contiguous(own.at()),
                target_counter: arrivals,
                origin: Notify::counter(&here),
                checked: false,
            })?;
        }
        context.wait_counter(&here, 1)?;
        own.check(round + 1);
    } else {
        context.wait_counter(arrived, 1)?;
    }
    println!("huge: get");
    context.gfence()
}
