//! Collectives on non-contiguous data: broadcast, gather, scatter, allgather, alltoall, and
//! exchange with neighbours, each part in a layout of its own.
//!
//! Where the members share a host, each part is written from its layout straight to its owner's
//! board, and from the other's board straight to the places of its layout. Messages, as between
//! neighbours, are also filled from layouts and emptied into them. If members forward data, parts
//! are packed when the call begins, sent as bytes, and unpacked when all have arrived.
//!
//! Each is the same call of bytes: a member with layouts may meet one with plain parts.

mod shape;

use crate::board::{Data, Layouts, Put, Take};
use crate::combine::{By, Fold};
use crate::element::Element;
use crate::engine::Op;
use crate::error::Result;
use crate::persistent::RawPersistent;
use crate::request::Request;
use crate::select::Way;
use crate::team::Team;
use lapis_core::context::MustReturn;
use lapis_core::message::{Gather, Scatter};
use lapis_schedules::Span;
use shape::{Shape, What};
use std::ptr::NonNull;
use std::sync::Arc;

/// A part that a member sends to another one, or receives from it: a number of bytes in a layout.
///
/// Layouts make no calls to Lapis. They are used by any thread that makes progress.
#[derive(Clone, Debug)]
pub struct Part<L> {
    /// The layout: a [`Gather`] for parts that are sent, a [`Scatter`] for parts that are received.
    pub layout: L,
    /// The number of bytes.
    pub len: usize,
}

/// Bytes of a member's own part that are copied at once.
const STEP: usize = 4096;

/// A call's layouts. Rounds read spans of bytes of one part each, and write those of one or more.
struct Work<G, S> {
    give: Vec<Part<G>>,
    get: Vec<Part<S>>,
    shape: Arc<Shape>,
}

impl<G: Gather, S: Scatter> Data for Work<G, S> {
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

    unsafe fn take(&mut self, take: &Take, area: *const u8, _: &Fold) -> Result<()> {
        if take.into.len > 0 {
            // SAFETY: the area holds so many bytes, and nobody writes there, by the caller's
            // promise.
            unsafe { self.write(take.into, std::slice::from_raw_parts(area.add(take.at), take.into.len)) }
        }
        Ok(())
    }
}

/// Has a layout do its part, amid the work of a call.
fn must_return(access: impl FnOnce()) {
    MustReturn::during("a layout", access);
}

impl<G: Gather, S: Scatter> Layouts for Work<G, S> {
    unsafe fn read(&mut self, span: Span, into: &mut [u8]) {
        let (part, at) = self.shape.read_at(span);
        // SAFETY: the caller's promise.
        unsafe { must_return(|| self.give[part].layout.read(at as u64, into)) }
    }

    unsafe fn write(&mut self, span: Span, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let (part, at) = self.shape.write_at(Span { start: span.start + done, ..span });
            let part = &mut self.get[part];
            let len = (bytes.len() - done).min(part.len - at);
            // SAFETY: the bytes lie within the span, for which the caller vouches, and end with
            // this part at the latest.
            unsafe { must_return(|| part.layout.write(at as u64, &bytes[done..done + len])) };
            done += len;
        }
    }

    fn lens(&self) -> (usize, usize) {
        self.shape.lens()
    }

    unsafe fn pack(&mut self, input: &mut [u8], output: &mut [u8]) {
        let into = if self.shape.gives_output() { output } else { input };
        for (part, start) in self.give.iter_mut().zip(self.shape.given_at()) {
            // SAFETY: the caller's promise.
            unsafe { must_return(|| part.layout.read(0, &mut into[*start..start + part.len])) };
        }
    }

    unsafe fn unpack(&mut self, output: &[u8]) {
        for (part, start) in self.get.iter_mut().zip(self.shape.got_at()) {
            // SAFETY: the caller's promise.
            unsafe { must_return(|| part.layout.write(0, &output[*start..start + part.len])) };
        }
    }
}

/// A collective on layouts, described by a method of [`Team`] but not started: call it in one of
/// its forms. All members call it, in any form; those without layouts may make the same call on
/// bytes.
///
/// Errors of all forms: as for any collective.
#[must_use = "nothing is done before it is called"]
pub struct Laid<G, S> {
    team: Team,
    work: Work<G, S>,
}

impl<G, S> std::fmt::Debug for Laid<G, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Laid").field("call", &self.work.shape.call()).finish_non_exhaustive()
    }
}

/// Collectives on layouts: each returns a [`Laid`], which is called in one of its forms.
///
/// Errors of all of them: lists that are not as long as the team, lengths that exceed all memory, a
/// root or a neighbour that is no member, different lengths of the caller's part for itself.
#[allow(clippy::missing_errors_doc, reason = "they are the same for all, and stand above")]
impl Team {
    fn laid<G, S>(&self, what: What, give: Vec<Part<G>>, get: Vec<Part<S>>) -> Result<Laid<G, S>> {
        let at = (self.rank(), self.len());
        let shape = Shape::of(what, at, give.iter().map(|part| part.len), get.iter().map(|part| part.len))?;
        Ok(Laid { team: self.clone(), work: Work { give, get, shape: Arc::new(shape) } })
    }

    /// Broadcast: the root's bytes are read from its layout, and written to those of the others. It
    /// matches a [`broadcast`](Self::broadcast) of bytes.
    #[doc(alias = "lapis_bcastw")]
    pub fn broadcast_w<L: Gather + Scatter>(&self, data: Part<L>, root: usize) -> Result<Laid<L, L>> {
        let (give, get) = if self.rank() == root { (vec![data], vec![]) } else { (vec![], vec![data]) };
        self.laid(What::Broadcast { root }, give, get)
    }

    /// Gather: the root receives a part from each member; `get` by rank, at the root only. It
    /// matches a [`gather_v`](Self::gather_v) of bytes.
    #[doc(alias = "lapis_gatherw")]
    pub fn gather_w<G: Gather, S: Scatter>(
        &self,
        give: Part<G>,
        get: Vec<Part<S>>,
        root: usize,
    ) -> Result<Laid<G, S>> {
        let get = if self.rank() == root { get } else { Vec::new() };
        self.laid(What::Gather { root }, vec![give], get)
    }

    /// Scatter: each member receives a part from the root; `give` by rank, at the root only. It
    /// matches a [`scatter_v`](Self::scatter_v) of bytes.
    #[doc(alias = "lapis_scatterw")]
    pub fn scatter_w<G: Gather, S: Scatter>(
        &self,
        give: Vec<Part<G>>,
        get: Part<S>,
        root: usize,
    ) -> Result<Laid<G, S>> {
        let give = if self.rank() == root { give } else { Vec::new() };
        self.laid(What::Scatter { root }, give, vec![get])
    }

    /// Allgather: each member receives a part from each; `get` by rank. It matches an
    /// [`all_gather_v`](Self::all_gather_v) of bytes.
    #[doc(alias = "lapis_allgatherw")]
    pub fn all_gather_w<G: Gather, S: Scatter>(
        &self,
        give: Part<G>,
        get: Vec<Part<S>>,
    ) -> Result<Laid<G, S>> {
        self.laid(What::AllGather, vec![give], get)
    }

    /// Alltoall: each member sends a different part to each; parts by rank. It matches an
    /// [`all_to_all_v`](Self::all_to_all_v) of bytes.
    #[doc(alias = "lapis_alltoallw")]
    pub fn all_to_all_w<G: Gather, S: Scatter>(
        &self,
        give: Vec<Part<G>>,
        get: Vec<Part<S>>,
    ) -> Result<Laid<G, S>> {
        self.laid(What::AllToAll, give, get)
    }

    /// Neighbour exchange along edges: a part for each edge, and the rank at its other end. Several
    /// edges between two members keep their order. It matches [`neighbours`](Self::neighbours) on
    /// bytes.
    #[doc(alias = "lapis_neighboursw")]
    pub fn neighbours_w<G: Gather, S: Scatter>(
        &self,
        give: Vec<(usize, Part<G>)>,
        get: Vec<(usize, Part<S>)>,
    ) -> Result<Laid<G, S>> {
        let ((to, give), (from, get)) = (give.into_iter().unzip(), get.into_iter().unzip());
        self.laid(What::Neighbours { to, from }, give, get)
    }
}

#[allow(clippy::missing_errors_doc, reason = "they are those of any collective")]
impl<G: Gather, S: Scatter> Laid<G, S> {
    /// The blocking form: returns when the caller has received its parts.
    ///
    /// # Safety
    /// The memory that the layouts name is valid and not used otherwise until the call returns, and
    /// parts that are sent do not overlap parts that are received.
    pub unsafe fn call(mut self) -> Result<()> {
        let shape = Arc::clone(&self.work.shape);
        let call = shape.call();
        let team = self.team.clone();
        team.context().may_block(call.name())?;
        if team.way(&call, u8::TYPE, true) == Some(Way::Host) {
            // SAFETY: the layouts are valid by the caller's promise.
            if let Ok(ended) = unsafe { team.lay_through_memory(&call, &mut self.work) } {
                return ended;
            }
        }
        // SAFETY: the caller's promise; this call waits for the end, with which the layouts go.
        unsafe {
            let op = self.prepare()?;
            team.begin_prepared(op, 0, std::ptr::null(), std::ptr::null_mut());
            let ended = team.0.engine.wait(team.context(), team.0.members, op);
            team.give_back(op, None);
            ended
        }
    }

    /// The nonblocking form. The request owns the layouts.
    ///
    /// # Safety
    /// The memory that the layouts name is valid and not used otherwise until the operation has
    /// ended, and parts that are sent do not overlap parts that are received. Dropping the request
    /// waits.
    pub unsafe fn start(self) -> Result<Request<()>>
    where
        G: 'static,
        S: 'static,
    {
        let team = self.team.clone();
        // SAFETY: the caller's promise; layouts that borrow nothing live as long as the operation.
        unsafe {
            let op = self.prepare()?;
            team.begin_prepared(op, 0, std::ptr::null(), std::ptr::null_mut());
            Ok(Request::of(&team, op, None))
        }
    }

    /// The persistent form. Each member sets it up, or calls it in another form each time.
    ///
    /// # Safety
    /// The memory that the layouts name is valid as long as the operation exists, and not used
    /// otherwise while it is in progress, and parts that are sent do not overlap parts that are
    /// received.
    pub unsafe fn persistent(self) -> Result<RawPersistent>
    where
        G: 'static,
        S: 'static,
    {
        let team = self.team.clone();
        // SAFETY: layouts that borrow nothing live as long as the operation.
        let op = unsafe { self.prepare() }?;
        Ok(RawPersistent::of_layouts(&team, op))
    }

    /// An operation ready to run.
    ///
    /// # Safety
    /// What the layouts borrow lives as long as the operation.
    unsafe fn prepare<'l>(self) -> Result<NonNull<Op>>
    where
        G: 'l,
        S: 'l,
    {
        let op = self.team.prepare_new(&self.work.shape.call(), u8::TYPE, By::Nothing)?;
        let layouts: Box<dyn Layouts + 'l> = Box::new(self.work);
        // SAFETY: the caller's promise; the operation has just been made, and is nobody else's.
        unsafe {
            let layouts = std::mem::transmute::<Box<dyn Layouts + 'l>, Box<dyn Layouts>>(layouts);
            (*op.as_ptr()).lay_out(layouts);
        }
        Ok(op)
    }
}
