//! What the environment says about UDP.

use crate::declaration;
use lapis_core::config::{InetAddrs, Instances};
use lapis_core::transport::{Host, TransportError};
use std::net::SocketAddr;

/// Most rails between two tasks: what the packet engine can tell apart.
pub(crate) const MAX_RAILS: usize = 8;

/// Smallest datagram that a user can ask for: the longest user header in its packet fits, and so
/// does IPv6's smallest MTU.
pub(crate) const MIN_DATAGRAM: usize = 1232;

/// Smallest packet of such a datagram. `declaration` names it.
const MIN_PACKET: usize = MIN_DATAGRAM - ENVELOPE;
const _: () = assert!(MIN_PACKET == 1168);

/// Smallest datagram that a rail must carry, as the packet engine wants it.
pub(crate) const NARROWEST: usize = lapis_core::reliable::wire::MIN_DATAGRAM;

/// Largest datagram of UDP over IPv4.
pub(crate) const MAX_DATAGRAM: usize = 65_507;

/// What the engine puts around a packet of the size that users ask for.
const ENVELOPE: usize = 64;

/// Socket buffer that is asked for, in bytes.
pub(crate) const BUFFER: usize = 4 << 20;

/// Variables of core's.
const INET_ADDR: &str = "MP_LAPI_INET_ADDR";
const INSTANCES: &str = "MP_INSTANCES";
const DEVICE: &str = "MP_EUIDEVICE";
/// What core says where the program has told the others our addresses.
const TOLD: &str = "LAPIS_JOB_BIND";

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
    /// `LAPIS_UDP_BIND`, or what the program told: exactly these sockets.
    pub(crate) bind: Vec<SocketAddr>,
    /// `LAPIS_BUSY_POLL_US`.
    pub(crate) busy_poll: Option<u32>,
}

impl Options {
    pub(crate) fn of(host: &Host) -> Result<Self, TransportError> {
        let option = |name: &str| host.option(name);
        let (addresses, rails): (Option<InetAddrs>, _) =
            (host.parsed(INET_ADDR)?, host.parsed::<Instances>(INSTANCES)?);
        // Where the program told the others our addresses, no other will do.
        let bind = match addresses_of(TOLD, option)? {
            told if told.is_empty() => addresses_of(declaration::BIND.name, option)?,
            told => told,
        };
        let device = option(DEVICE);
        let rails = match (&addresses, rails) {
            _ if !bind.is_empty() => bind.len(),
            (Some(list), _) => list.0.len(),
            // As many as there are networks.
            (None, _) if device.as_deref() == Some("sn_all") => MAX_RAILS,
            (None, Some(Instances::Count(count))) => count as usize,
            (None, Some(Instances::Max)) => MAX_RAILS,
            (None, None) => 1,
        };
        let packet = host.number(&declaration::PACKET_SIZE)?;
        Ok(Self {
            addresses,
            bind,
            device: device.filter(|name| !matches!(&**name, "sn_all" | "sn_single")),
            rails: rails.clamp(1, MAX_RAILS),
            datagram: packet.map(|size| datagram(host, size as usize)),
            busy_poll: host.number(&declaration::BUSY_POLL)?.map(|us| us as u32),
        })
    }
}

/// The largest datagram for packets of the size that the user asks for.
fn datagram(host: &Host, packet: usize) -> usize {
    let name = declaration::PACKET_SIZE.name;
    if packet < MIN_PACKET {
        host.warn(format_args!("{name}={packet} is raised to {MIN_PACKET}, the least that Lapis uses"));
    }
    (packet.max(MIN_PACKET) + ENVELOPE).min(MAX_DATAGRAM)
}

fn addresses_of(
    name: &str,
    option: impl Fn(&str) -> Option<String>,
) -> Result<Vec<SocketAddr>, TransportError> {
    let list = option(name).unwrap_or_default();
    let wrong = |_| {
        let wanted = "address:port, one for each path, with commas between";
        TransportError::Invalid(format!("{name}=`{list}`: expected {wanted}"))
    };
    let one = |text: &str| text.trim().parse().map_err(wrong);
    if list.is_empty() { Ok(Vec::new()) } else { list.split(',').map(one).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_core::config::Environment;
    use lapis_core::transport::{host_table, with_options};

    fn of(pairs: &[(&str, &str)]) -> Result<Options, TransportError> {
        // SAFETY: the host's table is static.
        let host = unsafe { Host::from_raw(host_table(), "udp") };
        with_options(&Environment::from_pairs(pairs.iter().copied()), || Options::of(&host))
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
        let bind = [("LAPIS_UDP_BIND", "10.0.0.1:4000,[fd00::1]:4001"), ("LAPIS_JOB_BIND", "10.0.0.1:4002")];
        let options = of(&bind[..1]).expect("good");
        assert_eq!((options.rails, options.bind[1].port()), (2, 4001));
        let options = of(&bind).expect("what the program told wins");
        assert_eq!((options.rails, options.bind[0].port()), (1, 4002));
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
