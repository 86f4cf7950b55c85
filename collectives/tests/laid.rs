//! Broadcast, gather, scatter, allgather and exchange with neighbours on layouts, in every form,
//! through memory and over messages.

#[allow(dead_code, reason = "not every test file uses all of it")]
#[path = "support/sheets.rs"]
mod sheets;
mod support;

use lapis_collectives::{CollectiveError, Edge, Laid, Part, Parts, Team};
use lapis_core::Context;
use lapis_core::message::Scatter;
use sheets::{Blocks, FORMS, Form, Sheet, byte, carry_out, len};
use support::{LOSSY, SHM, UDP, job};

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Broadcast,
    Gather,
    Scatter,
    AllGather,
    Neighbours,
}

const ALL: [What; 5] = [What::Broadcast, What::Gather, What::Scatter, What::AllGather, What::Neighbours];

/// In place of a member: all of them.
const EVERYBODY: usize = 50;

/// Data from one member to another one: of the part that has it, or the edge.
#[derive(Clone, Copy)]
struct Flow {
    from: usize,
    to: usize,
    /// Which one of several between two members.
    which: usize,
}

impl Flow {
    fn len(self, round: usize) -> usize {
        len(self.from, self.to + self.which, round)
    }

    fn bytes(self, round: usize, run: usize) -> Vec<u8> {
        (0..self.len(round)).map(|at| byte(self.from, self.to + self.which, at, run)).collect()
    }
}

/// A call and its memory.
struct Task {
    team: Team,
    what: What,
    round: usize,
    give: Vec<(Flow, Sheet)>,
    get: Vec<(Flow, Sheet)>,
}

impl Task {
    fn new(team: &Team, what: What, round: usize) -> Self {
        let (me, n) = (team.rank(), team.len());
        let root = round % n;
        let flow = |from: usize, to: usize| Flow { from, to, which: 0 };
        let all = |flow: &dyn Fn(usize) -> Flow| (0..n).map(flow).collect::<Vec<_>>();
        let at_root = |flows: Vec<Flow>| if me == root { flows } else { Vec::new() };
        let (next, before) = ((me + 1) % n, (me + n - 1) % n);
        let along = |from: usize, to: usize, which: usize| Flow { from, to, which };
        let (give, get) = match what {
            What::Broadcast if me == root => (vec![flow(root, EVERYBODY)], vec![]),
            What::Broadcast => (vec![], vec![flow(root, EVERYBODY)]),
            What::Gather => (vec![flow(me, root)], at_root(all(&|from| flow(from, root)))),
            What::Scatter => (at_root(all(&|to| flow(root, to))), vec![flow(root, me)]),
            What::AllGather => (vec![flow(me, EVERYBODY)], all(&|from| flow(from, EVERYBODY))),
            What::Neighbours => (
                vec![along(me, next, 0), along(me, next, 1), along(me, before, 2)],
                vec![along(before, me, 0), along(before, me, 1), along(next, me, 2)],
            ),
        };
        let sheets = |flows: Vec<Flow>, kind: usize| {
            let sheet = |(at, flow): (usize, Flow)| (flow, Sheet::new(flow.len(round), kind + at));
            flows.into_iter().enumerate().map(sheet).collect()
        };
        Self { team: team.clone(), what, round, give: sheets(give, me), get: sheets(get, 2 * me + 1) }
    }

    fn fill(&mut self, run: usize) {
        for (flow, sheet) in &mut self.give {
            // SAFETY: the sheet is long enough.
            unsafe { sheet.layout().write(0, &flow.bytes(self.round, run)) };
        }
        for (flow, sheet) in &mut self.get {
            // SAFETY: the sheet is long enough.
            unsafe { sheet.layout().write(0, &vec![0xee; flow.len(self.round)]) };
        }
    }

    fn laid(&mut self) -> Laid<Blocks, Blocks> {
        let (team, round) = (self.team.clone(), self.round);
        let parts = |side: &mut [(Flow, Sheet)]| -> Vec<Part<Blocks>> {
            let part =
                |(flow, sheet): &mut (Flow, Sheet)| Part { layout: sheet.layout(), len: flow.len(round) };
            side.iter_mut().map(part).collect()
        };
        let root = round % team.len();
        let ends = |side: &[(Flow, Sheet)], end: fn(&Flow) -> usize| -> Vec<usize> {
            side.iter().map(|(flow, _)| end(flow)).collect()
        };
        let (to, from) = (ends(&self.give, |flow| flow.to), ends(&self.get, |flow| flow.from));
        let (mut give, mut get) = (parts(&mut self.give), parts(&mut self.get));
        match self.what {
            What::Broadcast => team.broadcast_w(give.pop().or(get.pop()).unwrap(), root),
            What::Gather => team.gather_w(give.remove(0), get, root),
            What::Scatter => team.scatter_w(give, get.remove(0), root),
            What::AllGather => team.all_gather_w(give.remove(0), get),
            What::Neighbours => {
                let along = |ends: Vec<usize>, parts: Vec<_>| ends.into_iter().zip(parts).collect();
                team.neighbours_w(along(to, give), along(from, get))
            }
        }
        .unwrap()
    }

    fn check(&self, run: usize) {
        let what = format!("{:?} of {}, round {}", self.what, self.team.rank(), self.round);
        for (flow, sheet) in &self.get {
            assert!(sheet.data(flow.len(self.round)) == flow.bytes(self.round, run), "{what}: {}", flow.from);
        }
        for (flow, sheet) in &self.give {
            assert!(sheet.data(flow.len(self.round)) == flow.bytes(self.round, run), "{what}: given");
        }
    }

    fn run(team: &Team, what: What, round: usize, form: Form) {
        let mut task = Self::new(team, what, round);
        task.fill(round);
        carry_out(team, task.laid(), form);
        task.check(round);
    }
}

#[test]
fn members_call_each_in_a_form_of_its_own() {
    for settings in [SHM, UDP, LOSSY] {
        for tasks in [1, 2, 3, 5] {
            job(tasks, settings, |context| {
                let team = Team::world(context).unwrap();
                for round in 0..FORMS.len() {
                    let form = FORMS[(round + 3 * team.rank()) % FORMS.len()];
                    ALL.iter().for_each(|what| Task::run(&team, *what, round, form));
                }
            });
        }
    }
}

/// Parts of these teams stand side by side in rows.
#[test]
fn members_that_meet_have_layouts_too() {
    job(9, SHM, |context| {
        let team = Team::world(context).unwrap();
        for (round, form) in FORMS.into_iter().enumerate() {
            ALL.iter().for_each(|what| Task::run(&team, *what, round, form));
        }
        let lens: Vec<usize> = (0..9).map(|rank| 10 * rank).collect();
        for run in 0..3 {
            let mut given = Sheet::new(lens[team.rank()], run);
            let mut got: Vec<Sheet> = lens.iter().map(|len| Sheet::new(*len, team.rank())).collect();
            // SAFETY: the sheet is long enough; the sheets live until the end.
            unsafe { given.layout().write(0, &vec![team.rank() as u8; lens[team.rank()]]) };
            let give = Part { layout: given.layout(), len: lens[team.rank()] };
            let parts =
                got.iter_mut().zip(&lens).map(|(sheet, len)| Part { layout: sheet.layout(), len: *len });
            let laid = team.all_gather_w(give, parts.collect()).unwrap();
            carry_out(&team, laid, FORMS[(run + team.rank()) % FORMS.len()]);
            for (rank, sheet) in got.iter().enumerate() {
                assert_eq!(sheet.data(lens[rank]), vec![rank as u8; lens[rank]]);
            }
        }
    });
}

#[test]
fn what_is_set_up_once_carries_the_data_of_each_run() {
    for settings in [SHM, UDP] {
        job(3, settings, |context| {
            let team = Team::world(context).unwrap();
            let mut tasks: Vec<Task> =
                (0..10).map(|at| Task::new(&team, ALL[at % ALL.len()], at / ALL.len())).collect();
            // SAFETY: the sheets are kept longer, and nobody uses them while it is under way.
            let keep = |task: &mut Task| unsafe { task.laid().persistent() }.unwrap();
            let mut kept: Vec<_> = tasks.iter_mut().map(keep).collect();
            for run in 0..5 {
                for (task, kept) in tasks.iter_mut().zip(&mut kept) {
                    task.fill(run);
                    kept.start().unwrap();
                }
                kept.iter_mut().rev().for_each(|kept| kept.wait().unwrap());
                tasks.iter().for_each(|task| task.check(run));
            }
        });
    }
}

fn sent(context: &Context) -> u64 {
    context.statistics().total().data_sent
}

#[test]
fn layouts_on_one_host_send_no_data() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        let each = |rounds: usize| {
            for round in 0..rounds {
                let form = FORMS[round % FORMS.len()];
                let memory = ALL.iter().filter(|what| **what != What::Neighbours);
                memory.for_each(|what| Task::run(&team, *what, round, form));
            }
        };
        each(4);
        let before = sent(context);
        each(24);
        let bytes = sent(context) - before;
        // Some 5 MB are moved; who dozes is woken by messages without data.
        assert!(bytes < 20_000, "{bytes} bytes in messages");
    });
}

/// The same calls of bytes, by a member that has no layouts.
fn plainly(team: &Team, what: What, round: usize) {
    let task = Task::new(team, what, round);
    let (me, n, root) = (team.rank(), team.len(), round % team.len());
    let lens = |side: &[(Flow, Sheet)]| side.iter().map(|(flow, _)| flow.len(round)).collect::<Vec<_>>();
    let starts = |lens: &[usize]| (0..lens.len()).map(|at| lens[..at].iter().sum()).collect::<Vec<usize>>();
    let (gives, gets) = (lens(&task.give), lens(&task.get));
    let (give_at, get_at) = (starts(&gives), starts(&gets));
    let input: Vec<u8> = task.give.iter().flat_map(|(flow, _)| flow.bytes(round, round)).collect();
    let mut output = vec![0; gets.iter().sum()];
    let at_root = |counts, starts| (me == root).then_some(Parts { counts, starts });
    match what {
        What::Broadcast if me == root => team.broadcast(&mut input.clone(), root),
        What::Broadcast => team.broadcast(&mut output, root),
        What::Gather => team.gather_v(&input, &mut output, root, at_root(&gets, &get_at)),
        What::Scatter => team.scatter_v(&input, &mut output, root, at_root(&gives, &give_at)),
        What::AllGather => team.all_gather_v(&input, &mut output, Parts { counts: &gets, starts: &get_at }),
        What::Neighbours => {
            let (next, before) = ((me + 1) % n, (me + n - 1) % n);
            let edges = |members: [usize; 3], lens: &[usize], starts: &[usize]| -> Vec<Edge> {
                (0..3).map(|at| Edge { member: members[at], start: starts[at], len: lens[at] }).collect()
            };
            let (to, from) = ([next, next, before], [before, before, next]);
            let (to, from) = (edges(to, &gives, &give_at), edges(from, &gets, &get_at));
            team.neighbours(&input, &to, &mut output, &from)
        }
    }
    .unwrap();
    let expected: Vec<u8> = task.get.iter().flat_map(|(flow, _)| flow.bytes(round, round)).collect();
    assert!(output == expected, "{what:?} of {me}, round {round}");
}

#[test]
fn members_with_layouts_meet_members_with_plain_parts() {
    for settings in [SHM, UDP] {
        job(4, settings, |context| {
            let team = Team::world(context).unwrap();
            for round in 0..8 {
                for what in ALL {
                    if (team.rank() + round).is_multiple_of(2) {
                        Task::run(&team, what, round, FORMS[round / 2 * 2 % FORMS.len()]);
                    } else {
                        plainly(&team, what, round);
                    }
                }
            }
        });
    }
}

#[test]
fn what_is_no_call_is_refused() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        let me = team.rank();
        let mut sheet = Sheet::new(8, 0);
        let mut part = |len: usize| Part { layout: sheet.layout(), len };
        let root = team.broadcast_w(part(8), 2).err();
        assert!(matches!(root, Some(CollectiveError::Root { root: 2, members: 2 })), "{root:?}");
        let wide = team.broadcast_w(part(usize::MAX), 0).err();
        assert!(matches!(wide, Some(CollectiveError::Overflow { count: usize::MAX, .. })), "{wide:?}");
        let few = team.gather_w(part(8), vec![part(8)], me).err();
        assert!(matches!(few, Some(CollectiveError::Parts { given: 1, members: 2 })), "{few:?}");
        let few = team.scatter_w(vec![part(8)], part(8), me).err();
        assert!(matches!(few, Some(CollectiveError::Parts { given: 1, members: 2 })), "{few:?}");
        for own in [
            team.gather_w(part(8), vec![part(7), part(7)], me).err(),
            team.all_gather_w(part(8), vec![part(7), part(7)]).err(),
        ] {
            assert!(matches!(own, Some(CollectiveError::OwnPart { given: 8, got: 7, .. })), "{own:?}");
        }
        let own = team.scatter_w(vec![part(8), part(8)], part(7), me).err();
        assert!(matches!(own, Some(CollectiveError::OwnPart { given: 8, got: 7, .. })), "{own:?}");
        let edge = team.neighbours_w(vec![(2, part(8))], vec![(0, part(8))]).err();
        assert!(matches!(edge, Some(CollectiveError::Edge { rank: 2, members: 2 })), "{edge:?}");
        // Nothing was begun by any of that.
        ALL.iter().for_each(|what| Task::run(&team, *what, 1, Form::Waits));
    });
}

#[test]
fn a_part_of_another_length_is_told() {
    for settings in [SHM, UDP] {
        job(2, settings, move |context| {
            let team = Team::world(context).unwrap();
            team.barrier().unwrap();
            let mut sheets: Vec<Sheet> = (0..3).map(|_| Sheet::new(16, 0)).collect();
            let mut part = |at: usize, len: usize| Part { layout: sheets[at].layout(), len };
            // The root expects more than member 1 has for it.
            let get = vec![part(1, 8), part(2, 9)];
            // SAFETY: the sheets live until the end.
            let ended = unsafe { team.gather_w(part(0, 8), get, 0).unwrap().call() };
            if team.rank() == 0 {
                let told = matches!(ended, Err(CollectiveError::Length { from: 1, got: 8, expected: 9 }));
                assert!(told, "{ended:?}");
            }
            assert!(team.barrier().is_err());
            let next = Team::world(context).unwrap();
            ALL.iter().for_each(|what| Task::run(&next, *what, 1, Form::Tests));
        });
    }
}
