//! `cargo xtask tidy`: the repository's invariants as code.
//!
//! Each rule is one function from a file to findings. A line that must break a rule says so on
//! itself or on the line above: `tidy-allow(rule): reason`.

mod circles;
mod docs;
mod layers;
mod source;

use crate::{codegen, workspace};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Print the rules and end
    #[arg(long)]
    list: bool,
}

/// One file, read once for all rules.
pub(crate) struct File {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What a rule objects to.
pub(crate) struct Finding {
    /// Counted from 1; 0 is the file as a whole.
    pub(crate) line: usize,
    pub(crate) message: String,
}

struct Rule {
    name: &'static str,
    what: &'static str,
    check: fn(&File) -> Vec<Finding>,
}

const RULES: &[Rule] = &[
    Rule { name: "size", what: "source files stay short: one concern each", check: source::size },
    Rule { name: "functions", what: "functions stay short: one thing each", check: source::functions },
    Rule { name: "atomics", what: "std's atomics only inside lapis_core::sync", check: source::atomics },
    Rule { name: "statics", what: "no `static mut`; no mutable statics in core", check: source::statics },
    Rule {
        name: "transports",
        what: "core names no concrete transport, nor a variable of one",
        check: source::transports,
    },
    Rule { name: "layers", what: "no module of core imports from one above it", check: layers::layers },
    Rule { name: "safety", what: "every unsafe block and impl says why it is sound", check: source::safety },
    Rule {
        name: "reasons",
        what: "SAFETY comments name their reason, not another place",
        check: source::reasons,
    },
    Rule {
        name: "sync",
        what: "every ordering but Relaxed names its partner in a SYNC comment",
        check: source::sync,
    },
    Rule {
        name: "citations",
        what: "every public C call cites its section of the guide",
        check: source::citations,
    },
    Rule { name: "places", what: "no path of somebody's machine", check: docs::places },
    Rule { name: "links", what: "relative links in documentation lead somewhere", check: docs::links },
    Rule { name: "files", what: "files that pages name by their whole path exist", check: docs::files },
    Rule {
        name: "columns",
        what: "prose and, where brought to it, comments end their lines at 100 columns",
        check: docs::columns,
    },
    Rule {
        name: "whitespace",
        what: "no tabs in Rust, no trailing blanks, a newline at the end",
        check: docs::whitespace,
    },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for rule in RULES {
            println!("{:<12} {}", rule.name, rule.what);
        }
        println!("{:<12} no files of a crate need each other in a round", "circles");
        println!("{:<12} what specifications have and the code claims, a test shows", "coverage");
        return Ok(());
    }
    let mut findings = 0;
    let files = files()?;
    for file in &files {
        for rule in RULES {
            for Finding { line, message } in (rule.check)(file) {
                if !allowed(file, line, rule.name) {
                    println!("{}:{line}: {}: {message}", file.path, rule.name);
                    findings += 1;
                }
            }
        }
    }
    for (file, Finding { message, .. }) in circles::circles(&files) {
        println!("{file}: circles: {message}");
        findings += 1;
    }
    for gap in codegen::gaps()? {
        println!("{gap}");
        findings += 1;
    }
    codegen::run(&codegen::Args { check: true })?;
    eprintln!("tidy: {} files, {} rules, {findings} findings", files.len(), RULES.len());
    if findings > 0 {
        bail!("{findings} findings; `cargo xtask tidy --list` explains the rules");
    }
    Ok(())
}

fn allowed(file: &File, line: usize, rule: &str) -> bool {
    let mark = format!("tidy-allow({rule}): ");
    // A finding about the whole file is allowed by a mark anywhere near its top.
    let (first, count) = if line == 0 { (0, 20) } else { (line.saturating_sub(2), 2) };
    file.text.lines().skip(first).take(count).any(|l| l.contains(&mark))
}

fn files() -> Result<Vec<File>> {
    let mut paths = Vec::new();
    walk(workspace::root(), &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue; // Not text: images, recorded packets.
        };
        let relative = path.strip_prefix(workspace::root()).unwrap_or(&path);
        files.push(File { path: relative.to_string_lossy().into_owned(), text });
    }
    Ok(files)
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // Built things, git's own files and fuzzers' inputs are not ours to judge.
            if !["target", ".git", "node_modules", "corpus"].iter().any(|skipped| name == *skipped) {
                walk(&entry.path(), paths)?;
            }
        } else if kind.is_file() && name != "Cargo.lock" && name != ".git" {
            paths.push(entry.path());
        }
    }
    Ok(())
}
