//! Finding the pages of processes.

use super::Snapshot;
use super::page::{BYTES, NAME};
use std::fs;
use std::io::Read;
use std::path::Path;

/// What the contexts of a process show. Empty: it has none, has ended, or is another user's.
pub fn of_process(process: u32) -> Vec<Snapshot> {
    let folder = format!("/proc/{process}/fd");
    let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
    let shown = format!("/memfd:{NAME} (deleted)");
    let pages = entries.flatten().map(|entry| entry.path()).filter(|path| {
        fs::read_link(path).is_ok_and(|target| target.as_os_str().as_encoded_bytes() == shown.as_bytes())
    });
    // A forked child has its parent's files.
    let own = |page: &Snapshot| page.process == process || own_number(process) == Some(page.process);
    pages.filter_map(|path| read(&path)).filter(own).collect()
}

/// All processes that this one sees.
pub fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn read(path: &Path) -> Option<Snapshot> {
    let mut page = Vec::with_capacity(BYTES);
    fs::File::open(path).ok()?.take(BYTES as u64).read_to_end(&mut page).ok()?;
    Snapshot::parse(&page)
}

/// How a process numbers itself, which in a container is not how others do.
fn own_number(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}
