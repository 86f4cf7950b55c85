//! Reading the variables from an environment.

use super::names::DEPRECATED;
use super::table::{Config, VARIABLES, variable};
use super::{ConfigError, Environment, SetError, Warning};
use crate::transport::{Chaos, ChaosError};

impl Config {
    /// Reads core's variables from a snapshot of the environment. A bad value is an error. What
    /// transports declare is read by [`declare`](Self::declare), and once they all have been, names
    /// that are unknown are found by [`unknown_names`](Self::unknown_names).
    pub fn from_env(env: &Environment) -> Result<(Self, Vec<Warning>), ConfigError> {
        let mut config = Self::defaults();
        let mut warnings = Vec::new();
        for variable in VARIABLES {
            // An empty value is how shells and launchers say "not set".
            let Some(text) = env.get(variable.name).filter(|text| !text.trim().is_empty()) else { continue };
            match config.set(variable.name, text, env.origin(variable.name)) {
                Ok(warning) => warnings.extend(warning),
                Err(SetError::Value(error)) => return Err(error),
                Err(SetError::UnknownName { .. }) => unreachable!("{} stands in the table", variable.name),
            }
        }
        config.check_child()?;
        warnings.extend(env.tuning_problem().map(|why| Warning::Tuning { why: why.to_owned() }));
        let old = DEPRECATED.iter().filter(|(old, _)| env.get(old).is_some());
        warnings.extend(old.map(|(name, instead)| Warning::Deprecated { name, instead }));
        Ok((config, warnings))
    }

    /// MP_CHILD is bounded by MP_PROCS.
    fn check_child(&self) -> Result<(), ConfigError> {
        let (Some(child), Some(procs)) = (*self.child, *self.procs) else { return Ok(()) };
        if child < procs {
            return Ok(());
        }
        let row = variable("MP_CHILD").expect("stands in the table");
        let mut error = ConfigError::new(row, &child.to_string(), format!("MP_PROCS is {procs}"));
        error.range = format!("a number from 0 to {}", procs - 1);
        Err(error)
    }

    /// LAPIS_CHAOS, understood.
    pub(crate) fn faults(&self) -> Result<Option<Chaos>, ConfigError> {
        let Some(text) = self.chaos.get() else { return Ok(None) };
        text.parse().map(Some).map_err(|e: ChaosError| {
            let row = variable("LAPIS_CHAOS").expect("stands in the table");
            let mut error = ConfigError::new(row, text, e.to_string());
            error.range = "pairs such as drop=1%,delay=200us,seed=7".to_owned();
            error
        })
    }
}
