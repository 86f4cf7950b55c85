//! How much one user may take, so that something is left for others: clients, and windows. Each
//! takes two of the descriptors that the daemon may have.

use rustix::process::{Resource, getrlimit};

/// The most clients of one user.
const CLIENTS_OF_A_USER: usize = 4096;
/// The most clients of all.
const CLIENTS: usize = 16_384;

/// The descriptors that the daemon may have, and whose they are. One user gets an eighth of them
/// for clients and a quarter for windows; all users together three eighths and half of them. The
/// rest is for root and the daemon's user, whom the limits of descriptors do not concern.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shares {
    descriptors: usize,
}

impl Shares {
    /// As many as this process may open.
    pub(crate) fn of_process() -> Self {
        Self::of(getrlimit(Resource::Nofile).current)
    }

    pub(crate) fn of(limit: Option<u64>) -> Self {
        Self { descriptors: limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX) }
    }

    /// For one user, who has them all.
    pub(crate) const ALL: Self = Self { descriptors: usize::MAX };

    /// Whether there is another client for a user, who has `theirs`, where all have `all`.
    pub(crate) fn admit(self, administrator: bool, theirs: usize, all: usize) -> bool {
        let few = |part: usize| if administrator { usize::MAX } else { self.descriptors / 16 * part };
        theirs < CLIENTS_OF_A_USER.min(few(1)) && all < CLIENTS.min(few(3))
    }

    /// Whether there is another window of any adapter for a user, who has `theirs`, where all have
    /// `all`.
    pub(crate) fn has_windows(self, administrator: bool, theirs: usize, all: usize) -> bool {
        administrator || theirs < self.descriptors / 8 && all < self.descriptors / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_few_descriptors_something_is_left_for_others_and_for_administrators() {
        let few = Shares::of(Some(1024));
        assert!(few.admit(false, 63, 63) && !few.admit(false, 64, 64) && !few.admit(false, 0, 192));
        assert!(few.has_windows(false, 127, 127));
        assert!(!few.has_windows(false, 128, 128) && !few.has_windows(false, 0, 256));
        assert!(few.admit(true, 400, 400) && few.has_windows(true, 400, 400));
    }

    #[test]
    fn of_many_descriptors_nobody_gets_more_than_a_daemon_can_serve() {
        for many in [Shares::of(None), Shares::ALL] {
            for administrator in [false, true] {
                assert!(many.admit(administrator, CLIENTS_OF_A_USER - 1, CLIENTS - 1));
                assert!(!many.admit(administrator, CLIENTS_OF_A_USER, CLIENTS - 1));
                assert!(!many.admit(administrator, 0, CLIENTS));
            }
        }
    }
}
