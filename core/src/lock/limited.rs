//! Taking the lock within a limited time.

use super::{ContextLock, thread_word};
use std::time::{Duration, Instant};

impl ContextLock {
    /// Takes the lock for the program unless others hold it for longer than `limit`. A holder that
    /// polls hands it over, as to anybody who waits.
    pub(crate) fn acquire_for_program_within(&self, limit: Duration) -> bool {
        let taken = self.try_acquire() || self.acquire_before(Instant::now() + limit);
        if taken {
            self.level_is_the_programs();
        }
        taken
    }

    fn acquire_before(&self, deadline: Instant) -> bool {
        self.waiters.come(thread_word());
        let mut taken = false;
        self.waiters.wait_while(|| {
            taken = self.try_acquire();
            !taken && Instant::now() < deadline
        });
        self.waiters.go(taken);
        taken
    }
}
