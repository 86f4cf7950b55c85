//! Manual pages of section 1, which are kept beside the programs' own help.

use std::path::PathBuf;

/// Set to anything, pages are written instead of compared.
const WRITE: &str = "LAPIS_WRITE_MANUAL";

fn page_of(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/man/man1/{name}.1"))
}

/// Compares the pages of a program, and of its subcommands, with what its command line says of
/// itself.
///
/// # Panics
/// A page is missing or stale.
pub fn manual(command: clap::Command) {
    let mut command = command.term_width(100);
    command.build();
    one(&command, command.get_name());
    for subcommand in command.get_subcommands().filter(|c| c.get_name() != "help") {
        one(subcommand, &format!("{}-{}", command.get_name(), subcommand.get_name()));
    }
}

fn one(command: &clap::Command, name: &str) {
    let mut text: Vec<u8> = Vec::new();
    let version = concat!("Lapis ", env!("CARGO_PKG_VERSION"));
    // clap wants names that live as long as the process, which a test does not outlive for long.
    let whole: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let man = clap_mangen::Man::new(command.clone().name(whole).version(version));
    man.manual("Lapis manual").source(version).render(&mut text).expect("memory takes all");
    // The renderer leaves blanks at the ends of lines.
    let text = String::from_utf8(text).expect("pages are UTF-8");
    let text: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let path = page_of(name);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "{} is not what the command line says of itself: run the tests `manual` with {WRITE}=1",
        path.display()
    );
}

/// Compares a page that was written by hand with a program's help: both name the same options.
///
/// # Panics
/// An option stands in one only.
pub fn manual_by_hand(name: &str, help: &str) {
    let path = page_of(name);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let page = page.replace("\\-", "-");
    // Examples have options of others.
    let page = page.split(".SH EXAMPLES").next().unwrap_or_default();
    let (in_help, in_page) = (options(help), options(page));
    assert!(!in_help.is_empty(), "{help}");
    assert_eq!(in_help, in_page, "{} and --help differ", path.display());
}

/// Words that begin with a dash and a letter.
fn options(text: &str) -> std::collections::BTreeSet<String> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = text.split(|c: char| !part(c)).map(|w| w.trim_end_matches('-'));
    let named = |w: &&str| w.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic());
    words.filter(|w| w.starts_with('-')).filter(named).map(str::to_owned).collect()
}
