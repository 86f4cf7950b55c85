//! Windows of Ethernet interfaces keep the contract, linked and loaded: each task is on a host of
//! its own, which is a network namespace behind a switch.

use lapis_adapters::channel::Address;
use lapis_conformance::Options;
use lapis_nsd::{Handle, Server, eth_adapters};
use lapis_testing::{Space, alive};
use std::sync::OnceLock;

/// Tasks of the suite.
const HOSTS: u32 = 3;
/// Networks between them.
const RAILS: u32 = 2;

/// Removes the names that tests before left: their daemons end with the process, which runs no
/// destructors.
fn clear(folder: &str) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let id = name.strip_prefix("eth-").and_then(|rest| rest.split('-').next()?.parse().ok());
        if id.is_some_and(|id| !alive(id)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Daemons of all hosts. The sockets by which tasks reach them have names in the file system,
/// which all namespaces share.
fn daemons(name: &str) -> Result<Vec<Handle>, String> {
    clear(env!("CARGO_TARGET_TMPDIR"));
    let space = || Space::new().ok_or("this process may not make network namespaces");
    let switch = space()?;
    let hosts: Vec<Space> = (0..HOSTS).map(|_| space()).collect::<Result<_, _>>()?;
    if !switch.switch(&hosts.iter().collect::<Vec<_>>(), RAILS) {
        return Err("this process may not make bridges".to_owned());
    }
    // The bridges go when nothing refers to their namespace any more: not before this process ends.
    std::mem::forget(switch);
    let daemon = |(at, host): (usize, &Space)| {
        let path = format!("{name}-{at}");
        let interfaces: Vec<String> = (0..RAILS).map(|rail| format!("r{rail}")).collect();
        let adapters = eth_adapters(&interfaces, 0, 16)?;
        let address = Address::new(&path);
        let options =
            lapis_nsd::Options { address, adapters, share: Some(16), ..lapis_nsd::Options::default() };
        host.inside(|| Server::open(options).and_then(Server::spawn)).map_err(|e| e.to_string())
    };
    hosts.iter().enumerate().map(daemon).collect()
}

/// What tasks are told; they are threads of this process, or ask their parent's daemons.
fn options() -> Option<Options> {
    static DAEMONS: OnceLock<(Option<Options>, Vec<Handle>)> = OnceLock::new();
    DAEMONS
        .get_or_init(|| {
            let is_task = std::env::var_os("LAPIS_CONFORMANCE_TASK").is_some();
            let parent = std::os::unix::process::parent_id();
            let id = if is_task { parent } else { std::process::id() };
            let name = format!("{}/eth-{id}", env!("CARGO_TARGET_TMPDIR"));
            let handles = if is_task { Ok(Vec::new()) } else { daemons(&name) };
            let handles = match handles {
                Ok(handles) => handles,
                Err(why) if why.contains("may not") || why.contains("AF_XDP") || why.contains("CAP_BPF") => {
                    eprintln!("SKIP: {why}");
                    return (None, Vec::new());
                }
                Err(why) => panic!("{why}"),
            };
            let address: &str = format!("{name}-{{task}}").leak();
            let variables = vec![("LAPIS_NSD", address), ("MP_INSTANCES", "max")];
            (Some(&*variables.leak()), handles)
        })
        .0
}

lapis_conformance::conformance_tests!(
    together: lapis_hps::table(), "liblapis_hps.so", options: crate::options()
);
