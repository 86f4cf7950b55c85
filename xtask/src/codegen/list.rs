//! Reading the list.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// One file of the list: a section of the header.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    pub(super) title: String,
    /// Where the guide has it. What is Lapis's own stands nowhere in the guide.
    #[serde(default)]
    pub(super) guide: String,
    /// The module of the implementation whose functions do the section's calls, of `lapis.h`.
    #[serde(default)]
    pub(super) module: String,
    #[serde(rename = "item")]
    pub(super) items: Vec<Item>,
}

/// One declaration.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Item {
    Typedef(Typedef),
    Define(Define),
    Enum(Enum),
    Struct(Aggregate),
    Union(Aggregate),
    Handler(Handler),
    Call(Call),
    Codes {},
    OwnCodes {},
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Typedef {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) of: String,
    pub(super) align: Option<u32>,
    pub(super) doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Define {
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) c: Option<String>,
    #[serde(default = "c_int")]
    pub(super) rust: String,
    pub(super) doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) alias: Option<String>,
    pub(super) values: Vec<(String, String, String)>,
    pub(super) doc: String,
}

/// A struct or union.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Aggregate {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    pub(super) doc: String,
}

#[derive(Deserialize)]
#[serde(from = "Vec<String>")]
pub(super) struct Field {
    pub(super) of: String,
    pub(super) name: String,
    /// `Some(n)` for an array of n.
    pub(super) length: Option<usize>,
    pub(super) doc: String,
    /// The type that C sees where it differs.
    pub(super) in_c: Option<String>,
}

impl From<Vec<String>> for Field {
    fn from(entries: Vec<String>) -> Self {
        let mut entries = entries.into_iter();
        let of = entries.next().unwrap_or_default();
        let declared = entries.next().unwrap_or_default();
        let (name, length) = match declared.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, length)) => (name.to_owned(), length.parse().ok()),
            None => (declared, None),
        };
        Self { of, name, length, doc: entries.next().unwrap_or_default(), in_c: entries.next() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Handler {
    pub(super) name: String,
    pub(super) returns: String,
    pub(super) params: Vec<(String, String)>,
    #[serde(default)]
    pub(super) pointer: bool,
    pub(super) doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) name: String,
    /// Whether there are a nonblocking and a persistent form of it, too.
    #[serde(default)]
    pub(super) forms: bool,
    pub(super) params: Vec<(String, String)>,
    pub(super) doc: String,
}

fn c_int() -> String {
    "c_int".to_owned()
}

impl Item {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Typedef(item) => Some(&item.name),
            Self::Define(item) => Some(&item.name),
            Self::Enum(item) => Some(&item.name),
            Self::Struct(item) | Self::Union(item) => Some(&item.name),
            Self::Handler(item) => Some(&item.name),
            Self::Call(item) => Some(&item.name),
            Self::Codes {} | Self::OwnCodes {} => None,
        }
    }
}

/// Reads all sections in the order of their file names.
pub(super) fn read(folder: &Path) -> Result<Vec<Section>> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .with_context(|| format!("reading {}", folder.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut sections = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let section: Section = toml::from_str(&text)
            .with_context(|| format!("{} is not a section of the list", path.display()))?;
        sections.push(section);
    }
    check_names(&sections)?;
    Ok(sections)
}

fn check_names(sections: &[Section]) -> Result<()> {
    let mut known = HashSet::new();
    for name in sections.iter().flat_map(|section| &section.items).filter_map(Item::name) {
        if !known.insert(name) {
            bail!("`{name}` stands twice in the list");
        }
    }
    Ok(())
}

/// All calls, in the order of the list.
pub(super) fn calls(sections: &[Section]) -> impl Iterator<Item = &Call> {
    sections.iter().flat_map(|section| &section.items).filter_map(|item| match item {
        Item::Call(call) => Some(call),
        _ => None,
    })
}

/// The names and parameters of a call's forms: one, or three.
pub(super) fn forms(call: &Call) -> Vec<(String, Vec<(String, String)>)> {
    let mut all = vec![(call.name.clone(), call.params.clone())];
    if let Some(short) = call.name.strip_prefix("lapis_").filter(|_| call.forms) {
        let mut params = call.params.clone();
        params.push(("lapis_request_t *".into(), "request".into()));
        all.push((format!("lapis_i{short}"), params.clone()));
        all.push((format!("lapis_{short}_init"), params));
    }
    all
}

/// The names of a call's forms.
pub(super) fn names(call: &Call) -> Vec<String> {
    forms(call).into_iter().map(|(name, _)| name).collect()
}
