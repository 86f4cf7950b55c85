//! The normal form of a layout: a list of byte blocks and counted loops over such lists.
//!
//! Layouts and programs both come down to this form, and engines and programs are made from it.
//! Building it
//! - drops what is empty and merges blocks that touch, also from one repetition of a loop to the
//!   next,
//! - turns runs at a constant stride into loops, and loops too short to pay into runs,
//! - fuses loops whose strides continue each other, and lets loops absorb a neighbour that
//!   continues them.
//!
//! Two descriptions of the same bytes in the same order mostly have the same form then;
//! [`Body::canonical`] makes sure of it for all but very long ones.

mod loop_rolling;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::density::Density;
use crate::error::Error;
use loop_rolling::roll_loops;

/// A loop replaces at least this many items; shorter ones are written out. A GOSUB with its routine
/// takes 20 words, an MCOPY block 4, and rolls of a few blocks found by chance in index lists would
/// only slow the copy.
pub(crate) const WORTH_LOOPING: u64 = 8;
/// Longest pattern whose copies are looked for in the body of a loop.
const LONGEST_PATTERN: usize = WORTH_LOOPING as usize;
/// Bodies of at most so many items, with those in loops, are compared item by item.
const MOST_WALKED: u64 = 4096;
/// Layouts of at most so many blocks get their normal form from the list of these, whatever they
/// were built of.
pub(crate) const CANONICAL: u64 = 65536;

/// A list of items in the order of their bytes in the message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    /// Of the items, with those in loops: two hashes.
    digest: [u64; 2],
    pub(crate) items: Vec<Item>,
    pub(crate) size: u64,
    /// Lowest byte and past the highest.
    pub(crate) lo: i64,
    pub(crate) hi: i64,
    /// Levels of loops.
    pub(crate) depth: u32,
    /// Items, those in loops once for each loop: bodies are shared, so there may be far more than
    /// memory has room for.
    pub(crate) nodes: u64,
}

/// The items of large bodies are not walked through: where loops share bodies, that could take for
/// ever. 128 bits tell them apart.
impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
            && self.nodes == other.nodes
            && (self.nodes > MOST_WALKED || self.items == other.items)
    }
}

impl Eq for Body {}

impl Hash for Body {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

/// A block or a loop, at an offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    pub(crate) off: i64,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bytes(u64),
    Loop(Arc<Loop>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Loop {
    pub(crate) count: u64,
    pub(crate) stride: i64,
    pub(crate) body: Body,
}

type Checked<T> = Result<T, Error>;

impl Body {
    /// One block.
    pub(crate) fn bytes(off: i64, len: u64) -> Checked<Self> {
        Self::from_items(vec![Item { off, kind: Kind::Bytes(len) }])
    }

    /// The normal form of a list of normal items.
    pub(crate) fn new(items: Vec<Item>) -> Checked<Self> {
        Self::from_items(roll_loops(merge(items)?)?)
    }

    /// The normal form of `count` times `body`, `stride` apart, shifted by `off`.
    pub(crate) fn repeated(off: i64, count: u64, stride: i64, body: &Self) -> Checked<Self> {
        Self::new(repeat(off, count, stride, body)?)
    }

    pub(crate) fn shifted_items(&self, by: i64) -> Checked<Vec<Item>> {
        self.items.iter().map(|item| item.shifted(by)).collect()
    }

    /// The one form of all bodies with these bytes in this order: what their list of blocks gives.
    /// Bodies of more blocks than are worth listing stay as they are.
    pub(crate) fn canonical(&self) -> Checked<Self> {
        if self.nest().is_some() || self.blocks(CANONICAL).is_none() {
            return Ok(self.clone());
        }
        let mut items = Vec::new();
        self.list(0, &mut items);
        Self::new(items)
    }

    /// For loops around one another and around one block, with nothing else: the places, from the
    /// first block's, where a further block would touch the last one or continue the last run of a
    /// loop. If none does, the list of these blocks gives the same loops again.
    fn nest(&self) -> Option<Vec<i64>> {
        let [Item { kind, .. }] = &self.items[..] else { return None };
        match kind {
            Kind::Bytes(len) => Some(vec![i64::try_from(*len).ok()?]),
            Kind::Loop(l) => {
                let mut places =
                    l.body.nest().filter(|p| l.count >= WORTH_LOOPING && !p.contains(&l.stride))?;
                let travel = i64::try_from(l.count - 1).ok()?.checked_mul(l.stride)?;
                for place in &mut places {
                    *place = place.checked_add(travel)?;
                }
                places.push(travel.checked_add(l.stride)?);
                Some(places)
            }
        }
    }

    /// Blocks, those in loops as often as they come; `None` if there are more than `most`.
    fn blocks(&self, most: u64) -> Option<u64> {
        self.items.iter().try_fold(0, |sum, item| {
            let blocks = match &item.kind {
                Kind::Bytes(_) => 1,
                Kind::Loop(l) => l.count * l.body.blocks(most / l.count)?,
            };
            Some(sum + blocks).filter(|&sum| sum <= most)
        })
    }

    fn list(&self, base: i64, items: &mut Vec<Item>) {
        for item in &self.items {
            // All of it lies between `lo` and `hi`, which fit.
            let at = base.wrapping_add(item.off);
            match &item.kind {
                Kind::Bytes(len) => items.push(Item { off: at, kind: Kind::Bytes(*len) }),
                Kind::Loop(l) => {
                    (0..l.count as i64)
                        .for_each(|i| l.body.list(at.wrapping_add(i.wrapping_mul(l.stride)), items));
                }
            }
        }
    }

    /// The density this layout has when it repeats at `extent`.
    pub(crate) fn density(&self, extent: i64) -> Density {
        match self.items[..] {
            [] => Density::Unit,
            [Item { kind: Kind::Bytes(len), .. }] if len as i64 == extent => Density::Unit,
            [Item { kind: Kind::Bytes(_), .. }] => Density::Contig,
            _ => Density::Sparse,
        }
    }

    pub(crate) fn from_items(mut items: Vec<Item>) -> Checked<Self> {
        items.retain(|i| i.size() > 0);
        let mut all = Self { lo: i64::MAX, hi: i64::MIN, ..Self::default() };
        let mut digest = [DefaultHasher::new(), DefaultHasher::new()];
        digest[1].write_u8(1);
        for item in &items {
            digest.iter_mut().for_each(|digest| item.hash(digest));
            all.nodes = all.nodes.saturating_add(item.nodes());
            let (size, lo, hi, depth) = item.measure().ok_or(Error::overflow())?;
            all.size =
                all.size.checked_add(size).filter(|&s| i64::try_from(s).is_ok()).ok_or(Error::overflow())?;
            (all.lo, all.hi, all.depth) = (all.lo.min(lo), all.hi.max(hi), all.depth.max(depth));
        }
        if items.is_empty() {
            (all.lo, all.hi) = (0, 0);
        }
        all.items = items;
        all.digest = digest.map(|digest| digest.finish());
        Ok(all)
    }
}

impl Item {
    pub(crate) fn size(&self) -> u64 {
        match &self.kind {
            Kind::Bytes(len) => *len,
            // Checked when the list that holds the item is made.
            Kind::Loop(l) => l.count.wrapping_mul(l.body.size),
        }
    }

    fn nodes(&self) -> u64 {
        match &self.kind {
            Kind::Bytes(_) => 1,
            Kind::Loop(l) => l.body.nodes.saturating_add(1),
        }
    }

    fn shifted(&self, by: i64) -> Checked<Self> {
        let off = self.off.checked_add(by).ok_or(Error::overflow())?;
        Ok(Self { off, kind: self.kind.clone() })
    }

    pub(crate) fn same_at(&self, other: &Self, by: i64) -> bool {
        self.off.checked_add(by) == Some(other.off) && self.kind == other.kind
    }

    /// (size, lo, hi, depth), `None` on overflow.
    fn measure(&self) -> Option<(u64, i64, i64, u32)> {
        match &self.kind {
            Kind::Bytes(len) => Some((*len, self.off, self.off.checked_add_unsigned(*len)?, 0)),
            Kind::Loop(l) => {
                let travel = i64::try_from(l.count - 1).ok()?.checked_mul(l.stride)?;
                let lo = self.off.checked_add(travel.min(0))?.checked_add(l.body.lo)?;
                let hi = self.off.checked_add(travel.max(0))?.checked_add(l.body.hi)?;
                Some((l.count.checked_mul(l.body.size)?, lo, hi, l.body.depth + 1))
            }
        }
    }
}

/// The items of a loop in normal form.
pub(crate) fn repeat(off: i64, count: u64, stride: i64, body: &Body) -> Checked<Vec<Item>> {
    let n = body.items.len();
    if count == 0 || n == 0 {
        return Ok(Vec::new());
    }
    if count == 1 {
        return body.shifted_items(off);
    }
    let first = &body.items[0];
    if let [Item { off: o, kind }] = &body.items[..] {
        let at = off.checked_add(*o).ok_or(Error::overflow())?;
        match kind {
            Kind::Bytes(len) if i64::try_from(*len) == Ok(stride) => {
                let len = len.checked_mul(count).ok_or(Error::overflow())?;
                return Ok(vec![Item { off: at, kind: Kind::Bytes(len) }]);
            }
            Kind::Loop(l)
                if i64::try_from(l.count).ok().and_then(|c| c.checked_mul(l.stride)) == Some(stride) =>
            {
                let count = count.checked_mul(l.count).ok_or(Error::overflow())?;
                return repeat(at, count, l.stride, &l.body);
            }
            _ => {}
        }
    }
    if let Some(finer) = refine(off, count, stride, body)? {
        return Ok(finer);
    }
    if let Some(joined) = join_across(off, count, stride, body)? {
        return Ok(joined);
    }
    if count.saturating_mul(n as u64) < WORTH_LOOPING {
        let mut items = Vec::with_capacity(n * count as usize);
        for i in 0..count as i64 {
            let by = stride.checked_mul(i).and_then(|b| b.checked_add(off)).ok_or(Error::overflow())?;
            items.extend(body.shifted_items(by)?);
        }
        return Ok(items);
    }
    let at = off.checked_add(first.off).ok_or(Error::overflow())?;
    let back = first.off.checked_neg().ok_or(Error::overflow())?;
    let body = Body::from_items(body.shifted_items(back)?)?;
    Ok(vec![Item { off: at, kind: Kind::Loop(Arc::new(Loop { count, stride, body })) }])
}

/// A loop over k copies of a pattern that its stride continues is a loop over the pattern, k times
/// as often.
fn refine(off: i64, count: u64, stride: i64, body: &Body) -> Checked<Option<Vec<Item>>> {
    let items = &body.items;
    let n = items.len();
    for p in (1..=n / 2).filter(|&p| n.is_multiple_of(p)).take(LONGEST_PATTERN) {
        let Some(step) = items[p].off.checked_sub(items[0].off) else { continue };
        let k = (n / p) as i64;
        if step.checked_mul(k) == Some(stride) && (p..n).all(|i| items[i - p].same_at(&items[i], step)) {
            let count = count.checked_mul(k as u64).ok_or(Error::overflow())?;
            let group = Body::from_items(items[..p].to_vec())?;
            return repeat(off, count, step, &group).map(Some);
        }
    }
    Ok(None)
}

/// When the last block of one repetition touches the first of the next, the loop is over the joined
/// block.
fn join_across(off: i64, count: u64, stride: i64, body: &Body) -> Checked<Option<Vec<Item>>> {
    let [first, mid @ .., last] = &body.items[..] else { return Ok(None) };
    let (Kind::Bytes(head), Kind::Bytes(tail)) = (&first.kind, &last.kind) else { return Ok(None) };
    if last.off.checked_add_unsigned(*tail) != first.off.checked_add(stride) {
        return Ok(None);
    }
    let joined = Item { off: last.off, kind: Kind::Bytes(head.checked_add(*tail).ok_or(Error::overflow())?) };
    let mut inner = mid.to_vec();
    inner.push(joined);
    let inner = Body::new(inner)?;
    let mut items = vec![first.shifted(off)?];
    items.extend(repeat(off, count - 1, stride, &inner)?);
    let end =
        i64::try_from(count - 1).ok().and_then(|c| c.checked_mul(stride)).and_then(|t| t.checked_add(off));
    let end = end.ok_or(Error::overflow())?;
    for item in mid.iter().chain([last]) {
        items.push(item.shifted(end)?);
    }
    merge(items).map(Some)
}

/// Drops empty items and joins neighbours.
pub(crate) fn merge(items: Vec<Item>) -> Checked<Vec<Item>> {
    let mut out: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        if item.size() == 0 {
            continue;
        }
        let mut item = item;
        // A joined item may in turn continue what stands before it.
        while let Some(top) = out.last() {
            let Some(joined) = join(top, &item)? else { break };
            out.pop();
            item = joined;
        }
        out.push(item);
    }
    Ok(out)
}

fn join(a: &Item, b: &Item) -> Checked<Option<Item>> {
    let looped = |off, count: Option<u64>, l: &Loop| {
        let count = count.ok_or(Error::overflow())?;
        Ok(Some(Item {
            off,
            kind: Kind::Loop(Arc::new(Loop { count, stride: l.stride, body: l.body.clone() })),
        }))
    };
    match (&a.kind, &b.kind) {
        (Kind::Bytes(x), Kind::Bytes(y)) if a.off.checked_add_unsigned(*x) == Some(b.off) => {
            let len = x.checked_add(*y).ok_or(Error::overflow())?;
            Ok(Some(Item { off: a.off, kind: Kind::Bytes(len) }))
        }
        (Kind::Loop(l), Kind::Loop(m))
            if l.stride == m.stride && continues(a, l) == Some(b.off) && l.body == m.body =>
        {
            looped(a.off, l.count.checked_add(m.count), l)
        }
        (Kind::Loop(l), _)
            if l.body.items.len() == 1
                && continues(a, l) == Some(b.off)
                && l.body.items[0].kind == b.kind =>
        {
            looped(a.off, l.count.checked_add(1), l)
        }
        (_, Kind::Loop(m))
            if m.body.items.len() == 1
                && b.off.checked_sub(m.stride) == Some(a.off)
                && m.body.items[0].kind == a.kind =>
        {
            looped(a.off, m.count.checked_add(1), m)
        }
        _ => Ok(None),
    }
}

/// Where the repetition after the last one of a loop would start.
fn continues(item: &Item, l: &Loop) -> Option<i64> {
    i64::try_from(l.count).ok()?.checked_mul(l.stride)?.checked_add(item.off)
}
