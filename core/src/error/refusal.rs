//! A target's answer to a put, get or atomic that it refuses.

use super::LapiCode;

/// The target of a put, get or atomic has not done it. The target's memory is as it was, but for
/// what of a put came before its transport failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("task {task} has refused {access} of {len} bytes at {addr:#x}: {reason}")]
pub struct Refusal {
    /// The task that refuses.
    pub task: u32,
    /// What was asked for.
    pub access: Access,
    /// Where, in that task's address space.
    pub addr: u64,
    /// How many bytes.
    pub len: u64,
    /// Why.
    pub reason: Reason,
}

/// What was asked of another task's memory. The numbers are part of the packets' format.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To be written.
    Put = 0,
    /// To be read.
    Get = 1,
    /// To be changed atomically.
    Atomic = 2,
}

/// Why a task refuses. The numbers are part of the packets' format.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The bytes do not lie in memory that the task gives to others.
    Outside = 0,
    /// No variable can be there: the address is 0 or not a multiple of its width.
    NoVariable = 1,
    /// The task does not know the operation.
    Unknown = 2,
    /// The task's transport could not carry the data.
    NotCarried = 3,
}

impl Refusal {
    /// The code that the C and Fortran interfaces have for it.
    pub(super) fn code(&self) -> LapiCode {
        match (self.reason, self.access) {
            (Reason::Outside, _) => LapiCode::ERR_TGT_OFFSET,
            (Reason::NoVariable, _) => LapiCode::ERR_TGT_VAR_NULL,
            (Reason::Unknown, _) => LapiCode::ERR_RMW_OP,
            (Reason::NotCarried, Access::Put) => LapiCode::ERR_SEND_INCOMP,
            (Reason::NotCarried, _) => LapiCode::ERR_RECV_INCOMP,
        }
    }

    /// Access and reason as packets have them.
    pub(crate) fn word(&self) -> u16 {
        self.access as u16 + 16 * self.reason as u16
    }

    /// The opposite of [`word`](Self::word). A number that is none becomes what says least.
    pub(crate) fn of_word(word: u16) -> (Access, Reason) {
        let access = match word % 16 {
            0 => Access::Put,
            1 => Access::Get,
            _ => Access::Atomic,
        };
        let reason = match word / 16 {
            0 => Reason::Outside,
            1 => Reason::NoVariable,
            2 => Reason::Unknown,
            _ => Reason::NotCarried,
        };
        (access, reason)
    }
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Put => "a put",
            Self::Get => "a get",
            Self::Atomic => "an atomic operation",
        })
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Outside => {
                "they do not lie in memory that it has allocated or registered for others: has it given it up?"
            }
            Self::NoVariable => "no variable can be there: its address must be a multiple of its width, not 0",
            Self::Unknown => "it does not know this operation: are the tasks of one version of Lapis?",
            Self::NotCarried => "its transport could not carry the data (LAPIS_LOG=debug there says why)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_who_where_how_much_and_why_and_travels_as_a_word() {
        let all = [Access::Put, Access::Get, Access::Atomic];
        let reasons = [Reason::Outside, Reason::NoVariable, Reason::Unknown, Reason::NotCarried];
        for (access, reason) in all.into_iter().flat_map(|access| reasons.map(|reason| (access, reason))) {
            let refusal = Refusal { task: 3, access, addr: 0x1000, len: 8, reason };
            assert_eq!(Refusal::of_word(refusal.word()), (access, reason));
            let text = refusal.to_string();
            assert!(
                text.starts_with(&format!("task 3 has refused {access} of 8 bytes at 0x1000: ")),
                "{text}"
            );
        }
    }
}
