//! Which transports there are, and which of them the user wants.
//!
//! Nothing is fatal by itself: a candidate that is refused is logged at INFO with its reason, kept
//! for `lapis-info`, and passed over. Only a transport that the user named must be there: names are
//! a closed set, never a preference.

use super::Chaos;
use super::abi::TransportOps;
use super::declaration::{Declaration, Known, Reach, Usage};
use super::loader::{self, Origin, Plugin, file_name, name_of_file};
use super::selection::Selection;
use super::unusable::Unusable;
use std::fmt;
use std::path::{Path, PathBuf};

/// What to look for and where.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Which transports are to be used.
    pub selection: Selection,
    /// Plugin files or directories that the program gave: looked at before anything else.
    pub explicit: Vec<PathBuf>,
    /// Directories (or plugin files) to search after the linked tables; see
    /// [`search_dirs`](super::search_dirs).
    pub dirs: Vec<PathBuf>,
    /// `LAPIS_CHAOS`: faults for every transport.
    pub chaos: Option<Chaos>,
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// In use.
    Accepted,
    /// Not usable.
    Refused(Unusable),
    /// Usable or not: another of this name came first.
    Shadowed,
    /// The user named others, or it is used only where it is named.
    NotNamed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Refused(why) => write!(f, "refused: {why}"),
            Self::Shadowed => f.write_str("not used: another of this name comes first"),
            Self::NotNamed => f.write_str("not used: not among the transports asked for"),
        }
    }
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The transport's name, as far as known.
    pub name: String,
    /// Where it is.
    pub origin: Origin,
    /// What became of it.
    pub verdict: Verdict,
}

/// Why the transports asked for can't be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The list has no name in it.
    #[error("the list of transports is empty: name at least one, separated by commas, or leave it unset")]
    Empty,
    /// Not a name at all.
    #[error("\"{0}\" is not a transport's name: those have 1 to 15 lower-case letters and digits")]
    BadName(String),
    /// Named twice.
    #[error("transport \"{0}\" is named twice")]
    Twice(String),
    /// No usable transport of that name.
    #[error(transparent)]
    NotFound(Box<NotFound>),
}

/// The whole story of a transport that was asked for by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound {
    /// The name.
    pub name: String,
    /// The candidates of that name, with their reasons.
    pub refused: Vec<(Origin, Unusable)>,
    /// The places searched.
    pub searched: Vec<PathBuf>,
    /// A known name that looks like it.
    pub suggestion: Option<String>,
    /// The names there are.
    pub known: Vec<String>,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transport \"{}\" was asked for and can't be used", self.name)?;
        for (origin, why) in &self.refused {
            write!(f, "; {origin}: {why}")?;
        }
        if self.refused.is_empty() {
            write!(f, ": no {} in ", file_name(&self.name))?;
            match self.searched.as_slice() {
                [] => f.write_str("any place (none was given)")?,
                dirs => {
                    let dirs: Vec<_> = dirs.iter().map(|d| d.display().to_string()).collect();
                    f.write_str(&dirs.join(", "))?;
                }
            }
        }
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean \"{suggestion}\"?")?;
        }
        if !self.known.is_empty() {
            write!(f, " (known: {})", self.known.join(", "))?;
        }
        Ok(())
    }
}

/// The transports of a process.
#[derive(Debug, Default)]
pub struct Registry {
    linked: Vec<&'static TransportOps>,
    known: Vec<Known>,
    plugins: Vec<Plugin>,
    candidates: Vec<Candidate>,
}

impl Registry {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Offers a table that is linked into the program. Goes before files found by search, in order
    /// of registration.
    pub fn register(&mut self, table: &'static TransportOps) -> &mut Self {
        self.linked.push(table);
        self
    }

    /// Tells of transports whose plugins may be loaded from the places searched although nobody
    /// named them.
    pub fn know(&mut self, transports: &[Known]) -> &mut Self {
        self.known.extend_from_slice(transports);
        self
    }

    /// Looks at everything the request leads to and chooses. What was chosen before is forgotten.
    pub fn discover(&mut self, request: &Request) -> Result<(), SelectError> {
        self.plugins.clear();
        self.candidates.clear();
        if let Selection::Named(names) = &request.selection {
            check_names(names)?;
        }
        for place in self.places(request) {
            self.consider(&place, request);
        }
        self.sort(&request.selection);
        match &request.selection {
            Selection::Named(names) => self.require(names, request),
            _ => Ok(()),
        }
    }

    /// Refuses to go on without one of these transports.
    pub fn require(&self, names: &[String], request: &Request) -> Result<(), SelectError> {
        match names.iter().find(|name| self.get(name).is_none()) {
            Some(missing) => Err(SelectError::NotFound(Box::new(self.not_found(missing, request)))),
            None => Ok(()),
        }
    }

    /// The names of the transports to others that a selection looks for, best first.
    pub fn sought(&self, selection: &Selection) -> Vec<String> {
        let mut known: Vec<&Known> = match selection {
            Selection::Named(names) => return names.clone(),
            Selection::All => self.known.iter().collect(),
            Selection::Suiting(policy) => {
                self.known.iter().filter(|k| policy.wants(k.reach, k.declaration.usage)).collect()
            }
        };
        known.retain(|k| k.reach != Reach::Itself);
        known.sort_by_key(|k| k.declaration.cost_ns);
        known.into_iter().map(|k| k.name.to_owned()).collect()
    }

    /// The transport of that name, if the program knows it.
    pub fn known(&self, name: &str) -> Option<&Known> {
        self.known.iter().find(|k| k.name == name)
    }

    /// The transports to use, best first.
    pub fn transports(&self) -> &[Plugin] {
        &self.plugins
    }

    /// The transport of that name.
    pub fn get(&self, name: &str) -> Option<&Plugin> {
        self.plugins.iter().find(|p| p.name() == name)
    }

    /// Everything that was looked at, in order.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The names of the transports that are there and were not loaded, so that nobody knows what
    /// they declare.
    pub fn unread(&self) -> Vec<&str> {
        let unread = |c: &&Candidate| c.verdict == Verdict::NotNamed && self.known(&c.name).is_none();
        self.candidates.iter().filter(unread).map(|c| c.name.as_str()).collect()
    }

    /// Records that a transport which loaded didn't open, so that it shows with the other refusals.
    pub fn refuse(&mut self, name: &str, why: Unusable) {
        self.plugins.retain(|p| p.name() != name);
        for c in &mut self.candidates {
            if c.name == name && c.verdict == Verdict::Accepted {
                c.verdict = Verdict::Refused(why.clone());
                log(c);
            }
        }
    }

    fn places(&self, request: &Request) -> Vec<Place> {
        let mut places = Vec::new();
        for path in &request.explicit {
            let files = if path.is_dir() { plugin_files(path) } else { vec![path.clone()] };
            places.extend(files.into_iter().map(|path| Place::File { path, given: true }));
        }
        places.extend(self.linked.iter().copied().map(Place::Linked));
        for dir in &request.dirs {
            places.extend(plugin_files(dir).into_iter().map(|path| Place::File { path, given: false }));
        }
        places
    }

    fn consider(&mut self, place: &Place, request: &Request) {
        let (origin, named) = match place {
            Place::Linked(_) => (Origin::Linked, None),
            Place::File { path, .. } => (Origin::File(path.clone()), name_of_file(path).map(str::to_owned)),
        };
        // Loading runs foreign code: what the name alone rules out is not loaded.
        let early = named.as_deref().and_then(|name| match place {
            Place::File { given, .. } if !self.may_load(name, *given, &request.selection) => {
                Some(Verdict::NotNamed)
            }
            _ => self.get(name).map(|_| Verdict::Shadowed),
        });
        let (name, verdict) = match early {
            Some(verdict) => (named.unwrap_or_default(), verdict),
            None => match place.load() {
                Ok(plugin) => (plugin.name().to_owned(), self.admit(plugin, request)),
                Err(why) => (named.unwrap_or_else(|| "?".to_owned()), Verdict::Refused(why)),
            },
        };
        let candidate = Candidate { name, origin, verdict };
        log(&candidate);
        self.candidates.push(candidate);
    }

    /// Whether a file of this name may be loaded; `given` by the program itself.
    fn may_load(&self, name: &str, given: bool, selection: &Selection) -> bool {
        match selection {
            Selection::All => true,
            Selection::Named(names) => {
                let itself = self.known(name).is_some_and(|k| k.reach == Reach::Itself);
                itself || names.iter().any(|n| n == name)
            }
            Selection::Suiting(policy) => {
                given || self.known(name).is_some_and(|k| policy.wants(k.reach, k.declaration.usage))
            }
        }
    }

    /// Takes a plugin up, unless it is not wanted or another of its name is there.
    fn admit(&mut self, mut plugin: Plugin, request: &Request) -> Verdict {
        let wanted = match &request.selection {
            Selection::All => true,
            Selection::Named(names) => {
                plugin.reach() == Reach::Itself || names.iter().any(|n| n == plugin.name())
            }
            Selection::Suiting(policy) => policy.wants(plugin.reach(), self.declared(&plugin).1),
        };
        if !wanted {
            return Verdict::NotNamed;
        }
        if self.get(plugin.name()).is_some() {
            return Verdict::Shadowed;
        }
        plugin.set_chaos(request.chaos.clone());
        self.plugins.push(plugin);
        Verdict::Accepted
    }

    /// Cost and usage, by what the plugin declares, or else by what the program knows of it.
    fn declared(&self, plugin: &Plugin) -> (u32, Usage) {
        let known = || self.known(plugin.name()).map(|k| (k.declaration.cost_ns, k.declaration.usage));
        plugin.cost_and_usage().or_else(known).unwrap_or((Declaration::NONE.cost_ns, Declaration::NONE.usage))
    }

    /// The user's order, or else the cheapest first. The way to the task itself comes last: no
    /// other task takes it.
    fn sort(&mut self, selection: &Selection) {
        let mut plugins = std::mem::take(&mut self.plugins);
        match selection {
            Selection::Named(names) => {
                plugins.sort_by_key(|p| names.iter().position(|name| name == p.name()).unwrap_or(names.len()))
            }
            _ => plugins.sort_by_key(|p| (p.reach() == Reach::Itself, self.declared(p).0)),
        }
        self.plugins = plugins;
    }

    fn not_found(&self, name: &str, request: &Request) -> NotFound {
        let refused = self.candidates.iter().filter(|c| c.name == name).filter_map(|c| match &c.verdict {
            Verdict::Refused(why) => Some((c.origin.clone(), why.clone())),
            _ => None,
        });
        let mut known: Vec<String> = self
            .candidates
            .iter()
            .filter(|c| c.name != name && c.name != "?" && !matches!(c.verdict, Verdict::Refused(_)))
            .map(|c| c.name.clone())
            .collect();
        known.sort();
        known.dedup();
        NotFound {
            name: name.to_owned(),
            refused: refused.collect(),
            searched: request.explicit.iter().chain(&request.dirs).cloned().collect(),
            suggestion: nearest(name, &known),
            known,
        }
    }
}

enum Place {
    Linked(&'static TransportOps),
    /// `given` by the program, or else found in a place that is searched.
    File {
        path: PathBuf,
        given: bool,
    },
}

impl Place {
    fn load(&self) -> Result<Plugin, Unusable> {
        match self {
            Self::Linked(table) => Plugin::from_table(table),
            Self::File { path, .. } => loader::load_file(path),
        }
    }
}

fn log(c: &Candidate) {
    tracing::info!(
        target: "lapis::loader",
        transport = %c.name,
        origin = %c.origin,
        "transport {} ({}): {}",
        c.name,
        c.origin,
        c.verdict
    );
}

fn check_names(names: &[String]) -> Result<(), SelectError> {
    if names.is_empty() {
        return Err(SelectError::Empty);
    }
    for (i, name) in names.iter().enumerate() {
        if !loader::is_name(name) {
            return Err(SelectError::BadName(name.clone()));
        }
        if names[..i].contains(name) {
            return Err(SelectError::Twice(name.clone()));
        }
    }
    Ok(())
}

/// A plugin file itself, or those of a directory, by name, so that runs on two machines look alike.
fn plugin_files(dir: &Path) -> Vec<PathBuf> {
    if dir.is_file() {
        return vec![dir.to_owned()];
    }
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<_> =
        entries.flatten().map(|e| e.path()).filter(|p| name_of_file(p).is_some()).collect();
    files.sort();
    files
}

/// The known name that `name` is probably a misspelling of.
fn nearest(name: &str, known: &[String]) -> Option<String> {
    let (distance, best) = known.iter().map(|k| (edit_distance(name, k), k)).min()?;
    (distance <= 1 + name.len().min(best.len()) / 3).then(|| best.clone())
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings() {
        let known: Vec<String> = ["loopback", "shm", "udp"].map(String::from).into();
        assert_eq!(nearest("smh", &known).as_deref(), Some("shm"));
        assert_eq!(nearest("lopback", &known).as_deref(), Some("loopback"));
        assert_eq!(nearest("infiniband", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn nonsense_names_are_errors() {
        let mut registry = Registry::new();
        let mut ask = |names: &[&str]| {
            let selection = Selection::Named(names.iter().map(|n| (*n).to_owned()).collect());
            registry.discover(&Request { selection, ..Request::default() }).unwrap_err().to_string()
        };
        assert!(ask(&[]).contains("empty"));
        assert!(ask(&["^shm"]).contains("\"^shm\" is not a transport's name"));
        assert!(ask(&["shm", "shm"]).contains("twice"));
    }
}
