//! Calls with layouts that can't be, or don't match: told in every form.

#[allow(dead_code, reason = "not every test file uses all of it")]
#[path = "support/sheets.rs"]
mod sheets;
mod support;

use lapis_collectives::{CollectiveError, Edge, Operator, Part, Team};
use sheets::{Blocks, Form, Sheet, exchange};
use support::{SHM, UDP, job};

/// Calls in one of three forms, and waits.
fn call(
    team: &Team,
    form: usize,
    give: Vec<Part<Blocks>>,
    get: Vec<Part<Blocks>>,
) -> Result<(), CollectiveError> {
    // SAFETY: the callers keep the memory until the call's end.
    unsafe {
        match form {
            0 => team.all_to_all_w(give, get)?.call(),
            1 => team.all_to_all_w(give, get)?.start()?.wait(),
            _ => {
                let mut kept = team.all_to_all_w(give, get)?.persistent()?;
                kept.start()?;
                kept.wait()
            }
        }
    }
}

#[test]
fn lists_that_are_no_team_and_lengths_that_are_no_memory_are_refused_in_any_form() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        let mut sheet = Sheet::new(8, 0);
        let mut part = |len: usize| Part { layout: sheet.layout(), len };
        for form in 0..3 {
            let short = call(&team, form, vec![part(8)], vec![]);
            assert!(matches!(short, Err(CollectiveError::Parts { given: 1, members: 2 })), "{short:?}");
            let wide = call(&team, form, vec![part(usize::MAX), part(1)], vec![part(1), part(1)]);
            assert!(matches!(wide, Err(CollectiveError::Overflow { count: usize::MAX, .. })), "{wide:?}");
            let (mine, theirs) = (team.rank(), 1 - team.rank());
            let mut get = vec![part(8), part(8)];
            get[mine].len = 7;
            get[theirs].len = 0;
            let own = call(&team, form, vec![part(8), part(8)], get);
            assert!(matches!(own, Err(CollectiveError::OwnPart { given: 8, got: 7, .. })), "{own:?}");
        }
        // Nothing was begun by any of that.
        exchange(&team, 1, Form::Waits);
    });
}

#[test]
fn edges_to_oneself_whose_ends_differ_are_refused_before_anything_is_written() {
    job(2, SHM, |context| {
        let team = Team::world(context).unwrap();
        let own = |len: usize| [Edge { member: team.rank(), start: 0, len }];
        let (input, mut output) = ([7u8; 2000], [0u8; 2000]);
        let ended = team.neighbours(&input, &own(2000), &mut output, &own(8));
        assert!(matches!(ended, Err(CollectiveError::OwnPart { given: 2000, got: 8, .. })), "{ended:?}");
        let ended = team.neighbours(&input, &own(8), &mut output, &[]);
        assert!(matches!(ended, Err(CollectiveError::OwnPart { given: 8, got: 0, .. })), "{ended:?}");
        assert_eq!(output, [0; 2000]);
        let mut sheets: Vec<Sheet> = (0..2).map(|at| Sheet::new(2000, at)).collect();
        let mut part = |at: usize, len: usize| (team.rank(), Part { layout: sheets[at].layout(), len });
        let ended = team.neighbours_w(vec![part(0, 2000)], vec![part(1, 8)]).err();
        assert!(matches!(ended, Some(CollectiveError::OwnPart { given: 2000, got: 8, .. })), "{ended:?}");
    });
}

#[test]
fn lengths_that_differ_are_told_in_any_form() {
    for settings in [SHM, UDP] {
        for form in 0..3 {
            job(2, settings, move |context| {
                let team = Team::world(context).unwrap();
                team.barrier().unwrap();
                // Member 0 expects more than member 1 has for it.
                let wrong = usize::from(team.rank() == 0);
                let mut sheets: Vec<Sheet> = (0..4).map(|_| Sheet::new(16, 0)).collect();
                let mut part = |at: usize| Part { layout: sheets[at].layout(), len: 8 };
                let (give, mut get) = (vec![part(0), part(1)], vec![part(2), part(3)]);
                get[1 - team.rank()].len += wrong;
                let ended = call(&team, form, give, get);
                // The other one may have gone on before it hears of it.
                if team.rank() == 0 {
                    let told = matches!(ended, Err(CollectiveError::Length { from: 1, got: 8, expected: 9 }));
                    assert!(told, "{ended:?}");
                    assert!(sheets[3].data(9) == [0xee; 9], "parts of a call that failed were written");
                }
                assert!(team.barrier().is_err());
                exchange(&Team::world(context).unwrap(), 2, Form::Tests);
            });
        }
    }
}

#[test]
fn layouts_that_meet_another_call_are_told_in_any_form() {
    for settings in [SHM, UDP] {
        for form in 0..3 {
            job(3, settings, move |context| {
                let team = Team::world(context).unwrap();
                let mut sheets: Vec<Sheet> = (0..6).map(|_| Sheet::new(8, 0)).collect();
                let mut part = |at: usize| Part { layout: sheets[at].layout(), len: 8 };
                let ended = match team.rank() {
                    1 => team.all_reduce(&mut [1u64; 3], Operator::Sum),
                    _ => call(&team, form, (0..3).map(&mut part).collect(), (3..6).map(&mut part).collect()),
                };
                let told = matches!(
                    ended,
                    Err(CollectiveError::Mismatch { .. }
                        | CollectiveError::Broken { .. }
                        | CollectiveError::Length { .. })
                );
                assert!(told, "{ended:?}");
                // And so is every later one of this team, but of no other.
                let (give, get) = ((0..3).map(&mut part).collect(), (3..6).map(&mut part).collect());
                assert!(call(&team, form, give, get).is_err());
                exchange(&Team::world(context).unwrap(), 1, Form::Persists);
            });
        }
    }
}
