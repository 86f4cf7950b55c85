//! Rules about text: links, paths, blanks.

use super::{File, Finding};
use crate::workspace;
use std::path::Path;

/// Beginnings of absolute paths that exist on one machine only. Written in parts, so that this file
/// is clean.
const PLACES: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/", "bash"),
];

pub(super) fn places(file: &File) -> Vec<Finding> {
    let found = |text: &str, place: &str| {
        // `framework/…` or `~/work/` in the middle of a relative path is no absolute path.
        text.match_indices(place)
            .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~}*".contains(c)))
    };
    each_line(file)
        .filter_map(|(line, text)| {
            let place = PLACES.iter().find(|p| found(text, p))?;
            Some(Finding { line, message: format!("a path below {place} exists on one machine only") })
        })
        .collect()
}

pub(super) fn links(file: &File) -> Vec<Finding> {
    if !file.path.ends_with(".md") {
        return Vec::new();
    }
    let folder = workspace::root().join(&file.path);
    let folder = folder.parent().unwrap_or(Path::new("."));
    let mut findings = Vec::new();
    let mut fenced = false;
    for (line, text) in each_line(file) {
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        for target in targets(text) {
            let path = target.split('#').next().unwrap_or("");
            let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            if !elsewhere && !folder.join(path).exists() {
                findings.push(Finding { line, message: format!("the link to {path} leads nowhere") });
            }
        }
    }
    findings
}

/// Files that pages name by their whole path, in code. The changelog may name what is gone.
pub(super) fn files(file: &File) -> Vec<Finding> {
    if !file.path.ends_with(".md") || file.path == "CHANGELOG.md" {
        return Vec::new();
    }
    let root = workspace::root();
    let is_path = |code: &str| {
        let folder = code.split_once('/').map(|(folder, _)| folder);
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        let has_extension = code.rsplit('/').next().is_some_and(|name| name.contains('.'));
        folder.is_some_and(|f| !f.is_empty() && root.join(f).is_dir())
            && has_extension
            && code.chars().all(plain)
    };
    let mut findings = Vec::new();
    for (line, text) in each_line(file) {
        // What stands between two marks: each second piece.
        for code in text.split('`').skip(1).step_by(2).filter(|code| is_path(code)) {
            let built = code.starts_with("target/");
            if !built && !root.join(code).exists() {
                findings.push(Finding { line, message: format!("there is no {code}") });
            }
        }
    }
    findings
}

/// Where prose ends its lines.
const COLUMNS: usize = 100;

/// Markdown that people write, and comments in Rust in the folders that have been brought to it.
/// Tables, code, citations of the guide and lines of a single long word may be wider.
pub(super) fn columns(file: &File) -> Vec<Finding> {
    let prose: fn(&str) -> Option<&str> = if file.path.ends_with(".md") {
        if GENERATED.iter().any(|g| file.path.starts_with(g)) {
            return Vec::new();
        }
        |line| Some(line)
    } else if file.path.ends_with(".rs") && COMMENTS.iter().any(|folder| file.path.starts_with(folder)) {
        if file.text.lines().take(2).any(|line| line.contains("Written by `cargo xtask codegen`")) {
            return Vec::new();
        }
        comment
    } else {
        return Vec::new();
    };
    let mut fenced = false;
    each_line(file)
        .filter_map(|(line, text)| {
            let begins = prose(text)?.trim_start();
            fenced ^= begins.starts_with("```");
            let wide = fenced || begins.starts_with(['|', '`']) || begins.split_whitespace().count() <= 2;
            let long = text.chars().count();
            (!wide && long > COLUMNS)
                .then(|| Finding { line, message: format!("{long} columns: prose ends at {COLUMNS}") })
        })
        .collect()
}

/// What a line of comment says, but for citations, which the coverage table reads as one line.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    let text = text.strip_prefix(['!', '/']).unwrap_or(text);
    (!text.starts_with('=')).then_some(text)
}

/// Folders whose comments end at [`COLUMNS`], too.
const COMMENTS: &[&str] = &[
    "bindings/",
    "collectives/",
    "core/",
    "dgsp/",
    "examples/",
    "fuzz/",
    "schedules/",
    "tools/",
    "transports/",
    "xtask/",
];

/// Pages that programs write.
const GENERATED: &[&str] =
    &["docs/bench/", "docs/spec-coverage.md", "docs/qnix-coverage.md", "docs/acp-coverage.md"];

pub(super) fn whitespace(file: &File) -> Vec<Finding> {
    let mut findings: Vec<Finding> = each_line(file)
        .filter(|(_, l)| l.ends_with([' ', '\t']) && !(file.path.ends_with(".md") && l.ends_with("  ")))
        .map(|(line, _)| Finding { line, message: "blanks at the end of the line".into() })
        .collect();
    if file.path.ends_with(".rs") {
        let tabs = each_line(file).filter(|(_, l)| l.starts_with('\t'));
        findings.extend(
            tabs.map(|(line, _)| Finding { line, message: "a tab: rustfmt indents with blanks".into() }),
        );
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        findings.push(Finding { line: 0, message: "no newline at the end of the file".into() });
    }
    findings
}

/// The targets of `[text](target)` in a line.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("](").filter_map(|(at, _)| {
        let rest = &text[at + 2..];
        let target = &rest[..rest.find(')')?];
        Some(target.split(' ').next().unwrap_or(target))
    })
}

fn each_line(file: &File) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().map(|(index, l)| (index + 1, l))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> File {
        File { path: "xtask/x.md".into(), text: text.into() }
    }

    #[test]
    fn dead_links_are_found_and_live_or_outside_ones_are_not() {
        assert_eq!(links(&page("[a](nowhere-at-all.md)")).len(), 1);
        assert_eq!(links(&page("[a](../Cargo.toml#members) [b](https://example.org/x)")).len(), 0);
        assert_eq!(links(&page("```\n[a](nowhere.md)\n```")).len(), 0);
    }

    #[test]
    fn files_that_are_not_there_are_found_if_their_whole_path_is_named() {
        let found = |text: &str| files(&page(text)).len();
        assert_eq!(found("see `xtask/src/nowhere.rs` and `core/src/lib.rs`"), 1);
        assert_eq!(found("`src/nowhere.rs`, `transports/*/x.rs`, `xtask/src`, `target/x.so`, a/b.rs"), 0);
    }

    #[test]
    fn prose_is_held_to_its_columns_and_tables_and_code_are_not() {
        let long = "word ".repeat(21);
        let found = |text: String| columns(&page(&text)).len();
        assert_eq!((found(long.clone()), found(format!("{}end", "word ".repeat(19)))), (1, 0));
        assert_eq!((found(format!("| {long} |")), found(format!("```\n{long}\n```"))), (0, 0));
        assert_eq!(found(format!("```\ncode\n```\n{long}")), 1, "behind code");
    }

    #[test]
    fn comments_are_held_to_their_columns_where_folders_have_been_brought_to_it() {
        let long = "word ".repeat(21);
        let found = |path: &str, text: String| columns(&File { path: path.into(), text }).len();
        for mark in ["//", "//!", "///", "    //"] {
            assert_eq!(found("xtask/src/x.rs", format!("{mark} {long}")), 1, "{mark}");
        }
        assert_eq!(found("xtask/src/x.rs", format!("//= {long}\n// | {long}\nlet x = \"{long}\";")), 0);
        assert_eq!(found("xtask/src/x.rs", format!("/// ```\n/// {long}\n/// ```")), 0);
        assert_eq!(found("xtask/src/x.rs", format!("//! Written by `cargo xtask codegen`.\n/// {long}")), 0);
        assert_eq!(found("elsewhere/src/x.rs", format!("// {long}")), 0);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        assert_eq!(places(&page(concat!("see /wo", "rk/x"))).len(), 1);
        assert_eq!(places(&page(concat!("see frame", "/wo", "rk/x"))).len(), 0);
    }

    #[test]
    fn trailing_blanks_and_a_missing_newline_are_found() {
        assert_eq!(whitespace(&page("a \nb")).len(), 2);
        assert_eq!(whitespace(&page("a\nb\n")).len(), 0);
    }
}
