//! One clock for all machines.

use crate::read::Trace;
use std::collections::BTreeMap;

/// Counts all times from the moment at which all tasks had met.
///
/// A task leaves that meeting some time after the last one has come, never before. So the earliest
/// of a machine's tasks is nearest to it.
pub(crate) fn align(traces: &mut [Trace]) {
    let mut met: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for trace in &*traces {
        let earliest = met.entry((trace.host, trace.context)).or_insert(trace.met);
        *earliest = trace.met.min(*earliest);
    }
    // Contexts of later numbers met later, by a clock that the machine's first context has as well.
    let mut zero: BTreeMap<u32, u64> = BTreeMap::new();
    for (&(host, _), &time) in &met {
        zero.entry(host).or_insert(time);
    }
    for trace in traces {
        let from = zero[&trace.host].cast_signed();
        for event in &mut trace.events {
            event.time -= from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::file;

    #[test]
    fn machines_whose_clocks_differ_by_days_agree_and_tasks_of_one_keep_their_order() {
        const DAYS: u64 = 86_400_000_000_000 * 3;
        let files = [
            file(0, 0, 1000, 1500, 1900),
            file(1, 0, 1100, 1500, 1800),
            file(2, 2, DAYS, DAYS + 500, DAYS + 600),
        ];
        let mut traces: Vec<Trace> = files.iter().map(|f| Trace::parse(f).unwrap()).collect();
        align(&mut traces);
        let begins: Vec<i64> = traces.iter().map(|t| t.events[0].time).collect();
        assert_eq!(begins, [500, 500, 500]);
    }
}
