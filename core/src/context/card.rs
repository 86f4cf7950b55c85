//! A task's card: what the others need to know of it, in named fields.

use super::host_topology;
use super::init_errors::link_error;
use crate::error::Result;
use crate::transport::{Link, PeerId, standby};
use std::borrow::Cow;
use std::net::SocketAddr;

/// What the other tasks need to know of this one, in fields. `counts`: addresses of the lines in
/// which peers count their copies, and of those that they fetch.
pub(super) fn own_card(links: &mut [Link], epoch: u32, counts: (u64, u64), flags: u64) -> Result<Vec<u8>> {
    let mut card = Vec::new();
    put_field(&mut card, b"host");
    put_field(&mut card, &host_topology::identity());
    put_field(&mut card, b"cores");
    put_field(&mut card, &host_topology::cores());
    put_field(&mut card, b"epoch");
    put_field(&mut card, &epoch.to_le_bytes());
    put_field(&mut card, b"tally");
    put_field(&mut card, &counts.0.to_le_bytes());
    put_field(&mut card, b"flags");
    put_field(&mut card, &flags.to_le_bytes());
    put_field(&mut card, b"copied");
    put_field(&mut card, &counts.1.to_le_bytes());
    for link in links {
        for (name, address) in link.addresses().map_err(|e| link_error(link.name(), &e))? {
            put_field(&mut card, name.as_bytes());
            put_field(&mut card, &address);
        }
    }
    Ok(card)
}

/// Where a task publishes its card.
pub(super) fn card_key(task: PeerId) -> String {
    format!("card.{task}")
}

/// The epoch of the process that wrote a card.
pub(super) fn epoch_of(card: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(address_in(card, "epoch")?.try_into().ok()?))
}

/// Addresses as the program tells them, one for each path, in the form that datagram transports
/// take beside their own.
pub(super) fn plain_address(paths: &[SocketAddr]) -> Vec<u8> {
    let list: Vec<String> = paths.iter().map(ToString::to_string).collect();
    format!("@{}", list.join(",")).into_bytes()
}

/// What a link needs in order to connect to a task with this card; `plain`: its address if the
/// program told it. `None`: the task does not have this transport.
pub(super) fn address_for<'a>(link: &Link, card: &'a [u8], plain: Option<&'a [u8]>) -> Option<Cow<'a, [u8]>> {
    let address = |name| plain.or_else(|| address_in(card, name));
    let Some(standby) = link.standby() else { return address(link.name()).map(Cow::Borrowed) };
    let both = [link.name(), standby].map(address);
    both.iter().any(Option::is_some).then(|| standby::joined(both).into())
}

/// For each task the first one of the same machine; itself if it does not say where it runs.
pub(super) fn hosts(cards: &[Vec<u8>]) -> Box<[u32]> {
    let mut first = std::collections::HashMap::new();
    let host = |(task, card)| match address_in(card, "host") {
        Some(machine) => *first.entry(machine).or_insert(task),
        None => task,
    };
    (0..).zip(cards.iter().map(Vec::as_slice)).map(host).collect()
}

/// The cores that these tasks of one machine may run on, all together.
pub(super) fn cores_of(cards: &[&Vec<u8>]) -> usize {
    let mut union = Vec::new();
    for mask in cards.iter().filter_map(|c| address_in(c, "cores")) {
        union.resize(union.len().max(mask.len()), 0u8);
        union.iter_mut().zip(mask).for_each(|(all, one)| *all |= one);
    }
    union.iter().map(|byte| byte.count_ones() as usize).sum()
}

pub(super) fn put_field(card: &mut Vec<u8>, field: &[u8]) {
    card.extend_from_slice(&(field.len() as u16).to_le_bytes());
    card.extend_from_slice(field);
}

fn take_field<'a>(card: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = card.split_first_chunk::<2>()?;
    let (field, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    *card = rest;
    Some(field)
}

pub(super) fn address_in<'a>(mut card: &'a [u8], name: &str) -> Option<&'a [u8]> {
    loop {
        let key = take_field(&mut card)?;
        let value = take_field(&mut card)?;
        if key == name.as_bytes() {
            return Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_one_machine_have_one_host() {
        let card = |machine: &[u8]| {
            let mut card = Vec::new();
            put_field(&mut card, b"host");
            put_field(&mut card, machine);
            card
        };
        let cards = [card(b"a"), card(b"b"), card(b"a"), Vec::new(), card(b"b"), Vec::new()];
        assert_eq!(*hosts(&cards), [0, 1, 0, 3, 1, 5]);
    }

    #[test]
    fn cards_give_back_each_transports_address_and_nothing_from_a_torn_one() {
        let mut card = Vec::new();
        for (name, address) in [("shm", &b"abc"[..]), ("udp", b""), ("hps", &[7; 300])] {
            put_field(&mut card, name.as_bytes());
            put_field(&mut card, address);
        }
        assert_eq!(address_in(&card, "hps"), Some(&[7; 300][..]));
        assert_eq!(address_in(&card, "udp"), Some(&b""[..]));
        assert_eq!(address_in(&card, "rdma"), None);
        for cut in 0..card.len() {
            assert_eq!(address_in(&card[..cut], "hps"), None);
        }
    }
}
