//! What the program is told, in the order in which it happened.

use crate::abi::{Event, FAST_MAX, RECEIVE_TOKENS, Status, at, kind};
use crate::port::{Due, Port};
use crate::stream::Teller;

/// Something that the program has not been told of.
pub(crate) enum Pending {
    /// A message.
    Received(Received),
    /// Sends have ended: callbacks are due.
    Callbacks,
    /// Alarms are due.
    Alarm,
    /// The program asked what its alarms do.
    FlushedAlarm,
    /// Messages of the calls without callbacks have been sent.
    Sent,
    /// One of them was not.
    NotSent { kind: u8, message: u64, node: u32, port: u32 },
    /// More tokens were used than there are.
    Violation(u8),
}

/// A message that was received.
pub(crate) struct Received {
    pub(crate) node: u32,
    pub(crate) port: u32,
    pub(crate) buffer: u64,
    pub(crate) len: u32,
    pub(crate) size: u8,
    pub(crate) priority: u8,
    pub(crate) tag: u8,
    /// Where among the short ones the message is, if it is not in its buffer.
    pub(crate) fast: Option<u16>,
}

/// More than there are messages that the program has not been shown, and the one that it was shown
/// last: each has a receive token.
const SLOTS: usize = 2 * RECEIVE_TOKENS as usize;

/// Short messages that no buffer has: those that the program has not been shown, one behind the
/// other, and the one that it was shown last.
pub(crate) struct Fast {
    slots: Box<[[u8; FAST_MAX]]>,
    /// Where the next one goes, how many wait, and which one is shown.
    next: usize,
    waiting: usize,
    shown: usize,
}

impl Fast {
    pub(crate) fn new() -> Self {
        Self { slots: vec![[0; FAST_MAX]; SLOTS].into(), next: 0, waiting: 0, shown: SLOTS - 1 }
    }

    /// Keeps a message of at most [`FAST_MAX`] bytes.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u16 {
        if self.waiting == 0 {
            // The same few places over and over stay in the nearest cache. All that may wait fits
            // into the half in which the one that is shown is not.
            self.next = if self.shown < SLOTS / 2 { SLOTS / 2 } else { 0 };
        }
        let at = self.next;
        self.slots[at][..bytes.len()].copy_from_slice(bytes);
        self.next = (at + 1) % SLOTS;
        self.waiting += 1;
        at as u16
    }

    /// Shows the program a message; until it is shown the next one it may read it.
    #[inline]
    pub(crate) fn show(&mut self, at: u16) -> *const [u8; FAST_MAX] {
        self.waiting = self.waiting.saturating_sub(1);
        self.shown = usize::from(at) % SLOTS;
        &raw const self.slots[self.shown]
    }
}

/// The event that the program has, and what it points to. Both hold until the next one is taken.
/// Programs have the address of all of it as that of the event.
#[repr(C)]
pub(crate) struct Shown {
    pub(crate) event: Event,
    list: Vec<u64>,
}

impl Shown {
    pub(crate) fn new() -> Self {
        Self { event: Event::none(), list: Vec::new() }
    }

    #[inline]
    fn begin(&mut self, kind: u8) {
        // Fields that a kind does not have are of nobody's business.
        self.event.0[at::TYPE] = kind;
    }

    #[inline]
    fn received(&mut self, message: &Received, fast: Option<*const [u8; FAST_MAX]>, own_port: u32) {
        let variant = message.priority + if message.port == own_port { 2 } else { 0 };
        self.begin(if message.fast.is_some() { kind::FAST_RECV } else { kind::RECV } + variant);
        let place = fast.map_or(message.buffer, |fast| fast.expose_provenance() as u64);
        let event = &mut self.event;
        event.put(at::MESSAGE, place.to_be_bytes());
        event.put(at::BUFFER, message.buffer.to_be_bytes());
        event.put(at::LENGTH, message.len.to_be_bytes());
        event.put(at::SENDER_NODE, (message.node as u16).to_be_bytes());
        event.0[at::TAG] = message.tag;
        event.0[at::SIZE] = message.size;
        event.0[at::SENDER_PORT] = message.port as u8;
    }
}

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
                self.announced.append(&mut self.due);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_is_shown_stays_until_it_is_shown_the_next_one() {
        let mut fast = Fast::new();
        for batch in 1..=300u16 {
            let count = usize::from(batch % 256) + 1;
            let places: Vec<u16> = (0..count).map(|i| fast.put(&[i as u8])).collect();
            let mut last = std::ptr::null();
            for (i, place) in places.into_iter().enumerate() {
                last = fast.show(place);
                // SAFETY: a slot, which lives as long as `fast` does.
                assert_eq!(unsafe { (*last)[0] }, i as u8);
            }
            // Others come while it reads.
            let kept = (count - 1) as u8;
            let others: Vec<u16> = (0..256).map(|_| fast.put(&[kept.wrapping_add(1)])).collect();
            // SAFETY: the slot lives as long as `fast` does.
            assert_eq!(unsafe { (*last)[0] }, kept);
            others.into_iter().for_each(|place| _ = fast.show(place));
        }
    }
}
