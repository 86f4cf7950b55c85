//! The figures that show the gain of each optimisation, and the code that belongs to it.

use lapis_ablation::Optimization;

/// How figures are taken.
pub(super) enum Figures {
    /// By `lapis-perf`.
    Perf { transport: &'static str, bench: &'static str, sizes: &'static [u64] },
    /// By `lapis-perf` in interrupt mode.
    Interrupted { bench: &'static str, sizes: &'static [u64] },
    /// By `lapis-perf` in a job of eight tasks.
    Crowded { bench: &'static str, sizes: &'static [u64] },
    /// By `lapis-perf` between two hosts, over windows of virtual interfaces.
    Wire { bench: &'static str, sizes: &'static [u64] },
    /// By the program in C.
    FromC { transport: &'static str, bench: &'static str, sizes: &'static [u64] },
    /// By `lapis-dgsp time`.
    Layout { shape: &'static str },
}

/// One optimisation.
pub(super) struct Trial {
    pub(super) which: Optimization,
    pub(super) figures: &'static [Figures],
    /// File and item (the beginning of a line will do); the whole file if that is empty.
    pub(super) code: &'static [(&'static str, &'static str)],
}

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;

const fn shm(bench: &'static str, sizes: &'static [u64]) -> Figures {
    Figures::Perf { transport: "shm", bench, sizes }
}

const fn udp(bench: &'static str, sizes: &'static [u64]) -> Figures {
    Figures::Perf { transport: "udp", bench, sizes }
}

const LANES: &str = "core/src/message/lanes.rs";
const LANE_RECEIVE: &str = "core/src/message/lane_receive.rs";
const INBOUND: &str = "core/src/state/inbound.rs";
const ANSWER_REST: &str = "core/src/state/answer_rest.rs";
const SEND: &str = "core/src/transport/lane/send.rs";
const SLOT: &str = "core/src/transport/lane/slot.rs";
const RECEIVE: &str = "core/src/transport/lane/receive.rs";
const LOCK: &str = "core/src/lock.rs";
const HANDLER_THREADS: &str = "core/src/context/handler_threads.rs";
const WINDOWS: &str = "collectives/src/board/rounds/windows.rs";
const FRAMES: &str = "transports/adapters/src/eth/lane.rs";
const LOCKED: &str = "core/src/context/locked.rs";

pub(super) const TRIALS: &[Trial] = {
    use Optimization::*;
    &[
        Trial {
            which: MailboxLine,
            figures: &[shm("am_lat", &[8]), shm("am_rate", &[8])],
            code: &[
                ("core/src/transport/lane/mailbox_line.rs", ""),
                ("transports/shm/src/mailbox_lines.rs", ""),
                ("transports/shm/src/mailbox_lines/pairs.rs", ""),
                (SEND, "unsafe fn has_mailbox"),
                (RECEIVE, "unsafe fn take_mailbox"),
            ],
        },
        Trial {
            which: CoreLanes,
            figures: &[shm("am_lat", &[8]), shm("am_rate", &[8])],
            code: &[(LANES, ""), (LANE_RECEIVE, ""), (INBOUND, "")],
        },
        Trial {
            which: GrayCode,
            figures: &[shm("am_lat", &[64]), shm("am_rate", &[8])],
            code: &[(SLOT, "static ORDER"), (SLOT, "pub unsafe fn slot_at(")],
        },
        Trial {
            which: SlotPrefetch,
            figures: &[shm("am_rate", &[8]), shm("am_lat", &[64])],
            code: &[(RECEIVE, "fn look_ahead"), (RECEIVE, "pub fn prefetch")],
        },
        Trial {
            which: StreamTurns,
            figures: &[
                shm("am_rate", &[8, 1024]),
                Figures::FromC { transport: "shm", bench: "am_rate", sizes: &[8] },
            ],
            code: &[(INBOUND, "const STREAM"), (INBOUND, "const STREAM_TURN")],
        },
        Trial {
            which: StreamRests,
            figures: &[shm("am_rate", &[8, 200, 1024])],
            code: &[(INBOUND, "const BEHIND_WRITER"), (INBOUND, "fn rest_behind_writer")],
        },
        Trial {
            which: AnswerPauses,
            figures: &[shm("am_lat", &[8, 64])],
            code: &[
                (ANSWER_REST, "struct AnswerRest"),
                (ANSWER_REST, "impl AnswerRest"),
                (INBOUND, "fn rest("),
                (INBOUND, "fn answered"),
                (LANE_RECEIVE, "fn pause_for_answer"),
            ],
        },
        Trial {
            which: EagerLooks,
            figures: &[Figures::FromC { transport: "shm", bench: "am_lat", sizes: &[8] }],
            code: &[
                (INBOUND, "const EAGER_CALLS"),
                (INBOUND, "const EAGER_LOOKS"),
                (INBOUND, "fn looks_of_a_call"),
            ],
        },
        Trial {
            which: LockBias,
            figures: &[shm("am_lat", &[8]), shm("am_rate", &[8])],
            code: &[
                ("core/src/lock/barrier.rs", ""),
                ("core/src/lock/slot.rs", ""),
                (LOCK, "fn acquire_biased"),
                (LOCK, "fn enter_biased"),
                (LOCK, "fn enter_slot"),
                (LOCK, "fn slot(&self"),
                (LOCK, "fn any_slot_holds"),
                (LOCK, "fn leave_biased"),
                (LOCK, "fn clear_slot"),
                (LOCK, "fn revoke_bias"),
                (LOCK, "fn grant_bias"),
            ],
        },
        Trial {
            which: LockSlots,
            figures: &[Figures::FromC { transport: "shm", bench: "am_serve", sizes: &[8, K] }],
            code: &[(LOCK, "const SLOTS"), (LOCK, "fn slot(&self"), (LOCK, "fn any_slot_holds")],
        },
        Trial {
            which: ShortSection,
            figures: &[shm("am_lat", &[8]), shm("am_rate", &[8])],
            code: &[
                (LOCKED, "fn short_section"),
                (LOCKED, "pub(crate) struct ShortSection"),
                (LOCKED, "impl<'a> ShortSection"),
                (LOCKED, "impl Deref for ShortSection"),
                (LOCKED, "impl DerefMut for ShortSection"),
                (LOCKED, "impl Drop for ShortSection"),
                (LANES, "fn send_at_once("),
                (LANES, "fn send_in_section("),
                (LANES, "fn send_in_section_slow"),
            ],
        },
        Trial {
            which: StorePolicy,
            figures: &[shm("am_lat", &[64 * K, M]), shm("am_bw", &[64 * K, M]), shm("bcast", &[64 * K, M])],
            code: &[("transports/copies/src/store_policy.rs", ""), ("collectives/src/board/stores.rs", "")],
        },
        Trial {
            which: RingGaps,
            figures: &[shm("am_copy_lat", &[K, 4 * K]), shm("am_lat", &[K, 4 * K])],
            code: &[(SEND, "pub(crate) unsafe fn send_parts"), (SLOT, "pub(super) fn length")],
        },
        Trial {
            which: RingParts,
            figures: &[shm("am_lat", &[K, 4 * K]), shm("am_bw", &[K, 4 * K])],
            code: &[("core/src/transport/lane/ring_layout.rs", "pub struct Class")],
        },
        Trial {
            which: WideCopies,
            figures: &[shm("am_bw", &[16 * K, M]), shm("put_bw", &[64 * K])],
            code: &[("core/src/transport/copy.rs", "mod wide")],
        },
        Trial {
            which: CopyChoice,
            figures: &[shm("put_lat", &[64 * K, M]), shm("get_lat", &[64 * K])],
            code: &[("core/src/state/copy_choice.rs", "")],
        },
        Trial {
            which: HandlerPolling,
            figures: &[Figures::FromC { transport: "shm", bench: "am_serve", sizes: &[8, K] }],
            code: &[(HANDLER_THREADS, "fn poll_for_next_handler"), (HANDLER_THREADS, "const POLL_FOR")],
        },
        Trial {
            which: InterruptModeration,
            figures: &[Figures::Interrupted { bench: "am_lat", sizes: &[8, K] }],
            code: &[("core/src/context/moderation.rs", "")],
        },
        Trial {
            which: AdaptiveSpin,
            figures: &[
                Figures::FromC { transport: "shm", bench: "am_serve", sizes: &[8] },
                shm("am_lat", &[M]),
            ],
            code: &[("core/src/context/adaptive_spin.rs", "")],
        },
        Trial {
            which: ExchangeRows,
            figures: &[shm("exchange", &[8])],
            code: &[
                ("core/src/context/flags/row.rs", ""),
                ("core/src/message/exchange.rs", "fn exchange_in_memory"),
            ],
        },
        Trial {
            which: KeptCalls,
            figures: &[shm("barrier", &[0]), shm("bcast", &[8]), shm("allreduce", &[8])],
            code: &[
                ("collectives/src/board/prepared.rs", "fn take_kept"),
                ("collectives/src/blocking/mod.rs", "fn call_again"),
            ],
        },
        Trial {
            which: ShownInputs,
            figures: &[Figures::Crowded { bench: "scatter", sizes: &[128 * K, M] }],
            code: &[("collectives/src/board/shown.rs", ""), ("collectives/src/board/rounds/shown.rs", "")],
        },
        Trial {
            which: WideRounds,
            figures: &[
                Figures::Crowded { bench: "alltoall", sizes: &[16 * K, 64 * K, M] },
                Figures::Crowded { bench: "allgather", sizes: &[128 * K, M] },
                Figures::Crowded { bench: "allreduce", sizes: &[128 * K, M] },
                Figures::Crowded { bench: "reduce_scatter", sizes: &[128 * K, M] },
            ],
            code: &[
                ("collectives/src/board/rounds/wide.rs", ""),
                (WINDOWS, "fn in_shares"),
                (WINDOWS, "fn in_windows_of"),
                (WINDOWS, "fn past_caches"),
                ("collectives/src/board/stores.rs", "fn third_cache"),
                ("collectives/src/board/stores.rs", "fn parse_size"),
            ],
        },
        Trial {
            which: WritePrefetch,
            figures: &[shm("barrier", &[0]), shm("bcast", &[8]), shm("allreduce", &[8])],
            code: &[("core/src/sync/prefetch.rs", "fn before_writing")],
        },
        Trial {
            which: ReadPrefetch,
            figures: &[shm("reduce", &[64]), shm("scan", &[8]), shm("allreduce", &[64])],
            code: &[
                ("collectives/src/board/present.rs", "fn expect"),
                ("collectives/src/board/present.rs", "fn look_ahead"),
            ],
        },
        Trial {
            which: FastPath,
            figures: &[udp("am_lat", &[8, K])],
            code: &[("core/src/reliable/fast_path.rs", "")],
        },
        Trial {
            which: Flow,
            figures: &[udp("am_lat", &[8]), udp("am_bw", &[64 * K])],
            code: &[
                ("transports/udp/src/inbox.rs", "enum Flow"),
                ("transports/udp/src/inbox.rs", "fn receive_one"),
                ("transports/udp/src/inbox.rs", "fn note_flow"),
            ],
        },
        Trial {
            which: DeferredAcks,
            figures: &[udp("am_lat", &[8, K])],
            code: &[
                ("core/src/reliable/deferred_work.rs", "pub fn postpone_acks"),
                ("core/src/reliable/deferred_work.rs", "pub fn is_behind"),
                ("core/src/reliable/deferred_work.rs", "pub fn catch_up"),
            ],
        },
        Trial {
            which: FramePrefetch,
            figures: &[
                Figures::Wire { bench: "rtt_p50", sizes: &[8] },
                Figures::Wire { bench: "am_rate", sizes: &[8] },
                Figures::Wire { bench: "am_bw", sizes: &[64 * K] },
            ],
            code: &[
                (FRAMES, "fn fetch_ahead"),
                ("transports/adapters/src/eth/ring.rs", "pub fn prefetch"),
                ("transports/adapters/src/eth/pool.rs", "pub fn prefetch"),
                ("transports/adapters/src/eth/pool.rs", "pub fn frame_after"),
            ],
        },
        Trial {
            which: WidePolyval,
            figures: &[udp("am_lat", &[8, K]), udp("am_bw", &[64 * K])],
            code: &[("core/src/universal_hash.rs", "mod wide")],
        },
        Trial {
            which: DgspThrottle,
            figures: &[Figures::Layout { shape: "column" }],
            code: &[
                ("dgsp/src/engine/throttle.rs", ""),
                ("dgsp/src/engine/kernels.rs", "unsafe fn throttled"),
            ],
        },
        Trial {
            which: DgspPermute,
            figures: &[Figures::Layout { shape: "int_char" }],
            code: &[("dgsp/src/engine/permute.rs", "")],
        },
        Trial {
            which: DgspLockstep,
            figures: &[Figures::Layout { shape: "wrf_x" }, Figures::Layout { shape: "nas_lu_y" }],
            code: &[("dgsp/src/engine/lockstep.rs", "")],
        },
    ]
};
