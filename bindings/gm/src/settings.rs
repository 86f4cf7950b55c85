//! What the environment says. In a program with more rights than its user, it says nothing.

use lapis_adapters::channel::Address;
use lapis_copies::{Copies, Remark, VARIABLE};
use lapis_core::config::{Environment, processor};
use std::time::Duration;

/// What a port needs to know at its start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    /// LAPIS_NSD: where the services daemon listens.
    pub(crate) daemon: Address,
    /// LAPIS_GM_NODE: the host name that this program's nodes go by.
    pub(crate) node: String,
    /// LAPIS_GM_TIMEOUT, in seconds: for so long a message waits for a buffer.
    pub(crate) timeout: Duration,
    /// LAPIS_GM_OPEN_WAIT, in seconds: for so long a message waits for a port that has not been
    /// open.
    pub(crate) open_wait: Duration,
    /// LAPIS_GM_COPY is not `windows`: messages may go past the FIFOs.
    pub(crate) copies: bool,
    /// LAPIS_SHM_COPIES, in the environment or in the tuning file: which copies move what goes by
    /// lanes.
    pub(crate) limits: Copies,
    /// LAPIS_GM_LOSS, in percent: so many datagrams are thrown away, for tests.
    pub(crate) loss: u32,
}

impl Settings {
    pub(crate) fn of_process() -> Self {
        Self::of(&Environment::of_process())
    }

    fn of(environment: &Environment) -> Self {
        let get = |name: &str| environment.get(name).map(|value| value.trim().to_owned());
        let number = |name: &str, default: f64, most: f64| match get(name) {
            None => default,
            Some(text) => text.parse().ok().filter(|n| (0.0..=most).contains(n)).unwrap_or_else(|| {
                tracing::warn!(
                    target: "lapis::gm",
                    "{name}=`{text}`: not a number from 0 to {most}; {default} is taken"
                );
                default
            }),
        };
        let host = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        let seconds = |name, default| Duration::from_secs_f64(number(name, default, 86400.0));
        Self {
            daemon: get("LAPIS_NSD").map_or_else(Address::default, |name| Address::new(&name)),
            node: get("LAPIS_GM_NODE").filter(|name| !name.is_empty()).unwrap_or_else(host),
            timeout: seconds("LAPIS_GM_TIMEOUT", 60.0),
            open_wait: seconds("LAPIS_GM_OPEN_WAIT", 5.0),
            copies: choice(get("LAPIS_GM_COPY")),
            limits: limits(environment),
            loss: number("LAPIS_GM_LOSS", 0.0, 50.0) as u32,
        }
    }
}

/// From where on which copies are taken.
fn limits(environment: &Environment) -> Copies {
    let tell = |remark| match remark {
        Remark::Warning(text) => tracing::warn!(target: "lapis::gm", "{text}"),
        Remark::Info(text) => tracing::info!(target: "lapis::gm", "{text}"),
    };
    lapis_copies::find(environment.get(VARIABLE), environment, true, tell).unwrap_or_else(|why| {
        let usual = Copies::shipped(&processor()).unwrap_or(Copies::USUAL);
        tracing::warn!(target: "lapis::gm", "{why}; {usual} is taken");
        usual
    })
}

/// What LAPIS_GM_COPY says.
fn choice(text: Option<String>) -> bool {
    match text.as_deref() {
        None | Some("" | "direct") => true,
        Some("windows") => false,
        Some(other) => {
            tracing::warn!(
                target: "lapis::gm",
                "LAPIS_GM_COPY=`{other}`: neither `direct` nor `windows`; `direct` is taken"
            );
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_and_nonsense_is_not_taken() {
        let of = |pairs: &[(&str, &str)]| Settings::of(&Environment::from_pairs(pairs.iter().copied()));
        let usual = of(&[]);
        assert!(!usual.node.is_empty() && usual.loss == 0 && usual.timeout == Duration::from_secs(60));
        let set = of(&[("LAPIS_GM_NODE", "left"), ("LAPIS_GM_TIMEOUT", "0.25"), ("LAPIS_NSD", "x")]);
        assert_eq!((set.node.as_str(), set.timeout), ("left", Duration::from_millis(250)));
        assert_eq!(set.daemon.as_str(), "x");
        assert!(usual.copies && !of(&[("LAPIS_GM_COPY", "windows")]).copies);
        assert_eq!(of(&[("LAPIS_SHM_COPIES", "far=7")]).limits.far, 7);
        assert_eq!(of(&[("LAPIS_SHM_COPIES", "near=7")]).limits, usual.limits);
        assert!(of(&[("LAPIS_GM_COPY", "x")]).copies);
        for bad in ["-1", "x", "1e9", "nan", ""] {
            assert_eq!(of(&[("LAPIS_GM_TIMEOUT", bad)]).timeout, usual.timeout, "{bad}");
        }
    }
}
