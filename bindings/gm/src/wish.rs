//! What a program asks to be sent. Where that can't be: what is wrong with it, and one line that
//! says it.

use crate::abi::{MAX_SIZE, MIN_SIZE, MTU, Status, max_length};
use crate::stream::{Op, Teller};
use lapis_adapters::protocol::PORTS;

/// A message that the program sends.
pub(crate) struct Wish {
    pub(crate) op: Op,
    pub(crate) local: u64,
    pub(crate) len: u64,
    pub(crate) priority: u32,
    pub(crate) node: u32,
    pub(crate) port: u32,
    pub(crate) teller: Teller,
}

/// Bits of a node number that a task of the engine has room for; there are no greater ones.
pub(crate) const NODE_BITS: u32 = 24;

/// What is wrong with a message before it is sent anywhere.
#[inline(always)]
pub(crate) fn unsound(wish: &Wish) -> Option<Status> {
    let Wish { op, local, len, priority, node, port, .. } = *wish;
    if node >> NODE_BITS != 0 {
        return Some(say_no_node(node));
    }
    let fits = match op {
        Op::Message { size } => {
            (MIN_SIZE..=MAX_SIZE).contains(&size.into()) && len <= max_length(size.into())
        }
        Op::Put { .. } | Op::Get { .. } => len <= max_length(MAX_SIZE),
    };
    let sound = fits && priority < 2 && port < PORTS && (local != 0 || len == 0);
    if sound { None } else { Some(say_unsound(wish)) }
}

/// The same of a datagram's length alone.
pub(crate) fn too_long_a_datagram(len: u64) -> Option<Status> {
    if len <= u64::from(MTU) {
        return None;
    }
    tracing::error!(
        target: "lapis::gm",
        "gm_datagram_send: a datagram of {len} bytes is too long: gm_mtu, {MTU}, is the most"
    );
    Some(Status::InvalidParameter)
}

#[cold]
fn say_no_node(node: u32) -> Status {
    tracing::error!(target: "lapis::gm", "gm_send: there is no node {node}");
    Status::SendTargetNodeUnreachable
}

#[cold]
fn say_unsound(wish: &Wish) -> Status {
    let why = why_unsound(wish);
    tracing::error!(target: "lapis::gm", "a send to port {} of node {}: {why}", wish.port, wish.node);
    Status::InvalidParameter
}

fn why_unsound(wish: &Wish) -> String {
    let Wish { op, local, len, priority, port, .. } = *wish;
    let most = match op {
        Op::Message { size } if !(MIN_SIZE..=MAX_SIZE).contains(&size.into()) => {
            return format!("no message can be of size {size}: sizes are {MIN_SIZE} to {MAX_SIZE}");
        }
        Op::Message { size } => max_length(size.into()),
        Op::Put { .. } | Op::Get { .. } => max_length(MAX_SIZE),
    };
    if len > most {
        return match op {
            Op::Message { size } => format!(
                "a message of {len} bytes is too long for size {size}, which has {most}: \
                 gm_min_size_for_length tells the size"
            ),
            _ => format!("a put or get of {len} bytes is too long: {most} is the most"),
        };
    }
    if priority > 1 {
        return format!("there is no priority {priority}: GM_LOW_PRIORITY and GM_HIGH_PRIORITY are all");
    }
    if port >= PORTS {
        return format!("there is no such port: {} is the last", PORTS - 1);
    }
    debug_assert_eq!(local, 0, "whatever else is sound");
    format!("{len} bytes at NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_send_is_said_with_its_numbers() {
        let sound = |op| {
            let teller = Teller::Event;
            Wish { op, local: 64, len: 8, priority: 0, node: 1, port: 4, teller }
        };
        let message = |size| sound(Op::Message { size });
        let put = || sound(Op::Put { address: 0 });
        assert_eq!(unsound(&message(4)), None);
        assert_eq!(unsound(&Wish { local: 0, len: 0, ..message(3) }), None);
        for (wish, said) in [
            (message(2), "size 2: sizes are 3 to 31"),
            (message(32), "size 32: sizes are 3 to 31"),
            (Wish { len: 9, ..message(4) }, "9 bytes is too long for size 4, which has 8"),
            (Wish { len: 1 << 31, ..put() }, "put or get of 2147483648 bytes"),
            (Wish { priority: 2, ..message(4) }, "no priority 2"),
            (Wish { port: 77, ..message(4) }, "no such port: 15 is the last"),
            (Wish { local: 0, ..message(4) }, "8 bytes at NULL"),
        ] {
            assert_eq!(unsound(&wish), Some(Status::InvalidParameter), "{said}");
            assert!(why_unsound(&wish).contains(said), "{said}: {}", why_unsound(&wish));
        }
        let nowhere = Wish { node: 1 << NODE_BITS, ..message(4) };
        assert_eq!(unsound(&nowhere), Some(Status::SendTargetNodeUnreachable));
        assert_eq!(too_long_a_datagram(MTU.into()), None);
        assert_eq!(too_long_a_datagram(u64::from(MTU) + 1), Some(Status::InvalidParameter));
    }
}
