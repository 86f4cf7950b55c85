//! `lapis-trace`: the traces of a job's tasks, merged.

mod align;
mod perfetto;
mod read;
mod summary;

use clap::Parser;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const AFTER: &str = "\
Tasks write traces if LAPIS_TRACE names a folder: waits that last, operations with an answer, completion handlers on handler \
threads, and counts of packets and bytes every tenth of a second. Short messages are counted only, which costs them nothing.

Tasks of one machine share a clock. Machines' clocks are aligned by the moment at which all tasks had met in LAPI_Init; what is \
left is as long as the slowest task takes to hear of that, mostly some tenths of a millisecond.

The output is JSON that ui.perfetto.dev and chrome://tracing open. A file that ends early (a task was killed) is taken as far as \
it goes.";

/// Merges the traces of a job's tasks for Perfetto, and sums them up.
#[derive(Debug, Parser)]
#[command(name = "lapis-trace", version, after_help = AFTER)]
struct Cli {
    /// Folders of traces, or single files.
    #[arg(required = true, value_name = "FOLDER|FILE")]
    sources: Vec<PathBuf>,

    /// Writes the merged trace there.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Only the job whose identity begins with this, if there are several.
    #[arg(long, value_name = "ID")]
    job: Option<String>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("lapis-trace: {text}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<(), String> {
    let mut traces = Vec::new();
    for path in files(&cli.sources)? {
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        traces.push(read::Trace::parse(&bytes).map_err(|why| format!("{}: {why}", path.display()))?);
    }
    if let Some(only) = &cli.job {
        traces.retain(|trace| trace.job.starts_with(only));
    }
    // A task that was restarted, or has opened a context again, has several.
    traces.sort_by_key(|trace| (trace.task, trace.context, trace.met));
    let Some(first) = traces.first() else { return Err("no trace was found (*.lapistrace)".into()) };
    if let Some(other) = traces.iter().find(|trace| trace.job != first.job) {
        return Err(format!(
            "traces of several jobs, {} and {} among them: choose one with --job",
            first.job, other.job
        ));
    }
    align::align(&mut traces);
    if let Some(path) = &cli.output {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        let mut out = BufWriter::new(File::create(path).map_err(failed)?);
        perfetto::write(&traces, &mut out).and_then(|()| out.flush()).map_err(failed)?;
    }
    let mut out = std::io::stdout().lock();
    // Who reads no further has seen enough.
    let _ = out.write_all(summary::text(&traces).as_bytes());
    Ok(())
}

/// The trace files that are meant.
fn files(sources: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut all = Vec::new();
    for source in sources {
        if !source.is_dir() {
            all.push(source.clone());
            continue;
        }
        let entries = std::fs::read_dir(source).map_err(|e| format!("{}: {e}", source.display()))?;
        let is_trace = |path: &PathBuf| Path::extension(path).is_some_and(|e| e == "lapistrace");
        all.extend(entries.flatten().map(|entry| entry.path()).filter(is_trace));
    }
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_manual_says_what_the_help_says() {
        lapis_testing::manual(Cli::command());
    }
}
