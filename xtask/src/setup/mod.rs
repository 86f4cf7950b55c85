//! `cargo xtask setup`: installs what is missing, and says what.

mod packages;
mod wheels;

use crate::sh;
use anyhow::{Result, bail};
use packages::{PACKAGES, Package};
use std::process::Command;

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Also the peers that `bench --peers` measures beside Lapis
    #[arg(long)]
    peers: bool,
    /// Only say what is missing; fail when something is
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let missing: Vec<&Package> =
        PACKAGES.iter().filter(|p| (args.peers || !p.peer) && !p.present()).collect();
    for package in &missing {
        eprintln!("setup: missing: {} (for {}: {})", package.name, package.needed_by, package.reason);
    }
    let wheels_missing = wheels::missing(args.peers);
    for wheel in &wheels_missing {
        eprintln!("setup: missing: {} from PyPI ({})", wheel.requirement, wheel.reason);
    }
    if missing.is_empty() && wheels_missing.is_empty() {
        eprintln!("setup: nothing is missing");
        return Ok(());
    }
    if args.check {
        bail!(
            "{} things are missing; `cargo xtask setup` installs them",
            missing.len() + wheels_missing.len()
        );
    }
    if !missing.is_empty() {
        apt(&missing)?;
    }
    wheels::install(&wheels_missing)
}

/// Installs the packages of the table that `needed_by` names and this machine lacks.
///
/// Commands call it first, so that one command is enough on a fresh machine.
pub(crate) fn ensure(needed_by: &str) -> Result<()> {
    let wanted = |p: &&Package| !p.peer && p.needed_by.split(' ').any(|n| n == needed_by) && !p.present();
    let missing: Vec<&Package> = PACKAGES.iter().filter(wanted).collect();
    for package in &missing {
        eprintln!("{needed_by}: missing: {} ({})", package.name, package.reason);
    }
    if !missing.is_empty() {
        apt(&missing)?;
    }
    // Launchers that no package has.
    wheels::install(&if needed_by == "ci" { wheels::missing(false) } else { Vec::new() })
}

fn apt(packages: &[&Package]) -> Result<()> {
    let names: Vec<&str> = packages.iter().map(|p| p.name).collect();
    if sh::which("apt-get").is_none() {
        bail!("this machine has no apt-get; install by its own means: {}", names.join(" "));
    }
    let Some(prefix) = privilege() else {
        bail!(
            "neither root nor password-less sudo here; have an administrator run: apt-get install {}",
            names.join(" ")
        );
    };
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("env");
        if let Some(sudo) = prefix {
            command = Command::new(sudo);
            command.args(["-n", "env"]);
        }
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]).args(arguments);
        sh::run(&mut command)
    };
    apt(&["update"])?;
    apt(&[&["install", "--no-install-recommends"], names.as_slice()].concat())?;
    let still: Vec<&str> = packages.iter().filter(|p| !p.present()).map(|p| p.name).collect();
    if !still.is_empty() {
        bail!("apt-get succeeded, yet still missing: {}", still.join(" "));
    }
    Ok(())
}

/// How to become root: `Some(None)` when we are, `Some(Some("sudo"))` when sudo lets us without
/// asking.
fn privilege() -> Option<Option<&'static str>> {
    let is_root = sh::output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
    if is_root {
        return Some(None);
    }
    sh::output(Command::new("sudo").args(["-n", "true"])).map(|_| Some("sudo"))
}
