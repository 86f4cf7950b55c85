//! The sources and tests in which a coverage page looks for names and citations.

use std::collections::BTreeSet;
use std::path::Path;

/// Endings of sources, in which names are spelled as the list has them, and of Fortran's, in which
/// case is insignificant.
const SOURCES: &[&str] = &["rs", "c", "h"];
const FORTRAN: &[&str] = &["f", "f90", "inc"];

/// Where the unit tests of a source file begin.
const UNIT_TESTS: &str = "#[cfg(test)]";

/// A source file, or its unit tests.
pub(in super::super) struct File {
    /// Relative to the root.
    pub(in super::super) path: String,
    pub(in super::super) text: String,
    pub(in super::super) words: BTreeSet<String>,
    /// Whether the words are in capitals, whatever the file has.
    capitals: bool,
}

impl File {
    /// Whether it contains a name as a word.
    fn names(&self, name: &str) -> bool {
        if self.capitals { self.words.contains(&name.to_uppercase()) } else { self.words.contains(name) }
    }
}

/// The files that contain a name.
pub(in super::super) fn naming(files: &[File], name: &str) -> Vec<String> {
    citing(files, |file| file.names(name))
}

/// The files for which `cites` holds.
pub(in super::super) fn citing(files: &[File], cites: impl Fn(&File) -> bool) -> Vec<String> {
    files.iter().filter(|file| cites(file)).map(|file| file.path.clone()).collect()
}

/// Whether a file is generated from the lists, so that a name in it shows nothing.
pub(in super::super) fn is_generated(path: &str) -> bool {
    path.contains("/generated/")
        || ["abi.rs", "exports.rs", "core/src/code.rs"].iter().any(|end| path.ends_with(end))
}

/// The code and the tests of some places.
///
/// Files for which `is_left_out` holds are not read.
pub(in super::super) fn read(
    root: &Path,
    code_places: &[&str],
    test_places: &[&str],
    is_left_out: fn(&str) -> bool,
) -> (Vec<File>, Vec<File>) {
    let file = |path: &str, text: &str| {
        let capitals = FORTRAN.iter().any(|ending| path.ends_with(&format!(".{ending}")));
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words = words.map(|w| if capitals { w.to_uppercase() } else { w.to_owned() }).collect();
        File { path: path.to_owned(), text: text.to_owned(), words, capitals }
    };
    let (mut code, mut tests) = (Vec::new(), Vec::new());
    for path in paths(root, code_places, is_left_out) {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        let (source, units) = text.split_at(text.find(UNIT_TESTS).unwrap_or(text.len()));
        code.push(file(&path, source));
        if !units.is_empty() {
            tests.push(file(&path, units));
        }
    }
    for path in paths(root, test_places, is_left_out) {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        tests.push(file(&path, &text));
    }
    tests.sort_by(|a, b| a.path.cmp(&b.path));
    (code, tests)
}

fn paths(root: &Path, places: &[&str], is_left_out: fn(&str) -> bool) -> BTreeSet<String> {
    let mut found = Vec::new();
    for place in places {
        collect(&root.join(place), &mut found);
    }
    let relative = |path: std::path::PathBuf| Some(path.strip_prefix(root).ok()?.to_str()?.to_owned());
    found.into_iter().filter_map(relative).filter(|path| !is_left_out(path)).collect()
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
