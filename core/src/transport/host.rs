//! The host as a plugin sees it: diagnostics and configuration.

use super::TransportError;
use super::abi::HostTable;
use crate::config::{Kind, Unit, Value, Variable};
use std::fmt;
use std::str::FromStr;

/// The host's services, handed to [`Transport::open`](super::Transport::open).
///
/// Log through here ([`error`](Self::error), [`warn`](Self::warn), …). What a Rust plugin says by
/// `tracing` arrives, too, if no subscriber was installed in the plugin; each such event asks the
/// host whether it wants it, so none belongs into the data path.
#[derive(Clone, Copy)]
pub struct Host {
    table: &'static HostTable,
    target: &'static str,
}

impl Host {
    /// Wraps the table that came over the border.
    ///
    /// # Safety
    /// `table` points to a valid table that lives as long as the process.
    pub unsafe fn from_raw(table: *const HostTable, target: &'static str) -> Self {
        // SAFETY: the caller promises a table that lives as long as the process.
        Self { table: unsafe { &*table }, target }
    }

    /// Something that the user must act on.
    pub fn error(&self, text: fmt::Arguments<'_>) {
        self.log(1, text);
    }

    /// Something that works less well than the user may think.
    pub fn warn(&self, text: fmt::Arguments<'_>) {
        self.log(2, text);
    }

    /// A decision taken at set-up.
    pub fn info(&self, text: fmt::Arguments<'_>) {
        self.log(3, text);
    }

    /// A detail for developers.
    pub fn debug(&self, text: fmt::Arguments<'_>) {
        self.log(4, text);
    }

    /// What the configuration variable `name` (`LAPIS_…`, `MP_…`) is set to, if it is. Ask while
    /// opening: then the settings of the context count, and later only the environment of the
    /// process.
    pub fn option(&self, name: &str) -> Option<String> {
        let mut buf = vec![0u8; 256];
        loop {
            // SAFETY: both ranges are valid; the host writes at most `buf.len()` bytes.
            let len = unsafe { (self.table.option)(name.as_ptr(), name.len(), buf.as_mut_ptr(), buf.len()) };
            let len = usize::try_from(len).ok()?;
            if len <= buf.len() {
                buf.truncate(len);
                return String::from_utf8(buf).ok();
            }
            buf.resize(len, 0);
        }
    }

    /// The value of a variable that the transport declares: a number, in the variable's unit. Its
    /// default where it is not set; `None` where it has none, either.
    ///
    /// # Errors
    /// The value is bad: [`TransportError::Invalid`] with name, value and range. Core has checked
    /// before, but an instance may be opened without core's contexts.
    pub fn number(&self, variable: &Variable) -> Result<Option<u64>, TransportError> {
        Ok(match self.value(variable)? {
            Some(Value::Number(number)) => Some(number),
            Some(Value::Duration(time)) => Some(match variable.kind {
                Kind::Number { unit: Unit::Seconds, .. } => time.as_secs(),
                _ => time.as_micros() as u64,
            }),
            _ => None,
        })
    }

    /// The value of a variable that takes one of several words; see [`number`](Self::number).
    ///
    /// # Errors
    /// As there.
    pub fn word(&self, variable: &Variable) -> Result<Option<&'static str>, TransportError> {
        Ok(match self.value(variable)? {
            Some(Value::Word(word)) => Some(word),
            _ => None,
        })
    }

    /// The value of a variable that takes any text; see [`number`](Self::number).
    ///
    /// # Errors
    /// As there.
    pub fn text(&self, variable: &Variable) -> Result<Option<String>, TransportError> {
        Ok(match self.value(variable)? {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        })
    }

    /// The value of a variable of core's, whose form is core's, too; `None` where it is not set.
    ///
    /// # Errors
    /// The value is bad: [`TransportError::Invalid`] with name, value and what is wrong with it.
    pub fn parsed<T: FromStr<Err = String>>(&self, name: &str) -> Result<Option<T>, TransportError> {
        let Some(text) = self.option(name) else { return Ok(None) };
        let wrong = |why| TransportError::Invalid(format!("{name}=`{text}`: {why}"));
        text.trim().parse().map(Some).map_err(wrong)
    }

    fn value(&self, variable: &Variable) -> Result<Option<Value>, TransportError> {
        let set = self.option(variable.name);
        let Some(text) = set.as_deref().or(variable.default) else { return Ok(None) };
        variable.check(text).map(Some).map_err(|error| TransportError::Invalid(error.to_string()))
    }

    fn log(&self, level: u32, text: fmt::Arguments<'_>) {
        let target = self.target;
        // SAFETY: the range is valid for the call.
        if unsafe { (self.table.log_enabled)(level, target.as_ptr(), target.len()) } == 0 {
            return;
        }
        let text = text.to_string();
        // SAFETY: both ranges are valid for the call.
        unsafe { (self.table.log)(level, target.as_ptr(), target.len(), text.as_ptr(), text.len()) };
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("target", &self.target).finish_non_exhaustive()
    }
}
