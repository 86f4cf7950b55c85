//! Agents that give no sign of life.

use std::time::{Duration, Instant};

use super::Remote;

/// Silence of an agent after which the user hears of it, and after which it is given up.
const SUSPICIOUS: Duration = Duration::from_secs(1);
const HOPELESS: Duration = Duration::from_secs(30);

/// The same for one that has not answered at all. It is not given up: the remote command may wait
/// for somebody, or for its turn.
const UNREACHED: Duration = Duration::from_secs(10);

/// Notices silence, for one who has started agents.
pub(crate) struct Listening {
    /// When silence was measured last.
    last: Instant,
}

impl Listening {
    pub(crate) fn new() -> Self {
        Self { last: Instant::now() }
    }

    /// When the agents are to be looked at again.
    pub(crate) fn next(&self) -> Instant {
        self.last + SUSPICIOUS / 2
    }

    /// Looks at them; the result is what the user is to be told. `listening`: they could have been
    /// heard.
    pub(crate) fn look(&mut self, agents: &mut [Remote], listening: bool) -> Vec<String> {
        // Who did not run himself, for however long, has not listened.
        let passed = self.last.elapsed().min(SUSPICIOUS / 2);
        self.last = Instant::now();
        let mut lines = Vec::new();
        for agent in agents {
            let host = &agent.host;
            if agent.silence.is_zero() && std::mem::take(&mut agent.suspected) {
                lines.push(format!("host {host}: its agent answers again"));
            }
            if listening {
                agent.silence += passed;
            }
            if !agent.greeted {
                if agent.silence >= UNREACHED && !std::mem::replace(&mut agent.suspected, true) {
                    lines.push(format!("host {host}: its agent has not answered for ten seconds"));
                }
            } else if agent.silence >= HOPELESS {
                agent.cut();
            } else if agent.silence >= SUSPICIOUS && !std::mem::replace(&mut agent.suspected, true) {
                lines.push(format!("host {host}: its agent has given no sign of life for a second"));
            }
        }
        lines
    }
}
