//! `lapis-perf tune`: measures which copies are fastest on this kind of processor, and keeps it in
//! the tuning file.

use anyhow::{Context as _, Result, bail};
use lapis::core::config::{Environment, TUNING, processor, write_tuning};
use lapis_copies::{Copies, Trial, VARIABLE, about, limits, measure};
use std::fmt::Write;
use std::time::Duration;

/// What is asked for in place of a bench.
pub(crate) const NAME: &str = "tune";

/// Each figure has some milliseconds.
const BUDGET: Duration = Duration::from_secs(2);

/// How often it is measured until nothing disturbs it.
const ATTEMPTS: u32 = 3;

/// Measures, shows, and writes the file.
pub(crate) fn run() -> Result<()> {
    let environment = Environment::of_process();
    let Some(path) = environment.tuning_path() else {
        bail!("there is no place for a tuning file: HOME is not set, or {TUNING} is none");
    };
    let (trials, copies) = quiet(|| measure(BUDGET))?;
    print!("{}", listing(&trials));
    let text = copies.to_string();
    write_tuning(path, &about(&trials), &[(VARIABLE, &text)])
        .with_context(|| format!("{} can't be written", path.display()))?;
    println!("\n{VARIABLE}={text}\nwritten to {}; `lapis-info --copies` shows what it means", path.display());
    Ok(())
}

/// The first measurement that nothing disturbed, and the limits that it comes to.
fn quiet(mut measure: impl FnMut() -> Vec<Trial>) -> Result<(Vec<Trial>, Copies)> {
    let known = Copies::shipped(&processor()).unwrap_or(Copies::USUAL);
    let mut why = String::new();
    for attempt in 1..=ATTEMPTS {
        let trials = measure();
        if trials.is_empty() {
            bail!("it takes two cores to measure what lies between them, and this process may use one");
        }
        match limits(&trials, known) {
            Ok(copies) => return Ok((trials, copies)),
            Err(disturbance) => {
                eprintln!("attempt {attempt} of {ATTEMPTS} does not count: {disturbance}");
                why = disturbance.to_string();
            }
        }
    }
    bail!(
        "the machine is too busy to measure copies ({why}); nothing was written, so try again when it is quiet"
    )
}

fn listing(trials: &[Trial]) -> String {
    let mut out = format!("Processor {}; nanoseconds for each message\n", processor());
    for trial in trials {
        let ([first, second], figures) = (trial.cores, trial.figures());
        let _ = writeln!(out, "\nCores {first} and {second}: a line's way takes {} ns", figures.line);
        let _ = writeln!(
            out,
            "{:>9} {:>14} {:>14} {:>14} {:>14}",
            "bytes", "stream, caches", "stream, past", "one, two copies", "one, attach"
        );
        for row in &figures.rows {
            let _ = writeln!(
                out,
                "{:>9} {:>14} {:>14} {:>15} {:>14}",
                row.bytes, row.cached, row.past, row.alone, row.attach
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_copies::{Figures, Row};

    fn trial(away_ms: u64) -> Vec<Trial> {
        let row = Row { bytes: 1024, cached: 100, past: 50, alone: 100, attach: 200 };
        let figures = Figures { line: 40, read: 40, rows: vec![row] };
        let took = Duration::from_millis(100);
        vec![Trial {
            cores: [0, 1],
            passes: [figures.clone(), figures],
            away: Duration::from_millis(away_ms),
            took,
        }]
    }

    #[test]
    fn the_first_quiet_measurement_counts_and_busy_ones_give_none() {
        let mut away = [50, 50, 0, 0].into_iter();
        let (trials, copies) = quiet(|| trial(away.next().unwrap())).unwrap();
        assert_eq!((trials[0].away, copies.near_past), (Duration::ZERO, Some(1024)));
        let mut times = 0;
        let error = quiet(|| {
            times += 1;
            trial(50)
        });
        let text = error.unwrap_err().to_string();
        assert!(times == 3 && text.contains("others had one of them for 50.0 of 100.0 ms"), "{text}");
    }
}
