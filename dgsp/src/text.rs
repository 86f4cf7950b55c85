//! The text form of programs: the assembler, and the disassembler, its inverse.
//!
//! ```text
//! ; The descriptor, in any order before the code. Left out: depth 1, density sparse, the rest 0.
//! .depth 2
//! .density sparse            ; or contig, unit
//! .size 24
//! .extent 64
//! .lext 0
//! .rext 44
//! .atom_size 0
//!
//! main:
//!     mcopy 4@0 8@16         ; bytes@offset …
//!     gosub column reps=3 offset=32 stride=4
//!     iterate main
//! column:
//!     copy 4@0
//!     iterate column
//! ```
//! Also: `control operation=1 operand=5`, `control off`; `ret=LABEL` on a `gosub` that does not
//! return to the next instruction; `+12` or `-6` in place of a label, for jumps that lead to no
//! instruction; `.word 7` for words that are none.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

use crate::density::Density;
use crate::descriptor::Descriptor;
use crate::isa::{self, Instr};

/// What the assembler can't read, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

/// The descriptor and code that a text means.
pub fn assemble(text: &str) -> Result<Descriptor, SyntaxError> {
    let mut asm = Assembler::default();
    for (i, line) in text.lines().enumerate() {
        let line = line.split(';').next().unwrap_or("").trim();
        asm.line(line).map_err(|what| SyntaxError { line: i + 1, what })?;
        asm.lines.resize(asm.code.len(), i + 1);
    }
    asm.finish()
}

/// The text of a program. Assembled again, it gives the same descriptor, whatever the words are.
pub fn disassemble(desc: &Descriptor) -> String {
    let mut out = String::new();
    let density = match desc.density {
        Density::Sparse => "sparse",
        Density::Contig => "contig",
        Density::Unit => "unit",
    };
    // Writing to a String can't fail.
    let _ = writeln!(
        out,
        ".depth {}\n.density {density}\n.size {}\n.extent {}",
        desc.depth, desc.size, desc.extent
    );
    let _ = writeln!(out, ".lext {}\n.rext {}\n.atom_size {}\n", desc.lext, desc.rext, desc.atom_size);
    let listing = Listing::new(&desc.code);
    for (&ic, &instr) in &listing.instrs {
        if let Some(label) = listing.labels.get(&ic) {
            let _ = writeln!(out, "{label}:");
        }
        let _ = writeln!(out, "    {}", listing.line(ic, instr));
    }
    out
}

#[derive(Default)]
struct Assembler {
    desc: Header,
    code: Vec<i32>,
    /// The line that each word comes from.
    lines: Vec<usize>,
    labels: HashMap<String, usize>,
    /// Words to be set to a label's distance: word, IC that it is relative to, label.
    open: Vec<(usize, usize, String)>,
}

struct Header {
    depth: i32,
    density: Density,
    size: i64,
    extent: i64,
    lext: i64,
    rext: i64,
    atom_size: i32,
}

impl Default for Header {
    fn default() -> Self {
        Self { depth: 1, density: Density::Sparse, size: 0, extent: 0, lext: 0, rext: 0, atom_size: 0 }
    }
}

impl Assembler {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(label) = line.strip_suffix(':') {
            if self.labels.insert(label.to_owned(), self.code.len()).is_some() {
                return Err(format!("label {label} is defined twice"));
            }
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { return Ok(()) };
        let args: Vec<&str> = words.collect();
        if let Some(field) = name.strip_prefix('.') {
            return self.directive(field, &args);
        }
        match (name, &args[..]) {
            ("copy", [block]) => {
                let (bytes, offset) = block_of(block)?;
                isa::push(&mut self.code, Instr::Copy { bytes, offset });
            }
            ("mcopy", blocks) => {
                let count = i32::try_from(blocks.len()).map_err(|_| "too many blocks".to_owned())?;
                isa::push(&mut self.code, Instr::Mcopy { count });
                for b in blocks {
                    let (len, disp) = block_of(b)?;
                    isa::push_block(&mut self.code, disp, len);
                }
            }
            ("gosub", [to, named @ ..]) => self.gosub(to, named)?,
            ("iterate", [to]) => {
                let at = self.code.len();
                isa::push(&mut self.code, Instr::Iterate { iter_loc: 0 });
                self.jump(at + 1, at, to)?;
            }
            ("control", ["off"]) => {
                isa::push(&mut self.code, Instr::Control { operation: isa::NO_CTL, operand: 0 });
            }
            ("control", named) => {
                let (mut operation, mut operand) = (None, 0);
                for (key, value) in pairs(named)? {
                    match key {
                        "operation" => operation = Some(number(value)?),
                        "operand" => operand = number(value)?,
                        _ => return Err(format!("control has no {key}")),
                    }
                }
                let operation = operation.ok_or("control needs operation=, or off")?;
                isa::push(&mut self.code, Instr::Control { operation, operand });
            }
            _ => return Err(format!("can't read `{line}`")),
        }
        Ok(())
    }

    fn directive(&mut self, field: &str, args: &[&str]) -> Result<(), String> {
        let [value] = args else { return Err(format!(".{field} takes one value")) };
        match field {
            "depth" => self.desc.depth = number(value)?,
            "size" => self.desc.size = number(value)?,
            "extent" => self.desc.extent = number(value)?,
            "lext" => self.desc.lext = number(value)?,
            "rext" => self.desc.rext = number(value)?,
            "atom_size" => self.desc.atom_size = number(value)?,
            "word" => self.code.push(number(value)?),
            "density" => {
                self.desc.density = match *value {
                    "sparse" => Density::Sparse,
                    "contig" => Density::Contig,
                    "unit" => Density::Unit,
                    other => return Err(format!("density {other} is none of sparse, contig, unit")),
                }
            }
            _ => return Err(format!("unknown directive .{field}")),
        }
        Ok(())
    }

    fn gosub(&mut self, to: &str, named: &[&str]) -> Result<(), String> {
        let at = self.code.len();
        let (mut reps, mut offset, mut stride, mut ret) = (1, 0, 0, None);
        for (key, value) in pairs(named)? {
            match key {
                "reps" => reps = number(value)?,
                "offset" => offset = number(value)?,
                "stride" => stride = number(value)?,
                "ret" => ret = Some(value),
                _ => return Err(format!("gosub has no {key}")),
            }
        }
        let ret_loc = isa::GOSUB_SIZE as i32;
        isa::push(&mut self.code, Instr::Gosub { to_loc: 0, ret_loc, reps, offset, stride });
        self.jump(at + 1, at, to)?;
        ret.map_or(Ok(()), |ret| self.jump(at + 2, at, ret))
    }

    fn jump(&mut self, word: usize, from: usize, to: &str) -> Result<(), String> {
        if to.starts_with(['+', '-']) {
            self.code[word] = number(to)?;
        } else {
            self.open.push((word, from, to.to_owned()));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Descriptor, SyntaxError> {
        for (word, from, label) in &self.open {
            let error = |what| SyntaxError { line: self.lines[*word], what };
            let to = self.labels.get(label).ok_or_else(|| error(format!("no label {label}")))?;
            self.code[*word] = i32::try_from(*to as i64 - *from as i64)
                .map_err(|_| error(format!("label {label} is too far away")))?;
        }
        let Header { depth, density, size, extent, lext, rext, atom_size } = self.desc;
        Ok(Descriptor { code: self.code.into(), depth, density, size, extent, lext, rext, atom_size })
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number in range"))
}

fn block_of(text: &str) -> Result<(i64, i64), String> {
    let (len, at) = text.split_once('@').ok_or_else(|| format!("`{text}` is not bytes@offset"))?;
    Ok((number(len)?, number(at)?))
}

fn pairs<'a>(named: &[&'a str]) -> Result<Vec<(&'a str, &'a str)>, String> {
    named.iter().map(|n| n.split_once('=').ok_or_else(|| format!("`{n}` is not name=value"))).collect()
}

/// A program taken apart.
struct Listing<'c> {
    code: &'c [i32],
    /// Instructions by IC; `None` is a word that belongs to none.
    instrs: BTreeMap<usize, Option<Instr>>,
    labels: BTreeMap<usize, String>,
}

impl<'c> Listing<'c> {
    fn new(code: &'c [i32]) -> Self {
        let mut instrs = BTreeMap::new();
        let mut ic = 0;
        while ic < code.len() {
            let instr = isa::decode(code, ic).ok().filter(|i| is_canonical(code, ic, i));
            instrs.insert(ic, instr);
            ic += instr.map_or(1, |i| i.words());
        }
        let mut listing = Self { code, instrs, labels: BTreeMap::new() };
        let mut calls = BTreeSet::new();
        let mut others = BTreeSet::new();
        for (&ic, instr) in &listing.instrs {
            match instr {
                Some(Instr::Gosub { to_loc, ret_loc, .. }) => {
                    calls.extend(isa::jump(ic, *to_loc));
                    if *ret_loc != isa::GOSUB_SIZE as i32 {
                        others.extend(isa::jump(ic, *ret_loc));
                    }
                }
                Some(Instr::Iterate { iter_loc }) => others.extend(isa::jump(ic, *iter_loc)),
                _ => {}
            }
        }
        let known = |ic: &usize| listing.instrs.contains_key(ic);
        let mut labels: BTreeMap<usize, String> =
            others.into_iter().filter(known).map(|ic| (ic, format!("at{ic}"))).collect();
        labels
            .extend(calls.into_iter().filter(known).enumerate().map(|(n, ic)| (ic, format!("sub{}", n + 1))));
        if known(&0) {
            labels.insert(0, "main".to_owned());
        }
        listing.labels = labels;
        listing
    }

    fn line(&self, ic: usize, instr: Option<Instr>) -> String {
        match instr {
            None => format!(".word {}", self.code[ic]),
            Some(Instr::Copy { bytes, offset }) => format!("copy {bytes}@{offset}"),
            Some(Instr::Mcopy { count }) => (0..count as usize)
                .filter_map(|i| isa::block(self.code, ic, i))
                .fold("mcopy".to_owned(), |line, (disp, len)| format!("{line} {len}@{disp}")),
            Some(Instr::Gosub { to_loc, ret_loc, reps, offset, stride }) => {
                let to = self.target(ic, to_loc);
                let mut line = format!("gosub {to} reps={reps} offset={offset} stride={stride}");
                if ret_loc != isa::GOSUB_SIZE as i32 {
                    let _ = write!(line, " ret={}", self.target(ic, ret_loc));
                }
                line
            }
            Some(Instr::Iterate { iter_loc }) => format!("iterate {}", self.target(ic, iter_loc)),
            Some(Instr::Control { operation: isa::NO_CTL, operand: 0 }) => "control off".to_owned(),
            Some(Instr::Control { operation, operand }) => {
                format!("control operation={operation} operand={operand}")
            }
        }
    }

    fn target(&self, ic: usize, by: i32) -> String {
        let label = isa::jump(ic, by).and_then(|to| self.labels.get(&to));
        label.cloned().unwrap_or_else(|| format!("{by:+}"))
    }
}

/// Whether encoding the instruction gives its words back, reserved ones included.
fn is_canonical(code: &[i32], ic: usize, instr: &Instr) -> bool {
    let mut again = Vec::new();
    isa::push(&mut again, *instr);
    code[ic..].starts_with(&again)
}
