//! The version script: what `liblapi_r.so` exports.

use super::list::{self, Section};

pub(super) fn generate(sections: &[Section]) -> String {
    let mut out = String::from(
        "/* Written by `cargo xtask codegen` from bindings/lapi/api. Edit that. */\nLAPI_1.0 {\nglobal:\n",
    );
    for call in list::calls(sections) {
        out.push_str(&format!("    {0}; P{0};\n", call.name));
    }
    out.push_str("\n    /* Fortran */\n");
    for name in super::fortran::symbols(sections) {
        out.push_str(&format!("    {name};\n"));
    }
    out.push_str("local:\n    *;\n};\n");
    out
}
