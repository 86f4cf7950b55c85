//! What the environment says about windows.

use crate::declaration;
use lapis_adapters::channel::Address;
use lapis_core::config::{Choice, Device, Instances, MsgApi, NetworkWindows};
use lapis_core::transport::{Host, TransportError};

/// Most windows of a task: what the guide has, and what the packet engine can tell apart.
pub(crate) const MAX_RAILS: usize = 8;

/// Variables of core's.
const INSTANCES: &str = "MP_INSTANCES";
const DEVICE: &str = "MP_EUIDEVICE";
const NETWORK: &str = "MP_LAPI_NETWORK";
const API: &str = "MP_MSG_API";

/// The values that count for windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) daemon: Address,
    /// Who has windows of its own, and who shares.
    pub(crate) api: Option<MsgApi>,
    pub(crate) device: Device,
    /// How many windows, or as many as there are adapters.
    pub(crate) instances: Option<Instances>,
    /// MP_LAPI_NETWORK: exactly these windows.
    pub(crate) windows: Vec<(u32, String)>,
    /// All data goes through the windows.
    pub(crate) windows_only: bool,
}

impl Options {
    pub(crate) fn of(host: &Host) -> Result<Self, TransportError> {
        let option = |name: &str| host.option(name);
        let windows: Option<NetworkWindows> = host.parsed(NETWORK)?;
        Ok(Self {
            daemon: option(declaration::DAEMON.name)
                .map_or_else(Address::default, |name| Address::new(&name)),
            // Core has checked the word.
            api: option(API).and_then(|word| MsgApi::from_word(word.trim())),
            device: Device::of(option(DEVICE).as_deref()),
            instances: host.parsed(INSTANCES)?,
            windows: windows.map_or_else(Vec::new, |list| list.0),
            windows_only: host.word(&declaration::COPY)? == Some("windows"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_core::config::Environment;
    use lapis_core::transport::{host_table, with_options};

    fn of(pairs: &[(&str, &str)]) -> Result<Options, TransportError> {
        // SAFETY: the host's table is static.
        let host = unsafe { Host::from_raw(host_table(), "hps") };
        with_options(&Environment::from_pairs(pairs.iter().copied()), || Options::of(&host))
    }

    #[test]
    fn the_environment_is_read_and_checked() {
        assert_eq!(of(&[]).expect("nothing is fine"), Options::default());
        let options = of(&[("MP_EUIDEVICE", "sn_all"), ("MP_INSTANCES", "max")]).expect("good");
        assert_eq!((options.device, options.instances), (Device::All, Some(Instances::Max)));
        let options = of(&[("MP_LAPI_NETWORK", "@2>164,sn0:12,sn1"), ("LAPIS_NSD", "x")]).expect("good");
        assert_eq!(options.windows, [(164, "sn0".to_owned()), (12, "sn1".to_owned())]);
        assert_eq!(options.daemon.as_str(), "x");
        let api = |word| of(&[("MP_MSG_API", word)]).expect("good").api;
        assert_eq!((api("mpi_lapi"), api("mpi,lapi")), (Some(MsgApi::Shared), Some(MsgApi::MpiLapi)));
        assert!(of(&[("LAPIS_HPS_COPY", "windows")]).expect("good").windows_only);
        for (name, value) in [("MP_INSTANCES", "0"), ("MP_LAPI_NETWORK", "164"), ("LAPIS_HPS_COPY", "no")] {
            let text = of(&[(name, value)]).expect_err("bad").to_string();
            assert!(text.contains(name) && text.contains(value), "{text}");
        }
    }
}
