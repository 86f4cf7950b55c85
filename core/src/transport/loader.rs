//! From a file or a linked table to a [`Plugin`] that may be opened, or to the [`Unusable`] that
//! says why not.
//!
//! A library that was loaded stays for the life of the process: threads and thread-local
//! destructors of a plugin may run code in it at any time, and operation tables are `'static` only
//! if nothing unloads them.

use super::abi::{self, ABI_MAJOR, EntryFn, TransportOps};
use super::chaos::{self, Chaos};
use super::declaration::{self, Declared, Reach, Usage};
use super::link::Link;
use super::trust;
use super::types::{Caps, OpenParams};
use super::unusable::{MIN_TABLE_SIZE, Unusable};
use super::{elf, host_table};
use crate::config::Variable;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_char};
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a plugin's table came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Linked into the program.
    Linked,
    /// Loaded from this file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linked => f.write_str("linked"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// A transport whose table passed every check.
#[derive(Clone, Debug)]
pub struct Plugin {
    name: &'static str,
    version: &'static str,
    minor: u32,
    origin: Origin,
    table: TransportOps,
    declared: Option<Declared>,
    chaos: Option<Chaos>,
}

impl Plugin {
    /// Checks a table that is linked into the program.
    pub fn from_table(table: &'static TransportOps) -> Result<Self, Unusable> {
        // SAFETY: the reference is to a whole table of this build.
        unsafe { check(table, None, Origin::Linked) }
    }

    /// The name users write.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The transport's own version.
    pub fn version(&self) -> &'static str {
        self.version
    }

    /// Minor version of the ABI it was built with.
    pub fn abi_minor(&self) -> u32 {
        self.minor
    }

    /// Where it came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What its code has, before probing this machine.
    pub fn caps(&self) -> Caps {
        Caps::from_bits_truncate(self.table.caps)
    }

    /// Whom it reaches.
    pub fn reach(&self) -> Reach {
        Reach::of(self.caps())
    }

    /// What a message costs over it and when it is used unnamed, if it declares that.
    pub fn cost_and_usage(&self) -> Option<(u32, Usage)> {
        self.declared.as_ref().map(|d| (d.cost_ns, d.usage))
    }

    /// The variables that it declares; `None` if it is of a minor before declarations.
    pub fn variables(&self) -> Option<&[Variable]> {
        self.declared.as_ref().map(|d| &d.variables[..])
    }

    /// Opens an instance for one context.
    pub fn open(&self, params: &OpenParams<'_>) -> Result<Link, Unusable> {
        let link = Link::open(self.name, self.version, &self.table, params)?;
        match &self.chaos {
            Some(chaos) => chaos::wrap(link, chaos.clone(), params.task),
            None => Ok(link),
        }
    }

    /// Instances opened from now on have these faults.
    pub fn set_chaos(&mut self, chaos: Option<Chaos>) {
        self.chaos = chaos;
    }
}

/// The file name of the plugin of a transport's name.
pub fn file_name(name: &str) -> String {
    format!("liblapis_{name}.so")
}

/// The transport's name that a file name stands for.
pub fn name_of_file(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?.strip_prefix("liblapis_")?.strip_suffix(".so")?;
    is_name(name).then_some(name)
}

pub(super) fn is_name(name: &str) -> bool {
    (1..=15).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// Loads the plugin in `path` (named `liblapis_<name>.so`) and checks its table. The library is
/// never unloaded.
pub fn load_file(path: &Path) -> Result<Plugin, Unusable> {
    let Some(name) = name_of_file(path) else { return Err(Unusable::FileName { path: path.to_owned() }) };
    if !path.is_file() {
        return Err(Unusable::Missing { path: path.to_owned() });
    }
    let path = std::path::absolute(path).map_err(unreadable)?;
    // What was judged is what is loaded: this path has no symbolic links that somebody could turn
    // meanwhile.
    let real = trust::trusted(&path).map_err(unreadable)?.map_err(Unusable::Untrusted)?;
    if let Err(elf::Truncated { size, needed }) = elf::check(&real).map_err(unreadable)? {
        return Err(Unusable::Truncated { size, needed });
    }
    // SAFETY: loading runs the library's initialisers: only root and this user can have put the
    // file there.
    let library = unsafe { Library::open(Some(&real), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE) }
        .map_err(|e| Unusable::NotLoadable { text: linker_text(&e) })?;
    let symbol = abi::entry_symbol(name);
    // SAFETY: a symbol of this name is an `EntryFn` by the ABI's definition.
    let Ok(entry) = (unsafe { library.get::<EntryFn>(symbol.as_bytes()) }) else {
        let present = (0..=32)
            .filter(|major| *major != ABI_MAJOR)
            .filter(|major| {
                // SAFETY: the symbol's address is looked up and not used.
                unsafe { library.get::<*const ()>(format!("lapis_transport_{name}_v{major}").as_bytes()) }
                    .is_ok()
            })
            .collect();
        return Err(Unusable::NoSymbol { symbol, present });
    };
    let mut table = std::ptr::null();
    // SAFETY: the entry function gets the host's static table and a valid place for its answer.
    let status = unsafe { entry(host_table(), &mut table) };
    // Closing would be undone by RTLD_NODELETE anyway; this says so.
    std::mem::forget(library);
    if status != abi::status::OK {
        return Err(Unusable::EntryFailed { status });
    }
    // SAFETY: by the ABI, a successful entry function gives a static table or null, and `check`
    // reads only as far as the table says it goes.
    unsafe { check(table, Some(name), Origin::File(path)) }
}

fn unreadable(e: std::io::Error) -> Unusable {
    Unusable::NotLoadable { text: e.to_string() }
}

/// The linker's own words, which libloading keeps as the error's source.
fn linker_text(error: &libloading::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(e) = source {
        text = format!("{text}: {e}");
        source = e.source();
    }
    text
}

/// Every entry that is called: its name, the bit it belongs to (none: mandatory), whether it is
/// wired.
fn entries(t: &TransportOps) -> impl Iterator<Item = (&'static str, Option<Caps>, bool)> {
    macro_rules! list {
        ($($entry:ident $($bit:ident)?),* $(,)?) => {
            [$((stringify!($entry), list!(@bit $($bit)?), t.$entry.is_some())),*]
        };
        (@bit) => { None };
        (@bit $bit:ident) => { Some(Caps::$bit) };
    }
    list![
        open, close, attributes, address, connect, progress_connect, disconnect, mem_release, poll, disarm,
        set_interrupts, mem_register REGISTER, mem_alloc ALLOCATE, window WINDOW, am_short AM_SHORT,
        am_packed AM_PACKED, put_zcopy PUT_ZCOPY, get_zcopy GET_ZCOPY, send_datagrams DATAGRAM, arm WAIT, wait WAIT, wake WAIT, wait_fd WAIT,
        send_lane LANES, receive_lanes LANES, attend LANES, prefer_rail PREFER_RAIL,
        put_short PUT_SHORT,
    ]
    .into_iter()
}

/// Checks a table and copies it.
///
/// # Safety
/// `table` is null or points to memory that begins with a readable head and, if that head is ours,
/// is as long as the head says; its strings are NUL-terminated; all of it static.
unsafe fn check(
    table: *const TransportOps,
    expected: Option<&str>,
    origin: Origin,
) -> Result<Plugin, Unusable> {
    if table.is_null() {
        return Err(Unusable::NullTable);
    }
    if !table.is_aligned() {
        return Err(Unusable::Misaligned { address: table.addr() });
    }
    // SAFETY: not null and aligned; the caller promises a table, whose head is the same in every
    // version.
    let head = unsafe { &*table.cast::<abi::TableHead>() };
    if head.magic != abi::MAGIC {
        return Err(Unusable::BadMagic { found: head.magic });
    }
    if head.abi_major != ABI_MAJOR {
        return Err(Unusable::WrongMajor { found: head.abi_major });
    }
    if (head.struct_size as usize) < MIN_TABLE_SIZE {
        return Err(Unusable::ShortTable { found: head.struct_size });
    }
    if head.layout_hash != abi::LAYOUT_HASH {
        return Err(Unusable::LayoutHash { found: head.layout_hash });
    }
    // SAFETY: the caller promises a table of this version, whose name and version are static
    // strings.
    let (name, version) = unsafe { (text(head.name), text(head.version)) };
    if !is_name(name) || expected.is_some_and(|e| e != name) {
        return Err(Unusable::NameMismatch {
            expected: expected.unwrap_or("1 to 15 lower-case letters and digits").to_owned(),
            found: name.to_owned(),
        });
    }
    // SAFETY: the table has `struct_size` bytes.
    let copy = unsafe { copy_table(table, head.struct_size as usize) };
    for (entry, bit, wired) in entries(&copy) {
        match bit {
            None if !wired => return Err(Unusable::MandatoryNull { entry }),
            Some(bit) if copy.caps & bit.bits() != 0 && !wired => {
                return Err(Unusable::CapabilityWithoutEntry { capability: bit_name(bit), entry });
            }
            Some(bit) if copy.caps & bit.bits() == 0 && wired => {
                return Err(Unusable::EntryWithoutCapability { capability: bit_name(bit), entry });
            }
            _ => {}
        }
    }
    // SAFETY: the caller promises a table, and what one points to is static.
    let declared = unsafe { declaration::read(name, copy.declaration) }
        .map_err(|problem| Unusable::BadDeclaration { problem })?;
    Ok(Plugin { name, version, minor: head.abi_minor, origin, table: copy, declared, chaos: None })
}

fn bit_name(bit: Caps) -> String {
    bit.iter_names().map(|(name, _)| name).collect()
}

/// Copies as much of a table as both sides know. An older plugin's table ends early: what it lacks
/// is null. A newer plugin's goes on: what this host doesn't know is left behind.
///
/// # Safety
/// `table` has `size` readable bytes.
unsafe fn copy_table(table: *const TransportOps, size: usize) -> TransportOps {
    let mut copy = std::mem::MaybeUninit::<TransportOps>::zeroed();
    let len = size.min(size_of::<TransportOps>());
    // SAFETY: the caller promises `size` readable bytes; the destination has the size of the table.
    unsafe { std::ptr::copy_nonoverlapping(table.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), len) };
    // SAFETY: all zero bytes are a valid table: numbers 0, entries `None`, a null declaration.
    unsafe { copy.assume_init() }
}

/// # Safety
/// `ptr` is null or a static NUL-terminated string.
unsafe fn text(ptr: *const c_char) -> &'static str {
    if ptr.is_null() {
        return "";
    }
    // SAFETY: not null; the caller promises a static string that ends with NUL.
    unsafe { CStr::from_ptr(ptr) }.to_str().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn names_of_files() {
        assert_eq!(name_of_file(Path::new("/x/liblapis_shm.so")), Some("shm"));
        for bad in [
            "liblapis_.so",
            "liblapis_Shm.so",
            "libshm.so",
            "liblapis_shm.so.1",
            "liblapis_a23456789012345678.so",
        ] {
            assert_eq!(name_of_file(Path::new(bad)), None, "{bad}");
        }
    }

    #[test]
    fn an_older_table_reads_null_beyond_its_end() {
        unsafe extern "C" fn flush(_: *mut std::ffi::c_void) {}
        // SAFETY: all zero bytes are a valid table.
        let mut table: TransportOps = unsafe { std::mem::zeroed() };
        table.flush = Some(flush);
        table.disarm = Some(flush);
        // SAFETY: the table is larger than what is copied.
        let copy = unsafe { copy_table(&table, offset_of!(TransportOps, disarm)) };
        assert!(copy.flush.is_some() && copy.disarm.is_none());
    }

    /// Every entry of the table that is called is either mandatory or bound to a bit: none escapes
    /// the check.
    #[test]
    fn every_entry_is_checked() {
        // SAFETY: all zero bytes are a valid table.
        let table: TransportOps = unsafe { std::mem::zeroed() };
        let retired = size_of_val(&table.flush) + 4 * size_of_val(&table.was_rmw);
        let optional =
            size_of_val(&table.declaration) + size_of_val(&table.rails) + size_of_val(&table.mem_lend);
        let data = optional + retired;
        let words = (size_of::<TransportOps>() - offset_of!(TransportOps, open) - data) / size_of::<usize>();
        assert_eq!(entries(&table).count(), words);
        let bits = entries(&table).filter_map(|(_, bit, _)| bit).fold(Caps::empty(), |a, b| a | b);
        assert_eq!(bits, Caps::OPERATIONS);
    }
}
