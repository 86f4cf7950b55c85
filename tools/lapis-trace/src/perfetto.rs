//! The merged trace, as JSON that Perfetto opens: a process for each task, a track for each thread.

use crate::read::{Event, Trace};
use lapis_core::status::{Awaiting, OpenKind};
use lapis_core::trace::EventKind;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, Write};

/// Writes all events.
pub(crate) fn write(traces: &[Trace], out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    let mut first = true;
    let mut put = |value: &Value, out: &mut dyn Write| -> io::Result<()> {
        if !std::mem::take(&mut first) {
            out.write_all(b",\n")?;
        }
        out.write_all(value.to_string().as_bytes())
    };
    for of_task in traces.chunk_by(|a, b| a.task == b.task) {
        let task = of_task[0].task;
        let name = json!({"name": format!("task {task} ({})", processes(of_task))});
        put(&json!({"ph": "M", "name": "process_name", "pid": task, "args": name}), out)?;
        put(
            &json!({"ph": "M", "name": "process_sort_index", "pid": task, "args": {"sort_index": task}}),
            out,
        )?;
    }
    for trace in traces {
        let mut open = HashSet::new();
        for event in &trace.events {
            if let Some(value) = shown(trace, event, &mut open) {
                put(&value, out)?;
            }
        }
    }
    out.write_all(b"\n]}\n")
}

/// The processes that a task has been, in their order.
fn processes(traces: &[Trace]) -> String {
    let mut lives: Vec<(u64, u32)> = traces.iter().map(|trace| (trace.met, trace.process)).collect();
    lives.sort_unstable();
    let mut known = HashSet::new();
    let lives = lives.iter().filter(|life| known.insert(life.1));
    let numbers: Vec<String> = lives.map(|life| life.1.to_string()).collect();
    let name = if numbers.len() == 1 { "process" } else { "processes" };
    format!("{name} {}", numbers.join(", "))
}

fn micros(time: i64) -> f64 {
    time as f64 / 1000.0
}

/// One event. Ends without a beginning are left out: it was before the trace.
fn shown(trace: &Trace, event: &Event, open: &mut HashSet<(u8, u64)>) -> Option<Value> {
    let (pid, tid, ts) = (trace.task, event.thread, micros(event.time));
    let slice = |phase: &str, name: String| json!({"ph": phase, "name": name, "cat": "lapis", "pid": pid, "tid": tid, "ts": ts, "args": {"peer": event.peer, "context": trace.context}});
    let key = |kind: EventKind| (kind as u8, u64::from(event.thread));
    match event.kind {
        EventKind::WaitBegins => {
            open.insert(key(EventKind::WaitBegins));
            Some(slice("B", format!("wait: {}", wait_name(event.what))))
        }
        EventKind::WaitEnds => open
            .remove(&key(EventKind::WaitBegins))
            .then(|| slice("E", format!("wait: {}", wait_name(event.what)))),
        EventKind::HandlerBegins => {
            open.insert(key(EventKind::HandlerBegins));
            Some(slice("B", "completion handler".into()))
        }
        EventKind::HandlerEnds => {
            open.remove(&key(EventKind::HandlerBegins)).then(|| slice("E", "completion handler".into()))
        }
        // Operations overlap: they are tracks of their own, joined by their identifiers.
        EventKind::OperationBegins | EventKind::OperationEnds => {
            let begins = event.kind == EventKind::OperationBegins;
            let phase = if begins { "b" } else { "e" };
            let mut value = slice(phase, operation_name(event.what).into());
            // An operation that one life of a task has left open is none of the next one's.
            let (task, context, met) = (trace.task, trace.context, trace.met);
            value["id"] = json!(format!("{task}.{context}.{met:x}.{:x}", event.numbers[0]));
            Some(value)
        }
        EventKind::Sent | EventKind::Received => {
            let name = if event.kind == EventKind::Sent { "sent" } else { "received" };
            let counts = json!({"packets": event.numbers[0]});
            Some(json!({"ph": "C", "name": format!("packets {name}"), "pid": pid, "ts": ts, "args": counts}))
        }
        _ => None,
    }
}

pub(crate) fn wait_name(what: u8) -> &'static str {
    Awaiting::of(u32::from(what)).map_or("something", Awaiting::name)
}

pub(crate) fn operation_name(what: u8) -> &'static str {
    OpenKind::of(u32::from(what)).map_or("operation", OpenKind::name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::file;

    #[test]
    fn lives_of_a_task_share_a_name_and_no_operations() {
        let begun = |met: u64, process: u32| {
            let mut bytes = file(0, 0, met, met + 10, met + 20);
            bytes[20..24].copy_from_slice(&process.to_le_bytes());
            let mut trace = Trace::parse(&bytes).unwrap();
            trace.events[0].kind = EventKind::OperationBegins;
            trace.events[0].numbers[0] = 7;
            trace
        };
        let mut out = Vec::new();
        write(&[begun(1000, 55), begun(2000, 66)], &mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let of = |phase: &str| events.iter().filter(move |event| event["ph"] == phase).collect::<Vec<_>>();
        let names: Vec<_> = of("M").into_iter().filter(|event| event["name"] == "process_name").collect();
        assert_eq!(names.len(), 1, "{value}");
        assert_eq!(names[0]["args"]["name"], "task 0 (processes 55, 66)");
        let begins = of("b");
        assert_eq!(begins.len(), 2);
        assert_ne!(begins[0]["id"], begins[1]["id"]);
    }

    #[test]
    fn the_output_is_json_with_what_perfetto_needs() {
        let traces = [Trace::parse(&file(0, 0, 1000, 1500, 1900)).unwrap()];
        let mut out = Vec::new();
        write(&traces, &mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 4, "{value}");
        assert_eq!((&events[2]["ph"], &events[2]["name"]), (&json!("B"), &json!("wait: counter")));
        assert_eq!((&events[3]["ph"], &events[3]["ts"]), (&json!("E"), &json!(1.9)));
    }
}
