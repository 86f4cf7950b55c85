//! The transport as built without libfabric's headers: it only reports that.

use lapis_core::transport::{
    Attributes, Caps, Declaration, Event, Host, Limits, NoWaiter, OpenParams, PeerId, Transport,
    TransportError,
};

/// A transport that refuses to open.
#[derive(Debug)]
pub struct Rdma;

impl Transport for Rdma {
    const NAME: &'static str = "rdma";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const CAPS: Caps = Caps::RELIABLE;
    const DECLARATION: Declaration = crate::declaration::DECLARATION;
    type Waiter = NoWaiter;

    fn open(_: Host, _: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        Err(TransportError::Io(
            "built without libfabric's headers: apt-get install libfabric-dev libclang-dev, then \
             build Lapis again"
                .to_owned(),
        ))
    }

    fn attributes(&self) -> Attributes {
        Attributes { caps: Caps::RELIABLE, limits: Limits::default(), note: String::new() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Err(TransportError::Unsupported)
    }

    fn poll(&mut self, _: &mut [Event]) -> usize {
        0
    }
}
