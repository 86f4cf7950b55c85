//! What can be wrong with a program, with the guide's code for it and the place.

use crate::isa;

/// The guide's error codes for DGSPs (*LAPI Guide, Appendix C*), with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum ErrorCode {
    /// `LAPI_ERR_DGSP_ATOM`: the atom size.
    Atom = 466,
    /// `LAPI_ERR_DGSP_BRANCH`: a jump that leads nowhere.
    Branch = 467,
    /// `LAPI_ERR_DGSP_CTL`: CONTROL where it can't be.
    Ctl = 468,
    /// `LAPI_ERR_DGSP_COPY_SZ`: a negative length.
    CopySz = 469,
    /// `LAPI_ERR_DGSP_OPC`: an unknown opcode.
    Opc = 471,
    /// `LAPI_ERR_DGSP_REPS`: a negative repetition count.
    Reps = 472,
    /// `LAPI_ERR_DGSP_STACK`: more frames than `depth`.
    Stack = 473,
    /// `LAPI_ERR_PACK_SZ`: the pack buffer is too small.
    PackSz = 479,
    /// `LAPI_ERR_DGSP_OTHER`: anything else.
    Other = 480,
}

/// A rejected or failed program: the code, the instruction, and the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("DGSP error {} ({:?}){}: {fault}", *.code as i32, .code, Place(.at))]
pub struct Error {
    /// The guide's code.
    pub code: ErrorCode,
    /// Index in the code array of the instruction at fault, if it is one instruction's.
    pub at: Option<usize>,
    /// What is wrong with it.
    pub fault: Fault,
}

/// The faults behind the codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No code at all.
    #[error("the code array is empty; a program has at least an ITERATE")]
    Empty,
    /// Atom size out of range.
    #[error("atom_size {0} is not in 0..={max}", max = isa::MAX_ATOM_SIZE)]
    AtomSize(i32),
    /// A split operand.
    #[error("a block of {bytes} bytes under CONTROL is no multiple of the atom size {atom}")]
    SplitAtom {
        /// Length of the block.
        bytes: i64,
        /// The descriptor's atom size.
        atom: i32,
    },
    /// A jump or a fall beyond the code.
    #[error("leads to word {to}, outside the {len} words of code")]
    Outside {
        /// Where to.
        to: i64,
        /// Words of code.
        len: usize,
    },
    /// An instruction that starts inside the code and ends outside.
    #[error("the instruction's end is beyond the {0} words of code")]
    Truncated(usize),
    /// A jump into the middle of another instruction.
    #[error("overlaps another instruction")]
    Overlap,
    /// A return that leads backwards.
    #[error("ret_loc {0} must lead forward")]
    ReturnBack(i32),
    /// A routine that does not close its own loop.
    #[error("iter_loc leads to word {to}, but the routine starts at word {start}")]
    IterateElsewhere {
        /// Where iter_loc leads.
        to: i64,
        /// Where it should lead.
        start: usize,
    },
    /// No such opcode.
    #[error("{0} is no opcode")]
    Opcode(i32),
    /// A negative length.
    #[error("length {0} is negative")]
    Negative(i64),
    /// A negative repetition count.
    #[error("reps {0} is negative")]
    Reps(i64),
    /// A descriptor that allows no frame.
    #[error("depth {0} leaves no frame for the main routine; it must be at least 1")]
    Depth(i32),
    /// Too many frames.
    #[error("needs {need} stack frames, depth allows {depth}")]
    TooDeep {
        /// Frames needed.
        need: usize,
        /// What the descriptor allows.
        depth: i32,
    },
    /// A routine that calls itself.
    #[error("the routine at word {0} calls itself")]
    Recursion(usize),
    /// A bad CONTROL operation.
    #[error("operation {0} is below LAPI_DGSM_NO_CTL")]
    Operation(i32),
    /// CONTROL under the wrong label.
    #[error("a program with CONTROL must be labelled LAPI_DGSM_SPARSE")]
    ControlNotSparse,
    /// CONTROL in a gather.
    #[error("CONTROL has no meaning on the gather side")]
    ControlInGather,
    /// CONTROL without a function.
    #[error("CONTROL needs a DDM function; register one with LAPI_REG_DDM_FUNC")]
    NoDdm,
    /// A DDM function that took nothing, or more than it got.
    #[error("the DDM function processed {took} of {given} bytes")]
    Ddm {
        /// Its answer.
        took: i64,
        /// What it was given.
        given: usize,
    },
    /// The sums of offsets and lengths don't fit.
    #[error("offsets or sizes exceed 64 bits")]
    Overflow,
    /// The descriptor's size is wrong.
    #[error("size is {claimed}, but one application moves {actual} bytes")]
    Size {
        /// The descriptor's.
        claimed: i64,
        /// The code's.
        actual: i64,
    },
    /// The descriptor's lext and rext don't cover the data.
    #[error("data spans bytes {lo}..{hi}, outside lext {lext} to rext {rext}")]
    Extents {
        /// Lowest byte.
        lo: i64,
        /// Past the highest byte.
        hi: i64,
        /// The descriptor's.
        lext: i64,
        /// The descriptor's.
        rext: i64,
    },
    /// A density that is none of the three.
    #[error("density {0} is neither LAPI_DGSM_SPARSE, LAPI_DGSM_CONTIG nor LAPI_DGSM_UNIT")]
    UnknownDensity(i32),
    /// The density label is wrong.
    #[error("labelled {claimed:?}, but the layout is {actual:?}")]
    Density {
        /// The descriptor's.
        claimed: crate::Density,
        /// What the code does.
        actual: crate::Density,
    },
    /// The program moves nothing.
    #[error("the program ran {0} instructions without moving a byte")]
    Stalled(u32),
    /// PACK or UNPACK beyond the packed buffer.
    #[error("{bytes} bytes at position {position} exceed the packed buffer of {size} bytes")]
    PackSize {
        /// Bytes asked for.
        bytes: usize,
        /// Where in the packed buffer.
        position: usize,
        /// Size of the packed buffer.
        size: usize,
    },
    /// Safe calls check the range before they touch it.
    #[error("the program would touch bytes {lo}..{hi} of a buffer of {size} bytes")]
    Range {
        /// Lowest byte.
        lo: i128,
        /// Past the highest byte.
        hi: i128,
        /// Size of the buffer.
        size: usize,
    },
}

impl Error {
    pub(crate) fn at(code: ErrorCode, ic: usize, fault: Fault) -> Self {
        Self { code, at: Some(ic), fault }
    }

    pub(crate) fn whole(code: ErrorCode, fault: Fault) -> Self {
        Self { code, at: None, fault }
    }

    pub(crate) fn overflow() -> Self {
        Self::whole(ErrorCode::Other, Fault::Overflow)
    }

    /// The error for words that [`isa::decode`] refuses.
    pub(crate) fn undecodable(why: isa::Undecodable, ic: usize, len: usize) -> Self {
        match why {
            isa::Undecodable::Outside if ic >= len => {
                Self::at(ErrorCode::Branch, ic, Fault::Outside { to: ic as i64, len })
            }
            isa::Undecodable::Outside => Self::at(ErrorCode::Branch, ic, Fault::Truncated(len)),
            isa::Undecodable::Opcode(op) => Self::at(ErrorCode::Opc, ic, Fault::Opcode(op)),
            isa::Undecodable::Count(n) => Self::at(ErrorCode::CopySz, ic, Fault::Negative(n.into())),
        }
    }
}

struct Place<'a>(&'a Option<usize>);

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(at) => write!(f, " at code[{at}]"),
            None => Ok(()),
        }
    }
}
