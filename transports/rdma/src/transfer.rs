//! Outstanding puts and gets: their tokens, and the local memory that they need.
//!
//! A provider that wants to know our side's memory (`FI_MR_LOCAL`) gets, in this order: nothing, if
//! it copies the bytes of a short put during the call; the registration that holds the range; a
//! registered buffer that the bytes are copied through; a registration for the time of the
//! transfer. There is no cache of the latter: nothing here tells when a program unmaps memory, and
//! a stale entry would send bytes of somewhere else.
//!
//! A put has ended when its bytes are in the target's memory (`FI_DELIVERY_COMPLETE`). Where the
//! provider doesn't say that, a byte of it is read back, which can't overtake it.

use crate::buffers::Buffers;
use crate::endpoint::{Access, Context, Endpoint, Local, Registration, Remote, is_busy};
use crate::memory::Memory;
use crate::send::Traffic;
use lapis_core::transport::{PeerId, RawSlice, TransportError};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Transfers that may be under way at a time.
const COUNT: usize = 1024;
/// Shorter ones may go through buffers of ours.
const BOUNCE: usize = 8192;
const BOUNCES: usize = 64;
/// How long a transfer with a process that is gone may take to end by itself: longer than bytes
/// stay on the wire, shorter than some providers try again.
const GRACE: Duration = Duration::from_secs(1);
/// So much of it passes between two looks at most: what came meanwhile is read by the next ones.
const LOOK: Duration = Duration::from_millis(50);

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Put,
    Get,
}

/// A put or get.
#[derive(Clone, Copy)]
pub(crate) struct TransferRequest {
    pub(crate) direction: Direction,
    pub(crate) peer: PeerId,
    /// Our cookie with the peer, by which a process that takes its place is told from it.
    pub(crate) cookie: u64,
    pub(crate) local: RawSlice,
    pub(crate) remote: Remote,
    /// Told when it has ended.
    pub(crate) token: u64,
    /// Our rail that it should take, if there are several.
    pub(crate) rail: Option<usize>,
    /// For a piece of a striped one, whose place `token` is then.
    pub(crate) piece: Option<Begun>,
}

/// How a piece began.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) at: Instant,
    /// How often the peer had closed its rail.
    pub(crate) life: u32,
}

/// Our side's memory, for as long as the provider uses it.
enum Side {
    /// The provider needs to know nothing.
    Plain,
    /// A bounce buffer.
    Bounced(usize),
    /// Registered, for this transfer alone or for others, too.
    Registered { until_the_end: Rc<Registration> },
}

struct Outstanding {
    request: TransferRequest,
    side: Side,
    /// All that is missing is the byte that is read back.
    confirming: bool,
    fate: Fate,
}

/// What becomes of a transfer whatever the provider says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The provider says when it has ended.
    Open,
    /// Its peer is gone: it ends when so much time has passed at the latest.
    Doomed(Duration),
    /// Whoever wanted it has been told. Its place is free when the provider is done with it.
    Told,
}

/// A transfer that has ended.
pub(crate) struct Ended {
    pub(crate) request: TransferRequest,
    /// libfabric's error number, if it ended badly.
    pub(crate) outcome: Result<(), i32>,
}

/// See the module.
pub(crate) struct Transfers {
    contexts: Box<[Context]>,
    outstanding: Box<[Option<Outstanding>]>,
    free: Vec<usize>,
    /// Registered buffers, from the first use on.
    bounces: Option<Buffers>,
    free_bounces: Vec<usize>,
    /// Puts whose byte is still to be read back.
    to_confirm: VecDeque<usize>,
    /// Transfers that are doomed.
    doomed: usize,
    /// The last look at those.
    looked: Option<Instant>,
    bounce_key: u64,
    /// The endpoint's number among this task's.
    rail: usize,
    /// Puts and gets that have ended well, and their bytes.
    pub(crate) put: Traffic,
    pub(crate) got: Traffic,
}

impl Transfers {
    /// `bounce_key`: the key of the buffers' registration, where we choose keys.
    pub(crate) fn new(rail: usize, bounce_key: u64) -> Self {
        Self {
            contexts: Box::default(),
            outstanding: Box::default(),
            free: Vec::new(),
            bounces: None,
            free_bounces: Vec::new(),
            to_confirm: VecDeque::new(),
            doomed: 0,
            looked: None,
            bounce_key,
            rail,
            put: Traffic::default(),
            got: Traffic::default(),
        }
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.free.len() == self.contexts.len()
    }

    /// Whether something waits for libfabric to take it.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.to_confirm.is_empty() || self.has_doomed()
    }

    /// Whether some are to be ended at their time.
    #[inline]
    pub(crate) fn has_doomed(&self) -> bool {
        self.doomed > 0
    }

    /// The process of a peer is gone: transfers with it have ended when the provider says so, or
    /// when their time is over. How many there are.
    #[cold]
    pub(crate) fn doom(&mut self, peer: PeerId, now: Instant) -> usize {
        let mut count = 0;
        if !self.has_doomed() {
            self.looked = Some(now);
        }
        for outstanding in self.outstanding.iter_mut().flatten().filter(|u| u.request.peer == peer) {
            count += 1;
            if outstanding.fate == Fate::Open {
                outstanding.fate = Fate::Doomed(GRACE);
                self.doomed += 1;
            }
        }
        count
    }

    /// One whose time is over. The provider may still name it: its place stays taken until then.
    #[cold]
    pub(crate) fn end_doomed(&mut self, now: Instant) -> Option<Ended> {
        let passed = self.looked.replace(now).map_or(Duration::ZERO, |before| now.duration_since(before));
        for outstanding in self.outstanding.iter_mut().flatten() {
            if let Fate::Doomed(left) = &mut outstanding.fate {
                *left = left.saturating_sub(passed.min(LOOK));
            }
        }
        let over = |u: &&mut Outstanding| u.fate == Fate::Doomed(Duration::ZERO);
        let outstanding = self.outstanding.iter_mut().flatten().find(over)?;
        outstanding.fate = Fate::Told;
        self.doomed -= 1;
        Some(Ended { request: outstanding.request, outcome: Err(libc::ETIMEDOUT) })
    }

    /// Whether libfabric has gets that it has not ended, be they told of or not.
    pub(crate) fn has_gets(&self) -> bool {
        let mut outstanding = self.outstanding.iter().flatten();
        outstanding.any(|outstanding| outstanding.request.direction == Direction::Get)
    }

    /// Whether any with a peer are under way.
    pub(crate) fn has_with(&self, peer: PeerId) -> bool {
        self.outstanding.iter().flatten().any(|outstanding| outstanding.request.peer == peer)
    }

    /// One of all that are under way, with an error number. The endpoint is closed.
    #[cold]
    pub(crate) fn end_any(&mut self, code: i32) -> Option<Ended> {
        self.to_confirm.clear();
        while let Some(index) = self.outstanding.iter().position(Option::is_some) {
            if let Some(ended) = self.end(index, Err(code)) {
                return Some(ended);
            }
        }
        None
    }

    /// The endpoint, to which the registration is bound, closes for good.
    pub(crate) fn unregister(&mut self) {
        if let Some(bounces) = &mut self.bounces {
            bounces.unregister();
        }
    }

    fn make_room(&mut self, endpoint: &mut Endpoint) -> Result<(), TransportError> {
        if self.contexts.is_empty() {
            self.contexts = (0..COUNT).map(|_| Context::new()).collect();
            self.outstanding = (0..COUNT).map(|_| None).collect();
            self.free = (0..COUNT).rev().collect();
        }
        let needed = endpoint.needs_local() || !endpoint.delivers();
        if self.bounces.is_none() && needed {
            self.bounces = Some(Buffers::new(endpoint, BOUNCES, BOUNCE, (Access::Bounce, self.bounce_key))?);
            // The first one takes the bytes that are read back.
            self.free_bounces = (1..BOUNCES).collect();
        }
        Ok(())
    }

    /// Begins a transfer; the error is libfabric's number.
    ///
    /// # Safety
    /// Both sides are as the operation demands until it has ended.
    pub(crate) unsafe fn begin(
        &mut self,
        endpoint: &mut Endpoint,
        memory: &mut Memory,
        request: TransferRequest,
    ) -> Result<(), i32> {
        self.make_room(endpoint).map_err(|_| libc::ENOMEM)?;
        let Some(&index) = self.free.last() else { return Err(libc::EAGAIN) };
        let inject = request.direction == Direction::Put && request.local.len <= endpoint.inject_size();
        // SAFETY: the caller's promise.
        let side = unsafe { self.side(endpoint, memory, &request, inject) }?;
        let context = &raw mut self.contexts[index];
        let here = self.here(&request, &side);
        // SAFETY: the memory and the context stay until the transfer has ended.
        let outcome = unsafe {
            match request.direction {
                Direction::Put => endpoint.write(here, request.remote, context, inject),
                Direction::Get => endpoint.read(here, request.remote, context),
            }
        };
        if let Err(code) = outcome {
            self.give_back(side);
            return Err(code);
        }
        self.free.pop();
        self.outstanding[index] = Some(Outstanding { request, side, confirming: false, fate: Fate::Open });
        Ok(())
    }

    /// What our side needs.
    ///
    /// # Safety
    /// The local side is as the operation demands.
    unsafe fn side(
        &mut self,
        endpoint: &mut Endpoint,
        memory: &mut Memory,
        request: &TransferRequest,
        inject: bool,
    ) -> Result<Side, i32> {
        if inject || !endpoint.needs_local() {
            return Ok(Side::Plain);
        }
        let access = match request.direction {
            Direction::Put => Access::Source,
            Direction::Get => Access::Sink,
        };
        if let Some(registration) = memory.holding(request.local, access, self.rail) {
            return Ok(Side::Registered { until_the_end: registration });
        }
        if request.local.len <= BOUNCE {
            let (Some(bounces), Some(index)) = (&self.bounces, self.free_bounces.pop()) else {
                return Err(libc::EAGAIN);
            };
            if request.direction == Direction::Put {
                // SAFETY: the buffer is free and long enough; the source is readable.
                unsafe {
                    std::ptr::copy_nonoverlapping(request.local.ptr, bounces.at(index), request.local.len)
                };
            }
            return Ok(Side::Bounced(index));
        }
        // SAFETY: our side stays mapped until the transfer has ended, and so does the registration.
        let registration = unsafe { memory.for_transfer(endpoint, request.local, access) }?;
        Ok(Side::Registered { until_the_end: Rc::new(registration) })
    }

    /// Where the provider finds our side, of which it may want to know the registration.
    fn here<'a>(&'a self, request: &TransferRequest, side: &'a Side) -> Local<'a> {
        let (ptr, len) = (request.local.ptr, request.local.len);
        let (at, registration) = match (side, &self.bounces) {
            (Side::Bounced(index), Some(bounces)) => (bounces.at(*index), bounces.registration()),
            (Side::Registered { until_the_end }, _) => (ptr, Some(&**until_the_end)),
            _ => (ptr, None),
        };
        Local { at, len, registration }
    }

    fn give_back(&mut self, side: Side) {
        if let Side::Bounced(index) = side {
            self.free_bounces.push(index);
        }
    }

    /// Which transfer a completion is of; `None` for one of others.
    pub(crate) fn index_of(&self, context: *mut c_void) -> Option<usize> {
        let offset = context.addr().checked_sub(self.contexts.as_ptr().addr())?;
        let index = offset / size_of::<Context>();
        (offset % size_of::<Context>() == 0 && index < self.contexts.len()).then_some(index)
    }

    /// libfabric is done with a transfer. `None`: not all of it has ended.
    pub(crate) fn ended(
        &mut self,
        endpoint: &mut Endpoint,
        index: usize,
        outcome: Result<(), i32>,
    ) -> Option<Ended> {
        let outstanding = self.outstanding[index].as_mut()?;
        let put = outstanding.request.direction == Direction::Put;
        if put && outcome.is_ok() && !outstanding.confirming && !endpoint.delivers() {
            if outstanding.fate != Fate::Open {
                // Nobody is left to read the byte from.
                return self.end(index, Err(libc::ECONNABORTED));
            }
            outstanding.confirming = true;
            self.to_confirm.push_back(index);
            return self.confirm(endpoint);
        }
        self.end(index, outcome)
    }

    fn end(&mut self, index: usize, outcome: Result<(), i32>) -> Option<Ended> {
        let Outstanding { request, side, fate, .. } = self.outstanding[index].take()?;
        let told = fate == Fate::Told;
        self.doomed -= usize::from(matches!(fate, Fate::Doomed(_)));
        if !told
            && let (Side::Bounced(at), Some(bounces), Direction::Get, Ok(())) =
                (&side, &self.bounces, request.direction, outcome)
        {
            // SAFETY: the bytes have come; the destination is writable until the transfer ends.
            unsafe { std::ptr::copy_nonoverlapping(bounces.at(*at), request.local.ptr, request.local.len) };
        }
        self.give_back(side);
        self.free.push(index);
        if outcome.is_ok() {
            match request.direction {
                Direction::Put => self.put.count(request.local.len),
                Direction::Get => self.got.count(request.local.len),
            }
        }
        (!told).then_some(Ended { request, outcome })
    }

    /// Has bytes of ended puts read back, as far as there is room. A put of which that is
    /// impossible has ended badly.
    pub(crate) fn confirm(&mut self, endpoint: &mut Endpoint) -> Option<Ended> {
        while let Some(&index) = self.to_confirm.front() {
            let (Some(outstanding), Some(bounces)) = (&self.outstanding[index], &self.bounces) else {
                self.to_confirm.pop_front();
                continue;
            };
            let last = outstanding.request.local.len as u64 - 1;
            let remote =
                Remote { addr: outstanding.request.remote.addr + last, ..outstanding.request.remote };
            let context = &raw mut self.contexts[index];
            let here = Local { at: bounces.at(0), len: 1, registration: bounces.registration() };
            // SAFETY: the buffer takes such bytes only, and stays as long as the transport; the
            // context stays until the transfer has ended.
            match unsafe { endpoint.read(here, remote, context) } {
                Ok(()) => {}
                Err(code) if is_busy(code) => return None,
                Err(code) => {
                    self.to_confirm.pop_front();
                    return self.end(index, Err(code));
                }
            }
            self.to_confirm.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_nobody_looks_does_not_end_what_may_still_come() {
        let mut transfers = Transfers::new(0, 0);
        let request = TransferRequest {
            direction: Direction::Get,
            peer: 1,
            cookie: 0,
            local: RawSlice { ptr: std::ptr::null_mut(), len: 8 },
            remote: Remote { to: 0, addr: 0, key: 0 },
            token: 7,
            rail: None,
            piece: None,
        };
        let open = Outstanding { request, side: Side::Plain, confirming: false, fate: Fate::Open };
        transfers.outstanding = [Some(open)].into();
        let mut now = Instant::now();
        assert_eq!(transfers.doom(1, now), 1);
        now += 2 * GRACE;
        assert!(transfers.end_doomed(now).is_none(), "what has come is read after this look");
        let (back, step) = (now, LOOK / 5);
        let ended = loop {
            now += step;
            assert!(now < back + 2 * GRACE, "it never ends");
            if let Some(ended) = transfers.end_doomed(now) {
                break ended;
            }
        };
        assert_eq!((ended.request.token, ended.outcome), (7, Err(libc::ETIMEDOUT)));
        assert!(now >= back + GRACE - LOOK, "{:?}", now - back);
        assert!(!transfers.has_doomed());
    }
}
