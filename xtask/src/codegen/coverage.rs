//! `docs/spec-coverage.md`: what of the LAPI Guide is implemented where, and which tests show it.
//!
//! A row's code is what cites or names it; its tests are the test programs that name it. Code cites the guide by lines
//! `//= LAPI Guide, <call or topic>, <what>`, tests by the same lines followed by `//= type=test`.

use super::list::{self, Item, Section};
use anyhow::Result;
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

/// Endings of sources, in which names are spelled as the list has them, and of Fortran's, in which case says nothing.
const SOURCES: &[&str] = &["rs", "c", "h"];
const FORTRAN: &[&str] = &["f", "f90", "inc"];

const TOP: &str = "\
<!-- Written by `cargo xtask codegen`. -->
# The LAPI Guide: what is implemented where, and what shows it

Code is what cites the guide for the row (`//= LAPI Guide, ...`) or names it; tests are the test programs that name it. A row
without tests claims nothing.
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

pub(super) fn generate(sections: &[Section], root: &Path) -> Result<String> {
    let (code, tests) = (read(root, CODE), read(root, TESTS));
    let mut out = String::from(TOP);
    let mut table = |title: &str, names: &[&str]| -> std::fmt::Result {
        let rows: Vec<_> =
            names.iter().map(|name| (*name, naming(&code, name), naming(&tests, name))).collect();
        let tested = rows.iter().filter(|(_, _, tests)| !tests.is_empty()).count();
        writeln!(
            out,
            "\n## {title}\n\n{tested} of {} have tests.\n\n| | code | tests |\n|---|---|---|",
            rows.len()
        )?;
        for (name, code, tests) in rows {
            writeln!(out, "| `{name}` | {} | {} |", cell(&code), cell(&tests))?;
        }
        Ok(())
    };
    let calls: Vec<&str> = list::calls(sections).map(|call| call.name.as_str()).collect();
    table("Subroutines (chapters 18 and 19)", &calls)?;
    let codes: Vec<&str> =
        CODES.iter().filter(|entry| entry.severity != Severity::Attention).map(|entry| entry.name).collect();
    table("Return codes (appendix C)", &codes)?;
    let attributes = values(sections, "lapi_query_t");
    table("Runtime attributes (appendix D)", &attributes)?;
    let variables: Vec<&str> = VARIABLES
        .iter()
        .filter(|variable| variable.source != "Lapis")
        .map(|variable| variable.name)
        .collect();
    table("Environment variables (appendix D, chapter 16)", &variables)?;
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
        table(title, &values(sections, name))?;
    }
    rules(&mut out, &code, &tests)?;
    Ok(out)
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
fn rules(out: &mut String, code: &[File], tests: &[File]) -> std::fmt::Result {
    let citations: BTreeSet<&str> = code.iter().flat_map(cited).collect();
    writeln!(out, "\n## Rules that the code cites\n\n| | code | tests |\n|---|---|---|")?;
    for rule in citations {
        let citing = |files: &[File]| -> Vec<String> {
            files
                .iter()
                .filter(|file| cited(file).any(|other| other == rule))
                .map(|file| file.path.clone())
                .collect()
        };
        writeln!(out, "| {rule} | {} | {} |", cell(&citing(code)), cell(&citing(tests)))?;
    }
    Ok(())
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

fn read(root: &Path, places: &[&str]) -> Vec<File> {
    let mut paths = Vec::new();
    for place in places {
        collect(&root.join(place), &mut paths);
    }
    paths.sort();
    paths.dedup();
    paths
        .into_iter()
        .filter_map(|path| {
            let text = std::fs::read_to_string(&path).ok()?;
            let path = path.strip_prefix(root).ok()?.to_string_lossy().into_owned();
            // Written from the list, so that naming something there means nothing.
            let generated =
                path.contains("/generated/") || path.ends_with("abi.rs") || path.ends_with("exports.rs");
            let capitals = FORTRAN.iter().any(|ending| path.ends_with(&format!(".{ending}")));
            let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words = words.map(|w| if capitals { w.to_uppercase() } else { w.to_owned() }).collect();
            (!generated && !path.ends_with("error/code.rs")).then_some(File { path, text, words, capitals })
        })
        .collect()
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
