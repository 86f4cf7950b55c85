//! From parsed values to the types of settings and back.

use super::choices::{BindMode, Choice, EuiLib, MsgApi, UseShm};
use super::kind::Value;
use super::value::{CommonTasks, InetAddrs, Instances, NetworkWindows};
use std::path::PathBuf;
use std::time::Duration;

/// A type that a setting can have.
pub(super) trait Typed: Sized {
    /// The typed value; `None` if the table pairs this type with a kind that does not fit, which a
    /// test rules out.
    fn from_value(value: Value) -> Option<Self>;
    /// The value of a variable that is not set and has no default.
    fn unset() -> Option<Self> {
        None
    }
    /// The parsed form again; `None` where nothing is set.
    fn to_value(&self) -> Option<Value>;
}

macro_rules! typed {
    ($($type:ty: $pattern:pat => $made:expr, $this:ident => $value:expr;)*) => {$(
        impl Typed for $type {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    $pattern => $made,
                    _ => None,
                }
            }

            fn to_value(&self) -> Option<Value> {
                let $this = self;
                Some($value)
            }
        }
    )*};
}

typed! {
    u64: Value::Number(n) => Some(n), this => Value::Number(*this);
    u32: Value::Number(n) => n.try_into().ok(), this => Value::Number(u64::from(*this));
    usize: Value::Number(n) => n.try_into().ok(), this => Value::Number(*this as u64);
    bool: Value::Bool(on) => Some(on), this => Value::Bool(*this);
    Duration: Value::Duration(time) => Some(time), this => Value::Duration(*this);
    String: Value::Text(text) => Some(text), this => Value::Text(this.clone());
    Vec<String>: Value::List(names) => Some(names), this => Value::List(this.clone());
    Instances: Value::Instances(instances) => Some(instances), this => Value::Instances(*this);
    CommonTasks: Value::CommonTasks(tasks) => Some(tasks), this => Value::CommonTasks(this.clone());
    InetAddrs: Value::InetAddrs(addrs) => Some(addrs), this => Value::InetAddrs(this.clone());
    NetworkWindows: Value::NetworkWindows(windows) => Some(windows), this => Value::NetworkWindows(this.clone());
    MsgApi: Value::Word(word) => Self::from_word(word), this => Value::Word(this.word());
    EuiLib: Value::Word(word) => Self::from_word(word), this => Value::Word(this.word());
    UseShm: Value::Word(word) => Self::from_word(word), this => Value::Word(this.word());
    BindMode: Value::Word(word) => Self::from_word(word), this => Value::Word(this.word());
}

impl Typed for Vec<PathBuf> {
    fn from_value(value: Value) -> Option<Self> {
        Vec::<String>::from_value(value).map(|paths| paths.into_iter().map(PathBuf::from).collect())
    }

    fn unset() -> Option<Self> {
        Some(Self::new())
    }

    fn to_value(&self) -> Option<Value> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        (!self.is_empty()).then(|| Value::List(self.iter().map(text).collect()))
    }
}

impl<T: Typed> Typed for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }

    fn unset() -> Option<Self> {
        Some(None)
    }

    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }
}
