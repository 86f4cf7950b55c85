//! LAPI from Fortran: the subroutines with `ierror` last, in the four spellings that compilers give
//! to external names (LAPI Guide, table 10).
//!
//! * [`exports`]: which subroutine takes which arguments, generated;
//! * `arguments`: how each kind of argument comes from Fortran and goes to C;
//! * `handlers`: what a handler written in Fortran needs besides;
//! * [`own_exports`]: the subroutines of `module lapis`, generated; [`own`]: those by hand.
//!
//! The Fortran subroutines live in `liblapi_r.so` because the guide's Fortran programs link that
//! library and no other.
//!
//! # Profiling
//!
//! `lapi_put_` calls `LAPI_Put` through the symbol, so a profiling library written in C sees the
//! calls of Fortran programs. `plapi_put_` calls `PLAPI_Put`, so one written in Fortran ends there.
//! The library itself never calls either. Calls of `module lapis` have one name each, that of C
//! with an underscore: the module says it to all compilers, and no profiling library may replace
//! it.

pub mod exports;
pub mod own;
pub mod own_exports;

mod arguments;
mod handlers;

/// Defines one subroutine: under its own names it calls what the C name stands for when the program
/// runs, under its profiling names it calls this library. What `module lapis` has (`own`) calls
/// this library.
macro_rules! subroutine {
    (
        $doc:literal
        $lapi:ident [$($spelling:ident)*] $plapi:ident [$($profiling:ident)*]
        $arguments:tt
    ) => {
        $(subroutine! { @define $doc $spelling, interposed $lapi, $arguments })*
        $(subroutine! { @define $doc $profiling, direct $plapi, $arguments })*
    };
    (own $doc:literal $lapis:ident $symbol:ident $arguments:tt) => {
        subroutine! { @define $doc $symbol, direct $lapis, $arguments }
    };
    (@define $doc:literal $symbol:ident, $how:ident $target:ident, ($($name:ident: $mode:ident<$of:ty>),* $(,)?)) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// The arguments are what the Fortran synopsis says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol($($name: $mode<$of>,)* ierror: *mut c_int) {
            let target = subroutine!(@$how $target, ($($mode<$of>),*));
            // SAFETY: the caller's promise, argument by argument.
            unsafe {
                $(let mut $name = $name;)*
                let code = target($($name.enter()),*);
                $($name.leave();)*
                if !ierror.is_null() {
                    *ierror = code;
                }
            }
        }
    };
    (@direct $target:ident, ($($mode:ty),*)) => { c::$target };
    (@interposed $target:ident, ($($mode:ty),*)) => {{
        // Where `LAPI_*` is defined is the dynamic linker's decision. The compiler, which sees this
        // library's definition, would call that one: a volatile read of the linker's choice keeps
        // it from knowing better.
        static TARGET: unsafe extern "C" fn($(<$mode as Argument>::InC),*) -> c_int = c::$target;
        // SAFETY: a static that nobody writes.
        unsafe { (&raw const TARGET).read_volatile() }
    }};
}
pub(crate) use subroutine;
