//! `docs/acp-coverage.md`: every name of ACP's specification 1.0 and of the headers of release 3.0,
//! with its code and its tests.
//!
//! The names are in `bindings/acp/api/names.toml`. Headers must have each of them and no others. A
//! call's code is what names it; its tests are the test programs that name it; what it gives when
//! it fails is shown by tests that say so (`FAILS`).

use super::files::{File, is_generated, naming, read};
use super::page::cell;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const CODE: &[&str] = &["bindings/acp/src"];
const HEADERS: &[&str] = &["bindings/acp/include"];
const TESTS: &[&str] = &["bindings/acp/tests", "examples/c/acp"];
/// Lets every call fail, which shows of none what it does.
const FAILURES_ONLY: &str = "bindings/acp/tests/programs/outside.c";

/// Calls without a value that says that they failed.
const NEVER_FAIL: &[(&str, &str)] =
    &[("acp_abort", "does not return"), ("acp_errno_location", "always gives an address")];

const TOP: &str = "\
<!-- Written by `cargo xtask codegen`. -->
# Advanced Communication Primitives: what is implemented where, and what shows it

Names of the specification 1.0 are without a remark; *3.0* are those that release 3.0 added, *own*
those of Lapis. Code is what names the row; tests are the test programs that name it. The last
column has the tests in which a call fails, with the value that it gives then and its reason.
`cargo xtask tidy` refuses rows without a test.
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    calls: Vec<Group>,
    names: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    title: String,
    #[serde(default)]
    first: Vec<String>,
    #[serde(default)]
    third: Vec<String>,
    #[serde(default)]
    own: Vec<String>,
}

impl Group {
    /// Names with their origin.
    fn rows(&self) -> impl Iterator<Item = (&str, &str)> {
        let origins = [(&self.first, ""), (&self.third, " *3.0*"), (&self.own, " *own*")];
        origins.into_iter().flat_map(|(names, origin)| names.iter().map(move |name| (name.as_str(), origin)))
    }
}

struct Row<'a> {
    name: &'a str,
    origin: &'a str,
    code: Vec<String>,
    tests: Vec<String>,
    /// None: not a call.
    failures: Option<Vec<String>>,
}

fn names(root: &Path) -> Result<Names> {
    let path = root.join("bindings/acp/api/names.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is not a list of names", path.display()))
}

/// The table.
pub(in crate::codegen) fn generate(root: &Path) -> Result<String> {
    let names = names(root)?;
    check_headers(&names, root)?;
    let mut out = String::from(TOP);
    for (title, rows) in tables(&names, root) {
        let tested = rows.iter().filter(|row| !row.tests.is_empty()).count();
        writeln!(out, "\n## {title}\n\n{tested} of {} have tests.\n", rows.len())?;
        let calls = rows.iter().any(|row| row.failures.is_some());
        out.push_str(if calls {
            "| | code | tests | failures |\n|---|---|---|---|\n"
        } else {
            "| | code | tests |\n|---|---|---|\n"
        });
        for Row { name, origin, code, tests, failures } in &rows {
            write!(out, "| `{name}`{origin} | {} | {} |", cell(code), cell(tests))?;
            match failures {
                Some(failures) if failures.is_empty() => {
                    write!(out, " {} |", never_fails(name).unwrap_or("none"))?;
                }
                Some(failures) => write!(out, " {} |", cell(failures))?,
                None => {}
            }
            out.push('\n');
        }
    }
    Ok(out)
}

/// Names that no test has, and calls that fail in none.
pub(in crate::codegen) fn gaps(root: &Path) -> Result<Vec<String>> {
    let names = names(root)?;
    let mut found = Vec::new();
    for row in tables(&names, root).into_iter().flat_map(|(_, rows)| rows) {
        if row.tests.is_empty() {
            found.push(format!("{} has no test", row.name));
        }
        if row.failures.is_some_and(|failures| failures.is_empty()) && never_fails(row.name).is_none() {
            found.push(format!("no test lets {} fail", row.name));
        }
    }
    Ok(found)
}

/// The headers of C; the module for Fortran is made from them.
fn headers(root: &Path) -> Vec<File> {
    let (mut headers, _) = read(root, HEADERS, &[], is_generated);
    headers.retain(|header| header.path.ends_with(".h"));
    headers
}

fn never_fails(name: &str) -> Option<&'static str> {
    NEVER_FAIL.iter().find(|(call, _)| *call == name).map(|(_, why)| *why)
}

fn tables<'a>(names: &'a Names, root: &Path) -> Vec<(&'a str, Vec<Row<'a>>)> {
    let (code, mut tests) = read(root, CODE, TESTS, is_generated);
    tests.iter_mut().for_each(paste);
    let headers = headers(root);
    let row = |(name, origin): (&'a str, &'a str), code: &[File], call: bool| Row {
        name,
        origin,
        code: naming(code, name),
        tests: naming(&tests, name).into_iter().filter(|path| path != FAILURES_ONLY).collect(),
        failures: call.then(|| failing(&tests, name)),
    };
    let calls = names
        .calls
        .iter()
        .map(|group| (group.title.as_str(), group.rows().map(|name| row(name, &code, true)).collect()));
    let others = names
        .names
        .iter()
        .map(|group| (group.title.as_str(), group.rows().map(|name| row(name, &headers, false)).collect()));
    calls.chain(others).collect()
}

/// Adds the names that a file's macros make of a word and an argument: of `acp_size_##kind` and the
/// line `WALK(set)` the name `acp_size_set`.
fn paste(file: &mut File) {
    let arguments: BTreeSet<&str> = file
        .text
        .lines()
        .filter_map(|line| line.split_once('('))
        .filter(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase()))
        .filter_map(|(_, rest)| words(rest).next())
        .collect();
    let mut made = Vec::new();
    for (before, after) in file.text.match_indices("_##").map(|(at, _)| file.text.split_at(at + 1)) {
        let stem = words(before).last().unwrap_or_default();
        let rest = after.trim_start_matches("##").trim_start_matches(|c: char| c.is_alphanumeric());
        let tail = rest.strip_prefix("##").and_then(|rest| words(rest).next()).unwrap_or_default();
        made.extend(arguments.iter().map(|argument| format!("{stem}{argument}{tail}")));
    }
    file.words.extend(made);
}

/// Tests that let a call fail.
fn failing(tests: &[File], name: &str) -> Vec<String> {
    let fails = |file: &&File| {
        let calls = file.text.split("FAILS(").skip(1).filter_map(|rest| rest.split(';').next());
        calls.flat_map(words).any(|word| word == name)
    };
    tests.iter().filter(fails).map(|file| file.path.clone()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Headers and list have the same calls, and headers all other names.
fn check_headers(names: &Names, root: &Path) -> Result<()> {
    let headers = headers(root);
    let text: String = headers.iter().map(|header| header.text.as_str()).collect();
    let prototypes = text.split("extern ").skip(1).filter_map(|rest| rest.split('(').next());
    let declared: BTreeSet<&str> = prototypes
        .filter_map(|prototype| words(prototype).last())
        .map(|name| name.trim_end_matches("_3"))
        .filter(|name| name.starts_with("acp_"))
        .collect();
    let listed: BTreeSet<&str> = names.calls.iter().flat_map(Group::rows).map(|(name, _)| name).collect();
    if let Some(name) = declared.symmetric_difference(&listed).next() {
        bail!("{name} is not both in acp's headers and in bindings/acp/api/names.toml");
    }
    let known: BTreeSet<&str> = words(&text).collect();
    match names.names.iter().flat_map(Group::rows).find(|(name, _)| !known.contains(name)) {
        Some((name, _)) => bail!("{name} is in bindings/acp/api/names.toml, but not in acp's headers"),
        None => Ok(()),
    }
}
