//! The values of all tasks as one string of bytes, which the answers to all of them share: a copy
//! for each would take memory that grows with the square of the number of tasks.

use std::sync::Arc;

/// Values of tasks: their number, then each with its length before it (u32, little endian).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packed(Arc<[u8]>);

impl Packed {
    pub(crate) fn new<'v>(values: impl ExactSizeIterator<Item = &'v [u8]> + Clone) -> Self {
        let size = 4 + values.clone().map(|value| 4 + value.len()).sum::<usize>();
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&(values.len() as u32).to_le_bytes());
        for value in values {
            bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
            bytes.extend_from_slice(value);
        }
        Self(bytes.into())
    }

    /// Takes bytes that are known to be values.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// As they stand in a frame.
    pub(crate) fn bytes(&self) -> &Arc<[u8]> {
        &self.0
    }

    /// The values, one by one.
    pub(crate) fn unpack(&self) -> Vec<Vec<u8>> {
        let mut values = Vec::new();
        let mut rest = self.0.get(4..).unwrap_or_default();
        while let Some((len, behind)) = rest.split_first_chunk::<4>()
            && let Some((value, behind)) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)
        {
            values.push(value.to_vec());
            rest = behind;
        }
        values
    }
}
