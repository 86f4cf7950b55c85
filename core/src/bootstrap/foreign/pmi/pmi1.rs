//! PMI-1: a line for each question, `cmd=NAME key=value …`, and one for its answer.

use std::collections::HashMap;
use std::time::Duration;

use super::link::Link;
use super::{cut, join, mpi_says_farewell, part_key};
use crate::bootstrap::error::BootstrapError;
use crate::bootstrap::foreign::Board;

/// Limits that every server keeps, if it names none.
const KEY: usize = 64;
const VALUE: usize = 256;

pub(super) struct One {
    link: Link,
    task: u32,
    tasks: u32,
    /// Name of the store, which is that of the job.
    store: String,
    longest_key: usize,
    longest_value: usize,
    patience: Duration,
    left: bool,
}

/// An answer, by its words.
type Words = HashMap<String, String>;

fn words(line: &str) -> Words {
    let pair = |word: &str| word.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    line.split_whitespace().filter_map(pair).collect()
}

/// Sends a line and waits for the answer of that name.
fn ask(link: &mut Link, line: &str, answer: &str, patience: Duration) -> Result<Words, BootstrapError> {
    let during = line.split_whitespace().next().unwrap_or(line).to_owned();
    link.send(format!("{line}\n").as_bytes(), &during)?;
    let text = link.line(&during, patience)?;
    let found = words(&text);
    let good = found.get("cmd").is_some_and(|cmd| cmd == answer);
    match found.get("rc").map(String::as_str) {
        None | Some("0") if good => Ok(found),
        _ => Err(BootstrapError::Manager {
            during: format!("{during} (PMI-1)"),
            reason: format!("the launcher answers {text:?}"),
        }),
    }
}

/// At a port, the task says which of the launcher's processes it is, and hears its number and that
/// of all tasks.
pub(super) fn introduce(link: &mut Link, id: u32, patience: Duration) -> Result<(u32, u32), BootstrapError> {
    ask(link, &format!("cmd=initack pmiid={id}"), "initack", patience)?;
    let (mut task, mut tasks) = (None, None);
    // Three settings follow: size, rank, debug.
    for _ in 0..3 {
        let line = link.line("the launcher's settings", patience)?;
        let found = words(&line);
        let number = |name: &str| found.get(name).and_then(|v| v.parse::<u32>().ok());
        task = task.or(number("rank"));
        tasks = tasks.or(number("size"));
    }
    match (task, tasks) {
        (Some(task), Some(tasks)) if task < tasks => Ok((task, tasks)),
        _ => Err(BootstrapError::Manager {
            during: "initack (PMI-1)".into(),
            reason: format!("the launcher names rank {task:?} of {tasks:?}"),
        }),
    }
}

impl One {
    /// Begins the conversation.
    pub(super) fn open(mut link: Link, who: (u32, u32), patience: Duration) -> Result<Self, BootstrapError> {
        ask(&mut link, "cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", patience)?;
        Self::join(link, who, patience)
    }

    /// Takes part in one that has begun.
    pub(super) fn join(
        mut link: Link,
        (task, tasks): (u32, u32),
        patience: Duration,
    ) -> Result<Self, BootstrapError> {
        let limits = ask(&mut link, "cmd=get_maxes", "maxes", patience)?;
        let limit = |name: &str, least| limits.get(name).and_then(|v| v.parse().ok()).unwrap_or(least);
        let (longest_key, longest_value) = (limit("keylen_max", KEY), limit("vallen_max", VALUE));
        let mut name = ask(&mut link, "cmd=get_my_kvsname", "my_kvsname", patience)?;
        let store = name.remove("kvsname").unwrap_or_default();
        Ok(Self { link, task, tasks, store, longest_key, longest_value, patience, left: false })
    }
}

impl Board for One {
    fn task(&self) -> u32 {
        self.task
    }

    fn tasks(&self) -> u32 {
        self.tasks
    }

    fn job(&self) -> &str {
        &self.store
    }

    fn pin(&mut self, key: &str, text: &str) -> Result<(), BootstrapError> {
        for (part, value) in cut(text, self.longest_value).iter().enumerate() {
            let key = part_key(self.task, key, part);
            if key.len() >= self.longest_key {
                return Err(BootstrapError::TooLarge {
                    what: format!("key {key:?}"),
                    len: key.len(),
                    limit: self.longest_key - 1,
                });
            }
            let line = format!("cmd=put kvsname={} key={key} value={value}", self.store);
            ask(&mut self.link, &line, "put_result", self.patience)?;
        }
        Ok(())
    }

    fn fence(&mut self, patience: Duration) -> Result<(), BootstrapError> {
        ask(&mut self.link, "cmd=barrier_in", "barrier_out", patience).map(|_| ())
    }

    fn read(&mut self, from: u32, key: &str, patience: Duration) -> Result<String, BootstrapError> {
        join(from, key, |key| {
            let line = format!("cmd=get kvsname={} key={key}", self.store);
            let mut found = ask(&mut self.link, &line, "get_result", patience)?;
            Ok(found.remove("value").unwrap_or_default())
        })
    }

    fn abort(&mut self, code: i32, _message: &str) {
        // No answer comes: the launcher ends this process with the others.
        let _ = self.link.send(format!("cmd=abort exitcode={code}\n").as_bytes(), "abort");
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.left, true)
            && !mpi_says_farewell()
            && let Err(error) = ask(&mut self.link, "cmd=finalize", "finalize_ack", self.patience)
        {
            tracing::debug!(%error, "the launcher did not hear that this task is done");
        }
    }
}
