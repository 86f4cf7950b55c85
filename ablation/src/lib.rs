//! Turning single optimisations off, to see what each of them buys (`cargo xtask bench ablation`).
//!
//! Builds with `RUSTFLAGS="--cfg lapis_ablation"` read the variable `ABLATE` when they begin: the
//! [names](Optimization::name) of what is off, with commas between them. So one build is measured
//! against itself, and no difference of layout between two programs counts. In all other builds
//! [`without`] is constant, and leaves nothing behind.

/// What can be turned off, where it pays, and where it stands.
macro_rules! optimizations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What can be turned off.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Optimization {
            $($(#[$doc])* $variant,)*
        }

        impl Optimization {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name in `ABLATE`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

optimizations! {
    /// The cache line that a pair of tasks writes alternately.
    MailboxLine = "mailbox_line",
    /// Lanes that core writes and reads itself, without a call through the transport's table.
    CoreLanes = "core_lanes",
    /// Slots in the order of the positions' Gray code.
    GrayCode = "gray_code",
    /// Asking for the slots of a lane ahead of reading them.
    SlotPrefetch = "slot_prefetch",
    /// Handling several messages of a stream before whoever waits is asked.
    StreamTurns = "stream_turns",
    /// Rests of a stream's reader that has caught up with its writer.
    StreamRests = "stream_rests",
    /// Pauses before the first look for an answer, and between the next ones.
    AnswerPauses = "answer_pauses",
    /// Several looks of a call that polls once while an answer is due.
    EagerLooks = "eager_looks",
    /// The lock's bias.
    LockBias = "lock_bias",
    /// All of the lock's slots but the first.
    LockSlots = "lock_slots",
    /// Sections under the biased lock that need no depth.
    ShortSection = "short_section",
    /// Stores of long messages that bypass the caches, where tasks share none.
    StorePolicy = "store_policy",
    /// Short messages' part of the data ring.
    RingParts = "ring_parts",
    /// Gaps in the data ring behind messages that are not of a stream.
    RingGaps = "ring_gaps",
    /// Copies of long messages by wide loads and stores of our own.
    WideCopies = "wide_copies",
    /// Choosing between copies by the kernel and packets by their times.
    CopyChoice = "copy_choice",
    /// Handler threads that poll for a moment after a handler.
    HandlerPolling = "handler_polling",
    /// Leaving interrupts out while the program polls.
    InterruptModeration = "interrupt_moderation",
    /// Learning how long to spin from how long was slept.
    AdaptiveSpin = "adaptive_spin",
    /// Short values of an exchange in memory that all tasks map.
    ExchangeRows = "exchange_rows",
    /// Keeping what a blocking call of a team needs for the next one like it.
    KeptCalls = "kept_calls",
    /// Reading long parts from the inputs of other members, where tasks outnumber cores.
    ShownInputs = "shown_inputs",
    /// Rounds of half of a member's areas, or of a whole share of a row, where tasks outnumber cores.
    WideRounds = "wide_rounds",
    /// Fetching the line that a member of a team, or of a QNIX group, writes next, at the end of a
    /// round.
    WritePrefetch = "write_prefetch",
    /// Prefetching lines of other members of a team: the second one of a round's data while its
    /// flag is polled, and those of later rounds where the other member runs ahead.
    ReadPrefetch = "read_prefetch",
    /// Datagrams of a unit that finds nothing in its way.
    FastPath = "fast_path",
    /// Cheap calls of the system while datagrams come one by one.
    Flow = "flow",
    /// Acknowledgements that are put off while somebody spins.
    DeferredAcks = "deferred_acks",
    /// Fetching the lines of a window's next frame ahead of looking for it.
    FramePrefetch = "frame_prefetch",
    /// POLYVAL by wide instructions.
    WidePolyval = "wide_polyval",
    /// Stores between blocks that compete for one set of the cache.
    DgspThrottle = "dgsp_throttle",
    /// Structures moved by one permutation of 64 bytes.
    DgspPermute = "dgsp_permute",
    /// Copies between equal layouts without a packed buffer.
    DgspLockstep = "dgsp_lockstep",
}

/// Whether an optimisation is off.
#[inline(always)]
#[cfg(not(lapis_ablation))]
pub const fn without(_: Optimization) -> bool {
    false
}

/// Whether an optimisation is off.
///
/// # Panics
/// `ABLATE` names something unknown.
#[inline(always)]
#[cfg(lapis_ablation)]
pub fn without(which: Optimization) -> bool {
    static OFF: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    OFF.get_or_init(off) >> which as u32 & 1 == 1
}

#[cfg(lapis_ablation)]
fn off() -> u64 {
    let names = std::env::var("ABLATE").unwrap_or_default();
    let bit = |name: &str| {
        let known = Optimization::ALL.iter().find(|o| o.name() == name);
        known.map_or_else(|| panic!("ABLATE: nothing is called `{name}`"), |o| 1 << *o as u32)
    };
    names.split(',').filter(|name| !name.is_empty()).map(bit).fold(0, |all, one| all | one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_there_are_no_more_than_bits() {
        let mut names: Vec<_> = Optimization::ALL.iter().map(|o| o.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Optimization::ALL.len());
        assert!(names.len() <= u64::BITS as usize);
        assert!(!without(Optimization::MailboxLine));
    }
}
