//! Faults on purpose: a transport between core and another transport that loses, repeats, reorders,
//! delays and spoils datagrams, and makes reliable transports slow and busy.
//!
//! Switched on by `LAPIS_CHAOS`, e.g. `LAPIS_CHAOS=drop=0.01,reorder=0.05,delay=200us,seed=7`, for
//! tests and for people who want to see what their program does on a bad network. What happens to
//! datagrams may differ from path to path: `drop=0.01,path1.delay=3ms,path1.drop=0.2` makes the
//! second of two rails a bad one. The seed makes decisions repeatable, as far as the program's own
//! order of calls is.

mod faults;
mod link;

pub(super) use link::wrap;

pub use faults::Faults;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Which faults, how often. Parsed from `name=value` pairs separated by commas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chaos {
    /// What happens to datagrams on every path that has no faults of its own; the delay is that of
    /// reliable messages, too.
    pub faults: Faults,
    /// Paths with faults of their own: what is not said of them is as on the others.
    pub paths: BTreeMap<u8, Faults>,
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
    #[error(
        "\"{0}\" is not a fault: there are drop, dup, reorder, corrupt, cut, delay, mtu (also as path0.drop \
         to path7.mtu), again, and seed"
    )]
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

/// Paths that can have faults of their own.
const PATHS: u8 = 8;

impl Chaos {
    /// What happens on a path.
    pub(super) fn on(&self, path: u32) -> &Faults {
        u8::try_from(path).ok().and_then(|path| self.paths.get(&path)).unwrap_or(&self.faults)
    }

    /// Whether a predicate holds for the faults of some path.
    pub(super) fn any(&self, of: impl Fn(&Faults) -> bool) -> bool {
        of(&self.faults) || self.paths.values().any(of)
    }
}

impl FromStr for Chaos {
    type Err = ChaosError;

    fn from_str(text: &str) -> Result<Self, ChaosError> {
        let mut chaos = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        let mut of_paths = Vec::new();
        for piece in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let Some((name, value)) = piece.split_once('=') else {
                return Err(ChaosError::NoValue(piece.to_owned()));
            };
            let (name, value) = (name.trim(), value.trim());
            if seen.contains(&name) {
                return Err(ChaosError::Twice(name.to_owned()));
            }
            seen.push(name);
            let bad = |expected| bad(name, value, expected);
            match name {
                "again" => match faults::part(value) {
                    // Always `Again` would hang every program, which tests nothing.
                    Some(p) if p < 1.0 => chaos.again = p,
                    Some(_) => return Err(bad("a part from 0 to less than 1")),
                    None => return Err(bad(faults::PART)),
                },
                "seed" => chaos.seed = value.parse().map_err(|_| bad("a whole number"))?,
                _ => match name.strip_prefix("path").and_then(|rest| rest.split_once('.')) {
                    Some((path, fault)) => {
                        let path = path.parse().ok().filter(|path| *path < PATHS);
                        of_paths.push((
                            path.ok_or_else(|| ChaosError::Unknown(name.to_owned()))?,
                            name,
                            fault,
                            value,
                        ));
                    }
                    None => chaos.faults.set(name, name, value)?,
                },
            }
        }
        // Wherever they stand: the others are what they differ from.
        for (path, name, fault, value) in of_paths {
            chaos.paths.entry(path).or_insert_with(|| chaos.faults.clone()).set(name, fault, value)?;
        }
        Ok(chaos)
    }
}

fn bad(name: &str, value: &str, expected: &'static str) -> ChaosError {
    ChaosError::BadValue { name: name.to_owned(), value: value.to_owned(), expected }
}

impl fmt::Display for Chaos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.write(f, "", &Faults::default())?;
        for (path, faults) in &self.paths {
            faults.write(f, &format!("path{path}."), &self.faults)?;
        }
        if self.again > 0.0 {
            write!(f, "again={},", self.again)?;
        }
        write!(f, "seed={}", self.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn descriptions_are_read_and_written() {
        let chaos: Chaos = "drop=0.01, dup=0.5,delay=3ms,cut=20ms,mtu=1500,seed=7".parse().expect("good");
        let faults = Faults {
            drop: 0.01,
            dup: 0.5,
            delay: Duration::from_millis(3),
            cut: Duration::from_millis(20),
            mtu: Some(1500),
            ..Faults::default()
        };
        assert_eq!(chaos, Chaos { faults, seed: 7, ..Chaos::default() });
        assert_eq!(chaos.to_string().parse(), Ok(chaos));
        assert_eq!("drop=25%".parse::<Chaos>().map(|c| c.faults.drop), Ok(0.25));
        assert_eq!("".parse(), Ok(Chaos::default()));
    }

    #[test]
    fn a_path_differs_from_the_others_in_what_is_said_of_it() {
        let chaos: Chaos =
            "path1.drop=0.2,drop=0.1,path1.delay=0ms,delay=2ms,dup=0.3,path7.mtu=600".parse().expect("good");
        let ms = Duration::from_millis;
        let of = |path| (chaos.on(path).drop, chaos.on(path).delay, chaos.on(path).dup, chaos.on(path).mtu);
        assert_eq!(of(0), (0.1, ms(2), 0.3, None));
        assert_eq!(of(1), (0.2, ms(0), 0.3, None));
        assert_eq!(of(7), (0.1, ms(2), 0.3, Some(600)));
        assert_eq!(of(999), of(0));
        assert_eq!(chaos.to_string().parse(), Ok(chaos));
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
        for bad in ["mtu=100", "mtu=70000", "mtu=x"] {
            says(bad, "bytes from");
        }
        says("path1.drop=7", "path1.drop=7: expected a part");
        says("path1.drop=0.1,path1.drop=0.2", "twice");
        for bad in ["path8.drop=0.1", "path.drop=0.1", "path1.seed=7", "path1=7"] {
            says(bad, "is not a fault");
        }
    }
}
