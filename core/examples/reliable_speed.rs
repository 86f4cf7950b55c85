//! What the packet engine costs: two engines in one thread that hand each other their datagrams.
//! Times are the thread's processor time, so that a shared machine can measure them.
//!
//! `cargo run --release -p lapis-core --example reliable_speed [seconds]`

use lapis_core::reliable::{
    Authenticator, Body, Channel, Engine, EngineConfig, JobAuth, NO_TOKEN, NoAuth, NoMemory, PathInfo,
    SubmitError, Transmit, Verdict,
};
use rustix::time::{ClockId, clock_gettime};

/// A point in this thread's processor time.
#[derive(Clone, Copy)]
struct Instant(u64);

impl Instant {
    fn now() -> Self {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Self(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    /// Nanoseconds since then.
    fn elapsed(self) -> f64 {
        (Self::now().0 - self.0) as f64
    }
}

struct Pair<A> {
    engines: [Engine<A>; 2],
    start: Instant,
    out: Transmit,
    datagram: Vec<u8>,
    received: u64,
}

impl<A: Authenticator + Clone> Pair<A> {
    fn new(auth: &A, max_datagram: usize) -> Self {
        let config = EngineConfig { receive_buffer: 4 << 20, ..EngineConfig::default() };
        let path = [PathInfo::new(0, max_datagram)];
        let engines = [0, 1].map(|task| {
            let mut engine =
                Engine::new(config.clone(), task, 1, auth.clone()).expect("the default is valid");
            engine.add_peer(0, 1 - task, 1, Some(1), &path).expect("a new peer");
            engine
        });
        let (out, datagram) = (Transmit::default(), Vec::new());
        Self { engines, start: Instant::now(), out, datagram, received: 0 }
    }

    fn now(&self) -> u64 {
        self.start.elapsed() as u64
    }

    /// Moves what one side has to send to the other.
    fn carry(&mut self, from: usize, now: u64) -> bool {
        let mut any = false;
        while self.engines[from].poll_transmit(now, &mut NoMemory, &mut self.out) {
            any = true;
            for index in 0..self.out.datagrams() {
                self.datagram.clear();
                self.out.copy_datagram(index, &mut NoMemory, &mut self.datagram);
                let received = &mut self.received;
                self.engines[1 - from].on_datagram(now, &self.datagram, |_| {
                    *received += 1;
                    Verdict::Accept
                });
            }
        }
        any
    }

    fn stream(&mut self, seconds: f64, size: usize) -> (f64, f64) {
        let body = vec![7; size];
        let begin = Instant::now();
        self.received = 0;
        while begin.elapsed() < seconds * 1e9 {
            loop {
                let now = 0;
                match self.engines[0].submit(now, 1, Channel::Request, &[], Body::Copy(&body), NO_TOKEN) {
                    Ok(()) => {}
                    Err(SubmitError::Again) => break,
                    Err(error) => panic!("{error}"),
                }
            }
            let now = self.now();
            self.engines[0].on_timeout(now);
            self.engines[1].on_timeout(now);
            while self.carry(0, now) | self.carry(1, now) {}
        }
        let rate = self.received as f64 * 1e9 / begin.elapsed();
        (rate, rate * size as f64)
    }

    fn ping_pong(&mut self, seconds: f64) -> f64 {
        let begin = Instant::now();
        let (mut rounds, mut now) = (0u64, self.now());
        while begin.elapsed() < seconds * 1e9 {
            for _ in 0..64 {
                for side in 0..2 {
                    now += 5_000;
                    let to = 1 - side as u32;
                    self.engines[side]
                        .submit(now, to, Channel::Request, &[], Body::Copy(&[0; 8]), NO_TOKEN)
                        .expect("one unit in flight");
                    self.carry(side, now);
                }
                rounds += 1;
            }
        }
        begin.elapsed() / rounds as f64
    }
}

fn report<A: Authenticator + Clone>(name: &str, auth: &A, seconds: f64) {
    for (size, max_datagram) in [(8, 1472), (8, 8972), (1400, 1472), (8900, 8972)] {
        let (rate, bytes) = Pair::new(auth, max_datagram).stream(seconds, size);
        println!(
            "{name:8} stream of {size:5} B in datagrams of {max_datagram:5} B: {:8.2} M units/s  {:6.2} GB/s  {:6.1} ns each",
            rate / 1e6,
            bytes / 1e9,
            1e9 / rate
        );
    }
    println!(
        "{name:8} 8 B ping-pong through both engines: {:6.1} ns",
        Pair::new(auth, 1472).ping_pong(seconds)
    );
}

fn tags(auth: &JobAuth) {
    for size in [64, 128, 1400, 8900] {
        let bytes = vec![3; size];
        let mut best = f64::MAX;
        for _ in 0..5 {
            let begin = Instant::now();
            for _ in 0..5000 {
                let (header, frames) = bytes.split_first_chunk().expect("longer than a header");
                std::hint::black_box(auth.tag(std::hint::black_box(header), std::hint::black_box(frames)));
            }
            best = best.min(begin.elapsed() / 5000.0);
        }
        println!("job tag  of {size:5} B: {best:7.1} ns");
    }
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(0.3, |arg| arg.parse().expect("seconds"));
    report("no tag", &NoAuth, seconds);
    tags(&JobAuth::new(&[1; 32]));
    report("job tag", &JobAuth::new(&[1; 32]), seconds);
}
