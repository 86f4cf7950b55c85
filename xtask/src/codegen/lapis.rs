//! `lapis.h`, its exports and its manual: what Lapis offers C programs beside LAPI. The list stands
//! in `bindings/lapi/api/lapis`, in the form of LAPI's.

use super::abi::rust_type;
use super::list::{self, Call, Section};
use super::man::{parameters, prose, roff};
use super::{exports, fortran, header};
use anyhow::{Context, Result, bail};
use lapis_core::error::{CODES, OWN_CODES};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const HEADER: &str = "\
/*
 * lapis.h: what Lapis offers C programs beside LAPI. Programs that use it run with Lapis alone.
 * The manual has a page for each call.
 *
 * Written by `cargo xtask codegen` from bindings/lapi/api/lapis. Edit that.
 */
#ifndef LAPIS_H
#define LAPIS_H

#include <lapi.h>

#ifdef __cplusplus
extern \"C\" {
#endif
";

const EXPORTS: &str = "\
//! The symbols of `lapis.h`. Written by `cargo xtask codegen` from bindings/lapi/api/lapis. Edit
//! that.
//!
//! A collective has three forms, which one function does: `Form` says which.
#![allow(clippy::too_many_arguments, reason = \"collectives have many\")]

use crate::abi::*;
use crate::collectives::Form;
use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
";

pub(super) fn header(own: &[Section]) -> Result<String> {
    let mut out = String::from(HEADER);
    for section in own {
        write!(out, "\n/*\n * {}\n */\n", section.title)?;
        header::items(&mut out, section)?;
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* LAPIS_H */\n");
    Ok(out)
}

pub(super) fn exports(sections: &[Section], own: &[Section]) -> Result<String> {
    let mut functions = exports::function_types(sections);
    functions.extend(exports::function_types(own));
    let mut out = String::from(EXPORTS);
    for section in own {
        for call in list::calls(std::slice::from_ref(section)) {
            for (at, (name, params)) in list::forms(call).into_iter().enumerate() {
                let doc = if at == 0 { call.doc.clone() } else { format!("A form of [`{}`].", call.name) };
                let title = ["Wait", "Start(request)", "Keep(request)"][at];
                writeln!(out, "\n/// {}\n///", super::abi::prose(&doc))?;
                writeln!(out, "/// # Safety\n/// Pointers are valid for what the manual says.")?;
                write!(out, "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}(")?;
                for (of, name) in &params {
                    write!(out, "{}: {}, ", word(name), rust_type(of, &functions)?)?;
                }
                let inner = call.name.trim_start_matches("lapis_");
                let inner = inner.trim_start_matches("team_");
                let given: Vec<_> = call.params.iter().map(|(_, name)| word(name)).collect();
                let form = if call.forms { format!(", Form::{title}") } else { String::new() };
                writeln!(
                    out,
                    ") -> c_int {{\n// SAFETY: the arguments go on as they came; what the manual says of them is all that is asked.\nunsafe {{ crate::{}::{inner}({}{form}) }}\n}}",
                    section.module,
                    given.join(", ")
                )?;
            }
        }
    }
    Ok(out)
}

/// A parameter's name in Rust.
pub(super) fn word(name: &str) -> &str {
    if name == "type" { "of" } else { name }
}

/// What pages say.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manual {
    /// Meanings of parameters that pages share.
    params: BTreeMap<String, String>,
    /// Codes of every collective.
    collective_errors: Vec<(String, String)>,
    /// Codes of those that fold.
    folding_errors: Vec<(String, String)>,
    /// What the three forms are.
    forms: String,
    /// Where collectives may be called.
    collective_context: String,
    page: BTreeMap<String, Page>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    purpose: String,
    text: String,
    #[serde(default)]
    params: BTreeMap<String, String>,
    #[serde(default)]
    errors: Vec<(String, String)>,
    #[serde(default)]
    context: String,
    see: Vec<String>,
}

/// Every page: its path below `docs/man`, and its text.
pub(super) fn manual(own: &[Section], folder: &Path) -> Result<Vec<(String, String)>> {
    let source = folder.join("lapis.toml");
    let text = std::fs::read_to_string(&source).with_context(|| format!("reading {}", source.display()))?;
    let manual: Manual =
        toml::from_str(&text).with_context(|| format!("{} is not a set of pages", source.display()))?;
    let mut out = Vec::new();
    for call in list::calls(own) {
        let name = &call.name;
        let page = manual.page.get(name).with_context(|| format!("{name} has no manual page"))?;
        if let Some(other) =
            page.see.iter().find(|other| !other.starts_with("LAPI_") && !manual.page.contains_key(*other))
        {
            bail!("the manual page of {name} refers to {other}, which does not exist");
        }
        out.push((format!("man3/{name}.3"), render(&manual, call, page)?));
        for other in list::names(call).into_iter().skip(1) {
            out.push((format!("man3/{other}.3"), format!(".so man3/{name}.3\n")));
        }
    }
    if let Some(extra) = manual.page.keys().find(|name| !list::calls(own).any(|call| call.name == **name)) {
        bail!("{extra} has a manual page and is no call");
    }
    Ok(out)
}

fn render(manual: &Manual, call: &Call, page: &Page) -> Result<String> {
    let mut out = format!(
        ".\\\" Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.\n.TH {} 3 \"\" Lapis \"Lapis manual\"\n\
         .SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.nf\n.B #include <lapis.h>\n",
        call.name.to_uppercase(),
        list::names(call).join(", "),
        roff(&page.purpose)
    );
    for (name, params) in list::forms(call) {
        writeln!(out, ".PP\n.BI \"int {name}(\" \"\"")?;
        for (at, (of, parameter)) in params.iter().enumerate() {
            let end = if at + 1 == params.len() { ");" } else { "," };
            let blank = if of.ends_with('*') { "" } else { " " };
            writeln!(out, ".BI \"    {of}{blank}\" {parameter} {end}")?;
        }
    }
    out.push_str(&fortran::own_synopsis(call)?);
    out.push_str(
        ".fi\n.PP\nLink with \\fI\\-llapi_r\\fP, or compile with\n.BR lapicc (1)\nor\n.BR lapifc (1).\n",
    );
    writeln!(out, ".SH DESCRIPTION\n{}", prose(&page.text))?;
    if call.forms {
        writeln!(out, ".PP\n{}", prose(&manual.forms))?;
    }
    out.push_str(".SH PARAMETERS\n");
    for parameter in parameters(call).chain(call.forms.then_some("request")) {
        let meaning = page.params.get(parameter).or_else(|| manual.params.get(parameter));
        let meaning = meaning
            .with_context(|| format!("the manual page of {} does not explain {parameter}", call.name))?;
        writeln!(out, ".TP\n.I {parameter}\n{}.", prose(meaning))?;
    }
    results(&mut out, manual, call, page)?;
    let context = if call.forms { &manual.collective_context } else { &page.context };
    if !context.is_empty() {
        writeln!(out, ".SH CONTEXT\n{}", prose(context))?;
    }
    out.push_str(
        ".SH STANDARDS\nLapis's own: a program that calls it runs with Lapis alone.\n.SH SEE ALSO\n",
    );
    for other in &page.see {
        writeln!(out, ".BR {other} (3),")?;
    }
    out.push_str(".BR lapi (7)\n");
    Ok(out)
}

fn results(out: &mut String, manual: &Manual, call: &Call, page: &Page) -> Result<()> {
    out.push_str(".SH RETURN VALUE\n.TP\n.B LAPI_SUCCESS\nThe call did what it was asked to.\n");
    if parameters(call).any(|name| name == "hndl") {
        out.push_str(".TP\n.B LAPI_ERR_HNDL_INVALID\nhndl is not the handle of an initialized context of this process.\n");
    }
    let collective: &[_] = if call.forms { &manual.collective_errors } else { &[] };
    let folding: &[_] =
        if call.forms && parameters(call).any(|name| name == "op") { &manual.folding_errors } else { &[] };
    for (code, when) in page.errors.iter().chain(collective).chain(folding) {
        if !CODES.iter().chain(OWN_CODES).any(|entry| entry.name == code) {
            bail!("the manual page of {} names {code}, which does not exist", call.name);
        }
        writeln!(out, ".TP\n.B {code}\n{}.", prose(when))?;
    }
    Ok(())
}
