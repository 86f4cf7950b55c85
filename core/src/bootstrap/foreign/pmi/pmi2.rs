//! PMI-2: `LENGTH cmd=NAME;key=value;…` with the length in six characters; a semicolon in a value
//! is doubled.

use std::collections::HashMap;
use std::time::Duration;

use super::link::Link;
use super::{cut, join, mpi_says_farewell, part_key};
use crate::bootstrap::error::BootstrapError;
use crate::bootstrap::foreign::Board;

/// Bytes of the length in front of each message.
const PREFIX: usize = 6;
/// Longest value that every server takes.
const VALUE: usize = 1024;

pub(super) struct Two {
    link: Link,
    task: u32,
    tasks: u32,
    job: String,
    patience: Duration,
    left: bool,
}

type Words = HashMap<String, String>;

fn encode(pairs: &[(&str, &str)]) -> Vec<u8> {
    let body: String = pairs.iter().map(|(k, v)| format!("{k}={};", v.replace(';', ";;"))).collect();
    format!("{:>PREFIX$}{body}", body.len()).into_bytes()
}

fn decode(body: &str) -> Words {
    let mut found = Words::new();
    let mut rest = body;
    while let Some((key, mut value)) = rest.split_once('=') {
        let mut text = String::new();
        loop {
            let Some(end) = value.find(';') else {
                text.push_str(value);
                value = "";
                break;
            };
            text.push_str(&value[..end]);
            value = &value[end + 1..];
            let Some(more) = value.strip_prefix(';') else { break };
            text.push(';');
            value = more;
        }
        found.insert(key.to_owned(), text);
        rest = value;
    }
    found
}

/// Begins the conversation; `false` if the server speaks PMI-1 only.
pub(super) fn greet(link: &mut Link, patience: Duration) -> Result<bool, BootstrapError> {
    link.send(b"cmd=init pmi_version=2 pmi_subversion=0\n", "cmd=init")?;
    let line = link.line("cmd=init", patience)?;
    Ok(line.contains("pmi_version=2") && line.contains("rc=0"))
}

fn ask(link: &mut Link, pairs: &[(&str, &str)], patience: Duration) -> Result<Words, BootstrapError> {
    let name = pairs.first().map_or("", |(_, name)| name);
    link.send(&encode(pairs), name)?;
    let broken = |text: &[u8]| BootstrapError::Manager {
        during: format!("{name} (PMI-2)"),
        reason: format!("the launcher answers {:?}", String::from_utf8_lossy(text)),
    };
    let frame = link.receive(name, patience, |inbox| {
        let Some(prefix) = inbox.get(..PREFIX) else { return Ok(None) };
        let length = std::str::from_utf8(prefix).ok().and_then(|p| p.trim().parse::<usize>().ok());
        length.map(|n| Some(PREFIX + n)).ok_or_else(|| broken(inbox))
    })?;
    let found = decode(&String::from_utf8_lossy(&frame[PREFIX..]));
    let expected = format!("{name}-response");
    let good = found.get("cmd").is_some_and(|cmd| *cmd == expected);
    match found.get("rc").map(String::as_str) {
        None | Some("0") if good => Ok(found),
        _ => Err(broken(&frame)),
    }
}

impl Two {
    /// After [`greet`].
    pub(super) fn open(
        mut link: Link,
        job: &str,
        task: u32,
        patience: Duration,
    ) -> Result<Self, BootstrapError> {
        let rank = task.to_string();
        let hello = [("cmd", "fullinit"), ("pmijobid", job), ("pmirank", &*rank), ("threaded", "FALSE")];
        let found = ask(&mut link, &hello, patience)?;
        let number = |name: &str| found.get(name).and_then(|v| v.parse::<u32>().ok());
        let (task, tasks) = match (number("rank"), number("size")) {
            (Some(task), Some(tasks)) if task < tasks => (task, tasks),
            other => {
                return Err(BootstrapError::Manager {
                    during: "fullinit (PMI-2)".into(),
                    reason: format!("the launcher names rank and size {other:?}"),
                });
            }
        };
        Ok(Self::join(link, job, (task, tasks), patience))
    }

    /// Takes part in a conversation that has begun.
    pub(super) fn join(link: Link, job: &str, (task, tasks): (u32, u32), patience: Duration) -> Self {
        Self { link, task, tasks, job: job.to_owned(), patience, left: false }
    }
}

impl Board for Two {
    fn task(&self) -> u32 {
        self.task
    }

    fn tasks(&self) -> u32 {
        self.tasks
    }

    fn job(&self) -> &str {
        &self.job
    }

    fn pin(&mut self, key: &str, text: &str) -> Result<(), BootstrapError> {
        for (part, value) in cut(text, VALUE).iter().enumerate() {
            let key = part_key(self.task, key, part);
            ask(&mut self.link, &[("cmd", "kvs-put"), ("key", &key), ("value", value)], self.patience)?;
        }
        Ok(())
    }

    fn fence(&mut self, patience: Duration) -> Result<(), BootstrapError> {
        ask(&mut self.link, &[("cmd", "kvs-fence")], patience).map(|_| ())
    }

    fn read(&mut self, from: u32, key: &str, patience: Duration) -> Result<String, BootstrapError> {
        join(from, key, |key| {
            let question = [("cmd", "kvs-get"), ("jobid", &*self.job), ("srcid", "-1"), ("key", key)];
            let mut found = ask(&mut self.link, &question, patience)?;
            let value = found.remove("value");
            match (found.get("found").map(String::as_str), value) {
                (None | Some("TRUE"), Some(value)) => Ok(value),
                _ => Err(BootstrapError::Manager {
                    during: "kvs-get (PMI-2)".into(),
                    reason: format!("the launcher does not know {key:?}, which task {from} has put"),
                }),
            }
        })
    }

    fn abort(&mut self, _code: i32, message: &str) {
        let order = [("cmd", "abort"), ("isworld", "TRUE"), ("msg", message)];
        // No answer comes: the launcher ends this process with the others.
        let _ = self.link.send(&encode(&order), "abort");
    }

    fn leave(&mut self) {
        if !std::mem::replace(&mut self.left, true)
            && !mpi_says_farewell()
            && let Err(error) = ask(&mut self.link, &[("cmd", "finalize")], self.patience)
        {
            tracing::debug!(%error, "the launcher did not hear that this task is done");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_semicolons() {
        let bytes = encode(&[("cmd", "kvs-put"), ("value", "a;b;;c="), ("last", "")]);
        let text = String::from_utf8(bytes).unwrap();
        let (length, body) = text.split_at(PREFIX);
        assert_eq!(length.trim().parse::<usize>().unwrap(), body.len());
        let found = decode(body);
        assert_eq!(
            (found["cmd"].as_str(), found["value"].as_str(), found["last"].as_str()),
            ("kvs-put", "a;b;;c=", "")
        );
    }
}
