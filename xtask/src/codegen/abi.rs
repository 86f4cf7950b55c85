//! `abi.rs`: the types and constants of `lapi.h` in Rust.

use super::list::{Aggregate, Define, Enum, Handler, Item, Section, Typedef};
use anyhow::{Result, bail};
use lapis_core::error::{ALIASES, CODES, OWN_CODES};
use std::collections::HashSet;
use std::fmt::Write;

const TOP: &str = "\
//! The types and constants of `lapi.h` and `lapis.h`. Written by `cargo xtask codegen` from
//! bindings/lapi/api. Edit that.
//!
//! Names are C's, so that the LAPI Guide can be read beside the code. Enumerations are plain
//! integers: a C program can pass any value, and an invalid value in a Rust enum would be undefined
//! behaviour.
#![allow(non_camel_case_types, non_snake_case, reason = \"the names are C's\")]

use libc::{in_addr_t, in_port_t, pthread_attr_t, pthread_t, timespec};
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};
";

pub(super) fn generate(sections: &[Section], own: &[Section]) -> Result<String> {
    let mut out = String::from(TOP);
    let mut functions = HashSet::new();
    for item in sections.iter().chain(own).flat_map(|section| &section.items) {
        out.push('\n');
        match item {
            Item::Typedef(item) => typedef(&mut out, item, &functions)?,
            Item::Define(item) => define(&mut out, item)?,
            Item::Enum(item) => enumeration(&mut out, item)?,
            Item::Struct(item) => aggregate(&mut out, "struct", item, &functions)?,
            Item::Union(item) => aggregate(&mut out, "union", item, &functions)?,
            Item::Handler(item) => {
                handler(&mut out, item, &functions)?;
                functions.insert(FunctionType { name: item.name.clone(), pointer: item.pointer });
            }
            Item::Codes {} => codes(&mut out)?,
            Item::OwnCodes {} => own_codes(&mut out)?,
            // The implementation defines them; a test compares its list of exports with the map.
            Item::Call(_) => {}
        }
    }
    Ok(out)
}

#[derive(PartialEq, Eq, Hash)]
pub(super) struct FunctionType {
    pub(super) name: String,
    pub(super) pointer: bool,
}

fn docs(out: &mut String, text: &str) -> std::fmt::Result {
    prose(text).lines().try_for_each(|line| writeln!(out, "/// {line}"))
}

fn typedef(out: &mut String, item: &Typedef, functions: &HashSet<FunctionType>) -> Result<()> {
    docs(out, &item.doc)?;
    writeln!(out, "pub type {} = {};", item.name, rust_type(&item.of, functions)?)?;
    Ok(())
}

fn define(out: &mut String, item: &Define) -> Result<()> {
    let Some(value) = &item.value else { return Ok(()) };
    docs(out, &item.doc)?;
    writeln!(out, "pub const {}: {} = {value};", item.name, item.rust)?;
    Ok(())
}

fn enumeration(out: &mut String, item: &Enum) -> Result<()> {
    docs(out, &item.doc)?;
    writeln!(out, "pub type {} = c_int;", item.name)?;
    if let Some(alias) = &item.alias {
        writeln!(out, "/// Another name of [`{}`].\npub type {alias} = {};", item.name, item.name)?;
    }
    for (name, value, doc) in &item.values {
        let doc = prose(doc);
        writeln!(out, "/// [`{}`]: {doc}.\npub const {name}: {} = {value};", item.name, item.name)?;
    }
    Ok(())
}

fn aggregate(
    out: &mut String,
    keyword: &str,
    item: &Aggregate,
    functions: &HashSet<FunctionType>,
) -> Result<()> {
    docs(out, &item.doc)?;
    writeln!(out, "#[repr(C)]\n#[derive(Clone, Copy)]\npub {keyword} {} {{", item.name)?;
    for field in &item.fields {
        let of = rust_type(&field.of, functions)?;
        let doc = if field.doc.is_empty() { format!("As a [`{}`]", field.of) } else { sentence(&field.doc) };
        let of = field.length.map_or(of.clone(), |length| format!("[{of}; {length}]"));
        writeln!(out, "/// {doc}.\npub {}: {of},", field.name)?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    prose(&letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect()))
}

/// Brackets in a C comment are indices, not links.
pub(super) fn prose(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]")
}

fn handler(out: &mut String, item: &Handler, functions: &HashSet<FunctionType>) -> Result<()> {
    docs(out, &item.doc)?;
    write!(out, "pub type {} = unsafe extern \"C\" fn(", item.name)?;
    for (of, name) in &item.params {
        let name = if name == "in" { "r#in" } else { name };
        write!(out, "{name}: {}, ", rust_type(of, functions)?)?;
    }
    match item.returns.as_str() {
        "void" => writeln!(out, ");")?,
        returns => writeln!(out, ") -> {};", rust_type(returns, functions)?)?,
    }
    Ok(())
}

fn own_codes(out: &mut String) -> std::fmt::Result {
    for entry in OWN_CODES {
        writeln!(out, "/// {}\npub const {}: c_int = {};", entry.text, entry.name, entry.code.value())?;
    }
    Ok(())
}

fn codes(out: &mut String) -> Result<()> {
    for entry in CODES {
        writeln!(out, "/// {}\npub const {}: c_int = {};", entry.text, entry.name, entry.code.value())?;
    }
    for (alias, code) in ALIASES {
        writeln!(out, "/// Another name of [`{0}`].\npub const {alias}: c_int = {0};", code.name())?;
    }
    Ok(())
}

/// The Rust type of a C type. A pointer to a function type becomes an `Option` of the function
/// pointer.
pub(super) fn rust_type(of: &str, functions: &HashSet<FunctionType>) -> Result<String> {
    let mut stars = of.matches('*').count();
    let constant = of.starts_with("const ");
    let base = of.trim_start_matches("const ").trim_end_matches(['*', ' ']);
    let mut text = match base {
        "char" => "c_char".to_owned(),
        "int" => "c_int".to_owned(),
        "uint" => "c_uint".to_owned(),
        "long" => "c_long".to_owned(),
        "ulong" => "c_ulong".to_owned(),
        "long long" => "c_longlong".to_owned(),
        "unsigned long long" => "c_ulonglong".to_owned(),
        "void" => "c_void".to_owned(),
        "struct timespec" => "timespec".to_owned(),
        name => name.to_owned(),
    };
    if let Some(function) = functions.iter().find(|function| function.name == base) {
        text = format!("Option<{text}>");
        if !function.pointer {
            match stars.checked_sub(1) {
                Some(left) => stars = left,
                None => bail!("`{base}` is a function type: only pointers to it can be declared"),
            }
        }
    }
    match (constant, stars) {
        (true, 1) => Ok(format!("*const {text}")),
        (true, _) => bail!("`{of}`: const is understood of what one pointer leads to"),
        (false, _) => Ok(format!("{}{text}", "*mut ".repeat(stars))),
    }
}
