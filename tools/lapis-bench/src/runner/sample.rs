//! What trials measure.

use anyhow::{Context, Result};
use lapis_bench::record::Record;

/// A figure of one of the trials.
pub(super) struct Sample {
    pub(super) trial: &'static str,
    /// Under which circumstances, as the transport of its records.
    pub(super) how: &'static str,
    pub(super) record: Record,
}

/// Keeps the figures that a job has printed.
pub(super) fn keep(
    samples: &mut Vec<Sample>,
    trial: &'static str,
    how: &'static str,
    text: &str,
) -> Result<()> {
    let records = Record::read_all(text);
    records.first().context("the job printed no figure")?;
    samples.extend(records.into_iter().map(|record| Sample { trial, how, record }));
    Ok(())
}
