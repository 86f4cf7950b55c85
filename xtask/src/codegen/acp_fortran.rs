//! `acp.f90`: the module of ACP for Fortran, from the prototypes in ACP's headers.
//!
//! Calls are interfaces to the C functions by Fortran's own rules (`bind(C)`), so there is no code.
//! Structures of one address (vectors, lists, deques) are that address. Where release 3.0 has the
//! name of a call of release 1.0, its name ends in `_3`, as in the library.

use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::Path;

const TOP: &str = "\
! module acp: Advanced Communication Primitives for Fortran 2008 and later, implemented by Lapis.
!
! Written by `cargo xtask codegen` from acp.h, acpdl.h and xtask/src/codegen/acp_fortran.f90. Edit
! those.
!
";

/// A function of C.
pub(super) struct Prototype {
    /// As the header has it, in one line.
    pub(super) text: String,
    gives: String,
    pub(super) name: String,
    /// Types with their names.
    params: Vec<(String, String)>,
    /// Whether iterators of vectors and lists are the numbers of release 1.0.
    first: bool,
}

/// The module's text.
pub(super) fn generate(root: &Path) -> Result<String> {
    let read =
        |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| format!("reading {path}"));
    let declarations = read("xtask/src/codegen/acp_fortran.f90")?;
    let mut out = format!("{TOP}{declarations}\n  interface\n");
    for header in ["acp.h", "acpdl.h"] {
        for prototype in prototypes(&read(&format!("bindings/acp/include/{header}"))?)? {
            interface(&mut out, &prototype)?;
        }
    }
    out.push_str("  end interface\nend module acp\n");
    Ok(out)
}

/// The functions that a header declares.
pub(super) fn prototypes(header: &str) -> Result<Vec<Prototype>> {
    let mut found = Vec::new();
    let (mut first, mut rest) = (false, header);
    while let Some(at) = rest.find("extern ") {
        let (before, after) = rest.split_at(at);
        // The last condition before a prototype says which release it is of.
        let last = |word: &str| before.rfind(word);
        match (last("#if ACP_RELEASE < 3"), last("#else")) {
            (Some(begins), other) if other.is_none_or(|other| other < begins) => first = true,
            (_, Some(_)) => first = false,
            _ => {}
        }
        let (text, left) = after.split_once(';').context("a prototype does not end")?;
        rest = left;
        let text = text.trim_start_matches("extern ").split_whitespace().collect::<Vec<_>>().join(" ");
        if text.starts_with("\"C\"") {
            rest = &after["extern ".len()..];
            continue;
        }
        found.push(prototype(&text, first)?);
    }
    Ok(found)
}

fn prototype(text: &str, first: bool) -> Result<Prototype> {
    let (head, arguments) = text.split_once('(').with_context(|| format!("{text} is no prototype"))?;
    let (gives, name) = typed(head)?;
    let arguments = arguments.strip_suffix(')').with_context(|| format!("{text} does not end"))?;
    let mut params = Vec::new();
    // A comparison function is the one argument with parentheses, and the last one.
    let (plain, comparison) = match arguments.split_once(", int (*") {
        Some((plain, function)) => (plain, function.split(')').next()),
        None => (arguments, None),
    };
    for argument in plain.split(',').map(str::trim).filter(|argument| *argument != "void") {
        params.push(typed(argument)?);
    }
    params.extend(comparison.map(|name| ("function".to_owned(), name.to_owned())));
    Ok(Prototype { text: text.to_owned(), gives, name, params, first })
}

/// Type and name of a declaration: `const void *ptr` gives `const void *` and `ptr`.
fn typed(text: &str) -> Result<(String, String)> {
    let text = text.trim();
    let at = text.rfind([' ', '*']).with_context(|| format!("{text} has no type"))?;
    let (of, name) = text.split_at(at + 1);
    Ok((of.trim().to_owned(), name.to_owned()))
}

/// A type of Fortran, by value.
fn value(of: &str, first: bool) -> Result<String> {
    let plain = of.trim_start_matches("const ");
    Ok(match plain {
        "int" => "integer(c_int)".into(),
        "size_t" => "integer(c_size_t)".into(),
        "uint32_t" => "integer(c_int32_t)".into(),
        "uint64_t" | "int64_t" => "integer(c_int64_t)".into(),
        "acp_ga_t" | "acp_atkey_t" | "acp_handle_t" => format!("integer({plain})"),
        "acp_vector_t" | "acp_list_t" | "acp_deque_t" => "integer(acp_ga_t)".into(),
        "acp_vector_it_t" | "acp_list_it_t" if first => "integer(c_int)".into(),
        "acp_ch_t" | "acp_request_t" | "acp_segbuf_t" | "acp_wsd_t" | "void *" | "int *" => {
            "type(c_ptr)".into()
        }
        "function" => "type(c_funptr)".into(),
        other if other.starts_with("acp_") && !other.contains('*') => format!("type({other})"),
        other => bail!("{other} has no type in Fortran"),
    })
}

/// How an argument is declared.
fn parameter(of: &str, first: bool) -> Result<String> {
    Ok(match of {
        "void *" => "type(*), dimension(*), asynchronous".into(),
        "const void *" => "type(*), dimension(*), intent(in)".into(),
        "const char *" => "character(kind=c_char), dimension(*), intent(in)".into(),
        "int *" => "integer(c_int), optional, intent(inout)".into(),
        "char ***" => "type(c_ptr), optional, intent(inout)".into(),
        "const int *" => "integer(c_int), dimension(*), intent(in)".into(),
        "size_t *" => "integer(c_size_t), dimension(*), optional, intent(out)".into(),
        "acp_request_t *" => "type(c_ptr), dimension(*), intent(in)".into(),
        "acp_list_it_t *" => "integer(c_int), intent(inout)".into(),
        other => format!("{}, value", value(other, first)?),
    })
}

fn interface(out: &mut String, prototype: &Prototype) -> Result<()> {
    let Prototype { gives, name, params, first, .. } = prototype;
    let kind = if gives == "void" { "subroutine" } else { "function" };
    let names: Vec<&str> = params.iter().map(|(_, name)| name.as_str()).collect();
    let head = format!("    {kind} {name}({})", names.join(", "));
    let bind = format!("bind(C, name=\"{name}\")");
    if head.len() + bind.len() < 100 {
        writeln!(out, "{head} {bind}")?;
    } else {
        writeln!(out, "{head} &\n      {bind}")?;
    }
    out.push_str("      import\n");
    for (of, name) in params {
        writeln!(out, "      {} :: {name}", parameter(of, *first)?)?;
    }
    if gives != "void" {
        writeln!(out, "      {} :: {name}", value(gives, *first)?)?;
    }
    writeln!(out, "    end {kind} {name}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_come_apart() {
        let found = prototypes(
            "extern \"C\" {\n/* Words. */\nextern void *acp_a(acp_ga_t ga);\n#if ACP_RELEASE < 3\n\
             extern int acp_b(const void *ptr,\n    size_t n);\n#else\nextern void acp_c(void);\n#endif\n\
             extern void acp_d(acp_list_t l, int (*comp)(const acp_element_t one));\n",
        )
        .unwrap();
        let text = |p: &Prototype| format!("{} {} {:?} {}", p.gives, p.name, p.params, p.first);
        assert_eq!(
            found.iter().map(text).collect::<Vec<_>>(),
            [
                r#"void * acp_a [("acp_ga_t", "ga")] false"#,
                r#"int acp_b [("const void *", "ptr"), ("size_t", "n")] true"#,
                "void acp_c [] false",
                r#"void acp_d [("acp_list_t", "l"), ("function", "comp")] false"#,
            ]
        );
    }
}
