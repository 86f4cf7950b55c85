//! Reading the variables that describe a job, with their ranges.

use std::collections::HashMap;
use std::time::Duration;

use super::error::BootstrapError;
use super::protocol::MAX_TASKS;
use super::variables;

/// The environment in which a job is looked for: the process's own, or a list for tests and
/// embedders.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: HashMap<String, String>,
}

impl From<&crate::config::Environment> for Environment {
    fn from(variables: &crate::config::Environment) -> Self {
        Self { variables: variables.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect() }
    }
}

impl Environment {
    /// The variables of this process as they are now; none in a set-user-id program.
    pub fn process() -> Self {
        (&crate::config::Environment::of_process()).into()
    }

    /// Exactly these variables.
    pub fn of<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        Self { variables: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect() }
    }

    /// The value of a variable, if it is set; bytes that are not UTF-8 are replaced, which no valid
    /// value survives.
    pub fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    pub(super) fn number(
        &self,
        name: &'static str,
        low: u32,
        high: u32,
    ) -> Result<Option<u32>, BootstrapError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match value.trim().parse::<u32>() {
            Ok(n) if (low..=high).contains(&n) => Ok(Some(n)),
            _ => Err(bad(name, value, format!("an integer from {low} to {high} is expected"))),
        }
    }

    /// The number of this task and of all tasks, from one pair of variables.
    pub(super) fn task_of(
        &self,
        task_name: &'static str,
        tasks_name: &'static str,
    ) -> Result<Option<(u32, u32)>, BootstrapError> {
        let tasks = self.number(tasks_name, 1, MAX_TASKS)?;
        let task = self.number(task_name, 0, MAX_TASKS - 1)?;
        match (task, tasks) {
            (None, None) => Ok(None),
            (Some(task), Some(tasks)) if task < tasks => Ok(Some((task, tasks))),
            (Some(task), Some(tasks)) => {
                let expected = format!("{tasks_name}={tasks} allows task numbers from 0 to {}", tasks - 1);
                Err(bad(task_name, task.to_string(), expected))
            }
            (None, Some(tasks)) => Err(BootstrapError::MissingVariable {
                present: format!("{tasks_name}={tasks}"),
                missing: task_name,
                remedy: format!(
                    "start the program with lapirun or poe; or, by hand, set {task_name} to a different number from 0 to \
                     {} in each task; or unset {tasks_name} for a job of one task",
                    tasks - 1
                ),
            }),
            (Some(task), None) => Err(BootstrapError::MissingVariable {
                present: format!("{task_name}={task}"),
                missing: tasks_name,
                remedy: format!("set {tasks_name} to the number of tasks of the job, or unset {task_name}"),
            }),
        }
    }

    pub(super) fn secret(&self, name: &'static str) -> Result<Option<[u8; 32]>, BootstrapError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match from_hex(value.trim()) {
            Some(secret) => Ok(Some(secret)),
            None => {
                let shown = format!("<{} characters>", value.chars().count());
                Err(bad(name, shown, "64 hexadecimal digits are expected".into()))
            }
        }
    }

    pub(super) fn seconds(&self, name: &'static str) -> Result<Option<Duration>, BootstrapError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match value.trim().parse() {
            Ok(seconds @ 1..=86_400) => Ok(Some(Duration::from_secs(seconds))),
            _ => Err(bad(name, value, "seconds from 1 to 86400 are expected".into())),
        }
    }

    /// The tasks on this node, `task` included, from the guide's `count:other:other…`.
    pub(crate) fn common_tasks(&self, task: u32, tasks: u32) -> Result<Option<Vec<u32>>, BootstrapError> {
        let name = variables::MP_COMMON_TASKS;
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let parsed: Option<Vec<u32>> = value.trim().split(':').map(|part| part.parse().ok()).collect();
        if let Some([count, others @ ..]) = parsed.as_deref() {
            let mut all = others.to_vec();
            all.push(task);
            all.sort_unstable();
            all.dedup();
            let in_range = all.iter().all(|&t| t < tasks);
            if others.len() == *count as usize && all.len() == others.len() + 1 && in_range {
                return Ok(Some(all));
            }
        }
        let expected = format!(
            "count:task:task… is expected: how many other tasks are on this node, then their numbers (0 to {}, \
             without {task}, each once)",
            tasks - 1
        );
        Err(bad(name, value, expected))
    }
}

pub(super) fn bad(variable: &'static str, value: String, expected: String) -> BootstrapError {
    BootstrapError::BadVariable { variable, value, expected }
}

pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut out = [0u8; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks(2)) {
        let high = (pair[0] as char).to_digit(16)?;
        let low = (pair[1] as char).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(out)
}
