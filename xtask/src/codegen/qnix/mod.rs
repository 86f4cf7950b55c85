//! What is made from `qx.h`: a manual page for each call, and the table of what is implemented
//! where and which tests show it.
//!
//! The header is written by hand, in a form that this reads: a prototype begins its line and ends
//! with `);`, a value of an enumeration is `NAME = value`, a field of a structure ends with `;`.

mod coverage;
mod man;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

pub(super) use coverage::gaps;

/// The header, as far as tables and pages need it.
struct Header {
    calls: Vec<Call>,
    /// Values of enumerations and macros.
    names: Vec<String>,
    /// Structures and their fields.
    structures: Vec<(String, Vec<String>)>,
}

struct Call {
    name: String,
    /// What stands before the name.
    gives: String,
    /// Types and names.
    params: Vec<(String, String)>,
}

/// All files: where they belong, and their text.
pub(super) fn generate(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let header = read(root)?;
    let mut out = vec![(root.join("docs/qnix-coverage.md"), coverage::generate(&header, root)?)];
    for (name, text) in man::generate(&header, &root.join("bindings/qnix/api/man.toml"))? {
        out.push((root.join("docs/man/man3").join(name), text));
    }
    Ok(out)
}

fn read(root: &Path) -> Result<Header> {
    let path = root.join("bindings/qnix/include/qx.h");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Header> {
    let mut header = Header { calls: Vec::new(), names: Vec::new(), structures: Vec::new() };
    let mut fields = Vec::new();
    let mut in_structure = false;
    let mut declaration = String::new();
    for line in text.lines() {
        let code = line.split("/*").next().unwrap_or_default().trim();
        let word = |end: char| code.split(end).next().map(str::trim).unwrap_or_default().to_owned();
        if code == "typedef struct {" {
            in_structure = true;
        } else if let Some(name) = code.strip_prefix("} ").filter(|_| in_structure) {
            header.structures.push((name.trim_end_matches(';').to_owned(), std::mem::take(&mut fields)));
            in_structure = false;
        } else if in_structure && code.ends_with(';') {
            let field = word('[').trim_end_matches(';').to_owned();
            fields.push(field.rsplit([' ', '*']).next().unwrap_or_default().to_owned());
        } else if let Some(defined) = code.strip_prefix("#define QX_PACKETS") {
            header.names.push(format!("QX_PACKETS{}", defined.split('(').next().unwrap_or_default()));
        } else if code.starts_with("QX_") && code.contains(" = ") {
            header.names.push(word(' '));
        } else if !declaration.is_empty()
            || (code.contains(" qx_") || code.contains("*qx_")) && line == line.trim_start()
        {
            declaration = format!("{declaration} {code}").trim().to_owned();
            if declaration.ends_with(");") {
                header.calls.push(call(&std::mem::take(&mut declaration))?);
            }
        }
    }
    Ok(header)
}

fn call(declaration: &str) -> Result<Call> {
    let parts = || {
        let (head, params) = declaration.trim_end_matches(");").split_once('(')?;
        let at = head.find("qx_")?;
        let param = |text: &str| {
            let text = text.trim();
            let at = text.rfind([' ', '*'])? + 1;
            Some((text[..at].trim().to_owned(), text[at..].to_owned()))
        };
        let params = if params == "void" { Some(Vec::new()) } else { params.split(',').map(param).collect() };
        Some(Call { name: head[at..].to_owned(), gives: head[..at].trim().to_owned(), params: params? })
    };
    match parts() {
        Some(call) => Ok(call),
        None => bail!("qx.h: `{declaration}` is no prototype that is understood"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_gives_its_calls_names_and_fields() {
        let text = "enum {\n    QX_A = 1,   /* QX_B = 2 */\n};\ntypedef struct {\n    int pair[2]; /* two */\n    char *at;\n} qx_s;\n\
                    #define QX_PACKETS(len) (len)\nint qx_f(int *a,\n         long b);\nconst char *qx_g(void);\n";
        let header = parse(text).unwrap();
        assert_eq!(header.names, ["QX_A", "QX_PACKETS"]);
        assert_eq!(header.structures, [("qx_s".to_owned(), vec!["pair".to_owned(), "at".to_owned()])]);
        let [f, g] = &header.calls[..] else { panic!("two calls") };
        assert_eq!((f.name.as_str(), f.gives.as_str(), g.gives.as_str()), ("qx_f", "int", "const char *"));
        assert_eq!(f.params, [("int *".to_owned(), "a".to_owned()), ("long".to_owned(), "b".to_owned())]);
        assert!(g.params.is_empty());
    }
}
