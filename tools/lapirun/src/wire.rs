//! What an agent on another machine and who has started it, the launcher or another agent, say to
//! each other, over the agent's standard input and output. An agent hands on what comes from those
//! that it has started itself.
//!
//! ```text
//!  0      1        5        9                 9+length
//!  | kind | number | length | bytes …          |      number and length: u32, little endian
//!
//!  to the agent                               from the agent
//!  ORDER   bytes: the job, JSON               HELLO    bytes: GREETING
//!  SIGNAL  number: signal for all tasks       STARTED  number: task, bytes: process as u32
//!  ROLL    what do the tasks do?              REPORT   bytes: what each does, JSON
//!  INPUT   number: task, bytes: for its       TAKEN    number: task: it has taken its INPUT; bytes: none,
//!          standard input; none: that ends             or one: it takes no more
//!  DEAF    number: task whose output nobody   BEAT     every BEAT_EVERY: I am there
//!          reads any more; bytes: 1 (u8):     OUTPUT, ERROR   number: task, bytes: as written by it
//!          its standard error, 0: the other
//!  end of input: the launcher is gone,        EXITED   number: task, bytes: how (u8), code or signal (i32)
//!  kill all                                   FAULT    number: exit code, bytes: what is wrong here, one line
//!                                             BELOW    the same of a machine below, which the line names
//!                                             NOTE     bytes: a line for the user
//! ```

use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::job::Input;
use crate::tree;

/// The one word with which a command of the launcher's is an agent.
pub(crate) const AGENT: &str = "--agent";

pub(crate) const ORDER: u8 = 0x01;
pub(crate) const SIGNAL: u8 = 0x02;
pub(crate) const ROLL: u8 = 0x03;
pub(crate) const INPUT: u8 = 0x04;
pub(crate) const DEAF: u8 = 0x05;
pub(crate) const HELLO: u8 = 0x81;
pub(crate) const STARTED: u8 = 0x82;
pub(crate) const OUTPUT: u8 = 0x83;
pub(crate) const ERROR: u8 = 0x84;
pub(crate) const EXITED: u8 = 0x85;
pub(crate) const FAULT: u8 = 0x86;
pub(crate) const REPORT: u8 = 0x87;
pub(crate) const BEAT: u8 = 0x88;
pub(crate) const BELOW: u8 = 0x89;
pub(crate) const NOTE: u8 = 0x8a;
pub(crate) const TAKEN: u8 = 0x8b;

/// How often an agent gives a sign of life.
pub(crate) const BEAT_EVERY: Duration = Duration::from_millis(300);

/// Says that both ends are of one version.
pub(crate) const GREETING: &[u8] = b"lapirun agent 8";
/// Longest content of a frame.
const MAX: usize = 16 << 20;

/// A machine of the job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Its name, as the remote command takes it.
    pub(crate) host: String,
    /// Numbers of the tasks to start there.
    pub(crate) tasks: Vec<u32>,
    /// All its tasks.
    pub(crate) here: Vec<u32>,
    /// Which of the job's programs each task of `here` runs.
    pub(crate) which: Vec<usize>,
}

/// The job as an agent sees it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The agent's own machine.
    pub(crate) machine: Machine,
    /// Those whose agents it starts, or has them start.
    pub(crate) below: Vec<Machine>,
    /// How many agents it starts itself at most.
    pub(crate) fan_out: u32,
    /// The command that runs something on a machine, with `{host}` for its name.
    pub(crate) remote: String,
    /// How many times these tasks were started before.
    pub(crate) before: u32,
    /// Whether tasks that fail may be restarted.
    pub(crate) restarts: bool,
    /// The job's programs, each with its arguments.
    pub(crate) programs: Vec<(String, Vec<String>)>,
    /// Variables for all tasks; the job's secret is among them.
    pub(crate) env: Vec<(String, String)>,
    /// Working directory.
    pub(crate) folder: String,
    /// A word that `--bind` takes.
    pub(crate) bind: String,
    /// File that gets what a task writes, with `%t` for its number.
    pub(crate) files: Option<String>,
    /// Whose standard input comes from the launcher.
    pub(crate) input: Input,
}

impl Order {
    /// The orders for the branches below this agent, each for the branch's first machine.
    pub(crate) fn branches(&mut self) -> Vec<Self> {
        let below = tree::branches(std::mem::take(&mut self.below), self.fan_out);
        below.into_iter().map(|(machine, below)| Self { machine, below, ..self.clone() }).collect()
    }
}

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) number: u32,
    pub(crate) bytes: Vec<u8>,
}

/// Sends one message.
pub(crate) fn send(to: &mut impl Write, kind: u8, number: u32, bytes: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(9 + bytes.len());
    frame.push(kind);
    frame.extend_from_slice(&number.to_le_bytes());
    frame.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    frame.extend_from_slice(bytes);
    to.write_all(&frame)?;
    to.flush()
}

/// Bytes received, on their way to being messages.
#[derive(Default)]
pub(crate) struct Inbox(Vec<u8>);

impl Inbox {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next whole message; `Err` holds the beginning of what is none.
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, String> {
        let Some(&kind) = self.0.first() else {
            return Ok(None);
        };
        let word = |at: usize| self.0.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let known = matches!(kind, ORDER..=DEAF | HELLO..=TAKEN);
        let length = word(5).unwrap_or(0) as usize;
        if !known || length > MAX {
            let start = &self.0[..self.0.len().min(60)];
            return Err(String::from_utf8_lossy(start).escape_debug().to_string());
        }
        match (word(1), self.0.len() >= 9 + length && self.0.len() >= 9) {
            (Some(number), true) => {
                let bytes = self.0[9..9 + length].to_vec();
                self.0.drain(..9 + length);
                Ok(Some(Frame { kind, number, bytes }))
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_any_cut() {
        let mut stream = Vec::new();
        send(&mut stream, OUTPUT, 3, b"abc").unwrap();
        send(&mut stream, EXITED, 4, b"").unwrap();
        for cut in 0..=stream.len() {
            let mut inbox = Inbox::default();
            let mut found = Vec::new();
            for piece in [&stream[..cut], &stream[cut..]] {
                inbox.push(piece);
                while let Some(frame) = inbox.next().unwrap() {
                    found.push(frame);
                }
            }
            let first = Frame { kind: OUTPUT, number: 3, bytes: b"abc".to_vec() };
            let second = Frame { kind: EXITED, number: 4, bytes: Vec::new() };
            assert_eq!(found, [first, second]);
        }
    }

    #[test]
    fn chatter_is_shown_not_obeyed() {
        let mut inbox = Inbox::default();
        inbox.push(b"Welcome to node 7!\n");
        assert_eq!(inbox.next(), Err("Welcome to node 7!\\n".into()));
        let mut inbox = Inbox::default();
        inbox.push(&[OUTPUT, 0, 0, 0, 0, 255, 255, 255, 255]);
        assert!(inbox.next().is_err());
    }
}
