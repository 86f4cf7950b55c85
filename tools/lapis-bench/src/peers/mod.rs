//! The parties of a comparison: what can be measured here, and how.

mod compile;
mod find;
mod lapis;
mod mpi;
mod perftest;
mod pingpong;

use crate::exec::Line;
use anyhow::{Result, bail};
use lapis_bench::record::Record;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use find::{crowds_of, peers};
pub(crate) use lapis::{
    c_calls, lapis, lapis_as_reference, lapis_from_acp, lapis_from_c, lapis_from_c_in, lapis_from_gm,
    lapis_from_qnix, lapis_in, lapis_of, set_tasks,
};
pub(crate) use mpi::{mpis_of, openshmem, packers};

/// The bench that [`How::Calls`] has, and nobody else.
pub(crate) const C_CALL: &str = "c_call";

/// Benches that only programs in C have: answers of completion handlers, which run on threads of
/// the library, as long as the request and of 8 bytes.
pub(crate) const SERVE: &str = "am_serve";
pub(crate) const ASK: &str = "am_ask";

/// Benches that QNIX alone has, in jobs of more than two tasks.
pub(crate) const QNIX_ONLY: [&str; 2] = ["send_short", "broadcast_short"];

/// Benches that ACP alone has.
pub(crate) const ACP_ONLY: [&str; 5] = ["acp_seen", "acp_chain", "acp_third", "acp_malloc", "acp_find"];

/// The bench that GM alone has.
pub(crate) const GM_ONLY: &str = "gm_open";

/// One party.
pub(crate) struct Party {
    /// With its version: `ucx-1.22`, `lapis`.
    pub(crate) name: String,
    /// As the party calls it: `shm`, `posix,cma`, `ob1/tcp`.
    pub(crate) transport: String,
    pub(crate) how: How,
}

/// A party that can't be measured here, and why.
pub(crate) struct Absent {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// Parties, and who is none.
pub(crate) type Found = (Vec<Party>, Vec<Absent>);

/// How a party is asked for a figure.
pub(crate) enum How {
    /// Our C programs: PEER TRANSPORT BENCHES SIZES MILLISECONDS behind this line.
    Program(Line),
    /// `lapis-perf` under `lapirun`.
    Lapis(Line),
    /// What calls through C cost above those of Rust: a program that measures one task alone.
    Calls(Line),
    /// `fi_pingpong`: a server, a client, a table to read.
    Pingpong(Line),
    /// `ucx_perftest`: a server, a client, a table to read.
    Perftest(Line),
}

/// One measurement requested from a party.
pub(crate) struct Request<'a> {
    pub(crate) bench: &'a str,
    pub(crate) sizes: &'a [u64],
    pub(crate) budget: Duration,
}

impl Party {
    /// Name and transport, as shown in tables.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.name, self.transport)
    }

    /// Measures. No record is a normal answer: not every party has every bench.
    pub(crate) fn measure(&self, request: &Request<'_>) -> Result<Vec<Record>> {
        let from_c_only = [SERVE, ASK, GM_ONLY].contains(&request.bench)
            || QNIX_ONLY.contains(&request.bench)
            || ACP_ONLY.contains(&request.bench);
        let from_c_only = from_c_only && matches!(self.how, How::Lapis(_));
        if from_c_only || (request.bench == C_CALL) != matches!(self.how, How::Calls(_)) {
            return Ok(Vec::new());
        }
        let sizes = request.sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let milliseconds = request.budget.as_millis().to_string();
        // Start-up of a launcher, growing of batches, then the figures themselves.
        let limit = Duration::from_secs(30) + request.budget * (4 * request.sizes.len().max(1) as u32);
        let text = match &self.how {
            How::Pingpong(line) => return pingpong::measure(self, line, request, limit),
            How::Perftest(line) => return perftest::measure(self, line, request, limit),
            How::Calls(line) => line.clone().args(["--json"]).output(limit)?,
            How::Program(line) => {
                let line =
                    line.clone().args([&self.name, &self.transport, request.bench, &sizes, &milliseconds]);
                line.output(limit)?
            }
            How::Lapis(line) => {
                let options = [request.bench, "--sizes", &sizes, "--time-ms", &milliseconds, "--json"];
                // Sockets reach any memory alike.
                let memory = if self.transport == "shm" { "any,lapis" } else { "lapis" };
                line.clone().args(options).args(["--memory", memory]).output(limit * 2)?
            }
        };
        let records = Record::read_all(&text);
        if records.is_empty() && matches!(self.how, How::Lapis(_)) {
            bail!("lapis-perf printed no record for {}", request.bench);
        }
        // The program's own idea of its name is not trusted with the grouping of figures.
        Ok(records.into_iter().map(|r| r.of(&self.name, &self.transport)).collect())
    }
}

/// Where wheels and compiled programs are: `target/peers`.
pub(crate) fn folder() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    // target/release/lapis-bench → target/peers
    exe.parent().and_then(|p| p.parent()).map_or_else(|| PathBuf::from("target"), PathBuf::from).join("peers")
}
