//! Whether arrivals end sleeps.

use super::Rdma;
use std::io;

impl Rdma {
    /// From now on arrivals end sleeps. False: not all would.
    ///
    /// Only while somebody may sleep: an arrival wakes each set of descriptors that it is a member
    /// of, in the time of whoever sends.
    pub(super) fn listen(&mut self) -> bool {
        if self.listens {
            return true;
        }
        let mut fds = self.rails.iter_mut().filter_map(|rail| rail.endpoint.queue().fd());
        self.listens = true;
        let Err(why) = fds.try_for_each(|fd| self.bell.watch(fd)) else { return true };
        self.leave_queues();
        self.say_deaf(&why);
        false
    }

    /// Nobody sleeps. A thread may in interrupt mode, without a word.
    pub(super) fn stop_listening(&mut self) {
        if self.listens && !self.watchful {
            self.leave_queues();
        }
    }

    fn leave_queues(&mut self) {
        self.listens = false;
        for fd in self.rails.iter_mut().filter_map(|rail| rail.endpoint.queue().fd()) {
            self.bell.leave(fd);
        }
    }

    /// Tells the user once why threads that should sleep keep a core busy.
    #[cold]
    fn say_deaf(&mut self, why: &io::Error) {
        if !std::mem::replace(&mut self.said_deaf, true) {
            self.host.warn(format_args!(
                "threads that wait can't sleep until something arrives, and poll instead: libfabric's completion \
                 queue can't be watched by epoll: {why}; is fs.epoll.max_user_watches too low?"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::transport::open;
    use lapis_core::sync::blocking::Mutex;
    use lapis_core::transport::abi::HostTable;
    use lapis_core::transport::{Host, OpenParams};

    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    static HOST: HostTable =
        HostTable { struct_size: size_of::<HostTable>() as u32, abi_major: 1, log, log_enabled, option };

    unsafe extern "C" fn log(_: u32, _: *const u8, _: usize, text: *const u8, len: usize) {
        // SAFETY: the text is readable for its length.
        let text = unsafe { std::slice::from_raw_parts(text, len) };
        SAID.lock().unwrap().push(String::from_utf8_lossy(text).into_owned());
    }

    unsafe extern "C" fn log_enabled(level: u32, _: *const u8, _: usize) -> i32 {
        i32::from(level <= 2)
    }

    unsafe extern "C" fn option(name: *const u8, len: usize, into: *mut u8, room: usize) -> isize {
        // SAFETY: the name is readable for its length.
        let value: &[u8] = match unsafe { std::slice::from_raw_parts(name, len) } {
            b"LAPIS_RDMA_PROVIDER" => b"tcp;ofi_rxm",
            b"LAPIS_RDMA_ADDR" => b"127.0.0.1",
            _ => return -1,
        };
        // SAFETY: the caller has so much room there.
        unsafe { into.copy_from_nonoverlapping(value.as_ptr(), value.len().min(room)) };
        value.len() as isize
    }

    #[test]
    fn a_queue_that_cannot_be_watched_is_said_once_with_its_error() {
        // SAFETY: the table lives as long as the process.
        let host = unsafe { Host::from_raw(&raw const HOST, "lapis::rdma") };
        let params = OpenParams {
            task: 0,
            tasks: 1,
            context: 0,
            incarnation: 0,
            job: "deaf",
            secret: &[7; 32],
            interrupts: false,
        };
        let (mut rdma, _waiter) = match open::open(host, &params) {
            Ok(opened) => opened,
            Err(e) => {
                eprintln!("SKIPPED: {e}");
                return;
            }
        };
        assert!(rdma.listen());
        rdma.stop_listening();
        // The kernel refuses a member that is one already.
        let fd = rdma.rails[0].endpoint.queue().fd().expect("a descriptor");
        rdma.bell.watch(fd).unwrap();
        for _ in 0..2 {
            assert!(!rdma.listen(), "nothing would wake a sleeper");
            assert!(!rdma.listens);
            rdma.bell.watch(fd).unwrap();
        }
        let said = std::mem::take(&mut *SAID.lock().unwrap());
        let [line] = &said[..] else { panic!("{said:?}") };
        assert!(line.contains("poll instead") && line.contains("os error 17"), "{line}");
        rdma.bell.leave(fd);
        assert!(rdma.listen(), "tried again with each sleep");
    }
}
