//! Members that name different roots are told so while ERROR_CHK is on, whichever way their calls
//! take.

mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Edge, Group, Operator, Parts, Team};
use lapis_core::Context;
use std::time::{Duration, Instant};
use support::{Settings, Stage, interrupted_job, job, sleep_on};

const MEMORY: Settings = &[("LAPI_USE_SHM", "only"), ("LAPIS_ERROR_CHK", "yes")];
const MESSAGES: Settings = &[("LAPI_USE_SHM", "no"), ("LAPIS_ERROR_CHK", "yes")];

type Ended = Result<(), CollectiveError>;

/// A call with a root, of data that fits in a line of a board, in an area, or in several.
type Act = fn(&Team, usize, usize) -> Ended;

fn counts(team: &Team, count: usize) -> (Vec<usize>, Vec<usize>) {
    let n = team.len();
    (vec![count; n], (0..n).map(|rank| rank * count).collect())
}

fn broadcast(team: &Team, root: usize, count: usize) -> Ended {
    team.broadcast(&mut vec![1u64; count], root)
}

fn multicast(team: &Team, root: usize, count: usize) -> Ended {
    team.multicast(&mut vec![1u64; count], root, &Group::all(team.len() as u32))
}

fn reduce(team: &Team, root: usize, count: usize) -> Ended {
    team.reduce(&vec![1u64; count], &mut vec![0; count], Operator::Sum, root)
}

fn gather(team: &Team, root: usize, count: usize) -> Ended {
    team.gather(&vec![1u64; count], &mut vec![0; count * team.len()], root)
}

fn scatter(team: &Team, root: usize, count: usize) -> Ended {
    team.scatter(&vec![1u64; count * team.len()], &mut vec![0; count], root)
}

fn gather_v(team: &Team, root: usize, count: usize) -> Ended {
    let (counts, starts) = counts(team, count);
    let parts = (team.rank() == root).then_some(Parts { counts: &counts, starts: &starts });
    team.gather_v(&vec![1u64; count], &mut vec![0; count * team.len()], root, parts)
}

fn scatter_v(team: &Team, root: usize, count: usize) -> Ended {
    let (counts, starts) = counts(team, count);
    let parts = (team.rank() == root).then_some(Parts { counts: &counts, starts: &starts });
    team.scatter_v(&vec![1u64; count * team.len()], &mut vec![0; count], root, parts)
}

fn started(team: &Team, root: usize, count: usize) -> Ended {
    let none = None::<Combine<'static, u64>>;
    team.start(&Call::Broadcast { root, count }, none, vec![], vec![1; count])?.wait().map(|_| ())
}

fn awaited(team: &Team, root: usize, count: usize) -> Ended {
    let sum = Combine::from(Operator::Sum);
    let call = Call::Reduce { root, count };
    sleep_on(team.start(&call, sum, vec![1u64; count], vec![0; count])?).map(|_| ())
}

fn persistent(team: &Team, root: usize, count: usize) -> Ended {
    let none = None::<Combine<'static, u64>>;
    let output = vec![0; count * team.len()];
    let mut kept = team.persistent(&Call::Gather { root, count }, none, vec![1u64; count], output)?;
    kept.start()?;
    kept.wait()
}

const ACTS: [(&str, Act); 10] = [
    ("broadcast", broadcast),
    ("multicast", multicast),
    ("reduce", reduce),
    ("gather", gather),
    ("scatter", scatter),
    ("gatherv", gather_v),
    ("scatterv", scatter_v),
    ("started broadcast", started),
    ("awaited reduce", awaited),
    ("persistent gather", persistent),
];

/// The roots that members name, among `n`.
type Roots = fn(usize, usize) -> usize;

/// Each itself, so that everybody has data; each another one, so that nobody has to wait for any;
/// one a member that nobody else names.
const ROOTS: [Roots; 3] = [|me, _| me, |me, n| (me + 1) % n, |me, n| if me == n - 1 { 0 } else { n - 1 }];

/// Every member is told of one that names another root, with both roots.
fn told_by_root(context: &Context, name: &str, act: Act, roots: Roots, count: usize, known: bool) {
    let team = Team::world(context).unwrap();
    let (me, n) = (team.rank(), team.len());
    if known {
        team.barrier().unwrap();
    }
    let ended = act(&team, roots(me, n), count);
    let told = match &ended {
        Err(CollectiveError::Roots { from, theirs, mine, .. }) => {
            *mine == roots(me, n) && *theirs == roots(*from as usize, n) && theirs != mine
        }
        // The others may have found out before this member knew where their boards are.
        Err(CollectiveError::Broken { .. }) => !known,
        _ => false,
    };
    assert!(told, "{name} of {count} among {n}, at {me}: {ended:?}");
    assert!(team.barrier().is_err());
}

#[test]
fn members_of_one_host_are_all_told_of_other_roots() {
    for n in [2, 3, 5, 9] {
        job(n, MEMORY, |context| {
            for (at, (name, act)) in ACTS.into_iter().enumerate() {
                for (which, roots) in ROOTS.into_iter().enumerate() {
                    // In a line; in an area; in several rounds.
                    let count = [1, 300, 30_000][(at + which) % 3];
                    told_by_root(context, name, act, roots, count, at % 2 == 0);
                }
            }
        });
    }
}

#[test]
fn equal_roots_match_while_they_are_compared() {
    /// More calls than a member has lines.
    const CALLS: usize = 150;
    for n in [2, 5, 9] {
        job(n, MEMORY, |context| {
            let team = Team::world(context).unwrap();
            for (name, act) in ACTS {
                for round in 0..CALLS {
                    let ended = act(&team, round / 40 % team.len(), 1 + round % 20);
                    assert!(ended.is_ok(), "{name} {round}: {ended:?}");
                }
            }
            for (name, act) in ACTS {
                let ended = act(&team, 1, 100_000);
                assert!(ended.is_ok(), "long {name}: {ended:?}");
            }
        });
    }
}

/// Who waits is told, though TIMEOUT is far; who waits for nobody is told by its next call. Says
/// whether anybody had to wait, and whether anybody named both roots.
fn told_by_messages(context: &Context, name: &str, act: Act, roots: Roots, count: usize) -> [bool; 2] {
    let (team, other) = (Team::world(context).unwrap(), Team::world(context).unwrap());
    let (me, n) = (team.rank(), team.len());
    let ended = act(&team, roots(me, n), count);
    let text = format!("{name} of {count} among {n}, at {me}: {ended:?}");
    let named = match &ended {
        Ok(()) | Err(CollectiveError::Broken { .. }) => false,
        Err(CollectiveError::Roots { from, theirs, mine, .. }) => {
            *mine == roots(me, n) && *theirs == roots(*from as usize, n) && theirs != mine
        }
        // Of another length in the eyes of another root.
        Err(CollectiveError::Length { .. }) => false,
        Err(_) => panic!("{text}"),
    };
    assert!(named || !matches!(ended, Err(CollectiveError::Roots { .. })), "{text}");
    assert!(team.barrier().is_err(), "{text}");
    let mut all = [u8::from(ended.is_err()), u8::from(named)];
    other.all_reduce(&mut all, Operator::Sum).unwrap();
    all.map(|members| members > 0)
}

#[test]
fn messages_tell_of_other_roots_whoever_waits() {
    for n in [2, 3, 5] {
        job(n, MESSAGES, |context| {
            let (mut failures, mut named) = (0, 0);
            for (at, (name, act)) in ACTS.into_iter().enumerate() {
                for (which, roots) in ROOTS.into_iter().enumerate() {
                    // In one packet; when its receiver is ready.
                    let count = [1, 2000][(at + which) % 2];
                    let told = told_by_messages(context, name, act, roots, count);
                    (failures, named) = (failures + u32::from(told[0]), named + u32::from(told[1]));
                }
            }
            // Lengths may be all that differs in the eyes of who waits.
            assert!(failures > 0 && named * 2 > failures, "of {failures} failures {named} name both roots");
        });
    }
}

/// Member 0 has sent its part to member 1, which names the same root as member 2, and has ended its
/// call; member 1 finds that part in its next call.
#[test]
fn who_is_still_in_a_call_hears_of_its_roots_from_a_later_call_of_another_member() {
    let stage = Stage::default();
    job(3, MESSAGES, move |context| {
        let (team, other) = (Team::world(context).unwrap(), Team::world(context).unwrap());
        team.all_gather(&[0u8], &mut [0; 3]).unwrap();
        match team.rank() {
            0 => {
                stage.wait_for(1);
                gather(&team, 1, 1).unwrap();
                stage.reach(2);
            }
            1 => {
                gather(&team, 2, 1).unwrap();
                stage.reach(1);
                stage.wait_for(3);
                assert!(team.barrier().is_err());
            }
            _ => {
                stage.wait_for(2);
                let none = None::<Combine<'static, u64>>;
                let begun = team.start(&Call::Gather { root: 2, count: 1 }, none, vec![1], vec![0; 3]);
                stage.reach(3);
                let ended = begun.unwrap().wait();
                let told = matches!(ended, Err(CollectiveError::Roots { from: 0, theirs: 1, mine: 2, .. }));
                assert!(told, "{ended:?}");
            }
        }
        other.barrier().unwrap();
    });
}

/// Calls later than the others, who ask meanwhile.
fn is_late(context: &Context) {
    let until = Instant::now() + Duration::from_millis(200);
    context.wait_until(|| Instant::now() >= until).unwrap();
}

/// Forms of a call in progress.
fn end(team: &Team, form: usize, call: &Call<'_>, input: Vec<u64>, output: Vec<u64>) -> Ended {
    let none = None::<Combine<'static, u64>>;
    let mut request = team.start(call, none, input, output)?;
    match form {
        0 => request.wait().map(|_| ()),
        1 => loop {
            if request.test()? {
                return Ok(());
            }
        },
        2 => sleep_on(request).map(|_| ()),
        _ => {
            let (tell, told) = std::sync::mpsc::channel();
            request.then(move |_, ended| tell.send(ended.map(|_| ())).unwrap());
            let mut ended = None;
            let mut look = || {
                ended = ended.take().or_else(|| told.try_recv().ok());
                ended.is_some()
            };
            team.context().wait_until(&mut look).unwrap();
            ended.unwrap()
        }
    }
}

/// Member 2 waits for the root, or a neighbour, which knows nothing of it; `late`: the other one
/// calls when member 2 has asked. In memory it gets the root's data.
fn waits_in_vain(context: &Context, form: usize, edges: bool, late: bool, count: usize) {
    let (team, other) = (Team::world(context).unwrap(), Team::world(context).unwrap());
    let me = team.rank();
    other.barrier().unwrap();
    if late && me == 0 {
        is_late(context);
    }
    let ended = if edges {
        let edge = [Edge { member: 0, start: 0, len: count }];
        let from: &[Edge] = if me == 2 { &edge } else { &[] };
        end(&team, form, &Call::Neighbours { from, to: &[] }, vec![], vec![0; count])
    } else {
        let to = Group::from_list(&[if me == 2 { 2 } else { 1 }]).unwrap();
        end(&team, form, &Call::Multicast { root: 0, to: &to, count }, vec![], vec![0; count])
    };
    match &ended {
        Ok(()) => assert_ne!(me, 2),
        Err(CollectiveError::Unmatched { from, .. }) => assert_eq!(*from, [2, 0, 0][me]),
        Err(CollectiveError::Broken { .. }) => {}
        Err(e) => panic!("form {form}, edges {edges}, late {late}, at {me}: {e}"),
    }
    assert!(team.barrier().is_err());
    other.barrier().unwrap();
}

#[test]
fn who_waits_for_a_member_that_sends_it_nothing_is_told() {
    for (settings, kinds) in [(MEMORY, &[true][..]), (MESSAGES, &[true, false])] {
        let all = |context: &Context, form: usize| {
            for edges in kinds.iter().copied() {
                waits_in_vain(context, form, edges, form == 1, [1, 3000][form % 2]);
                waits_in_vain(context, form, edges, form != 1, [1, 3000][1 - form % 2]);
            }
        };
        for form in [0, 1, 3] {
            job(3, settings, move |context| all(context, form));
        }
        interrupted_job(3, settings, move |context| all(context, 2));
    }
}

/// Member 0 waits for a message of member 1, whose call goes through memory: it has ended, or waits
/// for member 0.
fn waits_for_a_call_through_memory(
    context: &Context,
    message: fn(&Team) -> Ended,
    memory: fn(&Team) -> Ended,
) {
    let (team, other) = (Team::world(context).unwrap(), Team::world(context).unwrap());
    team.barrier().unwrap();
    other.barrier().unwrap();
    let ended = if team.rank() == 0 { message(&team) } else { memory(&team) };
    let told = match &ended {
        Ok(()) => team.rank() == 1,
        Err(CollectiveError::Unmatched { from, .. } | CollectiveError::Mismatch { from, .. }) => {
            *from as usize == 1 - team.rank()
        }
        Err(CollectiveError::Broken { .. }) => true,
        Err(_) => false,
    };
    assert!(told, "at {}: {ended:?}", team.rank());
    // Who has ended its call waits elsewhere, and makes no other one of the team.
    other.barrier().unwrap();
    assert!(team.barrier().is_err());
}

#[test]
fn who_waits_for_a_message_of_a_call_through_memory_is_told() {
    job(2, MEMORY, |context| {
        let neighbour: fn(&Team) -> Ended =
            |team| team.neighbours(&[], &[], &mut [0u8; 9], &[Edge { member: 1, start: 0, len: 9 }]);
        let message: fn(&Team) -> Ended = |team| {
            team.set_reproducible(true);
            team.all_reduce(&mut [1u64; 2000], Operator::Sum)
        };
        let ends: fn(&Team) -> Ended = |team| team.broadcast(&mut [1u64], 1);
        let waits: fn(&Team) -> Ended = |team| team.all_reduce(&mut [1u64; 2000], Operator::Sum);
        for (message, memory) in [(neighbour, ends), (neighbour, waits), (message, ends), (message, waits)] {
            waits_for_a_call_through_memory(context, message, memory);
        }
    });
}

/// Nothing is known of memory yet: the member whose call goes through it looks for it first.
#[test]
fn in_the_first_call_of_a_team_both_are_told_what_the_other_one_calls() {
    job(2, MEMORY, |context| {
        let (team, other) = (Team::world(context).unwrap(), Team::world(context).unwrap());
        let me = team.rank();
        let edge = [Edge { member: 1, start: 0, len: 9 }];
        let ended = if me == 0 { team.neighbours(&[], &[], &mut [0u8; 9], &edge) } else { team.barrier() };
        match ended {
            Err(CollectiveError::Mismatch { from, theirs, mine }) => {
                assert_eq!(from as usize, 1 - me);
                let calls = ["neighbours", "barrier"];
                assert!(mine.to_string().starts_with(calls[me]), "{mine}");
                let through_memory = me == 0 && theirs.to_string() == "another operation through memory";
                assert!(theirs.to_string().starts_with(calls[1 - me]) || through_memory, "{theirs}");
            }
            Err(CollectiveError::Broken { task }) => panic!("at {me}: broken by {task}"),
            other => panic!("at {me}: {other:?}"),
        }
        other.barrier().unwrap();
        assert!(team.barrier().is_err());
    });
}

#[test]
fn questions_to_members_that_are_late_do_no_harm() {
    for settings in [MEMORY, MESSAGES] {
        job(3, settings, |context| {
            let (team, other) = (Team::world(context).unwrap(), Team::world(context).unwrap());
            other.barrier().unwrap();
            for count in [1, 3000] {
                let (me, edge) = (team.rank(), |member| Edge { member, start: 0, len: count });
                // Everybody waits for member 2: its data, or that it is ready for theirs.
                if me == 2 {
                    is_late(context);
                }
                let (mut got, mine) = (vec![9; count], vec![me as u64; count]);
                let (to, from): (Vec<Edge>, Vec<Edge>) = match me {
                    0 => (vec![edge(2)], vec![]),
                    1 => (vec![], vec![edge(2)]),
                    _ => (vec![edge(1)], vec![edge(0)]),
                };
                team.neighbours(&mine, &to, &mut got, &from).unwrap();
                assert_eq!(got, vec![[9, 2, 0][me]; count]);
                let mut word = mine;
                if me == 2 {
                    is_late(context);
                }
                team.multicast(&mut word, 2, &Group::all(3)).unwrap();
                assert_eq!(word, vec![2; count]);
                other.barrier().unwrap();
            }
            team.barrier().unwrap();
        });
    }
}
