//! Which copies move data between tasks of a host: a table that is shipped for known processors
//! and measured for others.
//!
//! Three limits decide, and they differ from one kind of processor to the next: from how many
//! nanoseconds on, for reading a line that the other one has written, two cores count as far from
//! each other; from how many bytes on messages are stored past the caches, to near and to far
//! readers; from how many bytes on the kernel's copy from memory to memory (cross-memory attach) is
//! worth a call.
//!
//! The text of a [`Copies`] is the value of `LAPIS_SHM_COPIES`, in the environment or in the tuning
//! file. What it leaves out is as shipped. What is chosen while the program runs is not here: which
//! cores are far is found by the transport, from the times of its reads; whether a put goes by
//! attach or in packets, by core, from the times of former transfers.

#[cfg(not(loom))]
mod attempts;
#[cfg(not(loom))]
mod choice;
#[cfg(not(loom))]
mod first_start;
#[cfg(not(loom))]
mod measure;
#[cfg(not(loom))]
mod of_job;
mod store_policy;
#[cfg(not(loom))]
mod trial;
mod variable;

#[cfg(not(loom))]
pub use attempts::Attempts;
#[cfg(not(loom))]
pub use choice::{Choice, Source};
#[cfg(not(loom))]
pub use first_start::{FirstStart, about, first_start};
#[cfg(not(loom))]
pub use measure::measure;
#[cfg(not(loom))]
pub use of_job::{Remark, find, of_host};
pub use store_policy::StorePolicy;
#[cfg(not(loom))]
pub use trial::{Disturbance, Figures, Row, Trial, limits};
pub use variable::{COPIES, VARIABLE};

use std::fmt;

/// The limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copies {
    /// From so many nanoseconds for reading a line of the other core's on, they share no cache.
    pub far: u32,
    /// From so many bytes on messages to a near reader go past the caches; `None`: never.
    pub near_past: Option<u32>,
    /// The same to a far reader.
    pub far_past: Option<u32>,
    /// From so many bytes on puts and gets of any memory may go by cross-memory attach.
    pub attach: u64,
}

/// The least number of bytes that can go past the caches.
pub const LEAST_PAST: u32 = 1 << 10;

/// Where stores past the caches cost more than lines that are taken away, however far the reader.
const CACHED: Copies = Copies { far_past: None, ..Copies::USUAL };

/// Where stores past the caches pay from more than 8 KiB on alone, to far readers.
const PAST_8_KIB: Copies = Copies { far_past: Some((8 << 10) + 1), ..Copies::USUAL };

/// Kinds of processors that were measured: AMD EPYC of the third, the fourth and the fifth
/// generation, Intel Xeon of the fourth; and one that says it is of model 167, between whose cores
/// a line takes 62 ns, but one that is read alone more than 100.
const SHIPPED: [(&str, Copies); 5] = [
    ("AuthenticAMD-25-1", Copies::USUAL),
    ("AuthenticAMD-25-17", PAST_8_KIB),
    ("AuthenticAMD-26-2", Copies::USUAL),
    ("GenuineIntel-6-143", Copies::USUAL),
    ("GenuineIntel-6-167", CACHED),
];

impl Copies {
    /// What holds for most.
    pub const USUAL: Self = Self { far: 100, near_past: None, far_past: Some(LEAST_PAST), attach: 16 << 10 };

    /// What is shipped for a kind of processor, if it is known.
    pub fn shipped(processor: &str) -> Option<Self> {
        SHIPPED.iter().find(|(kind, _)| *kind == processor).map(|(_, copies)| *copies)
    }

    /// With what a text says in place of some of it, as in `far=100,far-past=1024,attach=16384`.
    /// That a job's start has measured it (`measured=start`) changes no limit.
    ///
    /// # Errors
    /// What is not understood.
    pub fn with(mut self, text: &str) -> Result<Self, String> {
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` is not NAME=NUMBER"))?;
            let (name, value) = (name.trim(), value.trim());
            let within = |least: u64, most: u64| match value.parse::<u64>() {
                Ok(number) if (least..=most).contains(&number) => Ok(number),
                _ => Err(format!("{name}=`{value}`: it takes a number from {least} to {most}")),
            };
            let past = || match value {
                "never" => Ok(None),
                _ => within(LEAST_PAST.into(), u32::MAX.into())
                    .map(|number| Some(number as u32))
                    .map_err(|e| e + ", or never"),
            };
            match name {
                "far" => self.far = within(1, 1_000_000)? as u32,
                "near-past" => self.near_past = past()?,
                "far-past" => self.far_past = past()?,
                "measured" if value == "start" => {}
                "attach" => self.attach = within(1, u32::MAX.into())?,
                _ => return Err(format!("no limit `{name}`: there are far, near-past, far-past, attach")),
            }
        }
        Ok(self)
    }

    /// From how many bytes on messages to a reader go past the caches; `None`: never.
    pub fn past(&self, far: bool) -> Option<u32> {
        if far { self.far_past } else { self.near_past }
    }
}

impl fmt::Display for Copies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let past = |bytes: Option<u32>| bytes.map_or("never".to_owned(), |bytes| bytes.to_string());
        let (near, distant) = (past(self.near_past), past(self.far_past));
        write!(f, "far={},near-past={near},far-past={distant},attach={}", self.far, self.attach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Copies = Copies::USUAL;

    #[test]
    fn a_text_says_all_limits_or_some() {
        let all = Copies { far: 7, near_past: Some(4096), far_past: None, attach: 8192 };
        assert_eq!(USUAL.with(&all.to_string()), Ok(all));
        assert_eq!(USUAL.with("attach=5, far = 3"), Ok(Copies { far: 3, attach: 5, ..USUAL }));
        assert_eq!(USUAL.with(""), Ok(USUAL));
    }

    #[test]
    fn what_is_wrong_with_a_text_is_said_with_the_range() {
        for (text, problem) in [
            ("far", "`far` is not NAME=NUMBER"),
            ("near=5", "no limit `near`: there are far, near-past, far-past, attach"),
            ("far=0", "far=`0`: it takes a number from 1 to 1000000"),
            ("far-past=512", "far-past=`512`: it takes a number from 1024 to 4294967295, or never"),
            ("attach=never", "attach=`never`: it takes a number from 1 to 4294967295"),
        ] {
            assert_eq!(USUAL.with(text).unwrap_err(), problem);
        }
    }

    #[test]
    fn some_kinds_of_processors_are_known() {
        assert_eq!(Copies::shipped("Nobody-1-2"), None);
        assert_eq!(Copies::shipped("AuthenticAMD-26-2"), Some(USUAL));
        let text = Copies::shipped("AuthenticAMD-25-17").unwrap().to_string();
        assert_eq!(text, "far=100,near-past=never,far-past=8193,attach=16384");
    }
}
