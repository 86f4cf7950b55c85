//! The manual page acpdl(3), and the names under which calls of ACP's middle layer are found.
//!
//! What they are for is written by hand (`bindings/acp/api/acpdl.3`); names and prototypes are the
//! headers'. acp(3) and its names are written by hand.

use super::acp_fortran::prototypes;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::Path;

const TOP: &str = ".\\\" Written by `cargo xtask codegen` from ACP's headers and bindings/acp/api/acpdl.3. Edit those.\n\
                   .TH ACPDL 3 \"\" Lapis \"Lapis manual\"\n";

/// Pages below `docs/man`, with their texts.
pub(super) fn generate(root: &Path) -> Result<Vec<(String, String)>> {
    let read =
        |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| format!("reading {path}"));
    let other = read("docs/man/man3/acp.3")?;
    let names = other.split(".SH SYNOPSIS").next().unwrap_or_default();
    let described: BTreeSet<&str> = names.split([',', ' ', '\n']).collect();
    let mut calls = Vec::new();
    let mut synopsis = String::from(".SH SYNOPSIS\n.nf\n#include <acp.h>\n.PP\n");
    for header in ["acp.h", "acpdl.h"] {
        for prototype in prototypes(&read(&format!("bindings/acp/include/{header}"))?)? {
            let name = prototype.name.trim_end_matches("_3").to_owned();
            if described.contains(name.as_str()) {
                continue;
            }
            synopsis.push_str(&prototype.text.replace("_3(", "(").replace('-', "\\-"));
            synopsis.push_str(";\n");
            if !calls.contains(&name) {
                calls.push(name);
            }
        }
    }
    synopsis.push_str(".fi\n");
    let lines: Vec<String> = calls.chunks(5).map(|chunk| chunk.join(", ")).collect();
    let names =
        format!(".SH NAME\n{} \\- data library of Advanced Communication Primitives\n", lines.join(",\n"));
    let text = read("bindings/acp/api/acpdl.3")?;
    let mut pages = vec![("man3/acpdl.3".to_owned(), [TOP, &names, &synopsis, &text].concat())];
    pages.extend(calls.iter().map(|name| (format!("man3/{name}.3"), ".so man3/acpdl.3\n".to_owned())));
    Ok(pages)
}
