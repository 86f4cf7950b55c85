//! The plain interpreter: one instruction at a time, as the guide describes the machine.
//!
//! It is the oracle that the compiled engine is tested against, and it runs what that engine can't:
//! programs under CONTROL and programs that were never verified. For the latter it checks every
//! step, so that whatever the words are it fetches no opcode outside the code, keeps within the
//! stack that the descriptor declares, and gives up when nothing moves.

use crate::descriptor::Descriptor;
use crate::error::{Error, ErrorCode, Fault};
use crate::isa::{self, Instr};
use crate::routines::{Mode, Routines};

/// One contiguous stretch that the program moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset from the user's buffer.
    pub offset: i64,
    /// Length, never 0.
    pub len: usize,
    /// Under CONTROL: (operation, operand) for the DDM function.
    pub control: Option<(i32, i32)>,
}

/// The machine's state; it can stop after any byte and continue there.
#[derive(Clone, Debug)]
pub struct Machine<'d> {
    desc: &'d Descriptor,
    /// Set for programs with sound control flow: lets `skip` jump over repetitions.
    routines: Option<&'d Routines>,
    ic: usize,
    frames: Vec<Frame>,
    /// The rest of the block in progress.
    block: Option<(i64, u64)>,
    /// The next block of the MCOPY at `ic`.
    block_index: usize,
    mode: Mode,
    /// Instructions since the last byte moved.
    idle: u32,
}

/// Instructions that may pass without a byte before a program whose control flow may be unsound
/// counts as stalled. Layouts with empty parts stay below.
const STALL: u32 = if cfg!(miri) { 1 << 10 } else { 1 << 16 };

/// Bound on memory, whatever depth a descriptor declares.
const MOST_FRAMES: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
struct Frame {
    base: i64,
    /// Repetitions left, the running one included; ignored in the main routine, which repeats while
    /// it is asked to.
    reps: i64,
    stride: i64,
    ret: usize,
}

impl<'d> Machine<'d> {
    /// A machine at the start of the program.
    pub fn new(desc: &'d Descriptor) -> Result<Self, Error> {
        desc.check_header()?;
        Ok(Self::with_routines(desc, None))
    }

    pub(crate) fn with_routines(desc: &'d Descriptor, routines: Option<&'d Routines>) -> Self {
        let main = Frame { base: 0, reps: 0, stride: desc.extent, ret: 0 };
        let (block, mode) = (None, None);
        Self { desc, routines, ic: 0, frames: vec![main], block, block_index: 0, mode, idle: 0 }
    }

    /// The next stretch, of at most `most` bytes (which is not 0).
    pub fn next_piece(&mut self, most: usize) -> Result<Piece, Error> {
        debug_assert!(most > 0);
        loop {
            if let Some((offset, left)) = self.block {
                let len = left.min(most as u64);
                self.block = (len < left).then_some((offset.wrapping_add_unsigned(len), left - len));
                self.idle = 0;
                return Ok(Piece { offset, len: len as usize, control: self.mode });
            }
            self.step()?;
        }
    }

    /// Passes over the next `bytes` bytes without moving them; modes are kept up to date.
    pub fn skip(&mut self, mut bytes: u64) -> Result<(), Error> {
        while bytes > 0 {
            if self.block.is_none() {
                if self.skip_repetitions(&mut bytes) {
                    continue;
                }
                self.step()?;
                continue;
            }
            let most = usize::try_from(bytes).unwrap_or(usize::MAX);
            bytes -= self.next_piece(most)?.len as u64;
        }
        Ok(())
    }

    /// At the start of the program or at a GOSUB whose size is known, steps over what lies before
    /// the position at once.
    fn skip_repetitions(&mut self, bytes: &mut u64) -> bool {
        let Some(routines) = self.routines else { return false };
        if self.ic == 0 && self.frames.len() == 1 && self.block_index == 0 {
            let main = routines.main();
            if let Some(times) = (*bytes).checked_div(main.size as u64).filter(|&n| n > 0) {
                let travel = (times as i64).wrapping_mul(self.desc.extent);
                self.frames[0].base = self.frames[0].base.wrapping_add(travel);
                self.mode = main.leaves.unwrap_or(self.mode);
                *bytes -= times * main.size as u64;
                return true;
            }
            // Within one application: it may begin with a GOSUB.
        }
        let Ok(Instr::Gosub { to_loc, ret_loc, reps, offset, stride }) =
            isa::decode(&self.desc.code, self.ic)
        else {
            return false;
        };
        let Some(sum) = isa::jump(self.ic, to_loc).and_then(|to| routines.get(to)) else { return false };
        let Some(times) = (*bytes).checked_div(sum.size as u64).map(|n| n.min(reps as u64)) else {
            return false;
        };
        if times == 0 {
            return false;
        }
        *bytes -= times * sum.size as u64;
        self.mode = sum.leaves.unwrap_or(self.mode);
        let after = self.ic.wrapping_add_signed(ret_loc as isize);
        if times == reps as u64 {
            self.ic = after;
            return true;
        }
        let base = self.base().wrapping_add(offset).wrapping_add(stride.wrapping_mul(times as i64));
        self.frames.push(Frame { base, reps: reps - times as i64, stride, ret: after });
        self.ic = self.ic.wrapping_add_signed(to_loc as isize);
        true
    }

    /// Executes up to the next block.
    fn step(&mut self) -> Result<(), Error> {
        self.idle = self.idle.saturating_add(1);
        if self.idle > STALL && !self.is_sure_to_move() {
            return Err(Error::at(ErrorCode::Other, self.ic, Fault::Stalled(STALL)));
        }
        let (code, ic) = (&*self.desc.code, self.ic);
        match isa::decode(code, ic).map_err(|why| Error::undecodable(why, ic, code.len()))? {
            Instr::Copy { bytes, offset } => {
                self.start_block(offset, bytes)?;
                self.ic = ic + isa::COPY_SIZE;
            }
            instr @ Instr::Mcopy { count } => {
                if self.block_index < count as usize {
                    let Some((disp, len)) = isa::block(code, ic, self.block_index) else {
                        return Err(Error::at(ErrorCode::Branch, ic, Fault::Truncated(code.len())));
                    };
                    self.start_block(disp, len)?;
                    self.block_index += 1;
                } else {
                    self.block_index = 0;
                    self.ic = ic + instr.words();
                }
            }
            Instr::Gosub { to_loc, ret_loc, reps, offset, stride } => {
                self.gosub(to_loc, ret_loc, reps, offset, stride)?;
            }
            Instr::Iterate { iter_loc } => self.iterate(iter_loc)?,
            Instr::Control { operation, .. } if operation < isa::NO_CTL => {
                return Err(Error::at(ErrorCode::Ctl, ic, Fault::Operation(operation)));
            }
            Instr::Control { operation, operand } => {
                self.mode = (operation != isa::NO_CTL).then_some((operation, operand));
                self.ic = ic + isa::CONTROL_SIZE;
            }
        }
        Ok(())
    }

    /// Whether there is a byte after some instructions, of which there are no more than the code
    /// has in all routines: control flow is sound, and routines that move nothing are not run.
    fn is_sure_to_move(&self) -> bool {
        self.routines.is_some_and(|routines| routines.main().size > 0)
    }

    fn start_block(&mut self, offset: i64, len: i64) -> Result<(), Error> {
        if len < 0 {
            return Err(Error::at(ErrorCode::CopySz, self.ic, Fault::Negative(len)));
        }
        self.block = (len > 0).then_some((self.base().wrapping_add(offset), len as u64));
        Ok(())
    }

    fn gosub(&mut self, to_loc: i32, ret_loc: i32, reps: i64, offset: i64, stride: i64) -> Result<(), Error> {
        if reps < 0 {
            return Err(Error::at(ErrorCode::Reps, self.ic, Fault::Reps(reps)));
        }
        let ret = self.target(ret_loc)?;
        // What is known to move nothing is not run, however often it would be.
        let idle = self
            .routines
            .zip(isa::jump(self.ic, to_loc))
            .and_then(|(r, to)| r.get(to))
            .filter(|s| s.size == 0);
        if reps == 0 || idle.is_some() {
            if reps > 0 {
                self.mode = idle.and_then(|s| s.leaves).unwrap_or(self.mode);
            }
            self.ic = ret;
            return Ok(());
        }
        if self.frames.len() >= self.desc.frames().min(MOST_FRAMES) {
            let fault = Fault::TooDeep { need: self.frames.len() + 1, depth: self.desc.depth };
            return Err(Error::at(ErrorCode::Stack, self.ic, fault));
        }
        let to = self.target(to_loc)?;
        self.frames.push(Frame { base: self.base().wrapping_add(offset), reps, stride, ret });
        self.ic = to;
        Ok(())
    }

    fn iterate(&mut self, iter_loc: i32) -> Result<(), Error> {
        let to = self.target(iter_loc)?;
        let main = self.frames.len() == 1;
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        if !main {
            frame.reps -= 1;
            if frame.reps == 0 {
                self.ic = frame.ret;
                self.frames.pop();
                return Ok(());
            }
        }
        frame.base = frame.base.wrapping_add(frame.stride);
        self.ic = to;
        Ok(())
    }

    fn target(&self, by: i32) -> Result<usize, Error> {
        let len = self.desc.code.len();
        let outside = Fault::Outside { to: self.ic as i64 + i64::from(by), len };
        let to = isa::jump(self.ic, by).filter(|&to| to < len);
        to.ok_or(Error::at(ErrorCode::Branch, self.ic, outside))
    }

    fn base(&self) -> i64 {
        // The main frame is never popped.
        self.frames.last().map_or(0, |f| f.base)
    }
}
