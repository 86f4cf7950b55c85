//! Memory that this task lends to a peer for one transfer. The peer carries it out by the
//! transport, directly from memory to memory.
//!
//! A long message, or a long put to memory that the target has not registered, is announced with a
//! key for the origin's memory, and the target fetches it. A long get from such memory is requested
//! with a key for the origin's memory, and the target puts the data there. Each side registers its
//! own memory for the duration of the transfer, unless it is registered already: here core does so,
//! at the other side the transport. Transfers that a transport refuses go in packets.
//!
//! Registrations are not cached, because nothing reports that a program unmaps its memory.

use super::bulk::Way;
use super::keyed::Parties;
use super::{Direction, Operation, Pull, TrustedDestination, TrustedSource, Waiting};
use crate::context::{Arrival, Locked, Notify, State};
use crate::counter::Counter;
use crate::error::{Access, Reason, Result};
use crate::handlers::Run;
use crate::message::dispatch::arrival_of;
use crate::state::{Registration, Transfer};
use crate::transport::{Caps, PeerAccess, PeerId, RawSlice};
use crate::wire::{Header, Kind};

/// From this length on memory is registered for as long as one transfer takes.
pub(super) const LENT_FROM: u64 = 64 << 10;

/// Memory that is announced to a peer.
pub(super) struct Loan {
    /// Its address here.
    pub(super) address: u64,
    /// What the transport's peers name it by; 0 where there are no keys.
    pub(super) key: u64,
    /// What is to be [released](State::release) afterwards, if no region keeps it.
    pub(super) lent: Option<Registration>,
}

/// The peer to which the origin announces its memory and the end of the transfer.
pub(super) struct Tell {
    pub(super) origin: Notify,
    pub(super) completion: Notify,
}

impl State {
    /// Lets a peer reach a range by key, in this way alone unless it is in one of the program's
    /// regions. `None`: it can't be registered.
    ///
    /// # Safety
    /// The range stays mapped until the registration, if there is one, is released.
    pub(super) unsafe fn lend(
        &mut self,
        peer: PeerId,
        (at, len): (*mut u8, u64),
        access: PeerAccess,
    ) -> Option<Loan> {
        let (index, address) = (self.peers[peer].route.index(), at.addr() as u64);
        if let Some(region) = self.regions.registration(index, address, len) {
            return Some(Loan { address, key: region.key, lent: Some(region) });
        }
        let link = self.links.open.get_mut(index)?;
        // SAFETY: the caller promises that the range stays mapped while it is lent; peers reach it
        // only as the operation says that names it.
        match unsafe { link.mem_lend(RawSlice { ptr: at, len: len as usize }, access) } {
            Ok(info) => {
                let lent = Some(Registration { link: index, id: info.id, key: info.key });
                Some(Loan { address, key: info.key, lent })
            }
            Err(e) => {
                tracing::debug!(peer, len, "the data goes in packets: {e}");
                None
            }
        }
    }

    /// What an operation lent is lent no more.
    pub(super) fn take_back(&mut self, operation: &Operation) {
        if let Some(lent) = operation.waiting.lent() {
            self.release(*lent);
        }
    }
}

impl Locked<'_> {
    /// Lends this side of a long put or get that no key of the target's serves. `how`: whether the
    /// target brings the data there, or here. `None`: it goes in packets.
    ///
    /// # Safety
    /// The range stays mapped until the operation has ended.
    pub(super) unsafe fn lend_side(
        &mut self,
        target: PeerId,
        (at, len): (*mut u8, u64),
        how: Direction,
        way: Way,
    ) -> Option<Loan> {
        let link = self.link_to(target)?;
        let (copy, access) = match how {
            Direction::In => (link.fetching(), PeerAccess::Read),
            Direction::Out => (Caps::PUT_ZCOPY, PeerAccess::Write),
        };
        if !link.needs_keys() || !link.caps().contains(copy) || way != Way::Bulk && len < LENT_FROM {
            return None;
        }
        // SAFETY: the caller promises that the range stays mapped until the operation has ended.
        let loan = unsafe { self.lend(target, (at, len), access) }?;
        if way == Way::Bulk {
            self.statistics.bulk.count(len);
        }
        Some(loan)
    }

    /// Tells the target of memory that it is to fetch; `layout`: or of one that only this task
    /// knows.
    pub(super) fn announce_loan(
        &mut self,
        target: PeerId,
        (header, user_header): (Header, &[u8]),
        loan: Loan,
        layout: Option<TrustedSource>,
        tell: Tell,
    ) -> Result<()> {
        let waiting = Waiting::Pull { layout, lent: loan.lent };
        self.tell_of_loan(target, (header, user_header), loan, waiting, tell)
    }

    /// Asks the target to put what is read into memory that it is told of.
    pub(super) fn ask_to_put(
        &mut self,
        target: PeerId,
        header: Header,
        loan: Loan,
        origin: Notify,
    ) -> Result<()> {
        let (waiting, tell) = (Waiting::Push { lent: loan.lent }, Tell { origin, completion: Notify::None });
        self.tell_of_loan(target, (header, &[]), loan, waiting, tell)
    }

    /// The same from within the dispatcher: never waits.
    pub(super) fn ask_to_put_later(&mut self, peer: PeerId, mut header: Header, loan: Loan, origin: Notify) {
        let (waiting, completion) = (Waiting::Push { lent: loan.lent }, Notify::None);
        let sequence = self.next_operation(peer);
        let operation = Operation { peer, waiting, origin, completion, target_counter: 0, sequence };
        header.extra = [loan.address, self.operations.insert(operation), loan.key];
        header.message = self.next_message(peer);
        self.reply_packet(peer, &header, &[]);
    }

    fn tell_of_loan(
        &mut self,
        peer: PeerId,
        (mut header, user_header): (Header, &[u8]),
        loan: Loan,
        waiting: Waiting,
        Tell { origin, completion }: Tell,
    ) -> Result<()> {
        let wants_completion = !completion.is_none();
        let sequence = self.next_operation(peer);
        let operation = Operation { peer, waiting, origin, completion, target_counter: 0, sequence };
        let id = self.operations.insert(operation);
        header.extra = [loan.address, id, loan.key];
        if wants_completion {
            header = header.with_completion(id);
        }
        self.send_request(peer, header, user_header, id)
    }

    /// Fetches what a peer has announced.
    pub(super) fn begin_pull(
        &mut self,
        peer: PeerId,
        header: &Header,
        destination: TrustedDestination,
        arrival: Arrival,
    ) {
        let [remote, operation, key] = header.extra;
        let (position, bounce) = (0, Vec::new());
        self.receiving.pulls.push_back(Pull {
            peer,
            remote,
            key,
            position,
            operation,
            rail: header.rail(),
            arrival,
            destination,
            bounce,
        });
    }

    /// A long put whose data is to be fetched.
    pub(super) fn put_announced(&mut self, source: PeerId, header: &Header) {
        let Some(destination) = self.destination_of(header) else {
            let what = (Access::Put, header.total, Reason::Outside);
            return self.refuse(source, header, header.extra[1], what);
        };
        self.begin_pull(source, header, destination, arrival_of(header, None, Run::Thread));
    }

    /// A long get whose data is to be put into the origin's memory.
    pub(super) fn get_announced(&mut self, source: PeerId, header: &Header) {
        let [remote, operation, key] = header.extra;
        if !self.may_touch(header, header.subject, header.total) {
            let what = (Access::Get, header.total, Reason::Outside);
            return self.refuse(source, header, operation, what);
        }
        let transfer = Transfer {
            direction: Direction::Out,
            local: header.subject as usize as *mut u8,
            remote,
            key,
            len: header.total,
            rail: header.rail(),
            done: 0,
            under_way: false,
            life: self.peers[source].life,
            checked: false,
            answer_to: Some(operation),
        };
        // The origin handed back an address that this task gave out.
        let completion = Notify::counter(header.target_counter as usize as *const Counter);
        let parties = Parties { target: source, target_counter: 0, origin: Notify::None, completion };
        // Not before what follows is known: the origin may be about to take its memory back.
        self.begin_transfer_later(parties, transfer);
        // The request is done as a message; fences wait for the data at its origin.
        self.done_here(source, header.message);
    }

    /// What a get asked for is at its origin, if that is what a put was for. `bytes`: how many no
    /// packet carried.
    pub(super) fn answer_pushed(&mut self, origin: PeerId, operation: Option<u64>, bytes: u64) {
        if let Some(operation) = operation {
            let header = Header { total: bytes, ..Header::new(Kind::Pulled, 0, operation) };
            self.reply_packet(origin, &header, &[]);
        }
    }

    /// What was announced has been fetched, `bytes` of it without packets.
    pub(super) fn answer_pulled(&mut self, origin: PeerId, operation: u64, bytes: u64) {
        // Without keys the origin sees what this task counts.
        let unseen = self.link_to(origin).is_some_and(|link| link.needs_keys());
        self.answer_pushed(origin, Some(operation), if unseen { bytes } else { 0 });
    }
}
