//! Copies past the windows: with whom, and one of them.

use super::Hps;
use crate::address::Card;
use crate::direct::Process;
use lapis_core::transport::{PeerId, RawSlice, RemoteAddr, Status};
use lapis_cross_memory::Access;

impl Hps {
    /// Whether the kernel copies data from process to process.
    pub(super) fn copies(&self) -> bool {
        self.windows_only.is_none() && self.no_copies.is_none()
    }

    /// Which ways past the windows' FIFOs there are not, and why.
    pub(super) fn why_not_past(&self) -> Option<String> {
        let windows = self.windows_only.as_ref().map(|why| format!("all data through the windows ({why})"));
        windows.or_else(|| self.no_copies.as_ref().map(|why| format!("no direct copies ({why})")))
    }

    /// Finds out whether data may go past the windows, unless it may not with another peer.
    pub(super) fn probe_direct(&mut self, peer: PeerId, theirs: &Card) {
        if self.windows_only.is_some() {
            return;
        }
        if theirs.host != self.card.host {
            self.windows_only = Some(format!("task {peer} is on another host"));
            return;
        }
        match Process::find(&theirs.landmark) {
            Ok(process) => self.processes[peer as usize] = Some(process),
            Err(why) if theirs.landmark.pid == 0 => {
                self.windows_only = Some(format!("cross-memory attach {why}"));
            }
            // Lanes need no such copies.
            Err(why) if self.no_copies.is_none() => {
                self.host.warn(format_args!(
                    "cross-memory attach to task {peer} (process {}) {why}: large messages are copied twice",
                    theirs.landmark.pid
                ));
                self.no_copies = Some(format!("cross-memory attach {why}"));
            }
            Err(_) => {}
        }
    }

    /// One copy past the windows.
    ///
    /// # Safety
    /// `local` is valid, writable for [`Access::Read`].
    pub(super) unsafe fn copy_directly(
        &mut self,
        access: Access,
        peer: PeerId,
        local: RawSlice,
        there: RemoteAddr,
    ) -> Status {
        let Some(ways) = self.ways.get(peer as usize).and_then(Option::as_deref) else {
            return Status::Invalid;
        };
        // Without a way that is up there is no connection, though memory could still be reached.
        let reached = self.copies() && ways.iter().any(|way| way.up);
        let Some(process) = self.processes[peer as usize].as_ref().filter(|_| reached) else {
            return Status::Unsupported;
        };
        // SAFETY: the local range is valid by the promise of this function's caller.
        unsafe { process.copy(access, local, there.addr) }.unwrap_or_else(|e| {
            self.host.error(format_args!(
                "cross-memory attach ({access:?}, {} bytes at {:#x} of task {peer}) failed: {e}",
                local.len, there.addr
            ));
            Status::Io
        })
    }
}
