//! Handling an arriving packet.

use super::sender::{Sender, Told};
use super::{Destination, Operation, TrustedDestination, Waiting};
use crate::context::Locked;
use crate::context::{Arrival, CompletionHandler, Delivery, Job, State};
use crate::datagrams::trouble;
use crate::handlers::{Incoming, Run};
use crate::state::Ended;
use crate::stats::Path;
use crate::transport::copy::copy_watched;
use crate::transport::{Caps, Event, EventKind, PeerId, Status};
use crate::wire::{COMPLETION, FragmentPacket, Header, Kind, ShortMessage};
use std::ptr::NonNull;

impl Locked<'_> {
    /// Handles one event of a link. `dispatching` is set.
    #[inline(always)]
    pub(crate) fn dispatch(&mut self, path: Path, event: &Event) {
        if event.kind == EventKind::Message as u32 {
            // SAFETY: the transport keeps the bytes valid until its next poll, which can't come
            // before we are done; whoever sent them has handed them over and does not write there
            // until the transport gives the place back.
            let packet = unsafe { std::slice::from_raw_parts(event.data, event.len as usize) };
            self.packet_arrived(path, event.peer, packet);
        } else {
            self.dispatch_rare(event);
        }
    }

    #[cold]
    fn dispatch_rare(&mut self, event: &Event) {
        match event.kind {
            k if k == EventKind::Complete as u32 => {
                self.end_operation(event.token, Status::from_raw(event.status));
            }
            k if k == EventKind::PeerDown as u32 && event.peer >= self.shared().tasks => {
                tracing::warn!(peer = event.peer, "a transport has lost what is no task of this job");
            }
            // Of a former process: the link to the present one has an engine, which says so itself.
            k if k == EventKind::PeerDown as u32 && self.peers[event.peer].moved => {
                self.end_loans(event.peer);
            }
            k if k == EventKind::PeerDown as u32 => {
                let link = self.link_to(event.peer);
                let knows = link.is_none_or(|link| link.caps().contains(Caps::PEER_FAILURE));
                let how = match knows {
                    true => "its process ended",
                    false => "its transport has lost it (LAPIS_LOG=info says how)",
                };
                self.peer_down(event.peer, how);
            }
            k if k == EventKind::Failover as u32 => self.failover_troubled(trouble(event).as_slice()),
            _ => tracing::debug!(kind = event.kind, "unknown event of a transport ignored"),
        }
    }

    /// Who sent a packet, if it is a task of this job, as its transport says; complains if not.
    #[inline(always)]
    pub(super) fn sender(&mut self, source: PeerId, packet: &[u8]) -> Option<Sender> {
        let place = self.peers.place(source);
        if place.is_none() {
            malformed(source, packet, &"the source is no task of this job");
        }
        Some(Sender::new(place?, source))
    }

    /// Handles one packet of a link without an engine. `dispatching` is set.
    #[inline(always)]
    pub(crate) fn packet_arrived(&mut self, path: Path, source: PeerId, packet: &[u8]) {
        if let Some(from) = self.sender(source, packet) {
            self.packet_arrived_from(path, from, &mut Told::of(from), packet);
        }
    }

    /// The same where packets of one task are handled in a row.
    #[inline(always)]
    pub(super) fn packet_arrived_from<'p>(
        &mut self,
        path: Path,
        from: Sender,
        told: &mut Told<'p>,
        packet: &'p [u8],
    ) {
        let state = &mut **self;
        if state.peers.unsettled > 0 && !state.may_take(from.task, packet) {
            return;
        }
        self.packet_of_present_from(path, from, told, packet);
    }

    /// The same for a packet that is known to belong to the present life of its sender, as those of
    /// links with engines are.
    #[inline(always)]
    pub(crate) fn packet_of_present(&mut self, path: Path, source: PeerId, packet: &[u8]) {
        if let Some(from) = self.sender(source, packet) {
            self.packet_of_present_from(path, from, &mut Told::of(from), packet);
        }
    }

    #[inline(always)]
    fn packet_of_present_from<'p>(
        &mut self,
        path: Path,
        from: Sender,
        told: &mut Told<'p>,
        packet: &'p [u8],
    ) {
        match ShortMessage::parse::<false>(packet) {
            // By far the most frequent packet.
            Some(short) => self.short_arrived(path, from, told, (short, packet)),
            None => self.reborrow().any_packet_arrived(path, from, packet),
        }
    }

    /// A whole active message of which the origin wants to hear no more. If its handler wants
    /// anything done, the packet is read once more, so that little need be kept during the handler.
    #[inline(always)]
    fn short_arrived<'p>(
        &mut self,
        path: Path,
        from: Sender,
        told: &mut Told<'p>,
        (message, packet): (ShortMessage<'p>, &[u8]),
    ) {
        let ShortMessage { number, handler, target_counter, user_header, data } = message;
        let source = from.task;
        self.count_received(path, data.len());
        let incoming = told.whole(user_header, data);
        if let Some(delivery) = self.call_header_handler(handler, incoming) {
            return self.reborrow().deliver_short(source, delivery, packet);
        }
        self.receiving.ended += 1;
        // SAFETY: the sender is one of this state's peers, of which nothing is borrowed.
        if unsafe { from.done(number) } {
            self.reborrow().answer_fences(source);
        }
        // SAFETY: the origin handed back an address that this task gave out.
        unsafe { self.count_at(target_counter, source) };
    }

    /// Does what a header handler answered to such a message.
    #[inline(never)]
    fn deliver_short(&mut self, source: PeerId, delivery: Delivery, packet: &[u8]) {
        if let Ok((header, rest)) = Header::parse(packet) {
            let data = rest.get(usize::from(header.user_header)..).unwrap_or_default();
            self.deliver(source, &header, delivery, data, packet);
        }
    }

    #[inline(always)]
    fn count_received(&mut self, path: Path, len: usize) {
        let counts = self.statistics.path_mut(path);
        counts.packets_received += 1;
        counts.data_received += len as u64;
    }

    #[inline(never)]
    fn any_packet_arrived(&mut self, path: Path, from: Sender, packet: &[u8]) {
        if let Some(short) = ShortMessage::parse::<true>(packet) {
            return self.short_arrived(path, from, &mut Told::of(from), (short, packet));
        }
        let source = from.task;
        if let Some(FragmentPacket { message, position, data }) = FragmentPacket::parse(packet) {
            self.count_received(path, data.len());
            return self.fragment((source, message), position, data);
        }
        match Header::parse(packet) {
            Ok((header, rest)) => {
                self.count_received(path, header.data_of(rest.len()));
                self.other_arrived(source, &header, rest, packet);
            }
            Err(e) => malformed(source, packet, &e),
        }
    }

    pub(super) fn other_arrived(&mut self, source: PeerId, header: &Header, rest: &[u8], packet: &[u8]) {
        match header.kind {
            Kind::Am | Kind::AmFirst | Kind::AmPull => self.am_arrived(source, header, rest, packet),
            Kind::Fragment => self.fragment((source, header.message), header.subject, rest),
            Kind::Put => self.put_arrived(source, header, rest),
            Kind::PutFirst => self.put_first_arrived(source, header, rest),
            Kind::PutPull => self.put_announced(source, header),
            Kind::Get => self.get_arrived(source, header),
            Kind::GetPush => self.get_announced(source, header),
            Kind::GetData => self.get_data_arrived(source, header, rest),
            Kind::Rmw => self.rmw_arrived(source, header),
            Kind::RmwReply => self.rmw_reply_arrived(header),
            Kind::Complete => self.completed(header.subject),
            Kind::Refused => self.refused(source, header),
            Kind::Pulled => self.pulled(source, header.subject, header.total),
            Kind::Counter => self.arrived(source, arrival_of(header, None, Run::Thread)),
            Kind::Fence => self.fence_arrived(source, header.subject),
            Kind::FenceReply => self.fence_reply_arrived(source, header.subject),
            Kind::Barrier => self.barrier_arrived(source, header.subject),
            Kind::Gather => self.gather_arrived(source, header, rest),
            Kind::Regions => self.regions_asked(source),
            Kind::Region => self.region_told(source, header),
            Kind::Recall => self.recall_arrived(source, header),
            Kind::Goodbye => self.peer_ended(source, header.message),
            Kind::Epoch => self.epoch_arrived(source, header.message, header.subject),
        }
    }

    /// An active message's first or only packet: run the header handler on the packet's own bytes.
    fn am_arrived(&mut self, source: PeerId, header: &Header, rest: &[u8], packet: &[u8]) {
        let Some((user_header, data)) = rest.split_at_checked(header.user_header as usize) else {
            return malformed(source, packet, &"user header longer than the packet");
        };
        let whole = header.kind == Kind::Am;
        let len = if whole { data.len() as u64 } else { header.total };
        let incoming = Incoming { source, user_header, len, first: data };
        let delivery = self.call_header_handler(header.subject, &incoming).unwrap_or(Delivery::bury());
        self.deliver(source, header, delivery, data, packet);
    }

    /// Does what a header handler answered.
    #[inline(never)]
    fn deliver(&mut self, source: PeerId, header: &Header, delivery: Delivery, data: &[u8], packet: &[u8]) {
        if delivery.drop {
            if !self.is_of_former_life(source) {
                self.receiving.dropped.push_back((source, packet.into()));
            }
            return;
        }
        let Delivery { into, completion, run, .. } = delivery;
        let len = if header.kind == Kind::Am { data.len() as u64 } else { header.total };
        // SAFETY: the header handler vouched for `len` bytes, until the message has arrived.
        let mut destination = unsafe { TrustedDestination::new(into, len) };
        let arrival = arrival_of(header, completion, run);
        match header.kind {
            Kind::Am => {
                self.out(|_| destination.write(0, data));
                self.arrived(source, arrival);
            }
            // What is not here will not come.
            _ if self.is_of_former_life(source) => {}
            Kind::AmFirst => self.begin_reassembly(source, destination, arrival, data),
            _ => self.begin_pull(source, header, destination, arrival),
        }
    }

    /// A message's data is all there: fences that wait for it may be answered.
    #[inline(always)]
    fn delivered(&mut self, source: PeerId, message: u32) {
        self.receiving.ended += 1;
        self.done_here(source, message);
    }

    /// A message is done: fences that wait for it may be answered.
    #[inline(always)]
    pub(super) fn done_here(&mut self, source: PeerId, message: u32) {
        if self.peers[source].arrived.done(message) {
            self.reborrow().answer_fences(source);
        }
    }

    /// A message's data is all there: count it, run or queue its completion handler, answer.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, source: PeerId, arrival: Arrival) {
        match arrival.completion {
            None => {
                self.delivered(source, arrival.message);
                // SAFETY: the origin handed back an address that this task gave out.
                unsafe { self.count_at(arrival.target_counter, source) };
                if let Some(operation) = arrival.reply {
                    self.reply_packet(source, &Header::new(Kind::Complete, 0, operation), &[]);
                }
            }
            Some(CompletionHandler::Ask(ask)) => {
                self.ask_for_acceptance(source, Arrival { completion: None, ..arrival }, ask);
            }
            Some(handler) => {
                self.delivered(source, arrival.message);
                let inline = match arrival.run {
                    Run::Thread => false,
                    Run::Inline => true,
                    // A reply can be sent without waiting while nothing is held back.
                    Run::InlineReply => self.sending.holds_nothing_back(),
                };
                let reply = arrival.reply.map(|operation| (source, operation));
                let life = self.peers[source].life;
                let target_counter = arrival.target_counter;
                let job = Job { handler, reply, peer: source, life, target_counter };
                if inline {
                    self.run_inline(job);
                } else {
                    self.out(|context| context.queue_completion(job));
                }
            }
        }
    }

    pub(crate) fn run_inline(&mut self, job: Job) {
        // Calls that the handler makes must not poll: the packet being dispatched would go away
        // under it.
        self.dispatching += 1;
        let whom = "a completion handler that runs inline";
        self.out_to(whom, |context| context.call_completion_handler(job.handler));
        self.dispatching -= 1;
        // SAFETY: the origin handed back an address that this task gave out.
        unsafe { self.count_at(job.target_counter, job.peer) };
        if let Some((peer, operation)) = job.reply {
            self.reply_packet(peer, &Header::new(Kind::Complete, 0, operation), &[]);
        }
    }

    fn put_arrived(&mut self, source: PeerId, header: &Header, data: &[u8]) {
        if !self.may_touch(header, header.subject, data.len() as u64) {
            return self.refuse_put(source, header, data.len() as u64);
        }
        // SAFETY: the origin names memory that this task gave out (checked for the safe interface).
        unsafe { copy_watched(data.as_ptr(), header.subject as usize as *mut u8, data.len()) };
        self.arrived(source, arrival_of(header, None, Run::Thread));
    }

    fn put_first_arrived(&mut self, source: PeerId, header: &Header, data: &[u8]) {
        let Some(destination) = self.destination_of(header) else {
            return self.refuse_long_put(source, header, data);
        };
        let arrival = arrival_of(header, None, Run::Thread);
        self.begin_reassembly(source, destination, arrival, data);
    }

    /// Where the data of a long put goes. `None`: the origin may not write there.
    pub(super) fn destination_of(&self, header: &Header) -> Option<TrustedDestination> {
        let at = NonNull::new(header.subject as usize as *mut u8)?;
        let to = Destination::Contiguous(at);
        self.may_touch(header, header.subject, header.total)
            // SAFETY: the origin names memory that this task gave out (checked for the safe
            // interface).
            .then(|| unsafe { TrustedDestination::new(to, header.total) })
    }

    /// The target's completion handler has returned.
    fn completed(&mut self, id: u64) {
        let state = &mut **self;
        match state.operations.get_mut(id) {
            Some(op) if op.waiting.awaits_word() => {}
            // The buffer is still being fetched as far as we know: remember that only `Pulled` is
            // missing.
            Some(op) if matches!(op.waiting, Waiting::Pull { .. }) => {
                let (completion, peer) = (std::mem::take(&mut op.completion), op.peer);
                completion.notify(self, peer, Ok(()));
            }
            Some(_) => {
                if let Some(Ended { peer, completion, .. }) = state.operations.end(id) {
                    self.end_zero_copy_sends(peer, |send| send.completion == id);
                    completion.notify(self, peer, Ok(()));
                }
            }
            None => {}
        }
    }

    /// The target has fetched our buffer, or put what we read into it; `bytes` of it are not
    /// counted.
    fn pulled(&mut self, source: PeerId, id: u64, bytes: u64) {
        let state = &mut **self;
        let here = |op: &&mut Operation| op.peer == source && !op.waiting.awaits_word();
        let Some(op) = state.operations.get_mut(id).filter(here) else { return };
        let (peer, sequence, origin) = (op.peer, op.sequence, std::mem::take(&mut op.origin));
        let (lent, sent) = match &mut op.waiting {
            Waiting::Pull { lent, .. } => (lent.take(), true),
            Waiting::Push { lent } => (lent.take(), false),
            _ => (None, false),
        };
        if op.completion.is_none() {
            state.operations.remove(id);
        } else {
            op.waiting = Waiting::Completion;
        }
        match sent {
            true => state.sending.ended += 1,
            false => state.receiving.ended += 1,
        }
        let path = state.path_to(peer);
        let counts = state.statistics.path_mut(path);
        let count = if sent { &mut counts.data_sent } else { &mut counts.data_received };
        *count = count.wrapping_add(bytes);
        state.peers[peer].answered.done(sequence);
        lent.into_iter().for_each(|registration| state.release(registration));
        origin.notify(self, peer, Ok(()));
    }

    /// Ends an operation that a fence waits for.
    pub(crate) fn end_operation(&mut self, id: u64, status: Status) {
        let state = &mut **self;
        match state.operations.waiting_mut(id) {
            Some(Waiting::Transport(ended)) => *ended = Some(status),
            Some(Waiting::Transfer(_)) => self.transfer_event(id, status),
            Some(Waiting::Fetch) => self.fetch_event(id, status),
            _ => self.finish_operation(id, status),
        }
    }

    /// The same once it is clear how it ended.
    pub(crate) fn finish_operation(&mut self, id: u64, status: Status) {
        let Some(Ended { peer, sequence, target_counter, origin, completion }) = self.operations.end(id)
        else {
            return;
        };
        self.peers[peer].answered.done(sequence);
        if status == Status::Done {
            origin.notify(self, peer, Ok(()));
            match target_counter {
                0 => completion.notify(self, peer, Ok(())),
                counter => self.count_remote(peer, counter, completion),
            }
        } else {
            let (first, second) = (self.link_failed(peer, status), self.link_failed(peer, status));
            origin.notify(self, peer, Err(first));
            completion.notify(self, peer, Err(second));
        }
    }
}

impl State {
    /// Whether a range lies in a registered region.
    pub(crate) fn holds_region(&self, addr: u64, len: u64) -> bool {
        self.regions.hold(addr, len)
    }
}

#[inline(always)]
pub(crate) fn arrival_of(header: &Header, completion: Option<CompletionHandler>, run: Run) -> Arrival {
    Arrival {
        message: header.message,
        target_counter: header.target_counter,
        completion,
        run,
        reply: (header.flags & COMPLETION != 0).then_some(header.completion),
    }
}

#[cold]
pub(super) fn malformed(source: PeerId, packet: &[u8], why: &dyn std::fmt::Display) {
    tracing::warn!(source, len = packet.len(), "packet dropped: {why}");
}
