//! Any bytes as calls of a GM program with two ports, and as units of a peer that keeps no rules:
//! nothing panics, and no memory but the program's is touched.
#![no_main]

use lapis_adapters::channel::Address;
use lapis_nsd::{Handle, Options, Server, soft_adapters};
use std::sync::OnceLock;

/// A daemon of this process's own, and where it listens.
fn daemon() -> &'static str {
    static DAEMON: OnceLock<(String, Handle)> = OnceLock::new();
    let start = || {
        let name = format!("lapis-fuzz-gm-{}", std::process::id());
        let adapters = soft_adapters(1, 1, 16).expect("possible");
        let options = Options { address: Address::new(&name), adapters, share: Some(16), ..Options::default() };
        let server = Server::open(options).expect("nobody listens there");
        (name, server.spawn().expect("a thread"))
    };
    &DAEMON.get_or_init(start).0
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| gm::fuzz_entry::calls(daemon(), data));
