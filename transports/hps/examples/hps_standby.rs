//! A task of `tests/standby.rs`: `hps_standby FOLDER`. In rounds, each of two tasks sends the other
//! messages of changing lengths, puts data into its memory, reads them back, and checks what came.
//!
//! If there is a file `mark-N` in the folder, task 0 says so some rounds later: these were begun
//! after the file was written. The tasks end when there is a file `end` and all paths are up.

use lapis::core::message::{GetArgs, PutArgs};
use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Context, Counter, Delivery, Destination, HandlerId, Notify, RemoteMemory, Result, Source};
use std::io::Write as _;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

const DATA: HandlerId = HandlerId(1);
const LENGTHS: [usize; 7] = [8, 40, 100, 1000, 5000, 20_000, 300_000];
const PUTS: [usize; 4] = [8, 900, 20_000, 300_000];

/// Rounds from the moment at which a mark is seen to the answer.
const LATER: u64 = 20;

/// What a task's data of a round are made of.
fn byte(task: u32, round: u64, which: usize) -> u8 {
    (round * 31 + u64::from(task) * 101 + which as u64 * 7) as u8
}

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).expect("a folder"));
    lapis_log::install();
    let context = lapis::init()?;
    let other = 1 - context.task();
    let arrived = receive(&context)?;
    let mut memory = vec![0u8; PUTS[PUTS.len() - 1]];
    let at = NonNull::from(memory.as_mut_slice()).cast::<u8>();
    let (task, addr) = (context.task(), at.expose_provenance().get() as u64);
    let mine = RemoteMemory { task, addr, len: memory.len() as u64 };
    let all = context.all_gather(&mine.to_bytes())?;
    let far = RemoteMemory::from_bytes(&all.as_chunks().0[other as usize]);
    println!("ready");
    let _ = std::io::stdout().flush();
    let (mut round, mut mark, mut due) = (0, 1, None);
    loop {
        send(&context, round)?;
        put_and_get(&context, at, far, round)?;
        if context.task() == 0 && due.is_none() && folder.join(format!("mark-{mark}")).exists() {
            due = Some(round + LATER);
        }
        if due == Some(round) {
            println!("mark {mark}");
            let _ = std::io::stdout().flush();
            (mark, due) = (mark + 1, None);
        }
        round += 1;
        if context.all_gather(&[u8::from(folder.join("end").exists())])?.contains(&1) {
            break;
        }
    }
    context.wait_until(|| context.paths_to(other).iter().all(|up| *up))?;
    // The handlers run on a thread of their own.
    let messages = round * LENGTHS.len() as u64;
    context.wait_until(|| arrived.load(Ordering::Relaxed) >= messages)?;
    context.gfence()?;
    assert_eq!(arrived.load(Ordering::Relaxed), messages, "each message once");
    for (name, note) in context.transport_notes() {
        println!("{name}: {note}");
    }
    println!("done");
    context.terminate()
}

/// Counts messages that are as they should be.
fn receive(context: &Context) -> Result<Arc<AtomicU64>> {
    let arrived = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&arrived);
    context.set_handler(DATA, move |_, message| {
        let (source, len) = (message.source, message.len as usize);
        let round = message.user_header.try_into().map_or(u64::MAX, u64::from_le_bytes);
        let which = LENGTHS.iter().position(|length| *length == len).expect("a length that is sent");
        let mut buffer = vec![0u8; len].into_boxed_slice();
        let into = NonNull::new(buffer.as_mut_ptr()).map_or(Destination::Discard, Destination::Contiguous);
        let here = Arc::clone(&here);
        Delivery { into, ..Delivery::bury() }.then(move |_| {
            let expected = byte(source, round, which);
            assert!(buffer.iter().all(|b| *b == expected), "round {round}, {len} bytes");
            here.fetch_add(1, Ordering::Relaxed);
        })
    })?;
    context.gfence()?;
    Ok(arrived)
}

fn send(context: &Context, round: u64) -> Result<()> {
    let (task, other) = (context.task(), 1 - context.task());
    for (which, len) in LENGTHS.into_iter().enumerate() {
        context.send(other, DATA, &round.to_le_bytes(), &vec![byte(task, round, which); len])?;
    }
    context.fence()
}

/// Puts data into the other task's memory, and gets them back.
fn put_and_get(context: &Context, at: NonNull<u8>, far: RemoteMemory, round: u64) -> Result<()> {
    let (task, other) = (context.task(), 1 - context.task());
    let len = PUTS[round as usize % PUTS.len()];
    let (done, got) = (Counter::new(0), Counter::new(0));
    let mut data = vec![byte(task, round, 100); len];
    // SAFETY: data and counter outlive the wait; the target gave its memory out for this.
    unsafe {
        context.put(PutArgs {
            target: other,
            remote: far.addr,
            source: Source::Contiguous(data.as_ptr(), len as u64),
            target_counter: 0,
            origin: Notify::None,
            completion: Notify::counter(&done),
            checked: false,
        })?;
    }
    context.wait_counter(&done, 1)?;
    context.gfence()?;
    let expected = byte(other, round, 100);
    // SAFETY: the other task writes here in the next round only, which begins behind a fence.
    let here = unsafe { std::slice::from_raw_parts(at.as_ptr(), len) };
    assert!(here.iter().all(|b| *b == expected), "round {round}: a put of {len} bytes");
    data.fill(0);
    // SAFETY: data and counter outlive the wait, and nobody looks at the data until they have come.
    unsafe {
        context.get(GetArgs {
            target: other,
            remote: far.addr,
            len: len as u64,
            destination: Destination::Contiguous(NonNull::from(data.as_mut_slice()).cast()),
            target_counter: 0,
            origin: Notify::counter(&got),
            checked: false,
        })?;
    }
    context.wait_counter(&got, 1)?;
    let expected = byte(task, round, 100);
    assert!(data.iter().all(|b| *b == expected), "round {round}: a get of {len} bytes");
    context.gfence()
}
