//! What happens to the datagrams of a path.

use super::{ChaosError, bad};
use crate::reliable::wire::{MAX_DATAGRAM, MIN_DATAGRAM};
use std::fmt;
use std::time::Duration;

/// Faults of datagrams, and how often each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Part that is lost.
    pub drop: f64,
    /// Part that is sent twice.
    pub dup: f64,
    /// Part that is held back until others have overtaken it.
    pub reorder: f64,
    /// Part in which one bit is flipped.
    pub corrupt: f64,
    /// Now and then nothing passes, for a random time up to this.
    pub cut: Duration,
    /// Each is held for a random time up to this.
    pub delay: Duration,
    /// Now and then nothing larger than so many bytes passes, for some milliseconds, of which the
    /// transport tells.
    pub mtu: Option<usize>,
}

pub(super) const PART: &str = "a part from 0 to 1, such as 0.01 or 1%";

impl Faults {
    /// Sets one of them. `name`: as the user calls it.
    pub(super) fn set(&mut self, name: &str, fault: &str, value: &str) -> Result<(), ChaosError> {
        let bad = |expected| bad(name, value, expected);
        let part = || part(value).ok_or_else(|| bad(PART));
        let time = || {
            let time = duration(value).filter(|d| *d <= Duration::from_secs(10));
            time.ok_or_else(|| bad("a time up to 10s, such as 200us or 3ms"))
        };
        match fault {
            "drop" => self.drop = part()?,
            "dup" => self.dup = part()?,
            "reorder" => self.reorder = part()?,
            "corrupt" => self.corrupt = part()?,
            "cut" => self.cut = time()?,
            "delay" => self.delay = time()?,
            "mtu" => {
                let bytes = value.parse().ok().filter(|mtu| (MIN_DATAGRAM..=MAX_DATAGRAM).contains(mtu));
                self.mtu = Some(bytes.ok_or_else(|| bad("bytes from 548 to 65507"))?);
            }
            _ => return Err(ChaosError::Unknown(name.to_owned())),
        }
        Ok(())
    }

    /// Whether something may get lost.
    pub(super) fn lose(&self) -> bool {
        self.drop + self.dup + self.reorder + self.corrupt > 0.0 || !self.cut.is_zero() || self.mtu.is_some()
    }

    /// Whether something may be held.
    pub(super) fn hold(&self) -> bool {
        !self.delay.is_zero() || self.reorder > 0.0
    }

    /// Writes what differs, each name with a prefix and a comma.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, prefix: &str, from: &Self) -> fmt::Result {
        for (name, part, other) in [
            ("drop", self.drop, from.drop),
            ("dup", self.dup, from.dup),
            ("reorder", self.reorder, from.reorder),
            ("corrupt", self.corrupt, from.corrupt),
        ] {
            if part != other {
                write!(f, "{prefix}{name}={part},")?;
            }
        }
        for (name, time, other) in [("cut", self.cut, from.cut), ("delay", self.delay, from.delay)] {
            if time != other {
                write!(f, "{prefix}{name}={}us,", time.as_micros())?;
            }
        }
        match self.mtu {
            Some(mtu) if self.mtu != from.mtu => write!(f, "{prefix}mtu={mtu},"),
            _ => Ok(()),
        }
    }
}

/// A part of all, as a number or in percent.
pub(super) fn part(text: &str) -> Option<f64> {
    let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 0.01));
    digits.parse::<f64>().ok().map(|p| p * unit).filter(|p| (0.0..=1.0).contains(p))
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "us" => Some(Duration::from_micros(count)),
        "ms" => Some(Duration::from_millis(count)),
        "s" => Some(Duration::from_secs(count)),
        _ => None,
    }
}
