//! Windows keep the contract as far as it concerns datagram transports, linked and loaded.

use lapis_adapters::channel::Address;
use lapis_conformance::Options;
use lapis_nsd::{Handle, Server, soft_adapters};
use std::sync::OnceLock;

/// A daemon for this process and for those that it starts, which ask their parent's.
fn daemon() -> Options {
    static DAEMON: OnceLock<(Options, Option<Handle>)> = OnceLock::new();
    DAEMON
        .get_or_init(|| {
            let is_task = std::env::var_os("LAPIS_CONFORMANCE_TASK").is_some();
            let parent = std::os::unix::process::parent_id();
            let name = format!("lapis-conformance-{}", if is_task { parent } else { std::process::id() });
            let handle = (!is_task).then(|| {
                let adapters = soft_adapters(2, 2, 4096).expect("possible");
                let options = lapis_nsd::Options {
                    address: Address::new(&name),
                    adapters,
                    share: Some(4096),
                    ..lapis_nsd::Options::default()
                };
                Server::open(options).and_then(Server::spawn).expect("a daemon")
            });
            let variables = vec![("LAPIS_NSD", &*name.leak()), ("MP_INSTANCES", "2")];
            (&*variables.leak(), handle)
        })
        .0
}

lapis_conformance::conformance_tests!(
    together: lapis_hps::table(), "liblapis_hps.so", options: crate::daemon()
);

mod faults {
    use lapis_conformance::{Mode, Source, run_configured};

    #[test]
    fn datagrams_arrive_whole_through_faults() {
        let faults = "drop=0.2,dup=0.2,reorder=0.2,corrupt=0.1,cut=5ms,delay=200us,mtu=1400,seed=3";
        let source = Source::Chaotic(lapis_hps::table, faults);
        run_configured("datagrams_arrive_whole", Mode::Threads, source, crate::daemon(), module_path!());
    }
}
