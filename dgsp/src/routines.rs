//! The routines of a program, and what each of them does.
//!
//! Control flow is a tree of counted loops: routines without cycles among them, each closed by its
//! own ITERATE. So the bytes that a program touches are summed up routine by routine, in one pass
//! over the code.

use std::collections::HashMap;

use crate::descriptor::Descriptor;
use crate::error::{Error, ErrorCode, Fault};
use crate::isa::{self, Instr};

/// Mode that CONTROL leaves behind: (operation, operand), or `None` for plain copies.
pub(crate) type Mode = Option<(i32, i32)>;

/// What one run of a routine does, relative to its base.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// Bytes moved.
    pub(crate) size: i64,
    /// Lowest byte and past the highest one; equal if nothing moves.
    pub(crate) lo: i64,
    pub(crate) hi: i64,
    /// Frames, its own included.
    pub(crate) depth: usize,
    /// The mode it leaves, if it sets one.
    pub(crate) leaves: Option<Mode>,
    /// Whether it or its callees have a CONTROL.
    pub(crate) control: bool,
    /// The first block, by IC and length, that is no whole number of atoms and is moved in the mode
    /// that the routine is entered with.
    loose: Option<(usize, i64)>,
    /// IC of the first GOSUB that leads to the greatest depth.
    pub(crate) deepest: Option<usize>,
}

/// The routines of a program whose control flow is sound, whatever its descriptor says.
#[derive(Clone, Debug)]
pub(crate) struct Routines {
    summaries: HashMap<usize, Summary>,
}

impl Routines {
    /// Walks the code reachable from its start. Fails on the first instruction that breaks a rule.
    pub(crate) fn scan(desc: &Descriptor) -> Result<Self, Error> {
        let code = &*desc.code;
        let mut scan =
            Scan { code, atom: desc.atom_size, taken: vec![false; code.len()], bodies: HashMap::new() };
        let mut todo = vec![(0, 0)];
        while let Some((entry, from)) = todo.pop() {
            if !scan.bodies.contains_key(&entry) {
                let calls = scan.routine(entry, from)?;
                todo.extend(calls);
            }
        }
        Ok(Self { summaries: scan.summarise()? })
    }

    pub(crate) fn main(&self) -> &Summary {
        &self.summaries[&0]
    }

    pub(crate) fn get(&self, entry: usize) -> Option<&Summary> {
        self.summaries.get(&entry)
    }
}

struct Scan<'c> {
    code: &'c [i32],
    atom: i32,
    /// Words that belong to an instruction seen.
    taken: Vec<bool>,
    /// Instructions of each routine, by entry.
    bodies: HashMap<usize, Vec<(usize, Instr)>>,
}

impl Scan<'_> {
    /// Reads one routine to its ITERATE; answers the routines that it calls, with the IC of the
    /// call.
    fn routine(&mut self, entry: usize, from: usize) -> Result<Vec<(usize, usize)>, Error> {
        let (mut body, mut calls) = (Vec::new(), Vec::new());
        let (mut ic, mut came_from) = (entry, from);
        loop {
            let instr = self.instruction(ic, came_from)?;
            came_from = ic;
            body.push((ic, instr));
            match instr {
                Instr::Copy { bytes, .. } => {
                    check_length(bytes, ic)?;
                    ic += instr.words();
                }
                Instr::Mcopy { count } => {
                    for (_, len) in blocks(self.code, ic, count) {
                        check_length(len, ic)?;
                    }
                    ic += instr.words();
                }
                Instr::Control { operation, .. } => {
                    check_operation(operation, ic)?;
                    ic += instr.words();
                }
                Instr::Gosub { to_loc, ret_loc, reps, .. } => {
                    check_reps(reps, ic)?;
                    let to = check_jump(self.code, ic, to_loc)?;
                    calls.push((to, ic));
                    ic = check_return(self.code, ic, ret_loc)?;
                }
                Instr::Iterate { iter_loc } => {
                    check_iterate(ic, iter_loc, entry)?;
                    self.bodies.insert(entry, body);
                    return Ok(calls);
                }
            }
        }
    }

    fn instruction(&mut self, ic: usize, came_from: usize) -> Result<Instr, Error> {
        if ic >= self.code.len() {
            let fault = Fault::Outside { to: ic as i64, len: self.code.len() };
            return Err(Error::at(ErrorCode::Branch, came_from, fault));
        }
        let instr = isa::decode(self.code, ic).map_err(|why| Error::undecodable(why, ic, self.code.len()))?;
        let words = &mut self.taken[ic..ic + instr.words()];
        if words.contains(&true) {
            return Err(Error::at(ErrorCode::Branch, ic, Fault::Overlap));
        }
        words.fill(true);
        Ok(instr)
    }

    /// Sums the routines up, callees first. The stack is ours: a program can't make us overrun the
    /// thread's.
    fn summarise(&self) -> Result<HashMap<usize, Summary>, Error> {
        let mut done: HashMap<usize, Summary> = HashMap::with_capacity(self.bodies.len());
        let mut active = vec![(0, 0, Summary { depth: 1, ..Summary::default() })];
        let mut on_stack = HashMap::from([(0, ())]);
        while let Some((entry, next, mut sum)) = active.pop() {
            let body = &self.bodies[&entry];
            let Some(&(ic, instr)) = body.get(next) else {
                on_stack.remove(&entry);
                if entry == 0 {
                    // It repeats for as long as it is asked to.
                    check_repeated(&sum, self.atom)?;
                }
                done.insert(entry, sum);
                continue;
            };
            if let Instr::Gosub { to_loc, reps, offset, stride, .. } = instr {
                let to = check_jump(self.code, ic, to_loc)?;
                let Some(callee) = done.get(&to) else {
                    if on_stack.insert(to, ()).is_some() {
                        return Err(Error::at(ErrorCode::Stack, ic, Fault::Recursion(to)));
                    }
                    active.push((entry, next, sum));
                    active.push((to, 0, Summary { depth: 1, ..Summary::default() }));
                    continue;
                };
                if reps > 0 {
                    self.check_atoms_of_call(&mut sum, callee, reps)?;
                }
                sum.call(callee, reps, offset, stride, ic).ok_or(Error::at(
                    ErrorCode::Other,
                    ic,
                    Fault::Overflow,
                ))?;
            } else {
                self.simple(&mut sum, ic, instr)?;
            }
            active.push((entry, next + 1, sum));
        }
        Ok(done)
    }

    fn simple(&self, sum: &mut Summary, ic: usize, instr: Instr) -> Result<(), Error> {
        let overflow = Error::at(ErrorCode::Other, ic, Fault::Overflow);
        match instr {
            Instr::Copy { bytes, offset } => {
                self.check_atoms(sum, bytes, ic)?;
                sum.bytes(offset, bytes).ok_or(overflow)
            }
            Instr::Mcopy { count } => blocks(self.code, ic, count).try_for_each(|(disp, len)| {
                self.check_atoms(sum, len, ic)?;
                sum.bytes(disp, len).ok_or(overflow)
            }),
            Instr::Control { operation, operand } => {
                sum.leaves = Some((operation != isa::NO_CTL).then_some((operation, operand)));
                sum.control = true;
                Ok(())
            }
            Instr::Gosub { .. } | Instr::Iterate { .. } => Ok(()),
        }
    }

    fn check_atoms(&self, sum: &mut Summary, bytes: i64, ic: usize) -> Result<(), Error> {
        if self.atom <= 1 || bytes % i64::from(self.atom) == 0 {
            return Ok(());
        }
        self.loose(sum, (ic, bytes))
    }

    /// A block that is no whole number of atoms comes in the mode that the routine has now.
    fn loose(&self, sum: &mut Summary, block: (usize, i64)) -> Result<(), Error> {
        match sum.leaves {
            Some(Some(_)) => return Err(split(block, self.atom)),
            Some(None) => {}
            None => drop(sum.loose.get_or_insert(block)),
        }
        Ok(())
    }

    fn check_atoms_of_call(&self, sum: &mut Summary, callee: &Summary, reps: i64) -> Result<(), Error> {
        if reps > 1 {
            check_repeated(callee, self.atom)?;
        }
        callee.loose.map_or(Ok(()), |block| self.loose(sum, block))
    }
}

/// From the second repetition on a routine is entered with the mode that it leaves.
fn check_repeated(sum: &Summary, atom: i32) -> Result<(), Error> {
    match (sum.leaves, sum.loose) {
        (Some(Some(_)), Some(block)) => Err(split(block, atom)),
        _ => Ok(()),
    }
}

fn split((ic, bytes): (usize, i64), atom: i32) -> Error {
    Error::at(ErrorCode::Atom, ic, Fault::SplitAtom { bytes, atom })
}

impl Summary {
    fn bytes(&mut self, off: i64, len: i64) -> Option<()> {
        if len > 0 {
            self.span(off, off.checked_add(len)?);
            self.size = self.size.checked_add(len)?;
        }
        Some(())
    }

    fn call(&mut self, callee: &Self, reps: i64, offset: i64, stride: i64, ic: usize) -> Option<()> {
        self.control |= callee.control;
        if callee.depth + 1 > self.depth {
            self.depth = callee.depth + 1;
            self.deepest = Some(ic);
        }
        if reps == 0 {
            return Some(());
        }
        self.leaves = callee.leaves.or(self.leaves);
        if callee.size > 0 {
            let travel = stride.checked_mul(reps - 1)?;
            let first = offset.checked_add(travel.min(0))?;
            let last = offset.checked_add(travel.max(0))?;
            self.span(first.checked_add(callee.lo)?, last.checked_add(callee.hi)?);
            self.size = self.size.checked_add(callee.size.checked_mul(reps)?)?;
        }
        Some(())
    }

    fn span(&mut self, lo: i64, hi: i64) {
        if self.size == 0 {
            (self.lo, self.hi) = (lo, hi);
        } else {
            (self.lo, self.hi) = (self.lo.min(lo), self.hi.max(hi));
        }
    }
}

pub(crate) fn blocks(code: &[i32], ic: usize, count: i32) -> impl Iterator<Item = (i64, i64)> + '_ {
    (0..count.max(0) as usize).map_while(move |i| isa::block(code, ic, i))
}

fn check_length(len: i64, ic: usize) -> Result<(), Error> {
    if len < 0 { Err(Error::at(ErrorCode::CopySz, ic, Fault::Negative(len))) } else { Ok(()) }
}

fn check_reps(reps: i64, ic: usize) -> Result<(), Error> {
    if reps < 0 { Err(Error::at(ErrorCode::Reps, ic, Fault::Reps(reps))) } else { Ok(()) }
}

fn check_operation(operation: i32, ic: usize) -> Result<(), Error> {
    if operation < isa::NO_CTL {
        return Err(Error::at(ErrorCode::Ctl, ic, Fault::Operation(operation)));
    }
    Ok(())
}

fn check_jump(code: &[i32], ic: usize, by: i32) -> Result<usize, Error> {
    let outside = Fault::Outside { to: ic as i64 + i64::from(by), len: code.len() };
    isa::jump(ic, by).filter(|&to| to < code.len()).ok_or(Error::at(ErrorCode::Branch, ic, outside))
}

fn check_return(code: &[i32], ic: usize, ret_loc: i32) -> Result<usize, Error> {
    if ret_loc <= 0 {
        return Err(Error::at(ErrorCode::Branch, ic, Fault::ReturnBack(ret_loc)));
    }
    check_jump(code, ic, ret_loc)
}

fn check_iterate(ic: usize, iter_loc: i32, start: usize) -> Result<(), Error> {
    if isa::jump(ic, iter_loc) == Some(start) {
        return Ok(());
    }
    let to = ic as i64 + i64::from(iter_loc);
    Err(Error::at(ErrorCode::Branch, ic, Fault::IterateElsewhere { to, start }))
}
