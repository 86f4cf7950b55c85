//! Where the code of this process lies: the executable segments of the program and of the shared
//! objects that are loaded.
//!
//! The program stays where it is. Other objects come and go, so that what was known of them counts
//! only until the loader says that it has changed something since.

use crate::sync::lock;
use lapis_core::sync::blocking::Mutex;
use std::ffi::{CStr, c_int, c_void};

/// An executable segment of a loaded object.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// What the loader added to the object's addresses.
    pub(crate) bias: u64,
    /// What names the object in all tasks; 0 is the program. None where another object has the same
    /// name: two that can't be told apart have none.
    pub(crate) name: Option<u64>,
}

/// By address.
struct Segments(Box<[Segment]>);

/// What was loaded at one moment.
struct Loaded {
    segments: Vec<Segment>,
    /// How many objects had come and gone.
    changes: u64,
}

/// The objects that are loaded.
pub(crate) struct Objects {
    program: Segments,
    /// All others, and how many objects had come and gone when they were looked at.
    others: Mutex<(Segments, u64)>,
}

impl Segments {
    fn at(&self, address: u64) -> Option<Segment> {
        let after = self.0.partition_point(|s| s.start <= address);
        self.0[..after].last().filter(|s| address < s.end).copied()
    }

    /// The address of what lies at `offset` in the object of this name.
    fn address(&self, name: u64, offset: u64) -> Option<u64> {
        let address = self.0.iter().find(|s| s.name == Some(name))?.bias + offset;
        self.0.iter().any(|s| (s.start..s.end).contains(&address)).then_some(address)
    }
}

impl Loaded {
    /// The program, and the others.
    fn parts(self) -> [Segments; 2] {
        let all = self.segments.clone();
        let mut segments = self.segments;
        for segment in &mut segments {
            let twin = |other: &Segment| other.name == segment.name && other.bias != segment.bias;
            if all.iter().any(twin) {
                segment.name = None;
            }
        }
        segments.sort_unstable_by_key(|s| s.start);
        let (program, others): (Vec<_>, Vec<_>) = segments.into_iter().partition(|s| s.name == Some(0));
        [program, others].map(|part| Segments(part.into()))
    }
}

impl Objects {
    /// Looks at what is loaded now.
    pub(crate) fn of_process() -> Self {
        Self::of(look())
    }

    fn of(loaded: Loaded) -> Self {
        let changes = loaded.changes;
        let [program, others] = loaded.parts();
        Self { program, others: Mutex::new((others, changes)) }
    }

    /// The lowest address of code.
    pub(crate) fn lowest(&self) -> u64 {
        let others = lock(&self.others);
        [&self.program, &others.0].iter().filter_map(|part| Some(part.0.first()?.start)).min().unwrap_or(0)
    }

    /// The segment that an address lies in.
    pub(crate) fn at(&self, address: u64) -> Option<Segment> {
        self.program.at(address).or_else(|| self.in_others(|others| others.at(address)))
    }

    /// The address of what lies at `offset` in the object of this name.
    pub(crate) fn address(&self, name: u64, offset: u64) -> Option<u64> {
        if name == 0 {
            return self.program.address(name, offset);
        }
        self.in_others(|others| others.address(name, offset))
    }

    /// Asks the objects that are loaded now.
    fn in_others<R>(&self, ask: impl FnOnce(&Segments) -> R) -> R {
        let mut others = lock(&self.others);
        if others.1 != changes() {
            let loaded = look();
            others.1 = loaded.changes;
            let [_, now] = loaded.parts();
            others.0 = now;
        }
        ask(&others.0)
    }
}

/// The executable segments of all loaded objects.
fn look() -> Loaded {
    let mut loaded = Loaded { segments: Vec::new(), changes: 0 };
    // SAFETY: the callback has the right signature and gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(object), (&raw mut loaded).cast()) };
    loaded
}

/// How many objects have come and gone so far.
fn changes() -> u64 {
    let mut changes = 0_u64;
    // SAFETY: the callback has the right signature and gets what it expects.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut changes).cast()) };
    changes
}

unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, changes: *mut c_void) -> c_int {
    // SAFETY: what dl_iterate_phdr and `changes` pass.
    unsafe { *changes.cast::<u64>() = (*info).dlpi_adds + (*info).dlpi_subs };
    1
}

unsafe extern "C" fn object(info: *mut libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: what dl_iterate_phdr and `look` pass; headers are as many as is said.
    let (info, loaded, headers) = unsafe {
        let headers: &[_] = match (*info).dlpi_phdr {
            headers if headers.is_null() => &[],
            headers => std::slice::from_raw_parts(headers, usize::from((*info).dlpi_phnum)),
        };
        (&*info, &mut *loaded.cast::<Loaded>(), headers)
    };
    // SAFETY: the linker's name of an object is NUL-terminated.
    let path = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
    let (bias, name) = (info.dlpi_addr, Some(name(path)));
    loaded.changes = info.dlpi_adds + info.dlpi_subs;
    for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0) {
        let start = bias.wrapping_add(header.p_vaddr);
        loaded.segments.push(Segment { start, end: start + header.p_memsz, bias, name });
    }
    0
}

/// How many bits a name has.
pub(crate) const NAME_BITS: u32 = 20;

/// Objects are told apart by their files' names, wherever they lie; the program has none.
fn name(path: &CStr) -> u64 {
    let Some(file) = path.to_bytes().rsplit(|b| *b == b'/').next().filter(|f| !f.is_empty()) else {
        return 0;
    };
    // FNV-1a, never 0.
    let hash =
        file.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    (hash >> 32 & ((1 << NAME_BITS) - 1)).max(1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A segment of one page.
    pub(crate) fn segment(start: u64, bias: u64, name: u64) -> Segment {
        Segment { start, end: start + 0x1000, bias, name: Some(name) }
    }

    /// As if these were loaded now.
    pub(crate) fn made_up(segments: Vec<Segment>) -> Objects {
        Objects::of(Loaded { segments, changes: changes() })
    }

    #[test]
    fn objects_of_one_name_have_none_but_are_code() {
        let objects = made_up(vec![segment(0x1000, 0, 7), segment(0x9000, 0x8000, 7)]);
        assert!(objects.at(0x1010).is_some_and(|s| s.name.is_none()));
        assert_eq!(objects.address(7, 0x1010), None);
    }

    #[test]
    fn what_was_loaded_counts_until_something_has_changed() {
        let mut loaded = look();
        let function = changes as *const () as u64;
        let here = |s: &Segment| (s.start..s.end).contains(&function);
        // As if the object of this function were loaded later, under another name.
        loaded.segments.retain(|s| !here(s));
        loaded.segments.push(segment(0x1000, 0, 7));
        let before = Objects::of(Loaded { segments: loaded.segments.clone(), changes: loaded.changes });
        assert!(before.at(0x1010).is_some());
        let after = Objects::of(Loaded { changes: loaded.changes.wrapping_sub(1), ..loaded });
        assert!(after.at(0x1010).is_none() && after.address(7, 0x1010).is_none());
        assert!(look().segments.iter().any(here));
    }
}
