//! `src/fortran/own_exports.rs`: which subroutine takes which arguments.

use super::{Argument, TEXT, argument, symbol};
use crate::codegen::abi::{prose, rust_type};
use crate::codegen::exports::function_types;
use crate::codegen::lapis::word;
use crate::codegen::list::{self, Section};
use anyhow::Result;
use std::fmt::Write;

const TOP: &str = "\
//! The subroutines of `module lapis`. Written by `cargo xtask codegen` from
//! bindings/lapi/api/lapis. Edit that.
#![allow(clippy::too_many_arguments, reason = \"collectives have many\")]

use super::arguments::{Address, Argument, Buffer, Object, Procedure, Value};
use super::subroutine;
use crate::abi::*;
use crate::own_exports as c;
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
";

pub(in super::super) fn generate(sections: &[Section], own: &[Section]) -> Result<String> {
    let mut functions = function_types(sections);
    functions.extend(function_types(own));
    let mut out = String::from(TOP);
    for call in list::calls(own).filter(|call| call.name != TEXT) {
        for (at, (name, params)) in list::forms(call).into_iter().enumerate() {
            let doc = if at == 0 { prose(&call.doc) } else { format!("A form of [`{}_`].", call.name) };
            write!(out, "\nsubroutine! {{\n    own \"{doc}\"\n    {name} {}\n    (\n", symbol(&name))?;
            for (of, parameter) in &params {
                let inner = rust_type(of, &functions)?;
                let inner = inner.trim_start_matches("*const ");
                let inner = inner.strip_prefix("*mut ").unwrap_or(inner);
                let mode = match argument(&name, of, parameter)? {
                    Argument::Value(_) => "Value",
                    Argument::Input | Argument::Output => "Buffer",
                    Argument::Pointer => "Address",
                    Argument::Procedure(_) => "Procedure",
                    _ => "Object",
                };
                writeln!(out, "        {}: {mode}<{inner}>,", word(parameter))?;
            }
            out.push_str("    )\n}\n");
        }
    }
    Ok(out)
}
