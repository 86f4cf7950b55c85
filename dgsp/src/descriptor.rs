//! The descriptor of a program.

use std::sync::Arc;

use crate::error::{Error, ErrorCode, Fault};
use crate::isa;

/// How dense a layout is (`lapi_dgsp_density_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(i32)]
pub enum Density {
    /// There are gaps inside.
    #[default]
    Sparse = 0,
    /// No gaps inside, but between repetitions.
    Contig = 1,
    /// No gaps at all, however often it is repeated.
    Unit = 2,
}

impl Density {
    /// The density of a C value; `None` if it is none of the three.
    pub fn from_c(value: i32) -> Option<Self> {
        match value {
            0 => Some(Self::Sparse),
            1 => Some(Self::Contig),
            2 => Some(Self::Unit),
            _ => None,
        }
    }
}

/// A program as the user hands it over (`lapi_dgsp_descr_t`); nothing in it is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The program; `code_size` is its length. Shared, so that a clone costs a reference.
    pub code: Arc<[i32]>,
    /// Most frames that are live at once, the main routine's included.
    pub depth: i32,
    /// What the user says about gaps.
    pub density: Density,
    /// Bytes that one application moves.
    pub size: i64,
    /// Distance from one application to the next.
    pub extent: i64,
    /// Offset of the leftmost byte.
    pub lext: i64,
    /// Offset just past the rightmost byte.
    pub rext: i64,
    /// 0, or: packets carry multiples of this.
    pub atom_size: i32,
}

impl Descriptor {
    /// The checks that are made even when nobody asks for verification (*LAPI Guide, LAPI_Util*: ATOM and OTHER are not
    /// restricted to validation mode).
    pub fn check_header(&self) -> Result<(), Error> {
        if self.code.is_empty() {
            return Err(Error::whole(ErrorCode::Other, Fault::Empty));
        }
        if !(0..=isa::MAX_ATOM_SIZE).contains(&self.atom_size) {
            return Err(Error::whole(ErrorCode::Atom, Fault::AtomSize(self.atom_size)));
        }
        if self.depth < 1 {
            return Err(Error::whole(ErrorCode::Stack, Fault::Depth(self.depth)));
        }
        Ok(())
    }

    /// How many of `room` bytes a packet takes when `left` bytes of the message remain: all that fit, in whole atoms.
    /// The last packet takes what is left. Zero only if not even one atom fits.
    pub fn packet_bytes(&self, room: usize, left: u64) -> usize {
        if left <= room as u64 {
            return left as usize;
        }
        match self.atom_size {
            a if a > 1 => room - room % a as usize,
            _ => room,
        }
    }
}
