//! A window and its senders, across mappings of their own.

use super::{Parts, Sender, Window};
use crate::fifo::{Found, Geometry};
use lapis_copies::Copies;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

fn window() -> (Window, Sender) {
    let parts = Parts::make("window", Geometry::default()).expect("memory");
    let sender = Sender::open(parts.try_clone().expect("descriptors"), Copies::USUAL).expect("maps");
    (Window::open(parts).expect("maps"), sender)
}

fn send(sender: &mut Sender, bytes: &[u8]) -> bool {
    // SAFETY: the place has as many bytes as were asked for.
    sender.send(bytes.len(), |to| unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) })
}

#[test]
fn datagrams_of_every_length_arrive_whole() {
    let (mut window, mut sender) = window();
    let mut into = vec![0; sender.longest()];
    for len in (1..600).chain([4096, 16383, 16384]) {
        let bytes: Vec<u8> = (0..len).map(|i| (i * 7 + len) as u8).collect();
        assert!(send(&mut sender, &bytes));
        assert_eq!(window.receive(&mut into[..len - 1]), Found::NoRoom, "it stays");
        assert_eq!(window.receive(&mut into), Found::Datagram(len));
        assert_eq!(into[..len], bytes);
    }
    assert_eq!(window.receive(&mut into), Found::Nothing);
    assert!(!sender.send(16385, |_| panic!("too long")));
}

#[test]
fn the_bell_rings_for_a_sleeper_and_for_nobody_else() {
    let (mut window, mut sender) = window();
    let rung = |window: &Window| {
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(window.bell(), PollFlags::IN)], Some(&none)) == Ok(1)
    };
    assert!(send(&mut sender, b"awake"));
    assert!(!rung(&window));
    assert!(!window.fifo().arm(), "something is there");
    assert_eq!(window.receive(&mut [0; 16]), Found::Datagram(5));
    assert!(window.fifo().arm());
    assert!(send(&mut sender, b"asleep"));
    assert!(rung(&window));
    window.bell().quiet();
    assert!(!rung(&window));
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let parts = Parts::make("window", Geometry::default()).expect("memory");
    for geometry in [
        Geometry { slots: 4096, ..Geometry::default() },
        Geometry { slots: 3, ..Geometry::default() },
        Geometry { chunks: 0, ..Geometry::default() },
    ] {
        let wrong = Parts { geometry, ..parts.try_clone().expect("descriptors") };
        Sender::open(wrong, Copies::USUAL).expect_err("another geometry");
    }
}
