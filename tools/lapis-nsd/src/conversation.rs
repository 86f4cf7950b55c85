//! The conversation with one client: requests in, answers out, as bytes.

use crate::caller::Caller;
use crate::tables::Tables;
use lapis_adapters::protocol::{Reply, Request, VERSION, Why};
use std::os::fd::OwnedFd;

/// An answer as it goes out.
#[derive(Debug)]
pub struct Answer {
    /// The reply's bytes.
    pub bytes: Vec<u8>,
    /// Descriptors that go with it.
    pub fds: Vec<OwnedFd>,
    /// The client is to be let go of after this answer.
    pub last: bool,
}

/// A client's conversation with the daemon.
#[derive(Debug)]
pub struct Conversation {
    caller: Caller,
    begun: bool,
}

impl Conversation {
    /// With a client that has said nothing yet.
    pub fn new(caller: Caller) -> Self {
        Self { caller, begun: false }
    }

    /// Whom it is with.
    pub fn caller(&self) -> Caller {
        self.caller
    }

    /// Whether the client has said who it is, and so hears of changes.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Answers a request, whatever it is. `daemon` is the daemon's number.
    pub fn answer(&mut self, tables: &mut Tables, daemon: u64, bytes: &[u8], fds: Vec<OwnedFd>) -> Answer {
        let refuse = |why, text: String| (Reply::Refused { why, text }, Vec::new());
        let (reply, fds) = match serde_json::from_slice(bytes) {
            Ok(Request::Hello { version }) if !self.begun && version == VERSION => {
                match tables.matrix().file().try_clone_to_owned() {
                    Ok(matrix) => {
                        self.begun = true;
                        (Reply::Welcome { version: VERSION, daemon }, vec![matrix])
                    }
                    Err(e) => refuse(Why::Exhausted, format!("the daemon's system says {e}")),
                }
            }
            Ok(Request::Hello { version }) if !self.begun => refuse(
                Why::Version,
                format!(
                    "the daemon speaks version {VERSION}, the client {version}: install the same release of Lapis for both"
                ),
            ),
            Ok(request) if self.begun => tables.handle(self.caller, request, fds),
            Ok(_) => refuse(Why::Malformed, "a conversation begins with `hello`".to_owned()),
            Err(e) => refuse(Why::Malformed, format!("not a request: {e}")),
        };
        let last = matches!(reply, Reply::Refused { why: Why::Malformed | Why::Version, .. });
        // A reply is made of strings and numbers, which JSON can hold.
        let bytes = serde_json::to_vec(&reply).unwrap_or_default();
        Answer { bytes, fds, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::soft_adapters;

    fn talk(requests: &[&str]) -> Vec<(String, bool)> {
        let mut tables = Tables::new(soft_adapters(1, 1, 4).expect("possible"), Some(4)).expect("memory");
        let caller = Caller { client: 1, user: 5, process: 6, administrator: false };
        let mut conversation = Conversation::new(caller);
        let mut answer = |text: &&str| {
            let answer = conversation.answer(&mut tables, 7, text.as_bytes(), Vec::new());
            (String::from_utf8(answer.bytes).expect("json"), answer.last)
        };
        requests.iter().map(&mut answer).collect()
    }

    fn hello() -> String {
        format!(r#"{{"hello":{{"version":{VERSION}}}}}"#)
    }

    #[test]
    fn a_conversation_begins_with_hello_of_the_same_version() {
        let said = talk(&[&hello(), r#""adapters""#]);
        assert_eq!(said[0].0, format!(r#"{{"welcome":{{"version":{VERSION},"daemon":7}}}}"#));
        assert!(said[1].0.contains(r#""name":"sn0""#) && !said[1].1, "{said:?}");
        let said = talk(&[r#"{"hello":{"version":1}}"#]);
        assert!(said[0].0.contains("version") && said[0].1, "{said:?}");
        assert!(talk(&[r#""adapters""#])[0].1, "no hello");
    }

    #[test]
    fn rubbish_ends_the_conversation() {
        let nested = "[".repeat(4000);
        for rubbish in ["", "{", "null", r#"{"open":{}}"#, r#"{"hello":{"version":-1}}"#, &nested, "\u{0}"] {
            let said = talk(&[&hello(), rubbish]);
            assert!(said[1].0.contains("malformed") && said[1].1, "{rubbish}: {said:?}");
        }
    }
}
