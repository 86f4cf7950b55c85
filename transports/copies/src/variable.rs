//! The variable that has the limits.

use lapis_core::config::{Group, Kind, Variable};
use lapis_core::error::LapiCode;

/// Its name, in the environment and in the tuning file.
pub const VARIABLE: &str = "LAPIS_SHM_COPIES";

/// What the variable is. Shared memory declares it; whoever has lanes heeds it.
pub const COPIES: Variable = Variable {
    name: VARIABLE,
    group: Group::Transport("shm"),
    kind: Kind::Text,
    default: None,
    help: "From which lengths on which copies are taken, as in far=100,near-past=never,far-past=1024,attach=16384",
    more: "far: nanoseconds of a read from which on two cores share no cache. near-past, far-past: bytes from which \
           on messages to near and to far cores are stored past the caches, or never. attach: bytes from which on \
           puts and gets of any memory may go by cross-memory attach. What is left out is as shipped for the \
           processor; lapis-perf tune measures it, lapis-info --copies shows it. Windows of adapters (hps, GM) heed \
           it, too.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};
