//! Faults on purpose: a transport between core and another transport that loses, repeats, reorders, delays and spoils
//! datagrams, and makes reliable transports slow and busy.
//!
//! Switched on by `LAPIS_CHAOS`, e.g. `LAPIS_CHAOS=drop=0.01,reorder=0.05,delay=200us,seed=7`, for tests and for people
//! who want to see what their program does on a bad network. The seed makes decisions repeatable, as far as the
//! program's own order of calls is.

mod link;

pub(super) use link::wrap;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Which faults, how often. Parsed from `name=value` pairs separated by commas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chaos {
    /// Datagrams: part that is lost.
    pub drop: f64,
    /// Datagrams: part that is sent twice.
    pub dup: f64,
    /// Datagrams: part that is held back until others have overtaken it.
    pub reorder: f64,
    /// Datagrams: part in which one bit is flipped.
    pub corrupt: f64,
    /// Datagrams: now and then nothing passes over a path, for a random time up to this.
    pub cut: Duration,
    /// Datagrams and reliable messages: each is held for a random time up to this.
    pub delay: Duration,
    /// All operations: part that is answered with `Again`.
    pub again: f64,
    /// Start of the random numbers; tasks differ by their number.
    pub seed: u64,
}

/// What is wrong with a description of faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChaosError {
    /// A piece without an equals sign.
    #[error("\"{0}\" is not of the form name=value")]
    NoValue(String),
    /// A name that means nothing.
    #[error("\"{0}\" is not a fault: there are drop, dup, reorder, corrupt, cut, delay, again, and seed")]
    Unknown(String),
    /// The same name twice.
    #[error("\"{0}\" is given twice")]
    Twice(String),
    /// A value out of range or of the wrong kind.
    #[error("{name}={value}: expected {expected}")]
    BadValue {
        /// Which fault.
        name: String,
        /// What was given.
        value: String,
        /// What may be given.
        expected: &'static str,
    },
}

impl FromStr for Chaos {
    type Err = ChaosError;

    fn from_str(text: &str) -> Result<Self, ChaosError> {
        let mut chaos = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for piece in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let Some((name, value)) = piece.split_once('=') else {
                return Err(ChaosError::NoValue(piece.to_owned()));
            };
            let (name, value) = (name.trim(), value.trim());
            if seen.contains(&name) {
                return Err(ChaosError::Twice(name.to_owned()));
            }
            seen.push(name);
            let bad =
                |expected| ChaosError::BadValue { name: name.to_owned(), value: value.to_owned(), expected };
            let part = || {
                let (digits, unit) = value.strip_suffix('%').map_or((value, 1.0), |digits| (digits, 0.01));
                match digits.parse::<f64>().map(|p| p * unit) {
                    Ok(p) if (0.0..=1.0).contains(&p) => Ok(p),
                    _ => Err(bad("a part from 0 to 1, such as 0.01 or 1%")),
                }
            };
            match name {
                "drop" => chaos.drop = part()?,
                "dup" => chaos.dup = part()?,
                "reorder" => chaos.reorder = part()?,
                "corrupt" => chaos.corrupt = part()?,
                "again" => match part()? {
                    // Always `Again` would hang every program, which tests nothing.
                    p if p < 1.0 => chaos.again = p,
                    _ => return Err(bad("a part from 0 to less than 1")),
                },
                "cut" | "delay" => {
                    let time = duration(value).filter(|d| *d <= Duration::from_secs(10));
                    let time = time.ok_or_else(|| bad("a time up to 10s, such as 200us or 3ms"))?;
                    *(if name == "cut" { &mut chaos.cut } else { &mut chaos.delay }) = time;
                }
                "seed" => chaos.seed = value.parse().map_err(|_| bad("a whole number"))?,
                _ => return Err(ChaosError::Unknown(name.to_owned())),
            }
        }
        Ok(chaos)
    }
}

impl fmt::Display for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("drop", self.drop),
            ("dup", self.dup),
            ("reorder", self.reorder),
            ("corrupt", self.corrupt),
            ("again", self.again),
        ];
        for (name, part) in parts {
            if part > 0.0 {
                write!(f, "{name}={part},")?;
            }
        }
        for (name, time) in [("cut", self.cut), ("delay", self.delay)] {
            if !time.is_zero() {
                write!(f, "{name}={}us,", time.as_micros())?;
            }
        }
        write!(f, "seed={}", self.seed)
    }
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "us" => Some(Duration::from_micros(count)),
        "ms" => Some(Duration::from_millis(count)),
        "s" => Some(Duration::from_secs(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_read_and_written() {
        let chaos: Chaos = "drop=0.01, dup=0.5,delay=3ms,cut=20ms,seed=7".parse().expect("good");
        assert_eq!(
            (chaos.drop, chaos.dup, chaos.delay, chaos.seed),
            (0.01, 0.5, Duration::from_millis(3), 7)
        );
        assert_eq!(chaos.cut, Duration::from_millis(20));
        assert_eq!(chaos.to_string().parse(), Ok(chaos));
        assert_eq!("drop=25%".parse::<Chaos>().map(|c| c.drop), Ok(0.25));
        assert_eq!("".parse(), Ok(Chaos::default()));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let says = |text: &str, part: &str| {
            let error = text.parse::<Chaos>().expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        };
        says("drop", "not of the form name=value");
        says("dorp=0.1", "\"dorp\" is not a fault: there are drop");
        says("drop=0.1,drop=0.2", "twice");
        for bad in ["drop=2", "drop=-0.1", "drop=x", "drop=", "drop=NaN", "dup=inf", "dup=101%", "dup=%"] {
            says(bad, "a part from 0 to 1");
        }
        says("again=1", "less than 1");
        for bad in
            ["delay=5", "delay=ms", "delay=5h", "delay=11s", "delay=-1ms", "delay=99999999999999999999us"]
        {
            says(bad, "a time up to 10s");
        }
        says("seed=-1", "a whole number");
    }
}
