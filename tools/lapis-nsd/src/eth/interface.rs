//! An interface that the daemon has taken: its windows, and what has become of it.

use crate::eth::bpf::Sockets;
use crate::eth::frames::Frames;
use crate::eth::netlink::{Link, Netlink};
use crate::eth::program::{self, Steering};
use lapis_adapters::eth::Wire;
use lapis_adapters::eth::frame::IN_MTU;
use lapis_adapters::eth::pool::Layout;
use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};

/// Bytes that the kernel keeps free before each frame that it receives, and the Ethernet's head.
const BEFORE: u32 = 256 + 14;
/// Frames of an interface to receive into.
const RECEIVE: u32 = 4096;
/// Frames of a window to send from, and entries of its receiving ring.
const SEND: u32 = 256;
const ARRIVALS: u32 = 2048;
/// Networks that follow from an address have numbers from here on; those that people give are
/// below.
pub(crate) const BY_ADDRESS: u32 = 1 << 31;

/// What holds the steering program.
#[derive(Debug)]
struct Attachment {
    link: OwnedFd,
    sockets: Sockets,
    native: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Interface {
    netlink: Netlink,
    link: Link,
    /// It has been removed, or has lost its address.
    gone: bool,
    steering: Steering,
    attachment: Option<Attachment>,
    /// Why there is none.
    refused: Option<String>,
    frames: Option<Frames>,
    /// Whose windows are open: the frames' memory is for one user.
    user: u32,
    /// The next hops that tasks know.
    hops: HashMap<Ipv4Addr, [u8; 6]>,
}

/// What [`Interface::look`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) up: bool,
    pub(crate) room: u32,
    /// Tasks should ask for next hops again.
    pub(crate) hops_changed: bool,
}

/// A window, as a task gets it: what it is, and socket, memory, link.
pub(crate) type Opened = (Wire, [OwnedFd; 3]);

impl Interface {
    /// Takes an interface. What a daemon before has left to tasks that still run is no error: the
    /// interface is then taken once they have ended.
    pub(crate) fn take(name: &str, windows: u32, port: u16) -> Result<Self, String> {
        let asks = |e: io::Error| format!("interface {name}: netlink: {e}");
        let netlink = Netlink::open().map_err(asks)?;
        let link = netlink.named(name).map_err(|e| match e.raw_os_error() {
            Some(libc::ENODEV) => format!("there is no interface `{name}`: `ip link` shows them"),
            _ => asks(e),
        })?;
        if link.loopback || link.mac == [0; 6] {
            return Err(format!("{name} is no Ethernet interface"));
        }
        let address = netlink.address(link.index).map_err(asks)?;
        let Some((address, _)) = address else {
            return Err(format!(
                "{name} has no IPv4 address: `ip addr add ADDRESS/BITS dev {name}` gives it one"
            ));
        };
        let queues = queues(&link.name).map_err(asks)?;
        if queues > 1 {
            return Err(format!(
                "{name} spreads what it receives over {queues} queues, and windows are at one: \
                 `ethtool -L {name} combined 1`"
            ));
        }
        let steering = Steering { address, port, windows };
        let mut taken = Self {
            netlink,
            link,
            gone: false,
            steering,
            attachment: None,
            refused: None,
            frames: None,
            user: 0,
            hops: HashMap::new(),
        };
        match taken.attach() {
            Err(e) if e.raw_os_error() != Some(libc::EBUSY) => Err(because(name, &e)),
            _ => Ok(taken),
        }
    }

    /// The number of the network that its address says: the same at each of its hosts.
    pub(crate) fn network(&self) -> u32 {
        let bits = self.netlink.address(self.link.index).ok().flatten().map_or(0, |(_, bits)| bits.min(32));
        let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
        BY_ADDRESS | (self.steering.address.to_bits() & mask).rotate_right(8)
    }

    fn attach(&mut self) -> io::Result<()> {
        match self.attached() {
            Ok(attachment) => {
                (self.attachment, self.refused) = (Some(attachment), None);
                Ok(())
            }
            Err(e) => {
                self.refused = Some(because(&self.link.name, &e));
                Err(e)
            }
        }
    }

    /// Puts the program at the interface: native if the driver can.
    fn attached(&self) -> io::Result<Attachment> {
        let sockets = Sockets::new(self.steering.windows)?;
        let program = program::load(self.steering, &sockets)?;
        let attached = program.attach(self.link.index, true).map(|link| (link, true));
        let attached = attached.or_else(|e| match e.raw_os_error() {
            Some(libc::EBUSY | libc::EEXIST | libc::EPERM) => Err(e),
            _ => program.attach(self.link.index, false).map(|link| (link, false)),
        });
        let (link, native) = attached?;
        // Whether the kernel has AF_XDP at all tells a try.
        let layout = Layout { receive: 64, windows: 1, send: 64, arrivals: 64, ..self.layout() };
        Frames::make(self.link.index, layout, native)?;
        Ok(Attachment { link, sockets, native })
    }

    fn layout(&self) -> Layout {
        let chunk = if self.link.mtu + BEFORE <= 2048 { 2048 } else { 4096 };
        Layout { chunk, receive: RECEIVE, windows: self.steering.windows, send: SEND, arrivals: ARRIVALS }
    }

    fn room(&self) -> u32 {
        let layout = self.frames.as_ref().map_or_else(|| self.layout(), Frames::layout);
        self.link.mtu.min(layout.chunk - BEFORE).saturating_sub(IN_MTU as u32)
    }

    pub(crate) fn name(&self) -> &str {
        &self.link.name
    }

    /// Why no window can be opened.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// How frames get to tasks.
    pub(crate) fn mode(&self) -> Option<&'static str> {
        let native = self.attachment.as_ref()?.native;
        let zero_copy = self.frames.as_ref().is_some_and(|frames| frames.zero_copy);
        Some(if zero_copy {
            "zero-copy"
        } else if native {
            "native"
        } else {
            "generic"
        })
    }

    /// Looks what has become of it.
    pub(crate) fn look(&mut self) -> State {
        match self.netlink.numbered(self.link.index) {
            Ok(link) => self.link = link,
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => self.gone = true,
            // The kernel is short of something: nothing is known to have changed.
            Err(_) => {}
        }
        let address = self.netlink.address(self.link.index).ok().flatten();
        let has_address = address.is_some_and(|(address, _)| address == self.steering.address);
        let mut hops_changed = false;
        for (to, mac) in &mut self.hops {
            let Ok(hop) = self.netlink.next_hop(self.link.index, *to) else { continue };
            match self.netlink.neighbour(self.link.index, hop) {
                Ok(Some(now)) if now != *mac => (*mac, hops_changed) = (now, true),
                // The way leads over somebody whom nobody has looked for yet.
                Ok(None) => drop(self.netlink.look_for(self.link.index, hop)),
                _ => {}
            }
        }
        let up = !self.gone && has_address && self.link.carries;
        State { up, room: self.room(), hops_changed }
    }

    /// Takes the interface again, if that was impossible before.
    pub(crate) fn retry(&mut self) {
        let idle = self.frames.as_ref().is_none_or(Frames::is_idle);
        if self.gone
            && idle
            && let Ok(link) = self.netlink.named(&self.link.name)
        {
            // Another one of the same name: what was at the old one has gone with it.
            (self.frames, self.attachment, self.gone) = (None, None, false);
            self.link = link;
        }
        if !self.gone && self.attachment.is_none() {
            // `refused` says why not.
            let _ = self.attach();
        }
    }

    /// Opens a window for a user. The text says why not.
    pub(crate) fn open(&mut self, window: u32, user: u32) -> Result<Opened, String> {
        self.retry();
        let name = self.link.name.clone();
        if self.gone {
            return Err(format!("{name} has been removed"));
        }
        if self.frames.as_ref().is_some_and(|frames| !frames.is_idle()) && self.user != user {
            return Err(format!(
                "{name} is in use by user {}: an interface's windows are for one user at a time",
                self.user
            ));
        }
        let layout = self.layout();
        let Some(attachment) = &self.attachment else {
            return Err(self.refused.clone().unwrap_or_else(|| format!("{name} has not been taken")));
        };
        let made = (|| {
            if self.frames.is_none() {
                self.frames = Some(Frames::make(self.link.index, layout, attachment.native)?);
            }
            let Some(frames) = &mut self.frames else { return Err(io::ErrorKind::NotFound.into()) };
            let socket = frames.open(window)?;
            attachment.sockets.set(window, Some(socket.as_fd()))?;
            Ok(([socket, frames.memory()?, attachment.link.try_clone()?], frames.layout(), frames.zero_copy))
        })();
        let (fds, layout, zero_copy) = made.map_err(|e| {
            self.close(window);
            because(&name, &e)
        })?;
        self.user = user;
        let wire = Wire {
            mac: self.link.mac,
            address: self.steering.address,
            port: self.steering.port + window as u16,
            room: self.room(),
            layout,
            zero_copy,
        };
        Ok((wire, fds))
    }

    /// Frames to a window for which there was no room.
    pub(crate) fn lost(&self, window: u32) -> u64 {
        self.frames.as_ref().map_or(0, |frames| frames.lost(window))
    }

    /// A window is free again.
    pub(crate) fn close(&mut self, window: u32) {
        if let Some(attachment) = &self.attachment {
            // A socket that its task has closed has left the table by itself.
            let _ = attachment.sockets.set(window, None);
        }
        if let Some(frames) = &mut self.frames {
            frames.close(window);
        }
        // Frames that were lost with killed tasks are there again in the next memory.
        if self.frames.as_ref().is_some_and(Frames::is_idle) {
            self.frames = None;
        }
    }

    /// The next hop to an address; none, while it is looked for.
    pub(crate) fn hop(&mut self, to: Ipv4Addr) -> io::Result<Option<[u8; 6]>> {
        let hop = self.netlink.next_hop(self.link.index, to)?;
        let mac = self.netlink.neighbour(self.link.index, hop)?;
        match mac {
            Some(mac) => {
                // Enough for each task of a large job; who asks for more is served, too.
                if self.hops.len() < 1 << 16 {
                    self.hops.insert(to, mac);
                }
            }
            None => self.netlink.look_for(self.link.index, hop)?,
        }
        Ok(mac)
    }
}

/// The reason and the remedy.
fn because(name: &str, e: &io::Error) -> String {
    let remedy = match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            " (this takes CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF: run the daemon as root or by its systemd unit)"
        }
        Some(libc::EBUSY | libc::EEXIST) => {
            " (another XDP program is there, or tasks of a daemon that has ended: `ip link` shows it; it is taken when \
             it is free)"
        }
        Some(libc::EAFNOSUPPORT) => " (this kernel has no AF_XDP: CONFIG_XDP_SOCKETS)",
        Some(libc::ENOBUFS | libc::ENOMEM) => {
            " (the limit of locked memory is too low: LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited)"
        }
        Some(libc::EOPNOTSUPP | libc::EINVAL) => " (its driver has no XDP, or not with this MTU)",
        _ => "",
    };
    format!("interface {name} can't be taken: {e}{remedy}")
}

/// Queues over which an interface spreads what it receives.
fn queues(name: &str) -> io::Result<u32> {
    #[repr(C)]
    #[derive(Default)]
    struct Channels {
        command: u32,
        most: [u32; 4],
        receiving: u32,
        sending: u32,
        other: u32,
        combined: u32,
    }
    const GET_CHANNELS: u32 = 0x3c;
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    // SAFETY: plain data, valid as zeros.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: the request names memory of the length that the command has.
    let done = unsafe {
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCETHTOOL as _, &raw mut request)
    };
    // Drivers that don't know the question have one queue.
    Ok(if done < 0 { 1 } else { (channels.receiving + channels.combined).max(1) })
}
