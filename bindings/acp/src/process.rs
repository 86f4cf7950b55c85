//! The state of a process of an ACP job.

use crate::address::Space;
use crate::channel::Channels;
use crate::channel_lane::{BYTES as LANE, Writer};
use crate::colours::Colours;
use crate::data::Data;
use crate::data::numbered::Iterators;
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::operation::Work;
use crate::order::Order;
use crate::probe_schedule::ProbeSchedule;
use crate::regions::{Region, Regions};
use crate::requests::Requests;
use crate::segbuf_ends::Segbufs;
use crate::settings::Settings;
use lapis_collectives::Team;
use lapis_core::context::{Access, Guarded};
use lapis_core::sync::blocking::{Mutex, MutexGuard};
use lapis_core::sync::{AtomicBool, AtomicPtr, Ordering, fence};
use lapis_core::{Context, Memory};
use std::sync::{Arc, PoisonError};

/// Memory that a process has from its beginning to its end: the starter memory, then the heap.
pub(crate) struct Block {
    pub(crate) task: u32,
    pub(crate) len: u64,
    pub(crate) starter: u64,
    /// Bytes of its memory for lanes, which no address names.
    pub(crate) lanes: u64,
    /// Where it is in this address space; null if it is not.
    pub(crate) mapped: *mut u8,
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

/// Who is who, until ranks are reassigned.
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

/// How long a process's memory is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Values of the Rust layer refer to it, and may outlive the job.
    ForEver,
    /// Calls alone refer to it.
    UntilTheNextEnds,
}

/// What this process is.
pub(crate) struct Process {
    pub(crate) lifetime: Lifetime,
    pub(crate) context: Context,
    pub(crate) space: Space,
    pub(crate) colours: Colours,
    pub(crate) team: Team,
    pub(crate) settings: Settings,
    /// Bytes of this process's memory for lanes.
    pub(crate) lanes: u64,
    pub(crate) memory: Mutex<Option<Memory>>,
    pub(crate) world: AtomicPtr<World>,
    pub(crate) order: Order<Work>,
    pub(crate) regions: Mutex<Regions>,
    pub(crate) heap: Mutex<Heap>,
    pub(crate) channels: Guarded<Channels>,
    pub(crate) requests: Requests,
    pub(crate) data: Data,
    pub(crate) segbufs: Segbufs,
    pub(crate) probe_schedule: ProbeSchedule,
    /// By task: it has died.
    pub(crate) gone: Box<[AtomicBool]>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where memory for lanes begins behind a block of so many bytes.
pub(crate) fn lanes_from(len: u64) -> u64 {
    len.next_multiple_of(64)
}

impl Process {
    pub(crate) fn world(&self) -> &'static World {
        // SYNC: Acquire pairs with `meet`'s Release.
        let world = self.world.load(Ordering::Acquire);
        // SAFETY: `join` stored one before anybody got the process, and the last one is freed with
        // it, no other one ever.
        unsafe { &*world }
    }

    /// Whether nobody but threads that are about to leave a call refers to it.
    pub(crate) fn may_be_freed(&self) -> bool {
        // In a forked child it is the parent's; a context that has not ended runs handlers.
        let ended = self.context.is_of_this_process() && !self.context.is_usable();
        ended && self.lifetime == Lifetime::UntilTheNextEnds
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
}

impl Drop for Process {
    fn drop(&mut self) {
        let world = self.world.load(Ordering::Relaxed);
        if !world.is_null() {
            // SAFETY: `meet` made it of a box, and nobody is left who might look at it.
            drop(unsafe { Box::from_raw(world) });
        }
    }
}
