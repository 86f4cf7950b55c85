//! How many rails a task has, and on which devices.
//!
//! *LAPI Guide, Using failover and recovery, Requesting the use of multiple adapters: sn_single
//! asks for instances on one network, sn_all for so many on each.*

use crate::address::MAX_RAILS;
use lapis_core::config::{Device, Instances};
use lapis_core::transport::{Host, TransportError};

/// Variables of core's.
const INSTANCES: &str = "MP_INSTANCES";
const DEVICE: &str = "MP_EUIDEVICE";

/// What the guide's variables say about rails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rails {
    device: Device,
    instances: Option<Instances>,
}

impl Rails {
    pub(crate) fn of(host: &Host) -> Result<Self, TransportError> {
        let device = Device::of(host.option(DEVICE).as_deref());
        let instances = host.option(INSTANCES).map(|text| {
            let wrong = |why| TransportError::Invalid(format!("{INSTANCES}=`{text}`: {why}"));
            text.trim().parse().map_err(wrong)
        });
        Ok(Self { device, instances: instances.transpose()? })
    }

    /// Whether anything was said that takes a look at all devices.
    pub(crate) fn are_several(&self) -> bool {
        self.device != Device::Any || self.instances.is_some()
    }

    /// How many rails are wanted where there are so many devices.
    pub(crate) fn count(&self, devices: usize) -> usize {
        let count = match self.instances {
            Some(Instances::Count(count)) => count as usize,
            Some(Instances::Max) => devices,
            None => 1,
        };
        count.clamp(1, MAX_RAILS)
    }

    /// The devices to use, one for each rail, by number, or why there are none. Each has a name and
    /// a network's.
    pub(crate) fn choose(&self, devices: &[(String, String)]) -> Result<Vec<usize>, String> {
        let of = |wanted: &dyn Fn(&(String, String)) -> bool| -> Vec<usize> {
            (0..devices.len()).filter(|at| wanted(&devices[*at])).collect()
        };
        let mut networks: Vec<&str> = Vec::new();
        for (_, network) in devices {
            if !networks.contains(&network.as_str()) {
                networks.push(network);
            }
        }
        let groups = match &self.device {
            Device::Any => vec![of(&|_| true)],
            Device::Single => vec![of(&|(_, network)| Some(&network.as_str()) == networks.first())],
            Device::All => networks.iter().map(|network| of(&|(_, its)| its == network)).collect(),
            Device::Named(name) => vec![of(&|(device, _)| device == name)],
        };
        let mut chosen = Vec::new();
        for group in groups {
            // Different devices first: only they can take each other's place.
            chosen.extend(group.iter().cycle().take(self.count(group.len())));
        }
        chosen.truncate(MAX_RAILS);
        if chosen.is_empty() {
            let names: Vec<&str> = devices.iter().map(|(name, _)| name.as_str()).collect();
            let wanted = if let Device::Named(name) = &self.device { name } else { "" };
            return Err(format!("{DEVICE}: there is no device `{wanted}`; there are {}", names.join(", ")));
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rails_are_spread_as_the_guide_has_it() {
        let devices: Vec<_> = (0..4).map(|n| (format!("d{n}"), format!("net{}", n % 2))).collect();
        let count = |n| Some(Instances::Count(n));
        for (device, instances, expected) in [
            (Device::Any, None, &[0][..]),
            (Device::Any, count(2), &[0, 1]),
            (Device::Any, Some(Instances::Max), &[0, 1, 2, 3]),
            (Device::Single, None, &[0]),
            (Device::Single, count(2), &[0, 2]),
            (Device::Single, count(3), &[0, 2, 0]),
            (Device::All, None, &[0, 1]),
            (Device::All, count(2), &[0, 2, 1, 3]),
            (Device::All, count(99), &[0, 2, 0, 2, 0, 2, 0, 2]),
            (Device::Named("d3".to_owned()), count(2), &[3, 3]),
        ] {
            let rails = Rails { device, instances };
            assert_eq!(rails.choose(&devices).expect("possible"), expected, "{rails:?}");
        }
        let none = Rails { device: Device::Named("en0".to_owned()), instances: None };
        let why = none.choose(&devices).expect_err("impossible");
        assert!(why.contains("`en0`") && why.contains("d0, d1, d2, d3"), "{why}");
    }
}
