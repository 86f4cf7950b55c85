//! Variables as they were when somebody looked.

use std::collections::BTreeMap;

/// A snapshot of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

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
        Self(std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect())
    }

    /// An environment of just these variables.
    pub fn from_pairs<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Sets a variable of the snapshot.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// All variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
