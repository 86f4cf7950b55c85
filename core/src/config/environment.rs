//! A snapshot of the environment variables.

use super::Origin;
use super::tuning::{self, TUNING, processor};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A snapshot of environment variables, and below them the values of the tuning file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    tuned: BTreeMap<String, String>,
    /// Where the tuning file is, or would be.
    path: Option<PathBuf>,
    /// Why it does not count.
    problem: Option<String>,
}

/// Whether the process has rights that whoever started it has not: a set-user-id or set-group-id
/// program, or one with capabilities of its file. Then its environment comes from somebody who may
/// not decide what it does.
pub(crate) fn elevated() -> bool {
    // SAFETY: reads a number that the kernel gave the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

impl Environment {
    /// The environment of this process. Variables that are not UTF-8 are taken with replacement
    /// characters. Empty in a set-user-id program, where no variable counts: they lead to the code
    /// that is loaded and to the peers that may write to this task's memory.
    pub fn of_process() -> Self {
        if elevated() {
            return Self::default();
        }
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        Self::from_pairs(variables).with_tuning_file()
    }

    /// An environment of just these variables.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { variables, ..Self::default() }
    }

    /// The same with the values of the tuning file that it names, or that is the user's.
    #[must_use]
    pub fn with_tuning_file(mut self) -> Self {
        self.path = self.place_of_tuning_file();
        let Some(path) = &self.path else { return self };
        match tuning::read(path) {
            Ok(Some(values)) => self.tuned = values,
            Ok(None) if self.variables.contains_key(TUNING) => {
                self.problem = Some(format!("tuning file {}: there is none", path.display()));
            }
            Ok(None) => {}
            // Nobody asked for it: a program that runs as another user than its home's goes
            // without.
            Err(no) if no.foreign && !self.variables.contains_key(TUNING) => self.path = None,
            Err(no) => self.problem = Some(no.why),
        }
        self
    }

    /// Where the tuning file is, whether it is there or not: what `LAPIS_TUNING` names, else a file
    /// of this kind of processor in the user's cache. `None`: there shall be none, or the user has
    /// no home.
    fn place_of_tuning_file(&self) -> Option<PathBuf> {
        match self.get(TUNING).map(str::trim).filter(|text| !text.is_empty()) {
            Some("none") => None,
            Some(named) => Some(named.into()),
            None => {
                let folder = |name| self.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
                let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
                Some(cache.join("lapis").join(format!("tuning-{}", processor())))
            }
        }
    }

    /// The value of a variable, of the environment or else of the tuning file.
    pub fn get(&self, name: &str) -> Option<&str> {
        let set = self.variables.get(name).filter(|text| !text.trim().is_empty());
        set.or_else(|| self.tuned.get(name)).or_else(|| self.variables.get(name)).map(String::as_str)
    }

    /// Where the value that [`get`](Self::get) gives comes from.
    pub fn origin(&self, name: &str) -> Origin {
        match self.variables.get(name) {
            Some(text) if !text.trim().is_empty() => Origin::Environment,
            _ if self.tuned.contains_key(name) => Origin::Tuning,
            _ => Origin::Environment,
        }
    }

    /// The value that the tuning file has for a variable, even if the environment has another.
    pub fn tuned(&self, name: &str) -> Option<&str> {
        self.tuned.get(name).map(String::as_str)
    }

    /// Where the tuning file is or would be; `None`: there shall be none.
    pub fn tuning_path(&self) -> Option<&std::path::Path> {
        self.path.as_deref()
    }

    /// Why the tuning file does not count, if it does not, in a line.
    pub fn tuning_problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Sets a variable of the snapshot.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.variables.insert(name.into(), value.into());
    }

    /// All variables of the environment, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_tuning_file_is_in_the_users_cache_unless_it_is_named() {
        let path =
            |pairs: &[(&str, &str)]| Environment::from_pairs(pairs.iter().copied()).place_of_tuning_file();
        let name = format!("lapis/tuning-{}", processor());
        assert_eq!(path(&[("HOME", "/h")]), Some(Path::new("/h/.cache").join(&name)));
        assert_eq!(path(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]), Some(Path::new("/c").join(&name)));
        assert_eq!(path(&[("HOME", "/h"), (TUNING, "/t")]), Some("/t".into()));
        assert_eq!(path(&[("HOME", "/h"), (TUNING, "none")]), None);
        assert_eq!(path(&[("HOME", "relative")]), None);
        assert!(!processor().is_empty() && !processor().contains('/'));
    }
}
