//! C and Rust see the same sizes, offsets and constants.

#[path = "generated/abi.rs"]
mod generated;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const BINDING: &str = env!("CARGO_MANIFEST_DIR");

/// Compiles one C or C++ file of this crate against `lapi.h`, without linking; warnings are errors.
fn compile(compiler: &str, arguments: &[&str], source: &Path, output: &Path) {
    let result = Command::new(compiler)
        .args(arguments)
        .args(["-Wall", "-Wextra", "-Werror"])
        .arg(format!("-I{BINDING}/include"))
        .arg(source)
        .arg("-o")
        .arg(output)
        .output()
        .unwrap_or_else(|error| panic!("{compiler} does not start: {error}"));
    assert!(
        result.status.success(),
        "{compiler} {arguments:?} {}:\n{}",
        source.display(),
        String::from_utf8_lossy(&result.stderr)
    );
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn c_and_rust_agree_on_every_size_offset_and_constant() {
    let program = scratch("abi");
    compile("cc", &[], &Path::new(BINDING).join("tests/generated/abi.c"), &program);
    let output = Command::new(&program).output().expect("the program was just built");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("the program prints ASCII");
    let in_c: BTreeMap<&str, i128> = text
        .lines()
        .map(|line| line.rsplit_once(' ').expect("label and value"))
        .map(|(label, value)| (label, value.parse().expect("a number")))
        .collect();
    let in_rust: BTreeMap<&str, i128> = generated::table().into_iter().collect();
    assert!(in_c.len() > 300, "only {} lines", in_c.len());
    let differences: Vec<_> = in_rust
        .iter()
        .filter(|(label, value)| in_c.get(*label) != Some(value))
        .map(|(label, value)| format!("{label}: {value} in Rust, {:?} in C", in_c.get(label)))
        .collect();
    assert!(differences.is_empty(), "{differences:#?}");
    assert_eq!(in_c.len(), in_rust.len());
}

#[test]
fn every_standard_of_c_and_cxx_accepts_the_header() {
    let source = Path::new(BINDING).join("tests/c/header_alone.c");
    for standard in ["-std=gnu89", "-std=c89", "-std=c99", "-std=gnu99", "-std=c11", "-std=gnu17"] {
        compile("cc", &["-c", standard], &source, &scratch(&format!("header{standard}.o")));
    }
    for standard in ["-std=c++98", "-std=c++11", "-std=gnu++17"] {
        compile("c++", &["-c", "-x", "c++", standard], &source, &scratch(&format!("header{standard}.o")));
    }
}

#[test]
fn programs_may_use_plain_words_themselves() {
    let source = Path::new(BINDING).join("tests/c/own_words.c");
    for own in ["-DDEFINES", "-UDEFINES"] {
        compile("cc", &["-c", "-std=gnu89", own], &source, &scratch(&format!("words{own}.o")));
        compile("c++", &["-c", "-x", "c++", "-std=c++98", own], &source, &scratch(&format!("words{own}.oo")));
    }
    let text = std::fs::read_to_string(Path::new(BINDING).join("include/lapi.h")).expect("the header");
    let macros = text.lines().filter_map(|line| line.strip_prefix("#define ")).collect::<Vec<_>>();
    assert!(macros.len() > 100, "{macros:?}");
    for name in macros {
        assert!(name.starts_with("LAPI_"), "{name} is a macro that programs may use as a word of their own");
    }
}

#[test]
fn programs_of_the_guides_kind_compile() {
    let source = Path::new(BINDING).join("tests/c/casts.c");
    for standard in ["-std=gnu89", "-std=gnu99", "-std=gnu17"] {
        // Programs of that age leave parameters unused.
        let arguments = ["-c", standard, "-Wno-unused-parameter"];
        compile("cc", &arguments, &source, &scratch(&format!("casts{standard}.o")));
    }
}

/// The tables give the order, the types and (for Fortran) the padding of the command structures,
/// for 32 and 64 bits. `tests/c/tables.c` has the offsets that follow from them, written down
/// independently of the list.
#[test]
fn command_structures_are_laid_out_as_the_guides_tables() {
    let source = Path::new(BINDING).join("tests/c/tables.c");
    compile("cc", &["-c"], &source, &scratch("tables64.o"));
    // Compilers for other machines don't know -m32.
    if cfg!(target_arch = "x86_64") {
        // The system's own headers for 32 bits are rarely installed; small stand-ins are enough to
        // compile.
        let stubs = format!("-I{BINDING}/tests/c/stubs");
        compile("cc", &["-c", "-m32", "-nostdinc", &stubs], &source, &scratch("tables32.o"));
    }
}
