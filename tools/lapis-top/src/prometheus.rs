//! Counts in the text format that Prometheus reads.

use crate::gather::Look;
use lapis_core::status::{PathCounts, Rail, RailTraffic, Snapshot};
use std::fmt::Write;

type Count = (&'static str, &'static str, fn(&PathCounts) -> u64);

/// Counts by path.
const COUNTS: [Count; 6] = [
    ("packets_sent", "Packets sent.", |p| p.packets_sent),
    ("packets_received", "Packets received.", |p| p.packets_received),
    ("bytes_sent", "Bytes of user data sent, direct copies included.", |p| p.data_sent),
    ("bytes_received", "Bytes of user data received, direct copies included.", |p| p.data_received),
    ("duplicates", "Packets that arrived a second time.", |p| p.duplicates),
    ("retransmissions", "Packets sent again.", |p| p.retransmissions),
];

type Gauge = (&'static str, &'static str, fn(&Rail) -> u64);

/// Values by path of datagrams.
const RAILS: [Gauge; 4] = [
    ("rail_in_flight_bytes", "Bytes on their way that are not acknowledged.", |r| r.in_flight),
    ("rail_window_bytes", "Bytes that the congestion windows allow.", |r| r.window),
    ("rail_credit_bytes", "Bytes that the peers are ready to take.", |r| r.credit),
    ("rail_silent_peers", "Peers that don't acknowledge on the rail.", |r| u64::from(r.suspects)),
];

type RailCount = (&'static str, &'static str, fn(&RailTraffic) -> u64);

/// Counts by rail of other transports.
const RAIL_COUNTS: [RailCount; 6] = [
    ("rail_messages_sent", "Messages that a rail has sent.", |t| t.messages_sent),
    ("rail_messages_received", "Messages that came over a rail.", |t| t.messages_received),
    ("rail_bytes_sent", "Bytes of a rail's messages and puts.", |t| t.bytes_sent),
    ("rail_bytes_received", "Bytes of messages that came over a rail, and of gets.", |t| t.bytes_received),
    ("rail_transfers", "Puts and gets, or pieces of them, over a rail.", |t| t.transfers),
    ("rail_renewals", "How often a rail was closed, to be opened anew.", |t| t.renewals),
];

const PATHS: [&str; 3] = ["network", "shm", "self"];

pub(crate) fn text(look: &Look) -> String {
    let mut out = String::new();
    let all = || look.contexts.values();
    for (name, help, of) in COUNTS {
        head(&mut out, &format!("{name}_total"), help, "counter");
        for snapshot in all() {
            for (path, counts) in PATHS.iter().zip(&snapshot.paths) {
                line(
                    &mut out,
                    &format!("{name}_total"),
                    snapshot,
                    &format!(",path=\"{path}\""),
                    of(counts) as f64,
                );
            }
        }
    }
    head(&mut out, "waits_total", "Waits that were long enough to be told.", "counter");
    all().for_each(|s| line(&mut out, "waits_total", s, "", s.waits_begun as f64));
    head(&mut out, "waited_seconds_total", "How long those that have ended took.", "counter");
    all().for_each(|s| line(&mut out, "waited_seconds_total", s, "", s.waited.as_secs_f64()));
    head(&mut out, "operations_open", "Operations without an answer.", "gauge");
    all().for_each(|s| line(&mut out, "operations_open", s, "", s.open as f64));
    head(&mut out, "waiting_seconds", "How long the oldest present wait has lasted.", "gauge");
    for s in all() {
        let oldest = s.waits.iter().map(|w| w.age.as_secs_f64()).fold(0.0, f64::max);
        line(&mut out, "waiting_seconds", s, "", oldest);
    }
    for (name, help, of) in RAILS {
        head(&mut out, name, help, "gauge");
        for snapshot in all() {
            for rail in snapshot.rails.iter().filter(|rail| rail.traffic.is_none()) {
                line(&mut out, name, snapshot, &label(rail), of(rail) as f64);
            }
        }
    }
    for (name, help, of) in RAIL_COUNTS {
        let name = format!("{name}_total");
        head(&mut out, &name, help, "counter");
        rails(&mut out, look, &name, of);
    }
    head(&mut out, "rail_up", "Whether a rail carries.", "gauge");
    rails(&mut out, look, "rail_up", |traffic| u64::from(traffic.up));
    out
}

/// A line for each rail whose transport counts by itself.
fn rails(out: &mut String, look: &Look, name: &str, of: impl Fn(&RailTraffic) -> u64) {
    for snapshot in look.contexts.values() {
        for rail in &snapshot.rails {
            if let Some(traffic) = &rail.traffic {
                line(out, name, snapshot, &label(rail), of(traffic) as f64);
            }
        }
    }
}

fn label(rail: &Rail) -> String {
    format!(",rail=\"{}/{}\"", escaped(&rail.transport), rail.number)
}

fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(out, "# HELP lapis_{name} {help}\n# TYPE lapis_{name} {kind}");
}

fn line(out: &mut String, name: &str, snapshot: &Snapshot, more: &str, value: f64) {
    let (job, task, context) = (escaped(&snapshot.job), snapshot.task, snapshot.context);
    let _ =
        writeln!(out, "lapis_{name}{{job=\"{job}\",task=\"{task}\",context=\"{context}\"{more}}} {value}");
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
