//! Fortran and C see the same sizes, offsets and constants; all spellings are exported.

mod support;

use std::collections::BTreeMap;
use std::process::Command;
use support::{artifacts, checked, compile, scratch, source, styles};

fn table(text: &str) -> BTreeMap<String, i128> {
    let pair = |line: &str| {
        let (label, value) = line.rsplit_once(' ').expect("label and value");
        (label.to_owned(), value.trim().parse().expect("a number"))
    };
    text.lines().map(pair).collect()
}

#[test]
fn fortran_and_c_agree_on_every_size_offset_and_constant() {
    let program = scratch("abi");
    let include = source("../../lapi/include");
    let mut cc = Command::new("cc");
    cc.arg(source("generated/abi.c")).arg(format!("-I{}", include.display())).arg("-o").arg(&program);
    checked(&mut cc);
    let in_c = table(&checked(&mut Command::new(&program)));
    assert!(in_c.len() > 300, "only {} lines", in_c.len());
    for style in styles() {
        let in_fortran = table(&checked(&mut Command::new(compile(&source("generated/abi.inc"), style))));
        let differences: Vec<_> = in_c
            .iter()
            .filter(|(label, value)| in_fortran.get(*label) != Some(value))
            .map(|(label, value)| format!("{label}: {value} in C, {:?} in Fortran", in_fortran.get(label)))
            .collect();
        assert!(differences.is_empty(), "{style:?}: {differences:#?}");
        assert_eq!(in_c.len(), in_fortran.len(), "{style:?}");
    }
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
