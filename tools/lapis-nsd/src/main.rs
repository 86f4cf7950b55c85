//! `lapis-nsd`: the network services daemon of a host.

mod signals;

use clap::Parser;
use lapis_adapters::channel::{Address, Channel};
use lapis_nsd::{AdapterSpec, EthMode, Options, Server, Users, YOUTH, eth_adapters, soft_adapters};
use signals::Signals;
use std::process::ExitCode;
use std::time::Duration;

const AFTER: &str = "\
The daemon gives windows of adapters to the tasks of jobs that use MP_EUILIB=us, GM ports or QNIX contexts. Soft adapters are \
memory of this host, and need no rights. Adapters of an Ethernet (--eth) are interfaces, which tasks reach past the kernel's network \
code by AF_XDP; the daemon then needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, and tasks none. It keeps no files, and may be ended \
and started again while jobs run: their tasks show it their windows. `lapis-windows status` shows what it has given to whom.

Without --socket it listens as `lapis-nsd` in the abstract name space of UNIX sockets, where clients look for it; others are \
found by LAPIS_NSD. Clients trust daemons of root and of their own user.

Exit status: 0 ended by SIGTERM or SIGINT, 1 it can't listen, 2 a wrong command line.";

/// Owns the adapters of this host and assigns windows of them to jobs
#[derive(Parser)]
#[command(name = "lapis-nsd", version, after_help = AFTER)]
struct Cli {
    /// Where to listen: a name in the abstract name space, or a path with a slash
    #[arg(long, value_name = "NAME", env = "LAPIS_NSD", default_value = Address::HOST)]
    socket: String,
    /// Number of soft adapters: sn0, sn1, ... [default: 2, or none with --eth]
    #[arg(long, value_name = "N")]
    soft: Option<u32>,
    /// An Ethernet interface to use as an adapter; may be repeated. Its network is the subnet of
    /// its address, or the number after @
    #[arg(long, value_name = "NAME[@NETWORK]")]
    eth: Vec<String>,
    /// Number of windows of each interface
    #[arg(long, value_name = "N", default_value_t = 16)]
    eth_windows: u32,
    /// Microseconds for which a task that polls a window of an interface makes the driver poll,
    /// instead of waiting for interrupts. For interfaces with deferred interrupts
    /// (napi_defer_hard_irqs, gro_flush_timeout); on others each poll costs a system call
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0)]
    eth_busy_poll: u32,
    /// Where the program that steers an interface's frames runs: in its driver (native), in the
    /// kernel's generic code (generic), or whichever is better (auto)
    #[arg(long, value_name = "MODE", value_parser = ["auto", "native", "generic"], default_value = "auto")]
    eth_mode: String,
    /// A user, by number, who may use windows of interfaces, as root and the daemon's user may; may
    /// be repeated. The user's tasks can send arbitrary frames there
    #[arg(long, value_name = "UID")]
    eth_user: Vec<u32>,
    /// Number of networks over which the adapters are distributed
    #[arg(long, value_name = "N", default_value_t = 2)]
    networks: u32,
    /// Number of windows of each adapter
    #[arg(long, value_name = "N", default_value_t = 1024)]
    windows: u32,
    /// A host whose nodes are known before their programs open ports; may be repeated [default:
    /// this host]. With an address, the node of one interface of any host: the daemons of all hosts
    /// need the same nodes in the same order
    #[arg(long = "node", value_name = "NAME[@ADDRESS]")]
    nodes: Vec<String>,
    /// Maximum number of windows of an adapter for one user [default: half of the adapter's]
    #[arg(long, value_name = "N")]
    share: Option<u32>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let adapters = match adapters(&cli) {
        Ok(adapters) => adapters,
        Err(e) => {
            eprintln!("lapis-nsd: {e}");
            return ExitCode::from(2);
        }
    };
    raise_limit();
    // Before there are other threads.
    let signals = Signals::block();
    let address = Address::new(&cli.socket);
    let (share, users) = (cli.share, Users(cli.eth_user));
    let options =
        Options { address: address.clone(), adapters, share, users, youth: YOUTH, ..Options::default() };
    let mut server = match Server::open(options) {
        Ok(server) => server,
        Err(e) => {
            eprintln!("lapis-nsd: can't serve at `{address}`: {e}{}", hint(&e, &address));
            return ExitCode::FAILURE;
        }
    };
    let nodes = if cli.nodes.is_empty() { vec![host_name()] } else { cli.nodes };
    if let Err(e) = server.add_nodes(&nodes) {
        eprintln!("lapis-nsd: --node: {e}");
        return ExitCode::from(2);
    }
    for trouble in server.troubles() {
        eprintln!("lapis-nsd: {trouble}");
    }
    println!("lapis-nsd: listening at `{address}`");
    let run = |signals: Signals| signals.ring(server.stop()).and_then(|()| server.run());
    match signals.and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("lapis-nsd: the daemon ends: {e}");
            ExitCode::FAILURE
        }
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn adapters(cli: &Cli) -> Result<Vec<AdapterSpec>, String> {
    let soft = cli.soft.unwrap_or(if cli.eth.is_empty() { 2 } else { 0 });
    let mut adapters = match soft {
        0 if !cli.eth.is_empty() => Vec::new(),
        _ => soft_adapters(soft, cli.networks.min(soft), cli.windows)?,
    };
    let mut interfaces = eth_adapters(&cli.eth, soft, cli.eth_windows)?;
    let mode = match &*cli.eth_mode {
        "native" => EthMode::Native,
        "generic" => EthMode::Generic,
        _ => EthMode::Auto,
    };
    interfaces.iter_mut().for_each(|adapter| (adapter.busy_poll, adapter.mode) = (cli.eth_busy_poll, mode));
    adapters.extend(interfaces);
    Ok(adapters)
}

/// Who has the address, if that is why.
fn hint(e: &std::io::Error, address: &Address) -> String {
    if e.kind() != std::io::ErrorKind::AddrInUse {
        return String::new();
    }
    let own = rustix::process::geteuid().as_raw();
    match Channel::connect(address, Duration::from_secs(1)).and_then(|there| there.peer()) {
        Ok((user, _)) if user == 0 || user == own => {
            " (a daemon is there already; `lapis-windows status` asks it, --socket names another place)"
                .to_owned()
        }
        Ok((user, _)) => format!(
            " (user {user} listens there, whom no client trusts, since he is neither root nor user {own}: --socket PATH \
             in a directory of this user's, as /run/lapis/nsd, keeps others out)"
        ),
        Err(e) => format!(" (who has it does not answer: {e}; --socket names another place)"),
    }
}

/// Each window costs two descriptors, each client two.
fn raise_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    /// The unit's restrictions leave the daemon its families of sockets.
    #[test]
    fn the_unit_allows_the_sockets_that_the_daemon_makes() {
        let unit = include_str!("../lapis-nsd.service");
        let allowed = unit.lines().find_map(|line| line.strip_prefix("RestrictAddressFamilies="));
        let allowed: Vec<_> = allowed.expect("it restricts them").split(' ').collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/eth");
        let files = std::fs::read_dir(folder).expect("the source").map(|file| file.expect("a file").path());
        let sources: String = files.map(|file| std::fs::read_to_string(file).expect("text")).collect();
        let used = sources.split("AddressFamily::").skip(1);
        let used: Vec<_> = used.map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next()).collect();
        assert!(used.contains(&Some("NETLINK")) && used.contains(&Some("PACKET")), "{used:?}");
        // Beside those: the daemon's own socket, and UDP to the daemons of other hosts.
        for family in used.into_iter().flatten().chain(["UNIX", "INET", "INET6"]) {
            assert!(allowed.contains(&&*format!("AF_{family}")), "{family}");
        }
    }

    #[test]
    fn manual() {
        lapis_testing::manual(Cli::command());
    }
}
