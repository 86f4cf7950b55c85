//! A Lapis transport that accepts datagrams and forgets them: the shortest plugin there is in Rust,
//! and a way to see what the packet engine above it costs.
//!
//! Build it with `cargo build --release`, then:
//! `LAPIS_TRANSPORT_PATH=$PWD/target/release lapis-info` shows it.

use lapis_core::transport::{
    Attributes, Caps, DatagramBatch, Event, Host, Limits, NoWaiter, OpenParams, PeerId, Transport,
    TransportError,
};

/// Counts what it forgets.
pub struct Null {
    host: Host,
    forgotten: u64,
}

impl Transport for Null {
    const NAME: &'static str = "null";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    // The one operation it has. No promise: RELIABLE is not set, so core expects losses.
    const CAPS: Caps = Caps::DATAGRAM;
    type Waiter = NoWaiter;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        host.info(format_args!("task {}: whatever is sent will be forgotten", params.task));
        Ok((Self { host, forgotten: 0 }, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_packed: 65_000, paths: 1, max_peers: u32::MAX, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: "loses everything by design".to_owned() }
    }

    fn address(&self) -> Vec<u8> {
        b"null".to_vec()
    }

    fn connect(&mut self, peer: PeerId, address: &[u8]) -> Result<(), TransportError> {
        if address != b"null" {
            return Err(TransportError::Unreachable(format!("task {peer} doesn't run the null transport")));
        }
        Ok(())
    }

    unsafe fn send_datagrams(&mut self, batches: &[DatagramBatch]) -> usize {
        self.forgotten += batches.len() as u64;
        batches.len()
    }

    fn poll(&mut self, _events: &mut [Event]) -> usize {
        0
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        self.host.debug(format_args!("{} batches were forgotten", self.forgotten));
    }
}

lapis_core::export_transport!(Null, "null", env!("CARGO_PKG_VERSION"));
