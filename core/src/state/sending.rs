//! Outgoing messages, sent or deferred.

use super::adaptive_wait::AdaptiveWait;
use super::zero_copy::ZeroCopySends;
use crate::buffers::{Share, TrustedSource};
use crate::completion::Notify;
use crate::transport::PeerId;
use crate::wire::{Header, Kind};
use std::collections::VecDeque;

/// A packet without data, complete with header, and whom it is for.
type Kept = (PeerId, Box<[u8]>);

/// What is on its way out, or waits to be.
pub(crate) struct Sending<C> {
    /// Messages of several packets.
    pub(crate) outgoing: VecDeque<Outgoing<C>>,
    /// Transfers of the transport's of which the next piece had no room.
    pub(crate) transfers: VecDeque<u64>,
    /// How many messages go out from copies.
    pub(crate) copies: usize,
    /// How many messages wait to have their first packet sent.
    pub(crate) heads: usize,
    /// Messages whose memory engines may still read.
    pub(crate) zero_copy: ZeroCopySends<C>,
    /// Packets that met back-pressure where waiting was impossible.
    pub(crate) deferred: VecDeque<Kept>,
    /// The same for peers whose epoch is not known yet.
    pub(crate) held: VecDeque<Kept>,
    /// Room for the peers that have none for what was deferred.
    pub(crate) full: Vec<PeerId>,
    /// Room for a packet's head with a long user header.
    pub(crate) long_head: Vec<u8>,
    /// Room for the bytes that a layout gathers before an engine copies them.
    pub(crate) gathered: Vec<u8>,
    /// Messages whose sending has ended, for LAPI_Msgpoll.
    pub(crate) ended: u64,
    /// Since when there has been no room for what is to be sent.
    pub(crate) for_room: AdaptiveWait,
}

/// A message of several packets on its way out.
pub(crate) struct Outgoing<C> {
    pub(crate) peer: PeerId,
    pub(crate) source: TrustedSource,
    /// Bytes that are out already.
    pub(crate) position: u64,
    pub(crate) message: u32,
    /// The operation at the peer that these bytes answer: `GetData` instead of `Fragment`.
    pub(crate) answer_to: Option<u64>,
    /// The rail that its packets wish for.
    pub(crate) rail: Option<u8>,
    /// The operation that waits for the target's completion handler, 0 for none.
    pub(crate) completion: u64,
    pub(crate) origin: Notify<C>,
    /// What `source` reads if the program's buffer has been given back: it lives as long as this
    /// does.
    pub(crate) copy: Option<Box<[u8]>>,
    /// What the first packet says, as long as that has not been sent.
    pub(crate) head: Option<Box<Head>>,
    /// Its first packet went past the datagrams of its link, where the others follow it.
    pub(crate) past: bool,
}

impl<C> Outgoing<C> {
    /// A message of which nothing is out.
    #[inline(always)]
    pub(crate) fn new(peer: PeerId, source: TrustedSource, origin: Notify<C>) -> Self {
        Self {
            peer,
            source,
            position: 0,
            message: 0,
            answer_to: None,
            rail: None,
            completion: 0,
            origin,
            copy: None,
            head: None,
            past: false,
        }
    }

    /// The number by which this task knows the message. An answer has none: its number is the one
    /// that the asking task has given its request, and may equal that of a message to that task.
    pub(crate) fn own_number(&self) -> Option<u32> {
        self.answer_to.is_none().then_some(self.message)
    }
}

/// What a message says before its data.
pub(crate) struct Head {
    pub(crate) header: Header,
    pub(crate) user_header: Box<[u8]>,
}

impl<C> Sending<C> {
    pub(super) fn new() -> Self {
        Self {
            outgoing: VecDeque::new(),
            transfers: VecDeque::new(),
            copies: 0,
            heads: 0,
            zero_copy: ZeroCopySends::new(),
            deferred: VecDeque::new(),
            held: VecDeque::new(),
            full: Vec::new(),
            long_head: Vec::new(),
            gathered: Vec::new(),
            ended: 0,
            for_room: AdaptiveWait::new(),
        }
    }

    /// Whether nothing waits that a handler sent.
    #[inline(always)]
    pub(crate) fn holds_nothing_back(&self) -> bool {
        self.deferred.is_empty() && self.heads == 0
    }

    /// Not 0 if something advances with progress.
    #[inline(always)]
    pub(super) fn waiting(&self) -> usize {
        self.outgoing.len() | self.deferred.len() | self.transfers.len()
    }

    /// Whether all that was numbered has left.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.waiting() == 0 && self.held.is_empty()
    }

    /// Whether something for a peer has not left.
    pub(crate) fn has_for(&self, peer: PeerId) -> bool {
        self.outgoing.iter().any(|out| out.peer == peer)
            || [&self.deferred, &self.held].iter().any(|kept| kept.iter().any(|(to, _)| *to == peer))
    }

    /// How many packets and messages are kept for a peer whose epoch is not known.
    pub(crate) fn held_for(&self, peer: PeerId) -> usize {
        self.held.iter().filter(|(to, _)| *to == peer).count()
            + self.outgoing.iter().filter(|out| out.peer == peer).count()
    }

    /// Drops what is for a peer; gives back the messages, of which somebody is to be told.
    pub(crate) fn drop_peer(&mut self, peer: PeerId) -> Vec<Outgoing<C>> {
        let (theirs, rest): (Vec<_>, Vec<_>) = self.outgoing.drain(..).partition(|o| o.peer == peer);
        self.outgoing.extend(rest);
        theirs.iter().for_each(|out| self.forget(out));
        // What is said of lent memory is true in all lives.
        self.deferred.retain(|(to, packet)| *to != peer || packet.first() == Some(&(Kind::Recall as u8)));
        self.held.retain(|(to, _)| *to != peer);
        theirs
    }

    /// The sending of a message has ended.
    #[inline(always)]
    pub(crate) fn count_end(&mut self, source: &TrustedSource) {
        self.ended += u64::from(source.share() != Share::Nothing);
    }

    /// A message is no longer among those on their way.
    pub(crate) fn forget(&mut self, out: &Outgoing<C>) {
        self.copies -= usize::from(out.copy.is_some());
        self.heads -= usize::from(out.head.is_some());
    }
}
