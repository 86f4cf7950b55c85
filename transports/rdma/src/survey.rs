//! Every device that libfabric or the kernel has, and why it is taken or not: for who looks at a
//! machine, not for jobs.

use crate::nearness;
use crate::provider::{self, Seen, Wanted};

/// A provider with devices of its.
type Offer<'a> = (&'a str, Vec<&'a str>);

/// Room for the statements in what a plugin says of itself, beside its other ones.
const ROOM: usize = 640;

/// Statements, each behind a semicolon: the devices by what became of them. `taken`: provider and
/// device of each rail.
pub(crate) fn text(seen: &[Seen], wanted: &Wanted, taken: &[(String, String)]) -> String {
    let mut groups: Vec<(String, Vec<Offer<'_>>)> = Vec::new();
    for one in seen {
        let why = verdict(one, seen, wanted, taken);
        let at = groups.iter().position(|(of, _)| *of == why).unwrap_or_else(|| {
            groups.push((why, Vec::new()));
            groups.len() - 1
        });
        let members = &mut groups[at].1;
        match members.iter_mut().find(|(provider, _)| *provider == one.provider) {
            Some((_, devices)) => devices.push(&one.device),
            None => members.push((&one.provider, vec![&one.device])),
        }
    }
    let mut out = String::new();
    for (why, members) in &groups {
        let on = |(provider, devices): &Offer<'_>| format!("{provider} on {}", devices.join(" and "));
        let members: Vec<String> = members.iter().map(on).collect();
        out += &format!("; {why}: {}", members.join(", "));
    }
    for adapter in nearness::adapters_of_kernel() {
        if !seen.iter().any(|one| one.device.starts_with(&adapter)) {
            let state = nearness::port_state(&adapter);
            out +=
                &format!("; refused, no provider of libfabric lists it (port 1 is \"{state}\"): {adapter}");
        }
    }
    cut(&out)
}

/// Whole statements, as many as there is room for.
fn cut(text: &str) -> String {
    const MORE: &str = "; and more, which fi_info lists";
    if text.len() <= ROOM {
        return text.to_owned();
    }
    let mut out = String::new();
    for part in text.split("; ").skip(1) {
        if out.len() + part.len() + MORE.len() + 2 <= ROOM {
            out += &format!("; {part}");
        }
    }
    out + MORE
}

fn verdict(one: &Seen, seen: &[Seen], wanted: &Wanted, taken: &[(String, String)]) -> String {
    if taken.iter().any(|(provider, device)| (provider, device) == (&one.provider, &one.device)) {
        return "taken".to_owned();
    }
    let why = match &wanted.provider {
        Some(named) if !one.is_of(named) => "LAPIS_RDMA_PROVIDER names another".to_owned(),
        _ if !one.fits => return "refused, without reliable endpoints with multi-receive buffers".to_owned(),
        Some(_) => of_one_provider(one, seen, wanted),
        None => match (rank(one), taken.first()) {
            (None, _) => "it needs no adapter and LAPIS_RDMA_PROVIDER does not name it".to_owned(),
            (Some(_), Some((provider, _))) if one.provider != *provider => format!("{provider} is preferred"),
            (Some(_), _) => of_one_provider(one, seen, wanted),
        },
    };
    format!("not taken, {why}")
}

/// Why another device of the provider was taken.
fn of_one_provider(one: &Seen, seen: &[Seen], wanted: &Wanted) -> String {
    let others = || seen.iter().any(|other| other.provider == one.provider && other.device != "lo");
    if !wanted.domains.is_empty() && !wanted.domains.contains(&one.device) {
        "LAPIS_RDMA_DOMAIN names others".to_owned()
    } else if !wanted.addresses.is_empty() {
        "LAPIS_RDMA_ADDR names others".to_owned()
    } else if one.device == "lo" && others() {
        "it loops back".to_owned()
    } else {
        "MP_INSTANCES and MP_EUIDEVICE want no more, and others are nearer or first".to_owned()
    }
}

fn rank(one: &Seen) -> Option<usize> {
    provider::rank_of(&one.provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(provider: &str, device: &str, fits: bool) -> Seen {
        Seen { provider: provider.to_owned(), device: device.to_owned(), fits }
    }

    fn taken(provider: &str, device: &str) -> Vec<(String, String)> {
        vec![(provider.to_owned(), device.to_owned())]
    }

    fn machine() -> Vec<Seen> {
        vec![
            seen("verbs;ofi_rxm", "mlx5_0", true),
            seen("verbs;ofi_rxm", "mlx5_1", true),
            seen("opx", "hfi1_0", true),
            seen("net", "eth0", false),
            seen("tcp;ofi_rxm", "eth0", true),
            seen("tcp;ofi_rxm", "lo", true),
        ]
    }

    /// The statements about these.
    fn parts(wanted: &Wanted, taken: &[(String, String)]) -> Vec<String> {
        let text = text(&machine(), wanted, taken);
        let parts = text.split("; ").skip(1).map(str::to_owned);
        // Adapters of the machine that runs the test are not the test's.
        parts.filter(|part| !part.contains("no provider of libfabric")).collect()
    }

    #[test]
    fn each_device_is_said_once_with_why_it_is_not_taken() {
        let said = parts(&Wanted::default(), &taken("verbs;ofi_rxm", "mlx5_1"));
        assert_eq!(
            said,
            [
                "not taken, MP_INSTANCES and MP_EUIDEVICE want no more, and others are nearer or first: \
                 verbs;ofi_rxm on mlx5_0",
                "taken: verbs;ofi_rxm on mlx5_1",
                "not taken, verbs;ofi_rxm is preferred: opx on hfi1_0",
                "refused, without reliable endpoints with multi-receive buffers: net on eth0",
                "not taken, it needs no adapter and LAPIS_RDMA_PROVIDER does not name it: tcp;ofi_rxm on eth0 and lo",
            ]
        );
    }

    #[test]
    fn what_the_user_named_is_the_reason() {
        let named = Wanted { provider: Some("tcp;ofi_rxm".to_owned()), ..Wanted::default() };
        let said = parts(&named, &taken("tcp;ofi_rxm", "eth0"));
        assert!(said.contains(&"not taken, it loops back: tcp;ofi_rxm on lo".to_owned()), "{said:?}");
        assert!(
            said[0].starts_with("not taken, LAPIS_RDMA_PROVIDER names another: verbs;ofi_rxm on "),
            "{said:?}"
        );
        let domains = Wanted { domains: vec!["lo".to_owned()], ..named.clone() };
        let said = parts(&domains, &taken("tcp;ofi_rxm", "lo"));
        assert!(said.contains(&"not taken, LAPIS_RDMA_DOMAIN names others: tcp;ofi_rxm on eth0".to_owned()));
        let addresses = Wanted { addresses: vec!["127.0.0.1".to_owned()], ..named };
        let said = parts(&addresses, &taken("tcp;ofi_rxm", "lo"));
        assert!(said.contains(&"not taken, LAPIS_RDMA_ADDR names others: tcp;ofi_rxm on eth0".to_owned()));
    }

    #[test]
    fn a_list_that_is_too_long_ends_with_a_statement_that_says_so() {
        let device = |at| seen("verbs;ofi_rxm", &format!("adapter_{at}"), at % 2 == 0);
        let many: Vec<_> = (0..100).map(device).chain([seen("psm3", "nic", true)]).collect();
        let text = text(&many, &Wanted::default(), &taken("verbs;ofi_rxm", "adapter_0"));
        assert!(text.len() <= ROOM && text.ends_with("; and more, which fi_info lists"), "{text}");
        assert!(text.starts_with("; taken: verbs;ofi_rxm on adapter_0; "), "{text}");
        assert!(text.contains("; not taken, verbs;ofi_rxm is preferred: psm3 on nic; "), "{text}");
    }

    #[test]
    fn adapters_are_ranked_and_others_are_not() {
        assert!(rank(&seen("verbs;ofi_rxm", "a", true)) < rank(&seen("opx", "a", true)));
        assert_eq!(rank(&seen("tcp;ofi_rxm", "lo", true)), None);
    }
}
