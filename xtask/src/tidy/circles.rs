//! No files of a crate need each other in a round.
//!
//! A file needs those whose names it uses, by `use` or by a path. What is handed on (`pub use`) is
//! needed where it is defined. A module may use its own children, for it is made of them. Methods
//! need no import: those of a type may stand in files above the type's.

use super::{File, Finding};
use std::collections::{BTreeMap, BTreeSet};

/// A module's path, from the crate's root.
type Module = Vec<String>;

/// What a module says of others.
#[derive(Default)]
struct Said {
    file: String,
    /// Paths that it names.
    named: Vec<Vec<String>>,
    /// What it has in scope by `use`: the name, and the path.
    used: BTreeMap<String, Vec<String>>,
    /// Which of these it hands on.
    handed_on: BTreeSet<String>,
}

/// One finding for each circle, with the file that comes first.
pub(super) fn circles(files: &[File]) -> Vec<(String, Finding)> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, Said>> = BTreeMap::new();
    for file in files {
        if let Some((folder, module)) = module_of(&file.path) {
            crates.entry(folder).or_default().insert(module, said(file));
        }
    }
    crates.values().flat_map(circles_of).collect()
}

fn circles_of(modules: &BTreeMap<Module, Said>) -> Vec<(String, Finding)> {
    let needs: BTreeMap<&Module, BTreeSet<Module>> =
        modules.keys().map(|module| (module, needed(modules, module))).collect();
    let reached = |from: &Module| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(at) = todo.pop() {
            todo.extend(needs[&at].iter().filter(|next| seen.insert((*next).clone())).cloned());
        }
        seen
    };
    let reaches: BTreeMap<&Module, BTreeSet<Module>> = modules.keys().map(|m| (m, reached(m))).collect();
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for module in modules.keys().filter(|module| reaches[module].contains(*module)) {
        let with = |other: &&Module| reaches[module].contains(*other) && reaches[*other].contains(module);
        let circle: Vec<&Module> = reaches[module].iter().filter(with).collect();
        if !told.insert(circle.clone()) {
            continue;
        }
        let names: Vec<&str> = circle.iter().map(|member| &*modules[*member].file).collect();
        let message = format!("these need each other: {}", names.join(", "));
        findings.push((modules[module].file.clone(), Finding { line: 0, message }));
    }
    findings
}

/// The crate's folder and the module of a source file, unless it is a test's.
fn module_of(path: &str) -> Option<(&str, Module)> {
    let (folder, inside) = path.split_once("/src/")?;
    let inside = inside.strip_suffix(".rs")?;
    let mut module: Module = inside.split('/').map(str::to_owned).collect();
    if module.iter().any(|part| part.ends_with("tests")) || module[0] == "bin" || folder.contains("/tests") {
        return None;
    }
    if module.last().is_some_and(|last| last == "mod") || matches!(inside, "lib" | "main") {
        module.pop();
    }
    Some((folder, module))
}

/// The modules that one needs: neither itself, nor its children, nor the crate's root.
fn needed(modules: &BTreeMap<Module, Said>, module: &Module) -> BTreeSet<Module> {
    let found = modules[module].named.iter().filter_map(|path| resolve(modules, module, path, 0));
    found.filter(|other| !other.is_empty() && !other.starts_with(module)).collect()
}

/// Where a path leads that a module names.
fn resolve(
    modules: &BTreeMap<Module, Said>,
    module: &Module,
    path: &[String],
    depth: usize,
) -> Option<Module> {
    // Names that lead to each other come from code that does not compile.
    if depth > 8 {
        return None;
    }
    let mut at = module.clone();
    let mut rest = path;
    match &*path[0] {
        "crate" => at.clear(),
        "self" => {}
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                at.pop()?;
                rest = &rest[1..];
            }
            return inside(modules, at, rest, module, depth);
        }
        first => {
            if modules.contains_key(&[module.as_slice(), &[first.to_owned()]].concat()) {
                return inside(modules, at, rest, module, depth);
            }
            // A module that was imported before: the whole path begins with what it stands for.
            let stands_for = modules[module].used.get(first)?;
            let begins = matches!(&*stands_for[0], "crate" | "self" | "super");
            if !begins || stands_for.as_slice() == path {
                return None;
            }
            let whole = [stands_for.as_slice(), &path[1..]].concat();
            return resolve(modules, module, &whole, depth + 1);
        }
    }
    inside(modules, at, &rest[1..], module, depth)
}

/// Goes from a module down a path as far as modules go, and on to where the next name comes from.
fn inside(
    modules: &BTreeMap<Module, Said>,
    mut at: Module,
    path: &[String],
    from: &Module,
    depth: usize,
) -> Option<Module> {
    for (index, name) in path.iter().enumerate() {
        at.push(name.clone());
        if modules.contains_key(&at) {
            continue;
        }
        at.pop();
        let said = modules.get(&at)?;
        if let Some(source) = said.used.get(name).filter(|_| said.handed_on.contains(name) && at != *from) {
            let whole = [source.as_slice(), &path[index + 1..]].concat();
            return resolve(modules, &at, &whole, depth + 1).or(Some(at));
        }
        break;
    }
    Some(at)
}

fn said(file: &File) -> Said {
    let mut said = Said { file: file.path.clone(), ..Said::default() };
    let words = words(&file.text);
    let mut at = 0;
    while at < words.len() {
        if words[at] == "use" {
            let hands_on = at > 0 && (words[at - 1] == "pub" || words[at - 1] == ")");
            let end = at + words[at..].iter().position(|word| *word == ";").unwrap_or(0);
            let mut paths = Vec::new();
            tree(&words[at + 1..end], &[], &mut paths);
            for (path, name) in paths {
                if hands_on {
                    said.handed_on.insert(name.clone());
                }
                // What is handed on from a child is no need of this module's.
                said.named.extend((!hands_on).then(|| path.clone()));
                said.used.insert(name, path);
            }
            at = end.max(at + 1);
        } else if words.get(at + 1) == Some(&"::") && is_name(words[at]) {
            let mut path = vec![words[at].to_owned()];
            while words.get(at + 1) == Some(&"::") && words.get(at + 2).is_some_and(|word| is_name(word)) {
                path.push(words[at + 2].to_owned());
                at += 2;
            }
            said.named.push(path);
            at += 1;
        } else {
            at += 1;
        }
    }
    said
}

/// The paths of a `use`, each with the name that it gives.
fn tree(words: &[&str], before: &[String], paths: &mut Vec<(Vec<String>, String)>) {
    let mut path = before.to_vec();
    let mut at = 0;
    while at < words.len() {
        match words[at] {
            "::" => {}
            "{" => {
                let mut depth = 0;
                let mut from = at + 1;
                for (index, word) in words.iter().enumerate().skip(at) {
                    depth += i32::from(*word == "{") - i32::from(*word == "}");
                    if depth == 0 || depth == 1 && *word == "," {
                        tree(&words[from..index], &path, paths);
                        from = index + 1;
                    }
                }
                return;
            }
            "as" => {
                let name = words.get(at + 1).map_or("_", |name| *name);
                return paths.push((path, name.to_owned()));
            }
            // `{self, …}` is the module itself.
            "self" if !path.is_empty() => {}
            word => path.push(word.to_owned()),
        }
        at += 1;
    }
    if let Some(name) = path.last().cloned() {
        paths.push((path, name));
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names and marks of the code, without comments and without the unit tests at its end.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let tests =
        lines.windows(2).position(|pair| pair[0].starts_with("#[cfg(") && pair[1].starts_with("mod tests {"));
    for line in &lines[..tests.unwrap_or(lines.len())] {
        let mut rest = line.split("//").next().unwrap_or("");
        while let Some(first) = rest.chars().next() {
            let name = |c: char| c.is_alphanumeric() || c == '_';
            let len = if name(first) {
                rest.find(|c| !name(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                words.push(&rest[..len]);
            }
            rest = &rest[len..];
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File { path: format!("x/src/{path}"), text: (*text).into() };
        let files: Vec<File> = files.iter().map(file).collect();
        circles(&files).into_iter().map(|(_, finding)| finding.message).collect()
    }

    #[test]
    fn files_that_need_each_other_are_found_whatever_way_they_say_it() {
        let root = ("lib.rs", "mod a; mod b; mod c;");
        assert_eq!(
            found(&[root, ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c;"), ("c.rs", "")]).len(),
            0
        );
        for back in ["use super::a::A;", "use crate::{c, a::{self, A}};", "fn f() { crate::a::g() }"] {
            let files = [root, ("a.rs", "use crate::b::B;"), ("b.rs", back), ("c.rs", "")];
            assert_eq!(found(&files), ["these need each other: x/src/a.rs, x/src/b.rs"], "{back}");
        }
        let by_name = [root, ("a.rs", "use crate::b;\nfn f() { b::g() }"), ("b.rs", "use crate::a as c;")];
        assert_eq!(found(&by_name).len(), 1);
    }

    #[test]
    fn what_is_handed_on_is_needed_where_it_is_defined() {
        let (root, face) = (("lib.rs", "mod a; mod b;\npub use a::A;"), ("b.rs", "use crate::A;"));
        assert_eq!(found(&[root, ("a.rs", "use crate::b::B;"), face]).len(), 1);
        assert_eq!(found(&[root, ("a.rs", ""), face]).len(), 0);
        let nested = [
            ("m/mod.rs", "mod a; mod b;\npub(crate) use a::A;"),
            ("m/a.rs", ""),
            ("m/b.rs", "use super::A;"),
        ];
        assert_eq!(found(&nested).len(), 0);
    }

    #[test]
    fn modules_may_use_their_children_and_tests_what_they_like() {
        assert_eq!(found(&[("a.rs", "mod b;\nuse b::B;"), ("a/b.rs", "use super::A;")]).len(), 0);
        let siblings =
            [("a.rs", "mod b; mod c;"), ("a/b.rs", "use super::c::C;"), ("a/c.rs", "use super::b::B;")];
        assert_eq!(found(&siblings).len(), 1);
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}";
        assert_eq!(found(&[("a.rs", tests), ("b.rs", "use crate::a::A; // crate::b")]).len(), 0);
    }
}
