//! Who sent what to whom, and whether it arrived exactly once.

use std::collections::HashMap;

use super::Random;
use crate::reliable::{Lane, Nanos};

/// Bytes that every unit starts with: sender, receiver, lane, number, size.
pub(super) const HEAD: usize = 20;

/// What is known of the units from one task to another on one lane.
#[derive(Debug, Default)]
struct Account {
    /// Arrived, by number.
    arrived: Vec<bool>,
    missing: usize,
    sent_at: Vec<Nanos>,
}

/// A unit that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// Who sent it.
    pub from: u32,
    /// Who got it.
    pub to: u32,
    /// On which lane.
    pub lane: Lane,
    /// Its number among those.
    pub number: u32,
    /// From submission to delivery.
    pub latency: Nanos,
}

/// Every unit sent and what became of it.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: HashMap<(u32, u32, Lane), Account>,
    /// Units that did not arrive yet.
    pub missing: usize,
    /// Units that arrived.
    pub arrived: usize,
}

impl Ledger {
    /// Enters a unit; returns its first bytes. The rest is [`fill`](Self::fill).
    pub(super) fn enter(&mut self, now: Nanos, from: u32, to: u32, lane: Lane, size: usize) -> [u8; HEAD] {
        let account = self.accounts.entry((from, to, lane)).or_default();
        let number = account.arrived.len() as u32;
        account.arrived.push(false);
        account.sent_at.push(now);
        account.missing += 1;
        self.missing += 1;
        let mut head = [0; HEAD];
        head[0..4].copy_from_slice(&from.to_le_bytes());
        head[4..8].copy_from_slice(&to.to_le_bytes());
        head[8..12].copy_from_slice(&(lane as u32).to_le_bytes());
        head[12..16].copy_from_slice(&number.to_le_bytes());
        head[16..20].copy_from_slice(&(size as u32).to_le_bytes());
        head
    }

    /// The last unit entered was not taken by the engine.
    pub(super) fn withdraw(&mut self, from: u32, to: u32, lane: Lane) {
        if let Some(account) = self.accounts.get_mut(&(from, to, lane)) {
            account.arrived.pop();
            account.sent_at.pop();
            account.missing -= 1;
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
    pub(super) fn check_off(&mut self, now: Nanos, at: u32, peer: u32, lane: Lane, packet: &[u8]) -> Note {
        let (head, body) = packet.split_at(HEAD);
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (from, to, number) = (word(0), word(4), word(12));
        assert_eq!((from, to, word(8)), (peer, at, lane as u32), "unit {number} went to the wrong place");
        assert_eq!(word(16) as usize, packet.len(), "unit {number} {from}->{to} has the wrong size");
        let mut expected = vec![0; body.len()];
        Self::fill(head, &mut expected);
        assert!(expected == body, "unit {number} {from}->{to} changed on the way");
        let account = self.accounts.get_mut(&(from, to, lane)).expect("a unit from nowhere");
        let arrived = account.arrived.get_mut(number as usize).expect("a unit from nowhere");
        assert!(!*arrived, "unit {number} {from}->{to} on {lane:?} arrived twice");
        *arrived = true;
        account.missing -= 1;
        self.missing -= 1;
        self.arrived += 1;
        Note { from, to, lane, number, latency: now - account.sent_at[number as usize] }
    }

    /// Forgets the units between two tasks: one of them was purged or restarted. What arrives of them from now
    /// on comes from nowhere.
    pub fn forget(&mut self, from: u32, to: u32) {
        for lane in [Lane::Request, Lane::Reply] {
            if let Some(account) = self.accounts.get_mut(&(from, to, lane)) {
                self.missing -= account.missing;
                account.missing = 0;
                account.arrived.fill(true);
            }
        }
    }

    /// Units from one task to another that did not arrive.
    #[must_use]
    pub fn missing_between(&self, from: u32, to: u32) -> usize {
        let lanes = [Lane::Request, Lane::Reply];
        lanes
            .iter()
            .filter_map(|&lane| self.accounts.get(&(from, to, lane)))
            .map(|account| account.missing)
            .sum()
    }
}
