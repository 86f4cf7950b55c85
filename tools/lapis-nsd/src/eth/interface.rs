//! An interface that the daemon has taken: its windows, and what has become of it.

use crate::adapters::EthMode;
use crate::eth::announce;
use crate::eth::attachment::Attachment;
use crate::eth::frames::Frames;
use crate::eth::hops::Hops;
use crate::eth::lanes::Lanes;
use crate::eth::netlink::{Heard, Link, Netlink};
use crate::eth::network::{self, BY_ADDRESS};
use crate::eth::program::Steering;
use crate::eth::queues;
use crate::eth::refusal::{Refusal, because, is_busy, too_many_queues};
use crate::process::Process;
use lapis_adapters::eth::frame::Version;
use lapis_adapters::eth::pool::{Layout, MOST_PARTS};
use lapis_adapters::eth::{Hop, MOST_QUEUES, Wire};
use lapis_adapters::protocol::Why;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// Bytes that the kernel keeps free at the beginning of each frame that it receives.
const FREE: u32 = 256;
/// The Ethernet's head, which an MTU does not count.
const HEAD: u32 = 14;
/// Frames that may wait for a window at all queues: as many as its owner promises to hold, of an
/// MTU of 1500, and as many again. Of all windows no more than this.
const ARRIVALS: u32 = 1024;
const ALL_ARRIVALS: u32 = 16 * ARRIVALS;
/// Frames that may wait for a window at a queue at least: what leaves together takes up to 37.
const LEAST_ARRIVALS: u32 = 64;
/// Frames that a task has read and not given back, at most, and some more.
const READ: u32 = 64;
/// Frames of a window to send from.
const SEND: u32 = 256;
/// For so long what is in use may be so because the kernel has not freed it yet, which it does when
/// it has time: what this daemon had, and what one before it may have had.
const OURS: Duration = Duration::from_secs(10);
const OF_ANOTHER: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug)]
pub(crate) struct Interface {
    netlink: Netlink,
    link: Link,
    /// It has been removed, or has lost its address.
    gone: bool,
    /// Its address is still its own, as the kernel said last.
    has_address: bool,
    /// The kernel takes datagrams of several frames here.
    in_parts: bool,
    /// Its sockets poll busily for so many microseconds.
    busy_poll: u32,
    mode: EthMode,
    steering: Steering,
    attachment: Option<Attachment>,
    /// Why there is none.
    refused: Option<Refusal>,
    frames: Option<Lanes>,
    /// Whose windows are open: the frames' memory is for one user.
    user: u32,
    /// The next hops that tasks know.
    hops: Hops,
    /// By then the kernel has freed what somebody let go of last.
    free_by: Instant,
}

/// What [`Interface::look`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) up: bool,
    pub(crate) room: u32,
    /// Tasks should ask for next hops again.
    pub(crate) hops_changed: bool,
    /// None of those whom tasks look for from here answers.
    pub(crate) silent: bool,
}

/// A window, as a task gets it: what it is, and lease, then socket and memory of each queue.
pub(crate) type Opened = (Wire, Vec<OwnedFd>);

impl Interface {
    /// Takes an interface. What a daemon before has left to tasks that still run is no error: the
    /// interface is then taken once they have ended.
    pub(crate) fn take(
        name: &str,
        windows: u32,
        port: u16,
        (busy_poll, mode): (u32, EthMode),
    ) -> Result<Self, String> {
        let asks = |e: io::Error| format!("interface {name}: netlink: {e}");
        let netlink = Netlink::open().map_err(asks)?;
        let link = netlink.named(name).map_err(|e| match e.raw_os_error() {
            Some(libc::ENODEV) => format!("there is no interface `{name}`: `ip link` shows them"),
            _ => asks(e),
        })?;
        if link.loopback || link.mac == [0; 6] {
            return Err(format!("{name} is no Ethernet interface"));
        }
        let addresses = netlink.addresses(link.index).map_err(asks)?;
        let Some((address, _)) = addresses.first().copied() else {
            return Err(format!(
                "{name} has no address, of IPv4 or of IPv6 beyond its link: `ip addr add ADDRESS/BITS dev {name}` \
                 gives it one"
            ));
        };
        let queues = queues::of(&link.name).map_err(asks)?;
        if queues > MOST_QUEUES {
            return Err(too_many_queues(name, queues));
        }
        let steering = Steering { address, port, windows, queues };
        let mut taken = Self {
            netlink,
            link,
            gone: false,
            has_address: true,
            in_parts: true,
            busy_poll,
            mode,
            steering,
            attachment: None,
            refused: None,
            frames: None,
            user: 0,
            hops: Hops::none(),
            free_by: Instant::now() + OF_ANOTHER,
        };
        match taken.attach() {
            Err(e) if e.raw_os_error() != Some(libc::EBUSY) => Err(because(name, &e)),
            _ => Ok(taken),
        }
    }

    /// Its address, as it was taken.
    pub(crate) fn address(&self) -> IpAddr {
        self.steering.address
    }

    /// Whether an address is one of its subnet.
    pub(crate) fn covers(&self, other: IpAddr) -> bool {
        let addresses = self.netlink.addresses(self.link.index).unwrap_or_default();
        addresses.iter().any(|&(own, bits)| {
            own == self.steering.address && network::number(own, bits) == network::number(other, bits)
        })
    }

    /// The number of the network that its address says: the same at each of its hosts.
    pub(crate) fn network(&self) -> u32 {
        let addresses = self.netlink.addresses(self.link.index).unwrap_or_default();
        let own = addresses.iter().find(|(address, _)| *address == self.steering.address);
        BY_ADDRESS | network::number(self.steering.address, own.map_or(0, |(_, bits)| *bits))
    }

    /// The next hop to an address; none, while it is looked for.
    pub(crate) fn hop(&mut self, to: IpAddr) -> io::Result<Option<Hop>> {
        self.hops.find(&self.netlink, &self.link, to)
    }

    fn attach(&mut self) -> io::Result<()> {
        match self.attached() {
            Ok(attachment) => {
                (self.attachment, self.refused) = (Some(attachment), None);
                Ok(())
            }
            Err(e) => {
                self.refused = Some(self.refusal(&e));
                Err(e)
            }
        }
    }

    /// Puts the program at the interface, and tries whether frames can be had there.
    fn attached(&mut self) -> io::Result<Attachment> {
        let (index, is_pair) = (self.link.index, self.link.is_pair);
        let in_parts = &mut self.in_parts;
        // Whether the kernel has AF_XDP at all tells a try, and whether frames may have parts here.
        let little = |parts| Layout { chunk: 4096, parts, receive: 64, windows: 1, send: 64, arrivals: 64 };
        let frames = |parts, native| Frames::make((index, 0), little(parts), (native, parts > 1), 0);
        let attachment = Attachment::put(index, (self.steering, self.mode), is_pair, |native| {
            *in_parts = frames(MOST_PARTS, native).is_ok();
            if *in_parts { Ok(()) } else { frames(1, native).map(drop) }
        })?;
        self.free_by = Instant::now() + OURS;
        Ok(attachment)
    }

    fn layout(&self) -> Layout {
        let one = self.link.mtu + HEAD + FREE;
        let chunk = if one <= 2048 { 2048 } else { 4096 };
        let parts = if one > chunk && self.in_parts { MOST_PARTS } else { 1 };
        let windows = self.steering.windows;
        let (arrivals, receive) = waiting(windows, self.steering.queues);
        Layout { chunk, parts, receive, windows, send: SEND, arrivals }
    }

    fn room(&self) -> u32 {
        let layout = self.frames.as_ref().map_or_else(|| self.layout(), Lanes::layout);
        let longest = layout.parts * (layout.chunk - FREE) - HEAD;
        self.link.mtu.min(longest).saturating_sub(Version::of(self.steering.address).in_mtu() as u32)
    }

    pub(crate) fn name(&self) -> &str {
        &self.link.name
    }

    /// Why no window can be opened.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_ref().map(|(_, text)| text.as_str())
    }

    /// Whether that may be over in a moment.
    pub(crate) fn is_refused_for_now(&self) -> bool {
        self.refused.as_ref().is_some_and(|(why, _)| *why == Why::Soon)
    }

    fn refusal(&self, e: &io::Error) -> Refusal {
        let is_soon = is_busy(e) && Instant::now() < self.free_by;
        (if is_soon { Why::Soon } else { Why::Exhausted }, because(&self.link.name, e))
    }

    /// How frames get to tasks.
    pub(crate) fn mode(&self) -> Option<String> {
        let native = self.attachment.as_ref()?.native;
        let zero_copy = self.frames.as_ref().is_some_and(Lanes::zero_copy);
        let how = if zero_copy {
            "zero-copy"
        } else if native {
            "native"
        } else {
            "generic"
        };
        let busily = if self.busy_poll > 0 { ", busy polling" } else { "" };
        let queues = self.steering.queues;
        let spread = if queues > 1 { format!(", {queues} queues") } else { String::new() };
        Some(format!("{how}{spread}{busily}"))
    }

    /// Looks what has become of it, after such news.
    pub(crate) fn look(&mut self, heard: Heard) -> State {
        if self.gone {
            self.retry();
        }
        let own = self.link.mac;
        match self.netlink.numbered(self.link.index) {
            Ok(link) => self.link = link,
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) => self.gone = true,
            // The kernel is short of something: nothing is known to have changed.
            Err(_) => {}
        }
        if let Ok(addresses) = self.netlink.addresses(self.link.index) {
            self.has_address = addresses.iter().any(|(address, _)| *address == self.steering.address);
        }
        let moved = self.link.mac != own;
        if moved && !self.gone {
            // The kernel's own traffic would tell the neighbours in time.
            let _ = announce::send(self.link.index, self.link.mac, self.steering.address);
        }
        let hops_changed = self.hops.have_changed(&self.netlink, self.link.index, heard) || moved;
        let up = !self.gone && self.has_address && self.link.carries;
        State { up, room: self.room(), hops_changed, silent: self.is_silent() }
    }

    /// Whether it has been removed.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    fn is_silent(&self) -> bool {
        self.hops.are_silent()
    }

    /// Whether it is another one than was seen last, though the kernel has told nothing: time has
    /// passed, or frames were let go of that were short.
    pub(crate) fn has_turned(&self, seen: &State) -> bool {
        self.is_silent() != seen.silent || self.room() != seen.room
    }

    /// Does what is due: lets go of the frames of closed windows, and asks neighbours.
    pub(crate) fn settle(&mut self) {
        if let Some(frames) = &mut self.frames {
            frames.settle();
            if frames.is_settled() {
                (self.frames, self.free_by) = (None, Instant::now() + OURS);
            }
        }
        self.hops.ask(&self.netlink, self.link.index);
    }

    /// When something is due.
    pub(crate) fn settles_in(&self) -> Option<Duration> {
        let settle = self.frames.as_ref().and_then(Lanes::settles_in);
        settle.into_iter().chain(self.hops.asks_in()).min()
    }

    /// Takes the interface again, if that was impossible before.
    pub(crate) fn retry(&mut self) {
        let idle = self.frames.as_ref().is_none_or(Lanes::is_idle);
        if self.gone
            && idle
            && let Ok(link) = self.netlink.named(&self.link.name)
        {
            // Another one of the same name: what was at the old one has gone with it.
            (self.frames, self.attachment, self.gone) = (None, None, false);
            self.link = link;
        }
        let fits = self.gone || !idle || self.look_at_queues();
        if !self.gone && fits && self.attachment.is_none() {
            // `refused` says why not.
            let _ = self.attach();
        }
    }

    /// Lets go of the interface if it has another number of queues than it had: it is taken again.
    /// False: it has too many, and `refused` says so. What arrived at those beyond would be lost.
    fn look_at_queues(&mut self) -> bool {
        let Ok(queues) = queues::of(&self.link.name) else { return true };
        let fits = queues <= MOST_QUEUES;
        if !fits {
            self.refused = Some((Why::Exhausted, too_many_queues(&self.link.name, queues)));
        }
        if queues != self.steering.queues {
            self.steering.queues = queues.min(MOST_QUEUES);
            (self.frames, self.attachment, self.free_by) = (None, None, Instant::now() + OURS);
        }
        fits
    }

    /// Lets go of frames that can't serve another window of this user, or says who has them.
    fn make_way(&mut self, user: u32, layout: Layout) -> Result<(), Refusal> {
        let (name, owner) = (&self.link.name, self.user);
        let Some(frames) = &mut self.frames else { return Ok(()) };
        if !frames.is_idle() && owner != user {
            let text = format!(
                "{name} is in use by user {owner}: an interface's windows are for one user at a time"
            );
            return Err((Why::Exhausted, text));
        }
        if !frames.is_idle() || owner == user && frames.layout() == layout {
            return Ok(());
        }
        frames.settle();
        if frames.is_settled() {
            (self.frames, self.free_by) = (None, Instant::now() + OURS);
            return Ok(());
        }
        let whose = if frames.is_kept() { "a process still has" } else { "until a moment ago a task had" };
        let text = format!("{name} is in use by user {owner}: {whose} the socket of a window that is closed");
        Err((Why::Soon, text))
    }

    /// Opens a window for a user, or says why not.
    pub(crate) fn open(&mut self, window: u32, user: u32) -> Result<Opened, Refusal> {
        self.retry();
        let name = self.link.name.clone();
        if self.gone {
            return Err((Why::Exhausted, format!("{name} has been removed")));
        }
        let (layout, queues) = (self.layout(), self.steering.queues);
        self.make_way(user, layout)?;
        let Some(attachment) = &self.attachment else {
            let unsaid = || (Why::Exhausted, format!("{name} has not been taken"));
            return Err(self.refused.clone().unwrap_or_else(unsaid));
        };
        // The generic code sees what left together in one piece, and puts it into several frames.
        let joins = self.in_parts && !attachment.native;
        let made = (|| {
            if self.frames.is_none() {
                let (how, busy) = ((attachment.native, joins || layout.parts > 1), self.busy_poll);
                self.frames = Some(Lanes::make(self.link.index, queues, layout, how, busy)?);
            }
            let Some(frames) = &mut self.frames else { return Err(io::ErrorKind::NotFound.into()) };
            let mut fds = vec![attachment.lease.try_clone()?];
            for (at, (socket, memory)) in (window * queues..).zip(frames.open(window)?) {
                attachment.sockets.set(at, Some(socket.as_fd()))?;
                fds.extend([socket, memory]);
            }
            Ok((fds, frames.layout(), frames.zero_copy()))
        })();
        let (fds, layout, zero_copy) = made.map_err(|e| {
            let refusal = self.refusal(&e);
            self.take_back(window, None);
            refusal
        })?;
        self.user = user;
        let wire = Wire {
            mac: self.link.mac,
            address: self.steering.address,
            port: self.steering.port + window as u16,
            room: self.room(),
            layout,
            queues,
            busy_poll: self.busy_poll > 0,
            index: self.link.index,
            joins,
            zero_copy,
        };
        Ok((wire, fds))
    }

    /// Datagrams that a window's task says it has taken out.
    pub(crate) fn taken(&self, window: u32) -> u64 {
        self.frames.as_ref().map_or(0, |frames| frames.taken(window))
    }

    /// Frames to a window for which there was no room.
    pub(crate) fn lost(&self, window: u32) -> u64 {
        self.frames.as_ref().map_or(0, |frames| frames.lost(window))
    }

    /// Nobody has a window open any more. `lives`: the process that had it, which may go on with
    /// it.
    pub(crate) fn close(&mut self, window: u32, lives: Option<Process>) {
        self.take_back(window, lives);
        self.free_by = Instant::now() + OURS;
    }

    /// The process that may go on with a window which nobody has open.
    pub(crate) fn still_used_by(&self, window: u32) -> Option<&Process> {
        self.frames.as_ref()?.still_used_by(window)
    }

    /// Who may go on with a window has it open again.
    pub(crate) fn resume(&mut self, window: u32) {
        let (Some(frames), Some(attachment)) = (&mut self.frames, &self.attachment) else { return };
        for (at, socket) in (window * self.steering.queues..).zip(frames.resume(window)) {
            // Its senders find out if nothing arrives.
            let _ = attachment.sockets.set(at, Some(socket));
        }
    }

    fn take_back(&mut self, window: u32, lives: Option<Process>) {
        if let Some(attachment) = &self.attachment {
            let queues = self.steering.queues;
            for at in window * queues..(window + 1) * queues {
                // A socket that its task has closed has left the table by itself.
                let _ = attachment.sockets.set(at, None);
            }
        }
        if let Some(frames) = &mut self.frames {
            frames.close(window, lives.as_ref());
        }
    }

    /// No window is open, of whichever daemon: nobody knows a next hop.
    pub(crate) fn forget_hops(&mut self) {
        self.hops.forget();
    }
}

/// Frames that may wait for a window at a queue, and frames of the queue to receive into. With each
/// window another share of those is in use. If all tasks but one compute, and have as many frames
/// as they can, there are some for that one.
fn waiting(windows: u32, queues: u32) -> (u32, u32) {
    let shares = windows.next_power_of_two();
    let arrivals = (ARRIVALS / queues.next_power_of_two()).min(ALL_ARRIVALS / shares).max(LEAST_ARRIVALS);
    let share = if arrivals >= READ * windows { arrivals } else { 2 * arrivals };
    (arrivals, share * shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_compute_leave_frames_to_the_one_that_does_not() {
        assert_eq!((waiting(16, 1), waiting(16, 4)), ((1024, 16_384), (256, 8192)));
        for (windows, queues) in (1..=256).flat_map(|windows| (1..=16).map(move |queues| (windows, queues))) {
            let (arrivals, receive) = waiting(windows, queues);
            let layout = Layout { chunk: 4096, parts: 4, receive, windows, send: SEND, arrivals };
            assert!(layout.is_sound() && arrivals >= LEAST_ARRIVALS, "{windows} {queues}: {layout:?}");
            let share = receive / windows.next_power_of_two();
            for open in 1..=windows {
                let held = (open - 1) * (arrivals + READ / 2);
                assert!(open * share >= held + arrivals / 2, "{windows} {queues} {open}: {layout:?}");
            }
        }
    }
}
