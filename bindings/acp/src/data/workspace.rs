//! Workspaces: bytes that lie in pieces in the memory of several processes, and are read and
//! written as if they lay in one.
//!
//! All processes make and destroy a workspace together. The descriptor is the one of release 3.0's
//! header, in memory of the process that got it. Pieces come from the heaps of acp_malloc.

use super::workspace_plan::{Parameters, Plan};
use crate::diagnostics::Blame as _;
use crate::error::{Error, Result, of_core};
use crate::process::Process;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// A workspace as C programs see it. Vectors of `ngas` elements are behind the pointers.
#[derive(Debug)]
#[repr(C)]
pub struct Workspace {
    /// Bytes of the whole.
    pub size_ws: usize,
    /// Bytes of a piece.
    pub size_default: usize,
    /// Bytes of the last piece if it is shorter, else 0.
    pub size_remainder: usize,
    /// Pieces.
    pub ngas: usize,
    /// The key of this process's piece: memory of acp_malloc has none.
    pub key_data: u64,
    /// This process's first piece, or 0.
    pub ga_data: u64,
    /// Keys of the pieces, which have none.
    pub keys: *mut u64,
    /// Addresses of the pieces.
    pub gas: *mut u64,
    /// Ranks that have them.
    pub procs: *mut c_int,
    /// Their bytes.
    pub sizes: *mut c_int,
    /// This process's first piece, or null.
    pub data: *mut c_void,
}

/// What a workspace tells of each piece.
struct Lists {
    keys: Vec<u64>,
    gas: Vec<u64>,
    procs: Vec<c_int>,
    sizes: Vec<c_int>,
}

impl Lists {
    fn with_room(count: u64) -> Result<Self> {
        fn room<T>(count: u64) -> Result<Vec<T>> {
            let mut list = Vec::new();
            let count = usize::try_from(count).map_err(|_| Error::Size)?;
            list.try_reserve_exact(count).map_err(|_| Error::Memory)?;
            Ok(list)
        }
        Ok(Self { keys: room(count)?, gas: room(count)?, procs: room(count)?, sizes: room(count)? })
    }
}

fn leak<T>(elements: Vec<T>) -> *mut T {
    Box::into_raw(elements.into_boxed_slice()).cast()
}

/// Takes back what `leak` gave.
///
/// # Safety
/// `elements` is from `leak`, of so many elements, and nobody uses it any more.
unsafe fn unleak<T>(elements: *mut T, len: usize) {
    // SAFETY: `leak` made a box of so many elements of it, which nobody uses any more.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(elements, len)) });
}

impl Process {
    /// Says at which rank the next workspace begins, and how long its pieces are.
    pub(crate) fn workspace_parameters(&self, start: u64, piece: u64) -> Result {
        if piece == 0 || i32::try_from(piece).is_err() {
            return Err(Error::Size).size_of("size_default", piece);
        }
        if start >= u64::from(self.context.tasks()) {
            return Err(Error::Rank).size_of("proc_start", start);
        }
        self.data.workspaces.with(|parameters, _| *parameters = Parameters { start, piece });
        Ok(())
    }

    /// Makes a workspace with all other processes.
    pub(crate) fn create_workspace(&self, size: u64) -> Result<*mut Workspace> {
        let Parameters { start, piece } = self.data.workspaces.with(|parameters, _| *parameters);
        let plan = Plan { size, start, piece, procs: self.context.tasks().into() };
        self.agree(plan)?;
        // Every process makes its own pieces, and all learn of all, of failures, too.
        let mut own = Vec::new();
        let made = self.make_pieces(plan, &mut own);
        let lists = self.all_made(made).and_then(|lists| self.learn_pieces(plan, &own, lists));
        let lists = lists.inspect_err(|_| {
            own.iter().for_each(|ga| {
                let _ = self.free(*ga);
            });
        })?;
        let at = self.describe(plan, lists, &own);
        self.data.workspaces.with(|parameters, given| {
            parameters.start = plan.rank_of(plan.count());
            given.push(at.expose_provenance());
        });
        Ok(at)
    }

    /// Whether all processes want the same, and whether it could be.
    fn agree(&self, plan: Plan) -> Result {
        let card = [plan.size, plan.start, plan.piece].map(u64::to_le_bytes);
        let cards = self.context.all_gather(card.as_flattened()).map_err(of_core)?;
        if cards.chunks_exact(size_of_val(&card)).any(|other| other != card.as_flattened()) {
            tracing::error!(target: "lapis::acp", "acp_create_ws: processes differ in the size, or in \
                what they gave acp_setparams_ws");
            return Err(Error::Size);
        }
        match plan.size {
            0 => Err(Error::Size),
            size if size > self.world().heaps_len() => Err(Error::Memory),
            _ => Ok(()),
        }
    }

    /// Makes this process's pieces, and room to tell of all.
    fn make_pieces(&self, plan: Plan, own: &mut Vec<u64>) -> Result<Lists> {
        let rank = self.world().rank;
        for at in plan.of(rank.into()) {
            let len = plan.len(at);
            let ga = self.allocate(len, rank)?;
            own.push(ga);
            self.write_zeros(ga, len)?;
        }
        Lists::with_room(plan.count())
    }

    /// Fails if that has failed anywhere.
    fn all_made(&self, made: Result<Lists>) -> Result<Lists> {
        let failed = self.context.all_gather(&[u8::from(made.is_err())]).map_err(of_core)?;
        made.and_then(|lists| if failed.contains(&1) { Err(Error::Memory) } else { Ok(lists) })
    }

    /// Learns where everybody's pieces are.
    fn learn_pieces(&self, plan: Plan, own: &[u64], mut lists: Lists) -> Result<Lists> {
        let per_process = plan.count().div_ceil(plan.procs) as usize;
        let mut card = vec![u64::from(self.world().rank).to_le_bytes()];
        card.extend(own.iter().map(|ga| ga.to_le_bytes()));
        card.resize(1 + per_process, [0; 8]);
        let cards = self.context.all_gather(card.as_flattened()).map_err(of_core)?;
        let count = plan.count();
        lists.gas.resize(count as usize, 0);
        for other in cards.chunks_exact(8 * card.len()) {
            let mut words = other.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            let rank = words.next().ok_or(Error::Internal)?;
            for (at, ga) in plan.of(rank).zip(words) {
                lists.gas[at as usize] = ga;
            }
        }
        lists.keys.resize(count as usize, 0);
        lists.procs.extend((0..count).map(|at| plan.rank_of(at) as c_int));
        lists.sizes.extend((0..count).map(|at| plan.len(at) as c_int));
        Ok(lists)
    }

    fn describe(&self, plan: Plan, lists: Lists, own: &[u64]) -> *mut Workspace {
        let first = own.first().copied().unwrap_or(0);
        let data = self.world().mapped(first, 1).filter(|_| first != 0).unwrap_or(null_mut());
        Box::into_raw(Box::new(Workspace {
            size_ws: plan.size as usize,
            size_default: plan.piece as usize,
            size_remainder: (plan.size % plan.piece) as usize,
            ngas: lists.gas.len(),
            key_data: 0,
            ga_data: first,
            keys: leak(lists.keys),
            gas: leak(lists.gas),
            procs: leak(lists.procs),
            sizes: leak(lists.sizes),
            data: data.cast(),
        }))
    }

    /// The pieces of a part of a workspace.
    fn pieces(&self, at: *mut Workspace, size: u64, offset: u64) -> Result<Vec<(u64, u64)>> {
        self.data.workspaces.with(|_, given| {
            if !given.contains(&at.addr()) {
                return Err(Error::Structure).at("WSD", at.addr() as u64);
            }
            // SAFETY: it was given and not taken back, and programs only read it.
            let (workspace, gas) = unsafe { (&*at, std::slice::from_raw_parts((*at).gas, (*at).ngas)) };
            let (whole, piece) = (workspace.size_ws as u64, workspace.size_default as u64);
            if offset > whole {
                return Err(Error::Size).size_of("offset", offset);
            }
            if size > whole - offset {
                return Err(Error::Size).size_of("size", size);
            }
            let (mut pieces, mut done) = (Vec::new(), 0);
            while done < size {
                let (index, within) = ((offset + done) / piece, (offset + done) % piece);
                let len = (piece - within).min(size - done);
                pieces.push((gas.get(index as usize).ok_or(Error::Internal)? + within, len));
                done += len;
            }
            Ok(pieces)
        })
    }

    /// Copies a part of a workspace to memory of any process.
    pub(crate) fn read_workspace(&self, at: *mut Workspace, ga: u64, size: u64, offset: u64) -> Result {
        self.transfer_parts(&[(ga, size)], &self.pieces(at, size, offset)?)
    }

    /// Copies memory of any process to a part of a workspace.
    pub(crate) fn write_workspace(&self, at: *mut Workspace, ga: u64, size: u64, offset: u64) -> Result {
        self.transfer_parts(&self.pieces(at, size, offset)?, &[(ga, size)])
    }

    /// Destroys a workspace when all processes do.
    pub(crate) fn destroy_workspace(&self, at: *mut Workspace) -> Result {
        let known = self.data.workspaces.with(|_, given| {
            let place = given.iter().position(|given| *given == at.addr())?;
            Some(given.swap_remove(place))
        });
        known.ok_or(Error::Structure)?;
        self.sync()?;
        // SAFETY: `describe` made it, and it was just forgotten.
        let workspace = unsafe { Box::from_raw(at) };
        // SAFETY: `describe` made it with so many elements.
        let gas = unsafe { std::slice::from_raw_parts(workspace.gas, workspace.ngas) };
        let mine = self.world().rank;
        let freed =
            gas.iter().filter(|ga| self.world().rank_of(**ga) == Ok(mine)).try_for_each(|ga| self.free(*ga));
        // SAFETY: `describe` leaked them with so many elements.
        unsafe {
            unleak(workspace.keys, workspace.ngas);
            unleak(workspace.gas, workspace.ngas);
            unleak(workspace.procs, workspace.ngas);
            unleak(workspace.sizes, workspace.ngas);
        }
        freed
    }
}
