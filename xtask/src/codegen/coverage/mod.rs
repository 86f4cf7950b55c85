//! `docs/spec-coverage.md`: what of the LAPI Guide is implemented where, and which tests show it.
//!
//! A row's code is what cites or names it; its tests are the test programs and unit tests that name
//! it. Code cites the guide by lines `//= LAPI Guide, <call or topic>, <what>`, tests by the same
//! lines followed by `//= type=test`.

pub(super) mod acp;
mod exceptions;

use super::list::{self, Item, Section};
use anyhow::Result;
use exceptions::NEVER_GIVEN;
use lapis_core::config::VARIABLES;
use lapis_core::error::{CODES, Severity};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Where the implementation is, and where its tests are.
const CODE: &[&str] = &["bindings/lapi/src", "core/src", "dgsp/src", "tools/lapirun/src"];
const TESTS: &[&str] = &[
    "bindings/lapi/tests",
    "bindings/fortran/tests",
    "core/tests",
    "core/src/config/tests.rs",
    "tools/lapirun/tests",
    "examples/c",
    "examples/fortran",
];

/// Endings of sources, in which names are spelled as the list has them, and of Fortran's, in which
/// case says nothing.
const SOURCES: &[&str] = &["rs", "c", "h"];
const FORTRAN: &[&str] = &["f", "f90", "inc"];

/// Where the unit tests of a source file begin.
const UNIT_TESTS: &str = "#[cfg(test)]";

const TOP: &str = "\
<!-- Written by `cargo xtask codegen`. -->
# The LAPI Guide: what is implemented where, and what shows it

Code is what cites the guide for the row (`//= LAPI Guide, ...`) or names it; tests are the test programs that name it. A row
without tests claims nothing: `cargo xtask tidy` refuses it unless it says why there is none.
";

struct File {
    path: String,
    text: String,
    words: BTreeSet<String>,
    /// Whether the words are in capitals, whatever the file has.
    capitals: bool,
}

impl File {
    fn names(&self, name: &str) -> bool {
        if self.capitals { self.words.contains(&name.to_uppercase()) } else { self.words.contains(name) }
    }
}

struct Table {
    title: &'static str,
    rows: Vec<Row>,
}

struct Row {
    name: String,
    code: Vec<String>,
    tests: Vec<String>,
}

pub(super) fn generate(sections: &[Section], root: &Path) -> Result<String> {
    let mut out = String::from(TOP);
    for Table { title, rows } in tables(sections, root) {
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

/// Rows that claim something which no test shows, and exceptions that aren't true.
pub(super) fn gaps(sections: &[Section], root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for row in tables(sections, root).into_iter().flat_map(|table| table.rows) {
        let excused = never_given(&row.name).is_some();
        if excused && !(row.code.is_empty() && row.tests.is_empty()) {
            found.push(format!("{} is said never to be given, but code or tests name it", row.name));
        }
        if row.tests.is_empty() && !excused {
            found.push(format!("{} has no test", row.name));
        }
    }
    found
}

fn never_given(name: &str) -> Option<&'static str> {
    NEVER_GIVEN.iter().find(|(code, _)| *code == name).map(|(_, why)| *why)
}

fn tables(sections: &[Section], root: &Path) -> Vec<Table> {
    let (code, tests) = read(root, CODE, TESTS);
    let table = |title, names: &[&str]| Table {
        title,
        rows: names
            .iter()
            .map(|name| Row {
                name: (*name).to_owned(),
                code: naming(&code, name),
                tests: naming(&tests, name),
            })
            .collect(),
    };
    let calls: Vec<&str> = list::calls(sections).map(|call| call.name.as_str()).collect();
    let codes: Vec<&str> =
        CODES.iter().filter(|entry| entry.severity != Severity::Attention).map(|entry| entry.name).collect();
    let declared = lapis_standard::TRANSPORTS.iter().flat_map(|known| known.declaration.variables);
    let variables: Vec<&str> = VARIABLES
        .iter()
        .chain(declared)
        .filter(|variable| variable.source != "Lapis")
        .map(|variable| variable.name)
        .collect();
    let mut all = vec![
        table("Subroutines (chapters 18 and 19)", &calls),
        table("Return codes (appendix C)", &codes),
        table("Runtime attributes (appendix D)", &values(sections, "lapi_query_t")),
        table("Environment variables (appendix D, chapter 16)", &variables),
    ];
    for (title, name) in [
        ("Transfer types", "lapi_xfer_type_t"),
        ("Utilities", "lapi_util_type_t"),
        ("Read-modify-write operations", "RMW_ops_t"),
        ("Vector types", "lapi_vectype_t"),
        ("DGSP instructions", "lapi_dgsm_opcode_t"),
        ("DGSP densities", "lapi_dgsp_density_t"),
        ("Where completion handlers run", "lapi_ret_flags_t"),
        ("What becomes of a message", "lapi_ctl_flags_t"),
        ("States of destinations", "lapi_dest_status_t"),
        ("Results of LAPI_Msgpoll", "lapi_msg_state_t"),
        ("Error types", "lapi_err_t"),
    ] {
        all.push(table(title, &values(sections, name)));
    }
    all.push(table(
        "Flags of LAPI_Xfer",
        &["USE_TGT_VEC_TYPE", "BUFFER_BOTH_CONTIGUOUS", "LAPI_NOT_USE_BULK_XFER", "LAPI_USE_BULK_XFER"],
    ));
    all.push(rules(&code, &tests));
    all
}

/// The names of an enumeration's values.
fn values<'a>(sections: &'a [Section], name: &str) -> Vec<&'a str> {
    let items = sections.iter().flat_map(|section| &section.items);
    items
        .filter_map(|item| match item {
            Item::Enum(item) if item.name == name => Some(item.values.iter().map(|(name, ..)| name.as_str())),
            _ => None,
        })
        .flatten()
        .filter(|name| *name != "LAST_QUERY")
        .collect()
}

/// Rules of the guide that code cites, and the tests that cite them too.
fn rules(code: &[File], tests: &[File]) -> Table {
    let citations: BTreeSet<&str> = code.iter().flat_map(cited).collect();
    let citing = |files: &[File], rule: &str| -> Vec<String> {
        let files = files.iter().filter(|file| cited(file).any(|other| other == rule));
        files.map(|file| file.path.clone()).collect()
    };
    let rows = citations.into_iter().map(|rule| Row {
        name: rule.to_owned(),
        code: citing(code, rule),
        tests: citing(tests, rule),
    });
    Table { title: "Rules that the code cites", rows: rows.collect() }
}

fn cited(file: &File) -> impl Iterator<Item = &str> {
    file.text.lines().filter_map(|line| line.trim_start().strip_prefix("//= LAPI Guide, "))
}

fn naming(files: &[File], name: &str) -> Vec<String> {
    files.iter().filter(|file| file.names(name)).map(|file| file.path.clone()).collect()
}

/// A few files; how many there are besides.
fn cell(paths: &[String]) -> String {
    const MOST: usize = 3;
    let mut shown: Vec<String> = paths
        .iter()
        .take(MOST)
        .map(|path| {
            let name = path
                .rsplit_once("src/")
                .or_else(|| path.rsplit_once("tests/"))
                .map_or(path.as_str(), |p| p.1);
            format!("[{name}](../{path})")
        })
        .collect();
    if paths.len() > MOST {
        shown.push(format!("and {} more", paths.len() - MOST));
    }
    if shown.is_empty() { "none".into() } else { shown.join(", ") }
}

/// The code and the tests of some places.
fn read(root: &Path, code_places: &[&str], test_places: &[&str]) -> (Vec<File>, Vec<File>) {
    let file = |path: &str, text: &str| {
        let capitals = FORTRAN.iter().any(|ending| path.ends_with(&format!(".{ending}")));
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words = words.map(|w| if capitals { w.to_uppercase() } else { w.to_owned() }).collect();
        File { path: path.to_owned(), text: text.to_owned(), words, capitals }
    };
    let (mut code, mut tests) = (Vec::new(), Vec::new());
    for path in paths(root, code_places) {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        let (source, units) = text.split_at(text.find(UNIT_TESTS).unwrap_or(text.len()));
        code.push(file(&path, source));
        if !units.is_empty() {
            tests.push(file(&path, units));
        }
    }
    for path in paths(root, test_places) {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        tests.push(file(&path, &text));
    }
    tests.sort_by(|a, b| a.path.cmp(&b.path));
    (code, tests)
}

fn paths(root: &Path, places: &[&str]) -> BTreeSet<String> {
    let mut found = Vec::new();
    for place in places {
        collect(&root.join(place), &mut found);
    }
    let relative = |path: std::path::PathBuf| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned());
    // Written from the list, so that naming something there means nothing.
    let generated = |path: &String| {
        path.contains("/generated/")
            || ["abi.rs", "exports.rs", "core/src/code.rs"].iter().any(|end| path.ends_with(end))
    };
    found.into_iter().filter_map(relative).filter(|path| !generated(path)).collect()
}

fn collect(path: &Path, out: &mut Vec<std::path::PathBuf>) {
    if path.is_file() {
        out.push(path.to_owned());
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        let wanted =
            path.extension().is_some_and(|e| SOURCES.iter().chain(FORTRAN).any(|ending| e == *ending));
        if path.is_dir() || wanted {
            collect(&path, out);
        }
    }
}
