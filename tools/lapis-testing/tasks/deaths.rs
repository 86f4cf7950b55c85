//! What happens to the others when a task dies, and to a child that a task forks.

use crate::join;
use lapis::core::message::PutArgs;
use lapis::core::sync::{AtomicU32, AtomicU64, Ordering};
use lapis::{Context, Delivery, Error, HandlerId, Notify, RemoteMemory, Result, Source};
use lapis_patience::Patience;
use std::os::unix::process::CommandExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HELLO: HandlerId = HandlerId(1);
const DATA: HandlerId = HandlerId(2);
const VICTIM: u32 = 1;

/// Longer than anybody may take to notice.
/// More than anything takes, by the own time of a task.
const PATIENCE: Duration = Duration::from_secs(20);

fn kill_myself() -> ! {
    // SAFETY: sends a signal to this process alone.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    unreachable!("SIGKILL was sent to this process")
}

/// The launcher ends the job as soon as a task dies: whoever is to tell of it must not mind.
fn ignore_the_launchers_signal() {
    // SAFETY: ignoring a signal runs no code of ours.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
}

/// Task 1 dies at some place; the others say what came of their calls.
pub(crate) fn die(place: &str) -> Result<()> {
    ignore_the_launchers_signal();
    let me: u32 = std::env::var("LAPIS_TASK").ok().and_then(|t| t.parse().ok()).expect("a launcher's task");
    if place == "init" {
        die_before_joining(me);
    }
    let context = match join() {
        Ok(context) => context,
        Err(error) => {
            println!("task {me}: init: {}", error.with_causes());
            return Ok(());
        }
    };
    let heard = count_hellos(&context)?;
    let memory = Box::leak(vec![0u64; 8].into_boxed_slice()).as_mut_ptr();
    let all = context.all_gather(&(memory.expose_provenance() as u64).to_le_bytes())?;
    let (all, _) = all.as_chunks::<8>();
    let theirs = u64::from_le_bytes(all[VICTIM as usize]);
    context.gfence()?;
    farewell(&context, &heard, if place == "put" { Duration::from_millis(20) } else { Duration::ZERO })?;
    match place {
        "put" => println!("task {me}: put: {}", told(|| put_and_fence(&context, theirs))),
        "fence" => println!("task {me}: gfence: {}", told(|| context.gfence())),
        "term" => {
            let mut patience = Patience::with_myself(PATIENCE);
            let outcome = context.terminate();
            assert!(!patience.is_over(), "termination waited for a dead task");
            println!("task {me}: terminate: {outcome:?}");
        }
        other => panic!("no place is called `{other}`"),
    }
    Ok(())
}

/// Task 1 dies before it joins, once the others are ready for the launcher's signal: a file of each
/// in a folder says so.
fn die_before_joining(me: u32) {
    let folder = std::env::var("JOB_TEST_FOLDER").expect("the test names a folder");
    if me != VICTIM {
        std::fs::write(format!("{folder}/ready-{me}"), "").expect("the folder can be written to");
        return;
    }
    let tasks: usize =
        std::env::var("LAPIS_TASKS").ok().and_then(|t| t.parse().ok()).expect("a launcher's task");
    while std::fs::read_dir(&folder).map_or(0, Iterator::count) < tasks - 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_myself();
}

fn count_hellos(context: &Context) -> Result<Arc<AtomicU64>> {
    let heard = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&heard);
    context.set_handler(HELLO, move |_, _| {
        here.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    })?;
    Ok(heard)
}

/// Task 1 dies, once all others have left the last fence, since a fence with a dead task may fail;
/// after some time more.
fn farewell(context: &Context, heard: &AtomicU64, later: Duration) -> Result<()> {
    if context.task() != VICTIM {
        return context.send(VICTIM, HELLO, &[], &[]);
    }
    context.wait_until(|| heard.load(Ordering::Relaxed) == u64::from(context.tasks()) - 1)?;
    let begin = Instant::now();
    while begin.elapsed() < later {
        context.progress()?;
    }
    kill_myself();
}

/// Repeats a call until it fails.
fn told(mut call: impl FnMut() -> Result<()>) -> String {
    let mut patience = Patience::with_myself(PATIENCE);
    while !patience.is_over() {
        if let Err(error) = call() {
            return error.with_causes().to_string();
        }
    }
    "nobody said anything".to_owned()
}

fn put_and_fence(context: &Context, remote: u64) -> Result<()> {
    let data = 7u64;
    let args = PutArgs {
        target: VICTIM,
        remote,
        source: Source::Contiguous((&raw const data).cast(), 8),
        target_counter: 0,
        origin: Notify::None,
        completion: Notify::None,
        checked: false,
    };
    // SAFETY: eight bytes are copied at once; the place is what the task gave out.
    unsafe { context.put(args)? };
    context.fence()
}

/// Task 1 dies; the others have registered for that, are told, and go on with each other.
pub(crate) fn survive() -> Result<()> {
    ignore_the_launchers_signal();
    let dead = Arc::new(AtomicU32::new(u32::MAX));
    let told = Arc::clone(&dead);
    let builder = lapis::builder().on_error(move |_, error, peer| {
        if matches!(error, Error::TargetDown { .. }) {
            told.store(peer, Ordering::Relaxed);
        }
        true
    });
    let context = builder.init()?;
    let heard = count_hellos(&context)?;
    context.gfence()?;
    let me = context.task();
    farewell(&context, &heard, Duration::ZERO)?;
    context.wait_until(|| dead.load(Ordering::Relaxed) == VICTIM)?;
    let others: Vec<u32> = (0..context.tasks()).filter(|&t| t != me && t != VICTIM).collect();
    for _ in 0..100 {
        for &to in &others {
            context.send(to, HELLO, &[], &[7; 100])?;
        }
    }
    let expected = 100 * others.len() as u64;
    context.wait_until(|| heard.load(Ordering::Relaxed) == expected)?;
    let refused = context.send(VICTIM, HELLO, &[], &[]).expect_err("a message to a dead task");
    println!("task {me} goes on: {refused}");
    context.terminate()
}

/// Task 1 dies amid the others' transfers with it, long and short; each of them ends, in an error
/// sooner or later, and the others go on with each other.
pub(crate) fn die_amid_transfers() -> Result<()> {
    const LEN: usize = 300_000;
    let context = lapis::builder().on_error(|_, _, _| true).init()?;
    let heard = count_hellos(&context)?;
    context.set_handler(DATA, |_, _| Delivery::bury())?;
    let memory = context.alloc(LEN)?;
    let all = context.all_gather(&memory.remote().to_bytes())?;
    let (all, _) = all.as_chunks();
    let far = RemoteMemory::from_bytes(&all[VICTIM as usize]);
    let me = context.task();
    farewell(&context, &heard, Duration::from_millis(20))?;
    let mut patience = Patience::with_myself(PATIENCE);
    let error = loop {
        assert!(!patience.is_over(), "nobody said that task {VICTIM} has died");
        let put = context.put_owned(far, vec![7; LEN]);
        let get = context.get_owned(far);
        let long = context.send_and_confirm(VICTIM, DATA, &[], vec![7; LEN]);
        let short = context.send_and_confirm(VICTIM, DATA, &[], vec![7; 8]);
        // All are waited for: what has begun must end.
        let ends = [put, get, long, short].map(|begun| begun.and_then(|pending| pending.wait()));
        if let Some(error) = ends.into_iter().find_map(Result::err) {
            break error;
        }
    };
    println!("task {me} was told: {error}");
    let other = 2 - me;
    context.send(other, HELLO, &[], &[])?;
    context.wait_until(|| heard.load(Ordering::Relaxed) == 1)?;
    drop(memory);
    context.terminate()
}

/// Initialises, does a little of everything and terminates, again and again, until somebody ends
/// it.
pub(crate) fn turmoil() -> Result<()> {
    loop {
        let context = join()?;
        let (me, tasks) = (context.task(), context.tasks());
        let heard = count_hellos(&context)?;
        let own = context.alloc(1 << 12)?;
        let all = context.all_gather(&own.remote().to_bytes())?;
        let (all, _) = all.as_chunks();
        let right = RemoteMemory::from_bytes(&all[((me + 1) % tasks) as usize]);
        for round in 0..20u64 {
            let mut back = [0; 8];
            context.put_bytes(right, &round.to_le_bytes())?;
            context.get_bytes(right, &mut back)?;
            context.fetch_add(right, 1)?;
            for to in 0..tasks {
                // One packet, many packets, fetched from here.
                for len in [8, 5000, 200_000] {
                    context.send(to, HELLO, &[], &vec![7; len])?;
                }
            }
            context.fence()?;
            context.gfence()?;
        }
        context.wait_until(|| heard.load(Ordering::Relaxed) == 20 * 3 * u64::from(tasks))?;
        context.gfence()?;
        drop(own);
        context.terminate()?;
    }
}

/// A forked child can't use the parent's context, nor end anything of it, and the parent goes on.
pub(crate) fn fork() -> Result<()> {
    let context = join()?;
    let memory = context.alloc(4096)?;
    memory.write(0, b"still here");
    context.gfence()?;
    // SAFETY: the child calls what a forked child may call: nothing that takes a lock another
    // thread might hold.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = |r: Result<()>| matches!(r, Err(Error::ForkedChild { .. }));
        let all = refused(context.send(0, HELLO, &[], &[]))
            && refused(context.gfence())
            && refused(context.terminate());
        drop((memory, context));
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(if all { 42 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made; the status is a local variable.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 42, "the child ended with {status:#x}");
    let mut bytes = [0; 10];
    memory.read(0, &mut bytes);
    assert_eq!(&bytes, b"still here");
    context.gfence()?;
    drop(memory);
    println!("fork: refused in the child");
    context.terminate()
}

/// A process opens a context, leaves all of it behind, and starts again under the same number, as
/// one does that gets the number of a process that was killed.
pub(crate) fn begin_anew(detail: &str) -> Result<()> {
    let context = join()?;
    if detail == "again" {
        println!("{} began anew", std::process::id());
        return context.terminate();
    }
    let program = std::env::current_exe().expect("a running program has a path");
    panic!("exec: {}", std::process::Command::new(program).args(["begin-anew", "again"]).exec());
}
