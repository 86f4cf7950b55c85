//! One task of a simulated job: its engine, and the memory that it sends from.

use std::collections::{HashMap, VecDeque};

use super::Traffic;
use super::ledger::{HEAD, Key};
use crate::reliable::{Authenticator, Engine, Memory, Nanos, Transmit};

pub(super) struct Task<A> {
    pub(super) engine: Engine<A>,
    pub(super) traffic: VecDeque<Traffic>,
    /// What was submitted, by token, with the external body.
    pub(super) memory: HashMap<u64, (Key, Vec<u8>)>,
    pub(super) next_token: u64,
    /// The last unit made, the same one until the engine takes it.
    pub(super) head: [u8; HEAD],
    pub(super) body: Vec<u8>,
    pub(super) timer: Nanos,
    /// Computing and not looking at its socket until then.
    pub(super) busy_until: Nanos,
    /// The socket's receive buffer meanwhile, and how much of it is used.
    pub(super) socket: VecDeque<Vec<u8>>,
    pub(super) socket_used: usize,
}

pub(super) struct Bodies<'a>(pub(super) &'a HashMap<u64, (Key, Vec<u8>)>);

impl Memory for Bodies<'_> {
    fn read(&mut self, buffer: u64, offset: u64, len: u32, read: &mut dyn FnMut(&[u8])) {
        let (_, body) = self.0.get(&buffer).expect("the engine reads memory that was given back");
        let (offset, len) = (offset as usize, len as usize);
        // In two pieces, for they may be many.
        let (first, second) = body[offset..offset + len].split_at(len / 2);
        read(first);
        read(second);
    }
}

impl<A: Authenticator> Task<A> {
    pub(super) fn transmit(&mut self, now: Nanos, out: &mut Transmit) -> bool {
        self.engine.poll_transmit(now, &mut Bodies(&self.memory), out)
    }
}
