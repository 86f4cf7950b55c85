//! The Fortran synopsis of a manual page.

use super::{Mode, mode};
use crate::codegen::list::Call;
use anyhow::{Result, bail};
use std::fmt::Write;

/// Longest line of a call.
const COLUMNS: usize = 68;

/// Lines in roff, to stand where text is not filled.
pub(in crate::codegen) fn synopsis(call: &Call) -> Result<String> {
    let mut out = String::from(".B INCLUDE 'lapif.h'\n.PP\n");
    let names: Vec<_> = call.params.iter().map(|(_, name)| name.trim_end_matches("[]")).collect();
    call_lines(&mut out, &call.name.to_uppercase(), &names)?;
    out.push_str(".PP\n");
    let mut declared = Vec::new();
    for ((of, parameter), name) in call.params.iter().zip(names) {
        let (of, rank) = declaration(call, of, parameter)?;
        declared.push((of, format!("{name}{rank}")));
    }
    declared.push(("INTEGER".into(), "ierror".into()));
    declaration_lines(&mut out, declared)?;
    Ok(out)
}

/// A call with these arguments, and `ierror`.
pub(super) fn call_lines(out: &mut String, call: &str, names: &[&str]) -> std::fmt::Result {
    let mut line = format!("CALL {call}(");
    for (at, name) in names.iter().chain(&["ierror"]).enumerate() {
        let end = if at == names.len() { ")" } else { ", " };
        if line.len() + name.len() + end.len() > COLUMNS {
            writeln!(out, ".B \"{}\"", line.trim_end())?;
            line = "    ".into();
        }
        write!(line, "{name}{end}")?;
    }
    writeln!(out, ".B \"{line}\"")
}

/// Declarations of types and names: one line a type, in the order of its first argument.
pub(super) fn declaration_lines(out: &mut String, declared: Vec<(String, String)>) -> std::fmt::Result {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (of, name) in declared {
        match lines.iter_mut().find(|(known, _)| *known == of) {
            Some((_, names)) => names.push(name),
            None => lines.push((of, vec![name])),
        }
    }
    for (of, names) in lines {
        writeln!(out, ".BI \"{of} \" \"{}\"", names.join(", "))?;
    }
    Ok(())
}

/// The Fortran type of an argument, and its rank.
fn declaration(call: &Call, of: &str, declared: &str) -> Result<(String, &'static str)> {
    let name = declared.trim_end_matches("[]");
    let many = declared.ends_with("[]") || ["in_val", "dest_list", "dest_status", "add_tab"].contains(&name);
    let rank = if many { "(*)" } else { "" };
    let integer = |kind: &str| format!("INTEGER(KIND={kind})");
    let of = match mode(&call.name, of, declared) {
        Mode::Address => return Ok((integer("LAPI_ADDR_TYPE"), "")),
        Mode::Handler => return Ok(("EXTERNAL".into(), "")),
        Mode::Text => return Ok(("CHARACTER(LEN=LAPI_MAX_ERR_STRING)".into(), "")),
        Mode::Command => return Ok(("<command>".into(), "")),
        Mode::Value | Mode::Object => match of.trim_end_matches('*').trim_end() {
            "int" | "uint" | "lapi_handle_t" | "lapi_query_t" | "RMW_ops_t" | "Rmw_ops_t" => "INTEGER".into(),
            "ulong" => integer("LAPI_LONG_TYPE"),
            "long long" | "lapi_long_t" => integer("LAPI_LONG_LONG_TYPE"),
            "lapi_xfer_t" => "<command>".into(),
            // The guide names it after its only field's type.
            "lapi_msg_info_t" => "TYPE(LAPI_MSG_STATE_T)".into(),
            "void" if of.ends_with("**") || many => integer("LAPI_ADDR_TYPE"),
            "void" => return Ok(("<type>".into(), "(*)")),
            other if of.ends_with('*') => format!("TYPE({})", other.to_uppercase()),
            other => bail!("no Fortran type for `{other}`"),
        },
    };
    Ok((of, rank))
}
