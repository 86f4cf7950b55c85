//! Which transports there are, and which of them the user wants.
//!
//! Nothing is fatal by itself: a candidate that is refused is logged at INFO with its reason, kept for `lapis-info`, and
//! passed over. Only a transport that the user named must be there: names are a closed set, never a wish.

use super::Chaos;
use super::abi::TransportOps;
use super::loader::{self, Origin, Plugin, Refusal, file_name, name_of_file};
use std::fmt;
use std::path::{Path, PathBuf};

/// What to look for and where. Plain values: reading variables is configuration's work.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The transports to use and no others, best first. `None`: whatever is found.
    pub names: Option<Vec<String>>,
    /// The names are a wish: what is not found is done without. Otherwise each of them must be there.
    pub optional: bool,
    /// Plugin files or directories that the program gave: looked at before anything else.
    pub explicit: Vec<PathBuf>,
    /// Directories (or plugin files) to search after the linked tables; see [`search_dirs`].
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
    Refused(Refusal),
    /// Usable or not: another of this name came first.
    Shadowed,
    /// The user named others.
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
    pub refused: Vec<(Origin, Refusal)>,
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
    plugins: Vec<Plugin>,
    candidates: Vec<Candidate>,
}

impl Registry {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Offers a table that is linked into the program. Goes before files found by search, in order of registration.
    pub fn register(&mut self, table: &'static TransportOps) -> &mut Self {
        self.linked.push(table);
        self
    }

    /// Looks at everything the request leads to and chooses. What was chosen before is forgotten.
    pub fn discover(&mut self, request: &Request) -> Result<(), SelectError> {
        self.plugins.clear();
        self.candidates.clear();
        let names = request.names.as_deref();
        if let Some(names) = names {
            check_names(names)?;
        }
        let found = self.places(request);
        for place in &found {
            self.consider(place, names, request.chaos.as_ref());
        }
        let Some(names) = names else { return Ok(()) };
        for name in names {
            if !request.optional && !self.plugins.iter().any(|p| p.name() == name) {
                return Err(SelectError::NotFound(Box::new(self.not_found(name, request))));
            }
        }
        // The user's order is the order of preference.
        self.plugins.sort_by_key(|p| names.iter().position(|n| n == p.name()));
        Ok(())
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

    /// Records that a transport which loaded didn't open, so that it shows with the other refusals.
    pub fn refuse(&mut self, name: &str, why: Refusal) {
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
            if path.is_dir() {
                places.extend(plugin_files(path).into_iter().map(Place::File));
            } else {
                places.push(Place::File(path.clone()));
            }
        }
        places.extend(self.linked.iter().copied().map(Place::Linked));
        for dir in &request.dirs {
            places.extend(plugin_files(dir).into_iter().map(Place::File));
        }
        places
    }

    fn consider(&mut self, place: &Place, names: Option<&[String]>, chaos: Option<&Chaos>) {
        let (origin, named) = match place {
            Place::Linked(_) => (Origin::Linked, None),
            Place::File(path) => (Origin::File(path.clone()), name_of_file(path).map(str::to_owned)),
        };
        let unwanted = |name: &str| names.is_some_and(|names| !names.iter().any(|n| n == name));
        let taken = |plugins: &[Plugin], name: &str| plugins.iter().any(|p| p.name() == name);
        // Loading runs foreign code: what the name alone rules out is not loaded.
        let early = named.as_deref().and_then(|name| {
            if unwanted(name) {
                Some(Verdict::NotNamed)
            } else if taken(&self.plugins, name) {
                Some(Verdict::Shadowed)
            } else {
                None
            }
        });
        let (name, verdict) = match early {
            Some(verdict) => (named.unwrap_or_default(), verdict),
            None => {
                let result = match place {
                    Place::Linked(table) => Plugin::from_table(table),
                    Place::File(path) => loader::load_file(path),
                };
                match result {
                    Ok(plugin) if unwanted(plugin.name()) => (plugin.name().to_owned(), Verdict::NotNamed),
                    Ok(plugin) if taken(&self.plugins, plugin.name()) => {
                        (plugin.name().to_owned(), Verdict::Shadowed)
                    }
                    Ok(mut plugin) => {
                        plugin.set_chaos(chaos.cloned());
                        let name = plugin.name().to_owned();
                        self.plugins.push(plugin);
                        (name, Verdict::Accepted)
                    }
                    Err(why) => (named.unwrap_or_else(|| "?".to_owned()), Verdict::Refused(why)),
                }
            }
        };
        let candidate = Candidate { name, origin, verdict };
        log(&candidate);
        self.candidates.push(candidate);
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
    File(PathBuf),
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

/// The places searched after explicit paths and linked tables: those of `LAPIS_TRANSPORT_PATH` (`wanted`), then
/// `lapis` and `transports` beside the library or executable that contains core, then `../lib/lapis` seen from the
/// executable. Never the current directory: relative entries are left out. That, and a place that is not there, is said.
pub fn search_dirs(wanted: &[PathBuf]) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    for place in wanted {
        if !place.is_absolute() {
            tracing::warn!(
                target: "lapis::loader",
                "LAPIS_TRANSPORT_PATH: \"{}\" is left out, for it is relative: plugins are never searched for \
                 in the current directory; write the whole path",
                place.display()
            );
            continue;
        }
        if let Err(e) = place.metadata() {
            tracing::warn!(
                target: "lapis::loader",
                "LAPIS_TRANSPORT_PATH: no plugins can come from {}: {e}",
                place.display()
            );
        }
        dirs.push(place.clone());
    }
    let exe = std::env::current_exe().ok();
    let exe_dir = exe.as_deref().and_then(Path::parent);
    for dir in own_object().as_deref().and_then(Path::parent).into_iter().chain(exe_dir) {
        dirs.push(dir.join("lapis"));
        dirs.push(dir.join("transports"));
    }
    if let Some(prefix) = exe_dir.and_then(Path::parent) {
        dirs.push(prefix.join("lib/lapis"));
    }
    let mut seen = Vec::new();
    dirs.retain(|d| {
        let new = !seen.contains(d);
        seen.push(d.clone());
        new
    });
    dirs
}

/// The file that this code was loaded from: liblapi_r.so, or the executable.
fn own_object() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the address is of code of this object, the place is valid; all zero bytes are a valid `Dl_info`.
    let info = unsafe {
        if libc::dladdr(own_object as *const libc::c_void, info.as_mut_ptr()) == 0 {
            return None;
        }
        info.assume_init()
    };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker gives a NUL-terminated path.
    let path = unsafe { std::ffi::CStr::from_ptr(info.dli_fname) };
    Path::new(std::ffi::OsStr::from_bytes(path.to_bytes())).canonicalize().ok()
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
    fn directories_are_absolute_and_in_order() {
        let dirs = search_dirs(&["/b", "relative", "/a", "/b"].map(PathBuf::from));
        assert_eq!(&dirs[..2], [PathBuf::from("/b"), PathBuf::from("/a")]);
        assert!(dirs.iter().all(|d| d.is_absolute()));
        let last = |dir: &PathBuf| dir.file_name().unwrap().to_owned();
        assert!(dirs[2..].iter().all(|d| last(d) == "lapis" || last(d) == "transports"), "{dirs:?}");
    }

    #[test]
    fn nonsense_names_are_errors() {
        let mut registry = Registry::new();
        let mut ask = |names: &[&str]| {
            let names = Some(names.iter().map(|n| (*n).to_owned()).collect());
            registry.discover(&Request { names, ..Request::default() }).unwrap_err().to_string()
        };
        assert!(ask(&[]).contains("empty"));
        assert!(ask(&["^shm"]).contains("\"^shm\" is not a transport's name"));
        assert!(ask(&["shm", "shm"]).contains("twice"));
    }
}
