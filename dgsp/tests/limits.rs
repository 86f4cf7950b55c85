//! Programs of a few hundred words that stand for very large layouts.

use lapis_dgsp::ddm::Ddm;
use lapis_dgsp::{Layout, Registered, text};

/// Bytes of the message that are moved.
const PACKET: usize = if cfg!(miri) { 100 } else { 4096 };

/// Routines of which each runs the next one four times two repetitions, at distances that no loop
/// continues: written out, they double four times with each level.
struct Levels {
    /// Bytes between the first one moved and past the last, of each level; the last one's is a
    /// block.
    spans: Vec<i64>,
}

impl Levels {
    const BLOCK: i64 = 5;

    fn new(levels: usize) -> Self {
        let mut spans = vec![Self::BLOCK];
        for _ in 0..levels {
            let inner = spans[spans.len() - 1];
            spans.push(Self::offset(3, inner) + Self::stride(inner) + inner);
        }
        spans.reverse();
        Self { spans }
    }

    fn stride(inner: i64) -> i64 {
        inner + 3
    }

    fn offset(call: i64, inner: i64) -> i64 {
        call * 2 * Self::stride(inner) + call * call
    }

    fn size(&self) -> i64 {
        Self::BLOCK << (3 * (self.spans.len() - 1))
    }

    /// Where a byte of the message is.
    fn place(&self, mut position: i64) -> i64 {
        let mut size = self.size();
        let mut at = 0;
        for inner in &self.spans[1..] {
            size /= 8;
            let run = position / size;
            at += Self::offset(run / 2, *inner) + run % 2 * Self::stride(*inner);
            position %= size;
        }
        at + position
    }

    fn program(&self) -> String {
        let (levels, whole) = (self.spans.len() - 1, self.spans[0]);
        let mut text =
            format!(".depth {}\n.size {}\n.extent {whole}\n.rext {whole}\n", levels + 1, self.size());
        for (level, inner) in self.spans[1..].iter().enumerate() {
            text.push_str(&format!("r{level}:\n"));
            for call in 0..4 {
                let (offset, stride) = (Self::offset(call, *inner), Self::stride(*inner));
                text.push_str(&format!("gosub r{} reps=2 offset={offset} stride={stride}\n", level + 1));
            }
            text.push_str(&format!("iterate r{level}\n"));
        }
        text + &format!("r{levels}:\ncopy {}@0\niterate r{levels}\n", Self::BLOCK)
    }

    /// Packs from a position on, with the few places concerned in real memory.
    fn check(&self, position: i64) {
        let program = text::assemble(&self.program()).unwrap();
        let registered = Registered::verified(program).unwrap();
        let places: Vec<i64> = (position..position + PACKET as i64).map(|p| self.place(p)).collect();
        let low = *places.iter().min().unwrap();
        let places: Vec<usize> = places.iter().map(|place| (place - low) as usize).collect();
        let mem: Vec<u8> = (0..=*places.iter().max().unwrap()).map(|i| (i * 7 % 251) as u8).collect();
        assert!(mem.len() < 100 * PACKET, "the places are near each other");
        let mut out = vec![0; PACKET];
        let base = mem.as_ptr().wrapping_offset(-low as isize);
        // SAFETY: the program names the places for these positions, all of which are in `mem`.
        let packed = unsafe { registered.pack_into(base, position as u64, &mut out) }.unwrap();
        assert_eq!(packed, PACKET);
        assert!(places.iter().zip(&out).all(|(place, byte)| mem[*place] == *byte));
    }
}

#[test]
fn a_program_that_doubles_with_each_level_takes_no_memory() {
    let deep = Levels::new(16);
    let program = text::assemble(&deep.program()).unwrap();
    assert!(program.code.len() < 1000);
    assert!(!Registered::verified(program).unwrap().is_compiled());
    deep.check(1 << 40);
    deep.check((1 << 42) - 77);
    // One that comes to little is compiled.
    let flat = Levels::new(4);
    assert!(Registered::verified(text::assemble(&flat.program()).unwrap()).unwrap().is_compiled());
    flat.check(1000);
}

/// The same of a layout, whose routines are found by comparing.
#[test]
fn a_layout_that_doubles_with_each_level_is_compiled_in_no_time() {
    let layout = doubling(16);
    let program = layout.compile().unwrap();
    assert!(program.code.len() < 5000, "{} words", program.code.len());
    assert_eq!(program.size, Levels::new(16).size());
}

/// Copies that share no memory are found equal without a walk through all that they stand for.
#[test]
fn layouts_that_double_and_were_built_apart_are_compared_in_no_time() {
    let (first, second) = (doubling(19), doubling(19));
    let (lo, hi) = first.true_bounds();
    let beside = Layout::structure(&[(1, 0, &first), (1, hi - lo + 3, &second)]).unwrap();
    let program = beside.compile().unwrap();
    assert!(program.code.len() < 5000, "{} words", program.code.len());
    assert_eq!(program.size, 2 * Levels::new(19).size());
}

fn doubling(levels: usize) -> Layout {
    let mut layout = Layout::bytes(5).unwrap();
    for _ in 0..levels {
        let (lo, hi) = layout.true_bounds();
        let inner = hi - lo;
        let pair = Layout::hvector(2, 1, Levels::stride(inner), &layout).unwrap();
        let fields = [0, 1, 2, 3].map(|call| (1, Levels::offset(call, inner), &pair));
        layout = Layout::structure(&fields).unwrap();
    }
    layout
}

/// Stores, and does nothing else.
struct Store;

impl Ddm for Store {
    unsafe fn combine(&self, from: *const u8, to: *mut u8, bytes: usize, _: i32, _: i32) -> i64 {
        // SAFETY: the caller's promise.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
        bytes as i64
    }
}

/// A packet in the middle of a long message: the repetitions before it are not run.
#[test]
fn a_program_that_begins_with_a_gosub_is_entered_anywhere_at_once() {
    let reps = 1i64 << 40;
    let source = format!(
        ".depth 2\n.size {size}\n.extent {size}\n.rext {size}\n\
         m:\ngosub r reps={reps} stride=8\niterate m\n\
         r:\ncontrol operation=1 operand=2\ncopy 8@0\niterate r\n",
        size = 8 * reps
    );
    let registered = Registered::verified(text::assemble(&source).unwrap()).unwrap();
    let data: Vec<u8> = (0..PACKET).map(|i| i as u8).collect();
    let mut mem = vec![0; PACKET];
    for position in [0, 1 << 42, (1 << 43) - PACKET] {
        mem.fill(0);
        let base = mem.as_mut_ptr().wrapping_sub(position);
        // SAFETY: the program names as many places as there are bytes, from `mem` on.
        let stored = unsafe { registered.unpack_with(base, position as u64, &data, &Store) }.unwrap();
        assert_eq!((stored, &mem), (PACKET, &data));
    }
}

/// As many instructions as an unsound program may run in vain.
#[test]
fn a_program_under_control_may_have_any_number_of_empty_blocks_between_bytes() {
    const EMPTY: usize = 70_000;
    let empty = "copy 0@0\n".repeat(EMPTY);
    let source = format!(".size 8\n.rext 8\nm:\ncontrol operation=1 operand=2\n{empty}copy 8@0\niterate m\n");
    let registered = Registered::verified(text::assemble(&source).unwrap()).unwrap();
    let data = [1, 2, 3, 4, 5, 6, 7, 8];
    let mut mem = [0; 8];
    // SAFETY: the program names the eight bytes of `mem`.
    let stored = unsafe { registered.unpack_with(mem.as_mut_ptr(), 0, &data, &Store) }.unwrap();
    assert_eq!((stored, mem), (8, data));
}
