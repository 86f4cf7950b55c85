//! The manual: a page for each call, lapi(7), lapi_env(7).

use super::fortran;
use super::list::{self, Call, Section};
use anyhow::{Context, Result, bail};
use lapis_core::error::CODES;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a page says beyond what the list knows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    purpose: String,
    params: Vec<(String, String)>,
    text: String,
    errors: Vec<(String, String)>,
    context: String,
    see: Vec<String>,
}

/// Every page: its path below `docs/man`, and its text.
pub(super) fn generate(sections: &[Section], folder: &Path) -> Result<Vec<(String, String)>> {
    let source = folder.join("calls.toml");
    let text = std::fs::read_to_string(&source).with_context(|| format!("reading {}", source.display()))?;
    let pages: BTreeMap<String, Page> =
        toml::from_str(&text).with_context(|| format!("{} is not a set of pages", source.display()))?;
    let mut out = Vec::new();
    for call in list::calls(sections) {
        let page = pages.get(&call.name).with_context(|| format!("{} has no manual page", call.name))?;
        check(call, page, &pages)?;
        out.push((format!("man3/{}.3", call.name), render(call, page)?));
        out.push((format!("man3/P{}.3", call.name), format!(".so man3/{}.3\n", call.name)));
    }
    if let Some(extra) = pages.keys().find(|name| !list::calls(sections).any(|call| call.name == **name)) {
        bail!("{extra} has a manual page and is no call");
    }
    let overview = std::fs::read_to_string(folder.join("lapi.7")).context("reading lapi.7")?;
    out.push(("man7/lapi.7".into(), overview.replace(".\\\" CALLS\n", &calls(sections, &pages))));
    out.push(("man7/lapi_env.7".into(), lapis_core::config::environment_page(lapis_standard::TRANSPORTS)));
    Ok(out)
}

fn check(call: &Call, page: &Page, pages: &BTreeMap<String, Page>) -> Result<()> {
    let declared = parameters(call).filter(|name| *name != "hndl" || call.name == "LAPI_Init");
    if !declared.clone().eq(page.params.iter().map(|(name, _)| name.as_str())) {
        bail!(
            "the manual page of {} does not have the parameters {:?}",
            call.name,
            declared.collect::<Vec<_>>()
        );
    }
    for (code, _) in &page.errors {
        if !CODES.iter().any(|entry| entry.name == code) {
            bail!("the manual page of {} names {code}, which does not exist", call.name);
        }
    }
    match page.see.iter().find(|name| !pages.contains_key(*name)) {
        Some(name) => bail!("the manual page of {} refers to {name}, which does not exist", call.name),
        None => Ok(()),
    }
}

pub(super) fn parameters(call: &Call) -> impl Iterator<Item = &str> + Clone {
    call.params.iter().map(|(_, name)| name.trim_end_matches("[]"))
}

fn render(call: &Call, page: &Page) -> Result<String> {
    let name = &call.name;
    let has_handle = call.params.first().is_some_and(|(of, name)| of == "lapi_handle_t" && name == "hndl");
    let mut out = format!(
        ".\\\" Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.\n.TH {} 3 \"\" Lapis \"Lapis manual\"\n\
         .SH NAME\n{name} \\- {}\n.SH SYNOPSIS\n.nf\n.B #include <lapi.h>\n.PP\n",
        name.to_uppercase(),
        roff(&page.purpose)
    );
    writeln!(out, ".BI \"int {name}(\" \"\"")?;
    for (at, (of, parameter)) in call.params.iter().enumerate() {
        let end = if at + 1 == call.params.len() { ");" } else { "," };
        let blank = if of.ends_with('*') { "" } else { " " };
        let (plain, array) =
            parameter.strip_suffix("[]").map_or((parameter.as_str(), ""), |plain| (plain, "[]"));
        writeln!(out, ".BI \"    {of}{blank}\" {plain} {array}{end}")?;
    }
    out.push_str(".PP\n");
    out.push_str(&fortran::synopsis(call)?);
    out.push_str(
        ".fi\n.PP\nLink with \\fI\\-llapi_r\\fP, or compile with\n.BR lapicc (1)\nor\n.BR lapifc (1).\n",
    );
    writeln!(out, ".SH DESCRIPTION\n{}", prose(&page.text))?;
    out.push_str(".SH PARAMETERS\n");
    if has_handle {
        out.push_str(".TP\n.I hndl\nthe context.\n");
    }
    for (parameter, meaning) in &page.params {
        writeln!(out, ".TP\n.I {parameter}\n{}.", prose(meaning))?;
    }
    out.push_str(".SH RETURN VALUE\n.TP\n.B LAPI_SUCCESS\nThe call did what it was asked to.\n");
    if has_handle {
        out.push_str(".TP\n.B LAPI_ERR_HNDL_INVALID\nhndl is not the handle of an initialized context of this process.\n");
    }
    for (code, when) in &page.errors {
        let mut letters = when.chars();
        // Parameters keep their spelling.
        let first = letters.next().unwrap_or_default();
        let is_word = when.split(' ').next().is_some_and(|word| !word.contains('_'))
            && !call.params.iter().any(|(_, p)| when.starts_with(p.as_str()));
        let first = if is_word { first.to_ascii_uppercase() } else { first };
        writeln!(out, ".TP\n.B {code}\n{}.", prose(&format!("{first}{}", letters.as_str())))?;
    }
    writeln!(out, ".SH CONTEXT\n{}", prose(&page.context))?;
    writeln!(
        out,
        ".SH STANDARDS\nLAPI Programming Guide, {name}. P{name} is the same call for profiling libraries."
    )?;
    out.push_str(".SH SEE ALSO\n");
    for other in &page.see {
        writeln!(out, ".BR {other} (3),")?;
    }
    out.push_str(".BR lapi (7)\n");
    Ok(out)
}

/// The list of calls in lapi(7).
fn calls(sections: &[Section], pages: &BTreeMap<String, Page>) -> String {
    list::calls(sections)
        .filter_map(|call| Some((call, pages.get(&call.name)?)))
        .map(|(call, page)| format!(".TP\n.BR {} (3)\n{}\n", call.name, roff(&page.purpose)))
        .collect()
}

/// One sentence a line, which is how roff likes it.
pub(super) fn prose(text: &str) -> String {
    roff(text).replace(". ", ".\n")
}

pub(super) fn roff(text: &str) -> String {
    text.replace("\\-", "-").replace('\\', "\\e").replace('-', "\\-")
}
