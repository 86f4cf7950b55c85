//! Whether an ELF file is whole. The dynamic linker maps what the headers announce and touches it:
//! where the file ends earlier, as after a copy that was cut short, the process would end by
//! SIGBUS.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const IDENT: [u8; 4] = *b"\x7fELF";
/// Size of the file header: where the tables are, how many entries they have, and how large these
/// are.
const HEADER: usize = if cfg!(target_pointer_width = "64") { 64 } else { 52 };
const PT_LOAD: u32 = 1;

/// A file that announces more than it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Truncated {
    pub(super) size: u64,
    pub(super) needed: u64,
}

/// Checks a file. What is no ELF file of this machine's is left to the dynamic linker, which says
/// so.
pub(super) fn check(path: &Path) -> io::Result<Result<(), Truncated>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let Some(needed) = announced(size, |at, into| file.read_exact_at(into, at).is_ok()) else {
        return Ok(Ok(()));
    };
    Ok(if needed > size { Err(Truncated { size, needed }) } else { Ok(()) })
}

/// How long a file of `size` bytes says that it is. `read` reads at an offset and fails beyond the
/// end.
fn announced(size: u64, read: impl Fn(u64, &mut [u8]) -> bool) -> Option<u64> {
    let mut head = [0u8; HEADER];
    if !read(0, &mut head) || head[..4] != IDENT {
        return None;
    }
    let wide = cfg!(target_pointer_width = "64");
    // Class and byte order: others than this machine's are not this function's business.
    if head[4] != if wide { 2 } else { 1 } || head[5] != if cfg!(target_endian = "little") { 1 } else { 2 } {
        return None;
    }
    let half = |at: usize| u64::from(u16::from_ne_bytes([head[at], head[at + 1]]));
    let (programs, sections, counts) = if wide {
        (word(&head[32..])?, word(&head[40..])?, 54)
    } else {
        (word(&head[28..])?, word(&head[32..])?, 42)
    };
    let (program_size, program_count) = (half(counts), half(counts + 2));
    let (section_size, section_count) = (half(counts + 4), half(counts + 6));
    let end = |at: u64, len: u64| at.saturating_add(len);
    let mut needed = end(programs, program_size * program_count);
    if section_count > 0 {
        needed = needed.max(end(sections, section_size * section_count));
    }
    if needed > size {
        return Some(needed);
    }
    let mut entry = [0u8; 56];
    let entry = &mut entry[..if wide { 56 } else { 32 }];
    for index in 0..program_count {
        if (program_size as usize) < entry.len() || !read(programs + index * program_size, entry) {
            return None;
        }
        if u32::from_ne_bytes(entry[..4].try_into().ok()?) == PT_LOAD {
            let (offset, len) = if wide { (8, 32) } else { (4, 16) };
            needed = needed.max(end(word(&entry[offset..])?, word(&entry[len..])?));
        }
    }
    Some(needed)
}

/// An address or offset of this machine's width.
fn word(bytes: &[u8]) -> Option<u64> {
    let (word, _) = bytes.split_first_chunk::<{ size_of::<usize>() }>()?;
    Some(usize::from_ne_bytes(*word) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<u64> {
        announced(bytes.len() as u64, |at, into| {
            let found = usize::try_from(at).ok().and_then(|at| bytes.get(at..)?.get(..into.len()));
            found.map(|found| into.copy_from_slice(found)).is_some()
        })
    }

    #[test]
    fn this_program_is_whole_and_no_part_of_it_is() {
        let exe = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needed = of(&exe).expect("an ELF file");
        assert!(needed <= exe.len() as u64);
        for part in [HEADER, HEADER + 1, 4096, needed as usize / 2, needed as usize - 1] {
            assert!(of(&exe[..part]).expect("still an ELF file") > part as u64, "{part} bytes");
        }
    }

    #[test]
    fn numbers_without_sense_do_no_harm() {
        assert_eq!(of(b""), None);
        assert_eq!(of(b"this is not an ELF file, this is not an ELF file, this is not an ELF"), None);
        let mut head = [0xffu8; HEADER];
        head[..4].copy_from_slice(&IDENT);
        assert_eq!(of(&head), None, "another class");
        (head[4], head[5]) =
            (if HEADER == 64 { 2 } else { 1 }, if cfg!(target_endian = "little") { 1 } else { 2 });
        assert!(of(&head).is_some_and(|needed| needed > u64::from(u32::MAX) / 2));
    }
}
