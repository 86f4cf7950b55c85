//! The wire protocol between a task and the bootstrap server.
//!
//! ```text
//!  frame      0        4      5                      4+length-16         4+length
//!             | length | kind | fields of the kind … | tag (16 bytes)    |
//!             | u32    | u8   |                      | after the handshake only
//!
//!  integers   little endian;  text, bytes = u32 length, then the bytes
//!
//!  task                                      server
//!    |  <------------------------ Challenge |   magic, version, scheme, nonce
//!    |  Hello --------------------------->  |   magic, version, who, nonce, proof (HMAC over both nonces and who)
//!    |  <-------------- Welcome or Refused  |   proof of the server, generation, rounds, job
//!    |  Put Get Fence Exchange …  ------->  |   every request carries an id, its answer the same id
//!    |  <---- Done Value Values or Failed   |
//!    |  <---------------------------- Ended |   unasked, at any time: a task's process has ended
//! ```
//!
//! Parsing is total: any byte string gives a message or a [`ProtocolError`], and no length field is
//! trusted before the bytes it announces have arrived.

use std::sync::Arc;

use super::key::{KEY_LEN, Key};
use super::packed::Packed;

/// First bytes of both greetings.
pub(crate) const MAGIC: [u8; 8] = *b"LAPISKVS";
/// Version of this file's layout.
pub(crate) const VERSION: u16 = 3;
/// Longest frame before the peer has proved itself.
pub(crate) const MAX_GREETING: usize = 1024;
/// Longest frame of a member of the job.
pub(crate) const MAX_FRAME: usize = 64 << 20;
/// Longest key, in bytes.
pub const MAX_KEY: usize = 255;
/// Longest value, in bytes.
pub const MAX_VALUE: usize = 64 << 10;
/// Most tasks in a job: MAX_TASKS of LAPI Guide, appendix F.
pub const MAX_TASKS: u32 = 16384;

/// Most bytes of a memory that a task's command line asks for: with them, numbers for all bytes of
/// all tasks fit 64 bits, and some are left.
pub const MOST_MEMORY: u64 = (1 << 44) - 1;
/// Longest message text; longer ones are cut.
pub(crate) const MAX_TEXT: usize = 4096;

/// Bytes that are not a message of this protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A frame announces more bytes than allowed.
    #[error("a frame of {len} bytes, the limit is {limit}")]
    FrameTooLong {
        /// Length announced.
        len: usize,
        /// Length allowed at this point.
        limit: usize,
    },
    /// A message ends before its fields do.
    #[error("message kind {kind:#04x} ends early: {need} more bytes needed, {have} left")]
    Short {
        /// Kind byte.
        kind: u8,
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        have: usize,
    },
    /// A message goes on after its fields.
    #[error("message kind {kind:#04x} has {extra} bytes too many")]
    Trailing {
        /// Kind byte.
        kind: u8,
        /// Surplus.
        extra: usize,
    },
    /// A field holds a value outside its range.
    #[error("message kind {kind:#04x}: {what}")]
    BadField {
        /// Kind byte.
        kind: u8,
        /// What is wrong.
        what: &'static str,
    },
    /// The kind byte is unknown.
    #[error("unknown message kind {0:#04x}")]
    UnknownKind(u8),
    /// The greeting is not ours.
    #[error("not a Lapis bootstrap peer (wrong magic)")]
    WrongMagic,
    /// The other side speaks another version.
    #[error(
        "the other side speaks protocol version {theirs}, this side version {VERSION}: use one Lapis installation for the whole job"
    )]
    WrongVersion {
        /// The version announced.
        theirs: u16,
    },
    /// A frame's tag does not fit its bytes.
    #[error("a frame whose authenticator is wrong")]
    BadTag,
    /// A valid message where it does not belong.
    #[error("unexpected {0}")]
    Unexpected(&'static str),
}

/// How the parties prove that they belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Both know the job's secret beforehand.
    Secret,
    /// Same user on the same machine, as the kernel says; the server then hands out the secret.
    SameUser,
}

/// Why the server could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    TaskLost { task: u32, how: String },
    Aborted { task: u32, code: i32, message: String },
    Timeout { detail: String },
    Mismatch { detail: String },
    Limit { detail: String },
}

/// Every message there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    Challenge {
        scheme: Scheme,
        nonce: Key,
    },
    Hello {
        task: u32,
        tasks: u32,
        context: u32,
        pid: u32,
        nonce: Key,
        proof: Key,
    },
    /// `rounds`: collective operations that are over, for a task that was restarted; else 0.
    Welcome {
        proof: Key,
        generation: u32,
        rounds: u32,
        job: String,
        secret: Option<Key>,
    },
    Refused {
        reason: String,
    },
    Put {
        id: u32,
        key: String,
        value: Vec<u8>,
    },
    Get {
        id: u32,
        timeout_ms: u32,
        key: String,
    },
    Fence {
        id: u32,
        timeout_ms: u32,
        epoch: u32,
    },
    Exchange {
        id: u32,
        timeout_ms: u32,
        epoch: u32,
        key: String,
        value: Vec<u8>,
    },
    Abort {
        id: u32,
        code: i32,
        message: String,
    },
    Finalize {
        id: u32,
    },
    Done {
        id: u32,
    },
    Value {
        id: u32,
        value: Vec<u8>,
    },
    Values {
        id: u32,
        values: Packed,
    },
    Failed {
        id: u32,
        failure: Failure,
    },
    Ended {
        task: u32,
        how: String,
    },
}

impl Message {
    /// The message's name, for errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Challenge { .. } => "Challenge",
            Self::Hello { .. } => "Hello",
            Self::Welcome { .. } => "Welcome",
            Self::Refused { .. } => "Refused",
            Self::Put { .. } => "Put",
            Self::Get { .. } => "Get",
            Self::Fence { .. } => "Fence",
            Self::Exchange { .. } => "Exchange",
            Self::Abort { .. } => "Abort",
            Self::Finalize { .. } => "Finalize",
            Self::Done { .. } => "Done",
            Self::Value { .. } => "Value",
            Self::Values { .. } => "Values",
            Self::Failed { .. } => "Failed",
            Self::Ended { .. } => "Ended",
        }
    }

    /// The part of [`encode`](Self::encode)'s bytes that follows the rest and is the same in the
    /// answers to all tasks.
    pub(crate) fn shared(&self) -> Option<&Arc<[u8]>> {
        match self {
            Self::Values { values, .. } => Some(values.bytes()),
            _ => None,
        }
    }

    /// Kind and fields, as they stand in a frame, except for what is [`shared`](Self::shared).
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut w = Writer(Vec::with_capacity(64));
        match self {
            Self::Challenge { scheme, nonce } => {
                w.u8(0x01).raw(&MAGIC).u16(VERSION);
                w.u8(u8::from(*scheme == Scheme::SameUser)).raw(nonce);
            }
            Self::Hello { task, tasks, context, pid, nonce, proof } => {
                w.u8(0x02).raw(&MAGIC).u16(VERSION);
                w.u32(*task).u32(*tasks).u32(*context).u32(*pid).raw(nonce).raw(proof);
            }
            Self::Welcome { proof, generation, rounds, job, secret } => {
                w.u8(0x03).raw(proof).u32(*generation).u32(*rounds).text(job);
                match secret {
                    None => w.u8(0),
                    Some(secret) => w.u8(1).raw(secret),
                };
            }
            Self::Refused { reason } => {
                w.u8(0x04).text(reason);
            }
            Self::Put { id, key, value } => {
                w.u8(0x10).u32(*id).text(key).bytes(value);
            }
            Self::Get { id, timeout_ms, key } => {
                w.u8(0x11).u32(*id).u32(*timeout_ms).text(key);
            }
            Self::Fence { id, timeout_ms, epoch } => {
                w.u8(0x12).u32(*id).u32(*timeout_ms).u32(*epoch);
            }
            Self::Exchange { id, timeout_ms, epoch, key, value } => {
                w.u8(0x13).u32(*id).u32(*timeout_ms).u32(*epoch).text(key).bytes(value);
            }
            Self::Abort { id, code, message } => {
                w.u8(0x14).u32(*id).i32(*code).text(message);
            }
            Self::Finalize { id } => {
                w.u8(0x15).u32(*id);
            }
            Self::Done { id } => {
                w.u8(0x20).u32(*id);
            }
            Self::Value { id, value } => {
                w.u8(0x21).u32(*id).bytes(value);
            }
            Self::Values { id, .. } => {
                w.u8(0x22).u32(*id);
            }
            Self::Failed { id, failure } => {
                failure.encode(w.u8(0x23).u32(*id));
            }
            Self::Ended { task, how } => {
                w.u8(0x24).u32(*task).text(how);
            }
        }
        w.0
    }

    /// The message that `body` (kind and fields, no tag) holds.
    pub(crate) fn decode(body: &[u8]) -> Result<Self, ProtocolError> {
        let Some((&kind, rest)) = body.split_first() else {
            return Err(ProtocolError::Short { kind: 0, need: 1, have: 0 });
        };
        let mut r = Reader { kind, rest };
        let message = match kind {
            0x01 => {
                r.greeting()?;
                let scheme = match r.u8()? {
                    0 => Scheme::Secret,
                    1 => Scheme::SameUser,
                    _ => return Err(r.bad("unknown authentication scheme")),
                };
                Self::Challenge { scheme, nonce: r.key()? }
            }
            0x02 => {
                r.greeting()?;
                let (task, tasks, context, pid) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?);
                Self::Hello { task, tasks, context, pid, nonce: r.key()?, proof: r.key()? }
            }
            0x03 => {
                let (proof, generation, rounds) = (r.key()?, r.u32()?, r.u32()?);
                let job = r.text(MAX_TEXT)?;
                let secret = match r.u8()? {
                    0 => None,
                    1 => Some(r.key()?),
                    _ => return Err(r.bad("secret flag is neither 0 nor 1")),
                };
                Self::Welcome { proof, generation, rounds, job, secret }
            }
            0x04 => Self::Refused { reason: r.text(MAX_TEXT)? },
            0x10 => Self::Put { id: r.u32()?, key: r.text(MAX_KEY)?, value: r.bytes(MAX_VALUE)? },
            0x11 => Self::Get { id: r.u32()?, timeout_ms: r.u32()?, key: r.text(MAX_KEY)? },
            0x12 => Self::Fence { id: r.u32()?, timeout_ms: r.u32()?, epoch: r.u32()? },
            0x13 => Self::Exchange {
                id: r.u32()?,
                timeout_ms: r.u32()?,
                epoch: r.u32()?,
                key: r.text(MAX_KEY)?,
                value: r.bytes(MAX_VALUE)?,
            },
            0x14 => Self::Abort { id: r.u32()?, code: r.i32()?, message: r.text(MAX_TEXT)? },
            0x15 => Self::Finalize { id: r.u32()? },
            0x20 => Self::Done { id: r.u32()? },
            0x21 => Self::Value { id: r.u32()?, value: r.bytes(MAX_VALUE)? },
            0x22 => Self::Values { id: r.u32()?, values: r.values()? },
            0x23 => Self::Failed { id: r.u32()?, failure: Failure::decode(&mut r)? },
            0x24 => Self::Ended { task: r.u32()?, how: r.text(MAX_TEXT)? },
            other => return Err(ProtocolError::UnknownKind(other)),
        };
        match r.rest.len() {
            0 => Ok(message),
            extra => Err(ProtocolError::Trailing { kind, extra }),
        }
    }
}

impl Failure {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::TaskLost { task, how } => w.u8(1).u32(*task).text(how),
            Self::Aborted { task, code, message } => w.u8(2).u32(*task).i32(*code).text(message),
            Self::Timeout { detail } => w.u8(3).text(detail),
            Self::Mismatch { detail } => w.u8(4).text(detail),
            Self::Limit { detail } => w.u8(5).text(detail),
        };
    }

    fn decode(r: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        Ok(match r.u8()? {
            1 => Self::TaskLost { task: r.u32()?, how: r.text(MAX_TEXT)? },
            2 => Self::Aborted { task: r.u32()?, code: r.i32()?, message: r.text(MAX_TEXT)? },
            3 => Self::Timeout { detail: r.text(MAX_TEXT)? },
            4 => Self::Mismatch { detail: r.text(MAX_TEXT)? },
            5 => Self::Limit { detail: r.text(MAX_TEXT)? },
            _ => return Err(r.bad("unknown failure")),
        })
    }
}

/// Cuts a text that comes from outside to what a message may carry, at a character border.
pub(crate) fn clip(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

struct Writer(Vec<u8>);

impl Writer {
    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }
    fn u8(&mut self, v: u8) -> &mut Self {
        self.raw(&[v])
    }
    fn u16(&mut self, v: u16) -> &mut Self {
        self.raw(&v.to_le_bytes())
    }
    fn u32(&mut self, v: u32) -> &mut Self {
        self.raw(&v.to_le_bytes())
    }
    fn i32(&mut self, v: i32) -> &mut Self {
        self.raw(&v.to_le_bytes())
    }
    fn bytes(&mut self, v: &[u8]) -> &mut Self {
        self.u32(v.len() as u32).raw(v)
    }
    fn text(&mut self, v: &str) -> &mut Self {
        self.bytes(v.as_bytes())
    }
}

struct Reader<'a> {
    kind: u8,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn bad(&self, what: &'static str) -> ProtocolError {
        ProtocolError::BadField { kind: self.kind, what }
    }
    fn take(&mut self, need: usize) -> Result<&'a [u8], ProtocolError> {
        if need > self.rest.len() {
            return Err(ProtocolError::Short { kind: self.kind, need, have: self.rest.len() });
        }
        let (head, tail) = self.rest.split_at(need);
        self.rest = tail;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ProtocolError> {
        let mut out = [0u8; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }
    fn u8(&mut self) -> Result<u8, ProtocolError> {
        Ok(self.array::<1>()?[0])
    }
    fn u16(&mut self) -> Result<u16, ProtocolError> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    fn u32(&mut self) -> Result<u32, ProtocolError> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    fn i32(&mut self) -> Result<i32, ProtocolError> {
        Ok(i32::from_le_bytes(self.array()?))
    }
    fn key(&mut self) -> Result<Key, ProtocolError> {
        self.array::<KEY_LEN>()
    }
    fn part(&mut self, limit: usize) -> Result<&'a [u8], ProtocolError> {
        let len = self.u32()? as usize;
        if len > limit {
            return Err(self.bad("a text or value is longer than allowed"));
        }
        self.take(len)
    }
    fn bytes(&mut self, limit: usize) -> Result<Vec<u8>, ProtocolError> {
        Ok(self.part(limit)?.to_vec())
    }
    fn text(&mut self, limit: usize) -> Result<String, ProtocolError> {
        String::from_utf8(self.bytes(limit)?).map_err(|_| self.bad("a text is not UTF-8"))
    }
    /// The parts of an exchange.
    fn values(&mut self) -> Result<Packed, ProtocolError> {
        let whole = self.rest;
        let count = self.u32()?;
        if count > MAX_TASKS {
            return Err(self.bad("more values than a job has tasks"));
        }
        for _ in 0..count {
            self.part(MAX_VALUE)?;
        }
        // The bytes that are really there, whatever count was announced.
        Ok(Packed::of(&whole[..whole.len() - self.rest.len()]))
    }

    fn greeting(&mut self) -> Result<(), ProtocolError> {
        if self.array::<8>()? != MAGIC {
            return Err(ProtocolError::WrongMagic);
        }
        match self.u16()? {
            VERSION => Ok(()),
            theirs => Err(ProtocolError::WrongVersion { theirs }),
        }
    }
}

#[cfg(test)]
mod tests;
