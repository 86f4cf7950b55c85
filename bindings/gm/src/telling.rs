//! Telling the program what has happened, in that order.

use crate::abi::{Status, at, kind};
use crate::events::{Due, Pending, Shown};
use crate::port::Port;
use crate::stream::Teller;

impl Port {
    /// The next event. A message's token is the program's again.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<Pending> {
        let pending = self.events.pop_front()?;
        if matches!(pending, Pending::Received(_)) {
            self.buffers.provided = self.buffers.provided.saturating_sub(1);
        }
        Some(pending)
    }

    /// The next event, written to where the program sees it. False: there is none.
    pub(crate) fn take_event(&mut self, shown: &mut Shown) -> bool {
        let Some(pending) = self.next_event() else {
            shown.begin(kind::NONE);
            return false;
        };
        match pending {
            Pending::Received(message) => {
                let fast = message.fast.map(|at| self.fast.show(at));
                shown.received(&message, fast, self.number);
            }
            Pending::Callbacks => {
                if self.announced.is_empty() {
                    std::mem::swap(&mut self.announced, &mut self.due);
                } else {
                    self.announced.append(&mut self.due);
                }
                shown.begin(kind::SENT_TOKENS);
            }
            Pending::Alarm => shown.begin(kind::ALARM),
            Pending::FlushedAlarm => {
                shown.begin(kind::FLUSHED_ALARM);
                shown.event.put(at::USECS_REMAINING, self.usecs_to_alarm().to_be_bytes());
            }
            Pending::Sent => {
                shown.begin(kind::SENT);
                // Network byte order, with a null pointer at the end.
                shown.list = self.sent.drain(..).map(u64::to_be).chain([0]).collect();
                let list = shown.list.as_ptr().expose_provenance() as u64;
                shown.event.put(at::LIST, list.to_be_bytes());
            }
            Pending::NotSent { kind, message, node, port } => {
                shown.begin(kind);
                shown.event.put(at::LIST, message.to_be_bytes());
                shown.event.put(at::TARGET_NODE, (node as u16).to_be_bytes());
                shown.event.0[at::TARGET_PORT] = port as u8;
            }
            Pending::Violation(kind) => shown.begin(kind),
        }
        true
    }

    /// What kind of event comes next, and from which node if it is a message.
    pub(crate) fn next_kind(&self) -> (u8, u32) {
        match self.events.front() {
            None => (kind::NONE, 0),
            Some(Pending::Received(message)) => {
                let base = if message.fast.is_some() { kind::FAST_RECV } else { kind::RECV };
                (base + message.priority + if message.port == self.number { 2 } else { 0 }, message.node)
            }
            Some(Pending::Callbacks) => (kind::SENT_TOKENS, 0),
            Some(Pending::Alarm) => (kind::ALARM, 0),
            Some(Pending::FlushedAlarm) => (kind::FLUSHED_ALARM, 0),
            Some(Pending::Sent) => (kind::SENT, 0),
            Some(Pending::NotSent { kind, .. } | Pending::Violation(kind)) => (*kind, 0),
        }
    }

    /// A send has ended, and its token is the program's again.
    pub(crate) fn complete(&mut self, teller: Teller, status: Status, message: u64, to: (u32, u32)) {
        self.tokens_out = self.tokens_out.saturating_sub(1);
        if !matches!(status, Status::Success | Status::SendDropped) {
            self.counters.failed += 1;
        }
        self.tell(teller, status, message, to);
    }

    /// Tells the program of an end.
    pub(crate) fn tell(&mut self, teller: Teller, status: Status, message: u64, (node, port): (u32, u32)) {
        match teller {
            Teller::Call { .. } => {
                if self.due.is_empty() {
                    self.events.push_back(Pending::Callbacks);
                }
                self.due.push_back(Due { teller, status });
            }
            Teller::Event if status == Status::Success => {
                if self.sent.is_empty() {
                    self.events.push_back(Pending::Sent);
                }
                self.sent.push(message);
            }
            Teller::Event => {
                let kind = match status {
                    Status::SendRejected => kind::REJECTED_SEND,
                    Status::SendDropped => kind::DROPPED_SEND,
                    _ => kind::ORPHANED_SEND,
                };
                self.events.push_back(Pending::NotSent { kind, message, node, port });
            }
        }
    }
}
