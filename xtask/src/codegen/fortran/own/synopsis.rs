//! The Fortran synopsis of a manual page of `lapis.h`.

use super::{Argument, argument, kind};
use crate::codegen::fortran::synopsis::{call_lines, declaration_lines};
use crate::codegen::list::{self, Call};
use anyhow::Result;

/// Lines in roff, to stand where text is not filled.
pub(in crate::codegen) fn synopsis(call: &Call) -> Result<String> {
    let mut out = String::from(".PP\n.B USE lapis\n.PP\n");
    let forms = list::forms(call);
    for (name, params) in &forms {
        let names: Vec<_> = params.iter().map(|(_, name)| name.as_str()).collect();
        call_lines(&mut out, name, &names)?;
    }
    out.push_str(".PP\n");
    // The last form has all arguments.
    let Some((name, params)) = forms.last() else { return Ok(out) };
    let mut declared = Vec::new();
    for (of, parameter) in params {
        let (of, rank) = declaration(name, of, parameter)?;
        declared.push((of, format!("{parameter}{rank}")));
    }
    declared.push(("INTEGER".into(), "ierror".into()));
    declaration_lines(&mut out, declared)?;
    Ok(out)
}

/// The Fortran type of an argument, and its rank.
fn declaration(call: &str, of: &str, name: &str) -> Result<(String, &'static str)> {
    let integer = |of: &str| {
        Ok::<_, anyhow::Error>(match kind(of)? {
            "c_int" => "INTEGER".into(),
            kind => format!("INTEGER(KIND={kind})"),
        })
    };
    Ok(match argument(call, of, name)? {
        Argument::Value(of) | Argument::Out(of) | Argument::InOut(of) => (integer(of)?, ""),
        Argument::List("lapis_edge_t") => ("TYPE(LAPIS_EDGE_T)".into(), "(*)"),
        Argument::List(of) | Argument::InOutList(of) => (integer(of)?, "(*)"),
        Argument::Input | Argument::Output => ("<type>".into(), "(*)"),
        Argument::Anything => ("<type>".into(), ""),
        Argument::GivenPointer | Argument::Pointer => ("TYPE(C_PTR)".into(), ""),
        Argument::Counter => ("TYPE(LAPI_CNTR_T)".into(), ""),
        Argument::Procedure(interface) => (format!("PROCEDURE({interface})"), ""),
        Argument::Text => ("CHARACTER(LEN=size)".into(), ""),
    })
}
