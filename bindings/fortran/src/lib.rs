//! The Fortran interface of LAPI: the include file and the module; and `module lapis`, which has
//! what `lapis.h` offers beside.
//!
//! All are generated from `bindings/lapi/api` by `cargo xtask codegen`. The subroutines behind
//! them are exported by `liblapi_r.so` (`bindings/lapi/src/fortran`): that is the library that the
//! guide's Fortran programs link. This package holds what compilers read, and their tests.

/// `lapif.h`, for programs in fixed and free form that include it.
pub const LAPIF_H: &str = include_str!("../include/lapif.h");

/// `module lapi`, for Fortran 2008 and later.
pub const LAPI_F90: &str = include_str!("../include/lapi.f90");

/// `module lapis`, for Fortran 2018, which uses `module lapi`.
pub const LAPIS_F90: &str = include_str!("../include/lapis.f90");

#[cfg(test)]
mod tests {
    #[test]
    fn both_forms_can_read_the_include_file() {
        for line in super::LAPIF_H.lines().filter(|line| !line.is_empty() && !line.starts_with('!')) {
            assert!(line.starts_with("      ") || line.starts_with("     &"), "label field: {line}");
            let (read, beyond) = line.split_at(line.len().min(72));
            assert!(matches!(beyond, "" | "&"), "beyond column 72: {line}");
            assert!(read.is_ascii() && !read[6..].contains('!'), "comment or tab: {line}");
        }
    }
}
