//! One open endpoint and the libfabric objects under it: all calls that move data.

mod habits;
mod limits;
mod one_sided;
mod quirks;
#[cfg(test)]
mod refusals;

pub(crate) use one_sided::{Access, Local, Remote};

use crate::ffi::{
    FI_ADDR_STR, FI_AV_UNSPEC, FI_EAGAIN, FI_ENABLE, FI_MR_ENDPOINT, FI_MULTI_RECV, FI_OPT_ENDPOINT,
    FI_OPT_MIN_MULTI_RECV, FI_ORDER_SAS, FI_RECV, FI_TRANSMIT, fi_addr_t, fi_av_attr, fi_context2, fi_msg,
    fid_av, fid_domain, fid_ep, fid_fabric, fid_mr, iovec,
};
use crate::library::{Info, Library, close};
use crate::provider;
use crate::queue::Queue;
use lapis_core::transport::TransportError;
use one_sided::OneSided;
use std::ffi::{CString, c_void};
use std::ptr;
use std::time::UNIX_EPOCH;

/// Room that a provider may use while an operation is under way; its address names the operation.
#[repr(C)]
pub(crate) struct Context {
    room: fi_context2,
}

impl Context {
    pub(crate) fn new() -> Self {
        // SAFETY: plain pointers, for which all zeros is a value.
        Self { room: unsafe { std::mem::zeroed() } }
    }
}

/// See the module. Used by one thread at a time.
pub(crate) struct Endpoint {
    ep: *mut fid_ep,
    queue: Queue,
    av: *mut fid_av,
    domain: *mut fid_domain,
    fabric: *mut fid_fabric,
    info: Info,
    library: Library,
    one_sided: OneSided,
    /// The longest message to receive.
    smallest: usize,
    /// Whether its queue is to have a descriptor to sleep on.
    descriptor: bool,
}

/// Registered memory; must be closed before the endpoint.
pub(crate) struct Registration {
    mr: *mut fid_mr,
}

impl Endpoint {
    /// Opens everything that one endpoint needs. `smallest`: the longest message to receive;
    /// `descriptor`: whether one to sleep on is wanted.
    pub(crate) fn open(
        library: Library,
        info: Info,
        (peers, smallest): (usize, usize),
        descriptor: bool,
    ) -> Result<Self, TransportError> {
        let mut this = Self {
            ep: ptr::null_mut(),
            queue: Queue::none(),
            av: ptr::null_mut(),
            domain: ptr::null_mut(),
            fabric: ptr::null_mut(),
            info,
            library,
            one_sided: OneSided::NONE,
            smallest,
            descriptor,
        };
        this.find_one_sided();
        // What was opened before a failure is closed by `drop`.
        this.open_domain()?;
        this.open_addresses(peers)?;
        this.open_queue()?;
        // Last: closing one without a queue ends the process in libfabric 1.17's rxm.
        this.open_endpoint()?;
        this.bind_and_enable()?;
        Ok(this)
    }

    /// Closes all but the domain, so that what was registered stays so. What was under way has
    /// ended, and nothing tells of it. The queue goes, too: libfabric 1.17 ends the process when
    /// one is slept on that has served a closed endpoint.
    pub(crate) fn close_all(&mut self) {
        self.stop();
        // SAFETY: each was opened once, and is null from here on; nothing that uses it is open.
        unsafe {
            self.queue.close();
            close(std::mem::replace(&mut self.av, ptr::null_mut()).cast());
        }
    }

    /// Leaves everything open for as long as the process lives, where closing it could end that.
    /// Nothing that is under way goes on: libfabric moves no data but in our calls. It can't be
    /// reopened.
    pub(crate) fn abandon(&mut self) {
        self.queue = Queue::none();
        (self.ep, self.av) = (ptr::null_mut(), ptr::null_mut());
        (self.domain, self.fabric) = (ptr::null_mut(), ptr::null_mut());
    }

    /// Opens what [`close_all`](Self::close_all) has closed: with another address, and no peer is
    /// known.
    pub(crate) fn reopen(&mut self, peers: usize) -> Result<(), TransportError> {
        let opened = self.open_addresses(peers).and_then(|()| self.open_queue());
        let opened = opened.and_then(|()| self.open_endpoint()).and_then(|()| self.bind_and_enable());
        if opened.is_err() {
            self.close_all();
        }
        opened
    }

    /// An error for an answer of libfabric's that is not 0.
    pub(crate) fn check(&self, what: &str, code: i32) -> Result<(), TransportError> {
        if code == 0 {
            return Ok(());
        }
        Err(TransportError::Io(format!(
            "{what} of provider {}, domain {}: {}{}",
            self.provider(),
            self.domain_name(),
            self.library.text(-code),
            limits::hint(-code)
        )))
    }

    fn open_domain(&mut self) -> Result<(), TransportError> {
        let library = self.library;
        let opened = library.fabric(self.info.first_mut());
        self.fabric =
            opened.or_else(|code| self.check("opening the fabric", -code).map(|()| ptr::null_mut()))?;
        let info: *mut _ = self.info.first_mut();
        // SAFETY: the fabric was opened by the line before; its table is libfabric's.
        unsafe {
            let open = (*(*self.fabric).ops).domain.ok_or_else(missing)?;
            let code = open(self.fabric, info, &mut self.domain, ptr::null_mut());
            self.check("opening the domain", code)
        }
    }

    fn open_addresses(&mut self, peers: usize) -> Result<(), TransportError> {
        let mut attributes = fi_av_attr { type_: FI_AV_UNSPEC, count: peers, ..zeroed_av() };
        // SAFETY: the domain is open, and closed after the vector.
        unsafe {
            let open = (*(*self.domain).ops).av_open.ok_or_else(missing)?;
            let code = open(self.domain, &mut attributes, &mut self.av, ptr::null_mut());
            self.check("opening the address vector", code)
        }
    }

    fn open_endpoint(&mut self) -> Result<(), TransportError> {
        let info: *mut _ = self.info.first_mut();
        // SAFETY: the domain is open, and the description is libfabric's.
        unsafe {
            let open = (*(*self.domain).ops).endpoint.ok_or_else(missing)?;
            let code = open(self.domain, info, &mut self.ep, ptr::null_mut());
            self.check("opening the endpoint", code)
        }
    }

    /// The completion queue: one to sleep on, if that is wanted and the provider has such.
    fn open_queue(&mut self) -> Result<(), TransportError> {
        // SAFETY: the fabric and the domain are open, and closed after the queue.
        let opened = unsafe { Queue::open(self.fabric, self.domain, self.descriptor) };
        match opened {
            Ok(queue) => self.queue = queue,
            Err(code) => self.check("opening the completion queue", -code)?,
        }
        Ok(())
    }

    /// Where completions are found.
    #[inline]
    pub(crate) fn queue(&mut self) -> &mut Queue {
        &mut self.queue
    }

    fn bind_and_enable(&mut self) -> Result<(), TransportError> {
        // SAFETY: all objects are open; the option's value is a size_t, as its text says.
        unsafe {
            let ep = &raw mut (*self.ep).fid;
            let bind = (*(*ep).ops).bind.ok_or_else(missing)?;
            let flags = u64::from(FI_TRANSMIT | FI_RECV);
            let code = bind(ep, self.queue.head(), flags);
            self.check("binding the completion queue", code)?;
            let code = bind(ep, &raw mut (*self.av).fid, 0);
            self.check("binding the address vector", code)?;
            let control = (*(*ep).ops).control.ok_or_else(missing)?;
            let enable = || control(ep, FI_ENABLE as i32, ptr::null_mut());
            let mut code = enable();
            if code == -libc::EBUSY && self.take_another_name() {
                code = enable();
            }
            let what = "enabling the endpoint (FI_UNIVERSE_SIZE, set to the number of tasks, makes queues \
                        shorter, where the device has no longer ones)";
            self.check(what, code)?;
            // Not before: the shm provider of 1.17 has no place for it then.
            let set = (*(*self.ep).ops).setopt.ok_or_else(missing)?;
            let value = &raw const self.smallest;
            let (level, option) = (FI_OPT_ENDPOINT as i32, FI_OPT_MIN_MULTI_RECV as i32);
            let code = set(ep, level, option, value.cast(), size_of::<usize>());
            self.check("setting the room that ends a receive buffer", code)
        }
    }

    /// The shm provider calls memory after its process, and what a killed process of the same
    /// number has left is in its way: the endpoint gets a name that nobody else has. False: it
    /// can't.
    fn take_another_name(&mut self) -> bool {
        if self.provider() != "shm" {
            return false;
        }
        let time = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let Ok(name) = CString::new(format!("fi_shm://{}:{time:x}", std::process::id())) else {
            return false;
        };
        let mut bytes = name.into_bytes_with_nul();
        // SAFETY: the endpoint is open, and not enabled; the name is copied.
        unsafe {
            let Some(setname) = (*(*self.ep).cm).setname else { return false };
            setname(&raw mut (*self.ep).fid, bytes.as_mut_ptr().cast(), bytes.len()) == 0
        }
    }

    /// The endpoint's address, for others.
    pub(crate) fn name(&self) -> Result<Vec<u8>, TransportError> {
        let mut name = vec![0u8; 256];
        let mut len = name.len();
        // SAFETY: the buffer has `len` bytes.
        let code = unsafe {
            let getname = (*(*self.ep).cm).getname.ok_or_else(missing)?;
            getname(&raw mut (*self.ep).fid, name.as_mut_ptr().cast(), &mut len)
        };
        self.check("asking for the endpoint's address", code)?;
        name.truncate(len);
        Ok(name)
    }

    /// Whether something has the length of an address of this provider, which reads no further.
    pub(crate) fn is_address(&self, bytes: &[u8], ours: &[u8]) -> bool {
        // Text ends by itself, and has any length.
        let text = self.address_format() == FI_ADDR_STR;
        if text { bytes.contains(&0) } else { bytes.len() == ours.len() }
    }

    /// Makes an address known, which [is one](Self::is_address).
    pub(crate) fn insert(&mut self, address: &[u8]) -> Result<fi_addr_t, TransportError> {
        let mut handle = fi_addr_t::MAX;
        // SAFETY: the address outlives the call, and one handle is written.
        let inserted = unsafe {
            let insert = (*(*self.av).ops).insert.ok_or_else(missing)?;
            insert(self.av, address.as_ptr().cast(), 1, &mut handle, 0, ptr::null_mut())
        };
        if inserted == 1 {
            return Ok(handle);
        }
        self.check("inserting a peer's address", if inserted < 0 { inserted } else { -libc::EINVAL })
            .map(|()| handle)
    }

    /// Forgets an address.
    pub(crate) fn remove(&mut self, mut handle: fi_addr_t) {
        // SAFETY: the handle came from `insert`. Failure leaves it known, which does no harm.
        unsafe {
            if let Some(remove) = (*(*self.av).ops).remove {
                remove(self.av, &mut handle, 1, 0);
            }
        }
    }

    /// Sends `len` bytes, which stay untouched until the completion of `context`.
    ///
    /// # Safety
    /// The bytes and the context stay valid until then.
    #[inline]
    pub(crate) unsafe fn send(
        &mut self,
        bytes: *const u8,
        len: usize,
        registration: Option<&Registration>,
        to: fi_addr_t,
        context: *mut Context,
    ) -> Result<(), i32> {
        // SAFETY: the endpoint is enabled; the rest is the caller's promise.
        let code = unsafe {
            let send = (*(*self.ep).msg).send.ok_or(libc::ENOSYS)?;
            send(self.ep, bytes.cast(), len, descriptor_of(registration), to, context.cast())
        };
        outcome(code)
    }

    /// Sends bytes that may change as soon as this returns, without a completion.
    #[inline]
    pub(crate) fn inject(&mut self, bytes: &[u8], to: fi_addr_t) -> Result<(), i32> {
        // SAFETY: the endpoint is enabled; the bytes are copied before the call returns.
        let code = unsafe {
            let inject = (*(*self.ep).msg).inject.ok_or(libc::ENOSYS)?;
            inject(self.ep, bytes.as_ptr().cast(), bytes.len(), to)
        };
        outcome(code)
    }

    /// The same, with a mark beside them.
    #[inline]
    pub(crate) fn inject_marked(&mut self, bytes: &[u8], mark: u64, to: fi_addr_t) -> Result<(), i32> {
        // SAFETY: the endpoint is enabled; the bytes are copied before the call returns.
        let code = unsafe {
            let inject = (*(*self.ep).msg).injectdata.ok_or(libc::ENOSYS)?;
            inject(self.ep, bytes.as_ptr().cast(), bytes.len(), mark, to)
        };
        outcome(code)
    }

    /// Whether the provider carries a mark beside each message.
    pub(crate) fn carries_marks(&mut self) -> bool {
        // SAFETY: descriptions from libfabric have a domain.
        unsafe { (*self.info.first_mut().domain_attr).cq_data_size >= size_of::<u64>() }
    }

    /// Longest message that can be injected.
    pub(crate) fn inject_size(&mut self) -> usize {
        // SAFETY: descriptions from libfabric have transmit attributes.
        unsafe { (*self.info.first_mut().tx_attr).inject_size }
    }

    /// Posts a buffer that holds messages one behind the other.
    ///
    /// # Safety
    /// Buffer and context stay valid until the buffer is released.
    pub(crate) unsafe fn receive_into(
        &mut self,
        buffer: *mut u8,
        len: usize,
        registration: Option<&Registration>,
        context: *mut Context,
    ) -> Result<(), i32> {
        let mut slice = iovec { iov_base: buffer.cast(), iov_len: len };
        let mut descriptor = descriptor_of(registration);
        // SAFETY: all zeros is a value of this plain struct.
        let mut message: fi_msg = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut slice;
        message.desc = &raw mut descriptor;
        message.iov_count = 1;
        message.addr = fi_addr_t::MAX;
        message.context = context.cast();
        // SAFETY: the message outlives the call; the rest is the caller's promise.
        let code = unsafe {
            let receive = (*(*self.ep).msg).recvmsg.ok_or(libc::ENOSYS)?;
            receive(self.ep, &message, u64::from(FI_MULTI_RECV))
        };
        outcome(code)
    }

    fn mr_mode(&mut self) -> u32 {
        // SAFETY: descriptions from libfabric have a domain.
        unsafe { (*self.info.first_mut().domain_attr).mr_mode as u32 }
    }

    pub(crate) fn address_format(&self) -> u32 {
        self.info.iter().next().map_or(0, |info| info.addr_format)
    }

    /// Whether messages to one peer arrive in the order in which they were sent.
    pub(crate) fn keeps_order(&self) -> bool {
        // SAFETY: descriptions from libfabric have attributes for both directions.
        let both = self.info.iter().next().map(|info| unsafe {
            (*info.tx_attr).msg_order & (*info.rx_attr).msg_order & u64::from(FI_ORDER_SAS)
        });
        both.is_some_and(|order| order != 0)
    }

    pub(crate) fn provider(&self) -> String {
        self.info.iter().next().map(provider::provider_name).unwrap_or_default()
    }

    pub(crate) fn domain_name(&self) -> String {
        self.info.iter().next().map(provider::domain_name).unwrap_or_default()
    }

    /// The name of the network: what its endpoints reach each other on.
    pub(crate) fn network(&self) -> String {
        self.info.iter().next().map(provider::network_name).unwrap_or_default()
    }

    /// Whether registrations end with the endpoint, so that it can't be reopened.
    pub(crate) fn holds_registrations(&mut self) -> bool {
        self.mr_mode() & FI_MR_ENDPOINT != 0
    }

    /// libfabric's words for an error number.
    pub(crate) fn text(&self, code: i32) -> String {
        self.library.text(code)
    }
}

impl Endpoint {
    /// Closes the endpoint itself: what is under way ends, and memory that it uses is free.
    pub(crate) fn stop(&mut self) {
        // SAFETY: opened once, and null from here on, which closing leaves alone; every libfabric
        // object begins with its head.
        unsafe { close(std::mem::replace(&mut self.ep, ptr::null_mut()).cast()) };
    }
}

/// Whether an error of a send means: poll, then try again.
pub(crate) fn is_busy(code: i32) -> bool {
    code == FI_EAGAIN as i32
}

#[inline]
fn outcome(code: isize) -> Result<(), i32> {
    if code == 0 { Ok(()) } else { Err(-code as i32) }
}

fn descriptor_of(registration: Option<&Registration>) -> *mut c_void {
    // SAFETY: a registration that is held is open.
    registration.map_or(ptr::null_mut(), |r| unsafe { (*r.mr).mem_desc })
}

fn zeroed_av() -> fi_av_attr {
    // SAFETY: all zeros is a value of this plain struct.
    unsafe { std::mem::zeroed() }
}

#[cold]
fn missing() -> TransportError {
    TransportError::Io("this provider lacks a function that every endpoint needs".to_owned())
}

impl Drop for Registration {
    fn drop(&mut self) {
        // SAFETY: registered once, closed once; every libfabric object begins with its head.
        unsafe { close(self.mr.cast()) };
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // SAFETY: each was opened at most once and is closed after those that use it; every
        // libfabric object begins with its head.
        unsafe {
            close(self.ep.cast());
            self.queue.close();
            close(self.av.cast());
            close(self.domain.cast());
            close(self.fabric.cast());
        }
    }
}
