//! One-sided operations of an endpoint, and the registration of memory for them.

use super::{Context, Endpoint, Registration, descriptor_of, outcome};
use crate::ffi::{
    FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_ENABLE, FI_ENOKEY, FI_INJECT, FI_MR_ALLOCATED, FI_MR_ENDPOINT,
    FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_READ, FI_RECV, FI_REMOTE_CQ_DATA, FI_REMOTE_READ,
    FI_REMOTE_WRITE, FI_RMA, FI_SEND, FI_WRITE, fi_addr_t, fi_msg_rma, fi_rma_iov, iovec,
};
use crate::keys::{Joint, Keys, Naming};
use crate::provider;
use lapis_core::transport::{MAX_SHORT_PUT, RawSlice, TransportError};
use std::ptr;

/// What is done with registered memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Messages of ours are sent from it or received into it.
    Messages,
    /// All of that, and peers read and write it.
    All,
    /// Peers read it, and puts of ours.
    PeersRead,
    /// Peers write it.
    PeersWrite,
    /// Puts of ours read it, and gets write it.
    Bounce,
    /// A put of ours reads it.
    Source,
    /// A get of ours writes it.
    Sink,
}

impl Access {
    /// Whether memory that was registered so can be used in another way.
    pub(crate) fn serves(self, other: Self) -> bool {
        self.flags() & other.flags() == other.flags()
    }

    fn flags(self) -> u64 {
        let flags = match self {
            Self::Messages => FI_SEND | FI_RECV,
            Self::All => FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
            Self::PeersRead => FI_WRITE | FI_REMOTE_READ,
            Self::PeersWrite => FI_REMOTE_WRITE,
            Self::Bounce => FI_READ | FI_WRITE,
            Self::Source => FI_WRITE,
            Self::Sink => FI_READ,
        };
        u64::from(flags)
    }
}

/// Our side of a transfer.
pub(crate) struct Local<'a> {
    pub(crate) at: *mut u8,
    pub(crate) len: usize,
    pub(crate) registration: Option<&'a Registration>,
}

/// The other side, as its owner names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remote {
    pub(crate) to: fi_addr_t,
    pub(crate) addr: u64,
    pub(crate) key: u64,
}

/// What this provider does of one-sided operations, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneSided {
    /// Peers' memory can be named by a key of 64 bits and an address.
    pub(super) possible: bool,
    naming: Naming,
    key_size: usize,
    /// It wants to know our side's memory.
    local: bool,
    /// It says when a put is in the target's memory.
    delivers: bool,
    /// Its short puts tell the target that they came, in the order of messages; and that spares
    /// the target something.
    tells_target: bool,
    /// Ranges of a peer's memory that one operation writes.
    ranges: usize,
    most: u64,
}

impl OneSided {
    pub(super) const NONE: Self = Self {
        possible: false,
        naming: Naming::Addresses,
        key_size: 8,
        local: false,
        delivers: false,
        tells_target: false,
        ranges: 1,
        most: 0,
    };
}

impl Endpoint {
    /// Finds out what the provider does of one-sided operations.
    pub(super) fn find_one_sided(&mut self) {
        let mode = self.mr_mode();
        let info = self.info.first_mut();
        // SAFETY: descriptions from libfabric have all attributes.
        let (key_size, most, flags, ranges) = unsafe {
            let (key_size, tx) = ((*info.domain_attr).mr_key_size, &*info.tx_attr);
            let ranges = tx.rma_iov_limit.min(tx.iov_limit);
            (key_size, (*info.ep_attr).max_msg_size as u64, tx.op_flags, ranges)
        };
        // An adapter confirms puts by itself. The tcp provider does within the target's calls, by a
        // system call before the target sees the bytes; all that it sends stays in order.
        let tells_target = provider::provider_name(info) == "tcp;ofi_rxm";
        let addresses = mode & FI_MR_VIRT_ADDR != 0;
        // Where offsets are wanted the key must have room for the region's address.
        let named = addresses || mode & FI_MR_PROV_KEY == 0 && key_size >= 8;
        let possible = info.caps & u64::from(FI_RMA) != 0 && named && key_size <= 8;
        // Messages would ask for it, too, and keep their buffers until the peer looks: who writes
        // names it.
        // SAFETY: descriptions from libfabric have transmit attributes.
        unsafe { (*self.info.first_mut().tx_attr).op_flags &= !u64::from(FI_DELIVERY_COMPLETE) };
        let tells_target = tells_target && self.carries_marks() && self.inject_size() >= MAX_SHORT_PUT;
        self.one_sided = OneSided {
            possible,
            naming: if addresses { Naming::Addresses } else { Naming::Offsets },
            key_size,
            local: mode & FI_MR_LOCAL != 0,
            delivers: flags & u64::from(FI_DELIVERY_COMPLETE) != 0,
            tells_target,
            ranges,
            most,
        };
    }

    /// Whether one-sided operations work.
    pub(crate) fn is_one_sided(&self) -> bool {
        self.one_sided.possible
    }

    /// Longest one-sided operation.
    pub(crate) fn longest_transfer(&self) -> u64 {
        self.one_sided.most
    }

    /// Whether the provider wants to know the memory of our side.
    pub(crate) fn needs_local(&self) -> bool {
        self.one_sided.local
    }

    /// Whether the provider says when a put is in the target's memory.
    pub(crate) fn delivers(&self) -> bool {
        self.one_sided.delivers
    }

    /// Whether a short put is better [told to the target](Self::write_at_once) than confirmed.
    pub(crate) fn tells_target(&self) -> bool {
        self.one_sided.possible && self.one_sided.tells_target
    }

    /// Writes bytes that may change as soon as this returns to a peer's memory. A mark is written
    /// to its queue behind them. Nothing that counts tells of it here.
    ///
    /// # Safety
    /// The other side is valid until the bytes are there, or the peer has found the mark.
    #[inline]
    pub(crate) unsafe fn write_at_once(
        &mut self,
        bytes: &[u8],
        mark: Option<u64>,
        remote: Remote,
    ) -> Result<(), i32> {
        // No injected write (`fi_inject_write`): where one fails, as when its peer has died, the
        // tcp provider tells rxm of an operation without a name, whose memory rxm reads. This one
        // ends with a completion that names nothing here.
        let mut flags = u64::from(FI_INJECT | FI_COMPLETION);
        if mark.is_some() {
            flags |= u64::from(FI_REMOTE_CQ_DATA);
        }
        let here = Local { at: bytes.as_ptr().cast_mut(), len: bytes.len(), registration: None };
        // SAFETY: the endpoint is enabled; the bytes are copied before the call returns; the rest
        // is the caller's promise.
        unsafe {
            let write = (*(*self.ep).rma).writemsg.ok_or(libc::ENOSYS)?;
            self.with_message(here, remote, ptr::null_mut(), |ep, message| {
                let mut message = *message;
                message.data = mark.unwrap_or_default();
                write(ep, &message, flags)
            })
        }
    }

    /// The same of two ranges of a peer's memory, one behind the other.
    ///
    /// # Safety
    /// As [`write_at_once`](Self::write_at_once), for both.
    pub(crate) unsafe fn write_both_at_once(&mut self, both: [(&[u8], Remote); 2]) -> Result<(), i32> {
        let naming = self.one_sided.naming;
        let here =
            both.map(|(bytes, _)| iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
        let there = both.map(|(bytes, remote)| fi_rma_iov {
            addr: naming.place(remote.addr, remote.key),
            len: bytes.len(),
            key: remote.key,
        });
        let mut descriptors = [ptr::null_mut(); 2];
        // SAFETY: all zeros is a value of this plain struct.
        let mut message: fi_msg_rma = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.iov_count) = (here.as_ptr(), 2);
        (message.rma_iov, message.rma_iov_count) = (there.as_ptr(), 2);
        message.desc = descriptors.as_mut_ptr();
        message.addr = both[0].1.to;
        // SAFETY: the endpoint is enabled; the bytes are copied before the call returns; the rest
        // is the caller's promise.
        let code = unsafe {
            let write = (*(*self.ep).rma).writemsg.ok_or(libc::ENOSYS)?;
            write(self.ep, &message, u64::from(FI_INJECT | FI_COMPLETION))
        };
        outcome(code)
    }

    /// Whether one operation writes two ranges of a peer's memory.
    pub(crate) fn writes_two(&self) -> bool {
        self.one_sided.ranges >= 2
    }

    /// Keys for this provider.
    pub(crate) fn keys(&self, seed: u64) -> Keys {
        Keys::new(self.one_sided.key_size, seed)
    }

    /// How one key names a region on several endpoints of this provider.
    pub(crate) fn joint(&mut self) -> Joint {
        Joint::of(self.mr_mode() & FI_MR_PROV_KEY != 0, self.one_sided.key_size)
    }

    /// Whether registering failed because the key was in use.
    pub(crate) fn is_taken(&mut self, code: i32) -> bool {
        self.mr_mode() & FI_MR_PROV_KEY == 0 && code == FI_ENOKEY as i32
    }

    /// Gives a range its pages where the provider wants them to be there when it is registered.
    /// Memory that can't be written has them.
    pub(crate) fn populate(&mut self, range: RawSlice) {
        if self.mr_mode() & FI_MR_ALLOCATED == 0 {
            return;
        }
        const PAGE: usize = 4096;
        let first = range.ptr.addr() & !(PAGE - 1);
        let len = (range.ptr.addr() + range.len).next_multiple_of(PAGE) - first;
        // SAFETY: populating changes no byte, and fails for what isn't mapped. So it does on
        // kernels before 5.14, where providers that pin memory give it pages themselves.
        unsafe { libc::madvise(ptr::with_exposed_provenance_mut(first), len, libc::MADV_POPULATE_WRITE) };
    }

    /// Registers memory; the error is libfabric's number.
    ///
    /// # Safety
    /// The range stays mapped until the registration is closed.
    pub(crate) unsafe fn register_as(
        &mut self,
        at: *mut u8,
        len: usize,
        access: Access,
        key: u64,
    ) -> Result<Registration, i32> {
        let mode = self.mr_mode();
        if mode & FI_MR_ENDPOINT != 0 && self.ep.is_null() {
            return Err(libc::EIO);
        }
        let mut mr = ptr::null_mut();
        // SAFETY: the range is the caller's promise; the domain is open.
        unsafe {
            let reg = (*(*self.domain).mr).reg.ok_or(libc::ENOSYS)?;
            let domain = &raw mut (*self.domain).fid;
            let flags = access.flags();
            code_of(reg(domain, at.cast(), len, flags, 0, key, 0, &mut mr, ptr::null_mut()))?;
            // From here on it is closed if anything fails.
            let registration = Registration { mr };
            if mode & FI_MR_ENDPOINT != 0 {
                let region = &raw mut (*mr).fid;
                let bind = (*(*region).ops).bind.ok_or(libc::ENOSYS)?;
                code_of(bind(region, &raw mut (*self.ep).fid, 0))?;
                let control = (*(*region).ops).control.ok_or(libc::ENOSYS)?;
                code_of(control(region, FI_ENABLE as i32, ptr::null_mut()))?;
            }
            Ok(registration)
        }
    }

    /// Why memory can't be registered.
    #[cold]
    pub(crate) fn no_memory(&self, len: usize, code: i32) -> TransportError {
        let limit = remedy(code, lockable());
        TransportError::Exhausted(format!(
            "registering {len} bytes with provider {}, domain {}: {}{limit}",
            self.provider(),
            self.domain_name(),
            self.text(code)
        ))
    }

    /// Writes to a peer's memory; the completion of `context` says when it is done. With `inject`
    /// our side may change as soon as this returns.
    ///
    /// # Safety
    /// Both sides are valid until the completion.
    pub(crate) unsafe fn write(
        &mut self,
        here: Local<'_>,
        remote: Remote,
        context: *mut Context,
        inject: bool,
    ) -> Result<(), i32> {
        let mut flags = u64::from(FI_COMPLETION);
        if self.one_sided.delivers {
            flags |= u64::from(FI_DELIVERY_COMPLETE);
        }
        if inject {
            flags |= u64::from(FI_INJECT);
        }
        // SAFETY: the endpoint is enabled; the rest is the caller's promise.
        unsafe {
            let write = (*(*self.ep).rma).writemsg.ok_or(libc::ENOSYS)?;
            self.with_message(here, remote, context, |ep, message| write(ep, message, flags))
        }
    }

    /// Reads a peer's memory; the completion of `context` says when it is here.
    ///
    /// # Safety
    /// Both sides are valid until the completion.
    pub(crate) unsafe fn read(
        &mut self,
        here: Local<'_>,
        remote: Remote,
        context: *mut Context,
    ) -> Result<(), i32> {
        let flags = u64::from(FI_COMPLETION);
        // SAFETY: the endpoint is enabled; the rest is the caller's promise.
        unsafe {
            let read = (*(*self.ep).rma).readmsg.ok_or(libc::ENOSYS)?;
            self.with_message(here, remote, context, |ep, message| read(ep, message, flags))
        }
    }

    fn with_message(
        &mut self,
        here: Local<'_>,
        remote: Remote,
        context: *mut Context,
        call: impl FnOnce(*mut crate::ffi::fid_ep, &fi_msg_rma) -> isize,
    ) -> Result<(), i32> {
        let slice = iovec { iov_base: here.at.cast(), iov_len: here.len };
        let addr = self.one_sided.naming.place(remote.addr, remote.key);
        let there = fi_rma_iov { addr, len: here.len, key: remote.key };
        let mut descriptor = descriptor_of(here.registration);
        // SAFETY: all zeros is a value of this plain struct.
        let mut message: fi_msg_rma = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw const slice;
        message.desc = &raw mut descriptor;
        message.iov_count = 1;
        message.addr = remote.to;
        message.rma_iov = &raw const there;
        message.rma_iov_count = 1;
        message.context = context.cast();
        outcome(call(self.ep, &message))
    }

    /// Registers memory for messages if this provider wants that.
    ///
    /// # Safety
    /// The range stays allocated until the registration is closed.
    pub(crate) unsafe fn register(
        &mut self,
        at: *mut u8,
        len: usize,
        access: Access,
        key: u64,
    ) -> Result<Option<Registration>, TransportError> {
        if !self.one_sided.local {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        let registered = unsafe { self.register_as(at, len, access, key) };
        registered.map(Some).map_err(|code| self.no_memory(len, code))
    }
}

impl Registration {
    /// What peers name it by.
    pub(crate) fn key(&self) -> u64 {
        // SAFETY: a registration that is held is open.
        unsafe { (*self.mr).key }
    }
}

/// How many bytes this process may lock; `None` for any.
fn lockable() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
    // SAFETY: one struct is written.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// What to do about memory that can't be registered.
fn remedy(code: i32, lockable: Option<u64>) -> String {
    match (code, lockable) {
        (libc::ENOMEM | libc::EAGAIN | libc::EPERM, Some(bytes)) => format!(
            "; memory for adapters is locked, of which this process may have {} KiB: raise `ulimit -l`, or \
             memlock in limits.conf(5)",
            bytes >> 10
        ),
        (libc::ENOMEM | libc::EAGAIN | libc::EPERM, None) => {
            "; memory for adapters is locked, which no limit of this process forbids: the adapter or the \
             machine has no more"
                .to_owned()
        }
        _ => String::new(),
    }
}

fn code_of(code: i32) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(-code) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_locked_memory_is_named_with_its_remedy_and_other_errors_have_none() {
        let text = remedy(libc::ENOMEM, Some(64 << 10));
        assert!(text.contains("64 KiB") && text.contains("ulimit -l"), "{text}");
        assert!(!remedy(libc::EAGAIN, None).contains("ulimit"));
        assert_eq!(remedy(libc::EIO, Some(64 << 10)), "");
    }
}
