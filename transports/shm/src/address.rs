//! What a task publishes so that others can connect to it.

use crate::layout::VERSION;
use std::os::unix::fs::MetadataExt;

/// Who can share memory with whom: tasks whose identities are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostId {
    /// Names one boot of one machine.
    pub(crate) boot: [u8; 16],
    /// The network namespace, for that is where abstract sockets live.
    pub(crate) net: u64,
    /// The user.
    pub(crate) uid: u32,
}

impl HostId {
    /// This process's.
    pub(crate) fn current() -> Self {
        let mut boot = [0; 16];
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .or_else(|_| std::fs::read_to_string("/etc/machine-id"))
            .unwrap_or_default();
        let digits: Vec<u8> =
            text.bytes().filter_map(|c| (c as char).to_digit(16)).map(|d| d as u8).collect();
        for (byte, pair) in boot.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        let net = std::fs::metadata("/proc/self/ns/net").map_or(0, |m| m.ino());
        // SAFETY: a call without pointers.
        Self { boot, net, uid: unsafe { libc::geteuid() } }
    }

    /// Why a task with this identity can't share memory with one that has `other`.
    pub(crate) fn differs(&self, other: &Self) -> Option<&'static str> {
        if self.boot != other.boot {
            Some("it runs on another host")
        } else if self.net != other.net {
            Some("it runs in another network namespace (container) of this host")
        } else if self.uid != other.uid {
            Some("it runs as another user")
        } else {
            None
        }
    }
}

/// The address of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: HostId,
    pub(crate) task: u32,
    pub(crate) context: u32,
    pub(crate) incarnation: u32,
    /// Length of the segment.
    pub(crate) total: u64,
    /// Name of the socket, without the leading NUL.
    pub(crate) socket: String,
}

const MAGIC: &[u8; 4] = b"LSHM";
const FIXED: usize = 4 + 4 + 16 + 8 + 4 + 12 + 8;

impl Address {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED + self.socket.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&(VERSION | (usize::BITS << 16)).to_le_bytes());
        out.extend_from_slice(&self.host.boot);
        out.extend_from_slice(&self.host.net.to_le_bytes());
        for word in [self.host.uid, self.task, self.context, self.incarnation] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.total.to_le_bytes());
        out.extend_from_slice(self.socket.as_bytes());
        out
    }

    /// Total: any bytes give an address or a reason.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() < FIXED || &bytes[..4] != MAGIC {
            return Err(format!("{} bytes that are not an address of the shm transport", bytes.len()));
        }
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let (theirs, ours) = (u32_at(4), VERSION | (usize::BITS << 16));
        if theirs != ours {
            return Err(format!(
                "it uses segment layout {} with {}-bit addresses, this task {VERSION} with {}",
                theirs & 0xffff,
                theirs >> 16,
                usize::BITS
            ));
        }
        let mut boot = [0; 16];
        boot.copy_from_slice(&bytes[8..24]);
        let socket = std::str::from_utf8(&bytes[FIXED..]).ok().filter(|s| (1..=107).contains(&s.len()));
        Ok(Self {
            host: HostId { boot, net: u64_at(24), uid: u32_at(32) },
            task: u32_at(36),
            context: u32_at(40),
            incarnation: u32_at(44),
            total: u64_at(48),
            socket: socket.ok_or("its socket name is malformed")?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Address {
        Address {
            host: HostId { boot: [7; 16], net: 99, uid: 1000 },
            task: 3,
            context: 1,
            incarnation: 2,
            total: 1 << 33,
            socket: "lapis-shm.x".into(),
        }
    }

    #[test]
    fn addresses_survive_the_journey() {
        assert_eq!(Address::decode(&sample().encode()), Ok(sample()));
    }

    #[test]
    fn no_bytes_make_the_decoder_panic() {
        let good = sample().encode();
        for len in 0..good.len() {
            let _ = Address::decode(&good[..len]);
            let mut bad = good.clone();
            bad[len] ^= 0xff;
            let _ = Address::decode(&bad);
        }
        assert!(Address::decode(&good[..FIXED]).is_err(), "an empty socket name must be refused");
        assert!(Address::decode(&[0; 512]).is_err());
    }

    #[test]
    fn every_difference_has_its_reason() {
        let here = sample().host;
        assert_eq!(here.differs(&here), None);
        assert!(here.differs(&HostId { boot: [8; 16], ..here.clone() }).unwrap().contains("host"));
        assert!(here.differs(&HostId { net: 1, ..here.clone() }).unwrap().contains("namespace"));
        assert!(here.differs(&HostId { uid: 1, ..here.clone() }).unwrap().contains("user"));
    }
}
