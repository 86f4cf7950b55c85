//! Proof of membership: HMAC-SHA-256 over the job's secret.
//!
//! HMAC-SHA-256 from the RustCrypto crates (`hmac`, `sha2`): pure Rust (no C compiler at build
//! time), audited and used everywhere, with a constant-time comparison built in. The bootstrap
//! sends kilobytes, so speed decides nothing here.

use std::io;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::error::BootstrapError;
use super::key::{KEY_LEN, Key};

/// Bytes of the authenticator on each frame.
pub(crate) const TAG_LEN: usize = 16;

/// Fresh random bytes from the kernel.
pub fn random_secret() -> Result<[u8; 32], BootstrapError> {
    let mut out = [0u8; KEY_LEN];
    let mut filled = 0;
    while filled < out.len() {
        match rustix::rand::getrandom(&mut out[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(n) => filled += n,
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => {
                return Err(BootstrapError::System {
                    what: "reading random bytes for the job secret".into(),
                    source: io::Error::from(e),
                });
            }
        }
    }
    Ok(out)
}

/// What both sides of a handshake sign: everything that was said in it.
#[derive(Clone, Copy)]
pub(crate) struct Transcript {
    pub(crate) server_nonce: Key,
    pub(crate) client_nonce: Key,
    pub(crate) task: u32,
    pub(crate) tasks: u32,
    pub(crate) context: u32,
}

impl Transcript {
    /// The authenticator of one side; `role` keeps one side's proof from being played back as the
    /// other's.
    pub(crate) fn prove(&self, secret: &Key, role: &[u8; 8]) -> Key {
        self.mac(secret, role).finalize().into_bytes().into()
    }

    /// Whether `proof` is the authenticator of `role`, in constant time.
    pub(crate) fn verify(&self, secret: &Key, role: &[u8; 8], proof: &Key) -> bool {
        self.mac(secret, role).verify_slice(proof).is_ok()
    }

    fn mac(&self, secret: &Key, role: &[u8; 8]) -> Hmac<Sha256> {
        let mut mac = keyed(secret);
        // Every part has a fixed width, so that no two transcripts share a byte string.
        mac.update(role);
        mac.update(&self.server_nonce);
        mac.update(&self.client_nonce);
        mac.update(&self.task.to_le_bytes());
        mac.update(&self.tasks.to_le_bytes());
        mac.update(&self.context.to_le_bytes());
        mac
    }
}

/// Role of the side that connects.
pub(crate) const ROLE_CLIENT: &[u8; 8] = b"client  ";
/// Role of the side that serves.
pub(crate) const ROLE_SERVER: &[u8; 8] = b"server  ";
const KEY_TO_SERVER: &[u8; 8] = b"key>serv";
const KEY_TO_CLIENT: &[u8; 8] = b"key>clnt";

/// One direction of an authenticated connection: numbers and signs frames.
pub(crate) struct Channel {
    key: Key,
    next: u64,
}

impl Channel {
    /// The two directions (to the server, to the client) that follow a handshake.
    pub(crate) fn pair(secret: &Key, transcript: &Transcript) -> (Self, Self) {
        let to_server = Self { key: transcript.prove(secret, KEY_TO_SERVER), next: 0 };
        let to_client = Self { key: transcript.prove(secret, KEY_TO_CLIENT), next: 0 };
        (to_server, to_client)
    }

    /// The tag of the next frame sent, whose bytes stand in two places.
    pub(crate) fn sign(&mut self, head: &[u8], rest: &[u8]) -> [u8; TAG_LEN] {
        let full: Key = self.advance(head, rest).finalize().into_bytes().into();
        let mut tag = [0u8; TAG_LEN];
        tag.copy_from_slice(&full[..TAG_LEN]);
        tag
    }

    /// Whether `tag` belongs to `body` as the next frame received.
    pub(crate) fn verify(&mut self, body: &[u8], tag: &[u8]) -> bool {
        let mac = self.advance(body, &[]);
        tag.len() == TAG_LEN && mac.verify_truncated_left(tag).is_ok()
    }

    fn advance(&mut self, head: &[u8], rest: &[u8]) -> Hmac<Sha256> {
        let mut mac = keyed(&self.key);
        mac.update(&self.next.to_le_bytes());
        mac.update(head);
        mac.update(rest);
        self.next += 1;
        mac
    }
}

/// An authenticator of some parts, the first of which says what for.
pub(crate) fn mac_of(key: &Key, parts: &[&[u8]]) -> Key {
    let mut mac = keyed(key);
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

fn keyed(key: &Key) -> Hmac<Sha256> {
    // A 32-byte key is below the block size: the constructor has no failing case for it.
    <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript() -> Transcript {
        Transcript { server_nonce: [1; 32], client_nonce: [2; 32], task: 3, tasks: 4, context: 5 }
    }

    #[test]
    fn a_proof_holds_for_its_role_secret_and_transcript_only() {
        let proof = transcript().prove(&[9; 32], ROLE_CLIENT);
        assert!(transcript().verify(&[9; 32], ROLE_CLIENT, &proof));
        assert!(!transcript().verify(&[9; 32], ROLE_SERVER, &proof));
        assert!(!transcript().verify(&[8; 32], ROLE_CLIENT, &proof));
        let other = Transcript { task: 2, ..transcript() };
        assert!(!other.verify(&[9; 32], ROLE_CLIENT, &proof));
    }

    #[test]
    fn a_replayed_or_changed_frame_is_refused() {
        let (mut a, _) = Channel::pair(&[7; 32], &transcript());
        let (mut b, mut wrong_way) = Channel::pair(&[7; 32], &transcript());
        let tag = a.sign(b"o", b"ne");
        assert!(b.verify(b"one", &tag));
        assert!(!b.verify(b"one", &tag), "the same frame again");
        let tag = a.sign(b"two", b"");
        assert!(!wrong_way.verify(b"two", &tag));
        assert!(!b.verify(b"two", &tag[..15]));
    }

    #[test]
    fn secrets_differ() {
        assert_ne!(random_secret().unwrap(), random_secret().unwrap());
    }
}
