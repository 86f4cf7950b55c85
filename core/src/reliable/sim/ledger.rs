//! Who sent what to whom, and whether it arrived exactly once.

use std::collections::HashMap;

use super::Random;
use crate::reliable::{Channel, Nanos};

/// Bytes that every unit starts with: sender, receiver, channel, number, size.
pub(super) const HEAD: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Missing,
    /// Its sender was told that nobody knows: it may still arrive, once.
    Excused,
    Arrived,
}

/// What is known of the units from one task to another on one channel.
#[derive(Debug, Default)]
struct Account {
    /// By number: fate and time of submission.
    units: Vec<(Fate, Nanos)>,
    /// Units below it belong to a former incarnation of the sender or the receiver.
    former: u32,
    /// Units below it must not arrive any more, since a later incarnation was heard.
    closed: u32,
}

/// Names a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) channel: Channel,
    pub(super) number: u32,
}

/// A unit that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// Who sent it.
    pub from: u32,
    /// Who got it.
    pub to: u32,
    /// On which channel.
    pub channel: Channel,
    /// Its number among those.
    pub number: u32,
    /// From submission to delivery.
    pub latency: Nanos,
}

/// Every unit sent and what became of it.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<(u32, u32, Channel), Account>,
    /// Units that did not arrive yet.
    pub missing: usize,
    /// Units that arrived.
    pub arrived: usize,
}

impl Ledger {
    /// Enters a unit; returns its name and its first bytes. The rest is [`fill`](Self::fill).
    pub(super) fn enter(
        &mut self,
        now: Nanos,
        from: u32,
        to: u32,
        channel: Channel,
        size: usize,
    ) -> (Key, [u8; HEAD]) {
        let account = self.accounts.entry((from, to, channel)).or_default();
        let number = account.units.len() as u32;
        account.units.push((Fate::Missing, now));
        self.missing += 1;
        let mut head = [0; HEAD];
        head[0..4].copy_from_slice(&from.to_le_bytes());
        head[4..8].copy_from_slice(&to.to_le_bytes());
        head[8..12].copy_from_slice(&(channel as u32).to_le_bytes());
        head[12..16].copy_from_slice(&number.to_le_bytes());
        head[16..20].copy_from_slice(&(size as u32).to_le_bytes());
        (Key { from, to, channel, number }, head)
    }

    /// The last unit entered was not taken by the engine.
    pub(super) fn withdraw(&mut self, key: Key) {
        if let Some(account) = self.accounts.get_mut(&(key.from, key.to, key.channel)) {
            account.units.pop();
            self.missing -= 1;
        }
    }

    /// The sender was told that the unit was acknowledged.
    ///
    /// # Panics
    /// If it did not arrive.
    pub(super) fn acked(&self, key: Key) {
        let fate = self.accounts[&(key.from, key.to, key.channel)].units[key.number as usize].0;
        assert_eq!(fate, Fate::Arrived, "{key:?} was acknowledged");
    }

    /// The sender was told that nobody knows what became of the unit.
    pub(super) fn purged(&mut self, key: Key) {
        let Some(account) = self.accounts.get_mut(&(key.from, key.to, key.channel)) else { return };
        account.former = account.units.len() as u32;
        let unit = &mut account.units[key.number as usize].0;
        if *unit == Fate::Missing {
            *unit = Fate::Excused;
            self.missing -= 1;
        }
    }

    /// The bytes behind the head of a unit whose head is `head`.
    pub(super) fn fill(head: &[u8], body: &mut [u8]) {
        let number = u64::from_le_bytes(std::array::from_fn(|at| head.get(at + 8).copied().unwrap_or(0)));
        let mut random = Random::new(number);
        for chunk in body.chunks_mut(8) {
            let word = random.word().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// Checks a unit off.
    ///
    /// # Panics
    /// If it was not sent like this, or arrived before.
    pub(super) fn check_off(
        &mut self,
        now: Nanos,
        at: u32,
        peer: u32,
        channel: Channel,
        packet: &[u8],
    ) -> Note {
        let (head, body) = packet.split_at(HEAD);
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (from, to, number) = (word(0), word(4), word(12));
        assert_eq!((from, to, word(8)), (peer, at, channel as u32), "unit {number} went to the wrong place");
        assert_eq!(word(16) as usize, packet.len(), "unit {number} {from}->{to} has the wrong size");
        let mut expected = vec![0; body.len()];
        Self::fill(head, &mut expected);
        assert!(expected == body, "unit {number} {from}->{to} changed on the way");
        let account = self.accounts.get_mut(&(from, to, channel)).expect("a unit from nowhere");
        assert!(number >= account.closed, "unit {number} {from}->{to} is of a former incarnation");
        if number >= account.former {
            account.closed = account.former;
        }
        let (fate, sent) = account.units.get_mut(number as usize).expect("a unit from nowhere");
        assert!(*fate != Fate::Arrived, "unit {number} {from}->{to} on {channel:?} arrived twice");
        if *fate == Fate::Missing {
            self.missing -= 1;
        }
        *fate = Fate::Arrived;
        self.arrived += 1;
        Note { from, to, channel, number, latency: now - *sent }
    }

    /// Units from one task to another that did not arrive and should.
    #[must_use]
    pub fn missing_between(&self, from: u32, to: u32) -> usize {
        let channels = [Channel::Request, Channel::Reply];
        let units = channels.iter().filter_map(|&channel| self.accounts.get(&(from, to, channel)));
        units.flat_map(|account| &account.units).filter(|unit| unit.0 == Fate::Missing).count()
    }
}
