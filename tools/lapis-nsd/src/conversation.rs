//! The conversation with one client: requests in, answers out, as bytes.

use crate::caller::Caller;
use crate::tables::Tables;
use lapis_adapters::protocol::{Reply, Request, VERSION, Why};
use rustix::fs::fcntl_get_seals;
use std::os::fd::{AsRawFd as _, OwnedFd};

/// An answer as it goes out.
#[derive(Debug)]
pub struct Answer {
    /// The reply's bytes.
    pub bytes: Vec<u8>,
    /// Descriptors that go with it.
    pub fds: Vec<OwnedFd>,
    /// The client is to be let go of after this answer.
    pub last: bool,
    /// What came with the request and was none of a window's. To close such a thing may take as
    /// long as its maker likes: not where others wait. More is left by [`Tables::take_unused`].
    pub refused: Vec<OwnedFd>,
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
        let (mut parts, mut refused) =
            if are_of_a_window(&fds) { (fds, Vec::new()) } else { (Vec::new(), fds) };
        let (reply, fds) = match serde_json::from_slice(bytes) {
            _ if !refused.is_empty() => {
                refuse(Why::Malformed, "only a window's memory and bell can be passed".to_owned())
            }
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
            Ok(request) if self.begun => tables.handle(self.caller, request, std::mem::take(&mut parts)),
            Ok(_) => refuse(Why::Malformed, "a conversation begins with `hello`".to_owned()),
            Err(e) => refuse(Why::Malformed, format!("not a request: {e}")),
        };
        // A window's parts beside what takes none may have much memory.
        refused.append(&mut parts);
        let last = matches!(reply, Reply::Refused { why: Why::Malformed | Why::Version, .. });
        // A reply is made of strings and numbers, which JSON can hold.
        let bytes = serde_json::to_vec(&reply).unwrap_or_default();
        Answer { bytes, fds, last, refused }
    }
}

/// Whether these are no descriptors, or what a window has: a memory file and a bell, an eventfd.
/// Asks the kernel alone, and nobody who may be behind a descriptor.
fn are_of_a_window(fds: &[OwnedFd]) -> bool {
    let [memory, bell] = fds else { return fds.is_empty() };
    let is_bell = |fd: &OwnedFd| {
        let link = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd()));
        link.is_ok_and(|link| link.as_os_str() == "anon_inode:[eventfd]")
    };
    // Memory files alone can be sealed.
    fcntl_get_seals(memory).is_ok() && is_bell(bell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::soft_adapters;
    use lapis_adapters::fifo::Geometry;
    use lapis_adapters::soft::Parts;

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
    fn what_is_none_of_a_windows_is_refused_and_handed_back() {
        let mut tables = Tables::new(soft_adapters(1, 1, 4).expect("possible"), Some(4)).expect("memory");
        let caller = Caller { client: 1, user: 5, process: 6, administrator: false };
        let window = || {
            let parts = Parts::make("test", Geometry::default()).expect("memory");
            vec![parts.memory, parts.bell]
        };
        let socket = || OwnedFd::from(std::net::UdpSocket::bind("127.0.0.1:0").expect("a port"));
        let mut ask = |fds: Vec<OwnedFd>| {
            let mut conversation = Conversation::new(caller);
            let answer = conversation.answer(&mut tables, 7, hello().as_bytes(), fds);
            (answer.refused.len(), answer.last)
        };
        assert_eq!(ask(Vec::new()), (0, false));
        // `hello` takes nothing: a window's memory may be much, too.
        assert_eq!(ask(window()), (2, false));
        assert_eq!(ask(vec![socket()]), (1, true));
        for at in 0..2 {
            let mut fds = window();
            fds[at] = socket();
            assert_eq!(ask(fds), (2, true));
        }
        assert_eq!(ask(window().into_iter().chain([socket()]).collect()), (3, true));
        assert_eq!(ask(window().into_iter().rev().collect()), (2, true));
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
