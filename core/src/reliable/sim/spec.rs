//! What is simulated: the tasks, their network at the start, what they send.

use super::Fault;
use crate::reliable::{Channel, EngineConfig};

/// What a world consists of.
#[derive(Debug, Clone)]
pub struct WorldSpec {
    /// How many tasks.
    pub tasks: u32,
    /// How many paths between any two.
    pub paths: u8,
    /// How many of them, the last ones, stand by for the others.
    pub standby: u8,
    /// Largest datagram of every path at the start.
    pub max_datagram: usize,
    /// All pipes at the start.
    pub fault: Fault,
    /// The engines' configuration.
    pub config: EngineConfig,
    /// Peers know each other's epochs from the start.
    pub epochs_known: bool,
    /// Units have preferred paths: each of those that exist, and one that does not.
    pub any_preferred: bool,
}

impl WorldSpec {
    /// The preferred path of a unit, by its token.
    pub(super) fn preferred(&self, token: u64) -> Option<u8> {
        self.any_preferred.then(|| (token / 5 % (u64::from(self.paths) + 1)) as u8)
    }
}

impl Default for WorldSpec {
    fn default() -> Self {
        Self {
            tasks: 2,
            paths: 1,
            standby: 0,
            max_datagram: 1472,
            fault: Fault::default(),
            config: EngineConfig::default(),
            epochs_known: true,
            any_preferred: false,
        }
    }
}

/// Units that wait to be submitted.
#[derive(Debug, Clone, Copy)]
pub struct Traffic {
    /// To whom.
    pub to: u32,
    /// On which channel.
    pub channel: Channel,
    /// Bytes each, at least 20.
    pub size: usize,
    /// How many.
    pub count: u64,
    /// The body stays in the sender's memory.
    pub external: bool,
}
