//! Which argument an error is about.
//!
//! Code that detects an error names the argument at fault ([`Blame`]), if it is known; the line
//! about the failed call includes it ([`take_argument`]).

use crate::error::Result;
use std::cell::Cell;

/// An argument of a call, by its name in the header, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Number(&'static str, i64),
    Size(&'static str, u64),
    Address(&'static str, u64),
}

impl std::fmt::Display for Argument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(name, value) => write!(f, "{name} {value}"),
            Self::Size(name, value) => write!(f, "{name} {value}"),
            Self::Address(name, value) => write!(f, "{name} {value:#x}"),
        }
    }
}

thread_local! {
    /// What is to blame for an error on its way to the call that fails.
    static ARGUMENT: Cell<Option<Argument>> = const { Cell::new(None) };
}

/// What was blamed, once.
pub(crate) fn take_argument() -> Option<Argument> {
    ARGUMENT.take()
}

/// Says which argument an error is about.
pub(crate) trait Blame: Sized {
    /// A number, such as a rank.
    fn of(self, name: &'static str, value: impl Into<i64>) -> Self;
    /// A number of bytes.
    fn size_of(self, name: &'static str, value: u64) -> Self;
    /// An address, a key or a handle.
    fn at(self, name: &'static str, value: u64) -> Self;
}

impl<T> Blame for Result<T> {
    #[inline(always)]
    fn of(self, name: &'static str, value: impl Into<i64>) -> Self {
        self.inspect_err(|_| blame(Argument::Number(name, value.into())))
    }

    #[inline(always)]
    fn size_of(self, name: &'static str, value: u64) -> Self {
        self.inspect_err(|_| blame(Argument::Size(name, value)))
    }

    #[inline(always)]
    fn at(self, name: &'static str, value: u64) -> Self {
        self.inspect_err(|_| blame(Argument::Address(name, value)))
    }
}

/// Who found the error knows best: a later name is not taken.
#[cold]
fn blame(argument: Argument) {
    ARGUMENT.set(ARGUMENT.get().or(Some(argument)));
}
