//! Types, units and ranges of variables, and the parsing of their text.

use super::value::{CommonTasks, InetAddrs, Instances, NetworkWindows};
use std::time::Duration;

/// The unit of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unit {
    /// Bytes; the suffixes K, M and G multiply by powers of 1024.
    Bytes,
    /// A plain number.
    Count,
    /// Seconds.
    Seconds,
    /// Microseconds.
    Microseconds,
}

/// The type of a variable, with its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// A number from `min` to `max`.
    Number {
        /// Its unit.
        unit: Unit,
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
        /// Whether a smaller value is raised to `min` (with a warning) instead of refused.
        raise: bool,
    },
    /// yes or no.
    Bool,
    /// Set by any value but the empty one and `no`.
    Flag,
    /// One word of a closed set.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// Whether upper and lower case differ.
        case_sensitive: bool,
    },
    /// One of several words, in upper or lower case: a text with `|` between them.
    Words(&'static str),
    /// A number of instances, or `max`.
    Instances,
    /// Any text.
    Text,
    /// Names separated by commas, none of them empty or doubled.
    List,
    /// Paths separated by colons.
    Paths,
    /// Tasks on the same node, as MP_COMMON_TASKS writes them.
    CommonTasks,
    /// Network instances, as MP_LAPI_INET_ADDR writes them.
    InetAddrs,
    /// Adapter windows, as MP_LAPI_NETWORK writes them.
    NetworkWindows,
}

/// A parsed value, before it becomes the typed one of its setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Duration(Duration),
    Bool(bool),
    Word(&'static str),
    Text(String),
    List(Vec<String>),
    Instances(Instances),
    CommonTasks(CommonTasks),
    InetAddrs(InetAddrs),
    NetworkWindows(NetworkWindows),
}

/// A parsed value, and whether it had to be raised to the minimum.
pub(crate) struct Parsed {
    pub(crate) value: Value,
    pub(crate) raised: bool,
}

impl Kind {
    /// What the variable takes, as a phrase for messages and listings.
    pub fn range(&self) -> String {
        match self {
            Self::Number { unit, min, max, raise } => {
                let show = |n: u64| if *unit == Unit::Bytes { bytes(n) } else { n.to_string() };
                let what = match unit {
                    Unit::Bytes => "bytes (suffix K, M or G)",
                    Unit::Count => "a number",
                    Unit::Seconds => "seconds",
                    Unit::Microseconds => "microseconds",
                };
                let raised = if *raise { ", raised to the minimum if smaller" } else { "" };
                match *max {
                    u64::MAX => format!("{what}, at least {}{raised}", show(*min)),
                    max => format!("{what} from {} to {}{raised}", show(*min), show(max)),
                }
            }
            Self::Bool => "yes or no".to_owned(),
            Self::Flag => "any text to turn it on, `no` or nothing to leave it off".to_owned(),
            Self::Choice { words, .. } => format!("one of {}", words.join(" | ")),
            Self::Words(words) => format!("one of {}", words.split('|').collect::<Vec<_>>().join(" | ")),
            Self::Instances => "a number of at least 1, or max".to_owned(),
            Self::Text => "any text".to_owned(),
            Self::List => "names separated by commas".to_owned(),
            Self::Paths => "directories or files separated by colons".to_owned(),
            Self::CommonTasks => "count:task:task..., as in 3:0:2:3".to_owned(),
            Self::InetAddrs => {
                "@count:address,adapter:address,adapter..., as in @1:192.168.0.1,eth0".to_owned()
            }
            Self::NetworkWindows => "@count:window,adapter:window,adapter..., as in @1:164,sn0".to_owned(),
        }
    }

    /// Parses the text of a value; the error says what is wrong with it.
    pub(crate) fn parse(&self, text: &str) -> Result<Parsed, String> {
        let text = text.trim();
        let plain = |value| Ok(Parsed { value, raised: false });
        match self {
            Self::Number { unit, min, max, raise } => {
                let n = number(text, *unit)?;
                let raised = n < *min && *raise;
                let n = if raised { *min } else { n };
                if n < *min {
                    return Err("the value is too small".to_owned());
                }
                if n > *max {
                    return Err("the value is too large".to_owned());
                }
                let value = match unit {
                    Unit::Bytes | Unit::Count => Value::Number(n),
                    Unit::Seconds => Value::Duration(Duration::from_secs(n)),
                    Unit::Microseconds => Value::Duration(Duration::from_micros(n)),
                };
                Ok(Parsed { value, raised })
            }
            Self::Bool => match text.to_ascii_lowercase().as_str() {
                "yes" | "on" | "true" | "1" => plain(Value::Bool(true)),
                "no" | "off" | "false" | "0" => plain(Value::Bool(false)),
                _ => Err("the value is neither yes nor no".to_owned()),
            },
            Self::Flag => plain(Value::Bool(!text.is_empty() && !text.eq_ignore_ascii_case("no"))),
            Self::Choice { words, case_sensitive } => {
                let same = |word: &str| word == text || (!case_sensitive && word.eq_ignore_ascii_case(text));
                match words.iter().find(|word| same(word)) {
                    Some(word) => plain(Value::Word(word)),
                    None => Err("the value is not known".to_owned()),
                }
            }
            Self::Words(words) => match words.split('|').find(|word| word.eq_ignore_ascii_case(text)) {
                Some(word) => plain(Value::Word(word)),
                None => Err("the value is not known".to_owned()),
            },
            Self::Instances => plain(Value::Instances(text.parse()?)),
            Self::Text => plain(Value::Text(text.to_owned())),
            Self::List => plain(Value::List(list(text)?)),
            Self::Paths => {
                let paths = text.split(':').map(str::trim).filter(|path| !path.is_empty());
                plain(Value::List(paths.map(str::to_owned).collect()))
            }
            Self::CommonTasks => plain(Value::CommonTasks(text.parse()?)),
            Self::InetAddrs => plain(Value::InetAddrs(text.parse()?)),
            Self::NetworkWindows => plain(Value::NetworkWindows(text.parse()?)),
        }
    }
}

impl Kind {
    /// A value as one would write it in the environment.
    pub(crate) fn write(&self, value: &Value) -> String {
        match value {
            Value::Number(n) if matches!(self, Self::Number { unit: Unit::Bytes, .. }) => bytes(*n),
            Value::Number(n) => n.to_string(),
            Value::Duration(time) if matches!(self, Self::Number { unit: Unit::Seconds, .. }) => {
                time.as_secs().to_string()
            }
            Value::Duration(time) => time.as_micros().to_string(),
            Value::Bool(on) => (if *on { "yes" } else { "no" }).to_owned(),
            Value::Word(word) => (*word).to_owned(),
            Value::Text(text) => text.clone(),
            Value::List(names) => names.join(if *self == Self::Paths { ":" } else { "," }),
            Value::Instances(instances) => instances.to_string(),
            Value::CommonTasks(tasks) => tasks.to_string(),
            Value::InetAddrs(addrs) => addrs.to_string(),
            Value::NetworkWindows(windows) => windows.to_string(),
        }
    }
}

/// `4096` as `4K`: the largest unit that divides a number of bytes.
pub(super) fn bytes(n: u64) -> String {
    for (shift, suffix) in [(30, 'G'), (20, 'M'), (10, 'K')] {
        if n != 0 && n.trailing_zeros() >= shift {
            return format!("{}{suffix}", n >> shift);
        }
    }
    n.to_string()
}

fn number(text: &str, unit: Unit) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((at, suffix)) if unit == Unit::Bytes && suffix.is_ascii_alphabetic() => {
            let shift = match suffix.to_ascii_uppercase() {
                'K' => 10,
                'M' => 20,
                'G' => 30,
                _ => return Err(format!("`{suffix}` is not one of the suffixes K, M and G")),
            };
            (&text[..at], shift)
        }
        _ => (text, 0),
    };
    let whole = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if digits.strip_prefix('-').is_some_and(whole) {
        return Err("the value is negative".to_owned());
    }
    if !whole(digits) {
        return Err("the value is not a whole number".to_owned());
    }
    let n: u64 = digits.parse().map_err(|_| "the value is too large".to_owned())?;
    n.checked_mul(1 << shift).ok_or_else(|| "the value is too large".to_owned())
}

fn list(text: &str) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name.is_empty() {
            return Err("a name in the list is empty".to_owned());
        }
        if names.iter().any(|known| known == name) {
            return Err(format!("`{name}` stands twice in the list"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}
