//! Which adapters there are to be.

use lapis_adapters::fifo::Geometry;
use lapis_adapters::matrix;

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
    };
    Ok((0..count).map(spec).collect())
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
}
