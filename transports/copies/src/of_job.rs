//! The limits of a process that moves data by lanes: by what its environment says, by what is
//! shipped, or measured at its start. One way for all who have lanes.

use crate::{COPIES, Choice, Copies, FirstStart, Source, VARIABLE, first_start};
use lapis_core::config::{Environment, Origin, processor};
use lapis_core::transport::{Host, TransportError};

/// What people may want to know of how limits were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The tuning file's value does not count.
    Warning(String),
    /// What a measurement came to.
    Info(String),
}

/// Finds the limits. `value` is what the variable has for one, `environment` says where that
/// stands; what nobody knows of the processor is measured if it `may_measure`.
///
/// # Errors
/// What is wrong with a value of the environment, the variable's name in front.
pub fn find(
    value: Option<&str>,
    environment: &Environment,
    may_measure: bool,
    mut tell: impl FnMut(Remark),
) -> Result<Copies, String> {
    let origin = |text| (text, environment.origin(VARIABLE));
    let choice = chosen(value.map(origin), &processor())?;
    if let (Some(why), Some(text)) = (&choice.problem, value) {
        tell(Remark::Warning(format!("tuning file: {VARIABLE}=`{text}`: {why}; it does not count")));
    }
    Ok(match choice.source {
        Source::Usual if may_measure && choice.problem.is_none() => {
            measured_once(environment, choice.copies, tell)
        }
        _ => choice.copies,
    })
}

fn chosen(value: Option<(&str, Origin)>, processor: &str) -> Result<Choice, String> {
    let text = value.map_or("", |(text, _)| text);
    Choice::of(value, processor).map_err(|why| format!("{VARIABLE}=`{text}`: {why}"))
}

/// The same for a transport of a job with so many tasks, which opens now.
///
/// # Errors
/// The environment has a bad value.
pub fn of_host(host: &Host, tasks: u32) -> Result<Copies, TransportError> {
    let text = host.text(&COPIES)?;
    let tell = |remark| match remark {
        Remark::Warning(text) => host.warn(format_args!("{text}")),
        Remark::Info(text) => host.info(format_args!("{text}")),
    };
    find(text.as_deref(), &Environment::of_process(), tasks > 1, tell).map_err(TransportError::Invalid)
}

/// What the first start on an unknown kind of processor finds out and leaves in the tuning file.
fn measured_once(environment: &Environment, usual: Copies, mut tell: impl FnMut(Remark)) -> Copies {
    let (Some(path), None) = (environment.tuning_path(), environment.tuning_problem()) else {
        return usual;
    };
    let (copies, text) = match first_start(usual, path) {
        Ok(FirstStart::Left) => return usual,
        Ok(FirstStart::Measured(copies)) => (copies, format!("measured: {copies}, in {}", path.display())),
        Ok(FirstStart::Disturbed(why)) => {
            (usual, format!("what was measured does not count, a later start tries again: {why}"))
        }
        Err(e) => (usual, format!("not measured, for it can't be kept in {}: {e}", path.display())),
    };
    tell(Remark::Info(format!("copies on this processor: {text}")));
    copies
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_core::config::TUNING;

    fn of(value: Option<&str>, environment: &Environment) -> (Result<Copies, String>, Vec<Remark>) {
        let mut remarks = Vec::new();
        let found = find(value, environment, false, |remark| remarks.push(remark));
        (found, remarks)
    }

    #[test]
    fn limits_come_from_the_variable_and_a_bad_one_is_named() {
        let environment = Environment::from_pairs([(VARIABLE, "attach=5")]);
        let (found, remarks) = of(Some("attach=5"), &environment);
        assert_eq!((found.map(|copies| copies.attach), remarks), (Ok(5), vec![]));
        let (found, _) = of(Some("near=5"), &environment);
        assert!(found.unwrap_err().starts_with("LAPIS_SHM_COPIES=`near=5`: no limit `near`"));
    }

    #[test]
    fn a_bad_value_of_the_tuning_file_is_remarked_upon_and_does_not_count() {
        let file = std::env::temp_dir().join(format!("lapis-of-job-{}", std::process::id()));
        std::fs::write(&file, format!("{VARIABLE}=near=5\n")).unwrap();
        let environment = Environment::from_pairs([(TUNING, file.to_str().unwrap())]).with_tuning_file();
        let (found, remarks) = of(environment.get(VARIABLE), &environment);
        std::fs::remove_file(&file).unwrap();
        let shipped = Copies::shipped(&processor()).unwrap_or(Copies::USUAL);
        assert_eq!(found, Ok(shipped));
        assert!(matches!(&remarks[..], [Remark::Warning(text)] if text.contains("does not count")));
    }
}
