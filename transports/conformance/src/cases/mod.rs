//! The cases. Each is run by every task; names state condition and result.

pub(crate) mod contract;
pub(crate) mod ends;
pub(crate) mod flow;
pub(crate) mod memory;
pub(crate) mod messages;
pub(crate) mod onesided;
pub(crate) mod sleeping;

use crate::rank::Rank;
use lapis_core::transport::Caps;

/// A case of the suite.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Capabilities without which it is skipped.
    pub(crate) needs: Caps,
    /// Task 1 kills itself in it.
    pub(crate) dies: bool,
    pub(crate) run: fn(&mut Rank),
}

macro_rules! list {
    (() $($module:ident :: $name:ident [$($cap:ident)*] $($dies:ident)?;)*) => {
        pub(crate) const ALL: &[Case] = &[$(Case {
            name: stringify!($name),
            needs: Caps::empty()$(.union(Caps::$cap))*,
            dies: list!(@dies $($dies)?),
            run: $module::$name,
        }),*];
    };
    (@dies) => { false };
    (@dies dies) => { true };
}
crate::__for_each_case!(list, ());

pub(crate) fn find(name: &str) -> &'static Case {
    ALL.iter().find(|c| c.name == name).unwrap_or_else(|| panic!("no case is named {name}"))
}
