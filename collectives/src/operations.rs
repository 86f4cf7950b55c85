//! The blocking collectives of a team, for typed data.

use crate::call::Call;
use crate::combine::{By, Combine};
use crate::element::Element;
use crate::error::Result;
use crate::team::Team;
use lapis_schedules::exchange::Edge;
use lapis_schedules::group::Group;
use lapis_schedules::tree::Parts;

/// The operations. Each is collective: all members call it. Lengths are in elements; parts for or
/// from all members are ordered by rank.
///
/// Errors of all of them: invalid lists, lengths or roots; calls that don't match; a member that is
/// gone, silent, purged or restarted; a call from within a handler.
#[allow(clippy::missing_errors_doc, reason = "they are the same for all, and stand above")]
impl Team {
    /// Barrier: returns when all members have called it.
    #[doc(alias = "lapis_barrier")]
    pub fn barrier(&self) -> Result<()> {
        self.call_in_place::<u8>(&Call::Barrier, By::Nothing, &mut [])
    }

    /// Broadcast: `data` becomes the root's at all members.
    #[doc(alias = "lapis_bcast")]
    pub fn broadcast<T: Element>(&self, data: &mut [T], root: usize) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::Broadcast { root, count }, By::Nothing, data)
    }

    /// Multicast: `data` becomes the root's at the members with the ranks `to`. All members call;
    /// nothing is sent to the others.
    #[doc(alias = "lapis_mcast")]
    pub fn multicast<T: Element>(&self, data: &mut [T], root: usize, to: &Group) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::Multicast { root, to, count }, By::Nothing, data)
    }

    /// Reduce: the root's output becomes the inputs of all members, folded. The others' output may
    /// be empty.
    #[doc(alias = "lapis_reduce")]
    pub fn reduce<'f, T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        by: impl Into<Combine<'f, T>>,
        root: usize,
    ) -> Result<()> {
        let count = input.len();
        self.call(&Call::Reduce { root, count }, by.into().of_bytes(), input, output)
    }

    /// Allreduce in place: `data` becomes the data of all members, folded.
    #[doc(alias = "lapis_allreduce")]
    pub fn all_reduce<'f, T: Element>(&self, data: &mut [T], by: impl Into<Combine<'f, T>>) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::AllReduce { count }, by.into().of_bytes(), data)
    }

    /// Allreduce: the output becomes the inputs of all members, folded.
    #[doc(alias = "lapis_allreduce")]
    pub fn all_reduce_into<'f, T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        by: impl Into<Combine<'f, T>>,
    ) -> Result<()> {
        let count = input.len();
        self.call(&Call::AllReduce { count }, by.into().of_bytes(), input, output)
    }

    /// Reduce_scatter: the output becomes the caller's part of all inputs, folded. `counts` has the
    /// length of each member's part, by rank.
    #[doc(alias = "lapis_reduce_scatter")]
    pub fn reduce_scatter<'f, T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        counts: &[usize],
        by: impl Into<Combine<'f, T>>,
    ) -> Result<()> {
        self.call(&Call::ReduceScatter { counts }, by.into().of_bytes(), input, output)
    }

    /// The same with parts of equal length, that of the output.
    #[doc(alias = "lapis_reduce_scatter_block")]
    pub fn reduce_scatter_block<'f, T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        by: impl Into<Combine<'f, T>>,
    ) -> Result<()> {
        let count = output.len();
        self.call(&Call::ReduceScatterBlock { count }, by.into().of_bytes(), input, output)
    }

    /// Gather: the root's output becomes the inputs of all members, by rank. The others' output may
    /// be empty.
    #[doc(alias = "lapis_gather")]
    pub fn gather<T: Element>(&self, input: &[T], output: &mut [T], root: usize) -> Result<()> {
        let count = input.len();
        self.call(&Call::Gather { root, count }, By::Nothing, input, output)
    }

    /// The same with inputs of any lengths; at the root, `parts` gives their places in the output.
    #[doc(alias = "lapis_gatherv")]
    pub fn gather_v<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        root: usize,
        parts: Option<Parts<'_>>,
    ) -> Result<()> {
        let mine = input.len();
        self.call(&Call::GatherV { root, mine, parts }, By::Nothing, input, output)
    }

    /// Scatter: the output becomes the caller's part of the root's input. The others' input may be
    /// empty.
    #[doc(alias = "lapis_scatter")]
    pub fn scatter<T: Element>(&self, input: &[T], output: &mut [T], root: usize) -> Result<()> {
        let count = output.len();
        self.call(&Call::Scatter { root, count }, By::Nothing, input, output)
    }

    /// The same with parts of any lengths; at the root, `parts` gives their places in the input.
    #[doc(alias = "lapis_scatterv")]
    pub fn scatter_v<T: Element>(
        &self,
        input: &[T],
        output: &mut [T],
        root: usize,
        parts: Option<Parts<'_>>,
    ) -> Result<()> {
        let mine = output.len();
        self.call(&Call::ScatterV { root, mine, parts }, By::Nothing, input, output)
    }

    /// Allgather: the output becomes the inputs of all members, by rank.
    #[doc(alias = "lapis_allgather")]
    pub fn all_gather<T: Element>(&self, input: &[T], output: &mut [T]) -> Result<()> {
        let count = input.len();
        self.call(&Call::AllGather { count }, By::Nothing, input, output)
    }

    /// The same with inputs of any lengths.
    #[doc(alias = "lapis_allgatherv")]
    pub fn all_gather_v<T: Element>(&self, input: &[T], output: &mut [T], parts: Parts<'_>) -> Result<()> {
        self.call(&Call::AllGatherV { parts }, By::Nothing, input, output)
    }

    /// Alltoall: part i of the output becomes the caller's part of member i's input; parts have
    /// `count` elements.
    #[doc(alias = "lapis_alltoall")]
    pub fn all_to_all<T: Element>(&self, input: &[T], output: &mut [T], count: usize) -> Result<()> {
        self.call(&Call::AllToAll { count }, By::Nothing, input, output)
    }

    /// The same with parts of any lengths.
    #[doc(alias = "lapis_alltoallv")]
    pub fn all_to_all_v<T: Element>(
        &self,
        input: &[T],
        give: Parts<'_>,
        output: &mut [T],
        get: Parts<'_>,
    ) -> Result<()> {
        self.call(&Call::AllToAllV { give, get }, By::Nothing, input, output)
    }

    /// Inclusive scan: `data` becomes the data of the members up to the caller, folded in order.
    #[doc(alias = "lapis_scan")]
    pub fn scan<'f, T: Element>(&self, data: &mut [T], by: impl Into<Combine<'f, T>>) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::Scan { count }, by.into().of_bytes(), data)
    }

    /// Exclusive scan: `data` becomes the data of the members before the caller, folded in order.
    /// That of rank 0 is unchanged.
    #[doc(alias = "lapis_exscan")]
    pub fn exscan<'f, T: Element>(&self, data: &mut [T], by: impl Into<Combine<'f, T>>) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::ExScan { count }, by.into().of_bytes(), data)
    }

    /// Neighbour exchange along the edges of a graph: parts of the input are sent, parts of the
    /// output received.
    #[doc(alias = "lapis_neighbours")]
    pub fn neighbours<T: Element>(
        &self,
        input: &[T],
        to: &[Edge],
        output: &mut [T],
        from: &[Edge],
    ) -> Result<()> {
        self.call(&Call::Neighbours { from, to }, By::Nothing, input, output)
    }
}
