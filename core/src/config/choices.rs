//! Values that are one word of a closed set.

/// A type whose values are the words of a closed set.
pub trait Choice: Copy + Sized + 'static {
    /// The words, in the order in which they are listed.
    const WORDS: &'static [&'static str];
    /// The value of a word, which is one of `WORDS`.
    fn from_word(word: &str) -> Option<Self>;
    /// The word of a value.
    fn word(self) -> &'static str;
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
        }

        impl Choice for $name {
            const WORDS: &'static [&'static str] = &[$($word),*];

            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    )*};
}

choices! {
    /// Which interfaces a job uses (LAPI Guide, "Setting environment variables").
    MsgApi {
        /// LAPI alone.
        Lapi = "lapi",
        /// LAPI and MPI side by side.
        LapiMpi = "lapi,mpi",
        /// The same, named the other way around.
        MpiLapi = "mpi,lapi",
        /// LAPI and MPI on a shared handle.
        Shared = "mpi_lapi",
        /// MPI alone: LAPI does not initialize.
        Mpi = "mpi",
    }

    /// Which communication library carries a job (LAPI Guide, table 41).
    EuiLib {
        /// UDP/IP.
        Ip = "ip",
        /// User space: the adapter's windows.
        Us = "us",
    }

    /// Whether tasks of one node use shared memory (LAPI Guide, table 42).
    UseShm {
        /// Never.
        No = "no",
        /// Where it is possible.
        Yes = "yes",
        /// Nothing else: initialization fails where it is not possible.
        Only = "only",
    }

    /// Whether the launcher binds tasks to processors.
    BindMode {
        /// Not at all.
        None = "none",
        /// One core for each task.
        Core = "core",
        /// The cores that share the last cache.
        Cache = "cache",
        /// The cores of one memory.
        Numa = "numa",
    }
}
