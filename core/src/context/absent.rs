//! Why no transport reaches a task: the part of the story that the transports which opened can't tell.

use crate::transport::{Registry, Request, Verdict, file_name};

/// What was sought (`names`) and not found or refused, what is there and was not asked for, and where all that was sought.
/// `open` are the names of those that opened.
pub(super) fn reasons(
    registry: &Registry,
    request: &Request,
    names: &[String],
    open: &[&str],
) -> Vec<String> {
    let mut reasons = Vec::new();
    for name in names.iter().filter(|name| !open.contains(&name.as_str())) {
        let known = reasons.len();
        let candidates = registry.candidates().iter().filter(|c| c.name == *name);
        reasons.extend(candidates.map(|c| format!("{name} ({}): {}", c.origin, c.verdict)));
        if reasons.len() == known {
            reasons.push(format!("{name}: no {} was found", file_name(name)));
        }
    }
    for candidate in registry.candidates().iter().filter(|c| !names.contains(&c.name)) {
        reasons.push(match (&candidate.verdict, candidate.name.as_str()) {
            (Verdict::Refused(_) | Verdict::Shadowed, _) => continue,
            // Nothing was named, so only LAPI_USE_SHM passed it over.
            (_, "shm") if request.optional => {
                "shm: there, but LAPI_USE_SHM is no; lapirun sets it to yes".to_owned()
            }
            (_, name) => format!("{name}: there, but not asked for; LAPIS_TRANSPORT={name} asks for it"),
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
        let request = Request { names: Some(names.clone()), dirs: vec![dir.clone()], ..Request::default() };
        let mut registry = Registry::new();
        registry.discover(&request).unwrap_err();
        let text = reasons(&registry, &request, &names, &["open"]).join("; ");
        std::fs::remove_dir_all(&dir).unwrap();
        let torn = format!("torn ({}): refused: not loadable", dir.join("liblapis_torn.so").display());
        assert!(text.starts_with(&torn), "{text}");
        assert!(
            text.contains("; none: no liblapis_none.so was found; other: there, but not asked for"),
            "{text}"
        );
        assert!(text.contains(&format!("sought in {}", dir.display())), "{text}");
        assert_eq!(reasons(&registry, &request, &[], &[]).len(), 3, "the other one, the places, the advice");
    }
}
