//! The test that C and Rust see the same layout: a C program that prints sizes, offsets and
//! constants, and a Rust table of the same. `bindings/lapi/tests/abi.rs` compares them.

use super::list::{Aggregate, Item, Section};
use lapis_core::error::{CODES, OWN_CODES};

/// What is compared: a line of output, the C expression, the Rust expression.
struct Check {
    label: String,
    c: String,
    rust: String,
}

fn checks(sections: &[Section], own: &[Section]) -> Vec<Check> {
    let mut all = Vec::new();
    let mut add = |label: String, c: String, rust: String| all.push(Check { label, c, rust });
    let constant = |name: &str| (format!("constant {name}"), name.to_owned(), format!("abi::{name} as i128"));
    let size = |name: &str| {
        (format!("sizeof {name}"), format!("sizeof({name})"), format!("size_of::<abi::{name}>() as i128"))
    };
    for item in sections.iter().chain(own).flat_map(|section| &section.items) {
        let mut push = |(label, c, rust): (String, String, String)| add(label, c, rust);
        match item {
            Item::Typedef(item) => push(size(&item.name)),
            Item::Define(item) if item.value.is_some() => push(constant(&item.name)),
            Item::Define(_) | Item::Call(_) => {}
            Item::Enum(item) => {
                push(size(&item.name));
                item.values.iter().for_each(|(name, _, _)| push(constant(name)));
            }
            Item::Struct(item) | Item::Union(item) => {
                push(size(&item.name));
                push(align(item));
                item.fields.iter().for_each(|field| push(offset(item, &field.name)));
            }
            Item::Handler(item) => {
                let pointer = if item.pointer { "" } else { " *" };
                push((
                    format!("sizeof {} pointer", item.name),
                    format!("sizeof({}{pointer})", item.name),
                    format!("size_of::<Option<abi::{}>>() as i128", item.name),
                ));
            }
            Item::Codes {} => CODES.iter().for_each(|entry| push(constant(entry.name))),
            Item::OwnCodes {} => OWN_CODES.iter().for_each(|entry| push(constant(entry.name))),
        }
    }
    all
}

fn align(item: &Aggregate) -> (String, String, String) {
    let name = &item.name;
    (format!("alignof {name}"), format!("__alignof__({name})"), format!("align_of::<abi::{name}>() as i128"))
}

fn offset(item: &Aggregate, field: &str) -> (String, String, String) {
    let name = &item.name;
    (
        format!("offsetof {name}.{field}"),
        format!("offsetof({name}, {field})"),
        format!("offset_of!(abi::{name}, {field}) as i128"),
    )
}

pub(super) fn generate_c(sections: &[Section], own: &[Section]) -> String {
    let mut out = String::from(
        "/* Written by `cargo xtask codegen` from bindings/lapi/api. Edit that. */\n\
         #include <lapis.h>\n#include <stddef.h>\n#include <stdio.h>\n\n\
         #define SHOW(label, value) printf(\"%s %lld\\n\", label, (long long)(value))\n\n\
         int main(void)\n{\n",
    );
    for check in checks(sections, own) {
        out.push_str(&format!("    SHOW(\"{}\", {});\n", check.label, check.c));
    }
    out.push_str("    return 0;\n}\n");
    out
}

pub(super) fn generate_rust(sections: &[Section], own: &[Section]) -> String {
    let mut out = String::from(
        "// Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.\n\
         use lapi_r::abi;\nuse std::mem::offset_of;\n\n\
         /// What Rust says of everything that the C program prints.\n\
         pub(crate) fn table() -> Vec<(&'static str, i128)> {\nvec![\n",
    );
    for check in checks(sections, own) {
        out.push_str(&format!("(\"{}\", {}),\n", check.label, check.rust));
    }
    out.push_str("]\n}\n");
    out
}
