//! Every copy loop: all lengths up to a few hundred bytes, strides of every kind, both directions,
//! any alignment.

use lapis_dgsp::{Layout, Registered, copy};
use std::mem::MaybeUninit;

/// Miri is a few hundred times as slow: each class of lengths, each kind of stride and each
/// direction of them.
const fn dose<T>(all: &'static [T], under_miri: &'static [T]) -> &'static [T] {
    if cfg!(miri) { under_miri } else { all }
}

/// One length at least of each class that has kernels of its own.
const CLASSES: &[usize] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 24, 28, 31, 32, 33, 36, 40, 48, 56, 63,
    64, 65, 72, 80, 96, 112, 127, 128, 129, 200, 256, 257, 512, 1000, 4096,
];

/// Every length up to a few hundred bytes and those around powers of two; under Miri every so many
/// classes.
fn lengths(every: usize) -> Vec<usize> {
    let long = [511, 512, 513, 1000, 1023, 1024, 1025, 2047, 2048, 4000, 4095, 4096, 4097, 5000, 9000];
    if cfg!(miri) {
        CLASSES.iter().copied().step_by(every).collect()
    } else {
        (1..=300).chain(long).collect()
    }
}

/// Bytes that begin again after so many that no stride of a test meets them where they were.
fn numbers(size: usize) -> Vec<u8> {
    const PERIOD: usize = 509;
    let once: Vec<u8> = (0..PERIOD).map(|i| (i * 7 + i / 251) as u8).collect();
    let mut all = once.repeat(size / PERIOD + 1);
    all.truncate(size);
    all
}

fn registered(layout: Layout) -> Registered {
    Registered::new(layout.compile().expect("small")).expect("sound")
}

/// A layout of blocks (place, length) in `size` bytes: packed, and unpacked over other bytes,
/// against a loop over blocks; what lies between stays.
fn agree(reg: &Registered, origin: usize, blocks: &[(usize, usize)], size: usize, what: &str) {
    let mut mem = numbers(size);
    let expect = blocks.iter().map(|&(at, len)| &mem[at..at + len]).collect::<Vec<_>>().concat();
    // A guard behind the packed bytes: loops may write ahead inside the buffer, never past it.
    let mut packed = vec![0xa5; expect.len() + 1];
    let n = reg.pack_slice(&mem, origin, 0, &mut packed[..expect.len()]);
    assert_eq!(n, Ok(expect.len()), "{what}");
    assert!(packed[..expect.len()] == expect && packed[expect.len()] == 0xa5, "packed: {what}");

    let message: Vec<u8> = numbers(expect.len() + 100).split_off(100);
    let (mut scattered, mut rest) = (mem.clone(), &message[..]);
    for &(at, len) in blocks {
        scattered[at..at + len].copy_from_slice(rest.split_off(..len).expect("as long"));
    }
    let n = reg.unpack_slice(&mut mem, origin, 0, &message);
    assert_eq!(n, Ok(message.len()), "{what}");
    assert!(mem == scattered, "unpacked: {what}");
}

/// Blocks at a stride.
fn check(count: u64, len: usize, stride: i64, skew: usize) {
    let layout =
        Layout::bytes(len as u64).and_then(|b| Layout::hvector(count, 1, stride, &b)).expect("small");
    let span = (count as i64 - 1) * stride;
    let size = span.unsigned_abs() as usize + len + skew + 1;
    let origin = skew + span.min(0).unsigned_abs() as usize;
    let blocks: Vec<_> = (0..count as i64).map(|i| ((origin as i64 + i * stride) as usize, len)).collect();
    agree(
        &registered(layout),
        origin,
        &blocks,
        size,
        &format!("{count} blocks of {len} at {stride}, skew {skew}"),
    );
}

#[test]
fn every_length_at_a_plain_stride() {
    for len in lengths(1) {
        for &(count, skew) in dose(&[(9, 0), (13, 1), (10, 31)], &[(9, 1)]) {
            check(count, len, 2 * len as i64 + 16, skew);
            if !cfg!(miri) {
                check(count, len, len as i64 + 5, skew);
            }
        }
    }
}

/// Rows of blocks, and columns of them.
#[test]
fn every_length_in_a_matrix() {
    for len in lengths(4) {
        let row = 3 * (len + 9);
        for (counts, strides) in [([4, 3], [row + 8, len + 9]), ([5, 3], [len + 1, 6 * len + 7])] {
            let layout = Layout::bytes(len as u64)
                .and_then(|b| Layout::hvector(counts[1], 1, strides[1] as i64, &b))
                .and_then(|row| Layout::hvector(counts[0], 1, strides[0] as i64, &row));
            let (rows, columns) = (counts[0] as usize, counts[1] as usize);
            let blocks: Vec<_> = (0..rows)
                .flat_map(|i| (0..columns).map(move |j| (3 + i * strides[0] + j * strides[1], len)))
                .collect();
            let size = blocks[blocks.len() - 1].0 + len;
            agree(
                &registered(layout.expect("small")),
                3,
                &blocks,
                size,
                &format!("{counts:?} blocks of {len} at {strides:?}"),
            );
        }
    }
}

/// Arrays of structures whose fields are padded, and of such as reach into one another.
#[test]
fn structures_of_several_fields() {
    let cases: [(&[(usize, usize)], usize); 5] = [
        (&[(0, 4), (6, 1)], 8),
        (&[(0, 8), (12, 4), (24, 40)], 72),
        (&[(40, 2), (0, 17), (20, 3)], 50),
        (&[(0, 129), (140, 7), (150, 256)], 411),
        (&[(0, 8), (20, 8)], 12),
    ];
    for (fields, extent) in cases {
        for &count in dose(&[2_usize, 3, 17, 64, 65, 200], &[65]) {
            let listed: Vec<_> = fields.iter().map(|&(at, len)| (len as u64, at as i64)).collect();
            let layout = Layout::bytes(1)
                .and_then(|byte| Layout::hindexed(&listed, &byte))
                .and_then(|one| one.resized(0, extent as i64))
                .and_then(|one| Layout::contiguous(count as u64, &one));
            let blocks: Vec<_> = (0..count)
                .flat_map(|i| fields.iter().map(move |&(at, len)| (i * extent + at, len)))
                .collect();
            let size = blocks.iter().map(|&(at, len)| at + len).max().unwrap_or(0);
            agree(&registered(layout.expect("small")), 0, &blocks, size, &format!("{count} of {fields:?}"));
        }
    }
}

/// Boxes of rows in two arrays, at every alignment of either side.
#[test]
fn rows_of_boxes_at_every_alignment() {
    for &len in dose(&[129, 160, 201, 255, 256, 257, 288, 383, 512, 1000], &[129, 256, 383, 512]) {
        for &gap in dose(&[0, 8, 16, 33, 4096], &[33]) {
            let layout =
                Layout::bytes(len as u64).and_then(|row| Layout::hvector(20, 1, (len + gap) as i64, &row));
            let pitch = 21 * (len + gap) + 40;
            let layout = layout.and_then(|plane| Layout::hvector(3, 1, pitch as i64, &plane));
            let reg =
                registered(layout.and_then(|a| Layout::hvector(2, 1, 5 * pitch as i64, &a)).expect("small"));
            let starts = (0..2).flat_map(|a| (0..3).map(move |z| (5 * a + z) * pitch));
            let rows: Vec<usize> = starts.flat_map(|s| (0..20).map(move |y| s + y * (len + gap))).collect();
            let mem = numbers(8 * pitch + 32);
            for skew in (0..32).step_by(if cfg!(miri) { 11 } else { 1 }) {
                let at = |origin: usize| rows.iter().map(move |r| r + origin..r + origin + len);
                let expect = at(skew).map(|r| &mem[r]).collect::<Vec<_>>().concat();
                let mut packed = vec![0xa5; expect.len() + 33];
                let packed = &mut packed[32 - skew..][..expect.len() + 1];
                let n = reg.pack_slice(&mem, skew, 0, &mut packed[..expect.len()]);
                assert_eq!(n, Ok(expect.len()));
                let whole = packed[..expect.len()] == expect && packed[expect.len()] == 0xa5;
                assert!(whole, "packed: rows of {len}, gaps of {gap}, skew {skew}");

                let (mut got, mut want) = (vec![0xa5; mem.len()], vec![0xa5; mem.len()]);
                at(31 - skew).zip(expect.chunks(len)).for_each(|(r, row)| want[r].copy_from_slice(row));
                let n = reg.unpack_slice(&mut got, 31 - skew, 0, &packed[..expect.len()]);
                assert_eq!(n, Ok(expect.len()));
                assert!(got == want, "unpacked: rows of {len}, gaps of {gap}, skew {skew}");
            }
        }
    }
}

#[test]
fn strides_that_compete_for_one_set_of_the_cache() {
    for &stride in dose(&[1024, 2048, 3072, 4096, 8192, -1024, -4096], &[1024, -4096]) {
        for &len in dose(&[1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 33, 64, 65], &[1, 33, 65]) {
            for &count in dose(&[63, 64, 65, 66, 130], &[66]) {
                check(count, len, stride, len % 5);
            }
        }
    }
}

#[test]
fn short_blocks_at_short_strides() {
    for stride in (2..=40).step_by(if cfg!(miri) { 19 } else { 1 }) {
        for len in (1..stride as usize).step_by(if cfg!(miri) { 9 } else { 1 }) {
            for &count in dose(&[9, 15, 16, 17, 31, 64, 77, 300], &[17]) {
                check(count, len, stride, (len + count as usize) % 7);
                check(count, len, -stride, 3);
            }
        }
    }
}

#[test]
fn strides_that_overlap_write_in_the_order_of_the_message() {
    for (len, stride) in [(8, 4), (8, 0), (16, 3), (100, 64), (200, -50), (5, 1), (3, -1), (40, 1024 / 64)] {
        check(if cfg!(miri) { 20 } else { 100 }, len, stride, 0);
    }
}

/// Blocks at listed places, none of them regular: packed and unpacked, and copied to other places.
fn check_lists(lens: &[u64]) {
    let room = lens.iter().max().map_or(0, |&l| l as i64) + 7;
    let places = |seed: i64| -> Vec<(u64, i64)> {
        let n = lens.len() as i64;
        // Shuffled, and off their slot's start by different amounts.
        lens.iter().zip(0..).map(|(&len, i)| (len, (i * 7 + seed) % n * room + i * seed % 7)).collect()
    };
    let reg = |places: &[(u64, i64)]| {
        registered(Layout::hindexed(places, &Layout::bytes(1).expect("small")).expect("small"))
    };
    let (from, to) = (places(3), places(5));
    let size = lens.len() * room as usize + 7;
    let blocks: Vec<_> = from.iter().map(|&(len, at)| (at as usize, len as usize)).collect();
    let src_reg = reg(&from);
    agree(&src_reg, 0, &blocks, size, &format!("blocks of {lens:?}"));

    let src = numbers(size);
    let (mut got, mut expect) = (vec![0xa5; size], vec![0xa5; size]);
    for (&(len, a), &(_, b)) in from.iter().zip(&to) {
        expect[b as usize..][..len as usize].copy_from_slice(&src[a as usize..][..len as usize]);
    }
    let bytes = lens.iter().sum::<u64>() as usize;
    // SAFETY: one application lies in `size` bytes on either side.
    let n = unsafe { copy(&src_reg, src.as_ptr(), 0, &reg(&to), got.as_mut_ptr(), 0, bytes) };
    assert_eq!(n, Ok(bytes));
    assert!(got == expect, "{lens:?}");
}

#[test]
fn lists_to_lists_of_every_length() {
    for len in lengths(4) {
        for &count in dose(&[8, 9, 16, 41], &[9]) {
            check_lists(&vec![len as u64; count]);
        }
    }
    for &most in dose(&[3, 20, 100, 400, 9000], &[20, 9000]) {
        check_lists(&(0..41).map(|i| 1 + i * 37 % most).collect::<Vec<_>>());
    }
}

/// Words that point somewhere, and as many that nobody has written, as between the members of a
/// structure: whatever is copied is no number. Only Miri can tell.
#[test]
fn pointers_and_padding_arrive_as_they_are() {
    static NUMBERS: [u64; 7] = [3, 1, 4, 15, 92, 65, 35];
    type Word = MaybeUninit<&'static u64>;
    const COUNT: usize = 6;
    let word = |i: usize| if i.is_multiple_of(2) { Word::new(&NUMBERS[i % 7]) } else { Word::uninit() };
    for len in [5, 7, 8, 16, 25, 44, 60, 64, 100, 136, 201, 256, 512, 1000] {
        let apart = len / 8 + 2;
        let layout =
            Layout::bytes(len as u64).and_then(|b| Layout::hvector(COUNT as u64, 1, apart as i64 * 8, &b));
        let blocks = Registered::verified(layout.and_then(|l| l.compile()).expect("small")).expect("sound");
        let layout = Layout::bytes((COUNT * len) as u64);
        let packed = Registered::verified(layout.and_then(|l| l.compile()).expect("small")).expect("sound");
        let src: Vec<Word> = (0..COUNT * apart).map(word).collect();
        // Cut within a block, too.
        for from in [0, 3] {
            let (mut between, mut dst) = (vec![Word::uninit(); src.len()], vec![Word::uninit(); src.len()]);
            let (at, bytes) = (between.as_mut_ptr().cast::<u8>(), COUNT * len - from);
            // SAFETY: one application of either layout lies in each memory.
            unsafe {
                let n = copy(&blocks, src.as_ptr().cast(), from as u64, &packed, at, from as u64, bytes);
                assert_eq!(n, Ok(bytes));
                let n = copy(&packed, at, from as u64, &blocks, dst.as_mut_ptr().cast(), from as u64, bytes);
                assert_eq!(n, Ok(bytes));
            }
            for (block, w) in (0..COUNT).flat_map(|block| (0..len / 8).map(move |w| (block, w))) {
                let i = block * apart + w;
                if i.is_multiple_of(2) && (i > 0 || from == 0) {
                    // SAFETY: the word was copied, and not the first one's end only.
                    assert_eq!(unsafe { dst[i].assume_init() }, &NUMBERS[i % 7], "{len} from {from}");
                }
            }
        }
    }
}
