//! Bodies of the fuzz targets, as plain functions, so that ordinary tests run them too.
//!
//! [`verify_raw`] treats any bytes as a program; [`execute`] builds programs by grammar, some with
//! a broken word; [`differ`] builds sound ones and compares the compiled engine with the plain
//! interpreter. A finding is a panic.

use crate::routines::Routines;
use crate::text::{assemble, disassemble};
use crate::{Density, Descriptor, Error, Machine, Piece, Registered, isa, verify};

/// Bytes of a message that are looked at, each of them for itself: under Miri fewer.
const MOST: usize = if cfg!(miri) { 1 << 8 } else { 1 << 14 };
/// Bytes of memory that a message may be spread over.
const SPREAD: i128 = if cfg!(miri) { 1 << 12 } else { 1 << 24 };

/// Raw bytes: nothing panics, what verifies keeps its promises, and the text form is an inverse.
pub fn verify_raw(data: &[u8]) {
    let mut input = Input(data);
    let header = [(); 8].map(|()| input.byte());
    let wide = |b: u8| i64::from(b as i8) << (b % 7);
    let words: Vec<i32> = input.0.chunks(4).map(word).collect();
    let mut desc = Descriptor {
        code: words.into(),
        depth: i32::from(header[0] as i8),
        density: Density::from_c(i32::from(header[1] % 3)).unwrap_or_default(),
        size: wide(header[2]),
        extent: wide(header[3]),
        lext: wide(header[4]),
        rext: wide(header[5]),
        atom_size: i32::from(header[6] % 16) - 1,
    };
    if header[7] & 1 == 1 {
        // A truthful header, so that the checks behind it are reached.
        fill_header(&mut desc);
    }
    assert_eq!(assemble(&disassemble(&desc)).as_ref(), Ok(&desc), "the text form is no inverse");
    run_bounded(&desc);
}

/// Programs made by grammar, with sound control flow or one word broken.
pub fn execute(data: &[u8]) {
    let mut input = Input(data);
    let mut desc = program(&mut input, true);
    if input.byte() & 1 == 1 {
        let mut code = desc.code.to_vec();
        let at = input.below(code.len());
        code[at] = match input.byte() % 4 {
            0 => i32::from(input.byte() as i8),
            1 => code[at].wrapping_add(1),
            2 => code[at].wrapping_neg(),
            _ => i32::MAX,
        };
        desc.code = code.into();
    } else {
        verify(&desc).unwrap_or_else(|e| panic!("a sound program was refused: {e}\n{}", disassemble(&desc)));
    }
    assert_eq!(assemble(&disassemble(&desc)).as_ref(), Ok(&desc), "the text form is no inverse");
    run_bounded(&desc);
}

/// Sound programs: the compiled engine moves the bytes that the plain interpreter names, in any
/// split, in any order.
pub fn differ(data: &[u8]) {
    let mut input = Input(data);
    let desc = program(&mut input, false);
    let Ok(reg) = Registered::verified(desc.clone()) else {
        panic!("a sound program was refused:\n{}", disassemble(&desc));
    };
    let Some(span) = reg.span().filter(|s| s.size > 0) else { return };
    assert!(reg.is_compiled(), "a small program was not compiled");
    let total = (span.size * (1 + u64::from(input.byte() % 4))).min(MOST as u64) as usize;
    let offsets = match byte_offsets(&desc, total) {
        Ok(offsets) => offsets,
        // Very long loops around nothing: the plain interpreter gives up where the compiled engine
        // sees that there is nothing.
        Err(e) if matches!(e.fault, crate::Fault::Stalled(_)) => return,
        Err(e) => panic!("{e}"),
    };
    let (Some(&lo), Some(&hi)) = (offsets.iter().min(), offsets.iter().max()) else { return };
    // Safe calls check whole applications.
    let reach = reg.reach(total as u64).unwrap_or_default();
    let (lo, hi) = ((lo as i128).min(reach.0), (hi as i128).max(reach.1));
    if hi - lo > SPREAD {
        return;
    }
    let origin = (-lo).max(0) as usize;
    let mut mem: Vec<u8> = (0..(hi + 1).max(0) as usize + origin).map(|i| (i * 7 + i / 251) as u8).collect();
    let place = |off: i64| (off + origin as i64) as usize;
    let expect: Vec<u8> = offsets.iter().map(|&o| mem[place(o)]).collect();

    let mut packed = vec![0; total];
    let cuts = input.cuts(total);
    for w in cuts.windows(2).rev() {
        let n = reg.pack_slice(&mem, origin, w[0] as u64, &mut packed[w[0]..w[1]]);
        assert_eq!(n, Ok(w[1] - w[0]));
    }
    assert_eq!(packed, expect, "packed bytes differ for\n{}", disassemble(&desc));

    copy_to_the_same_places(&reg, &mem, origin, &offsets, cuts[1].min(total - 1));

    let message: Vec<u8> = (0..total).map(|i| (i * 13 + 5) as u8).collect();
    let mut scattered = mem.clone();
    for (&o, &b) in offsets.iter().zip(&message) {
        scattered[place(o)] = b;
    }
    for w in cuts.windows(2) {
        let n = reg.unpack_slice(&mut mem, origin, w[0] as u64, &message[w[0]..w[1]]);
        assert_eq!(n, Ok(w[1] - w[0]));
    }
    assert!(mem == scattered, "scattered bytes differ for\n{}", disassemble(&desc));
}

/// From memory to memory, from `first` on.
#[allow(unsafe_code, reason = "copies take pointers")]
fn copy_to_the_same_places(reg: &Registered, mem: &[u8], origin: usize, offsets: &[i64], first: usize) {
    let (mut copied, mut expect) = (vec![0x5a; mem.len()], vec![0x5a; mem.len()]);
    for &off in &offsets[first..] {
        let place = (off + origin as i64) as usize;
        expect[place] = mem[place];
    }
    let (from, bytes) = (first as u64, offsets.len() - first);
    let (src, dst) = (mem.as_ptr().wrapping_add(origin), copied.as_mut_ptr().wrapping_add(origin));
    // SAFETY: every offset of these bytes lies in memory of this size, and the memories are two.
    let n = unsafe { crate::copy(reg, src, from, reg, dst, from, bytes) };
    assert_eq!(n, Ok(bytes));
    assert!(copied == expect, "copied bytes differ for\n{}", disassemble(reg.descriptor()));
}

/// Runs whatever it is for a while; holds verified programs to their bounds.
fn run_bounded(desc: &Descriptor) {
    let verified = verify(desc).ok();
    // The error's text must not fail either.
    let _ = Registered::new(desc.clone()).map_err(|e| e.to_string());
    let Ok(mut machine) = Machine::new(desc) else { return };
    let mut moved: u64 = 0;
    for _ in 0..256 {
        if verified.is_some() && desc.size == 0 {
            break;
        }
        let piece = match machine.next_piece(MOST) {
            Ok(piece) => piece,
            Err(e) => {
                let stalled = matches!(e.fault, crate::Fault::Stalled(_));
                assert!(
                    verified.is_none() || stalled,
                    "a verified program failed: {e}\n{}",
                    disassemble(desc)
                );
                break;
            }
        };
        if verified.is_some() {
            check_bounds(desc, moved, &piece);
        }
        moved += piece.len as u64;
    }
}

fn check_bounds(desc: &Descriptor, moved: u64, piece: &Piece) {
    let shift = i128::from(moved / desc.size as u64) * i128::from(desc.extent);
    let (lo, hi) = (i128::from(desc.lext) + shift, i128::from(desc.rext) + shift);
    let (from, to) = (i128::from(piece.offset), i128::from(piece.offset) + piece.len as i128);
    // Beyond 64 bits the machine's own offsets wrap; no memory is there.
    if lo >= i128::from(i64::MIN) && hi <= i128::from(i64::MAX) {
        assert!(lo <= from && to <= hi, "{piece:?} outside {lo}..{hi} of\n{}", disassemble(desc));
    }
}

/// Offset of each byte of the message, by the plain interpreter.
pub fn byte_offsets(desc: &Descriptor, total: usize) -> Result<Vec<i64>, Error> {
    let mut machine = Machine::new(desc)?;
    let mut offsets = Vec::with_capacity(total);
    while offsets.len() < total {
        let piece = machine.next_piece(total - offsets.len())?;
        offsets.extend((0..piece.len as i64).map(|i| piece.offset + i));
    }
    Ok(offsets)
}

/// A program of up to four routines; each calls only later ones.
fn program(input: &mut Input<'_>, control: bool) -> Descriptor {
    let routines = 1 + input.below(4);
    let mut code = Vec::new();
    let mut starts = Vec::new();
    let mut calls = Vec::new();
    for r in 0..routines {
        let start = code.len();
        starts.push(start);
        for _ in 0..input.below(5) {
            match input.byte() % 8 {
                0..=2 => {
                    isa::push(&mut code, isa::Instr::Copy { bytes: input.length(), offset: input.offset() })
                }
                3 | 4 => {
                    let count = input.below(13) as i32;
                    let (mut at, step, len) = (input.offset(), input.offset(), input.length());
                    let regular = input.byte() & 1 == 1;
                    isa::push(&mut code, isa::Instr::Mcopy { count });
                    for _ in 0..count {
                        isa::push_block(&mut code, at, len);
                        at += if regular { step } else { input.offset() };
                    }
                }
                5 if control => {
                    let operation = i32::from(input.byte() % 4) - 1;
                    isa::push(&mut code, isa::Instr::Control { operation, operand: 7 });
                }
                _ if r + 1 < routines => {
                    let (reps, offset, stride) =
                        (i64::from(input.byte() % 20), input.offset(), input.offset());
                    calls.push((code.len(), r + 1 + input.below(routines - r - 1)));
                    let ret_loc = isa::GOSUB_SIZE as i32;
                    isa::push(&mut code, isa::Instr::Gosub { to_loc: 0, ret_loc, reps, offset, stride });
                }
                _ => {}
            }
        }
        let iter_loc = start as i32 - code.len() as i32;
        isa::push(&mut code, isa::Instr::Iterate { iter_loc });
    }
    for (at, callee) in calls {
        code[at + 1] = starts[callee] as i32 - at as i32;
    }
    let extent = input.offset() * 4;
    let density = Density::Sparse;
    let mut desc =
        Descriptor { code: code.into(), depth: 4, density, size: 0, extent, lext: 0, rext: 0, atom_size: 0 };
    fill_header(&mut desc);
    desc
}

fn fill_header(desc: &mut Descriptor) {
    if let Ok(routines) = Routines::scan(desc) {
        let main = routines.main();
        (desc.size, desc.lext, desc.rext) = (main.size, main.lo, main.hi);
        desc.depth = desc.depth.max(main.depth as i32);
    }
}

/// The fuzzer's bytes, read one by one; zeros after their end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    fn length(&mut self) -> i64 {
        match self.byte() {
            b @ 0..=200 => i64::from(b % 18),
            b => i64::from(b) * 3,
        }
    }

    fn offset(&mut self) -> i64 {
        match self.byte() as i8 {
            b @ -100..=100 => i64::from(b),
            b => i64::from(b) * 37,
        }
    }

    /// Ascending places that cut a message in packets.
    fn cuts(&mut self, total: usize) -> Vec<usize> {
        let mut cuts = vec![0, total];
        for _ in 0..self.below(7) {
            let at = usize::from(self.byte()) * 256 + usize::from(self.byte());
            cuts.push(at % (total + 1));
        }
        cuts.sort_unstable();
        cuts
    }
}

fn word(bytes: &[u8]) -> i32 {
    // A short encoding of small numbers lets the fuzzer reach opcodes and lengths.
    let mut four = [0; 4];
    four[..bytes.len()].copy_from_slice(bytes);
    let value = i32::from_le_bytes(four);
    if four[3] >= 0x40 { i32::from(four[0] as i8) % 32 } else { value % 64 }
}
