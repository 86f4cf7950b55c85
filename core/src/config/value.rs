//! Structured values of the guide's standalone variables (LAPI Guide, "Standalone setup").

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::IntErrorKind;
use std::str::FromStr;

/// MP_COMMON_TASKS: the other tasks on this node, `count:task:task...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommonTasks(pub Vec<u32>);

/// MP_LAPI_INET_ADDR: address and adapter of each network instance, `@count:address,adapter:...`.
/// Addresses of IPv6 may stand in brackets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InetAddrs(pub Vec<(IpAddr, String)>);

/// MP_LAPI_NETWORK: window and adapter of each network instance, `@count:window,adapter:...`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkWindows(pub Vec<(u32, String)>);

/// MP_EUIDEVICE: which adapters or devices a task uses.
//= LAPI Guide, Using failover and recovery, Requesting the use of multiple adapters
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// Nothing was said: any.
    #[default]
    Any,
    /// Those of one network.
    Single,
    /// Those of each network.
    All,
    /// This one.
    Named(String),
}

impl Device {
    /// As the variable says it; without one, or with an empty one, any.
    pub fn of(text: Option<&str>) -> Self {
        match text.map(str::trim) {
            None | Some("") => Self::Any,
            Some("sn_single") => Self::Single,
            Some("sn_all") => Self::All,
            Some(name) => Self::Named(name.to_owned()),
        }
    }
}

/// MP_INSTANCES: how many network instances each task gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// This many.
    Count(u32),
    /// As many as the system allows.
    Max,
}

impl FromStr for Instances {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("max") {
            return Ok(Self::Max);
        }
        match text.parse::<u32>() {
            Ok(0) => Err("the value is too small".to_owned()),
            Ok(count) => Ok(Self::Count(count)),
            // More than there can be counts as all there are.
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(Self::Max),
            Err(_) => Err("the value is neither a number nor max".to_owned()),
        }
    }
}

impl fmt::Display for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl FromStr for CommonTasks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (count, rest) = text.split_once(':').unwrap_or((text, ""));
        let tasks: Vec<u32> = if rest.is_empty() {
            Vec::new()
        } else {
            rest.split(':')
                .map(|task| task.parse().map_err(|_| format!("`{task}` is not a task number")))
                .collect::<Result<_, _>>()?
        };
        check_count(count, tasks.len())?;
        for (at, task) in tasks.iter().enumerate() {
            if tasks[..at].contains(task) {
                return Err(format!("task {task} stands twice in the list"));
            }
        }
        Ok(Self(tasks))
    }
}

impl FromStr for InetAddrs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |text: &str| -> Result<IpAddr, String> {
            let wrong = |_| format!("`{text}` is not an IP address");
            match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
                Some(inner) => inner.parse::<Ipv6Addr>().map(IpAddr::V6).map_err(wrong),
                None => text.parse().map_err(wrong),
            }
        };
        instances(text, parse).map(Self)
    }
}

impl FromStr for NetworkWindows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        instances(text, |window| window.parse().map_err(|_| format!("`{window}` is not a window number")))
            .map(Self)
    }
}

/// `@count:first,adapter:first,adapter...`. The guide also prints `>` after the count. What stands
/// first ends at a comma and may contain colons, as addresses of IPv6 do; names of adapters don't.
fn instances<T>(text: &str, first: impl Fn(&str) -> Result<T, String>) -> Result<Vec<(T, String)>, String> {
    let rest = text.strip_prefix('@').ok_or("the value does not begin with @")?;
    let (count, mut rest) = rest.split_once([':', '>']).ok_or("nothing follows the number of instances")?;
    let mut pairs = Vec::new();
    loop {
        let (value, others) = rest.split_once(',').ok_or_else(|| format!("`{rest}` names no adapter"))?;
        let (adapter, after) = match others.split_once(':') {
            Some((adapter, after)) => (adapter, Some(after)),
            None => (others, None),
        };
        if adapter.is_empty() {
            return Err(format!("`{value},` names no adapter"));
        }
        pairs.push((first(value)?, adapter.to_owned()));
        match after {
            Some(after) => rest = after,
            None => break,
        }
    }
    check_count(count, pairs.len())?;
    Ok(pairs)
}

fn check_count(count: &str, found: usize) -> Result<(), String> {
    match count.parse::<usize>() {
        Ok(announced) if announced == found => Ok(()),
        Ok(announced) => Err(format!("{announced} are announced and {found} follow")),
        Err(_) => Err(format!("`{count}` is not a number")),
    }
}

impl fmt::Display for CommonTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.len())?;
        self.0.iter().try_for_each(|task| write!(f, ":{task}"))
    }
}

impl fmt::Display for InetAddrs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0.len())?;
        self.0.iter().try_for_each(|(address, adapter)| match address {
            IpAddr::V4(address) => write!(f, ":{address},{adapter}"),
            IpAddr::V6(address) => write!(f, ":[{address}],{adapter}"),
        })
    }
}

impl fmt::Display for NetworkWindows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0.len())?;
        self.0.iter().try_for_each(|(window, adapter)| write!(f, ":{window},{adapter}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= LAPI Guide, Using failover and recovery, Requesting the use of multiple adapters
    //= type=test
    #[test]
    fn a_device_is_one_of_each_network_or_a_name() {
        for (text, device) in [
            (None, Device::Any),
            (Some(" "), Device::Any),
            (Some("sn_single"), Device::Single),
            (Some(" sn_all"), Device::All),
            (Some("sn1"), Device::Named("sn1".to_owned())),
        ] {
            assert_eq!(Device::of(text), device, "{text:?}");
        }
    }
}
