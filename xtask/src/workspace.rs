//! Where the workspace is, and what is built of it.

use std::path::{Path, PathBuf};

/// The repository's root.
pub(crate) fn root() -> &'static Path {
    // xtask is run through cargo from any folder, so the manifest's place is the only steady mark.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one folder below the root")
}

/// Cargo's target folder: the environment's, else the workspace's.
pub(crate) fn target_dir() -> PathBuf {
    let dir = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    if dir.is_absolute() { dir } else { root().join(dir) }
}
