//! The state of the network links under the rails, as the kernel reports it.

// The same news as for rails of datagrams.
#[path = "../../udp/src/sys/netlink.rs"]
mod netlink;

use netlink::LinkNews;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Polls between two looks at the news; each costs a system call.
const POLLS: u32 = 128;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn own(fd: libc::c_int) -> OwnedFd {
    // SAFETY: the kernel has just given us this descriptor.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Watches the links under several rails.
#[derive(Default)]
pub(crate) struct Links {
    news: Option<LinkNews>,
    /// By rail: its interface, if it has one, and whether its link is up.
    rails: Vec<(Option<String>, bool)>,
    polls: u32,
}

impl Links {
    /// Begins to watch the links under devices.
    pub(crate) fn watch(devices: impl Iterator<Item = String>) -> io::Result<Self> {
        let rails = devices.map(|device| (interface(&device), true)).collect();
        let mut links = Self { news: Some(LinkNews::open()?), rails, polls: 0 };
        links.compare()?;
        Ok(links)
    }

    /// What becomes readable when there is news.
    pub(crate) fn fd(&self) -> Option<RawFd> {
        self.news.as_ref().map(LinkNews::fd)
    }

    /// Whether a rail's link carries anything, as far as is known.
    pub(crate) fn is_up(&self, rail: usize) -> bool {
        self.rails.get(rail).is_none_or(|(_, up)| *up)
    }

    /// Whether it is time to look at the news.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.news.is_some() && self.polls.is_multiple_of(POLLS)
    }

    /// Which rails' links have changed, and how. After an error there are no more news.
    pub(crate) fn changes(&mut self) -> io::Result<Vec<(usize, bool)>> {
        match self.news.as_ref().map(LinkNews::any) {
            Some(Ok(true)) => self.compare(),
            Some(Err(e)) => {
                self.news = None;
                Err(e)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn compare(&mut self) -> io::Result<Vec<(usize, bool)>> {
        let mut changes = Vec::new();
        let Some(news) = &self.news else { return Ok(changes) };
        for (rail, (interface, was)) in self.rails.iter_mut().enumerate() {
            let Some(interface) = interface else { continue };
            let up = news.is_up(interface)?;
            if std::mem::replace(was, up) != up {
                changes.push((rail, up));
            }
        }
        Ok(changes)
    }
}

/// The network interface of a device that libfabric names: itself, or what the kernel says is under
/// a verbs device.
fn interface(device: &str) -> Option<String> {
    let exists = |name: &str| std::path::Path::new("/sys/class/net").join(name).exists();
    if device.is_empty() || device.contains('/') {
        return None;
    }
    if exists(device) {
        return Some(device.to_owned());
    }
    // Providers name kinds of endpoints behind a dash.
    let device = device.split('-').next().unwrap_or(device);
    let under = format!("/sys/class/infiniband/{device}/ports/1/gid_attrs/ndevs/0");
    let name = std::fs::read_to_string(under).ok()?.trim().to_owned();
    exists(&name).then_some(name)
}
