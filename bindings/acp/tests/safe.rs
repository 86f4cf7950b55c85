//! The safe layer: a job of one in this process, tasks of this program under the launcher, and the
//! examples, whose C and Rust programs print the same.

#[path = "../../lapi/tests/support/mod.rs"]
mod jobs;

use acp::{After, Error, Global};
use jobs::{Job, artifacts, checked, scratch, transports};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

const BINDING: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a future on this thread, which sleeps until it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Thread(std::thread::Thread);
    impl Wake for Thread {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Thread(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Copies and atomic operations between all processes, by waiting and by awaiting.
fn accesses(job: &acp::Job) -> acp::Result<()> {
    let (me, procs) = (job.rank(), job.procs());
    let mine = job.register((0..64).map(|at| u64::from(me) * 1000 + at).collect::<Vec<u64>>())?;
    let heap = job.alloc::<u64>(64, (me + 1) % procs)?;
    let places = job.exchange(mine.global().first())?;
    let heaps = job.exchange(heap.first())?;
    // From the process after the next one to the next one: neither end is here.
    let from = places[(me as usize + 2) % procs as usize].slice(64);
    let copied = job.copy(heap, from, After::Nothing)?;
    let added = job.begin_add(heap.at(5)?, 7, copied.after())?;
    let seen = job.begin_add(heap.at(5)?, 1, added.after())?;
    let expected = u64::from((me + 2) % procs) * 1000;
    assert_eq!(block_on(copied), Ok(()));
    assert_eq!(block_on(added)?, expected + 5);
    assert_eq!(seen.wait()?, expected + 12);
    assert_eq!(job.read(heap.at(6)?)?, expected + 6);
    job.sync()?;
    let all = job.read_all(heaps[me as usize].slice(64))?;
    assert_eq!((all[5], all[63]), (expected + 13, expected + 63));
    // Words of 4 bytes beside each other don't touch each other.
    let words = mine.global().part(0, 1)?.cast::<u32>()?;
    job.write(words.at(0)?, u32::MAX)?;
    job.write(words.at(1)?, 3)?;
    assert_eq!(job.fetch_add(words.at(0)?, 1_u32)?, u32::MAX);
    assert_eq!(job.compare_and_swap(words.at(1)?, 3_u32, 4)?, 3);
    assert_eq!(job.compare_and_swap(words.at(1)?, 3_u32, 5)?, 4);
    assert_eq!(job.swap(words.at(0)?, 9_u32)?, 0);
    assert_eq!(job.fetch_or(words.at(0)?, 6_u32)?, 9);
    assert_eq!(job.fetch_and(words.at(0)?, 7_u32)?, 15);
    assert_eq!(job.fetch_xor(words.at(0)?, 2_u32)?, 7);
    assert_eq!(mine.into_inner()[0], 4 << 32 | 5);
    job.sync()?;
    // What is registered no more is found out: at once here, at the end elsewhere.
    let target = places[(me as usize + 1) % procs as usize].slice(1);
    let late = job.copy(target, heap.part(0, 1)?, After::Nothing).and_then(acp::Access::wait);
    assert_eq!(late, Err(Error::Address));
    job.sync()?;
    job.free(heap)
}

/// Memory of each colour that there is serves like any other.
fn colors(job: &acp::Job) -> acp::Result<()> {
    let other = (job.rank() as usize + 1) % job.procs() as usize;
    for color in 0..job.colors() {
        let mine = job.register_with_color(vec![u64::from(job.rank()); 9], color)?;
        assert_eq!(mine.color(), color);
        let places = job.exchange(mine.global().first())?;
        assert_eq!(job.read(places[other])?, other as u64);
        job.sync()?;
    }
    assert_eq!(job.register(vec![1_u8])?.color(), 0);
    assert_eq!(job.register_with_color(vec![1_u8], job.colors()).err(), Some(Error::Color));
    job.sync()
}

/// Each looks through its own entries while others take theirs out and put them back.
fn own_entries_stay_apart(job: &acp::Job) -> acp::Result<()> {
    let made = if job.rank() == 0 { Some(job.create_map::<u32, u32>(4)?) } else { None };
    let map = job.share(0, made)?;
    for key in 0..12 {
        job.insert(map, key, key)?;
    }
    job.sync()?;
    let own = job.own_entries(map)?;
    job.sync()?;
    for _ in 0..100 {
        if job.rank() == 0 {
            assert_eq!(job.own_entries(map)?, own);
        } else {
            for &(key, value) in own.iter().rev() {
                assert!(job.remove(map, key)? && job.insert(map, key, value)?);
            }
        }
    }
    job.sync()
}

/// One counter that everybody raises, and a map that everybody fills.
fn together(job: &acp::Job) -> acp::Result<()> {
    let counter = job.starter(0)?.cast::<u64>()?.at(0)?;
    for _ in 0..100 {
        job.fetch_add(counter, 1)?;
    }
    job.sync()?;
    assert_eq!(job.read(counter)?, 100 * u64::from(job.procs()));
    let made = if job.rank() == job.procs() - 1 { Some(job.create_map::<u32, [u64; 3]>(4)?) } else { None };
    let map = job.share(job.procs() - 1, made)?;
    for key in 0..50 {
        let value = u64::from(key * 3);
        job.insert(map, key, [value; 3])?;
        assert_eq!(job.get(map, key)?, Some([value; 3]));
    }
    job.sync()?;
    let own = job.own_entries(map)?;
    assert!(own.iter().all(|(key, value)| value[2] == u64::from(key * 3)));
    assert_eq!(job.exchange(own.len() as u64)?.iter().sum::<u64>(), 50);
    let removed = (0..50).filter(|key| job.remove(map, *key) == Ok(true)).count() as u64;
    assert_eq!(job.exchange(removed)?.iter().sum::<u64>(), 50, "each key goes once");
    assert_eq!((job.map_len(map)?, job.get(map, 7)?), (0, None));
    job.sync()?;
    if job.rank() == 0 {
        job.destroy_map(map)?;
    }
    job.sync()?;
    assert_eq!(job.get(map, 7), Err(Error::Structure));
    job.sync()
}

#[test]
#[ignore = "a task of the jobs that `tasks_reach_each_others_memory` starts"]
fn a_task() {
    let job = acp::init().expect("a job");
    accesses(&job).expect("accesses");
    together(&job).expect("what all do together");
    own_entries_stay_apart(&job).expect("own entries");
    colors(&job).expect("colours");
    job.finalize().expect("the end");
}

#[test]
fn tasks_reach_each_others_memory() {
    let program = std::env::current_exe().expect("this program");
    for transport in transports() {
        let job = ["a_task", "--exact", "--ignored", "--nocapture", "--test-threads=1"]
            .iter()
            .fold(Job::of(3), |job, arg| job.arg(arg));
        let end = job.env("LAPIS_TRANSPORT", transport).run(&program).success();
        assert_eq!(end.stdout().matches("1 passed").count(), 3, "{transport}: {}", end.stdout());
    }
}

#[test]
#[ignore = "a task of the job that `each_rail_has_a_color` starts"]
fn a_task_with_two_rails() {
    let job = acp::init().expect("a job");
    assert_eq!(job.colors(), 2);
    colors(&job).expect("colours");
    accesses(&job).expect("accesses");
    job.finalize().expect("the end");
}

#[test]
fn each_rail_has_a_color() {
    let program = std::env::current_exe().expect("this program");
    let job = ["a_task_with_two_rails", "--exact", "--ignored", "--nocapture", "--test-threads=1"]
        .iter()
        .fold(Job::of(3), |job, arg| job.arg(arg));
    job.env("LAPIS_TRANSPORT", "hps").env("MP_INSTANCES", "2").run(&program).success();
}

/// Task 1 is stopped amid a long copy that task 0 awaits.
fn await_a_stopped_one(job: &acp::Job) -> acp::Result<()> {
    const LONG: usize = 32 << 20;
    let mine = job.register(vec![0_u8; LONG])?;
    let all = job.exchange(mine.global().first())?;
    let pids = job.exchange(std::process::id())?;
    let stop = job.starter(1)?.cast::<u64>()?.at(0)?;
    job.sync()?;
    if job.rank() == 1 {
        while job.read(stop)? == 0 {}
        // SAFETY: raises a signal whose action is the system's.
        unsafe { libc::raise(libc::SIGSTOP) };
        return Ok(());
    }
    let copied = job.copy(mine.global(), all[1].slice(LONG as u64), After::Nothing)?;
    let stopped = job.begin_add(stop, 1, After::Nothing)?;
    // Where the whole copy had come before it was stopped, the addition may have, too.
    let outcome = block_on(copied);
    println!("awaited: {outcome:?}");
    drop(stopped);
    // SAFETY: a signal to the other task of this job, which does nothing any more.
    unsafe { libc::kill(pids[1] as i32, libc::SIGKILL) };
    outcome
}

#[test]
#[ignore = "a task of the job that `who_awaits_an_access_hears_that_its_process_was_stopped` starts"]
fn a_task_beside_a_stopped_one() {
    let job = acp::init().expect("a job");
    let outcome = await_a_stopped_one(&job);
    // The job ends with the death of the other one.
    println!("ended: {outcome:?}");
    std::mem::forget(job);
}

#[test]
fn who_awaits_an_access_hears_that_its_process_was_stopped() {
    let program = std::env::current_exe().expect("this program");
    let job = ["a_task_beside_a_stopped_one", "--exact", "--ignored", "--nocapture", "--test-threads=1"]
        .iter()
        .fold(Job::of(2), |job, arg| job.arg(arg));
    // By datagrams, so that the bytes come from the other process's hands.
    let end = job.env("LAPIS_TRANSPORT", "udp").env("LAPIS_TIMEOUT", "10").run(&program);
    assert!(end.stdout().contains("awaited: Err(Peer)"), "{}", end.stdout());
}

/// Whether no thread of a process does anything any more.
fn is_stopped(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it is there");
    threads.flatten().all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).expect("it is there");
        stat.rsplit(") ").next().is_some_and(|state| state.starts_with('T'))
    })
}

/// Operations that end while a copy from a process that is stopped goes on. Each has its result in
/// a heap which has no room for all of them.
fn drop_operations_behind_a_copy(job: &acp::Job) -> acp::Result<()> {
    const HEAP: usize = 1 << 16;
    let mine = job.register(vec![7_u64; 4])?;
    let all = job.exchange(mine.global().first())?;
    let pids = job.exchange(std::process::id())?;
    job.sync()?;
    if job.rank() == 0 {
        // SAFETY: signals to the other task of this job, which goes on afterwards.
        let signal = |signal| assert_eq!(unsafe { libc::kill(pids[1] as i32, signal) }, 0);
        signal(libc::SIGSTOP);
        while !is_stopped(pids[1]) {}
        let copied = job.copy(mine.global().part(0, 1)?, all[1].slice(1), After::Nothing)?;
        let begun = (0..HEAP / 8).try_for_each(|at| {
            // By way of memory that is mapped, and of memory that was registered: those have
            // numbers, of which so many may be outstanding behind the copy.
            drop(job.begin_add(job.starter(0)?.cast::<u64>()?.at(0)?, 1, After::Nothing)?);
            if at % 4 == 0 {
                drop(job.begin_add(mine.global().at(3)?, 1, After::Nothing)?);
            }
            Ok(())
        });
        assert!(!copied.is_complete());
        signal(libc::SIGCONT);
        begun?;
        copied.wait()?;
        assert_eq!(job.read(mine.global().at(3)?)?, 7 + HEAP as u64 / 32);
    }
    job.sync()
}

#[test]
#[ignore = "a task of the job that `results_that_nobody_waits_for_are_freed` starts"]
fn a_task_that_drops_operations() {
    let job = acp::with_memory(4096, 1 << 16).expect("a job");
    drop_operations_behind_a_copy(&job).expect("memory for each result");
    job.finalize().expect("the end");
}

#[test]
fn results_that_nobody_waits_for_are_freed() {
    let program = std::env::current_exe().expect("this program");
    for transport in transports() {
        let job = ["a_task_that_drops_operations", "--exact", "--ignored", "--nocapture", "--test-threads=1"]
            .iter()
            .fold(Job::of(2), |job, arg| job.arg(arg));
        job.env("LAPIS_TRANSPORT", transport).run(&program).success();
    }
}

#[test]
fn a_job_of_one_tells_what_is_wrong() {
    let job = acp::init().expect("a job of one");
    assert_eq!(acp::init().err(), Some(Error::Initialized));
    assert_eq!((job.rank(), job.procs()), (0, 1));
    let memory = job.alloc::<u16>(10, 0).expect("memory");
    assert_eq!(job.read_all(memory), Ok(vec![0; 10]));
    assert_eq!(memory.at(10).err(), Some(Error::Size));
    assert_eq!(memory.part(8, 3).err(), Some(Error::Size));
    assert_eq!(memory.cast::<u64>().err(), Some(Error::Size));
    assert_eq!(memory.cast::<u32>().map(acp::GlobalSlice::len), Ok(5));
    // Eight times this is 0, and one more is 8, for those who don't count the carry.
    let endless = Global::<u64>::of_address(memory.first().address()).slice(1 << 61);
    assert_eq!(job.read_all(endless), Err(Error::Address));
    assert_eq!(job.copy(endless, endless, After::Nothing).err(), Some(Error::Address));
    assert_eq!(endless.cast::<u32>().err(), Some(Error::Size));
    let longer = endless.first().slice(u64::MAX);
    assert_eq!(
        (longer.part(1 << 61, 1).err(), longer.at(1 << 61).err()),
        (Some(Error::Size), Some(Error::Size))
    );
    assert_eq!(job.alloc::<u8>(1, 1).err(), Some(Error::Rank));
    assert_eq!(job.alloc::<u64>(u64::MAX, 0).err(), Some(Error::Size));
    assert_eq!(job.alloc::<u64>(1 << 50, 0).err(), Some(Error::Memory));
    assert_eq!(job.starter(1).err(), Some(Error::Rank));
    assert_eq!(job.read(Global::<u64>::of_address(0)), Err(Error::Null));
    assert_eq!(job.read(Global::<u64>::of_address(u64::MAX - 7)), Err(Error::Address));
    let odd = Global::<u64>::of_address(memory.first().address() + 1);
    assert_eq!(job.fetch_add(odd, 1), Err(Error::Alignment));
    assert_eq!(job.copy(memory, memory.part(0, 9).unwrap(), After::All).err(), Some(Error::Size));
    assert_eq!(job.register(Vec::<u8>::new()).err(), Some(Error::Size));
    assert_eq!(job.write_all(memory, &[1]), Err(Error::Size));
    assert_eq!(job.create_map::<u8, u8>(0).err(), Some(Error::Size));
    assert_eq!(job.share::<u8>(0, None), Err(Error::Null));
    assert_eq!(job.share(0, Some(3_u8)), Ok(3));
    job.free(memory).expect("memory that there is");
    assert_eq!(job.free(memory), Err(Error::Address));
    job.finalize().expect("the end");
    // There may be another one afterwards.
    let job = acp::with_memory(100, 1 << 20).expect("another job");
    assert_eq!(acp::with_memory(0, 1).err(), Some(Error::Size));
    accesses(&job).expect("accesses");
}

fn prints(program: &Path, name: &str, expected: &str) {
    for transport in transports() {
        let printed = Job::of(4).env("LAPIS_TRANSPORT", transport).run(program).success().stdout();
        let lines: Vec<&str> =
            printed.lines().map(|line| line.split_once("] ").map_or(line, |(_, text)| text)).collect();
        assert_eq!(lines, expected.lines().collect::<Vec<_>>(), "{name} over {transport}");
    }
}

#[test]
fn examples_print_the_same_in_c_and_in_rust() {
    let dir = artifacts();
    for name in ["hash_table", "work_stealing", "stencil"] {
        let source: PathBuf = Path::new(BINDING).join("../../examples/acp").join(format!("{name}.c"));
        let expected = std::fs::read_to_string(source.with_extension("out")).expect("the expected output");
        prints(&dir.join("examples").join(name), name, &expected);
        let program = scratch(&format!("acp_{name}"));
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]).arg(&source).arg("-o").arg(&program);
        cc.arg(format!("-I{BINDING}/include")).arg("-L").arg(dir).arg("-lacp");
        checked(cc.arg(format!("-Wl,-rpath,{}", dir.display())));
        prints(&program, name, &expected);
    }
}
