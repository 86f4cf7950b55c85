//! Adding the variables that transports declare to the configuration.

use super::declared::DeclaredSetting;
use super::suggest::nearest;
use super::{Config, ConfigError, Environment, Group, Origin, SetError, VARIABLES, Variable, Warning};

impl Config {
    /// Takes up what a transport declares, with the values of the environment. What it declared
    /// before is replaced.
    ///
    /// # Errors
    /// A value that a variable can't take.
    pub fn declare(
        &mut self,
        transport: &str,
        variables: &[Variable],
        env: &Environment,
    ) -> Result<(), ConfigError> {
        self.declared.retain(|d| !matches!(d.variable.group, Group::Transport(name) if name == transport));
        for variable in variables {
            let mut setting = DeclaredSetting::new(*variable);
            if let Some(text) = env.get(variable.name).filter(|text| !text.trim().is_empty()) {
                setting.set(text, env.origin(variable.name))?;
            }
            self.declared.push(setting);
        }
        Ok(())
    }

    /// Sets a variable that transports declare.
    pub(super) fn set_declared(
        &mut self,
        name: &str,
        text: &str,
        origin: Origin,
    ) -> Result<Option<Warning>, SetError> {
        let mut known = false;
        for setting in self.declared.iter_mut().filter(|d| d.variable.name == name) {
            setting.set(text, origin)?;
            known = true;
        }
        match known {
            true => Ok(None),
            false => Err(SetError::UnknownName { name: name.to_owned(), nearest: self.nearest_to(name) }),
        }
    }

    /// Whether a transport has declared a variable of this name.
    pub(super) fn is_declared(&self, name: &str) -> bool {
        self.declared.iter().any(|d| d.variable.name == name)
    }

    /// The known name that one is nearest to, if any is near.
    pub(super) fn nearest_to(&self, name: &str) -> Option<&'static str> {
        nearest(name, VARIABLES.iter().chain(self.declared.iter().map(|d| &d.variable)).map(|v| v.name))
    }
}
