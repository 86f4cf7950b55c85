//! Finds what is installed: Debian's packages and the wheels that `cargo xtask setup --peers`
//! brings.

use super::lapis::{crowd_of, provider};
use super::mpi::{crowds, mpis};
use super::{Absent, Found, How, Party, compile, folder};
use crate::exec::{Line, on_path};
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The peers over shared memory (`shm` and `hps`), or over loopback sockets (`udp` and `rdma`:
/// most of them have no UDP, so TCP as well).
pub(crate) fn peers(transport: &str) -> Found {
    let sockets = matches!(transport, "udp" | "rdma");
    let mut found = (Vec::new(), Vec::new());
    ucx(&mut found, sockets);
    let providers = match transport {
        "rdma" => vec![provider()],
        _ => vec!["udp;ofi_rxd".to_owned(), "tcp;ofi_rxm".to_owned()],
    };
    libfabric(&mut found, sockets.then_some(providers));
    if transport == "udp" {
        let why = "no package brings it built: Debian and PyPI have none, crates.io a source of 2021 alone (gex-sys)".to_owned();
        found.1.push(Absent { name: "gasnet-ex udp".into(), why });
    }
    join(&mut found, mpis(sockets));
    found
}

/// Everybody's program of crowds over shared memory, in jobs of so many tasks: Lapis, and the MPIs
/// found if they are wanted.
pub(crate) fn crowds_of(tasks: usize, with_mpis: bool) -> Found {
    let mut found = match crowd_of(tasks) {
        Ok(party) => (vec![party], Vec::new()),
        Err(absent) => (Vec::new(), vec![absent]),
    };
    if with_mpis {
        join(&mut found, crowds(tasks));
    }
    found
}

fn join(found: &mut Found, more: Found) {
    found.0.extend(more.0);
    found.1.extend(more.1);
}

fn ucx(found: &mut Found, sockets: bool) {
    let transports: &[&str] = if sockets { &["tcp"] } else { &["posix,cma", "sysv"] };
    for (name, home) in [("ucx-1.22", wheel("ucx-1.22", "libucx")), ("ucx", None)] {
        if name == "ucx-1.22" && home.is_none() {
            found.1.push(Absent {
                name: name.into(),
                why: "no wheel libucx-cu12 in target/peers/ucx-1.22".into(),
            });
            continue;
        }
        let name = home.as_ref().map_or_else(|| system_version("ucx", "ucx_info", "-v"), |_| name.to_owned());
        for &layers in transports {
            let layers_and_self = format!("{layers},self");
            let environment = |line: Line| {
                let line = line.var("UCX_TLS", &layers_and_self).var("UCX_WARN_UNUSED_ENV_VARS", "n");
                match &home {
                    Some(home) => {
                        line.var("LD_LIBRARY_PATH", joined(&[home.join("lib"), home.join("lib/ucx")]))
                    }
                    None => line,
                }
            };
            match ucp_program(&name, home.as_deref()) {
                Ok(program) => {
                    let how = How::Program(environment(Line::new([program])));
                    found.0.push(Party { name: name.clone(), transport: layers.into(), how });
                }
                Err(error) => {
                    found.1.push(Absent { name: format!("{name} {layers}"), why: format!("{error:#}") })
                }
            }
            match perftest(home.as_deref()) {
                Some(program) => {
                    let how = How::Perftest(environment(Line::new([program])));
                    found.0.push(Party { name: format!("{name}-perftest"), transport: layers.into(), how });
                }
                None => {
                    let why = "no ucx_perftest (Debian: ucx-utils)".into();
                    found.1.push(Absent { name: format!("{name}-perftest {layers}"), why });
                }
            }
        }
    }
}

/// Debian's libfabric: over providers by a program of ours, for the sake of streams; over shared
/// memory, and without headers, by its own.
fn libfabric(found: &mut Found, providers: Option<Vec<String>>) {
    let name = system_version("libfabric", "fi_info", "--version");
    let program = || {
        let header = Path::new("/usr/include/rdma/fabric.h");
        if !header.is_file() {
            bail!("no header {} (Debian: libfabric-dev)", header.display());
        }
        compile::program("ofi.c", &format!("ofi-{name}"), &["gcc".into()], &["-lfabric".into()])
    };
    let sockets = providers.is_some();
    if let Some(providers) = providers {
        match program() {
            Ok(program) => {
                found.0.extend(providers.into_iter().map(|transport| {
                    let how = How::Program(Line::new([&program]));
                    Party { name: name.clone(), transport, how }
                }));
                return;
            }
            Err(error) => found.1.push(Absent { name: name.clone(), why: format!("{error:#}") }),
        }
    }
    let (transport, provider) = if sockets { ("tcp;rxm", "tcp;ofi_rxm") } else { ("shm", "shm") };
    match on_path("fi_pingpong") {
        Some(program) => {
            let how = How::Pingpong(Line::new([program]).args(["-p", provider]));
            found.0.push(Party { name, transport: transport.into(), how });
        }
        None => found.1.push(Absent { name, why: "no fi_pingpong (Debian: libfabric-bin)".into() }),
    }
}

fn ucp_program(name: &str, home: Option<&Path>) -> Result<PathBuf> {
    let header =
        home.map_or_else(|| PathBuf::from("/usr/include"), |h| h.join("include")).join("ucp/api/ucp.h");
    if !header.is_file() {
        bail!("no header {} (Debian: libucx-dev)", header.display());
    }
    let mut flags: Vec<OsString> = Vec::new();
    if let Some(home) = home {
        flags.extend(["-I".into(), home.join("include").into(), "-L".into(), home.join("lib").into()]);
    }
    flags.extend(["-lucp".into(), "-lucs".into()]);
    compile::program("ucp.c", &format!("ucp-{name}"), &["gcc".into()], &flags)
}

fn perftest(home: Option<&Path>) -> Option<PathBuf> {
    match home {
        Some(home) => Some(home.join("bin/ucx_perftest")).filter(|p| p.is_file()),
        None => on_path("ucx_perftest"),
    }
}

/// A library's name with its version, as its own tool tells it.
fn system_version(library: &str, tool: &str, option: &str) -> String {
    let text = Line::new([tool, option]).output(Duration::from_secs(10)).unwrap_or_default();
    let version = text.split_whitespace().find(|w| w.starts_with(|c: char| c.is_ascii_digit()));
    version.map_or_else(|| format!("{library}-system"), |v| format!("{library}-{v}"))
}

fn joined(folders: &[PathBuf]) -> OsString {
    std::env::join_paths(folders).unwrap_or_default()
}

/// A package's folder inside a wheel's environment, whatever Python's version.
fn wheel(place: &str, package: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir(folder().join(place).join("lib")).ok()?;
    let homes = versions.flatten().map(|v| v.path().join("site-packages").join(package));
    homes.into_iter().find(|p| p.join("lib").is_dir())
}
