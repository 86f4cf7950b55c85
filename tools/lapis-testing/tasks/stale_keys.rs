//! Memory that its task takes back while another task, which calls nothing, still knows the key.

use crate::by_key::{exchange, learn_keys};
use crate::{check, filled};
use lapis::core::message::PutArgs;
use lapis::core::sync::{AtomicU32, Ordering};
use lapis::{Context, Counter, Delivery, Error, HandlerId, Notify, RemoteMemory, Result, Source};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const OWNER: u32 = 0;
const OTHER: u32 = 1;
const LEN: usize = 256 << 10;
/// How long the other task calls nothing: nothing announces that the owner goes on.
const AWAY: Duration = Duration::from_millis(300);
/// What the owner writes once the memory is its own again.
const OWN: u8 = 0xaa;
const MESSAGE: HandlerId = HandlerId(1);
const MESSAGES: u32 = 20;

/// The memory that is taken back.
#[expect(dead_code, reason = "it is only dropped")]
enum Given {
    Registered(lapis::core::RegisteredMemory),
    Allocated(lapis::Memory),
}

/// Begins a put of all of `data`, whose end is counted.
fn begin_put(context: &Context, far: RemoteMemory, data: *const u8, ended: &Counter) -> Result<()> {
    let put = PutArgs {
        target: far.task,
        remote: far.addr,
        source: Source::Contiguous(data, LEN as u64),
        target_counter: 0,
        origin: Notify::None,
        completion: Notify::counter(ended),
        checked: false,
    };
    // SAFETY: both sides' memory is leaked, or stays until the counter has counted.
    unsafe { context.put(put) }
}

/// The owner takes memory back, `how` it was given: by `register` or `alloc`. With `lend` the other
/// task is to fetch from it instead, what the owner puts. With `die` the other one dies meanwhile.
/// The tasks speak by files in a directory, for messages would bring the news.
pub(crate) fn stale_key(how: &str, directory: &Path) -> Result<()> {
    let [away, leaving, left] = ["away", "leaving", "left"].map(|name| directory.join(name));
    let context = lapis::builder().on_error(|_, _, _| true).init()?;
    let came = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&came);
    context.set_handler(MESSAGE, move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    let own = NonNull::from(Box::leak(vec![0u8; LEN].into_boxed_slice())).cast::<u8>();
    let mine = |at| RemoteMemory { task: context.task(), addr: address(at), len: LEN as u64 };
    let plain = exchange(&context, mine(own))?;
    let (given, at) = give(&context, how)?;
    let far = exchange(&context, mine(at))?;
    let peer = if context.task() == OWNER { OTHER } else { OWNER };
    learn_keys(&context, far[peer as usize], 8)?;
    context.gfence()?;
    let job = Job { context, how, plain: plain[peer as usize], far: far[peer as usize], came };
    if job.context.task() == OTHER {
        note(&away);
        use_old_key(&job, (&leaving, &left))?;
        (0..MESSAGES).try_for_each(|_| job.context.send(OWNER, MESSAGE, &[], &[]))?;
        if how == "lend" {
            job.await_messages(1)?;
            check(OWNER, LEN, &copy(own));
        }
        drop(given);
    } else {
        await_note(&away);
        take_back(&job, (given, at), (&leaving, &left))?;
    }
    if how == "die" {
        println!("stale-key: done");
        return job.context.terminate();
    }
    job.context.gfence()?;
    let untouched = || copy(at).iter().all(|byte| *byte == OWN);
    assert!(how == "alloc" || peer == OWNER || untouched(), "something came later");
    println!("stale-key: done");
    job.context.terminate()
}

/// What both tasks' parts need.
struct Job<'a> {
    context: Context,
    how: &'a str,
    /// The other one's memory that is not registered, and that which is.
    plain: RemoteMemory,
    far: RemoteMemory,
    /// Messages that have come.
    came: Arc<AtomicU32>,
}

impl Job<'_> {
    fn await_messages(&self, count: u32) -> Result<()> {
        self.context.wait_until(|| self.came.load(Ordering::Relaxed) == count)
    }
}

/// The owner's part.
fn take_back(
    job: &Job<'_>,
    (given, at): (Given, NonNull<u8>),
    (leaving, left): (&Path, &Path),
) -> Result<()> {
    let (sent, source) = (Counter::new(0), filled(OWNER, LEN));
    if job.how == "lend" {
        // SAFETY: this task's own memory, which nobody else uses now.
        unsafe { at.as_ptr().copy_from_nonoverlapping(source.as_ptr(), LEN) };
        begin_put(&job.context, job.plain, at.as_ptr(), &sent)?;
    }
    note(leaving);
    drop(given);
    note(left);
    if job.how == "die" {
        return Ok(());
    }
    if job.how != "alloc" {
        let brought = if job.how == "lend" { source } else { filled(OTHER, LEN) };
        assert_eq!(copy(at), brought, "what had begun has ended");
        // SAFETY: leaked memory, which is this task's own again.
        unsafe { at.as_ptr().write_bytes(OWN, LEN) };
    }
    if job.how == "lend" {
        job.context.wait_counter(&sent, 1)?;
        job.context.send(OTHER, MESSAGE, &[], &[])?;
    }
    job.await_messages(MESSAGES)
}

fn give(context: &Context, how: &str) -> Result<(Given, NonNull<u8>)> {
    if how == "alloc" {
        let memory = context.alloc(LEN)?;
        let at = NonNull::new(memory.as_ptr()).expect("memory has an address");
        return Ok((Given::Allocated(memory), at));
    }
    let at = NonNull::from(Box::leak(vec![0u8; LEN].into_boxed_slice())).cast::<u8>();
    // SAFETY: leaked, so it stays.
    Ok((Given::Registered(unsafe { context.register(at, LEN)? }), at))
}

/// The other task is away while the owner takes its memory back, and then uses what it knows.
fn use_old_key(job: &Job<'_>, (leaving, left): (&Path, &Path)) -> Result<()> {
    await_note(leaving);
    let begin = Instant::now();
    while begin.elapsed() < AWAY && !left.exists() {
        std::thread::yield_now();
    }
    assert!(!left.exists(), "the owner has not waited for a task that may use its memory");
    if job.how == "die" {
        // SAFETY: a signal to this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    if job.how == "lend" {
        return Ok(());
    }
    let (data, ended) = (filled(OTHER, LEN), Counter::new(0));
    begin_put(&job.context, job.far, data.as_ptr(), &ended)?;
    job.context.wait_counter(&ended, 1).map(drop)
}

/// The owner takes memory back when the other task, which knows the key, has purged it for good;
/// with `putting` while a put of that task's is under way, which has to end first.
pub(crate) fn purged_owner(how: &str, directory: &Path) -> Result<()> {
    let [purged, over] = ["purged", "over"].map(|name| directory.join(name));
    let context = lapis::builder().on_error(|_, _, _| true).init()?;
    let (given, at) = give(&context, "register")?;
    let mine = RemoteMemory { task: context.task(), addr: address(at), len: LEN as u64 };
    let far = exchange(&context, mine)?;
    let peer = if context.task() == OWNER { OTHER } else { OWNER };
    learn_keys(&context, far[peer as usize], 8)?;
    context.gfence()?;
    if context.task() == OTHER {
        let (data, ended) = (filled(OTHER, LEN), Counter::new(0));
        if how == "putting" {
            begin_put(&context, far[OWNER as usize], data.as_ptr(), &ended)?;
        }
        context.purge(OWNER)?;
        note(&purged);
        // It answers while it waits, and ends when the put has.
        context.terminate()?;
        note(&over);
    } else {
        await_note(&purged);
        // The purge is not known here yet: the key of this one is announced.
        drop(give(&context, "register")?);
        drop(given);
        // SAFETY: leaked memory, which is this task's own again.
        unsafe { at.as_ptr().write_bytes(OWN, LEN) };
        context.wait_until(|| over.exists())?;
        assert!(copy(at).iter().all(|byte| *byte == OWN), "something came later");
        context.terminate()?;
    }
    println!("purged-owner: done");
    Ok(())
}

/// The owner takes memory back within a handler, which waits for nobody. The other task, which was
/// told of that but has not read it, comes back after a pause and uses what it knows, `how`: by a
/// `put`, a `get`, or a `short` put. It is refused, and nothing else happens to the tasks.
pub(crate) fn unread_key(how: &str, directory: &Path) -> Result<()> {
    let left = directory.join("left");
    let context = lapis::init()?;
    let (given, at) = give(&context, "register")?;
    let (given, gone) = (Mutex::new(Some(given)), left.clone());
    context.set_handler(MESSAGE, move |_, _| {
        drop(given.lock().expect("nobody panics with the lock").take());
        note(&gone);
        Delivery::bury()
    })?;
    let far = exchange(&context, RemoteMemory { task: context.task(), addr: address(at), len: LEN as u64 })?;
    let peer = if context.task() == OWNER { OTHER } else { OWNER };
    learn_keys(&context, far[peer as usize], 8)?;
    context.gfence()?;
    if context.task() == OTHER {
        context.send(OWNER, MESSAGE, &[], &[])?;
        await_note(&left);
        std::thread::sleep(AWAY);
        let far = far[OWNER as usize];
        let outcome = match how {
            "put" => context.put_owned(far, filled(OTHER, LEN))?.wait().map(drop),
            "get" => context.get_owned(far)?.wait().map(drop),
            _ => context.put_bytes(far, &[3; 8]),
        };
        assert!(matches!(outcome, Err(Error::Refused(_))), "{outcome:?}");
    } else {
        context.wait_until(|| left.exists())?;
    }
    // Both still reach each other.
    learn_keys(&context, exchange(&context, give_more(&context)?)?[peer as usize], LEN)?;
    println!("unread-key: done");
    context.terminate()
}

/// Memory that stays registered until the context ends.
fn give_more(context: &Context) -> Result<RemoteMemory> {
    let (given, at) = give(context, "register")?;
    std::mem::forget(given);
    Ok(RemoteMemory { task: context.task(), addr: address(at), len: LEN as u64 })
}

fn note(file: &Path) {
    std::fs::write(file, "").expect("a file of the test's own");
}

fn await_note(file: &Path) {
    while !file.exists() {
        std::thread::yield_now();
    }
}

fn address(at: NonNull<u8>) -> u64 {
    at.as_ptr().expose_provenance() as u64
}

fn copy(at: NonNull<u8>) -> Vec<u8> {
    // SAFETY: leaked memory of this length, which nobody writes now.
    unsafe { std::slice::from_raw_parts(at.as_ptr(), LEN) }.to_vec()
}
