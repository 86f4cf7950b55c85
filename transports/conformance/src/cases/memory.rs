//! Regions and windows.

use crate::rank::{Rank, pattern};
use lapis_core::transport::{RawSlice, RegionInfo, TransportError};
use std::collections::BTreeSet;

fn fill(region: &RegionInfo, byte: u8) {
    // SAFETY: the region is this task's and nobody else writes to it.
    unsafe { std::ptr::write_bytes(region.addr as *mut u8, byte, region.len as usize) };
}

fn all(region: &RegionInfo, byte: u8) -> bool {
    // SAFETY: the region is this task's, and nobody writes to it now.
    let bytes = unsafe { std::slice::from_raw_parts(region.addr as *const u8, region.len as usize) };
    bytes.iter().all(|b| *b == byte)
}

pub(crate) fn allocated_memory_is_zeroed_and_aligned(r: &mut Rank) {
    let mut ids = BTreeSet::new();
    let mut held = Vec::new();
    for round in 0..3 {
        for len in [1, 63, 64, 4095, 4096, 4097, 100_000, (1 << 20) + 1] {
            let region = r.link_mut().mem_alloc(len).unwrap_or_else(|e| panic!("mem_alloc of {len}: {e}"));
            assert_eq!(region.len, len as u64, "length of a region of {len} bytes");
            assert!(region.addr.is_multiple_of(64), "a region at {:#x}: not aligned to 64", region.addr);
            assert!(ids.insert(region.id), "id {} was given twice", region.id);
            assert!(all(&region, 0), "a region of {len} bytes isn't zero, round {round}");
            fill(&region, 0x77);
            held.push(region);
        }
        // Regions don't overlap: each still holds what was written, whatever came after.
        for region in held.drain(..) {
            assert!(all(&region, 0x77), "the region at {:#x} was written by another's owner", region.addr);
            fill(&region, 0x99);
            ids.remove(&region.id);
            // SAFETY: nobody uses it any more.
            unsafe { r.link_mut().mem_release(region.id) };
        }
    }
    // Some stay, for closing to free.
    r.link_mut().mem_alloc(5000).unwrap_or_else(|e| panic!("{e}"));
}

pub(crate) fn an_absurd_allocation_is_an_error(r: &mut Rank) {
    for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 4095, 1 << 60] {
        match r.link_mut().mem_alloc(len) {
            Ok(region) => panic!("{len} bytes were given, at {:#x}", region.addr),
            Err(TransportError::Panicked(text)) => panic!("panicked at {len} bytes: {text}"),
            Err(e) => assert!(!e.to_string().is_empty()),
        }
    }
    // It still works.
    r.link_mut().mem_alloc(64).unwrap_or_else(|e| panic!("after absurd sizes: {e}"));
}

pub(crate) fn registered_memory_is_reached_and_released(r: &mut Rank) {
    let mut memory = vec![0u8; 3 * 4096 + 5];
    for round in 0..20 {
        let range = RawSlice { ptr: memory[round..].as_mut_ptr(), len: memory.len() - round };
        // SAFETY: the memory outlives the registration.
        let region = unsafe { r.link_mut().mem_register(range) }.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((region.addr, region.len), (range.ptr as u64, range.len as u64));
        // The same again, and one within: registrations may overlap.
        let within = RawSlice { ptr: range.ptr, len: 100 };
        // SAFETY: the memory outlives the registrations.
        let (again, inner) = unsafe { (r.link_mut().mem_register(range), r.link_mut().mem_register(within)) };
        for other in [again, inner] {
            let other = other.unwrap_or_else(|e| panic!("registering a range twice: {e}"));
            assert_ne!(other.id, region.id, "two registrations with one id");
            // SAFETY: nobody uses it.
            unsafe { r.link_mut().mem_release(other.id) };
        }
        // SAFETY: nobody uses it.
        unsafe { r.link_mut().mem_release(region.id) };
    }
}

pub(crate) fn a_window_shows_the_peers_memory(r: &mut Rank) {
    const LEN: usize = 8192;
    let memory = r.shared(LEN);
    let regions = r.exchange_regions(&memory);
    let (me, next, previous) = (u64::from(r.task), r.next(), u64::from(r.previous()));
    memory.write(0, &pattern(me, LEN / 2));
    r.sync("the memory is written");
    let window = r.link_mut().window(next).expect("a connected peer has a window");
    let again = r.link_mut().window(next).expect("as before");
    assert_eq!(
        (window.remote_base, window.len, window.local_base),
        (again.remote_base, again.len, again.local_base),
        "the window moved"
    );
    let offset =
        regions[&next].addr.checked_sub(window.remote_base).expect("allocated memory is in the window");
    assert!(offset + LEN as u64 <= window.len, "allocated memory ends beyond the window");
    let local = window.local_base.wrapping_add(offset as usize);
    // SAFETY: within the window, by the test above; the peer doesn't write between the
    // synchronisations.
    let seen: Vec<u8> = (0..LEN / 2).map(|i| unsafe { local.add(i).read_volatile() }).collect();
    assert_eq!(seen, pattern(u64::from(next), LEN / 2), "the peer's memory through the window");
    for (i, byte) in pattern(me + 1000, LEN / 2).iter().enumerate() {
        // SAFETY: within the window; the peer looks only after the next synchronisation.
        unsafe { local.add(LEN / 2 + i).write_volatile(*byte) };
    }
    r.sync("written through the window");
    assert_eq!(memory.read(LEN / 2, LEN / 2), pattern(previous + 1000, LEN / 2), "written by the peer");
    // Allocated later, and yet in the window, for core asks once.
    let later = r.shared(100_000);
    let regions = r.exchange_regions(&later);
    let offset = regions[&next].addr.wrapping_sub(window.remote_base);
    assert!(offset + 100_000 <= window.len, "memory allocated later is outside of the window");
}
