//! `lapis-dgsp`: assembles, disassembles, verifies, draws and times data gather/scatter programs.

mod core;
mod draw;
mod file;
mod handwritten;
mod shape;
mod shapes;
mod time;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Works on DGSPs: in text form (see the documentation of `lapis_dgsp::text`) or as JSON with the
/// fields of lapi_dgsp_descr_t. `-` stands for the standard input.
#[derive(Parser)]
#[command(name = "lapis-dgsp", version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Text to JSON.
    Assemble {
        /// The program.
        file: PathBuf,
    },
    /// JSON to text.
    Disassemble {
        /// The program.
        file: PathBuf,
    },
    /// Verifies a program: prints the error with LAPI's code and the instruction, or a summary.
    Verify {
        /// The program.
        file: PathBuf,
    },
    /// Draws which bytes a program moves, and in what order.
    Draw {
        /// The program.
        file: PathBuf,
        /// An SVG file's text instead of characters.
        #[arg(long)]
        svg: bool,
        /// Applications of the program.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=1 << 20))]
        reps: u64,
        /// Bytes in a row.
        #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..=4096))]
        width: u64,
    },
    /// Packs and unpacks the shapes of common applications, beside hand-written loops, memcpy, and
    /// other programs.
    Time(time::TimeArgs),
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("lapis-dgsp: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), file::Failure> {
    match command {
        Command::Assemble { file } => println!("{}", file::to_json(&file::load(&file)?)?),
        Command::Disassemble { file } => print!("{}", lapis_dgsp::text::disassemble(&file::load(&file)?)),
        Command::Verify { file } => {
            let verified = lapis_dgsp::verify(&file::load(&file)?)?;
            let d = verified.descriptor();
            println!(
                "sound: {} words, {} frames, {} bytes in {}..{}, extent {}{}",
                d.code.len(),
                verified.depth(),
                d.size,
                d.lext,
                d.rext,
                d.extent,
                if verified.has_control() { ", with CONTROL: scatter side only" } else { "" }
            );
        }
        Command::Draw { file, svg, reps, width } => {
            let map = draw::ByteMap::new(&file::load(&file)?, reps)?;
            print!("{}", if svg { map.svg(width) } else { map.text(width) });
        }
        Command::Time(args) => time::run(&args)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_manual_says_what_the_help_says() {
        lapis_testing::manual(Args::command());
    }
}
