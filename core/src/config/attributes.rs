//! Setting runtime attributes while a job runs (LAPI Guide, LAPI_Senv).
//!
//! LAPI_Senv bounds ACK_THRESHOLD more tightly than the environment does: 1 to 30 here, 1 to 31 for
//! MP_ACK_THRESH.

use super::{Config, Origin};
use crate::error::{Error, Result};
use std::ops::RangeInclusive;
use std::time::Duration;

/// What ACK_THRESHOLD takes from LAPI_Senv.
pub const ACK_THRESHOLD_RANGE: RangeInclusive<i64> = 1..=30;

/// What TIMEOUT takes, in seconds: MIN_TIMEOUT to MAX_TIMEOUT.
pub const TIMEOUT_RANGE: RangeInclusive<i64> = 10..=86400;

impl Config {
    /// Sets ACK_THRESHOLD.
    pub fn senv_ack_threshold(&mut self, value: i64) -> Result<()> {
        let value = within("ACK_THRESHOLD", value, ACK_THRESHOLD_RANGE)?;
        self.ack_thresh.replace(value as u32, Origin::Senv);
        Ok(())
    }

    /// Sets TIMEOUT, in seconds.
    pub fn senv_timeout(&mut self, seconds: i64) -> Result<()> {
        let seconds = within("TIMEOUT", seconds, TIMEOUT_RANGE)?;
        self.timeout.replace(Duration::from_secs(seconds as u64), Origin::Senv);
        Ok(())
    }

    /// Turns error checking on or off. Any value but 0 turns it on, as C's truth does.
    pub fn senv_error_chk(&mut self, value: i64) {
        self.error_chk.replace(value != 0, Origin::Senv);
    }

    /// Turns interrupt mode on or off. Any value but 0 turns it on, as C's truth does.
    pub fn senv_interrupt(&mut self, value: i64) {
        self.interrupt.replace(value != 0, Origin::Senv);
    }
}

fn within(attribute: &'static str, value: i64, range: RangeInclusive<i64>) -> Result<i64> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(Error::SetValue { attribute, value, min: *range.start(), max: *range.end() })
}
