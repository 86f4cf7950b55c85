//! `exports.rs`: the symbols of `liblapi_r.so`, each subroutine under its own name and under its
//! profiling name.

use super::abi::{FunctionType, rust_type};
use super::list::{Call, Handler, Item, Section, calls};
use anyhow::Result;
use std::collections::HashSet;
use std::fmt::Write;

const TOP: &str = "\
//! The exported symbols. Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
//!
//! Every subroutine exists twice: `LAPI_*`, which a profiling library may replace by defining it,
//! and `PLAPI_*`, which such a library calls (LAPI Guide, chapter 9). Both go to the same function
//! of `crate::calls`, which nothing outside can name, so calls within the library never run through
//! a replaced symbol.
#![allow(non_snake_case, reason = \"the names are C's\")]
#![allow(clippy::too_many_arguments, reason = \"the prototypes are the guide's\")]

use crate::abi::*;
use crate::calls;
use std::ffi::{c_int, c_longlong, c_uint, c_ulong, c_void};
";

pub(super) fn generate(sections: &[Section]) -> Result<String> {
    let functions = function_types(sections);
    let mut out = String::from(TOP);
    for call in calls(sections) {
        export(&mut out, call, "", &functions)?;
        export(&mut out, call, "P", &functions)?;
    }
    Ok(out)
}

/// The names that stand for functions, not data.
pub(super) fn function_types(sections: &[Section]) -> HashSet<FunctionType> {
    let items = sections.iter().flat_map(|section| &section.items);
    items
        .filter_map(|item| match item {
            Item::Handler(Handler { name, pointer, .. }) => {
                Some(FunctionType { name: name.clone(), pointer: *pointer })
            }
            _ => None,
        })
        .collect()
}

fn export(out: &mut String, call: &Call, prefix: &str, functions: &HashSet<FunctionType>) -> Result<()> {
    let inner = call.name.trim_start_matches("LAPI_").to_lowercase();
    if prefix.is_empty() {
        writeln!(out, "\n/// {}\n///", super::abi::prose(&call.doc))?;
    } else {
        writeln!(out, "\n/// [`{}`] for profiling libraries.\n///", call.name)?;
    }
    writeln!(
        out,
        "/// # Safety\n/// Pointers are valid for what the guide says that the call does with them."
    )?;
    write!(out, "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {prefix}{}(", call.name)?;
    for (of, name) in &call.params {
        // An array parameter is a pointer.
        let (name, stars) = name.strip_suffix("[]").map_or((name.as_str(), ""), |name| (name, " *"));
        write!(out, "{name}: {}, ", rust_type(&format!("{of}{stars}"), functions)?)?;
    }
    let names: Vec<_> = call.params.iter().map(|(_, name)| name.trim_end_matches("[]")).collect();
    writeln!(
        out,
        ") -> c_int {{\n// SAFETY: the arguments go on as they came; what the guide says of them is all that is asked.\nunsafe {{ calls::{inner}({}) }}\n}}",
        names.join(", ")
    )?;
    Ok(())
}
