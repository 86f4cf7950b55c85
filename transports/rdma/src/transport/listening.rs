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
        // Its end would be there to read until the next sleep is prepared.
        if !self.watchful && std::mem::take(&mut self.napping) {
            self.bell.nap(None);
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
    use crate::transport::rig::{self, Job};

    #[test]
    fn a_queue_that_cannot_be_watched_is_said_once_with_its_error() {
        let Some(mut rdma) = rig::task(0, 1, rig::ONE) else { return };
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
        let said = rig::said();
        let [line] = &said[..] else { panic!("{said:?}") };
        assert!(line.contains("poll instead") && line.contains("os error 17"), "{line}");
        rdma.bell.leave(fd);
        assert!(rdma.listen(), "tried again with each sleep");
    }
    #[test]
    fn a_nap_ends_with_the_sleep_that_it_was_for() {
        let Some(mut job) = Job::open(2, rig::ONE) else { return };
        assert!(job.send(1, 0), "its number is to be said after a while");
        let prepare = |job: &mut Job| {
            job.tasks[1].prepare_to_sleep();
        };
        job.until("a nap", prepare, |job| job.tasks[1].napping);
        assert!(job.tasks[1].bell.naps());
        job.tasks[1].stop_listening();
        assert!(!job.tasks[1].bell.naps());
    }
}
