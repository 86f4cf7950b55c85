//! The frames of all receive queues of an interface: a socket of each window is at each of them.

use crate::eth::frames::Frames;
use crate::process::Process;
use lapis_adapters::eth::pool::Layout;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

/// See the module. There is at least one queue.
#[derive(Debug)]
pub(crate) struct Lanes(Vec<Frames>);

impl Lanes {
    /// Frames of so many queues, with as many in all as one queue would have; see [`Frames::make`].
    pub(crate) fn make(
        interface: u32,
        queues: u32,
        layout: Layout,
        (native, in_parts): (bool, bool),
        busy_poll: u32,
    ) -> io::Result<Self> {
        let one = |queue| Frames::make((interface, queue), layout, (native, in_parts), busy_poll);
        (0..queues).map(one).collect::<io::Result<_>>().map(Self)
    }

    pub(crate) fn layout(&self) -> Layout {
        self.0[0].layout()
    }

    /// The driver moves frames of all queues itself.
    pub(crate) fn zero_copy(&self) -> bool {
        self.0.iter().all(|frames| frames.zero_copy)
    }

    /// See [`Frames::is_idle`].
    pub(crate) fn is_idle(&self) -> bool {
        self.0.iter().all(Frames::is_idle)
    }

    /// See [`Frames::is_settled`].
    pub(crate) fn is_settled(&self) -> bool {
        self.0.iter().all(Frames::is_settled)
    }

    /// See [`Frames::is_kept`].
    pub(crate) fn is_kept(&self) -> bool {
        self.0.iter().any(Frames::is_kept)
    }

    /// A window's sockets, by queue, each with the memory of the queue's frames.
    pub(crate) fn open(&mut self, window: u32) -> io::Result<Vec<(OwnedFd, OwnedFd)>> {
        let home = window % self.0.len() as u32;
        let open =
            |(queue, frames): (u32, &mut Frames)| Ok((frames.open(window, queue == home)?, frames.memory()?));
        (0..).zip(&mut self.0).map(open).collect()
    }

    /// Datagrams that a window's task says it has taken out.
    pub(crate) fn taken(&self, window: u32) -> u64 {
        self.0.iter().map(|frames| frames.taken(window)).sum()
    }

    /// Frames to a window for which there was no room.
    pub(crate) fn lost(&self, window: u32) -> u64 {
        self.0.iter().map(|frames| frames.lost(window)).sum()
    }

    /// See [`Frames::close`].
    pub(crate) fn close(&mut self, window: u32, lives: Option<&Process>) {
        self.0.iter_mut().for_each(|frames| frames.close(window, lives));
    }

    /// See [`Frames::still_used_by`].
    pub(crate) fn still_used_by(&self, window: u32) -> Option<&Process> {
        self.0.first()?.still_used_by(window)
    }

    /// See [`Frames::resume`]: by queue.
    pub(crate) fn resume(&mut self, window: u32) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter_mut().filter_map(move |frames| frames.resume(window))
    }

    /// See [`Frames::settle`].
    pub(crate) fn settle(&mut self) {
        self.0.iter_mut().for_each(Frames::settle);
    }

    /// See [`Frames::settles_in`].
    pub(crate) fn settles_in(&self) -> Option<Duration> {
        self.0.iter().filter_map(Frames::settles_in).min()
    }
}
