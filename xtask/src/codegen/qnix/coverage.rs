//! `docs/qnix-coverage.md`: every call, field, limit, state and error of `qx.h`, and every rule
//! that the code cites.

use super::Header;
use anyhow::Result;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const CODE: &str = "bindings/qnix/src";
const TESTS: [&str; 2] = ["bindings/qnix/tests", "examples/qnix"];

/// Where the unit tests of a source file begin.
const UNIT_TESTS: &str = "#[cfg(test)]";

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

struct File {
    path: String,
    text: String,
    words: BTreeSet<String>,
}

struct Row {
    name: String,
    code: Vec<String>,
    tests: Vec<String>,
}

pub(super) fn generate(header: &Header, root: &Path) -> Result<String> {
    let mut out = String::from(TOP);
    for (title, rows) in tables(header, root) {
        let tested = rows.iter().filter(|row| !row.tests.is_empty()).count();
        writeln!(
            out,
            "\n## {title}\n\n{tested} of {} have tests.\n\n| | code | tests |\n|---|---|---|",
            rows.len()
        )?;
        for Row { name, code, tests } in rows {
            let tests = match never_given(&name) {
                Some(why) if tests.is_empty() => format!("never given: {why}"),
                _ => cell(&tests),
            };
            let name = if name.contains(' ') { name } else { format!("`{name}`") };
            writeln!(out, "| {name} | {} | {tests} |", cell(&code))?;
        }
    }
    Ok(out)
}

/// Rows that no test or no code shows.
pub(in super::super) fn gaps(root: &Path) -> Result<Vec<String>> {
    let rows = tables(&super::read(root)?, root).into_iter().flat_map(|(_, rows)| rows);
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

fn tables(header: &Header, root: &Path) -> Vec<(String, Vec<Row>)> {
    let (code, tests) = read(root);
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
        ("Calls".to_owned(), rows(&calls)),
        ("Limits and units".to_owned(), rows(&limits)),
        ("States of doorbells".to_owned(), rows(&beginning("QX_DOORBELL_"))),
        ("States of contexts".to_owned(), rows(&beginning("QX_CONTEXT_"))),
        ("Errors".to_owned(), rows(&beginning("QX_ERR_"))),
    ];
    for (structure, fields) in &header.structures {
        let rows = fields.iter().map(|field| row(&format!("{structure}.{field}"), field, &code, &tests));
        all.push((format!("Fields of {structure}"), rows.collect()));
    }
    all.push(("Rules that the code cites".to_owned(), rules(&code, &tests)));
    all
}

fn row(name: &str, word: &str, code: &[File], tests: &[File]) -> Row {
    let naming = |files: &[File]| -> Vec<String> {
        let names = |file: &&File| file.words.contains(word);
        files.iter().filter(names).map(|file| file.path.clone()).collect()
    };
    Row { name: name.to_owned(), code: naming(code), tests: naming(tests) }
}

/// Rules of the text that code cites, and the tests that cite them too.
fn rules(code: &[File], tests: &[File]) -> Vec<Row> {
    let is_rule = |cited: &&str| cited.contains(", ");
    let citations: BTreeSet<&str> = code.iter().flat_map(cited).filter(is_rule).collect();
    let citing = |files: &[File], rule: &str| -> Vec<String> {
        let files = files.iter().filter(|file| cited(file).any(|other| other == rule));
        files.map(|file| file.path.clone()).collect()
    };
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

/// A few files; how many there are besides.
fn cell(paths: &[String]) -> String {
    const MOST: usize = 3;
    let link = |path: &String| {
        let name =
            path.rsplit_once("src/").or_else(|| path.rsplit_once("tests/")).map_or(path.as_str(), |p| p.1);
        format!("[{name}](../{path})")
    };
    let mut shown: Vec<String> = paths.iter().take(MOST).map(link).collect();
    if paths.len() > MOST {
        shown.push(format!("and {} more", paths.len() - MOST));
    }
    if shown.is_empty() { "none".into() } else { shown.join(", ") }
}

/// The code and the tests.
fn read(root: &Path) -> (Vec<File>, Vec<File>) {
    let file = |path: &str, text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect();
        File { path: path.to_owned(), text: text.to_owned(), words }
    };
    let (mut code, mut tests) = (Vec::new(), Vec::new());
    for path in sources(root, CODE) {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        let (source, units) = text.split_at(text.find(UNIT_TESTS).unwrap_or(text.len()));
        code.push(file(&path, source));
        if !units.is_empty() {
            tests.push(file(&path, units));
        }
    }
    for path in TESTS.iter().flat_map(|place| sources(root, place)) {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        tests.push(file(&path, &text));
    }
    (code, tests)
}

/// Sources below a folder, relative to the root and sorted.
fn sources(root: &Path, place: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.join(place)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let wanted = path.extension().is_some_and(|ending| ["rs", "c", "h"].iter().any(|e| ending == *e));
            match path.strip_prefix(root).ok().and_then(Path::to_str) {
                _ if path.is_dir() => folders.push(path),
                Some(path) if wanted => drop(found.insert(path.to_owned())),
                _ => {}
            }
        }
    }
    found
}
