//! A manual page for each call of `qx.h`.

use super::super::man::{prose, roff};
use super::{Call, Header};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a page says beyond the prototype.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    purpose: String,
    params: Vec<(String, String)>,
    text: String,
    returns: String,
    errors: Vec<(String, String)>,
    see: Vec<String>,
}

/// Every page: its name and its text.
pub(super) fn generate(header: &Header, source: &Path) -> Result<Vec<(String, String)>> {
    let text = std::fs::read_to_string(source).with_context(|| format!("reading {}", source.display()))?;
    let pages: BTreeMap<String, Page> =
        toml::from_str(&text).with_context(|| format!("{} is not a set of pages", source.display()))?;
    let mut out = Vec::new();
    for call in &header.calls {
        let page = pages.get(&call.name).with_context(|| format!("{} has no manual page", call.name))?;
        check(header, call, page)?;
        out.push((format!("{}.3", call.name), render(call, page)?));
    }
    match pages.keys().find(|name| !header.calls.iter().any(|call| call.name == **name)) {
        Some(extra) => bail!("{extra} has a manual page and is no call"),
        None => Ok(out),
    }
}

fn check(header: &Header, call: &Call, page: &Page) -> Result<()> {
    if !call.params.iter().map(|(_, name)| name).eq(page.params.iter().map(|(name, _)| name)) {
        bail!("the manual page of {} does not have the parameters of its prototype", call.name);
    }
    if let Some((code, _)) = page.errors.iter().find(|(code, _)| !header.names.contains(code)) {
        bail!("the manual page of {} names {code}, which does not exist", call.name);
    }
    match page.see.iter().find(|name| !header.calls.iter().any(|call| call.name == **name)) {
        Some(name) => bail!("the manual page of {} refers to {name}, which does not exist", call.name),
        None => Ok(()),
    }
}

fn render(call: &Call, page: &Page) -> Result<String> {
    let name = &call.name;
    let mut out = format!(
        ".\\\" Written by `cargo xtask codegen` from bindings/qnix/api/man.toml. Edit that.\n\
         .TH {} 3 \"\" Lapis \"Lapis manual\"\n.SH NAME\n{name} \\- {}\n.SH SYNOPSIS\n.nf\n.B #include <qx.h>\n.PP\n",
        name.to_uppercase(),
        roff(&page.purpose)
    );
    let joined = |of: &str, name: &str| format!("{of}{}{name}", if of.ends_with('*') { "" } else { " " });
    let head = joined(&call.gives, name);
    if call.params.is_empty() {
        writeln!(out, ".B {head}(void);")?;
    } else {
        writeln!(out, ".BI \"{head}(\" \"\"")?;
    }
    for (at, (of, parameter)) in call.params.iter().enumerate() {
        let end = if at + 1 == call.params.len() { ");" } else { "," };
        writeln!(out, ".BI \"    {}\" {parameter} {end}", joined(of, ""))?;
    }
    writeln!(out, ".fi\n.PP\nLink with \\fI\\-lqnix\\fP.\n.SH DESCRIPTION\n{}", prose(&page.text))?;
    if !page.params.is_empty() {
        out.push_str(".SH PARAMETERS\n");
    }
    for (parameter, meaning) in &page.params {
        writeln!(out, ".TP\n.I {parameter}\n{}.", prose(meaning))?;
    }
    writeln!(out, ".SH RETURN VALUE\n{}", prose(&page.returns))?;
    if !page.errors.is_empty() {
        out.push_str("In case of error a negative number:\n");
    }
    for (code, when) in &page.errors {
        writeln!(out, ".TP\n.B {code}\n{}.", prose(when))?;
    }
    if !page.errors.iter().any(|(code, _)| code == "QX_ERR_NOT_INITIALIZED") && needs_init(name) {
        out.push_str(".TP\n.B QX_ERR_NOT_INITIALIZED\nqx_init has not succeeded, or qx_end was called.\n");
    }
    out.push_str(".SH SEE ALSO\n");
    for other in &page.see {
        writeln!(out, ".BR {other} (3),")?;
    }
    out.push_str(".BR qx (3)\n");
    Ok(out)
}

/// Whether a call is refused before qx_init.
fn needs_init(name: &str) -> bool {
    !["qx_init", "qx_strerror", "qx_last_error", "qx_whoami"].contains(&name)
}
