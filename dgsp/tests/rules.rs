//! The verifier's codes, canonical programs, CONTROL, and the limits.

use lapis_dgsp::ddm::{Accumulate, Ddm, Operand, Operation};
use lapis_dgsp::{
    Density, Descriptor, Error, ErrorCode, Fault, Layout, Machine, Registered, copy, isa, text, verify,
};

/// Layouts around a layout; under Miri some of each kind, since nothing but safe code sees them.
const NESTED: i32 = if cfg!(miri) { 9 } else { 500 };
/// Routines that call one another: more than the compiled engine's 200.
const DEPTH: usize = 5000;
/// Bytes of the message that goes from layout to layout; under Miri enough for some blocks of each
/// kind and both ends cut.
const MESSAGE: usize = if cfg!(miri) { 300 } else { 2048 };

fn program(source: &str) -> Descriptor {
    text::assemble(source).expect("a program")
}

fn refused(source: &str) -> (ErrorCode, Option<usize>) {
    let error = verify(&program(source)).expect_err("the program breaks a rule");
    (error.code, error.at)
}

#[test]
fn each_rule_has_its_code_and_names_the_instruction() {
    let copy_at = isa::COPY_SIZE;
    let cases = [
        (".size 0", ErrorCode::Other, None),
        (".atom_size -1\nm:\niterate m", ErrorCode::Atom, None),
        (".atom_size 513\nm:\niterate m", ErrorCode::Atom, None),
        (".depth 0\nm:\niterate m", ErrorCode::Stack, None),
        (".size 4\n.rext 4\nm:\ncopy 4@0\n.word 77", ErrorCode::Opc, Some(copy_at)),
        (".size 4\n.rext 4\nm:\ncopy 4@0\niterate +2", ErrorCode::Branch, Some(copy_at)),
        (".size 4\n.rext 4\nm:\ncopy 4@0\niterate -600", ErrorCode::Branch, Some(copy_at)),
        (".size 4\n.rext 4\nm:\ncopy 4@0", ErrorCode::Branch, Some(0)),
        (".depth 2\nm:\ngosub +900\niterate m", ErrorCode::Branch, Some(0)),
        (".depth 2\nm:\ngosub s ret=+0\niterate m\ns:\niterate s", ErrorCode::Branch, Some(0)),
        (".depth 2\nm:\ngosub +2\niterate m", ErrorCode::Opc, Some(2)),
        ("m:\ncopy -4@0\niterate m", ErrorCode::CopySz, Some(0)),
        ("m:\ncopy 0@0\nmcopy 4@0 -1@8\niterate m", ErrorCode::CopySz, Some(copy_at)),
        (".depth 2\nm:\ngosub s reps=-1\niterate m\ns:\niterate s", ErrorCode::Reps, Some(0)),
        ("m:\ngosub s\niterate m\ns:\niterate s", ErrorCode::Stack, Some(0)),
        (".depth 9\nm:\ngosub m\niterate m", ErrorCode::Stack, Some(0)),
        ("m:\ncontrol operation=-2\niterate m", ErrorCode::Ctl, Some(0)),
        (".density contig\nm:\ncontrol operation=1\niterate m", ErrorCode::Ctl, None),
        (".size 5\n.rext 4\nm:\ncopy 4@0\niterate m", ErrorCode::Other, None),
        (".size 4\n.rext 3\nm:\ncopy 4@0\niterate m", ErrorCode::Other, None),
        (".size 4\n.lext 1\n.rext 4\nm:\ncopy 4@0\niterate m", ErrorCode::Other, None),
        (".density unit\n.size 4\n.rext 4\n.extent 8\nm:\ncopy 4@0\niterate m", ErrorCode::Other, None),
        (
            ".density contig\n.size 4\n.rext 8\n.extent 8\nm:\nmcopy 2@0 2@6\niterate m",
            ErrorCode::Other,
            None,
        ),
        (
            ".atom_size 8\n.size 12\n.rext 12\nm:\ncontrol operation=1\ncopy 12@0\niterate m",
            ErrorCode::Atom,
            Some(4),
        ),
        ("m:\nmcopy 9223372036854775807@0 1@0\niterate m", ErrorCode::Other, Some(0)),
    ];
    for (source, code, at) in cases {
        assert_eq!(refused(source), (code, at), "for\n{source}");
    }
}

#[test]
fn atoms_stay_whole_under_the_mode_that_a_routine_is_entered_with() {
    let (control, gosub, iterate) = (isa::CONTROL_SIZE, isa::GOSUB_SIZE, isa::ITERATE_SIZE);
    // The mode of the caller, of the last repetition of the program, and of a routine's.
    let cases = [
        (
            ".size 3\n.rext 3\nm:\ncontrol operation=1\ngosub r\niterate m\nr:\ncopy 3@0\niterate r",
            control + gosub + iterate,
        ),
        (".size 3\n.rext 3\nm:\ncopy 3@0\ncontrol operation=1\niterate m", 0),
        (
            ".size 6\n.rext 6\nm:\ngosub r reps=2 stride=3\ncontrol off\niterate m\n\
             r:\ncopy 3@0\ncontrol operation=1\niterate r",
            gosub + control + iterate,
        ),
    ];
    for (source, at) in cases {
        let source = format!(".atom_size 8\n.depth 2\n{source}");
        assert_eq!(refused(&source), (ErrorCode::Atom, Some(at)), "for\n{source}");
    }
    // In no mode, and once, they may be anything.
    let sound = ".atom_size 8\n.depth 2\n.size 14\n.rext 14\nm:\ngosub r\ncontrol off\ncopy 3@0\niterate m\n\
                 r:\ncopy 3@3\ncontrol operation=1\ncopy 8@6\niterate r";
    verify(&program(sound)).expect("each block under CONTROL is an atom");
    let twelve = Layout::bytes(12).unwrap().compile().unwrap();
    let error = verify(&twelve.under_control(1, 7, 8)).expect_err("an atom and a half");
    assert_eq!(error.code, ErrorCode::Atom);
}

#[test]
fn error_text_says_code_place_and_numbers() {
    let error =
        verify(&program("m:\ncopy 0@0\ngosub s reps=-7\niterate m\ns:\niterate s")).expect_err("reps");
    assert_eq!(error.to_string(), "DGSP error 472 (Reps) at code[6]: reps -7 is negative");
}

#[test]
fn the_guides_example_is_what_the_compiler_makes() {
    // A structure of an int and a char, padded to 8 bytes.
    let (int, char) = (Layout::bytes(4).unwrap(), Layout::bytes(1).unwrap());
    let made =
        Layout::structure(&[(1, 0, &int), (1, 4, &char)]).and_then(|s| s.aligned(4)?.compile()).unwrap();
    let guide = program(".density contig\n.size 5\n.extent 8\n.rext 5\nm:\ncopy 5@0\niterate m");
    assert_eq!(made, guide);
    let mem: Vec<u8> = (0..24).collect();
    let mut out = [0; 15];
    let n = Registered::verified(made).unwrap().pack_slice(&mem, 0, 0, &mut out);
    assert_eq!((n, out), (Ok(15), [0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 16, 17, 18, 19, 20]));
}

#[test]
fn equal_layouts_give_equal_small_programs() {
    let double = Layout::bytes(8).unwrap();
    let column = Layout::vector(100, 1, 80, &double).unwrap();
    let disps: Vec<i64> = (0..100).map(|i| i * 80).collect();
    let blocks: Vec<(u64, i64)> = disps.iter().map(|&d| (1, d * 8)).collect();
    let same = [
        Layout::hvector(100, 1, 640, &double).unwrap(),
        Layout::indexed_block(1, &disps, &double).unwrap(),
        Layout::hindexed(&blocks, &double).unwrap(),
        Layout::structure(&blocks.iter().map(|&(n, d)| (n, d, &double)).collect::<Vec<_>>()).unwrap(),
        Layout::hvector(10, 1, 6400, &Layout::hvector(10, 1, 640, &double).unwrap()).unwrap(),
        Layout::hvector(100, 2, 640, &Layout::contiguous(4, &Layout::bytes(1).unwrap()).unwrap()).unwrap(),
    ];
    let program = column.compile().unwrap();
    for (i, layout) in same.iter().enumerate() {
        assert_eq!(layout.compile().unwrap().code, program.code, "layout {i}");
    }
    assert_eq!(program.code.len(), isa::GOSUB_SIZE + isa::COPY_SIZE + 2 * isa::ITERATE_SIZE);

    // Blocks that touch across repetitions: explicit, and as a loop over a structure.
    let pair = Layout::structure(&[(1, 0, &double), (1, 12, &Layout::bytes(4).unwrap())]).unwrap();
    let looped = Layout::contiguous(50, &pair).unwrap();
    let mut listed = Vec::new();
    for i in 0..50 {
        listed.extend([(8, i * 16), (4, i * 16 + 12)]);
    }
    let listed = Layout::hindexed(&listed, &Layout::bytes(1).unwrap()).unwrap();
    assert_eq!(looped.compile().unwrap(), listed.compile().unwrap());
    assert!(looped.compile().unwrap().code.len() < 50);
}

#[test]
#[cfg_attr(miri, ignore = "compiles lists of thousands of blocks, and moves none")]
fn patterns_of_any_length_are_found_in_lists() {
    let double = Layout::bytes(8).unwrap();
    // 37 blocks at no stride, a hundred times; and runs that end where the next begin.
    let places: Vec<i64> = (0..37).map(|i| i * i + 2 * i).collect();
    let pattern = Layout::indexed_block(1, &places, &double).unwrap().resized(0, 16_000).unwrap();
    let listed: Vec<i64> = (0..100).flat_map(|r| places.iter().map(move |p| r * 2000 + p)).collect();
    let looped = Layout::contiguous(100, &pattern).unwrap().compile().unwrap();
    let listed = Layout::indexed_block(1, &listed, &double).unwrap().resized(0, 1_600_000).unwrap();
    assert_eq!(looped, listed.compile().unwrap());
    assert!(looped.code.len() < 200, "{}", text::disassemble(&looped));

    let vectors = Layout::contiguous(20, &Layout::vector(9, 1, 5, &double).unwrap()).unwrap();
    let listed: Vec<i64> = (0..20).flat_map(|r| (0..9).map(move |i| r * 41 + i * 5)).collect();
    let program = vectors.compile().unwrap();
    assert_eq!(program, Layout::indexed_block(1, &listed, &double).unwrap().compile().unwrap());
    assert_eq!(program.depth, 3, "a loop around a loop:\n{}", text::disassemble(&program));
}

/// The limit that docs/dgsp.md states: of one layout, a list and a loop give one program as long as
/// neither names more blocks.
#[test]
#[cfg_attr(miri, ignore = "compiles lists of 65536 blocks, and moves none")]
fn equal_layouts_give_equal_programs_up_to_65536_blocks() {
    let double = Layout::bytes(8).unwrap();
    let places: Vec<i64> = (0..64).map(|i| i * i + 2 * i).collect();
    let pattern = Layout::indexed_block(1, &places, &double).unwrap().resized(0, 40_000).unwrap();
    let programs = |n: i64| {
        let listed: Vec<i64> = (0..n).flat_map(|r| places.iter().map(move |p| r * 5000 + p)).collect();
        let listed = Layout::indexed_block(1, &listed, &double).unwrap().resized(0, n * 40_000).unwrap();
        let looped = Layout::contiguous(n as u64, &pattern).unwrap();
        (looped.compile().unwrap(), listed.compile().unwrap())
    };
    let (looped, listed) = programs(65_536 / 64);
    assert!(looped == listed && looped.code.len() < 300);
    let (looped, listed) = programs(65_536 / 64 + 1);
    assert!(looped.code.len() < 300 && listed.code.len() > 100_000, "the limit is another one now");
    let bytes = |d| Registered::verified(d).unwrap().span();
    assert_eq!(bytes(looped), bytes(listed));
}

#[test]
fn contiguous_layouts_of_any_build_are_one_copy() {
    let byte = Layout::bytes(1).unwrap();
    let deep = (0..NESTED).try_fold(byte, |l, i| match i % 3 {
        0 => Layout::contiguous(1, &l),
        1 => l.resized(0, l.extent()),
        _ => Layout::structure(&[(1, 0, &l)]),
    });
    let rows =
        Layout::subarray(&[6, 8, 4], &[6, 8, 4], &[0, 0, 0], lapis_dgsp::Order::C, &deep.unwrap()).unwrap();
    let program = rows.compile().unwrap();
    assert_eq!((program.density, program.depth, program.code.len()), (Density::Unit, 1, 8));
    let reg = Registered::verified(program).unwrap();
    assert_eq!(reg.contiguous(1 << 40), Some(0));
}

#[test]
fn deep_nesting_and_huge_counts_start_anywhere() {
    // 60 levels of doubling: 2^60 bytes.
    let mut layout = Layout::bytes(1).unwrap();
    for level in 0..30 {
        layout = Layout::hvector(4, 1, 3 << (2 * level), &layout).unwrap();
        layout = layout.resized(0, 1 << (2 * level)).unwrap();
    }
    let desc = layout.compile().unwrap();
    let reg = Registered::verified(desc.clone()).unwrap();
    assert_eq!(desc.size, 1 << 60);
    let mut mem = vec![0; 1];
    // The last byte: its offset is the sum of the last strides; out of any memory, so only the
    // check is asked.
    let error = reg.unpack_slice(&mut mem, 0, (1 << 60) - 1, &[1]).expect_err("far away");
    assert!(matches!(error.fault, Fault::Range { .. }), "{error}");
    let mut machine = Machine::new(&desc).unwrap();
    assert_eq!(machine.next_piece(1).unwrap().offset, 0);

    // The same block 2^40 times; a position near the end is reached at once.
    let long = Layout::hvector(1 << 40, 1, 0, &Layout::bytes(8).unwrap()).unwrap();
    let reg = Registered::verified(long.compile().unwrap()).unwrap();
    let mut out = [0; 13];
    assert_eq!(reg.pack_slice(b"abcdefgh", 0, (8 << 40) - 13, &mut out), Ok(13));
    assert_eq!(&out, b"defghabcdefgh");
}

#[test]
#[cfg_attr(
    miri,
    ignore = "each level adds to what Miri keeps of every access; unverified programs run there, too"
)]
fn very_deep_programs_run_in_the_plain_interpreter() {
    // Routine k: one byte, then routine k + 1; deeper than the compiled engine recurses.
    let mut source = format!(".depth {DEPTH}\n.size {DEPTH}\n.rext {}\n", 2 * DEPTH);
    for k in 0..DEPTH {
        source += &format!("r{k}:\ncopy 1@0\n");
        if k + 1 < DEPTH {
            source += &format!("gosub r{} offset=2\n", k + 1);
        }
        source += &format!("iterate r{k}\n");
    }
    let reg = Registered::verified(program(&source)).unwrap();
    assert!(!reg.is_compiled());
    let mem: Vec<u8> = (0..2 * DEPTH).map(|i| (i / 2) as u8).collect();
    let mut out = vec![0; 100];
    let from = DEPTH - 120;
    assert_eq!(reg.pack_slice(&mem, 0, from as u64, &mut out), Ok(100));
    assert_eq!(out, (from..from + 100).map(|i| i as u8).collect::<Vec<_>>());
}

#[test]
fn a_buffer_may_begin_behind_the_memory_that_is_named() {
    let before = Layout::hindexed(&[(2, -20)], &Layout::bytes(1).unwrap()).unwrap();
    let reg = Registered::verified(before.compile().unwrap()).unwrap();
    let (mut mem, mut out) = (*b"abcdefgh", [0; 2]);
    // Bytes 6 and 7 of 8; Miri would tell if the pointer to the buffer were made as one into the
    // memory.
    assert_eq!(reg.pack_slice(&mem, 26, 0, &mut out), Ok(2));
    assert_eq!(&out, b"gh");
    assert_eq!(reg.unpack_slice(&mut mem, 26, 0, b"xy"), Ok(2));
    assert_eq!(&mem, b"abcdefxy");
    assert!(matches!(reg.pack_slice(&mem, 27, 0, &mut out).map_err(|e| e.fault), Err(Fault::Range { .. })));
}

#[test]
fn empty_programs_move_nothing() {
    let none = Layout::vector(0, 3, 5, &Layout::bytes(8).unwrap()).unwrap().compile().unwrap();
    assert_eq!((none.size, none.code.len()), (0, isa::ITERATE_SIZE));
    let reg = Registered::verified(none).unwrap();
    assert_eq!(reg.pack_slice(&[], 0, 7, &mut [0; 4]), Ok(0));
    // Under CONTROL the plain interpreter runs; it does not go round what moves nothing.
    let idle = ".depth 2\n.size 4\n.extent 4\n.rext 4\nm:\ngosub s reps=1000000000000\ncopy 4@0\niterate m\n\
                s:\ncontrol operation=1 operand=4\niterate s";
    let mut value = 5_i32;
    // SAFETY: one application of 4 bytes.
    let n = unsafe {
        let reg = Registered::verified(program(idle)).unwrap();
        reg.unpack_with((&raw mut value).cast(), 0, &7_i32.to_ne_bytes(), &Accumulate)
    };
    assert_eq!((n, value), (Ok(4), 12));
    let zero_blocks =
        program(".depth 2\nm:\nmcopy\ngosub s reps=0\ncopy 0@99\niterate m\ns:\ncopy 5@0\niterate s");
    let reg = Registered::verified(zero_blocks).unwrap();
    assert_eq!(reg.unpack_slice(&mut [], 0, 0, &[1, 2]), Ok(0));
}

#[test]
fn unverified_programs_fail_where_they_break() {
    let run = |source: &str| {
        let reg = Registered::new(program(source)).expect("the header is sound");
        assert!(!reg.is_compiled());
        reg.pack_slice(&[0; 64], 0, 0, &mut [0; 64]).map_err(|e| (e.code, e.at))
    };
    assert_eq!(run("m:\ncopy 4@0\n.word 99"), Err((ErrorCode::Opc, Some(6))));
    assert_eq!(run(".depth 3\nm:\ncopy 1@0\ngosub m\niterate m"), Err((ErrorCode::Stack, Some(6))));
    assert_eq!(run("m:\ncopy 4@0\ngosub s\niterate m\ns:\niterate s"), Err((ErrorCode::Stack, Some(6))));
    assert_eq!(run("m:\ncopy 0@0\niterate +0"), Err((ErrorCode::Other, Some(6))), "it would run for ever");
    assert_eq!(
        run(".depth 2\nm:\ngosub s ret=+0\niterate m\ns:\niterate s"),
        Err((ErrorCode::Other, Some(0)))
    );
}

#[test]
fn a_lying_header_does_not_mislead_the_engine() {
    // size, lext, rext and density are wrong; the code decides.
    let reg =
        Registered::new(program(".density unit\n.size 99\n.extent 4\n.rext 1\nm:\ncopy 2@1\niterate m"))
            .unwrap();
    let mut out = [0; 5];
    assert_eq!(reg.pack_slice(b"abcdefghijkl", 0, 1, &mut out), Ok(5));
    assert_eq!(&out, b"cfgjk");
    assert_eq!(reg.contiguous(2), Some(1));
    assert_eq!(reg.contiguous(3), None);
}

/// A reduction over five values, 8 bytes apart, of the given operand.
fn reduction(operand: Operand, operation: Operation) -> Registered {
    let size = operand.size();
    let (reach, n) = (4 * 8 + size, 5 * size);
    Registered::verified(program(&format!(
        ".depth 2\n.size {n}\n.extent 40\n.rext {reach}\n.atom_size {size}\n\
         m:\ncontrol operation={} operand={}\ngosub s reps=5 stride=8\niterate m\ns:\ncopy {size}@0\niterate s",
        operation as i32, operand as i32
    )))
    .unwrap()
}

#[test]
fn control_accumulates_whole_operands_in_any_order_of_packets() {
    let reg = reduction(Operand::I64, Operation::Sum);
    let mut target: Vec<i64> = (0..10).map(|i| 100 * i).collect();
    let message: Vec<i64> = (1..=10).collect();
    let bytes: Vec<u8> = message.iter().flat_map(|v| v.to_ne_bytes()).collect();
    for (from, to) in [(56, 80), (0, 16), (16, 56)] {
        let base = target.as_mut_ptr().cast();
        // SAFETY: two applications of 40 bytes each.
        let n = unsafe { reg.unpack_with(base, from as u64, &bytes[from..to], &Accumulate) };
        assert_eq!(n, Ok(to - from));
    }
    assert_eq!(target, (0..10).map(|i| 100 * i + i + 1).collect::<Vec<_>>());

    // SAFETY: nothing is touched: an operand would be split.
    let split = unsafe { reg.unpack_with(target.as_mut_ptr().cast(), 4, &bytes[4..8], &Accumulate) };
    assert_eq!(split.map_err(|e| e.code), Err(ErrorCode::Atom));
    // SAFETY: nothing is touched: CONTROL needs a function, and a scatter.
    let without = unsafe { reg.unpack_from(target.as_mut_ptr().cast(), 0, &bytes) };
    assert_eq!(without.map_err(|e| e.fault), Err(Fault::NoDdm));
    assert_eq!(reg.pack_slice(&bytes, 0, 0, &mut [0; 8]).map_err(|e| e.fault), Err(Fault::ControlInGather));
    assert_eq!(reg.descriptor().packet_bytes(30, 80), 24);
    assert_eq!(reg.descriptor().packet_bytes(30, 16), 16);
}

#[test]
fn every_operand_and_operation() {
    let check = |operand, operation, old: &[u8], new: &[u8], expect: &[u8]| {
        let mut target = old.to_vec();
        // SAFETY: one operand on each side.
        let n = unsafe {
            Accumulate.combine(new.as_ptr(), target.as_mut_ptr(), old.len(), operand as i32, operation as i32)
        };
        assert_eq!((n, &target[..]), (old.len() as i64, expect), "{operand:?} {operation:?}");
    };
    macro_rules! numbers {
        ($($t:ty: $operand:ident),*) => {$(
            let (a, b) = (5 as $t, 3 as $t);
            for (op, e) in [(Operation::Replace, b), (Operation::Sum, a + b), (Operation::Product, a * b),
                            (Operation::Min, b), (Operation::Max, a)] {
                check(Operand::$operand, op, &a.to_ne_bytes(), &b.to_ne_bytes(), &e.to_ne_bytes());
            }
        )*};
    }
    numbers!(i8: I8, u8: U8, i16: I16, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64, f32: F32, f64: F64);
    check(Operand::U16, Operation::And, &12u16.to_ne_bytes(), &10u16.to_ne_bytes(), &8u16.to_ne_bytes());
    check(Operand::U16, Operation::Or, &12u16.to_ne_bytes(), &10u16.to_ne_bytes(), &14u16.to_ne_bytes());
    check(Operand::U16, Operation::Xor, &12u16.to_ne_bytes(), &10u16.to_ne_bytes(), &6u16.to_ne_bytes());
    check(Operand::I8, Operation::Min, &[0xff], &[1], &[0xff]);
    // SAFETY: nothing is touched.
    let none = unsafe { Accumulate.combine([0; 8].as_ptr(), [0; 8].as_mut_ptr(), 8, 99, 1) };
    assert_eq!(none, 0, "an unknown operand fails the transfer");
}

/// Takes four bytes at a time and notes what it is told.
struct Fussy(std::cell::RefCell<Vec<(usize, i32, i32)>>);

impl Ddm for Fussy {
    unsafe fn combine(
        &self,
        from: *const u8,
        to: *mut u8,
        bytes: usize,
        operand: i32,
        operation: i32,
    ) -> i64 {
        self.0.borrow_mut().push((bytes, operand, operation));
        // SAFETY: the caller promises more.
        unsafe { to.copy_from_nonoverlapping(from, 4) };
        4
    }
}

#[test]
fn the_mode_persists_over_routines_and_repetitions_until_it_is_left() {
    let source = ".depth 2\n.size 16\n.extent 16\n.rext 16\nm:\ncopy 4@0\ngosub s\ncopy 4@8\ncontrol off\ncopy 4@12\niterate m\n\
                  s:\ncontrol operation=3 operand=9\ncopy 4@4\niterate s";
    let reg = Registered::verified(program(source)).unwrap();
    let data: Vec<u8> = (1..=32).collect();
    for start in [0, 4, 8, 12, 16, 20, 24, 28] {
        let fussy = Fussy(Vec::new().into());
        let mut mem = vec![0; 32];
        // SAFETY: two applications of 16 bytes.
        let n = unsafe { reg.unpack_with(mem.as_mut_ptr(), start as u64, &data[start..], &fussy) };
        assert_eq!(n, Ok(32 - start));
        assert_eq!(&mem[start..], &data[start..]);
        let controlled = (start..32).step_by(4).filter(|p| matches!(p % 16, 4 | 8)).count();
        assert_eq!(fussy.0.take(), vec![(4, 9, 3); controlled], "from {start}");
    }
    let all = ".size 8\n.extent 8\n.rext 8\nm:\ncontrol operation=1\ncopy 8@0\niterate m";
    let fussy = Fussy(Vec::new().into());
    let mut mem = [0; 8];
    // SAFETY: one application of 8 bytes.
    let n = unsafe {
        Registered::verified(program(all)).unwrap().unpack_with(mem.as_mut_ptr(), 0, &data[..8], &fussy)
    };
    assert_eq!((n, fussy.0.take()), (Ok(8), vec![(8, 0, 1), (4, 0, 1)]), "called again for what it left");
    assert_eq!(&mem, &data[..8]);
}

#[test]
fn pack_calls_keep_a_position_in_the_packed_buffer() {
    let reg =
        Registered::new(Layout::vector(3, 1, 2, &Layout::bytes(1).unwrap()).unwrap().compile().unwrap())
            .unwrap();
    let (mem, mut packed, mut position) = (*b"a.b.c.", [b'-'; 8], 1);
    for _ in 0..2 {
        // SAFETY: one application lies in `mem`.
        assert_eq!(unsafe { reg.pack_at(mem.as_ptr(), 3, &mut packed, &mut position) }, Ok(()));
    }
    assert_eq!((&packed, position), (b"-abcabc-", 7));
    // SAFETY: nothing is touched: the buffer is too small.
    let error = unsafe { reg.pack_at(mem.as_ptr(), 3, &mut packed, &mut position) };
    let fault = Fault::PackSize { bytes: 3, position: 7, size: 8 };
    assert_eq!(error, Err(Error { code: ErrorCode::PackSz, at: None, fault }));
    assert_eq!((ErrorCode::PackSz as i32, position), (479, 7));
    let (mut back, mut from) = ([0; 6], 4);
    // SAFETY: one application lies in `back`.
    assert_eq!(unsafe { reg.unpack_at(&packed, back.as_mut_ptr(), 3, &mut from) }, Ok(()));
    assert_eq!((&back, from), (b"a\0b\0c\0", 7));
}

#[test]
fn copies_between_layouts_take_each_route() {
    let double = Layout::bytes(8).unwrap();
    let reg = |l: Layout| Registered::verified(l.compile().unwrap()).unwrap();
    let long = reg(Layout::hvector(8, 1, 600, &Layout::bytes(256).unwrap()).unwrap());
    let short = reg(Layout::vector(256, 1, 3, &double).unwrap());
    let other = reg(Layout::vector(256, 1, 5, &double).unwrap());
    let flat = reg(Layout::bytes(2048).unwrap());
    let odd = reg(Layout::vector(512, 1, 2, &Layout::bytes(4).unwrap()).unwrap());
    // Long enough to be copied one by one to and from the others.
    let blocks = [(801, 0), (4001, 2000), (4003, 7000)];
    let blocks = reg(Layout::hindexed(&blocks, &Layout::bytes(1).unwrap()).unwrap());
    let sides = [&long, &short, &other, &flat, &odd, &blocks];
    let mem: Vec<u8> = (0..16_384).map(|i| (i * 11 + i / 256) as u8).collect();
    for src in sides {
        for dst in sides {
            for (from, to, n) in [(0, 0, MESSAGE), (8, 16, MESSAGE / 2), (3, 700, MESSAGE * 5 / 8 + 21)] {
                let mut bytes = vec![0; n];
                src.pack_slice(&mem, 0, from, &mut bytes).unwrap();
                let (mut expect, mut got) = (vec![0; mem.len()], vec![0; mem.len()]);
                dst.unpack_slice(&mut expect, 0, to, &bytes).unwrap();
                // SAFETY: every layout's one application lies in 16 KiB.
                let moved = unsafe { copy(src, mem.as_ptr(), from, dst, got.as_mut_ptr(), to, n) };
                assert_eq!(moved, Ok(n));
                assert!(got == expect, "{from} {to} {n}");
            }
        }
    }
}

#[test]
fn the_assembler_says_what_it_cannot_read() {
    let error = |s: &str| text::assemble(s).expect_err("not a program").to_string();
    assert_eq!(error("m:\ncopy 4\n"), "line 2: `4` is not bytes@offset");
    assert_eq!(error("iterate nowhere"), "line 1: no label nowhere");
    assert_eq!(error("m:\nm:"), "line 2: label m is defined twice");
    assert_eq!(error(".depth x"), "line 1: `x` is not a number in range");
    assert_eq!(error("jump m"), "line 1: can't read `jump m`");
}
