//! Layouts by construction, with MPI's datatype constructors, and their compilation to programs.

use crate::descriptor::Descriptor;
use crate::encode;
use crate::error::Error;
use crate::ir::{Body, Item};

/// Which bytes, in which order, and how far one element is from the next.
///
/// Constructors mirror MPI's. Displacements and strides are in bytes where the name starts with `h`
/// and in `structure`, else in extents of the old layout. They fail only if an offset or a size
/// exceeds 64 bits.
///
/// ```
/// use lapis_dgsp::Layout;
/// # fn main() -> Result<(), lapis_dgsp::Error> {
/// // A column of a 100 × 80 matrix of doubles, stored by rows.
/// let double = Layout::bytes(8)?;
/// let column = Layout::vector(100, 1, 80, &double)?;
/// assert_eq!((column.size(), column.extent()), (800, (99 * 80 + 1) * 8));
/// let program = column.compile()?;
/// assert_eq!(program.depth, 2);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    body: Body,
    /// Lower and upper bound; none for what has neither bytes nor bounds set, as an empty type map
    /// in MPI.
    bounds: Option<(i64, i64)>,
}

/// Which index of an array varies fastest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last one.
    C,
    /// The first one.
    Fortran,
}

/// How one dimension of a distributed array is dealt out (`MPI_DISTRIBUTE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Every process has all of it.
    None,
    /// One block each; `None` divides evenly, rounding up.
    Block(Option<u64>),
    /// Blocks of this many elements in turn.
    Cyclic(u64),
}

/// One dimension of a distributed array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// Elements of the whole array.
    pub size: u64,
    /// How they are dealt out.
    pub dist: Distribution,
    /// Processes along this dimension.
    pub procs: u64,
    /// This process's place among them.
    pub coord: u64,
}

type Made = Result<Layout, Error>;

impl Layout {
    /// `n` contiguous bytes.
    pub fn bytes(n: u64) -> Made {
        let ub = i64::try_from(n).map_err(|_| Error::overflow())?;
        Ok(Self { body: Body::bytes(0, n)?, bounds: (n > 0).then_some((0, ub)) })
    }

    /// `count` elements side by side.
    pub fn contiguous(count: u64, old: &Self) -> Made {
        Self::hvector(count, 1, old.extent(), old)
    }

    /// `count` blocks of `blocklen` elements, `stride` elements apart.
    pub fn vector(count: u64, blocklen: u64, stride: i64, old: &Self) -> Made {
        Self::hvector(count, blocklen, mul(stride, old.extent())?, old)
    }

    /// `count` blocks of `blocklen` elements, `stride` bytes apart.
    pub fn hvector(count: u64, blocklen: u64, stride: i64, old: &Self) -> Made {
        let block = old.run(blocklen, old.extent())?;
        block.run(count, stride)
    }

    /// Blocks of (length, displacement), both in elements.
    pub fn indexed(blocks: &[(u64, i64)], old: &Self) -> Made {
        let mut place = Place::default();
        for &(len, disp) in blocks {
            place.add(mul(disp, old.extent())?, len, old)?;
        }
        place.done()
    }

    /// Blocks of (length in elements, displacement in bytes).
    pub fn hindexed(blocks: &[(u64, i64)], old: &Self) -> Made {
        let mut place = Place::default();
        for &(len, disp) in blocks {
            place.add(disp, len, old)?;
        }
        place.done()
    }

    /// Blocks of `blocklen` elements at displacements in elements.
    pub fn indexed_block(blocklen: u64, disps: &[i64], old: &Self) -> Made {
        let block = old.run(blocklen, old.extent())?;
        let mut place = Place::default();
        for &disp in disps {
            place.add(mul(disp, old.extent())?, 1, &block)?;
        }
        place.done()
    }

    /// Blocks of `blocklen` elements at displacements in bytes.
    pub fn hindexed_block(blocklen: u64, disps: &[i64], old: &Self) -> Made {
        let block = old.run(blocklen, old.extent())?;
        let mut place = Place::default();
        for &disp in disps {
            place.add(disp, 1, &block)?;
        }
        place.done()
    }

    /// Fields of (count, displacement in bytes, layout). There is no padding at the end; see
    /// [`Layout::aligned`].
    pub fn structure(fields: &[(u64, i64, &Self)]) -> Made {
        let mut place = Place::default();
        for &(count, disp, layout) in fields {
            place.add(disp, count, layout)?;
        }
        place.done()
    }

    /// A box of `sub` elements at `start` of an array of `sizes` elements. The slices have one
    /// entry for each dimension.
    pub fn subarray(sizes: &[u64], sub: &[u64], start: &[u64], order: Order, old: &Self) -> Made {
        let mut layout = old.clone();
        for d in fastest_first(sizes.len(), order) {
            let step = layout.extent();
            let first = mul(long(start[d])?, step)?;
            let mut place = Place::default();
            place.add(first, 1, &layout.run(sub[d], step)?)?;
            layout = place.done()?.resized(0, mul(long(sizes[d])?, step)?)?;
        }
        Ok(layout)
    }

    /// One process's share of an array that is dealt out over a grid of processes.
    pub fn distributed(dims: &[Dim], order: Order, old: &Self) -> Made {
        let mut layout = old.clone();
        for d in fastest_first(dims.len(), order) {
            layout = layout.share(&dims[d])?;
        }
        Ok(layout)
    }

    /// The same bytes with another lower bound and extent.
    pub fn resized(&self, lb: i64, extent: i64) -> Made {
        let ub = lb.checked_add(extent).ok_or(Error::overflow())?;
        Ok(Self { body: self.body.clone(), bounds: Some((lb, ub)) })
    }

    /// The same bytes with the extent rounded up to a multiple of `align`, as C compilers pad
    /// structures.
    pub fn aligned(&self, align: u32) -> Made {
        let align = i64::from(align.max(1));
        let over = self.extent().rem_euclid(align);
        let pad = if over == 0 { 0 } else { align - over };
        self.resized(self.lb(), self.extent().checked_add(pad).ok_or(Error::overflow())?)
    }

    /// Bytes of one element.
    pub fn size(&self) -> u64 {
        self.body.size
    }

    /// Lower bound, which is where neighbours end.
    pub fn lb(&self) -> i64 {
        self.bounds.map_or(0, |b| b.0)
    }

    /// Distance from one element to the next.
    pub fn extent(&self) -> i64 {
        self.bounds.map_or(0, |(lb, ub)| ub.wrapping_sub(lb))
    }

    /// Offsets of the lowest byte and past the highest one.
    pub fn true_bounds(&self) -> (i64, i64) {
        (self.body.lo, self.body.hi)
    }

    /// The program for this layout.
    pub fn compile(&self) -> Result<Descriptor, Error> {
        encode::program(&self.body.canonical()?, self.extent(), 0)
    }

    /// The program for this layout, whose packets carry whole atoms.
    pub fn compile_with_atom(&self, atom_size: i32) -> Result<Descriptor, Error> {
        let desc = encode::program(&self.body.canonical()?, self.extent(), atom_size)?;
        desc.check_header()?;
        Ok(desc)
    }

    fn run(&self, count: u64, stride: i64) -> Made {
        if count == 0 {
            return Ok(Self { body: Body::default(), bounds: None });
        }
        let body = Body::repeated(0, count, stride, &self.body)?;
        let Some((lb, ub)) = self.bounds else { return Ok(Self { body, bounds: None }) };
        let travel = mul(long(count - 1)?, stride)?;
        let lb = lb.checked_add(travel.min(0)).ok_or(Error::overflow())?;
        let ub = ub.checked_add(travel.max(0)).ok_or(Error::overflow())?;
        Self { body, bounds: Some((lb, ub)) }.checked()
    }

    fn share(&self, dim: &Dim) -> Made {
        let step = self.extent();
        let (procs, coord) = (dim.procs.max(1), dim.coord);
        let (block, procs, coord) = match dim.dist {
            Distribution::None => (dim.size, 1, 0),
            Distribution::Block(None) => (dim.size.div_ceil(procs), procs, coord),
            Distribution::Block(Some(n)) | Distribution::Cyclic(n) => (n, procs, coord),
        };
        let mut place = Place::default();
        let first = coord.saturating_mul(block);
        if block > 0 && first < dim.size {
            let round = procs.checked_mul(block).ok_or(Error::overflow())?;
            let rounds = match dim.dist {
                Distribution::Cyclic(_) => dim.size - first,
                // Dealt out once; a block size too small for the array leaves a rest that MPI
                // forbids.
                _ => block.min(dim.size - first),
            };
            let (full, rest) = (rounds / round, (rounds % round).min(block));
            let (full, rest) = if rest == block { (full + 1, 0) } else { (full, rest) };
            let (at, pitch) = (mul(long(first)?, step)?, mul(long(round)?, step)?);
            place.add(at, 1, &self.run(block, step)?.run(full, pitch)?)?;
            let end = mul(long(full)?, pitch)?.checked_add(at).ok_or(Error::overflow())?;
            place.add(end, 1, &self.run(rest, step)?)?;
        }
        place.done()?.resized(0, mul(long(dim.size)?, step)?)
    }

    fn checked(self) -> Made {
        let (lb, ub) = self.bounds.unwrap_or((0, 0));
        ub.checked_sub(lb).ok_or(Error::overflow())?;
        Ok(self)
    }
}

/// Collects elements at displacements.
#[derive(Default)]
struct Place {
    items: Vec<Item>,
    bounds: Option<(i64, i64)>,
}

impl Place {
    fn add(&mut self, disp: i64, count: u64, layout: &Layout) -> Result<(), Error> {
        if count == 0 {
            return Ok(());
        }
        let run;
        let layout = if count == 1 {
            layout
        } else {
            run = layout.run(count, layout.extent())?;
            &run
        };
        let Some((lb, ub)) = layout.bounds else { return Ok(()) };
        self.items.extend(layout.body.shifted_items(disp)?);
        let lb = lb.checked_add(disp).ok_or(Error::overflow())?;
        let ub = ub.checked_add(disp).ok_or(Error::overflow())?;
        self.bounds = Some(self.bounds.map_or((lb, ub), |(l, u)| (l.min(lb), u.max(ub))));
        Ok(())
    }

    fn done(self) -> Made {
        Layout { body: Body::new(self.items)?, bounds: self.bounds }.checked()
    }
}

fn fastest_first(dims: usize, order: Order) -> Box<dyn Iterator<Item = usize>> {
    match order {
        Order::C => Box::new((0..dims).rev()),
        Order::Fortran => Box::new(0..dims),
    }
}

fn mul(a: i64, b: i64) -> Result<i64, Error> {
    a.checked_mul(b).ok_or(Error::overflow())
}

fn long(n: u64) -> Result<i64, Error> {
    i64::try_from(n).map_err(|_| Error::overflow())
}
