//! The key of a job: what says that a task may send to a window.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// The key of a job. It is made from the job's secret, which it does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key([u8; 16]);

impl Key {
    /// The key of the job of this name and secret.
    pub fn of_job(secret: &[u8], job: &str) -> Self {
        Self::hash(&[b"lapis window key of a job", secret, job.as_bytes()])
    }

    /// The key that people write as a text of their choice.
    pub fn of_text(text: &str) -> Self {
        Self::hash(&[b"lapis window key of a text", text.as_bytes()])
    }

    fn hash(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut key = [0; 16];
        key.copy_from_slice(&hash.finalize()[..16]);
        Self(key)
    }

    /// What frames of the job carry: it tells jobs apart and is no key.
    pub fn tag(&self) -> [u8; 8] {
        let hash = Self::hash(&[b"lapis window key's tag", &self.0]);
        std::array::from_fn(|at| hash.0[at])
    }

    /// A short name for the key that may be shown: it tells keys apart and is no key.
    pub fn fingerprint(&self) -> String {
        let hash = Self::hash(&[b"lapis window key's fingerprint", &self.0]);
        hash.0[..4].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}…)", self.fingerprint())
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for Key {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for Key {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "a key has 32 hexadecimal digits";
        if text.len() != 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong);
        }
        u128::from_str_radix(text, 16).map(|number| Self(number.to_be_bytes())).map_err(|_| wrong)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_secret_job_and_origin_and_survive_being_written() {
        let keys = [
            Key::of_job(&[1; 32], "a"),
            Key::of_job(&[1; 32], "b"),
            Key::of_job(&[2; 32], "a"),
            Key::of_text("a"),
            Key::of_text("b"),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|other| other != key && other.fingerprint() != key.fingerprint()));
            let text = String::from(*key);
            assert_eq!(text.parse(), Ok(*key));
            assert!(!text.contains(&key.fingerprint()) && !format!("{key:?}").contains(&text));
        }
        for wrong in ["", "12", &"g".repeat(32), &"é".repeat(16), &"+".repeat(32)] {
            assert!(wrong.parse::<Key>().is_err(), "{wrong}");
        }
    }
}
