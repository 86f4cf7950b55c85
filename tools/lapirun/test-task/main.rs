//! A task of the launcher's tests: joins its job and does what its arguments say.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lapis_core::bootstrap::{self, Bootstrap, Entry, Options};

/// More than anything takes, on a busy machine as well.
const WAIT: Duration = Duration::from_secs(300);

/// What the task is told to do, word by word.
struct Words(Vec<String>);

impl Words {
    fn word(&self, n: usize) -> &str {
        self.0.get(n).map_or("", String::as_str)
    }

    fn number(&self, n: usize) -> u32 {
        self.word(n).parse().expect("a number")
    }
}

fn main() {
    let words = Words(std::env::args().skip(1).collect());
    match words.word(0) {
        // Works before it joins: what a program does that never calls Lapis.
        "env" => return println!("{}", std::env::var(words.word(1)).unwrap_or("(unset)".into())),
        "exit-of" => return exit_of(&words),
        "regroup" => return regroup(),
        _ => {}
    }
    let mut job = match bootstrap::detect(&Options::default()) {
        Ok(job) => job,
        Err(error) => {
            println!("join: {error}");
            std::process::exit(3);
        }
    };
    let job = &mut *job;
    match words.word(0) {
        "exchange" => exchange(job, words.number(1)),
        "flood" => flood(job, &words),
        "identity" => identity(job),
        "fence-without" => return fence_without(job, &words),
        "complain" => complain(job, &words),
        "rejoin" => rejoin(job, &words),
        "linger" => linger(job),
        "stay" => stay(job),
        "pour" => pour(job, words.number(1)),
        "leave-with" => return leave_with(job, &words),
        "abort" => abort(job, &words),
        "stdin" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).expect("stdin");
            println!("{}:{text}", job.task());
            job.fence(WAIT).expect("fence");
        }
        "lines" => lines(job, &words),
        other => panic!("unknown test {other:?}"),
    }
    job.finalize().expect("finalize");
}

/// One task ends with a status of its own; the others wait.
fn exit_of(words: &Words) {
    let me: u32 = std::env::var("LAPIS_TASK").expect("task").parse().expect("number");
    if me == words.number(1) {
        std::process::exit(words.number(2) as i32);
    }
    std::thread::sleep(WAIT);
}

/// Leaves its group for that of whoever has started it.
fn regroup() {
    let above = rustix::process::getpgid(rustix::process::getppid()).expect("a group");
    rustix::process::setpgid(None, Some(above)).expect("the same session");
    std::thread::sleep(WAIT);
}

/// Task 0 attacks the store while the job goes on.
fn flood(job: &mut dyn Bootstrap, words: &Words) {
    let stop = Arc::new(Mutex::new(false));
    let attack = (job.task() == 0).then(|| {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || attack(&stop))
    });
    exchange(job, words.number(1));
    *stop.lock().expect("lock") = true;
    if let Some(attack) = attack {
        let attempts = attack.join().expect("the attack");
        assert!(attempts > 0, "nothing was attacked");
    }
}

fn identity(job: &mut dyn Bootstrap) {
    let id = job.job().id.clone();
    let all = job.exchange("id", id.as_bytes(), WAIT).expect("exchange");
    assert!(all.iter().all(|other| *other == all[0]));
    println!("{id}");
}

/// Everybody waits in a fence that one task never reaches.
fn fence_without(job: &mut dyn Bootstrap, words: &Words) {
    if job.task() == words.number(1) {
        match words.word(2) {
            "kill" => kill_myself(),
            "exit0" => std::process::exit(0),
            "finalize" => job.finalize().expect("finalize"),
            _ => std::thread::sleep(WAIT),
        }
        return;
    }
    let error = job.fence(WAIT).expect_err("the fence cannot complete");
    println!("{error}");
    std::process::exit(9);
}

/// One task is killed. Another one sees its process go, and complains about that.
fn complain(job: &mut dyn Bootstrap, words: &Words) {
    let me = job.task();
    job.put(&format!("pid{me}"), &std::process::id().to_le_bytes()).expect("put");
    let victim = job.get(&format!("pid{}", words.number(1)), WAIT).expect("get");
    let victim = u32::from_le_bytes(victim.try_into().expect("a process number"));
    job.fence(WAIT).expect("fence");
    if me == words.number(1) {
        kill_myself();
    }
    // Its parent has not heard of its end, and may take its time.
    while std::path::Path::new(&format!("/proc/{victim}/fd/0")).exists() {
        std::thread::yield_now();
    }
    job.abort(1, &format!("task {} does not answer", words.word(1))).expect("abort");
    std::thread::sleep(WAIT);
}

/// One task dies when all have met, and comes back.
fn rejoin(job: &mut dyn Bootstrap, words: &Words) {
    let me = job.task();
    if job.entry() == Entry::First {
        job.put(&format!("home{me}"), &[me as u8]).expect("put");
        job.fence(WAIT).expect("fence");
        if me == words.number(1) {
            if words.word(2) == "escaped" {
                leave_a_copy();
            }
            kill_myself();
        }
        println!("{me} heard of life {:?}", job.get("back", WAIT).expect("get"));
    } else {
        let all: Vec<u8> =
            (0..job.tasks()).flat_map(|t| job.get(&format!("home{t}"), WAIT).expect("get")).collect();
        let life = std::env::var(bootstrap::variables::RESTARTS).unwrap_or_default();
        job.put("back", &[life.parse().expect("a number")]).expect("put");
        println!("{me} found {all:?}");
    }
}

/// Reports the process when all have met, then sleeps until somebody ends it.
fn stay(job: &mut dyn Bootstrap) {
    job.fence(WAIT).expect("fence");
    println!("pid {}", std::process::id());
    let _ = std::io::stdout().flush();
    std::thread::sleep(Duration::from_secs(600));
}

/// Writes so many lines, and ends in good order.
fn pour(job: &mut dyn Bootstrap, lines: u32) {
    job.fence(WAIT).expect("fence");
    for line in 0..lines {
        println!("task {} line {line} end", job.task());
    }
    job.finalize().expect("finalize");
}

/// One task has a code when all have left in good order.
fn leave_with(job: &mut dyn Bootstrap, words: &Words) {
    job.fence(WAIT).expect("fence");
    job.finalize().expect("finalize");
    if job.task() == words.number(1) {
        std::process::exit(words.number(2) as i32);
    }
}

/// Reports the process, then sleeps in a fence until somebody ends the job.
fn linger(job: &mut dyn Bootstrap) {
    println!("pid {}", std::process::id());
    let mut child = std::process::Command::new("sleep").arg("300").spawn().expect("sleep");
    println!("pid {}", child.id());
    println!("ready");
    let _ = std::io::stdout().flush();
    if job.task() == 0 {
        std::thread::sleep(WAIT);
    }
    let _ = job.fence(WAIT);
    let _ = child.kill();
    let _ = child.wait();
}

fn abort(job: &mut dyn Bootstrap, words: &Words) {
    if job.task() == words.number(1) {
        job.abort(words.number(2) as i32, "the cards are bad").expect("abort");
    }
    let error = job.fence(WAIT);
    println!("{error:?}");
    std::thread::sleep(WAIT);
}

/// Lines in pieces, on both streams, from all tasks at once.
fn lines(job: &mut dyn Bootstrap, words: &Words) {
    let me = job.task();
    job.fence(WAIT).expect("fence");
    for line in 0..words.number(1) {
        for piece in [format!("task {me} "), format!("line {line} "), "end\n".into()] {
            std::io::stdout().write_all(piece.as_bytes()).expect("write");
            std::io::stdout().flush().expect("flush");
        }
        if line % 16 == 0 {
            eprintln!("task {me} error {line} end");
        }
    }
    print!("no newline {me}");
}

fn kill_myself() {
    let me = rustix::process::getpid();
    rustix::process::kill_process(me, rustix::process::Signal::KILL).expect("kill");
}

/// Leaves a copy of this process behind, with all its descriptors but the output, in a session of
/// its own.
fn leave_a_copy() {
    let (mut gate, away) = std::io::pipe().expect("pipe");
    // SAFETY: the copy makes system calls only: no allocation, no locks.
    let copy = unsafe {
        match libc::fork() {
            0 => {
                libc::setsid();
                libc::close(1);
                libc::close(2);
                libc::write(away.as_raw_fd(), [1u8].as_ptr().cast(), 1);
                libc::sleep(300);
                libc::_exit(0);
            }
            copy => copy,
        }
    };
    // Now it has left this process's group.
    gate.read_exact(&mut [0]).expect("the copy");
    println!("escaped {copy}");
}

fn exchange(job: &mut dyn Bootstrap, rounds: u32) {
    for round in 0..rounds {
        let mine = [job.task().to_le_bytes(), round.to_le_bytes()].concat();
        let all = job.exchange("card", &mine, WAIT).expect("exchange");
        for (task, card) in all.iter().enumerate() {
            assert_eq!(*card, [(task as u32).to_le_bytes(), round.to_le_bytes()].concat());
        }
    }
    job.put(&format!("k{}", job.task()), &[1; 1000]).expect("put");
    let last = job.tasks() - 1;
    assert_eq!(job.get(&format!("k{last}"), WAIT).expect("get"), [1; 1000]);
    let mut second = job.context(1).expect("context");
    second.fence(WAIT).expect("fence");
    second.finalize().expect("finalize");
    println!("done {}", job.task());
}

/// Connections that say nothing, nonsense, or announce a frame of four gigabytes; as many as
/// descriptors allow.
fn attack(stop: &Mutex<bool>) -> usize {
    let address = std::env::var("LAPIS_KVS").expect("LAPIS_KVS");
    let name = address.strip_prefix("unix:@").expect("an abstract socket");
    let address = SocketAddr::from_abstract_name(name).expect("a name");
    let mut held = Vec::new();
    let mut attempts = 0;
    while !*stop.lock().expect("lock") {
        // The attacker's own descriptors are limited too.
        if held.len() > 30 {
            held.clear();
        }
        let Ok(mut stream) = UnixStream::connect_addr(&address) else {
            held.clear();
            continue;
        };
        attempts += 1;
        let _ = stream.set_nonblocking(true);
        let noise: Vec<u8> = (0..2000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let _ = match attempts % 4 {
            0 => Ok(0),
            1 => stream.write(&noise),
            2 => stream.write(&[0xff; 8]),
            _ => stream.write(b"\x05\0\0\0\x14\0\0\0\0"),
        };
        held.push(stream);
    }
    attempts
}
