//! The state of the network interfaces under the rails: a rail whose link is down is left at once,
//! and one whose link is up again is tried.
//!
//! The guide gets this from the Network Availability Matrix ("Monitoring adapter status"); here the
//! kernel's news of its links takes its place.

use crate::rail::Rail;
use crate::sys::LinkNews;
use lapis_core::transport::Host;
use std::io;

/// Polls between two looks at the news; each costs a system call, and so does every poll.
const POLLS: u32 = 128;

/// Watches the links of the rails in use.
#[derive(Default)]
pub(crate) struct Links {
    news: Option<LinkNews>,
    tried: bool,
    /// The state of each rail's link, by rail.
    up: Vec<bool>,
    polls: u32,
}

impl Links {
    /// Begins to watch; the descriptor to sleep on is returned, if there is anything to watch.
    /// Nobody pulls the plug of the loopback interface.
    pub(crate) fn watch(&mut self, rails: &[Rail]) -> io::Result<Option<i32>> {
        self.up.resize(rails.len(), true);
        if self.tried || rails.iter().all(|r| r.inbox.is_none() || !named(r)) {
            return Ok(None);
        }
        self.tried = true;
        let news = LinkNews::open()?;
        let fd = news.fd();
        self.news = Some(news);
        Ok(Some(fd))
    }

    /// What there is to sleep on for news.
    pub(crate) fn fd(&self) -> Option<i32> {
        self.news.as_ref().map(LinkNews::fd)
    }

    /// Whether a rail's link carries anything, as far as is known.
    pub(crate) fn is_up(&self, rail: usize) -> bool {
        self.up.get(rail).is_none_or(|up| *up)
    }

    /// Whether it is time to check the kernel's reports.
    #[inline]
    pub(crate) fn due(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.news.is_some() && self.polls.is_multiple_of(POLLS)
    }

    /// Checks the kernel's reports. Returns the rails whose links have changed, and their new
    /// state. After an error no more reports are read.
    pub(crate) fn changes(&mut self, rails: &[Rail], host: &Host) -> io::Result<Vec<(usize, bool)>> {
        let changes = self.read_changes(rails, host);
        if changes.is_err() {
            self.news = None;
        }
        changes
    }

    fn read_changes(&mut self, rails: &[Rail], host: &Host) -> io::Result<Vec<(usize, bool)>> {
        let mut changes = Vec::new();
        let Some(news) = self.news.as_ref() else { return Ok(changes) };
        if !news.any()? {
            return Ok(changes);
        }
        for (at, rail) in rails.iter().enumerate().filter(|(_, r)| r.inbox.is_some() && named(r)) {
            let up = news.is_up(&rail.entry.name)?;
            if std::mem::replace(&mut self.up[at], up) != up {
                let state = if up { "up again" } else { "down" };
                host.info(format_args!("{}: the link is {state}", rail.entry));
                changes.push((at, up));
            }
        }
        Ok(changes)
    }
}

/// Whether the rail is on an interface whose link can change.
fn named(rail: &Rail) -> bool {
    !rail.entry.loopback && rail.entry.name != "any"
}
