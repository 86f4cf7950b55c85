//! A plugin that panics in the operation which `ZOO_PANICS`, or else the job's name, says: `open`,
//! `am_short`, `mem_alloc`, `poll`, `close`. Or one that says something by `tracing`, if that word
//! is `speaks`.

use lapis_core::transport::{
    Attributes, Caps, Event, Host, Limits, NoWaiter, OpenParams, PeerId, RegionInfo, Status, Transport,
    TransportError,
};

struct Panics {
    place: String,
}

impl Panics {
    fn at(&self, place: &str) {
        assert!(self.place != place, "the zoo's panic in {place}");
    }
}

impl Transport for Panics {
    const NAME: &'static str = "panics";
    const VERSION: &'static str = "0.0.1";
    const CAPS: Caps = Caps::AM_SHORT.union(Caps::RELIABLE).union(Caps::ALLOCATE);
    type Waiter = NoWaiter;

    fn open(host: Host, params: &OpenParams<'_>) -> Result<(Self, NoWaiter), TransportError> {
        let panics = Self { place: host.option("ZOO_PANICS").unwrap_or_else(|| params.job.to_owned()) };
        panics.at("open");
        if panics.place == "speaks" {
            tracing::warn!(words = 3, "the zoo speaks");
        }
        Ok((panics, NoWaiter))
    }

    fn attributes(&self) -> Attributes {
        let limits = Limits { max_short: 64, max_peers: 1, ..Limits::default() };
        Attributes { caps: Self::CAPS, limits, note: "about to panic".to_owned() }
    }

    fn address(&self) -> Vec<u8> {
        Vec::new()
    }

    fn connect(&mut self, _: PeerId, _: &[u8]) -> Result<(), TransportError> {
        Ok(())
    }

    fn am_short(&mut self, _: PeerId, _: &[u8], _: &[u8]) -> Status {
        self.at("am_short");
        Status::Done
    }

    fn mem_alloc(&mut self, _: usize) -> Result<RegionInfo, TransportError> {
        self.at("mem_alloc");
        Err(TransportError::Exhausted("nothing to give".to_owned()))
    }

    fn poll(&mut self, _: &mut [Event]) -> usize {
        self.at("poll");
        0
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        self.at("close");
    }
}

lapis_core::export_transport!(Panics, "panics", "0.0.1");
