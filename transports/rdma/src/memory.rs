//! Registered memory: what peers reach by keys, and what a provider must know of our own side.
//!
//! A provider says how it names memory (`FI_MR_VIRT_ADDR`, `FI_MR_PROV_KEY`). A peer is told one
//! number, the key, and addresses as this task sees them. Where a provider wants offsets into a
//! region instead, the key tells where the region begins: we choose it, and put the address into
//! it.

use crate::endpoint::{Access, Endpoint, Registration, is_busy};
use lapis_core::transport::{RawSlice, RegionInfo, TransportError};
use std::collections::HashMap;

/// Bits of a key of ours that tell regions with the same first address apart.
const NUMBER: u32 = 16;
/// How many such regions are tried to be told apart.
const TRIES: u32 = 64;

/// How a provider names memory of peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// By addresses as the owner sees them.
    Addresses,
    /// By offsets into the region, whose first address is in the key.
    Offsets,
}

impl Naming {
    /// What the provider is to be told for an address in the region of a key.
    pub(crate) fn place(self, addr: u64, key: u64) -> u64 {
        match self {
            Self::Addresses => addr,
            Self::Offsets => addr.wrapping_sub(key >> NUMBER),
        }
    }
}

/// Chooses keys, where the provider leaves that to us.
pub(crate) struct Keys {
    /// Bytes of a key.
    size: usize,
    next: u64,
}

impl Keys {
    /// `seed`: a random number, so that keys of an earlier life mostly name nothing.
    pub(crate) fn new(size: usize, seed: u64) -> Self {
        Self { size, next: seed }
    }

    /// A key for a region. The next one differs.
    fn key(&mut self, base: u64) -> u64 {
        self.next = self.next.wrapping_add(1);
        if self.size < 8 {
            // Small numbers name messages' buffers.
            let most = (1u64 << (8 * self.size)) - 1;
            return 16 + self.next % (most - 16).max(1);
        }
        base << NUMBER | self.next & ((1 << NUMBER) - 1)
    }
}

/// A region, and the registration that goes with it.
struct Region {
    base: u64,
    len: u64,
    registration: Registration,
}

/// What this task has registered.
pub(crate) struct Memory {
    regions: HashMap<u64, Region>,
    keys: Keys,
    next: u64,
}

impl Memory {
    pub(crate) fn new(keys: Keys) -> Self {
        Self { regions: HashMap::new(), keys, next: 0 }
    }

    /// Makes a range reachable by peers.
    ///
    /// # Safety
    /// The range stays mapped until [`release`](Self::release).
    pub(crate) unsafe fn register(
        &mut self,
        endpoint: &mut Endpoint,
        range: RawSlice,
    ) -> Result<RegionInfo, TransportError> {
        if range.len == 0 || range.ptr.addr().checked_add(range.len).is_none() {
            let text = format!("{} bytes at {:p} are no memory", range.len, range.ptr);
            return Err(TransportError::Invalid(text));
        }
        // SAFETY: the caller's promise.
        let all = unsafe { self.try_register(endpoint, range, Access::All) };
        // Memory that can't be written can still be read by peers.
        // SAFETY: the caller's promise, for the same range.
        let registered = all
            .or_else(|e| unsafe { self.try_register(endpoint, range, Access::PeersRead).map_err(|_| e) })
            .map_err(|code| endpoint.no_memory(range.len, code))?;
        let key = registered.key();
        if key == u64::MAX {
            return Err(TransportError::Unsupported);
        }
        self.next += 1;
        let (base, len) = (range.ptr.addr() as u64, range.len as u64);
        self.regions.insert(self.next, Region { base, len, registration: registered });
        Ok(RegionInfo { addr: base, len, id: self.next, key })
    }

    /// Registers a range for a transfer of our own.
    ///
    /// # Safety
    /// The range stays mapped until the registration is dropped.
    pub(crate) unsafe fn for_transfer(
        &mut self,
        endpoint: &mut Endpoint,
        range: RawSlice,
        access: Access,
    ) -> Result<Registration, i32> {
        // SAFETY: the caller's promise.
        unsafe { self.try_register(endpoint, range, access) }
    }

    /// # Safety
    /// As [`register`](Self::register).
    unsafe fn try_register(
        &mut self,
        endpoint: &mut Endpoint,
        range: RawSlice,
        access: Access,
    ) -> Result<Registration, i32> {
        endpoint.populate(range);
        let mut code = libc::EINVAL;
        for _ in 0..TRIES {
            let key = self.keys.key(range.ptr.addr() as u64);
            // SAFETY: the caller's promise.
            match unsafe { endpoint.register_as(range.ptr, range.len, access, key) } {
                Ok(registration) => return Ok(registration),
                Err(e) => code = e,
            }
            if !endpoint.is_taken(code) {
                break;
            }
        }
        // "Try again" is what some kernels say of a limit, which no trying mends.
        Err(if is_busy(code) { libc::ENOMEM } else { code })
    }

    /// Peers don't reach it any more. Nothing happens if there is no such region.
    pub(crate) fn release(&mut self, id: u64) {
        self.regions.remove(&id);
    }

    /// The registration that holds a range, if one does.
    pub(crate) fn holding(&self, range: RawSlice) -> Option<&Registration> {
        let (base, len) = (range.ptr.addr() as u64, range.len as u64);
        let holds = |r: &&Region| base.checked_sub(r.base).is_some_and(|at| at <= r.len && len <= r.len - at);
        self.regions.values().find(holds).map(|region| &region.registration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_ours_tells_where_its_region_begins() {
        let base = 0x7fff_ffff_f000;
        let mut keys = Keys::new(8, u64::MAX);
        let (one, other) = (keys.key(base), keys.key(base));
        assert_ne!(one, other);
        for key in [one, other] {
            assert_eq!(Naming::Offsets.place(base + 17, key), 17);
            assert_eq!(Naming::Addresses.place(base + 17, key), base + 17);
        }
    }

    #[test]
    fn short_keys_fit_and_leave_out_those_of_messages() {
        let mut keys = Keys::new(2, 0);
        for _ in 0..70_000 {
            assert!((16..1 << 16).contains(&keys.key(u64::MAX)));
        }
    }
}
