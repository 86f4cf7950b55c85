//! What there is to show, gathered without printing anything.

use lapis_core::bootstrap;
use lapis_core::config::{Config, Environment, Listed};
use lapis_core::transport::abi::{ABI_MAJOR, ABI_MINOR};
use lapis_core::transport::{Caps, Chaos, Limits, Link, OpenParams, Registry, Request, Verdict, search_dirs};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Everything. The JSON has these names.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    /// Version of Lapis.
    pub(crate) version: &'static str,
    /// Version of the border between core and transports.
    pub(crate) transport_abi: String,
    /// Which names in the environment are probably mistakes.
    pub(crate) warnings: Vec<String>,
    /// A value that programs would refuse.
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bootstrap: Option<Boot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transports: Option<Transports>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) configuration: Option<Vec<Variable>>,
}

/// How a program started here would find the other tasks of its job.
#[derive(Debug, Serialize)]
pub(crate) struct Boot {
    /// Who has started the tasks, or `alone`.
    pub(crate) source: &'static str,
    /// Number of this task, if the environment says it.
    pub(crate) task: Option<u32>,
    /// Number of tasks, if the environment says it.
    pub(crate) tasks: Option<u32>,
    /// What is looked for, in this order.
    pub(crate) order: Vec<&'static str>,
}

/// What to look at.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) bootstrap: bool,
    pub(crate) transports: bool,
    pub(crate) configuration: bool,
}

/// Transports, where they were looked for, and which a job would use.
#[derive(Debug, Serialize)]
pub(crate) struct Transports {
    /// Best first.
    pub(crate) order: Vec<String>,
    /// Whether the user named them: then each must be usable.
    pub(crate) named: bool,
    pub(crate) places: Vec<Place>,
    pub(crate) candidates: Vec<Candidate>,
}

/// A directory that was searched.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) exists: bool,
    pub(crate) plugins: usize,
}

/// Something that was looked at.
#[derive(Debug, Serialize)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    /// `linked`, or a path.
    pub(crate) origin: String,
    pub(crate) usable: bool,
    /// Why it is not usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// What it can do here: found out by opening it as a job of one task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) opened: Option<Opened>,
}

/// What an open transport says of itself.
#[derive(Debug, Serialize)]
pub(crate) struct Opened {
    pub(crate) version: &'static str,
    pub(crate) abi: String,
    pub(crate) capabilities: Vec<&'static str>,
    /// What its code has and this machine does not allow.
    pub(crate) missing: Vec<&'static str>,
    /// What its code has, and what depends on the peers that it is connected to.
    pub(crate) undecided: Vec<&'static str>,
    /// `None`: depends on the peers that it is connected to.
    pub(crate) limits: Vec<(&'static str, Option<u64>)>,
    pub(crate) note: String,
}

/// A variable with its effective value.
#[derive(Debug, Serialize)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) group: &'static str,
    pub(crate) value: Option<String>,
    /// `default` or `environment`.
    pub(crate) origin: String,
    pub(crate) default: Option<&'static str>,
    pub(crate) takes: String,
    pub(crate) help: &'static str,
    pub(crate) source: &'static str,
}

impl Facts {
    /// Looks at the environment, and at what is asked for.
    pub(crate) fn gather(parts: Parts) -> Self {
        let mut facts = Self {
            version: env!("CARGO_PKG_VERSION"),
            transport_abi: format!("{ABI_MAJOR}.{ABI_MINOR}"),
            warnings: Vec::new(),
            error: None,
            bootstrap: None,
            transports: None,
            configuration: None,
        };
        let config = match Config::from_env(&Environment::of_process()) {
            Ok((config, warnings)) => {
                facts.warnings = warnings.iter().map(ToString::to_string).collect();
                config
            }
            Err(error) => {
                // What the variables lead to can't be shown: programs end here, too.
                facts.error = Some(error.to_string());
                return facts;
            }
        };
        if let Some(Err(error)) = config.chaos.get().as_ref().map(|text| text.parse::<Chaos>()) {
            facts.error = Some(format!("LAPIS_CHAOS: {error}"));
        }
        if parts.bootstrap {
            match boot() {
                Ok(found) => facts.bootstrap = Some(found),
                Err(error) => facts.error = facts.error.or(Some(error.to_string())),
            }
        }
        if parts.transports {
            let (found, error) = look(&config);
            facts.transports = Some(found);
            facts.error = facts.error.or(error);
        }
        if parts.configuration {
            facts.configuration = Some(config.listing().into_iter().map(variable).collect());
        }
        facts
    }
}

fn boot() -> Result<Boot, bootstrap::BootstrapError> {
    let order = bootstrap::sources().collect();
    Ok(match bootstrap::announcement(&bootstrap::Environment::process())? {
        Some(found) => Boot { source: found.source, task: found.task, tasks: found.tasks, order },
        None => Boot { source: "alone", task: Some(0), tasks: Some(1), order },
    })
}

fn variable(listed: Listed) -> Variable {
    let row = listed.variable;
    Variable {
        name: row.name,
        group: row.group.title(),
        value: listed.value,
        origin: listed.origin.to_string(),
        default: row.default,
        takes: row.kind.range(),
        help: row.help,
        source: row.source,
    }
}

/// Everything that can be found, and what is wrong with the transports that the user named, if any.
fn look(config: &Config) -> (Transports, Option<String>) {
    let dirs = search_dirs(config.transport_path.get());
    let (order, named) = config.preferred_transports();
    let mut registry = Registry::new();
    registry.register(lapis_loopback::table());
    // Names are checked apart: what was not named is worth showing, too.
    let mut request = Request { dirs: dirs.clone(), ..Request::default() };
    let mut error = registry.discover(&request).err().map(|e| e.to_string());
    let mut opened = open_all(&mut registry);
    let candidates = registry.candidates().iter().map(|c| Candidate {
        name: c.name.clone(),
        origin: c.origin.to_string(),
        usable: c.verdict == Verdict::Accepted,
        reason: (c.verdict != Verdict::Accepted).then(|| c.verdict.to_string()),
        opened: match c.verdict {
            Verdict::Accepted => opened.iter().position(|(n, _)| *n == c.name).map(|at| opened.remove(at).1),
            _ => None,
        },
    });
    let candidates: Vec<Candidate> = candidates.collect();
    if named {
        let mut names = order.clone();
        if !names.iter().any(|n| n == "loopback") {
            names.push("loopback".into());
        }
        request.names = Some(names);
        let mut strict = Registry::new();
        strict.register(lapis_loopback::table());
        let unusable = candidates.iter().find(|c| order.contains(&c.name) && c.reason.is_some());
        error = error
            .or_else(|| strict.discover(&request).err().map(|e| e.to_string()))
            .or_else(|| {
                let there = |name: &str| candidates.iter().any(|c| c.name == name && c.usable);
                unusable.filter(|c| !there(&c.name)).map(|c| {
                    format!(
                        "transport \"{}\" was asked for: {}",
                        c.name,
                        c.reason.as_deref().unwrap_or_default()
                    )
                })
            })
            .map(|why| format!("LAPIS_TRANSPORT={}: {why}", order.join(",")));
    }
    let places = dirs.iter().map(|dir| place(dir)).collect();
    (Transports { order, named, places, candidates }, error)
}

fn place(dir: &Path) -> Place {
    let files = std::fs::read_dir(dir).map(|entries| {
        entries.flatten().filter(|e| lapis_core::transport::name_of_file(&e.path()).is_some()).count()
    });
    Place { path: dir.to_owned(), exists: dir.is_dir(), plugins: files.unwrap_or(0) }
}

/// Opens each transport as a job of one task; what doesn't open is refused.
fn open_all(registry: &mut Registry) -> Vec<(String, Opened)> {
    // Without random numbers nothing can be opened, which the listing then shows by its absence.
    let Ok(job) = bootstrap::singleton(0) else { return Vec::new() };
    let info = job.job();
    let params = OpenParams {
        task: 0,
        tasks: 1,
        context: 0,
        incarnation: std::process::id(),
        job: &info.id,
        secret: &info.secret,
        interrupts: false,
    };
    let mut opened = Vec::new();
    let mut refused = Vec::new();
    for plugin in registry.transports() {
        match plugin.open(&params) {
            Ok(link) => {
                opened.push((plugin.name().to_owned(), describe(&link, plugin.caps(), plugin.abi_minor())))
            }
            Err(why) => refused.push((plugin.name(), why)),
        }
    }
    for (name, why) in refused {
        registry.refuse(name, why);
    }
    opened
}

fn describe(link: &Link, code: Caps, minor: u32) -> Opened {
    let names = |caps: Caps| caps.iter_names().map(|(name, _)| name).collect();
    let absent = code.difference(link.caps());
    // A datagram transport without a path has not been connected to anybody: its figures are those of its paths.
    let alone = link.caps().contains(Caps::DATAGRAM) && link.limits().paths == 0;
    let of_paths = if alone { Caps::LENT_PAGES } else { Caps::empty() };
    Opened {
        version: link.version(),
        abi: format!("{ABI_MAJOR}.{minor}"),
        capabilities: names(link.caps()),
        missing: names(absent - of_paths),
        undecided: names(absent & of_paths),
        limits: limits(link.limits(), link.caps(), alone),
        note: link.note().to_owned(),
    }
}

/// Only what means something for the transport's capabilities; `alone`: without peers yet.
fn limits(limits: &Limits, caps: Caps, alone: bool) -> Vec<(&'static str, Option<u64>)> {
    let zero_copy = Caps::AM_ZCOPY | Caps::PUT_ZCOPY | Caps::GET_ZCOPY;
    let rows = [
        ("max_short", u64::from(limits.max_short), Caps::AM_SHORT | Caps::PUT_SHORT | Caps::GET_SHORT),
        ("max_packed", limits.max_packed.into(), Caps::AM_PACKED | Caps::DATAGRAM),
        ("max_head", limits.max_head.into(), Caps::AM_ZCOPY),
        ("max_zcopy", limits.max_zcopy, zero_copy),
        ("zcopy_from", limits.zcopy_from, zero_copy),
        ("receive_buffer", limits.receive_buffer.into(), Caps::DATAGRAM),
        ("paths", limits.paths.into(), Caps::DATAGRAM),
        ("max_peers", limits.max_peers.into(), Caps::all()),
    ];
    const OF_PATHS: [&str; 4] = ["max_packed", "receive_buffer", "paths", "max_peers"];
    let known = |name| !(alone && OF_PATHS.contains(&name));
    let rows = rows.into_iter().filter(|(_, _, of)| caps.intersects(*of));
    rows.map(|(name, value, _)| (name, known(name).then_some(value))).collect()
}
