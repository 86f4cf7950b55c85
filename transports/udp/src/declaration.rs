//! What this transport says of itself before it is opened: its cost, when it is used, its
//! variables. Those of the guide that any network may heed (MP_INSTANCES, MP_EUIDEVICE,
//! MP_LAPI_INET_ADDR) are core's.

use lapis_core::config::{Group, Kind, Unit, Variable};
use lapis_core::error::LapiCode;
use lapis_core::transport::{Declaration, Usage};

/// What core and `lapis-info` read.
pub(crate) const DECLARATION: Declaration =
    Declaration { cost_ns: 10_000, usage: Usage::Ip, variables: &[PACKET_SIZE, BUSY_POLL, BIND] };

/// The largest datagram.
pub(crate) const PACKET_SIZE: Variable = Variable {
    name: "MP_UDP_PACKET_SIZE",
    group: Group::Transport("udp"),
    kind: Kind::Number { unit: Unit::Bytes, min: 1024, max: 65536, raise: false },
    default: None,
    help: "Size of LAPI's packets over UDP",
    more: "Best as large as the network's MTU, as it is unless this variable is set, up to 57416 bytes \
           on the loopback interface and 8908 elsewhere (the guide has 65536 for switches and 8192 \
           elsewhere). A UDP datagram holds at most 65507 bytes, to which larger values are cut. Less \
           than 1168 is raised to that, with a warning: the longest user header has to fit one packet.",
    source: "LAPI Guide, table 40",
    code: LapiCode::ERR_UDP_PKT_SZ,
};

/// SO_BUSY_POLL.
pub(crate) const BUSY_POLL: Variable = Variable {
    name: "LAPIS_BUSY_POLL_US",
    group: Group::Transport("udp"),
    kind: Kind::Number { unit: Unit::Microseconds, min: 0, max: 1_000_000, raise: false },
    default: None,
    help: "How long the kernel polls the network adapter when a UDP socket is read (SO_BUSY_POLL)",
    more: "",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};

/// Where this task receives.
pub(crate) const BIND: Variable = Variable {
    name: "LAPIS_UDP_BIND",
    group: Group::Transport("udp"),
    kind: Kind::Text,
    default: None,
    help: "The addresses at which this task receives datagrams, as address:port, one for each path, \
           with commas between",
    more: "Without it, the system chooses ports. Where the program tells addresses by the user handler \
           or the user list of LAPI_Init, those count.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};
