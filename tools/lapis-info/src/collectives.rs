//! Which algorithm a collective takes.

use lapis_collectives::schedule::levels::Hosts;
use lapis_collectives::select::{self, Overrides, Shape, Way};
use lapis_collectives::{Call, select::Algorithm};
use serde::Serialize;
use std::fmt::Write;

/// Bytes of each member's data, or of each part.
const BYTES: [usize; 5] = [8, 1 << 10, 16 << 10, 256 << 10, 4 << 20];

/// Members, on one host and on several.
const ONE_HOST: [usize; 4] = [2, 8, 16, 64];
const SEVERAL: [usize; 4] = [2, 16, 128, 1024];

/// Members of each host where there are several with more than one.
const EACH: usize = 8;

/// Rows for each number of bytes.
const OPERATIONS: usize = 11;

/// Bytes of an element: numbers of 8 bytes, whose operands may change places.
const SIZE: usize = 8;

/// The choices, and what was wished for.
#[derive(Debug, Serialize)]
pub(crate) struct Collectives {
    /// The value of LAPIS_COLLECTIVES.
    overrides: String,
    /// It is that of the tuning file, which counts for teams of one host.
    measured: bool,
    choices: Vec<Choice>,
}

/// What is taken when.
#[derive(Debug, Serialize)]
struct Choice {
    operation: &'static str,
    bytes: usize,
    members: usize,
    hosts: usize,
    algorithm: String,
}

/// Calls of `n` members with so many elements each, or in each part. A reduce_scatter has so many
/// in all parts together, as the variable counts them, but at least one in each.
fn calls(count: usize, n: usize) -> [Call<'static>; OPERATIONS] {
    let root = 0;
    [
        Call::Barrier,
        Call::Broadcast { root, count },
        Call::Reduce { root, count },
        Call::AllReduce { count },
        Call::ReduceScatterBlock { count: count.div_ceil(n) },
        Call::Gather { root, count },
        Call::Scatter { root, count },
        Call::AllGather { count },
        Call::AllToAll { count },
        Call::Scan { count },
        Call::ExScan { count },
    ]
}

impl Collectives {
    /// By the rules, and by what the variable overrides for. `measured`: its value is that of the
    /// tuning file, which counts for teams of one host, and does not count if it is not understood;
    /// then the second result says why.
    pub(crate) fn gather(text: &str, measured: bool) -> Result<(Self, Option<String>), String> {
        let (overrides, ignored) = match Overrides::parse(text) {
            Err(why) if measured => (Overrides::default(), Some(why)),
            parsed => (parsed?, None),
        };
        let of_several = if measured { &Overrides::default() } else { &overrides };
        let mut choices = Vec::new();
        for bytes in BYTES {
            for at in 0..OPERATIONS {
                let call = |n: usize| calls(bytes / SIZE, n)[at];
                if matches!(call(2), Call::Barrier) && bytes != BYTES[0] {
                    continue;
                }
                for n in ONE_HOST {
                    choices.push(choose(&call(n), bytes, n, n, &overrides));
                }
                for n in SEVERAL {
                    choices.push(choose(&call(n), bytes, n, EACH.min(n / 2), of_several));
                }
            }
        }
        let overrides = if ignored.is_some() { String::new() } else { text.to_owned() };
        Ok((Self { overrides, measured: measured && ignored.is_none(), choices }, ignored))
    }

    /// For people: a table for one host, one for several.
    pub(crate) fn write(&self, out: &mut String) {
        out.push_str("\nCollectives\n");
        let overrides = if self.overrides.is_empty() { "unset" } else { &self.overrides };
        let whence = if self.measured { " (tuning file, for teams of one host)" } else { "" };
        let _ = writeln!(out, "  LAPIS_COLLECTIVES: {overrides}{whence}");
        out.push_str("  For numbers of 8 bytes whose operands may change places. Where members map\n");
        out.push_str("  no memory of each other, the algorithm in brackets is taken.\n");
        for (several, title) in [
            (false, "Members, all on one host".to_owned()),
            (true, format!("Members, up to {EACH} on each of several hosts")),
        ] {
            let members = if several { SEVERAL } else { ONE_HOST };
            let _ = write!(out, "\n  {title}\n  {:24}", "");
            members.iter().for_each(|n| {
                let _ = write!(out, " {n:>24}");
            });
            out.push('\n');
            let rows = self.choices.iter().filter(|choice| (choice.hosts > 1) == several);
            for row in rows.collect::<Vec<_>>().chunks(members.len()) {
                let name = match row[0].operation {
                    "barrier" => "barrier".to_owned(),
                    name => format!("{name} {}", size(row[0].bytes)),
                };
                let _ = write!(out, "  {name:24}");
                row.iter().for_each(|choice| {
                    let _ = write!(out, " {:>24}", choice.algorithm);
                });
                out.push('\n');
            }
        }
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

fn choose(call: &Call<'_>, bytes: usize, n: usize, each: usize, overrides: &Overrides) -> Choice {
    let hosts = Hosts::of((0..n).map(|rank| (rank / each) as u64));
    let shape = Shape {
        me: 0,
        n,
        hosts: (hosts.len() > 1).then_some(&hosts),
        size: SIZE,
        reorder: true,
        reproducible: false,
    };
    let messages = select::choose(call, &shape, overrides);
    let algorithm = match select::through_memory(call, &shape, overrides) {
        Some(Way::Host) => both("memory", messages),
        Some(Way::Levels) => both("memory+messages", messages),
        None => messages.name().to_owned(),
    };
    let operation = match call {
        Call::ReduceScatterBlock { .. } => "reduce_scatter",
        _ => call.name(),
    };
    Choice { operation, bytes, members: n, hosts: hosts.len(), algorithm }
}

/// What is taken with memory, and without.
fn both(memory: &str, messages: Algorithm) -> String {
    format!("{memory} ({})", messages.name())
}
