//! Puts of a few bytes to registered memory whose completion only fences ask for.
//!
//! A transport that guarantees that no message overtakes them ([`Caps::PUT_SHORT`]) copies the
//! bytes and reports nothing more. So a put costs the target no confirmation before it polls its
//! memory. A fence, a purge, or the end of the context must know that the bytes have arrived, and
//! sends a query behind them (`Recall`, which names an operation of its own).
//!
//! ```text
//!   origin                                  target
//!     | put_short ═════════════════════════►| in memory
//!     | put_short ═════════════════════════►| in memory
//!     | fence: Recall {operation} ─────────►| ordered like messages, so behind the puts
//!     |◄─────────────── Recall {confirmed}  |
//! ```

use super::{Operation, Waiting};
use crate::context::{Locked, Notify};
use crate::state::{PeerState, Transfer};
use crate::transport::{Caps, MAX_SHORT_PUT, PeerId, RemoteAddr, Status};

impl Locked<'_> {
    /// Carries out a put if it is short enough, and nobody counts its end. False: it goes another
    /// way, which waits for room, or says what is wrong.
    pub(super) fn put_without_word(&mut self, target: PeerId, transfer: &Transfer) -> bool {
        let Transfer { local, remote: addr, key, len, .. } = *transfer;
        if len == 0 || len > MAX_SHORT_PUT as u64 {
            return false;
        }
        let Some(link) = self.link_to(target).filter(|link| link.caps().contains(Caps::PUT_SHORT)) else {
            return false;
        };
        // SAFETY: the caller that began the transfer vouched for our side until it is notified, and
        // for what the target gave out.
        let status = unsafe {
            let data = std::slice::from_raw_parts(local.cast_const(), len as usize);
            link.put_short(target, data, RemoteAddr { addr, key })
        };
        if status != Status::Done {
            return false;
        }
        self.peers[target].puts_land = true;
        self.peers.all_done_at = None;
        self.shared().count_direct(target, transfer.direction, len);
        self.sending.ended += 1;
        true
    }

    /// Asks a peer, behind all short puts to it, to say when it has come so far. Without such puts
    /// nothing is asked.
    pub(crate) fn ask_for_landing(&mut self, peer: PeerId) {
        if let Some(id) = self.note_landing(peer) {
            self.ask_back(peer, &[id]);
        }
    }

    /// Notes that such an answer will come: the operation to ask for.
    pub(super) fn note_landing(&mut self, peer: PeerId) -> Option<u64> {
        if !std::mem::take(&mut self.peers[peer].puts_land) {
            return None;
        }
        let sequence = self.next_operation(peer);
        let (origin, completion) = (Notify::None, Notify::None);
        let waiting = Waiting::Landing;
        Some(self.operations.insert(Operation {
            peer,
            waiting,
            origin,
            completion,
            target_counter: 0,
            sequence,
        }))
    }

    /// Asks all peers that short puts are on their way to.
    pub(crate) fn ask_for_landings(&mut self) {
        for peer in self.shared().other_tasks() {
            if self.peers[peer].state == PeerState::Up {
                self.ask_for_landing(peer);
            }
        }
    }
}
