//! Puts of a few bytes that the transport copies at once: who asks after them waits until they are
//! there.

use crate::join;
use lapis::core::message::PutArgs;
use lapis::{Context, Notify, RemoteMemory, Result, Source};
use std::path::Path;
use std::time::Duration;

const ORIGIN: u32 = 0;
const TARGET: u32 = 1;
/// Words that are put, one by one.
const WORDS: u64 = 100;
/// How long the target calls nothing.
const AWAY: Duration = Duration::from_millis(200);

/// Everybody's memory, with the keys known where there are some.
fn meet(context: &Context, mine: RemoteMemory) -> Result<Vec<RemoteMemory>> {
    let all = context.all_gather(&mine.to_bytes())?;
    let (all, _) = all.as_chunks();
    let far: Vec<_> = all.iter().map(RemoteMemory::from_bytes).collect();
    for &far in far.iter().filter(|far| far.task != context.task()) {
        context.put_bytes(far, &[0; 8])?;
    }
    context.gfence()?;
    context.gfence()?;
    Ok(far)
}

/// Puts a word of whose end nobody is told.
fn put_word(context: &Context, far: RemoteMemory, index: u64, word: u64) -> Result<()> {
    let bytes = word.to_ne_bytes();
    // SAFETY: a short put has been copied, or carried to its end, before the fence of whoever calls
    // this; the bytes are leaked.
    unsafe {
        context.put(PutArgs {
            target: far.task,
            remote: far.addr + index * 8,
            source: Source::Contiguous(Box::leak(Box::new(bytes)).as_ptr(), 8),
            target_counter: 0,
            origin: Notify::None,
            completion: Notify::None,
            checked: false,
        })
    }
}

/// Whether all words are there.
fn has_all(memory: &lapis::Memory) -> bool {
    let mut words = vec![0u8; WORDS as usize * 8];
    memory.read(0, &mut words);
    let (words, _) = words.as_chunks();
    (1..=WORDS).zip(words).all(|(n, bytes)| u64::from_ne_bytes(*bytes) == n)
}

/// The target calls nothing while the origin puts and then fences, purges it, or ends. That returns
/// when the target has made progress, and the words are there then, not before. `how`:
/// `fence DIRECTORY`, with `purge` or `terminate` in place of `fence`; the tasks speak by files,
/// for messages would bring the puts before them.
pub(crate) fn short_puts(how: &str, directory: &Path) -> Result<()> {
    let [away, begun, ended] = ["away", "begun", "ended"].map(|name| directory.join(name));
    let await_note = |file: &Path| {
        while !file.exists() {
            std::thread::yield_now();
        }
    };
    let note = |file: &Path| std::fs::write(file, "").expect("a file of the test's own");
    let context = join()?;
    let memory = context.alloc(WORDS as usize * 8)?;
    let far = meet(&context, memory.remote())?;
    if context.task() == ORIGIN {
        await_note(&away);
        for n in 1..=WORDS {
            put_word(&context, far[TARGET as usize], n - 1, n)?;
        }
        note(&begun);
        match how {
            "fence" => context.fence()?,
            "purge" => context.purge(TARGET)?,
            _ => context.terminate()?,
        }
        note(&ended);
        println!("short-puts: done");
        return if how == "terminate" { Ok(()) } else { context.terminate() };
    }
    note(&away);
    await_note(&begun);
    std::thread::sleep(AWAY);
    assert!(!ended.exists(), "the origin has not waited for a task that calls nothing");
    // What ends its wait is this task's answer, which follows the words.
    while !ended.exists() {
        context.progress()?;
    }
    // A purge gives up what has not begun.
    assert!(how == "purge" || has_all(&memory), "words are missing");
    println!("short-puts: done");
    context.terminate()
}

/// Puts words to the next task, with fences in between; all are there at the end. If one is lost,
/// the fence behind it fails at the latest.
pub(crate) fn fenced_words() -> Result<()> {
    let context = join()?;
    let memory = context.alloc(WORDS as usize * 8)?;
    let far = meet(&context, memory.remote())?;
    let next = far[((context.task() + 1) % context.tasks()) as usize];
    for round in 0..20 {
        let word = |n| if round == 19 { n } else { n + round };
        let put = (1..=WORDS).try_for_each(|n| put_word(&context, next, n - 1, word(n)));
        if let Err(error) = put.and_then(|()| context.fence()) {
            println!("task {}: round {round}: {}", context.task(), error.with_causes());
            return context.terminate();
        }
    }
    if let Err(error) = context.gfence() {
        println!("task {}: at the end: {}", context.task(), error.with_causes());
        return context.terminate();
    }
    assert!(has_all(&memory), "words are missing");
    println!("fenced-words: done");
    context.terminate()
}
