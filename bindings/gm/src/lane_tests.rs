//! Long messages between two ports of this process: by parts in a lane while both call, and without
//! the sender's help where it does not.

use crate::events::Pending;
use crate::port::Port;
use crate::rubbish_tests::daemon;
use crate::settings::Settings;
use crate::stream::{Op, Teller};
use crate::wish::Wish;

const SIZE: u32 = 21;
const LEN: usize = (1 << SIZE) - 8;

struct Pair {
    from: Port,
    to: Port,
    message: Vec<u8>,
    buffer: Vec<u8>,
}

impl Pair {
    /// Sends the message.
    fn send(&mut self) {
        self.buffer.fill(0);
        let at = self.buffer.as_mut_ptr().expose_provenance() as u64;
        self.to.provide(at, SIZE, 0, 0);
        let (node, port) = (self.to.node, self.to.number);
        let local = self.message.as_ptr().expose_provenance() as u64;
        let op = Op::Message { size: SIZE as u8 };
        self.from.send(Wish { op, local, len: LEN as u64, priority: 0, node, port, teller: Teller::Event });
    }

    /// Polls until the message is there; the sender no more once `is_enough`.
    fn receive(&mut self, is_enough: impl Fn(&Port) -> bool) {
        let mut enough = false;
        loop {
            enough |= is_enough(&self.to);
            if !enough {
                self.from.poll();
            }
            self.to.poll();
            let got = |event: &Pending| matches!(event, Pending::Received(m) if m.len as usize == LEN);
            if self.to.events.iter().any(got) {
                break;
            }
        }
        assert!(self.buffer[..LEN] == self.message[..LEN], "the bytes are those that were sent");
        self.to.events.clear();
        self.to.buffers.provided -= 1;
        while self.from.tokens_out > 0 {
            self.from.poll();
            self.to.poll();
        }
    }

    fn peer(&self) -> &crate::stream::Peer {
        let is_from =
            |peer: &&crate::stream::Peer| (peer.node, peer.port) == (self.from.node, self.from.number);
        self.to.peers.iter().find(is_from).expect("it has sent something")
    }
}

#[test]
fn a_long_message_comes_by_a_lane_or_without_the_help_of_a_sender_that_does_not_call() {
    let (daemon, _handle) = daemon("lanes");
    let open = |number| {
        let settings = Settings { daemon: daemon.clone(), node: "left".to_owned(), ..Settings::of_process() };
        Port::open(settings, 0, number, "lanes").expect("free")
    };
    let message = (0..LEN).map(|at| (at * 13 + at / 4096) as u8).collect();
    let mut pair = Pair { from: open(2), to: open(4), message, buffer: vec![0; LEN + 8] };
    for _ in 0..3 {
        pair.send();
        pair.receive(|_| false);
    }
    // Whoever calls in time brings the bytes itself, unless this machine is very busy.
    let asked = pair.peer().busy == 0;
    // The sender has announced the message, and calls no more when the receiver has heard of it.
    let begun = |to: &Port| to.peers.iter().any(|peer| peer.ins[0].current.is_some());
    pair.send();
    pair.receive(begun);
    assert!(pair.peer().busy > 0, "it was copied without the sender");
    let before = pair.peer().busy;
    pair.send();
    pair.receive(begun);
    assert_eq!(pair.peer().busy, before - 1, "the next one is copied at once");
    eprintln!("parts came by the lane: {asked}");
}
