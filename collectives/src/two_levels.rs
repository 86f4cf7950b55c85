//! Calls of a team over several hosts: rounds through memory within each host, messages between one
//! member of each host, its *leader*, then rounds within each host again. Pure functions, as the
//! other schedules.
//!
//! Networks carry one message for a host, and not one for each of its members. The parts of a call
//! are calls themselves, of members of one host or of the leaders. Each has a [`View`]: where its
//! buffers lie in those of the whole call. What a leader has for its host, and can't keep in its
//! output, it keeps at the beginning of the scratch.
//!
//! Calls whose data is ordered by rank go this way only if the ranks of each host follow each
//! other: then what belongs to a host is contiguous. Scans don't: their messages go one way only,
//! so that members may run ahead of each other, and waiting for leaders made series of them ten
//! times slower.

use crate::call::Call;
use crate::select::{self, Overrides, Shape};
use lapis_schedules::levels::{Hosts, leader};
use lapis_schedules::ring::starts;
use lapis_schedules::tree::Parts;
use lapis_schedules::{Buffer, Place, Script, Span, Step};

/// Data of a host of up to so many bytes goes between a root and the other leaders along a tree,
/// which passes it on; longer data goes straight, as all data of hosts with different numbers of
/// members.
const ALONG_TREE: usize = 32 << 10;

/// Where a part of a call finds its buffers: in which buffer of the whole call, and from which
/// element on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    input: (Buffer, usize),
    output: (Buffer, usize),
    /// Elements of scratch that are in use.
    scratch: usize,
}

impl View {
    /// The buffers of the whole call.
    pub(crate) const WHOLE: Self =
        Self { input: (Buffer::Input, 0), output: (Buffer::Output, 0), scratch: 0 };

    fn of(self, buffer: Buffer) -> (Buffer, usize) {
        match buffer {
            Buffer::Input => self.input,
            Buffer::Output => self.output,
            Buffer::Scratch => (Buffer::Scratch, self.scratch),
        }
    }

    /// The first bytes of the part's buffers, by those of the whole call, with elements of `size`
    /// bytes.
    pub(crate) fn bases(self, whole: [*mut u8; 3], size: usize) -> [*mut u8; 3] {
        [Buffer::Input, Buffer::Output, Buffer::Scratch].map(|buffer| {
            let (of, start) = self.of(buffer);
            whole[of as usize].wrapping_add(start * size)
        })
    }

    fn span(self, span: Span) -> Span {
        let (buffer, start) = self.of(span.buffer);
        Span { buffer, start: start + span.start, len: span.len }
    }

    /// The same steps on the buffers of the whole call.
    fn script(self, script: Script) -> Script {
        let map = |step: Step| match step {
            Step::Send { to, tag, data } => Step::Send { to, tag, data: self.span(data) },
            Step::Receive { from, tag, into } => Step::Receive { from, tag, into: self.span(into) },
            Step::Copy { from, into } => Step::Copy { from: self.span(from), into: self.span(into) },
            Step::Fold { from, into, side } => {
                Step::Fold { from: self.span(from), into: self.span(into), side }
            }
            Step::Wait | Step::Drain | Step::Look => step,
        };
        let moves = |step: &Step| !matches!(step, Step::Copy { from, into } if from == into);
        let steps = script.steps.into_iter().map(map).filter(moves).collect();
        Script { steps, scratch: self.scratch + script.scratch }
    }
}

/// Rounds within a host: a call of its members, by their places among them.
pub(crate) type Within<'a> = (Call<'a>, View);

/// What a member does in a call on two levels.
#[derive(Debug, Default)]
pub(crate) struct TwoLevels<'a> {
    /// Rounds before the messages.
    pub(crate) before: Option<Within<'a>>,
    /// Messages, by rank; none but at leaders.
    pub(crate) messages: Script,
    /// Rounds after the messages.
    pub(crate) after: Option<Within<'a>>,
    /// What is then copied from the scratch to its places in the output.
    pub(crate) places: Vec<(Span, Span)>,
    /// Elements of scratch that the caller's host has in use from part to part.
    pub(crate) held: usize,
}

/// A member's place: its host, and who leads it.
struct At<'a> {
    shape: &'a Shape<'a>,
    hosts: &'a Hosts,
    root: Option<usize>,
    /// The caller's host.
    host: usize,
    /// The place of its leader among its members.
    leader: usize,
    leads: bool,
}

impl At<'_> {
    /// Members of a host.
    fn members(&self, host: usize) -> usize {
        self.hosts.ranks(host).len()
    }

    /// Members of the caller's host.
    fn here(&self) -> usize {
        self.members(self.host)
    }

    /// The first rank of the caller's host.
    fn first(&self) -> usize {
        self.hosts.first(self.host)
    }

    /// Messages of a call of the leaders, in which each host counts as one member.
    fn between(&self, call: &Call<'_>, view: View) -> Script {
        if !self.leads {
            return Script::default();
        }
        let rank = |host: usize| leader(self.hosts, host, self.root);
        let shape = Shape { me: self.host, n: self.hosts.len(), hosts: None, ..*self.shape };
        let at = Place { me: self.host, n: self.hosts.len(), rank: &rank, phase: 0 };
        view.script(select::script_at(at, call, &shape, select::choose(call, &shape, &Overrides::default())))
    }

    /// The same with so many elements for each member of a host. `equal` makes the call for hosts
    /// that have equally many, `any` for others.
    fn of_hosts(
        &self,
        count: usize,
        long: bool,
        view: View,
        equal: impl FnOnce(usize) -> Call<'static>,
        any: impl for<'b> FnOnce(usize, Parts<'b>) -> Call<'b>,
    ) -> Script {
        let counts: Vec<usize> = (0..self.hosts.len()).map(|host| self.members(host) * count).collect();
        let mine = counts[self.host];
        if !long && self.hosts.are_equal() {
            return self.between(&equal(mine), view);
        }
        self.between(&any(mine, Parts { counts: &counts, starts: &starts(&counts) }), view)
    }

    /// Whether so many elements for each member of the largest host are long data.
    fn is_long(&self, count: usize) -> bool {
        self.hosts.most() * count * self.shape.size > ALONG_TREE
    }

    fn reduce(&self, root: usize, count: usize) -> TwoLevels<'static> {
        // Only the root has an output.
        let kept = if root == self.shape.me { Buffer::Output } else { Buffer::Scratch };
        let (before, across) = self.collected(Call::Reduce { root: self.leader, count }, count, (kept, 0));
        let messages = self.between(&Call::Reduce { root: self.hosts.host_of(root), count }, across);
        TwoLevels { before, messages, held: across.scratch, ..TwoLevels::default() }
    }

    fn all_reduce(&self, count: usize) -> TwoLevels<'static> {
        let across = View { input: (Buffer::Output, 0), ..View::WHOLE };
        TwoLevels {
            before: Some((Call::Reduce { root: self.leader, count }, View::WHOLE)),
            messages: self.between(&Call::AllReduce { count }, across),
            after: Some((Call::Broadcast { root: self.leader, count }, View::WHOLE)),
            ..TwoLevels::default()
        }
    }

    /// Rounds that bring what `up` makes of the inputs of a host, `len` elements, to its leader,
    /// and a view whose input this is. A member that is alone on its host needs none.
    fn collected<'b>(&self, up: Call<'b>, len: usize, kept: (Buffer, usize)) -> (Option<Within<'b>>, View) {
        if self.here() == 1 {
            return (None, View::WHOLE);
        }
        let held = if self.leads && kept.0 == Buffer::Scratch { len } else { 0 };
        let view = View { output: kept, scratch: held, ..View::WHOLE };
        (Some((up, view)), View { input: kept, scratch: held, ..View::WHOLE })
    }

    fn gather(&self, root: usize, count: usize) -> TwoLevels<'static> {
        let kept = match root == self.shape.me {
            true => (Buffer::Output, self.first() * count),
            false => (Buffer::Scratch, 0),
        };
        let up = Call::Gather { root: self.leader, count };
        let (before, across) = self.collected(up, self.here() * count, kept);
        let root = self.hosts.host_of(root);
        let messages = self.of_hosts(
            count,
            self.is_long(count),
            across,
            |count| Call::Gather { root, count },
            |mine, parts| Call::GatherV { root, mine, parts: Some(parts) },
        );
        TwoLevels { before, messages, held: across.scratch, ..TwoLevels::default() }
    }

    /// The rounds that give members their parts of what a leader has for its host.
    fn scattered(&self, count: usize, kept: (Buffer, usize), held: usize) -> Option<Within<'static>> {
        let down = View { input: kept, scratch: held, ..View::WHOLE };
        (self.here() > 1).then_some((Call::Scatter { root: self.leader, count }, down))
    }

    fn scatter(&self, root: usize, count: usize) -> TwoLevels<'static> {
        let is_root = root == self.shape.me;
        let long = self.is_long(count);
        // Straight from a root, its host's part need not be moved.
        let stays = is_root && (long || !self.hosts.are_equal());
        let kept = match (self.here(), stays) {
            (1, _) => (Buffer::Output, 0),
            (_, true) => (Buffer::Input, self.first() * count),
            (_, false) => (Buffer::Scratch, 0),
        };
        let held = if self.leads && kept.0 == Buffer::Scratch { self.here() * count } else { 0 };
        let across = View { output: kept, scratch: held, ..View::WHOLE };
        let root = self.hosts.host_of(root);
        let messages = self.of_hosts(
            count,
            long,
            across,
            |count| Call::Scatter { root, count },
            |mine, parts| Call::ScatterV { root, mine, parts: Some(parts) },
        );
        TwoLevels { messages, after: self.scattered(count, kept, held), held, ..TwoLevels::default() }
    }
}

/// Calls with lists of lengths that all members give alike. If the parts are equal, within a host
/// or of all hosts, what is called there is the call of equal parts.
impl At<'_> {
    /// Elements for each host.
    fn sums(&self, list: Parts<'_>) -> Vec<usize> {
        (0..self.hosts.len()).map(|host| self.of_host(list, host).counts.iter().sum()).collect()
    }

    /// The parts of a host's members.
    fn of_host<'b>(&self, list: Parts<'b>, host: usize) -> Parts<'b> {
        let ranks = self.hosts.first(host)..self.hosts.first(host) + self.members(host);
        Parts { counts: &list.counts[ranks.clone()], starts: &list.starts[ranks] }
    }

    /// `packed` has the same parts as `parts` has, one behind the other.
    fn all_gather<'b>(&self, parts: Parts<'b>, packed: Parts<'b>) -> TwoLevels<'b> {
        let (sums, here) = (self.sums(packed), self.of_host(packed, self.host));
        let all = sums.iter().sum();
        // With gaps, or in another order, parts pass through the scratch.
        let is_packed = parts.starts == packed.starts;
        let kept = if is_packed { Buffer::Output } else { Buffer::Scratch };
        let held = if is_packed { 0 } else { all };
        let (root, mine) = (self.leader, packed.counts[self.shape.me]);
        let (up, start) = match equal(here.counts) {
            Some(count) => (Call::Gather { root, count }, here.starts[0]),
            None => (Call::GatherV { root, mine, parts: self.leads.then_some(here) }, 0),
        };
        let alone = self.here() == 1;
        let within = View { output: (kept, start), scratch: held, ..View::WHOLE };
        let input = if alone { View::WHOLE.input } else { (kept, here.starts[0]) };
        let across = View { input, output: (kept, 0), scratch: held };
        let of_hosts = Parts { counts: &sums, starts: &starts(&sums) };
        let call = match equal(&sums) {
            Some(count) => Call::AllGather { count },
            None => Call::AllGatherV { parts: of_hosts },
        };
        let down = View { output: (kept, 0), scratch: held, ..View::WHOLE };
        let place = |rank: usize| {
            let len = packed.counts[rank];
            (Span::scratch(packed.starts[rank], len), Span::output(parts.starts[rank], len))
        };
        TwoLevels {
            before: (!alone).then_some((up, within)),
            messages: self.between(&call, across),
            after: (!alone).then_some((Call::Broadcast { root, count: all }, down)),
            places: if is_packed { Vec::new() } else { (0..self.shape.n).map(place).collect() },
            held,
        }
    }

    fn reduce_scatter<'b>(&self, packed: Parts<'b>) -> TwoLevels<'b> {
        let (sums, here) = (self.sums(packed), self.of_host(packed, self.host));
        let all = sums.iter().sum();
        // The inputs of the host, folded, and behind them its part of the result.
        let (up, len) = (Call::Reduce { root: self.leader, count: all }, all + sums[self.host]);
        let (before, mut across) = self.collected(up, len, (Buffer::Scratch, 0));
        if before.is_some() {
            across.output = (Buffer::Scratch, all);
        }
        let messages = self.between(&Call::ReduceScatter { counts: &sums }, across);
        let held = across.scratch;
        let after = match equal(here.counts) {
            Some(count) => self.scattered(count, across.output, held),
            None => {
                // The list has the places of all parts; those of the host begin where its part is.
                let input = (Buffer::Scratch, all - here.starts[0]);
                let (root, mine) = (self.leader, packed.counts[self.shape.me]);
                let call = Call::ScatterV { root, mine, parts: self.leads.then_some(here) };
                Some((call, View { input, scratch: held, ..View::WHOLE }))
            }
        };
        TwoLevels { before, messages, after, held, ..TwoLevels::default() }
    }
}

/// What all numbers of a list are, if they are equal.
fn equal(list: &[usize]) -> Option<usize> {
    list.first().copied().filter(|first| list.iter().all(|one| one == first))
}

/// The alltoall, whose leaders do more than pass on what they have.
impl At<'_> {
    /// A leader has the inputs of its host, sends to each host what belongs there, and sorts what
    /// comes by the members of its host.
    fn all_to_all(&self, count: usize) -> TwoLevels<'static> {
        let (here, n) = (self.here(), self.shape.n);
        let all = here * n * count;
        let first = |host: usize| self.hosts.first(host);
        let hosts = || 0..self.hosts.len();
        let counts: Vec<usize> = hosts().map(|host| here * self.members(host) * count).collect();
        let starts: Vec<usize> = hosts().map(|host| here * first(host) * count).collect();
        let parts = Parts { counts: &counts, starts: &starts };
        let call = Call::AllToAllV { give: parts, get: parts };
        if here == 1 {
            return TwoLevels { messages: self.between(&call, View::WHOLE), ..TwoLevels::default() };
        }
        let held = if self.leads { 2 * all } else { 0 };
        let up = View { output: (Buffer::Scratch, 0), scratch: held, ..View::WHOLE };
        let across = View { input: (Buffer::Scratch, all), output: (Buffer::Scratch, 0), scratch: held };
        let mut messages = self.between(&call, across);
        if self.leads {
            let copy = |from: usize, into: usize, len: usize| Step::Copy {
                from: Span::scratch(from, len),
                into: Span::scratch(into, len),
            };
            // By host, from each member what belongs there.
            let packed = hosts().flat_map(|host| {
                let (start, len) = (first(host) * count, self.members(host) * count);
                (0..here).map(move |m| copy(m * n * count + start, all + here * start + m * len, len))
            });
            // Member i of the host has its parts from all ranks one behind the other.
            let sorted = (0..n * here).map(|at| {
                let (rank, i) = (at / here, at % here);
                copy(at * count, all + (i * n + rank) * count, count)
            });
            let steps = std::mem::take(&mut messages.steps);
            messages.steps = packed.chain(steps).chain(sorted).collect();
        }
        TwoLevels {
            before: Some((Call::Gather { root: self.leader, count: n * count }, up)),
            messages,
            after: self.scattered(n * count, (Buffer::Scratch, all), held),
            held,
            ..TwoLevels::default()
        }
    }
}

/// The lengths of a call's parts, by rank, and where they begin if they lie one behind the other;
/// of calls whose members all know them.
#[derive(Default)]
pub(crate) struct Packed {
    counts: Vec<usize>,
    starts: Vec<usize>,
}

impl Packed {
    pub(crate) fn of(call: &Call<'_>, n: usize) -> Self {
        let counts = match *call {
            Call::AllGather { count } | Call::ReduceScatterBlock { count } => vec![count; n],
            _ => call.lengths().unwrap_or_default().to_vec(),
        };
        Self { starts: starts(&counts), counts }
    }

    fn parts(&self) -> Parts<'_> {
        Parts { counts: &self.counts, starts: &self.starts }
    }
}

impl<'a> TwoLevels<'a> {
    /// What the member of rank `shape.me` does. `packed` is the call's. `None`: the call can't be
    /// made on two levels.
    pub(crate) fn of(call: &Call<'a>, shape: &Shape<'_>, hosts: &Hosts, packed: &'a Packed) -> Option<Self> {
        if !select::has_two_levels(call, shape, hosts) {
            return None;
        }
        let (host, root) = (hosts.host_of(shape.me), call.root());
        let first = leader(hosts, host, root);
        let place = hosts.ranks(host).rank(first as u32)?;
        let at = At { shape, hosts, root, host, leader: place, leads: first == shape.me };
        Some(match *call {
            Call::Barrier => Self {
                before: Some((Call::Gather { root: place, count: 0 }, View::WHOLE)),
                messages: at.between(&Call::Barrier, View::WHOLE),
                after: Some((Call::Broadcast { root: place, count: 0 }, View::WHOLE)),
                ..Self::default()
            },
            Call::Broadcast { root, count } => Self {
                messages: at.between(&Call::Broadcast { root: hosts.host_of(root), count }, View::WHOLE),
                after: Some((Call::Broadcast { root: place, count }, View::WHOLE)),
                ..Self::default()
            },
            Call::Reduce { root, count } => at.reduce(root, count),
            Call::AllReduce { count } => at.all_reduce(count),
            Call::Gather { root, count } => at.gather(root, count),
            Call::Scatter { root, count } => at.scatter(root, count),
            Call::AllGather { .. } => at.all_gather(packed.parts(), packed.parts()),
            Call::AllGatherV { parts } => at.all_gather(parts, packed.parts()),
            Call::ReduceScatterBlock { .. } | Call::ReduceScatter { .. } => at.reduce_scatter(packed.parts()),
            Call::AllToAll { count } => at.all_to_all(count),
            _ => return None,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
