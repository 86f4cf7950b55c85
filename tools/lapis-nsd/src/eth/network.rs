//! Numbers of networks.

use std::net::IpAddr;

/// Networks that follow from an address have numbers from here on; those that people give are
/// below.
pub(crate) const BY_ADDRESS: u32 = 1 << 31;

/// A number for a network, from one of its addresses and how many bits of it are the network's: the
/// same at each host. Two of IPv6 may get the same number, as likely as two numbers of 31 bits
/// drawn by lot.
pub(super) fn number(address: IpAddr, bits: u8) -> u32 {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            (address.to_bits() & mask).rotate_right(8)
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            let prefix = (address.to_bits() & mask).to_be_bytes();
            // FNV-1a.
            prefix.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
        }
    }
}
