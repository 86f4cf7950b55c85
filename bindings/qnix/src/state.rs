//! The state of a process, used by its calls and by arrivals.

use crate::abi::Hps;
use crate::board::Writer;
use crate::contexts::{Receives, Sends};
use crate::error::Error;
use crate::groups::Groups;
use crate::matching::Matching;
use crate::memory::Memory;
use crate::names::Names;
use crate::outbox::Outbox;
use crate::tree::forwards::Forwards;
use lapis_core::Context;
use lapis_core::context::{Access, BriefAccess, Guarded};
use std::collections::HashSet;
use std::sync::{Arc, Weak};

/// What calls and handlers share. The context's own lock guards the state: handlers hold it
/// already, and a message needs no other one. Whoever has the state calls nothing of core that may
/// wait or run a handler.
pub(crate) struct Shared {
    pub(crate) hps: Arc<Hps>,
    state: Guarded<State>,
}

pub(crate) struct State {
    /// What this state is part of.
    pub(crate) shared: Weak<Shared>,
    /// This process's task, once all processes are known.
    pub(crate) me: u32,
    /// Messages that others hand on for this process.
    pub(crate) forwards: Forwards,
    pub(crate) sends: Sends,
    pub(crate) receives: Receives,
    pub(crate) matching: Matching,
    pub(crate) memory: Memory,
    pub(crate) groups: Groups,
    /// This process's board, where its host has boards.
    pub(crate) board: Option<Writer>,
    /// The first task of each task's host; empty before all are known.
    pub(crate) hosts: Arc<[u32]>,
    /// Threads of this process that wait in a call.
    pub(crate) waits: u32,
    /// Tasks that have ended, well or not.
    pub(crate) gone: HashSet<u32>,
    /// Known as soon as all processes have told theirs.
    pub(crate) names: Option<Arc<Names>>,
}

/// Who is to look before a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// The threads that wait for commands, of which the one that is about to sleep may be one.
    WhoWaits,
    /// None waits: whoever polls, once it has been asked to.
    Somebody,
}

impl Shared {
    pub(crate) fn new(hps: Arc<Hps>) -> Arc<Self> {
        Arc::new_cyclic(|shared| {
            let state = Guarded::new(State::new(&hps, Weak::clone(shared)));
            Self { hps, state }
        })
    }

    #[inline(always)]
    pub(crate) fn lock<'a>(&'a self, context: &'a Context) -> Access<'a, State> {
        self.state.lock(context)
    }

    /// As [`lock`](Self::lock), for what is over soon and waits for nothing.
    #[inline(always)]
    pub(crate) fn briefly<'a>(&'a self, context: &'a Context) -> BriefAccess<'a, State> {
        self.state.briefly(context)
    }

    /// As [`lock`](Self::lock), for a handler that calls nothing of core meanwhile.
    ///
    /// # Safety
    /// The calling thread holds the context's lock.
    #[inline(always)]
    pub(crate) unsafe fn in_handler<R>(&self, context: &Context, work: impl FnOnce(&mut State) -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe { self.state.in_handler(context, work) }
    }
}

impl State {
    pub(crate) fn new(hps: &Arc<Hps>, shared: Weak<Shared>) -> Self {
        Self {
            shared,
            me: 0,
            forwards: Forwards::default(),
            sends: Sends::new(hps),
            receives: Receives::new(hps),
            matching: Matching::default(),
            memory: Memory::new(),
            groups: Groups::default(),
            board: None,
            hosts: Arc::default(),
            waits: 0,
            gone: HashSet::new(),
            names: None,
        }
    }

    /// Whether something that this process has sent is still on its way.
    pub(crate) fn is_sending(&self) -> bool {
        self.sends.under_way() > 0 || !self.forwards.is_empty()
    }

    /// A process has ended: after so many messages to this one, or it died.
    pub(crate) fn peer_ended(&mut self, task: u32, messages: Option<u32>, out: &mut Outbox) {
        // What it has left on its board counts, and what it was about to ask for.
        self.answer();
        self.look(out);
        self.gone.insert(task);
        if let Some(writer) = &mut self.board {
            writer.left(task);
        }
        self.matching.ended(task, messages);
        for at in self.matching.in_vain(task) {
            self.receives.end(at, Err(Error::Peer));
        }
        for at in self.sends.waiting_for(task) {
            self.sends.end(at, Err(Error::Peer));
        }
        if messages.is_none() {
            for at in self.receives.waiting_for(task) {
                self.receives.end(at, Err(Error::Peer));
            }
        }
        self.forwarder_gone(task, out);
        self.left_barriers(task, out);
        self.left_gatherings(task, out);
    }
}
