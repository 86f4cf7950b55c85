//! The table of variables.
//!
//! To add one: add a row. The field of [`Config`], parsing, `lapis-info`, the manual page and the
//! check for misspelt names follow from it.

use super::choices::{BindMode, Choice, EuiLib, MsgApi, UseShm};
use super::declared::DeclaredSetting;
use super::kind::{Kind, Unit};
use super::typed::Typed;
use super::value::{CommonTasks, InetAddrs, Instances, NetworkWindows};
use super::{ConfigError, Group, Listed, Origin, SetError, Setting, Variable, Warning};
use crate::code::LapiCode;
use std::path::PathBuf;
use std::time::Duration;

const INT_MAX: u64 = i32::MAX as u64;
const MAX_TASKS: u64 = crate::bootstrap::MAX_TASKS as u64;

const fn number(unit: Unit, min: u64, max: u64) -> Kind {
    Kind::Number { unit, min, max, raise: false }
}

const fn choice<C: Choice>() -> Kind {
    Kind::Choice { words: C::WORDS, case_sensitive: false }
}

macro_rules! default_text {
    (unset) => {
        None
    };
    ($text:literal) => {
        Some($text)
    };
}

macro_rules! code_of {
    () => {
        LapiCode::ERR_SET_VAL
    };
    ($code:ident) => {
        LapiCode::$code
    };
}

macro_rules! variables {
    ($($field:ident: $type:ty = $name:literal, $default:tt {
        group: $group:ident,
        kind: $kind:expr,
        help: $help:literal,
        more: $more:literal,
        source: $source:literal,
        $(code: $code:ident,)?
    })*) => {
        /// Every variable, in the order of the listing.
        pub static VARIABLES: &[Variable] = &[$(Variable {
            name: $name,
            group: Group::$group,
            kind: $kind,
            default: default_text!($default),
            help: $help,
            more: $more,
            source: $source,
            code: code_of!($($code)?),
        },)*];

        /// The effective configuration.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Config {
            $(#[doc = concat!("`", $name, "`: ", $help)] pub $field: Setting<$type>,)*
            /// What transports declare.
            pub(super) declared: Vec<DeclaredSetting>,
        }

        impl Config {
            pub(super) fn defaults() -> Self {
                let mut rows = VARIABLES.iter();
                Self {
                    $($field: default_of(rows.next().expect("one row for each field")),)*
                    declared: Vec::new(),
                }
            }

            /// Sets one variable from text, with the checks of its row.
            ///
            /// Returns a warning where the value had to be raised to the minimum.
            pub fn set(&mut self, name: &str, text: &str, origin: Origin) -> Result<Option<Warning>, SetError> {
                let Some(variable) = variable(name) else { return self.set_declared(name, text, origin) };
                match variable.name {
                    $($name => Ok(assign(&mut self.$field, variable, text, origin)?),)*
                    _ => unreachable!("the table and this match are written by the same macro"),
                }
            }

            /// Every variable with its effective value and origin: those of the table in its order,
            /// then what transports declare.
            pub fn listing(&self) -> Vec<Listed> {
                let mut rows = VARIABLES.iter();
                let mut all = vec![$(listed(rows.next().expect("one row for each field"), &self.$field),)*];
                all.extend(self.declared.iter().map(DeclaredSetting::listed));
                all
            }
        }
    };
}

variables! {
    msg_api: Option<MsgApi> = "MP_MSG_API", unset {
        group: Communication,
        kind: choice::<MsgApi>(),
        help: "Which interfaces the job uses",
        more: "lapirun and poe set it to lapi. Over windows of adapters (MP_EUILIB=us), lapi gives each context windows of its own; lapi,mpi and mpi,lapi do so as well, and reserve as many again for a second context of the process; with mpi_lapi all contexts of a process share those of the first. With mpi, LAPI does not initialize. Tasks started by hand may leave it unset.",
        source: "LAPI Guide, table 37",
        code: ERR_MSG_API,
    }
    verify_dgsp: bool = "LAPI_VERIFY_DGSP", "no" {
        group: Transfer,
        kind: Kind::Bool,
        help: "Check every DGSP when it is registered",
        more: "Test programs that build DGSPs with yes. Some mistakes show only while data moves.",
        source: "LAPI Guide, table 38",
    }
    bulk_min_msg_size: u64 = "MP_BULK_MIN_MSG_SIZE", "150K" {
        group: Transfer,
        kind: Kind::Number { unit: Unit::Bytes, min: 4096, max: INT_MAX, raise: true },
        help: "Smallest message that is sent by bulk transfer",
        more: "A smaller value counts as 4K. Has an effect only with MP_USE_BULK_XFER=yes.",
        source: "LAPI Guide, table 38",
    }
    use_bulk_xfer: bool = "MP_USE_BULK_XFER", "no" {
        group: Transfer,
        kind: Kind::Bool,
        help: "Send large messages by bulk transfer",
        more: "A direct copy in pieces of at most 32 MB if the transport supports it. If a step fails, packets are used, as for active messages that MP_REXMIT_BUF_SIZE covers: their buffers are free at once. Flags of LAPI_Xfer decide for one message.",
        source: "LAPI Guide, table 38",
    }
    eager_max: Option<u64> = "LAPIS_EAGER_MAX", unset {
        group: Transfer,
        kind: number(Unit::Bytes, 0, 1 << 30),
        help: "Largest active message whose data is sent without asking the target first",
        more: "Larger messages are fetched by the target if the transport supports that, unless MP_REXMIT_BUF_SIZE covers them. If unset, the transport decides: through shared memory every message is sent, since two concurrent copies take half the time of one by the target, unless the transport is told to fetch them; elsewhere messages up to 16K are sent.",
        source: "Lapis",
    }
    notimeout: bool = "MP_DEBUG_NOTIMEOUT", "no" {
        group: Diagnostics,
        kind: Kind::Flag,
        help: "Never time out, so that tasks can be held in a debugger",
        more: "",
        source: "LAPI Guide, table 39",
    }
    trace_level: u32 = "MP_LAPI_TRACE_LEVEL", "0" {
        group: Diagnostics,
        kind: number(Unit::Count, 0, 5),
        help: "How much LAPI traces, 0 for nothing",
        more: "1 shows errors, 2 warnings, 3 what a context does, 4 each operation, 5 each packet. LAPIS_LOG is finer and takes precedence.",
        source: "LAPI Guide, table 39",
    }
    log: Option<String> = "LAPIS_LOG", unset {
        group: Diagnostics,
        kind: Kind::Text,
        help: "Filter of diagnostics, as in info or lapis_core::reliable=trace,warn",
        more: "Written to standard error. Levels: error, warn, info, debug, trace. Without it, warnings and errors are shown.",
        source: "Lapis",
    }
    trace: Option<String> = "LAPIS_TRACE", unset {
        group: Diagnostics,
        kind: Kind::Text,
        help: "Folder in which each task writes a trace, for lapis-trace",
        more: "It is created if it is missing. Long waits, operations with an answer, completion handlers and counts are recorded; short messages are only counted, so that tracing costs them nothing.",
        source: "Lapis",
    }
    error_chk: bool = "LAPIS_ERROR_CHK", "no" {
        group: Diagnostics,
        kind: Kind::Bool,
        help: "Check the parameters of every call: what the attribute ERROR_CHK starts with",
        more: "",
        source: "Lapis",
    }
    collectives: Option<String> = "LAPIS_COLLECTIVES", unset {
        group: Diagnostics,
        kind: Kind::Text,
        help: "Algorithms of collectives instead of those of the table, as in allreduce=ring,barrier=dissemination",
        more: "Each may have a range of bytes and one of tasks, as in allreduce:64K-1M@2-8=ring or allgather:4K-=bruck; later ones take precedence. lapis-info --collectives shows the table and the names. It must be the same for all tasks; settings of the tuning file apply only if all tasks of a team share a host. Algorithms that do not suit a call are ignored.",
        source: "Lapis",
    }
    chaos: Option<String> = "LAPIS_CHAOS", unset {
        group: Diagnostics,
        kind: Kind::Text,
        help: "Seeded faults in every transport, for tests, as in seed=7,drop=1%,dup=1%,delay=200us",
        more: "Datagrams: drop, dup, reorder, corrupt (a fraction, as 0.01 or 1%), delay and cut (the maximum; a path that is cut carries nothing for a while), mtu (the largest size that passes at times); path1.drop=5% applies to one path. Reliable transports: delay, again.",
        source: "Lapis",
    }
    ack_thresh: u32 = "MP_ACK_THRESH", "30" {
        group: Tuning,
        kind: number(Unit::Count, 1, 31),
        help: "How many packets are received before acknowledgements are returned",
        more: "Small values cost traffic, large ones delay the sender. The attribute ACK_THRESHOLD takes 1 to 30.",
        source: "LAPI Guide, table 40",
    }
    polling_interval: Duration = "MP_POLLING_INTERVAL", "400000" {
        group: Tuning,
        kind: number(Unit::Microseconds, 10001, INT_MAX),
        help: "Interval of the timer for acknowledgements and retransmission",
        more: "An upper bound: Lapis retransmits as soon as the path's round-trip time shows that a packet is lost, and sends probes at growing intervals, which this variable bounds: by 100 ms if unset, by a minute at most.",
        source: "LAPI Guide, table 40",
    }
    retransmit_interval: u64 = "MP_RETRANSMIT_INTERVAL", "1000000" {
        group: Tuning,
        kind: number(Unit::Count, 1000, INT_MAX),
        help: "How many polling loops pass between checks for packets to retransmit",
        more: "An upper bound: usually the timer sends probes before. After this many polls, probes are sent for packets without an answer within the usual round-trip time, even if the timer's growing intervals would wait longer.",
        source: "LAPI Guide, table 40",
    }
    rexmit_buf_cnt: usize = "MP_REXMIT_BUF_CNT", "128" {
        group: Tuning,
        kind: number(Unit::Count, 1, INT_MAX),
        help: "How many send-side copies of small messages may be in flight",
        more: "Messages that have neither origin counter nor send completion handler are copied even beyond that number: their buffers are free when the call returns.",
        source: "LAPI Guide, table 40",
    }
    rexmit_buf_size: usize = "MP_REXMIT_BUF_SIZE", "16384" {
        group: Tuning,
        kind: number(Unit::Bytes, 1, INT_MAX),
        help: "Largest message, user header included, that is copied so that its buffer is free at once",
        more: "Messages of one packet are always copied. Puts that a transport carries out by itself (RDMA) are not, unless this variable is set. The attributes BUF_CP_SIZE and REX_BUF_SZ report it.",
        source: "LAPI Guide, table 40",
    }
    tuning: Option<String> = "LAPIS_TUNING", unset {
        group: Tuning,
        kind: Kind::Text,
        help: "File of measured values, which variables of the environment override; none for no such file",
        more: "Without it, the file of this kind of processor in the user's cache, in $XDG_CACHE_HOME/lapis or $HOME/.cache/lapis, if there is one. lapis-perf tune measures it, lapirun -n N lapis-perf tune collectives the algorithms for N tasks; lapis-info --copies and --collectives show the values in effect. It must belong to the user or to root, and not be writable by others.",
        source: "Lapis",
    }
    spin: Duration = "LAPIS_SPIN_US", "50" {
        group: Tuning,
        kind: number(Unit::Microseconds, 0, 1_000_000),
        help: "How long a wait polls before it sleeps",
        more: "If more tasks are runnable than there are cores, a wait yields its core after each poll.",
        source: "Lapis",
    }
    handler_threads: usize = "LAPIS_HANDLER_THREADS", "1" {
        group: Tuning,
        kind: number(Unit::Count, 1, 64),
        help: "How many threads run completion handlers",
        more: "A program that sets num_compl_hndlr_thr in lapi_info_t overrides it.",
        source: "Lapis",
    }
    interrupt: bool = "LAPIS_INTERRUPT", "yes" {
        group: Tuning,
        kind: Kind::Bool,
        help: "Whether messages are served while the program computes: what the attribute INTERRUPT_SET starts with",
        more: "With no, progress is made only inside of calls and no thread runs for it. While the program polls continuously it is not interrupted; arrivals just afterwards may be served 2 ms late.",
        source: "Lapis",
    }
    timeout: Duration = "LAPIS_TIMEOUT", "900" {
        group: Tuning,
        kind: number(Unit::Seconds, 10, 86400),
        help: "How long a task may stay silent before it counts as unreachable: what the attribute TIMEOUT starts with",
        more: "",
        source: "Lapis",
    }
    euidevice: Option<String> = "MP_EUIDEVICE", unset {
        group: Launcher,
        kind: Kind::Text,
        help: "The network interface that UDP uses, such as en0, or sn_single or sn_all",
        more: "sn_all asks for an instance on each network that two tasks share, up to eight; sn_single leaves the number to MP_INSTANCES.",
        source: "LAPI Guide, table 41",
    }
    euilib: EuiLib = "MP_EUILIB", "ip" {
        group: Launcher,
        kind: Kind::Choice { words: EuiLib::WORDS, case_sensitive: true },
        help: "Which communication library carries the job between nodes: UDP/IP or user space",
        more: "ip uses transports over IP, us those that access an adapter directly: without one, initialization fails with an error. lapis-info shows the transports.",
        source: "LAPI Guide, table 41",
    }
    infolevel: u32 = "MP_INFOLEVEL", "0" {
        group: Launcher,
        kind: number(Unit::Count, 0, 6),
        help: "How much is reported; from 2 on, LAPI prints its version and build",
        more: "From 1 on, attention messages about requested features that are unavailable, such as failover. 3 to 6 add nothing: use LAPIS_LOG and MP_LAPI_TRACE_LEVEL.",
        source: "LAPI Guide, table 41",
    }
    instances: Option<Instances> = "MP_INSTANCES", unset {
        group: Launcher,
        kind: Kind::Instances,
        help: "Number of network instances of each task: over UDP, interfaces that share its traffic",
        more: "An interface counts once, however many addresses it has. max uses all interfaces, eight at most.",
        source: "LAPI Guide, table 41",
    }
    bind: BindMode = "LAPIS_BIND", "none" {
        group: Launcher,
        kind: choice::<BindMode>(),
        help: "Whether lapirun binds each task to a core, or to the cores that share a cache or a memory",
        more: "",
        source: "Lapis",
    }
    cc: Option<String> = "LAPIS_CC", unset {
        group: Launcher,
        kind: Kind::Text,
        help: "The C compiler behind lapicc, with options if needed",
        more: "Read by lapicc; without it, cc.",
        source: "Lapis",
    }
    cxx: Option<String> = "LAPIS_CXX", unset {
        group: Launcher,
        kind: Kind::Text,
        help: "The C++ compiler behind lapicxx, with options if needed",
        more: "Read by lapicxx; without it, c++.",
        source: "Lapis",
    }
    use_shm: UseShm = "LAPI_USE_SHM", "no" {
        group: SharedMemory,
        kind: choice::<UseShm>(),
        help: "Whether tasks of one node communicate through shared memory",
        more: "no is the default of a program started by hand; lapirun sets yes. With only, initialization fails if the tasks are not all on one node.",
        source: "LAPI Guide, table 42",
    }
    child: Option<u32> = "MP_CHILD", unset {
        group: Standalone,
        kind: number(Unit::Count, 0, MAX_TASKS - 1),
        help: "The number of this task",
        more: "Less than MP_PROCS and different in each task.",
        source: "LAPI Guide, table 43",
    }
    procs: Option<u32> = "MP_PROCS", unset {
        group: Standalone,
        kind: number(Unit::Count, 1, MAX_TASKS),
        help: "How many tasks the job has",
        more: "",
        source: "LAPI Guide, table 43",
    }
    partition: Option<String> = "MP_PARTITION", unset {
        group: Standalone,
        kind: Kind::Text,
        help: "Distinguishes this job from others; the same in all of its tasks",
        more: "",
        source: "LAPI Guide, table 43",
    }
    common_tasks: Option<CommonTasks> = "MP_COMMON_TASKS", unset {
        group: Standalone,
        kind: Kind::CommonTasks,
        help: "The other tasks on the same node",
        more: "Task 1 of four tasks on one node has 3:0:2:3.",
        source: "LAPI Guide, table 43",
    }
    inet_addr: Option<InetAddrs> = "MP_LAPI_INET_ADDR", unset {
        group: Standalone,
        kind: Kind::InetAddrs,
        help: "Address and adapter of each network instance of this task, for UDP/IP",
        more: "IPv6 addresses may be in brackets, as in @2:[fd00:1::5],en0:[fd00:2::5],en1. An address that several adapters have, such as one of link-local scope, applies to the adapter that is named.",
        source: "LAPI Guide, table 43",
    }
    network: Option<NetworkWindows> = "MP_LAPI_NETWORK", unset {
        group: Standalone,
        kind: Kind::NetworkWindows,
        help: "Window and adapter of each network instance of this task, for user space",
        more: "Tasks started by hand with MP_EUILIB=us must have it. A transport with windows of adapters opens these; others ignore it.",
        source: "LAPI Guide, table 43",
    }
    init_timeout: Duration = "LAPIS_INIT_TIMEOUT", "60" {
        group: Standalone,
        kind: number(Unit::Seconds, 1, 86400),
        help: "How long initialization waits for the other tasks",
        more: "",
        source: "Lapis",
    }
    transport: Option<Vec<String>> = "LAPIS_TRANSPORT", unset {
        group: Transports,
        kind: Kind::List,
        help: "The transports that may be used, best first, separated by commas",
        more: "A closed set: nothing else is used, and a transport that cannot be loaded is an error. Of two datagram transports one behind the other the second stands by for the first: it carries data while the first has no path to a task. Without it, LAPI_USE_SHM and MP_EUILIB decide.",
        source: "Lapis",
    }
    transport_path: Vec<PathBuf> = "LAPIS_TRANSPORT_PATH", unset {
        group: Transports,
        kind: Kind::Paths,
        help: "Where to look for transport plugins before the installed ones",
        more: "",
        source: "Lapis",
    }
}

impl Default for Config {
    /// Every variable at its default.
    fn default() -> Self {
        Self::defaults()
    }
}

pub(super) fn variable(name: &str) -> Option<&'static Variable> {
    VARIABLES.iter().find(|variable| variable.name == name)
}

fn default_of<T: Typed>(variable: &Variable) -> Setting<T> {
    let value = match variable.default {
        Some(text) => variable.kind.parse(text).ok().and_then(|parsed| T::from_value(parsed.value)),
        None => T::unset(),
    };
    // Only a mistake in the table gets here, and the first test that makes a Config finds it.
    Setting::new(
        value.unwrap_or_else(|| panic!("the default of {} fits its type", variable.name)),
        Origin::Default,
    )
}

fn assign<T: Typed>(
    setting: &mut Setting<T>,
    variable: &Variable,
    text: &str,
    origin: Origin,
) -> Result<Option<Warning>, ConfigError> {
    let refuse = |problem| ConfigError::new(variable, text, problem);
    let parsed = variable.kind.parse(text).map_err(refuse)?;
    let used = parsed.raised.then(|| variable.kind.write(&parsed.value));
    let value = T::from_value(parsed.value).ok_or_else(|| refuse("the value does not fit".to_owned()))?;
    setting.replace(value, origin);
    Ok(used.map(|used| Warning::Clamped { name: variable.name, given: text.to_owned(), used }))
}

fn listed<T: Typed>(variable: &'static Variable, setting: &Setting<T>) -> Listed {
    let value = setting.get().to_value().map(|value| variable.kind.write(&value));
    Listed { variable: *variable, value, origin: setting.origin() }
}
