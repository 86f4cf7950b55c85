//! Any lines from two clients for the daemon of windows: nothing panics, and no window is left when
//! both have gone.
#![no_main]

use lapis_adapters::fifo::Geometry;
use lapis_adapters::protocol::VERSION;
use lapis_nsd::{AdapterSpec, Caller, Conversation, EthMode, Tables};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let geometry = Geometry { slots: 16, chunks: 16, chunk: 1024, lanes: 0 };
    let adapter = |name: &str| AdapterSpec {
        name: name.to_owned(),
        network: 0,
        windows: 4,
        geometry,
        interface: None,
        busy_poll: 0,
        mode: EthMode::Auto,
    };
    let mut tables = Tables::new(vec![adapter("a"), adapter("b")], Some(3)).expect("memory");
    let caller = |client| Caller { client, user: client as u32, process: 1, administrator: client == 1 };
    let mut talks = [1, 2].map(|client| Conversation::new(caller(client)));
    for talk in &mut talks {
        let hello = format!(r#"{{"hello":{{"version":{VERSION}}}}}"#);
        let welcome = talk.answer(&mut tables, 7, hello.as_bytes(), Vec::new());
        assert!(welcome.bytes.starts_with(br#"{"welcome""#), "what follows is looked at");
    }
    for (at, line) in data.split(|byte| *byte == b'\n').enumerate().take(64) {
        let answer = talks[at % 2].answer(&mut tables, 7, line, Vec::new());
        assert!(!answer.bytes.is_empty());
    }
    for client in [1, 2] {
        tables.gone(client, None);
    }
    // What is left was reserved by hand.
    assert!(tables.taken() <= 8);
});
