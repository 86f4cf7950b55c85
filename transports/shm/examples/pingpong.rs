//! Two pinned processes over the raw operation table: latency, message rate and bandwidth beside
//! their floors.
//!
//! `cargo run --release -p lapis-shm --example pingpong [seconds per figure]`

#![allow(clippy::disallowed_types, reason = "the floor is measured with bare atomics")]

use lapis_core::transport::abi::{HostTable, RawOpenParams, TransportOps};
use lapis_core::transport::{Event, RawSlice, RemoteAddr, Status};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

unsafe extern "C" fn log(level: u32, _: *const u8, _: usize, text: *const u8, len: usize) {
    // SAFETY: the transport passes a valid range.
    let text = unsafe { std::slice::from_raw_parts(text, len) };
    eprintln!("[{level}] {}", String::from_utf8_lossy(text));
}
unsafe extern "C" fn log_enabled(level: u32, _: *const u8, _: usize) -> i32 {
    i32::from(level <= 2)
}
unsafe extern "C" fn option(name: *const u8, len: usize, buf: *mut u8, capacity: usize) -> isize {
    // SAFETY: the transport passes valid ranges.
    unsafe {
        let name = std::str::from_utf8(std::slice::from_raw_parts(name, len)).unwrap_or("");
        let Ok(value) = std::env::var(name) else { return -1 };
        std::ptr::copy_nonoverlapping(value.as_ptr(), buf, value.len().min(capacity));
        value.len() as isize
    }
}
static HOST: HostTable =
    HostTable { struct_size: size_of::<HostTable>() as u32, abi_major: 1, log, log_enabled, option };

/// Memory that both processes see: results, barriers, floors.
#[repr(C, align(128))]
struct Board {
    ping: AtomicU64,
    _a: [u64; 31],
    pong: AtomicU64,
    _b: [u64; 31],
    barrier: AtomicU64,
    lens: [AtomicU64; 2],
    addresses: [[u8; 512]; 2],
    buffers: [AtomicU64; 2],
}

struct Side {
    ops: &'static TransportOps,
    at: *mut c_void,
    me: u32,
    board: *mut Board,
    barriers: u64,
}

const BIG: usize = 1 << 20;

impl Side {
    fn board(&self) -> &Board {
        // SAFETY: the board outlives both processes' use; what changes in it are atomics.
        unsafe { &*self.board }
    }
    /// One of the two prints.
    fn say(&self, text: &str) {
        if self.me == 0 {
            println!("{text}");
        }
    }
    fn barrier(&mut self) {
        self.barriers += 2;
        self.board().barrier.fetch_add(1, Ordering::AcqRel);
        while self.board().barrier.load(Ordering::Acquire) < self.barriers {
            std::hint::spin_loop();
        }
    }
    fn peer(&self) -> u32 {
        1 - self.me
    }
    #[inline(always)]
    fn send(&self, bytes: &[u8]) -> bool {
        // SAFETY: a live instance and a valid range.
        let r = unsafe {
            (self.ops.am_short.unwrap())(
                self.at,
                self.peer(),
                bytes.as_ptr(),
                bytes.len() as u32,
                std::ptr::null(),
                0,
            )
        };
        assert!(r == 0 || r == Status::Again as i32, "send: {r}");
        r == 0
    }
    #[inline(always)]
    fn poll(&self, events: &mut [Event]) -> usize {
        // SAFETY: a live instance and a valid array.
        unsafe { (self.ops.poll.unwrap())(self.at, events.as_mut_ptr(), events.len() as u32) as usize }
    }

    fn floor(&mut self, rounds: u64) -> f64 {
        self.barrier();
        let b = self.board();
        let base = b.ping.load(Ordering::Relaxed).max(b.pong.load(Ordering::Relaxed));
        self.barrier();
        let b = self.board();
        let start = Instant::now();
        for i in base + 1..=base + rounds {
            if self.me == 0 {
                b.ping.store(i, Ordering::Release);
                while b.pong.load(Ordering::Acquire) != i {}
            } else {
                while b.ping.load(Ordering::Acquire) != i {}
                b.pong.store(i, Ordering::Release);
            }
        }
        start.elapsed().as_nanos() as f64 / rounds as f64 / 2.0
    }

    fn latency(&mut self, rounds: u64, head: usize) -> f64 {
        self.barrier();
        let bytes = [1u8; 48];
        let mut events = [Event::EMPTY; 16];
        let start = Instant::now();
        for _ in 0..rounds {
            if self.me == 0 {
                while !self.send(&bytes[..head]) {}
            }
            while self.poll(&mut events) == 0 {}
            if self.me == 1 {
                while !self.send(&bytes[..head]) {}
            }
        }
        start.elapsed().as_nanos() as f64 / rounds as f64 / 2.0
    }

    fn rate(&mut self, count: u64, head: usize) -> f64 {
        self.barrier();
        let bytes = [1u8; 48];
        let mut events = [Event::EMPTY; 64];
        let start = Instant::now();
        if self.me == 0 {
            for _ in 0..count {
                while !self.send(&bytes[..head]) {
                    std::hint::spin_loop();
                }
            }
            while self.poll(&mut events) == 0 {}
        } else {
            let (mut got, mut sum) = (0, 0u64);
            while got < count {
                let n = self.poll(&mut events);
                for e in &events[..n] {
                    // SAFETY: the event's bytes are valid until the next poll.
                    sum += u64::from(unsafe { *e.data });
                }
                got += n as u64;
            }
            assert_eq!(sum, count);
            while !self.send(&bytes[..8]) {}
        }
        count as f64 * 1e3 / start.elapsed().as_nanos() as f64
    }

    fn stream(&mut self, count: u64, fragment: usize) -> f64 {
        let source = vec![1u8; BIG];
        let mut target = vec![0u8; BIG];
        unsafe extern "C" fn pack(arg: *mut c_void, into: *mut u8, len: usize) {
            // SAFETY: the source is longer than any fragment.
            unsafe { std::ptr::copy_nonoverlapping(arg.cast::<u8>(), into, len) };
        }
        let mut events = [Event::EMPTY; 8];
        self.barrier();
        let start = Instant::now();
        let total = count * BIG as u64;
        if self.me == 0 {
            for _ in 0..count {
                let mut at = 0;
                while at < BIG {
                    let len = fragment.min(BIG - at);
                    // SAFETY: a live instance; `pack` reads inside the source.
                    let r = unsafe {
                        (self.ops.am_packed.unwrap())(
                            self.at,
                            1,
                            len,
                            pack,
                            source.as_ptr().add(at).cast_mut().cast(),
                        )
                    };
                    if r == 0 {
                        at += len;
                    } else {
                        std::hint::spin_loop();
                    }
                }
            }
            while self.poll(&mut events) == 0 {}
        } else {
            let mut got = 0u64;
            while got < total {
                let n = self.poll(&mut events);
                for e in &events[..n] {
                    let at = got as usize % BIG;
                    // SAFETY: fragments never straddle the end of the target.
                    unsafe {
                        std::ptr::copy_nonoverlapping(e.data, target.as_mut_ptr().add(at), e.len as usize)
                    };
                    got += u64::from(e.len);
                }
            }
            while !self.send(&[0; 8]) {}
        }
        total as f64 / start.elapsed().as_nanos() as f64
    }

    /// One message of `len` bytes at a time, answered when it is in place; nanoseconds for both
    /// ways.
    fn lone(&mut self, rounds: u64, len: usize, attach: bool) -> f64 {
        unsafe extern "C" fn pack(arg: *mut c_void, into: *mut u8, len: usize) {
            // SAFETY: the source is longer than any fragment.
            unsafe { std::ptr::copy_nonoverlapping(arg.cast::<u8>(), into, len) };
        }
        let mut buffer = vec![1u8; len];
        self.board().buffers[self.me as usize].store(buffer.as_mut_ptr() as u64, Ordering::Release);
        self.barrier();
        let addr = self.board().buffers[self.peer() as usize].load(Ordering::Acquire);
        let mut events = [Event::EMPTY; 8];
        let start = Instant::now();
        for _ in 0..rounds {
            if self.me == 0 {
                if attach {
                    let local = RawSlice { ptr: buffer.as_mut_ptr(), len };
                    // SAFETY: both buffers have `len` bytes.
                    let r = unsafe {
                        (self.ops.put_zcopy.unwrap())(self.at, 1, local, RemoteAddr { addr, key: 0 }, 0)
                    };
                    assert_eq!(r, 0);
                    while !self.send(&[0; 8]) {}
                } else {
                    let mut at = 0;
                    while at < len {
                        let step = 8192.min(len - at);
                        // SAFETY: a live instance; `pack` reads inside the buffer.
                        let r = unsafe {
                            let from = buffer.as_ptr().add(at).cast_mut().cast();
                            (self.ops.am_packed.unwrap())(self.at, 1, step, pack, from)
                        };
                        at += if r == 0 { step } else { 0 };
                    }
                }
                while self.poll(&mut events) == 0 {}
            } else {
                let mut got = 0;
                while got < if attach { 8 } else { len } {
                    let n = self.poll(&mut events);
                    for e in &events[..n] {
                        if !attach {
                            // SAFETY: the fragments add up to `len`.
                            unsafe {
                                let to = buffer.as_mut_ptr().add(got);
                                std::ptr::copy_nonoverlapping(e.data, to, e.len as usize);
                            }
                        }
                        got += e.len as usize;
                    }
                }
                while !self.send(&[0; 8]) {}
            }
        }
        start.elapsed().as_nanos() as f64 / rounds as f64
    }

    fn attach(&mut self, count: u64, len: usize) -> f64 {
        let mut buffer = vec![1u8; len];
        self.board().buffers[self.me as usize].store(buffer.as_mut_ptr() as u64, Ordering::Release);
        self.barrier();
        let addr = self.board().buffers[self.peer() as usize].load(Ordering::Acquire);
        let start = Instant::now();
        if self.me == 0 {
            for _ in 0..count {
                // SAFETY: both buffers have `len` bytes.
                let r = unsafe {
                    (self.ops.put_zcopy.unwrap())(
                        self.at,
                        1,
                        RawSlice { ptr: buffer.as_mut_ptr(), len },
                        RemoteAddr { addr, key: 0 },
                        0,
                    )
                };
                assert_eq!(r, 0);
            }
        }
        let took = start.elapsed().as_nanos() as f64;
        self.barrier();
        (count * len as u64) as f64 / took
    }
}

fn open(me: u32, board: *mut Board, job: &str) -> Side {
    let ops = lapis_shm::table();
    let mut at = std::ptr::null_mut();
    let secret = [3u8; 32];
    let params = RawOpenParams {
        struct_size: size_of::<RawOpenParams>() as u32,
        task: me,
        tasks: 2,
        context: 0,
        incarnation: 0,
        interrupts: 0,
        job: job.as_ptr(),
        job_len: job.len(),
        secret: secret.as_ptr(),
    };
    // SAFETY: everything passed is valid; the board is shared by both processes.
    unsafe {
        assert_eq!(
            (ops.open.unwrap())(&raw const HOST, &raw const params, &raw mut at, std::ptr::null_mut()),
            0
        );
        let mine = (&raw mut (*board).addresses[me as usize]).cast::<u8>();
        let len = (ops.address.unwrap())(at, mine, 512);
        assert!(len > 0);
        (*board).lens[me as usize].store(len as u64, Ordering::Release);
        let peer = 1 - me as usize;
        while (*board).lens[peer].load(Ordering::Acquire) == 0 {
            std::hint::spin_loop();
        }
        let len = (*board).lens[peer].load(Ordering::Acquire) as u32;
        let theirs = (&raw const (*board).addresses[peer]).cast::<u8>();
        assert_eq!((ops.connect.unwrap())(at, peer as u32, theirs, len, std::ptr::null_mut()), 0);
        loop {
            let r = (ops.progress_connect.unwrap())(at, std::ptr::null_mut());
            assert!(r >= 0, "progress_connect: {r}");
            if r == 0 {
                break;
            }
        }
    }
    Side { ops, at, me, board, barriers: 0 }
}

fn pin(cpu: usize) {
    // SAFETY: a valid set of the right size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

fn best(side: &mut Side, rounds: usize, higher: bool, mut f: impl FnMut(&mut Side) -> f64) -> (f64, f64) {
    let mut samples: Vec<f64> = (0..rounds).map(|_| f(side)).collect();
    samples.sort_by(f64::total_cmp);
    (if higher { samples[rounds - 1] } else { samples[0] }, samples[rounds / 2])
}

fn latencies(s: &mut Side) {
    for _ in 0..3 {
        let floor = best(s, 301, false, |s| s.floor(2_000));
        let lat = best(s, 301, false, |s| s.latency(2_000, 8));
        let lat32 = best(s, 301, false, |s| s.latency(2_000, 32));
        s.say(&format!(
            "one way ns (best/median): floor {:.1}/{:.1}  8 B {:.1}/{:.1}  32 B {:.1}/{:.1}",
            floor.0, floor.1, lat.0, lat.1, lat32.0, lat32.1
        ));
    }
}

fn rates(s: &mut Side) {
    for head in [8, 32, 48] {
        let r = best(s, 101, true, |s| s.rate(50_000, head));
        s.say(&format!("stream of {head}-byte messages, M/s (best/median): {:.1}/{:.1}", r.0, r.1));
    }
}

fn bandwidths(s: &mut Side) {
    for fragment in [2048, 4096, 8192, 16384] {
        let r = best(s, 41, true, |s| s.stream(40, fragment));
        s.say(&format!(
            "1 MiB messages in fragments of {fragment}, GB/s (best/median): {:.1}/{:.1}",
            r.0, r.1
        ));
    }
}

fn attachments(s: &mut Side) {
    for len in [1024, 4096, 16384, 65536, BIG] {
        let count = (20 << 20) / (len as u64 + 16384);
        let r = best(s, 25, true, |s| s.attach(count, len));
        s.say(&format!("cross-memory attach, {len} bytes, GB/s (best/median): {:.1}/{:.1}", r.0, r.1));
    }
}

fn lone_messages(s: &mut Side) {
    for kib in [4, 8, 16, 32, 64, 256, 1024, 4096] {
        let rounds = 4096 / kib as u64 + 4;
        let copied = best(s, 25, false, |s| s.lone(rounds, kib << 10, false));
        let attached = best(s, 25, false, |s| s.lone(rounds, kib << 10, true));
        s.say(&format!(
            "lone message of {kib} KiB and its answer, ns (best/median): copied twice {:.0}/{:.0}, cross-memory attach {:.0}/{:.0}",
            copied.0, copied.1, attached.0, attached.1
        ));
    }
}

fn main() {
    let only = std::env::args().nth(1);
    // SAFETY: a fresh anonymous mapping, zeroed.
    let board = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Board>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    }
    .cast::<Board>();
    let job = format!("pingpong-{}", std::process::id());
    // SAFETY: no other thread runs yet.
    let child = unsafe { libc::fork() };
    let me = u32::from(child == 0);
    // SAFETY: without its parent the child must not spin for ever.
    unsafe { if me == 1 { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } else { 0 } };
    pin(me as usize);
    let mut side = open(me, board, &job);
    type Measure = fn(&mut Side);
    let parts: [(&str, Measure); 5] = [
        ("lat", latencies),
        ("rate", rates),
        ("bw", bandwidths),
        ("cma", attachments),
        ("lone", lone_messages),
    ];
    for (_, measure) in parts.iter().filter(|(name, _)| only.as_deref().is_none_or(|o| o == *name)) {
        measure(&mut side);
    }
    side.barrier();
    if me == 0 {
        // SAFETY: our child.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    }
}
