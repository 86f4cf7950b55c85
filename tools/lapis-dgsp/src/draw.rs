//! The byte map: which bytes of memory a program moves, in what order.

use std::fmt::Write as _;

use lapis_dgsp::{Descriptor, Machine, verify};

use crate::file::Failure;

/// Largest message that is drawn.
const MOST: u64 = 1 << 16;

/// Most memory that is drawn.
const MOST_MEMORY: u64 = 1 << 22;

/// Blocks of a message in order: (offset, length).
pub(crate) struct ByteMap {
    blocks: Vec<(i64, usize)>,
    /// Offset where each further application starts.
    applications: Vec<i64>,
}

impl ByteMap {
    pub(crate) fn new(desc: &Descriptor, reps: u64) -> Result<Self, Failure> {
        verify(desc)?;
        let total = (desc.size as u64).saturating_mul(reps);
        if total > MOST {
            return Err(Failure::TooLarge(total, MOST));
        }
        let mut machine = Machine::new(desc)?;
        let (mut blocks, mut left) = (Vec::new(), total as usize);
        while left > 0 {
            let piece = machine.next_piece(left)?;
            blocks.push((piece.offset, piece.len));
            left -= piece.len;
        }
        let applications = (0..reps as i64).map(|r| r.wrapping_mul(desc.extent)).collect();
        let map = Self { blocks, applications };
        let (lo, hi) = map.bounds();
        match hi.abs_diff(lo) {
            span if span > MOST_MEMORY => Err(Failure::TooFarApart(span, MOST_MEMORY)),
            _ => Ok(map),
        }
    }

    /// Bounds of all blocks and the start of the buffer.
    fn bounds(&self) -> (i64, i64) {
        let lo = self.blocks.iter().map(|b| b.0).min().unwrap_or(0).min(0);
        let hi = self.blocks.iter().map(|b| b.0.saturating_add(b.1 as i64)).max().unwrap_or(0).max(1);
        (lo, hi)
    }

    /// Rows of memory; the letters a to z, repeated, are the blocks in order.
    pub(crate) fn text(&self, width: u64) -> String {
        let (lo, hi) = self.rows(width);
        let mut cells = vec!['.'; (hi - lo) as usize];
        for (i, &(off, len)) in self.blocks.iter().enumerate() {
            let letter = char::from(b'a' + (i % 26) as u8);
            cells[(off - lo) as usize..][..len].fill(letter);
        }
        let mut out = String::new();
        for (r, row) in cells.chunks(width as usize).enumerate() {
            let line: String = row.iter().collect();
            // Writing to a String can't fail.
            let _ = writeln!(out, "{:>8} {line}", lo + r as i64 * width as i64);
        }
        let bytes: usize = self.blocks.iter().map(|b| b.1).sum();
        let _ = writeln!(out, "{} blocks, {bytes} bytes", self.blocks.len());
        out
    }

    /// The same as a picture: colour runs from the message's first block to its last; a bar marks
    /// each application.
    pub(crate) fn svg(&self, width: u64) -> String {
        const CELL: i64 = 14;
        const LEFT: i64 = 70;
        let (lo, hi) = self.rows(width);
        let wide = width as i64;
        let rows = (hi - lo) / wide;
        let (w, h) = (LEFT + wide * CELL + 10, rows * CELL + 20);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" font-family=\"monospace\" font-size=\"10\">\n"
        );
        for r in 0..rows {
            let y = 10 + r * CELL;
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                LEFT - 6,
                y + 11,
                lo + r * wide
            );
            let _ = writeln!(
                out,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"{CELL}\" fill=\"#eee\" stroke=\"#fff\"/>",
                wide * CELL
            );
        }
        let last = self.blocks.len().max(2) - 1;
        for (i, &(off, len)) in self.blocks.iter().enumerate() {
            let hue = 220 * i / last;
            let (mut at, mut left) = (off - lo, len as i64);
            while left > 0 {
                let (row, col) = (at / wide, at % wide);
                let n = left.min(wide - col);
                let (x, y) = (LEFT + col * CELL, 10 + row * CELL);
                let _ = writeln!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"hsl({hue},70%,60%)\" stroke=\"#333\"><title>block {i}: {len} bytes at {off}</title></rect>",
                    n * CELL,
                    CELL - 1
                );
                at += n;
                left -= n;
            }
        }
        for &at in self.applications.iter().filter(|&&a| (lo..hi).contains(&a)) {
            let (row, col) = ((at - lo) / wide, (at - lo) % wide);
            let (x, y) = (LEFT + col * CELL, 10 + row * CELL);
            let _ = writeln!(
                out,
                "<line x1=\"{x}\" y1=\"{y}\" x2=\"{x}\" y2=\"{}\" stroke=\"#c00\" stroke-width=\"2\"/>",
                y + CELL
            );
        }
        out.push_str("</svg>\n");
        out
    }

    /// Bounds of the rows that hold all blocks and the start of the buffer.
    fn rows(&self, width: u64) -> (i64, i64) {
        let wide = width as i64;
        let (lo, hi) = self.bounds();
        let lo = lo.div_euclid(wide) * wide;
        (lo, lo + ((hi - lo) as u64).div_ceil(width) as i64 * wide)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_dgsp::Layout;

    fn vector() -> Descriptor {
        let layout = Layout::bytes(2).and_then(|two| Layout::vector(3, 1, 2, &two));
        layout.and_then(|l| l.compile()).expect("a small layout")
    }

    #[test]
    fn text_shows_blocks_in_order() {
        let map = ByteMap::new(&vector(), 1).expect("drawable");
        assert_eq!(map.text(8), "       0 aa..bb..\n       8 cc......\n3 blocks, 6 bytes\n");
    }

    #[test]
    fn what_lies_too_far_apart_is_refused() {
        let far = Layout::bytes(1).and_then(|b| Layout::hvector(2, 1, 1 << 40, &b)).and_then(|l| l.compile());
        let refused = ByteMap::new(&far.expect("small"), 1).err().expect("a terabyte");
        assert!(refused.to_string().contains("1099511627777 bytes of memory"), "{refused}");
    }

    #[test]
    fn rows_start_below_zero_for_negative_offsets() {
        let back = Layout::bytes(1).and_then(|b| Layout::hvector(2, 1, -3, &b)).and_then(|l| l.compile());
        let map = ByteMap::new(&back.expect("small"), 1).expect("drawable");
        assert_eq!(map.text(4), "      -4 .b..\n       0 a...\n2 blocks, 2 bytes\n");
    }

    #[test]
    fn svg_has_a_rectangle_for_each_block() {
        let svg = ByteMap::new(&vector(), 2).expect("drawable").svg(8);
        assert_eq!(svg.matches("<title>").count(), 6, "{svg}");
        assert_eq!(svg.matches("<line").count(), 2, "a bar for each application");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
