//! Random nested layouts: constructors, program, both engines and a naive list of bytes agree.

use lapis_dgsp::{Density, Dim, Distribution, Layout, Machine, Order, Registered, copy, text, verify};
use proptest::prelude::*;

/// Miri is a few hundred times as slow.
const CASES: u32 = if cfg!(miri) { 10 } else { 2000 };
/// Bytes of a layout, each of which the model lists.
const MOST: u64 = if cfg!(miri) { 300 } else { 20_000 };

/// A layout both ways.
#[derive(Clone, Debug)]
enum Tree {
    Bytes(u64),
    Contiguous(u64, Box<Self>),
    Vector(u64, u64, i64, Box<Self>),
    Hvector(u64, u64, i64, Box<Self>),
    Indexed(Vec<(u64, i64)>, Box<Self>),
    Hindexed(Vec<(u64, i64)>, Box<Self>),
    IndexedBlock(u64, Vec<i64>, Box<Self>),
    Structure(Vec<(u64, i64, Self)>),
    Resized(i64, i64, Box<Self>),
    Subarray(Vec<(u64, u64, u64)>, bool, Box<Self>),
    Distributed(Vec<Dim>, bool, Box<Self>),
}

/// The naive model: the offset of each byte in order, and the bounds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Naive {
    bytes: Vec<i64>,
    bounds: Option<(i64, i64)>,
}

impl Naive {
    fn extent(&self) -> i64 {
        self.bounds.map_or(0, |(lb, ub)| ub - lb)
    }

    fn place(&mut self, at: i64, old: &Self) {
        self.bytes.extend(old.bytes.iter().map(|b| b + at));
        if let Some((lb, ub)) = old.bounds {
            let (lb, ub) = (lb + at, ub + at);
            self.bounds = Some(self.bounds.map_or((lb, ub), |(l, u)| (l.min(lb), u.max(ub))));
        }
    }

    fn blocks(old: &Self, blocks: impl IntoIterator<Item = (u64, i64)>) -> Self {
        let mut new = Self::default();
        for (len, at) in blocks {
            for j in 0..len as i64 {
                new.place(at + j * old.extent(), old);
            }
        }
        new
    }
}

fn order(c: bool) -> Order {
    if c { Order::C } else { Order::Fortran }
}

/// Runs over all index tuples of an array in storage order, fastest last in `C`.
fn array(dims: &[Vec<u64>], sizes: &[u64], c: bool, old: &Naive) -> Naive {
    let mut new = Naive::default();
    let n = dims.len();
    let slow_first: Vec<usize> = if c { (0..n).collect() } else { (0..n).rev().collect() };
    fn go(level: usize, at: u64, slow: &[usize], dims: &[Vec<u64>], sizes: &[u64], out: &mut Vec<u64>) {
        let Some(&d) = slow.get(level) else { return out.push(at) };
        for &i in &dims[d] {
            go(level + 1, at * sizes[d] + i, slow, dims, sizes, out);
        }
    }
    let mut places = Vec::new();
    go(0, 0, &slow_first, dims, sizes, &mut places);
    for p in places {
        new.place(p as i64 * old.extent(), old);
    }
    let all: u64 = sizes.iter().product();
    new.bounds = Some((0, all as i64 * old.extent()));
    new
}

impl Tree {
    fn layout(&self) -> Layout {
        let made = match self {
            Self::Bytes(n) => Layout::bytes(*n),
            Self::Contiguous(n, old) => Layout::contiguous(*n, &old.layout()),
            Self::Vector(n, b, s, old) => Layout::vector(*n, *b, *s, &old.layout()),
            Self::Hvector(n, b, s, old) => Layout::hvector(*n, *b, *s, &old.layout()),
            Self::Indexed(blocks, old) => Layout::indexed(blocks, &old.layout()),
            Self::Hindexed(blocks, old) => Layout::hindexed(blocks, &old.layout()),
            Self::IndexedBlock(b, disps, old) => Layout::indexed_block(*b, disps, &old.layout()),
            Self::Structure(fields) => {
                let fields: Vec<_> = fields.iter().map(|(n, at, f)| (*n, *at, f.layout())).collect();
                let fields: Vec<_> = fields.iter().map(|(n, at, f)| (*n, *at, f)).collect();
                Layout::structure(&fields)
            }
            Self::Resized(lb, extent, old) => old.layout().resized(*lb, *extent),
            Self::Subarray(dims, c, old) => {
                let column = |f: fn(&(u64, u64, u64)) -> u64| dims.iter().map(f).collect::<Vec<_>>();
                Layout::subarray(
                    &column(|d| d.0),
                    &column(|d| d.1),
                    &column(|d| d.2),
                    order(*c),
                    &old.layout(),
                )
            }
            Self::Distributed(dims, c, old) => Layout::distributed(dims, order(*c), &old.layout()),
        };
        made.expect("these layouts are small")
    }

    fn naive(&self) -> Naive {
        match self {
            Self::Bytes(n) => {
                Naive { bytes: (0..*n as i64).collect(), bounds: (*n > 0).then_some((0, *n as i64)) }
            }
            Self::Contiguous(n, old) => Naive::blocks(&old.naive(), [(*n, 0)]),
            Self::Vector(n, b, s, old) => {
                let old = old.naive();
                Naive::blocks(&old, (0..*n as i64).map(|i| (*b, i * s * old.extent())))
            }
            Self::Hvector(n, b, s, old) => Naive::blocks(&old.naive(), (0..*n as i64).map(|i| (*b, i * s))),
            Self::Indexed(blocks, old) => {
                let old = old.naive();
                Naive::blocks(&old, blocks.iter().map(|&(n, d)| (n, d * old.extent())))
            }
            Self::Hindexed(blocks, old) => Naive::blocks(&old.naive(), blocks.iter().copied()),
            Self::IndexedBlock(b, disps, old) => {
                let old = old.naive();
                Naive::blocks(&old, disps.iter().map(|&d| (*b, d * old.extent())))
            }
            Self::Structure(fields) => {
                let mut new = Naive::default();
                for (n, at, f) in fields {
                    new.place(*at, &Naive::blocks(&f.naive(), [(*n, 0)]));
                }
                new
            }
            Self::Resized(lb, extent, old) => {
                Naive { bytes: old.naive().bytes, bounds: Some((*lb, lb + extent)) }
            }
            Self::Subarray(dims, c, old) => {
                let owned: Vec<Vec<u64>> = dims.iter().map(|&(_, n, at)| (at..at + n).collect()).collect();
                array(&owned, &dims.iter().map(|d| d.0).collect::<Vec<_>>(), *c, &old.naive())
            }
            Self::Distributed(dims, c, old) => {
                let owned: Vec<Vec<u64>> = dims.iter().map(owned).collect();
                array(&owned, &dims.iter().map(|d| d.size).collect::<Vec<_>>(), *c, &old.naive())
            }
        }
    }
}

/// Indices that a process owns along one dimension, one by one.
fn owned(dim: &Dim) -> Vec<u64> {
    let owner = |i: u64| match dim.dist {
        Distribution::None => dim.coord,
        Distribution::Block(None) => i / dim.size.div_ceil(dim.procs),
        Distribution::Block(Some(b)) => i / b,
        Distribution::Cyclic(b) => i / b % dim.procs,
    };
    (0..dim.size).filter(|&i| owner(i) == dim.coord).collect()
}

fn dim() -> impl Strategy<Value = Dim> {
    let dist = prop_oneof![
        Just(Distribution::None),
        Just(Distribution::Block(None)),
        (0..3u64).prop_map(|more| Distribution::Block(Some(more))),
        (1..4u64).prop_map(Distribution::Cyclic),
    ];
    (some(9), dist, 1..4u64, 0..3u64).prop_map(|(size, dist, procs, coord)| {
        let dist = match dist {
            // Blocks must be large enough for all elements, as MPI demands.
            Distribution::Block(Some(more)) => Distribution::Block(Some(size.div_ceil(procs).max(1) + more)),
            other => other,
        };
        Dim { size, dist, procs, coord: coord % procs }
    })
}

/// Mostly more than none.
fn some(below: u64) -> impl Strategy<Value = u64> {
    prop_oneof![15 => 1..below, 1 => Just(0)]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = some(20).prop_map(Tree::Bytes);
    leaf.prop_recursive(4, 24, 4, |inner| {
        let old = inner.clone().prop_map(Box::new);
        let blocks = prop::collection::vec((some(4), -6..12i64), 0..12);
        let hblocks = prop::collection::vec((some(4), -60..120i64), 0..12);
        prop_oneof![
            (some(12), old.clone()).prop_map(|(n, o)| Tree::Contiguous(n, o)),
            (some(12), some(4), -4..6i64, old.clone()).prop_map(|(n, b, s, o)| Tree::Vector(n, b, s, o)),
            (some(12), some(4), -40..60i64, old.clone()).prop_map(|(n, b, s, o)| Tree::Hvector(n, b, s, o)),
            (blocks, old.clone()).prop_map(|(b, o)| Tree::Indexed(b, o)),
            (hblocks, old.clone()).prop_map(|(b, o)| Tree::Hindexed(b, o)),
            (some(3), prop::collection::vec(-8..24i64, 0..14), old.clone())
                .prop_map(|(b, d, o)| Tree::IndexedBlock(b, d, o)),
            prop::collection::vec((some(3), -40..80i64, inner.clone()), 0..4).prop_map(Tree::Structure),
            (-8..8i64, -30..60i64, old.clone()).prop_map(|(l, e, o)| Tree::Resized(l, e, o)),
            (prop::collection::vec((1..6u64, some(6), 0..5u64), 1..4), any::<bool>(), old.clone()).prop_map(
                |(dims, c, o)| {
                    let dims = dims.into_iter().map(|(n, sub, at)| {
                        let sub = sub.min(n);
                        (n, sub, at.min(n - sub))
                    });
                    Tree::Subarray(dims.collect(), c, o)
                }
            ),
            (prop::collection::vec(dim(), 1..4), any::<bool>(), old)
                .prop_map(|(dims, c, o)| Tree::Distributed(dims, c, o)),
        ]
    })
    .prop_filter("small enough to list", |t| t.naive_size() < MOST)
}

impl Tree {
    /// Size of the naive list, without making it.
    fn naive_size(&self) -> u64 {
        let sum = |b: &[(u64, i64)]| b.iter().map(|b| b.0).sum::<u64>();
        match self {
            Self::Bytes(n) => *n,
            Self::Contiguous(n, o) => n * o.naive_size(),
            Self::Vector(n, b, _, o) | Self::Hvector(n, b, _, o) => n * b * o.naive_size(),
            Self::Indexed(b, o) | Self::Hindexed(b, o) => sum(b) * o.naive_size(),
            Self::IndexedBlock(b, d, o) => b * d.len() as u64 * o.naive_size(),
            Self::Structure(f) => f.iter().map(|(n, _, f)| n * f.naive_size()).sum(),
            Self::Resized(_, _, o) => o.naive_size(),
            Self::Subarray(d, _, o) => d.iter().map(|d| d.1).product::<u64>() * o.naive_size(),
            Self::Distributed(d, _, o) => d.iter().map(|d| d.size).product::<u64>() * o.naive_size(),
        }
    }
}

/// Memory that holds `reps` applications, and the index of the user's buffer in it.
struct Memory {
    bytes: Vec<u8>,
    origin: usize,
    /// Index of each byte of the message.
    message: Vec<usize>,
}

fn memory(naive: &Naive, reps: i64, seed: usize) -> Memory {
    let all: Vec<i64> =
        (0..reps).flat_map(|r| naive.bytes.iter().map(move |b| b + r * naive.extent())).collect();
    let lo = all.iter().copied().min().unwrap_or(0).min(0);
    let hi = all.iter().copied().max().unwrap_or(0).max(0) + 1;
    // One more application at either end: safe calls check whole ones.
    let slack = naive.extent().unsigned_abs() as usize;
    let bytes = (0..(hi - lo) as usize + 2 * slack).map(|i| (i * 31 + i / 200 + seed) as u8).collect();
    let origin = (-lo) as usize + slack;
    Memory { bytes, origin, message: all.iter().map(|b| (b + origin as i64) as usize).collect() }
}

fn ascending(cuts: &[prop::sample::Index], total: usize) -> Vec<usize> {
    let mut places: Vec<usize> = cuts.iter().map(|c| c.index(total + 1)).chain([0, total]).collect();
    places.sort_unstable();
    places
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn engines_and_program_match_the_byte_list(
        tree in tree(), reps in 1..4i64, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        shuffle in any::<prop::sample::Index>(),
    ) {
        let (layout, naive) = (tree.layout(), tree.naive());
        prop_assert_eq!(layout.size() as usize, naive.bytes.len());
        prop_assert_eq!(layout.extent(), naive.extent());
        let desc = layout.compile().expect("small");
        let verified = verify(&desc);
        prop_assert!(verified.is_ok(), "{:?}\n{}", verified, text::disassemble(&desc));
        prop_assert_eq!(text::assemble(&text::disassemble(&desc)), Ok(desc.clone()));

        let mut m = memory(&naive, reps, 0);
        let total = m.message.len();
        let reg = Registered::verified(desc.clone()).expect("verified before");
        prop_assert!(reg.is_compiled());

        // The plain interpreter.
        let mut machine = Machine::new(&desc).expect("a sound header");
        let mut offsets = Vec::new();
        while offsets.len() < total {
            let piece = machine.next_piece(total - offsets.len()).expect("a verified program");
            offsets.extend((0..piece.len).map(|i| (piece.offset + m.origin as i64) as usize + i));
        }
        prop_assert_eq!(&offsets, &m.message);

        // Packets, in another order.
        let expect: Vec<u8> = m.message.iter().map(|&i| m.bytes[i]).collect();
        let places = ascending(&cuts, total);
        let mut packets: Vec<_> = places.windows(2).map(|w| (w[0], w[1])).collect();
        let by = shuffle.index(packets.len());
        packets.rotate_left(by);
        let mut out = vec![0; total];
        for &(a, b) in &packets {
            // SAFETY: the memory holds `reps` applications, and no more than their bytes are asked
            // for.
            let n = unsafe { reg.pack_into(m.bytes.as_ptr().add(m.origin), a as u64, &mut out[a..b]) };
            prop_assert_eq!(n, Ok(b - a));
        }
        prop_assert_eq!(&out, &expect, "{}", text::disassemble(&desc));

        // And back, in the message's order, for layouts that may name a byte twice.
        let message: Vec<u8> = (0..total).map(|i| (i * 17 + 3) as u8).collect();
        let mut expect = m.bytes.clone();
        for (&i, &b) in m.message.iter().zip(&message) {
            expect[i] = b;
        }
        for w in places.windows(2) {
            let base = m.bytes.as_mut_ptr().wrapping_add(m.origin);
            // SAFETY: the memory holds `reps` applications, of which the message has no more bytes,
            // and is ours alone.
            let n = unsafe { reg.unpack_from(base, w[0] as u64, &message[w[0]..w[1]]) };
            prop_assert_eq!(n, Ok(w[1] - w[0]));
        }
        prop_assert!(m.bytes == expect, "{}", text::disassemble(&desc));
    }

    #[test]
    fn one_signature_two_layouts(a in tree(), b in tree(), from in any::<prop::sample::Index>(), len in any::<prop::sample::Index>()) {
        let (na, nb) = (a.naive(), b.naive());
        if na.bytes.is_empty() || nb.bytes.is_empty() {
            return Ok(());
        }
        let total = na.bytes.len().min(nb.bytes.len()) * 2;
        let (from, len) = (from.index(total), len.index(total) + 1);
        let len = len.min(total - from);
        let reps = |n: &Naive| total.div_ceil(n.bytes.len()) as i64;
        let (src, mut dst) = (memory(&na, reps(&na), 0), memory(&nb, reps(&nb), 99));
        let ra = Registered::verified(a.layout().compile().expect("small")).expect("sound");
        let rb = Registered::verified(b.layout().compile().expect("small")).expect("sound");
        let mut expect = dst.bytes.clone();
        for i in from..from + len {
            expect[dst.message[i]] = src.bytes[src.message[i]];
        }
        let to = dst.bytes.as_mut_ptr().wrapping_add(dst.origin);
        // SAFETY: both memories hold the applications that `total` bytes concern.
        let n = unsafe {
            copy(&ra, src.bytes.as_ptr().add(src.origin), from as u64, &rb, to, from as u64, len)
        };
        prop_assert_eq!(n, Ok(len));
        prop_assert!(dst.bytes == expect);
    }

    #[test]
    #[cfg_attr(miri, ignore = "compiles only, all of it safe code")]
    fn a_layout_and_its_listed_bytes_make_one_density(tree in tree()) {
        let naive = tree.naive();
        let desc = tree.layout().compile().expect("small");
        let gapless = naive.bytes.windows(2).all(|w| w[1] == w[0] + 1);
        let expect = match (gapless, naive.bytes.len() as i64 == naive.extent()) {
            (true, true) => Density::Unit,
            (true, false) if naive.bytes.is_empty() => Density::Unit,
            (true, false) => Density::Contig,
            (false, _) => Density::Sparse,
        };
        prop_assert_eq!(desc.density, expect);
        if let (Some(&lo), Some(&hi)) = (naive.bytes.iter().min(), naive.bytes.iter().max()) {
            prop_assert_eq!((desc.lext, desc.rext), (lo, hi + 1));
        }
    }

    #[test]
    fn layouts_built_alike_copy_to_each_other(tree in tree(), reps in 1..4i64, less in 0..40usize, more in prop_oneof![Just(0usize), 0..60usize], moved in -20..20i64) {
        let naive = tree.naive();
        if naive.bytes.is_empty() {
            return Ok(());
        }
        // The other side is the same tree in elements of another extent.
        let wide = Tree::Structure(vec![(1, moved, tree.clone())]);
        let (na, nb) = (memory(&naive, reps, 0), memory(&wide.naive(), reps, 77));
        let ra = Registered::verified(tree.layout().compile().expect("small")).expect("sound");
        let rb = Registered::verified(wide.layout().compile().expect("small")).expect("sound");
        let total = na.message.len();
        let from = more.min(total - 1);
        let len = (total - from).saturating_sub(less).max(1);
        let (src, mut dst) = (na, nb);
        let mut expect = dst.bytes.clone();
        for i in from..from + len {
            expect[dst.message[i]] = src.bytes[src.message[i]];
        }
        let to = dst.bytes.as_mut_ptr().wrapping_add(dst.origin);
        // SAFETY: both memories hold `reps` applications.
        let n = unsafe { copy(&ra, src.bytes.as_ptr().add(src.origin), from as u64, &rb, to, from as u64, len) };
        prop_assert_eq!(n, Ok(len));
        prop_assert!(dst.bytes == expect, "{}", text::disassemble(&ra.descriptor().clone()));
    }

    /// Elements of one block, by every constructor that can say where they are.
    #[test]
    #[cfg_attr(miri, ignore = "compiles only, all of it safe code")]
    fn equal_layouts_give_equal_programs(len in 1..20u64, gap in 0..20i64, count in some(40), block in some(6), stride in -8..12i64) {
        let old = Layout::bytes(len).and_then(|b| b.resized(0, len as i64 + gap)).expect("small");
        let e = old.extent();
        let starts: Vec<i64> = (0..count as i64).map(|i| i * stride).collect();
        let list: Vec<(u64, i64)> = starts.iter().map(|&d| (block, d)).collect();
        let in_bytes: Vec<(u64, i64)> = starts.iter().map(|&d| (block, d * e)).collect();
        let offs: Vec<i64> = starts.iter().map(|d| d * e).collect();
        let fields: Vec<_> = in_bytes.iter().map(|&(n, d)| (n, d, &old)).collect();
        let run = Layout::contiguous(block, &old).expect("small");
        let same = [
            Layout::vector(count, block, stride, &old),
            Layout::hvector(count, block, stride * e, &old),
            Layout::hvector(count, 1, stride * e, &run),
            Layout::indexed(&list, &old),
            Layout::hindexed(&in_bytes, &old),
            Layout::indexed_block(block, &starts, &old),
            Layout::hindexed_block(block, &offs, &old),
            Layout::structure(&fields),
            Layout::vector(count, block, stride, &Layout::contiguous(1, &old).expect("small")),
            Layout::vector(count, block, stride, &old.resized(old.lb(), e).expect("small")),
        ];
        let programs: Vec<_> =
            same.into_iter().map(|l| l.and_then(|l| l.compile()).expect("small")).collect();
        for (i, program) in programs.iter().enumerate() {
            prop_assert!(program == &programs[0], "{i}:\n{}\nagainst\n{}",
                text::disassemble(program), text::disassemble(&programs[0]));
        }
    }

    /// Any layout, and the list of its bytes in pieces that are cut anywhere.
    #[test]
    #[cfg_attr(miri, ignore = "compiles only, all of it safe code")]
    fn the_list_of_a_layouts_bytes_gives_its_program(
        tree in tree(), reps in some(12), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6), one_by_one: bool,
    ) {
        listed_alike(&Tree::Contiguous(reps, Box::new(tree)), &cuts, one_by_one)?;
    }

    /// Loops around loops, whose strides often make their blocks touch, or one's run go on in the
    /// next.
    #[test]
    #[cfg_attr(miri, ignore = "compiles only, all of it safe code")]
    fn the_list_of_a_nests_bytes_gives_its_program(
        len in 1..4u64, levels in prop::collection::vec((6..11u64, prop_oneof![-20..36i64, (0..9i64).prop_map(|s| s * 8)]), 1..4),
        one_by_one: bool,
    ) {
        let nest = |old, (count, stride)| Tree::Hvector(count, 1, stride, Box::new(old));
        listed_alike(&levels.into_iter().fold(Tree::Bytes(len), nest), &[], one_by_one)?;
    }
}

/// Builds the layout of the tree and of the list of its bytes, and compares the programs.
fn listed_alike(tree: &Tree, cuts: &[prop::sample::Index], one_by_one: bool) -> Result<(), TestCaseError> {
    if tree.naive_size() > MOST {
        return Ok(());
    }
    let (layout, naive) = (tree.layout(), tree.naive());
    let cut = |i: usize| one_by_one || cuts.iter().any(|c| c.index(naive.bytes.len()) == i);
    let mut pieces: Vec<(u64, i64)> = Vec::new();
    for (i, &at) in naive.bytes.iter().enumerate() {
        let touches = i > 0 && naive.bytes[i - 1] + 1 == at;
        match pieces.last_mut() {
            Some((len, _)) if touches && !cut(i) => *len += 1,
            _ => pieces.push((1, at)),
        }
    }
    let listed = Layout::hindexed(&pieces, &Layout::bytes(1).expect("small")).expect("small");
    let listed = match naive.bounds {
        Some((lb, ub)) => listed.resized(lb, ub - lb).expect("small"),
        None => listed,
    };
    let (built, listed) = (layout.compile().expect("small"), listed.compile().expect("small"));
    let texts = || format!("built:\n{}\nlisted:\n{}", text::disassemble(&built), text::disassemble(&listed));
    prop_assert!(built == listed, "{}", texts());
    Ok(())
}
