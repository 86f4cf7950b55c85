//! Registered memory: memory that peers access by keys, and local memory that a provider requires
//! to be registered.

use crate::endpoint::{Access, Endpoint, Registration, is_busy};
use crate::keys::{Joint, Keys};
use crate::ranges::Ranges;
use lapis_core::transport::{RawSlice, RegionInfo, TransportError};
use std::collections::HashMap;
use std::rc::Rc;

/// How many such regions are tried to be told apart.
const TRIES: u32 = 64;

/// A region, and the registrations that go with it, by rail.
struct Region {
    base: u64,
    len: u64,
    access: Access,
    registrations: Vec<Option<Rc<Registration>>>,
}

/// What this task has registered.
pub(crate) struct Memory {
    regions: HashMap<u64, Region>,
    /// Where they are, by the same numbers.
    ranges: Ranges,
    keys: Keys,
    joint: Joint,
    next: u64,
}

impl Memory {
    pub(crate) fn new(keys: Keys, joint: Joint) -> Self {
        Self { regions: HashMap::new(), ranges: Ranges::default(), keys, joint, next: 0 }
    }

    /// How keys name regions on several rails.
    pub(crate) fn joint(&self) -> Joint {
        self.joint
    }

    /// Makes a range reachable by peers, through the endpoints of all rails: in these ways, of
    /// which the first that is possible is taken.
    ///
    /// # Safety
    /// The range stays mapped until [`release`](Self::release).
    pub(crate) unsafe fn register(
        &mut self,
        endpoints: &mut [&mut Endpoint],
        range: RawSlice,
        ways: &[Access],
    ) -> Result<RegionInfo, TransportError> {
        if range.len == 0 || range.ptr.addr().checked_add(range.len).is_none() {
            let text = format!("{} bytes at {:p} are no memory", range.len, range.ptr);
            return Err(TransportError::Invalid(text));
        }
        let count = self.joint.rails(endpoints.len());
        let endpoints = &mut endpoints[..count];
        // SAFETY: the caller's promise.
        let registered = unsafe { self.try_ways(endpoints, range, ways) };
        let (access, registrations) = registered.map_err(|code| endpoints[0].no_memory(range.len, code))?;
        if registrations.iter().any(|registered| registered.key() == u64::MAX) {
            return Err(TransportError::Unsupported);
        }
        let key = self.joint.join(registrations.iter().map(Registration::key));
        let registrations = registrations.into_iter().map(|one| Some(Rc::new(one))).collect();
        self.next += 1;
        let (base, len) = (range.ptr.addr() as u64, range.len as u64);
        self.ranges.insert(base, len, self.next);
        self.regions.insert(self.next, Region { base, len, access, registrations });
        Ok(RegionInfo { addr: base, len, id: self.next, key })
    }

    /// # Safety
    /// As [`register`](Self::register).
    unsafe fn try_ways(
        &mut self,
        endpoints: &mut [&mut Endpoint],
        range: RawSlice,
        ways: &[Access],
    ) -> Result<(Access, Vec<Registration>), i32> {
        let mut first = None;
        for &access in ways {
            // SAFETY: the caller's promise.
            match unsafe { self.try_register(endpoints, range, access) } {
                Ok(registrations) => return Ok((access, registrations)),
                // Where there is no room, memory that can be written must not seem as if it could
                // not: some providers end the connection of whoever writes there.
                Err(libc::ENOMEM) if first.is_none() => return Err(libc::ENOMEM),
                Err(code) => first = first.or(Some(code)),
            }
        }
        Err(first.unwrap_or(libc::EINVAL))
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
        endpoints: &mut [&mut Endpoint],
        range: RawSlice,
        access: Access,
    ) -> Result<Vec<Registration>, i32> {
        endpoints[0].populate(range);
        self.with_a_key(range, |key| {
            let each = endpoints.iter_mut().map(|endpoint| {
                // SAFETY: the caller's promise.
                let registered = unsafe { endpoint.register_as(range.ptr, range.len, access, key) };
                registered.map_err(|code| (code, endpoint.is_taken(code)))
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
        if let Some(region) = self.regions.remove(&id) {
            self.ranges.remove(region.base, region.len, id);
        }
    }

    /// A rail closes, to whose endpoint its registrations are bound: it can't while they are there.
    pub(crate) fn leave(&mut self, rail: usize) {
        for region in self.regions.values_mut() {
            if let Some(place) = region.registrations.get_mut(rail) {
                *place = None;
            }
        }
    }

    /// The registration on a rail that holds a range and allows this access, if there is one.
    /// Whoever uses it keeps it: it may have been made for another transfer, and be released before
    /// this one has ended.
    pub(crate) fn holding(&self, range: RawSlice, access: Access, rail: usize) -> Option<Rc<Registration>> {
        let (base, len) = (range.ptr.addr() as u64, range.len as u64);
        let holds = |r: &&Region| {
            let within = base.checked_sub(r.base).is_some_and(|at| at <= r.len && len <= r.len - at);
            within && r.access.serves(access)
        };
        let mut around = self.ranges.around(base, len).filter_map(|id| self.regions.get(&id));
        around.find(holds).and_then(|region| region.registrations.get(rail)?.clone())
    }
}
