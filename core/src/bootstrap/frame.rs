//! Frames over a non-blocking stream socket: buffers on both sides, tags once a handshake has made
//! keys.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{RecvFlags, SendFlags};

use super::auth::{Channel, TAG_LEN};
use super::protocol::{MAX_FRAME, MAX_GREETING, Message, ProtocolError};

/// A connection that speaks in messages.
pub(crate) struct Framed {
    fd: OwnedFd,
    inbox: Vec<u8>,
    /// Bytes of `inbox` already handed out.
    consumed: usize,
    outbox: Vec<u8>,
    sent: usize,
    /// Tags of frames to send and to receive; absent until the handshake is over.
    seal: Option<(Channel, Channel)>,
}

/// Why a connection gave no message.
#[derive(Debug)]
pub(crate) enum FrameError {
    Io(io::Error),
    Protocol(ProtocolError),
}

impl From<ProtocolError> for FrameError {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}

impl Framed {
    pub(crate) fn new(fd: OwnedFd) -> Self {
        Self { fd, inbox: Vec::new(), consumed: 0, outbox: Vec::new(), sent: 0, seal: None }
    }

    /// From here on every frame is signed with `send` and checked with `receive`.
    pub(crate) fn seal(&mut self, send: Channel, receive: Channel) {
        self.seal = Some((send, receive));
    }

    /// Adds a message to what is to be sent.
    pub(crate) fn push(&mut self, message: &Message) -> Result<(), ProtocolError> {
        let body = message.encode();
        let tag_len = if self.seal.is_some() { TAG_LEN } else { 0 };
        let len = body.len() + tag_len;
        if len > self.limit() {
            return Err(ProtocolError::FrameTooLong { len, limit: self.limit() });
        }
        self.outbox.extend_from_slice(&(len as u32).to_le_bytes());
        self.outbox.extend_from_slice(&body);
        if let Some((send, _)) = &mut self.seal {
            self.outbox.extend_from_slice(&send.sign(&body));
        }
        Ok(())
    }

    /// Sends what the socket takes now.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.outbox.len() {
            // NOSIGNAL: a dead peer must not kill a program that has its own idea of SIGPIPE.
            match rustix::net::send(&self.fd, &self.outbox[self.sent..], SendFlags::NOSIGNAL) {
                Ok(n) => self.sent += n,
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        self.outbox.clear();
        self.sent = 0;
        Ok(())
    }

    /// Whether [`Framed::flush`] has work left.
    pub(crate) fn wants_write(&self) -> bool {
        self.sent < self.outbox.len()
    }

    /// Bytes waiting to be sent.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.len() - self.sent
    }

    /// Reads what is there now; `false` means that the peer has closed.
    pub(crate) fn fill(&mut self) -> io::Result<bool> {
        self.inbox.drain(..self.consumed);
        self.consumed = 0;
        let mut chunk = [0u8; 16 << 10];
        // A peer that sends without end must not keep the caller here: one frame's worth, then
        // others have their turn.
        let enough = self.inbox.len() + (1 << 20);
        while self.inbox.len() < enough {
            match rustix::net::recv(&self.fd, &mut chunk[..], RecvFlags::empty()) {
                Ok((0, _)) => return Ok(false),
                Ok((n, _)) => self.inbox.extend_from_slice(&chunk[..n]),
                Err(rustix::io::Errno::AGAIN) => return Ok(true),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(true)
    }

    /// The next whole message among the bytes read.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, ProtocolError> {
        let bytes = &self.inbox[self.consumed..];
        let Some((head, rest)) = bytes.split_at_checked(4) else {
            return Ok(None);
        };
        let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        if len > self.limit() {
            return Err(ProtocolError::FrameTooLong { len, limit: self.limit() });
        }
        let Some(frame) = rest.get(..len) else {
            return Ok(None);
        };
        let body = match &mut self.seal {
            None => frame,
            Some((_, receive)) => {
                let Some(at) = len.checked_sub(TAG_LEN) else {
                    return Err(ProtocolError::BadTag);
                };
                let (body, tag) = frame.split_at(at);
                if !receive.verify(body, tag) {
                    return Err(ProtocolError::BadTag);
                }
                body
            }
        };
        let message = Message::decode(body)?;
        self.consumed += 4 + len;
        Ok(Some(message))
    }

    fn limit(&self) -> usize {
        if self.seal.is_some() { MAX_FRAME } else { MAX_GREETING }
    }
}

impl AsFd for Framed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
