//! All to all with a layout for each partner, through memory and over messages.

mod support;

use lapis_collectives::{Given, Got, Parts, Team};
use lapis_core::Context;
use lapis_core::message::{Gather, Scatter};
use support::{LOSSY, SHM, UDP, job};

/// Blocks of so many bytes, each so far behind the one before.
struct Blocks {
    base: *mut u8,
    block: usize,
    stride: usize,
}

// SAFETY: the tests keep the memory, and use it from one thread.
unsafe impl Send for Blocks {}

impl Blocks {
    fn place(&self, at: usize) -> *mut u8 {
        self.base.wrapping_add(at / self.block * self.stride + at % self.block)
    }
}

impl Gather for Blocks {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        for (at, byte) in out.iter_mut().enumerate() {
            // SAFETY: the block is there.
            *byte = unsafe { self.place(position as usize + at).read() };
        }
    }
}

impl Scatter for Blocks {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        for (at, byte) in bytes.iter().enumerate() {
            // SAFETY: the block is there.
            unsafe { self.place(position as usize + at).write(*byte) }
        }
    }
}

/// Bytes that `from` has for `to`: some pairs have nothing, some more than an area holds.
fn len(from: usize, to: usize, round: usize) -> usize {
    match (from + 2 * to + round) % 4 {
        0 => 0,
        1 => 7 + from,
        2 => 5000 + 13 * to,
        _ => 150_000 + from,
    }
}

fn byte(from: usize, to: usize, at: usize) -> u8 {
    (from * 31 + to * 7 + at * 3 + at / 251) as u8
}

/// Each task's memory for a partner, in blocks with gaps of bytes that nobody may touch.
struct Sheet {
    bytes: Vec<u8>,
    block: usize,
    stride: usize,
}

impl Sheet {
    fn new(len: usize, kind: usize) -> Self {
        let (block, stride) = (3 + kind % 5, 8 + kind % 3);
        Self { bytes: vec![0xee; len.div_ceil(block) * stride], block, stride }
    }

    fn layout(&mut self) -> Blocks {
        Blocks { base: self.bytes.as_mut_ptr(), block: self.block, stride: self.stride }
    }

    /// The data's bytes; the gaps' ones are looked at.
    fn data(&self, len: usize) -> Vec<u8> {
        let mut data = Vec::new();
        for block in self.bytes.chunks(self.stride) {
            let (there, gap) = block.split_at(self.block);
            data.extend_from_slice(there);
            assert!(gap.iter().all(|byte| *byte == 0xee), "a gap was written to");
        }
        data.truncate(len);
        data
    }
}

fn exchange(team: &Team, round: usize) {
    let (me, n) = (team.rank(), team.len());
    let mut given: Vec<Sheet> = (0..n).map(|to| Sheet::new(len(me, to, round), me + to)).collect();
    let mut got: Vec<Sheet> = (0..n).map(|from| Sheet::new(len(from, me, round), 2 * me + from)).collect();
    for (to, sheet) in given.iter_mut().enumerate() {
        let bytes: Vec<u8> = (0..len(me, to, round)).map(|at| byte(me, to, at)).collect();
        // SAFETY: the sheet is long enough.
        unsafe { sheet.layout().write(0, &bytes) };
    }
    let mut from: Vec<Blocks> = given.iter_mut().map(Sheet::layout).collect();
    let mut into: Vec<Blocks> = got.iter_mut().map(Sheet::layout).collect();
    let mut give: Vec<Given<'_>> =
        (0..).zip(&mut from).map(|(to, layout)| Given { layout, len: len(me, to, round) }).collect();
    let mut get: Vec<Got<'_>> =
        (0..).zip(&mut into).map(|(from, layout)| Got { layout, len: len(from, me, round) }).collect();
    // SAFETY: the sheets live, and nobody else uses them.
    unsafe { team.all_to_all_w(&mut give, &mut get) }.unwrap();
    check(me, round, &got);
}

fn check(me: usize, round: usize, got: &[Sheet]) {
    for (from, sheet) in got.iter().enumerate() {
        let len = len(from, me, round);
        let expected: Vec<u8> = (0..len).map(|at| byte(from, me, at)).collect();
        assert!(sheet.data(len) == expected, "round {round}: from {from} to {me}");
    }
}

/// The same data in plain parts, for those who have no layouts.
fn exchange_plainly(team: &Team, round: usize) {
    let (me, n) = (team.rank(), team.len());
    let lens = |len: &dyn Fn(usize) -> usize| (0..n).map(len).collect::<Vec<usize>>();
    let starts = |lens: &[usize]| (0..n).map(|at| lens[..at].iter().sum()).collect::<Vec<usize>>();
    let (give, get) = (lens(&|to| len(me, to, round)), lens(&|from| len(from, me, round)));
    let (give_at, get_at) = (starts(&give), starts(&get));
    let input: Vec<u8> = (0..n).flat_map(|to| (0..give[to]).map(move |at| byte(me, to, at))).collect();
    let mut output = vec![0; get.iter().sum()];
    let (give, get) = (Parts { counts: &give, starts: &give_at }, Parts { counts: &get, starts: &get_at });
    team.all_to_all_v(&input, give, &mut output, get).unwrap();
    let expected: Vec<u8> =
        (0..n).flat_map(|from| (0..get.counts[from]).map(move |at| byte(from, me, at))).collect();
    assert!(output == expected, "round {round}: member {me}");
}

fn sent(context: &Context) -> u64 {
    context.statistics().total().data_sent
}

#[test]
fn each_partner_has_a_layout_of_its_own() {
    for settings in [SHM, UDP, LOSSY] {
        for tasks in [1, 2, 3, 5] {
            job(tasks, settings, |context| {
                let team = Team::world(context).unwrap();
                (0..4).for_each(|round| exchange(&team, round));
            });
        }
    }
}

#[test]
fn members_with_layouts_meet_members_with_plain_parts() {
    for settings in [SHM, UDP] {
        job(4, settings, |context| {
            let team = Team::world(context).unwrap();
            for round in 0..6 {
                if (team.rank() + round).is_multiple_of(2) {
                    exchange(&team, round);
                } else {
                    exchange_plainly(&team, round);
                }
            }
        });
    }
}

/// Once the way is known, parts go from layout to board and from board to layout.
#[test]
fn layouts_on_one_host_send_no_data() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        (0..4).for_each(|round| exchange(&team, round));
        let before = sent(context);
        (0..20).for_each(|round| exchange(&team, round));
        let bytes = sent(context) - before;
        // Some 4 MB are exchanged; who dozes is woken by messages without data.
        assert!(bytes < 10_000, "{bytes} bytes in messages");
    });
}

#[test]
fn lists_that_are_no_team_are_refused_and_lengths_that_differ_are_told() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        team.barrier().unwrap();
        let mut sheet = Sheet::new(8, 0);
        let mut layout = sheet.layout();
        let mut give = [Given { layout: &mut layout, len: 8 }];
        // SAFETY: nothing is read or written.
        let why = unsafe { team.all_to_all_w(&mut give, &mut []) }.unwrap_err().to_string();
        assert!(why.contains('1') && why.contains('2'), "{why}");
        // Member 0 expects more than member 1 has for it.
        let wrong = usize::from(team.rank() == 0);
        let mut sheets: Vec<Sheet> = (0..4).map(|_| Sheet::new(16, 0)).collect();
        let mut layouts: Vec<Blocks> = sheets.iter_mut().map(Sheet::layout).collect();
        let (from, into) = layouts.split_at_mut(2);
        let mut give: Vec<Given<'_>> = from.iter_mut().map(|layout| Given { layout, len: 8 }).collect();
        let mut get: Vec<Got<'_>> = into.iter_mut().map(|layout| Got { layout, len: 8 }).collect();
        get[1 - team.rank()].len += wrong;
        // SAFETY: the sheets are long enough for either length.
        let ended = unsafe { team.all_to_all_w(&mut give, &mut get) };
        // The other one may have gone on before it hears of it.
        if team.rank() == 0 {
            let why = ended.unwrap_err().to_string();
            assert!(why.contains('8') && why.contains('9'), "{why}");
        }
    });
}
