//! All to all with a layout for each partner, in every form, through memory and over messages.

#[path = "support/sheets.rs"]
mod sheets;
mod support;

use lapis_collectives::{CollectiveError, Part, Parts, RawPersistent, Team};
use lapis_core::Context;
use lapis_core::message::{Gather, Scatter};
use sheets::{FORMS, Form, Sheet, Sheets, byte, exchange, len};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{LOSSY, SHM, UDP, job};

/// The same data in plain parts, for those who have no layouts.
fn exchange_plainly(team: &Team, round: usize) {
    let (me, n) = (team.rank(), team.len());
    let lens = |len: &dyn Fn(usize) -> usize| (0..n).map(len).collect::<Vec<usize>>();
    let starts = |lens: &[usize]| (0..n).map(|at| lens[..at].iter().sum()).collect::<Vec<usize>>();
    let (give, get) = (lens(&|to| len(me, to, round)), lens(&|from| len(from, me, round)));
    let (give_at, get_at) = (starts(&give), starts(&get));
    let bytes = |from: usize, to: usize, len: usize| (0..len).map(move |at| byte(from, to, at, round));
    let input: Vec<u8> = (0..n).flat_map(|to| bytes(me, to, give[to])).collect();
    let mut output = vec![0; get.iter().sum()];
    let (give, get) = (Parts { counts: &give, starts: &give_at }, Parts { counts: &get, starts: &get_at });
    team.all_to_all_v(&input, give, &mut output, get).unwrap();
    let expected: Vec<u8> = (0..n).flat_map(|from| bytes(from, me, get.counts[from])).collect();
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
                (0..4).for_each(|round| exchange(&team, round, Form::Blocks));
            });
        }
    }
}

#[test]
fn members_exchange_layouts_each_in_a_form_of_its_own() {
    for settings in [SHM, UDP, LOSSY] {
        for tasks in [1, 3] {
            job(tasks, settings, |context| {
                let team = Team::world(context).unwrap();
                let form = |round: usize| FORMS[(round + 3 * team.rank()) % FORMS.len()];
                (0..FORMS.len()).for_each(|round| exchange(&team, round, form(round)));
            });
        }
    }
}

#[test]
fn members_with_layouts_meet_members_with_plain_parts() {
    for settings in [SHM, UDP] {
        job(4, settings, |context| {
            let team = Team::world(context).unwrap();
            for round in 0..8 {
                if (team.rank() + round).is_multiple_of(2) {
                    exchange(&team, round, FORMS[round / 2 * 2 % FORMS.len()]);
                } else {
                    exchange_plainly(&team, round);
                }
            }
        });
    }
}

/// The first runs may look for memory, or find that there is none.
#[test]
fn what_is_set_up_once_carries_the_data_of_each_run() {
    for settings in [SHM, UDP, LOSSY] {
        job(3, settings, |context| {
            let team = Team::world(context).unwrap();
            let mut sheets: Vec<Sheets> = (0..2).map(|round| Sheets::new(&team, round)).collect();
            let mut kept: Vec<RawPersistent> = sheets.iter_mut().map(Sheets::persistent).collect();
            for run in 0..6 {
                for (sheets, kept) in sheets.iter_mut().zip(&mut kept) {
                    sheets.fill(run);
                    kept.start().unwrap();
                }
                assert!(matches!(kept[1].start(), Err(CollectiveError::Busy)));
                while !kept[1].test().unwrap() {}
                kept[0].wait().unwrap();
                sheets.iter().for_each(|sheets| sheets.check(run));
            }
            // One that is under way is waited for.
            sheets[0].fill(6);
            kept[0].start().unwrap();
            drop(kept);
            sheets[0].check(6);
        });
    }
}

#[test]
fn several_are_under_way_at_once_and_end_in_any_order() {
    for settings in [SHM, UDP, LOSSY] {
        job(3, settings, |context| {
            let teams = [Team::world(context).unwrap(), Team::world(context).unwrap()];
            let mut all: Vec<Sheets> = (0..6).map(|at| Sheets::new(&teams[at % 2], at)).collect();
            all.iter_mut().for_each(|sheets| sheets.fill(3));
            let mut under_way: Vec<_> = all.iter_mut().map(|sheets| Some(sheets.start())).collect();
            for at in order(context.task()) {
                under_way[at].take().unwrap().wait().unwrap();
                all[at].check(3);
            }
        });
    }
}

/// An order in which a task waits for six requests.
fn order(task: u32) -> [usize; 6] {
    [[5, 4, 3, 2, 1, 0], [0, 2, 4, 1, 3, 5], [3, 0, 5, 1, 4, 2]][task as usize % 3]
}

/// Once the way is known, parts go from layout to board and from board to layout.
#[test]
fn layouts_on_one_host_send_no_data() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        (0..4).for_each(|round| exchange(&team, round, Form::Blocks));
        let before = sent(context);
        (0..24).for_each(|round| exchange(&team, round, FORMS[round % FORMS.len()]));
        let bytes = sent(context) - before;
        // Some 5 MB are exchanged; who dozes is woken by messages without data.
        assert!(bytes < 20_000, "{bytes} bytes in messages");
    });
}

#[test]
fn layouts_of_several_kinds_stand_beside_each_other() {
    /// A byte for all.
    struct Same(u8);
    impl Gather for Same {
        unsafe fn read(&mut self, _: u64, out: &mut [u8]) {
            out.fill(self.0);
        }
    }
    for settings in [SHM, UDP] {
        job(2, settings, |context| {
            let team = Team::world(context).unwrap();
            let me = team.rank();
            for _ in 0..3 {
                let mut sheets: Vec<Sheet> = (0..3).map(|kind| Sheet::new(40, kind)).collect();
                // SAFETY: the sheet is long enough.
                unsafe { sheets[2].layout().write(0, &[70 + me as u8; 40]) };
                let blocks = sheets[2].layout();
                let mut give: Vec<Part<Box<dyn Gather>>> = vec![
                    Part { layout: Box::new(Same(90 + me as u8)), len: 40 },
                    Part { layout: Box::new(blocks), len: 40 },
                ];
                give.swap(0, me);
                let get = sheets[..2].iter_mut().map(|sheet| Part { layout: sheet.layout(), len: 40 });
                let get = get.collect();
                // SAFETY: the sheets live until the end.
                unsafe { team.all_to_all_w(give, get).unwrap().start() }.unwrap().wait().unwrap();
                // Each keeps what is the same for itself, and gives the other one its blocks.
                assert_eq!(sheets[me].data(40), [90 + me as u8; 40]);
                assert_eq!(sheets[1 - me].data(40), [71 - me as u8; 40]);
            }
        });
    }
}

/// A layout of nothing that says when it goes.
struct Counted(Arc<AtomicUsize>);

impl Gather for Counted {
    unsafe fn read(&mut self, _: u64, out: &mut [u8]) {
        out.fill(1);
    }
}

impl Scatter for Counted {
    unsafe fn write(&mut self, _: u64, bytes: &[u8]) {
        assert!(bytes.iter().all(|byte| *byte == 1));
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn layouts_live_as_long_as_their_operation_and_no_longer() {
    for settings in [SHM, UDP] {
        job(2, settings, |context| {
            let team = Team::world(context).unwrap();
            let gone = Arc::new(AtomicUsize::new(0));
            let parts = |len: usize| -> Vec<Part<Counted>> {
                (0..2).map(|_| Part { layout: Counted(Arc::clone(&gone)), len }).collect()
            };
            let dropped = || gone.swap(0, Ordering::Relaxed);
            // SAFETY: the layouts use no memory.
            unsafe {
                let request = team.all_to_all_w(parts(100), parts(100)).unwrap().start().unwrap();
                assert_eq!(dropped(), 0);
                request.wait().unwrap();
                assert_eq!(dropped(), 4);
                let mut kept = team.all_to_all_w(parts(9), parts(9)).unwrap().persistent().unwrap();
                for _ in 0..3 {
                    kept.start().unwrap();
                    kept.wait().unwrap();
                }
                assert_eq!(dropped(), 0);
                drop(kept);
                assert_eq!(dropped(), 4);
                // Refused, so that they go at once.
                let more = parts(1).into_iter().chain(parts(1)).collect();
                assert!(team.all_to_all_w(parts(1), more).is_err());
                assert_eq!(dropped(), 6);
                team.all_to_all_w(parts(3), parts(3)).unwrap().call().unwrap();
                assert_eq!(dropped(), 4);
            }
        });
    }
}

/// Bytes side by side, and the most that were read or written at once.
struct Watched {
    base: *mut u8,
    most: Arc<AtomicUsize>,
}

// SAFETY: the tests keep the memory, and use it from one thread.
unsafe impl Send for Watched {}

impl Gather for Watched {
    unsafe fn read(&mut self, position: u64, out: &mut [u8]) {
        self.most.fetch_max(out.len(), Ordering::Relaxed);
        // SAFETY: the memory is long enough.
        unsafe { self.base.add(position as usize).copy_to(out.as_mut_ptr(), out.len()) };
    }
}

impl Scatter for Watched {
    unsafe fn write(&mut self, position: u64, bytes: &[u8]) {
        self.most.fetch_max(bytes.len(), Ordering::Relaxed);
        // SAFETY: the memory is long enough.
        unsafe { self.base.add(position as usize).copy_from(bytes.as_ptr(), bytes.len()) };
    }
}

#[test]
fn messages_between_neighbours_are_filled_from_layouts_and_emptied_into_them() {
    for settings in [SHM, UDP] {
        job(3, settings, |context| {
            const LEN: usize = 4 << 20;
            let team = Team::world(context).unwrap();
            let me = team.rank();
            let (next, before) = ((me + 1) % 3, (me + 2) % 3);
            let most = Arc::new(AtomicUsize::new(0));
            let value = |from: usize, to: usize, at: usize| (from * 31 + to * 7 + at + at / 251) as u8;
            // To the next one, and to oneself.
            let mut given: Vec<Vec<u8>> =
                [next, me].map(|to| (0..LEN).map(|at| value(me, to, at)).collect()).into();
            let mut got = vec![vec![0u8; LEN]; 2];
            let part = |bytes: &mut Vec<u8>| {
                let (base, most) = (bytes.as_mut_ptr(), Arc::clone(&most));
                Part { layout: Watched { base, most }, len: LEN }
            };
            let give = [next, me].into_iter().zip(given.iter_mut().map(part)).collect();
            let get = [before, me].into_iter().zip(got.iter_mut().map(part)).collect();
            // SAFETY: the memory is kept, and nobody else uses it.
            unsafe { team.neighbours_w(give, get).unwrap().call() }.unwrap();
            for (from, bytes) in [before, me].into_iter().zip(&got) {
                assert!((0..LEN).all(|at| bytes[at] == value(from, me, at)), "from {from}");
            }
            let most = most.load(Ordering::Relaxed);
            assert!(most < LEN, "a part was packed as a whole");
        });
    }
}
