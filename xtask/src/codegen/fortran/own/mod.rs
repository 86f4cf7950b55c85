//! `module lapis`: the calls of `lapis.h` for Fortran, by the rules that bindings/lapi/api/README.md
//! states.

mod module;
mod synopsis;
mod thunks;

use crate::codegen::list::{self, Section};
use anyhow::{Result, bail};
pub(in crate::codegen) use synopsis::synopsis;

pub(super) use module::generate as module;
pub(super) use thunks::generate as thunks;

/// What the library exports for the module and no rule gives.
const BY_HAND: [&str; 2] = ["lapis_bytes_", "lapis_in_place_"];

/// The call that is written by hand: its text ends in blanks, as Fortran's do.
const TEXT: &str = "lapis_error_text";

/// The symbol behind a call of the module. C has the name without the underscore.
fn symbol(name: &str) -> String {
    format!("{name}_")
}

/// Every exported symbol.
pub(in crate::codegen) fn symbols(own: &[Section]) -> Vec<String> {
    let calls = list::calls(own).flat_map(list::names).map(|name| symbol(&name));
    calls.chain(BY_HAND.map(str::to_owned)).collect()
}

/// An argument of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Argument<'a> {
    /// A number that C takes by value, by its C type.
    Value(&'a str),
    /// A number that the call writes.
    Out(&'a str),
    /// One that it reads and writes.
    InOut(&'a str),
    /// An array of numbers or structures that the call reads.
    List(&'a str),
    /// An array that it reads and writes.
    InOutList(&'a str),
    /// Data of any type and rank that the call reads.
    Input,
    /// Data that it writes.
    Output,
    /// A variable of any type that the program's own function gets.
    Anything,
    /// A pointer that the call gives, or takes back.
    GivenPointer,
    Pointer,
    /// A counter.
    Counter,
    /// A procedure, by its abstract interface.
    Procedure(&'static str),
    /// A character variable.
    Text,
}

/// How an argument comes from Fortran. What lies in the calling task is passed as itself.
fn argument<'a>(call: &str, of: &'a str, name: &str) -> Result<Argument<'a>> {
    let base = of.trim_start_matches("const ").trim_end_matches(['*', ' ']);
    Ok(match (of, name) {
        _ if !of.ends_with('*') => Argument::Value(base),
        ("void **", _) => Argument::GivenPointer,
        ("void *", "addr") if call == "lapis_free" => Argument::Pointer,
        ("void *", "arg") => Argument::Anything,
        ("void *", _) => Argument::Output,
        ("const void *", _) => Argument::Input,
        ("char *", _) => Argument::Text,
        ("lapi_cntr_t *", _) => Argument::Counter,
        ("compl_hndlr_t *", _) => Argument::Procedure("LAPIS_DONE_T"),
        ("lapis_fold_t *", _) => Argument::Procedure("LAPIS_FOLD_T"),
        ("lapis_request_t *", "requests") => Argument::InOutList(base),
        ("lapis_request_t *", _) if makes_request(call) => Argument::Out(base),
        ("lapis_request_t *", _) => Argument::InOut(base),
        _ if of.starts_with("const ") => Argument::List(base),
        ("int *" | "uint *" | "lapis_team_t *" | "lapis_op_t *", _) => Argument::Out(base),
        _ => bail!("no rule for `{of} {name}` of {call} in Fortran"),
    })
}

/// Whether a call is the nonblocking or persistent form of a collective, whose buffers it keeps.
fn makes_request(call: &str) -> bool {
    call.ends_with("_init") || call.starts_with("lapis_i")
}

/// The kind of an integer.
fn kind(of: &str) -> Result<&'static str> {
    Ok(match of {
        "int" | "uint" | "lapi_handle_t" => "c_int",
        "long" | "ulong" => "LAPI_LONG_TYPE",
        "lapi_dg_handle_t" => "LAPI_ADDR_TYPE",
        "lapis_team_t" => "LAPIS_TEAM_T",
        "lapis_request_t" => "LAPIS_REQUEST_T",
        "lapis_type_t" => "LAPIS_TYPE_T",
        "lapis_op_t" => "LAPIS_OP_T",
        of => bail!("no kind for an argument of type `{of}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::{Argument, argument, makes_request};

    #[test]
    fn arguments_follow_from_type_and_name() {
        for (call, of, name, expected) in [
            ("lapis_bcast", "ulong", "count", Argument::Value("ulong")),
            ("lapis_bcast", "void *", "data", Argument::Output),
            ("lapis_gatherv", "const ulong *", "counts", Argument::List("ulong")),
            ("lapis_wait", "lapis_request_t *", "request", Argument::InOut("lapis_request_t")),
            ("lapis_ibcast", "lapis_request_t *", "request", Argument::Out("lapis_request_t")),
            ("lapis_free", "void *", "addr", Argument::Pointer),
            ("lapis_register", "void *", "addr", Argument::Output),
        ] {
            assert_eq!(argument(call, of, name).unwrap(), expected, "{call}: {name}");
        }
        assert!(argument("lapis_new", "double *", "x").is_err());
        assert!(makes_request("lapis_barrier_init") && !makes_request("lapis_request_free"));
    }
}
