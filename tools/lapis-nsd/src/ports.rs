//! GM's nodes and ports: the node of each host name and board, and the window of each port. This
//! replaces GM's mapper.

use crate::caller::Caller;
use lapis_adapters::protocol::{MAX_REPLY, NODES_AT_ONCE, Node, PORTS, Place, Port, Reply, Why};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

/// The most nodes, and so the greatest identity: GM's events have 16 bits for it.
const NODES: usize = 1023;
/// The most nodes that the ports of one user may have made known.
const NODES_OF_A_USER: usize = 256;
/// The longest host name, as GM's programs have room for it, less a board's number.
const NAME: usize = 120;
/// The longest name of a port.
const PORT_NAME: usize = 64;
/// Bytes of a reply that its nodes leave for what is around them.
const BESIDE_NODES: usize = 1024;
/// Lives of a port are so far apart that a packet engine may count in between.
const LIVES_APART: u32 = 64;

/// A port that a program wants.
pub(crate) struct NewPort {
    pub(crate) node: String,
    pub(crate) board: u32,
    pub(crate) port: u32,
    pub(crate) name: String,
}

struct Known {
    name: String,
    board: u32,
    /// Who made it known by a port; nobody for those that the daemon was told at its start.
    user: Option<u32>,
    /// Where it is, if it is another host's.
    away: Option<Away>,
}

/// A node of another host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Away {
    /// Its board's address.
    pub(crate) address: IpAddr,
    /// The board of this host that leads to it.
    pub(crate) through: u32,
}

/// A node, as a person names it: NAME, or NAME:BOARD@ADDRESS, of which the board may be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) board: Option<u32>,
    pub(crate) address: Option<IpAddr>,
}

impl Listed {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((node, address)) = text.split_once('@') else {
            return Ok(Self { name: text.to_owned(), board: None, address: None });
        };
        let wrong = |what: &str| format!("`{text:.64}`: {what}: a node is NAME, or NAME@ADDRESS");
        let address = address.parse().map_err(|_| wrong("that is no IPv4 address"))?;
        let (name, board) = match node.split_once(':') {
            Some((name, board)) => {
                (name, Some(board.parse().map_err(|_| wrong("that is no board's number"))?))
            }
            None => (node, None),
        };
        Ok(Self { name: name.to_owned(), board, address: Some(address) })
    }
}

struct Open {
    name: String,
    place: Place,
    life: u32,
    caller: Caller,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Ports {
    /// By identity.
    nodes: BTreeMap<u32, Known>,
    open: BTreeMap<(u32, u32), Open>,
    last_life: u32,
    /// The nodes of all hosts are listed: identities are the same everywhere, and none is given
    /// that others would not know.
    is_listed: bool,
}

type Refused = (Why, String);

impl Ports {
    /// The identity of a host's board, given now if it had none.
    pub(crate) fn identify(&mut self, name: &str, board: u32, user: Option<u32>) -> Result<u32, String> {
        let sound = !name.is_empty() && name.len() <= NAME && name.bytes().all(|b| b.is_ascii_graphic());
        if !sound || name.contains(':') {
            return Err(format!("`{name:.32}` can't be a host's name"));
        }
        let known = self.nodes.iter().find(|(_, known)| known.name == name && known.board == board);
        if let Some((id, _)) = known {
            return Ok(*id);
        }
        let theirs = |user| self.nodes.values().filter(|known| known.user == Some(user)).count();
        if self.nodes.len() >= NODES || user.is_some_and(|user| theirs(user) >= NODES_OF_A_USER) {
            return Err(format!("there are {} nodes already: no more can be told apart", self.nodes.len()));
        }
        let free = (1..).find(|id| !self.nodes.contains_key(id)).unwrap_or(1);
        self.nodes.insert(free, Known { name: name.to_owned(), board, user, away: None });
        Ok(free)
    }

    /// Notes the next node of a list that all hosts have. `away`: it is another host's.
    pub(crate) fn list(&mut self, name: &str, board: u32, away: Option<Away>) -> Result<u32, String> {
        let before = self.nodes.len();
        let node = self.identify(name, board, None)?;
        if self.nodes.len() == before {
            return Err(format!("{} is there twice", full_name(name, board)));
        }
        if let Some(known) = self.nodes.get_mut(&node) {
            known.away = away;
        }
        self.is_listed = true;
        Ok(node)
    }

    /// Where a node of another host is, and its full name.
    pub(crate) fn away(&self, node: u32) -> Option<(Away, String)> {
        let known = self.nodes.get(&node)?;
        known.away.map(|away| (away, full_name(&known.name, known.board)))
    }

    /// The full name of a node, if there is one.
    pub(crate) fn name(&self, node: u32) -> Option<String> {
        self.nodes.get(&node).map(|known| full_name(&known.name, known.board))
    }

    /// Whether this host's nodes may have such a name.
    fn may_be_here(&self, name: &str, board: u32) -> Result<(), Refused> {
        let known = self.nodes.values().find(|known| known.name == name && known.board == board);
        let text = match known {
            Some(Known { away: Some(Away { address, .. }), .. }) => {
                format!("{} is another host, at {address}", full_name(name, board))
            }
            None if self.is_listed => format!(
                "{} is not among the nodes that the daemons of all hosts were told of (--node)",
                full_name(name, board)
            ),
            _ => return Ok(()),
        };
        Err((Why::NoNode, format!("{text}: LAPIS_GM_NODE says by which name this host's programs go")))
    }

    /// The identity of the node whose port may be opened.
    pub(crate) fn may_open(&mut self, wish: &NewPort, caller: Caller) -> Result<u32, Refused> {
        if wish.port >= PORTS {
            return Err((
                Why::NoPort,
                format!("there is no port {}: ports are 0 to {}", wish.port, PORTS - 1),
            ));
        }
        if wish.name.len() > PORT_NAME {
            return Err((Why::Malformed, format!("a port's name has at most {PORT_NAME} bytes")));
        }
        if wish.name.chars().any(char::is_control) {
            return Err((Why::Malformed, "a port's name has no control characters".to_owned()));
        }
        self.may_be_here(&wish.node, wish.board)?;
        let node =
            self.identify(&wish.node, wish.board, Some(caller.user)).map_err(|text| (Why::NoNode, text))?;
        match self.open.get(&(node, wish.port)) {
            None => Ok(node),
            Some(open) => {
                let Caller { process, user, .. } = open.caller;
                let text = format!(
                    "port {} of board {} of {} is taken: process {process} of user {user} has it open as `{}`",
                    wish.port, wish.board, wish.node, open.name
                );
                Err((Why::Taken, text))
            }
        }
    }

    /// Whether a port may be what its program says that a daemon before this one knew.
    pub(crate) fn may_adopt(&mut self, node: u32, wish: &NewPort, caller: Caller) -> Result<(), Refused> {
        let taken = |text: String| Err((Why::Taken, text));
        if node == 0 || node as usize > NODES {
            return Err((Why::NoNode, format!("no node has the identity {node}")));
        }
        self.may_be_here(&wish.node, wish.board)?;
        let same = |known: &Known| known.name == wish.node && known.board == wish.board;
        match self.nodes.get(&node) {
            Some(known) if !same(known) => {
                let name = full_name(&known.name, known.board);
                return taken(format!("node {node} is {name} by now"));
            }
            Some(_) => {}
            None if self.nodes.values().any(same) => {
                return taken(format!("{} has another identity by now", full_name(&wish.node, wish.board)));
            }
            None => {
                // Names are checked, and counted, where identities are given.
                let given = self.identify(&wish.node, wish.board, Some(caller.user));
                let given = given.map_err(|text| (Why::NoNode, text))?;
                if let Some(known) = self.nodes.remove(&given) {
                    self.nodes.insert(node, known);
                }
            }
        }
        self.may_open(wish, caller).map(drop)
    }

    /// Notes that a port is open which was so before.
    pub(crate) fn put_back(&mut self, node: u32, life: u32, wish: NewPort, place: Place, caller: Caller) {
        if life.wrapping_sub(self.last_life).cast_signed() > 0 || self.last_life == 0 {
            self.last_life = life;
        }
        self.open.insert((node, wish.port), Open { name: wish.name, place, life, caller });
    }

    /// Notes that a port is open; gives its life.
    pub(crate) fn put(&mut self, node: u32, wish: NewPort, place: Place, caller: Caller) -> u32 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let life = next_life((since.as_millis() / 4) as u32, self.last_life);
        self.last_life = life;
        self.open.insert((node, wish.port), Open { name: wish.name, place, life, caller });
        life
    }

    /// The board of a node.
    pub(crate) fn board(&self, node: u32) -> Result<u32, Refused> {
        self.nodes
            .get(&node)
            .map(|known| known.board)
            .ok_or_else(|| (Why::NoNode, format!("there is no node {node}")))
    }

    /// The window behind a port, and the port's life.
    pub(crate) fn find(&self, node: u32, port: u32) -> Result<(Place, u32), Refused> {
        match self.open.get(&(node, port)) {
            Some(open) => Ok((open.place.clone(), open.life)),
            None => Err((Why::NoPort, format!("port {port} of node {node} is not open"))),
        }
    }

    /// A client has gone.
    pub(crate) fn gone(&mut self, client: u64) {
        self.open.retain(|_, open| open.caller.client != client);
    }

    /// A window was closed.
    pub(crate) fn closed(&mut self, place: &Place) {
        self.open.retain(|_, open| open.place != *place);
    }

    /// All nodes from an identity on, as far as they fit.
    pub(crate) fn tell(&self, from: u32, network: impl Fn(u32) -> u32) -> Reply {
        let tell = |(id, known): (&u32, &Known)| {
            let node = *id;
            let port = |(&(_, port), open): (&(u32, u32), &Open)| Port {
                port,
                name: open.name.clone(),
                user: open.caller.user,
                process: open.caller.process,
                place: open.place.clone(),
            };
            Node {
                node,
                name: full_name(&known.name, known.board),
                board: known.board,
                network: network(known.away.map_or(known.board, |away| away.through)),
                address: known.away.map(|away| away.address),
                unique: unique(&known.name, known.board),
                ports: self.open.range((node, 0)..=(node, u32::MAX)).map(port).collect(),
            }
        };
        let (mut nodes, mut room) = (Vec::new(), MAX_REPLY - BESIDE_NODES);
        for known in self.nodes.range(from..) {
            let node = tell(known);
            let len = serde_json::to_vec(&node).map_or(usize::MAX, |bytes| bytes.len() + 1);
            // All ports of one node always fit.
            if nodes.len() == NODES_AT_ONCE || len > room && !nodes.is_empty() {
                return Reply::Nodes { nodes, next: Some(*known.0) };
            }
            room = room.saturating_sub(len);
            nodes.push(node);
        }
        Reply::Nodes { nodes, next: None }
    }
}

fn full_name(name: &str, board: u32) -> String {
    if board == 0 { name.to_owned() } else { format!("{name}:{board}") }
}

/// An address as an Ethernet card has one, locally administered: the same whenever it is asked for.
fn unique(name: &str, board: u32) -> String {
    let hash = Sha256::new().chain_update(board.to_le_bytes()).chain_update(name).finalize();
    let digits: String = hash[..5].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("02{digits}")
}

fn next_life(now: u32, last: u32) -> u32 {
    let least = last.wrapping_add(LIVES_APART).max(1);
    if last != 0 && now.wrapping_sub(least).cast_signed() < 0 { least } else { now.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: Caller = Caller { client: 1, user: 5, process: 6, administrator: false };

    fn wish(node: &str, port: u32) -> NewPort {
        NewPort { node: node.to_owned(), board: 0, port, name: "test".to_owned() }
    }

    fn place(window: u32) -> Place {
        Place { adapter: "sn0".to_owned(), window }
    }

    #[test]
    fn a_port_is_one_clients_until_its_window_is_closed() {
        let mut ports = Ports::default();
        let node = ports.may_open(&wish("left", 2), CALLER).expect("free");
        ports.put(node, wish("left", 2), place(7), CALLER);
        let (why, text) = ports.may_open(&wish("left", 2), CALLER).expect_err("taken");
        assert_eq!(why, Why::Taken);
        assert!(text.contains("process 6 of user 5"), "{text}");
        assert_eq!(ports.may_open(&wish("left", 4), CALLER), Ok(node));
        assert_ne!(ports.may_open(&wish("right", 2), CALLER), Ok(node));
        assert_eq!(ports.find(node, 2).expect("open").0, place(7));
        ports.closed(&place(7));
        assert_eq!(ports.find(node, 2).expect_err("closed").0, Why::NoPort);
        ports.put(node, wish("left", 2), place(8), CALLER);
        ports.gone(1);
        assert_eq!(ports.find(node, 2).expect_err("closed").0, Why::NoPort);
    }

    #[test]
    fn names_and_numbers_that_can_not_be_are_refused() {
        let mut ports = Ports::default();
        for name in ["", "a:1", "a b", &"x".repeat(NAME + 1), "a\n"] {
            ports.identify(name, 0, None).expect_err(name);
        }
        assert_eq!(ports.may_open(&wish("a", PORTS), CALLER).expect_err("no such").0, Why::NoPort);
        for n in 0..NODES_OF_A_USER {
            ports.identify(&format!("n{n}"), 0, Some(5)).expect("room");
        }
        ports.identify("more", 0, Some(5)).expect_err("as many as a user may have");
        ports.identify("more", 0, None).expect("room for others");
    }

    #[test]
    fn ports_of_a_daemon_before_are_taken_back_with_their_identities() {
        let mut ports = Ports::default();
        ports.may_adopt(7, &wish("left", 2), CALLER).expect("nobody has it");
        ports.put_back(7, 100, wish("left", 2), place(3), CALLER);
        assert_eq!(ports.find(7, 2).expect("open"), (place(3), 100));
        assert_eq!(ports.may_open(&wish("left", 4), CALLER), Ok(7));
        assert_eq!(ports.may_adopt(7, &wish("left", 2), CALLER).expect_err("taken").0, Why::Taken);
        ports.may_adopt(7, &wish("right", 4), CALLER).expect_err("another's identity");
        ports.may_adopt(8, &wish("left", 4), CALLER).expect_err("another identity");
        ports.may_adopt(0, &wish("a", 4), CALLER).expect_err("no identity");
        ports.may_adopt(9, &wish("a b", 4), CALLER).expect_err("no name");
        assert_eq!(ports.may_open(&wish("right", 2), CALLER), Ok(1));
    }

    #[test]
    fn nodes_are_told_piece_by_piece() {
        let mut ports = Ports::default();
        for n in 0..NODES_AT_ONCE as u32 + 3 {
            ports.identify("host", n, None).expect("room");
        }
        let Reply::Nodes { nodes, next: Some(next) } = ports.tell(0, |_| 4) else { panic!("more") };
        assert_eq!((nodes[0].name.as_str(), nodes[1].name.as_str()), ("host", "host:1"));
        assert_ne!(nodes[0].unique, nodes[1].unique);
        let Reply::Nodes { nodes, next: None } = ports.tell(next, |_| 4) else { panic!("the rest") };
        assert_eq!(nodes.len(), 3);
    }

    #[test]
    fn nodes_with_many_ports_of_odd_names_fit_into_replies() {
        let mut ports = Ports::default();
        for n in 0..NODES_AT_ONCE as u32 {
            let mut node = 0;
            for port in 0..PORTS {
                let wish = || NewPort {
                    name: "\"".repeat(PORT_NAME),
                    ..wish(&format!("n{n}{}", "x".repeat(100)), port)
                };
                node = ports.may_open(&wish(), CALLER).expect("free");
                ports.put(node, wish(), place(n * PORTS + port), CALLER);
            }
            assert_eq!(node, n + 1);
        }
        let (mut told, mut from, mut replies) = (Vec::new(), 0, 0);
        loop {
            let reply = ports.tell(from, |_| 4);
            let len = serde_json::to_vec(&reply).expect("json").len();
            assert!(len <= MAX_REPLY, "{len}");
            let Reply::Nodes { nodes, next } = reply else { panic!("nodes") };
            replies += 1;
            told.extend(nodes.into_iter().map(|node| (node.node, node.ports.len() as u32)));
            match next {
                Some(next) if next > from => from = next,
                Some(next) => panic!("{next} after {from}"),
                None => break,
            }
        }
        assert_eq!(told, (1..=NODES_AT_ONCE as u32).map(|node| (node, PORTS)).collect::<Vec<_>>());
        assert!(replies > 1, "all in one");
    }

    #[test]
    fn a_ports_name_has_no_control_characters() {
        let mut ports = Ports::default();
        for name in ["a\0", "\x1b[2J", "a\nb", "\u{7f}"] {
            let wish = NewPort { name: name.to_owned(), ..wish("left", 2) };
            assert_eq!(ports.may_open(&wish, CALLER).expect_err(name).0, Why::Malformed);
            assert_eq!(ports.may_adopt(1, &wish, CALLER).expect_err(name).0, Why::Malformed);
        }
        let wish = NewPort { name: "größe \"7\"".to_owned(), ..wish("left", 2) };
        ports.may_open(&wish, CALLER).expect("a plain name");
    }

    #[test]
    fn listed_nodes_have_the_identities_of_their_places_and_others_none() {
        let mut ports = Ports::default();
        let away = Away { address: IpAddr::from([10, 0, 0, 2]), through: 0 };
        assert_eq!(ports.list("left", 0, None), Ok(1));
        assert_eq!(ports.list("right", 0, Some(away)), Ok(2));
        assert!(ports.list("right", 0, None).expect_err("twice").contains("twice"));
        assert_eq!(ports.may_open(&wish("left", 2), CALLER), Ok(1));
        for (name, text) in [("right", "another host, at 10.0.0.2"), ("middle", "--node")] {
            let (why, said) = ports.may_open(&wish(name, 2), CALLER).expect_err("not this host");
            assert!(why == Why::NoNode && said.contains(text) && said.contains("LAPIS_GM_NODE"), "{said}");
            ports.may_adopt(2, &wish(name, 2), CALLER).expect_err("not this host");
        }
        assert_eq!(ports.away(2), Some((away, "right".to_owned())));
        assert_eq!((ports.away(1), ports.name(2).as_deref()), (None, Some("right")));
        let Reply::Nodes { nodes, .. } = ports.tell(0, |board| board + 9) else { panic!("nodes") };
        let told: Vec<_> = nodes.iter().map(|node| (node.network, node.address)).collect();
        assert_eq!(told, [(9, None), (9, Some(away.address))]);
    }

    #[test]
    fn nodes_are_named_with_and_without_addresses() {
        let listed = |name: &str, board, address| Listed { name: name.to_owned(), board, address };
        let address = Some(IpAddr::from([10, 0, 0, 1]));
        assert_eq!(Listed::parse("left"), Ok(listed("left", None, None)));
        assert_eq!(Listed::parse("left@10.0.0.1"), Ok(listed("left", None, address)));
        assert_eq!(Listed::parse("left:3@10.0.0.1"), Ok(listed("left", Some(3), address)));
        for wrong in ["left@", "left@host", "left@1.2.3", "left:x@10.0.0.1", "left:@10.0.0.1"] {
            assert!(Listed::parse(wrong).expect_err(wrong).contains("NAME@ADDRESS"));
        }
    }

    #[test]
    fn lives_only_grow() {
        assert_eq!(next_life(100, 0), 100);
        assert_eq!(next_life(100, 100), 164);
        assert_eq!(next_life(1000, 100), 1000);
        assert_eq!(next_life(5, u32::MAX - 1), 62);
    }
}
