//! `lapifc`: compiles and links Fortran programs that use LAPI.

use std::process::ExitCode;

fn main() -> ExitCode {
    lapicc::fortran()
}
