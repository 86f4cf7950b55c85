//! The blocks of a plan, one by one, for copies whose other side is no buffer.

use crate::engine::plan::Plan;

/// Calls `each` with (offset, length) of the contiguous stretches of `left` bytes from `skip` on.
pub(crate) fn walk(plan: &Plan, skip: usize, left: usize, each: &mut dyn FnMut(isize, usize)) {
    let mut w = Walk { skip, left, each };
    w.step(plan, 0);
}

struct Walk<'f> {
    skip: usize,
    left: usize,
    each: &'f mut dyn FnMut(isize, usize),
}

impl Walk<'_> {
    fn step(&mut self, plan: &Plan, base: isize) {
        match plan {
            Plan::Bytes { off, len } => self.block(base.wrapping_add(*off), *len),
            Plan::Strided { off, count, stride, len, .. } => {
                self.repeat(*count, *len, base, *off, *stride, |w, at| w.block(at, *len));
            }
            Plan::Grid { off, counts, strides, len, .. } => {
                self.repeat(counts[0], counts[1] * len, base, *off, strides[0], |w, at| {
                    w.repeat(counts[1], *len, at, 0, strides[1], |w, at| w.block(at, *len));
                });
            }
            Plan::Table { offs, base: first, len, .. } => {
                let i = (self.skip / len).min(offs.len());
                self.skip -= i * len;
                for &off in &offs[i..] {
                    if self.left == 0 {
                        break;
                    }
                    self.block(base.wrapping_add(*first).wrapping_add(off as isize), *len);
                }
            }
            Plan::List { offs, ends, .. } => {
                let i = ends.partition_point(|&end| end <= self.skip);
                let mut begin = if i == 0 { 0 } else { ends[i - 1] };
                self.skip -= begin;
                for (&off, &end) in offs[i..].iter().zip(&ends[i..]) {
                    if self.left == 0 {
                        break;
                    }
                    self.block(base.wrapping_add(off), end - begin);
                    begin = end;
                }
            }
            Plan::Fields { off, count, stride, size, fields, .. } => {
                self.repeat(*count, *size, base, *off, *stride, |w, at| {
                    for f in fields {
                        w.block(at.wrapping_add(f.off), f.len);
                    }
                });
            }
            Plan::Loop { off, count, stride, size, body } => {
                self.repeat(*count, *size, base, *off, *stride, |w, at| w.step(body, at));
            }
            Plan::Seq { parts, ends } => {
                let i = ends.partition_point(|&end| end <= self.skip).min(parts.len());
                self.skip -= if i == 0 { 0 } else { ends[i - 1] };
                for part in &parts[i..] {
                    if self.left == 0 {
                        break;
                    }
                    self.step(part, base);
                }
            }
        }
    }

    fn repeat(
        &mut self,
        count: usize,
        size: usize,
        base: isize,
        off: isize,
        stride: isize,
        mut one: impl FnMut(&mut Self, isize),
    ) {
        let mut i = (self.skip / size).min(count);
        self.skip -= i * size;
        while self.left > 0 && i < count {
            one(self, base.wrapping_add(off).wrapping_add(stride.wrapping_mul(i as isize)));
            i += 1;
        }
    }

    fn block(&mut self, off: isize, len: usize) {
        let from = self.skip.min(len);
        let n = (len - from).min(self.left);
        self.skip -= from;
        self.left -= n;
        if n > 0 {
            (self.each)(off.wrapping_add_unsigned(from), n);
        }
    }
}
