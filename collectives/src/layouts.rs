//! All to all with a layout for each partner.
//!
//! Where the members share a host, each part is written from its layout straight to its owner's
//! board, and from the other's board straight to where its layout puts it. Nothing is packed in
//! between. Elsewhere parts are packed, sent as parts of an `alltoallv`, and unpacked.
//!
//! It is an `alltoallv` of bytes: a member with layouts may meet one with plain parts.

use crate::Call;
use crate::board::{Data, Put, Take};
use crate::combine::By;
use crate::element::Element;
use crate::engine::Fold;
use crate::error::{CollectiveError, Result};
use crate::select::Way;
use crate::team::Team;
use lapis_core::message::{Gather, Scatter};
use lapis_schedules::tree::Parts;
use lapis_schedules::{Buffer, Span};

/// What a member gives another one: so many bytes of a layout.
pub struct Given<'a> {
    /// Where they are.
    pub layout: &'a mut dyn Gather,
    /// How many.
    pub len: usize,
}

/// What a member gets from another one: so many bytes for a layout.
pub struct Got<'a> {
    /// Where they go.
    pub layout: &'a mut dyn Scatter,
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

/// What rounds read and write: spans of bytes, each within one part.
struct Layouts<'a, 'b, 'c> {
    give: &'a mut [Given<'b>],
    get: &'a mut [Got<'c>],
    given: &'a Packed,
    got: &'a Packed,
}

impl Layouts<'_, '_, '_> {
    /// # Safety
    /// The layouts' memory is valid; `into` can be written.
    unsafe fn read(&mut self, span: Span, into: &mut [u8]) {
        debug_assert_eq!(span.buffer, Buffer::Input);
        let (part, at) = self.given.part(span.start);
        // SAFETY: the caller's promise.
        unsafe { self.give[part].layout.read(at as u64, into) }
    }

    /// # Safety
    /// The layouts' memory is valid.
    unsafe fn write(&mut self, span: Span, bytes: &[u8]) {
        debug_assert_eq!(span.buffer, Buffer::Output);
        let (part, at) = self.got.part(span.start);
        // SAFETY: the caller's promise.
        unsafe { self.get[part].layout.write(at as u64, bytes) }
    }
}

impl Data for Layouts<'_, '_, '_> {
    fn size(&self) -> usize {
        1
    }

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

impl Team {
    /// Gives everybody what the caller has for it, and gets what everybody has for the caller:
    /// parts of any lengths, each in a layout of its own, by rank. All members call; those without
    /// layouts may call [`all_to_all_v`](Self::all_to_all_v) with bytes.
    ///
    /// # Errors
    /// As for any collective, and lists that are not as long as the team.
    ///
    /// # Safety
    /// The memory that the layouts name is valid and nobody else's until the call returns, and what
    /// is given does not lie where something goes.
    #[doc(alias = "lapis_alltoallw")]
    pub unsafe fn all_to_all_w(&self, give: &mut [Given<'_>], get: &mut [Got<'_>]) -> Result<()> {
        let given = Packed::of(give.iter().map(|part| part.len));
        let got = Packed::of(get.iter().map(|part| part.len));
        let (Some(given), Some(got)) = (given, got) else {
            let count =
                give.iter().map(|part| part.len).chain(get.iter().map(|part| part.len)).max().unwrap_or(0);
            return Err(CollectiveError::Overflow { call: "alltoallw", count, size: 1, members: self.len() });
        };
        let call = Call::AllToAllV { give: given.parts(), get: got.parts() };
        call.check(self.rank(), self.len(), 1)?;
        self.context().may_block(call.name())?;
        if self.way(&call, u8::TYPE, true) == Some(Way::Host) {
            let mut data = Layouts { give: &mut *give, get: &mut *get, given: &given, got: &got };
            let none = (std::ptr::null(), std::ptr::null_mut());
            // SAFETY: the layouts are valid by the caller's promise; nothing else is used.
            let ended = unsafe {
                self.in_rounds(&call, u8::TYPE, By::Nothing, none, |work, plan| work.run_on(plan, &mut data))
            };
            if let Ok(ended) = ended {
                return ended;
            }
        }
        let (mut input, mut output) = (vec![0; given.len], vec![0; got.len]);
        for (part, start) in give.iter_mut().zip(&given.starts) {
            // SAFETY: the caller's promise.
            unsafe { part.layout.read(0, &mut input[*start..start + part.len]) };
        }
        // SAFETY: both are as long as the parts say.
        unsafe { self.call_raw(&call, u8::TYPE, By::Nothing, input.as_ptr(), output.as_mut_ptr()) }?;
        for (part, start) in get.iter_mut().zip(&got.starts) {
            // SAFETY: the caller's promise.
            unsafe { part.layout.write(0, &output[*start..start + part.len]) };
        }
        Ok(())
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
