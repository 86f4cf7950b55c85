//! `lapicc`: compiles and links C programs that use LAPI.

use std::process::ExitCode;

fn main() -> ExitCode {
    lapicc::main("LAPIS_CC", "cc")
}
