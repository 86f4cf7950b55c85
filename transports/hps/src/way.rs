//! A way to a peer: from a window of ours to one of its.

use crate::rail::SUFFIX;
use lapis_adapters::eth::burst::Burst;
use lapis_adapters::eth::frame::Template;
use lapis_adapters::eth::port::Port;
use lapis_adapters::soft::Sender;
use lapis_core::transport::copy::copy_long;
use lapis_core::transport::{Interrupted, RawSlice};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::net::IpAddr;

/// So many times in a row a full window is waited for while its owner takes nothing out.
const PATIENCE: u32 = 64;

/// From so many datagrams on they leave together. The last one may be short.
const TOGETHER: usize = 4;

/// After so many batches the kernel is asked again, when it has refused: an address or a route may
/// be back.
const RETRY: u32 = 1024;

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It is on its way, or lost as datagrams may be.
    Yes,
    /// There is no room: later.
    Again,
}

/// How datagrams get to the peer's window.
pub(crate) enum Link {
    /// Through memory: on this host, at the same adapter, or at a soft one.
    Memory(Sender),
    /// As frames of the rail's socket.
    Wire(Wire),
}

/// The way to a window at an Ethernet.
pub(crate) struct Wire {
    pub(crate) template: Template,
    /// The next hop has answered, and the template names it.
    pub(crate) found: bool,
    /// Where the peer's window is.
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    /// The longest datagram that it takes.
    pub(crate) theirs: usize,
    /// The longest one at present.
    pub(crate) room: usize,
    /// How many datagrams leave together.
    pub(crate) together: Together,
}

/// A way for many datagrams at once.
pub(crate) enum Together {
    /// The peer takes none.
    Never,
    /// It is opened after so many batches.
    Later(u32),
    Open(Burst),
}

/// See the module.
pub(crate) struct Way {
    /// Which of this task's windows goes with it.
    pub(crate) rail: usize,
    /// The peer's adapter, in this host's availability matrix, if it is there.
    pub(crate) index: Option<usize>,
    /// Both adapters are up.
    pub(crate) up: bool,
    pub(crate) link: Link,
    /// Datagrams that went this way.
    pub(crate) sent: u64,
    /// The context that stands behind each datagram, where contexts share windows.
    suffix: Option<u32>,
    /// The batch of which only the first datagrams have gone.
    interrupted: Interrupted,
    /// The owner's progress when the window was full, and how often it has been since.
    tail: u64,
    full: u32,
}

impl Way {
    pub(crate) fn new(rail: usize, index: Option<usize>, link: Link, suffix: Option<u32>) -> Self {
        Self {
            rail,
            index,
            up: true,
            link,
            suffix,
            sent: 0,
            interrupted: Interrupted::NONE,
            tail: 0,
            full: 0,
        }
    }

    /// Whether it is known where its datagrams go.
    pub(crate) fn is_found(&self) -> bool {
        match &self.link {
            Link::Memory(_) => true,
            Link::Wire(wire) => wire.found,
        }
    }

    /// The longest datagram.
    pub(crate) fn room(&self) -> usize {
        let room = match &self.link {
            Link::Memory(sender) => sender.longest(),
            Link::Wire(wire) => wire.room,
        };
        room.saturating_sub(self.suffix.map_or(0, |_| SUFFIX))
    }

    /// Sends one datagram. False: there is no room.
    #[inline]
    fn put(&mut self, port: Option<&mut Port>, len: usize, write: impl FnOnce(*mut u8)) -> bool {
        let Some(context) = self.suffix else { return self.put_plain(port, len, write) };
        self.put_plain(port, len + SUFFIX, |to| {
            write(to);
            // SAFETY: the place has room for the suffix behind the data.
            unsafe { to.add(len).cast::<[u8; SUFFIX]>().write(context.to_le_bytes()) }
        })
    }

    #[inline]
    fn put_plain(&mut self, port: Option<&mut Port>, len: usize, write: impl FnOnce(*mut u8)) -> bool {
        let gone = match &mut self.link {
            Link::Memory(sender) => sender.send(len, write),
            // One that is too long for the network now would be lost there.
            Link::Wire(wire) if len > wire.room => true,
            Link::Wire(wire) => port.is_some_and(|port| port.send(&wire.template, len, write)),
        };
        self.sent += u64::from(gone);
        gone
    }

    /// Sends the bytes of `slices` as datagrams of `segment` bytes; the last may be shorter. `port`
    /// is the rail's.
    ///
    /// # Safety
    /// The slices are readable.
    #[inline]
    pub(crate) unsafe fn send(
        &mut self,
        mut port: Option<&mut Port>,
        slices: &[RawSlice],
        segment: usize,
    ) -> Sent {
        if !self.up {
            // An adapter that is down carries nothing.
            return Sent::Yes;
        }
        if let [whole] = slices
            && whole.len <= segment
        {
            // SAFETY: the slice is readable, and the place has room for it.
            let write = |to: *mut u8| unsafe { copy_long(whole.ptr, to, whole.len) };
            let gone = self.put(port.as_deref_mut(), whole.len, write);
            return if gone { Sent::Yes } else { self.no_room(port.as_deref()) };
        }
        let total: usize = slices.iter().map(|slice| slice.len).sum();
        let mut cursor = Cursor { slices, at: 0 };
        // SAFETY: the slices are readable.
        let mut done = unsafe { self.interrupted.resume(slices) };
        cursor.skip(done * segment);
        if total > (TOGETHER - 1) * segment
            && let Some(port) = port.as_deref_mut()
        {
            // SAFETY: the slices are readable.
            done += unsafe { self.send_together(port, &mut cursor, total - done * segment, segment) };
        }
        while done * segment < total {
            let len = segment.min(total - done * segment);
            let mut is_written = false;
            let gone = self.put(port.as_deref_mut(), len, |to| {
                is_written = true;
                // SAFETY: the slices are readable, have so many bytes left, and the place has room.
                unsafe { cursor.copy(to, len) };
            });
            if !gone && self.no_room(port.as_deref()) == Sent::Again {
                // SAFETY: the slices are readable.
                unsafe { self.interrupted.keep(slices, done) };
                return Sent::Again;
            }
            if !is_written {
                // It is lost, and the next one has bytes of its own.
                cursor.skip(len);
            }
            done += 1;
        }
        Sent::Yes
    }

    /// Sends as many of the next `total` bytes as the kernel takes together, and answers how many
    /// datagrams these were.
    ///
    /// # Safety
    /// The slices are readable, and have so many bytes left.
    unsafe fn send_together(
        &mut self,
        port: &mut Port,
        cursor: &mut Cursor<'_>,
        total: usize,
        segment: usize,
    ) -> usize {
        let Link::Wire(wire) = &mut self.link else { return 0 };
        let context = self.suffix.map(u32::to_le_bytes);
        let suffix: &[u8] = context.as_ref().map_or(&[], |context| context);
        let each = segment + suffix.len();
        if each > wire.room {
            return 0;
        }
        let Some(burst) = wire.burst(port) else { return 0 };
        let (mut done, mut sent) = (0, 0);
        while total > sent {
            let here = (total - sent).min(Burst::most(each) * segment);
            if here <= (TOGETHER - 1) * segment {
                break;
            }
            let mut ahead = Cursor { ..*cursor };
            burst.begin(each);
            let mut left = here;
            while left > 0 {
                let len = left.min(segment);
                burst.start();
                ahead.each(len, |bytes, len| burst.add(bytes, len));
                burst.add(suffix.as_ptr(), suffix.len());
                left -= len;
            }
            // SAFETY: what was added lies in the slices and in the suffix.
            match unsafe { port.send_burst(burst) } {
                Ok(()) => {}
                Err(e) if is_passing(&e) => break,
                Err(_) => {
                    wire.together = Together::Later(RETRY);
                    break;
                }
            }
            *cursor = ahead;
            (sent, done) = (sent + here, done + here.div_ceil(segment));
        }
        self.sent += done as u64;
        done
    }

    /// A full window is waited for while its owner empties it. One that nobody empties loses what
    /// comes, so that its peer keeps nobody else waiting.
    #[cold]
    fn no_room(&mut self, port: Option<&Port>) -> Sent {
        let tail = match &self.link {
            Link::Memory(sender) => sender.fifo().tail(),
            Link::Wire(_) => port.map_or(0, |port| u64::from(port.progress())),
        };
        if std::mem::replace(&mut self.tail, tail) != tail {
            self.full = 0;
        }
        self.full += 1;
        if self.full <= PATIENCE {
            return Sent::Again;
        }
        if let Link::Memory(sender) = &self.link {
            sender.fifo().count_refused();
        }
        Sent::Yes
    }
}

impl Wire {
    /// The way for many datagrams at once, if there is one.
    fn burst(&mut self, port: &Port) -> Option<&mut Burst> {
        if let Together::Later(batches) = &mut self.together {
            if *batches > 0 {
                *batches -= 1;
                return None;
            }
            let burst = port.burst(self.address, self.port);
            self.together = burst.map_or(Together::Later(RETRY), Together::Open);
        }
        if let Together::Open(burst) = &mut self.together { Some(burst) } else { None }
    }
}

/// Whether the same may go well with the next batch: the kernel lacks room, or the peer's host has
/// said that it knows of no such port, as when its daemon has ended.
fn is_passing(e: &io::Error) -> bool {
    let kinds = [ErrorKind::WouldBlock, ErrorKind::Interrupted, ErrorKind::ConnectionRefused];
    kinds.contains(&e.kind()) || e.raw_os_error() == Some(Errno::NOBUFS.raw_os_error())
}

/// A place in a list of slices.
struct Cursor<'a> {
    slices: &'a [RawSlice],
    /// Bytes of the first slice that are behind it.
    at: usize,
}

impl Cursor<'_> {
    fn skip(&mut self, len: usize) {
        self.each(len, |_, _| ());
    }

    /// Passes the next `len` bytes on, piece by piece.
    fn each(&mut self, mut len: usize, mut piece: impl FnMut(*const u8, usize)) {
        while let [first, rest @ ..] = self.slices
            && len > 0
        {
            let n = len.min(first.len - self.at);
            piece(first.ptr.wrapping_add(self.at), n);
            (self.at, len) = (self.at + n, len - n);
            if self.at == first.len {
                (self.slices, self.at) = (rest, 0);
            }
        }
    }

    /// Copies the next `len` bytes.
    ///
    /// # Safety
    /// The slices are readable, and so many bytes can be written.
    #[inline]
    unsafe fn copy(&mut self, mut to: *mut u8, mut len: usize) {
        while let [first, rest @ ..] = self.slices
            && len > 0
        {
            let n = len.min(first.len - self.at);
            // SAFETY: within the slice and within what the caller promises.
            unsafe {
                copy_long(first.ptr.add(self.at), to, n);
                to = to.add(n);
            }
            (self.at, len) = (self.at + n, len - n);
            if self.at == first.len {
                (self.slices, self.at) = (rest, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
