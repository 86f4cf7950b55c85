//! The plugin ABI: versioned `repr(C)` tables. `docs/plugin-abi.md` is the text for plugin authors.
//!
//! A plugin exports one C function, `lapis_transport_<name>_v1` ([`EntryFn`]). It gets the host's
//! table and returns its own. Only C-safe values cross: fixed-width integers, `repr(C)` structs,
//! pointers with lengths, `i32` statuses. No unwinding, no allocation that the other side frees.
//!
//! [`TableHead`] is frozen for ever. Within a major version [`TransportOps`] grows only at its end,
//! and the host reads a field only if [`TableHead::struct_size`] includes it. The structs that
//! cross by value or in arrays ([`Event`], [`DatagramBatch`], …) may not change within a major;
//! [`LAYOUT_HASH`] folds their sizes and offsets, so that an edit without a new major, or a 32-bit
//! plugin in a 64-bit host, is refused by name.

use super::lane::{ReceiveLanes, SendLane};
use super::types::{DatagramBatch, Event, Limits, RailReport, RawSlice, RegionInfo, RemoteAddr, Window};
use std::ffi::{c_char, c_void};
use std::mem::offset_of;

/// First word of every table: "LapisTr" and the head's own format number.
pub const MAGIC: u64 = u64::from_le_bytes(*b"LapisTr\x01");
/// Major version: part of the entry symbol's name. Another major is another symbol.
pub const ABI_MAJOR: u32 = 1;
/// Minor version: grows when fields are appended.
pub const ABI_MINOR: u32 = 14;
/// The first minor version whose lanes have all that core uses. Earlier plugins are polled.
pub(crate) const WHOLE_LANES: u32 = 13;

/// Statuses of set-up calls which carry an [`ErrorText`]; data-path statuses are those of
/// [`Status`](super::Status).
pub mod status {
    /// Success.
    pub const OK: i32 = 0;
    /// Not yet: call again ([`progress_connect`](super::TransportOps::progress_connect)).
    pub const AGAIN: i32 = 2;
    /// Not wired.
    pub const UNSUPPORTED: i32 = -1;
    /// Bad argument.
    pub const INVALID: i32 = -2;
    /// This transport can't reach that peer.
    pub const UNREACHABLE: i32 = -3;
    /// A resource ran out.
    pub const EXHAUSTED: i32 = -5;
    /// The operating system refused.
    pub const IO: i32 = -6;
    /// A panic was caught.
    pub const PANICKED: i32 = -7;
}

/// A text buffer of the caller's, into which the other side writes why a call failed (UTF-8, not
/// terminated).
#[repr(C)]
#[derive(Debug)]
pub struct ErrorText {
    /// The buffer.
    pub buf: *mut u8,
    /// Its size.
    pub capacity: u32,
    /// Bytes written by the callee.
    pub len: u32,
}

/// The frozen head of an operation table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TableHead {
    /// [`MAGIC`].
    pub magic: u64,
    /// [`ABI_MAJOR`].
    pub abi_major: u32,
    /// [`ABI_MINOR`] the plugin was built with.
    pub abi_minor: u32,
    /// Size of the whole table in the plugin's build, in bytes.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// [`LAYOUT_HASH`] of the plugin's build.
    pub layout_hash: u64,
    /// The transport's name, NUL-terminated, static.
    pub name: *const c_char,
    /// The transport's version, NUL-terminated, static.
    pub version: *const c_char,
}

/// What the host offers a plugin. Lives as long as the process.
#[repr(C)]
#[derive(Debug)]
pub struct HostTable {
    /// Size of this table, in bytes; later versions append.
    pub struct_size: u32,
    /// Major version of the host.
    pub abi_major: u32,
    /// Writes a diagnostic line. `level`: 1 error, 2 warning, 3 info, 4 debug, 5 trace.
    pub log: unsafe extern "C" fn(
        level: u32,
        target: *const u8,
        target_len: usize,
        text: *const u8,
        text_len: usize,
    ),
    /// Whether a line of `level` for `target` would be written anywhere: 1 or 0.
    pub log_enabled: unsafe extern "C" fn(level: u32, target: *const u8, target_len: usize) -> i32,
    /// Effective value of a configuration variable as text. Returns its length, or −1 if it is not
    /// set; writes at most `capacity` bytes.
    pub option:
        unsafe extern "C" fn(name: *const u8, name_len: usize, buf: *mut u8, capacity: usize) -> isize,
}

/// [`OpenParams`](super::OpenParams) as they cross the border.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawOpenParams {
    /// Size of this struct in the host's build.
    pub struct_size: u32,
    /// See [`OpenParams::task`](super::OpenParams::task).
    pub task: u32,
    /// See [`OpenParams::tasks`](super::OpenParams::tasks).
    pub tasks: u32,
    /// See [`OpenParams::context`](super::OpenParams::context).
    pub context: u32,
    /// See [`OpenParams::incarnation`](super::OpenParams::incarnation).
    pub incarnation: u32,
    /// 1 when the context starts in interrupt mode.
    pub interrupts: u32,
    /// UTF-8 name of the job's run.
    pub job: *const u8,
    /// Its length.
    pub job_len: usize,
    /// 32 bytes of secret.
    pub secret: *const u8,
}

/// [`Attributes`](super::Attributes) as they cross the border.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawAttributes {
    /// [`Caps`](super::Caps) of this instance.
    pub caps: u64,
    /// Its limits.
    pub limits: Limits,
}

/// Writes `len` bytes at the place that the transport passes.
pub type PackFn = unsafe extern "C" fn(arg: *mut c_void, into: *mut u8, len: usize);

/// The operation table. Entries are null exactly when the capability bit of the same name is clear;
/// entries that belong to no bit are always there, except for `flush`, the declaration, `rails`,
/// `mem_lend` and the retired ones, which may be null. Arguments are those of
/// [`Transport`](super::Transport)'s methods, in the same order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each entry is the method of the same name of `Transport`")]
pub struct TransportOps {
    pub head: TableHead,
    /// The transport's [`Caps`](super::Caps) before probing.
    pub caps: u64,
    // Set-up.
    pub open: Option<
        unsafe extern "C" fn(
            host: *const HostTable,
            params: *const RawOpenParams,
            instance: *mut *mut c_void,
            error: *mut ErrorText,
        ) -> i32,
    >,
    pub close: Option<unsafe extern "C" fn(instance: *mut c_void)>,
    pub attributes:
        Option<unsafe extern "C" fn(*mut c_void, out: *mut RawAttributes, note: *mut ErrorText) -> i32>,
    pub address: Option<unsafe extern "C" fn(*mut c_void, buf: *mut u8, capacity: u32) -> i32>,
    pub connect: Option<
        unsafe extern "C" fn(
            *mut c_void,
            peer: u32,
            address: *const u8,
            len: u32,
            error: *mut ErrorText,
        ) -> i32,
    >,
    pub progress_connect: Option<unsafe extern "C" fn(*mut c_void, error: *mut ErrorText) -> i32>,
    pub disconnect: Option<unsafe extern "C" fn(*mut c_void, peer: u32)>,
    pub mem_register: Option<
        unsafe extern "C" fn(
            *mut c_void,
            range: RawSlice,
            out: *mut RegionInfo,
            error: *mut ErrorText,
        ) -> i32,
    >,
    pub mem_alloc: Option<
        unsafe extern "C" fn(*mut c_void, len: usize, out: *mut RegionInfo, error: *mut ErrorText) -> i32,
    >,
    pub mem_release: Option<unsafe extern "C" fn(*mut c_void, id: u64)>,
    pub window: Option<unsafe extern "C" fn(*mut c_void, peer: u32, out: *mut Window) -> i32>,
    // Data path.
    pub am_short: Option<AmShortFn>,
    pub am_packed: Option<AmPackedFn>,
    pub was_am_zcopy: Retired,
    pub was_put_short: Retired,
    pub was_get_short: Retired,
    pub put_zcopy: Option<ZcopyFn>,
    pub get_zcopy: Option<ZcopyFn>,
    pub was_rmw: Retired,
    pub send_datagrams:
        Option<unsafe extern "C" fn(*mut c_void, batches: *const DatagramBatch, count: u32) -> i32>,
    pub poll: Option<PollFn>,
    /// Not called any more, and may be null since minor 4; earlier hosts refuse a table without it.
    pub flush: Option<unsafe extern "C" fn(*mut c_void)>,
    pub arm: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
    pub disarm: Option<unsafe extern "C" fn(*mut c_void)>,
    pub set_interrupts: Option<unsafe extern "C" fn(*mut c_void, on: i32)>,
    // From any thread.
    pub wait: Option<unsafe extern "C" fn(*mut c_void, timeout_ns: u64)>,
    pub wake: Option<unsafe extern "C" fn(*mut c_void)>,
    pub wait_fd: Option<unsafe extern "C" fn(*mut c_void) -> i32>,
    // Since minor 1.
    pub send_lane: Option<unsafe extern "C" fn(*mut c_void, peer: u32) -> *mut SendLane>,
    pub receive_lanes: Option<unsafe extern "C" fn(*mut c_void) -> *const ReceiveLanes>,
    pub attend: Option<unsafe extern "C" fn(*mut c_void, peer: u32, attention: u32) -> i32>,
    // Since minor 4: null where the transport declares nothing.
    pub declaration: *const RawDeclaration,
    // Since minor 8: null where the transport has no rails to tell of.
    pub rails: Option<RailsFn>,
    // Since minor 9.
    pub prefer_rail: Option<unsafe extern "C" fn(*mut c_void, rail: u32)>,
    // Since minor 10.
    pub put_short: Option<PutShortFn>,
    // Since minor 14: null where `mem_register` serves.
    pub mem_lend: Option<
        unsafe extern "C" fn(
            *mut c_void,
            range: RawSlice,
            access: u32,
            out: *mut RegionInfo,
            error: *mut ErrorText,
        ) -> i32,
    >,
}

/// Static UTF-8 text, not terminated. A null pointer is an absent text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawText {
    /// First byte.
    pub ptr: *const u8,
    /// Length in bytes.
    pub len: usize,
}

/// A variable of a transport's own as it crosses the border. See
/// [`Variable`](crate::config::Variable).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawVariable {
    /// The environment variable's name.
    pub name: RawText,
    /// The default in the form in which users write it; absent if there is none.
    pub default_value: RawText,
    /// What it sets, in one line without a full stop.
    pub help: RawText,
    /// Everything else a user should know; may be absent.
    pub more: RawText,
    /// Where it is defined, for example a place in a manual; may be absent.
    pub source: RawText,
    /// The words that a variable of kind [`WORDS`](declared::WORDS) takes, with `|` between them.
    pub words: RawText,
    /// The smallest number.
    pub min: u64,
    /// The largest number.
    pub max: u64,
    /// What the values are: one of [`declared`]'s kinds.
    pub kind: u32,
    /// The unit of a number: one of [`declared`]'s units.
    pub unit: u32,
    /// The LAPI code of a bad value; 0 for LAPI_ERR_SET_VAL.
    pub code: i32,
    /// Zero.
    pub reserved: u32,
}

/// What a transport declares before it is opened. See [`Declaration`](super::Declaration).
///
/// It is not part of [`LAYOUT_HASH`]: both structs grow at their ends, and this one contains the
/// sizes of both.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawDeclaration {
    /// Size of this struct in the plugin's build.
    pub struct_size: u32,
    /// Size of one variable in the plugin's build.
    pub variable_size: u32,
    /// See [`Declaration::cost_ns`](super::Declaration::cost_ns).
    pub cost_ns: u32,
    /// A [`Usage`](super::Usage) as a number.
    pub usage: u32,
    /// The variables.
    pub variables: *const RawVariable,
    /// How many.
    pub count: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: the pointers are to static text.
unsafe impl Sync for RawVariable {}
// SAFETY: the pointer is to static variables.
unsafe impl Sync for RawDeclaration {}

/// The numbers in a [`RawVariable`].
pub mod declared {
    /// Kind: a number from `min` to `max`, in `unit`.
    pub const NUMBER: u32 = 0;
    /// Kind: yes or no.
    pub const YES_NO: u32 = 1;
    /// Kind: one of `words`, in upper or lower case.
    pub const WORDS: u32 = 2;
    /// Kind: any text. Kinds that a host does not know count as this one.
    pub const TEXT: u32 = 3;
    /// Unit: bytes, written with a suffix K, M or G if need be.
    pub const BYTES: u32 = 0;
    /// Unit: a plain number. Units that a host does not know count as this one.
    pub const COUNT: u32 = 1;
    /// Unit: seconds.
    pub const SECONDS: u32 = 2;
    /// Unit: microseconds.
    pub const MICROSECONDS: u32 = 3;
}

/// [`Transport::am_short`](super::Transport::am_short).
pub type AmShortFn = unsafe extern "C" fn(
    *mut c_void,
    peer: u32,
    head: *const u8,
    head_len: u32,
    body: *const u8,
    body_len: u32,
) -> i32;
/// [`Transport::am_packed`](super::Transport::am_packed).
pub type AmPackedFn =
    unsafe extern "C" fn(*mut c_void, peer: u32, len: usize, pack: PackFn, arg: *mut c_void) -> i32;
/// The place of an entry that no host calls since minor 6, or called before. May be null.
pub type Retired = Option<unsafe extern "C" fn()>;
/// [`Transport::put_short`](super::Transport::put_short).
pub type PutShortFn = unsafe extern "C" fn(
    instance: *mut c_void,
    peer: u32,
    data: *const u8,
    len: u32,
    remote: RemoteAddr,
) -> i32;

/// [`Transport::put_zcopy`](super::Transport::put_zcopy) and `get_zcopy`.
pub type ZcopyFn =
    unsafe extern "C" fn(*mut c_void, peer: u32, local: RawSlice, remote: RemoteAddr, token: u64) -> i32;
/// [`Transport::rails`](super::Transport::rails); returns how many, or a negative status.
pub type RailsFn = unsafe extern "C" fn(*mut c_void, reports: *mut RailReport, capacity: u32) -> i32;
/// [`Transport::poll`](super::Transport::poll); returns how many, or a negative status.
pub type PollFn = unsafe extern "C" fn(*mut c_void, events: *mut Event, capacity: u32) -> i32;

// SAFETY: the pointers in a table are to static strings and functions.
unsafe impl Sync for TransportOps {}
// SAFETY: static strings and functions belong to no thread.
unsafe impl Send for TransportOps {}

/// The one symbol a plugin exports: `lapis_transport_<name>_v1`. Stores its table in `*table` and
/// returns 0, or another [`status`] when it can't work with this host.
pub type EntryFn = unsafe extern "C" fn(host: *const HostTable, table: *mut *const TransportOps) -> i32;

/// The name of the entry symbol for a transport's name.
pub fn entry_symbol(name: &str) -> String {
    format!("lapis_transport_{name}_v{ABI_MAJOR}")
}

const fn fold(mut hash: u64, values: &[usize]) -> u64 {
    let mut i = 0;
    while i < values.len() {
        // FNV-1a over the values; any change of any of them changes the result.
        hash = (hash ^ values[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

/// Fold of the sizes, alignments and offsets of the frozen head and of the structs that cross the
/// border.
pub const LAYOUT_HASH: u64 = {
    let mut h = 0xcbf2_9ce4_8422_2325;
    h = fold(
        h,
        &[
            size_of::<TableHead>(),
            offset_of!(TableHead, struct_size),
            offset_of!(TableHead, layout_hash),
            offset_of!(TableHead, name),
            offset_of!(TableHead, version),
        ],
    );
    h = fold(
        h,
        &[
            size_of::<Event>(),
            align_of::<Event>(),
            offset_of!(Event, data),
            offset_of!(Event, len),
            offset_of!(Event, token),
        ],
    );
    h = fold(
        h,
        &[
            size_of::<DatagramBatch>(),
            offset_of!(DatagramBatch, slices),
            offset_of!(DatagramBatch, segment),
            size_of::<RawSlice>(),
            size_of::<RemoteAddr>(),
        ],
    );
    // The request of a retired entry: its numbers stay, for plugins of earlier minors have them.
    h = fold(h, &[40, 24, 36]);
    h = fold(h, &[size_of::<RegionInfo>(), offset_of!(RegionInfo, key), size_of::<Window>()]);
    h = fold(h, &[size_of::<Limits>(), offset_of!(Limits, max_zcopy), offset_of!(Limits, max_peers)]);
    h = fold(h, &[size_of::<RawAttributes>(), size_of::<ErrorText>(), size_of::<RawOpenParams>()]);
    h
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Changing this list means a new minor (appended fields) or a new major (anything else).
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn layout_is_pinned() {
        assert_eq!(size_of::<TableHead>(), 48);
        assert_eq!(offset_of!(TransportOps, caps), 48);
        assert_eq!(offset_of!(TransportOps, open), 56);
        assert_eq!(offset_of!(TransportOps, am_short), 144);
        assert_eq!(offset_of!(TransportOps, poll), 216);
        assert_eq!(offset_of!(TransportOps, wait_fd), 272);
        assert_eq!(offset_of!(TransportOps, send_lane), 280);
        assert_eq!(offset_of!(TransportOps, declaration), 304);
        assert_eq!(offset_of!(TransportOps, rails), 312);
        assert_eq!(offset_of!(TransportOps, prefer_rail), 320);
        assert_eq!(offset_of!(TransportOps, put_short), 328);
        assert_eq!(offset_of!(TransportOps, mem_lend), 336);
        assert_eq!(size_of::<TransportOps>(), 344);
        assert_eq!(size_of::<RailReport>(), 64);
        assert_eq!((size_of::<RawVariable>(), size_of::<RawDeclaration>()), (128, 32));
        assert_eq!(size_of::<HostTable>(), 32);
    }
}
