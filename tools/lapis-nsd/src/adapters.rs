//! The adapters to create.

use crate::eth::network::BY_ADDRESS;
use lapis_adapters::fifo::Geometry;
use lapis_adapters::matrix;

/// The network of an adapter whose interface's address is to say it.
pub(crate) const FROM_ADDRESS: u32 = u32::MAX;

/// Where the program that steers an interface's frames runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EthMode {
    /// In the driver, or where that can't be in the kernel's generic mode. There, too, with a
    /// virtual pair of one queue, whose driver takes longer.
    #[default]
    Auto,
    /// In the driver.
    Native,
    /// In the kernel's generic mode.
    Generic,
}

/// An adapter that the daemon is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterSpec {
    /// Its name: `sn0`, `sn1`, ….
    pub name: String,
    /// The network that it is on.
    pub network: u32,
    /// How many windows it has.
    pub windows: u32,
    /// How a window's memory is divided.
    pub geometry: Geometry,
    /// The interface that it is; none: it is soft.
    pub interface: Option<String>,
    /// For how many microseconds a look at an interface's window makes the driver poll; 0: not at
    /// all.
    pub busy_poll: u32,
    /// Where the program at an interface runs.
    pub mode: EthMode,
}

/// Soft adapters `sn0`, `sn1`, …, spread over networks.
///
/// # Errors
/// So many adapters or networks can't be.
pub fn soft_adapters(count: u32, networks: u32, windows: u32) -> Result<Vec<AdapterSpec>, String> {
    let most = matrix::ADAPTERS as u32;
    if !(1..=most).contains(&count) {
        return Err(format!("{count} soft adapters: there can be 1 to {most}"));
    }
    if !(1..=count).contains(&networks) {
        return Err(format!("{networks} networks: {count} adapters can be on 1 to {count}"));
    }
    if !(1..=1 << 16).contains(&windows) {
        return Err(format!("{windows} windows: an adapter can have 1 to 65536"));
    }
    let spec = |n| AdapterSpec {
        name: format!("sn{n}"),
        network: n % networks,
        windows,
        geometry: Geometry::default(),
        interface: None,
        busy_poll: 0,
        mode: EthMode::Auto,
    };
    Ok((0..count).map(spec).collect())
}

/// Adapters of an Ethernet, numbered from `first` on. Each text is an interface's name, or
/// NAME@NETWORK; without a network the subnet of its address is it.
///
/// # Errors
/// One of the texts says nothing of the kind.
pub fn eth_adapters(texts: &[String], first: u32, windows: u32) -> Result<Vec<AdapterSpec>, String> {
    if first as usize + texts.len() > matrix::ADAPTERS {
        return Err(format!("{} adapters: there can be {}", first as usize + texts.len(), matrix::ADAPTERS));
    }
    if !(1..=256).contains(&windows) {
        return Err(format!("{windows} windows: an interface can have 1 to 256"));
    }
    let spec = |(n, text): (u32, &String)| {
        let (name, network) = text.split_once('@').map_or((&**text, None), |(name, n)| (name, Some(n)));
        let network = match network.map(str::parse) {
            None => FROM_ADDRESS,
            Some(Ok(number)) if number < BY_ADDRESS => number,
            Some(_) => return Err(format!("`{text}`: a network's number is 0 to {}", BY_ADDRESS - 1)),
        };
        if name.is_empty() || name.len() > 15 {
            return Err(format!("`{text}`: an interface is written NAME or NAME@NETWORK"));
        }
        let geometry = Geometry::default();
        Ok(AdapterSpec {
            name: format!("sn{n}"),
            network,
            windows,
            geometry,
            interface: Some(name.to_owned()),
            busy_poll: 0,
            mode: EthMode::Auto,
        })
    };
    (first..).zip(texts).map(spec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_are_numbered_and_spread_over_networks() {
        let specs = soft_adapters(4, 2, 16).expect("possible");
        let seen: Vec<_> = specs.iter().map(|a| (a.name.as_str(), a.network)).collect();
        assert_eq!(seen, [("sn0", 0), ("sn1", 1), ("sn2", 0), ("sn3", 1)]);
        for (count, networks, windows) in [(0, 1, 1), (65, 1, 1), (2, 0, 1), (2, 3, 1), (2, 2, 0)] {
            soft_adapters(count, networks, windows).expect_err("impossible");
        }
    }

    #[test]
    fn interfaces_follow_the_soft_adapters() {
        let specs = eth_adapters(&["en0".to_owned(), "en1@7".to_owned()], 2, 16).expect("possible");
        let seen: Vec<_> = specs.iter().map(|a| (&*a.name, a.network, a.interface.as_deref())).collect();
        assert_eq!(seen, [("sn2", FROM_ADDRESS, Some("en0")), ("sn3", 7, Some("en1"))]);
        for wrong in ["", "@1", "en0@", "en0@x", "en0@4294967295", "a-name-that-is-too-long"] {
            eth_adapters(&[wrong.to_owned()], 0, 16).expect_err(wrong);
        }
        eth_adapters(&["en0".to_owned()], 64, 16).expect_err("too many");
        eth_adapters(&["en0".to_owned()], 0, 0).expect_err("no windows");
    }
}
