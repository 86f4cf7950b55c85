//! `docs/spec-coverage.md`: what of the LAPI Guide is implemented where, and which tests show it.
//!
//! A row's code is what cites or names it; its tests are the test programs and unit tests that name
//! it. Code cites the guide by lines `//= LAPI Guide, <call or topic>, <what>`, tests by the same
//! lines followed by `//= type=test`.

pub(super) mod acp;
mod exceptions;
pub(super) mod files;
pub(super) mod page;

use super::list::{self, Item, Section};
use anyhow::Result;
use exceptions::NEVER_GIVEN;
use files::{File, citing, is_generated, naming};
use lapis_core::config::VARIABLES;
use lapis_core::error::{CODES, Severity};
use page::{Row, Table};
use std::collections::BTreeSet;
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

const TOP: &str = "\
<!-- Written by `cargo xtask codegen`. -->
# The LAPI Guide: what is implemented where, and what shows it

Code is what cites the guide for the row (`//= LAPI Guide, ...`) or names it; tests are the test programs that name it. A row
without tests claims nothing: `cargo xtask tidy` refuses it unless it says why there is none.
";

pub(super) fn generate(sections: &[Section], root: &Path) -> Result<String> {
    page::write(TOP, tables(sections, root), never_given)
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
    let (code, tests) = files::read(root, CODE, TESTS, is_generated);
    let table = |title: &str, names: &[&str]| Table {
        title: title.to_owned(),
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
    let rows = citations.into_iter().map(|rule| Row {
        name: rule.to_owned(),
        code: citing(code, |file| cited(file).any(|other| other == rule)),
        tests: citing(tests, |file| cited(file).any(|other| other == rule)),
    });
    Table { title: "Rules that the code cites".to_owned(), rows: rows.collect() }
}

fn cited(file: &File) -> impl Iterator<Item = &str> {
    file.text.lines().filter_map(|line| line.trim_start().strip_prefix("//= LAPI Guide, "))
}
