//! The Fortran interface, by the rules that bindings/lapi/api/README.md states.

mod checks;
mod include;
mod layout;
mod module;
mod own;
mod synopsis;
mod text;
mod thunks;

use super::list::Section;
use anyhow::Result;
pub(super) use own::{symbols as own_symbols, synopsis as own_synopsis};
pub(super) use synopsis::synopsis;
pub(super) use thunks::symbols;

/// The generated files: where, from the workspace's root, and what. Rust is not formatted yet.
pub(super) fn generate(sections: &[Section], own: &[Section]) -> Result<Vec<(&'static str, String)>> {
    let model = layout::Model::new(sections)?;
    let beside = layout::Model::own(sections, own)?;
    Ok(vec![
        ("bindings/fortran/include/lapif.h", include::generate(&model)),
        ("bindings/fortran/include/lapi.f90", module::generate(&model, sections)?),
        ("bindings/lapi/src/fortran/exports.rs", thunks::generate(sections)?),
        ("bindings/fortran/tests/generated/abi.inc", checks::generate(&model)),
        ("bindings/fortran/tests/generated/abi.c", checks::generate_c(&model, "lapi.h")),
        ("bindings/fortran/include/lapis.f90", own::module(&beside, own)?),
        ("bindings/lapi/src/fortran/own_exports.rs", own::thunks(sections, own)?),
        ("bindings/fortran/tests/generated/own_abi.inc", checks::generate(&beside)),
        ("bindings/fortran/tests/generated/own_abi.c", checks::generate_c(&beside, "lapis.h")),
    ])
}

/// The spellings of an external name that Fortran compilers use (LAPI Guide, table 10).
pub(super) fn spellings(name: &str) -> [String; 4] {
    let (lower, upper) = (name.to_lowercase(), name.to_uppercase());
    [lower.clone(), format!("{lower}_"), upper.clone(), format!("{upper}_")]
}

/// How an argument of a call comes from Fortran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// A number.
    Value,
    /// A variable that holds an address.
    Address,
    /// Something of the caller, passed as itself.
    Object,
    /// A procedure, or a variable that holds an address or index.
    Handler,
    /// A character variable.
    Text,
    /// A command of LAPI_Util, in which a DDM function may stand.
    Command,
}

/// What lies in the calling task is passed as itself; what lies in another task is named by its
/// address.
pub(super) fn mode(call: &str, of: &str, name: &str) -> Mode {
    match (call, name) {
        _ if !of.ends_with('*') && !name.ends_with("[]") => Mode::Value,
        (_, "hdr_hdl") => Mode::Handler,
        (_, "buf") => Mode::Text,
        (_, "util_cmd") => Mode::Command,
        (_, "tgt_addr" | "tgt_cntr" | "tgt_vec" | "tgt_var") => Mode::Address,
        ("LAPI_Addr_set", "addr") | ("LAPI_Address_init", "my_addr") => Mode::Address,
        _ => Mode::Object,
    }
}

#[cfg(test)]
mod tests {
    use super::{Mode, mode, spellings};

    #[test]
    fn spellings_are_the_four_of_the_guide() {
        assert_eq!(spellings("PLAPI_Get"), ["plapi_get", "plapi_get_", "PLAPI_GET", "PLAPI_GET_"]);
    }

    #[test]
    fn memory_of_other_tasks_is_named_by_address() {
        assert_eq!(mode("LAPI_Put", "void *", "tgt_addr"), Mode::Address);
        assert_eq!(mode("LAPI_Put", "void *", "org_addr"), Mode::Object);
        assert_eq!(mode("LAPI_Put", "ulong", "len"), Mode::Value);
        assert_eq!(mode("LAPI_Address_init", "void *", "add_tab[]"), Mode::Object);
    }
}
