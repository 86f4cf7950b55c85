//! Frames over a non-blocking stream socket: buffers on both sides, tags once a handshake has made
//! keys.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::net::{RecvFlags, SendFlags};

use super::auth::{Channel, TAG_LEN};
use super::protocol::{MAX_FRAME, MAX_GREETING, Message, ProtocolError};

/// Bytes that are to be sent.
enum Part {
    Own(Vec<u8>),
    /// The same for many connections, so that none has a copy.
    Shared(Arc<[u8]>),
}

impl Part {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// A connection that speaks in messages.
pub(crate) struct Framed {
    fd: OwnedFd,
    inbox: Vec<u8>,
    /// Bytes of `inbox` already handed out.
    consumed: usize,
    outbox: VecDeque<Part>,
    /// Bytes of the first part of `outbox` already sent.
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
        Self { fd, inbox: Vec::new(), consumed: 0, outbox: VecDeque::new(), sent: 0, seal: None }
    }

    /// From here on every frame is signed with `send` and checked with `receive`.
    pub(crate) fn seal(&mut self, send: Channel, receive: Channel) {
        self.seal = Some((send, receive));
    }

    /// Adds a message to what is to be sent.
    pub(crate) fn push(&mut self, message: &Message) -> Result<(), ProtocolError> {
        let body = message.encode();
        let shared = message.shared();
        let rest = shared.map_or(&[][..], |shared| &shared[..]);
        let tag_len = if self.seal.is_some() { TAG_LEN } else { 0 };
        let len = body.len() + rest.len() + tag_len;
        if len > self.limit() {
            return Err(ProtocolError::FrameTooLong { len, limit: self.limit() });
        }
        let tag = self.seal.as_mut().map(|(send, _)| send.sign(&body, rest));
        self.add(&(len as u32).to_le_bytes());
        self.add(&body);
        if let Some(shared) = shared {
            self.outbox.push_back(Part::Shared(Arc::clone(shared)));
        }
        tag.iter().for_each(|tag| self.add(tag));
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) {
        match self.outbox.back_mut() {
            Some(Part::Own(last)) => last.extend_from_slice(bytes),
            _ => self.outbox.push_back(Part::Own(bytes.to_vec())),
        }
    }

    /// Sends what the socket takes now.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while let Some(part) = self.outbox.front() {
            let bytes = &part.bytes()[self.sent..];
            if bytes.is_empty() {
                self.outbox.pop_front();
                self.sent = 0;
                continue;
            }
            // NOSIGNAL: a dead peer must not kill a program that has its own idea of SIGPIPE. MORE:
            // the parts of a message may go in one packet.
            let more = if self.outbox.len() > 1 { SendFlags::MORE } else { SendFlags::empty() };
            match rustix::net::send(&self.fd, bytes, SendFlags::NOSIGNAL | more) {
                Ok(n) => self.sent += n,
                Err(rustix::io::Errno::AGAIN) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Whether [`Framed::flush`] has work left.
    pub(crate) fn wants_write(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Bytes waiting to be sent.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.iter().map(|part| part.bytes().len()).sum::<usize>() - self.sent
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

#[cfg(test)]
mod tests {
    use super::super::auth::Transcript;
    use super::super::packed::Packed;
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    /// Two ends of a connection, past the handshake.
    fn pair() -> (Framed, Framed) {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let (a, b) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let (mut a, mut b) = (Framed::new(a), Framed::new(b));
        let transcript =
            Transcript { server_nonce: [1; 32], client_nonce: [2; 32], task: 0, tasks: 1, context: 0 };
        let ends = || Channel::pair(&[7; 32], &transcript);
        let ((to_b, to_a), (from_a, from_b)) = (ends(), ends());
        a.seal(to_b, to_a);
        b.seal(from_b, from_a);
        (a, b)
    }

    #[test]
    fn answers_share_their_values_until_they_are_sent() {
        let long = vec![3; 60_000];
        let values = Packed::new([&long[..]; 20].into_iter());
        let mut links: Vec<_> = (0..3).map(|_| pair()).collect();
        for (link, _) in &mut links {
            rustix::net::sockopt::set_socket_send_buffer_size(&link.fd, 1 << 16).unwrap();
            for id in 0..2 {
                link.push(&Message::Done { id }).unwrap();
                link.push(&Message::Values { id, values: values.clone() }).unwrap();
            }
            link.flush().unwrap();
            assert!(link.wants_write(), "more than the socket takes");
        }
        assert_eq!(Arc::strong_count(values.bytes()), 1 + 3 * 2);
        for (to, from) in &mut links {
            let mut heard = Vec::new();
            while to.wants_write() || heard.len() < 4 {
                to.flush().unwrap();
                assert!(from.fill().unwrap());
                heard.extend(std::iter::from_fn(|| from.next().unwrap()));
            }
            for id in 0..2 {
                assert_eq!(heard[2 * id as usize], Message::Done { id });
                assert_eq!(heard[2 * id as usize + 1], Message::Values { id, values: values.clone() });
            }
            assert_eq!(to.backlog(), 0);
        }
        assert_eq!(Arc::strong_count(values.bytes()), 1);
        assert_eq!(values.unpack(), vec![long; 20]);
    }
}
