//! What `bootstrap/foreign/pmix.rs` takes for granted of PMIx, held against the header that is
//! installed, and those of `LAPIS_TEST_PMIX`: folders with other versions, separated by colons.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const CLAIMS: &str = r#"
#include <pmix.h>
#include <stddef.h>
#define SAME(function, type) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(function), type), #function)
_Static_assert(offsetof(pmix_proc_t, nspace) == 0 && offsetof(pmix_proc_t, rank) == 256, "proc");
_Static_assert(sizeof(pmix_proc_t) == 260 && sizeof(pmix_rank_t) == 4, "proc");
_Static_assert(offsetof(pmix_value_t, type) == 0 && sizeof(pmix_data_type_t) == 2, "kind");
_Static_assert(offsetof(pmix_value_t, data.string) == 8 && offsetof(pmix_value_t, data.uint32) == 8, "content");
_Static_assert(sizeof(pmix_value_t) <= 8 + 8 + 16 * 8, "room");
_Static_assert(PMIX_SUCCESS == 0 && PMIX_STRING == 3 && PMIX_UINT32 == 14 && PMIX_GLOBAL == 3, "numbers");
_Static_assert((PMIX_RANK_WILDCARD) == 0xfffffffe && sizeof(pmix_scope_t) == 1, "numbers");
_Static_assert(sizeof(PMIX_JOB_SIZE) == sizeof("pmix.job.size"), "key");
SAME(PMIx_Init, pmix_status_t(pmix_proc_t *, pmix_info_t *, size_t));
SAME(PMIx_Finalize, pmix_status_t(const pmix_info_t *, size_t));
SAME(PMIx_Put, pmix_status_t(pmix_scope_t, const char *, pmix_value_t *));
SAME(PMIx_Commit, pmix_status_t(void));
SAME(PMIx_Fence_nb, pmix_status_t(const pmix_proc_t *, size_t, const pmix_info_t *, size_t, pmix_op_cbfunc_t, void *));
SAME(PMIx_Get, pmix_status_t(const pmix_proc_t *, const char *, const pmix_info_t *, size_t, pmix_value_t **));
SAME(PMIx_Abort, pmix_status_t(int, const char *, pmix_proc_t *, size_t));
SAME(PMIx_Error_string, const char *(pmix_status_t));
SAME((*(pmix_op_cbfunc_t)0), void(pmix_status_t, void *));
"#;

/// Options of the compiler for the header; `None` if it is not there.
fn flags() -> Option<Vec<String>> {
    let told = Command::new("pkg-config").args(["--cflags", "pmix"]).output().ok();
    if let Some(told) = told.filter(|told| told.status.success()) {
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        return Some(text.split_whitespace().map(str::to_owned).collect());
    }
    let machine = Command::new("cc").arg("-dumpmachine").output().ok()?;
    let machine = String::from_utf8_lossy(&machine.stdout).trim().replace("-pc-", "-");
    let folder = format!("/usr/lib/{machine}/pmix2/include");
    Path::new(&folder).join("pmix.h").is_file().then(|| vec![format!("-I{folder}")])
}

#[test]
fn the_header_says_what_is_taken_for_granted() {
    let named = std::env::var_os("LAPIS_TEST_PMIX").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty());
    let mut all: Vec<_> = named.map(|folder| vec![format!("-I{}/include", folder.display())]).collect();
    all.extend(flags());
    if all.is_empty() {
        eprintln!("SKIP: PMIx's header is not installed (cargo xtask setup)");
    }
    for flags in all {
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-fsyntax-only", "-x", "c", "-"]).args(&flags).stdin(Stdio::piped());
        let mut cc = cc.spawn().expect("a C compiler");
        cc.stdin.take().expect("piped").write_all(CLAIMS.as_bytes()).expect("the compiler reads");
        assert!(cc.wait().expect("the compiler ends").success(), "{flags:?}");
    }
}
