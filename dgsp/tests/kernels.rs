//! Every copy loop: all lengths up to a few hundred bytes, strides of every kind, both directions, any alignment.

use lapis_dgsp::{Layout, Registered, copy};
use std::mem::MaybeUninit;

/// Every length and stride; under Miri, which is slow and has no wide moves, some of them.
const STEP: usize = if cfg!(miri) { 23 } else { 1 };

/// Blocks at a stride: packed, and unpacked over other bytes, against a loop over bytes; what lies between stays.
fn check(count: u64, len: usize, stride: i64, skew: usize) {
    let layout = Layout::bytes(len as u64).and_then(|b| Layout::hvector(count, 1, stride, &b));
    let reg = Registered::verified(layout.and_then(|l| l.compile()).expect("small")).expect("sound");
    let span = (count as i64 - 1) * stride;
    let size = span.unsigned_abs() as usize + len + skew + 1;
    let origin = skew + span.min(0).unsigned_abs() as usize;
    let mut mem: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
    let places: Vec<usize> = (0..count as i64)
        .flat_map(|i| (0..len).map(move |k| (origin as i64 + i * stride) as usize + k))
        .collect();
    let expect: Vec<u8> = places.iter().map(|&p| mem[p]).collect();
    // A guard behind the packed bytes: loops may write ahead inside the buffer, never past it.
    let mut packed = vec![0xa5; expect.len() + 1];
    let n = reg.pack_slice(&mem, origin, 0, &mut packed[..expect.len()]);
    let what = format!("{count} blocks of {len} at {stride}, skew {skew}");
    assert_eq!(n, Ok(expect.len()), "{what}");
    assert!(packed[..expect.len()] == expect && packed[expect.len()] == 0xa5, "packed: {what}");

    let message: Vec<u8> = (0..expect.len()).map(|i| (i * 13 + 5) as u8).collect();
    let mut scattered = mem.clone();
    for (&p, &b) in places.iter().zip(&message) {
        scattered[p] = b;
    }
    let n = reg.unpack_slice(&mut mem, origin, 0, &message);
    assert_eq!(n, Ok(message.len()), "{what}");
    assert!(mem == scattered, "unpacked: {what}");
}

#[test]
fn every_length_at_a_plain_stride() {
    for len in
        (1..=300).step_by(STEP).chain([511, 512, 513, 1000, 1023, 1024, 1025, 4000, 4095, 4096, 4097, 9000])
    {
        for (count, skew) in [(9, 0), (13, 1), (10, 31)] {
            check(count, len, len as i64 + 5, skew);
            check(count, len, 2 * len as i64 + 16, skew);
        }
    }
}

/// Boxes of rows in two arrays, at every alignment of either side.
#[test]
fn rows_of_boxes_at_every_alignment() {
    for len in [129, 160, 201, 255, 256, 257, 288, 383, 512, 1000] {
        for gap in [0, 8, 16, 33, 4096] {
            let row = Layout::bytes(len as u64).expect("small");
            let plane = Layout::hvector(20, 1, (len + gap) as i64, &row).expect("small");
            let pitch = 21 * (len + gap) + 40;
            let array = Layout::hvector(3, 1, pitch as i64, &plane).expect("small");
            let both = Layout::hvector(2, 1, 5 * pitch as i64, &array).and_then(|l| l.compile());
            let reg = Registered::verified(both.expect("small")).expect("sound");
            let starts = (0..2).flat_map(|a| (0..3).map(move |z| (5 * a + z) * pitch));
            let rows: Vec<usize> = starts.flat_map(|s| (0..20).map(move |y| s + y * (len + gap))).collect();
            let mem: Vec<u8> = (0..8 * pitch + 32).map(|i| (i * 7 + i / 251) as u8).collect();
            for skew in (0..32).step_by(STEP) {
                let at = |origin: usize| rows.iter().map(move |r| r + origin..r + origin + len);
                let expect: Vec<u8> = at(skew).flat_map(|r| &mem[r]).copied().collect();
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
    for stride in [1024, 2048, 3072, 4096, 8192, -1024, -4096] {
        for len in [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 33, 64, 65] {
            for count in [63, 64, 65, 66, 130] {
                check(count, len, stride, len % 5);
            }
        }
    }
}

#[test]
fn short_blocks_at_short_strides() {
    for stride in (2..=40).step_by(STEP) {
        for len in 1..stride as usize {
            for count in [9, 15, 16, 17, 31, 64, 77, 300] {
                check(count, len, stride, (len + count as usize) % 7);
                check(count, len, -stride, 3);
            }
        }
    }
}

#[test]
fn strides_that_overlap_write_in_the_order_of_the_message() {
    for (len, stride) in [(8, 4), (8, 0), (16, 3), (100, 64), (200, -50), (5, 1), (3, -1), (40, 1024 / 64)] {
        check(100, len, stride, 0);
    }
}

/// Blocks at listed places of one memory to others of another, none of them regular.
fn check_lists(lens: &[u64]) {
    let room = lens.iter().max().map_or(0, |&l| l as i64) + 7;
    let places = |seed: i64| -> Vec<(u64, i64)> {
        let n = lens.len() as i64;
        // Shuffled, and off their slot's start by different amounts.
        lens.iter().zip(0..).map(|(&len, i)| (len, (i * 7 + seed) % n * room + i * seed % 7)).collect()
    };
    let reg = |places: &[(u64, i64)]| {
        let layout = Layout::hindexed(places, &Layout::bytes(1).expect("small"));
        Registered::verified(layout.and_then(|l| l.compile()).expect("small")).expect("sound")
    };
    let (from, to) = (places(3), places(5));
    let size = lens.len() * room as usize + 7;
    let src: Vec<u8> = (0..size).map(|i| (i * 7 + i / 251) as u8).collect();
    let (mut got, mut expect) = (vec![0xa5; size], vec![0xa5; size]);
    for (&(len, a), &(_, b)) in from.iter().zip(&to) {
        expect[b as usize..][..len as usize].copy_from_slice(&src[a as usize..][..len as usize]);
    }
    let bytes = lens.iter().sum::<u64>() as usize;
    // SAFETY: one application lies in `size` bytes on either side.
    let n = unsafe { copy(&reg(&from), src.as_ptr(), 0, &reg(&to), got.as_mut_ptr(), 0, bytes) };
    assert_eq!(n, Ok(bytes));
    assert!(got == expect, "{lens:?}");
}

#[test]
fn lists_to_lists_of_every_length() {
    for len in (1..=300).step_by(STEP).chain([511, 1000, 1024, 2047, 2048, 4095, 4096, 5000]) {
        for count in [8, 9, 16, 41] {
            check_lists(&vec![len; count]);
        }
    }
    for most in [3, 20, 100, 400, 9000] {
        check_lists(&(0..41).map(|i| 1 + i * 37 % most).collect::<Vec<_>>());
    }
}

/// Words that point somewhere, and as many that nobody has written, as between the members of a structure: whatever is copied is no
/// number. Only Miri can tell.
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
