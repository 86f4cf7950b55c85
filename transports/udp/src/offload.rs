//! Whether batches go to the kernel in one call, which cuts them into datagrams (`UDP_SEGMENT`).
//!
//! A refusal says nothing of the next batch. The kernel looks at the batch's length, the route's
//! MTU and what the route's device can do; a socket serves many routes, and routes change. So after
//! a refusal batches go datagram by datagram for a while only, which doubles with each refusal in a
//! row. Where all are refused, one call in some hundreds is in vain.

/// So many batches at most go datagram by datagram before one is tried again.
const MOST: u32 = 512;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offload {
    /// The kernel knows it.
    is_known: bool,
    /// So many batches went, or go, datagram by datagram after the last refusal; 0: the last batch
    /// that was tried was taken.
    pause: u32,
    /// So many of them are left.
    left: u32,
}

impl Offload {
    pub(crate) fn new(is_known: bool) -> Self {
        Self { is_known, pause: 0, left: 0 }
    }

    /// Whether the kernel takes batches, as far as the last one tells.
    pub(crate) fn works(self) -> bool {
        self.is_known && self.pause == 0
    }

    /// Whether this batch is to go in one call.
    #[inline]
    pub(crate) fn is_due(&mut self) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return false;
        }
        self.is_known
    }

    /// The kernel has taken a batch.
    #[inline]
    pub(crate) fn note_taken(&mut self) {
        self.pause = 0;
    }

    /// The kernel does not cut a batch.
    #[cold]
    pub(crate) fn note_refused(&mut self) {
        self.pause = (2 * self.pause).clamp(1, MOST);
        self.left = self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many batches go datagram by datagram until one is tried.
    fn apart(offload: &mut Offload) -> u32 {
        (0..).find(|_| offload.is_due()).expect("one is tried in the end")
    }

    #[test]
    fn batches_that_are_refused_are_tried_ever_more_seldom_until_one_is_taken() {
        let mut offload = Offload::new(true);
        assert_eq!(apart(&mut offload), 0);
        let mut last = 0;
        for _ in 0..20 {
            offload.note_refused();
            assert!(!offload.works());
            let now = apart(&mut offload);
            assert!(now == (2 * last).clamp(1, MOST), "{now} after {last}");
            last = now;
        }
        offload.note_taken();
        assert!(offload.works() && apart(&mut offload) == 0);
        offload.note_refused();
        assert_eq!(apart(&mut offload), 1, "an old refusal does not count");
    }

    #[test]
    fn a_kernel_that_does_not_know_batches_gets_none() {
        let mut offload = Offload::new(false);
        assert!(!offload.works() && !offload.is_due());
    }
}
