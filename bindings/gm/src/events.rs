//! What the program is told: events, and where what it is shown lies.

use crate::abi::{Event, FAST_MAX, RECEIVE_TOKENS, Status, at, kind};
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
    pub(crate) list: Vec<u64>,
}

impl Shown {
    pub(crate) fn new() -> Self {
        Self { event: Event::none(), list: Vec::new() }
    }

    #[inline]
    pub(crate) fn begin(&mut self, kind: u8) {
        // Fields that a kind does not have are of nobody's business.
        self.event.0[at::TYPE] = kind;
    }

    #[inline]
    pub(crate) fn received(
        &mut self,
        message: &Received,
        fast: Option<*const [u8; FAST_MAX]>,
        own_port: u32,
    ) {
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

/// The end of a send that the program has not been told of.
pub(crate) struct Due {
    pub(crate) teller: Teller,
    pub(crate) status: Status,
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
