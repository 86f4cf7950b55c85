//! The transport's declaration: its cost, when it is used, its variables. The variable with the
//! limits of copies is declared by `lapis_copies`.

use lapis_copies::COPIES;
use lapis_core::config::{Group, Kind, Unit, Variable};
use lapis_core::error::LapiCode;
use lapis_core::transport::{Declaration, Usage};

/// What core and `lapis-info` read.
pub(crate) const DECLARATION: Declaration =
    Declaration { cost_ns: 100, usage: Usage::Always, variables: &[CONTACT, COPIES, COPY, HEAP] };

/// When tasks of one machine get to know each other.
pub(crate) const CONTACT: Variable = Variable {
    name: "LAPIS_SHM_CONTACT",
    group: Group::Transport("shm"),
    kind: Kind::Words("auto|start|need"),
    default: Some("auto"),
    help: "When tasks of one machine map each other's memory: at the start, or when they need it",
    more: "start: all of them in LAPI_Init, each handing its memory to each. need: two tasks when the first \
           message goes from one to the other, which opens the other's memory through /proc. auto: at the start \
           in jobs of up to 16 tasks, else when they need it.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};

/// How bytes of long messages, puts and gets travel.
pub(crate) const COPY: Variable = Variable {
    name: "LAPIS_SHM_COPY",
    group: Group::Transport("shm"),
    kind: Kind::Words("auto|cma|double"),
    default: Some("auto"),
    help: "How shared memory moves large messages: by cross-memory attach or by two copies",
    more: "auto: puts and gets by cross-memory attach, or by two copies where the system refuses it; \
           active messages by two copies, which take half the time since both tasks copy at once. \
           cma: all by cross-memory attach. double: all by two copies.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};

/// Address space of the memory that a task can hand out.
pub(crate) const HEAP: Variable = Variable {
    name: "LAPIS_SHM_HEAP",
    group: Group::Transport("shm"),
    kind: Kind::Number { unit: Unit::Bytes, min: 1 << 16, max: LARGEST, raise: false },
    default: Some(if WIDE { "4G" } else { "64M" }),
    help: "How much memory that all local tasks map each task can hand out",
    more: "Address space, not memory: pages exist once they are used.",
    source: "Lapis",
    code: LapiCode::ERR_SET_VAL,
};

const WIDE: bool = usize::BITS >= 64;
const LARGEST: u64 = if WIDE { 1 << 40 } else { 1 << 30 };
