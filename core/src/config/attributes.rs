//! Ranges of runtime attributes that can be set while a job runs (LAPI Guide, LAPI_Senv).
//!
//! LAPI_Senv bounds ACK_THRESHOLD more tightly than the environment does: 1 to 30 here, 1 to 31 for
//! MP_ACK_THRESH.

use std::ops::RangeInclusive;

/// What ACK_THRESHOLD takes from LAPI_Senv.
pub const ACK_THRESHOLD_RANGE: RangeInclusive<i64> = 1..=30;

/// What TIMEOUT takes, in seconds: MIN_TIMEOUT to MAX_TIMEOUT.
pub const TIMEOUT_RANGE: RangeInclusive<i64> = 10..=86400;
