//! All to all with a layout for each partner.
//!
//! Where the members share a host, each part is written from its layout straight to its owner's
//! board, and from the other's board straight to where its layout puts it. Nothing is packed in
//! between. Elsewhere parts are packed when the call begins, sent as parts of an `alltoallv`, and
//! unpacked when all have come.
//!
//! It is an `alltoallv` of bytes: a member with layouts may meet one with plain parts.

use crate::Call;
use crate::board::{Data, Layouts, Put, Take};
use crate::combine::By;
use crate::combine::Fold;
use crate::element::Element;
use crate::engine::Op;
use crate::error::{CollectiveError, Result};
use crate::request::{RawPersistent, Request};
use crate::select::Way;
use crate::team::{Key, Team};
use lapis_core::message::{Gather, Scatter};
use lapis_schedules::tree::Parts;
use lapis_schedules::{Buffer, Span};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a member gives another one, or gets from it: so many bytes of a layout.
///
/// Layouts call nothing of Lapis. They are used from whatever thread carries the call on.
#[derive(Clone, Debug)]
pub struct Part<L> {
    /// Where they are: a [`Gather`] for what is given, a [`Scatter`] for what is got.
    pub layout: L,
    /// How many.
    pub len: usize,
}

/// Bytes of a member's own part that are copied at once.
const STEP: usize = 4096;

/// Parts one behind the other, as if they were packed.
struct Packed {
    counts: Vec<usize>,
    starts: Vec<usize>,
    len: usize,
}

impl Packed {
    /// Lengths that are too many for memory are no call.
    fn of(lens: impl Iterator<Item = usize>) -> Option<Self> {
        let counts: Vec<usize> = lens.collect();
        let mut len = 0usize;
        let mut starts = Vec::with_capacity(counts.len());
        for count in &counts {
            starts.push(len);
            len = len.checked_add(*count).filter(|len| isize::try_from(*len).is_ok())?;
        }
        Some(Self { counts, starts, len })
    }

    fn parts(&self) -> Parts<'_> {
        Parts { counts: &self.counts, starts: &self.starts }
    }

    /// The part that has a byte, and which of the part's it is. Parts of no bytes have none.
    fn part(&self, at: usize) -> (usize, usize) {
        let part = self.starts.partition_point(|start| *start <= at) - 1;
        (part, at - self.starts[part])
    }
}

/// The lengths of a call's parts, both ways.
struct Lens {
    given: Packed,
    got: Packed,
}

impl Lens {
    fn call(&self) -> Call<'_> {
        Call::AllToAllV { give: self.given.parts(), get: self.got.parts() }
    }
}

/// A call's layouts. Rounds read and write spans of bytes, each within one part.
struct Laid<G, S> {
    give: Vec<Part<G>>,
    get: Vec<Part<S>>,
    lens: Arc<Lens>,
}

impl<G: Gather, S: Scatter> Laid<G, S> {
    fn of(team: &Team, give: Vec<Part<G>>, get: Vec<Part<S>>) -> Result<Self> {
        let (gives, gets) = (give.iter().map(|part| part.len), get.iter().map(|part| part.len));
        let (Some(given), Some(got)) = (Packed::of(gives.clone()), Packed::of(gets.clone())) else {
            let (count, members) = (gives.chain(gets).max().unwrap_or(0), team.len());
            return Err(CollectiveError::Overflow { call: "alltoallw", count, size: 1, members });
        };
        let lens = Arc::new(Lens { given, got });
        lens.call().check(team.rank(), team.len(), 1)?;
        Ok(Self { give, get, lens })
    }

    /// # Safety
    /// The layouts' memory is valid; `into` can be written.
    unsafe fn read(&mut self, span: Span, into: &mut [u8]) {
        debug_assert_eq!(span.buffer, Buffer::Input);
        let (part, at) = self.lens.given.part(span.start);
        // SAFETY: the caller's promise.
        unsafe { self.give[part].layout.read(at as u64, into) }
    }

    /// # Safety
    /// The layouts' memory is valid.
    unsafe fn write(&mut self, span: Span, bytes: &[u8]) {
        debug_assert_eq!(span.buffer, Buffer::Output);
        let (part, at) = self.lens.got.part(span.start);
        // SAFETY: the caller's promise.
        unsafe { self.get[part].layout.write(at as u64, bytes) }
    }
}

impl<G: Gather, S: Scatter> Data for Laid<G, S> {
    unsafe fn put(&mut self, puts: &[Put], area: *mut u8) {
        for put in puts.iter().filter(|put| put.from.len > 0) {
            // SAFETY: the area has room, and nobody reads it, by the caller's promise.
            unsafe {
                let into = std::slice::from_raw_parts_mut(area.add(put.at), put.from.len);
                self.read(put.from, into);
            }
        }
    }

    unsafe fn copy(&mut self, copies: &[(Span, Span)]) {
        let mut bytes = [0; STEP];
        for (from, into) in copies {
            for at in (0..from.len.min(into.len)).step_by(STEP) {
                let len = (from.len - at).min(STEP);
                let of = |span: Span| Span { start: span.start + at, len, ..span };
                // SAFETY: the caller's promise.
                unsafe {
                    self.read(of(*from), &mut bytes[..len]);
                    self.write(of(*into), &bytes[..len]);
                }
            }
        }
    }

    unsafe fn take(&mut self, take: &Take, area: *const u8, _: &Fold) {
        if take.into.len > 0 {
            // SAFETY: the area holds so many bytes, and nobody writes there, by the caller's
            // promise.
            unsafe { self.write(take.into, std::slice::from_raw_parts(area.add(take.at), take.into.len)) }
        }
    }
}

impl<G: Gather, S: Scatter> Layouts for Laid<G, S> {
    fn lens(&self) -> (usize, usize) {
        (self.lens.given.len, self.lens.got.len)
    }

    unsafe fn pack(&mut self, into: &mut [u8]) {
        for (part, start) in self.give.iter_mut().zip(&self.lens.given.starts) {
            // SAFETY: the caller's promise.
            unsafe { part.layout.read(0, &mut into[*start..start + part.len]) };
        }
    }

    unsafe fn unpack(&mut self, from: &[u8]) {
        for (part, start) in self.get.iter_mut().zip(&self.lens.got.starts) {
            // SAFETY: the caller's promise.
            unsafe { part.layout.write(0, &from[*start..start + part.len]) };
        }
    }
}

/// Gives everybody what the caller has for it, and gets what everybody has for the caller: parts of
/// any lengths, each in a layout of its own, by rank. All members call, in whatever form; those
/// without layouts may call [`all_to_all_v`](Team::all_to_all_v) with bytes.
///
/// Errors of all of them: as for any collective; lists that are not as long as the team; lengths
/// that are more than memory.
#[allow(clippy::missing_errors_doc, reason = "they are the same for all, and stand above")]
impl Team {
    /// Returns when the caller has got its parts.
    ///
    /// # Safety
    /// The memory that the layouts name is valid and nobody else's until the call returns, and what
    /// is given does not lie where something goes.
    #[doc(alias = "lapis_alltoallw")]
    pub unsafe fn all_to_all_w<G: Gather, S: Scatter>(
        &self,
        give: Vec<Part<G>>,
        get: Vec<Part<S>>,
    ) -> Result<()> {
        let mut laid = Laid::of(self, give, get)?;
        let lens = Arc::clone(&laid.lens);
        let call = lens.call();
        self.context().may_block(call.name())?;
        if self.way(&call, u8::TYPE, true) == Some(Way::Host) {
            let none = (std::ptr::null(), std::ptr::null_mut());
            // SAFETY: the layouts are valid by the caller's promise; nothing else is used.
            let ended = unsafe {
                self.in_rounds(&call, u8::TYPE, By::Nothing, none, |work, plan| work.run_on(plan, &mut laid))
            };
            if let Ok(ended) = ended {
                return ended;
            }
        }
        // SAFETY: the caller's promise; this call waits for the end, with which the layouts go.
        unsafe {
            let (op, key) = self.prepare_laid(laid)?;
            self.begin_prepared(op, 0, std::ptr::null(), std::ptr::null_mut());
            let ended = self.0.engine.wait(self.context(), self.0.members, op);
            self.give_back(op, key);
            ended
        }
    }

    /// Begins it. The request owns the layouts.
    ///
    /// # Safety
    /// The memory that the layouts name is valid and nobody else's until the operation has ended,
    /// and what is given does not lie where something goes. Dropping the request waits.
    #[doc(alias = "lapis_ialltoallw")]
    pub unsafe fn start_all_to_all_w<G: Gather + 'static, S: Scatter + 'static>(
        &self,
        give: Vec<Part<G>>,
        get: Vec<Part<S>>,
    ) -> Result<Request<()>> {
        // SAFETY: the caller's promise; layouts that borrow nothing live as long as the operation.
        unsafe {
            let (op, key) = self.prepare_laid(Laid::of(self, give, get)?)?;
            self.begin_prepared(op, 0, std::ptr::null(), std::ptr::null_mut());
            Ok(Request::of(self, op, key))
        }
    }

    /// Sets it up, to be started many times. All members set it up or call it in another form each
    /// time.
    ///
    /// # Safety
    /// The memory that the layouts name is valid as long as the operation is kept, and nobody
    /// else's while it is under way, and what is given does not lie where something goes.
    #[doc(alias = "lapis_alltoallw_init")]
    pub unsafe fn persistent_all_to_all_w<G: Gather + 'static, S: Scatter + 'static>(
        &self,
        give: Vec<Part<G>>,
        get: Vec<Part<S>>,
    ) -> Result<RawPersistent> {
        // SAFETY: layouts that borrow nothing live as long as the operation.
        let (op, key) = unsafe { self.prepare_laid(Laid::of(self, give, get)?) }?;
        Ok(RawPersistent::of_layouts(self, op, key))
    }

    /// An operation ready to run that has layouts.
    ///
    /// # Safety
    /// What the layouts borrow lives as long as the operation.
    unsafe fn prepare_laid<'l>(
        &self,
        laid: Laid<impl Gather + 'l, impl Scatter + 'l>,
    ) -> Result<(NonNull<Op>, Option<Key>)> {
        let (op, key) = self.prepare(&laid.lens.call(), u8::TYPE, By::Nothing)?;
        let layouts: Box<dyn Layouts + 'l> = Box::new(laid);
        // SAFETY: the caller's promise; the operation has just been made, and is nobody else's.
        unsafe {
            let layouts = std::mem::transmute::<Box<dyn Layouts + 'l>, Box<dyn Layouts>>(layouts);
            (*op.as_ptr()).lay_out(layouts);
        }
        Ok((op, key))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_found_in_its_part_though_others_have_none() {
        let packed = Packed::of([0, 3, 0, 0, 2, 0].into_iter()).expect("short");
        assert_eq!((packed.len, &packed.starts[..]), (5, &[0, 0, 3, 3, 3, 5][..]));
        assert_eq!([0, 2, 3, 4].map(|at| packed.part(at)), [(1, 0), (1, 2), (4, 0), (4, 1)]);
        assert!(Packed::of([usize::MAX, 1].into_iter()).is_none());
        assert!(Packed::of([isize::MAX as usize, 1].into_iter()).is_none());
    }
}
