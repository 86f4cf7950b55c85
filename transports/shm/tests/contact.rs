//! First contact in large jobs: memory is mapped when it is needed, and only a peer's.

mod common;
use common::*;
use lapis_core::transport::*;
use lapis_patience::Patience;
use lapis_shm::{Shm, ShmWaiter};
use std::time::Duration;

/// More than get to know each other at the start.
const MANY: u32 = 20;
/// Where an address has the nonce of the segment.
const NONCE_AT: usize = 64;

/// Segments that are mapped in this process.
fn mapped() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains("memfd:lapis-shm")).count()
}

/// Has `from` send one message, and `to` receive it.
fn one_message(job: &mut [(Shm, ShmWaiter)], from: usize, to: usize) {
    let m = message(from as u32, 1, 40);
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    while job[from].0.am_short(to as u32, &m, b"") == Status::Again {
        assert!(!patience.is_over(), "no contact");
    }
    let mut got = Vec::new();
    while got.is_empty() {
        poll(&mut job[to].0, &mut |e| got.push((e.peer, bytes(e))));
        assert!(!patience.is_over(), "the message did not come");
    }
    assert_eq!(got, [(from as u32, m)]);
}

#[test]
fn in_a_large_job_memory_is_mapped_when_two_tasks_need_each_other() {
    let mut job = local_job("late", MANY);
    // Its own, and that of one peer, which shows whether that works at all.
    assert_eq!(mapped(), 2 * MANY as usize);
    job.iter_mut().for_each(|(t, _)| assert_eq!(poll(t, &mut |_| ()), 0));
    let known = 3 * MANY as usize;
    assert_eq!(mapped(), known, "each has met the one that it was met by");
    assert!(job[3].0.attributes().caps.contains(Caps::LATE_CONTACT));
    assert!(job[3].0.send_lane(7).is_null(), "a lane without contact");
    one_message(&mut job, 3, 7);
    assert_eq!(mapped(), known + 2, "each has the other one's");
    one_message(&mut job, 7, 3);
    assert!(!job[3].0.send_lane(7).is_null() && !job[7].0.send_lane(3).is_null());
    // Asking for a window is enough.
    let window = job[5].0.window(9).expect("a window of a peer that lives");
    assert!(window.len > 0 && mapped() == known + 3);
    one_message(&mut job, 9, 5);
    // Cross-memory copies don't wait for a message, either.
    let (source, mut copy) = ([7u8; 64], [0u8; 64]);
    let into = RawSlice { ptr: copy.as_mut_ptr(), len: copy.len() };
    let from = RemoteAddr { addr: source.as_ptr().expose_provenance() as u64, key: 0 };
    // SAFETY: `copy` is writable; the peer is this process.
    let status = unsafe { job[11].0.get_zcopy(15, into, from, 0) };
    assert!(status == Status::Unsupported || status == Status::Done && copy == source, "{status:?}");
}

#[test]
fn a_small_job_knows_everybody_from_the_start() {
    let mut job = local_job("early", 3);
    assert_eq!(mapped(), 3 + 9, "its own, and all, itself included");
    assert!(!job[0].0.attributes().caps.contains(Caps::LATE_CONTACT));
    assert!(!job[0].0.send_lane(2).is_null());
}

#[test]
fn a_peer_that_has_closed_before_the_first_contact_is_down_and_said_so_once() {
    let mut job = local_job("gone", MANY);
    let before = mapped();
    drop(job.remove(12));
    assert!(mapped() < before);
    assert_eq!(job[4].0.am_short(12, b"anybody?", b""), Status::PeerDown);
    let mut events = Vec::new();
    for _ in 0..1000 {
        poll(&mut job[4].0, &mut |e| events.push((e.kind, e.peer)));
    }
    assert_eq!(events, [(EventKind::PeerDown as u32, 12)]);
    assert!(job[4].0.window(12).is_none());
    one_message(&mut job, 4, 5);
}

#[test]
fn a_last_message_is_read_though_its_sender_was_never_met() {
    let mut job = local_job("last", MANY);
    let m = message(2, 9, 100);
    assert_eq!(job[2].0.am_short(14, &m, b""), Status::Done);
    drop(job.remove(2));
    // Task 14 is at place 13 now.
    let mut got = Vec::new();
    for _ in 0..1000 {
        poll(&mut job[13].0, &mut |e| {
            got.push(if e.kind == EventKind::PeerDown as u32 { Vec::new() } else { bytes(e) });
        });
    }
    assert_eq!(got, [m, Vec::new()]);
}

#[test]
fn a_file_without_the_right_nonce_is_no_peers_memory() {
    let job = job_name("nonce");
    let (mut a, _a) = try_open(0, MANY, 0, 0, &job).unwrap();
    let (b, _b) = try_open(1, MANY, 0, 0, &job).unwrap();
    let (c, _c) = try_open(2, MANY, 0, 0, &job).unwrap();
    let mut forged = c.address();
    forged[NONCE_AT] ^= 1;
    a.connect(1, &b.address()).unwrap();
    a.connect(2, &forged).unwrap();
    assert!(a.progress_connect().unwrap());
    let before = mapped();
    assert_eq!(a.am_short(2, b"hello", b""), Status::PeerDown);
    assert_eq!(mapped(), before, "the file was mapped all the same");
}

/// Opens files until no descriptor is left.
fn use_up_descriptors() -> Vec<std::fs::File> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid struct.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_cur.min(512);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
    std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect()
}

#[test]
fn a_moment_without_descriptors_puts_the_first_contact_off() {
    let mut job = local_job("fds", MANY);
    let files = use_up_descriptors();
    let (mut byte, to) = (7u8, [0u8; 1]);
    let local = RawSlice { ptr: &raw mut byte, len: 1 };
    let remote = RemoteAddr { addr: to.as_ptr().expose_provenance() as u64, key: 0 };
    for _ in 0..3 {
        assert_eq!(job[3].0.am_short(7, b"anybody?", b""), Status::Again);
        assert!(job[3].0.window(7).is_none());
        // SAFETY: the byte is there; nothing is copied.
        let status = unsafe { job[3].0.put_zcopy(7, local, remote, 0) };
        assert_eq!(status, Status::Again);
    }
    // The other side finds a sender whom it can't get to know yet, and reads what comes.
    drop(files);
    one_message(&mut job, 3, 7);
    one_message(&mut job, 7, 3);
    assert!(job[3].0.window(7).is_some());
    let log = LOG.lock().unwrap();
    let told: Vec<_> = log.iter().filter(|line| line.contains("RLIMIT_NOFILE")).collect();
    assert!(matches!(told[..], [line] if line.starts_with("2 ")), "{told:?}");
}

#[test]
fn a_message_is_read_though_there_is_no_descriptor_to_meet_its_sender() {
    let mut job = local_job("fds-in", MANY);
    let m = message(3, 5, 40);
    assert_eq!(job[3].0.am_short(7, &m, b""), Status::Done);
    let files = use_up_descriptors();
    let mut got = Vec::new();
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    while got.is_empty() {
        poll(&mut job[7].0, &mut |e| got.push((e.peer, bytes(e))));
        assert!(!patience.is_over(), "the message did not come");
    }
    assert_eq!(got, [(3, m)]);
    assert_eq!(job[7].0.am_short(3, b"answer", b""), Status::Again);
    drop(files);
    one_message(&mut job, 7, 3);
}
