//! What a context has of teams, requests and operators.

use super::outcome::{Outcome, exhausted, failed, failure};
use super::table::{Shelf, Table};
use super::values::Operators;
use crate::abi::*;
use lapis_collectives::{Held, RawPersistent, Request, Team};
use lapis_core::sync::{AtomicU32, Ordering};

/// What a request stands for.
pub(super) enum Pending {
    Once(Request<()>),
    Persistent(RawPersistent),
}

/// What a context has.
#[derive(Default)]
pub(crate) struct Collectives {
    pub(super) teams: Table<Team>,
    /// The number of the team of all tasks, 0 if nobody has asked for it.
    world: AtomicU32,
    pub(super) requests: Shelf<Pending>,
    pub(super) operators: Operators,
}

impl Drop for Collectives {
    fn drop(&mut self) {
        // What was not waited for before the context ended has lost whom it waits for.
        self.requests.drain().into_iter().for_each(std::mem::forget);
    }
}

impl Collectives {
    /// The team with this number.
    ///
    /// # Safety
    /// No other thread frees it meanwhile.
    #[inline]
    pub(super) unsafe fn team(&self, context: &lapis_core::Context, number: lapis_team_t) -> Outcome<&Team> {
        let known = if number == LAPIS_WORLD { self.world.load(Ordering::Relaxed) } else { number };
        // SAFETY: no other thread frees it meanwhile, as the caller has promised.
        match unsafe { self.teams.get(known) } {
            Some(team) => Ok(team),
            None if number == LAPIS_WORLD => {
                self.make_world(context)?;
                // SAFETY: the world is never freed.
                unsafe { self.teams.get(self.world.load(Ordering::Relaxed)) }
                    .ok_or_else(|| exhausted("teams"))
            }
            None => Err(failure(
                LAPIS_ERR_TEAM,
                if number == LAPIS_NO_TEAM {
                    "LAPIS_NO_TEAM: this task is no member".to_owned()
                } else {
                    format!("team {number} is none of this context's, or has been freed")
                },
            )),
        }
    }

    /// The team of all tasks is the first of its group: whoever makes teams makes it first, so that
    /// members count alike.
    pub(super) fn make_world(&self, context: &lapis_core::Context) -> Outcome {
        // The context's lock, and no other one: handlers, which have it, may be the first to ask.
        let _making = Held::new(context);
        if self.world.load(Ordering::Relaxed) == 0 {
            let team = Team::world(context).map_err(failed)?;
            let number = self.teams.insert(team).ok_or_else(|| exhausted("teams"))?;
            self.world.store(number, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    #[test]
    fn who_has_the_lock_may_be_among_the_first_to_ask_for_the_team_of_all() {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let builder = lapis_core::Context::builder().interrupts(false);
            let context = builder.transport(lapis_loopback::table()).init().unwrap();
            let all = Arc::new(Collectives::default());
            // As a handler, which has it.
            context.lock();
            let (asks, asked) = mpsc::channel();
            let other = std::thread::spawn({
                let (all, context) = (Arc::clone(&all), context.clone());
                move || {
                    asks.send(()).unwrap();
                    all.make_world(&context)
                }
            });
            asked.recv().unwrap();
            // The other thread waits for the lock by now, or will: the outcome is the same.
            std::thread::sleep(Duration::from_millis(50));
            let made = all.make_world(&context);
            context.unlock();
            tell.send((made, other.join().unwrap(), all.world.load(Ordering::Relaxed))).unwrap();
        });
        let (made, others, world) = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(made.is_ok() && others.is_ok() && world != 0);
    }
}
