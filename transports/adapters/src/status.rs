//! What people and scripts are shown of a host's adapters and windows.

use crate::client::{Daemon, DaemonError};
use crate::protocol::{Adapter, Window};
use serde::Serialize;

/// An adapter with its windows. The JSON has these names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The adapter.
    #[serde(flatten)]
    pub adapter: Adapter,
    /// Nobody answers at its network whom tasks look for there.
    pub silent: bool,
    /// Its windows that are reserved, loaded or open.
    pub not_free: Vec<Window>,
}

/// All adapters, as the daemon tells of them.
///
/// # Errors
/// The daemon has gone.
pub fn of(daemon: &Daemon) -> Result<Vec<Status>, DaemonError> {
    let with_windows = |adapter: Adapter| {
        let not_free = daemon.windows(&adapter.name)?;
        let silent = daemon.matrix().is_silent(adapter.index as usize);
        Ok(Status { adapter, silent, not_free })
    };
    daemon.adapters()?.into_iter().map(with_windows).collect()
}

/// Two tables, of the adapters and of the windows that are not free.
pub fn text(all: &[Status]) -> String {
    let mut text = format!(
        "{:8} {:5} {:>10}  {:6} {:>13} {:>9}  {}\n",
        "adapter", "kind", "network", "state", "windows taken", "longest", "interface"
    );
    for Status { adapter, silent, .. } in all {
        let state = match (adapter.up, silent) {
            (true, true) => "silent",
            (true, false) => "up",
            (false, _) => "down",
        };
        let taken = format!("{} of {}", adapter.taken, adapter.windows);
        let mut interface = adapter.interface.clone().unwrap_or_else(|| "-".to_owned());
        for more in adapter.mode.iter().chain(&adapter.refused) {
            interface += &format!(", {more}");
        }
        text += &format!(
            "{:8} {:5} {:>10}  {state:6} {taken:>13} {:>9}  {interface}\n",
            adapter.name, adapter.kind, adapter.network, adapter.longest
        );
    }
    if all.iter().any(|status| !status.not_free.is_empty()) {
        text += &format!(
            "\n{:16} {:9} {:>7} {:>9}  {:8} {:>12} {:>8} {:>8}\n",
            "window", "state", "user", "process", "job", "taken", "refused", "lost"
        );
    }
    for Status { adapter, not_free, .. } in all {
        for window in not_free {
            let name = format!("{},{}", window.window, adapter.name);
            let process = window.process.map_or("-".to_owned(), |p| p.to_string());
            let job = window.job.as_deref().unwrap_or("any");
            let counts = window.counts.map_or(["-"; 3].map(str::to_owned), |counts| {
                [counts.taken, counts.refused, counts.lost].map(|count| count.to_string())
            });
            let [taken, refused, lost] = counts;
            text += &format!(
                "{name:16} {:9} {:>7} {process:>9}  {job:8} {taken:>12} {refused:>8} {lost:>8}\n",
                window.state, window.user
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Counts;

    #[test]
    fn each_window_has_its_counts_and_each_adapter_its_mode_and_why_it_is_refused() {
        let adapter = Adapter {
            name: "sn1".to_owned(),
            kind: "eth".to_owned(),
            interface: Some("en0".to_owned()),
            mode: Some("native".to_owned()),
            refused: Some("the cable is green".to_owned()),
            soon: false,
            network: 7,
            index: 1,
            up: true,
            windows: 16,
            taken: 2,
            longest: 1460,
        };
        let open = Window {
            window: 3,
            state: "open".to_owned(),
            user: 10,
            process: Some(4711),
            job: None,
            counts: Some(Counts { taken: 12_345, refused: 6, lost: 78, notes: [0; crate::fifo::NOTES] }),
        };
        let kept =
            Window { window: 9, state: "reserved".to_owned(), process: None, counts: None, ..open.clone() };
        let mut all = [Status { adapter, silent: true, not_free: vec![open, kept] }];
        assert!(text(&all).contains(" silent "));
        all[0].silent = false;
        let text = text(&all);
        let line = |part: &str| -> Vec<&str> {
            let line = text.lines().find(|line| line.starts_with(part)).expect("a line");
            line.split_whitespace().collect()
        };
        let adapter = ["sn1", "eth", "7", "up", "2", "of", "16", "1460", "en0,", "native,"];
        assert_eq!(line("sn1")[..10], adapter, "{text}");
        assert!(text.contains("native, the cable is green"), "{text}");
        assert_eq!(line("3,sn1"), ["3,sn1", "open", "10", "4711", "any", "12345", "6", "78"]);
        assert_eq!(line("9,sn1"), ["9,sn1", "reserved", "10", "-", "any", "-", "-", "-"]);
    }
}
