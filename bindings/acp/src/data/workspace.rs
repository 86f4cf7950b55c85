//! Workspaces: bytes that lie in pieces in the memory of several processes, and are read and
//! written as if they lay in one.
//!
//! All processes make and destroy a workspace together. The descriptor is the one of release 3.0's
//! header, in memory of the process that got it. Pieces come from the heaps of acp_malloc.

use crate::error::{Error, Result, of_core};
use crate::process::Process;
use lapis_core::sync::blocking::Mutex;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::PoisonError;

/// Where the next workspace begins, and how it is cut.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    start: u64,
    piece: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { start: 0, piece: 1 << 20 }
    }
}

/// What this process knows of workspaces: the parameters, and which descriptors it has given.
#[derive(Default)]
pub(crate) struct Workspaces {
    known: Mutex<(Parameters, Vec<usize>)>,
}

impl Workspaces {
    fn with<T>(&self, f: impl FnOnce(&mut Parameters, &mut Vec<usize>) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (parameters, given) = &mut *known;
        f(parameters, given)
    }

    /// Nothing is any more.
    pub(crate) fn reset(&self) {
        self.with(|parameters, given| {
            *parameters = Parameters::default();
            given.clear();
        });
    }
}

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

fn leak<T>(elements: Vec<T>) -> *mut T {
    Box::into_raw(elements.into_boxed_slice()).cast()
}

/// Takes back what `leak` gave.
///
/// # Safety
/// `elements` is from `leak`, of so many elements, and nobody uses it any more.
unsafe fn unleak<T>(elements: *mut T, len: usize) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(elements, len)) });
}

impl Process {
    /// Says at which rank the next workspace begins, and how long its pieces are.
    pub(crate) fn workspace_parameters(&self, start: u64, piece: u64) -> Result {
        if piece == 0 || i32::try_from(piece).is_err() {
            return Err(Error::Size);
        }
        if start >= u64::from(self.context.tasks()) {
            return Err(Error::Rank);
        }
        self.data.workspaces.with(|parameters, _| *parameters = Parameters { start, piece });
        Ok(())
    }

    /// Makes a workspace with all other processes.
    pub(crate) fn create_workspace(&self, size: u64) -> Result<*mut Workspace> {
        let Parameters { start, piece } = self.data.workspaces.with(|parameters, _| *parameters);
        let (procs, mine) = (u64::from(self.context.tasks()), u64::from(self.world().rank));
        let count = size.div_ceil(piece);
        let rank_of = |at: u64| (start + at) % procs;
        let mut gas = vec![0; usize::try_from(count).map_err(|_| Error::Size)?];
        let sizes: Vec<u64> = (0..count).map(|at| piece.min(size - at * piece)).collect();
        // Every process makes its own pieces, and all learn of all, of failures, too.
        let mut own = Vec::new();
        let made = (0..count).filter(|at| rank_of(*at) == mine).try_for_each(|at| {
            let len = sizes.get(at as usize).copied().unwrap_or(0);
            let ga = self.allocate(len, self.world().rank)?;
            own.push(ga);
            self.write_zeros(ga, len)
        });
        let failed = u64::from(size == 0 || made.is_err());
        let per_process = count.div_ceil(procs);
        let mut card = vec![failed, self.world().rank.into(), size, start, piece];
        card.extend((0..per_process).map(|at| own.get(at as usize).copied().unwrap_or(0)));
        let bytes: Vec<u8> = card.iter().flat_map(|word| word.to_le_bytes()).collect();
        let cards = self.context.all_gather(&bytes).map_err(of_core)?;
        let agreed = cards.chunks_exact(bytes.len()).all(|other| {
            let word = |at: usize| {
                other.get(at * 8..at * 8 + 8).and_then(|w| w.try_into().ok()).map(u64::from_le_bytes)
            };
            if (2..5).any(|at| word(at) != card.get(at).copied()) || word(0) != Some(0) {
                return false;
            }
            let theirs = (0..count).filter(|at| Some(rank_of(*at)) == word(1));
            theirs.zip(5..).for_each(|(at, place)| gas[at as usize] = word(place).unwrap_or(0));
            true
        });
        if !agreed {
            own.iter().try_for_each(|ga| self.free(*ga))?;
            return made.and(Err(if size == 0 { Error::Size } else { Error::Memory }));
        }
        let at = self.describe(size, piece, (gas, sizes), &own, rank_of);
        self.data.workspaces.with(|parameters, given| {
            parameters.start = rank_of(count);
            given.push(at.expose_provenance());
        });
        Ok(at)
    }

    fn describe(
        &self,
        size: u64,
        piece: u64,
        (gas, sizes): (Vec<u64>, Vec<u64>),
        own: &[u64],
        rank_of: impl Fn(u64) -> u64,
    ) -> *mut Workspace {
        let first = own.first().copied().unwrap_or(0);
        let data = self.world().mapped(first, 1).filter(|_| first != 0).unwrap_or(null_mut());
        Box::into_raw(Box::new(Workspace {
            size_ws: size as usize,
            size_default: piece as usize,
            size_remainder: (size % piece) as usize,
            ngas: gas.len(),
            key_data: 0,
            ga_data: first,
            keys: leak(vec![0; gas.len()]),
            procs: leak((0..gas.len() as u64).map(|at| rank_of(at) as c_int).collect()),
            sizes: leak(sizes.iter().map(|size| *size as c_int).collect()),
            gas: leak(gas),
            data: data.cast(),
        }))
    }

    /// The pieces of a part of a workspace.
    fn pieces(&self, at: *mut Workspace, size: u64, offset: u64) -> Result<Vec<(u64, u64)>> {
        self.data.workspaces.with(|_, given| {
            if !given.contains(&at.addr()) {
                return Err(Error::Structure);
            }
            // SAFETY: it was given and not taken back, and programs only read it.
            let (workspace, gas) = unsafe { (&*at, std::slice::from_raw_parts((*at).gas, (*at).ngas)) };
            let (whole, piece) = (workspace.size_ws as u64, workspace.size_default as u64);
            if offset > whole || size > whole - offset {
                return Err(Error::Size);
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
