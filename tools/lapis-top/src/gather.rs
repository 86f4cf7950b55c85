//! Observing all tasks, and the changes between two observations.

use lapis_core::status::{self, Snapshot};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// What one look saw: contexts by process and number.
pub(crate) struct Look {
    at: Instant,
    pub(crate) contexts: BTreeMap<(u32, u32), Snapshot>,
}

/// Looks at the tasks of jobs whose identity begins with `only`.
pub(crate) fn look(only: &str) -> Look {
    let mut contexts = BTreeMap::new();
    for process in status::processes() {
        for snapshot in status::of_process(process) {
            if snapshot.job.starts_with(only) {
                contexts.insert((process, snapshot.context), snapshot);
            }
        }
    }
    Look { at: Instant::now(), contexts }
}

/// One job.
#[derive(Debug, Serialize)]
pub(crate) struct Job {
    pub(crate) job: String,
    pub(crate) tasks: u32,
    pub(crate) seconds: f64,
    /// Its contexts on this machine, by task.
    pub(crate) contexts: Vec<Row>,
}

/// One context of a task.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) task: u32,
    pub(crate) context: u32,
    pub(crate) process: u32,
    pub(crate) packets_sent: u64,
    pub(crate) packets_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) retransmissions: u64,
    pub(crate) duplicates: u64,
    pub(crate) refused: u64,
    pub(crate) bulk_transfers: u64,
    /// Per second, between the looks.
    pub(crate) rates: Rates,
    pub(crate) waits: u64,
    pub(crate) waited_seconds: f64,
    /// What it waits for now.
    pub(crate) waiting: Vec<Waiting>,
    /// Seconds since it ran the library for long enough to tell.
    pub(crate) told_seconds: f64,
    pub(crate) operations_open: u64,
    pub(crate) last_heard_from: Option<u32>,
    pub(crate) down: Vec<u32>,
    pub(crate) rails: Vec<Rail>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Rates {
    pub(crate) packets_sent: f64,
    pub(crate) packets_received: f64,
    pub(crate) bytes_sent: f64,
    pub(crate) bytes_received: f64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Waiting {
    pub(crate) kind: &'static str,
    pub(crate) seconds: f64,
    pub(crate) task: Option<u32>,
    /// Value and value waited for.
    pub(crate) counter: Option<(i32, i32)>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Rail {
    pub(crate) rail: String,
    pub(crate) peers: u32,
    pub(crate) suspects: u32,
    #[serde(flatten)]
    pub(crate) state: RailState,
}

/// What is known of a rail.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum RailState {
    /// Of a path of datagrams: how much is on its way.
    Datagrams { datagrams_open: u64, bytes_in_flight: u64, window: u64, credit: u64 },
    /// Of others: what it has carried.
    Traffic {
        up: bool,
        messages_sent: u64,
        messages_received: u64,
        bytes_sent: u64,
        bytes_received: u64,
        transfers: u64,
        renewals: u64,
    },
}

impl RailState {
    fn of(rail: &status::Rail) -> Self {
        match rail.traffic {
            None => Self::Datagrams {
                datagrams_open: rail.open,
                bytes_in_flight: rail.in_flight,
                window: rail.window,
                credit: rail.credit,
            },
            Some(traffic) => Self::Traffic {
                up: traffic.up,
                messages_sent: traffic.messages_sent,
                messages_received: traffic.messages_received,
                bytes_sent: traffic.bytes_sent,
                bytes_received: traffic.bytes_received,
                transfers: traffic.transfers,
                renewals: traffic.renewals,
            },
        }
    }
}

/// The jobs of the second look, with rates since the first.
pub(crate) fn jobs(former: &Look, now: &Look) -> Vec<Job> {
    let seconds = now.at.duration_since(former.at).as_secs_f64().max(1e-3);
    let mut jobs: BTreeMap<&str, Job> = BTreeMap::new();
    for (key, snapshot) in &now.contexts {
        let job = jobs.entry(&snapshot.job).or_insert_with(|| Job {
            job: snapshot.job.clone(),
            tasks: snapshot.tasks,
            seconds: 0.0,
            contexts: Vec::new(),
        });
        job.seconds = job.seconds.max(snapshot.age.as_secs_f64());
        job.contexts.push(row(key.0, snapshot, former.contexts.get(key), seconds));
    }
    let mut jobs: Vec<Job> = jobs.into_values().collect();
    jobs.iter_mut().for_each(|job| job.contexts.sort_by_key(|row| (row.task, row.context)));
    jobs
}

fn row(process: u32, now: &Snapshot, former: Option<&Snapshot>, seconds: f64) -> Row {
    let (total, before) = (now.total(), former.map(Snapshot::total).unwrap_or_default());
    // Of a task that has just come nothing is known per second.
    let rate = |now: u64, before: u64| former.map_or(0.0, |_| now.wrapping_sub(before) as f64 / seconds);
    Row {
        task: now.task,
        context: now.context,
        process,
        packets_sent: total.packets_sent,
        packets_received: total.packets_received,
        bytes_sent: total.data_sent,
        bytes_received: total.data_received,
        retransmissions: total.retransmissions,
        duplicates: total.duplicates,
        refused: now.refused,
        bulk_transfers: now.bulk.transfers,
        rates: Rates {
            packets_sent: rate(total.packets_sent, before.packets_sent),
            packets_received: rate(total.packets_received, before.packets_received),
            bytes_sent: rate(total.data_sent, before.data_sent),
            bytes_received: rate(total.data_received, before.data_received),
        },
        waits: now.waits_begun,
        waited_seconds: now.waited.as_secs_f64(),
        waiting: now
            .waits
            .iter()
            .map(|wait| Waiting {
                kind: wait.kind.name(),
                seconds: wait.age.as_secs_f64(),
                task: wait.peer,
                counter: wait.counter.map(|(_, value, wanted)| (value, wanted)),
            })
            .collect(),
        told_seconds: now.told.as_secs_f64(),
        operations_open: now.open,
        last_heard_from: now.last_heard.map(|(task, _)| task),
        down: now.down.clone(),
        rails: now
            .rails
            .iter()
            .map(|rail| Rail {
                rail: format!("{}/{}", rail.transport, rail.number),
                peers: rail.peers,
                suspects: rail.suspects,
                state: RailState::of(rail),
            })
            .collect(),
    }
}
