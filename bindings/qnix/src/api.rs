//! The safe layer: operations own their buffers until they have ended.
//!
//! The calls of the text are methods of [`Process`]; contexts, physical addresses and doorbells are
//! what [`Sending`] and [`Receiving`] take care of. All methods may be called from any thread,
//! handlers of core's excepted.

use crate::abi::SEND_MAX;
use crate::contexts::{Assignment, Slot};
use crate::environment;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::names::Name;
use crate::node::Node;
use crate::post::Form;
use crate::segments::Segments;
use std::mem::ManuallyDrop;

/// This process as a member of its application.
pub struct Process {
    node: Node,
    ended: bool,
}

/// A message being sent. If dropped before [`wait`](Self::wait), its buffer is leaked.
#[must_use = "a message that nobody waits for keeps its context"]
pub struct Sending<'a> {
    node: &'a Node,
    at: usize,
    data: ManuallyDrop<Vec<u8>>,
}

/// A buffer that waits for a message. If dropped before [`wait`](Self::wait), the buffer is leaked.
#[must_use = "a buffer that nobody waits for keeps its context"]
pub struct Receiving<'a> {
    node: &'a Node,
    at: usize,
    buffer: ManuallyDrop<Vec<u8>>,
}

impl Process {
    /// Joins the cluster that the environment announces, with this process's name and the number of
    /// processes of its application. Returns when all processes of the cluster have called it.
    ///
    /// ```
    /// let (me, size) = qnix::Process::name_of_environment()?;
    /// let process = qnix::Process::join(me, size)?;
    /// println!("({}, {})", process.name().application, process.name().process);
    /// process.end()?;
    /// # Ok::<(), qnix::Error>(())
    /// ```
    ///
    /// # Errors
    /// Inconsistent names or sizes; a job that can't be joined.
    #[doc(alias = "qx_init")]
    pub fn join(name: Name, application_size: i32) -> Result<Self> {
        Ok(Self { node: Node::join(name, application_size)?, ended: false })
    }

    /// The name that the environment gives this process, and the size of its application.
    ///
    /// # Errors
    /// QX_APPLICATIONS or another variable is invalid.
    #[doc(alias = "qx_whoami")]
    pub fn name_of_environment() -> Result<(Name, i32)> {
        environment::name()
    }

    /// This process's name.
    pub fn name(&self) -> Name {
        self.node.name
    }

    /// Sends `data`, at most 2 MiB, to a process. Returns at once; the message waits without loss
    /// until it is received.
    ///
    /// ```
    /// # let me = qnix::Name { application: 1, process: 0 };
    /// # let process = qnix::Process::join(me, 1)?;
    /// let sending = process.send(me, 3, b"to myself".to_vec())?;
    /// let (buffer, received) = process.receive(me, 3, vec![0; 64])?.wait()?;
    /// assert_eq!(&buffer[..received], b"to myself");
    /// let data = sending.wait()?; // The buffer comes back.
    /// # assert_eq!(data.len(), 9);
    /// # process.end()?;
    /// # Ok::<(), qnix::Error>(())
    /// ```
    ///
    /// # Errors
    /// The process does not exist or has ended; no context is free; too much data.
    #[doc(alias = "qx_send")]
    #[doc(alias = "qx_send_short")]
    pub fn send(&self, to: Name, tag: i32, data: Vec<u8>) -> Result<Sending<'_>> {
        self.sending(Some(to), tag, data, |at| self.node.send(at, Form::Pages))
    }

    /// Sends to all other members of a group; an application's number is the group of its
    /// processes.
    ///
    /// # Errors
    /// As for [`send`](Self::send); the group is not known to this process.
    #[doc(alias = "qx_broadcast")]
    pub fn broadcast(&self, group: i32, tag: i32, data: Vec<u8>) -> Result<Sending<'_>> {
        self.sending(None, tag, data, |at| self.node.broadcast(at, group, Form::Pages))
    }

    /// Sends to several processes. For those of one host it is written once.
    ///
    /// ```
    /// # let me = qnix::Name { application: 1, process: 0 };
    /// # let process = qnix::Process::join(me, 1)?;
    /// let everybody = [me];
    /// process.multicast(&everybody, 5, vec![42])?.wait()?;
    /// assert_eq!(process.receive(me, 5, vec![0])?.wait()?, (vec![42], 1));
    /// # process.end()?;
    /// # Ok::<(), qnix::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`send`](Self::send); a process is named twice.
    #[doc(alias = "qx_multicast")]
    pub fn multicast(&self, to: &[Name], tag: i32, data: Vec<u8>) -> Result<Sending<'_>> {
        self.sending(None, tag, data, |at| self.node.multicast(at, to, Form::Pages))
    }

    fn sending(
        &self,
        peer: Option<Name>,
        tag: i32,
        data: Vec<u8>,
        post: impl FnOnce(usize) -> Result,
    ) -> Result<Sending<'_>> {
        let segments = segments(data.as_slice())?;
        let task = peer.and_then(|peer| self.node.names.find(peer));
        let (peer, len) = (peer.unwrap_or_default(), data.len());
        let wanted = Assignment { peer, task, tag, doorbell: true, len, ..Assignment::default() };
        let lend = |_: &mut Memory, slot: &mut Slot| {
            slot.lend(segments);
            Ok(())
        };
        let at = self.node.set_send(wanted, lend)?;
        match post(at) {
            Ok(()) => Ok(Sending { node: &self.node, at, data: ManuallyDrop::new(data) }),
            Err(error) => {
                self.node.lock().sends.release(at);
                Err(error)
            }
        }
    }

    /// Receives the next message from process `from` with tag `tag` into `buffer`.
    ///
    /// # Errors
    /// The process does not exist; no context is free; the buffer exceeds 2 MiB.
    #[doc(alias = "qx_receive")]
    pub fn receive(&self, from: Name, tag: i32, mut buffer: Vec<u8>) -> Result<Receiving<'_>> {
        let segments = segments(buffer.as_mut_slice())?;
        let wanted = Assignment { tag, doorbell: true, len: buffer.len(), ..Assignment::default() };
        let lend = |_: &mut Memory, slot: &mut Slot| {
            slot.lend(segments);
            Ok(())
        };
        let at = self.node.set_receive(from, wanted, lend)?;
        self.node.receive(at)?;
        Ok(Receiving { node: &self.node, at, buffer: ManuallyDrop::new(buffer) })
    }

    /// Joins a group of `size` processes of any applications. Returns when all have joined.
    ///
    /// ```
    /// # let me = qnix::Name { application: 1, process: 0 };
    /// # let process = qnix::Process::join(me, 1)?;
    /// process.join_group(77, 1)?;
    /// process.barrier(77)?;
    /// assert_eq!(process.join_group(77, 1), Err(qnix::Error::GroupExists));
    /// # process.end()?;
    /// # Ok::<(), qnix::Error>(())
    /// ```
    ///
    /// # Errors
    /// The group exists already; other processes gave another size.
    #[doc(alias = "qx_join_group")]
    pub fn join_group(&self, group: i32, size: i32) -> Result {
        self.command(|at| self.node.join_group(at, group, size))
    }

    /// Barrier: waits until all members of a group have called it.
    ///
    /// # Errors
    /// The group does not exist, or this process is no member; a member has ended.
    #[doc(alias = "qx_barrier")]
    pub fn barrier(&self, group: i32) -> Result {
        let size = self.node.lock().groups.get(group)?.members.len() as i32;
        self.command(|at| self.node.barrier(at, group, size))
    }

    fn command(&self, post: impl FnOnce(usize) -> Result) -> Result {
        self.sending(None, 0, Vec::new(), post)?.wait().map(|_| ())
    }

    /// Leaves the job once all sends have ended.
    ///
    /// # Errors
    /// Called from a handler.
    #[doc(alias = "qx_end")]
    pub fn end(mut self) -> Result {
        self.ended = true;
        self.node.end()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            // There is nobody to tell.
            let _ = self.node.end();
        }
    }
}

fn segments(bytes: *const [u8]) -> Result<Segments> {
    if bytes.len() <= SEND_MAX { Ok(Segments::of(bytes)) } else { Err(Error::Length) }
}

impl Sending<'_> {
    /// Waits until the buffer may be reused, and returns it.
    ///
    /// # Errors
    /// The receiver has ended.
    pub fn wait(self) -> Result<Vec<u8>> {
        let outcome = self.node.poll::<true>(self.at);
        let data = ManuallyDrop::into_inner(self.data);
        outcome.map(|_| data)
    }
}

impl Receiving<'_> {
    /// Waits for the message. Returns the buffer and the number of bytes received.
    ///
    /// # Errors
    /// The message was longer than the buffer; the sender has ended.
    pub fn wait(self) -> Result<(Vec<u8>, usize)> {
        let outcome = self.node.poll::<false>(self.at);
        let buffer = ManuallyDrop::into_inner(self.buffer);
        outcome.map(|received| (buffer, received))
    }
}
