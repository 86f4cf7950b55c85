//! Data in layouts with gaps that nobody may touch, and exchanging it in every form of a call.

use crate::support::sleep_on;
use lapis_collectives::{Laid, Part, RawPersistent, Request, Team};
use lapis_core::Counter;
use lapis_core::message::{Gather, Scatter};
use std::ptr::NonNull;

/// Blocks of so many bytes, each so far behind the one before.
pub(crate) struct Blocks {
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
pub(crate) fn len(from: usize, to: usize, round: usize) -> usize {
    match (from + 2 * to + round) % 4 {
        0 => 0,
        1 => 7 + from,
        2 => 5000 + 13 * to,
        _ => 150_000 + from,
    }
}

pub(crate) fn byte(from: usize, to: usize, at: usize, salt: usize) -> u8 {
    (from * 31 + to * 7 + at * 3 + at / 251 + salt * 5) as u8
}

/// Each task's memory for a partner, in blocks with gaps of bytes that nobody may touch.
pub(crate) struct Sheet {
    bytes: Vec<u8>,
    block: usize,
    stride: usize,
}

impl Sheet {
    pub(crate) fn new(len: usize, kind: usize) -> Self {
        let (block, stride) = (3 + kind % 5, 8 + kind % 3);
        Self { bytes: vec![0xee; len.div_ceil(block) * stride], block, stride }
    }

    pub(crate) fn layout(&mut self) -> Blocks {
        Blocks { base: self.bytes.as_mut_ptr(), block: self.block, stride: self.stride }
    }

    /// The data's bytes; the gaps' ones are looked at.
    pub(crate) fn data(&self, len: usize) -> Vec<u8> {
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

/// What a member gives and gets in a round.
pub(crate) struct Sheets {
    team: Team,
    round: usize,
    given: Vec<Sheet>,
    got: Vec<Sheet>,
}

impl Sheets {
    pub(crate) fn new(team: &Team, round: usize) -> Self {
        let (me, n) = (team.rank(), team.len());
        let given = (0..n).map(|to| Sheet::new(len(me, to, round), me + to)).collect();
        let got = (0..n).map(|from| Sheet::new(len(from, me, round), 2 * me + from)).collect();
        Self { team: team.clone(), round, given, got }
    }

    /// Puts data of a run where it is given, and nothing where it is got.
    pub(crate) fn fill(&mut self, run: usize) {
        let (me, round) = (self.team.rank(), self.round);
        for (to, sheet) in self.given.iter_mut().enumerate() {
            let bytes: Vec<u8> = (0..len(me, to, round)).map(|at| byte(me, to, at, run)).collect();
            // SAFETY: the sheet is long enough.
            unsafe { sheet.layout().write(0, &bytes) };
        }
        for (from, sheet) in self.got.iter_mut().enumerate() {
            // SAFETY: the sheet is long enough.
            unsafe { sheet.layout().write(0, &vec![0xee; len(from, me, round)]) };
        }
    }

    pub(crate) fn parts(&mut self) -> (Vec<Part<Blocks>>, Vec<Part<Blocks>>) {
        let (me, round) = (self.team.rank(), self.round);
        let give =
            |(to, sheet): (usize, &mut Sheet)| Part { layout: sheet.layout(), len: len(me, to, round) };
        let get =
            |(from, sheet): (usize, &mut Sheet)| Part { layout: sheet.layout(), len: len(from, me, round) };
        (
            self.given.iter_mut().enumerate().map(give).collect(),
            self.got.iter_mut().enumerate().map(get).collect(),
        )
    }

    pub(crate) fn start(&mut self) -> Request<()> {
        let (give, get) = self.parts();
        // SAFETY: the sheets are kept until the request is over, and nobody else uses them.
        unsafe { self.team.all_to_all_w(give, get).unwrap().start() }.unwrap()
    }

    /// Sets up what the caller starts with other data each time.
    pub(crate) fn persistent(&mut self) -> RawPersistent {
        let (give, get) = self.parts();
        // SAFETY: the sheets are kept longer, and nobody uses them while it is under way.
        unsafe { self.team.all_to_all_w(give, get).unwrap().persistent() }.unwrap()
    }

    pub(crate) fn check(&self, run: usize) {
        let (me, round) = (self.team.rank(), self.round);
        for (from, sheet) in self.got.iter().enumerate() {
            let len = len(from, me, round);
            let expected: Vec<u8> = (0..len).map(|at| byte(from, me, at, run)).collect();
            assert!(sheet.data(len) == expected, "round {round}, run {run}: from {from} to {me}");
        }
    }
}

/// How a member calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Blocks,
    Waits,
    Tests,
    Awaits,
    IsCounted,
    IsTold,
    Persists,
    Drops,
}

pub(crate) const FORMS: [Form; 8] = [
    Form::Blocks,
    Form::Waits,
    Form::Tests,
    Form::Awaits,
    Form::IsCounted,
    Form::IsTold,
    Form::Persists,
    Form::Drops,
];

/// Calls in a form, and waits for the end.
pub(crate) fn carry_out(team: &Team, laid: Laid<Blocks, Blocks>, form: Form) {
    let context = team.context();
    // SAFETY: the callers keep the sheets, and nobody else uses them.
    let begin = |laid: Laid<Blocks, Blocks>| unsafe { laid.start() }.unwrap();
    match form {
        // SAFETY: the callers keep the sheets longer than the call takes.
        Form::Blocks => unsafe { laid.call() }.unwrap(),
        Form::Waits => begin(laid).wait().unwrap(),
        Form::Tests => {
            let mut request = begin(laid);
            while !request.test().unwrap() {}
        }
        Form::Awaits => sleep_on(begin(laid)).unwrap(),
        Form::IsCounted => {
            let counter = Counter::default();
            // SAFETY: the counter is waited for.
            unsafe { begin(laid).count_in(NonNull::from(&counter)) };
            context.wait_counter(&counter, 1).unwrap();
        }
        Form::IsTold => {
            let (tell, told) = std::sync::mpsc::channel();
            begin(laid).then(move |_, ended| tell.send(ended).unwrap());
            let mut got = None;
            let mut look = || {
                got = got.take().or_else(|| told.try_recv().ok());
                got.is_some()
            };
            context.wait_until(&mut look).unwrap();
            got.unwrap().unwrap();
        }
        Form::Persists => {
            // SAFETY: the callers keep the sheets longer, and nobody uses them meanwhile.
            let mut kept = unsafe { laid.persistent() }.unwrap();
            kept.start().unwrap();
            kept.wait().unwrap();
        }
        // It waits.
        Form::Drops => drop(begin(laid)),
    }
}

pub(crate) fn exchange(team: &Team, round: usize, form: Form) {
    let mut sheets = Sheets::new(team, round);
    sheets.fill(round);
    let (give, get) = sheets.parts();
    carry_out(team, team.all_to_all_w(give, get).unwrap(), form);
    sheets.check(round);
}
