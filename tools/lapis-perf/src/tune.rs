//! `lapis-perf tune`: measures which copies are fastest on this kind of processor, and keeps it in
//! the tuning file.

use anyhow::{Context as _, Result, bail};
use lapis::core::config::{Environment, TUNING, processor, write_tuning};
use lapis_copies::{Copies, Measured, VARIABLE, about, measure};
use std::fmt::Write;
use std::time::Duration;

/// What is asked for in place of a bench.
pub(crate) const NAME: &str = "tune";

/// Each figure has some milliseconds.
const BUDGET: Duration = Duration::from_secs(2);

/// Measures, shows, and writes the file.
pub(crate) fn run() -> Result<()> {
    let environment = Environment::of_process();
    let Some(path) = environment.tuning_path() else {
        bail!("there is no place for a tuning file: HOME is not set, or {TUNING} is none");
    };
    let (shipped, _) = Copies::shipped(&processor());
    let measured = measure(BUDGET);
    if measured.is_empty() {
        bail!("it takes two cores to measure what lies between them, and this process may use one");
    }
    let copies = measured.iter().fold(shipped, |known, one| one.refine(known));
    print!("{}", listing(&measured));
    let text = copies.to_string();
    write_tuning(path, &about(&measured), &[(VARIABLE, &text)])
        .with_context(|| format!("{} can't be written", path.display()))?;
    println!("\n{VARIABLE}={text}\nwritten to {}; `lapis-info --copies` shows what it means", path.display());
    Ok(())
}

fn listing(measured: &[Measured]) -> String {
    let mut out = format!("Processor {}; nanoseconds for each message\n", processor());
    for pair in measured {
        let [first, second] = pair.cores;
        let _ = writeln!(out, "\nCores {first} and {second}: a line's way takes {} ns", pair.line);
        let _ = writeln!(
            out,
            "{:>9} {:>14} {:>14} {:>14} {:>14}",
            "bytes", "stream, caches", "stream, past", "one, two copies", "one, attach"
        );
        for row in &pair.rows {
            let _ = writeln!(
                out,
                "{:>9} {:>14} {:>14} {:>15} {:>14}",
                row.bytes, row.cached, row.past, row.alone, row.attach
            );
        }
    }
    out
}
