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
    /// Datagrams that were dropped here, because they are too long for the network by now.
    pub(crate) too_long: u64,
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
            too_long: 0,
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

    /// Sends one datagram, or drops one that can't pass. False: there is no room.
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
            Link::Wire(wire) if len > wire.room => {
                // It was made before the network became narrower, and would be lost there. The
                // engine was told of the new length when it became known here, gave up all that is
                // longer, and sends its contents again.
                self.too_long += 1;
                return true;
            }
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
mod tests;
