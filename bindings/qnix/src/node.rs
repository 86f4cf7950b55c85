//! A process of a QNIX job: how it joins, and how it leaves.

use crate::abi::Hps;
use crate::board::{self, Boards, Host, Writer};
use crate::environment;
use crate::error::{Error, Result, of_core};
use crate::groups::Teller;
use crate::locking::HasMemory;
use crate::memory::{Memory, page_size};
use crate::names::{Name, Names, boards_of_cards, card};
use crate::outbox::{self, Letter, Outbox};
use crate::protocol;
use crate::state::{Looks, Shared, State};
use crate::wire::{END, send_words};
use lapis_core::Context;
use lapis_core::context::{Access, BriefAccess, RawHooks};
use lapis_core::sync::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

/// A process of the job.
pub(crate) struct Node {
    pub(crate) context: Context,
    pub(crate) shared: Arc<Shared>,
    pub(crate) names: Arc<Names>,
    pub(crate) name: Name,
    /// The boards of this host, if it has any.
    pub(crate) boards: Option<Arc<Boards>>,
}

impl Node {
    /// What calls and handlers share.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Access<'_, State> {
        self.shared.lock(&self.context)
    }

    /// As [`lock`](Self::lock), for what is over soon and waits for nothing.
    #[inline(always)]
    pub(crate) fn briefly(&self) -> BriefAccess<'_, State> {
        self.shared.briefly(&self.context)
    }

    /// Joins the job that the environment announces, under a name. Returns when all processes of
    /// the job have done so.
    pub(crate) fn join(name: Name, size: i32) -> Result<Self> {
        lapis_log::install();
        let hps = Arc::new(Hps::new([name.application, name.process], size, page_size()));
        let shared = Shared::new(hps);
        let failed = |error: lapis_core::Error| {
            tracing::error!(target: "lapis::qnix", "qx_init: {}", error.with_causes());
            Error::Job
        };
        let builder = Context::builder().transport(lapis_loopback::table());
        let mut builder = builder.know(lapis_standard::TRANSPORTS).hooks(hooks(&shared));
        if let Some(cluster) = environment::cluster(name, size)? {
            builder = builder.bootstrap(cluster);
            // As lapirun has it for its jobs; who wants something else says so.
            if std::env::var_os("LAPI_USE_SHM").is_none() {
                builder = builder.set("LAPI_USE_SHM", "yes");
            }
        }
        let context = builder.init().map_err(failed)?;
        if !context.interrupts() {
            tracing::info!(
                target: "lapis::qnix",
                "arrivals are served within calls alone (LAPIS_INTERRUPT=no): a doorbell rings in the calls that poll, and in \
                 others, never while the program only looks at it"
            );
        }
        protocol::install(&context, &shared).map_err(failed)?;
        //= QNIX API, qx_init, returns when all processes have been registered
        let cards = context.all_gather(&card(name, size, board::memory(&context))).map_err(failed)?;
        let names = Arc::new(Names::of_cards(&cards)?);
        let (boards, hosts) = boards(&context, &boards_of_cards(&cards)).map_err(failed)?;
        let (boards, writer) = boards.map(board::pair).unzip();
        let node = Self { context, shared, names, name, boards };
        node.record_applications(writer, hosts);
        // What others have shown since they know everybody may have been told already.
        node.lock().answer();
        node.shared.look(&node.context);
        Ok(node)
    }

    /// Puts the buffer pool where the program looks for it.
    pub(crate) fn show_pool(&self) {
        if let Some((address, pages)) = self.with_memory(|memory| memory.pool()) {
            let hps = &self.shared.hps;
            hps.buffer_pool.store(std::ptr::with_exposed_provenance_mut(address), Ordering::Relaxed);
            hps.buffer_pool_pages.store(pages, Ordering::Relaxed);
        }
    }

    /// Each application is a group of its own.
    fn record_applications(&self, mut writer: Option<Writer>, hosts: Vec<u32>) {
        let tasks = 0..self.context.tasks();
        let applications: HashSet<i32> = tasks.map(|task| self.names.of_task(task).application).collect();
        let mut state = self.lock();
        for application in applications {
            let members = self.names.of_application(application);
            state.groups.add(application, &members, self.context.task(), writer.as_mut(), Teller::Nobody);
        }
        state.board = writer;
        state.hosts = hosts.into();
        state.me = self.context.task();
        state.names = Some(Arc::clone(&self.names));
    }

    /// Leaves the job once the commands that send something have ended, and what others hand on for
    /// this process has arrived.
    pub(crate) fn end(&self) -> Result {
        let mut state = self.lock();
        if state.is_sending() {
            state.begins_to_wait(true);
            let outcome = self.wait(&mut state, true, || !self.lock().is_sending());
            self.ends_to_wait(&mut state);
            outcome?;
        }
        let mut out = Outbox::new();
        state.leaves_lists(self.context.task(), self.context.tasks(), &mut out);
        drop(state);
        outbox::send(&self.context, &out);
        // What the others wait for arrives before the end is told, also if somebody has died.
        let _ = self.context.fence_reachable();
        for task in 0..self.context.tasks() {
            let (gone, messages) = {
                let state = self.lock();
                (state.gone.contains(&task), state.matching.sent_to(task))
            };
            if task != self.context.task() && !gone {
                let _ = send_words(&self.context, task, END, [messages]);
            }
        }
        self.context.terminate().map_err(of_core)
    }
}

impl HasMemory for Node {
    fn with_memory<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.lock().memory)
    }
}

/// The boards of this host, if all of its processes see all of them, and the first task of each
/// task's host.
fn boards(context: &Context, addresses: &[u64]) -> lapis_core::Result<(Option<Boards>, Vec<u32>)> {
    let boards = Boards::map(context, addresses);
    if !context.interrupts() {
        boards.iter().for_each(Boards::be_orderly);
    }
    let mine = boards.as_ref().map_or(Host::alone(context.task()), Boards::host);
    let hosts: Vec<Host> =
        context.all_gather(&mine.to_bytes())?.chunks_exact(Host::SIZE).map(Host::from_bytes).collect();
    let mut boards = boards.filter(|boards| boards.are_agreed(&hosts));
    boards.iter_mut().for_each(Boards::agree);
    let used = if boards.is_some() { "one write for all receivers" } else { "messages" };
    tracing::info!(target: "lapis::qnix", "broadcasts to this host go by {used}");
    Ok((boards, hosts.iter().map(|host| host.first).collect()))
}

/// A process that dies ends the commands that wait for it, not the job.
fn hooks(shared: &Arc<Shared>) -> RawHooks {
    let of_died = Arc::clone(shared);
    let died = move |context: &Context, error: &lapis_core::Error, task: u32| {
        use lapis_core::Error as Core;
        if matches!(error, Core::Timeout { .. }) {
            // Core gives the process up then, with all that it still does in memory of the
            // program's, and tells of it once more.
            return false;
        }
        if !matches!(error, Core::TargetDown { .. } | Core::NoConnectivity { .. }) {
            tracing::error!(target: "lapis::qnix", task, "{}", error.with_causes());
            return true;
        }
        tracing::info!(target: "lapis::qnix", task, "{}", error.with_causes());
        let mut out = Outbox::new();
        let mut state = of_died.lock(context);
        state.peer_ended(task, None, &mut out);
        state.keeper_died(task, context.tasks(), &mut out);
        drop(state);
        outbox::send(context, &out);
        true
    };
    let of_resting = Arc::clone(shared);
    let rests = move |context: &Context| {
        let looks = of_resting.lock(context).rests();
        if looks {
            of_resting.look(context);
        }
    };
    let shared = Arc::clone(shared);
    let sleeps = move |context: &Context| {
        let looks = shared.lock(context).sleeps();
        match looks {
            // The one that waits for it may be another thread, which sleeps.
            Some(Looks::WhoWaits) => context.wake(),
            Some(Looks::Somebody) => outbox::send(context, &vec![Letter::Look { to: context.task() }]),
            None => {}
        }
        looks.is_some()
    };
    RawHooks {
        error: Some(Box::new(died)),
        rests: Some(Box::new(rests)),
        sleeps: Some(Box::new(sleeps)),
        ..RawHooks::default()
    }
}
