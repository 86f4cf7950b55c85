//! What all peers of an engine have in common.

use super::config::EngineConfig;
use super::credit::Credits;
use super::events::{EngineStats, Event};
use std::collections::VecDeque;

/// What the parts of the engine share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: EngineConfig,
    pub(super) job: u32,
    pub(super) local: u32,
    pub(super) events: VecDeque<Event>,
    /// Units held by all channels.
    pub(super) units: usize,
    pub(super) credits: Credits,
    pub(super) stats: EngineStats,
    pub(super) postpones_acks: bool,
}
