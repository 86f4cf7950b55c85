//! `deny.toml` allows the licences of everything that is linked, whether or not cargo-deny is at
//! hand to say so.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Whether an SPDX expression of ANDs and ORs (the form that crates use; `/` is an old OR) can be
/// met.
fn met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    if let Some(inner) = expression.strip_prefix('(')
        && let Some((first, rest)) = inner.split_once(") AND ")
    {
        return met(first, allowed) && met(rest, allowed);
    }
    let either = expression.replace(['(', ')'], "").replace('/', " OR ");
    either.split(" OR ").any(|all| all.split(" AND ").all(|one| allowed.contains(one.trim())))
}

#[test]
fn every_licence_is_allowed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let deny = std::fs::read_to_string(root.join("deny.toml")).unwrap();
    let deny: toml::Table = deny.parse().unwrap();
    let allowed = deny["licenses"]["allow"].as_array().unwrap();
    let allowed: BTreeSet<String> = allowed.iter().map(|l| l.as_str().unwrap().to_owned()).collect();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output =
        Command::new(cargo).current_dir(root).args(["metadata", "--format-version=1"]).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50);
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !met(package["license"].as_str().unwrap_or_default(), &allowed))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn expressions_are_understood() {
    let allowed = BTreeSet::from(["MIT", "ISC", "Unicode-3.0"].map(str::to_owned));
    for good in
        ["MIT", "Apache-2.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "ISC AND MIT", "GPL-3.0 OR ISC"]
    {
        assert!(met(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0"] {
        assert!(!met(bad, &allowed), "{bad}");
    }
}
