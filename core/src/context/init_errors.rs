//! Errors of initialisation, with the guide's codes and with reasons.

use crate::bootstrap;
use crate::error::Error;
use crate::transport::{
    Candidate, Caps, Reach, Registry, Request, SelectError, Selection, TransportError, Unusable, Verdict,
    file_name,
};

/// What is wrong when the tasks of a job can't find each other.
pub(super) fn boot_error(e: bootstrap::BootstrapError) -> Error {
    if let bootstrap::BootstrapError::MissingVariable { missing, remedy, .. } = e {
        return Error::MissingVariable { name: missing, remedy };
    }
    Error::Bootstrap {
        what: e.to_string(),
        source: std::error::Error::source(&e).map(|s| s.to_string().into()),
    }
}

/// What it means for the job that a transport which must be there doesn't open.
pub(super) fn not_opened(name: &str, caps: Caps, why: &Unusable) -> Error {
    let Unusable::Open(cause) = why else {
        return Error::TransportRefused { name: name.into(), reasons: vec![why.to_string()] };
    };
    if caps.contains(Caps::LOCAL_ONLY) {
        return Error::SharedMemory { what: format!("transport `{name}`: {cause}"), source: None };
    }
    match cause {
        TransportError::Unreachable(what) => Error::AdaptersDown { what: what.clone() },
        TransportError::Io(what) if caps.contains(Caps::DATAGRAM) => {
            Error::UdpSocket { what: what.clone(), source: None }
        }
        _ => Error::TransportRefused { name: name.into(), reasons: vec![why.to_string()] },
    }
}

/// What a transport that is open says.
pub(super) fn link_error(name: &str, e: &TransportError) -> Error {
    Error::Transport { transport: name.into(), what: e.to_string(), source: None }
}

/// What it means for the job that a transport which must be there was not found.
pub(super) fn not_there(registry: &Registry, request: &Request, why: &SelectError) -> Error {
    let names = registry.sought(&request.selection);
    Error::TransportRefused { name: names.join(","), reasons: vec![why.to_string()] }
}

/// Why no transport reaches a task, as far as those that opened can't tell: what was sought and not
/// found or refused, what is there and was not asked for, and where all that was sought. `open` are
/// the names of those that opened.
pub(super) fn why_unreachable(registry: &Registry, request: &Request, open: &[&str]) -> Vec<String> {
    let names = registry.sought(&request.selection);
    let mut reasons = Vec::new();
    for name in names.iter().filter(|name| !open.contains(&name.as_str())) {
        let known = reasons.len();
        let candidates = registry.candidates().iter().filter(|c| c.name == *name);
        reasons.extend(candidates.map(|c| format!("{name} ({}): {}", c.origin, c.verdict)));
        if reasons.len() == known {
            reasons.push(format!("{name}: no {} was found", file_name(name)));
        }
    }
    for Candidate { name, verdict, .. } in registry.candidates() {
        if *verdict != Verdict::NotNamed || names.contains(name) {
            continue;
        }
        let of_host = registry.known(name).is_some_and(|known| known.reach == Reach::Host);
        reasons.push(match &request.selection {
            // Nothing was named, so only LAPI_USE_SHM passed it over.
            Selection::Suiting(policy) if of_host && !policy.host => {
                format!("{name}: there, but LAPI_USE_SHM is no; lapirun sets it to yes")
            }
            _ => format!("{name}: there, but not asked for; LAPIS_TRANSPORT={name} asks for it"),
        });
    }
    if !reasons.is_empty() {
        let places = request.explicit.iter().chain(&request.dirs);
        let places: Vec<_> = places.map(|place| place.display().to_string()).collect();
        reasons.push(format!("plugins were sought in {}", places.join(", ")));
        reasons.push("`lapis-info` shows what it finds and why it refuses".to_owned());
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_be_absent_is_named_with_its_reason() {
        let dir = std::env::temp_dir().join(format!("lapis-absent-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("liblapis_torn.so"), "no plugin").unwrap();
        std::fs::write(dir.join("liblapis_other.so"), "not even looked at").unwrap();
        let names: Vec<String> = ["torn", "none", "open"].map(String::from).into();
        let selection = Selection::Named(names);
        let request = Request { selection, dirs: vec![dir.clone()], ..Request::default() };
        let mut registry = Registry::new();
        registry.discover(&request).unwrap_err();
        let text = why_unreachable(&registry, &request, &["open"]).join("; ");
        std::fs::remove_dir_all(&dir).unwrap();
        let torn = format!("torn ({}): refused: not loadable", dir.join("liblapis_torn.so").display());
        assert!(text.starts_with(&torn), "{text}");
        assert!(
            text.contains("; none: no liblapis_none.so was found; other: there, but not asked for"),
            "{text}"
        );
        assert!(text.contains(&format!("sought in {}", dir.display())), "{text}");
        let all = why_unreachable(&registry, &request, &["torn", "none", "open"]);
        assert_eq!(all.len(), 3, "the other one, the places, the advice: {all:?}");
    }
}
