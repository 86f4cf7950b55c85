//! Threads that sleep for what will come, over a transport whose sleeps have no end but a wake-up:
//! whatever other threads do meanwhile, an arrival finds the transport armed.

use lapis_core::Context;
use lapis_core::transport::*;
use lapis_patience::Patience;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// What the transport and the tests share.
struct Bell {
    armed: bool,
    /// Threads that sleep.
    asleep: u32,
    wakes: u64,
    /// Up to which one somebody woke.
    heard: u64,
    /// Something arrives just when the transport is armed next.
    disturb: bool,
    arrived: bool,
}

static BELL: Mutex<Bell> =
    Mutex::new(Bell { armed: false, asleep: 0, wakes: 0, heard: 0, disturb: false, arrived: false });
static RANG: Condvar = Condvar::new();
/// The tests share the bell.
static TURN: Mutex<()> = Mutex::new(());

fn bell() -> MutexGuard<'static, Bell> {
    BELL.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Ringing;
struct Ear;

impl Waiter for Ear {
    fn wait(&self, _: u64) {
        let mut bell = bell();
        let begun = bell.wakes;
        if bell.heard == begun {
            bell.asleep += 1;
            bell = RANG.wait_while(bell, |bell| bell.wakes == begun).unwrap();
            bell.asleep -= 1;
        }
        bell.heard = bell.wakes;
    }

    fn wake(&self) {
        bell().wakes += 1;
        RANG.notify_all();
    }
}

impl Transport for Ringing {
    const NAME: &'static str = "bell";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::WAIT).union(Caps::SELF_ONLY);
    const DECLARATION: Declaration = Declaration { cost_ns: 1, usage: Usage::Always, variables: &[] };
    type Waiter = Ear;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, Ear), TransportError> {
        Ok((Self, Ear))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_short: 1 << 16, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn poll(&mut self, _: &mut [Event]) -> usize {
        0
    }

    fn arm(&mut self) -> Status {
        let mut bell = bell();
        if std::mem::take(&mut bell.disturb) {
            (bell.armed, bell.arrived) = (false, true);
            return Status::Again;
        }
        bell.armed = true;
        Status::Done
    }

    fn disarm(&mut self) {
        bell().armed = false;
    }
}

lapis_core::export_transport!(Ringing, "bell", "0");

fn alone() -> Context {
    *bell() = Bell { armed: false, asleep: 0, wakes: 0, heard: 0, disturb: false, arrived: false };
    Context::builder()
        .environment(lapis_core::config::Environment::default())
        .bootstrap(lapis_core::bootstrap::singleton(0).unwrap())
        .transport(table())
        .interrupts(false)
        .init()
        .unwrap()
}

/// Waits until the shared state is as wanted.
fn until(what: &str, wanted: impl Fn(&Bell) -> bool) {
    let mut patience = Patience::with_myself(PATIENCE);
    while !wanted(&bell()) {
        assert!(!patience.is_over(), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Something arrives, if it has not yet, and wakes whoever sleeps, if the transport is armed;
/// `sleeper` has to take notice.
fn arrives(what: &str, sleeper: &std::thread::JoinHandle<()>) {
    bell().arrived = true;
    let mut patience = Patience::with_myself(PATIENCE);
    while !sleeper.is_finished() {
        assert!(!patience.is_over(), "{what}: the sleeper was not woken");
        let mut bell = bell();
        if std::mem::take(&mut bell.armed) {
            bell.wakes += 1;
            RANG.notify_all();
        }
        drop(bell);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn sleeper(context: &Context) -> std::thread::JoinHandle<()> {
    let context = context.clone();
    std::thread::spawn(move || context.wait_until(|| bell().arrived).unwrap())
}

#[test]
fn a_thread_that_stops_polling_leaves_no_sleeper_unarmed() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let context = alone();
    let sleeper = sleeper(&context);
    until("it sleeps", |bell| bell.asleep == 1 && bell.armed);
    bell().disturb = true;
    // What comes when this thread is about to sleep, too, disarms the transport; and is for the
    // other one, while this one finds what it waits for.
    context.wait_quietly(|| bell().arrived, None).unwrap();
    let mut patience = Patience::with_myself(PATIENCE);
    while !sleeper.is_finished() {
        assert!(!patience.is_over(), "the sleeper was neither woken nor armed: {}", bell().armed);
        std::thread::sleep(Duration::from_millis(1));
    }
    context.terminate().unwrap();
}

#[test]
fn who_sleeps_while_interrupts_are_turned_off_is_woken_by_the_next_arrival() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let context = alone();
    context.set_interrupts(true).unwrap();
    let sleeper = sleeper(&context);
    until("it sleeps, and so does the progress thread", |bell| bell.asleep == 2 && bell.armed);
    context.set_interrupts(false).unwrap();
    arrives("interrupts are off", &sleeper);
    context.terminate().unwrap();
}
