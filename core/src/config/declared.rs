//! A variable that a transport declares: its value, check and origin, as for those of the table.

use super::kind::Value;
use super::{ConfigError, Listed, Origin, Variable};

/// A declared variable with its effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeclaredSetting {
    pub(super) variable: Variable,
    value: Option<Value>,
    origin: Origin,
}

impl DeclaredSetting {
    pub(super) fn new(variable: Variable) -> Self {
        // A default that does not parse was refused with its plugin, or fails the test of its
        // crate.
        let value = variable.default.and_then(|text| Some(variable.kind.parse(text).ok()?.value));
        Self { variable, value, origin: Origin::Default }
    }

    pub(super) fn set(&mut self, text: &str, origin: Origin) -> Result<(), ConfigError> {
        self.value = Some(self.variable.check(text)?);
        self.origin = origin;
        Ok(())
    }

    pub(super) fn listed(&self) -> Listed {
        let value = self.value.as_ref().map(|value| self.variable.kind.write(value));
        Listed { variable: self.variable, value, origin: self.origin }
    }
}

impl Variable {
    /// The value of a text, or what is wrong with it.
    pub(crate) fn check(&self, text: &str) -> Result<Value, ConfigError> {
        let refuse = |problem| ConfigError::new(self, text, problem);
        self.kind.parse(text).map(|parsed| parsed.value).map_err(refuse)
    }
}
