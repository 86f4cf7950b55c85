//! Fortran and C see the same sizes, offsets and constants; all spellings are exported.

mod support;

use std::collections::BTreeMap;
use std::process::Command;
use support::{Style, artifacts, checked, compile, scratch, source, styles};

fn table(text: &str) -> BTreeMap<String, i128> {
    let pair = |line: &str| {
        let (label, value) = line.rsplit_once(' ').expect("label and value");
        (label.to_owned(), value.trim().parse().expect("a number"))
    };
    text.lines().map(pair).collect()
}

/// Compares what the generated programs of a name print.
fn compare(name: &str, styles: impl Iterator<Item = Style>) -> usize {
    let program = scratch(name);
    let include = source("../../lapi/include");
    let mut cc = Command::new("cc");
    cc.arg(source(&format!("generated/{name}.c"))).arg(format!("-I{}", include.display()));
    checked(cc.arg("-o").arg(&program));
    let in_c = table(&checked(&mut Command::new(&program)));
    for style in styles {
        let compiled = compile(&source(&format!("generated/{name}.inc")), style);
        let in_fortran = table(&checked(&mut Command::new(compiled)));
        let differences: Vec<_> = in_c
            .iter()
            .filter(|(label, value)| in_fortran.get(*label) != Some(value))
            .map(|(label, value)| format!("{label}: {value} in C, {:?} in Fortran", in_fortran.get(label)))
            .collect();
        assert!(differences.is_empty(), "{style:?}: {differences:#?}");
        assert_eq!(in_c.len(), in_fortran.len(), "{style:?}");
    }
    in_c.len()
}

#[test]
fn fortran_and_c_agree_on_every_size_offset_and_constant() {
    let compared = compare("abi", styles());
    assert!(compared > 300, "only {compared} lines");
}

#[test]
fn module_lapis_and_c_agree_on_every_size_offset_and_constant() {
    let compared = compare(
        "own_abi",
        ["f", "f90"].map(|ending| Style { ending, declarations: "USE lapis" }).into_iter(),
    );
    assert!(compared > 50, "only {compared} lines");
}

#[test]
fn programs_may_use_plain_words_themselves() {
    for style in styles() {
        checked(&mut Command::new(compile(&source("programs/own_words.inc"), style)));
    }
}

//= LAPI Guide, table 10
//= type=test
#[test]
fn every_subroutine_is_exported_in_every_spelling() {
    let mut nm = Command::new("nm");
    let text = checked(nm.args(["-D", "--defined-only"]).arg(artifacts().join("liblapi_r.so")));
    let symbols: std::collections::HashSet<&str> = text
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .map(|name| name.split('@').next().unwrap_or(name))
        .collect();
    let mut calls = 0;
    for name in
        symbols.iter().filter(|name| name.starts_with("LAPI_") && name.chars().any(char::is_lowercase))
    {
        calls += 1;
        for name in [(*name).to_owned(), format!("P{name}")] {
            let (lower, upper) = (name.to_lowercase(), name.to_uppercase());
            for spelling in [name, format!("{lower}_"), lower, format!("{upper}_"), upper] {
                assert!(symbols.contains(spelling.as_str()), "{spelling} is not exported");
            }
        }
    }
    assert_eq!(calls, 31, "subroutines of the guide");
}
