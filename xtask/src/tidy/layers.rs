//! The order of core's modules: none imports from one above it.
//!
//! Imports alone are looked at. A method may be written in a higher module than its type, and be
//! called from a lower one: the dispatcher's are, for a context that waits makes progress.

use super::{File, Finding};

/// From the ground up. Modules of one layer may import from each other.
const LAYERS: &[&[&str]] = &[
    &["code", "process", "stats", "sync", "threads", "universal_hash"],
    &["counter", "crowding", "reliable"],
    &["clock", "lock", "wire"],
    &["bootstrap", "config", "transport"],
    &["error", "status"],
    &["trace"],
    &["buffers", "datagrams"],
    &["completion", "handlers"],
    &["state"],
    &["context"],
    &["message"],
    &["pending"],
    &["api"],
];

/// What `lib.rs` takes from these modules, by its first letters: modules begin with small ones.
const FROM_ROOT: &[(&str, &str)] = &[
    ("Attached", "context"),
    ("CompletionHandler", "context"),
    ("Completion", "completion"),
    ("Context", "context"),
    ("Counter", "counter"),
    ("Delivery", "context"),
    ("Destination", "buffers"),
    ("Error", "error"),
    ("HandlerId", "context"),
    ("Incoming", "handlers"),
    ("LapiCode", "code"),
    ("Memory", "context"),
    ("Notify", "context"),
    ("Pending", "pending"),
    ("RemoteMemory", "context"),
    ("Result", "error"),
    ("Run", "handlers"),
    ("Source", "buffers"),
];

pub(super) fn layers(file: &File) -> Vec<Finding> {
    let Some(path) = file.path.strip_prefix("core/src/").filter(|path| path.ends_with(".rs")) else {
        return Vec::new();
    };
    let module = path.split(['/', '.']).next().unwrap_or("");
    if module == "lib" || path.contains("tests") {
        return Vec::new();
    }
    let Some(own) = layer_of(module) else {
        return vec![Finding {
            line: 0,
            message: format!("core's module {module} has no layer in {}", file!()),
        }];
    };
    let mut findings = Vec::new();
    for (line, code) in code(&file.text) {
        for used in imported(code) {
            let above = layer_of(used).is_none_or(|layer| layer > own);
            if above {
                let message = format!("{module} is below {used}, so it imports nothing from there");
                findings.push(Finding { line, message });
            }
        }
    }
    findings
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The modules that a line takes something from, by paths that begin with `crate`.
fn imported(code: &str) -> Vec<&str> {
    let mut modules = Vec::new();
    for (at, root) in code.match_indices(concat!("crate", "::")) {
        let rest = &code[at + root.len()..];
        // `use crate::{a, b}` names several, at the end of the line at the latest.
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let name = name.trim_start();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            match FROM_ROOT.iter().find(|(root, _)| *root == &name[..end]) {
                Some((_, module)) => modules.push(*module),
                None if end > 0 => modules.push(&name[..end]),
                None => {}
            }
        }
    }
    modules
}

/// Lines of code before the unit tests, which may use what they like.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let tests = |line: &str| line.starts_with("#[cfg(") && line.contains("test");
    let lines = text.lines().enumerate().take_while(move |(_, line)| !tests(line));
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        layers(&File { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn imports_from_above_are_found_and_others_are_not() {
        let at = |module: &str| format!("use crate{}{module}::X;", "::");
        assert_eq!(found("core/src/state/peers.rs", &at("context")), 1);
        assert_eq!(found("core/src/state/peers.rs", &at("transport")), 0);
        assert_eq!(found("core/src/state/peers.rs", &at("state")), 0);
        assert_eq!(found("core/src/config/table.rs", &at("error")), 1);
        assert_eq!(found("core/src/error/mod.rs", &at("config")), 0);
        assert_eq!(found("core/src/handlers/table.rs", &at("message")), 1);
        assert_eq!(found("core/src/message/am.rs", &at("context")), 0);
        assert_eq!(found("collectives/src/state.rs", &at("context")), 0, "another crate");
    }

    #[test]
    fn what_the_root_hands_on_counts_for_its_module_and_lists_name_several() {
        let root = concat!("crate", "::");
        assert_eq!(found("core/src/handlers/mod.rs", &format!("use {root}Context;")), 1);
        assert_eq!(found("core/src/handlers/mod.rs", &format!("use {root}Error;")), 0);
        assert_eq!(found("core/src/state/mod.rs", &format!("use {root}{{error, message, state}};")), 1);
        assert_eq!(found("core/src/state/mod.rs", &format!("    let x: {root}context::Y = z;")), 1);
    }

    #[test]
    fn comments_and_unit_tests_may_name_what_is_above() {
        let up = concat!("use crate", "::message::X;");
        assert_eq!(found("core/src/state/mod.rs", &format!("/// {up}")), 0);
        assert_eq!(found("core/src/state/mod.rs", &format!("#[cfg(test)]\nmod tests {{\n    {up}\n}}")), 0);
    }

    #[test]
    fn a_module_without_a_layer_is_found() {
        assert_eq!(found("core/src/somewhere.rs", ""), 1);
    }
}
