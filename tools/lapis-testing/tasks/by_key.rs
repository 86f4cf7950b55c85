//! Memory that a transport reaches by keys: transfers without packets.

use crate::{check, filled, join};
use lapis::core::message::{GetArgs, PutArgs};
use lapis::core::sync::{AtomicU32, Ordering};
use lapis::{Context, Counter, Delivery, Destination, HandlerId, Notify, RemoteMemory, Result, Source};
use std::ptr::NonNull;
use std::sync::Arc;

const LEN: usize = 64 << 10;
/// Too short to be announced.
const SHORTER: usize = LEN - 8;
const ROUNDS: usize = 50;
/// More than the counters' messages and fences of all rounds together, less than packets with the
/// data would be.
const FEW: u64 = 4 * ROUNDS as u64;

/// Everybody's memory, by task.
pub(crate) fn exchange(context: &Context, mine: RemoteMemory) -> Result<Vec<RemoteMemory>> {
    let all = context.all_gather(&mine.to_bytes())?;
    let (all, _) = all.as_chunks();
    Ok(all.iter().map(RemoteMemory::from_bytes).collect())
}

/// Whoever has put once so many bytes, and fenced, knows what there is, and the keys.
pub(crate) fn learn_keys(context: &Context, far: RemoteMemory, len: usize) -> Result<()> {
    context.put_bytes(far, &vec![1; len])?;
    context.gfence()
}

/// Puts to the right and gets what was put there, `ROUNDS` times; the packets that this took.
fn rounds(context: &Context, far: RemoteMemory, arrivals: u64, checked: bool) -> Result<u64> {
    let before = context.statistics().total();
    let (sent, there, here) = (Counter::new(0), Counter::new(0), Counter::new(0));
    for round in 0..ROUNDS {
        let data = filled(context.task() + round as u32, LEN);
        let mut back = vec![0u8; LEN];
        // SAFETY: the data and the counters outlive the waits below.
        unsafe {
            context.put(PutArgs {
                target: far.task,
                remote: far.addr,
                source: Source::Contiguous(data.as_ptr(), LEN as u64),
                target_counter: arrivals,
                origin: Notify::counter(&sent),
                completion: Notify::counter(&there),
                checked,
            })?;
        }
        context.wait_counter(&sent, 1)?;
        context.wait_counter(&there, 1)?;
        // SAFETY: the place and the counter outlive the wait below.
        unsafe {
            context.get(GetArgs {
                target: far.task,
                remote: far.addr,
                len: LEN as u64,
                destination: Destination::Contiguous(NonNull::from(back.as_mut_slice()).cast()),
                target_counter: 0,
                origin: Notify::counter(&here),
                checked,
            })?;
        }
        context.wait_counter(&here, 1)?;
        check(context.task() + round as u32, LEN, &back);
    }
    let after = context.statistics().total();
    assert!(
        after.data_sent - before.data_sent >= (ROUNDS * LEN) as u64
            && after.data_received - before.data_received >= (ROUNDS * LEN) as u64,
        "what went by key is counted: {before:?}, {after:?}"
    );
    Ok(after.packets_sent - before.packets_sent)
}

/// Transfers to memory of Lapis and to registered memory of the program's go without packets. Long
/// ones to memory that is not registered any more are announced, shorter ones go in packets, where
/// the transport needs keys.
pub(crate) fn by_key(keys: bool) -> Result<()> {
    let context = join()?;
    let right = ((context.task() + 1) % context.tasks()) as usize;
    let arrived = Counter::new(0);
    let counters = context.all_gather(&std::ptr::from_ref(&arrived).expose_provenance().to_le_bytes())?;
    let counter = u64::from_le_bytes(counters[right * 8..][..8].try_into().expect("8 bytes"));

    let memory = context.alloc(LEN)?;
    let far = exchange(&context, memory.remote())?;
    learn_keys(&context, far[right], LEN)?;
    let packets = rounds(&context, far[right], counter, true)?;
    assert!(packets < FEW, "{packets} packets to memory of Lapis");
    context.wait_counter(&arrived, ROUNDS as i32)?;

    let own = Box::leak(vec![0u64; LEN / 8].into_boxed_slice());
    // SAFETY: leaked, so it stays; it is only read by peers' transfers from here on.
    let registered = unsafe { context.register(NonNull::from(&mut *own).cast(), LEN)? };
    let far = exchange(&context, registered.remote())?;
    learn_keys(&context, far[right], LEN)?;
    let packets = rounds(&context, far[right], counter, true)?;
    assert!(packets < FEW, "{packets} packets to registered memory");
    context.wait_counter(&arrived, ROUNDS as i32)?;

    context.gfence()?;
    if !keys {
        println!("given: done");
        return context.terminate();
    }
    drop(registered);
    context.gfence()?;
    // The safe interface's check would refuse what is not registered: raw transfers are not
    // checked. Each is announced, and confirmed by a packet or two.
    let packets = rounds(&context, far[right], counter, false)?;
    assert!(packets < FEW + 2 * ROUNDS as u64, "{packets} packets announce long transfers");
    context.wait_counter(&arrived, ROUNDS as i32)?;

    put_in_packets(&context, far[right], own)?;
    println!("by-key: done");
    context.terminate()
}

/// A put to memory that is registered no more, which is too short to be announced.
fn put_in_packets(context: &Context, far: RemoteMemory, own: &mut [u64]) -> Result<()> {
    context.gfence()?;
    let before = context.statistics().total().packets_sent;
    let (data, there) = (filled(context.task(), SHORTER), Counter::new(0));
    // SAFETY: the memory is leaked; data and counter outlive the wait.
    unsafe {
        context.put(PutArgs {
            target: far.task,
            remote: far.addr,
            source: Source::Contiguous(data.as_ptr(), SHORTER as u64),
            target_counter: 0,
            origin: Notify::None,
            completion: Notify::counter(&there),
            checked: false,
        })?;
    }
    context.wait_counter(&there, 1)?;
    let packets = context.statistics().total().packets_sent - before;
    assert!(packets >= 7, "{packets} packets to memory that is registered no more");
    context.gfence()?;
    let left = (context.task() + context.tasks() - 1) % context.tasks();
    // SAFETY: leaked, and nobody writes to it any more.
    check(left, SHORTER, unsafe { std::slice::from_raw_parts(own.as_ptr().cast(), SHORTER) });
    Ok(())
}

/// Long transfers of memory that nobody registers, whatever the transport refuses.
pub(crate) fn unregistered() -> Result<()> {
    let context = join()?;
    let right = ((context.task() + 1) % context.tasks()) as usize;
    let arrived = Counter::new(0);
    let counters = context.all_gather(&std::ptr::from_ref(&arrived).expose_provenance().to_le_bytes())?;
    let counter = u64::from_le_bytes(counters[right * 8..][..8].try_into().expect("8 bytes"));
    let own = Box::leak(vec![0u64; LEN / 8].into_boxed_slice());
    let addr = own.as_mut_ptr().expose_provenance() as u64;
    let mine = RemoteMemory { task: context.task(), addr, len: LEN as u64 };
    let far = exchange(&context, mine)?;
    rounds(&context, far[right], counter, false)?;
    context.wait_counter(&arrived, ROUNDS as i32)?;
    context.gfence()?;
    println!("unregistered: done");
    context.terminate()
}

/// A long put to the right, then a wait for ever.
pub(crate) fn put_and_wait() -> Result<()> {
    const LONG: usize = 4 << 20;
    let context = join()?;
    let right = ((context.task() + 1) % context.tasks()) as usize;
    let memory = context.alloc(LONG)?;
    let far = exchange(&context, memory.remote())?;
    learn_keys(&context, far[right], 1)?;
    context.put_bytes(far[right], &filled(context.task(), LONG))?;
    context.gfence()?;
    println!("ready");
    context.wait_until(|| false)
}

/// Long messages are fetched by their targets: few packets carry them.
pub(crate) fn long_messages() -> Result<()> {
    const LONG: usize = (5 << 20) + 3;
    const COUNT: u32 = 6;
    let context = join()?;
    let (me, tasks) = (context.task(), context.tasks());
    let left = (me + tasks - 1) % tasks;
    let came = Arc::new(AtomicU32::new(0));
    let count = came.clone();
    context.set_handler(HandlerId(1), move |_, message| {
        assert_eq!((message.source, message.len), (left, LONG as u64));
        let count = count.clone();
        Delivery::collect(message, move |data| {
            check(left, LONG, &data);
            count.fetch_add(1, Ordering::Relaxed);
        })
    })?;
    context.gfence()?;
    let before = context.statistics().total().packets_sent;
    let data = filled(me, LONG);
    for _ in 0..COUNT {
        context.send((me + 1) % tasks, HandlerId(1), &[], &data)?;
    }
    context.wait_until(|| came.load(Ordering::Relaxed) == COUNT)?;
    let packets = context.statistics().total().packets_sent - before;
    assert!(packets < 20 * u64::from(COUNT), "{packets} packets for {COUNT} messages of {LONG} bytes");
    context.gfence()?;
    println!("long-messages: done");
    context.terminate()
}
