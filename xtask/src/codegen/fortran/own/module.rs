//! `lapis.f90`: the module, with explicit interfaces.

use super::{Argument, argument, kind, makes_request, symbol};
use crate::codegen::fortran::layout::{Declaration, Model};
use crate::codegen::fortran::module::{comment, declare, one_line};
use crate::codegen::list::{self, Handler, Item, Section};
use anyhow::{Result, bail};
use std::fmt::Write;

/// Longest line of a statement, without the mark that it goes on.
const COLUMNS: usize = 125;

const TOP: &str = "\
! module lapis: what Lapis offers Fortran programs beside LAPI (teams, collectives, memory that tasks reach directly), for
! Fortran 2018. It has the calls of lapis.h as subroutines with ierror last, and all of module lapi. Programs that use it run
! with Lapis alone. The manual has a page for each call.
!
! Written by `cargo xtask codegen` from bindings/lapi/api/lapis. Edit that.
!
! Tasks, ranks and starts are counted from 0. Buffers are variables of any type and rank, passed as themselves: no elements
! lie between those that are counted. Sections with gaps are for blocking calls only, for which compilers copy them. A
! nonblocking or persistent operation uses its buffers until it has ended: give them the asynchronous attribute, and the
! target attribute if their scope ends before.
!
! No code comes from this file: compile it after lapi.f90 for its .mod file, and link liblapi_r.
module lapis
  use lapi
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int32_t, c_int64_t, c_intptr_t, c_ptr
  implicit none
  private :: c_char, c_int, c_int32_t, c_int64_t, c_intptr_t, c_ptr

  ! As input, or at the root of a scatter as output: the data is where the other buffer has it. LAPI_ADDR_NULL stands for no
  ! buffer at all.
  integer(c_intptr_t), bind(C, name=\"lapis_in_place_\"), protected :: LAPIS_IN_PLACE
";

/// What is declared besides: the macro of C, and the handler's type that `lapi.h` has.
const BY_HAND: &str = "
  ! Runs when an operation has ended (lapis_request_then).
  abstract interface
    subroutine LAPIS_DONE_T(hndl, arg) bind(C)
      import
      integer(c_int), intent(in) :: hndl
      type(c_ptr), value :: arg
    end subroutine LAPIS_DONE_T
  end interface

  ! The type of opaque elements of 1 to 2**30 - 1 bytes, to be moved or for operators of the program.
  interface
    pure function LAPIS_BYTES(size) bind(C, name=\"lapis_bytes_\") result(type)
      import
      integer(c_int), intent(in) :: size
      integer(LAPIS_TYPE_T) :: type
    end function LAPIS_BYTES
  end interface
";

pub(in super::super) fn generate(model: &Model, own: &[Section]) -> Result<String> {
    let mut out = String::from(TOP);
    for part in &model.parts {
        write!(out, "\n  !\n  ! {}\n  !\n", part.title)?;
        for item in &part.items {
            match item {
                // A handler is an interface, not a kind.
                Declaration::Kind { in_c: None, .. } => {}
                Declaration::Kind { name, doc, .. } => {
                    out.push('\n');
                    comment(&mut out, &format!("Kind. {doc}"))?;
                    writeln!(out, "  integer, parameter :: {name} = c_int")?;
                }
                other => declare(&mut out, other)?,
            }
        }
    }
    for item in own.iter().flat_map(|section| &section.items) {
        if let Item::Handler(handler) = item {
            abstract_interface(&mut out, handler)?;
        }
    }
    out.push_str(BY_HAND);
    for section in own.iter().filter(|section| !section.module.is_empty()) {
        write!(out, "\n  !\n  ! {}\n  !\n", section.title)?;
        for call in list::calls(std::slice::from_ref(section)) {
            out.push('\n');
            comment(&mut out, &call.doc)?;
            out.push_str("  interface\n");
            for (name, params) in list::forms(call) {
                body(&mut out, &name, &params)?;
            }
            out.push_str("  end interface\n");
        }
    }
    out.push_str("end module lapis\n");
    Ok(out)
}

/// The interface of a function of the program's, which C calls.
fn abstract_interface(out: &mut String, handler: &Handler) -> Result<()> {
    out.push('\n');
    comment(out, &one_line(&handler.doc))?;
    let name = handler.name.to_uppercase();
    let names: Vec<_> = handler.params.iter().map(|(_, name)| name.as_str()).collect();
    write!(out, "  abstract interface\n    subroutine {name}({}) bind(C)\n      import\n", names.join(", "))?;
    for (of, name) in &handler.params {
        match of.as_str() {
            "const void *" | "void *" => writeln!(out, "      type(c_ptr), value :: {name}")?,
            of if of.ends_with('*') => bail!("no rule for `{of} {name}` of {}", handler.name),
            of => writeln!(out, "      integer({}), value :: {name}", kind(of)?)?,
        }
    }
    writeln!(out, "    end subroutine {name}\n  end interface")?;
    Ok(())
}

fn body(out: &mut String, name: &str, params: &[(String, String)]) -> Result<()> {
    let names: Vec<_> = params.iter().map(|(_, name)| name.as_str()).chain(["ierror"]).collect();
    let mut line = format!("    subroutine {name}(");
    for (at, argument) in names.iter().enumerate() {
        let end = if at + 1 == names.len() { ")" } else { ", " };
        extend(out, &mut line, &format!("{argument}{end}"))?;
    }
    extend(out, &mut line, &format!(" bind(C, name=\"{}\")", symbol(name)))?;
    write!(out, "{line}\n      import\n")?;
    for (of, parameter) in params {
        let declared = declaration(name, of, parameter)?;
        writeln!(out, "      {declared} :: {parameter}")?;
    }
    writeln!(out, "      integer(c_int), intent(out) :: ierror\n    end subroutine {name}")?;
    Ok(())
}

/// Goes on with a statement, on the next line if this one is full.
fn extend(out: &mut String, line: &mut String, more: &str) -> std::fmt::Result {
    if line.len() + more.len() > COLUMNS {
        writeln!(out, "{} &", line.trim_end())?;
        *line = "      ".into();
    }
    line.push_str(if line.trim().is_empty() { more.trim_start() } else { more });
    Ok(())
}

fn declaration(call: &str, of: &str, name: &str) -> Result<String> {
    // Any type and rank, by reference.
    let choice = |attributes: &str| {
        format!(
            "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {name}\n      !DIR$ IGNORE_TKR {name}\n      type(*){attributes}"
        )
    };
    let kept = makes_request(call) || call == "lapis_register";
    let integer =
        |of: &str, attributes: &str| Ok::<_, anyhow::Error>(format!("integer({}){attributes}", kind(of)?));
    Ok(match argument(call, of, name)? {
        Argument::Value(of) => integer(of, ", intent(in)")?,
        Argument::Out(of) => integer(of, ", intent(out)")?,
        Argument::InOut(of) => integer(of, ", intent(inout)")?,
        Argument::List("lapis_edge_t") => "type(LAPIS_EDGE_T), dimension(*), intent(in)".into(),
        Argument::List(of) => integer(of, ", dimension(*), intent(in)")?,
        Argument::InOutList(of) => integer(of, ", dimension(*), intent(inout)")?,
        Argument::Input if kept => choice(", intent(in), asynchronous"),
        Argument::Input => choice(", intent(in)"),
        Argument::Output if kept => choice(", asynchronous"),
        Argument::Output => choice(""),
        Argument::Anything => choice(", asynchronous"),
        Argument::GivenPointer => "type(c_ptr), intent(out)".into(),
        Argument::Pointer => "type(c_ptr), intent(in)".into(),
        Argument::Counter => "type(LAPI_CNTR_T), asynchronous".into(),
        Argument::Procedure(interface) => format!("procedure({interface})"),
        Argument::Text => "character(kind=c_char), dimension(*), intent(out)".into(),
    })
}
