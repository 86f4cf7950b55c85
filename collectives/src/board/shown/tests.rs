//! Inputs that members show, and have back after a failure.

use super::support::{SHM, Stage, job};
use crate::engine::Held;
use crate::{By, Call, CollectiveError, Result, Team, Type};
use std::time::Duration;

/// Bytes of a part that is shown.
const PART: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
enum Form {
    Waits,
    Begins,
}

/// The members of a board show their inputs, whether or not tasks outnumber cores.
fn show_inputs(team: &Team) {
    let _held = Held::new(team.context());
    // SAFETY: the lock is held; the reference ends here.
    let board = unsafe { &mut (*team.0.members.as_ptr()).memory.board };
    board.as_mut().unwrap().spare_turns(true);
}

/// Rank 0 scatters its input.
fn scatter(team: &Team, form: Form, input: &[u8], output: &mut [u8]) -> Result<()> {
    let call = Call::Scatter { root: 0, count: PART };
    let (from, into) = (input.as_ptr(), output.as_mut_ptr());
    // SAFETY: the output has room for a part, the root's input has one for each member; both stay
    // until the call has ended.
    unsafe {
        match form {
            Form::Waits => team.call_raw(&call, Type::U8, By::Nothing, from, into),
            Form::Begins => team.start_raw(&call, Type::U8, By::Nothing, from, into)?.wait(),
        }
    }
}

#[test]
fn nobody_takes_an_input_that_its_root_has_back_after_a_failure() {
    for form in [Form::Waits, Form::Begins] {
        let stage = Stage::default();
        job(4, SHM, move |context| {
            let team = Team::world(context).unwrap();
            team.barrier().unwrap();
            show_inputs(&team);
            let (me, mut got) = (context.task(), vec![0; PART]);
            let mut input = vec![7u8; if me == 0 { 4 * PART } else { 0 }];
            scatter(&team, form, &input, &mut got).unwrap();
            assert!(got.iter().all(|byte| *byte == 7));
            match me {
                0 => {
                    context.set_timeout(Duration::from_secs(1));
                    let error = scatter(&team, form, &input, &mut got).unwrap_err();
                    assert!(matches!(error, CollectiveError::Silent { .. }), "{error}");
                    context.set_timeout(Duration::from_secs(900));
                    input.fill(0xee);
                    stage.reach(1);
                }
                1 | 2 => {
                    // They have not heard of it.
                    stage.wait_for(1);
                    let late = [Form::Waits, Form::Begins][me as usize - 1];
                    let ended = scatter(&team, late, &input, &mut got);
                    let told = matches!(ended, Err(CollectiveError::Gone { .. }));
                    assert!(told, "root {form:?}, reader {late:?}: {ended:?}, {:#x}", got[0]);
                }
                _ => stage.wait_for(1),
            }
            // Until all have called, the input stays.
            context.gfence().unwrap();
        });
    }
}
