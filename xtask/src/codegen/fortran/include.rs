//! `lapif.h`: for programs that include it, in fixed or free form.

use super::layout::{Declaration, Field, FieldType, Model, Type};
use super::text::{comment, statement};

const TOP: &str = "\
! lapif.h: the Fortran interface of LAPI, as the LAPI Programming Guide
! defines it, implemented by Lapis. For fixed and free form.
!
! Written by `cargo xtask codegen` from bindings/lapi/api. Edit that.
!
! What lies in the calling task is passed as itself; what lies in
! another task is passed as its address, an
! INTEGER(KIND=LAPI_ADDR_TYPE).

! Kinds
      INTEGER, PARAMETER :: LAPI_ADDR_TYPE = 8
      INTEGER, PARAMETER :: LAPI_LONG_TYPE = 8
      INTEGER, PARAMETER :: LAPI_LONG_LONG_TYPE = 8

! Stands for no argument at all, and is the null address. It is a
! variable because only its place tells it from a counter that is zero.
! Do not change its value.
      INTEGER(KIND=LAPI_ADDR_TYPE) :: LAPI_ADDR_NULL
      COMMON /LAPI_ADDR_NULL_C/ LAPI_ADDR_NULL
      SAVE /LAPI_ADDR_NULL_C/

! Holds an address.
      TYPE LAPI_ADDR_T
      SEQUENCE
      INTEGER(KIND=LAPI_ADDR_TYPE) :: addr
      END TYPE LAPI_ADDR_T
";

pub(super) fn generate(model: &Model) -> String {
    let mut out = String::from(TOP);
    for part in &model.parts {
        out.push_str("\n!\n");
        comment(&mut out, &part.title);
        comment(&mut out, &format!("(LAPI Guide, {})", part.guide));
        out.push_str("!\n");
        for item in &part.items {
            declare(&mut out, item);
        }
    }
    out
}

fn declare(out: &mut String, item: &Declaration) {
    match item {
        Declaration::Kind { name, bytes, doc, .. } => {
            out.push('\n');
            comment(out, &format!("Kind. {doc}"));
            statement(out, &format!("INTEGER, PARAMETER :: {name} = {bytes}"));
        }
        Declaration::Constant(constant) => {
            comment(out, &constant.doc);
            let kind = constant.kind.map(|kind| format!("(KIND={kind})")).unwrap_or_default();
            statement(out, &format!("INTEGER{kind}, PARAMETER :: {} = {}", constant.name, constant.value));
        }
        Declaration::Type(of) => derived(out, of),
    }
}

fn derived(out: &mut String, of: &Type) {
    out.push('\n');
    comment(out, &of.doc);
    statement(out, &format!("TYPE {}", of.name));
    statement(out, "SEQUENCE");
    for field in &of.fields {
        comment(out, &field.doc);
        statement(out, &component(field));
    }
    statement(out, &format!("END TYPE {}", of.name));
}

pub(super) fn component(field: &Field) -> String {
    let of = match &field.of {
        FieldType::Integer(bytes) => format!("INTEGER(KIND={bytes})"),
        FieldType::Address => "INTEGER(KIND=LAPI_ADDR_TYPE)".to_owned(),
        FieldType::Type(name) => format!("TYPE({name})"),
    };
    let array = field.length.map(|length| format!("({length})")).unwrap_or_default();
    format!("{of} :: {}{array}", field.name)
}
