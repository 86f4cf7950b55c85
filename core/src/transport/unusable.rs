//! Why a transport is not used.

use super::TransportError;
use super::abi::{self, ABI_MAJOR, TransportOps};
use super::trust::Distrust;
use std::mem::offset_of;
use std::path::PathBuf;

/// Size of the operation table of minor 0 of this major, in bytes. What later minors append may be
/// absent.
pub const MIN_TABLE_SIZE: usize = offset_of!(TransportOps, wait_fd) + size_of::<usize>();

/// Why a candidate is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are the numbers of the messages")]
pub enum Unusable {
    /// Nothing is there.
    #[error("no such file: {}", path.display())]
    Missing { path: PathBuf },
    /// The file's name doesn't say which transport it is.
    #[error("{} is not named liblapis_<name>.so with a <name> of 1 to 15 lower-case letters and digits", path.display())]
    FileName { path: PathBuf },
    /// Others could have put it there, or changed it.
    #[error("not trusted: {0}")]
    Untrusted(Distrust),
    /// It ends before what it announces, so that using it would end the process.
    #[error("truncated: {size} bytes, its headers announce {needed}: copy it again")]
    Truncated { size: u64, needed: u64 },
    /// The dynamic linker refused.
    #[error("not loadable: {text}")]
    NotLoadable { text: String },
    /// The entry function of this major is not there.
    #[error("no symbol {symbol}{}", other_majors(present))]
    NoSymbol { symbol: String, present: Vec<u32> },
    /// The plugin itself said that it can't work with this host.
    #[error("its entry function refused with status {status} ({})", status_name(*status))]
    EntryFailed { status: i32 },
    /// The entry function said success and gave no table.
    #[error("its entry function succeeded but gave a null table")]
    NullTable,
    /// The table is not where a table can be.
    #[error("its table at {address:#x} is not aligned to {} bytes", align_of::<TransportOps>())]
    Misaligned { address: usize },
    /// Not a table of Lapis at all.
    #[error(
        "bad magic {found:#018x} in its table (expected {:#018x}): not a Lapis operation table",
        abi::MAGIC
    )]
    BadMagic { found: u64 },
    /// Another major version under this major's symbol.
    #[error("its table is of ABI major {found}, this host speaks major {ABI_MAJOR}: rebuild the plugin")]
    WrongMajor { found: u32 },
    /// A table that lacks entries which every table of this major has.
    #[error("short table: {found} bytes, ABI {ABI_MAJOR}.0 needs {MIN_TABLE_SIZE}")]
    ShortTable { found: u32 },
    /// The structs that cross the border are laid out differently.
    #[error(
        "layout hash {found:#018x} differs from this host's {:#018x}: built for another word size or from \
         changed headers without a new major; rebuild the plugin against this version",
        abi::LAYOUT_HASH
    )]
    LayoutHash { found: u64 },
    /// The table belongs to another transport than its symbol and file say.
    #[error("its table is of transport \"{found}\", expected \"{expected}\"")]
    NameMismatch { expected: String, found: String },
    /// A promise without the means.
    #[error("capability {capability} is set but entry {entry} is null")]
    CapabilityWithoutEntry { capability: String, entry: &'static str },
    /// Means without the promise.
    #[error("entry {entry} is wired but capability {capability} is not set")]
    EntryWithoutCapability { capability: String, entry: &'static str },
    /// An entry that every transport has.
    #[error("mandatory entry {entry} is null")]
    MandatoryNull { entry: &'static str },
    /// What it declares of itself makes no sense.
    #[error("bad declaration: {problem}")]
    BadDeclaration { problem: String },
    /// It loaded but doesn't work here.
    #[error("open failed: {0}")]
    Open(TransportError),
    /// It opened and then claimed what its table doesn't have.
    #[error("its instance claims capabilities that its table lacks: {extra}")]
    CapabilitiesGrew { extra: String },
}

fn other_majors(present: &[u32]) -> String {
    match present {
        [] => String::new(),
        some => format!(
            ": built for ABI major {}, this host speaks major {ABI_MAJOR}; rebuild the plugin",
            some.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        ),
    }
}

fn status_name(status: i32) -> &'static str {
    match status {
        abi::status::UNSUPPORTED => "unsupported",
        abi::status::INVALID => "invalid argument",
        abi::status::UNREACHABLE => "unreachable",
        abi::status::EXHAUSTED => "resource exhausted",
        abi::status::IO => "refused by the operating system",
        abi::status::PANICKED => "panicked",
        _ => "unknown",
    }
}
