//! Threads that sleep for what will come, over a transport whose sleeps have no end but a wake-up:
//! whatever other threads do meanwhile, an arrival finds the transport armed.

use lapis_core::message::{AmSend, PutArgs, Source};
use lapis_core::transport::*;
use lapis_core::{Context, Counter, Delivery, HandlerId, Notify};
use lapis_patience::Patience;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// The largest packet.
const PACKET: u32 = 1 << 16;

/// What the transport and the tests share.
struct Bell {
    armed: bool,
    /// Threads that sleep.
    asleep: u32,
    wakes: u64,
    /// Up to which one somebody woke.
    heard: u64,
    /// A ring ends one sleep alone: that of the progress thread if it sleeps.
    of_one: bool,
    rung: bool,
    /// The progress thread sleeps.
    progress_asleep: bool,
    /// Something arrives just when the transport is armed next.
    disturb: bool,
    arrived: bool,
    /// The transport's instance is closed.
    closed: bool,
    /// How many packets the transport has room for, and how many it has taken.
    room: u32,
    packets: u32,
}

impl Bell {
    const fn new(of_one: bool) -> Self {
        Self {
            armed: false,
            asleep: 0,
            wakes: 0,
            heard: 0,
            of_one,
            rung: false,
            progress_asleep: false,
            disturb: false,
            arrived: false,
            closed: false,
            room: u32::MAX,
            packets: 0,
        }
    }

    fn ring(&mut self) {
        self.wakes += 1;
        self.rung = true;
        RANG.notify_all();
    }
}

static BELL: Mutex<Bell> = Mutex::new(Bell::new(false));
static RANG: Condvar = Condvar::new();
/// The tests share the bell.
static TURN: Mutex<()> = Mutex::new(());

fn bell() -> MutexGuard<'static, Bell> {
    BELL.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[derive(Default)]
struct Ringing {
    /// Packets to oneself, and the one that the last poll has given.
    under_way: VecDeque<Vec<u8>>,
    given: Option<Vec<u8>>,
}

struct Ear;

impl Waiter for Ear {
    fn wait(&self, _: u64) {
        let mut bell = bell();
        if bell.of_one {
            return wait_for_one_of(bell);
        }
        let begun = bell.wakes;
        if bell.heard == begun {
            bell.asleep += 1;
            bell = RANG.wait_while(bell, |bell| bell.wakes == begun).unwrap();
            bell.asleep -= 1;
        }
        bell.heard = bell.wakes;
    }

    fn wake(&self) {
        bell().ring();
    }
}

/// As the descriptors of most transports have it.
fn wait_for_one_of(mut bell: MutexGuard<'static, Bell>) {
    let progress = std::thread::current().name().is_some_and(|name| name.starts_with("lapis-progress"));
    bell.asleep += 1;
    bell.progress_asleep |= progress;
    bell = RANG.wait_while(bell, |bell| !bell.rung || (bell.progress_asleep && !progress)).unwrap();
    bell.rung = false;
    bell.asleep -= 1;
    bell.progress_asleep &= !progress;
}

impl Drop for Ringing {
    fn drop(&mut self) {
        bell().closed = true;
    }
}

impl Transport for Ringing {
    const NAME: &'static str = "bell";
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_PACKED.union(Caps::RELIABLE).union(Caps::WAIT).union(Caps::SELF_ONLY);
    const DECLARATION: Declaration = Declaration { cost_ns: 1, usage: Usage::Always, variables: &[] };
    type Waiter = Ear;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, Ear), TransportError> {
        Ok((Self::default(), Ear))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_packed: PACKET, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_packed(&mut self, _: PeerId, len: usize, pack: &mut dyn FnMut(&mut [u8])) -> Status {
        let mut bell = bell();
        if bell.packets == bell.room {
            return Status::Again;
        }
        bell.packets += 1;
        let mut packet = vec![0; len];
        pack(&mut packet);
        self.under_way.push_back(packet);
        Status::Done
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.given = self.under_way.pop_front();
        match (&mut self.given, events) {
            (Some(packet), [first, ..]) => {
                *first = Event::message(0, packet.as_mut_ptr(), packet.len() as u32);
                1
            }
            _ => 0,
        }
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
    alone_with(Bell::new(false))
}

fn alone_with(new: Bell) -> Context {
    *bell() = new;
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
            bell.ring();
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
    until("both sleep", |bell| bell.asleep == 2 && bell.armed);
    context.set_interrupts(false).unwrap();
    arrives("interrupts are off", &sleeper);
    context.terminate().unwrap();
}

/// A thread of the program and the progress thread sleep, and a ring ends the sleep of the second.
fn woken_past_the_progress_thread(what: &str, happens: impl FnOnce(&Context)) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let context = alone_with(Bell::new(true));
    context.set_interrupts(true).unwrap();
    let sleeper = sleeper(&context);
    until("both sleep", |bell| bell.asleep == 2 && bell.armed);
    happens(&context);
    let mut patience = Patience::with_myself(PATIENCE);
    while !sleeper.is_finished() {
        assert!(!patience.is_over(), "{what}: the sleeper was not woken");
        std::thread::sleep(Duration::from_millis(1));
    }
    context.terminate().unwrap();
}

#[test]
fn a_call_that_the_progress_thread_takes_is_passed_on() {
    woken_past_the_progress_thread("a call", |context| {
        bell().arrived = true;
        context.wake();
    });
}

#[test]
fn an_arrival_that_wakes_the_progress_thread_alone_is_passed_on() {
    woken_past_the_progress_thread("an arrival", |_| {
        let mut bell = bell();
        bell.arrived = true;
        bell.ring();
    });
}

/// A thread sleeps until a counter is 1, while something happens.
fn woken_by_a_counter(happens: impl FnOnce(&Context, &Counter)) {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let context = alone();
    let counter = Arc::new(Counter::new(0));
    let waiter = std::thread::spawn({
        let (context, counter) = (context.clone(), Arc::clone(&counter));
        move || context.wait_counter(&counter, 1).unwrap()
    });
    until("it sleeps", |bell| bell.asleep == 1 && bell.armed);
    happens(&context, &counter);
    let mut patience = Patience::with_myself(PATIENCE);
    while !waiter.is_finished() {
        assert!(!patience.is_over(), "the waiter was not woken");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(waiter.join().unwrap(), 0);
    context.terminate().unwrap();
}

#[test]
fn a_counter_that_another_thread_sets_wakes_who_waits_for_it() {
    woken_by_a_counter(|context, counter| context.set_counter(counter, 1));
}

#[test]
fn a_counter_that_another_thread_counts_by_a_direct_put_wakes_who_waits_for_it() {
    woken_by_a_counter(|context, counter| {
        let mut memory = [7u64, 0];
        let bytes = memory.as_mut_ptr();
        // SAFETY: the memory is used by this pointer alone; it and the counter outlive the put.
        unsafe {
            let args = PutArgs {
                target: 0,
                remote: bytes.add(1).expose_provenance() as u64,
                source: Source::Contiguous(bytes.cast(), 8),
                target_counter: 0,
                origin: Notify::None,
                completion: Notify::Counter(NonNull::from(counter)),
                checked: false,
            };
            context.put(args).unwrap();
            assert_eq!(bytes.add(1).read_volatile(), 7);
        }
    });
}

/// Begins to send a message for which the transport has no room but for its first packet.
fn begin_long_message(context: &Context) {
    static DATA: [u8; 4 * PACKET as usize] = [7; 4 * PACKET as usize];
    context.set_handler(HandlerId(1), |_, _| Delivery::bury()).unwrap();
    bell().room = 1;
    let message = AmSend {
        target: 0,
        handler: 1,
        user_header: &[],
        source: Source::Contiguous(DATA.as_ptr(), DATA.len() as u64),
        target_counter: 0,
        origin: Notify::None,
        completion: Notify::None,
    };
    // SAFETY: a static lives for good, and nothing changes it; the handler is a number.
    unsafe { context.am_send(message).unwrap() };
    assert_eq!(bell().packets, 1, "the rest waits for room");
    bell().room = u32::MAX;
}

/// The thread that has begun it computes, and room that a peer makes rings no bell.
#[test]
fn the_progress_thread_sends_the_rest_of_a_message() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let context = alone();
    context.set_interrupts(true).unwrap();
    until("it sleeps", |bell| bell.asleep == 1 && bell.armed);
    begin_long_message(&context);
    until("the rest of the message is sent", |bell| bell.packets > 4);
    context.terminate().unwrap();
}

#[test]
fn a_thread_that_sleeps_sends_the_rest_of_a_message_of_another_one() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let context = alone();
    let sleeper = sleeper(&context);
    until("it sleeps", |bell| bell.asleep == 1 && bell.armed);
    begin_long_message(&context);
    until("the rest of the message is sent", |bell| bell.packets > 4);
    arrives("all is sent", &sleeper);
    context.terminate().unwrap();
}

/// As with rails, whose queued messages leave when they are closed, and whose ports are then free:
/// a C program keeps a context that has ended.
#[test]
fn a_context_that_ends_closes_its_transport_though_somebody_keeps_it() {
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let context = alone();
    let kept = context.clone();
    context.terminate().unwrap();
    assert!(bell().closed);
    drop((context, kept));
}
