//! Lowering of the normal form to a plan.

use lapis_ablation::{Optimization, without};
use std::sync::Arc;

use crate::engine::kernels::{self, Kernels};
use crate::engine::permute::Permutation;
use crate::error::Error;
use crate::ir::{Body, Item, Kind, Loop};

/// Loops over at most this many blocks run field by field, so that each field has its own kernel.
const MOST_FIELDS: usize = 32;
/// A loop of at most this many blocks between other blocks is written out into their table.
const SMALL_LOOP: u64 = 16;

/// Blocks that are looked at together for a common length.
const WINDOW: usize = 16;
/// How many times more blocks a table may have than the list it replaces.
const MOST_SPLIT: u64 = 2;

/// How to move the bytes of a body. Offsets are relative to where the plan is placed.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// One block.
    Bytes { off: isize, len: usize },
    /// Equal blocks at a constant stride.
    Strided { off: isize, count: usize, stride: isize, len: usize, kernels: Kernels },
    /// A matrix of equal blocks: [outer, inner].
    Grid { off: isize, counts: [usize; 2], strides: [isize; 2], len: usize, kernels: Kernels },
    /// Equal blocks anywhere.
    Table { offs: Arc<[i32]>, base: isize, len: usize, kernels: Kernels },
    /// Blocks of any lengths anywhere; `ends` are the sums of lengths.
    List { offs: Box<[isize]>, ends: Box<[usize]>, kernels: Kernels },
    /// A few blocks, repeated.
    Fields {
        off: isize,
        count: usize,
        stride: isize,
        size: usize,
        fields: Box<[Field]>,
        /// For structures that go by several at a time.
        permutation: Option<Box<Permutation>>,
    },
    /// Anything, repeated.
    Loop { off: isize, count: usize, stride: isize, size: usize, body: Box<Self> },
    /// One after the other; `ends` are the sums of sizes.
    Seq { parts: Box<[Self]>, ends: Box<[usize]> },
}

/// One block of a structure.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) off: isize,
    pub(crate) len: usize,
    /// Where the field starts in the packed structure.
    pub(crate) at: usize,
    pub(crate) kernels: Kernels,
}

impl Plan {
    /// The plan for a body that repeats for ever at `extent`.
    pub(crate) fn endless(body: &Body, extent: i64) -> Result<Self, Error> {
        let reach =
            body.lo.unsigned_abs().max(body.hi.unsigned_abs()).max(extent.unsigned_abs()).max(body.size);
        // Beyond any address space, and short of any overflow.
        let count = (i64::MAX as u64 / 8 / reach.max(1)).max(1);
        Ok(Self::lower(&Body::repeated(0, count, extent, body)?))
    }

    pub(crate) fn lower(body: &Body) -> Self {
        let mut parts = Vec::new();
        let mut blocks: Vec<(i64, u64)> = Vec::new();
        for item in &body.items {
            if body.items.len() > 1 && flatten(item, &mut blocks) {
                continue;
            }
            table(&mut blocks, &mut parts);
            parts.push(match &item.kind {
                Kind::Bytes(len) => Self::Bytes { off: item.off as isize, len: *len as usize },
                Kind::Loop(l) => Self::lower_loop(item.off, l),
            });
        }
        table(&mut blocks, &mut parts);
        let mut parts = grids(parts);
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let mut end = 0;
        let ends = parts.iter().map(|p| {
            end += p.size();
            end
        });
        Self::Seq { ends: ends.collect(), parts: parts.into() }
    }

    /// Bytes that the plan moves.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Bytes { len, .. } => *len,
            Self::Strided { count, len, .. } => count * len,
            Self::Grid { counts, len, .. } => counts[0] * counts[1] * len,
            Self::Table { offs, len, .. } => offs.len() * len,
            Self::List { ends, .. } | Self::Seq { ends, .. } => ends.last().copied().unwrap_or(0),
            Self::Fields { count, size, .. } | Self::Loop { count, size, .. } => count * size,
        }
    }

    /// How many blocks the plan has.
    pub(crate) fn blocks(&self) -> usize {
        match self {
            Self::Bytes { .. } => 1,
            Self::Strided { count, .. } => *count,
            Self::Grid { counts, .. } => counts[0] * counts[1],
            Self::Table { offs, .. } => offs.len(),
            Self::List { offs, .. } => offs.len(),
            Self::Fields { count, fields, .. } => count * fields.len(),
            Self::Loop { count, body, .. } => count.saturating_mul(body.blocks()),
            Self::Seq { parts, .. } => parts.iter().map(Self::blocks).sum(),
        }
    }

    fn lower_loop(off: i64, l: &Loop) -> Self {
        let (off, count, stride) = (off as isize, l.count as usize, l.stride as isize);
        let size = l.body.size as usize;
        let mut blocks = Vec::new();
        let all_blocks = l.body.items.iter().all(|i| flatten(i, &mut blocks)) && blocks.len() <= MOST_FIELDS;
        let permutes = all_blocks && !without(Optimization::DgspPermute);
        let permutation = if permutes { Permutation::new(&blocks, l.stride) } else { None };
        if let [Item { off: o, kind }] = &l.body.items[..]
            && permutation.is_none()
        {
            let off = off + *o as isize;
            match kind {
                Kind::Bytes(len) => {
                    let len = *len as usize;
                    return Self::Strided { off, count, stride, len, kernels: kernels::kernels(len) };
                }
                Kind::Loop(inner) => {
                    if let [Item { off: o, kind: Kind::Bytes(len) }] = inner.body.items[..] {
                        let (counts, strides) =
                            ([count, inner.count as usize], [stride, inner.stride as isize]);
                        let (off, len) = (off + o as isize, len as usize);
                        return Self::Grid { off, counts, strides, len, kernels: kernels::kernels(len) };
                    }
                }
            }
        }
        if all_blocks && (permutation.is_some() || disjoint(&blocks, &l.body, l.stride)) {
            let mut at = 0;
            let fields = blocks.iter().map(|&(off, len)| {
                let len = len as usize;
                let field = Field { off: off as isize, len, at, kernels: kernels::kernels(len) };
                at += len;
                field
            });
            return Self::Fields { off, count, stride, size, fields: fields.collect(), permutation };
        }
        Self::Loop { off, count, stride, size, body: Box::new(Self::lower(&l.body)) }
    }
}

/// Joins equal runs of blocks, equally far apart, to matrices: faces of boxes have a few rows of
/// them, too few for a loop in the normal form, and every part costs a dispatch.
fn grids(parts: Vec<Plan>) -> Vec<Plan> {
    let mut out: Vec<Plan> = Vec::with_capacity(parts.len());
    for part in parts {
        let joined = out.last().and_then(|last| join(last, &part));
        match (joined, out.last_mut()) {
            (Some(joined), Some(last)) => *last = joined,
            _ => out.push(part),
        }
    }
    out
}

fn join(last: &Plan, part: &Plan) -> Option<Plan> {
    let Plan::Strided { off: next, count, stride, len, kernels } = *part else { return None };
    let (off, rows, apart) = match *last {
        Plan::Strided { off, count: c, stride: s, len: l, .. } if (c, s, l) == (count, stride, len) => {
            (off, 1, next.checked_sub(off)?)
        }
        Plan::Grid { off, counts: [rows, c], strides: [apart, s], len: l, .. }
            if (c, s, l) == (count, stride, len)
                && apart.checked_mul(rows as isize)?.checked_add(off)? == next =>
        {
            (off, rows, apart)
        }
        _ => return None,
    };
    Some(Plan::Grid { off, counts: [rows + 1, count], strides: [apart, stride], len, kernels })
}

/// Whether no byte belongs to two blocks of the loop. Else the order of writes matters, and field
/// by field changes it.
fn disjoint(blocks: &[(i64, u64)], body: &Body, stride: i64) -> bool {
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable();
    let apart = sorted.windows(2).all(|w| w[0].0.wrapping_add_unsigned(w[0].1) <= w[1].0);
    apart && body.hi.abs_diff(body.lo) <= stride.unsigned_abs()
}

/// Adds the blocks of a block or a small loop; false, and nothing is added, if the item is
/// something larger.
fn flatten(item: &Item, blocks: &mut Vec<(i64, u64)>) -> bool {
    let before = blocks.len();
    let ok = flatten_at(item, 0, SMALL_LOOP, blocks);
    if !ok {
        blocks.truncate(before);
    }
    ok
}

fn flatten_at(item: &Item, base: i64, room: u64, blocks: &mut Vec<(i64, u64)>) -> bool {
    let at = base.wrapping_add(item.off);
    match &item.kind {
        Kind::Bytes(len) => {
            blocks.push((at, *len));
            true
        }
        Kind::Loop(l) => {
            let each = l.body.items.len() as u64;
            l.count.saturating_mul(each) <= room
                && (0..l.count as i64).all(|i| {
                    let base = at.wrapping_add(l.stride.wrapping_mul(i));
                    l.body.items.iter().all(|inner| flatten_at(inner, base, room / (l.count * each), blocks))
                })
        }
    }
}

/// Blocks as (offset, length).
type Blocks = Vec<(i64, u64)>;

/// Makes parts of the collected blocks: tables of equal blocks where splitting the blocks makes
/// them equal and doesn't make many more of them, lists elsewhere. Neighbours in index lists were
/// merged to blocks of two or three elements, whose lengths no branch predictor foresees; the split
/// undoes that where it pays.
fn table(blocks: &mut Blocks, parts: &mut Vec<Plan>) {
    let mut segments: Vec<(Option<u64>, Blocks)> = Vec::new();
    for window in blocks.chunks(WINDOW) {
        let unit = common_unit(window);
        match segments.last_mut() {
            Some((last, segment)) if *last == unit => segment.extend(window),
            _ => segments.push((unit, window.to_vec())),
        }
    }
    for (unit, segment) in segments {
        parts.push(match unit {
            _ if segment.len() == 1 => Plan::Bytes { off: segment[0].0 as isize, len: segment[0].1 as usize },
            Some(unit) => equal_blocks(&segment, unit).unwrap_or_else(|| list(&segment)),
            None => list(&segment),
        });
    }
    blocks.clear();
}

/// The length that all blocks of a window are multiples of, unless splitting them makes too many.
fn common_unit(window: &[(i64, u64)]) -> Option<u64> {
    let unit = window.iter().fold(0, |unit, &(_, len)| gcd(unit, len));
    let split: u64 = window.iter().map(|&(_, len)| len / unit.max(1)).sum();
    (split <= MOST_SPLIT * window.len() as u64).then_some(unit)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A table of blocks of `unit` bytes, if all are near enough to the first for 32 bits.
fn equal_blocks(blocks: &[(i64, u64)], unit: u64) -> Option<Plan> {
    let first = blocks[0].0;
    let offs: Option<Arc<[i32]>> = blocks
        .iter()
        .flat_map(|&(off, len)| (0..len / unit).map(move |i| off.wrapping_add_unsigned(i * unit)))
        .map(|off| i32::try_from(off.wrapping_sub(first)).ok())
        .collect();
    let len = unit as usize;
    Some(Plan::Table { offs: offs?, base: first as isize, len, kernels: kernels::kernels(len) })
}

fn list(blocks: &[(i64, u64)]) -> Plan {
    let mut end = 0;
    let ends = blocks.iter().map(|&(_, len)| {
        end += len as usize;
        end
    });
    Plan::List {
        ends: ends.collect(),
        offs: blocks.iter().map(|b| b.0 as isize).collect(),
        kernels: kernels::kernels(0),
    }
}
