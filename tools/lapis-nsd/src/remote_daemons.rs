//! Daemons of other hosts: which of their ports are open. One datagram asks, one answers.
//!
//! An attacker who can send datagrams to this host's network can delay senders, and no more: an
//! answer repeats a random number of the question, and messages between ports are authenticated.

use crate::youth::YOUTH;
use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// The version of what is said here. RemoteDaemons are not heard.
const VERSION: u32 = 1;
/// What is asked is asked again so often, by whoever wants to know.
const AGAIN: Duration = Duration::from_millis(2);
/// That a port is open holds for so long for everybody: twice as long as peers pause between two
/// looks at each other. That it is not holds for one who has asked: it may be open in a moment.
const FRESH: Duration = Duration::from_millis(100);
/// For so long it is kept for somebody who has asked and comes for it.
const KEPT: Duration = Duration::from_secs(1);
/// The longest datagram.
const LONGEST: usize = 512;
/// The most datagrams that are read in a row: a flood keeps nobody else waiting.
const AT_ONCE: usize = 64;

/// What daemons say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Word {
    Ask { version: u32, nonce: u64, node: u32, name: String, port: u32 },
    Tell { version: u32, nonce: u64, state: State },
}

/// What is known of another host's port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum State {
    /// It is open: its life, and the longest datagram that it takes.
    Open { life: u32, room: u32 },
    /// It is not.
    Closed,
    /// That daemon has another node under this identity, or none.
    Stranger { name: String },
}

impl State {
    /// Whether a daemon of this age can know that it is so: a young one may be the successor of one
    /// that had the port open. Whoever asks asks again.
    fn is_certain(&self, age: Duration) -> bool {
        age > YOUTH || !matches!(self, Self::Closed)
    }
}

/// A port: its node's identity, and its number.
pub(crate) type Name = (u32, u32);

struct Told {
    state: State,
    at: Instant,
    /// Somebody has asked, and not come for the answer.
    wanted: bool,
}

/// What is asked and told of ports. Time is an argument.
#[derive(Default)]
struct Ledger {
    asked: HashMap<Name, (u64, Instant)>,
    told: HashMap<Name, Told>,
}

impl Ledger {
    /// What is known of a port now.
    fn look(&mut self, name: Name, now: Instant) -> Option<State> {
        let told = self.told.get_mut(&name)?;
        let age = now.saturating_duration_since(told.at);
        let is_fresh = age <= FRESH && matches!(told.state, State::Open { .. });
        if is_fresh || told.wanted && age <= KEPT {
            told.wanted = false;
            return Some(told.state.clone());
        }
        None
    }

    /// The number of the question that is to be asked now. `None`: it has just been asked.
    fn ask(&mut self, name: Name, now: Instant, fresh: impl FnOnce() -> u64) -> Option<u64> {
        // An answer may take longer than the next question: the number stays until it comes.
        let (nonce, at) = match self.asked.get(&name) {
            Some((nonce, at)) => (*nonce, Some(*at)),
            None => (fresh(), None),
        };
        if at.is_some_and(|at| now.saturating_duration_since(at) < AGAIN) {
            return None;
        }
        self.asked.insert(name, (nonce, now));
        Some(nonce)
    }

    /// Notes an answer, if somebody has asked.
    fn tell(&mut self, nonce: u64, state: State, now: Instant) {
        let asked = self.asked.iter().find(|(_, (asked, _))| *asked == nonce).map(|(name, _)| *name);
        if let Some(name) = asked {
            self.asked.remove(&name);
            self.told.insert(name, Told { state, at: now, wanted: true });
        }
    }
}

/// See the module.
pub(crate) struct RemoteDaemons {
    socket: UdpSocket,
    port: u16,
    ledger: Ledger,
    begun: Instant,
}

impl RemoteDaemons {
    /// Listens at this UDP port, at which the daemons of all hosts listen.
    pub(crate) fn open(port: u16) -> io::Result<Self> {
        // A socket of IPv6 has both versions, where the kernel has IPv6 at all.
        let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, port))
            .or_else(|_| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)))?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, port, ledger: Ledger::default(), begun: Instant::now() })
    }

    /// What is known of a port of the node of this name and identity, at this address. `None`: its
    /// daemon is being asked.
    pub(crate) fn state(&mut self, name: Name, host: &str, address: IpAddr) -> Option<State> {
        let now = Instant::now();
        let known = self.ledger.look(name, now);
        if known.is_none()
            && let Some(nonce) = self.ledger.ask(name, now, random)
        {
            let (node, port) = name;
            let word = Word::Ask { version: VERSION, nonce, node, name: host.to_owned(), port };
            self.send(&word, (address, self.port).into());
        }
        known
    }

    /// Hears what others say. `tell` knows this host's ports: by node, name and number.
    pub(crate) fn hear(&mut self, mut tell: impl FnMut(u32, &str, u32) -> State) {
        let mut bytes = [0; LONGEST];
        for _ in 0..AT_ONCE {
            let Ok((len, from)) = self.socket.recv_from(&mut bytes) else { return };
            match serde_json::from_slice(&bytes[..len]) {
                Ok(Word::Ask { version: VERSION, nonce, node, name, port }) => {
                    let state = tell(node, &name, port);
                    if state.is_certain(self.begun.elapsed()) {
                        self.send(&Word::Tell { version: VERSION, nonce, state }, from);
                    }
                }
                Ok(Word::Tell { version: VERSION, nonce, state }) => {
                    self.ledger.tell(nonce, state, Instant::now());
                }
                _ => {}
            }
        }
    }

    /// A datagram that gets lost is asked for again.
    fn send(&self, word: &Word, to: SocketAddr) {
        let of_v6 = self.socket.local_addr().is_ok_and(|own| own.is_ipv6());
        let to = match to {
            SocketAddr::V4(to) if of_v6 => (to.ip().to_ipv6_mapped(), to.port()).into(),
            to => to,
        };
        if let Ok(bytes) = serde_json::to_vec(word) {
            let _ = self.socket.send_to(&bytes, to);
        }
    }
}

impl AsFd for RemoteDaemons {
    /// Becomes readable when somebody says something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without random numbers anybody may answer in a host's name: senders wait, no more.
    let _ = getrandom(&mut bytes, GetRandomFlags::NONBLOCK);
    u64::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Name = (3, 2);

    #[test]
    fn whoever_asks_seldom_gets_an_answer_too_and_nobody_an_old_one() {
        let (mut ledger, begun) = (Ledger::default(), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        assert_eq!(ledger.look(PORT, at(0)), None);
        assert_eq!(ledger.ask(PORT, at(0), || 7), Some(7));
        assert_eq!(ledger.ask(PORT, at(1), || 8), None, "it has just been asked");
        assert_eq!(ledger.ask(PORT, at(3), || 8), Some(7), "one question, however long the answer takes");
        ledger.tell(8, State::Closed, at(4));
        assert_eq!(ledger.look(PORT, at(4)), None, "nobody has asked that");
        ledger.tell(7, State::Closed, at(5));
        assert_eq!(ledger.look(PORT, at(700)), Some(State::Closed), "kept for who has asked");
        assert_eq!(ledger.look(PORT, at(701)), None, "old for everybody else");
        assert_eq!(ledger.ask(PORT, at(701), || 9), Some(9));
        ledger.tell(9, State::Open { life: 4, room: 1000 }, at(702));
        for ms in [702, 710, 722, 802] {
            assert_eq!(ledger.look(PORT, at(ms)), Some(State::Open { life: 4, room: 1000 }));
        }
        assert_eq!(ledger.look(PORT, at(803)), None);
        assert_eq!(ledger.ask(PORT, at(803), || 10), Some(10));
        ledger.tell(10, State::Closed, at(804));
        assert_eq!(ledger.look(PORT, at(804)), Some(State::Closed));
        assert_eq!(ledger.look(PORT, at(804)), None, "it may be open by now");
        assert_eq!(ledger.ask(PORT, at(826), || 11), Some(11));
        ledger.tell(11, State::Closed, at(827));
        assert_eq!(ledger.look(PORT, at(2000)), None, "nobody came for it in time");
    }

    #[test]
    fn a_young_daemon_says_what_is_open_and_not_what_is_closed() {
        let open = State::Open { life: 1, room: 1000 };
        let other = State::Stranger { name: String::new() };
        for age in [Duration::ZERO, YOUTH] {
            assert!(open.is_certain(age) && other.is_certain(age) && !State::Closed.is_certain(age));
        }
        assert!(State::Closed.is_certain(YOUTH + Duration::from_millis(1)));
    }

    #[test]
    fn daemons_ask_and_tell_and_hear_no_rubbish() {
        let open = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a socket");
            socket.set_nonblocking(true).expect("a socket");
            let port = socket.local_addr().expect("bound").port();
            let begun = Instant::now().checked_sub(2 * YOUTH).expect("a machine that is up for longer");
            (RemoteDaemons { socket, port, ledger: Ledger::default(), begun }, port)
        };
        let ((mut here, _), (mut there, port)) = (open(), open());
        here.port = port;
        let told = |node: u32, name: &str, port: u32| match (node, name, port) {
            (3, "right", 2) => State::Open { life: 9, room: 1400 },
            (3, "right", _) => State::Closed,
            _ => State::Stranger { name: "right".to_owned() },
        };
        for rubbish in
            [&b"{}"[..], b"[1", &[0xff; 900], br#"{"tell":{"version":1,"nonce":1,"state":"closed"}}"#]
        {
            here.socket.send_to(rubbish, (Ipv4Addr::LOCALHOST, port)).expect("sent");
        }
        let mut ask = |name, host: &str| {
            for _ in 0..10_000 {
                if let Some(state) = here.state(name, host, Ipv4Addr::LOCALHOST.into()) {
                    return state;
                }
                there.hear(told);
                here.hear(|_, _, _| State::Closed);
            }
            panic!("no answer");
        };
        assert_eq!(ask((3, 2), "right"), State::Open { life: 9, room: 1400 });
        assert_eq!(ask((3, 4), "right"), State::Closed);
        assert_eq!(ask((3, 5), "middle"), State::Stranger { name: "right".to_owned() });
    }
}
