//! The addresses of both transports, one behind the other.
//!
//! ```text
//!   primary: length: 2 │ bytes │ standby: length: 2 │ bytes
//! ```
//!
//! Numbers are little endian. Length 65535 stands for a transport that the task does not have. This
//! form stays within a task: its card names both transports, so that tasks with one of them alone
//! understand it.

/// Stands for no address.
const NONE: u16 = u16::MAX;

/// Both, as far as there are any.
pub(super) type Addresses<'a> = [Option<&'a [u8]>; 2];

/// Joins the addresses of both.
pub(crate) fn joined(addresses: Addresses<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    for address in addresses {
        let len = address.map_or(NONE, |address| address.len().min(usize::from(NONE - 1)) as u16);
        all.extend_from_slice(&len.to_le_bytes());
        all.extend(address.into_iter().flatten().take(usize::from(len)));
    }
    all
}

/// Takes them apart again.
pub(super) fn parted(mut all: &[u8]) -> Option<Addresses<'_>> {
    let mut next = || {
        let (len, rest) = all.split_first_chunk::<2>()?;
        let len = u16::from_le_bytes(*len);
        let (address, rest) = rest.split_at_checked(if len == NONE { 0 } else { usize::from(len) })?;
        all = rest;
        Some((len != NONE).then_some(address))
    };
    let both = [next()?, next()?];
    all.is_empty().then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_apart_as_they_were_and_torn_ones_do_not() {
        for both in
            [[Some(&b"abc"[..]), Some(&[7; 512][..])], [None, Some(b"")], [Some(b"x"), None], [None; 2]]
        {
            let all = joined(both);
            assert_eq!(parted(&all), Some(both));
            assert!((0..all.len()).all(|cut| parted(&all[..cut]).is_none()));
            assert_eq!(parted(&[&all[..], b"x"].concat()), None);
        }
    }
}
