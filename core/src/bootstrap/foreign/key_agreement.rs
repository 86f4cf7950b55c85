//! Two tasks agree on a mask for the job's secret over a public channel.
//!
//! X25519 by `x25519-dalek`: pure Rust, constant time, of the family whose `hmac` and `sha2` are
//! here already.

use x25519_dalek::{PublicKey, StaticSecret};

use crate::bootstrap::auth::{mac_of, random_secret};
use crate::bootstrap::error::BootstrapError;
use crate::bootstrap::key::Key;

/// One task's half.
pub(super) struct Agreement {
    private: StaticSecret,
}

impl Agreement {
    pub(super) fn new() -> Result<Self, BootstrapError> {
        Ok(Self { private: StaticSecret::from(random_secret()?) })
    }

    /// The public part.
    pub(super) fn public(&self) -> Key {
        PublicKey::from(&self.private).to_bytes()
    }

    /// Puts the mask between task 0 and `task` on the secret, or takes it off.
    pub(super) fn mask(&self, theirs: &Key, task: u32, secret: &Key) -> Result<Key, BootstrapError> {
        let shared = self.private.diffie_hellman(&PublicKey::from(*theirs));
        if !shared.was_contributory() {
            return Err(BootstrapError::Manager {
                during: format!("the agreement on a secret between tasks 0 and {task}"),
                reason: "a public key is no proper one: somebody has tampered with it".into(),
            });
        }
        // The keys are drawn for one job and each pair masks once: the mask is used once.
        let mask = mac_of(shared.as_bytes(), &[b"lapis job secret", &task.to_le_bytes()]);
        Ok(std::array::from_fn(|at| secret[at] ^ mask[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tasks_agree_and_a_third_does_not() {
        let [a, b, c] = std::array::from_fn(|_| Agreement::new().unwrap());
        let secret = random_secret().unwrap();
        let masked = a.mask(&b.public(), 3, &secret).unwrap();
        assert_ne!(masked, secret);
        assert_eq!(b.mask(&a.public(), 3, &masked).unwrap(), secret);
        assert_ne!(b.mask(&a.public(), 4, &masked).unwrap(), secret);
        assert_ne!(c.mask(&a.public(), 3, &masked).unwrap(), secret);
    }

    #[test]
    fn keys_that_make_the_agreement_known_to_all_are_refused() {
        let me = Agreement::new().unwrap();
        assert!(me.mask(&[0; 32], 1, &[7; 32]).is_err());
    }
}
