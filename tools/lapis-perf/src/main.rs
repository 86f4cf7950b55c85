//! `lapis-perf`: latency, rate and bandwidth between two tasks of a job.
//!
//! `lapirun -n 2 --bind core lapis-perf am_lat put_bw --max-size 1MiB --plot speed.svg`

mod bench;
mod cli;
mod doctor;
mod footprint;
mod output;
mod plan;
mod sample;
mod session;
mod single;
mod tune;
mod tune_collectives;

use anyhow::Result;
use clap::Parser;
use session::Session;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            return refuse(&error.to_string(), error.exit_code(), error.use_stderr());
        }
    };
    if doctor::is_meant(&cli) {
        return doctor::run(&cli);
    }
    if cli.benches == [tune::NAME] {
        return tune_once();
    }
    if cli.benches == [tune::NAME, tune_collectives::NAME] {
        lapis_log::install();
        return match tune_collectives::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => refuse(&format!("lapis-perf: {error:#}\n"), 1, true),
        };
    }
    let plan = match plan::Plan::of(&cli) {
        Ok(plan) => plan,
        Err(error) => return refuse(&format!("lapis-perf: {error:#}\n"), 2, true),
    };
    if cli.list {
        return refuse(&plan::listing(), 0, false);
    }
    if let Err(error) = output::reserve(cli.plot.as_deref()) {
        return refuse(&format!("lapis-perf: {error:#}\n"), 1, true);
    }
    lapis_log::install();
    match run(&cli, &plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lapis-perf: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &cli::Cli, plan: &plan::Plan) -> Result<()> {
    let session = Session::start(cli, plan.largest())?;
    let mut output = output::Output::new(cli, &session, plan);
    for figure in &plan.figures {
        output.begin(figure);
        let record = sample::measure(&session, figure, cli.time(), &mut || output.pulse())?;
        output.show(figure, record)?;
    }
    output.finish(cli.plot.as_deref())?;
    session.finish()
}

/// Once for a job, whatever the number of its tasks.
fn tune_once() -> ExitCode {
    if !is_first_task() {
        return ExitCode::SUCCESS;
    }
    match tune::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("lapis-perf: {error:#}\n"), 1, true),
    }
}

/// Ends with a text that all tasks of a job would write alike: the first one does, and its exit
/// code is the job's. The others leave quietly, or the launcher might end the first before it has
/// spoken.
fn refuse(text: &str, code: i32, error: bool) -> ExitCode {
    if !is_first_task() {
        return ExitCode::SUCCESS;
    }
    if error {
        eprint!("{text}");
    } else {
        print!("{text}");
    }
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}

/// Whether this process is the first task of lapirun's job, or of none.
fn is_first_task() -> bool {
    std::env::var("LAPIS_TASK").map_or(true, |task| task == "0")
}
