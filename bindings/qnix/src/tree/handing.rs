//! A message for several processes that goes to one of them, which hands it on to the others.

use crate::error::{Error, Result};
use crate::matching::Bytes;
use crate::wire::{TREE, send_owned};
use lapis_core::{Context, Notify};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

/// A receiver: its task, and the number of this message among those of the sender to it.
pub(crate) type Receiver = (u32, u32);

/// Stands where nobody wants to know that a message has arrived.
pub(super) const UNCONFIRMED: u32 = u32::MAX;

/// A message that is handed on.
#[derive(Clone)]
pub(crate) struct Handed {
    pub(crate) root: u32,
    pub(crate) tag: i32,
    pub(crate) data: Bytes,
    /// To whom it is confirmed, by whoever is the last to drop this.
    pub(crate) up: Option<Arc<Up>>,
}

/// From whom this process has a message, and how that one calls it.
pub(crate) struct Up {
    pub(crate) task: u32,
    pub(crate) number: u32,
}

/// Who confirms that a message has arrived, and how the forward is called in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// Nobody.
    Not,
    /// Core, when it is delivered.
    ByDelivery(u32),
    /// The receiver, when those behind it have it.
    ByReceiver(u32),
}

/// What is called with the number of a forward that has ended, and with what handlers share.
pub(super) type Ended = unsafe fn(&Context, u32, usize, *mut c_void, bool);

/// A message for the first of a list, which hands it on to the others.
pub(crate) struct Handing {
    /// Not empty.
    pub(super) list: Vec<Receiver>,
    pub(super) root: u32,
    pub(super) tag: i32,
    pub(super) data: Bytes,
    pub(super) confirmed: Confirmed,
    pub(super) ended: Ended,
    /// The address of what the handlers of the context have, for `ended`.
    pub(super) shared: usize,
}

impl Handing {
    pub(crate) fn send(&self, context: &Context) -> Result {
        let (number, told) = match self.confirmed {
            Confirmed::Not => (UNCONFIRMED, Notify::None),
            Confirmed::ByReceiver(number) => (number, Notify::None),
            Confirmed::ByDelivery(number) => (UNCONFIRMED, self.when_delivered(number)),
        };
        let words = [self.tag as u32, self.root, self.list.len() as u32, number];
        let list = self.list.iter().flat_map(|(task, number)| [*task, *number]);
        let head = list.flat_map(u32::to_le_bytes).collect();
        let sent = send_owned(context, self.list[0].0, TREE, &words, (head, self.data.clone()), told);
        sent.inspect_err(|error| self.fails(context, *error))
    }

    fn when_delivered(&self, number: u32) -> Notify {
        let argument = without_provenance_mut(number as usize);
        Notify::Call { call: self.ended, function: self.shared, argument }
    }

    /// It could not be sent. If its receiver is gone, those behind it are seen to where that
    /// becomes known. Otherwise the message is lost.
    fn fails(&self, context: &Context, error: Error) {
        let (Confirmed::ByDelivery(number) | Confirmed::ByReceiver(number)) = self.confirmed else { return };
        if error != Error::Peer {
            tracing::error!(target: "lapis::qnix", "a message can't be handed on: {error}");
            // SAFETY: what the handlers share lives as long as the context, which keeps them.
            unsafe {
                (self.ended)(
                    context,
                    self.list[0].0,
                    self.shared,
                    without_provenance_mut(number as usize),
                    false,
                );
            }
        }
    }
}
