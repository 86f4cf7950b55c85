//! The completion queue, and sleeping until there is a completion.

use crate::ffi::{
    FI_CQ_FORMAT_DATA, FI_EAGAIN, FI_EAVAIL, FI_GETWAIT, FI_MULTI_RECV, FI_RECV, FI_REMOTE_CQ_DATA,
    FI_REMOTE_WRITE, FI_RMA, FI_SEND, FI_WAIT_FD, FI_WAIT_NONE, fi_cq_attr, fi_cq_data_entry,
    fi_cq_err_entry, fi_wait_obj, fid, fid_cq, fid_domain, fid_fabric,
};
use crate::header::WINDOW;
use crate::library::close;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr;

/// Something that the completion queue reported.
pub(crate) enum Completion {
    /// A send ended well.
    Sent { context: *mut c_void },
    /// A one-sided operation ended well.
    Moved { context: *mut c_void },
    /// A peer's short put with this mark is in memory here.
    Landed { mark: u64 },
    /// A message lies at `bytes`, and this mark was beside it.
    Received { bytes: *mut u8, len: usize, mark: Option<u64> },
    /// A receive buffer takes nothing more. It may come with the message before.
    Released { context: *mut c_void },
    /// An operation failed, with libfabric's error number.
    Failed { context: *mut c_void, released: bool, code: i32 },
    /// The queue itself can't be read any more, with libfabric's error number.
    Broken { code: i32 },
}

/// What a read of the queue has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Nothing,
    /// All that there was, so that another read, which asks the system, need not follow at once.
    All,
    /// As much as it takes at a time.
    Some,
}

/// See the module. Used by one thread at a time.
pub(crate) struct Queue {
    cq: *mut fid_cq,
    fabric: *mut fid_fabric,
    /// Becomes readable when something ends, after [`may_sleep`](Self::may_sleep) has said yes.
    fd: Option<RawFd>,
}

impl Queue {
    /// In place of a queue that is not open yet.
    pub(crate) fn none() -> Self {
        Self { cq: ptr::null_mut(), fabric: ptr::null_mut(), fd: None }
    }

    /// Opens a queue with a descriptor, or one without if none is wanted or the provider has none.
    ///
    /// # Safety
    /// Both are open, and are closed after the queue.
    pub(crate) unsafe fn open(
        fabric: *mut fid_fabric,
        domain: *mut fid_domain,
        descriptor_wanted: bool,
    ) -> Result<Self, i32> {
        let open = |kind| {
            // SAFETY: as this function demands.
            unsafe { open_cq(domain, kind) }
        };
        if descriptor_wanted && let Ok(cq) = open(FI_WAIT_FD) {
            return Ok(Self { cq, fabric, fd: descriptor(cq.cast()) });
        }
        Ok(Self { cq: open(FI_WAIT_NONE)?, fabric, fd: None })
    }

    /// Closes the queue. Nothing is open from here on.
    ///
    /// # Safety
    /// No endpoint that uses it is open.
    pub(crate) unsafe fn close(&mut self) {
        let cq = std::mem::replace(&mut self.cq, ptr::null_mut());
        // SAFETY: it was opened once, and is null from here on; every libfabric object begins with
        // its head.
        unsafe { close(cq.cast()) };
        *self = Self::none();
    }

    /// What becomes readable when something ends; `None` where nothing does.
    pub(crate) fn fd(&self) -> Option<RawFd> {
        self.fd
    }

    /// Whether nothing is there, so that the descriptor tells of the next thing to come. False:
    /// look for completions first. The question itself may bring some, of which the descriptor
    /// does not tell: look once more after a yes.
    pub(crate) fn may_sleep(&mut self) -> bool {
        if self.fd.is_none() {
            // Nobody sleeps on it, and libfabric 1.17 looks for what it would sleep on.
            return true;
        }
        let mut heads = [self.head()];
        // SAFETY: fabric and queue are open; the array has one entry.
        unsafe {
            let Some(try_wait) = (*(*self.fabric).ops).trywait else { return false };
            try_wait(self.fabric, heads.as_mut_ptr(), 1) == 0
        }
    }

    /// The head of the libfabric object.
    pub(crate) fn head(&self) -> *mut fid {
        self.cq.cast()
    }

    /// Reads completions into a batch, which is empty.
    #[inline]
    pub(crate) fn read(&mut self, batch: &mut Batch) -> Read {
        // SAFETY: the queue is open and has entries of this format; at most as many are written.
        let found = unsafe {
            let Some(read) = (*(*self.cq).ops).read else { return Read::Nothing };
            read(self.cq, batch.entries.as_mut_ptr().cast(), BATCH)
        };
        (batch.next, batch.found) = (0, usize::try_from(found).unwrap_or(0).min(BATCH));
        match batch.found {
            0 => self.read_failure(batch, found),
            all if all < BATCH => Read::All,
            _ => Read::Some,
        }
    }

    /// The same where nothing has ended well.
    #[inline]
    fn read_failure(&mut self, batch: &mut Batch, answer: isize) -> Read {
        if answer == -(FI_EAGAIN as isize) {
            return Read::Nothing;
        }
        if answer == -(FI_EAVAIL as isize) {
            return self.read_error(batch);
        }
        batch.failure = fault(answer).map(|code| Completion::Broken { code });
        Read::Nothing
    }

    #[cold]
    fn read_error(&mut self, batch: &mut Batch) -> Read {
        // SAFETY: all zeros is a value of this plain struct.
        let mut entry: fi_cq_err_entry = unsafe { std::mem::zeroed() };
        // SAFETY: the queue is open; one entry is written.
        let found = unsafe {
            let Some(read) = (*(*self.cq).ops).readerr else { return Read::Nothing };
            read(self.cq, &mut entry, 0)
        };
        batch.failure = fault(found).map(|code| Completion::Broken { code });
        if found != 1 {
            return Read::Nothing;
        }
        batch.failure = Some(Completion::Failed {
            context: entry.op_context,
            released: entry.flags & u64::from(FI_MULTI_RECV) != 0,
            code: entry.err,
        });
        // What ended behind it, this read has not shown.
        Read::Some
    }
}

/// Completions that are read at a time: a window of messages. Over shm each read lets messages into
/// the queue, for which it excludes their sender; so one that brings many is cheaper than several.
const BATCH: usize = WINDOW as usize;

/// What a read of the queue has brought, in its order.
pub(crate) struct Batch {
    entries: Box<[MaybeUninit<fi_cq_data_entry>; BATCH]>,
    /// The next entry to look at, and how many there are.
    next: usize,
    found: usize,
    /// The end of a buffer that came with the message before.
    released: Option<Completion>,
    failure: Option<Completion>,
}

impl Batch {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let entries = Box::new([const { MaybeUninit::uninit() }; BATCH]);
        Self { entries, next: 0, found: 0, released: None, failure: None }
    }

    /// How many entries have not been looked at.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.found - self.next
    }

    /// Whether nothing is left.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && self.released.is_none() && self.failure.is_none()
    }

    /// Takes the next one.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Completion> {
        if self.released.is_some() {
            return self.released.take();
        }
        while self.next < self.found {
            // SAFETY: libfabric has written so many.
            let entry = unsafe { self.entries[self.next].assume_init_ref() };
            self.next += 1;
            let (first, released) = completions_of(entry);
            if first.is_some() {
                self.released = released;
                return first;
            }
            if released.is_some() {
                return released;
            }
        }
        self.failure.take()
    }
}

/// A message may come with the end of its buffer.
#[inline]
fn completions_of(entry: &fi_cq_data_entry) -> (Option<Completion>, Option<Completion>) {
    let (context, has) = (entry.op_context, |flag| entry.flags & u64::from(flag) != 0);
    let mark = has(FI_REMOTE_CQ_DATA).then_some(entry.data);
    if has(FI_REMOTE_WRITE) {
        (mark.map(|mark| Completion::Landed { mark }), None)
    } else if has(FI_RMA) {
        (Some(Completion::Moved { context }), None)
    } else if has(FI_SEND) {
        (Some(Completion::Sent { context }), None)
    } else {
        let received = Completion::Received { bytes: entry.buf.cast(), len: entry.len, mark };
        let released = has(FI_MULTI_RECV).then_some(Completion::Released { context });
        ((has(FI_RECV) && entry.len > 0).then_some(received), released)
    }
}

/// What an answer of a reading function says of the queue, if it is not the number of entries.
fn fault(answer: isize) -> Option<i32> {
    let code = i32::try_from(-answer).ok()?;
    (code > 0 && code != FI_EAGAIN as i32 && code != libc::EINTR).then_some(code)
}

/// # Safety
/// The domain is open.
unsafe fn open_cq(domain: *mut fid_domain, kind: fi_wait_obj) -> Result<*mut fid_cq, i32> {
    // SAFETY: all zeros is a value of this plain struct.
    let mut attributes: fi_cq_attr = unsafe { std::mem::zeroed() };
    attributes.format = FI_CQ_FORMAT_DATA;
    attributes.wait_obj = kind;
    let mut cq = ptr::null_mut();
    // SAFETY: the caller's promise; the attributes outlive the call.
    let code = unsafe {
        let open = (*(*domain).ops).cq_open.ok_or(libc::ENOSYS)?;
        open(domain, &mut attributes, &mut cq, ptr::null_mut())
    };
    if code == 0 { Ok(cq) } else { Err(-code) }
}

/// The descriptor of an open queue with such a wait object, whose head this is.
fn descriptor(head: *mut fid) -> Option<RawFd> {
    let mut fd: RawFd = -1;
    // SAFETY: the object is open; one with this kind of wait object writes an int.
    let code = unsafe {
        let control = (*(*head).ops).control?;
        control(head, FI_GETWAIT as i32, (&raw mut fd).cast())
    };
    (code == 0 && fd >= 0).then_some(fd)
}
