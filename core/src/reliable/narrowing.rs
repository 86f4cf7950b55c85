//! What follows when the size of a path's datagrams changes: larger units are given up and go in
//! parts, and the caller hears how large units may be. `path_mtu.rs` finds the sizes out.

use super::config::Nanos;
use super::events::Event;
use super::path_mtu::Lost;
use super::peer::Peer;
use super::sent::Fate;
use super::shared::Shared;
use super::wire::MIN_DATAGRAM;

impl Peer {
    /// A path loses what is larger than `size`, or as large if that is what is sent already.
    #[cold]
    pub(super) fn fall_back(&mut self, at: usize, size: usize, shared: &mut Shared) {
        let before = self.max_payload();
        let path = &mut self.paths[at];
        if size >= path.max_datagram {
            path.mtu.search_floor();
            return;
        }
        path.set_max_datagram(size);
        // That it passes is no more than likely.
        path.mtu.search_from(MIN_DATAGRAM);
        self.give_up_larger(at, size, shared);
        self.tell_room(before, shared);
    }

    /// A padded datagram has arrived.
    #[cold]
    pub(super) fn size_passes(&mut self, now: Nanos, at: usize, number: u64, shared: &mut Shared) {
        let before = self.max_payload();
        let path = &mut self.paths[at];
        if let Some(size) = path.mtu.on_probe_acked(now, number)
            && size > path.max_datagram
        {
            path.set_max_datagram(size);
        }
        self.tell_room(before, shared);
        self.tell_narrow(at, shared);
    }

    /// A padded datagram should have arrived by now.
    #[cold]
    pub(super) fn size_is_due(&mut self, now: Nanos, at: usize, shared: &mut Shared) {
        let path = &mut self.paths[at];
        let Some(number) = path.mtu.probe() else { return };
        if !path.loss.overtaken(number) {
            // The peer is silent. Others ask whether it is there.
            let wait = 4 * path.rtt.pto(&shared.config);
            return path.mtu.wait_until(now + wait.max(shared.config.retransmit_max / 4));
        }
        if let Some(sent) = path.sent.get_mut(number) {
            sent.fate = Fate::Settled;
        }
        let lost = path.mtu.on_probe_lost(now);
        path.retire(now, &shared.config);
        match lost {
            Lost::TooLarge { low, high } if high <= path.max_datagram => {
                let before = self.max_payload();
                self.paths[at].set_max_datagram(low);
                self.give_up_larger(at, low, shared);
                self.tell_room(before, shared);
            }
            Lost::Floor => {
                shared.events.push_back(Event::PathTooNarrow { peer: self.task, path: path.id });
            }
            _ => {}
        }
        self.tell_narrow(at, shared);
    }

    fn tell_narrow(&mut self, at: usize, shared: &mut Shared) {
        let path = &mut self.paths[at];
        if path.mtu.news(path.max_datagram) {
            let (told, bytes) = (path.mtu.told, path.max_datagram);
            shared.events.push_back(Event::PathNarrow { peer: self.task, path: path.id, told, bytes });
        }
    }
}
