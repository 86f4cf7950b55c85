//! What the software of one hop costs when no cache line has to travel: two contexts in one thread
//! throw a message back and forth.
//!
//! `cargo run --release -p lapis-perf --example hop [rounds] [bytes]`; the counterpart for
//! instructions is callgrind on this program, with the difference of two runs of different length.

use lapis::core::bootstrap::{
    Address, Environment, Listener, Options, Server, ServerConfig, detect_in, random_secret,
};
use lapis::{Context, Delivery, HandlerId, Result};
use std::cell::Cell;
use std::time::Instant;

const BALL: HandlerId = HandlerId(1);

thread_local! {
    static CAUGHT: Cell<u64> = const { Cell::new(0) };
}

fn join(server: &Address, secret: &str, task: &str) -> Result<Context> {
    let environment = Environment::of([
        ("LAPIS_KVS", &*server.to_string()),
        ("LAPIS_JOB_ID", "hop"),
        ("LAPIS_JOB_SECRET", secret),
        ("LAPIS_TASK", task),
        ("LAPIS_TASKS", "2"),
    ]);
    let job = detect_in(&environment, &Options::default()).expect("the job's store");
    let context = lapis::builder().bootstrap(job).set("LAPIS_TRANSPORT", "shm").interrupts(false).init()?;
    context.set_handler(BALL, |_, _| {
        CAUGHT.set(CAUGHT.get() + 1);
        Delivery::bury()
    })?;
    context.gfence()?;
    Ok(context)
}

fn main() -> Result<()> {
    let rounds: u64 = std::env::args().nth(1).and_then(|r| r.parse().ok()).unwrap_or(1_000_000);
    let bytes: usize = std::env::args().nth(2).and_then(|b| b.parse().ok()).unwrap_or(8);
    let secret = random_secret().expect("random numbers");
    let hex: String = secret.iter().map(|b| format!("{b:02x}")).collect();
    let listener = Listener::bind(&format!("unix:@lapis-hop-{}", std::process::id()).parse().unwrap())
        .expect("a socket");
    let server = Server::start(listener, ServerConfig::new(2, secret), |_| {}).expect("a store");
    let address = server.address().clone();
    let (a, b) = std::thread::scope(|scope| {
        let other = scope.spawn(|| join(&address, &hex, "1"));
        (join(&address, &hex, "0"), other.join().unwrap())
    });
    let (a, b) = (a?, b?);
    let data = vec![7; bytes];
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..rounds {
            a.send(1, BALL, &[], &data)?;
            let before = CAUGHT.get();
            b.wait_until(|| CAUGHT.get() != before)?;
            b.send(0, BALL, &[], &data)?;
            let before = CAUGHT.get();
            a.wait_until(|| CAUGHT.get() != before)?;
        }
        println!("{:.1} ns a hop", start.elapsed().as_nanos() as f64 / rounds as f64 / 2.0);
    }
    std::process::exit(0)
}
