//! The descriptor of a program.

use std::sync::Arc;

use crate::density::Density;
use crate::error::{Error, ErrorCode, Fault};
use crate::isa;

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
    /// The checks that are made even when nobody asks for verification (*LAPI Guide, LAPI_Util*:
    /// ATOM and OTHER are not restricted to validation mode).
    pub fn check_header(&self) -> Result<(), Error> {
        if self.code.is_empty() {
            return Err(Error::whole(ErrorCode::Other, Fault::Empty));
        }
        if !(0..=isa::MAX_ATOM_SIZE).contains(&self.atom_size) {
            return Err(Error::whole(ErrorCode::Atom, Fault::AtomSize(self.atom_size)));
        }
        Ok(())
    }

    /// Frames that may be live at once.
    pub(crate) fn frames(&self) -> usize {
        self.depth.max(0) as usize
    }

    /// The same bytes under CONTROL, so that the target's DDM function combines them with what is
    /// there. Operands have `atom` bytes; the sender's program must have that atom size, too.
    ///
    /// ```
    /// use lapis_dgsp::ddm::{Operand, Operation};
    /// use lapis_dgsp::{Layout, Registered};
    /// # fn main() -> Result<(), lapis_dgsp::Error> {
    /// let column = Layout::vector(10, 1, 10, &Layout::bytes(8)?)?.compile()?;
    /// let sum = column.under_control(Operation::Sum as i32, Operand::F64 as i32, 8);
    /// assert!(Registered::verified(sum)?.has_control());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn under_control(&self, operation: i32, operand: i32, atom: i32) -> Self {
        use isa::Instr;
        // A main routine that sets the mode and runs the old one once.
        let mut code =
            Vec::with_capacity(self.code.len() + isa::CONTROL_SIZE + isa::GOSUB_SIZE + isa::ITERATE_SIZE);
        isa::push(&mut code, Instr::Control { operation, operand });
        let (to_loc, ret_loc) = ((isa::GOSUB_SIZE + isa::ITERATE_SIZE) as i32, isa::GOSUB_SIZE as i32);
        isa::push(&mut code, Instr::Gosub { to_loc, ret_loc, reps: 1, offset: 0, stride: 0 });
        let iter_loc = -(code.len() as i32);
        isa::push(&mut code, Instr::Iterate { iter_loc });
        code.extend_from_slice(&self.code);
        Self {
            code: code.into(),
            depth: self.depth.saturating_add(1),
            density: Density::Sparse,
            atom_size: atom,
            ..self.clone()
        }
    }

    /// How many of `room` bytes a packet takes when `left` bytes of the message remain: all that
    /// fit, in whole atoms. The last packet takes what is left. Zero only if not even one atom
    /// fits.
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
