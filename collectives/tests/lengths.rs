//! Lists of lengths that all members give: where they differ, each member is told the numbers.

mod support;

use lapis_collectives::{Call, CollectiveError, Combine, Operator, Parts, Team};
use lapis_core::Context;
use support::{SHM, Settings, UDP, job, sleep_on};

/// Who gives another list than the others.
const ODD: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    AllGatherV,
    ReduceScatter,
}

/// Elements by rank. Those of the odd member are as many, in another order.
fn counts(me: usize, n: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = (0..n).map(|rank| 3 + rank).collect();
    if me == ODD {
        counts.swap(0, 2);
    }
    counts
}

fn call(team: &Team, what: What, form: usize) -> Result<(), CollectiveError> {
    let counts = counts(team.rank(), team.len());
    let starts: Vec<usize> =
        counts.iter().scan(0, |at, len| Some(std::mem::replace(at, *at + len))).collect();
    let all: usize = counts.iter().sum();
    let mine = counts[team.rank()];
    let call = match what {
        What::AllGatherV => Call::AllGatherV { parts: Parts { counts: &counts, starts: &starts } },
        What::ReduceScatter => Call::ReduceScatter { counts: &counts },
    };
    let (input, output) = if what == What::AllGatherV { (mine, all) } else { (all, mine) };
    let (input, mut output) = (vec![1u32; input], vec![0u32; output]);
    let by = || (what == What::ReduceScatter).then(|| Combine::from(Operator::Sum));
    match (form, what) {
        (0, What::AllGatherV) => {
            team.all_gather_v(&input, &mut output, Parts { counts: &counts, starts: &starts })
        }
        (0, What::ReduceScatter) => team.reduce_scatter(&input, &mut output, &counts, Operator::Sum),
        (1, _) => team.start(&call, by(), input, output)?.wait().map(|_| ()),
        (2, _) => {
            let mut kept = team.persistent(&call, by(), input, output)?;
            kept.start()?;
            kept.wait()
        }
        _ => sleep_on(team.start(&call, by(), input, output)?).map(|_| ()),
    }
}

fn told_in_every_member(context: &Context, what: What, form: usize) {
    let team = Team::world(context).unwrap();
    team.barrier().unwrap();
    // Members in forms of their own.
    let form = (form + team.rank()) % 4;
    let ended = call(&team, what, form);
    let (short, long) = (4 * 3, 4 * 5);
    let told = match &ended {
        Err(CollectiveError::Lengths { from, rank: 0, theirs, mine, .. }) if team.rank() == ODD => {
            *from != ODD as u32 && (*theirs, *mine) == (short, long)
        }
        Err(CollectiveError::Lengths { from, rank: 0, theirs, mine, .. }) => {
            *from == ODD as u32 && (*theirs, *mine) == (long, short)
        }
        _ => false,
    };
    assert!(told, "{what:?} in form {form} at {}: {ended:?}", team.rank());
    assert!(team.barrier().is_err());
}

#[test]
fn members_of_one_host_are_all_told_which_part_has_other_lengths() {
    // A few look at each other's flags; more meet.
    for n in [3, 9] {
        job(n, SHM, |context| {
            for what in [What::AllGatherV, What::ReduceScatter] {
                for form in 0..4 {
                    told_in_every_member(context, what, form);
                }
            }
        });
    }
}

#[test]
fn a_member_that_calls_when_the_others_have_failed_is_told_too() {
    job(3, SHM, |context| {
        for form in 0..3 {
            let team = Team::world(context).unwrap();
            let others = Team::of(context, lapis_collectives::Group::from_list(&[0, 1]).unwrap());
            team.barrier().unwrap();
            let ended = if team.rank() < 2 {
                let ended = call(&team, What::AllGatherV, form);
                others.unwrap().barrier().unwrap();
                context.barrier().unwrap();
                ended
            } else {
                context.barrier().unwrap();
                call(&team, What::AllGatherV, form)
            };
            assert!(matches!(ended, Err(CollectiveError::Lengths { rank: 0, .. })), "form {form}: {ended:?}");
        }
    });
}

#[test]
fn messages_tell_of_other_lengths_too() {
    job(3, UDP, |context| {
        for what in [What::AllGatherV, What::ReduceScatter] {
            for form in 0..4 {
                let team = Team::world(context).unwrap();
                let ended = call(&team, what, (form + team.rank()) % 4);
                let told = matches!(
                    ended,
                    Err(CollectiveError::Mismatch { .. }
                        | CollectiveError::Length { .. }
                        | CollectiveError::Broken { .. })
                );
                assert!(told, "{what:?} in form {form}: {ended:?}");
                assert!(team.barrier().is_err());
            }
        }
    });
}

#[test]
fn equal_lists_in_other_elements_match() {
    job(3, SHM, |context| {
        let team = Team::world(context).unwrap();
        let wide = team.rank() == 0;
        let unit = if wide { 1 } else { 8 };
        let counts = [unit, 2 * unit, 0];
        let starts = [0, unit, 3 * unit];
        let parts = Parts { counts: &counts, starts: &starts };
        let mine = counts[team.rank()];
        if wide {
            let mut all = [0u64; 3];
            team.all_gather_v(&[7u64; 2][..mine], &mut all, parts).unwrap();
            assert_eq!(all, [7, u64::from_ne_bytes([1; 8]), u64::from_ne_bytes([1; 8])]);
        } else {
            let mut all = [0u8; 24];
            team.all_gather_v(&[team.rank() as u8; 16][..mine], &mut all, parts).unwrap();
            assert_eq!(all[8..], [1; 16]);
        }
    });
}

/// Data that goes in several segments, which begin and end alike at all members.
#[test]
fn members_may_count_the_bytes_of_a_long_broadcast_in_different_elements() {
    const PIECES: Settings = &[("LAPI_USE_SHM", "no"), ("LAPIS_COLLECTIVES", "broadcast=pieces")];
    for settings in [SHM, UDP, PIECES] {
        for n in [2, 3, 7] {
            job(n, settings, |context| {
                let team = Team::world(context).unwrap();
                let sent: Vec<u64> =
                    (0..10_001).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
                if team.rank() == 0 {
                    team.broadcast(&mut sent.clone(), 0).unwrap();
                } else {
                    let mut bytes = vec![0u8; 8 * sent.len()];
                    team.broadcast(&mut bytes, 0).unwrap();
                    assert!(bytes.chunks(8).zip(&sent).all(|(got, word)| *got == word.to_ne_bytes()));
                }
            });
        }
    }
}
