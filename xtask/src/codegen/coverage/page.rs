//! The tables of a coverage page.

use anyhow::Result;
use std::fmt::Write;

pub(in super::super) struct Table {
    pub(in super::super) title: String,
    pub(in super::super) rows: Vec<Row>,
}

/// A name or rule, with the files of its code and of its tests.
pub(in super::super) struct Row {
    pub(in super::super) name: String,
    pub(in super::super) code: Vec<String>,
    pub(in super::super) tests: Vec<String>,
}

/// A page of tables below `top`. `never_given` explains rows that no test can show.
pub(in super::super) fn write(
    top: &str,
    tables: Vec<Table>,
    never_given: fn(&str) -> Option<&'static str>,
) -> Result<String> {
    let mut out = String::from(top);
    for Table { title, rows } in tables {
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

/// Links to a few files, and the number of the others.
pub(in super::super) fn cell(paths: &[String]) -> String {
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
