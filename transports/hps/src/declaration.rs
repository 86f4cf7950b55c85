//! What this transport says of itself before it is opened: its cost, when it is used, its
//! variables. Those of the guide that any network may heed (MP_INSTANCES, MP_EUIDEVICE,
//! MP_LAPI_NETWORK) are core's.

use lapis_core::config::{Group, Kind, Variable};
use lapis_core::error::LapiCode;
use lapis_core::transport::{Declaration, Usage};

/// What core and `lapis-info` read.
pub(crate) const DECLARATION: Declaration =
    Declaration { cost_ns: 3_000, usage: Usage::UserSpace, variables: &[DAEMON, COPY] };

/// Where the daemon listens.
pub(crate) const DAEMON: Variable = Variable {
    name: "LAPIS_NSD",
    group: Group::Transport("hps"),
    kind: Kind::Text,
    default: Some("lapis-nsd"),
    help: "Where the network services daemon listens: a name in the abstract name space, or a path with a \
           slash",
    more: "lapirun sets it where it has started a daemon for the job.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};

/// How bytes of long messages, puts and gets travel.
pub(crate) const COPY: Variable = Variable {
    name: "LAPIS_HPS_COPY",
    group: Group::Transport("hps"),
    kind: Kind::Words("auto|windows"),
    default: Some("auto"),
    help: "How long data travels between the tasks of a host: past the windows' FIFOs or through them",
    more: "auto: by lanes, or by cross-memory attach where the system allows it. windows: all data goes \
           through the windows' FIFOs. Bulk transfer (MP_USE_BULK_XFER) needs cross-memory attach.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};
