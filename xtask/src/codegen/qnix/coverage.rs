//! `docs/qnix-coverage.md`: every call, field, limit, state and error of `qx.h`, and every rule
//! that the code cites.

use super::super::coverage::files::{self, File, citing, naming};
use super::super::coverage::page::{self, Row, Table};
use super::Header;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;

const CODE: &[&str] = &["bindings/qnix/src"];
const TESTS: &[&str] = &["bindings/qnix/tests", "examples/qnix"];

/// How code and tests cite the text.
const CITES: &str = "= QNIX API, ";

/// What no test can bring about, and why.
const NEVER_GIVEN: [(&str, &str); 2] = [
    ("QX_ERR_MEMORY", "the system would have to refuse memory"),
    ("QX_ERR_INTERNAL", "the library would have to have a defect"),
];

const TOP: &str = "\
<!-- Written by `cargo xtask codegen`. -->
# The QNIX API: what is implemented where, and what shows it

Code is what cites the API's text for the row (`//= QNIX API, ...`) or names it; tests are the test programs, examples and unit
tests that do. A row without tests claims nothing: `cargo xtask tidy` refuses it unless it says why there is none.
";

pub(super) fn generate(header: &Header, root: &Path) -> Result<String> {
    page::write(TOP, tables(header, root), never_given)
}

/// Rows that no test or no code shows.
pub(in super::super) fn gaps(root: &Path) -> Result<Vec<String>> {
    let rows = tables(&super::read(root)?, root).into_iter().flat_map(|table| table.rows);
    let gap = |row: Row| match row {
        row if row.code.is_empty() => Some(format!("{} is in qx.h, and no code cites or names it", row.name)),
        row if row.tests.is_empty() && never_given(&row.name).is_none() => {
            Some(format!("{} has no test", row.name))
        }
        _ => None,
    };
    Ok(rows.filter_map(gap).collect())
}

fn never_given(name: &str) -> Option<&'static str> {
    NEVER_GIVEN.iter().find(|(code, _)| *code == name).map(|(_, why)| *why)
}

fn tables(header: &Header, root: &Path) -> Vec<Table> {
    let (code, tests) = files::read(root, CODE, TESTS, |_| false);
    let table = |title: String, rows: Vec<Row>| Table { title, rows };
    let rows = |names: &[String]| names.iter().map(|name| row(name, name, &code, &tests)).collect::<Vec<_>>();
    let beginning = |start: &str| -> Vec<String> {
        header.names.iter().filter(|name| name.starts_with(start)).cloned().collect()
    };
    let is_other = |name: &&String| {
        !["QX_ERR_", "QX_DOORBELL_", "QX_CONTEXT_"].iter().any(|start| name.starts_with(start))
            && *name != "QX_OK"
    };
    let calls: Vec<String> = header.calls.iter().map(|call| call.name.clone()).collect();
    let limits: Vec<String> = header.names.iter().filter(is_other).cloned().collect();
    let mut all = vec![
        table("Calls".to_owned(), rows(&calls)),
        table("Limits and units".to_owned(), rows(&limits)),
        table("States of doorbells".to_owned(), rows(&beginning("QX_DOORBELL_"))),
        table("States of contexts".to_owned(), rows(&beginning("QX_CONTEXT_"))),
        table("Errors".to_owned(), rows(&beginning("QX_ERR_"))),
    ];
    for (structure, fields) in &header.structures {
        let rows = fields.iter().map(|field| row(&format!("{structure}.{field}"), field, &code, &tests));
        all.push(table(format!("Fields of {structure}"), rows.collect()));
    }
    all.push(table("Rules that the code cites".to_owned(), rules(&code, &tests)));
    all
}

fn row(name: &str, word: &str, code: &[File], tests: &[File]) -> Row {
    Row { name: name.to_owned(), code: naming(code, word), tests: naming(tests, word) }
}

/// Rules of the text that code cites, and the tests that cite them too.
fn rules(code: &[File], tests: &[File]) -> Vec<Row> {
    let is_rule = |cited: &&str| cited.contains(", ");
    let citations: BTreeSet<&str> = code.iter().flat_map(cited).filter(is_rule).collect();
    let citing = |files: &[File], rule: &str| citing(files, |file| cited(file).any(|other| other == rule));
    let row =
        |rule: &str| Row { name: rule.to_owned(), code: citing(code, rule), tests: citing(tests, rule) };
    citations.into_iter().map(row).collect()
}

/// What a file cites, in Rust (`//=`) or in C (`/*= ... */`).
fn cited(file: &File) -> impl Iterator<Item = &str> {
    let citation = |line: &'_ str| -> Option<usize> {
        let at = line.find(CITES)?;
        ["//", "/*"].contains(&line[..at].trim()).then_some(at + CITES.len())
    };
    file.text.lines().filter_map(move |line| Some(line[citation(line)?..].trim_end_matches("*/").trim()))
}
