//! Rules about source code.

use super::{File, Finding};

/// Above this a file holds more than one concern.
const MAX_LINES: usize = 500;

/// How far above an unsafe block or an ordering its comment may stand: a statement wrapped by
/// rustfmt is this long.
const REACH: usize = 10;

pub(super) fn size(file: &File) -> Vec<Finding> {
    let lines = file.text.lines().count();
    let source = [".rs", ".c", ".h", ".f90", ".sh"].iter().any(|e| file.path.ends_with(e));
    // A generated file is as long as its list; people read the list.
    if !source || is_generated(file) || lines <= MAX_LINES {
        return Vec::new();
    }
    vec![Finding {
        line: 0,
        message: format!("{lines} lines; {MAX_LINES} are the limit: split it by concern"),
    }]
}

/// Above this a function does more than one thing.
const MAX_FUNCTION: usize = 60;

/// Tests may be as long as the story that they tell, and what a program writes is for programs.
pub(super) fn functions(file: &File) -> Vec<Finding> {
    let test = file.path.ends_with("tests.rs") || file.path.contains("tests/");
    if !file.path.ends_with(".rs") || test || is_generated(file) {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let begins = |line: &str| {
        let line = line.trim_start();
        let declares = line.starts_with("fn ") || line.contains(" fn ");
        declares && !line.starts_with("//") && line.contains('(') && !line.ends_with('}')
    };
    let mut findings = Vec::new();
    for (first, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        let indent = &line[..line.len() - line.trim_start().len()];
        // What rustfmt has formatted ends with a brace that stands below the first word.
        let ends = |line: &&str| line.strip_prefix(indent) == Some("}");
        let declares = |line: &&str| line.starts_with(indent) && line.ends_with(';') && !line.ends_with("};");
        let rest = &lines[first..];
        let Some(last) = rest.iter().position(ends) else { continue };
        let body = rest.iter().position(|l| l.ends_with('{')).unwrap_or(0);
        let declared = rest[..=body].iter().any(declares);
        if !declared && last + 1 > MAX_FUNCTION {
            let message = format!("a function of {} lines; {MAX_FUNCTION} are the limit", last + 1);
            findings.push(Finding { line: first + 1, message });
        }
    }
    findings
}

fn is_generated(file: &File) -> bool {
    file.text.lines().take(5).any(|l| l.contains("xtask codegen"))
}

pub(super) fn atomics(file: &File) -> Vec<Finding> {
    // The facade itself, and crates below or beside core that explain an allow for clippy's same
    // rule. Tests and examples are programs of users, who have std's; so are the tests' helpers,
    // which are built under loom, too, but run outside its models.
    if is_user_program(file)
        || file.path.starts_with("core/src/sync")
        || file.path.starts_with("tools/lapis-testing/src/")
        || file.text.contains("allow(clippy::disallowed_types")
    {
        return Vec::new();
    }
    let needles = [concat!("std::sync", "::atomic"), concat!("core::sync", "::atomic")];
    code_lines(file)
        .filter(|(_, code)| needles.iter().any(|n| code.contains(n)))
        .map(|(line, _)| Finding { line, message: "use lapis_core::sync, which switches to loom's".into() })
        .collect()
}

pub(super) fn statics(file: &File) -> Vec<Finding> {
    let mutable = ["Atomic", "Mutex", "RwLock", "Cell", "OnceLock", "LazyLock", "Once<"];
    let mut findings = Vec::new();
    for (line, code) in code_lines(file) {
        let code = code.trim_start().trim_start_matches("pub").trim_start_matches("(crate)").trim_start();
        if code.starts_with(concat!("static", " mut ")) {
            findings.push(Finding { line, message: "a mutable static: put it into the context".into() });
        } else if file.path.starts_with("core/src/")
            && code.starts_with("static ")
            && mutable.iter().any(|m| code.contains(m))
        {
            let message =
                "state in a static: every copy of the library would have its own, put it into the context";
            findings.push(Finding { line, message: message.into() });
        }
    }
    findings
}

/// Core takes the transports that it knows from its caller, so it names none. `loopback` is also
/// the name of a network interface: it is refused as a string only.
pub(super) fn transports(file: &File) -> Vec<Finding> {
    let test = file.path.ends_with("tests.rs") || file.path.contains("/tests/");
    if !file.path.starts_with("core/src/") || test {
        return Vec::new();
    }
    let names = || lapis_standard::TRANSPORTS.iter().map(|known| known.name);
    let word = |w: &str| names().filter(|name| *name != "loopback").any(|name| name == w);
    let variable = |w: &str| {
        names().any(|name| {
            let name = name.to_uppercase();
            w.starts_with(&format!("LAPIS_{name}_")) || w.starts_with(&format!("MP_{name}_"))
        })
    };
    let says = |line: &str| {
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.clone().any(|w| word(w) || variable(w)) || line.contains(concat!("\"loop", "back\""))
    };
    let lines: Vec<&str> = file.text.lines().collect();
    // Tests may name what they like, at the end of their file.
    let unit_tests = |pair: &[&str]| pair[0].starts_with("#[cfg(") && pair[1].starts_with("mod tests {");
    let end = lines.windows(2).position(unit_tests).unwrap_or(lines.len());
    let found = lines[..end].iter().enumerate().filter(|(_, line)| says(line));
    let message = "core names no transport: let it declare what is needed (docs/plugin-abi.md)";
    found.map(|(index, _)| Finding { line: index + 1, message: message.into() }).collect()
}

pub(super) fn safety(file: &File) -> Vec<Finding> {
    let marks = [concat!("unsafe", " {"), concat!("unsafe", " impl")];
    let opens = |code: &str| marks.iter().any(|m| code.contains(m));
    without_comment(file, "SAFETY:", opens, "say in a SAFETY comment why this is sound")
}

/// Reasons that send the reader elsewhere: what they point to moves, and they stay.
const POINTERS: &[&str] =
    &["as above", "as below", "as before", "as for", "as in", "the same as", "see above", "ditto"];

/// Where a promise of the caller's is named, too, instead of left to the heading `# Safety`.
const PROMISES_NAMED: &[&str] = &["core/src/"];

pub(super) fn reasons(file: &File) -> Vec<Finding> {
    let marks = [concat!("SAFETY", ":"), concat!("SYNC", ":"), concat!("tidy", "-allow(")];
    let said = |line: &str| {
        let (_, reason) = marks.iter().find_map(|mark| line.split_once(mark))?;
        // An allowance names its rule first.
        Some(reason.split_once("): ").map_or(reason, |(_, reason)| reason).to_lowercase())
    };
    let named = PROMISES_NAMED.iter().any(|folder| file.path.starts_with(folder));
    let points = |reason: String| {
        let reason = reason.trim_start();
        POINTERS.iter().any(|p| reason.starts_with(p))
            || named && reason.trim_end_matches('.') == "the caller's promise"
    };
    let lines = file.text.lines().enumerate().filter(|_| file.path.ends_with(".rs"));
    let found = lines.filter(|(_, line)| said(line).is_some_and(points));
    let message = "name the reason itself: who promises what, or what makes it so";
    found.map(|(index, _)| Finding { line: index + 1, message: message.into() }).collect()
}

pub(super) fn sync(file: &File) -> Vec<Finding> {
    if is_user_program(file) {
        return Vec::new();
    }
    let orders = ["::Acquire", "::Release", "::AcqRel", "::SeqCst"];
    let strong = |code: &str| orders.iter().any(|o| code.contains(&format!("Ordering{o}")));
    without_comment(file, "SYNC:", strong, "name in a SYNC comment what this ordering pairs with")
}

pub(super) fn citations(file: &File) -> Vec<Finding> {
    // What codegen writes stands beside the list it is written from, whose sections name theirs.
    if !file.path.starts_with("bindings/")
        || file.text.lines().next().is_some_and(|l| l.contains("cargo xtask codegen"))
    {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let is_call = |l: &str| {
        l.starts_with("pub ")
            && l.contains("extern \"C\" fn ")
            && ["LAPI_", "acp_", "gm_", "qnix"].iter().any(|p| l.contains(p))
    };
    let mut findings = Vec::new();
    for (index, _) in lines.iter().enumerate().filter(|(_, l)| is_call(l)) {
        let above = lines[..index].iter().rev().take_while(|l| l.starts_with("//") || l.starts_with('#'));
        if !above.into_iter().any(|l| l.contains("Guide, ") || l.contains("//= ")) {
            let message = "cite the section it implements: `LAPI Guide, <call>`".into();
            findings.push(Finding { line: index + 1, message });
        }
    }
    findings
}

fn is_user_program(file: &File) -> bool {
    ["examples/", "tests/"].iter().any(|f| file.path.starts_with(f) || file.path.contains(&format!("/{f}")))
}

fn without_comment(file: &File, mark: &str, wants: impl Fn(&str) -> bool, message: &str) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    code_lines(file)
        .filter(|(line, code)| {
            let near = &lines[line.saturating_sub(REACH + 1)..*line];
            wants(code) && !near.iter().any(|l| l.contains(mark))
        })
        .map(|(line, _)| Finding { line, message: message.into() })
        .collect()
}

/// Lines of Rust code with their numbers: comment lines and what follows `//` are left out.
fn code_lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let is_rust = file.path.ends_with(".rs");
    file.text
        .lines()
        .enumerate()
        .filter(move |(_, l)| is_rust && !l.trim_start().starts_with("//"))
        .map(|(index, l)| (index + 1, l.split_once(" //").map_or(l, |(code, _)| code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> File {
        File { path: "core/src/x.rs".into(), text: text.into() }
    }

    #[test]
    fn bare_unsafe_block_is_found() {
        let bare = concat!("fn f() {\n    unsafe", " { g() }\n}\n");
        assert_eq!(safety(&rust(bare)).len(), 1);
        assert_eq!(safety(&rust(&format!("// SAFETY: g asks nothing.\n{bare}"))).len(), 0);
    }

    #[test]
    fn reasons_that_point_elsewhere_are_found() {
        let at = |path: &str, reason: &str| {
            let text = format!("// {}: {reason}", concat!("SAF", "ETY"));
            reasons(&File { path: path.into(), text }).len()
        };
        let of = |reason: &str| at("bindings/x.rs", reason);
        assert_eq!((of("the caller's promise."), at("core/src/x.rs", "the caller's promise.")), (0, 1));
        assert_eq!((of("as above."), of("As above, for the other one.")), (1, 1));
        assert_eq!((of("as for `put`."), of("as in `enter`.")), (1, 1));
        assert_eq!((of("the lock is held."), of("readable, as `new` demands.")), (0, 0));
        let other = |mark: &str| {
            let text = format!("// {mark} as above.\n// {mark} of this test.");
            reasons(&File { path: "core/src/x.rs".into(), text }).len()
        };
        assert_eq!((other(concat!("SY", "NC:")), other(concat!("tidy", "-allow(statics):"))), (1, 1));
    }

    #[test]
    fn strong_ordering_without_partner_is_found() {
        let strong = concat!("a.load(Ordering", "::Acquire);");
        assert_eq!(sync(&rust(strong)).len(), 1);
        assert_eq!(sync(&rust("a.load(Ordering::Relaxed);")).len(), 0);
        assert_eq!(sync(&rust(&format!("// SYNC: pairs with push.\n{strong}"))).len(), 0);
    }

    #[test]
    fn std_atomics_outside_the_facade_are_found() {
        let text = concat!("use std::sync", "::atomic::AtomicU32;");
        assert_eq!(atomics(&rust(text)).len(), 1);
        assert_eq!(atomics(&File { path: "core/src/sync.rs".into(), text: text.into() }).len(), 0);
        assert_eq!(atomics(&rust(concat!("// never std::sync", "::atomic"))).len(), 0);
    }

    #[test]
    fn statics_with_state_in_core_are_found() {
        assert_eq!(statics(&rust("static COUNT: AtomicU32 = AtomicU32::new(0);")).len(), 1);
        assert_eq!(statics(&rust("static TABLE: [u8; 3] = [1, 2, 3];")).len(), 0);
    }

    #[test]
    fn names_of_transports_in_core_are_found_but_not_in_tests_or_elsewhere() {
        let found = |text: &str| transports(&rust(text)).len();
        assert_eq!(
            found("let first = \"shm\";\n// as for udp\nset(\"LAPIS_RDMA_ADDR\");\nname == \"loopback\""),
            4
        );
        assert_eq!(found("use_shm; LAPI_USE_SHM; UDP; at.is_loopback(); // the loopback interface"), 0);
        assert_eq!(found("x();\n#[cfg(test)]\nmod tests {\n    let name = \"shm\";\n}"), 0);
        let elsewhere = File { path: "tools/x/src/main.rs".into(), text: "\"shm\"".into() };
        assert_eq!(transports(&elsewhere).len(), 0);
    }

    #[test]
    fn calls_without_a_citation_are_found() {
        let call = "pub unsafe extern \"C\" fn LAPI_Put(h: u32) -> i32 {";
        let file = |text: &str| File { path: "bindings/lapi/src/put.rs".into(), text: text.into() };
        assert_eq!(citations(&file(call)).len(), 1);
        assert_eq!(citations(&file(&format!("/// LAPI Guide, LAPI_Put.\n{call}"))).len(), 0);
    }

    #[test]
    fn long_functions_are_found_wherever_they_stand() {
        let of = |lines: usize| {
            let body = "        x();\n".repeat(lines - 2);
            format!("impl X {{\n    pub(crate) fn f(\n        a: u8,\n    ) {{\n{body}    }}\n}}\n")
        };
        assert_eq!(functions(&rust(&of(MAX_FUNCTION - 2))).len(), 0);
        assert_eq!(functions(&rust(&of(MAX_FUNCTION - 1))).len(), 1);
        let declared = format!("trait X {{\n    fn f(a: u8);\n{}}}\n", "    fn g(a: u8) {}\n".repeat(99));
        assert_eq!(functions(&rust(&declared)).len(), 0);
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(size(&rust(&"x\n".repeat(MAX_LINES))).len(), 0);
        assert_eq!(size(&rust(&"x\n".repeat(MAX_LINES + 1))).len(), 1);
    }
}
