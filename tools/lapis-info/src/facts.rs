//! Gathering what is to be shown, without printing anything.

use crate::collectives::Collectives;
use crate::copies::Copies;
use crate::windows::Windows;
use lapis_core::bootstrap;
use lapis_core::config::{Config, ConfigError, Environment, Listed, Origin, Warning};
use lapis_core::transport::abi::{ABI_MAJOR, ABI_MINOR};
use lapis_core::transport::{
    Candidate as Found, Caps, Chaos, Limits, Link, OpenParams, Plugin, Reach, Registry, Request, SelectError,
    Selection, Usage, Verdict, search_dirs,
};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) collectives: Option<Collectives>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) windows: Option<Windows>,
    pub(crate) copies: Option<Copies>,
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
    pub(crate) collectives: bool,
    pub(crate) windows: bool,
    pub(crate) copies: bool,
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
    /// What a short message costs and when it is used unnamed, if it declares that.
    pub(crate) declared: Option<Declared>,
    pub(crate) capabilities: Vec<&'static str>,
    /// What its code has and this machine does not allow.
    pub(crate) missing: Vec<&'static str>,
    /// What its code has, and what depends on the peers that it is connected to.
    pub(crate) undecided: Vec<&'static str>,
    /// `None`: depends on the peers that it is connected to.
    pub(crate) limits: Vec<(&'static str, Option<u64>)>,
    pub(crate) note: String,
}

/// What a transport declares of itself, beside its variables.
#[derive(Debug, Serialize)]
pub(crate) struct Declared {
    pub(crate) cost_ns: u32,
    pub(crate) usage: &'static str,
}

/// A variable with its effective value.
#[derive(Debug, Serialize)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) group: String,
    pub(crate) value: Option<String>,
    /// `default` or `environment`.
    pub(crate) origin: String,
    pub(crate) default: Option<&'static str>,
    pub(crate) takes: String,
    pub(crate) help: &'static str,
    pub(crate) source: &'static str,
}

impl Facts {
    /// Nothing is known yet.
    fn none() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            transport_abi: format!("{ABI_MAJOR}.{ABI_MINOR}"),
            warnings: Vec::new(),
            error: None,
            bootstrap: None,
            transports: None,
            configuration: None,
            collectives: None,
            windows: None,
            copies: None,
        }
    }

    /// Looks at the environment, and at what is asked for.
    pub(crate) fn gather(parts: Parts) -> Self {
        let mut facts = Self { windows: parts.windows.then(Windows::gather), ..Self::none() };
        let environment = Environment::of_process();
        let mut config = match Config::from_env(&environment) {
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
        if parts.collectives {
            let text = config.collectives.get().as_deref().unwrap_or_default();
            match Collectives::gather(text, config.collectives.origin() == Origin::Tuning) {
                Ok((found, ignored)) => {
                    facts.collectives = Some(found);
                    // Programs go on without it, too.
                    let said = |why| format!("tuning file: LAPIS_COLLECTIVES: {why}; it does not count");
                    facts.warnings.extend(ignored.map(said));
                }
                Err(why) => facts.error = Some(format!("LAPIS_COLLECTIVES: {why}")),
            }
        }
        if parts.bootstrap {
            match boot() {
                Ok(found) => facts.bootstrap = Some(found),
                Err(error) => facts.error = facts.error.or(Some(error.to_string())),
            }
        }
        // Which variables there are depends on what is found.
        let dirs = search_dirs(config.transport_path.get());
        let (mut registry, error) = find(&dirs);
        facts.error = facts.error.or(error.map(|e| e.to_string()));
        match declare(&mut config, &registry, &environment) {
            Ok(unknown) => facts.warnings.extend(unknown.iter().map(ToString::to_string)),
            Err(error) => facts.error = facts.error.or(Some(error.to_string())),
        }
        if parts.copies {
            match Copies::gather(&environment, &config) {
                Ok(found) => facts.copies = Some(found),
                Err(why) => facts.error = facts.error.or(Some(why)),
            }
        }
        if parts.transports {
            let (found, error) = look(&config, dirs, &mut registry);
            facts.transports = Some(found);
            facts.error = facts.error.or(error);
        }
        if parts.configuration {
            facts.configuration = Some(config.listing().into_iter().map(variable).collect());
        }
        facts
    }
}

/// An empty registry, as bindings make it.
fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.register(lapis_loopback::table()).know(lapis_standard::TRANSPORTS);
    registry
}

/// Everything that can be found, named or not: what programs would not load is worth showing, too.
fn find(dirs: &[PathBuf]) -> (Registry, Option<SelectError>) {
    let mut registry = registry();
    let request = Request { dirs: dirs.to_vec(), ..Request::default() };
    let error = registry.discover(&request).err();
    (registry, error)
}

/// Takes up the variables of all transports; what nobody knows.
fn declare(
    config: &mut Config,
    registry: &Registry,
    environment: &Environment,
) -> Result<Vec<Warning>, ConfigError> {
    let known = lapis_standard::TRANSPORTS.iter().map(|known| (known.name, known.declaration.variables));
    let found = registry.transports().iter().filter_map(|plugin| Some((plugin.name(), plugin.variables()?)));
    for (name, variables) in known.chain(found) {
        config.declare(name, variables, environment)?;
    }
    Ok(config.unknown_names(environment, &registry.unread()))
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

/// What was found, and what is wrong with the transports that the user named, if any.
fn look(config: &Config, dirs: Vec<PathBuf>, registry: &mut Registry) -> (Transports, Option<String>) {
    let request = Request { selection: config.selection(), dirs, ..Request::default() };
    let mut opened = open_all(registry);
    let mut take = |name: &str| opened.iter().position(|(n, _)| *n == name).map(|at| opened.remove(at).1);
    let candidates: Vec<Candidate> = registry.candidates().iter().map(|c| candidate(c, &mut take)).collect();
    // What a program would use.
    let mut strict = self::registry();
    let missing = strict.discover(&request).err();
    let usable = |name: &str| candidates.iter().any(|c| c.name == name && c.usable);
    let named = matches!(request.selection, Selection::Named(_));
    let order: Vec<String> = match &request.selection {
        Selection::Named(names) => names.clone(),
        _ => strict
            .transports()
            .iter()
            .filter(|p| p.reach() != Reach::Itself && usable(p.name()))
            .map(|p| p.name().to_owned())
            .collect(),
    };
    let unusable = || {
        let c = candidates.iter().find(|c| order.contains(&c.name) && !usable(&c.name))?;
        let why = c.reason.as_deref().unwrap_or_default();
        Some(format!("transport \"{}\" was asked for: {why}", c.name))
    };
    let error = match named {
        true => missing
            .map(|e| e.to_string())
            .or_else(unusable)
            .map(|why| format!("LAPIS_TRANSPORT={}: {why}", order.join(","))),
        false => None,
    };
    let places = request.dirs.iter().map(|dir| place(dir)).collect();
    (Transports { order, named, places, candidates }, error)
}

fn candidate(found: &Found, opened: &mut dyn FnMut(&str) -> Option<Opened>) -> Candidate {
    let usable = found.verdict == Verdict::Accepted;
    Candidate {
        name: found.name.clone(),
        origin: found.origin.to_string(),
        usable,
        reason: (!usable).then(|| found.verdict.to_string()),
        opened: if usable { opened(&found.name) } else { None },
    }
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
            Ok(link) => opened.push((plugin.name().to_owned(), describe(&link, plugin))),
            Err(why) => refused.push((plugin.name(), why)),
        }
    }
    for (name, why) in refused {
        registry.refuse(name, why);
    }
    opened
}

/// When a transport is used, for people.
fn usage(of: Usage) -> &'static str {
    match of {
        Usage::Always => "wherever it reaches",
        Usage::Ip => "with MP_EUILIB=ip",
        Usage::UserSpace => "with MP_EUILIB=us",
        Usage::Named => "where LAPIS_TRANSPORT names it",
    }
}

fn describe(link: &Link, plugin: &Plugin) -> Opened {
    let (code, minor) = (plugin.caps(), plugin.abi_minor());
    let names = |caps: Caps| caps.iter_names().map(|(name, _)| name).collect();
    let absent = code.difference(link.caps());
    // A datagram transport without a path has not been connected to anybody: its figures are those
    // of its paths.
    let alone = link.caps().contains(Caps::DATAGRAM) && link.limits().paths == 0;
    let of_paths = if alone { Caps::LENT_PAGES } else { Caps::empty() };
    Opened {
        version: link.version(),
        abi: format!("{ABI_MAJOR}.{minor}"),
        declared: plugin.cost_and_usage().map(|(cost_ns, of)| Declared { cost_ns, usage: usage(of) }),
        capabilities: names(link.caps()),
        missing: names(absent - of_paths),
        undecided: names(absent & of_paths),
        limits: limits(link.limits(), link.caps(), alone),
        note: link.note().to_owned(),
    }
}

/// Only what means something for the transport's capabilities; `alone`: without peers yet.
fn limits(limits: &Limits, caps: Caps, alone: bool) -> Vec<(&'static str, Option<u64>)> {
    let zero_copy = Caps::PUT_ZCOPY | Caps::GET_ZCOPY;
    let rows = [
        ("max_short", u64::from(limits.max_short), Caps::AM_SHORT),
        ("max_packed", limits.max_packed.into(), Caps::AM_PACKED | Caps::DATAGRAM),
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
