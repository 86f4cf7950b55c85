//! Sends and receives by a lane in the common case, and the sleepers that wait for them.

use super::{Action, Channels, Request, Span};
use crate::channel_lane::{LONGEST, Watch};
use crate::handles;

/// The request of a message that was sent at once: it has no other place than its handle.
#[inline(always)]
pub(crate) fn request_of_sent(len: u64) -> u64 {
    handles::of_number(len)
}

/// How long the message of such a request was.
#[inline(always)]
pub(crate) fn sent_at_once(request: u64) -> Option<u64> {
    handles::number_in(request).filter(|len| *len <= LONGEST)
}

impl Channels {
    /// Sends a message if nothing special is to be thought of and the lane takes it: so it has
    /// ended, and needs no request. Says whether the receiver is to be [woken](Self::wake).
    #[inline(always)]
    pub(crate) fn send_at_once(&mut self, handle: u64, bytes: Span) -> Option<bool> {
        let endpoint = self.endpoints.get_mut(handle)?;
        if endpoint.is_plain() { endpoint.put_at_once(bytes) } else { None }
    }

    /// Begins a receive whose message has not come by core, if nothing special is to be thought of.
    #[inline(always)]
    pub(crate) fn receive_at_once(&mut self, handle: u64, bytes: Span) -> Option<u64> {
        let endpoint = self.endpoints.get_mut(handle)?;
        if endpoint.wire.0 || !endpoint.is_plain() || !endpoint.arrived.is_empty() {
            return None;
        }
        let number = endpoint.posted;
        let request = self.requests.insert(Request { endpoint: handle, number, ended: None })?;
        endpoint.posted += 1;
        endpoint.open.insert(number, request, bytes);
        Some(request)
    }

    /// What wakes the receiver of a channel.
    #[cold]
    pub(crate) fn wake(&self, handle: u64) -> Vec<Action> {
        self.endpoints.get(handle).map_or(Vec::new(), |endpoint| vec![endpoint.wakes()])
    }

    /// The bytes of a request that has ended well, or whose message is the next one of its lane.
    #[inline(always)]
    pub(crate) fn take_at_once(&mut self, request: u64) -> Option<u64> {
        let &Request { endpoint, number, ended } = self.requests.get(request)?;
        let len = match ended {
            Some(outcome) => outcome.ok()?,
            None => {
                let len = self.endpoints.get_mut(endpoint)?.receive_at_once(number)?;
                self.count_end();
                len
            }
        };
        self.requests.remove(request);
        Some(len)
    }

    /// The task at the other end of the channel that a request is one of.
    pub(crate) fn other_end(&self, request: u64) -> Option<u32> {
        let request = self.requests.get(request)?;
        Some(self.endpoints.get(request.endpoint)?.wire.1)
    }

    /// Where the message of a request will be seen, if it comes by a lane.
    #[inline]
    pub(crate) fn watch(&self, request: u64) -> Option<Watch> {
        let request = self.requests.get(request)?;
        Some(self.endpoints.get(request.endpoint)?.reader.as_ref()?.watch())
    }

    /// The same where it is likely to come that way: the last message did.
    #[inline(always)]
    pub(crate) fn watch_alone(&self, request: u64) -> Option<Watch> {
        let request = self.requests.get(request)?;
        let endpoint = self.endpoints.get(request.endpoint)?;
        if endpoint.by_core { None } else { Some(endpoint.reader.as_ref()?.watch()) }
    }

    /// One thread more, or less, that waits for this request sleeps.
    pub(crate) fn tell_sleeper(&mut self, request: u64, more: bool) -> Option<u64> {
        let handle = self.requests.get(request)?.endpoint;
        self.tell_sleeper_of(handle, more)
    }

    /// The same by the end's handle.
    pub(crate) fn tell_sleeper_of(&mut self, handle: u64, more: bool) -> Option<u64> {
        let endpoint = self.endpoints.get_mut(handle)?;
        let reader = endpoint.reader.as_ref()?;
        endpoint.sleepers = endpoint.sleepers.checked_add_signed(if more { 1 } else { -1 })?;
        reader.tell_sleepers(endpoint.sleepers);
        Some(handle)
    }
}
