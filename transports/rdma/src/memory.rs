//! Registered memory: what peers reach by keys, and what a provider must know of our own side.
//!
//! A provider says how it names memory (`FI_MR_VIRT_ADDR`, `FI_MR_PROV_KEY`). A peer is told one
//! number, the key, and addresses as this task sees them. Where a provider wants offsets into a
//! region instead, the key tells where the region begins: we choose it, and put the address into
//! it.

use crate::endpoint::{Access, Endpoint, Registration, is_busy};
use crate::rail::Rail;
use lapis_core::transport::{RawSlice, RegionInfo, TransportError};
use std::collections::HashMap;
use std::rc::Rc;

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

/// A region, and the registrations that go with it, by rail.
struct Region {
    base: u64,
    len: u64,
    registrations: Vec<Rc<Registration>>,
}

/// How one key names a region on several rails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// Keys are ours, and the same on all rails.
    Same,
    /// Keys are the provider's and short: that of the first rail, and above it that of the second.
    Halves,
    /// Keys are the provider's and long: that of the first rail.
    First,
}

impl Joint {
    /// `owned`: the provider chooses keys, of `size` bytes.
    pub(crate) fn of(owned: bool, size: usize) -> Self {
        match (owned, size) {
            (false, _) => Self::Same,
            (true, ..=4) => Self::Halves,
            (true, _) => Self::First,
        }
    }

    /// How many of so many rails reach registered memory.
    pub(crate) fn rails(self, rails: usize) -> usize {
        match self {
            Self::Same => rails,
            Self::Halves => rails.min(2),
            Self::First => rails.min(1),
        }
    }

    /// The key on one of the owner's rails.
    pub(crate) fn on(self, rail: usize, key: u64) -> u64 {
        match (self, rail) {
            (Self::Same | Self::First, _) => key,
            (Self::Halves, 0) => key & 0xffff_ffff,
            (Self::Halves, _) => key >> 32,
        }
    }

    /// One key of those on all rails.
    fn join(self, keys: impl Iterator<Item = u64>) -> u64 {
        match self {
            Self::Same | Self::First => keys.take(1).sum(),
            Self::Halves => keys.enumerate().fold(0, |all, (rail, key)| all | key << (32 * rail)),
        }
    }
}

/// What this task has registered.
pub(crate) struct Memory {
    regions: HashMap<u64, Region>,
    keys: Keys,
    joint: Joint,
    next: u64,
}

impl Memory {
    pub(crate) fn new(keys: Keys, joint: Joint) -> Self {
        Self { regions: HashMap::new(), keys, joint, next: 0 }
    }

    /// How keys name regions on several rails.
    pub(crate) fn joint(&self) -> Joint {
        self.joint
    }

    /// Makes a range reachable by peers, on each rail.
    ///
    /// # Safety
    /// The range stays mapped until [`release`](Self::release).
    pub(crate) unsafe fn register(
        &mut self,
        rails: &mut [Rail],
        range: RawSlice,
    ) -> Result<RegionInfo, TransportError> {
        if range.len == 0 || range.ptr.addr().checked_add(range.len).is_none() {
            let text = format!("{} bytes at {:p} are no memory", range.len, range.ptr);
            return Err(TransportError::Invalid(text));
        }
        let count = self.joint.rails(rails.len());
        let rails = &mut rails[..count];
        // SAFETY: the caller's promise.
        let all = unsafe { self.try_register(rails, range, Access::All) };
        // Memory that can't be written can still be read by peers. Where there is no room, memory
        // that can must not seem such: some providers end the connection of whoever writes there.
        let registrations = all
            .or_else(|e| match e {
                libc::ENOMEM => Err(e),
                // SAFETY: the caller's promise, for the same range.
                _ => unsafe { self.try_register(rails, range, Access::PeersRead).map_err(|_| e) },
            })
            .map_err(|code| rails[0].endpoint.no_memory(range.len, code))?;
        if registrations.iter().any(|registered| registered.key() == u64::MAX) {
            return Err(TransportError::Unsupported);
        }
        let key = self.joint.join(registrations.iter().map(Registration::key));
        let registrations = registrations.into_iter().map(Rc::new).collect();
        self.next += 1;
        let (base, len) = (range.ptr.addr() as u64, range.len as u64);
        self.regions.insert(self.next, Region { base, len, registrations });
        Ok(RegionInfo { addr: base, len, id: self.next, key })
    }

    /// Registers a range on one rail for a transfer of our own.
    ///
    /// # Safety
    /// The range stays mapped until the registration is dropped.
    pub(crate) unsafe fn for_transfer(
        &mut self,
        endpoint: &mut Endpoint,
        range: RawSlice,
        access: Access,
    ) -> Result<Registration, i32> {
        endpoint.populate(range);
        self.with_a_key(range, |key| {
            // SAFETY: the range stays mapped by the promise of this function's caller.
            let registered = unsafe { endpoint.register_as(range.ptr, range.len, access, key) };
            registered.map_err(|code| (code, endpoint.is_taken(code)))
        })
    }

    /// # Safety
    /// As [`register`](Self::register).
    unsafe fn try_register(
        &mut self,
        rails: &mut [Rail],
        range: RawSlice,
        access: Access,
    ) -> Result<Vec<Registration>, i32> {
        rails[0].endpoint.populate(range);
        self.with_a_key(range, |key| {
            let each = rails.iter_mut().map(|rail| {
                // SAFETY: the caller's promise.
                let registered = unsafe { rail.endpoint.register_as(range.ptr, range.len, access, key) };
                registered.map_err(|code| (code, rail.endpoint.is_taken(code)))
            });
            each.collect()
        })
    }

    /// Tries keys until one is free. An error tells its number, and whether the key was taken.
    fn with_a_key<T>(
        &mut self,
        range: RawSlice,
        mut register: impl FnMut(u64) -> Result<T, (i32, bool)>,
    ) -> Result<T, i32> {
        let mut code = libc::EINVAL;
        for _ in 0..TRIES {
            match register(self.keys.key(range.ptr.addr() as u64)) {
                Ok(registered) => return Ok(registered),
                Err((e, taken)) => {
                    code = e;
                    if !taken {
                        break;
                    }
                }
            }
        }
        // "Try again" is what some kernels say of a limit, which no trying mends.
        Err(if is_busy(code) { libc::ENOMEM } else { code })
    }

    /// Peers don't reach it any more. Nothing happens if there is no such region.
    pub(crate) fn release(&mut self, id: u64) {
        self.regions.remove(&id);
    }

    /// The registration on a rail that holds a range, if one does. Whoever uses it keeps it: it may
    /// have been made for another transfer, and be released before this one has ended.
    pub(crate) fn holding(&self, range: RawSlice, rail: usize) -> Option<Rc<Registration>> {
        let (base, len) = (range.ptr.addr() as u64, range.len as u64);
        let holds = |r: &&Region| base.checked_sub(r.base).is_some_and(|at| at <= r.len && len <= r.len - at);
        self.regions.values().find(holds).and_then(|region| region.registrations.get(rail).map(Rc::clone))
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
    fn one_key_names_a_region_on_as_many_rails_as_its_form_has_room_for() {
        let keys = [7, 0xffff_fff0];
        for (owned, size, rails) in [(false, 8, 8), (true, 4, 2), (true, 8, 1)] {
            let joint = Joint::of(owned, size);
            assert_eq!(joint.rails(8), rails);
            let told = if owned { &keys[..rails] } else { &[7, 7] };
            let key = joint.join(told.iter().copied());
            for (rail, expected) in told.iter().enumerate() {
                assert_eq!(joint.on(rail, key), *expected, "{joint:?}");
            }
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
