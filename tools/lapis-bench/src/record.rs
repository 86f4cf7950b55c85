//! The line of JSON that every measuring program prints for each figure: see
//! `docs/bench-format.md`.

use crate::stats::Summary;
use serde::{Deserialize, Serialize};

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// What was measured: `am_lat`, `put_bw`, …
    pub bench: String,
    /// Who was measured: `floor`, `lapis`, or a peer with its version.
    pub peer: String,
    /// What carried the bytes: `shm`, `udp`, `tcp`, or the peer's own name for it.
    pub transport: String,
    /// Bytes of payload of one operation.
    pub size: u64,
    /// The median of the samples, in `unit`.
    pub value: f64,
    /// Unit of value, min and max.
    pub unit: Unit,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// How many samples (batches, not single operations).
    pub samples: usize,
    /// Kind of the memory at the target: `heap`, `lapis` (allocated by Lapis, mapped by its peers),
    /// `window`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// Layout of the bytes, where one is packed or copied (`wrf_x`, `column`, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// Contiguous blocks of that layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
    /// Samples kept although something else ran on the core, where that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<u64>,
    /// Anything a reader should know of how it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds for one operation.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Microseconds for one operation, where nanoseconds would make long numbers.
    #[serde(rename = "us")]
    Microseconds,
    /// 10^9 bytes a second.
    #[serde(rename = "GB/s")]
    Gigabytes,
    /// Millions of operations a second.
    #[serde(rename = "M/s")]
    Millions,
    /// Part of a core's time, in percent.
    #[serde(rename = "%")]
    Percent,
    /// 1024 bytes of memory.
    #[serde(rename = "KiB")]
    Kibibytes,
}

impl Unit {
    /// As in the JSON.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Gigabytes => "GB/s",
            Self::Millions => "M/s",
            Self::Percent => "%",
            Self::Kibibytes => "KiB",
        }
    }

    /// Whether a larger number is the better one.
    pub fn more_is_better(self) -> bool {
        matches!(self, Self::Gigabytes | Self::Millions)
    }
}

impl Record {
    /// A record from nanoseconds per operation, kept as they are.
    pub fn latency(bench: &str, size: u64, per_operation: Summary) -> Self {
        Self::with(bench, size, per_operation, Unit::Nanoseconds)
    }

    /// A record of bytes a second from nanoseconds per operation of `size` bytes.
    pub fn bandwidth(bench: &str, size: u64, per_operation: Summary) -> Self {
        Self::with(bench, size, per_operation.inverted(size as f64), Unit::Gigabytes)
    }

    /// A record of operations a second from nanoseconds per operation.
    pub fn rate(bench: &str, size: u64, per_operation: Summary) -> Self {
        Self::with(bench, size, per_operation.inverted(1e3), Unit::Millions)
    }

    /// Names who was measured over what.
    pub fn of(mut self, peer: &str, transport: &str) -> Self {
        (self.peer, self.transport) = (peer.to_owned(), transport.to_owned());
        self
    }

    /// Names the kind of memory.
    pub fn in_memory(mut self, kind: &str) -> Self {
        self.memory = Some(kind.to_owned());
        self
    }

    /// Names the layout of the bytes.
    pub fn shaped(mut self, shape: &str, blocks: u64) -> Self {
        (self.shape, self.blocks) = (Some(shape.to_owned()), Some(blocks));
        self
    }

    /// Says how many samples were kept although something else ran on the core.
    pub fn disturbed(mut self, samples: u64) -> Self {
        self.disturbed = Some(samples);
        self
    }

    /// Prints the record as one line on standard output.
    pub fn print(&self) {
        println!("{}", self.line());
    }

    /// The record as one line, without its end.
    pub fn line(&self) -> String {
        // Strings and finite numbers always serialise; a NaN becomes null, which readers then
        // refuse.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads every line that is a record; others (a peer's warnings, say) are passed over.
    pub fn read_all(text: &str) -> Vec<Self> {
        text.lines().filter(|l| l.starts_with('{')).filter_map(|l| serde_json::from_str(l).ok()).collect()
    }

    fn with(bench: &str, size: u64, summary: Summary, unit: Unit) -> Self {
        Self {
            bench: bench.to_owned(),
            peer: String::new(),
            transport: String::new(),
            size,
            value: summary.median,
            unit,
            min: summary.min,
            max: summary.max,
            samples: summary.samples,
            memory: None,
            shape: None,
            blocks: None,
            disturbed: None,
            note: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_as_the_same_record() {
        let summary = Summary { min: 40.5, median: 50.25, max: 99.0, samples: 7 };
        let record = Record::latency("am_lat", 8, summary).of("floor", "shm").in_memory("heap");
        assert_eq!(Record::read_all(&format!("warning: noise\n{}\n{{broken\n", record.line())), vec![record]);
    }

    #[test]
    fn optional_fields_may_be_absent() {
        let line = r#"{"bench":"am_bw","peer":"x","transport":"tcp","size":8,"value":1.5,"unit":"GB/s","min":1,"max":2,"samples":3}"#;
        let records = Record::read_all(line);
        assert_eq!(
            (records.len(), records[0].unit, records[0].memory.as_deref()),
            (1, Unit::Gigabytes, None)
        );
    }

    #[test]
    fn rates_and_bandwidths_come_from_times() {
        let summary = Summary { min: 10.0, median: 20.0, max: 40.0, samples: 3 };
        assert_eq!(Record::rate("am_rate", 8, summary).value, 50.0);
        assert_eq!(Record::bandwidth("put_bw", 1000, summary).value, 50.0);
    }
}
