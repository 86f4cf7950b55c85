//! What the environment says about UDP.

use lapis_core::config::{InetAddrs, Instances};
use lapis_core::transport::{Host, TransportError};
use std::net::SocketAddr;

/// Most rails between two tasks: what the packet engine can tell apart.
pub(crate) const MAX_RAILS: usize = 8;

/// Smallest datagram that a user can ask for: the longest user header in its packet fits, and so does IPv6's smallest MTU.
pub(crate) const MIN_DATAGRAM: usize = 1232;

/// Smallest datagram that a rail must carry, as the packet engine wants it.
pub(crate) const NARROWEST: usize = lapis_core::reliable::wire::MIN_DATAGRAM;

/// Largest datagram of UDP over IPv4.
pub(crate) const MAX_DATAGRAM: usize = 65_507;

/// What the engine puts around a packet of the size that users ask for.
const ENVELOPE: usize = 64;

/// Socket buffer that is asked for, in bytes.
pub(crate) const BUFFER: usize = 4 << 20;

/// The values that count for UDP.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    /// `MP_LAPI_INET_ADDR`: exactly these interfaces.
    pub(crate) addresses: Option<InetAddrs>,
    /// `MP_EUIDEVICE`: only this interface.
    pub(crate) device: Option<String>,
    /// `MP_INSTANCES`: how many rails.
    pub(crate) rails: usize,
    /// `MP_UDP_PACKET_SIZE` and the envelope: the largest datagram, if the user set it.
    pub(crate) datagram: Option<usize>,
    /// `LAPIS_UDP_BIND`: exactly these sockets.
    pub(crate) bind: Vec<SocketAddr>,
    /// `LAPIS_BUSY_POLL_US`.
    pub(crate) busy_poll: Option<u32>,
}

impl Options {
    pub(crate) fn of(host: &Host) -> Result<Self, TransportError> {
        Self::read(|name| host.option(name).filter(|value| !value.is_empty()))
    }

    fn read(option: impl Fn(&str) -> Option<String>) -> Result<Self, TransportError> {
        fn parse<T: std::str::FromStr>(
            name: &str,
            value: Option<String>,
            expected: &str,
        ) -> Result<Option<T>, TransportError> {
            let Some(value) = value else { return Ok(None) };
            let wrong = |_| TransportError::Invalid(format!("{name}={value}: expected {expected}"));
            value.trim().parse().map(Some).map_err(wrong)
        }
        let addresses: Option<InetAddrs> = parse(
            "MP_LAPI_INET_ADDR",
            option("MP_LAPI_INET_ADDR"),
            "@count:address,interface:address,interface...",
        )?;
        let instances: Option<Instances> =
            parse("MP_INSTANCES", option("MP_INSTANCES"), "a number from 1, or max")?;
        let packet: Option<Bytes> =
            parse("MP_UDP_PACKET_SIZE", option("MP_UDP_PACKET_SIZE"), "bytes from 1024 to 65536")?;
        let packet = packet.map(|Bytes(size)| size);
        if let Some(size) = packet.filter(|size| !(1024..=65536).contains(size)) {
            return Err(TransportError::Invalid(format!(
                "MP_UDP_PACKET_SIZE={size}: expected bytes from 1024 to 65536"
            )));
        }
        let bind: Vec<SocketAddr> = match option("LAPIS_UDP_BIND") {
            Some(list) => list
                .split(',')
                .map(|one| parse("LAPIS_UDP_BIND", Some(one.to_owned()), "address:port,address:port..."))
                .collect::<Result<Option<_>, _>>()?
                .unwrap_or_default(),
            None => Vec::new(),
        };
        let rails = match (&addresses, instances) {
            _ if !bind.is_empty() => bind.len(),
            (Some(list), _) => list.0.len(),
            // As many as there are networks.
            (None, _) if option("MP_EUIDEVICE").is_some_and(|name| name == "sn_all") => MAX_RAILS,
            (None, Some(Instances::Count(count))) => count as usize,
            (None, Some(Instances::Max)) => MAX_RAILS,
            (None, None) => 1,
        };
        let device = option("MP_EUIDEVICE").filter(|name| !matches!(&**name, "sn_all" | "sn_single"));
        Ok(Self {
            addresses,
            bind,
            device,
            rails: rails.clamp(1, MAX_RAILS),
            datagram: packet.map(|size| (size + ENVELOPE).clamp(MIN_DATAGRAM, MAX_DATAGRAM)),
            busy_poll: parse("LAPIS_BUSY_POLL_US", option("LAPIS_BUSY_POLL_US"), "microseconds")?,
        })
    }
}

/// A number of bytes, perhaps of kilobytes, as core's configuration takes it, too.
struct Bytes(usize);

impl std::str::FromStr for Bytes {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_suffix(['k', 'K']) {
            Some(kilobytes) => kilobytes.trim().parse().map(|n: usize| Self(n.saturating_mul(1024))),
            None => text.parse().map(Self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Options, TransportError> {
        Options::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn the_environment_is_read_and_checked() {
        let options = of(&[]).expect("nothing is fine");
        assert_eq!((options.rails, options.datagram), (1, None));
        let options = of(&[("MP_INSTANCES", "max"), ("MP_UDP_PACKET_SIZE", "1024")]).expect("good");
        assert_eq!((options.rails, options.datagram), (MAX_RAILS, Some(MIN_DATAGRAM)));
        let options = of(&[("MP_EUIDEVICE", "sn_all")]).expect("good");
        assert_eq!((options.rails, options.device), (MAX_RAILS, None));
        let options = of(&[("MP_EUIDEVICE", "sn_single"), ("MP_INSTANCES", "3")]).expect("good");
        assert_eq!((options.rails, options.device), (3, None));
        let options = of(&[("MP_LAPI_INET_ADDR", "@2:10.0.0.1,en0:10.1.0.1,en1")]).expect("good");
        assert_eq!(options.rails, 2);
        let options = of(&[("MP_LAPI_INET_ADDR", "@2:[fd00::1],en0:fd01::1,en1")]).expect("good");
        assert_eq!((options.rails, options.addresses.map(|list| list.0.len())), (2, Some(2)));
        let options = of(&[("LAPIS_UDP_BIND", "10.0.0.1:4000,[fd00::1]:4001")]).expect("good");
        assert_eq!((options.rails, options.bind[1].port()), (2, 4001));
        assert_eq!(of(&[("MP_UDP_PACKET_SIZE", "1K")]).expect("good").datagram, Some(MIN_DATAGRAM));
        assert_eq!(of(&[("MP_UDP_PACKET_SIZE", "65536")]).expect("good").datagram, Some(MAX_DATAGRAM));
        for (name, value) in [
            ("MP_UDP_PACKET_SIZE", "100"),
            ("MP_INSTANCES", "0"),
            ("MP_LAPI_INET_ADDR", "x"),
            ("LAPIS_UDP_BIND", "10.0.0.1"),
        ] {
            let text = of(&[(name, value)]).expect_err("bad").to_string();
            assert!(text.contains(name) && text.contains(value), "{text}");
        }
    }
}
