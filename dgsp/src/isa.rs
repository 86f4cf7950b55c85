//! The instruction set of the DGSM, the machine that runs data gather/scatter programs. This file
//! is the reference.
//!
//! *LAPI Guide, "Using data gather/scatter programs (DGSPs)".*
//!
//! A program is an array of C `int`s, *words* below, and its instruction counter (IC) indexes that
//! array. An instruction is a C structure laid over the words. Fields that the guide calls `long`
//! take [`LONG`] words (two where `long` has 64 bits) in the byte order of the host; the rest take
//! one. `rsvd` words keep the `long`s at even words, so that a C compiler's own layout of the
//! structure is this one on LP64 and on ILP32; they are written as zero and never read.
//!
//! ```text
//! word      0        1        2        3        4        5        6        7        8        9
//!       +--------+--------+-----------------+-----------------+
//! COPY  | opcode |  rsvd  |      bytes      |     offset      |                      COPY_SIZE    = 6
//!       +--------+--------+-----------------+-----------------+
//! MCOPY | opcode | count  |   block_disp    |    block_len    |  … count blocks      MCOPY_SIZE   = 6, BLOCK_SIZE = 4
//!       +--------+--------+-----------------+-----------------+
//! GOSUB | opcode | to_loc | ret_loc|  rsvd  |      reps       |     offset      |     stride      |  GOSUB_SIZE = 10
//!       +--------+--------+--------+--------+-----------------+-----------------+-----------------+
//! ITER. | opcode |iter_loc|                                                          ITERATE_SIZE = 2
//!       +--------+--------+--------+--------+
//! CTRL  | opcode |operat. |operand |  rsvd  |                                        CONTROL_SIZE = 4
//!       +--------+--------+--------+--------+
//! ```
//! (Drawn for LP64; where `long` is an `int`, each wide field takes one word.) `MCOPY_SIZE`
//! includes the first block, so an MCOPY takes `MCOPY_SIZE + (count - 1) * BLOCK_SIZE` words.
//!
//! # What the instructions do
//! The machine keeps a stack of frames (base, repetitions left, stride, return IC). Offsets are
//! relative to the base of the newest frame. The main routine's frame starts at offset 0 of the
//! user's buffer, advances by the descriptor's `extent`, and repeats for as long as there are bytes
//! to move.
//!
//! | instruction | effect |
//! |---|---|
//! | COPY | moves `bytes` bytes at `offset` |
//! | MCOPY | moves `block_len` bytes at `block_disp`, for each block in order |
//! | GOSUB | pushes a frame at `offset` that will run `reps` times, `stride` bytes apart, and jumps by `to_loc`; `ret_loc` is where to go afterwards. With `reps` 0 only the second jump happens |
//! | ITERATE | counts the repetition; while some are left, advances the base by the stride and jumps by `iter_loc`; else pops the frame and continues at the return point |
//! | CONTROL | scatter side only. `operation` ≥ 0: from here on each copy goes through the DDM function with `operation` and `operand`; [`NO_CTL`]: copies are plain again. The mode belongs to the machine, not to the frame, and persists over repetitions |
//!
//! All jumps are relative to the IC of the instruction that holds them, in words.
//!
//! # Rules of a valid program (the verifier's, by the guide's error code)
//! | code | rule |
//! |---|---|
//! | OTHER | `code_size` > 0; `size` is the number of bytes one application moves; all of them lie in `[lext, rext)`; all sums fit `long`; `density` tells the truth |
//! | ATOM | 0 ≤ `atom_size` ≤ [`MAX_ATOM_SIZE`]; blocks moved under CONTROL are whole atoms |
//! | OPC | every opcode reached is one of the five |
//! | BRANCH | every instruction reached lies in the code whole; instructions don't overlap; `ret_loc` leads forward; `iter_loc` leads to the start of its own routine |
//! | COPY_SZ | no `bytes`, `block_len` or `count` is negative |
//! | REPS | no `reps` is negative |
//! | STACK | `depth` ≥ 1, and at least the number of frames that the deepest GOSUB chain needs; no recursion |
//! | CTL | `operation` ≥ [`NO_CTL`]; a program with CONTROL is labelled sparse |

use std::ffi::{c_int, c_long};

/// Words that a C `long` takes in the code array.
pub const LONG: usize = size_of::<c_long>() / size_of::<c_int>();

/// Opcode of COPY. Zero is no opcode, so that a zeroed array is no program.
pub const COPY: i32 = 1;
/// Opcode of MCOPY.
pub const MCOPY: i32 = 2;
/// Opcode of GOSUB.
pub const GOSUB: i32 = 3;
/// Opcode of ITERATE.
pub const ITERATE: i32 = 4;
/// Opcode of CONTROL.
pub const CONTROL: i32 = 5;

/// Words of a COPY (`LAPI_DGSM_COPY_SIZE`).
pub const COPY_SIZE: usize = 2 + 2 * LONG;
/// Words of an MCOPY with one block (`LAPI_DGSM_MCOPY_SIZE`).
pub const MCOPY_SIZE: usize = 2 + BLOCK_SIZE;
/// Words of each block of an MCOPY (`LAPI_DGSM_MCOPY_BLOCK_SIZE`).
pub const BLOCK_SIZE: usize = 2 * LONG;
/// Words of a GOSUB (`LAPI_DGSM_GOSUB_SIZE`).
pub const GOSUB_SIZE: usize = 4 + 3 * LONG;
/// Words of an ITERATE (`LAPI_DGSM_ITERATE_SIZE`).
pub const ITERATE_SIZE: usize = 2;
/// Words of a CONTROL (`LAPI_DGSM_CONTROL_SIZE`).
pub const CONTROL_SIZE: usize = 4;

/// The `operation` that ends CONTROL mode (`LAPI_DGSM_NO_CTL`).
pub const NO_CTL: i32 = -1;

/// Largest `atom_size` (what `LAPI_Qenv` answers for MAX_ATOM_SIZE): small enough that the smallest
/// packet holds one atom.
pub const MAX_ATOM_SIZE: i32 = 512;

/// Words before the first block of an MCOPY.
const MCOPY_HEAD: usize = 2;

/// One decoded instruction. The blocks of an MCOPY stay in the code; see [`block`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instr {
    /// Move one block.
    Copy {
        /// Length of the block.
        bytes: i64,
        /// Where it starts, from the base of the frame.
        offset: i64,
    },
    /// Move several blocks.
    Mcopy {
        /// How many.
        count: i32,
    },
    /// Run a routine as a subordinate template.
    Gosub {
        /// Jump to the routine.
        to_loc: i32,
        /// Jump for the return.
        ret_loc: i32,
        /// How often the routine runs.
        reps: i64,
        /// Where its template starts, from the base of this frame.
        offset: i64,
        /// How far it moves after each repetition.
        stride: i64,
    },
    /// End of a routine.
    Iterate {
        /// Jump to the routine's start.
        iter_loc: i32,
    },
    /// Set or leave the mode in which copies go through the DDM function.
    Control {
        /// Passed to the DDM function, or [`NO_CTL`].
        operation: i32,
        /// Passed to the DDM function.
        operand: i32,
    },
}

/// Why words are no instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecodable {
    /// The IC, or the end of the instruction, is outside the code.
    Outside,
    /// The first word is no opcode.
    Opcode(i32),
    /// An MCOPY with a negative count has no length.
    Count(i32),
}

impl Instr {
    /// Words that the instruction takes.
    pub fn words(&self) -> usize {
        match *self {
            Self::Copy { .. } => COPY_SIZE,
            Self::Mcopy { count } => MCOPY_HEAD + count.max(0) as usize * BLOCK_SIZE,
            Self::Gosub { .. } => GOSUB_SIZE,
            Self::Iterate { .. } => ITERATE_SIZE,
            Self::Control { .. } => CONTROL_SIZE,
        }
    }
}

/// Decodes the instruction at `ic`. It lies in the code whole, its MCOPY blocks included, or this
/// fails.
#[inline]
pub fn decode(code: &[i32], ic: usize) -> Result<Instr, Undecodable> {
    let words = code.get(ic..).filter(|w| !w.is_empty()).ok_or(Undecodable::Outside)?;
    let field = |at: usize| words.get(at).copied().ok_or(Undecodable::Outside);
    let wide = |at: usize| read_long(words, at).ok_or(Undecodable::Outside);
    let instr = match words[0] {
        COPY => Instr::Copy { bytes: wide(2)?, offset: wide(2 + LONG)? },
        MCOPY => match field(1)? {
            count if count < 0 => return Err(Undecodable::Count(count)),
            count => Instr::Mcopy { count },
        },
        GOSUB => Instr::Gosub {
            to_loc: field(1)?,
            ret_loc: field(2)?,
            reps: wide(4)?,
            offset: wide(4 + LONG)?,
            stride: wide(4 + 2 * LONG)?,
        },
        ITERATE => Instr::Iterate { iter_loc: field(1)? },
        CONTROL => Instr::Control { operation: field(1)?, operand: field(2)? },
        other => return Err(Undecodable::Opcode(other)),
    };
    if instr.words() > words.len() { Err(Undecodable::Outside) } else { Ok(instr) }
}

/// Block `index` of the MCOPY at `ic`, as (displacement, length). `None` outside the code.
#[inline]
pub fn block(code: &[i32], ic: usize, index: usize) -> Option<(i64, i64)> {
    let at = ic + MCOPY_HEAD + index * BLOCK_SIZE;
    Some((read_long(code, at)?, read_long(code, at + LONG)?))
}

/// Appends an instruction. An MCOPY's blocks follow by [`push_block`].
pub fn push(code: &mut Vec<i32>, instr: Instr) {
    match instr {
        Instr::Copy { bytes, offset } => {
            code.extend([COPY, 0]);
            push_long(code, bytes);
            push_long(code, offset);
        }
        Instr::Mcopy { count } => code.extend([MCOPY, count]),
        Instr::Gosub { to_loc, ret_loc, reps, offset, stride } => {
            code.extend([GOSUB, to_loc, ret_loc, 0]);
            push_long(code, reps);
            push_long(code, offset);
            push_long(code, stride);
        }
        Instr::Iterate { iter_loc } => code.extend([ITERATE, iter_loc]),
        Instr::Control { operation, operand } => code.extend([CONTROL, operation, operand, 0]),
    }
}

/// Appends a block to the MCOPY that was pushed last.
pub fn push_block(code: &mut Vec<i32>, disp: i64, len: i64) {
    push_long(code, disp);
    push_long(code, len);
}

/// The IC that a relative jump leads to. `None` if that is below zero; [`decode`] finds the other
/// end.
#[inline]
pub fn jump(ic: usize, by: i32) -> Option<usize> {
    ic.checked_add_signed(by as isize)
}

#[inline]
fn read_long(words: &[i32], at: usize) -> Option<i64> {
    if LONG == 1 {
        return words.get(at).map(|&w| i64::from(w));
    }
    let pair: [i32; 2] = words.get(at..at + 2)?.try_into().ok()?;
    let [a, b] = pair.map(i32::to_ne_bytes);
    Some(i64::from_ne_bytes([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]))
}

fn push_long(code: &mut Vec<i32>, value: i64) {
    if LONG == 1 {
        // The compiler of layouts refuses offsets beyond `long` before it comes here.
        code.push(value as i32);
        return;
    }
    let [a, b, c, d, e, f, g, h] = value.to_ne_bytes();
    code.extend([i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h])]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_survives_encoding() {
        let all = [
            Instr::Copy { bytes: i64::MAX >> 40, offset: -5 },
            Instr::Gosub { to_loc: 12, ret_loc: GOSUB_SIZE as i32, reps: 7, offset: -8, stride: 1 << 20 },
            Instr::Iterate { iter_loc: -6 },
            Instr::Control { operation: 3, operand: -9 },
            Instr::Mcopy { count: 0 },
        ];
        let mut code = Vec::new();
        for i in all {
            push(&mut code, i);
        }
        let mut ic = 0;
        for i in all {
            assert_eq!(decode(&code, ic), Ok(i));
            ic += i.words();
        }
        assert_eq!(ic, code.len());
        assert_eq!(decode(&code, ic), Err(Undecodable::Outside));
    }

    #[test]
    fn truncated_instructions_are_outside() {
        let mut code = Vec::new();
        push(&mut code, Instr::Mcopy { count: 2 });
        push_block(&mut code, 4, 8);
        assert_eq!(decode(&code, 0), Err(Undecodable::Outside));
        push_block(&mut code, -16, 8);
        assert_eq!(decode(&code, 0), Ok(Instr::Mcopy { count: 2 }));
        assert_eq!(block(&code, 0, 1), Some((-16, 8)));
        assert_eq!(code.len(), MCOPY_SIZE + BLOCK_SIZE);
    }

    #[test]
    fn words_that_are_no_instruction() {
        assert_eq!(decode(&[0, 0], 0), Err(Undecodable::Opcode(0)));
        assert_eq!(decode(&[MCOPY, -1], 0), Err(Undecodable::Count(-1)));
        assert_eq!(decode(&[], 0), Err(Undecodable::Outside));
        assert_eq!(jump(3, -4), None);
    }
}
