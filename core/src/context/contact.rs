//! First contact with peers of transports that connect on demand ([`Caps::LATE_CONTACT`]): in jobs
//! of many tasks on one machine, where most pairs never communicate.

use super::{Context, Locked};
use crate::state::PeerState;
use crate::transport::{Caps, PeerId, Window};

impl Locked<'_> {
    /// Gets to know a peer, and takes note of what leads to it. What keeps the transport from that,
    /// as the peer's end, shows in the operation that follows.
    #[cold]
    #[inline(never)]
    pub(crate) fn meet(&mut self, peer: PeerId) {
        let p = &self.peers[peer];
        if p.met || p.state != PeerState::Up {
            return;
        }
        let Some(link) = self.link_to(peer) else { return };
        let nothing = Window { remote_base: 0, len: 0, local_base: std::ptr::null_mut() };
        let window = link.window(peer).unwrap_or(nothing);
        if link.caps().contains(Caps::LATE_CONTACT) && link.send_lane(peer).is_none() {
            return;
        }
        self.peers[peer].met = true;
        let shared = self.shared();
        // Before the window: whoever finds that counts in the peer's line.
        shared.tallies.met(peer, &window);
        shared.flags.met(peer, &window);
        shared.windows[peer as usize].met(&window);
        self.find_lane(peer);
    }
}

impl Context {
    /// Where a range of a peer's memory is mapped here, when the peer has been met.
    #[cold]
    #[inline(never)]
    pub(crate) fn direct_after_contact(&self, target: PeerId, remote: u64, len: u64) -> Option<*mut u8> {
        self.usable().ok()?;
        self.locked().meet(target);
        self.shared.windows[target as usize].find(remote, len)
    }
}
