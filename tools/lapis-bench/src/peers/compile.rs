//! Compiles our C programs against the peers' headers, when there are any.

use super::folder;
use crate::exec::Line;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The sources travel inside the program: it can be run from anywhere.
const SOURCES: [(&str, &str); 13] = [
    ("measure.h", include_str!("../../peers/measure.h")),
    ("crowd.h", include_str!("../../peers/crowd.h")),
    ("crowd.c", include_str!("../../peers/crowd.c")),
    ("crowd_mpi.c", include_str!("../../peers/crowd_mpi.c")),
    ("lapi.c", include_str!("../../peers/lapi.c")),
    ("acp.c", include_str!("../../peers/acp.c")),
    ("qnix.c", include_str!("../../peers/qnix.c")),
    ("gm.c", include_str!("../../peers/gm.c")),
    ("mpi.c", include_str!("../../peers/mpi.c")),
    ("shmem.c", include_str!("../../peers/shmem.c")),
    ("ofi.c", include_str!("../../peers/ofi.c")),
    ("ucp.c", include_str!("../../peers/ucp.c")),
    ("mpi_pack.c", include_str!("../../../lapis-dgsp/peers/mpi_pack.c")),
];

/// Compiles `source` with a compiler (and its flags) into a program of this name; returns its path.
pub(super) fn program(
    source: &str,
    name: &str,
    compiler: &[OsString],
    flags: &[OsString],
) -> Result<PathBuf> {
    let folder = folder().join("programs");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (file, text) in SOURCES {
        write_if_changed(&folder.join(file), text)?;
    }
    let (from, to) = (folder.join(source), folder.join(name));
    if ["measure.h", "crowd.h"].iter().all(|header| newer(&to, &folder.join(header))) && newer(&to, &from) {
        return Ok(to);
    }
    let line = Line::new(compiler).args(["-std=gnu11", "-O2", "-w"]).args([&from]).args(flags);
    line.args([OsString::from("-o"), to.clone().into()]).output(Duration::from_secs(60))?;
    Ok(to)
}

fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn newer(a: &Path, b: &Path) -> bool {
    let time = |p: &Path| p.metadata().and_then(|m| m.modified()).ok();
    matches!((time(a), time(b)), (Some(a), Some(b)) if a >= b)
}
