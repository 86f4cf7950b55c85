//! The receiving side of a path: which numbers arrived, and when to acknowledge them.

use super::config::{EngineConfig, Nanos};
use super::datagram_builder::DatagramBuilder;
use super::window::{Seen, Window};
use super::wire::{self, ACK_LEN, MAX_ACK_WORDS};

/// Numbers that a path remembers. More than a sender keeps open, so that none is forgotten that
/// matters.
const NUMBER_WINDOW: u64 = 4096;
/// Datagrams after which to acknowledge while there are gaps, so that the sender learns of losses
/// early.
const THRESHOLD_WITH_GAPS: u8 = 2;

/// What arrived on a path and what the peer knows of it.
#[derive(Debug)]
pub(super) struct Arrivals {
    seen: Window,
    /// Datagrams that ask for an acknowledgement since the last one.
    waiting: u8,
    /// Acknowledge as soon as possible.
    urgent: bool,
    /// When to acknowledge at the latest.
    due: Option<Nanos>,
    /// When the highest number arrived.
    highest_at: Nanos,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self { seen: Window::new(NUMBER_WINDOW), waiting: 0, urgent: false, due: None, highest_at: 0 }
    }

    pub(super) fn heap(&self) -> usize {
        self.seen.heap()
    }

    pub(super) fn due(&self) -> Option<Nanos> {
        if self.urgent { None } else { self.due }
    }

    pub(super) fn urgent(&self) -> bool {
        self.urgent
    }

    /// Something waits to be acknowledged.
    pub(super) fn waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Whether the number was seen before.
    #[inline]
    pub(super) fn is_new(&mut self, number: u64, span: u16) -> bool {
        self.seen.advance_to(number.saturating_sub(span.into()));
        match self.seen.check(number) {
            Seen::New => true,
            Seen::Old => false,
            Seen::Beyond => {
                self.seen.advance_to(number + 1 - NUMBER_WINDOW);
                true
            }
        }
    }

    /// The datagram was taken. `asks`: it carries something to be acknowledged; `at_once`: without
    /// delay.
    #[inline]
    pub(super) fn arrived(
        &mut self,
        now: Nanos,
        number: u64,
        asks: bool,
        at_once: bool,
        config: &EngineConfig,
    ) {
        let in_order = number == self.seen.end();
        if number >= self.seen.end() {
            self.highest_at = now;
        }
        self.seen.insert(number);
        if !asks {
            return;
        }
        self.waiting = self.waiting.saturating_add(1);
        let gaps = self.seen.base() < self.seen.end();
        let threshold =
            if gaps { config.ack_threshold.min(THRESHOLD_WITH_GAPS) } else { config.ack_threshold };
        if at_once || !in_order || self.waiting >= threshold {
            self.urgent = true;
        } else if self.due.is_none() {
            self.due = Some(now + config.max_ack_delay);
        }
    }

    /// The longest delay is over if it is.
    pub(super) fn on_timeout(&mut self, now: Nanos) {
        if self.due.is_some_and(|due| due <= now) {
            self.urgent = true;
        }
    }

    /// Room that an acknowledgement takes.
    pub(super) fn frame_len(&self) -> usize {
        ACK_LEN + 8 * self.words()
    }

    fn words(&self) -> usize {
        ((self.seen.end() - self.seen.base()).div_ceil(64) as usize).min(MAX_ACK_WORDS)
    }

    /// Appends the acknowledgement to a datagram that has room for it.
    pub(super) fn write(&mut self, now: Nanos, path: u8, builder: &mut DatagramBuilder<'_>) {
        let words = self.words().min((builder.room() - ACK_LEN) / 8);
        let delay = u32::try_from(now.saturating_sub(self.highest_at)).unwrap_or(u32::MAX);
        builder.push(&wire::ack_header(path, words as u8, delay, self.seen.base()));
        for word in 0..words {
            builder.push(&self.seen.bitmap(word as u64).to_le_bytes());
        }
        self.waiting = 0;
        self.urgent = false;
        self.due = None;
    }
}
