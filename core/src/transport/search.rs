//! Where plugins are searched for.

use std::path::{Path, PathBuf};

/// The places searched after explicit paths and linked tables: those of `LAPIS_TRANSPORT_PATH`
/// (`wanted`), then `lapis` and `transports` beside the library or executable that contains core,
/// then `../lib/lapis` seen from the executable. Never the current directory: relative entries are
/// left out. That, and a place that is not there, is said.
pub fn search_dirs(wanted: &[PathBuf]) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    for place in wanted {
        if !place.is_absolute() {
            tracing::warn!(
                target: "lapis::loader",
                "LAPIS_TRANSPORT_PATH: \"{}\" is left out, for it is relative: plugins are never searched for \
                 in the current directory; write the whole path",
                place.display()
            );
            continue;
        }
        if let Err(e) = place.metadata() {
            tracing::warn!(
                target: "lapis::loader",
                "LAPIS_TRANSPORT_PATH: no plugins can come from {}: {e}",
                place.display()
            );
        }
        dirs.push(place.clone());
    }
    let exe = std::env::current_exe().ok();
    let exe_dir = exe.as_deref().and_then(Path::parent);
    for dir in own_object().as_deref().and_then(Path::parent).into_iter().chain(exe_dir) {
        dirs.push(dir.join("lapis"));
        dirs.push(dir.join("transports"));
    }
    if let Some(prefix) = exe_dir.and_then(Path::parent) {
        dirs.push(prefix.join("lib/lapis"));
    }
    let mut seen = Vec::new();
    dirs.retain(|d| {
        let new = !seen.contains(d);
        seen.push(d.clone());
        new
    });
    dirs
}

/// The file that this code was loaded from: liblapi_r.so, or the executable.
fn own_object() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is of code of this object, the place is valid; all zero bytes are a valid
    // `Dl_info`.
    let info = unsafe {
        if libc::dladdr(own_object as *const libc::c_void, info.as_mut_ptr()) == 0 {
            return None;
        }
        info.assume_init()
    };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker gives a NUL-terminated path.
    let path = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_absolute_and_in_order() {
        let dirs = search_dirs(&["/b", "relative", "/a", "/b"].map(PathBuf::from));
        assert_eq!(&dirs[..2], [PathBuf::from("/b"), PathBuf::from("/a")]);
        assert!(dirs.iter().all(|d| d.is_absolute()));
        let last = |dir: &PathBuf| dir.file_name().unwrap().to_owned();
        assert!(dirs[2..].iter().all(|d| last(d) == "lapis" || last(d) == "transports"), "{dirs:?}");
    }
}
