//! Sleeping until the completion queue has something.

use lapis_core::sync::{Arc, AtomicBool, Ordering};
use lapis_core::transport::{TransportError, Waiter};
use rustix::event::{EventfdFlags, epoll, eventfd};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

#[derive(Debug)]
struct Shared {
    set: OwnedFd,
    event: OwnedFd,
    rung: AtomicBool,
}

/// The sleeping half of [`Rdma`](crate::Rdma).
#[derive(Clone, Debug)]
pub struct RdmaWaiter(Arc<Shared>);

impl RdmaWaiter {
    /// One that watches the queue's descriptor if there is one.
    pub(crate) fn new(queue: Option<RawFd>) -> Result<Self, TransportError> {
        let make = || -> rustix::io::Result<Self> {
            let set = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
            let data = epoll::EventData::new_u64(0);
            epoll::add(&set, &event, data, epoll::EventFlags::IN)?;
            if let Some(queue) = queue {
                // SAFETY: the queue, and with it the descriptor, is open during this call.
                let queue = unsafe { BorrowedFd::borrow_raw(queue) };
                epoll::add(&set, queue, data, epoll::EventFlags::IN)?;
            }
            Ok(Self(Arc::new(Shared { set, event, rung: AtomicBool::new(false) })))
        };
        make().map_err(|e| TransportError::Io(format!("watching the completion queue: {e}")))
    }
}

impl Waiter for RdmaWaiter {
    fn wait(&self, timeout_ns: u64) {
        let timeout = Duration::from_nanos(timeout_ns);
        let timeout = rustix::time::Timespec {
            tv_sec: timeout.as_secs().min(1000) as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        let fd = self.0.set.as_fd();
        let mut fds = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
        // Interrupted or not: an early return is allowed.
        let _ = rustix::event::poll(&mut fds, Some(&timeout));
        // SYNC: pairs with the Release store in `wake`.
        if self.0.rung.swap(false, Ordering::Acquire) {
            let _ = rustix::io::read(&self.0.event, &mut [0; 8]);
        }
    }

    fn wake(&self) {
        // SYNC: pairs with the Acquire swap in `wait`.
        self.0.rung.store(true, Ordering::Release);
        let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
    }

    fn fd(&self) -> i32 {
        self.0.set.as_raw_fd()
    }
}
