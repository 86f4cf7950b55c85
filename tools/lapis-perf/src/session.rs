//! The job as a measurement sees it: two tasks that take part, what they share, and how they keep
//! in step.

use crate::cli::{Cli, Memory};
use anyhow::{Context as _, Result, bail};
use lapis::core::sync::{AtomicU64, CachePadded, Ordering};
use lapis::{
    CompletionHandler, Context, ContextBuilder, Delivery, Destination, HandlerId, Incoming, RemoteMemory, Run,
};
use std::alloc::Layout;
use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Counts a message, and stores it if it did not come in one packet.
pub(crate) const DATA: HandlerId = HandlerId(1);
/// Counts an acknowledgement.
pub(crate) const ACK: HandlerId = HandlerId(2);
/// As [`DATA`], but stores what came in one packet, too.
pub(crate) const COPY: HandlerId = HandlerId(3);

/// A task's part in a measurement.
pub(crate) struct Session {
    pub(crate) context: Context,
    pub(crate) inbox: Arc<Inbox>,
    /// What is sent, put, or got into.
    pub(crate) buffer: Buffer,
    largest: u64,
    transport: Option<String>,
    interrupts: bool,
    /// How long the start of the first context took.
    pub(crate) first_init: Duration,
    targets: [OnceCell<Target>; 2],
    /// Contexts opened beside the first.
    opened: Cell<u32>,
    /// Messages that all batches so far have sent to this task: some may come before this task's
    /// batch begins.
    expected: Cell<u64>,
}

/// What has arrived here.
pub(crate) struct Inbox {
    received: CachePadded<AtomicU64>,
    acknowledged: CachePadded<AtomicU64>,
    empty: CachePadded<AtomicU64>,
    buffer: Buffer,
}

/// Memory that lives until the process ends, so that no operation can outlive it, whatever fails.
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a number pair; whoever accesses the memory answers for it.
unsafe impl Send for Buffer {}
// SAFETY: shared, it is a number pair still.
unsafe impl Sync for Buffer {}

/// Memory of the other task.
pub(crate) struct Target {
    pub(crate) far: RemoteMemory,
    /// The beginning of ours, for the other task.
    near: NonNull<u8>,
    /// Kept so that it lives as long as the session.
    _own: Option<lapis::Memory>,
}

impl Target {
    /// The first word of this task's memory, which the other one puts to.
    pub(crate) fn word(&self) -> &AtomicU64 {
        // SAFETY: at least 64 bytes on pages of their own, which live as long as this value.
        // Whoever changes them at the same time is the other task, by whole words.
        unsafe { self.near.cast().as_ref() }
    }
}

impl Session {
    /// What the start and the end of the process's first context take together.
    fn come_and_go(cli: &Cli) -> Result<Duration> {
        let begin = Instant::now();
        configured(cli.transport.as_deref(), cli.interrupts).init()?.terminate()?;
        Ok(begin.elapsed())
    }

    /// Joins the job.
    pub(crate) fn start(cli: &Cli, largest: u64) -> Result<Self> {
        let first_init = Self::come_and_go(cli)?;
        let context = configured(cli.transport.as_deref(), cli.interrupts).number(1).init()?;
        if context.tasks() < 2 {
            bail!(
                "it takes two tasks to measure what lies between them: start it with \
                 `lapirun -n 2 --bind core lapis-perf {}`",
                cli.benches.join(" ")
            );
        }
        let inbox = Arc::new(Inbox {
            received: CachePadded::default(),
            acknowledged: CachePadded::default(),
            empty: CachePadded::default(),
            buffer: Buffer::new(largest as usize)?,
        });
        let here = Arc::clone(&inbox);
        context.set_handler(DATA, move |_, message| here.take(message))?;
        let here = Arc::clone(&inbox);
        context.set_handler(COPY, move |_, message| {
            here.store(message);
            here.take(message)
        })?;
        let here = Arc::clone(&inbox);
        context.set_handler(ACK, move |_, _| {
            bump(&here.acknowledged);
            Delivery::bury()
        })?;
        context.gfence()?;
        Ok(Self {
            context,
            inbox,
            buffer: Buffer::new(largest as usize)?,
            largest,
            transport: cli.transport.clone(),
            interrupts: cli.interrupts,
            first_init,
            targets: [const { OnceCell::new() }; 2],
            opened: Cell::new(1),
            expected: Cell::new(0),
        })
    }

    /// Whether this task's clock counts and this task prints.
    pub(crate) fn leads(&self) -> bool {
        self.context.task() == 0
    }

    /// Whether this task is one of the two.
    pub(crate) fn plays(&self) -> bool {
        self.context.task() < 2
    }

    /// The other one of the two.
    pub(crate) fn other(&self) -> u32 {
        1 - self.context.task().min(1)
    }

    /// Gives task 0's value to everybody; all tasks have come here when it returns.
    pub(crate) fn agree(&self, value: u64) -> Result<u64> {
        self.gather(value)?.first().copied().context("an exchange of values gave none")
    }

    /// Everybody's value; all tasks have come here when it returns.
    pub(crate) fn gather(&self, value: u64) -> Result<Vec<u64>> {
        let all = self.context.all_gather(&value.to_le_bytes())?;
        Ok(all.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
    }

    /// Memory of the other task, of a kind, as large as the largest transfer. All tasks ask for the
    /// same kinds in the same order.
    pub(crate) fn target(&self, kind: Memory) -> Result<&Target> {
        let cell = &self.targets[kind as usize];
        if cell.get().is_none() {
            let _ = cell.set(self.make_target(kind)?);
        }
        cell.get().context("memory was made and is not there")
    }

    fn make_target(&self, kind: Memory) -> Result<Target> {
        let len = (self.largest as usize).max(64);
        let (own, near, remote) = match kind {
            Memory::Lapis => {
                let memory = self.context.alloc(len)?;
                let remote = memory.remote();
                // First touches are no part of any figure.
                memory.write(0, &vec![0; len]);
                let near = NonNull::new(memory.as_ptr()).context("memory without an address")?;
                (Some(memory), near, remote)
            }
            Memory::Any => {
                let near = Buffer::new(len)?.base;
                let addr = near.as_ptr().expose_provenance() as u64;
                (None, near, RemoteMemory { task: self.context.task(), addr, len: len as u64 })
            }
        };
        let all = self.context.all_gather(&remote.to_bytes())?;
        let (each, _) = all.as_chunks();
        let far = each.get(self.other() as usize).context("an exchange of addresses left one out")?;
        Ok(Target { far: RemoteMemory::from_bytes(far), near, _own: own })
    }

    /// Messages that the batches so far have sent to this task.
    pub(crate) fn expected_messages(&self) -> u64 {
        self.expected.get()
    }

    /// Notes that a batch has sent so many more.
    pub(crate) fn expect_messages(&self, count: u64) {
        self.expected.set(self.expected.get() + count);
    }

    /// Opens one more context like the first. All tasks do it together.
    pub(crate) fn another_context(&self) -> Result<Context> {
        self.opened.set(self.opened.get() + 1);
        Ok(configured(self.transport.as_deref(), self.interrupts).number(self.opened.get()).init()?)
    }

    /// Leaves the job, once everybody is through.
    pub(crate) fn finish(self) -> Result<()> {
        self.context.gfence()?;
        drop(self.targets);
        Ok(self.context.terminate()?)
    }
}

fn configured(transport: Option<&str>, interrupts: bool) -> ContextBuilder {
    let builder = lapis::builder().interrupts(interrupts);
    match transport {
        Some(name) => builder.set("LAPIS_TRANSPORT", name),
        None => builder,
    }
}

impl Inbox {
    /// Messages that have arrived in full.
    #[inline]
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Acknowledgements that have arrived.
    #[inline]
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Messages without data among those received.
    pub(crate) fn empty(&self) -> u64 {
        self.empty.load(Ordering::Relaxed)
    }

    /// Copies a message that came in one packet.
    #[inline]
    fn store(&self, message: &Incoming<'_>) {
        let Some(data) = message.data().filter(|data| data.len() <= self.buffer.len) else { return };
        // SAFETY: allocated for at least so many bytes, never freed; handlers run one at a time,
        // and nothing else reads or writes there.
        unsafe { self.buffer.base.as_ptr().copy_from_nonoverlapping(data.as_ptr(), data.len()) };
    }

    #[inline]
    fn take(self: &Arc<Self>, message: &Incoming<'_>) -> Delivery {
        if message.data().is_some() {
            if message.len == 0 {
                bump(&self.empty);
            }
            // Everything is here, in place: a program would use it now.
            bump(&self.received);
            return Delivery::bury();
        }
        let here = Arc::clone(self);
        let into = match message.len <= self.buffer.len as u64 {
            true => Destination::Contiguous(self.buffer.base),
            false => Destination::Discard,
        };
        let count = move |_: &Context| bump(&here.received);
        let completion = Some(CompletionHandler::Closure(Box::new(count)));
        Delivery { into, drop: false, completion, run: Run::Inline }
    }
}

/// Adds one. Handlers run under the context's lock, so no other thread adds at the same time.
#[inline]
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

impl Buffer {
    /// On pages of its own, each touched.
    fn new(len: usize) -> Result<Self> {
        let layout = Layout::from_size_align(len.max(64), 4096)?;
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { std::alloc::alloc(layout) });
        let base = base.with_context(|| format!("out of memory: {len} bytes for a buffer"))?;
        // SAFETY: just allocated, of this size.
        unsafe { base.as_ptr().write_bytes(0x5a, layout.size()) };
        Ok(Self { base, len: layout.size() })
    }

    /// First byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.base
    }

    /// The first `len` bytes, to read. Only for the buffer that nothing is written to meanwhile.
    pub(crate) fn bytes(&self, len: u64) -> &[u8] {
        assert!(len <= self.len as u64, "{len} bytes of a buffer of {}", self.len);
        // SAFETY: allocated and filled for at least so many bytes, never freed; a bench either
        // sends from the session's buffer or gets into it, never both at a time.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), len as usize) }
    }
}
