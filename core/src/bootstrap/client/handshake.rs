//! The handshake of a task and a server, before they trust each other.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use super::super::JobInfo;
use super::super::address::{own_uid, peer};
use super::super::auth::{ROLE_CLIENT, ROLE_SERVER, Transcript, random_secret};
use super::super::error::BootstrapError;
use super::super::frame::{FrameError, Framed};
use super::super::protocol::{Message, ProtocolError, Scheme};
use super::{JoinError, Membership, receive};
use crate::process::{Pid, has_ended};

/// A connection to a server that has still to prove that it is the job's.
pub(super) struct Handshake<'a> {
    pub(super) membership: &'a Membership,
    pub(super) context: u32,
    pub(super) link: Framed,
    pub(super) deadline: Instant,
}

/// What a server that is the job's says.
pub(super) struct Welcome {
    /// The job as this task knows it from now on.
    pub(super) job: JobInfo,
    pub(super) generation: u32,
    /// Collective rounds that the job has behind it.
    pub(super) rounds: u32,
}

impl Handshake<'_> {
    /// Abstract names are first come, first served on a machine: a stranger's server must not be
    /// believed. Nor will a server answer whose process has ended, although a process that it had
    /// forked holds its socket open.
    pub(super) fn check_owner(&self) -> Result<(), JoinError> {
        match peer(self.link.as_fd()) {
            Some((uid, _)) if uid != own_uid() && uid != 0 => Err(self.impostor()),
            // One that can't be seen has the number 0, and may be there.
            Some((_, pid)) if Pid::from_raw(pid.cast_signed()).is_some_and(has_ended) => {
                Err(JoinError::Again(io::ErrorKind::ConnectionRefused.into()))
            }
            _ => Ok(()),
        }
    }

    /// Answers the server's challenge; what both sides have said so far.
    pub(super) fn greet(&mut self) -> Result<Transcript, JoinError> {
        let Membership { task, tasks, .. } = *self.membership;
        let server_nonce = match self.hear()? {
            Message::Challenge { scheme, nonce } if scheme == self.membership.scheme => nonce,
            Message::Challenge { .. } => {
                return Err(self.refused("it uses another way of authentication".into()));
            }
            Message::Refused { reason } => return Err(self.refused(reason)),
            other => return Err(self.protocol(ProtocolError::Unexpected(other.name()))),
        };
        let client_nonce = random_secret().map_err(JoinError::Final)?;
        let transcript = Transcript { server_nonce, client_nonce, task, tasks, context: self.context };
        let hello = Message::Hello {
            task,
            tasks,
            context: self.context,
            pid: std::process::id(),
            nonce: client_nonce,
            proof: transcript.prove(&self.membership.job.secret, ROLE_CLIENT),
        };
        self.link.push(&hello).map_err(|source| self.protocol(source))?;
        Ok(transcript)
    }

    /// Hears the server's proof and what it says of the job.
    pub(super) fn welcome(&mut self, transcript: &Transcript) -> Result<Welcome, JoinError> {
        let (proof, id, rounds, session, generation) = match self.hear()? {
            Message::Welcome { proof, job, rounds, secret, generation } => {
                (proof, job, rounds, secret, generation)
            }
            Message::Refused { reason } => return Err(self.refused(reason)),
            other => return Err(self.protocol(ProtocolError::Unexpected(other.name()))),
        };
        let mut job = self.membership.job.clone();
        if !transcript.verify(&job.secret, ROLE_SERVER, &proof) {
            return Err(self.impostor());
        }
        if self.membership.scheme == Scheme::SameUser {
            // The task has no given identity: the first task of the partition made one up.
            job.id = id;
            job.secret = session.unwrap_or(job.secret);
        }
        Ok(Welcome { job, generation, rounds })
    }

    fn hear(&mut self) -> Result<Message, JoinError> {
        match receive(&mut self.link, self.deadline) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(JoinError::Again(io::ErrorKind::TimedOut.into())),
            Err(FrameError::Io(e)) => Err(JoinError::Again(e)),
            Err(FrameError::Protocol(e)) => Err(self.protocol(e)),
        }
    }

    fn impostor(&self) -> JoinError {
        let (address, job) = (self.membership.address.to_string(), self.membership.job.id.clone());
        JoinError::Final(BootstrapError::Impostor { address, job })
    }

    fn protocol(&self, source: ProtocolError) -> JoinError {
        let (address, during) = (self.membership.address.to_string(), "the handshake".into());
        JoinError::Final(BootstrapError::Protocol { address, during, source })
    }

    fn refused(&self, reason: String) -> JoinError {
        let (address, task) = (self.membership.address.to_string(), self.membership.task);
        JoinError::Final(BootstrapError::Refused { address, task, reason })
    }
}
