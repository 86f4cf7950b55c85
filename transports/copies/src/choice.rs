//! Which limits count where several places say some: the one rule for jobs and for who shows it.

use crate::Copies;
use lapis_core::config::Origin;

/// What stands in the value of the tuning file if a job's start has measured it, in a few
/// milliseconds that nobody asked for.
pub(crate) const AT_START: &str = "measured=start";

/// Where limits come from, those first that win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The variable.
    Environment,
    /// Somebody wrote it into the tuning file, or had `lapis-perf tune` measure it.
    TuningFile,
    /// Shipped for this kind of processor.
    Shipped,
    /// Measured at a job's start: it stands in the tuning file.
    FirstStart,
    /// What holds for most: nothing is known of this kind of processor.
    Usual,
}

/// The limits that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The limits.
    pub copies: Copies,
    /// Where they come from.
    pub source: Source,
    /// Why the tuning file's value does not count, if it is not understood: another version may
    /// have written it.
    pub problem: Option<String>,
}

impl Choice {
    /// By what the variable has for a value, if any, and where that stands.
    ///
    /// # Errors
    /// What is wrong with a value of the environment.
    pub fn of(value: Option<(&str, Origin)>, processor: &str) -> Result<Self, String> {
        let shipped = Copies::shipped(processor);
        let base = shipped.unwrap_or(Copies::USUAL);
        let unset = match shipped {
            Some(_) => Source::Shipped,
            None => Source::Usual,
        };
        let chosen = |copies, source| Self { copies, source, problem: None };
        let Some((text, origin)) = value else { return Ok(chosen(base, unset)) };
        let at_start = text.split(',').any(|pair| pair.trim() == AT_START);
        match (base.with(text), origin == Origin::Tuning) {
            (Ok(copies), false) => Ok(chosen(copies, Source::Environment)),
            (Err(why), false) => Err(why),
            // Measured when nothing was known. What is shipped comes from longer measurements.
            (Ok(_), true) if at_start && shipped.is_some() => Ok(chosen(base, unset)),
            (Ok(copies), true) if at_start => Ok(chosen(copies, Source::FirstStart)),
            (Ok(copies), true) => Ok(chosen(copies, Source::TuningFile)),
            (Err(why), true) => Ok(Self { problem: Some(why), ..chosen(base, unset) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &str = "GenuineIntel-6-167";
    const UNKNOWN: &str = "Nobody-1-2";

    fn of(text: &str, origin: Origin, processor: &str) -> (Source, u64) {
        let choice = Choice::of(Some((text, origin)), processor).unwrap();
        (choice.source, choice.copies.attach)
    }

    #[test]
    fn what_somebody_asked_for_wins_over_what_is_shipped_and_that_over_a_start() {
        assert_eq!(of("attach=7", Origin::Environment, KNOWN), (Source::Environment, 7));
        assert_eq!(of("attach=7", Origin::Tuning, KNOWN), (Source::TuningFile, 7));
        assert_eq!(of("attach=7,measured=start", Origin::Tuning, KNOWN), (Source::Shipped, 16384));
        assert_eq!(of("attach=7,measured=start", Origin::Tuning, UNKNOWN), (Source::FirstStart, 7));
        assert_eq!(Choice::of(None, KNOWN).unwrap().source, Source::Shipped);
        assert_eq!(Choice::of(None, UNKNOWN).unwrap().source, Source::Usual);
    }

    #[test]
    fn what_is_not_understood_is_an_error_of_the_environment_and_a_remark_on_the_file() {
        assert!(Choice::of(Some(("far=x", Origin::Environment)), KNOWN).is_err());
        let choice = Choice::of(Some(("near=5", Origin::Tuning)), KNOWN).unwrap();
        assert_eq!(choice.source, Source::Shipped);
        assert!(choice.problem.unwrap().contains("no limit `near`"));
    }
}
