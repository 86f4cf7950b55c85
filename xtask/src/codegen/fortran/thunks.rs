//! `src/fortran/exports.rs`: which subroutine takes which arguments.

use super::{Mode, mode, spellings};
use crate::codegen::abi::{prose, rust_type};
use crate::codegen::exports::function_types;
use crate::codegen::list::{Call, Section, calls};
use anyhow::Result;
use std::fmt::Write;

const TOP: &str = "\
//! The Fortran subroutines. Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
#![allow(non_snake_case, reason = \"these are the spellings of Fortran compilers\")]
#![allow(clippy::too_many_arguments, reason = \"the synopses are the guide's\")]

use super::arguments::{Address, Argument, Command, Handler, Object, Text, Value};
use super::subroutine;
use crate::abi::*;
use crate::exports as c;
use std::ffi::{c_int, c_longlong, c_uint, c_ulong, c_void};
";

/// Further names of the calls that take procedures: an explicit interface must tell these from the
/// calls that take variables, and a name has one explicit interface. Functions and other procedures
/// need one each, because a compiler that was told to type nothing implicitly doesn't take a
/// function for a procedure of unknown type.
pub(in crate::codegen) fn procedure_forms(call: &Call) -> Option<[String; 2]> {
    let takes_one = matches!(call.name.as_str(), "LAPI_Address" | "LAPI_Amsend" | "LAPI_Amsendv");
    takes_one.then(|| ["procedure", "function"].map(|form| format!("{}_{form}", call.name)))
}

/// Every exported symbol.
pub(in crate::codegen) fn symbols(sections: &[Section]) -> Vec<String> {
    let names = calls(sections).flat_map(|call| {
        std::iter::once(call.name.clone()).chain(procedure_forms(call).into_iter().flatten())
    });
    let both = names.flat_map(|name| [format!("P{name}"), name]);
    both.chain(["LAPI_ADDR_NULL_C".to_owned()]).flat_map(|name| spellings(&name)).collect()
}

pub(super) fn generate(sections: &[Section]) -> Result<String> {
    let functions = function_types(sections);
    let mut out = String::from(TOP);
    for call in calls(sections) {
        let mut arguments = String::new();
        for (of, declared) in &call.params {
            let (name, stars) =
                declared.strip_suffix("[]").map_or((declared.as_str(), ""), |name| (name, " *"));
            let of = format!("{of}{stars}");
            let mode = mode(&call.name, &of, declared);
            let mut inner = rust_type(&of, &functions)?;
            if mode != Mode::Value {
                inner = inner.strip_prefix("*mut ").map(str::to_owned).unwrap_or(inner);
            }
            writeln!(arguments, "        {name}: {mode:?}<{inner}>,")?;
        }
        let own: Vec<_> =
            std::iter::once(call.name.clone()).chain(procedure_forms(call).into_iter().flatten()).collect();
        let names = |prefix: &str| {
            let lines = own.iter().map(|name| spellings(&format!("{prefix}{name}")).join(" "));
            lines.map(|line| format!("        {line}\n")).collect::<String>()
        };
        let doc = prose(&call.doc);
        write!(out, "\nsubroutine! {{\n    \"{doc}\"\n")?;
        for prefix in ["", "P"] {
            write!(out, "    {prefix}{} [\n{}    ]\n", call.name, names(prefix))?;
        }
        write!(out, "    (\n{arguments}    )\n}}\n")?;
    }
    Ok(out)
}
