//! For tests: calls of an endpoint that its provider is made to refuse.

use super::Endpoint;
use crate::ffi::{
    FI_MR_ENDPOINT, FI_MR_LOCAL, fi_addr_t, fi_info, fi_ops_domain, fi_ops_msg, fid_domain, fid_ep,
};
use crate::library::{Info, Library};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;

/// What stands in for the table of one endpoint: the provider's own, and the error numbers of
/// addresses that nothing is sent to.
struct Sends {
    real: *const fi_ops_msg,
    ours: *const fi_ops_msg,
    refused: HashMap<fi_addr_t, i32>,
}

thread_local! {
    static SENDS: RefCell<HashMap<*mut fid_ep, Sends>> = RefCell::default();
    /// Domains whose table is one of ours, with the error number if they open no endpoint.
    static CLOSED: RefCell<HashMap<*mut fid_domain, Option<i32>>> = RefCell::default();
    /// What opens one. All domains are of one provider.
    static REAL_OPEN: Cell<Option<Open>> = const { Cell::new(None) };
}

type Open = unsafe extern "C" fn(*mut fid_domain, *mut fi_info, *mut *mut fid_ep, *mut c_void) -> i32;

impl Endpoint {
    /// From now on messages to an address are answered with this error number, until there is none;
    /// with 0 they seem to be taken.
    /// An endpoint that is opened anew refuses nothing.
    pub(crate) fn refuse(&mut self, to: fi_addr_t, code: Option<i32>) {
        SENDS.with_borrow_mut(|all| {
            // SAFETY: the endpoint is open, and its table is the provider's or one of those below.
            let table = unsafe { (*self.ep).msg };
            let known = all.get(&self.ep).is_some_and(|sends| sends.ours == table.cast_const());
            if !known {
                // SAFETY: the provider's table stays as it is; the copy is never freed.
                let mut copy = Box::new(unsafe { *table });
                copy.send = Some(send);
                copy.inject = Some(inject);
                copy.injectdata = Some(inject_marked);
                let ours = Box::leak(copy);
                // SAFETY: the endpoint is open and used by this thread alone.
                unsafe { (*self.ep).msg = ours };
                all.insert(self.ep, Sends { real: table, ours, refused: HashMap::new() });
            }
            let refused = all.get_mut(&self.ep).map(|sends| &mut sends.refused);
            match (refused, code) {
                (Some(refused), Some(code)) => drop(refused.insert(to, code)),
                (Some(refused), None) => drop(refused.remove(&to)),
                (None, _) => {}
            }
        });
    }

    /// What another one is opened with that registers its buffers for messages.
    pub(crate) fn registering(&self) -> (Library, Info) {
        let one = self.info.iter().next().expect("it was opened with a description");
        let mut info = self.info.pick(one).expect("room for a copy");
        require(&mut info, FI_MR_LOCAL);
        (self.library, info)
    }

    /// From now on registrations seem to be bound to it.
    pub(crate) fn hold_registrations(&mut self) {
        require(&mut self.info, FI_MR_ENDPOINT);
    }

    /// From now on it can't be opened anew, with this error number, until there is none.
    pub(crate) fn refuse_to_open(&mut self, code: Option<i32>) {
        let is_new = CLOSED.with_borrow_mut(|all| all.insert(self.domain, code).is_none());
        if is_new {
            // SAFETY: the domain is open and used by this thread alone; the table is the
            // provider's, of which a copy takes the place that is never freed.
            unsafe {
                let mut copy: Box<fi_ops_domain> = Box::new(*(*self.domain).ops);
                REAL_OPEN.set(copy.endpoint);
                copy.endpoint = Some(open_endpoint);
                (*self.domain).ops = Box::leak(copy);
            }
        }
    }
}

fn require(info: &mut Info, mode: u32) {
    // SAFETY: descriptions from libfabric have a domain.
    unsafe { (*info.first_mut().domain_attr).mr_mode |= mode as i32 };
}

unsafe extern "C" fn open_endpoint(
    domain: *mut fid_domain,
    info: *mut fi_info,
    ep: *mut *mut fid_ep,
    context: *mut c_void,
) -> i32 {
    if let Some(code) = CLOSED.with_borrow(|all| all.get(&domain).copied().flatten()) {
        return -code;
    }
    let Some(real) = REAL_OPEN.get() else { return -libc::ENOSYS };
    // SAFETY: the arguments are the caller's.
    unsafe { real(domain, info, ep, context) }
}

/// The provider's table, or its answer in place of a send to this address.
fn real_of(ep: *mut fid_ep, to: fi_addr_t) -> Result<*const fi_ops_msg, isize> {
    SENDS.with_borrow(|all| {
        let sends = all.get(&ep).ok_or(-libc::ENOSYS as isize)?;
        sends.refused.get(&to).map_or(Ok(sends.real), |code| Err(-*code as isize))
    })
}

unsafe extern "C" fn send(
    ep: *mut fid_ep,
    bytes: *const c_void,
    len: usize,
    desc: *mut c_void,
    to: fi_addr_t,
    context: *mut c_void,
) -> isize {
    match real_of(ep, to) {
        // SAFETY: the arguments are the caller's, and the table is the provider's.
        Ok(real) => unsafe { (*real).send.map_or(0, |send| send(ep, bytes, len, desc, to, context)) },
        Err(answer) => answer,
    }
}

unsafe extern "C" fn inject(ep: *mut fid_ep, bytes: *const c_void, len: usize, to: fi_addr_t) -> isize {
    match real_of(ep, to) {
        // SAFETY: the arguments are the caller's, and the table is the provider's.
        Ok(real) => unsafe { (*real).inject.map_or(0, |inject| inject(ep, bytes, len, to)) },
        Err(answer) => answer,
    }
}

unsafe extern "C" fn inject_marked(
    ep: *mut fid_ep,
    bytes: *const c_void,
    len: usize,
    mark: u64,
    to: fi_addr_t,
) -> isize {
    match real_of(ep, to) {
        // SAFETY: the arguments are the caller's, and the table is the provider's.
        Ok(real) => unsafe { (*real).injectdata.map_or(0, |inject| inject(ep, bytes, len, mark, to)) },
        Err(answer) => answer,
    }
}
