//! On which adapters this task's windows are to be.
//!
//! *LAPI Guide, Using failover and recovery, Requesting the use of multiple adapters: sn_single
//! asks for instances on one network, sn_all for so many on each.*

use crate::options::{MAX_RAILS, Options};
use lapis_adapters::protocol::Adapter;
use lapis_core::config::{Device, Instances};
use lapis_core::transport::TransportError;

/// The adapters to open a window on, one for each window, or why there are none.
pub(crate) fn adapters<'a>(
    options: &Options,
    there: &'a [Adapter],
) -> Result<Vec<&'a Adapter>, TransportError> {
    let up = |filter: &dyn Fn(&Adapter) -> bool| -> Vec<&'a Adapter> {
        there.iter().filter(|adapter| adapter.up && adapter.refused.is_none() && filter(adapter)).collect()
    };
    let by_name = match &options.device {
        Device::Named(name) => Some(named(name, there)?),
        _ => None,
    };
    let all = up(&|_| true);
    let mut networks: Vec<u32> = all.iter().map(|adapter| adapter.network).collect();
    networks.sort_unstable();
    networks.dedup();
    let Some(first) = networks.first() else { return Err(none_of(there)) };
    let groups: Vec<Vec<&Adapter>> = match &options.device {
        Device::Any | Device::Named(_) => vec![by_name.map_or(all, |adapter| vec![adapter])],
        Device::Single => vec![up(&|adapter| adapter.network == *first)],
        Device::All => networks.iter().map(|network| up(&|adapter| adapter.network == *network)).collect(),
    };
    let mut chosen = Vec::new();
    for group in groups {
        let count = match options.instances {
            Some(Instances::Count(count)) => count as usize,
            Some(Instances::Max) => group.len(),
            None => 1,
        };
        // Different adapters first: only they can take each other's place.
        chosen.extend(group.iter().cycle().take(count.min(MAX_RAILS)));
    }
    chosen.truncate(MAX_RAILS);
    Ok(chosen)
}

/// Why no adapter serves.
//= LAPI Guide, table 35, LAPI_ERR_ADAPTERS_DOWN
fn none_of(there: &[Adapter]) -> TransportError {
    let refused: Vec<&str> = there.iter().filter_map(|adapter| adapter.refused.as_deref()).collect();
    let refused = refused.join("; ");
    let Some(down) = there.iter().find(|adapter| adapter.refused.is_none()) else {
        let text = if there.is_empty() { "the services daemon has no adapters" } else { &refused };
        return TransportError::Invalid(text.to_owned());
    };
    let others = there.iter().filter(|adapter| adapter.refused.is_none()).count() - 1;
    let others = if others == 0 { String::new() } else { format!(" (and {others} more are down)") };
    let refused = if refused.is_empty() { refused } else { format!("; {refused}") };
    let text = format!("{}{others}{refused}; `lapis-windows status` shows all", is_down(down));
    TransportError::Unreachable(text)
}

/// What to do about an adapter that is down.
fn is_down(adapter: &Adapter) -> String {
    let name = &adapter.name;
    let link = adapter.interface.as_ref().map_or_else(String::new, |interface| {
        format!(", if `ip addr show {interface}` shows its link and its address")
    });
    format!("{name} is down: `lapis-windows up {name}` takes it up{link}")
}

/// The adapter of a name, its own or its interface's, if it is there and up.
pub(crate) fn named<'a>(name: &str, there: &'a [Adapter]) -> Result<&'a Adapter, TransportError> {
    let is = |adapter: &&Adapter| adapter.name == name || adapter.interface.as_deref() == Some(name);
    match there.iter().find(is) {
        Some(Adapter { refused: Some(why), .. }) => {
            Err(TransportError::Invalid(format!("{name} can't be used: {why}")))
        }
        Some(adapter) if adapter.up => Ok(adapter),
        Some(adapter) => Err(TransportError::Unreachable(is_down(adapter))),
        None => {
            let names: Vec<&str> = there.iter().map(|adapter| adapter.name.as_str()).collect();
            let text = format!("there is no adapter `{name}` on this host; there are {}", names.join(", "));
            Err(TransportError::Invalid(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two networks: sn0 and sn2, sn1 and sn3.
    fn four(down: &[&str]) -> Vec<Adapter> {
        let one = |n: u32| Adapter {
            name: format!("sn{n}"),
            kind: "soft".to_owned(),
            interface: (n == 3).then(|| "en7".to_owned()),
            mode: None,
            refused: None,
            soon: false,
            network: n % 2,
            index: n,
            up: !down.contains(&format!("sn{n}").as_str()),
            windows: 8,
            taken: 0,
            longest: 16384,
        };
        (0..4).map(one).collect()
    }

    fn chosen(
        device: Device,
        instances: Option<Instances>,
        down: &[&str],
    ) -> Result<Vec<String>, TransportError> {
        let options = Options { device, instances, ..Options::default() };
        adapters(&options, &four(down)).map(|list| list.iter().map(|a| a.name.clone()).collect())
    }

    #[test]
    fn windows_are_spread_as_the_guide_has_it() {
        let count = |n| Some(Instances::Count(n));
        for (device, instances, expected) in [
            (Device::Any, None, "sn0"),
            (Device::Any, count(2), "sn0 sn1"),
            (Device::Any, Some(Instances::Max), "sn0 sn1 sn2 sn3"),
            (Device::Single, None, "sn0"),
            (Device::Single, count(2), "sn0 sn2"),
            (Device::Single, count(3), "sn0 sn2 sn0"),
            (Device::Single, Some(Instances::Max), "sn0 sn2"),
            (Device::All, None, "sn0 sn1"),
            (Device::All, count(2), "sn0 sn2 sn1 sn3"),
            (Device::All, count(99), "sn0 sn2 sn0 sn2 sn0 sn2 sn0 sn2"),
            (Device::Named("sn3".to_owned()), count(2), "sn3 sn3"),
            (Device::Named("en7".to_owned()), None, "sn3"),
        ] {
            let got = chosen(device.clone(), instances, &[]).expect("possible").join(" ");
            assert_eq!(got, expected, "{device:?} {instances:?}");
        }
    }

    //= LAPI Guide, table 12, failover and recovery operations
    #[test]
    fn failover_is_possible_where_the_guide_says_so() {
        // So many networks, with so many adapters each.
        for (networks, adapters) in [(1u32, 1u32), (1, 3), (2, 1), (2, 2), (4, 2)] {
            let there: Vec<Adapter> = (0..networks * adapters)
                .map(|n| Adapter {
                    name: format!("sn{n}"),
                    network: n % networks,
                    ..four(&[]).swap_remove(0)
                })
                .collect();
            // Instances, and whether they are on more than one adapter.
            let got = |device: &Device, m: Option<u32>| {
                let instances = m.map(Instances::Count);
                let options = Options { device: device.clone(), instances, ..Options::default() };
                let chosen = super::adapters(&options, &there).expect("all are up");
                let distinct = chosen.iter().any(|adapter| adapter.name != chosen[0].name);
                (chosen.len() as u32, distinct)
            };
            assert_eq!(got(&Device::Single, None), (1, false));
            assert_eq!(got(&Device::All, None), (networks, networks > 1));
            for m in 2..=2 * adapters {
                assert_eq!(
                    got(&Device::Single, Some(m)),
                    (m.min(8), adapters > 1),
                    "{networks} {adapters} {m}"
                );
                let all = got(&Device::All, Some(m));
                assert_eq!(all.0, (m * networks).min(8));
                // One network is as sn_single; the guide promises it for several.
                assert_eq!(all.1, networks > 1 || adapters > 1, "{networks} {adapters} {m}");
            }
        }
    }

    #[test]
    fn adapters_that_are_down_or_missing_are_left_out_or_named() {
        assert_eq!(chosen(Device::Single, None, &["sn0"]).expect("another"), ["sn2"]);
        assert_eq!(chosen(Device::All, None, &["sn0", "sn2"]).expect("the other network"), ["sn1"]);
        let why = |device, down: &[&str]| chosen(device, None, down).expect_err("impossible");
        let is_down = |error, text: &str| {
            assert!(matches!(&error, TransportError::Unreachable(why) if why.contains(text)), "{error}");
        };
        is_down(why(Device::Any, &["sn0", "sn1", "sn2", "sn3"]), "`lapis-windows up sn0` takes it up (and 3");
        is_down(why(Device::Named("sn1".to_owned()), &["sn1"]), "`lapis-windows up sn1` takes it up");
        is_down(why(Device::Named("en7".to_owned()), &["sn3"]), "up sn3` takes it up, if `ip addr show en7`");
        let error = why(Device::Named("en0".to_owned()), &[]);
        let is_invalid = |why: &str| why.contains("sn0, sn1, sn2, sn3");
        assert!(matches!(&error, TransportError::Invalid(why) if is_invalid(why)), "{error}");
        // Adapters that are up and not for this user are not down.
        let mut not_allowed = four(&[]);
        not_allowed.iter_mut().for_each(|adapter| adapter.refused = Some("not for you".to_owned()));
        let error = adapters(&Options::default(), &not_allowed).expect_err("impossible");
        assert!(matches!(&error, TransportError::Invalid(why) if why.starts_with("not for you")), "{error}");
    }
}
