//! The collectives that a team has, typed and blocking.

use crate::call::Call;
use crate::combine::{By, Combine};
use crate::element::Element;
use crate::error::Result;
use crate::team::Team;
use lapis_schedules::exchange::Edge;
use lapis_schedules::group::Group;
use lapis_schedules::tree::Parts;

/// The operations, each of them collective: all members call.
///
/// Errors of all of them: lists, lengths or roots that can't be; calls that don't match; a member
/// that is gone, silent, purged or was started anew; a call from within a handler.
#[allow(clippy::missing_errors_doc, reason = "they are the same for all, and stand above")]
impl Team {
    /// Returns when all members have called.
    #[doc(alias = "lapis_barrier")]
    pub fn barrier(&self) -> Result<()> {
        self.call_in_place::<u8>(&Call::Barrier, By::Nothing, &mut [])
    }

    /// Gives everybody the root's data.
    #[doc(alias = "lapis_bcast")]
    pub fn broadcast<T: Element>(&self, data: &mut [T], root: usize) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::Broadcast { root, count }, By::Nothing, data)
    }

    /// Gives the members at ranks `to` the root's data. All members call; nothing is sent to the
    /// others.
    #[doc(alias = "lapis_mcast")]
    pub fn multicast<T: Element>(&self, data: &mut [T], root: usize, to: &Group) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::Multicast { root, to, count }, By::Nothing, data)
    }

    /// Gives the root everybody's input, folded; the others' output may be empty.
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

    /// Replaces everybody's data by everybody's, folded.
    #[doc(alias = "lapis_allreduce")]
    pub fn all_reduce<'f, T: Element>(&self, data: &mut [T], by: impl Into<Combine<'f, T>>) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::AllReduce { count }, by.into().of_bytes(), data)
    }

    /// The same, leaving the input as it is.
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

    /// Gives everybody its part of everybody's inputs, folded; `counts` by rank.
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

    /// The same with parts of equal length, which is that of the output.
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

    /// Gives the root everybody's input, by rank; the others' output may be empty.
    #[doc(alias = "lapis_gather")]
    pub fn gather<T: Element>(&self, input: &[T], output: &mut [T], root: usize) -> Result<()> {
        let count = input.len();
        self.call(&Call::Gather { root, count }, By::Nothing, input, output)
    }

    /// The same with inputs of any lengths, for which the root says where they go.
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

    /// Gives everybody its part of the root's input; the others' input may be empty.
    #[doc(alias = "lapis_scatter")]
    pub fn scatter<T: Element>(&self, input: &[T], output: &mut [T], root: usize) -> Result<()> {
        let count = output.len();
        self.call(&Call::Scatter { root, count }, By::Nothing, input, output)
    }

    /// The same with parts of any lengths, for which the root says where they are.
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

    /// Gives everybody everybody's input, by rank.
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

    /// Gives everybody what everybody has for it: `count` elements for each.
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

    /// Replaces everybody's data by that of the members up to it, folded in order.
    #[doc(alias = "lapis_scan")]
    pub fn scan<'f, T: Element>(&self, data: &mut [T], by: impl Into<Combine<'f, T>>) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::Scan { count }, by.into().of_bytes(), data)
    }

    /// Replaces everybody's data by that of the members before it, folded in order; rank 0's stays.
    #[doc(alias = "lapis_exscan")]
    pub fn exscan<'f, T: Element>(&self, data: &mut [T], by: impl Into<Combine<'f, T>>) -> Result<()> {
        let count = data.len();
        self.call_in_place(&Call::ExScan { count }, by.into().of_bytes(), data)
    }

    /// Exchanges along edges: parts of the input go, parts of the output come.
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
