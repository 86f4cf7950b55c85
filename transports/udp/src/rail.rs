//! One interface's socket, and sending over it.

use crate::address::Entry;
use crate::inbox::Inbox;
use crate::offload::Offload;
use crate::options::{BUFFER, Options};
use crate::sys::{Pages, RawAddr, Socket};
use lapis_core::transport::{Host, Interrupted, RawSlice, TransportError};
use std::io;
use std::net::SocketAddr;

// A gather list is handed to the kernel as it is.
const _: () = assert!(size_of::<RawSlice>() == size_of::<libc::iovec>());
const _: () = assert!(std::mem::offset_of!(RawSlice, ptr) == std::mem::offset_of!(libc::iovec, iov_base));
const _: () = assert!(std::mem::offset_of!(RawSlice, len) == std::mem::offset_of!(libc::iovec, iov_len));

/// A shorter datagram is copied in less time than it takes to refer to its pages.
pub(crate) const WORTH_LENDING: usize = 16 << 10;

/// What the kernel said to datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// They are its business now.
    Yes,
    /// Its buffer is full.
    Again,
    /// They are larger than the path carries; they are lost.
    TooLarge,
    /// There is no way to the peer at present; they are lost.
    NoWay,
}

/// A socket on one interface.
pub(crate) struct Rail {
    pub(crate) socket: Socket,
    pub(crate) entry: Entry,
    pub(crate) receive_buffer: u32,
    /// Allocated when the first peer is reached over this rail.
    pub(crate) inbox: Option<Inbox>,
    /// Several datagrams in one call.
    pub(crate) gso: Offload,
    pub(crate) gro: bool,
    /// The one peer that the socket is connected to.
    pub(crate) connected: bool,
    /// The batch of which only the first datagrams have left.
    interrupted: Interrupted,
    vectors: Vec<libc::iovec>,
    /// What datagrams that are not copied go through, made for the first of them.
    pages: Option<Pages>,
    /// They may, unless that was refused.
    lends: bool,
}

// SAFETY: the vectors are scratch; nothing in them is used after the call that filled them.
unsafe impl Send for Rail {}

impl Rail {
    pub(crate) fn open(mut entry: Entry, options: &Options, host: &Host) -> Result<Self, TransportError> {
        let what = entry.to_string();
        let failed = |step: &str, e: io::Error| TransportError::Io(format!("{what}: {step}: {e}"));
        let socket = Socket::bind(entry.socket_addr()).map_err(|e| failed("no UDP socket", e))?;
        entry.port = socket.local().map_err(|e| failed("reading the port", e))?.port();
        socket.forbid_fragments().map_err(|e| failed("forbidding fragments", e))?;
        socket.set_buffers(BUFFER, BUFFER);
        let receive_buffer =
            socket.receive_buffer().map_err(|e| failed("reading the receive buffer's size", e))?;
        if let Err(e) = socket.report_overflow(true) {
            host.debug(format_args!("{what}: overflows of the receive buffer go uncounted: {e}"));
        }
        let gro = socket.join(true).is_ok();
        let gso = Offload::new(socket.knows_gso());
        if let Some(us) = options.busy_poll
            && let Err(e) = socket.busy_poll(us)
        {
            host.warn(format_args!("{what}: LAPIS_BUSY_POLL_US={us} is refused: {e}"));
        }
        Ok(Self {
            socket,
            entry,
            receive_buffer,
            inbox: None,
            gso,
            gro,
            connected: false,
            interrupted: Interrupted::NONE,
            vectors: Vec::new(),
            pages: None,
            lends: true,
        })
    }

    /// Whether long slices need not be copied: pages go to where a socket is connected to only.
    pub(crate) fn can_lend(&self) -> bool {
        self.connected && self.lends
    }

    /// Nobody is at the one address that the socket is connected to: whoever comes back may come
    /// from elsewhere, so that the kernel must not keep others out.
    #[cold]
    pub(crate) fn release(&mut self) {
        if self.connected {
            // If it can't be undone, the way to the old address is all that there is.
            self.connected = self.socket.disconnect(self.entry.socket_addr()).is_err();
        }
    }

    /// The largest datagram that passes to `to` unfragmented, if the kernel knows a way.
    pub(crate) fn path_room(&self, to: SocketAddr) -> io::Result<usize> {
        let probe;
        let socket = if self.connected {
            &self.socket
        } else {
            let mut local = self.entry.clone();
            local.port = 0;
            probe = Socket::bind(local.socket_addr())?;
            probe.connect(to)?;
            &probe
        };
        let headers = if to.is_ipv6() { 48 } else { 28 };
        Ok(socket.path_mtu()?.saturating_sub(headers))
    }

    /// Sends the bytes of `slices` as datagrams of `segment` bytes (the last may be shorter).
    /// `lent`: long slices need not be copied.
    ///
    /// # Safety
    /// The slices are readable.
    #[inline]
    pub(crate) unsafe fn send(
        &mut self,
        to: &RawAddr,
        slices: &[RawSlice],
        segment: usize,
        lent: bool,
    ) -> Sent {
        let name = (!self.connected).then_some(to);
        if let [whole] = slices
            && whole.len <= segment
        {
            loop {
                // SAFETY: the caller's promise.
                let sent = unsafe { self.socket.send_one(name, whole.ptr, whole.len) };
                let Err(e) = sent else { return Sent::Yes };
                if let Some(verdict) = verdict(&e) {
                    return verdict;
                }
            }
        }
        let total: usize = slices.iter().map(|s| s.len).sum();
        let several = total > segment;
        if lent && !several && self.can_lend() && total >= WORTH_LENDING {
            // SAFETY: the caller's promise.
            if let Some(sent) = unsafe { self.send_by_reference(slices) } {
                return sent;
            }
        }
        // SAFETY: the slices are readable until this returns, by the caller's promise.
        let begun = if several { unsafe { self.interrupted.resume(slices) } } else { 0 };
        // A batch that was begun datagram by datagram goes on so: else some would leave twice.
        if several && (begun > 0 || !self.gso.is_due()) {
            // SAFETY: the caller's promise.
            return unsafe { self.send_apart(to, slices, segment, begun) };
        }
        let gso = if several { segment as u16 } else { 0 };
        loop {
            let name = (!self.connected).then_some(to);
            // SAFETY: the caller's promise; the layouts agree (asserted above).
            let sent = unsafe { self.socket.send(name, slices.as_ptr().cast(), slices.len(), gso) };
            let Err(e) = sent else {
                if several {
                    self.gso.note_taken();
                }
                return Sent::Yes;
            };
            if several && matches!(e.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EOPNOTSUPP)) {
                self.gso.note_refused();
                // SAFETY: the caller's promise.
                return unsafe { self.send_apart(to, slices, segment, 0) };
            }
            if let Some(verdict) = verdict(&e) {
                return verdict;
            }
            if e.raw_os_error() == Some(libc::ECONNREFUSED) {
                self.release();
            }
        }
    }

    /// Sends one datagram whose long slices are not copied. `None`: it has to go the usual way.
    ///
    /// # Safety
    /// The slices are readable.
    unsafe fn send_by_reference(&mut self, slices: &[RawSlice]) -> Option<Sent> {
        let refused = |e: &io::Error| match e.raw_os_error() {
            Some(libc::EAGAIN) => Ok(Some(Sent::Again)),
            // What an earlier datagram met, or the state of the network: the usual way finds out.
            Some(
                libc::ECONNREFUSED | libc::EINTR | libc::EMSGSIZE | libc::ENETUNREACH | libc::EHOSTUNREACH,
            ) => Ok(None),
            _ => Err(()),
        };
        let pages = match &mut self.pages {
            Some(pages) => pages,
            none => match Pages::new() {
                Ok(pages) => none.insert(pages),
                Err(_) => {
                    self.lends = false;
                    return None;
                }
            },
        };
        if !pages.have_room_for(slices) {
            return None;
        }
        // SAFETY: the caller's promise.
        match unsafe { pages.send(&self.socket, slices) } {
            Ok(()) => Some(Sent::Yes),
            Err(e) => {
                // Part of the datagram may be left in it.
                self.pages = None;
                refused(&e).unwrap_or_else(|()| {
                    self.lends = false;
                    None
                })
            }
        }
    }

    /// The same with one datagram at a time, of which so many have been sent already.
    ///
    /// # Safety
    /// As for [`send`](Self::send).
    #[cold]
    unsafe fn send_apart(
        &mut self,
        to: &RawAddr,
        slices: &[RawSlice],
        segment: usize,
        mut left: usize,
    ) -> Sent {
        let mut ends = Vec::new();
        let mut vectors = std::mem::take(&mut self.vectors);
        vectors.clear();
        let mut room = segment;
        for slice in slices {
            let (mut at, mut left) = (slice.ptr, slice.len);
            while left > 0 {
                let n = left.min(room);
                vectors.push(libc::iovec { iov_base: at.cast(), iov_len: n });
                (at, left, room) = (at.wrapping_add(n), left - n, room - n);
                if room == 0 {
                    ends.push(vectors.len());
                    room = segment;
                }
            }
        }
        if ends.last() != Some(&vectors.len()) {
            ends.push(vectors.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let datagrams: Vec<(*const libc::iovec, usize)> =
            starts.zip(&ends).map(|(start, end)| (vectors[start..].as_ptr(), end - start)).collect();
        let to = (!self.connected).then_some(to);
        let mut outcome = Sent::Yes;
        while left < datagrams.len() {
            // SAFETY: the caller's promise; the vectors live here.
            match unsafe { self.socket.send_many(to, &datagrams[left..]) } {
                Ok(n) => left += n,
                Err(e) => match verdict(&e) {
                    None => {}
                    Some(Sent::Again) => {
                        // SAFETY: the caller's promise.
                        unsafe { self.interrupted.keep(slices, left) };
                        outcome = Sent::Again;
                        break;
                    }
                    Some(other) => {
                        outcome = other;
                        left += 1;
                    }
                },
            }
        }
        self.vectors = vectors;
        outcome
    }
}

/// What an error of a send means; `None`: try again, it spoke of something else.
#[cold]
fn verdict(e: &io::Error) -> Option<Sent> {
    match e.raw_os_error() {
        Some(libc::EAGAIN) => Some(Sent::Again),
        // The first is the answer to an earlier datagram; this one was not tried.
        Some(libc::ECONNREFUSED | libc::EINTR) => None,
        Some(libc::EMSGSIZE) => Some(Sent::TooLarge),
        // A packet filter refuses it, or memory is short: one more way to get lost.
        Some(libc::EPERM | libc::ENOBUFS | libc::ENOMEM) => Some(Sent::Yes),
        _ => Some(Sent::NoWay),
    }
}

#[cfg(test)]
mod tests;
