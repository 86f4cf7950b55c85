//! The end of a port whose program provides no buffers, as GM 1 has it.
//!
//! A message that waits too long for a buffer fails at its sender. GM 2 leaves it at that, and the
//! sender may resume. GM 1 also closes the port that had no buffer. So the version of the API that
//! a program was written for decides.

use crate::abi::Status;
use crate::port::{Ending, Port};

impl Port {
    /// The port's program was written for GM 1.
    pub(crate) fn ends_without_buffers(&mut self) {
        self.ending = Ending::WithoutBuffers;
    }

    /// A message has waited too long for a buffer.
    pub(crate) fn lacks_buffers(&mut self) {
        if self.ending == Ending::WithoutBuffers {
            self.ending = Ending::Due;
        }
    }

    /// Closes the port, and fails what is still to be sent. What has been received stays to be
    /// read, and the program still closes its handle.
    #[cold]
    pub(crate) fn end(&mut self) {
        self.ending = Ending::Over;
        tracing::error!(
            target: "lapis::gm",
            "port {} of board {} is closed: its program provided no buffer for a message within {:?}, and was written for GM 1, \
             which has that end the port; gm_close it, and gm_open it anew",
            self.number, self.board, self.settings.timeout
        );
        // Senders hear of the message that waited first. What the program has not been told of
        // stays, and what lanes bring is read however much that is: it says which sends have ended.
        self.linger(Self::empty_lanes);
        self.registration.close();
        self.waiting.clear();
        for peer in 0..self.peers.len() {
            self.part_from(peer);
            self.fail_all(peer, Status::SendPortClosed);
        }
    }

    /// Whether the port is closed, though its program has its handle still.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.ending == Ending::Over
    }
}

#[cfg(test)]
mod tests {
    use crate::abi::Status;
    use crate::events::Pending;
    use crate::port::Port;
    use crate::rubbish_tests::daemon;
    use crate::settings::Settings;
    use crate::stream::{Op, Teller};
    use crate::wish::Wish;
    use lapis_testing::Patience;
    use std::ptr::null_mut;
    use std::time::Duration;

    const SIZE: u32 = 10;
    /// More than a port reads from lanes while its program takes none.
    const MANY: usize = 20;

    fn send(from: &mut Port, to: &Port, message: &[u8; 8]) {
        let local = message.as_ptr().expose_provenance() as u64;
        let teller = Teller::Call { callback: None, context: null_mut() };
        let (op, node, port) = (Op::Message { size: SIZE as u8 }, to.node, to.number);
        from.send(Wish { op, local, len: 8, priority: 0, node, port, teller });
    }

    /// Messages and ends of sends that the program is told of.
    type Told = (usize, Vec<Status>);

    fn take_events(port: &mut Port, told: &mut Told) {
        while let Some(event) = port.next_event() {
            match event {
                Pending::Received(_) => told.0 += 1,
                Pending::Callbacks => told.1.extend(port.due.drain(..).map(|due| due.status)),
                _ => {}
            }
        }
    }

    fn untold(port: &mut Port) -> Told {
        let mut told = Told::default();
        take_events(port, &mut told);
        told
    }

    #[test]
    fn what_comes_while_the_port_ends_stays_to_be_read() {
        let (address, _daemon) = daemon("lingers");
        let mut ports = [2, 4].map(|number| {
            let daemon = address.clone();
            let settings = Settings { daemon, node: "left".to_owned(), ..Settings::of_process() };
            Port::open(settings, 0, number, "ending").expect("free")
        });
        let (message, mut buffers) = ([7; 8], vec![[0u8; 1 << SIZE]; 2 * MANY]);
        for (at, buffer) in buffers.iter_mut().enumerate() {
            ports[at % 2].provide(buffer.as_mut_ptr().expose_provenance() as u64, SIZE, 0, 0);
        }
        // Once there and back: then they know each other.
        let [old, other] = &mut ports;
        old.ends_without_buffers();
        send(old, other, &message);
        send(other, old, &message);
        let mut patience = Patience::with_myself(Duration::from_secs(20));
        let mut told = [Told::default(), Told::default()];
        while told != [(1, vec![Status::Success]), (1, vec![Status::Success])] {
            assert!(!patience.is_over(), "{told:?}");
            for (port, told) in ports.iter_mut().zip(&mut told) {
                port.poll();
                take_events(port, told);
            }
        }
        let [old, other] = &mut ports;
        // All of this is on its way to the port when it ends.
        send(old, other, &message);
        for _ in 1..MANY {
            send(other, old, &message);
        }
        let mut patience = Patience::with_myself(Duration::from_secs(20));
        while other.counters.received == 1 || other.peers.iter().any(crate::stream::Peer::has_work) {
            assert!(!patience.is_over(), "the message does not come");
            other.poll();
            other.events.clear();
        }
        old.lacks_buffers();
        while !old.is_over() {
            old.poll();
        }
        assert_eq!(untold(old), (MANY - 1, vec![Status::Success]));
        // Nor is the next end kept from the program.
        send(old, other, &message);
        assert_eq!(untold(old), (0, vec![Status::SendPortClosed]));
    }
}
