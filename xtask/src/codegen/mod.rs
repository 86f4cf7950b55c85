//! Writes the files that are made from lists, or checks that they are fresh.
//!
//! The list of LAPI's C interface is `bindings/lapi/api/*.toml` (its README explains the format);
//! the list of return codes is `lapis_core::error::CODES`.

mod abi;
mod acp_fortran;
mod acp_man;
mod checks;
mod coverage;
mod exports;
mod fortran;
mod header;
mod lapis;
mod list;
mod man;
mod map;
mod qnix;

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a generated file differs from what would be written
    #[arg(long)]
    pub(crate) check: bool,
}

/// Writes every generated file, or with `--check` only fails when one is not what would be written.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace_root();
    let binding = root.join("bindings/lapi");
    let sections = list::read(&binding.join("api"))?;
    let own = list::read(&binding.join("api/lapis"))?;
    let mut outputs = vec![
        (binding.join("include/lapi.h"), header::generate(&sections)?),
        (binding.join("src/abi.rs"), rustfmt(&abi::generate(&sections, &own)?)?),
        (binding.join("src/exports.rs"), rustfmt(&exports::generate(&sections)?)?),
        (binding.join("include/lapis.h"), lapis::header(&own)?),
        (binding.join("src/own_exports.rs"), rustfmt(&lapis::exports(&sections, &own)?)?),
        (binding.join("liblapi.map"), map::generate(&sections, &own)),
        (binding.join("tests/generated/abi.c"), checks::generate_c(&sections, &own)),
        (binding.join("tests/generated/abi.rs"), rustfmt(&checks::generate_rust(&sections, &own))?),
        (root.join("docs/spec-coverage.md"), coverage::generate(&sections, &root)?),
        (binding.with_file_name("acp").join("include/acp.f90"), acp_fortran::generate(&root)?),
        (root.join("docs/acp-coverage.md"), coverage::acp::generate(&root)?),
    ];
    for (name, text) in man::generate(&sections, &binding.join("api/man"))? {
        outputs.push((root.join("docs/man").join(name), text));
    }
    for (name, text) in acp_man::generate(&root)? {
        outputs.push((root.join("docs/man").join(name), text));
    }
    for (name, text) in lapis::manual(&own, &binding.join("api/man"))? {
        outputs.push((root.join("docs/man").join(name), text));
    }
    outputs.extend(qnix::generate(&root)?);
    for (name, text) in fortran::generate(&sections, &own)? {
        let text = if name.ends_with(".rs") { rustfmt(&text)? } else { text };
        outputs.push((root.join(name), text));
    }
    let mut stale = Vec::new();
    for (path, text) in outputs {
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if args.check {
            stale.push(path.strip_prefix(&root).unwrap_or(&path).display().to_string());
            continue;
        }
        write(&path, &text)?;
    }
    if !stale.is_empty() {
        bail!("stale: {}; run `cargo xtask codegen` and commit the result", stale.join(", "));
    }
    Ok(())
}

/// What the interfaces have and no test shows, with the page that would say so.
pub(crate) fn gaps() -> Result<Vec<String>> {
    let root = workspace_root();
    let pages = [
        ("spec-coverage", coverage::gaps(&list::read(&root.join("bindings/lapi/api"))?, &root)),
        ("qnix-coverage", qnix::gaps(&root)?),
        ("acp-coverage", coverage::acp::gaps(&root)?),
    ];
    let named = |(page, gaps): (&'static str, Vec<String>)| {
        gaps.into_iter().map(move |gap| format!("docs/{page}.md: coverage: {gap}"))
    };
    Ok(pages.into_iter().flat_map(named).collect())
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Generated Rust obeys the same formatting as the rest.
fn rustfmt(text: &str) -> Result<String> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(workspace_root().join("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("starting rustfmt")?;
    child.stdin.take().context("rustfmt has an input")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("rustfmt refused generated code:\n{text}");
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn committed_files_are_fresh() {
        super::run(&super::Args { check: true }).unwrap();
    }
}
