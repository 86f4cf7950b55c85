//! What the link of a process that has ended still brings when another process has its place.

use super::super::card::{card_key, put_field};
use crate::bootstrap::{self, Bootstrap, BootstrapError, JobInfo};
use crate::config::Environment;
use crate::context::{Context, Delivery, HandlerId};
use crate::datagrams::tests::table as network;
use crate::handlers::Incoming;
use crate::state::PeerState;
use crate::sync::{AtomicU32, Ordering};
use crate::transport::abi::TransportOps;
use crate::transport::{
    Attributes, Caps, Event, Exported, Host, Limits, NoWaiter, OpenParams, PeerId, Status, Transport,
    TransportError,
};
use crate::wire::{Encoded, Header, Kind};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The other task.
const PEER: PeerId = 1;

/// What a link brings: a packet of the peer's, or that its process has ended.
type News = Option<Vec<u8>>;

thread_local! {
    /// What the link to the peer's first process still has.
    // tidy-allow(statics): each thread has its own, so that tests share none.
    static LEFT: RefCell<VecDeque<News>> = RefCell::default();
}

/// The link to the peer's first process, or that of this task to itself. It sends nothing.
struct Link<const NEAR: bool>(Vec<Vec<u8>>);

impl<const NEAR: bool> Transport for Link<NEAR> {
    const NAME: &'static str = if NEAR { "near" } else { "itself" };
    const VERSION: &'static str = "0";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::PEER_FAILURE).union(if NEAR {
        Caps::LOCAL_ONLY
    } else {
        Caps::SELF_ONLY
    });
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Ok((Self(Vec::new()), NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_short: 1 << 10, max_packed: 1 << 10, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        vec![0]
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_short(&mut self, _: PeerId, _: &[u8], _: &[u8]) -> Status {
        Status::Done
    }

    fn poll(&mut self, events: &mut [Event]) -> usize {
        self.0.clear();
        for (n, event) in events.iter_mut().enumerate() {
            let Some(news) = NEAR.then(|| LEFT.with_borrow_mut(VecDeque::pop_front)).flatten() else {
                return n;
            };
            *event = match news {
                None => Event::peer_down(PEER),
                Some(mut packet) => {
                    let event = Event::message(PEER, packet.as_mut_ptr(), packet.len() as u32);
                    self.0.push(packet);
                    event
                }
            };
        }
        events.len()
    }
}

static NEAR: TransportOps = Exported::<Link<true>>::table(c"near", c"0", std::ptr::null());
static ITSELF: TransportOps = Exported::<Link<false>>::table(c"itself", c"0", std::ptr::null());

/// A job of two tasks that may be restarted. The second one was: the exchange tells of its first
/// process, the store of the present one.
struct Restarted {
    job: JobInfo,
    /// The card of the peer's second process.
    card: Vec<u8>,
    /// How often the launcher was asked to end the job.
    aborts: Arc<AtomicU32>,
}

/// This task's card as that of another task, whose process has this epoch.
fn card_of(own: &[u8], epoch: u32) -> Vec<u8> {
    let mut card = Vec::new();
    // What comes first counts.
    put_field(&mut card, b"epoch");
    put_field(&mut card, &epoch.to_le_bytes());
    card.extend_from_slice(own);
    card
}

impl Bootstrap for Restarted {
    fn task(&self) -> u32 {
        0
    }

    fn tasks(&self) -> u32 {
        2
    }

    fn job(&self) -> &JobInfo {
        &self.job
    }

    fn context_number(&self) -> u32 {
        0
    }

    fn entry(&self) -> bootstrap::Entry {
        bootstrap::Entry::First
    }

    fn context(&self, _: u32) -> Result<Box<dyn Bootstrap>, BootstrapError> {
        unreachable!("there is one context")
    }

    fn put(&mut self, _: &str, _: &[u8]) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn get(&mut self, key: &str, _: Duration) -> Result<Vec<u8>, BootstrapError> {
        assert_eq!(key, card_key(PEER));
        Ok(self.card.clone())
    }

    fn fence(&mut self, _: Duration) -> Result<(), BootstrapError> {
        Ok(())
    }

    fn exchange(&mut self, _: &str, own: &[u8], _: Duration) -> Result<Vec<Vec<u8>>, BootstrapError> {
        self.card = card_of(own, 2);
        Ok(vec![own.to_vec(), card_of(own, 1)])
    }

    fn abort(&mut self, _: i32, _: &str) -> Result<(), BootstrapError> {
        self.aborts.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn finalize(&mut self) -> Result<(), BootstrapError> {
        Ok(())
    }
}

/// A context whose peer is reached over the link that brings what the test says, and was restarted
/// without its knowing; and the number of messages that have come.
fn context() -> (Context, Arc<AtomicU32>) {
    let context = context_of(Arc::default());
    let came = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&came);
    let count = move |_: &Context, _: &Incoming<'_>| {
        counter.fetch_add(1, Ordering::Relaxed);
        Delivery::bury()
    };
    context.set_handler(HandlerId(1), count).unwrap();
    (context, came)
}

fn context_of(aborts: Arc<AtomicU32>) -> Context {
    let job = bootstrap::singleton(0).unwrap().job().clone();
    Context::builder()
        .environment(Environment::default())
        .bootstrap(Box::new(Restarted { job, card: Vec::new(), aborts }))
        .transport(&NEAR)
        .transport(network())
        .transport(&ITSELF)
        .set("LAPIS_TRANSPORT", "near,wire")
        .interrupts(false)
        .init()
        .unwrap()
}

fn packet(header: &Header) -> News {
    let mut packet = Encoded::new();
    let n = header.encode(&mut packet);
    Some(packet.bytes(n).to_vec())
}

/// Ends a context whose peer answers nothing.
fn end(context: &Context) {
    context.purge(PEER).unwrap();
    context.terminate().unwrap();
}

#[test]
fn the_link_of_a_process_that_has_ended_says_nothing_of_its_successor() {
    let (context, came) = context();
    let message = |number| packet(&Header::new(Kind::Am, number, 1));
    LEFT.with_borrow_mut(|left| left.push_back(message(0)));
    context.progress().unwrap();
    assert_eq!(came.load(Ordering::Relaxed), 1);
    // The program learns of the restart by other means, and nothing looks at the link meanwhile.
    LEFT.with_borrow_mut(|left| {
        let leave = packet(&Header::new(Kind::Goodbye, 0, 0));
        left.extend([message(1), packet(&Header::new(Kind::Epoch, 3, 0)), leave, message(2), None]);
    });
    context.purge(PEER).unwrap();
    context.resume(PEER).unwrap();
    let signs = context.locked().peers[PEER].signs_of_life();
    context.progress().unwrap();
    assert!(LEFT.with_borrow(VecDeque::is_empty), "the link was looked at");
    assert_eq!(came.load(Ordering::Relaxed), 1, "the successor has sent nothing");
    context.reachable(PEER).expect("the successor is there");
    let locked = context.locked();
    let p = &locked.peers[PEER];
    assert_eq!((p.signs_of_life(), p.farewell, p.dead), (signs, false, false));
    drop(locked);
    end(&context);
}

/// A purge by the former process is all that this task hears of it, and its death comes after that.
#[test]
fn a_successor_that_was_found_by_chance_can_be_talked_to_at_once() {
    let (context, _) = context();
    LEFT.with_borrow_mut(|left| left.extend([packet(&Header::new(Kind::Epoch, 1, 1)), None]));
    context.progress().unwrap();
    context.reachable(PEER).expect("the successor is there");
    assert_eq!(context.locked().peers[PEER].state, PeerState::Up);
    let mut locked = context.locked();
    let head = Header::new(Kind::Fence, 0, 0);
    locked.reply_packet(PEER, &head, &[]);
    let owes = locked.engine_to(PEER).is_some_and(|(_, datagrams)| datagrams.owes(PEER));
    assert!(owes, "the packet is on its way");
    drop(locked);
    end(&context);
}

/// The engine is made when the successor is found, long after the program has set them.
#[test]
fn a_link_that_is_first_used_for_a_successor_has_the_timeout_and_threshold_that_were_set() {
    let (context, _) = context();
    context.set_timeout(Duration::from_secs(77));
    context.set_ack_threshold(5);
    assert!(context.locked().engine_to(PEER).is_none(), "the first process is reached without datagrams");
    LEFT.with_borrow_mut(|left| left.extend([packet(&Header::new(Kind::Epoch, 1, 1)), None]));
    context.progress().unwrap();
    let mut locked = context.locked();
    let set = locked.engine_to(PEER).map(|(_, datagrams)| datagrams.timeout_and_ack_threshold());
    assert_eq!(set, Some((Some(77_000_000_000), 5)));
    drop(locked);
    assert_eq!((context.timeout(), context.ack_threshold()), (Duration::from_secs(77), 5));
    end(&context);
}

/// A thread asks the store where the successor is.
#[test]
fn the_launcher_is_told_of_an_abort_although_another_thread_is_in_the_store() {
    let aborts = Arc::new(AtomicU32::new(0));
    let context = context_of(Arc::clone(&aborts));
    let asks = context.shared.bootstrap.lock().unwrap();
    std::thread::scope(|scope| {
        let (begins, begun) = std::sync::mpsc::channel();
        let aborting = scope.spawn({
            let context = context.clone();
            move || {
                begins.send(()).unwrap();
                context.abort(1, "on purpose");
            }
        });
        begun.recv().unwrap();
        // Whoever does not wait for the store has given up by then.
        std::thread::sleep(Duration::from_millis(20));
        drop(asks);
        // Joined here: the sanitizer does not see how a scope waits.
        aborting.join().unwrap();
    });
    assert_eq!(aborts.load(Ordering::Relaxed), 1);
    end(&context);
}
