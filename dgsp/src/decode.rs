//! Decoding: from code back to the normal form, so that hand-written programs run as fast as
//! compiled layouts.

use std::collections::HashMap;

use crate::descriptor::Descriptor;
use crate::error::{Error, ErrorCode, Fault};
use crate::ir::{Body, Item, Kind};
use crate::isa::{self, Instr};
use crate::routines::{Routines, blocks};

/// Deeper programs stay with the plain interpreter, which needs no recursion.
const DEEPEST: usize = 200;
/// Programs that come to more items, those of routines counted at each GOSUB, and have fewer words
/// than that, stay there too.
const MOST_ITEMS: usize = 1 << 16;

/// The normal form of one application. Fails for programs that nest too deep, or grow too large, or
/// use CONTROL.
pub(crate) fn decode(desc: &Descriptor, routines: &Routines) -> Result<Body, Error> {
    let main = routines.main();
    if main.depth > DEEPEST {
        let fault = Fault::TooDeep { need: main.depth, depth: DEEPEST as i32 };
        return Err(Error::whole(ErrorCode::Stack, fault));
    }
    if main.control {
        return Err(Error::whole(ErrorCode::Ctl, Fault::ControlInGather));
    }
    Decoder { code: &desc.code, done: HashMap::new() }.routine(0)
}

struct Decoder<'c> {
    code: &'c [i32],
    done: HashMap<usize, Body>,
}

impl Decoder<'_> {
    fn routine(&mut self, entry: usize) -> Result<Body, Error> {
        if let Some(body) = self.done.get(&entry) {
            return Ok(body.clone());
        }
        let most = MOST_ITEMS.max(self.code.len()) as u64;
        let mut items = Vec::new();
        // Items in loops, besides.
        let mut below = 0u64;
        let mut ic = entry;
        loop {
            let instr =
                isa::decode(self.code, ic).map_err(|why| Error::undecodable(why, ic, self.code.len()))?;
            match instr {
                Instr::Copy { bytes, offset } => items.push(block(offset, bytes)),
                Instr::Mcopy { count } => {
                    items.extend(blocks(self.code, ic, count).map(|(disp, len)| block(disp, len)));
                }
                Instr::Gosub { to_loc, ret_loc, reps, offset, stride } => {
                    if reps > 0 {
                        let callee = self.routine(ic.wrapping_add_signed(to_loc as isize))?;
                        let run = Body::repeated(offset, reps as u64, stride, &callee)?;
                        // A routine that runs another twice, which runs a third twice, … doubles
                        // with every level. Here they share bodies, but no plan does.
                        below = below.saturating_add(run.nodes - run.items.len() as u64);
                        items.extend(run.items);
                        if below.saturating_add(items.len() as u64) > most {
                            return Err(Error::at(ErrorCode::Other, ic, Fault::Overflow));
                        }
                    }
                    ic = ic.wrapping_add_signed(ret_loc as isize);
                    continue;
                }
                Instr::Iterate { .. } => break,
                Instr::Control { .. } => {}
            }
            ic += instr.words();
        }
        let body = Body::new(items)?;
        self.done.insert(entry, body.clone());
        Ok(body)
    }
}

fn block(off: i64, len: i64) -> Item {
    Item { off, kind: Kind::Bytes(len.max(0) as u64) }
}
