//! Tests of what a task tells its peers while some can't be told, and of what peers may do with its
//! memory.

use super::Rdma;
use super::loss::Sign;
use super::rig::{Job, ONE, TWO, said, task};
use crate::header::WINDOW;
use crate::peers::Peer;
use crate::rail::Rail;
use crate::slots::COUNT;
use crate::transfer::Direction;
use lapis_core::transport::{Event, PeerAccess, RawSlice, RegionInfo, RemoteAddr, Status, Transport};
use std::os::fd::BorrowedFd;

const BUSY: i32 = libc::EAGAIN;

/// Two tasks stream to task 0, which can tell the first of them nothing.
fn streams_past_a_deaf_task() -> Option<Job> {
    let mut job = Job::open(3, ONE)?;
    job.refuse((0, 0), 1, Some(BUSY));
    // The first one is due before the second.
    let all_of_the_first = |job: &mut Job| job.got[0][1] == u64::from(WINDOW);
    let send_first = |job: &mut Job| {
        job.send(1, 0);
        job.step();
    };
    job.until("the window of the first task", send_first, all_of_the_first);
    Some(job)
}

#[test]
fn credit_to_one_peer_waits_for_no_other() {
    let Some(mut job) = streams_past_a_deaf_task() else { return };
    let send = |job: &mut Job| {
        job.send(2, 0);
        job.step();
    };
    job.until("many windows of the second task", send, |job| job.got[0][2] == 8 * u64::from(WINDOW));
    assert!(!job.send(1, 0), "the first one has got no credit");
    job.refuse((0, 0), 1, None);
    job.until("credit for the first task", Job::step, |job| job.send(1, 0));
}

#[test]
fn slots_for_one_peer_wait_for_no_other() {
    let Some(mut job) = streams_past_a_deaf_task() else { return };
    let send = |job: &mut Job| {
        job.send(2, 0);
        job.step();
    };
    let has_slots = |at: usize| move |job: &mut Job| job.tasks[at].peers.get(0).is_some_and(has_slots_there);
    job.until("slots for the second task", send, has_slots(2));
    assert!(!has_slots(1)(&mut job), "the first one can't be told");
    job.refuse((0, 0), 1, None);
    job.until("slots for the first task", Job::step, has_slots(1));
}

fn has_slots_there(peer: &Peer) -> bool {
    peer.slots_there.is_some()
}

/// Whether task 1 knows what task 0 has consumed, as far as that knows.
fn is_told(job: &mut Job) -> bool {
    job.tasks[0].peers.get(1).is_some_and(|p| !p.has_untold())
}

/// Task 1 sends a quarter of a window over two rails, after which task 0 is to give credit.
fn a_quarter_of_a_window() -> Option<Job> {
    let mut job = Job::open(2, TWO)?;
    let sent = |job: &mut Job| (0..WINDOW / 4).all(|_| job.send(1, 0));
    assert!(sent(&mut job), "there is room for some messages");
    Some(job)
}

fn has_quarter(job: &mut Job) -> bool {
    job.got[0][1] == u64::from(WINDOW / 4)
}

#[test]
fn credit_that_fails_on_a_path_takes_another_one() {
    let Some(mut job) = a_quarter_of_a_window() else { return };
    let rail = job.tasks[0].peers.get(1).map(|p| p.way().0).expect("it is connected");
    job.refuse((0, rail), 1, Some(libc::ECONNRESET));
    job.until("the messages", |job| job.poll(0), has_quarter);
    job.until("credit over the other rail", |job| job.poll(0), is_told);
    assert!(job.tasks[0].peers.get(1).is_some_and(|p| p.way().0 != rail));
}

#[test]
fn credit_outlives_a_time_without_any_path() {
    let Some(mut job) = a_quarter_of_a_window() else { return };
    for rail in [0, 1] {
        job.refuse((0, rail), 1, Some(BUSY));
        job.tasks[0].leave(1, rail, "a test", Sign::Told);
    }
    job.until("the messages", |job| job.poll(0), has_quarter);
    job.until("a try to give credit", |job| job.poll(0), |job| job.tasks[0].to_tell.is_empty());
    assert!(!is_told(&mut job), "there is no path");
    for rail in [0, 1] {
        job.refuse((0, rail), 1, None);
    }
    job.until("credit once a path is back", Job::step, is_told);
}

fn is_open(rdma: &Rdma, rail: usize) -> bool {
    !rdma.rails[rail].closed
}

#[test]
fn each_closed_rail_is_tried_again() {
    let Some(mut job) = Job::open(2, TWO) else { return };
    let rails = [0, 1];
    for rail in rails {
        job.tasks[0].rails[rail].endpoint.refuse_to_open(Some(libc::ENOMEM));
        job.tasks[0].renew(rail, "a test");
    }
    assert!(rails.iter().all(|rail| !is_open(&job.tasks[0], *rail)));
    job.tasks[0].rails[1].endpoint.refuse_to_open(None);
    job.until("the second rail, behind the first", |job| job.poll(0), |job| is_open(&job.tasks[0], 1));
    assert!(!is_open(&job.tasks[0], 0));
    job.tasks[0].rails[0].endpoint.refuse_to_open(None);
    job.until("the first rail", |job| job.poll(0), |job| is_open(&job.tasks[0], 0));
}

/// In place of an error number: what is sent is taken and lost.
const LOST: i32 = 0;

#[test]
fn credit_that_is_lost_is_asked_for() {
    let Some(mut job) = Job::open(2, ONE) else { return };
    job.refuse((0, 0), 1, Some(LOST));
    let all = |job: &mut Job| job.got[0][1] == u64::from(WINDOW) && is_told(job);
    let send = |job: &mut Job| {
        job.send(1, 0);
        job.step();
    };
    job.until("a window of messages", send, all);
    assert!(!job.send(1, 0), "the credit is lost");
    job.refuse((0, 0), 1, None);
    job.until("credit once more", Job::step, |job| job.send(1, 0));
}

/// What task 1 has sent so far over its rail.
fn sent(job: &Job) -> u64 {
    job.tasks[1].rails[0].sender.sent.messages
}

#[test]
fn the_number_of_messages_is_said_until_it_has_come() {
    let Some(mut job) = Job::open(2, ONE) else { return };
    job.refuse((1, 0), 0, Some(LOST));
    assert!(job.send(1, 0));
    let before = sent(&job);
    job.until("the number, which is lost", Job::step, |job| sent(job) > before);
    job.refuse((1, 0), 0, None);
    job.until("the loss", Job::step, |job| !job.lost[0].is_empty());
}

/// In interrupt mode a poll prepares for sleep before core has read what it found.
#[test]
fn a_message_stays_in_its_slot_until_core_has_read_it() {
    message_stays_in_its_slot(true, |_| {});
}

/// Core may do so in a handler of a message that the poll has found before.
#[test]
fn a_message_stays_in_its_slot_when_interrupts_are_turned_on_before_core_has_read_it() {
    message_stays_in_its_slot(false, |rdma| rdma.set_interrupts(true));
}

/// With or without interrupts, core does something before it reads what a poll has found.
fn message_stays_in_its_slot(interrupts: bool, before: impl FnOnce(&mut Rdma)) {
    let mut memory = vec![0; 64];
    let Some(mut job) = Job::open(2, ONE) else { return };
    assert!((0..20).all(|_| job.send(1, 0)));
    let is_ready = |job: &mut Job| {
        let peer = job.tasks[1].peers.get(0);
        peer.is_some_and(|p| has_slots_there(p) && !p.is_unconfirmed())
    };
    job.until("slots", Job::step, is_ready);
    let range = RawSlice { ptr: memory.as_mut_ptr(), len: memory.len() };
    // SAFETY: the memory stays until the job has ended.
    let region = unsafe { job.tasks[0].mem_register(range) }.expect("memory is registered");
    let remote = RemoteAddr { addr: region.addr, key: region.key };
    job.tasks[0].set_interrupts(interrupts);
    assert!(job.tasks[1].am_short(0, &[1; 8], &[]) == Status::Done);
    let (mut puts, mut is_over) = (0, false);
    let act = move |other: &mut Rdma| {
        // Credit passes some of libfabric's queues.
        for _ in 0..20 {
            other.poll(&mut [Event::EMPTY; 64]);
        }
        // SAFETY: the memory is registered, and nobody else uses it.
        while puts < COUNT - 1 && unsafe { other.put_short(0, &[3; 8], remote) } == Status::Done {
            puts += 1;
        }
        // The next one has the place of the first.
        let few = other.peers.get(0).is_some_and(|p| p.slots_for_few().is_some());
        if puts == COUNT - 1 && few && !is_over {
            is_over = other.am_short(0, &[2; 8], &[]) == Status::Done;
        }
    };
    let found = job.poll_amid(act, before);
    assert_eq!(found.as_deref(), Some(&[1; 8][..]), "what the poll has found");
    drop((job, memory));
}

/// Lends memory of task 0, which stays until the job ends.
fn lend(job: &mut Job, memory: &mut [u8], access: PeerAccess) -> RegionInfo {
    let range = RawSlice { ptr: memory.as_mut_ptr(), len: memory.len() };
    // SAFETY: the caller keeps the memory.
    unsafe { job.tasks[0].mem_lend(range, access) }.expect("memory is registered")
}

#[test]
fn peers_reach_lent_memory_in_the_way_that_it_is_lent_for() {
    // A source that is lent, a destination, and what task 1 has.
    let (mut source, mut destination, mut there) = (vec![1; 100_000], vec![2; 100_000], vec![3; 100_000]);
    let Some(mut job) = Job::open(2, ONE) else { return };
    let read = lend(&mut job, &mut source, PeerAccess::Read);
    let write = lend(&mut job, &mut destination, PeerAccess::Write);
    let far = |region: &RegionInfo| RemoteAddr { addr: region.addr, key: region.key };
    let done = Status::Done as i32;
    assert_eq!(job.transfer((1, 0), Direction::Put, &mut there, far(&write)), done);
    assert_eq!(job.transfer((1, 0), Direction::Get, &mut there, far(&read)), done);
    assert_eq!(there, vec![1; 100_000], "the source was fetched");
    there.fill(4);
    assert_ne!(job.transfer((1, 0), Direction::Put, &mut there, far(&read)), done, "a source is not written");
    drop(job);
    assert_eq!((source, destination), (vec![1; 100_000], vec![3; 100_000]));
}

#[test]
fn what_finds_no_room_is_not_packed() {
    let Some(mut job) = Job::open(2, TWO) else { return };
    (0..2).for_each(|rail| job.refuse((0, rail), 1, Some(BUSY)));
    let mut packed = 0;
    let mut send = |packed: &mut u32| job.tasks[0].am_packed(1, 8, &mut |_| *packed += 1);
    assert_eq!((send(&mut packed), packed), (Status::Done, 1), "it waits in a buffer");
    assert_eq!((send(&mut packed), packed), (Status::Again, 1), "the next one waits for it");
}

/// The provider could end the process where it closes a connection that brings an answer.
#[test]
fn a_context_ends_amid_a_get() {
    let (mut source, mut here) = (vec![1; 64 << 20], vec![0; 64 << 20]);
    let Some(mut job) = Job::open(2, ONE) else { return };
    let region = lend(&mut job, &mut source, PeerAccess::Read);
    let remote = RemoteAddr { addr: region.addr, key: region.key };
    let (into, last) = (RawSlice { ptr: here.as_mut_ptr(), len: here.len() }, here.len() - 1);
    // SAFETY: both sides stay until the tasks have ended.
    assert!(unsafe { job.begin((1, 0), Direction::Get, into, remote) } == Status::InProgress);
    // SAFETY: bytes of the vector, which is written behind the compiler's back.
    let byte = |at: usize| unsafe { into.ptr.add(at).read_volatile() };
    job.until("the first bytes", Job::step, |_| byte(0) == 1);
    assert_eq!(byte(last), 0, "the rest is not there");
    drop(job.tasks.pop());
    drop((job, source, here));
}

/// What was under way to it fails when libfabric finds its connections closed, which may be later.
#[test]
fn what_fails_with_a_process_that_was_replaced_costs_its_successor_nothing() {
    for addresses in [ONE, TWO] {
        let (mut source, mut there) = (vec![1; 64 << 20], vec![0; 64 << 20]);
        let Some(mut job) = Job::open(2, addresses) else { return };
        let range = RawSlice { ptr: there.as_mut_ptr(), len: there.len() };
        // SAFETY: the memory stays until the job has ended.
        let region = unsafe { job.tasks[1].mem_register(range) }.expect("memory is registered");
        let remote = RemoteAddr { addr: region.addr, key: region.key };
        let local = RawSlice { ptr: source.as_mut_ptr(), len: source.len() };
        // SAFETY: both sides stay until the tasks have ended.
        assert!(unsafe { job.begin((0, 1), Direction::Put, local, remote) } == Status::InProgress);
        // Behind it, in the same connection.
        assert!((0..8).all(|_| job.tasks[0].am_short(1, &[7; 4000], &[]) == Status::Done));
        job.replace(1, addresses);
        let all = |job: &mut Job| !job.ended[0].is_empty() && job.got[1][0] > 0 && job.got[0][1] > 0;
        let (mut there_and, mut back) = (false, false);
        let talk = |job: &mut Job| {
            there_and = there_and || job.send(0, 1);
            back = back || job.send(1, 0);
            job.step();
        };
        job.until("the end of the put, and messages both ways", talk, all);
        assert_ne!(job.ended[0], [(7, Status::Done as i32)]);
        job.until("the end of the messages", Job::step, |job| {
            job.tasks[0].rails.iter().all(|rail| rail.is_idle())
        });
        assert_eq!((&job.lost[0][..], &job.lost[1][..]), (&[][..], &[][..]), "over {addresses}");
        drop((job, source, there));
    }
}

/// A task that says farewell and closes is not to be reported before its farewell is read.
#[test]
fn messages_of_a_lost_peer_go_before_its_loss() {
    let Some(mut job) = Job::open(2, ONE) else { return };
    let mut sent = 0;
    let send = |job: &mut Job| {
        sent += (0..8).filter(|_| job.send(1, 0)).count() as u64;
        job.poll_for(0, &mut [Event::EMPTY; 4]);
    };
    job.until("a look that finds more than core takes", send, |job| !job.tasks[0].rails[0].batch.is_empty());
    job.tasks[0].give_up(1, "a test", false);
    sent += u64::from(job.send(1, 0));
    job.until("the loss", |job| job.poll(0), |job| !job.lost[0].is_empty());
    assert_eq!(job.got[0][1], sent);
}

#[test]
fn short_messages_need_no_buffer() {
    let Some(mut job) = Job::open(2, TWO) else { return };
    job.tasks[0].rails.iter_mut().for_each(|rail| rail.sender.exhaust());
    let mut packed = 0;
    let packs = job.tasks[0].am_packed(1, 8, &mut |_| packed += 1);
    assert_eq!((packs, packed), (Status::Again, 0), "which may have to wait in one");
    assert!(job.send(0, 1));
    job.until("the message", Job::step, |job| job.got[1][0] == 1);
}

/// What is taken and never ends keeps its buffer.
#[test]
fn peers_that_take_nothing_leave_buffers_to_others() {
    let Some(mut job) = Job::open(4, ONE) else { return };
    let send = |job: &mut Job, peer| job.tasks[0].am_short(peer, &[7; 1000], &[]) == Status::Done;
    for peer in [1, 2] {
        job.refuse((0, 0), peer, Some(LOST));
        let sent = (0..).take_while(|_| send(&mut job, peer)).count();
        assert!(sent >= 64, "{sent} messages for task {peer}");
    }
    assert!(send(&mut job, 3), "messages for others have all buffers");
    job.until("the message", Job::step, |job| job.got[3][0] == 1);
}

/// A child of the program keeps its copy.
#[test]
fn a_closed_rail_ends_no_sleep_whoever_has_its_descriptor() {
    let Some(mut job) = Job::open(2, TWO) else { return };
    assert!(job.tasks[0].listen());
    let watched = job.tasks[0].bell.watched();
    let fd = job.tasks[0].rails[0].endpoint.queue().fd().expect("a descriptor");
    // SAFETY: the descriptor is open.
    let copy = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().expect("a copy");
    job.tasks[0].renew(0, "a test");
    assert_eq!(job.tasks[0].bell.watched(), watched, "the new one has the place of the old one");
    drop(copy);
}

#[test]
fn a_job_starts_on_the_rails_that_answer() {
    let Some(mut job) = Job::before_connecting(2, TWO) else { return };
    // Messages take the first path of each.
    let rail = |job: &Job, task: usize| job.tasks[task].peers.get(1 - task as u32).map(|p| p.way().0);
    let ends = [0, 1].map(|task| ((task, rail(&job, task).expect("a path")), 1 - task as u32));
    ends.iter().for_each(|(from, to)| job.refuse(*from, *to, Some(BUSY)));
    job.connect();
    // Whoever finds it first tells the other one, which may say nothing then.
    let said_first = said();
    assert!((1..=2).contains(&said_first.len()), "each task says it once at most: {said_first:?}");
    assert!(job.send(0, 1) && job.send(1, 0));
    job.until("messages over the other rail", Job::step, |job| job.got[0][1] + job.got[1][0] == 2);
    assert!(!job.all_up());
    ends.iter().for_each(|(from, to)| job.refuse(*from, *to, None));
    job.until("the rail that answers now", Job::step, Job::all_up);
    assert_eq!(said(), [""; 0], "nothing of that is news");
}

/// An endpoint to which they are bound could not be closed otherwise.
#[test]
fn registrations_of_message_buffers_go_with_their_endpoint() {
    let Some(rdma) = task(0, 1, ONE) else { return };
    for holds in [false, true] {
        let (library, info) = rdma.rails[0].endpoint.registering();
        let mut rail = Rail::open(library, info, (1, 0), false).expect("it opens once more");
        assert!(rail.sender.is_registered() && rail.receiver.is_registered());
        if holds {
            rail.endpoint.hold_registrations();
        }
        rail.close(libc::EIO, drop);
        let left = [rail.sender.is_registered(), rail.receiver.is_registered()];
        assert_eq!(left, [!holds; 2], "bound to the endpoint: {holds}");
    }
}
