//! Recursive doubling and dissemination: distances double, so that data of one member reaches all
//! after ⌈log₂ n⌉ rounds.

use crate::{Place, Script, Side, Span, cut, pieces};

/// Nobody ends before everybody has begun: dissemination among `k` at a time, ⌈log_k n⌉ rounds of k
/// − 1 empty messages.
pub fn barrier(out: &mut Script, at: Place<'_>, k: usize) {
    let k = k.max(2);
    let (mut distance, mut tag) = (1, 0);
    while distance < at.n {
        for far in (1..k).map(|j| j * distance).take_while(|far| *far < at.n) {
            out.send(at, at.after(far), tag, Span::NONE);
            out.receive(at, at.before(far), tag, Span::NONE);
            tag += 1;
        }
        out.wait();
        distance *= k;
    }
    out.end();
}

/// Tags after the rounds, of which there are at most 64.
const FOLD: usize = 0;
const UNFOLD: usize = 255;

/// The members that remain when all but a power of two have given their data to a neighbour.
struct Core {
    /// A power of two.
    size: usize,
    extra: usize,
    /// The calling member's number among them.
    number: Option<usize>,
}

impl Core {
    fn of(at: &Place<'_>) -> Self {
        let size = if at.n.is_power_of_two() { at.n } else { at.n.next_power_of_two() / 2 };
        let extra = at.n - size;
        let number = match at.me {
            me if me >= 2 * extra => Some(me - extra),
            me if me % 2 == 1 => Some(me / 2),
            _ => None,
        };
        Self { size, extra, number }
    }

    fn member(&self, number: usize) -> usize {
        if number < self.extra { 2 * number + 1 } else { number + self.extra }
    }

    /// Neighbours fold, in the order of ranks.
    fn enter(&self, out: &mut Script, at: Place<'_>, all: Span, room: Span) {
        if self.number.is_none() {
            out.send(at, at.me + 1, FOLD, all);
            out.drain();
        } else if at.me < 2 * self.extra {
            out.receive(at, at.me - 1, FOLD, room);
            out.wait();
            out.fold(room, all, Side::Before);
        }
    }

    /// Those who gave get the result.
    fn leave(&self, out: &mut Script, at: Place<'_>, all: Span) {
        if self.number.is_none() {
            out.receive(at, at.me + 1, UNFOLD, all);
            out.wait();
        } else if at.me < 2 * self.extra {
            out.send(at, at.me - 1, UNFOLD, all);
        }
    }
}

/// Everybody's output becomes everybody's inputs, folded in the order of ranks: recursive doubling,
/// ⌈log₂ n⌉ rounds of whole data.
pub fn all_reduce(out: &mut Script, at: Place<'_>, count: usize) {
    let all = Span::output(0, count);
    out.copy(Span::input(0, count), all);
    all_reduce_in(out, at, all);
    out.end();
}

/// Everybody's `all` becomes everybody's, folded in the order of ranks.
pub fn all_reduce_in(out: &mut Script, at: Place<'_>, all: Span) {
    if at.n == 1 {
        return;
    }
    let (core, room) = (Core::of(&at), out.room(all.len));
    core.enter(out, at, all, room);
    if let Some(number) = core.number {
        let mut distance = 1;
        while distance < core.size {
            let other = number ^ distance;
            let tag = distance.trailing_zeros() as usize + 1;
            out.send(at, core.member(other), tag, all);
            out.receive(at, core.member(other), tag, room);
            out.wait();
            out.drain();
            out.fold(room, all, if other < number { Side::Before } else { Side::After });
            distance <<= 1;
        }
    }
    core.leave(out, at, all);
}

/// The same for long data and operators that may be reordered: halves are exchanged and folded,
/// then put together again (Rabenseifner). Twice as many rounds, in which two lengths of the data
/// are sent instead of log₂ n.
pub fn all_reduce_by_halves(out: &mut Script, at: Place<'_>, count: usize) {
    let all = Span::output(0, count);
    out.copy(Span::input(0, count), all);
    if at.n > 1 {
        let (core, room) = (Core::of(&at), out.room(count));
        core.enter(out, at, all, room);
        if let Some(number) = core.number {
            halve(out, at, &core, number, all, room);
            unite(out, at, &core, number, all);
        }
        core.leave(out, at, all);
    }
    out.end();
}

/// In the end member `number` of the core has its piece folded.
fn halve(out: &mut Script, at: Place<'_>, core: &Core, number: usize, all: Span, room: Span) {
    let (mut low, mut high) = (0, core.size);
    while high - low > 1 {
        let (half, middle) = ((high - low) / 2, low.midpoint(high));
        let upper = number >= middle;
        let (keep, give) =
            if upper { ((middle, high), (low, middle)) } else { ((low, middle), (middle, high)) };
        let (keep, give) = (pieces(all, core.size, keep.0, keep.1), pieces(all, core.size, give.0, give.1));
        let other = core.member(number ^ half);
        let tag = half.trailing_zeros() as usize + 1;
        let into = room.part(0, keep.len);
        out.send(at, other, tag, give);
        out.receive(at, other, tag, into);
        out.wait();
        out.drain();
        out.fold(into, keep, Side::After);
        (low, high) = if upper { (middle, high) } else { (low, middle) };
    }
}

fn unite(out: &mut Script, at: Place<'_>, core: &Core, number: usize, all: Span) {
    let mut have = 1;
    while have < core.size {
        let mine = number / have * have;
        let theirs = mine ^ have;
        let other = core.member(number ^ have);
        let tag = 100 + have.trailing_zeros() as usize;
        out.send(at, other, tag, pieces(all, core.size, mine, mine + have));
        out.receive(at, other, tag, pieces(all, core.size, theirs, theirs + have));
        out.wait();
        have <<= 1;
    }
}

/// Everybody's output becomes everybody's inputs, by rank; `n` is a power of two. log₂ n rounds.
pub fn all_gather(out: &mut Script, at: Place<'_>, count: usize) {
    debug_assert!(at.n.is_power_of_two());
    out.copy(Span::input(0, count), Span::output(at.me * count, count));
    let mut have = 1;
    while have < at.n {
        let mine = at.me / have * have;
        let other = at.me ^ have;
        let tag = have.trailing_zeros() as usize;
        out.send(at, other, tag, Span::output(mine * count, have * count));
        out.receive(at, other, tag, Span::output((mine ^ have) * count, have * count));
        out.wait();
        have <<= 1;
    }
    out.end();
}

/// The same for any number of members and parts of any lengths: ⌈log₂ n⌉ rounds (Bruck), and
/// copies at the end. `part` says where each member's part begins in the output, and its length.
pub fn all_gather_any(out: &mut Script, at: Place<'_>, part: impl Fn(usize) -> (usize, usize)) {
    let held = out.room((0..at.n).map(|member| part(member).1).sum());
    let mine = part(at.me).1;
    out.copy(Span::input(0, mine), held.part(0, mine));
    all_gather_around(out, at, |member| part(member).1, held);
    let order = (at.me..at.n).chain(0..at.me);
    copy_runs(out, held, order.map(part));
    out.end();
}

/// The same for parts that stand one behind the other in `held`, in the order of members, from the
/// caller's own on, which is there.
pub(crate) fn all_gather_around(out: &mut Script, at: Place<'_>, len: impl Fn(usize) -> usize, held: Span) {
    // Elements of so many members' parts, from one member's on.
    let of = |member: usize, many: usize| (0..many).map(|i| len((member + i) % at.n)).sum::<usize>();
    let mut have = 1;
    while have < at.n {
        let more = have.min(at.n - have);
        let tag = have.trailing_zeros() as usize;
        out.send(at, at.before(have), tag, held.part(0, of(at.me, more)));
        let into = held.part(of(at.me, have), of(at.after(have), more));
        out.receive(at, at.after(have), tag, into);
        out.wait();
        have <<= 1;
    }
}

/// Copies parts that stand one behind the other to their places in the output, each with its
/// beginning and length there.
pub(crate) fn copy_runs(out: &mut Script, from: Span, parts: impl Iterator<Item = (usize, usize)>) {
    let (mut done, mut run) = (0, (0, 0));
    for (start, len) in parts {
        if run.0 + run.1 == start {
            run.1 += len;
            continue;
        }
        out.copy(from.part(done, run.1), Span::output(run.0, run.1));
        done += run.1;
        run = (start, len);
    }
    out.copy(from.part(done, run.1), Span::output(run.0, run.1));
}

/// Everybody's output becomes the inputs up to its own, folded in order.
pub fn scan(out: &mut Script, at: Place<'_>, count: usize) {
    let all = Span::output(0, count);
    out.copy(Span::input(0, count), all);
    scan_in(out, at, all);
    out.end();
}

fn scan_in(out: &mut Script, at: Place<'_>, all: Span) {
    if at.n == 1 {
        return;
    }
    let room = out.room(all.len);
    let mut distance = 1;
    while distance < at.n {
        let tag = distance.trailing_zeros() as usize;
        if at.me + distance < at.n {
            out.send(at, at.me + distance, tag, all);
        }
        if at.me >= distance {
            out.receive(at, at.me - distance, tag, room);
            out.wait();
            out.drain();
            out.fold(room, all, Side::Before);
        }
        distance <<= 1;
    }
}

/// Everybody's output becomes the inputs before its own, folded in order; rank 0's stays as it is.
pub fn exscan(out: &mut Script, at: Place<'_>, count: usize) {
    let input = Span::input(0, count);
    if at.me + 1 < at.n {
        out.send(at, at.me + 1, 0, input);
    }
    if at.me > 0 {
        let all = Span::output(0, count);
        // In place, what is sent is where the result will be.
        out.drain();
        out.receive(at, at.me - 1, 0, all);
        out.wait();
        let rank = |v: usize| (at.rank)(v + 1);
        let later = Place { me: at.me - 1, n: at.n - 1, rank: &rank, phase: at.phase + 1 };
        scan_in(out, later, all);
    }
    out.end();
}

/// Everybody's output becomes its part of everybody's inputs, folded in order: all of it is folded
/// everywhere, and the part kept. For short data.
pub fn reduce_scatter(out: &mut Script, at: Place<'_>, counts: &[usize]) {
    let total: usize = counts.iter().sum();
    let start: usize = counts[..at.me].iter().sum();
    let all = out.room(total);
    out.copy(Span::input(0, total), all);
    all_reduce_in(out, at, all);
    out.copy(all.part(start, counts[at.me]), Span::output(0, counts[at.me]));
    out.end();
}

/// As many rounds as a logarithm: the members' pieces of equal length, folded and exchanged by
/// halves; `n` is a power of two, and the operator may be reordered.
pub fn reduce_scatter_by_halves(out: &mut Script, at: Place<'_>, count: usize) {
    debug_assert!(at.n.is_power_of_two());
    let all = out.room(at.n * count);
    let room = out.room(at.n * count / 2);
    out.copy(Span::input(0, at.n * count), all);
    let core = Core::of(&at);
    halve(out, at, &core, at.me, all, room);
    debug_assert_eq!(cut(at.n * count, at.n, at.me), at.me * count);
    out.copy(all.part(at.me * count, count), Span::output(0, count));
    out.end();
}
