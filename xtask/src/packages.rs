//! The workspace's packages and their targets, as cargo tells them.

use crate::sh;
use crate::workspace::root;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// One package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// The folder of its `Cargo.toml`.
    pub(crate) dir: PathBuf,
    pub(crate) targets: Vec<Target>,
    pub(crate) dependencies: Vec<String>,
}

/// One target of a package.
pub(crate) struct Target {
    pub(crate) name: String,
    /// `bin`, `lib`, `cdylib`, `test`, …
    pub(crate) kinds: Vec<String>,
}

impl Package {
    /// The package's folder relative to the root, with `/`.
    pub(crate) fn place(&self) -> String {
        self.dir.strip_prefix(root()).unwrap_or(&self.dir).to_string_lossy().into_owned()
    }

    /// Names of the targets of one kind.
    pub(crate) fn targets_of(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.targets.iter().filter(move |t| t.kinds.iter().any(|k| k == kind)).map(|t| t.name.as_str())
    }
}

/// All packages of the workspace.
pub(crate) fn all() -> Result<Vec<Package>> {
    all_of(&root().join("Cargo.toml"))
}

/// All packages of the workspace with this manifest.
pub(crate) fn all_of(manifest: &Path) -> Result<Vec<Package>> {
    let mut command = sh::cargo(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]);
    let text =
        sh::output(command.arg(manifest)).context("`cargo metadata` failed; run it by hand to see why")?;
    let document: Value = serde_json::from_str(&text).context("`cargo metadata` printed no JSON")?;
    let packages: Vec<Package> = list(&document, "packages")
        .map(package)
        .collect::<Option<_>>()
        .context("`cargo metadata` printed packages without name, manifest_path or targets")?;
    if packages.is_empty() {
        bail!("the workspace of {} has no packages", manifest.display());
    }
    Ok(packages)
}

fn package(value: &Value) -> Option<Package> {
    let target = |t: &Value| {
        let kinds = list(t, "kind").filter_map(Value::as_str).map(str::to_owned).collect();
        Some(Target { name: t["name"].as_str()?.to_owned(), kinds })
    };
    Some(Package {
        name: value["name"].as_str()?.to_owned(),
        dir: Path::new(value["manifest_path"].as_str()?).parent()?.to_owned(),
        targets: list(value, "targets").map(target).collect::<Option<_>>()?,
        dependencies: list(value, "dependencies")
            .filter_map(|d| d["name"].as_str())
            .map(str::to_owned)
            .collect(),
    })
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}
