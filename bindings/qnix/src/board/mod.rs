//! One write for all receivers of one host.
//!
//! Each process has a board in memory that the other processes of its host map: a ring of records
//! which it alone writes, and a ring of bytes for what is too long for a record. A record says whom
//! it is for; all of them read it in place. A record is not overwritten before all its readers have
//! marked it as read on their own boards. If there is no room for a record, its writer does not
//! wait: messages carry its content.
//!
//! ```text
//! | who looks | how far the owner has read the others | words | records | bytes |
//! ```
//!
//! A process that waits for a record of somebody looks at the boards itself. Whoever shows a record
//! asks those whom it is for whether they look, and sends those who don't a message that makes them
//! look, unless one is on its way.

mod flags;
mod order;
mod words;
mod writer;

pub(crate) use writer::{Content, Writer, places};

use flags::{Found, Head, Watch};
use lapis_collectives::lines::LINE;
use lapis_core::Context;
use lapis_core::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering, membarrier};
use std::sync::Arc;

/// Tasks of a host that boards serve: a record has a bit for each.
const MOST: usize = 64;

/// Records of a board.
const SLOTS: u64 = 64;

/// Bytes for what is too long for a record: two of the longest messages.
const BYTES: usize = 2 * crate::abi::SEND_MAX;

const PAGE: usize = 4096;

/// So many looks of a wait that expects nothing on boards bring one at them: a line of each task of
/// the host.
const SELDOM: u32 = 16;

/// What stands in a record behind its head. A word follows for each task of the host but the
/// writer, with its number of the message, and then the data if it is short, or where on the board
/// it is: with 8 bytes for seven others all of it is one line of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Fields {
    /// The data's length, and [`ENTERED`].
    len: u32,
    root: u32,
    tag: i32,
}

/// Not a message for Receive Contexts: a barrier has begun.
const ENTERED: u32 = 1 << 31;

/// Where things lie on the boards of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Places {
    tasks: usize,
    words: usize,
    slots: usize,
    slot: usize,
    /// Within a record.
    data: usize,
    bytes: usize,
    len: usize,
}

impl Places {
    fn of(tasks: usize) -> Self {
        let numbers = tasks.saturating_sub(1) * size_of::<u32>();
        let data = (size_of::<Head>() + size_of::<Fields>() + numbers).next_multiple_of(8);
        let slot = (data + LINE).next_multiple_of(LINE);
        let words = LINE + (tasks * 8).next_multiple_of(LINE);
        let slots = words + words::BYTES;
        let bytes = (slots + SLOTS as usize * slot).next_multiple_of(PAGE);
        Self { tasks, words, slots, slot, data, bytes, len: bytes + BYTES }
    }

    /// Whether so many bytes of data stand in the record itself.
    fn are_in_record(&self, len: usize) -> bool {
        len <= self.slot - self.data
    }

    /// Which of the words of a writer's record is a reader's.
    fn number_of(reader: usize, writer: usize) -> usize {
        reader - usize::from(reader > writer)
    }
}

/// The boards of a host, as one of its processes sees them.
pub(crate) struct Boards {
    places: Places,
    /// The host's tasks, ascending.
    tasks: Vec<u32>,
    me: usize,
    bases: Vec<*mut u8>,
    /// Whether some task of the host has no part in barriers without fences.
    fences: bool,
    /// Barriers of this process that wait for words.
    awaited: AtomicUsize,
    /// Looks of waits that expect nothing on boards. Changed under the lock of the state.
    looks: AtomicU32,
}

// SAFETY: the memory behind the pointers is shared between processes anyway: words are atomics, and
// the rest has one writer, whom flags keep from its readers.
unsafe impl Send for Boards {}
// SAFETY: threads of a process are kept apart as processes are; `take` and the writer are used
// under the mutex of the process's state.
unsafe impl Sync for Boards {}

/// A record for this process, in the memory of its writer until [`Boards::done`].
pub(crate) struct Record<'a> {
    /// The writer's place on the host.
    from: usize,
    pub(crate) content: Content,
    /// This process's number of the message.
    pub(crate) number: u32,
    pub(crate) data: &'a [u8],
}

/// The tasks of this machine, ascending, itself included.
fn of_machine(context: &Context) -> Vec<u32> {
    let mine = context.host_of(context.task());
    (0..context.tasks()).filter(|task| context.host_of(*task) == mine).collect()
}

/// Memory for this process's board: its address, 0 if there is none.
pub(crate) fn memory(context: &Context) -> u64 {
    let tasks = of_machine(context).len();
    if !(2..=MOST).contains(&tasks) {
        return 0;
    }
    // It goes with the context: others may read it up to its end.
    context.alloc_raw(Places::of(tasks).len).map_or(0, |memory| memory.addr)
}

/// A host as one of its processes knows it: tasks of one machine that see each other's boards. Two
/// containers of a machine may be two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its first task.
    pub(crate) first: u32,
    /// Depends on all of its tasks; 0: there are no boards.
    sum: u64,
}

impl Host {
    /// Bytes of [`to_bytes`](Self::to_bytes).
    pub(crate) const SIZE: usize = 12;

    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let (first, sum) = (self.first.to_le_bytes(), self.sum.to_le_bytes());
        std::array::from_fn(|at| if at < 4 { first[at] } else { sum[at - 4] })
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        Self {
            first: u32::from_le_bytes(std::array::from_fn(byte)),
            sum: u64::from_le_bytes(std::array::from_fn(|at| byte(at + 4))),
        }
    }

    /// Of a task that sees nobody's board.
    pub(crate) fn alone(task: u32) -> Self {
        Self { first: task, sum: 0 }
    }

    fn of(tasks: &[u32]) -> Self {
        let sum = tasks.iter().fold(0xcbf2_9ce4_8422_2325u64, |sum, task| {
            (sum ^ u64::from(*task)).wrapping_mul(0x100_0000_01b3)
        });
        Self { first: tasks[0], sum: sum.max(1) }
    }
}

impl Boards {
    /// The boards that are mapped here, from the addresses of all tasks' boards; `None` if this
    /// process would be alone.
    pub(crate) fn map(context: &Context, addresses: &[u64]) -> Option<Self> {
        let mut tasks = of_machine(context);
        let len = Places::of(tasks.len()).len as u64;
        let base = |task: u32| {
            let address = *addresses.get(task as usize)?;
            let base = if task == context.task() {
                std::ptr::with_exposed_provenance_mut(address as usize)
            } else {
                context.direct(task, address, len)?
            };
            Some(base).filter(|base| address != 0 && base.addr().is_multiple_of(LINE))
        };
        tasks.retain(|task| base(*task).is_some());
        let bases: Vec<*mut u8> = tasks.iter().filter_map(|task| base(*task)).collect();
        let me = tasks.iter().position(|task| *task == context.task())?;
        let places = Places::of(tasks.len());
        (tasks.len() > 1).then(|| Self {
            places,
            tasks,
            me,
            bases,
            fences: true,
            awaited: AtomicUsize::new(0),
            looks: AtomicU32::new(0),
        })
    }

    /// How many barriers of this process wait for words of others.
    #[inline]
    pub(crate) fn awaited(&self) -> usize {
        self.awaited.load(Ordering::Relaxed)
    }

    /// Whether it is time for a wait to look at boards on which it expects nothing. It has looked
    /// at everything else. The state is locked.
    #[inline(always)]
    pub(crate) fn is_look_due(&self) -> bool {
        let looks = self.looks.load(Ordering::Relaxed).wrapping_add(1);
        self.looks.store(looks, Ordering::Relaxed);
        looks.is_multiple_of(SELDOM)
    }

    /// The state is locked.
    pub(crate) fn set_awaited(&self, barriers: usize) {
        self.awaited.store(barriers, Ordering::Relaxed);
    }

    /// Says, before the others [agree](Self::agree), that this process stops looking seldom.
    pub(crate) fn be_orderly(&self) {
        if membarrier::register() {
            self.watch(self.me).set_orderly();
        }
    }

    /// All tasks of the host have said by now whether they stop looking seldom.
    pub(crate) fn agree(&mut self) {
        self.fences = !(0..self.tasks.len()).all(|place| self.watch(place).is_orderly());
    }

    /// This host, for the others to compare.
    pub(crate) fn host(&self) -> Host {
        Host::of(&self.tasks)
    }

    /// Whether all tasks of the host know it as this one does, by what each task says.
    pub(crate) fn are_agreed(&self, hosts: &[Host]) -> bool {
        self.tasks.iter().all(|task| hosts.get(*task as usize) == Some(&self.host()))
    }

    /// A task's place on the host, if it is on this one.
    pub(crate) fn place(&self, task: u32) -> Option<usize> {
        self.tasks.binary_search(&task).ok()
    }

    /// The place of another task than this one, if it is on this host.
    pub(crate) fn place_of_other(&self, task: u32) -> Option<usize> {
        self.place(task).filter(|place| *place != self.me)
    }

    /// The task at a place.
    pub(crate) fn task(&self, place: usize) -> u32 {
        self.tasks[place]
    }

    fn slot(&self, place: usize, record: u64) -> *mut u8 {
        let at = self.places.slots + (record % SLOTS) as usize * self.places.slot;
        self.bases[place].wrapping_add(at)
    }

    fn head(&self, place: usize, record: u64) -> &Head {
        // SAFETY: within the board, which is mapped as long as the context lives and holds zeroes
        // or what its owner stores; atomics alone.
        unsafe { &*self.slot(place, record).cast() }
    }

    fn watch(&self, place: usize) -> &Watch {
        // SAFETY: boards begin with it; mapped as `head` says.
        unsafe { &*self.bases[place].cast() }
    }

    /// The number of the next record that the task at `reader` wants to read of that at `writer`.
    fn next(&self, reader: usize, writer: usize) -> &AtomicU64 {
        // SAFETY: within the board of the reader, as `head` says.
        unsafe { &*self.bases[reader].wrapping_add(LINE + writer * 8).cast() }
    }

    /// Whether this process looks without being asked to.
    #[inline]
    pub(crate) fn is_watching(&self) -> bool {
        self.watch(self.me).is_looking()
    }

    /// It begins to do so, with the next look. The state is locked, here and in `end_watching`.
    pub(crate) fn begin_watching(&self) {
        self.looks.store(SELDOM - 1, Ordering::Relaxed);
        self.watch(self.me).begin();
    }

    /// It ends, and looks once more afterwards.
    pub(crate) fn end_watching(&self) {
        self.watch(self.me).end(self.fences);
    }

    /// A message has asked this process to look, or whoever was about to send one may be gone. It
    /// looks afterwards.
    pub(crate) fn answer(&self) {
        self.watch(self.me).answer(self.fences);
    }

    /// Those tasks at `places` that have to be asked to look at what has just been shown.
    #[inline]
    fn asleep(&self, places: u64) -> impl Iterator<Item = u32> {
        order::settle(self.fences);
        writer::places(places).filter(|place| self.watch(*place).must_ask()).map(|place| self.task(place))
    }

    /// Whether a board shows something new, for whomever it is.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        (0..self.tasks.len()).any(|from| {
            let next = self.next(self.me, from).load(Ordering::Relaxed);
            from != self.me && self.head(from, next).has_news(next)
        })
    }

    /// The next record for this process. One thread at a time takes and gives back.
    pub(crate) fn take(&self) -> Option<Record<'_>> {
        (0..self.tasks.len()).filter(|from| *from != self.me).find_map(|from| self.take_from(from))
    }

    fn take_from(&self, from: usize) -> Option<Record<'_>> {
        let cursor = self.next(self.me, from);
        loop {
            let next = cursor.load(Ordering::Relaxed);
            // What is passed by was for others, who keep its writer from writing over it.
            let behind = match self.head(from, next).find(next, self.me) {
                Found::Nothing => return None,
                Found::Others => next + 1,
                Found::Later(record) => record + 1 - SLOTS,
                Found::Mine => return Some(self.record(from, next)),
            };
            // SYNC: pairs with the Acquire load in `Writer::reclaim`, which may see this number in
            // place of `done`'s, which said that a record of this process's had been read.
            cursor.store(behind, Ordering::Release);
        }
    }

    fn record(&self, from: usize, record: u64) -> Record<'_> {
        let (slot, places) = (self.slot(from, record), &self.places);
        let behind = slot.wrapping_add(size_of::<Head>());
        let numbers = behind.wrapping_add(size_of::<Fields>()).cast::<u32>();
        // SAFETY: the record is complete and for this process: its writer leaves it alone until
        // `done`. It lies within the board.
        let (fields, number) =
            unsafe { (behind.cast::<Fields>().read(), numbers.add(Places::number_of(self.me, from)).read()) };
        let (len, data) = ((fields.len & !ENTERED) as usize, slot.wrapping_add(places.data));
        let data = if places.are_in_record(len) {
            std::ptr::slice_from_raw_parts(data, len)
        } else {
            // SAFETY: the place lies in the record, which its writer leaves alone until `done`.
            let at = unsafe { data.cast::<u64>().read() } as usize;
            // What leads out of the board would be a defect of the writer; nothing is read.
            let sound = at <= places.len && len <= places.len - at;
            let (at, len) = if sound { (at, len) } else { (0, 0) };
            std::ptr::slice_from_raw_parts(self.bases[from].wrapping_add(at), len)
        };
        // SAFETY: within the board, and left alone until `done`, as said above.
        Record { from, content: Content::of(&fields), number, data: unsafe { &*data } }
    }

    /// A record has been read.
    pub(crate) fn done(&self, from: usize) {
        let cursor = self.next(self.me, from);
        // SYNC: pairs with the Acquire load in `Writer::reclaim`: what is written there next comes
        // after what was read.
        cursor.store(cursor.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}

impl Record<'_> {
    /// The writer's place on the host.
    pub(crate) fn from(&self) -> usize {
        self.from
    }
}

/// This process's board and those of its host.
pub(crate) fn pair(boards: Boards) -> (Arc<Boards>, Writer) {
    let boards = Arc::new(boards);
    (Arc::clone(&boards), Writer::new(boards))
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests;
