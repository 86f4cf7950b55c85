//! How a process joins its job, how ranks are reassigned, and how it leaves.

use crate::address::Space;
use crate::channel::Channels;
use crate::channel_lane::Lanes;
use crate::data::{Data, table_messages};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result, of_core};
use crate::heap::Heap;
use crate::order::Order;
use crate::probe_schedule::ProbeSchedule;
use crate::process::{Block, Lifetime, Process, World, lanes_from, locked};
use crate::regions::Regions;
use crate::requests::Requests;
use crate::segbuf_ends::Segbufs;
use crate::settings::Settings;
use crate::{channel_messages, colours, protocol, segbuf, waits};
use lapis_collectives::Team;
use lapis_core::Context;
use lapis_core::context::{Guarded, RawHooks};
use lapis_core::sync::blocking::{Mutex, OnceLock};
use lapis_core::sync::{AtomicBool, AtomicPtr, Ordering, membarrier};
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::Arc;

/// Contexts of equal number in different processes talk to each other; programs that use LAPI or
/// Rust beside ACP have the small numbers.
const CONTEXT: u32 = 1000;

/// What a process tells of itself: its rank, its block and the starter memory's part of it.
const CARD: usize = 40;

fn card(rank: u64, base: u64, settings: Settings, lanes: u64) -> [u8; CARD] {
    let words = [rank, base, settings.starter, settings.heap, lanes].map(u64::to_le_bytes);
    std::array::from_fn(|at| words[at / 8][at % 8])
}

/// Where the heap begins.
fn padded(starter: u64) -> u64 {
    starter.next_multiple_of(4096)
}

/// Registers what happens when messages arrive.
fn install(process: &'static Process) -> lapis_core::Result<()> {
    protocol::install(process)?;
    table_messages::install(process)?;
    segbuf::install(process)?;
    waits::install(process)?;
    channel_messages::install(process)
}

impl Process {
    /// Joins the job that the environment announces. Returns when all processes have.
    pub(crate) fn join(settings: Settings, lifetime: Lifetime) -> Result<*mut Self> {
        lapis_log::install();
        let failed = |error: lapis_core::Error| {
            tracing::error!(target: "lapis::acp", "acp_init: {}", error.with_causes());
            Error::Job
        };
        let myself = Arc::new(OnceLock::new());
        let builder = Context::builder().number(CONTEXT).transport(lapis_loopback::table());
        let builder = builder.know(lapis_standard::TRANSPORTS).hooks(hooks(&myself));
        let context = builder.init().map_err(failed)?;
        let len = padded(settings.starter) + settings.heap;
        // Sleeping receivers rely on barriers that the kernel makes in all processes.
        let lanes = if membarrier::register() { settings.lanes } else { 0 };
        let memory = usize::try_from(lanes_from(len) + lanes).map_err(|_| Error::Memory)?;
        let memory = context.alloc(memory).map_err(failed)?;
        // SAFETY: the memory is there until acp_finalize, when all processes have stopped; blocks
        // end where it begins.
        let channels = unsafe { Lanes::new(memory.as_ptr().add(lanes_from(len) as usize), lanes) };
        let team = Team::world(&context).map_err(|error| {
            tracing::error!(target: "lapis::acp", "acp_init: {error}");
            Error::Job
        })?;
        let space = Space::of(context.tasks(), colours::agree(&context, len)?);
        let made = Box::into_raw(Box::new(Self {
            lifetime,
            space,
            colours: colours::Colours::new(space),
            team,
            settings,
            memory: Mutex::new(Some(memory)),
            world: AtomicPtr::new(null_mut()),
            order: Order::new(),
            regions: Mutex::new(Regions::new(len, space)),
            heap: Mutex::new(Heap::new(settings.heap)),
            channels: Guarded::new(Channels::new(channels)),
            lanes,
            requests: Requests::default(),
            data: Data::default(),
            segbufs: Segbufs::default(),
            probe_schedule: ProbeSchedule::default(),
            gone: (0..context.tasks()).map(|_| AtomicBool::new(false)).collect(),
            context,
        }));
        // SAFETY: just made; freed no sooner than its context has ended, and then by `leave` alone.
        let process: &'static Self = unsafe { &*made };
        myself.get_or_init(|| process);
        install(process).map_err(failed)?;
        process.meet(process.context.task())?;
        process.sync()?;
        Ok(made)
    }

    /// Tells everybody this process's rank, and learns theirs.
    fn meet(&self, rank: u32) -> Result {
        let base = locked(&self.memory).as_ref().map_or(0, |memory| memory.as_ptr().addr() as u64);
        let mine = card(u64::from(rank), base, self.settings, self.lanes);
        let cards = self.context.all_gather(&mine).map_err(of_core)?;
        let mut blocks: Vec<Option<Block>> = (0..self.context.tasks()).map(|_| None).collect();
        for (task, card) in (0..).zip(cards.chunks_exact(CARD)) {
            let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| card[at * 8 + byte]));
            let len = padded(word(2)) + word(3);
            let all = lanes_from(len) + word(4);
            let mapped = self.context.direct(task, word(1), all).unwrap_or(null_mut());
            let block = Block { task, len, starter: padded(word(2)), lanes: word(4), mapped };
            match blocks.get_mut(word(0) as usize) {
                Some(place @ None) => *place = Some(block),
                // All see the same cards, so all fail.
                _ => return Err(Error::Ranks),
            }
        }
        let blocks: Vec<Block> = blocks.into_iter().flatten().collect();
        let world = World { rank, space: self.space, blocks };
        // SYNC: Release pairs with `world`'s Acquire.
        self.world.store(Box::into_raw(Box::new(world)), Ordering::Release);
        Ok(())
    }

    /// Waits until nothing of this process's is under way, and then for all others to be there.
    fn settle(&self) -> Result {
        // What failed was told of when it was asked for, or nobody asked; and whoever died is no
        // reason not to go on. All others come here, too: who stayed away would hold them up.
        let _ = self.complete(crate::order::ALL);
        let _ = self.context.fence();
        self.sync()
    }

    /// Starts again with another rank. Collective.
    pub(crate) fn reset(&self, rank: i32) -> Result {
        let wanted = u32::try_from(rank).ok().filter(|rank| *rank < self.context.tasks());
        self.settle()?;
        // Before anything is forgotten, so that a refusal changes nothing; it is everybody's.
        match self.meet(wanted.unwrap_or(u32::MAX)) {
            Err(Error::Ranks) => {
                let own = if wanted.is_some() { Error::Ranks } else { Error::Rank };
                return Err(own).of("rank", rank);
            }
            met => met?,
        }
        let world = self.world();
        self.regions().clear();
        *self.heap() = Heap::new(self.settings.heap);
        self.channels().reset();
        self.iterators().clear();
        self.data.workspaces.reset();
        self.segbufs.reset();
        let starter = world.space.address(world.rank, 0);
        if let Some(at) = world.mapped(starter, self.settings.starter) {
            // SAFETY: this process's own memory, which nobody uses between the two barriers.
            unsafe { at.write_bytes(0, self.settings.starter as usize) };
        }
        self.sync()
    }

    /// Leaves the job when all processes do.
    pub(crate) fn finalize(&self) -> Result {
        let together = self.settle();
        self.regions().clear();
        drop(locked(&self.memory).take());
        let ended = self.context.terminate().map_err(of_core);
        together.and(ended)
    }
}

/// A process that dies ends the operations that need it.
fn hooks(myself: &Arc<OnceLock<&'static Process>>) -> RawHooks {
    let myself = Arc::clone(myself);
    let died = move |_: &Context, error: &lapis_core::Error, task: u32| {
        use lapis_core::Error as Core;
        if matches!(error, Core::Timeout { .. }) {
            // Core gives the process up then, with all that it still does in memory of the
            // program's, and tells of it once more.
            return false;
        }
        if !matches!(error, Core::TargetDown { .. } | Core::NoConnectivity { .. }) {
            tracing::error!(target: "lapis::acp", task, "{}", error.with_causes());
            return true;
        }
        tracing::info!(target: "lapis::acp", task, "{}", error.with_causes());
        if let Some(&process) = myself.get() {
            if let Some(gone) = process.gone.get(task as usize) {
                // SYNC: SeqCst with `is_gone`.
                gone.store(true, Ordering::SeqCst);
            }
            let mut next = VecDeque::new();
            process.order.gone(task, &mut next);
            process.requests.gone(task);
            process.data.finds.gone(task);
            process.channels().gone(task);
            if !next.is_empty() {
                process.context.run_on_handler_thread(lapis_core::CompletionHandler::Closure(Box::new(
                    move |_| process.work(next),
                )));
            }
        }
        // Collectives fail: they need everybody.
        true
    };
    RawHooks { error: Some(Box::new(died)), ..RawHooks::default() }
}
