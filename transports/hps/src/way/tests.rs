use super::*;
use lapis_adapters::eth::frame::End;
use lapis_adapters::fifo::{Found, Geometry};
use lapis_adapters::soft::{Parts, Window};

const SMALL: Geometry = Geometry { slots: 16, chunks: 16, chunk: 1024, lanes: 0 };

fn way() -> (Way, Window) {
    way_to(SMALL)
}

fn way_to(geometry: Geometry) -> (Way, Window) {
    let parts = Parts::make("test", geometry).expect("memory");
    let sender =
        Sender::open(parts.try_clone().expect("descriptors"), lapis_copies::Copies::USUAL).expect("maps");
    (Way::new(0, Some(0), Link::Memory(sender), None), Window::open(parts).expect("maps"))
}

fn slices(parts: &mut [Vec<u8>]) -> Vec<RawSlice> {
    parts.iter_mut().map(|part| RawSlice { ptr: part.as_mut_ptr(), len: part.len() }).collect()
}

fn received(window: &mut Window) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut bytes = vec![0; 1024];
    while let Found::Datagram(len) = window.receive(&mut bytes) {
        all.push(bytes[..len].to_vec());
    }
    all
}

#[test]
fn batches_are_cut_wherever_their_slices_end() {
    let (mut way, mut window) = way();
    let bytes: Vec<u8> = (0..5000).map(|i| (i % 251) as u8).collect();
    for cuts in [&[5000][..], &[1, 999, 1000, 3000], &[0, 2500, 0, 2500], &[4999, 1]] {
        let mut rest = &bytes[..];
        let mut parts: Vec<Vec<u8>> = Vec::new();
        for len in cuts {
            let (part, others) = rest.split_at(*len);
            parts.push(part.to_vec());
            rest = others;
        }
        // SAFETY: the slices live in this test.
        assert_eq!(unsafe { way.send(None, &slices(&mut parts), 900) }, Sent::Yes);
        let got = received(&mut window);
        assert!(got[..5].iter().all(|datagram| datagram.len() == 900) && got.len() == 6);
        assert_eq!(got.concat(), bytes);
    }
}

#[test]
fn a_datagram_of_shared_windows_names_its_context_behind_its_data() {
    let (mut way, mut window) = way();
    let whole = way.room();
    way.suffix = Some(0x0102);
    assert_eq!(way.room(), whole - SUFFIX);
    // SAFETY: the slices live in this test.
    assert_eq!(unsafe { way.send(None, &slices(&mut [vec![7; 10], vec![8; 5]]), 10) }, Sent::Yes);
    assert_eq!(
        received(&mut window),
        [[&[7; 10][..], &[2, 1, 0, 0]], [&[8; 5], &[2, 1, 0, 0]]].map(|d| d.concat())
    );
}

#[test]
fn a_full_window_is_waited_for_and_a_batch_goes_on_where_it_stopped() {
    let (mut way, mut window) = way();
    let mut parts = vec![(0..20u8).flat_map(|i| [i; 100]).collect::<Vec<u8>>()];
    // SAFETY: the slices live in this test.
    assert_eq!(unsafe { way.send(None, &slices(&mut parts), 100) }, Sent::Again);
    let mut got = received(&mut window);
    assert_eq!(got.len(), 16);
    // SAFETY: the slices live in this test.
    assert_eq!(unsafe { way.send(None, &slices(&mut parts), 100) }, Sent::Yes);
    got.extend(received(&mut window));
    assert_eq!(got.concat(), parts[0]);
}

#[test]
fn a_batch_whose_predecessor_was_given_up_begins_at_its_beginning() {
    let (mut way, mut window) = way();
    let batch = |from: u8| vec![(from..from + 20).flat_map(|i| [i; 100]).collect::<Vec<u8>>()];
    // SAFETY: the slices live in this test.
    assert_eq!(unsafe { way.send(None, &slices(&mut batch(0)), 100) }, Sent::Again);
    assert_eq!(received(&mut window).len(), 16);
    // SAFETY: the slices live in this test.
    assert_eq!(unsafe { way.send(None, &slices(&mut batch(100)), 100) }, Sent::Again);
    let mut got = received(&mut window);
    // SAFETY: the slices live in this test.
    assert_eq!(unsafe { way.send(None, &slices(&mut batch(100)), 100) }, Sent::Yes);
    got.extend(received(&mut window));
    assert_eq!(got.concat(), batch(100)[0]);
}

#[test]
fn a_window_that_nobody_empties_loses_what_comes() {
    let (mut way, mut window) = way();
    let mut parts = vec![vec![1; 10]];
    let mut answers = Vec::new();
    for _ in 0..16 + PATIENCE + 3 {
        // SAFETY: the slices live in this test.
        answers.push(unsafe { way.send(None, &slices(&mut parts), 1000) });
    }
    let again = answers.iter().filter(|sent| **sent == Sent::Again).count();
    assert_eq!(again as u32, PATIENCE);
    assert_eq!(window.fifo().take_refused(), 3);
    assert_eq!(received(&mut window).len(), 16);
}

#[test]
fn datagrams_behind_one_that_was_given_up_have_their_own_bytes() {
    let geometry = Geometry { slots: 64, chunks: 16, chunk: 1024, lanes: 0 };
    let (mut way, mut window) = way_to(geometry);
    let bytes: Vec<u8> = (0..20u8).flat_map(|i| [i; 600]).chain([99; 100]).collect();
    let mut parts = vec![bytes];
    // SAFETY: the slices live in this test.
    while unsafe { way.send(None, &slices(&mut parts), 600) } == Sent::Again {}
    let got = received(&mut window);
    // Chunks run short; the last one is short enough for a slot.
    assert!(got.len() < 20, "{}", got.len());
    let (last, others) = got.split_last().expect("some");
    assert_eq!(*last, [99; 100]);
    for (n, datagram) in (0..).zip(others) {
        assert_eq!(*datagram, [n; 600]);
    }
}

#[test]
fn an_adapter_that_is_down_carries_nothing() {
    let (mut way, mut window) = way();
    way.up = false;
    // SAFETY: the slices live in this test.
    assert_eq!(unsafe { way.send(None, &slices(&mut [vec![1; 10]]), 1000) }, Sent::Yes);
    assert!(received(&mut window).is_empty());
}

/// A way over an Ethernet that has room for datagrams of so many bytes.
fn wire_of(room: usize) -> Way {
    let end = End { mac: [2; 6], address: [10, 0, 0, 1].into(), port: 28672 };
    let template = Template::new(end, end, [0; 8]);
    let (address, port, together) = (end.address, end.port, Together::Never);
    let wire = Wire { template, found: true, address, port, theirs: 9000, room, together };
    Way::new(0, None, Link::Wire(wire), None)
}

/// They were made before the network became narrower. The engine has given them up when it was told
/// of that.
#[test]
fn datagrams_that_are_too_long_for_the_network_are_dropped_and_counted_apart() {
    let mut way = wire_of(1000);
    // The whole of one, and two of three: the last one finds no socket.
    for (len, sent) in [(1001, Sent::Yes), (2 * 1400 + 100, Sent::Again)] {
        // SAFETY: the slices live in this test.
        assert_eq!(unsafe { way.send(None, &slices(&mut [vec![1; len]]), 1400) }, sent);
    }
    assert_eq!((way.sent, way.too_long), (0, 3));
}
