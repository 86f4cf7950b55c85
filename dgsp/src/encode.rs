//! Encoding: from the normal form to code.

use std::collections::HashMap;
use std::ffi::c_long;

use crate::descriptor::Descriptor;
use crate::error::Error;
use crate::ir::{Body, Item, Kind};
use crate::isa::{self, Instr};

/// The program of a body. Routines follow the main one in the order of their first use; equal
/// bodies share one.
pub(crate) fn program(body: &Body, extent: i64, atom_size: i32) -> Result<Descriptor, Error> {
    let (lowest, highest) = (body.lo.min(extent), body.hi.max(extent));
    if c_long::try_from(lowest).is_err() || c_long::try_from(highest).is_err() {
        return Err(Error::overflow());
    }
    let mut encoder =
        Encoder { code: Vec::new(), calls: Vec::new(), routines: HashMap::new(), todo: vec![body] };
    let mut next = 0;
    while let Some(&body) = encoder.todo.get(next) {
        encoder.routine(next, body)?;
        next += 1;
    }
    let Encoder { mut code, calls, routines, todo } = encoder;
    for (at, body) in calls {
        code[at + 1] = relative(at, routines.get(body).map_or(0, |r| r.1))?;
    }
    debug_assert_eq!(next, todo.len());
    Ok(Descriptor {
        code: code.into(),
        depth: body.depth as i32 + 1,
        density: body.density(extent),
        size: body.size as i64,
        extent,
        lext: body.lo,
        rext: body.hi,
        atom_size,
    })
}

struct Encoder<'b> {
    code: Vec<i32>,
    /// GOSUBs whose jump is still open.
    calls: Vec<(usize, &'b Body)>,
    /// Number and, once encoded, IC of each routine but the main one.
    routines: HashMap<&'b Body, (usize, usize)>,
    todo: Vec<&'b Body>,
}

impl<'b> Encoder<'b> {
    fn routine(&mut self, number: usize, body: &'b Body) -> Result<(), Error> {
        let start = self.code.len();
        if number > 0 {
            self.routines.insert(body, (number, start));
        }
        let mut items = &body.items[..];
        while !items.is_empty() {
            let blocks = items.iter().take_while(|i| matches!(i.kind, Kind::Bytes(_))).count();
            let (now, later) = items.split_at(blocks.clamp(1, i32::MAX as usize));
            match &now[0].kind {
                Kind::Loop(l) => self.gosub(now[0].off, l.count, l.stride, &l.body)?,
                Kind::Bytes(_) => self.blocks(now),
            }
            items = later;
        }
        let end = self.code.len();
        isa::push(&mut self.code, Instr::Iterate { iter_loc: relative(end, start)? });
        Ok(())
    }

    fn blocks(&mut self, items: &[Item]) {
        if let [one] = items {
            isa::push(&mut self.code, Instr::Copy { bytes: one.size() as i64, offset: one.off });
            return;
        }
        isa::push(&mut self.code, Instr::Mcopy { count: items.len() as i32 });
        for item in items {
            isa::push_block(&mut self.code, item.off, item.size() as i64);
        }
    }

    fn gosub(&mut self, offset: i64, count: u64, stride: i64, body: &'b Body) -> Result<(), Error> {
        if !self.routines.contains_key(body) {
            self.routines.insert(body, (self.todo.len(), 0));
            self.todo.push(body);
        }
        self.calls.push((self.code.len(), body));
        let reps = i64::try_from(count).map_err(|_| Error::overflow())?;
        let ret_loc = isa::GOSUB_SIZE as i32;
        isa::push(&mut self.code, Instr::Gosub { to_loc: 0, ret_loc, reps, offset, stride });
        Ok(())
    }
}

fn relative(from: usize, to: usize) -> Result<i32, Error> {
    i32::try_from(to as i64 - from as i64).map_err(|_| Error::overflow())
}
