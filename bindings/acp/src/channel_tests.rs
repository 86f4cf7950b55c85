//! Two processes' channels and a network between them that delivers in any order.

use super::*;
use crate::channel_lane::BYTES;
use crate::channel_words::WINDOW;

/// A side's memory for lanes.
#[repr(C, align(64))]
struct Area([u8; 4 * BYTES]);

struct Pair {
    sides: [Channels; 2],
    /// Where the sides' memories for lanes are.
    areas: [*mut Area; 2],
    /// To which side, and what.
    network: Vec<(usize, Send)>,
    random: u64,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let areas = [(); 2].map(|()| Box::into_raw(Box::new(Area([0; 4 * BYTES]))));
        // SAFETY: the areas live as long as the sides do.
        let side =
            |area: *mut Area| Channels::new(unsafe { Lanes::new(area.cast(), size_of::<Area>() as u64) });
        Self { sides: areas.map(side), areas, network: Vec::new(), random: seed }
    }

    fn create(&mut self, side: usize, sending: bool, near: bool) -> u64 {
        let (handle, actions) = self.sides[side].create(sending, 1 - side as u32, near).unwrap();
        self.sent(actions);
        handle
    }

    fn take(&mut self, side: usize, request: u64) -> Option<Result<u64>> {
        let (outcome, actions) = self.sides[side].poll(request);
        self.sent(actions);
        outcome
    }

    fn pick(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 33) as usize % below
    }

    fn sent(&mut self, actions: Vec<Action>) {
        self.network.extend(actions.into_iter().map(|action| (action.task as usize, action.send)));
    }

    fn deliver(&mut self, at: usize) {
        let (to, send) = self.network.swap_remove(at);
        let from = 1 - to as u32;
        let bytes = |(address, len): Span| {
            // SAFETY: memory of a test that outlives its messages.
            unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(address), len as usize)
            }
        };
        let actions = match send {
            Send::Whole { channel, number, bytes: span, request } => {
                let data = bytes(span).to_vec();
                let ended = self.sides[1 - to].ended(request, Ok(span.1));
                self.sent(ended);
                self.sides[to].whole(from, channel, number, &data)
            }
            Send::Offer { channel, number, len, request } => {
                self.sides[to].offered(from, channel, number, len, request)
            }
            Send::Clear { request, receive, len } => self.sides[to].cleared(from, request, receive, len),
            Send::Data { receive, bytes: span, request } => {
                let data = bytes(span).to_vec();
                let ended = self.sides[1 - to].ended(request, Ok(span.1));
                self.sent(ended);
                match self.sides[to].destination(receive) {
                    Some(place) => {
                        // SAFETY: these are the vector's bytes.
                        let len = unsafe { fill(place, data.as_ptr(), data.len()) };
                        self.sides[to].ended(receive, Ok(len))
                    }
                    None => Vec::new(),
                }
            }
            Send::Credit { channel, taken } => self.sides[to].credited(from, channel, taken),
            Send::Lane { channel, at } => {
                // SAFETY: the receiver has laid a lane out there, and tells it once.
                let writer = unsafe { Writer::new(self.areas[from as usize].cast::<u8>().add(at as usize)) };
                self.sides[to].lane_made(from, channel, writer);
                Vec::new()
            }
            Send::Look { channel, full, awaited } => self.sides[to].look(from, channel, full, awaited),
            Send::Close { channel, from_sender, messages } => {
                self.sides[to].closed(from, channel, from_sender, messages)
            }
        };
        self.sent(actions);
    }

    fn settle(&mut self) {
        while !self.network.is_empty() {
            let at = self.pick(self.network.len());
            self.deliver(at);
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: `new` made them, and nothing looks there any more.
        self.areas.iter().for_each(|area| drop(unsafe { Box::from_raw(*area) }));
    }
}

fn span(bytes: &mut [u8]) -> Span {
    (bytes.as_mut_ptr().expose_provenance(), bytes.len() as u64)
}

#[test]
fn messages_keep_their_order_whatever_the_network_does() {
    for seed in 0..200 {
        let mut pair = Pair::new(seed);
        let channels = 3;
        let mut made = [Vec::new(), Vec::new()];
        let count = 80;
        let len = |n: usize| [0, 1, 8, 176, 177, 4096, 4097, 10_000, 9][n % 9];
        let mut data: Vec<Vec<u8>> = (0..channels * count).map(|n| vec![n as u8; len(n)]).collect();
        let mut room: Vec<Vec<u8>> =
            (0..channels * count).map(|n| vec![255; [5000, 20_000, 3][n % 3]]).collect();
        let mut posted = [vec![0; channels], vec![0; channels]];
        let mut requests = [Vec::new(), Vec::new()];
        loop {
            let side = pair.pick(2);
            if made[side].len() < channels {
                // Of the channels of most seeds, some have lanes and some have none.
                let near = seed % 4 == 3 || made[side].len() as u64 <= seed % 4;
                let handle = pair.create(side, side == 0, near);
                made[side].push(handle);
                continue;
            }
            let channel = pair.pick(channels);
            let number = posted[side][channel];
            if number < count {
                posted[side][channel] += 1;
                let index = channel * count + number;
                let memory = span(if side == 0 { &mut data[index] } else { &mut room[index] });
                let (request, actions) =
                    pair.sides[side].post(made[side][channel], side == 0, memory).unwrap();
                requests[side].push((request, index));
                pair.sent(actions);
            }
            if !pair.network.is_empty() {
                let at = pair.pick(pair.network.len());
                pair.deliver(at);
            }
            if posted.iter().flatten().all(|posted| *posted == count) {
                break;
            }
        }
        pair.settle();
        for (side, list) in requests.iter().enumerate() {
            for &(request, index) in list {
                let outcome = pair.take(side, request);
                pair.settle();
                let taken = data[index].len().min(room[index].len());
                assert!(matches!(outcome, Some(Ok(_))), "{seed}: {outcome:?}");
                if side == 1 {
                    assert_eq!(outcome, Some(Ok(taken as u64)), "{seed}");
                    assert!(room[index][..taken].iter().all(|byte| *byte == index as u8));
                    assert!(room[index][taken..].iter().all(|byte| *byte == 255));
                }
                assert_eq!(pair.take(side, request), Some(Err(Error::Request)), "taken once");
            }
        }
        for (side, handles) in made.iter().enumerate() {
            for &handle in handles {
                let (request, actions) = pair.sides[side].free(handle).unwrap();
                assert_eq!(pair.sides[side].free(handle), Err(Error::Channel));
                pair.sent(actions);
                let freed = pair.sides[side].take(request).is_some();
                assert_eq!(freed, side == 1, "both ends are to be freed");
            }
            pair.settle();
        }
        for side in 0..2 {
            assert!(pair.sides[side].endpoints.handles().is_empty() && pair.sides[side].by_wire.is_empty());
        }
    }
}

#[test]
fn no_more_messages_than_the_window_wait_at_the_receiver() {
    let mut pair = Pair::new(1);
    let sender = pair.create(0, true, false);
    let mut byte = [7];
    for _ in 0..WINDOW * 3 {
        let (_, actions) = pair.sides[0].post(sender, true, span(&mut byte)).unwrap();
        pair.sent(actions);
    }
    pair.settle();
    let receiver = pair.create(1, false, false);
    assert_eq!(pair.sides[1].endpoints.get(receiver).unwrap().arrived.len() as u64, WINDOW);
    for taken in 0..WINDOW * 3 {
        let mut room = [0];
        let (request, actions) = pair.sides[1].post(receiver, false, span(&mut room)).unwrap();
        pair.sent(actions);
        pair.settle();
        assert_eq!((pair.sides[1].take(request), room), (Some(Ok(1)), [7]), "{taken}");
    }
}

#[test]
fn what_can_never_be_received_or_sent_ends_when_the_other_side_frees() {
    let mut pair = Pair::new(5);
    let (sender, receiver) = (pair.create(0, true, false), pair.create(1, false, false));
    let mut memory = vec![0; 9000];
    let (sent, actions) = pair.sides[0].post(sender, true, span(&mut memory)).unwrap();
    pair.sent(actions);
    pair.settle();
    assert_eq!(pair.sides[0].take(sent), None, "it is offered");
    let (freed, actions) = pair.sides[1].free(receiver).unwrap();
    pair.sent(actions);
    pair.settle();
    assert_eq!(pair.sides[0].take(sent), Some(Err(Error::Channel)));
    let (sent, _) = pair.sides[0].post(sender, true, span(&mut memory)).unwrap();
    assert_eq!(pair.sides[0].take(sent), Some(Err(Error::Channel)));
    let (_, actions) = pair.sides[0].free(sender).unwrap();
    pair.sent(actions);
    pair.settle();
    assert_eq!(pair.sides[1].take(freed), Some(Ok(0)));

    let (sender, receiver) = (pair.create(0, true, false), pair.create(1, false, false));
    let (waits, _) = pair.sides[1].post(receiver, false, span(&mut memory)).unwrap();
    let (_, actions) = pair.sides[0].free(sender).unwrap();
    pair.sent(actions);
    pair.settle();
    assert_eq!(pair.sides[1].take(waits), Some(Err(Error::Channel)));
}

#[test]
fn the_loss_of_a_task_ends_its_requests_and_no_others() {
    let mut channels = Channels::default();
    let [lost, other] = [1, 2].map(|task| channels.create(true, task, false).unwrap().0);
    let mut memory = vec![0; 9000];
    let (first, _) = channels.post(lost, true, span(&mut memory)).unwrap();
    let (second, _) = channels.post(other, true, span(&mut memory)).unwrap();
    channels.gone(1);
    assert_eq!(channels.take(first), Some(Err(Error::Peer)));
    assert_eq!(channels.take(second), None);
    assert_eq!(channels.post(lost, true, span(&mut memory)), Err(Error::Peer));
    let (freed, _) = channels.free(lost).unwrap();
    assert_eq!(channels.take(freed), Some(Ok(0)));
}

#[test]
fn what_came_before_its_sender_was_lost_is_received_afterwards() {
    for near in [false, true] {
        let mut pair = Pair::new(11);
        let (sender, receiver) = (pair.create(0, true, near), pair.create(1, false, near));
        pair.settle();
        let (mut memory, mut room) = (vec![3; 9000], [0; 4]);
        // Two short ones, by a lane if there is one, one by core in any case, and one that is
        // offered.
        for len in [1, 2, 1000, 9000] {
            let (_, actions) = pair.sides[0].post(sender, true, span(&mut memory[..len])).unwrap();
            pair.sent(actions);
        }
        pair.settle();
        pair.sides[1].gone(0);
        for len in [1, 2, 4] {
            let (request, _) = pair.sides[1].post(receiver, false, span(&mut room)).unwrap();
            assert_eq!(pair.sides[1].take(request), Some(Ok(len)), "near: {near}");
            assert!(room[..len as usize].iter().all(|byte| *byte == 3));
        }
        assert_eq!(pair.sides[1].post(receiver, false, span(&mut room)), Err(Error::Peer));
        assert_eq!(pair.sides[1].post(receiver, false, span(&mut room)), Err(Error::Peer));
    }
}

#[test]
fn directions_and_handles_are_checked() {
    let mut channels = Channels::default();
    let (receiver, _) = channels.create(false, 1, false).unwrap();
    assert_eq!(channels.post(receiver, true, (0, 0)), Err(Error::Channel));
    assert_eq!(channels.post(99, true, (0, 0)), Err(Error::Channel));
    assert_eq!(channels.free(99), Err(Error::Channel));
    let (request, _) = channels.post(receiver, false, (0, 0)).unwrap();
    channels.reset();
    assert_eq!(channels.take(request), Some(Err(Error::Request)));
    assert_ne!(channels.create(false, 1, false).unwrap().0, receiver, "handles stay void");
}
