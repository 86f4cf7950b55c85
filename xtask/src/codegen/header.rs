//! `lapi.h`.

use super::list::{self, Aggregate, Call, Define, Enum, Handler, Item, Section, Typedef};
use anyhow::Result;
use lapis_core::error::{ALIASES, CODES, OWN_CODES, Severity};
use std::fmt::Write;

const TOP: &str = "\
/*
 * lapi.h: the C interface of LAPI, as the LAPI Programming Guide defines it, implemented by Lapis.
 *
 * Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
 */
#ifndef LAPI_H
#define LAPI_H

#include <netinet/in.h>
#include <pthread.h>
#include <strings.h>
#include <sys/types.h>

/* Strict ISO modes hide two type names that LAPI's prototypes use. */
#if defined(__GLIBC__) ? !defined(__USE_MISC) : defined(__STRICT_ANSI__)
typedef unsigned int uint;
typedef unsigned long ulong;
#endif

#ifdef __cplusplus
extern \"C\" {
#endif

struct timespec;
";

const BOTTOM: &str = "\n#ifdef __cplusplus\n}\n#endif\n\n#endif /* LAPI_H */\n";

pub(super) fn generate(sections: &[Section]) -> Result<String> {
    let mut out = String::from(TOP);
    for section in sections {
        write!(out, "\n/*\n * {}\n * (LAPI Guide, {})\n */\n", section.title, section.guide)?;
        items(&mut out, section)?;
    }
    profiling(&mut out, sections)?;
    out.push_str(BOTTOM);
    Ok(out)
}

/// The declarations of a section.
pub(super) fn items(out: &mut String, section: &Section) -> Result<()> {
    for (at, item) in section.items.iter().enumerate() {
        // Runs of one-line declarations stand together.
        let follows = at > 0 && is_short(item) && is_short(&section.items[at - 1]);
        if !follows {
            out.push('\n');
        }
        declare(out, item)?;
    }
    Ok(())
}

fn is_short(item: &Item) -> bool {
    matches!(item, Item::Define(_))
}

fn declare(out: &mut String, item: &Item) -> Result<()> {
    match item {
        Item::Typedef(item) => typedef(out, item)?,
        Item::Define(item) => define(out, item)?,
        Item::Enum(item) => enumeration(out, item)?,
        Item::Struct(item) => aggregate(out, "struct", item)?,
        Item::Union(item) => aggregate(out, "union", item)?,
        Item::Handler(item) => handler(out, item)?,
        Item::Call(item) if item.forms => forms(out, item)?,
        Item::Call(item) => call(out, item)?,
        Item::Codes {} => codes(out)?,
        Item::OwnCodes {} => own_codes(out)?,
    }
    Ok(())
}

fn comment(out: &mut String, text: &str) -> std::fmt::Result {
    if text.contains('\n') {
        return writeln!(out, "/*\n * {}\n */", text.replace('\n', "\n * "));
    }
    writeln!(out, "/* {text} */")
}

fn typedef(out: &mut String, item: &Typedef) -> std::fmt::Result {
    comment(out, &item.doc)?;
    let align = item.align.map(|align| format!(" __attribute__((aligned({align})))")).unwrap_or_default();
    writeln!(out, "typedef {}{align};", joined(&item.of, &item.name))
}

fn define(out: &mut String, item: &Define) -> std::fmt::Result {
    let value = item.c.as_deref().or(item.value.as_deref()).unwrap_or_default();
    if item.doc.len() + item.name.len() + value.len() > 90 {
        comment(out, &item.doc)?;
        return writeln!(out, "#define {} {value}", item.name);
    }
    writeln!(out, "#define {:<26} {value} /* {} */", item.name, item.doc)
}

fn enumeration(out: &mut String, item: &Enum) -> std::fmt::Result {
    comment(out, &item.doc)?;
    writeln!(out, "typedef enum {{")?;
    let width = item.values.iter().map(|(name, value, _)| name.len() + value.len() + 3).max().unwrap_or(0);
    for (at, (name, value, doc)) in item.values.iter().enumerate() {
        let comma = if at + 1 < item.values.len() { "," } else { "" };
        let text = format!("{name} = {value}{comma}");
        writeln!(out, "    {text:<0$} /* {doc} */", width + 1)?;
    }
    match &item.alias {
        Some(alias) => writeln!(out, "}} {}, {alias};", item.name),
        None => writeln!(out, "}} {};", item.name),
    }
}

fn aggregate(out: &mut String, keyword: &str, item: &Aggregate) -> std::fmt::Result {
    comment(out, &item.doc)?;
    writeln!(out, "typedef {keyword} {{")?;
    let declared = |of: &str, name: &str, length: Option<usize>| {
        let array = length.map(|length| format!("[{length}]")).unwrap_or_default();
        format!("{};", joined(of, &format!("{name}{array}")))
    };
    let lines: Vec<_> =
        item.fields.iter().map(|field| declared(&field.of, &field.name, field.length)).collect();
    let width = lines.iter().map(String::len).max().unwrap_or(0);
    for (field, line) in item.fields.iter().zip(lines) {
        let doc = if field.doc.is_empty() { String::new() } else { format!(" /* {} */", field.doc) };
        match &field.in_c {
            // C programs cast what they store here in more ways than one type allows; C++ ones
            // can't.
            Some(in_c) => {
                writeln!(out, "#ifdef __cplusplus\n    {line:<width$}{doc}\n#else")?;
                let line = declared(in_c, &field.name, field.length);
                writeln!(out, "    {line:<width$}{doc}\n#endif")?;
            }
            None => writeln!(out, "{}", format!("    {line:<width$}{doc}").trim_end())?,
        }
    }
    writeln!(out, "}} {};", item.name)
}

fn handler(out: &mut String, item: &Handler) -> std::fmt::Result {
    comment(out, &item.doc)?;
    let star = if item.pointer { "*" } else { "" };
    let start = format!("typedef {}({star}{})(", spaced(&item.returns), item.name);
    writeln!(out, "{});", wrapped(&start, &item.params))
}

fn call(out: &mut String, item: &Call) -> std::fmt::Result {
    comment(out, &item.doc)?;
    writeln!(out, "{});", wrapped(&format!("int {}(", item.name), &item.params))
}

/// A collective's three forms.
fn forms(out: &mut String, item: &Call) -> std::fmt::Result {
    comment(out, &item.doc)?;
    for (name, params) in list::forms(item) {
        writeln!(out, "{});", wrapped(&format!("int {name}("), &params))?;
    }
    Ok(())
}

fn own_codes(out: &mut String) -> std::fmt::Result {
    comment(out, "What calls of this header give beside codes of lapi.h. LAPI_Msg_string knows them.")?;
    for entry in OWN_CODES {
        writeln!(out, "#define {:<19} {:<3} /* {} */", entry.name, entry.code.value(), entry.text)?;
    }
    Ok(())
}

fn codes(out: &mut String) -> std::fmt::Result {
    let named = CODES.iter().filter(|entry| entry.severity != Severity::Attention);
    for entry in named {
        writeln!(out, "#define {:<33} {:<3} /* {} */", entry.name, entry.code.value(), entry.text)?;
    }
    for (alias, code) in ALIASES {
        writeln!(out, "#define {alias:<33} {}", code.name())?;
    }
    comment(out, "Attention messages: LAPI_Msg_string knows their texts.")?;
    for entry in CODES.iter().filter(|entry| entry.severity == Severity::Attention) {
        writeln!(out, "#define {:<33} {:<3} /* {} */", entry.name, entry.code.value(), entry.text)?;
    }
    Ok(())
}

fn profiling(out: &mut String, sections: &[Section]) -> std::fmt::Result {
    out.push_str(
        "\n/*\n * Profiling interface\n * (LAPI Guide, chapter 9: a library that defines LAPI_* calls PLAPI_*)\n */\n\n",
    );
    for item in list::calls(sections) {
        writeln!(out, "{});", wrapped(&format!("int P{}(", item.name), &item.params))?;
    }
    Ok(())
}

/// `int *` and `x` as `int *x`, `int` and `x` as `int x`.
fn joined(of: &str, name: &str) -> String {
    format!("{}{name}", spaced(of))
}

fn spaced(of: &str) -> String {
    if of.ends_with('*') { of.to_owned() } else { format!("{of} ") }
}

/// `start` and the parameters, broken before column 100.
fn wrapped(start: &str, params: &[(String, String)]) -> String {
    let mut out = start.to_owned();
    let mut column = out.len();
    for (at, (of, name)) in params.iter().enumerate() {
        let mut text = joined(of, name);
        if at + 1 < params.len() {
            text.push(',');
        }
        if at > 0 && column + text.len() + 1 > 98 {
            write!(out, "\n{:1$}", "", start.len()).expect("a String takes all");
            column = start.len();
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        column += text.len();
        out.push_str(&text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{joined, wrapped};

    #[test]
    fn stars_stick_to_names() {
        assert_eq!(joined("void **", "info"), "void **info");
        assert_eq!(joined("uint", "tgt"), "uint tgt");
    }

    #[test]
    fn long_prototypes_are_broken_under_the_first_parameter() {
        let params: Vec<_> = (0..8).map(|n| ("lapi_cntr_t *".to_owned(), format!("cntr{n}"))).collect();
        let text = wrapped("int LAPI_Many(", &params);
        assert!(text.lines().count() > 1);
        assert!(text.lines().all(|line| line.len() < 100), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("              lapi_cntr_t *")), "{text}");
    }
}
