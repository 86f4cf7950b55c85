//! Several tasks in one process: messages of all sizes, back-pressure, memory, sleeping, ends.

mod common;
use common::*;
use lapis_core::transport::*;
use lapis_patience::Patience;
use lapis_shm::Shm;
use std::time::{Duration, Instant};

fn silent(e: &Event) {
    panic!("nothing was to arrive: {e:?}");
}

#[test]
fn messages_of_every_size_arrive_whole_and_in_order() {
    let mut job = local_job("sizes", 2);
    let (a, rest) = job.split_at_mut(1);
    let (a, b) = (&mut a[0].0, &mut rest[0].0);
    let max = b.attributes().limits.max_packed as usize;
    let sizes: Vec<usize> =
        (12..300).chain((300..max).step_by(97)).chain([4096, 8192, 8193, max - 1, max]).collect();
    let mut expected = 0;
    let mut on = |e: &Event| {
        let (from, number) = parse(&bytes(e));
        assert_eq!((from, number, e.peer), (0, expected, 0));
        assert_eq!(e.len as usize, sizes[number as usize]);
        expected += 1;
    };
    for (i, &size) in sizes.iter().enumerate() {
        assert_eq!(send(a, 1, &message(0, i as u64, size), &mut silent), Status::Done);
        poll(b, &mut on);
    }
    while poll(b, &mut on) > 0 {}
    assert_eq!(expected as usize, sizes.len());
}

#[test]
fn tiny_and_empty_messages_arrive() {
    let mut job = local_job("tiny", 2);
    for len in 0..=60usize {
        let m: Vec<u8> = (0..len as u8).collect();
        for head in 0..=len {
            assert_eq!(job[0].0.am_short(1, &m[..head], &m[head..]), Status::Done);
            let mut got = Vec::new();
            poll(&mut job[1].0, &mut |e| got.push(bytes(e)));
            assert_eq!(got, std::slice::from_ref(&m), "length {len}, head {head}");
        }
    }
}

#[test]
fn a_receiver_that_stalls_pushes_back_and_nothing_is_lost() {
    let mut job = local_job("stall", 2);
    for len in [8usize, 56, 57, 1000, 16384] {
        let body = vec![len as u8; len];
        let mut sent = 0u64;
        loop {
            match job[0].0.am_packed(1, len, &mut |into| into.copy_from_slice(&body)) {
                Status::Done => sent += 1,
                Status::Again => break,
                other => panic!("{other:?}"),
            }
            assert!(sent < 100_000, "no back-pressure with messages of {len} bytes");
        }
        assert!(sent >= 8, "only {sent} messages of {len} bytes fit");
        let mut called = false;
        assert_eq!(job[0].0.am_packed(1, len, &mut |_| called = true), Status::Again);
        assert!(!called, "the callback ran although there was no room");
        let mut got = 0;
        while poll(&mut job[1].0, &mut |e| {
            assert_eq!(bytes(e), body);
            got += 1;
        }) > 0
        {}
        assert_eq!(got, sent);
        assert_eq!(job[0].0.am_packed(1, len, &mut |into| into.copy_from_slice(&body)), Status::Done);
        while poll(&mut job[1].0, &mut |_| ()) > 0 {}
    }
}

#[test]
fn an_event_stays_readable_until_the_next_poll() {
    let mut job = local_job("in-place", 2);
    let first = message(0, 0, 5000);
    assert_eq!(send(&mut job[0].0, 1, &first, &mut silent), Status::Done);
    let mut events = [Event::EMPTY; 1];
    assert_eq!(job[1].0.poll(&mut events), 1);
    // Fill everything that can be filled.
    let mut n = 1;
    while job[0].0.am_packed(1, 5000, &mut |into| into.fill(0xee)) == Status::Done {
        n += 1;
    }
    assert!(n > 10);
    assert_eq!(bytes(&events[0]), first);
}

#[test]
fn rings_wrap_over_and_over() {
    let mut job = local_job("wrap", 2);
    let (a, rest) = job.split_at_mut(1);
    let (a, b) = (&mut a[0].0, &mut rest[0].0);
    let (mut next, mut seed) = (0u64, 1u64);
    const COUNT: u64 = 3_000_000;
    let mut on = |e: &Event| {
        let m = bytes(e);
        assert_eq!(u64::from_le_bytes(m[..8].try_into().unwrap()), next);
        assert!(m[8..].iter().all(|&x| x == next as u8));
        next += 1;
    };
    for i in 0..COUNT {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let len = if seed >> 60 == 0 { (seed >> 30) as usize % 4000 } else { (seed >> 30) as usize % 80 };
        let (head, body) = (i.to_le_bytes(), vec![i as u8; len]);
        while a.am_short(1, &head, &body) == Status::Again {
            poll(b, &mut on);
        }
        if seed >> 32 & 31 == 0 {
            poll(b, &mut on);
        }
    }
    while poll(b, &mut on) > 0 {}
    assert_eq!(next, COUNT);
}

#[test]
fn a_task_may_write_to_itself() {
    let mut job = local_job("self", 1);
    let m = message(0, 7, 3000);
    assert_eq!(send(&mut job[0].0, 0, &m, &mut silent), Status::Done);
    let mut got = Vec::new();
    poll(&mut job[0].0, &mut |e| got.push((e.peer, bytes(e))));
    assert_eq!(got, [(0, m)]);
}

#[test]
fn wrong_arguments_are_refused() {
    let mut job = local_job("wrong", 2);
    let t = &mut job[0].0;
    assert_eq!(t.am_short(2, &[1], &[]), Status::Invalid);
    assert_eq!(t.am_short(u32::MAX, &[1], &[]), Status::Invalid);
    // 16 KiB of data go in one packet; 32 KiB do not.
    assert_eq!(t.am_packed(1, 32 << 10, &mut |_| panic!("called")), Status::Invalid);
    assert!(t.window(9).is_none());
    let e = t.connect(1, b"nonsense").unwrap_err();
    assert!(matches!(e, TransportError::Unreachable(_)), "{e}");
    let own = t.address();
    let e = t.connect(1, &own).unwrap_err();
    assert!(matches!(e, TransportError::Invalid(_)), "{e}");
    let mut far = own;
    far[8] ^= 1; // the boot's identity
    let e = try_open(0, 2, 0, 0, &job_name("far")).unwrap().0.connect(0, &far).unwrap_err();
    assert!(matches!(&e, TransportError::Unreachable(text) if text.contains("another host")), "{e}");
}

#[test]
fn memory_is_zeroed_aligned_direct_and_reusable() {
    let mut job = local_job("memory", 2);
    let mut regions = Vec::new();
    for len in [1usize, 63, 64, 65, 4096, 5000, 1 << 20] {
        let r = job[1].0.mem_alloc(len).unwrap();
        assert_eq!((r.len as usize, r.addr % 64), (len, 0));
        let w = job[0].0.window(1).unwrap();
        assert!(r.addr >= w.remote_base && r.addr + r.len <= w.remote_base + w.len);
        // SAFETY: both pointers name the region, here and through the peer's window.
        unsafe {
            let there = w.local_base.add((r.addr - w.remote_base) as usize);
            let here = std::ptr::with_exposed_provenance_mut::<u8>(r.addr as usize);
            assert!(std::slice::from_raw_parts(here, len).iter().all(|&b| b == 0), "{len} bytes not zeroed");
            there.write_bytes(0xaa, len);
            assert_eq!(here.add(len - 1).read_volatile(), 0xaa);
        }
        regions.push(r);
    }
    regions.iter().for_each(|r| job[1].0.mem_release(r.id));
    job[1].0.mem_release(12345);
    let r = job[1].0.mem_alloc(2 << 20).unwrap();
    // SAFETY: the region has that length.
    let again = unsafe { std::slice::from_raw_parts(r.addr as *const u8, 2 << 20) };
    assert!(again.iter().all(|&b| b == 0), "released memory came back dirty");
    let e = job[1].0.mem_alloc(1 << 45).unwrap_err();
    assert!(matches!(&e, TransportError::Exhausted(t) if t.contains("LAPIS_SHM_HEAP")), "{e}");
}

#[test]
fn transfers_reach_any_memory_and_wild_addresses_are_errors() {
    let mut job = local_job("zcopy", 2);
    let mut from: Vec<u8> = (0..300_000u32).map(|i| (i * 7) as u8).collect();
    let mut to = vec![0u8; from.len()];
    let local = |v: &mut Vec<u8>| RawSlice { ptr: v.as_mut_ptr(), len: v.len() };
    // SAFETY: both ranges are valid and of equal length; the wild address is checked by the kernel.
    unsafe {
        let remote = RemoteAddr { addr: to.as_mut_ptr() as u64, key: 0 };
        assert_eq!(job[0].0.put_zcopy(1, local(&mut from), remote, 0), Status::Done);
        assert_eq!(from, to);
        from.fill(0);
        assert_eq!(job[0].0.get_zcopy(1, local(&mut from), remote, 0), Status::Done);
        assert_eq!(from, to);
        let wild = RemoteAddr { addr: 16, key: 0 };
        assert_eq!(job[0].0.put_zcopy(1, local(&mut from), wild, 0), Status::Invalid);
        assert_eq!(job[0].0.get_zcopy(1, local(&mut from), wild, 0), Status::Invalid);
        let over = RemoteAddr { addr: u64::MAX - 3, key: 0 };
        assert_eq!(job[0].0.get_zcopy(1, local(&mut from), over, 0), Status::Invalid);
    }
}

#[test]
fn an_arrival_and_a_wake_end_a_sleep() {
    for by_descriptor in [false, true] {
        for interrupts in [false, true] {
            let mut job = local_job("sleep", 2);
            let (mut b, wb) = job.pop().unwrap();
            let (mut a, _wa) = job.pop().unwrap();
            b.set_interrupts(interrupts);
            let fd = if by_descriptor { wb.fd() } else { -1 };
            assert_eq!(fd >= 0, by_descriptor);
            let sleep = |wb: &lapis_shm::ShmWaiter| {
                if by_descriptor {
                    let mut p = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                    // SAFETY: one valid entry.
                    assert_eq!(unsafe { libc::poll(&raw mut p, 1, 20_000) }, 1, "slept through");
                } else {
                    wb.wait(20_000_000_000);
                }
            };
            for round in 0..200u64 {
                // Already there: no sleep at all.
                if round % 3 == 0 {
                    assert_eq!(send(&mut a, 1, &message(0, round, 20), &mut silent), Status::Done);
                    assert_eq!(b.arm(), Status::Again);
                    assert_eq!(poll(&mut b, &mut |_| ()), 1);
                }
                while b.arm() == Status::Again {
                    poll(&mut b, &mut silent);
                }
                let start = Instant::now();
                // The sanitizer doesn't see how a scope ends, but it sees a join.
                if round % 2 == 0 {
                    std::thread::scope(|s| {
                        let sender = s.spawn(|| {
                            std::thread::sleep(Duration::from_micros(round * 3));
                            assert_eq!(send(&mut a, 1, &message(0, round, 20), &mut silent), Status::Done);
                        });
                        sleep(&wb);
                        sender.join().expect("the sender ends");
                    });
                    assert_eq!(poll(&mut b, &mut |_| ()), 1, "round {round}: woke for nothing");
                } else {
                    std::thread::scope(|s| {
                        let ringer = s.spawn(|| wb.wake());
                        sleep(&wb);
                        ringer.join().expect("the ringer ends");
                    });
                }
                // Not a speed limit: the sleep would have lasted twenty seconds.
                assert!(start.elapsed() < Duration::from_secs(15), "round {round}: nobody woke the sleeper");
                b.disarm();
            }
            // A wake that ended no sleep of ours may be left over; a message must not be.
            while b.arm() == Status::Again {
                poll(&mut b, &mut silent);
            }
            let start = Instant::now();
            wb.wait(3_000_000);
            assert!(start.elapsed() >= Duration::from_millis(3) || by_descriptor, "returned early");
        }
    }
}

#[test]
fn a_closed_peer_is_reported_once_and_after_its_last_message() {
    let mut job = local_job("closed", 3);
    for i in 0..50 {
        assert_eq!(send(&mut job[1].0, 0, &message(1, i, 100), &mut silent), Status::Done);
    }
    drop(job.remove(1));
    let (mut messages, mut downs) = (0, 0);
    let mut patience = Patience::with_myself(Duration::from_secs(20));
    while downs == 0 {
        poll(&mut job[0].0, &mut |e| {
            if e.kind == EventKind::PeerDown as u32 {
                assert_eq!((e.peer, messages), (1, 50));
                downs += 1;
            } else {
                messages += 1;
            }
        });
        assert!(!patience.is_over(), "the end of task 1 was not noticed");
    }
    for _ in 0..100_000 {
        poll(&mut job[0].0, &mut silent);
    }
    assert_eq!(job[0].0.am_short(1, &[1], &[]), Status::PeerDown);
    assert_eq!(send(&mut job[0].0, 2, &[1; 20], &mut silent), Status::Done);
    job[0].0.disconnect(1);
    assert_eq!(job[0].0.am_short(1, &[1], &[]), Status::Invalid);
}

#[test]
fn last_messages_are_whole_when_their_senders_are_gone() {
    // The end of task 1 is noticed by a poll that leaves its last message to the next one.
    for (ended, left) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)] {
        let mut job = local_job("last", 4);
        for (from, (task, _)) in job.iter_mut().enumerate().skip(1) {
            assert_eq!(task.am_short(0, &message(from as u32, 5, 20), &[]), Status::Done);
        }
        drop(job.remove(ended));
        std::thread::sleep(Duration::from_millis(2));
        // Polls without room for events look at the peers, too.
        (0..1000).for_each(|_| assert_eq!(job[0].0.poll(&mut []), 0));
        let mut seen = [false; 4];
        let mut patience = Patience::with_myself(Duration::from_secs(20));
        let mut room = left;
        while seen != [true; 4] {
            // All events of a poll first: none may hide what another names.
            let mut events = [Event::EMPTY; 8];
            let n = job[0].0.poll(&mut events[..room]);
            room = 8;
            for e in &events[..n] {
                let first = if e.kind == EventKind::PeerDown as u32 {
                    assert!(e.peer == ended as u32 && seen[ended], "reported before its last message");
                    &mut seen[0]
                } else {
                    assert_eq!(parse(&bytes(e)), (e.peer, 5), "damaged: {ended} ended");
                    &mut seen[e.peer as usize]
                };
                assert!(!std::mem::replace(first, true));
            }
            assert!(!patience.is_over(), "{seen:?}: {ended} ended");
        }
    }
}

#[test]
fn a_disconnected_peer_takes_no_message_of_others_away() {
    let mut job = local_job("disconnected", 4);
    for (from, (task, _)) in job.iter_mut().enumerate().skip(1) {
        assert_eq!(task.am_short(0, &message(from as u32, 7, 20), &[]), Status::Done);
    }
    let mut events = [Event::EMPTY; 8];
    assert_eq!(job[0].0.poll(&mut events), 3);
    job[0].0.disconnect(1);
    for e in &events[..3] {
        assert_eq!(parse(&bytes(e)), (e.peer, 7), "damaged");
    }
}

#[test]
fn a_new_incarnation_takes_the_place_of_the_old_one() {
    let job = job_name("again");
    let mut a = try_open(0, 2, 0, 0, &job).unwrap().0;
    for life in 0..100u32 {
        let mut b = try_open(1, 2, 0, life, &job).unwrap().0;
        a.connect(1, &b.address()).unwrap();
        b.connect(0, &a.address()).unwrap();
        settle(&mut [&mut a, &mut b]);
        for i in 0..300 {
            assert_eq!(send(&mut a, 1, &message(0, i, 90), &mut silent), Status::Done);
            assert_eq!(send(&mut b, 0, &message(1, i, 90), &mut silent), Status::Done);
            let mut n = 0;
            poll(&mut b, &mut |_| n += 1);
            poll(&mut a, &mut |e| {
                assert_eq!(parse(&bytes(e)), (1, i), "life {life}");
                n += 1;
            });
            assert_eq!(n, 2, "life {life}, round {i}");
        }
        // Half of the lives end with messages that nobody will read.
        if life % 2 == 0 {
            assert_eq!(send(&mut b, 0, &message(1, 999, 90), &mut silent), Status::Done);
        }
        a.disconnect(1);
        drop(b);
    }
}

#[test]
fn jobs_contexts_and_secrets_are_kept_apart() {
    let name = job_name("apart");
    let (mut a, _w) = try_open(0, 2, 0, 0, &name).unwrap();
    let (other, _v) = try_open(1, 2, 1, 0, &name).unwrap();
    let e = a.connect(1, &other.address()).unwrap_err();
    assert!(matches!(&e, TransportError::Invalid(t) if t.contains("context")), "{e}");
    // A second job of the same name and another secret: its greeting is not believed.
    let secret = [1; 32];
    let params = OpenParams {
        task: 1,
        tasks: 2,
        context: 0,
        incarnation: 0,
        job: &name,
        secret: &secret,
        interrupts: false,
    };
    let (mut stranger, _u) = Shm::open(host(), &params).unwrap();
    stranger.connect(0, &a.address()).unwrap();
    a.connect(1, &stranger.address()).unwrap();
    for _ in 0..50 {
        assert!(!a.progress_connect().unwrap(), "a stranger was let in");
        assert!(!stranger.progress_connect().unwrap(), "a stranger let us in");
    }
    assert_eq!(a.am_short(1, &[1], &[]), Status::Again);
    assert!(LOG.lock().unwrap().iter().any(|l| l.contains("authenticator")));
}
