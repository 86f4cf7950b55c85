//! The verifier (`LAPI_VERIFY_DGSP=yes`): small named checks, each with one of the guide's codes.
//!
//! [`crate::isa`] states the rules; those of control flow are checked while the routines are found
//! (`routines.rs`). They guarantee that a program terminates, and that its stack depth and the
//! bytes that it accesses are known.

use crate::decode;
use crate::density::Density;
use crate::descriptor::Descriptor;
use crate::error::{Error, ErrorCode, Fault};
use crate::routines::{Routines, Summary};

/// A program that passed every check. Only [`verify`] makes one.
#[derive(Clone, Debug)]
pub struct Verified {
    desc: Descriptor,
    routines: Routines,
}

impl Verified {
    /// The descriptor that was verified.
    pub fn descriptor(&self) -> &Descriptor {
        &self.desc
    }

    /// Frames that the program needs: at most the descriptor's `depth`.
    pub fn depth(&self) -> usize {
        self.routines.main().depth
    }

    /// Whether any routine has a CONTROL.
    pub fn has_control(&self) -> bool {
        self.routines.main().control
    }
}

/// Checks everything.
pub fn verify(desc: &Descriptor) -> Result<Verified, Error> {
    desc.check_header()?;
    check_main_frame(desc)?;
    let routines = Routines::scan(desc)?;
    check_depth(desc, routines.main())?;
    check_density_of_control(desc, routines.main())?;
    check_size(desc, routines.main())?;
    check_extents(desc, routines.main())?;
    check_density(desc, &routines)?;
    Ok(Verified { desc: desc.clone(), routines })
}

fn check_main_frame(desc: &Descriptor) -> Result<(), Error> {
    if desc.depth < 1 {
        return Err(Error::whole(ErrorCode::Stack, Fault::Depth(desc.depth)));
    }
    Ok(())
}

fn check_depth(desc: &Descriptor, main: &Summary) -> Result<(), Error> {
    if main.depth <= desc.frames() {
        return Ok(());
    }
    let fault = Fault::TooDeep { need: main.depth, depth: desc.depth };
    Err(Error { code: ErrorCode::Stack, at: main.deepest, fault })
}

fn check_density_of_control(desc: &Descriptor, main: &Summary) -> Result<(), Error> {
    if main.control && desc.density != Density::Sparse {
        return Err(Error::whole(ErrorCode::Ctl, Fault::ControlNotSparse));
    }
    Ok(())
}

fn check_size(desc: &Descriptor, main: &Summary) -> Result<(), Error> {
    if desc.size == main.size {
        return Ok(());
    }
    Err(Error::whole(ErrorCode::Other, Fault::Size { claimed: desc.size, actual: main.size }))
}

fn check_extents(desc: &Descriptor, main: &Summary) -> Result<(), Error> {
    if main.size == 0 || (desc.lext <= main.lo && main.hi <= desc.rext) {
        return Ok(());
    }
    let fault = Fault::Extents { lo: main.lo, hi: main.hi, lext: desc.lext, rext: desc.rext };
    Err(Error::whole(ErrorCode::Other, fault))
}

fn check_density(desc: &Descriptor, routines: &Routines) -> Result<(), Error> {
    if desc.density == Density::Sparse {
        return Ok(());
    }
    // What is too large to decode has many gaps.
    let actual = decode::decode(desc, routines).map_or(Density::Sparse, |body| body.density(desc.extent));
    if (desc.density as i32) <= (actual as i32) {
        return Ok(());
    }
    Err(Error::whole(ErrorCode::Other, Fault::Density { claimed: desc.density, actual }))
}
