//! A process of a QNIX job: how it joins, what it keeps, and how it leaves.

use crate::abi::Hps;
use crate::contexts::Table;
use crate::diagnostics;
use crate::error::{Error, Result, of_core};
use crate::groups::{self, Groups};
use crate::matching::Matching;
use crate::memory::{Memory, page_size};
use crate::names::{Name, Names, card};
use crate::protocol::{self, END, send_words};
use lapis_core::Context;
use lapis_core::context::RawHooks;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What calls and handlers share. Whoever holds the mutex calls nothing of core, whose lock may be
/// held by another one who wants the mutex.
pub(crate) struct Shared {
    pub(crate) hps: Arc<Hps>,
    state: Mutex<State>,
}

pub(crate) struct State {
    pub(crate) sends: Table,
    pub(crate) receives: Table,
    pub(crate) matching: Matching,
    pub(crate) memory: Memory,
    pub(crate) groups: Groups,
    /// Tasks that have ended, well or not.
    pub(crate) gone: HashSet<u32>,
    /// Known as soon as all processes have told theirs.
    pub(crate) names: Option<Arc<Names>>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A process has ended: after so many messages to this one, or it died.
    pub(crate) fn peer_ended(&mut self, task: u32, messages: Option<u32>) -> Vec<(u32, i32)> {
        self.gone.insert(task);
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
        self.left_groups(task)
    }
}

/// A process of the job.
pub(crate) struct Node {
    pub(crate) context: Context,
    pub(crate) shared: Arc<Shared>,
    pub(crate) names: Arc<Names>,
    pub(crate) name: Name,
}

impl Node {
    /// Joins the job that the environment announces, under a name. Returns when all processes of
    /// the job have done so.
    pub(crate) fn join(name: Name, size: i32) -> Result<Self> {
        diagnostics::install();
        let hps = Arc::new(Hps::new([name.application, name.process], size, page_size()));
        let state = State {
            sends: Table::new(&hps, true),
            receives: Table::new(&hps, false),
            matching: Matching::default(),
            memory: Memory::new(),
            groups: Groups::default(),
            gone: HashSet::new(),
            names: None,
        };
        let shared = Arc::new(Shared { hps, state: Mutex::new(state) });
        let failed = |error: lapis_core::Error| {
            tracing::error!(target: "lapis::qnix", "qx_init: {}", error.with_causes());
            Error::Job
        };
        let builder = Context::builder().transport(lapis_loopback::table());
        let builder = builder.know(lapis_standard::TRANSPORTS).hooks(hooks(&shared));
        let context = builder.init().map_err(failed)?;
        protocol::install(&context, &shared).map_err(failed)?;
        let cards = context.all_gather(&card(name, size)).map_err(failed)?;
        let names = Arc::new(Names::of_cards(&cards)?);
        let node = Self { context, shared, names, name };
        node.know_applications();
        Ok(node)
    }

    /// Each application is a group of its own.
    fn know_applications(&self) {
        let tasks = 0..self.context.tasks();
        let applications: HashSet<i32> = tasks.map(|task| self.names.of_task(task).application).collect();
        let mut state = self.shared.lock();
        for application in applications {
            let members = self.names.of_application(application);
            state.groups.add(application, members, self.context.task());
        }
        state.names = Some(Arc::clone(&self.names));
    }

    /// Leaves the job once the commands that send something have ended.
    pub(crate) fn end(&self) -> Result {
        self.context.wait_until(|| self.shared.lock().sends.under_way() == 0).map_err(of_core)?;
        // Whoever died is no reason to stay.
        let _ = self.context.fence();
        for task in 0..self.context.tasks() {
            let (gone, messages) = {
                let state = self.shared.lock();
                (state.gone.contains(&task), state.matching.sent_to(task))
            };
            if task != self.context.task() && !gone {
                let _ = send_words(&self.context, task, END, [messages]);
            }
        }
        self.context.terminate().map_err(of_core)
    }
}

/// A process that dies ends the commands that wait for it, not the job.
fn hooks(shared: &Arc<Shared>) -> RawHooks {
    let shared = Arc::clone(shared);
    let died = move |context: &Context, error: &lapis_core::Error, task: u32| {
        use lapis_core::Error as Core;
        if !matches!(error, Core::TargetDown { .. } | Core::Timeout { .. } | Core::NoConnectivity { .. }) {
            tracing::error!(target: "lapis::qnix", task, "{}", error.with_causes());
            return true;
        }
        tracing::info!(target: "lapis::qnix", task, "{}", error.with_causes());
        let mut state = shared.lock();
        let told = state.peer_ended(task, None);
        state.joins_fail(task, context.tasks());
        drop(state);
        for (other, name) in told {
            groups::refuse(context, other, name, Error::Peer);
        }
        true
    };
    RawHooks { error: Some(Box::new(died)), ..RawHooks::default() }
}
