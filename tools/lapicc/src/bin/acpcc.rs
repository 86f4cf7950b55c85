//! `acpcc`: compiles and links C programs that use ACP.

use std::process::ExitCode;

fn main() -> ExitCode {
    lapicc::acp("LAPIS_CC", "cc")
}
