//! `lapi.f90`: the module of the same, with explicit interfaces.

use super::layout::{Declaration, Field, FieldType, Model, Type};
use super::thunks::procedure_forms;
use super::{Mode, mode};
use crate::codegen::list::{Call, Section, calls};
use anyhow::{Result, bail};
use std::fmt::Write;

const TOP: &str = "\
! module lapi: the Fortran interface of LAPI, as the LAPI Programming Guide defines it, implemented by Lapis, for Fortran 2008
! and later. It declares what lapif.h declares and checks the arguments of calls.
!
! Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
!
! What lies in the calling task is passed as itself; what lies in another task is passed as its address, an
! integer(LAPI_ADDR_TYPE). Buffers may be touched until their counters say otherwise: give them the asynchronous or volatile
! attribute.
!
! No code comes from this file: compile it for its .mod file, and link liblapi_r.
module lapi
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int16_t, c_int32_t, c_int64_t, c_intptr_t
  implicit none
  private :: c_char, c_int, c_int16_t, c_int32_t, c_int64_t, c_intptr_t

  ! Kinds
  integer, parameter :: LAPI_ADDR_TYPE = c_intptr_t
  integer, parameter :: LAPI_LONG_TYPE = c_int64_t
  integer, parameter :: LAPI_LONG_LONG_TYPE = c_int64_t

  ! Stands for no argument at all, and is the null address.
  integer(c_intptr_t), bind(C, name=\"lapi_addr_null_c_\"), protected :: LAPI_ADDR_NULL

  ! Holds an address.
  type, bind(C) :: LAPI_ADDR_T
    integer(c_intptr_t) :: addr
  end type LAPI_ADDR_T
";

pub(super) fn generate(model: &Model, sections: &[Section]) -> Result<String> {
    let mut out = String::from(TOP);
    for part in &model.parts {
        write!(out, "\n  !\n  ! {}\n  ! (LAPI Guide, {})\n  !\n", part.title, part.guide)?;
        for item in &part.items {
            declare(&mut out, item)?;
        }
    }
    out.push_str("\n  !\n  ! Subroutines\n  ! (LAPI Guide, chapters 18 and 19)\n  !\n");
    for prefix in ["", "P"] {
        if !prefix.is_empty() {
            out.push_str("\n  !\n  ! Profiling interface\n  ! (LAPI Guide, chapter 9)\n  !\n");
        }
        for call in calls(sections) {
            interface(&mut out, call, prefix)?;
        }
    }
    out.push_str("end module lapi\n");
    Ok(out)
}

pub(super) fn declare(out: &mut String, item: &Declaration) -> Result<()> {
    match item {
        Declaration::Kind { name, bytes, doc, .. } => {
            out.push('\n');
            comment(out, &format!("Kind. {doc}"))?;
            writeln!(out, "  integer, parameter :: {name} = {bytes}")?;
        }
        Declaration::Constant(constant) => {
            let kind = constant.kind.map(|kind| format!("({kind})")).unwrap_or_default();
            let text = format!("  integer{kind}, parameter :: {} = {}", constant.name, constant.value);
            let doc = one_line(&constant.doc);
            if text.len() + doc.len() > 125 {
                comment(out, &doc)?;
                writeln!(out, "{text}")?;
            } else {
                writeln!(out, "{text} ! {doc}")?;
            }
        }
        Declaration::Type(of) => derived(out, of)?,
    }
    Ok(())
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A comment, broken before the columns end that compilers read.
pub(super) fn comment(out: &mut String, text: &str) -> std::fmt::Result {
    let mut line = String::from("  !");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > 125 {
            writeln!(out, "{line}")?;
            line = String::from("  !");
        }
        write!(line, " {word}")?;
    }
    writeln!(out, "{line}")
}

fn derived(out: &mut String, of: &Type) -> Result<()> {
    out.push('\n');
    comment(out, &of.doc)?;
    writeln!(out, "  type, bind(C) :: {}", of.name)?;
    for field in &of.fields {
        // What must be 0 is, unless the program says otherwise.
        let start = if field.doc == "0" { " = 0" } else { "" };
        writeln!(out, "    {}{start} ! {}", component(field)?, one_line(&field.doc))?;
    }
    writeln!(out, "  end type {}", of.name)?;
    Ok(())
}

fn component(field: &Field) -> Result<String> {
    let of = match &field.of {
        FieldType::Integer(2) => "integer(c_int16_t)".to_owned(),
        FieldType::Integer(4) => "integer(c_int32_t)".to_owned(),
        FieldType::Integer(8) => "integer(c_int64_t)".to_owned(),
        FieldType::Integer(bytes) => bail!("no kind of {bytes} bytes"),
        FieldType::Address => "integer(c_intptr_t)".to_owned(),
        FieldType::Type(name) => format!("type({name})"),
    };
    let array = field.length.map(|length| format!("({length})")).unwrap_or_default();
    Ok(format!("{of} :: {}{array}", field.name))
}

/// A call under its own name; where a procedure may stand for an argument, a generic name of
/// several interfaces.
fn interface(out: &mut String, call: &Call, prefix: &str) -> Result<()> {
    let name = format!("{prefix}{}", call.name.to_uppercase());
    writeln!(out, "\n  ! {}", one_line(&call.doc))?;
    match procedure_forms(call) {
        None => {
            writeln!(out, "  interface")?;
            body(out, call, &name, &name, None)?;
            writeln!(out, "  end interface")?;
        }
        Some(forms) => {
            writeln!(out, "  interface {name}")?;
            body(out, call, &format!("{name}_VARIABLE"), &name, None)?;
            for (form, declaration) in forms.iter().zip(["external", "integer(LAPI_ADDR_TYPE), external"]) {
                let form = format!("{prefix}{}", form.to_uppercase());
                body(out, call, &form, &form, Some(declaration))?;
            }
            writeln!(out, "  end interface {name}")?;
        }
    }
    Ok(())
}

/// One interface body. One that takes a procedure can't be interoperable: handlers aren't.
fn body(out: &mut String, call: &Call, name: &str, symbol: &str, procedure: Option<&str>) -> Result<()> {
    let names: Vec<_> = call.params.iter().map(|(_, name)| name.trim_end_matches("[]")).collect();
    let arguments = format!("{}, ierror", names.join(", "));
    let mut line = format!("    subroutine {name}({arguments})");
    if procedure.is_none() {
        let label = format!(" bind(C, name=\"{}_\")", symbol.to_lowercase());
        line.push_str(if line.len() + label.len() > 125 { " &\n     " } else { "" });
        line.push_str(&label);
    }
    write!(out, "{line}\n      import\n")?;
    for ((of, declared), name) in call.params.iter().zip(&names) {
        let mode = mode(&call.name, of, declared);
        let takes_procedure = mode == Mode::Handler || (call.name == "LAPI_Address" && *name == "my_addr");
        if let (true, Some(declaration)) = (takes_procedure, procedure) {
            writeln!(out, "      {declaration} :: {name}")?;
            continue;
        }
        let line = match mode {
            Mode::Value => format!("integer({}), intent(in) :: {name}", kind(of)?),
            Mode::Address | Mode::Handler => format!("integer(LAPI_ADDR_TYPE), intent(in) :: {name}"),
            Mode::Text => format!("character(kind=c_char) :: {name}(*)"),
            Mode::Object if *name == "hndl" => format!("integer(c_int), intent(out) :: {name}"),
            // Any type and rank, by reference.
            Mode::Object | Mode::Command => format!(
                "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n      !DIR$ IGNORE_TKR {name}\n      type(*) :: {name}"
            ),
        };
        writeln!(out, "      {line}")?;
    }
    writeln!(out, "      integer(c_int), intent(out) :: ierror\n    end subroutine {name}")?;
    Ok(())
}

fn kind(of: &str) -> Result<&'static str> {
    Ok(match of {
        "int" | "uint" | "lapi_handle_t" | "lapi_query_t" | "RMW_ops_t" | "Rmw_ops_t" => "c_int",
        "ulong" => "LAPI_LONG_TYPE",
        "lapi_long_t" => "LAPI_LONG_LONG_TYPE",
        of => bail!("no kind for an argument of type `{of}`"),
    })
}
