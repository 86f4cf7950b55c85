//! `acpfc`: compiles and links Fortran programs that use ACP.

use std::process::ExitCode;

fn main() -> ExitCode {
    lapicc::acp_fortran()
}
