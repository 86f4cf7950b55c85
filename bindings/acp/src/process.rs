//! A process of an ACP job: how it joins, what it keeps, how ranks are dealt anew, and how it
//! leaves.

use crate::access::Work;
use crate::address::Space;
use crate::channel::Channels;
use crate::channel_lane::{BYTES as LANE, Lanes, Writer};
use crate::data::Data;
use crate::data::numbered::Iterators;
use crate::diagnostics::{self, Blame as _};
use crate::error::{Error, Result, of_core};
use crate::heap::Heap;
use crate::order::Order;
use crate::protocol;
use crate::regions::{Region, Regions};
use crate::requests::Requests;
use crate::segbuf::Segbufs;
use crate::settings::Settings;
use crate::vigil::Vigil;
use lapis_collectives::Team;
use lapis_core::context::{Access, Guarded, RawHooks};
use lapis_core::sync::blocking::{Mutex, MutexGuard, OnceLock};
use lapis_core::sync::{AtomicBool, AtomicPtr, Ordering, fence, membarrier};
use lapis_core::{Context, Memory};
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::{Arc, PoisonError};

/// Contexts of equal number in different processes talk to each other; programs that use LAPI or
/// Rust beside ACP have the small numbers.
const CONTEXT: u32 = 1000;

/// Memory that a process has from its beginning to its end: the starter memory, then the heap.
pub(crate) struct Block {
    pub(crate) task: u32,
    len: u64,
    starter: u64,
    /// Bytes of its memory for lanes, which no address names.
    lanes: u64,
    /// Where it is in this address space; null if it is not.
    mapped: *mut u8,
}

impl Block {
    /// Whether this process and the block's see each other's memory, lanes included.
    pub(crate) fn is_near(&self) -> bool {
        self.lanes > 0 && !self.mapped.is_null()
    }
}

// SAFETY: the memory is mapped as long as the context lives, and is touched by copies and atomics.
unsafe impl Send for Block {}
// SAFETY: shared, the memory is touched by copies and atomics only.
unsafe impl Sync for Block {}

/// Who is who, until ranks are dealt anew.
pub(crate) struct World {
    pub(crate) rank: u32,
    pub(crate) space: Space,
    /// By rank.
    pub(crate) blocks: Vec<Block>,
}

impl World {
    /// Where memory of a block is mapped here, if it is.
    #[inline(always)]
    pub(crate) fn mapped(&self, address: u64, len: u64) -> Option<*mut u8> {
        let block = self.blocks.get(self.space.rank(address) as usize)?;
        let position = self.space.position(address);
        let inside = position < block.len && len <= block.len - position && !block.mapped.is_null();
        // SAFETY: within the block, by the comparison.
        inside.then(|| unsafe { block.mapped.add(position as usize) })
    }

    /// The rank of an address, if there is such a process.
    pub(crate) fn rank_of(&self, address: u64) -> Result<u32> {
        match self.space.rank(address) {
            u64::MAX => Err(Error::Null),
            rank if rank < self.blocks.len() as u64 => Ok(rank as u32),
            _ => Err(Error::Address),
        }
    }

    pub(crate) fn block(&self, rank: u32) -> Result<&Block> {
        self.blocks.get(rank as usize).ok_or(Error::Rank).of("rank", rank)
    }

    /// Bytes of a block before the heap.
    pub(crate) fn starter_len(&self, rank: u32) -> Result<u64> {
        self.block(rank).map(|block| block.starter)
    }

    /// The sending end of a lane that lies in a task's memory.
    pub(crate) fn writer(&self, task: u32, at: u64) -> Option<Writer> {
        let block = self.blocks.iter().find(|block| block.task == task && block.is_near())?;
        let fits = at.is_multiple_of(64) && at <= block.lanes && LANE as u64 <= block.lanes - at;
        // SAFETY: within the memory that the receiver has laid the lane out in, which is mapped as
        // long as the context lives. A lane is told once, to its only writer.
        fits.then(|| unsafe { Writer::new(block.mapped.add((lanes_from(block.len) + at) as usize)) })
    }

    /// Bytes of all heaps together.
    pub(crate) fn heaps_len(&self) -> u64 {
        self.blocks.iter().map(|block| block.len.saturating_sub(block.starter)).sum()
    }

    /// The global address of a byte of a block's heap.
    pub(crate) fn heap_address(&self, rank: u32, offset: u64) -> Result<u64> {
        Ok(self.space.address(rank, self.block(rank)?.starter + offset))
    }
}

/// What this process is. It is never freed: handlers and other threads may be in it.
pub(crate) struct Process {
    pub(crate) context: Context,
    team: Team,
    settings: Settings,
    /// Bytes of this process's memory for lanes.
    lanes: u64,
    memory: Mutex<Option<Memory>>,
    world: AtomicPtr<World>,
    pub(crate) order: Order<Work>,
    regions: Mutex<Regions>,
    heap: Mutex<Heap>,
    channels: Guarded<Channels>,
    pub(crate) requests: Requests,
    pub(crate) data: Data,
    pub(crate) segbufs: Segbufs,
    pub(crate) vigil: Vigil,
    /// By task: it has died.
    gone: Box<[AtomicBool]>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// Where memory for lanes begins behind a block of so many bytes.
fn lanes_from(len: u64) -> u64 {
    len.next_multiple_of(64)
}

impl Process {
    /// Joins the job that the environment announces. Returns when all processes have.
    pub(crate) fn join(settings: Settings) -> Result<&'static Self> {
        diagnostics::install();
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
        let space = Space::of(context.tasks());
        let process: &'static Self = Box::leak(Box::new(Self {
            team,
            settings,
            memory: Mutex::new(Some(memory)),
            world: AtomicPtr::new(null_mut()),
            order: Order::new(),
            regions: Mutex::new(Regions::new(len, space.end())),
            heap: Mutex::new(Heap::new(settings.heap)),
            channels: Guarded::new(Channels::new(channels)),
            lanes,
            requests: Requests::default(),
            data: Data::default(),
            segbufs: Segbufs::default(),
            vigil: Vigil::default(),
            gone: (0..context.tasks()).map(|_| AtomicBool::new(false)).collect(),
            context,
        }));
        myself.get_or_init(|| process);
        protocol::install(process).map_err(failed)?;
        process.meet(process.context.task())?;
        process.sync()?;
        Ok(process)
    }

    pub(crate) fn world(&self) -> &'static World {
        // SYNC: Acquire pairs with `meet`'s Release.
        let world = self.world.load(Ordering::Acquire);
        // SAFETY: `join` stored one before anybody got the process, and none is ever freed.
        unsafe { &*world }
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
                _ => return Err(Error::Rank),
            }
        }
        let blocks: Vec<Block> = blocks.into_iter().flatten().collect();
        let world = World { rank, space: Space::of(self.context.tasks()), blocks };
        // SYNC: Release pairs with `world`'s Acquire.
        self.world.store(Box::leak(Box::new(world)), Ordering::Release);
        Ok(())
    }

    pub(crate) fn regions(&self) -> MutexGuard<'_, Regions> {
        locked(&self.regions)
    }

    pub(crate) fn heap(&self) -> MutexGuard<'_, Heap> {
        locked(&self.heap)
    }

    /// The channels, with the context's lock.
    #[inline]
    pub(crate) fn channels(&self) -> Access<'_, Channels> {
        self.channels.lock(&self.context)
    }

    pub(crate) fn iterators(&self) -> MutexGuard<'_, Iterators> {
        locked(&self.data.iterators)
    }

    /// Whether a task has died.
    pub(crate) fn is_gone(&self, task: u32) -> bool {
        // SYNC: SeqCst with `hooks`: who says here what it needs, and then does not see the death,
        // is seen by the death.
        self.gone.get(task as usize).is_some_and(|gone| gone.load(Ordering::SeqCst))
    }

    /// Waits until nobody works with memory any more that was unregistered.
    pub(crate) fn wait_for_owners(&self, region: &mut Arc<Region>) -> Result {
        // Not the count alone: this orders what the others did before what the caller does next.
        let mut alone = || Arc::get_mut(region).is_some();
        // Who that is, the memory does not say: it may be anybody.
        let anybody = || (0..self.context.tasks()).collect();
        if alone() { Ok(()) } else { self.wait(anybody, alone) }
    }

    /// Waits until all processes have come here.
    pub(crate) fn sync(&self) -> Result {
        // SYNC: SeqCst: stores to mapped memory precede everything that others do afterwards.
        fence(Ordering::SeqCst);
        self.team.barrier().map_err(|error| {
            tracing::error!(target: "lapis::acp", "acp_sync: {error}");
            Error::Peer
        })
    }

    /// Waits until nothing of this process's is under way, and then for all others to be there.
    fn settle(&self) -> Result {
        // What failed was told of when it was asked for, or nobody asked; and whoever died is no
        // reason not to go on. All others come here, too: who stayed away would hold them up.
        let _ = self.complete(crate::order::ALL);
        let _ = self.context.fence();
        self.sync()
    }

    /// Begins anew with another rank. Collective.
    pub(crate) fn reset(&self, rank: i32) -> Result {
        let wanted = u32::try_from(rank).ok().filter(|rank| *rank < self.context.tasks());
        self.settle()?;
        // Before anything is forgotten, so that a refusal changes nothing; it is everybody's.
        self.meet(wanted.unwrap_or(u32::MAX))?;
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
