//! A standby: one datagram link made of two, of which the second carries datagrams where the first
//! one does not lead, or does not lead any more.
//!
//! It is used where the user has named two datagram transports one behind the other in
//! `LAPIS_TRANSPORT`. To the layers above, the link is the first transport, the *primary*, with
//! paths of both: those of the second, the *standby*, are marked (`Event::STANDBY`), and the
//! packet engine sends data there only while no other path to the peer is up. So it is the engine
//! that makes sure that everything arrives once, whichever transport carries it.
//!
//! | file | concern |
//! |---|---|
//! | `link.rs` | the link: what goes to which of the two |
//! | `ways.rs` | who leads to a peer, and the numbers of paths |
//! | `addresses.rs` | the addresses of both |
//! | `waiter.rs` | sleeping on both |
//!
//! Everything but datagrams is the primary's: what it offers beside them (messages through memory,
//! direct copies) ends while it has no path to the peer that is up.

mod addresses;
#[cfg(all(test, not(any(miri, loom))))]
pub(crate) mod fakes;
mod link;
#[cfg(all(test, not(any(miri, loom))))]
mod tests;
mod waiter;
mod ways;

pub(crate) use addresses::joined;
pub(crate) use link::join;

use super::{Caps, Link, TransportError, Unusable};

impl Link {
    /// The transport that stands by, if one does.
    pub(crate) fn standby(&self) -> Option<&'static str> {
        self.standby
    }

    /// What the tasks of the job are told of this link: the address of each of its transports.
    pub(crate) fn addresses(&mut self) -> Result<Vec<(&'static str, Vec<u8>)>, TransportError> {
        let (name, all) = (self.name(), self.address()?);
        let Some(standby) = self.standby else { return Ok(vec![(name, all)]) };
        let no_two = || TransportError::Invalid(format!("transports {name} and {standby} gave no addresses"));
        let both = addresses::parted(&all).ok_or_else(no_two)?;
        let named = [name, standby].into_iter().zip(both);
        Ok(named.filter_map(|(name, address)| Some((name, address?.to_vec()))).collect())
    }
}

/// Joins the first two datagram links that stand one behind the other, if there are any.
pub(crate) fn join_neighbours(mut links: Vec<Link>, tasks: u32) -> Result<Vec<Link>, Unusable> {
    let carries =
        |link: &Link| link.caps().contains(Caps::DATAGRAM) && !link.caps().contains(Caps::SELF_ONLY);
    let Some(at) = links.windows(2).position(|two| two.iter().all(carries)) else { return Ok(links) };
    let standby = links.remove(at + 1);
    let primary = links.remove(at);
    tracing::info!(
        transport = primary.name(),
        "{} stands by for {}: it carries datagrams where no path of {} leads",
        standby.name(),
        primary.name(),
        primary.name()
    );
    links.insert(at, join(primary, standby, tasks)?);
    Ok(links)
}
