//! What a task publishes so that others can connect to it.

use crate::layout::VERSION;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

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

/// Where a task's memory file is found without the task's help: among its process's descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The namespace in which `pid` counts.
    pub(crate) namespace: u64,
    pub(crate) pid: i32,
    /// The number of the descriptor.
    pub(crate) file: i32,
    /// What the segment's header must say, so that no other file is taken for it.
    pub(crate) nonce: u64,
}

impl Place {
    /// This process's; `None` where others can't open its descriptors: without a `/proc` of its own
    /// namespace, and in processes that are kept from being looked into.
    pub(crate) fn of_process(file: i32, nonce: u64) -> Option<Self> {
        let namespace = std::fs::metadata("/proc/self/ns/pid").ok()?.ino();
        // SAFETY: calls without pointers.
        let (pid, open) = unsafe { (libc::getpid(), libc::prctl(libc::PR_GET_DUMPABLE) == 1) };
        let same = std::fs::read_link("/proc/self").ok()? == Path::new(&pid.to_string());
        (open && same).then_some(Self { namespace, pid, file, nonce })
    }

    fn encode(this: Option<Self>) -> [u8; PLACE] {
        let mut out = [0; PLACE];
        if let Some(Self { namespace, pid, file, nonce }) = this {
            out[..8].copy_from_slice(&namespace.to_le_bytes());
            out[8..16].copy_from_slice(&nonce.to_le_bytes());
            out[16..20].copy_from_slice(&pid.to_le_bytes());
            out[20..].copy_from_slice(&file.to_le_bytes());
        }
        out
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
    /// In large jobs: where the segment is found when it is needed.
    pub(crate) place: Option<Place>,
    /// Name of the socket, without the leading NUL.
    pub(crate) socket: String,
}

const MAGIC: &[u8; 4] = b"LSHM";
/// Bytes of a place; without a process number there is none.
const PLACE: usize = 8 + 8 + 4 + 4;
const FIXED: usize = 4 + 4 + 16 + 8 + 4 + 12 + 8 + PLACE;

impl Address {
    /// Whether two tasks get to know each other when one of them needs the other. Both find the
    /// same.
    pub(crate) fn meets_later(&self, other: &Self) -> bool {
        let namespace = |address: &Self| address.place.map(|place| place.namespace);
        self.place.is_some() && namespace(self) == namespace(other)
    }

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
        out.extend_from_slice(&Place::encode(self.place));
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
            place: (u32_at(72) != 0).then(|| Place {
                namespace: u64_at(56),
                nonce: u64_at(64),
                pid: u32_at(72) as i32,
                file: u32_at(76) as i32,
            }),
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
            place: Some(Place { namespace: 1 << 40 | 5, pid: 77, file: 9, nonce: 1 << 63 }),
            socket: "lapis-shm.x".into(),
        }
    }

    #[test]
    fn addresses_survive_the_journey() {
        assert_eq!(Address::decode(&sample().encode()), Ok(sample()));
        let without = Address { place: None, ..sample() };
        assert_eq!(Address::decode(&without.encode()), Ok(without));
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
