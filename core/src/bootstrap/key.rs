//! The job's secret, which only its tasks know.

/// Bytes of a secret, a nonce and a full authenticator.
pub(crate) const KEY_LEN: usize = 32;

/// A secret or a nonce.
pub(crate) type Key = [u8; KEY_LEN];
