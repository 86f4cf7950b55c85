//! What each further peer costs a task of memory.

use super::sample::{Sample, keep};
use crate::peers::{self, How};
use anyhow::{Context, Result, bail};
use lapis_bench::record::Record;
use std::time::Duration;

/// The trial by name, and what it shows.
pub(super) const ALL: [(&str, &str); 1] =
    [("memory", "memory of a task of its own that has spoken with all others, and what each peer adds")];

/// Jobs of so many tasks, and how the records call them.
const JOBS: [(usize, &str); 2] = [(2, "1 peer"), (8, "7 peers")];
/// A job, start and end included.
const LIMIT: Duration = Duration::from_secs(60);

/// Takes the trial's figures over a transport.
pub(super) fn take(transport: &str, rounds: usize, samples: &mut Vec<Sample>) -> Result<()> {
    for _ in 0..rounds {
        let mut found = Vec::new();
        for (tasks, how) in JOBS {
            let party = peers::lapis(transport).map_err(|absent| anyhow::anyhow!("{}", absent.why))?;
            let How::Lapis(mut line) = party.how else { bail!("no launcher starts it") };
            peers::set_tasks(&mut line, tasks);
            let text = line.args(["task_memory", "--json"]).output(LIMIT)?;
            let record = Record::read_all(&text).into_iter().next().context("the job printed no figure")?;
            keep(samples, "memory", how, &text)?;
            found.push((tasks, record));
        }
        if let [(few, small), (many, large)] = &found[..] {
            let each = (large.value - small.value) / (many - few) as f64;
            let record = Record {
                bench: "peer_memory".to_owned(),
                value: each,
                min: each,
                max: each,
                samples: 1,
                ..large.clone()
            };
            samples.push(Sample { trial: "memory", how: "each further peer", record });
        }
    }
    Ok(())
}
