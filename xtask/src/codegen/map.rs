//! The version script: what `liblapi_r.so` exports.

use super::list::{self, Section};

/// The version of every symbol: the soname, as in the library that Cargo links, whose linker takes
/// no script beside rustc's own and names the version so by itself. A program built against either
/// library runs with the other. What is added to the interface later belongs under a version of its
/// own that has this one for its parent.
const VERSION: &str = "liblapi_r.so.1";

pub(super) fn generate(sections: &[Section], own: &[Section]) -> String {
    let mut out = format!(
        "/* Written by `cargo xtask codegen` from bindings/lapi/api. Edit that. */\n{VERSION} {{\nglobal:\n",
    );
    for call in list::calls(sections) {
        out.push_str(&format!("    {0}; P{0};\n", call.name));
    }
    out.push_str("\n    /* Fortran */\n");
    for name in super::fortran::symbols(sections) {
        out.push_str(&format!("    {name};\n"));
    }
    out.push_str("\n    /* lapis.h */\n");
    for name in list::calls(own).flat_map(list::names).chain(super::fortran::own_symbols(own)) {
        out.push_str(&format!("    {name};\n"));
    }
    out.push_str("local:\n    *;\n};\n");
    out
}
