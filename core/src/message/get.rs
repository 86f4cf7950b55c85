//! Gets: answering a request, and what the answer does at its origin.

use super::dispatch::malformed;
use super::packet::Submitted;
use super::{Outgoing, Source, TrustedSource, Waiting};
use crate::context::{Locked, Notify};
use crate::counter::Counter;
use crate::error::{Access, Reason};
use crate::transport::{PeerId, Status};
use crate::wire::{Header, Kind, MAX_HEADER};

impl Locked<'_> {
    pub(super) fn get_arrived(&mut self, source: PeerId, header: &Header) {
        let operation = header.extra[0];
        if !self.may_touch(header, header.subject, header.total) {
            let what = (Access::Get, header.total, Reason::Outside);
            return self.refuse(source, header, operation, what);
        }
        let target_counter = header.target_counter;
        let origin = if target_counter == 0 {
            Notify::None
        } else {
            Notify::counter(target_counter as usize as *const Counter)
        };
        let wanted = Source::Contiguous(header.subject as usize as *const u8, header.total);
        // SAFETY: the origin names memory that this task gave out (checked for the safe interface).
        let mut wanted = unsafe { TrustedSource::new(wanted) };
        if self.answer_at_once(source, header, &mut wanted) {
            origin.notify(self, source, Ok(()));
            // The request is done as a message; fences wait for the answer at its origin.
            return self.done_here(source, header.message);
        }
        if header.total == 0 {
            self.reply_packet(source, &Header::new(Kind::GetData, 0, operation), &[]);
        }
        self.begin_outgoing(Outgoing {
            message: header.message,
            answer_to: Some(operation),
            rail: header.rail(),
            ..Outgoing::new(source, wanted, origin)
        });
        self.done_here(source, header.message);
    }

    /// Answers a get in one packet, unless the bytes are too many or something waits that was to be
    /// sent before.
    fn answer_at_once(&mut self, source: PeerId, header: &Header, wanted: &mut TrustedSource) -> bool {
        let len = wanted.len();
        let room = self.room_to(source).saturating_sub(MAX_HEADER) as u64;
        if len > room || !self.sending.outgoing.is_empty() || !self.sending.deferred.is_empty() {
            return false;
        }
        let answer = Header::new(Kind::GetData, header.message, header.extra[0]).with_rail(header.rail());
        let sent = self.try_packet_of(source, (&answer, &[]), wanted, 0, len) == Submitted::Sent;
        self.sending.ended += u64::from(sent);
        sent
    }

    pub(super) fn get_data_arrived(&mut self, source: PeerId, header: &Header, data: &[u8]) {
        let state = &mut **self;
        let Some(operation) = state.operations.get_mut(header.subject) else { return };
        let Waiting::Get { destination, .. } = &mut operation.waiting else { return };
        let position = header.extra[0];
        if !destination.holds(position, data.len()) {
            return malformed(source, data, &"answer beyond the end of what was asked for");
        }
        if destination.is_layout() {
            let mut layout = destination.take();
            self.out(|_| layout.write(position, data));
            let Some(Waiting::Get { destination, .. }) = self.operations.waiting_mut(header.subject) else {
                return;
            };
            *destination = layout;
        } else {
            destination.write(position, data);
        }
        let Some(Waiting::Get { remaining, .. }) = self.operations.waiting_mut(header.subject) else {
            return;
        };
        *remaining = remaining.saturating_sub(data.len() as u64);
        if *remaining == 0 {
            self.receiving.ended += 1;
            self.end_operation(header.subject, Status::Done);
        }
    }
}
