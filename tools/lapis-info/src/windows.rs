//! The adapters of this host and their windows, as its services daemon reports them.

use lapis_adapters::channel::Address;
use lapis_adapters::client::Daemon;
use lapis_adapters::status::{self, Status};
use serde::Serialize;
use std::fmt::Write;

/// What the daemon says, or why it says nothing.
#[derive(Debug, Serialize)]
pub(crate) struct Windows {
    /// Where it listens, or would.
    pub(crate) daemon: String,
    /// Why there is nothing to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) adapters: Vec<Status>,
    /// What to use them for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<&'static str>,
}

/// Figures over virtual wires, in docs/performance.md.
const OVER_ETHERNET: &str = "over an Ethernet, windows (MP_EUILIB=us, or LAPIS_TRANSPORT=hps) are for short \
                             messages, whose round trip and rate are better there; for long streams UDP with \
                             segmentation by the kernel (LAPIS_TRANSPORT=udp) is faster";

impl Windows {
    /// Asks the daemon that LAPIS_NSD names, or the host's.
    pub(crate) fn gather() -> Self {
        let address =
            std::env::var("LAPIS_NSD").map_or_else(|_| Address::default(), |name| Address::new(&name));
        let found = Daemon::connect(&address).and_then(|daemon| status::of(&daemon));
        let (adapters, reason) = match found {
            Ok(adapters) => (adapters, None),
            Err(why) => (Vec::new(), Some(why.to_string())),
        };
        let has_ethernet = adapters.iter().any(|status| status.adapter.kind == "eth");
        let advice = has_ethernet.then_some(OVER_ETHERNET);
        Self { daemon: address.as_str().to_owned(), reason, adapters, advice }
    }

    /// The listing for people.
    pub(crate) fn write(&self, out: &mut String) {
        let _ = writeln!(out, "\nAdapters and windows, by the services daemon at `{}`", self.daemon);
        if let Some(reason) = &self.reason {
            let _ = writeln!(out, "  {reason}");
            return;
        }
        for line in status::text(&self.adapters).lines() {
            let _ = writeln!(out, "{}", format!("  {line}").trim_end());
        }
        if let Some(advice) = self.advice {
            let _ = writeln!(out, "  Note: {advice}.");
        }
    }
}
