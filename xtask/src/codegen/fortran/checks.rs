//! The test that Fortran and C see the same layout: programs that print sizes, offsets and
//! constants. `bindings/fortran/tests/abi.rs` compares what they print.

use super::layout::Model;
use super::text::statement;
use std::fmt::Write;

/// A program for both forms. `declarations.inc`, which the test writes, includes `lapif.h` or uses
/// the module.
pub(super) fn generate(model: &Model) -> String {
    let mut out = String::from("! Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.\n");
    statement(&mut out, "PROGRAM ABI");
    statement(&mut out, "CALL KINDS");
    for of in model.types() {
        statement(&mut out, &format!("CALL CHECK_{}", of.name));
    }
    let names: Vec<_> = model.constants().map(|constant| &constant.name).collect();
    // Long routines take a compiler long.
    for (at, _) in names.chunks(50).enumerate() {
        statement(&mut out, &format!("CALL CONSTANTS{at}"));
    }
    statement(&mut out, "END PROGRAM ABI");
    for (at, names) in names.chunks(50).enumerate() {
        routine(&mut out, &format!("CONSTANTS{at}"));
        for name in names {
            statement(&mut out, &format!("CALL SHOW('constant {name}', INT({name}, 8))"));
        }
        statement(&mut out, "END");
    }
    routine(&mut out, "KINDS");
    for (name, in_c) in model.kinds() {
        statement(&mut out, &format!("CALL SHOW('kind {in_c}', INT(KIND(0_{name}), 8))"));
    }
    statement(&mut out, "END");
    for of in model.types() {
        routine(&mut out, &format!("CHECK_{}", of.name));
        statement(&mut out, &format!("TYPE({}) :: V(2)", of.name));
        statement(&mut out, &format!("CALL SHOW('sizeof {}', LOC(V(2)) - LOC(V(1)))", of.in_c));
        for field in of.fields.iter().filter(|field| !field.pad) {
            let (of, name) = (&of.in_c, &field.name);
            statement(&mut out, &format!("CALL SHOW('offsetof {of}.{name}', LOC(V(1)%{name}) - LOC(V(1)))"));
        }
        statement(&mut out, "END");
    }
    out.push('\n');
    for line in [
        "SUBROUTINE SHOW(LABEL, VALUE)",
        "CHARACTER(LEN=*), INTENT(IN) :: LABEL",
        "INTEGER(KIND=8), INTENT(IN) :: VALUE",
        "WRITE (*, '(A, 1X, I0)') LABEL, VALUE",
        "END SUBROUTINE SHOW",
    ] {
        statement(&mut out, line);
    }
    out
}

fn routine(out: &mut String, name: &str) {
    out.push('\n');
    statement(out, &format!("SUBROUTINE {name}"));
    statement(out, "INCLUDE 'declarations.inc'");
}

pub(super) fn generate_c(model: &Model, header: &str) -> String {
    let mut out = format!(
        "/* Written by `cargo xtask codegen` from bindings/lapi/api. Edit that. */\n\
         #include <{header}>\n#include <stddef.h>\n#include <stdio.h>\n\n\
         #define SHOW(label, value) printf(\"%s %lld\\n\", label, (long long)(value))\n\n\
         int main(void)\n{{\n",
    );
    let mut show = |label: String, value: String| {
        writeln!(out, "    SHOW(\"{label}\", {value});").expect("a String takes all");
    };
    for (_, name) in model.kinds() {
        show(format!("kind {name}"), format!("sizeof({name})"));
    }
    for constant in model.constants() {
        show(format!("constant {}", constant.name), constant.in_c.clone());
    }
    for of in model.types() {
        let name = &of.in_c;
        show(format!("sizeof {name}"), format!("sizeof({name})"));
        for field in of.fields.iter().filter(|field| !field.pad) {
            let field = &field.name;
            show(format!("offsetof {name}.{field}"), format!("offsetof({name}, {field})"));
        }
    }
    out.push_str("    return 0;\n}\n");
    out
}
