//! Tasks as processes of their own: exchange among many, sudden death, refused system calls, tight
//! limits, leftovers.

mod common;
mod namesake;

use common::*;
use lapis_core::transport::*;
use lapis_patience::Patience;
use namesake::Namesake;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

/// What the processes that the other tests start do.
#[test]
fn child() {
    let Some(role) = role() else { return };
    let (role, arg) = role.split_once(':').unwrap_or((&role, "0"));
    let arg: u64 = arg.parse().unwrap();
    match role {
        "exchange" => exchange(join(), arg),
        "refused" => {
            refuse_attach();
            let task = join();
            let a = task.t.attributes();
            assert!(
                !a.caps.intersects(Caps::PUT_ZCOPY | Caps::GET_ZCOPY | Caps::ANY_ADDRESS),
                "{:?}",
                a.caps
            );
            assert!(a.note.contains("EPERM") && a.note.contains("copied twice"), "{}", a.note);
            exchange(task, arg);
        }
        "attached" => {
            let task = join();
            let a = task.t.attributes();
            assert!(a.caps.contains(Caps::PUT_ZCOPY | Caps::GET_ZCOPY | Caps::ANY_ADDRESS), "{}", a.note);
            exchange(task, arg);
        }
        "double" => {
            let mut task = join();
            let a = task.t.attributes();
            assert!(
                !a.caps.contains(Caps::PUT_ZCOPY) && a.note.contains("LAPIS_SHM_COPY=double"),
                "{}",
                a.note
            );
            let local = RawSlice { ptr: std::ptr::null_mut(), len: 0 };
            // SAFETY: nothing is transferred.
            let s = unsafe { task.t.put_zcopy(0, local, RemoteAddr { addr: 0, key: 0 }, 0) };
            assert_eq!(s, Status::Unsupported);
            exchange(task, arg);
        }
        "descriptors" => {
            limit(libc::RLIMIT_NOFILE, arg);
            exchange(join(), 50);
        }
        "memory" => {
            limit(libc::RLIMIT_AS, used_address_space() + (arg << 20));
            exchange(join(), 50);
        }
        "flood" => flood(join()),
        "drain" => drain(join()),
        "sleep" => sleep(join()),
        "idle" => {
            let _task = join();
            hear();
        }
        "puts" => puts(join()),
        "puts-unwatched" => {
            // So few descriptors that none is kept for a peer's process.
            limit(libc::RLIMIT_NOFILE, 36);
            let task = join();
            let fds = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let watched = fds.filter(|fd| {
                std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().contains("pidfd"))
            });
            assert_eq!(watched.count(), 0, "the peer is watched");
            puts(task);
        }
        "closes" => {
            drop(join());
            tell("closed");
            hear();
        }
        other => panic!("unknown role {other}"),
    }
}

fn limit(resource: libc::__rlimit_resource_t, to: u64) {
    let l = libc::rlimit { rlim_cur: to, rlim_max: to };
    // SAFETY: a valid struct.
    assert_eq!(unsafe { libc::setrlimit(resource, &raw const l) }, 0);
}

fn used_address_space() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

/// Makes process_vm_readv and process_vm_writev fail with EPERM in this thread.
fn refuse_attach() {
    let op = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut program = [
        op(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, 0, libc::SYS_process_vm_readv as u32),
        op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_process_vm_writev as u32),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: a valid filter.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter), 0);
    }
}

/// Everybody sends `count` messages of all sizes to everybody and checks what comes.
fn exchange(mut task: Task, count: u64) {
    const SIZES: [usize; 8] = [12, 40, 56, 57, 300, 4096, 9000, 16384];
    let mut seen = vec![0u64; task.tasks as usize];
    let total = std::cell::Cell::new(0);
    let mut on = |e: &Event| {
        assert_eq!(e.kind, EventKind::Message as u32, "{e:?}");
        let (from, number) = parse(&bytes(e));
        assert_eq!((from, number), (e.peer, seen[from as usize]));
        seen[from as usize] += 1;
        total.set(total.get() + 1);
    };
    for number in 0..count {
        for peer in 0..task.tasks {
            let len = SIZES[(number as usize + peer as usize) % SIZES.len()];
            assert_eq!(send(&mut task.t, peer, &message(task.me, number, len), &mut on), Status::Done);
        }
        poll(&mut task.t, &mut on);
    }
    let mut patience = Patience::with_myself(Duration::from_secs(100));
    while total.get() < count * u64::from(task.tasks) {
        if poll(&mut task.t, &mut on) == 0 {
            std::thread::yield_now();
            assert!(!patience.is_over(), "task {} has {} messages and waits", task.me, total.get());
        }
    }
    tell("finished");
    // Nobody leaves before all have read: leaving is an end like any other.
    assert_eq!(hear(), "leave");
}

/// Sends to task 0 until it dies.
fn flood(mut task: Task) {
    tell("flooding");
    let (mut seed, mut number) = (u64::from(task.me) + 1, 0);
    loop {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let len = 12 + (seed >> 33) as usize % if seed >> 62 == 0 { 9000 } else { 60 };
        if send(&mut task.t, 0, &message(task.me, number, len), &mut |_| ()) != Status::Done {
            return;
        }
        number += 1;
    }
}

/// Reads until all others are reported dead.
fn drain(mut task: Task) {
    let others = task.tasks - 1;
    let (mut seen, mut down) = (vec![0u64; task.tasks as usize], vec![false; task.tasks as usize]);
    let mut dead = 0;
    let mut patience = Patience::with_myself(Duration::from_secs(100));
    while dead < others {
        let n = poll(&mut task.t, &mut |e| {
            assert!(!down[e.peer as usize], "{e:?} after the end of its sender");
            if e.kind == EventKind::PeerDown as u32 {
                down[e.peer as usize] = true;
                dead += 1;
                tell(&format!("down {}", e.peer));
            } else {
                let (from, number) = parse(&bytes(e));
                assert_eq!((from, number), (e.peer, seen[from as usize]));
                seen[from as usize] += 1;
            }
        });
        if n == 0 {
            std::thread::yield_now();
            assert!(!patience.is_over(), "only {dead} of {others} deaths were noticed");
        }
    }
    assert_eq!(task.t.am_short(1, &[1], &[]), Status::PeerDown);
    for _ in 0..10_000 {
        poll(&mut task.t, &mut |e| panic!("{e:?} after all have ended"));
    }
}

/// Sleeps until all others are dead; tells how many milliseconds that took and how many of them it
/// used the processor.
fn sleep(mut task: Task) {
    let cpu = || {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a valid struct.
        unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut t) };
        t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 / 1e6
    };
    let (start, used) = (Instant::now(), cpu());
    tell("sleeping");
    let mut dead = 0;
    while dead < task.tasks - 1 {
        while task.t.arm() == Status::Again {
            poll(&mut task.t, &mut |e| {
                assert_eq!(e.kind, EventKind::PeerDown as u32);
                dead += 1;
            });
        }
        if dead < task.tasks - 1 {
            task.w.wait(60_000_000_000);
        }
    }
    tell(&format!("{} {}", start.elapsed().as_millis(), cpu() - used));
}

/// Copies to and from the address heard, in the process of task 1, which is no more; then waits for
/// the news of its end.
fn puts(mut task: Task) {
    tell("ready");
    let mut bytes = [7u8; 4096];
    let remote = RemoteAddr { addr: hear().parse().unwrap(), key: 0 };
    let local = RawSlice { ptr: bytes.as_mut_ptr(), len: bytes.len() };
    // SAFETY: the bytes are there, and may be written.
    let put = unsafe { task.t.put_zcopy(1, local, remote, 0) };
    // SAFETY: the bytes are there, and may be written.
    let get = unsafe { task.t.get_zcopy(1, local, remote, 0) };
    tell(&format!("{put:?} {get:?}"));
    let mut down = 0;
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    while down == 0 {
        poll(&mut task.t, &mut |e| {
            assert_eq!((e.kind, e.peer), (EventKind::PeerDown as u32, 1));
            down += 1;
        });
        assert!(!patience.is_over(), "the end of task 1 was not reported");
    }
    tell("down");
}

#[test]
fn nothing_is_copied_to_a_process_that_got_the_number_of_a_peer() {
    for role in ["puts", "puts-unwatched"] {
        let mut job = Job::start("namesake", &[role, "idle"], |_, c| {
            c.env("LAPIS_SHM_CONTACT", "need");
        });
        job.connect().unwrap();
        assert_eq!(job.line(0), "ready");
        let pid = job.children[1].id() as libc::pid_t;
        job.children[1].kill().unwrap();
        assert_eq!(job.wait(1).signal(), Some(libc::SIGKILL));
        // The namesake has a copy of this page, at the same address.
        let page = vec![0u8; 4096];
        let Some(namesake) = Namesake::start(pid) else { return };
        job.say(0, &page.as_ptr().expose_provenance().to_string());
        assert_eq!(job.line(0), "PeerDown PeerDown", "{role}");
        let mut there = vec![1u8; page.len()];
        let local = libc::iovec { iov_base: there.as_mut_ptr().cast(), iov_len: there.len() };
        let remote = libc::iovec { iov_base: page.as_ptr().cast_mut().cast(), iov_len: page.len() };
        // SAFETY: the local range is valid; the kernel checks the other.
        let n = unsafe { libc::process_vm_readv(namesake.0, &raw const local, 1, &raw const remote, 1, 0) };
        assert_eq!(n, page.len() as isize);
        assert_eq!(there, page, "{role}: a stranger's memory was overwritten");
        assert_eq!(job.line(0), "down");
        assert!(job.wait(0).success());
    }
}

#[test]
fn nothing_is_copied_to_a_peer_that_has_closed_its_end() {
    let mut job = Job::start("closed", &["puts", "closes"], |_, _| ());
    job.connect().unwrap();
    assert_eq!((job.line(0), job.line(1)), ("ready".to_owned(), "closed".to_owned()));
    job.say(0, "65536");
    assert_eq!(job.line(0), "PeerDown PeerDown");
    assert_eq!(job.line(0), "down");
    assert!(job.wait(0).success());
}

fn run(what: &str, roles: &[&str]) {
    let mut job = Job::start(what, roles, |_, _| ());
    job.connect().unwrap();
    (0..roles.len()).for_each(|t| assert_eq!(job.line(t), "finished"));
    (0..roles.len()).for_each(|t| job.say(t, "leave"));
    job.finish();
}

#[test]
fn four_tasks_exchange_messages_of_all_sizes() {
    run("four", &["attached:2000"; 4]);
}

#[test]
fn ten_tasks_use_the_bitmap() {
    run("ten", &["exchange:100"; 10]);
}

#[test]
fn sixty_four_tasks_exchange() {
    run("sixty-four", &["exchange:3"; 64]);
}

#[test]
fn refused_cross_memory_attach_is_found_out_and_messages_flow() {
    run("refused", &["refused:300"; 2]);
}

#[test]
fn the_copy_variable_is_obeyed() {
    let copy = |value: &'static str, roles: &[&str]| {
        let mut job = Job::start("copy", roles, |_, c| {
            c.env("LAPIS_SHM_COPY", value);
        });
        job.connect().map(|()| {
            (0..roles.len()).for_each(|t| assert_eq!(job.line(t), "finished"));
            (0..roles.len()).for_each(|t| job.say(t, "leave"));
            job.finish();
        })
    };
    copy("double", &["double:300"; 2]).unwrap();
    copy("cma", &["attached:10"; 2]).unwrap();
    let e = copy("cma", &["refused:1"; 2]).unwrap_err();
    assert!(e.contains("LAPIS_SHM_COPY=cma") && e.contains("refused (EPERM)"), "{e}");
    let e = copy("twice", &["exchange:1"]).unwrap_err();
    assert!(e.contains("LAPIS_SHM_COPY=`twice`") && e.contains("auto | cma | double"), "{e}");
}

#[test]
fn a_heap_size_that_makes_no_sense_is_refused() {
    for value in ["", "much", "1", "-4M", "4X", "99999999999999999999G"] {
        let mut job = Job::start("heap", &["exchange:1"], |_, c| {
            c.env("LAPIS_SHM_HEAP", value);
        });
        let e = job.connect().unwrap_err();
        assert!(
            e.contains(&format!("LAPIS_SHM_HEAP=`{value}`")) && e.contains("from 64K to"),
            "{value}: {e}"
        );
    }
}

#[test]
fn sixty_four_descriptors_are_enough_for_eight_tasks_and_too_few_says_so() {
    run("descriptors", &["descriptors:64"; 8]);
    let mut roles = ["exchange:1"; 8];
    roles[0] = "descriptors:12";
    let mut job = Job::start("no-descriptors", &roles, |_, _| ());
    let e = job.connect().unwrap_err();
    assert!(e.contains("RLIMIT_NOFILE") && e.contains("12"), "{e}");
}

#[test]
fn scarce_address_space_shrinks_the_heap_and_none_says_so() {
    run("memory", &["memory:600"; 2]);
    let mut job = Job::start("no-memory", &["memory:16"; 2], |_, _| ());
    let e = job.connect().unwrap_err();
    assert!(e.contains("RLIMIT_AS") && e.contains("LAPIS_SHM_HEAP"), "{e}");
}

fn leftovers(job: &str) -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut found: Vec<String> = sockets.lines().filter(|l| l.contains(job)).map(str::to_owned).collect();
    if let Ok(dir) = std::fs::read_dir("/dev/shm") {
        found.extend(
            dir.flatten()
                .map(|e| e.file_name().to_string_lossy().into_owned())
                .filter(|n| n.contains("lapis")),
        );
    }
    found
}

#[test]
fn senders_killed_at_random_moments_are_reported_after_their_last_message() {
    for round in 0..30u64 {
        let what = format!("kill{round}x");
        let mut job = Job::start(&what, &["drain", "flood", "flood", "flood"], |_, _| ());
        job.connect().unwrap();
        (1..4).for_each(|t| assert_eq!(job.line(t), "flooding"));
        for t in 1..4 {
            std::thread::sleep(Duration::from_micros(300 * (round * 7 % 11)));
            job.children[t].kill().unwrap();
        }
        for _ in 1..4 {
            let line = job.line(0);
            assert!(line.starts_with("down "), "{line}");
        }
        assert!(job.wait(0).success());
        for t in 1..4 {
            assert_eq!(job.wait(t).signal(), Some(libc::SIGKILL));
        }
        assert_eq!(leftovers(&what), Vec::<String>::new());
    }
}

#[test]
fn a_sleeper_notices_death_and_costs_next_to_nothing() {
    let mut job = Job::start("sleeper", &["sleep", "idle"], |_, _| ());
    job.connect().unwrap();
    assert_eq!(job.line(0), "sleeping");
    std::thread::sleep(Duration::from_millis(1500));
    job.children[1].kill().unwrap();
    let line = job.line(0);
    let (slept, used) = line.split_once(' ').unwrap();
    let (slept, used): (f64, f64) = (slept.parse().unwrap(), used.parse().unwrap());
    // A share of processor time, which does not grow when the machine is busy.
    assert!(used < slept / 100.0, "{used} ms of processor time in {slept} ms of sleep");
    assert!(job.wait(0).success());
}

#[test]
fn an_instance_gives_back_every_descriptor_and_mapping() {
    let count = || {
        let fds = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        (fds, maps.lines().filter(|l| l.contains("lapis-shm (deleted)")).count())
    };
    drop(local_job("warm", 3));
    let before = count();
    for _ in 0..20 {
        let mut job = local_job("leak", 3);
        assert!(job[0].1.fd() >= 0);
        job[0].0.disconnect(1);
        assert_ne!(before, count());
        drop(job);
    }
    assert_eq!(before, count());
    assert_eq!(leftovers("leak"), Vec::<String>::new());
}
