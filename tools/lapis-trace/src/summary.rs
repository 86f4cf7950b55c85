//! What the tasks did, in a table.

use crate::perfetto::{operation_name, wait_name};
use crate::read::{Event, Trace};
use lapis_core::trace::EventKind;
use std::collections::{BTreeMap, HashMap};

/// Spans of one name: how many, how long altogether, the longest.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
struct Spans {
    count: u64,
    total: i64,
    longest: i64,
}

impl Spans {
    fn add(&mut self, length: i64) {
        self.count += 1;
        self.total += length;
        self.longest = self.longest.max(length);
    }
}

/// The table.
pub(crate) fn text(traces: &[Trace]) -> String {
    let first = &traces[0];
    let mut text = format!("job {}: {} of {} tasks\n", first.job, tasks(traces), first.tasks);
    text += &format!(
        "{:>7} {:>10} {:>9} {:>9} {:>12} {:>12}  {}\n",
        "TASK", "SECONDS", "OUT", "IN", "OUT B", "IN B", "END"
    );
    for trace in traces {
        let last = |kind| trace.events.iter().rev().find(|e| e.kind == kind).map_or([0; 2], |e| e.numbers);
        let (sent, received) = (last(EventKind::Sent), last(EventKind::Received));
        let span = trace.events.last().map_or(0, |e| e.time) - trace.events.first().map_or(0, |e| e.time);
        text += &format!(
            "{:>7} {:>10.3} {:>9} {:>9} {:>12} {:>12}  {}\n",
            name(trace),
            span as f64 / 1e9,
            sent[0],
            received[0],
            sent[1],
            received[1],
            if trace.whole { "whole" } else { "cut off" }
        );
    }
    text += &format!(
        "\n{:>7} {:<34} {:>9} {:>12} {:>12} {:>12}\n",
        "TASK", "WHAT", "COUNT", "TOTAL ms", "MEAN us", "LONGEST us"
    );
    for trace in traces {
        let mut all: Vec<_> = spans(&trace.events).into_iter().collect();
        all.sort_by_key(|(_, spans)| -spans.total);
        for (what, spans) in all {
            text += &format!(
                "{:>7} {what:<34} {:>9} {:>12.3} {:>12.1} {:>12.1}\n",
                name(trace),
                spans.count,
                spans.total as f64 / 1e6,
                spans.total as f64 / 1e3 / spans.count as f64,
                spans.longest as f64 / 1e3
            );
        }
    }
    text
}

fn tasks(traces: &[Trace]) -> usize {
    let mut all: Vec<u32> = traces.iter().map(|trace| trace.task).collect();
    all.dedup();
    all.len()
}

fn name(trace: &Trace) -> String {
    if trace.context == 0 { trace.task.to_string() } else { format!("{}/{}", trace.task, trace.context) }
}

/// What lasted, by name. What has not ended by the trace's end is not counted.
fn spans(events: &[Event]) -> BTreeMap<String, Spans> {
    let mut found: BTreeMap<String, Spans> = BTreeMap::new();
    let mut open: HashMap<(&str, u64), i64> = HashMap::new();
    for event in events {
        let thread = u64::from(event.thread);
        let (begins, group, key, name) = match event.kind {
            EventKind::WaitBegins => (true, "wait", thread, String::new()),
            EventKind::WaitEnds => (false, "wait", thread, format!("wait: {}", wait_name(event.what))),
            EventKind::HandlerBegins => (true, "handler", thread, String::new()),
            EventKind::HandlerEnds => (false, "handler", thread, "completion handler".into()),
            EventKind::OperationBegins => (true, "operation", event.numbers[0], String::new()),
            EventKind::OperationEnds => {
                (false, "operation", event.numbers[0], operation_name(event.what).to_owned())
            }
            _ => continue,
        };
        if begins {
            open.insert((group, key), event.time);
        } else if let Some(begin) = open.remove(&(group, key)) {
            found.entry(name).or_default().add(event.time - begin);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::file;

    #[test]
    fn waits_are_summed_up() {
        let trace = Trace::parse(&file(0, 0, 1000, 1500, 1900)).unwrap();
        let spans = spans(&trace.events);
        assert_eq!(spans["wait: counter"], Spans { count: 1, total: 400, longest: 400 });
        let text = text(&[trace]);
        assert!(text.contains("job job: 1 of 2 tasks"), "{text}");
        assert!(text.contains("whole"), "{text}");
    }
}
