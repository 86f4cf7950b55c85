//! One rail of this task: an endpoint with what goes through it.

use crate::address::{self, Entry};
use crate::endpoint::Endpoint;
use crate::ffi::fi_addr_t;
use crate::library::{Info, Library};
use crate::queue::Batch;
use crate::receive::Receiver;
use crate::send::{SIZE, Sender, Traffic};
use crate::transfer::{Ended, Transfers};
use lapis_core::transport::TransportError;

/// Keys of the registrations for messages, where the provider lets us choose them.
const SEND_KEY: u64 = 1;
const RECEIVE_KEY: u64 = 2;
const BOUNCE_KEY: u64 = 3;

/// See the module.
pub(crate) struct Rail {
    // Registrations are closed before the domain, which `endpoint` holds.
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) transfers: Transfers,
    pub(crate) endpoint: Endpoint,
    /// Where peers find it, and on which network.
    pub(crate) entry: Entry,
    /// How often the endpoint has been closed.
    pub(crate) life: u32,
    /// Whether the endpoint is closed.
    pub(crate) closed: bool,
    /// Whether it has failed and stays closed.
    pub(crate) broken: bool,
    /// The user knows that a peer did not answer over it.
    pub(crate) said_silent: bool,
    /// How often in a row no receive buffer could be posted where none was.
    pub(crate) refusals: u32,
    /// What has come.
    pub(crate) received: Traffic,
    /// What a look has found and nobody has dealt with yet.
    pub(crate) batch: Batch,
    /// Whether the last look has found all that there was.
    pub(crate) quiet: bool,
}

impl Rail {
    /// Opens an endpoint. `at`: its number among this task's; `descriptor`: whether one to sleep on
    /// is wanted.
    pub(crate) fn open(
        library: Library,
        info: Info,
        (tasks, at): (u32, usize),
        descriptor: bool,
    ) -> Result<Self, TransportError> {
        let mut endpoint = Endpoint::open(library, info, (tasks as usize, SIZE), descriptor)?;
        let entry = Entry { network: address::network(&endpoint.network()), address: endpoint.name()? };
        let sender = Sender::new(&mut endpoint, tasks, SEND_KEY)?;
        let mut receiver = Receiver::new(&mut endpoint, RECEIVE_KEY)?;
        if let Err(code) = receiver.post(&mut endpoint) {
            endpoint.check("posting receive buffers", -code)?;
        }
        let transfers = Transfers::new(at, BOUNCE_KEY);
        let (received, batch) = (Traffic::default(), Batch::new());
        let (life, closed, broken, refusals) = (0, false, false, 0);
        Ok(Self {
            sender,
            receiver,
            transfers,
            endpoint,
            entry,
            life,
            closed,
            broken,
            said_silent: false,
            refusals,
            received,
            batch,
            quiet: false,
        })
    }

    /// Closes the endpoint: whatever is under way ends, and nothing of it reads or writes memory
    /// any more, here or through here. Each transfer is handed to `ended`.
    pub(crate) fn close(&mut self, code: i32, mut ended: impl FnMut(Ended)) {
        if self.endpoint.holds_registrations() {
            self.unregister(code, &mut ended);
        }
        if !std::mem::replace(&mut self.closed, true) {
            if self.broken && self.must_stay_open() {
                self.endpoint.abandon();
            } else {
                self.endpoint.close_all();
            }
            self.life += 1;
        }
        // It names buffers and operations that are free from here on.
        self.batch = Batch::new();
        self.sender.reset();
        self.receiver.reset();
        self.end_transfers(code, &mut ended);
    }

    /// Closes what is registered for messages and transfers: an endpoint to which registrations are
    /// bound can't be closed before them, and is not opened again.
    fn unregister(&mut self, code: i32, ended: &mut impl FnMut(Ended)) {
        // Those of transfers go with them.
        self.end_transfers(code, ended);
        self.transfers.unregister();
        self.sender.unregister();
        self.receiver.unregister();
    }

    fn end_transfers(&mut self, code: i32, ended: &mut impl FnMut(Ended)) {
        while let Some(one) = self.transfers.end_any(code) {
            ended(one);
        }
    }

    /// Opens the endpoint again, at another address. Buffers are posted at the next poll.
    pub(crate) fn reopen(&mut self, tasks: usize) -> Result<(), TransportError> {
        if self.endpoint.holds_registrations() {
            self.broken = true;
        }
        if self.broken {
            return Err(TransportError::Io("it can't be opened anew".to_owned()));
        }
        self.endpoint.reopen(tasks)?;
        match self.endpoint.name() {
            Ok(address) => self.entry.address = address,
            Err(e) => {
                self.endpoint.close_all();
                return Err(e);
            }
        }
        self.closed = false;
        Ok(())
    }

    /// Makes a peer's address known, if it can be one.
    pub(crate) fn insert(&mut self, address: &[u8]) -> Result<fi_addr_t, TransportError> {
        if !self.endpoint.is_address(address, &self.entry.address) {
            return Err(TransportError::Invalid(format!(
                "a peer's address has {} bytes, those of {} have {}",
                address.len(),
                self.endpoint.domain_name(),
                self.entry.address.len()
            )));
        }
        self.endpoint.insert(address)
    }

    /// Whether messages over it can be sent again after one was lost, and questions about paths be
    /// asked.
    pub(crate) fn can_fail_over(&self) -> bool {
        self.endpoint.keeps_order() && self.sender.can_slip(self.entry.address.len())
    }

    /// Closes the endpoint for good: nothing is read from the buffers or written to them from here
    /// on, so that they may go.
    pub(crate) fn stop(&mut self) {
        if self.must_stay_open() {
            self.endpoint.abandon();
        }
        self.endpoint.stop();
    }

    /// Whether to close the endpoint now could end the process.
    fn must_stay_open(&self) -> bool {
        self.endpoint.ends_gets_twice() && self.transfers.has_gets()
    }

    /// Whether nothing is under way, as far as we can tell.
    pub(crate) fn is_idle(&self) -> bool {
        self.closed || self.sender.is_idle() && self.transfers.is_idle()
    }
}

impl Drop for Rail {
    fn drop(&mut self) {
        if self.endpoint.holds_registrations() {
            self.unregister(libc::ECONNABORTED, &mut drop);
        }
        self.stop();
    }
}
