//! The interfaces of this machine that a task may use, in order of preference.

use crate::address::{Entry, MAX_ENTRIES};
use crate::options::Options;
use crate::sys::{self, InterfaceAddr};
use lapis_core::transport::TransportError;
use std::net::{IpAddr, SocketAddr};

/// The interfaces to open sockets on; ports are 0 as yet.
pub(crate) fn candidates(options: &Options) -> Result<Vec<Entry>, TransportError> {
    let found = sys::interfaces()
        .map_err(|e| TransportError::Io(format!("the network interfaces can't be listed: {e}")))?;
    choose(options, &found, sys::is_bridge)
}

fn choose(
    options: &Options,
    found: &[InterfaceAddr],
    bridge: impl Fn(&str) -> bool,
) -> Result<Vec<Entry>, TransportError> {
    let entry = |a: &InterfaceAddr| Entry {
        name: a.name.clone(),
        ip: a.ip,
        prefix: a.prefix,
        scope: a.scope,
        port: 0,
        loopback: a.loopback,
        bridge: bridge(&a.name),
    };
    if !options.bind.is_empty() {
        return Ok(options.bind.iter().map(|at| bound(at, found)).collect());
    }
    if let Some(list) = &options.addresses {
        return list
            .0
            .iter()
            .map(|(ip, name)| {
                // Two links may have the same address of link-local scope.
                let named = found.iter().find(|a| a.ip == *ip && a.name == *name);
                named.or_else(|| found.iter().find(|a| a.ip == *ip)).map(entry).ok_or_else(|| {
                    TransportError::Invalid(format!(
                        "MP_LAPI_INET_ADDR names {ip} on {name}, which is no address of this machine that is up; \
                         there are {}",
                        names(found)
                    ))
                })
            })
            .collect();
    }
    let mut entries: Vec<Entry> =
        found.iter().filter(|a| usable(a)).filter(|a| wanted(options, a)).map(entry).collect();
    if let Some(device) = &options.device
        && !entries.iter().any(|e| e.name == *device)
    {
        return Err(TransportError::Invalid(format!(
            "MP_EUIDEVICE={device}: no interface of that name is up and has an address; there are {}",
            names(found)
        )));
    }
    // Loopback first, for it is cheap; then what is likely to lead somewhere. A stable sort: the
    // kernel's order decides the rest.
    entries.sort_by_key(|e| (!e.loopback, e.bridge, e.link_local(), e.ip.is_ipv6()));
    entries.truncate(MAX_ENTRIES);
    Ok(entries)
}

/// A socket whose address the program chose. One of no interface is refused when it is bound.
fn bound(at: &SocketAddr, found: &[InterfaceAddr]) -> Entry {
    let interface = found.iter().find(|a| a.ip == at.ip());
    Entry {
        name: interface.map_or_else(|| "any".to_owned(), |a| a.name.clone()),
        ip: at.ip(),
        prefix: interface.map_or(0, |a| a.prefix),
        scope: interface.map_or(0, |a| a.scope),
        port: at.port(),
        loopback: at.ip().is_loopback(),
        bridge: false,
    }
}

/// One loopback address is enough, and one address of each kind per interface is, too.
fn usable(a: &InterfaceAddr) -> bool {
    match a.ip {
        IpAddr::V4(_) => true,
        IpAddr::V6(_) => !a.loopback,
    }
}

fn wanted(options: &Options, a: &InterfaceAddr) -> bool {
    options.device.as_ref().is_none_or(|device| a.loopback || a.name == *device)
}

fn names(found: &[InterfaceAddr]) -> String {
    let list: Vec<String> = found.iter().map(|a| format!("{} {}/{}", a.name, a.ip, a.prefix)).collect();
    if list.is_empty() { "none".to_owned() } else { list.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Vec<InterfaceAddr> {
        [
            ("docker0", "172.17.0.1", 16),
            ("en0", "10.0.0.5", 24),
            ("en1", "10.1.0.5", 24),
            ("lo", "127.0.0.1", 8),
        ]
        .into_iter()
        .chain([("lo", "::1", 128), ("en0", "fe80::5", 64), ("en1", "fe80::5", 64)])
        .map(|(name, ip, prefix)| InterfaceAddr {
            name: name.into(),
            ip: ip.parse().expect("an address"),
            scope: 0,
            prefix,
            loopback: name == "lo",
        })
        .collect()
    }

    fn chosen(options: &Options) -> Result<Vec<String>, TransportError> {
        Ok(choose(options, &machine(), |n| n == "docker0")?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn loopback_comes_first_and_bridges_last() {
        let order = chosen(&Options::default()).expect("some");
        assert_eq!(
            order,
            [
                "lo 127.0.0.1/8",
                "en0 10.0.0.5/24",
                "en1 10.1.0.5/24",
                "en0 fe80::5/64",
                "en1 fe80::5/64",
                "docker0 172.17.0.1/16"
            ]
        );
    }

    #[test]
    fn the_user_may_name_interfaces() {
        let device = |name: &str| Options { device: Some(name.into()), ..Options::default() };
        let one = ["lo 127.0.0.1/8", "en1 10.1.0.5/24", "en1 fe80::5/64"];
        assert_eq!(chosen(&device("en1")).expect("there"), one);
        let text = chosen(&device("en7")).expect_err("not there").to_string();
        assert!(text.contains("en7") && text.contains("en0 10.0.0.5/24"), "{text}");
        let addresses = |text: &str| Options { addresses: text.parse().ok(), ..Options::default() };
        assert_eq!(chosen(&addresses("@1:10.1.0.5,en1")).expect("there"), ["en1 10.1.0.5/24"]);
        let text = chosen(&addresses("@1:10.1.0.6,en1")).expect_err("not there").to_string();
        assert!(text.contains("10.1.0.6"), "{text}");
        // Link-local addresses are of one link each.
        let both = chosen(&addresses("@2:[fe80::5],en1:[fe80::5],en0")).expect("there");
        assert_eq!(both, ["en1 fe80::5/64", "en0 fe80::5/64"]);
    }
}
