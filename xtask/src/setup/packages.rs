//! The one table of Debian packages that the commands need, and why.

use crate::sh;

/// One Debian package.
pub(crate) struct Package {
    /// Its name in the registry.
    pub(crate) name: &'static str,
    /// The command or file whose presence makes the package superfluous.
    mark: Mark,
    /// Which `cargo xtask` commands need it.
    pub(crate) needed_by: &'static str,
    /// What for.
    pub(crate) reason: &'static str,
    /// Only with `--peers`.
    pub(crate) peer: bool,
}

enum Mark {
    Program(&'static str),
    /// Asks dpkg: for packages that bring headers or libraries, whose place depends on the
    /// architecture, or programs that are not on everybody's path.
    Dpkg,
}

const fn tool(
    name: &'static str,
    program: &'static str,
    needed_by: &'static str,
    reason: &'static str,
) -> Package {
    Package { name, mark: Mark::Program(program), needed_by, reason, peer: false }
}

const fn library(name: &'static str, needed_by: &'static str, reason: &'static str) -> Package {
    Package { name, mark: Mark::Dpkg, needed_by, reason, peer: false }
}

const fn peer(name: &'static str, reason: &'static str) -> Package {
    Package { name, mark: Mark::Dpkg, needed_by: "bench --peers", reason, peer: true }
}

/// All of them.
pub(crate) const PACKAGES: &[Package] = &[
    tool("gcc", "gcc", "demo test bench install", "compiles C programs against lapi.h, and links Rust ones"),
    tool("g++", "g++", "test fuzz", "checks that lapi.h compiles as C++; compiles libFuzzer"),
    library("libc6-dev", "demo test bench install", "the C library's headers"),
    tool("binutils", "readelf", "test install", "reads sonames and exported symbols"),
    tool("make", "make", "test", "builds the example plugin written in C by its Makefile"),
    tool("pkg-config", "pkg-config", "test bench", "checks lapi.pc, finds the peers' headers"),
    tool("cmake", "cmake", "test", "checks that CMake finds an installed tree"),
    tool(
        "gfortran",
        "gfortran",
        "test",
        "compiles the Fortran examples against lapif.h and the module of an installed tree",
    ),
    library("libfabric-dev", "test install", "libfabric and its headers, for the rdma transport"),
    library("libclang-dev", "test install", "reads libfabric's headers when the rdma transport is built"),
    tool("iproute2", "ip", "test", "makes network namespaces with delay and loss for the udp tests"),
    tool("nftables", "nft", "test", "cuts paths for the udp failover tests"),
    tool("valgrind", "valgrind", "ci", "counts the instructions of each operation"),
    // Not for `test`: the package leaves a server running, which nobody asks for on a machine to
    // work at.
    Package {
        name: "openssh-server",
        mark: Mark::Dpkg,
        needed_by: "ci",
        reason: "lets the launcher's tests go through ssh, which they skip without it",
        peer: false,
    },
    // The launchers of others that the tests start jobs with. Not for `test` either: they bring
    // daemons and other people's compilers.
    library("mpich", "ci", "hydra's mpiexec: jobs by PMI-1"),
    library("openmpi-bin", "ci", "Open MPI's mpirun: jobs by PMIx"),
    library("libmpich-dev", "ci", "MPICH's header: programs that use MPI beside LAPI"),
    library("libopenmpi-dev", "ci", "Open MPI's header: programs that use MPI beside LAPI"),
    library("libpmix-dev", "ci", "PMIx's header, against which its layouts are checked"),
    library("slurm-wlm", "ci", "srun: jobs by PMI-2 and PMIx on a cluster of two nodes"),
    library("munge", "ci", "authenticates that cluster's daemons"),
    tool(
        "python3-venv",
        "python3",
        "ci bench --peers",
        "holds launchers and peers that come as Python wheels",
    ),
    peer("ucx-utils", "ucx_perftest"),
    peer("libucx-dev", "headers of UCX for our own measuring programs"),
    peer("libfabric-bin", "fi_info, fi_pingpong"),
    peer("openmpi-bin", "mpirun.openmpi"),
    peer("libopenmpi-dev", "mpicc.openmpi"),
    peer("mpich", "mpirun.mpich"),
    peer("libmpich-dev", "mpicc.mpich"),
];

impl Package {
    /// Whether the machine has what the package would bring.
    pub(crate) fn present(&self) -> bool {
        match self.mark {
            // venv is a module of Python that Debian packages apart from python3 itself.
            Mark::Program("python3") => {
                sh::output(std::process::Command::new("python3").args(["-c", "import ensurepip, venv"]))
                    .is_some()
            }
            Mark::Program(program) => sh::which(program).is_some(),
            Mark::Dpkg => {
                let query = ["-W", "-f=${db:Status-Status}", self.name];
                sh::output(std::process::Command::new("dpkg-query").args(query)).as_deref()
                    == Some("installed")
            }
        }
    }
}
