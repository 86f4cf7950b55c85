//! Which transports are to be used: all that there are, those that were named, or those that suit.

use super::declaration::{Reach, Usage};

/// Which transports are to be used. Plain values: reading variables is configuration's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// Whatever is found, for listings: files of any name are loaded.
    #[default]
    All,
    /// These and no others, best first, beside the one of the task to itself. Each must be there.
    Named(Vec<String>),
    /// What suits of what is linked, given by the program, or known to it; the cheapest first.
    Suiting(Policy),
}

/// The suitable transports if none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Those that reach tasks of the same machine alone.
    pub host: bool,
    /// Those that reach other machines, too.
    pub network: bool,
    /// User space is wanted (MP_EUILIB=us) instead of IP.
    pub user_space: bool,
}

impl Policy {
    /// Whether a transport is used without being named.
    pub fn wants(self, reach: Reach, usage: Usage) -> bool {
        let there = match reach {
            Reach::Itself => return true,
            Reach::Host => self.host,
            Reach::Network => self.network,
        };
        there
            && match usage {
                Usage::Always => true,
                Usage::Ip => !self.user_space,
                Usage::UserSpace => self.user_space,
                Usage::Named => false,
            }
    }
}
