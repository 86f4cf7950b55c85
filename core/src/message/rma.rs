//! Puts and gets: the choice of the way that the bytes take.
//!
//! If there is a window into the peer's memory, a load or a store suffices (`mapped`). Otherwise
//! the bytes go in one packet, if they fit. Longer transfers are copied by the transport
//! (cross-memory attach, RDMA) or go in several packets. `bulk` decides between these two by
//! transport, length and request; where both are fast, `copy_choice` decides by the times of
//! earlier transfers.

use super::am::bytes;
use super::bulk::{Bulk, Way, way_of};
use super::keyed::Parties;
use super::lanes::LONGEST_SHORT;
use super::lent::Tell;
use super::request::ShortGet;
use super::short::Short;
use super::{
    Destination, Direction, MAX_MESSAGE, Operation, Outgoing, Source, TrustedDestination, TrustedSource,
    Waiting,
};
use crate::Context;
use crate::context::{Locked, Notify, State};
use crate::error::{Error, Result};
use crate::state::{Copier, PeerState, Timed, Transfer};
use crate::transport::{Caps, PeerId, Status};
use crate::wire::{CHECKED, Header, Kind};
use lapis_ablation::{Optimization, without};

/// A one-sided write, in the terms of the interfaces above.
pub struct PutArgs<S = Source> {
    /// The task whose memory is written.
    pub target: PeerId,
    /// Where, in its address space.
    pub remote: u64,
    /// What.
    pub source: S,
    /// Address of a counter at the target, 0 for none.
    pub target_counter: u64,
    /// Told when the source may be reused.
    pub origin: Notify,
    /// Told when the data is at the target.
    pub completion: Notify,
    /// Let the target check that the range is registered there, and [refuse](Error::Refused) the
    /// put if not. The refusal goes to whatever is notified of the end; if that is nothing or a
    /// counter, to the error handler.
    pub checked: bool,
}

/// A one-sided read, in the terms of the interfaces above.
pub struct GetArgs<D = Destination> {
    /// The task whose memory is read.
    pub target: PeerId,
    /// Where, in its address space.
    pub remote: u64,
    /// How many bytes.
    pub len: u64,
    /// Where they go.
    pub destination: D,
    /// Address of a counter at the target, 0 for none.
    pub target_counter: u64,
    /// Told when the data is here.
    pub origin: Notify,
    /// Let the target check that the range is registered there, as for [`PutArgs::checked`].
    pub checked: bool,
}

/// The two sides of a put or get of consecutive bytes.
struct Memory {
    direction: Direction,
    local: *mut u8,
    remote: u64,
    len: u64,
    checked: bool,
}

impl Context {
    /// Writes to a task's memory.
    ///
    /// *LAPI Guide, LAPI_Put.*
    ///
    /// # Errors
    /// Bad target or length; a target that is down or purged. Nothing has been sent then.
    ///
    /// # Safety
    /// The source stays valid and unchanged until `origin` is notified, counters until they are
    /// notified; `remote` and `target_counter` are what the target gave out.
    #[doc(alias = "LAPI_Put")]
    #[inline]
    pub unsafe fn put(&self, args: PutArgs) -> Result<()> {
        // SAFETY: this is `put`.
        unsafe { self.put_by(args, Bulk::AsConfigured) }
    }

    /// [`put`](Self::put) with a hint about bulk transfer.
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    pub unsafe fn put_by(&self, args: PutArgs, bulk: Bulk) -> Result<()> {
        if let Source::Contiguous(from, len) = args.source
            // SAFETY: `put`'s caller vouches for the source and for what `remote` names.
            && unsafe { self.put_mapped(args.target, args.remote, from, len) }
        {
            self.after_direct(args.target, args.target_counter, args.origin, args.completion);
            return Ok(());
        }
        // SAFETY: this function demands what `put` does.
        unsafe { self.put_by_transport(args, bulk) }
    }

    /// [`put_by`](Self::put_by) to memory that is not mapped here.
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(never)]
    pub(crate) unsafe fn put_by_transport(&self, args: PutArgs, bulk: Bulk) -> Result<()> {
        self.usable()?;
        self.check_target(args.target)?;
        let PutArgs { target, remote, source, target_counter, origin, completion, checked } = args;
        if let Source::Contiguous(from, len) = source
            && len <= LONGEST_SHORT
            && bulk == Bulk::AsConfigured
            && let Some(told) = completion.plain()
        {
            // SAFETY: `put`'s caller vouches for the source (a null one has length 0), and has
            // address and counter from the target.
            let short = unsafe { Short::put(target, remote, bytes(from, len), target_counter, checked) };
            let sent = match told.0 {
                None => self.put_at_once(&short),
                Some(counter) => self.send_counted_at_once(&short, counter),
            };
            if sent {
                origin.notify_unlocked(self, target, Ok(()));
                return Ok(());
            }
        }
        // SAFETY: `put`'s caller vouches for the source until `origin` is notified.
        let source = unsafe { TrustedSource::new(source) };
        let args = PutArgs { target, remote, source, target_counter, origin, completion, checked };
        self.locked().put(args, bulk)
    }

    /// Reads a task's memory.
    ///
    /// *LAPI Guide, LAPI_Get.*
    ///
    /// # Errors
    /// Bad target or length; a target that is down or purged. Nothing has been requested then.
    ///
    /// # Safety
    /// The destination stays valid until `origin` is notified; `remote` and `target_counter` are
    /// what the target gave out.
    #[doc(alias = "LAPI_Get")]
    #[inline]
    pub unsafe fn get(&self, args: GetArgs) -> Result<()> {
        // SAFETY: this is `get`.
        unsafe { self.get_by(args, Bulk::AsConfigured) }
    }

    /// [`get`](Self::get) with a hint about bulk transfer.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline(always)]
    pub unsafe fn get_by(&self, args: GetArgs, bulk: Bulk) -> Result<()> {
        if let Destination::Contiguous(to) = args.destination
            // SAFETY: `get`'s caller vouches for the destination and for what `remote` names.
            && unsafe { self.get_mapped(args.target, args.remote, to.as_ptr(), args.len) }
        {
            self.after_direct(args.target, args.target_counter, args.origin, Notify::None);
            return Ok(());
        }
        // SAFETY: this function demands what `get` does.
        unsafe { self.get_by_transport(args, bulk) }
    }

    /// [`get_by`](Self::get_by) from memory that is not mapped here.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    ///
    /// # Safety
    /// As for [`get`](Self::get).
    #[inline(never)]
    pub(crate) unsafe fn get_by_transport(&self, args: GetArgs, bulk: Bulk) -> Result<()> {
        self.usable()?;
        self.check_target(args.target)?;
        if let Destination::Contiguous(to) = args.destination
            && args.len <= LONGEST_SHORT
            && bulk == Bulk::AsConfigured
            && let Some(origin) = args.origin.plain()
        {
            let GetArgs { target, remote, len, target_counter, checked, .. } = args;
            let short = ShortGet { target, remote, to, len, target_counter, origin, checked };
            // SAFETY: `get`'s caller vouches for the destination until `origin` is notified.
            if unsafe { self.get_at_once(&short) } {
                return Ok(());
            }
        }
        let GetArgs { target, remote, len, destination, target_counter, origin, checked } = args;
        // SAFETY: `get`'s caller vouches for the destination until `origin` is notified.
        let destination = unsafe { TrustedDestination::new(destination, len) };
        let args = GetArgs { target, remote, len, destination, target_counter, origin, checked };
        self.locked().get(args, bulk)
    }
}

impl Locked<'_> {
    /// [`Context::put_by_transport`] with the lock held.
    fn put(&mut self, args: PutArgs<TrustedSource>, bulk: Bulk) -> Result<()> {
        let PutArgs { target, remote, source, target_counter, origin, completion, checked } = args;
        let len = source.len();
        let contiguous = source.contiguous().is_some();
        let (mut way, mut timed) = (self.way_to(target, Direction::Out, len, bulk)?, None);
        if checked && way != Way::Packets && !self.may_reach(target, remote, len) {
            way = Way::Packets;
        }
        if way == Way::Direct && contiguous {
            (way, timed) = self.quicker(target, Direction::Out, len);
        }
        if way != Way::Packets
            && self.keys_lead_to(target)
            && let Some(local) = source.contiguous().map(<*const u8>::cast_mut)
        {
            // Whoever uses the buffer when the call has returned must not change what is under way.
            let copied = self.must_copy(len, 0, &origin);
            let memory = Memory { direction: Direction::Out, local, remote, len, checked };
            if !copied && let Some(transfer) = self.transfer_by_key(target, memory)? {
                let silent = completion.is_none() && target_counter == 0;
                if silent && self.put_without_word(target, &transfer) {
                    origin.notify(self, target, Ok(()));
                    return Ok(());
                }
                self.begin_transfer(Parties { target, target_counter, origin, completion }, transfer, way);
                return Ok(());
            }
            if !copied
                // SAFETY: the source is vouched for until it is notified, when the target has
                // fetched it.
                && let Some(loan) = unsafe { self.lend_side(target, (local, len), Direction::In, way) }
            {
                let header = long_header(Kind::PutPull, remote, len, checked);
                let header = (header.with_target_counter(target_counter), &[][..]);
                return self.announce_loan(target, header, loan, None, Tell { origin, completion });
            }
        } else if way != Way::Packets
            && let Some(from) = source.contiguous()
            // SAFETY: the source is vouched for, and the target gave out what `remote` names.
            && unsafe { self.copy_directly(target, Direction::Out, from.cast_mut(), remote, len, way)? }
        {
            timed.into_iter().for_each(Timed::done);
            self.shared().count_direct(target, Direction::Out, len);
            self.sending.ended += 1;
            self.after_direct(target, target_counter, origin, completion);
            return Ok(());
        }
        let completion = match timed {
            Some(timed) if way == Way::Packets => timed.with(completion),
            _ => completion,
        };
        let mut header = Header::new(Kind::Put, 0, remote).with_target_counter(target_counter);
        if checked {
            header.flags |= CHECKED;
        }
        self.send_message(header, &[], Outgoing::new(target, source, origin), completion)
    }

    /// [`Context::get_by_transport`] with the lock held.
    fn get(&mut self, args: GetArgs<TrustedDestination>, bulk: Bulk) -> Result<()> {
        let GetArgs { target, remote, len, destination, target_counter, origin, checked } = args;
        let contiguous = !destination.place_of(0).is_null();
        let (mut way, mut timed) = (self.way_to(target, Direction::In, len, bulk)?, None);
        if checked && way != Way::Packets && !self.may_reach(target, remote, len) {
            way = Way::Packets;
        }
        if way == Way::Direct && contiguous {
            (way, timed) = self.quicker(target, Direction::In, len);
        }
        if way != Way::Packets && contiguous && self.keys_lead_to(target) {
            let local = destination.place_of(0);
            let memory = Memory { direction: Direction::In, local, remote, len, checked };
            if let Some(transfer) = self.transfer_by_key(target, memory)? {
                let completion = Notify::None;
                self.begin_transfer(Parties { target, target_counter, origin, completion }, transfer, way);
                return Ok(());
            }
            // SAFETY: the destination is vouched for until it is notified, when the data is there.
            if let Some(loan) = unsafe { self.lend_side(target, (local, len), Direction::Out, way) } {
                let header = long_header(Kind::GetPush, remote, len, checked);
                return self.ask_to_put(target, header.with_target_counter(target_counter), loan, origin);
            }
        } else if way != Way::Packets
            && contiguous
            // SAFETY: the destination is vouched for, and the target gave out what `remote` names.
            && unsafe { self.copy_directly(target, Direction::In, destination.place_of(0), remote, len, way)? }
        {
            timed.into_iter().for_each(Timed::done);
            self.shared().count_direct(target, Direction::In, len);
            self.receiving.ended += 1;
            self.after_direct(target, target_counter, origin, Notify::None);
            return Ok(());
        }
        let origin = match timed {
            Some(timed) if way == Way::Packets => timed.with(origin),
            _ => origin,
        };
        self.wait_for_operation_slot(target)?;
        let mut header = self.ask_for(target, remote, destination, origin);
        header = header.with_target_counter(target_counter);
        if checked {
            header.flags |= CHECKED;
        }
        self.send_request(target, header, &[], header.extra[0])
    }

    /// How the bytes of a put or get go, if nothing is known of the times that they take.
    ///
    /// # Errors
    /// The message is too long, or the peer can't be reached.
    #[inline(always)]
    fn way_to(&mut self, target: PeerId, direction: Direction, len: u64, bulk: Bulk) -> Result<Way> {
        if len > MAX_MESSAGE {
            return Err(Error::DataLength { len, max: MAX_MESSAGE });
        }
        let shared = self.shared();
        let state = &mut **self;
        let peer = &state.peers[target];
        if peer.state != PeerState::Up {
            return Err(peer.refusal(target));
        }
        let Some(link) = state.link_to(target) else {
            return Err(self.link_failed(target, Status::PeerDown));
        };
        let copy = match direction {
            Direction::Out => Caps::PUT_ZCOPY,
            Direction::In => link.fetching(),
        };
        Ok(way_of(link, copy, len, 0, bulk, &shared.config))
    }

    /// Whether transfers to a peer need keys.
    #[inline(always)]
    pub(super) fn keys_lead_to(&mut self, target: PeerId) -> bool {
        self.link_to(target).is_some_and(|link| link.needs_keys())
    }

    /// A put or get as a transport carries it by key; `None` if it must go in packets.
    ///
    /// # Errors
    /// The peer was lost while there were too many operations outstanding.
    fn transfer_by_key(&mut self, target: PeerId, memory: Memory) -> Result<Option<Transfer>> {
        self.wait_for_operation_slot(target)?;
        let Memory { direction, local, remote, len, checked } = memory;
        let gets = self.link_to(target).is_some_and(|link| link.caps().contains(Caps::GET_ZCOPY));
        if direction == Direction::In && !gets {
            return Ok(None);
        }
        let life = self.peers[target].life;
        let key = self.key_for(target, remote, len);
        let (rail, done, under_way, answer_to) = (None, 0, false, None);
        Ok(key.map(|key| Transfer {
            direction,
            local,
            remote,
            key,
            len,
            rail,
            done,
            under_way,
            life,
            checked,
            answer_to,
        }))
    }

    /// Registers that data will come, and gives the packet that asks for it.
    pub(super) fn ask_for(
        &mut self,
        peer: PeerId,
        remote: u64,
        destination: TrustedDestination,
        origin: Notify,
    ) -> Header {
        let len = destination.len();
        let sequence = self.next_operation(peer);
        let mut header = Header::new(Kind::Get, 0, remote);
        header.total = len;
        header.extra[0] = self.operations.insert(Operation {
            peer,
            waiting: Waiting::Get { destination, remaining: len },
            origin,
            completion: Notify::None,
            target_counter: 0,
            sequence,
        });
        header
    }

    /// Asks for data from within the dispatcher, on a rail if it has to take one: never waits.
    pub(crate) fn request_data(
        &mut self,
        peer: PeerId,
        remote: u64,
        destination: TrustedDestination,
        rail: Option<u8>,
        then: Notify,
    ) {
        let (local, len) = (destination.place_of(0), destination.len());
        if !local.is_null()
            // SAFETY: the destination is vouched for until `then` is notified, when the data is
            // there.
            && let Some(loan) = unsafe { self.lend_side(peer, (local, len), Direction::Out, Way::Direct) }
        {
            let header = long_header(Kind::GetPush, remote, len, false).with_rail(rail);
            return self.ask_to_put_later(peer, header, loan, then);
        }
        let mut header = self.ask_for(peer, remote, destination, then).with_rail(rail);
        header.message = self.next_message(peer);
        self.reply_packet(peer, &header, &[]);
    }
}

/// Asks for a long put to be fetched, or for what a get wants to be put here.
fn long_header(kind: Kind, remote: u64, len: u64, checked: bool) -> Header {
    let mut header = Header::new(kind, 0, remote);
    header.total = len;
    header.flags |= if checked { CHECKED } else { 0 };
    header
}

impl State {
    /// Whether a copy by the transport, which is [`Way::Direct`] by its length, or packets are the
    /// quicker way for a put or get, and what times it.
    fn quicker(&mut self, target: PeerId, direction: Direction, len: u64) -> (Way, Option<Timed>) {
        let packets_are_quick =
            self.link_to(target).is_some_and(|link| link.caps().contains(Caps::FAST_PACKETS));
        if !packets_are_quick || without(Optimization::CopyChoice) {
            return (Way::Direct, None);
        }
        let idle = self.sending.outgoing.is_empty() && self.operations.len() == 0;
        let choice = self.peers[target].copy_choice.get_or_insert_default();
        match choice.next(direction, len, idle) {
            (Copier::Transport, timed) => (Way::Direct, timed),
            (Copier::Packets, timed) => (Way::Packets, timed),
        }
    }
}
