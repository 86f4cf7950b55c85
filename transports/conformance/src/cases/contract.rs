//! Consistency of table and instance, and peers that don't exist.

use crate::rank::{Rank, raw};
use crate::system_calls::Watch;
use lapis_core::transport::{Caps, Event, Link, RawSlice, RemoteAddr, Status};

pub(crate) fn attributes_agree_with_the_table(r: &mut Rank) {
    let (caps, limits) = (r.link().caps(), *r.link().limits());
    let table = r.plugin().caps();
    assert!(table.contains(caps), "the instance has {:?} beyond its table", caps.difference(table));
    assert!(
        caps.contains(Caps::RELIABLE) != caps.contains(Caps::DATAGRAM),
        "a transport is either reliable or a datagram transport"
    );
    if caps.contains(Caps::AM_SHORT) {
        assert!(limits.max_short >= 8, "max_short is {}", limits.max_short);
    }
    if caps.intersects(Caps::AM_PACKED | Caps::DATAGRAM) {
        assert!(limits.max_packed >= 64, "max_packed is {}", limits.max_packed);
    }
    if caps.intersects(Caps::PUT_ZCOPY | Caps::GET_ZCOPY) {
        assert!(limits.max_zcopy >= u64::from(limits.max_short), "max_zcopy is {}", limits.max_zcopy);
    }
    if caps.contains(Caps::DATAGRAM) {
        assert!(limits.paths >= 1, "a datagram transport has at least one path");
    }
    assert!(limits.max_peers as usize >= r.peers().len(), "max_peers is {}", limits.max_peers);
    assert!(!r.plugin().version().is_empty(), "the version is empty");
    let (once, again) = (r.link_mut().address(), r.link_mut().address());
    assert_eq!(once, again, "the address changed");
}

/// What an operation that names `peer` answers; with the bit of each.
fn answers(link: &mut Link, peer: u32) -> Vec<(Caps, &'static str, Status)> {
    let mut word = 0u64;
    let mut previous = 0u64;
    let here = RemoteAddr { addr: &raw mut word as u64, key: 0 };
    let into = RawSlice { ptr: (&raw mut previous).cast(), len: 8 };
    let data = [0u8; 8];
    // SAFETY: all memory named is local and outlives the calls, which are refused or finish at
    // once, for the peer is not connected or the operation not wired.
    unsafe {
        vec![
            (Caps::AM_SHORT, "am_short", link.am_short(peer, &data, &[])),
            (Caps::AM_PACKED, "am_packed", link.am_packed(peer, 8, |_| ())),
            (Caps::PUT_SHORT, "put_short", link.put_short(peer, &data, here)),
            (Caps::PUT_ZCOPY, "put_zcopy", link.put_zcopy(peer, raw(&data), here, 1)),
            (Caps::GET_ZCOPY, "get_zcopy", link.get_zcopy(peer, into, here, 1)),
        ]
    }
}

pub(crate) fn operations_without_their_bit_are_unsupported(r: &mut Rank) {
    let caps = r.link().caps();
    // To a peer that isn't there, so that nothing happens where the bit is set.
    let nobody = r.tasks + 7;
    for (bit, name, status) in answers(r.link_mut(), nobody) {
        assert_eq!(
            status == Status::Unsupported,
            !caps.contains(bit),
            "{name} answered {status:?}, its bit is {}",
            caps.contains(bit)
        );
    }
    if !caps.contains(Caps::WAIT) {
        assert_eq!(r.link_mut().arm(), Status::Unsupported);
        assert_eq!(r.link().wait_fd(), -1);
    }
}

pub(crate) fn an_unknown_peer_is_invalid(r: &mut Rank) {
    let caps = r.link().caps();
    for peer in [r.tasks, r.tasks + 1, 1 << 20, u32::MAX] {
        for (bit, name, status) in answers(r.link_mut(), peer) {
            if caps.contains(bit) {
                assert_eq!(status, Status::Invalid, "{name} to task {peer} of {}", r.tasks);
            }
        }
        assert!(r.link_mut().window(peer).is_none(), "a window of task {peer} of {}", r.tasks);
        // Forgetting whom one doesn't know is no mistake.
        r.link_mut().disconnect(peer);
    }
}

pub(crate) fn a_nonsense_address_is_refused(r: &mut Rank) {
    let mut link = r.open_link(1000).unwrap_or_else(|e| panic!("{e}"));
    let peer = r.next();
    for address in [&[][..], &[0xff], &[0xa5; 7], &[0xff; 512]] {
        match link.connect(peer, address) {
            Ok(()) => panic!("an address of {} bytes of nonsense was accepted", address.len()),
            Err(e) => assert!(!e.to_string().is_empty(), "the refusal says nothing"),
        }
    }
    // And the instance is whole: polling and closing work.
    let mut events = [Event::EMPTY; 4];
    assert_eq!(link.poll(&mut events), Ok(0));
}

pub(crate) fn a_disconnected_peer_is_invalid(r: &mut Rank) {
    let caps = r.link().caps();
    let peer = r.next();
    r.sync("before disconnecting");
    r.link_mut().disconnect(peer);
    for (bit, name, status) in answers(r.link_mut(), peer) {
        if caps.contains(bit) {
            assert_eq!(status, Status::Invalid, "{name} after disconnecting");
        }
    }
    // Twice is once.
    r.link_mut().disconnect(peer);
    r.sync("after disconnecting");
    assert!(r.inbox.is_empty(), "something arrived: {:?}", r.inbox);
}

pub(crate) fn polls_that_find_nothing_ask_the_system_nothing(r: &mut Rank) {
    const POLLS: usize = 5000;
    let Some(mut watch) = Watch::begin() else {
        println!("SKIP this system can't watch a thread's system calls");
        return;
    };
    // SAFETY: a call without arguments.
    assert!(watch.calls(|| unsafe { libc::syscall(libc::SYS_getppid) }).0, "the watch sees nothing");
    r.sync_idle("before polling");
    // What the others' last words bring, and what a transport puts off until it is idle.
    (0..100).for_each(|_| _ = r.poll());
    let mut events = [Event::EMPTY; 16];
    let mut calling = 0;
    for _ in 0..POLLS {
        let (called, found) = watch.calls(|| r.link_mut().poll(&mut events));
        assert_eq!(found, Ok(0), "nobody has sent anything");
        calling += usize::from(called);
    }
    assert!(calling <= POLLS / 1000, "{calling} of {POLLS} polls called the system");
    drop(watch);
    r.sync_idle("after polling");
}
