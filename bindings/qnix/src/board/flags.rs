//! How tasks of a host publish records for each other, and indicate which of them poll.

use super::order::stop;
use lapis_core::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Beside the number in a flag: the next record is being written here. The number stays, or whoever
/// looks meanwhile would not know that this one was for others, and that later ones may be there.
const CHANGING: u64 = 1 << 63;

/// What stands before a record: which one it is, and whom it is for. Its writer alone changes it.
///
/// Whoever a record is for may read all of it until it says that it has. Others read this head
/// alone, which may change under their eyes.
#[repr(C)]
pub(super) struct Head {
    /// One more than the record's number; 0: there has been none. [`CHANGING`] may be beside it.
    flag: AtomicU64,
    /// A bit for each task of the host.
    readers: AtomicU64,
}

/// What a reader finds where its next record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing new.
    Nothing,
    /// The record, which is for the reader.
    Mine,
    /// The record, which is for others.
    Others,
    /// A later record, of this number: all before it were for others.
    Later(u64),
}

impl Head {
    /// The record that stands here is written over.
    pub(super) fn begin(&self) {
        self.flag.store(self.flag.load(Ordering::Relaxed) | CHANGING, Ordering::Relaxed);
        // SYNC: pairs with the Acquire fence in `find`: whoever reads the new readers sees that the
        // flag has changed.
        fence(Ordering::Release);
    }

    /// A record is complete.
    pub(super) fn show(&self, record: u64, readers: u64) {
        self.readers.store(readers, Ordering::Relaxed);
        // SYNC: pairs with the Acquire load in `find`: the record comes first.
        self.flag.store(record + 1, Ordering::Release);
    }

    /// Whether there is something new for who waits for a record of this number.
    #[inline(always)]
    pub(super) fn has_news(&self, record: u64) -> bool {
        self.flag.load(Ordering::Relaxed) & !CHANGING > record
    }

    /// Looks for a record, for the task at a place of the host.
    pub(super) fn find(&self, record: u64, place: usize) -> Found {
        // SYNC: pairs with the Release store in `show`: the record is read afterwards.
        let flag = self.flag.load(Ordering::Acquire);
        let shown = flag & !CHANGING;
        if shown <= record {
            return Found::Nothing;
        }
        if shown > record + 1 {
            return Found::Later(shown - 1);
        }
        if flag != shown {
            // It was for others, or it would not be written over.
            return Found::Others;
        }
        let mine = self.readers.load(Ordering::Relaxed) >> place & 1 == 1;
        // SYNC: pairs with the Release fence in `begin`.
        fence(Ordering::Acquire);
        if self.flag.load(Ordering::Relaxed) != flag {
            // As above.
            return Found::Others;
        }
        if mine { Found::Mine } else { Found::Others }
    }
}

/// Whether a task looks at the boards of others.
#[repr(C)]
pub(super) struct Watch {
    /// Not 0: it looks without being asked to. Changed under the lock of the task's state.
    looking: AtomicU32,
    /// Not 0: a message that asks it to look is on its way.
    asked: AtomicU32,
    /// Not 0: it has part in the barriers of [`order`](super::order) that need no fences.
    orderly: AtomicU32,
}

impl Watch {
    /// Whether the task looks without being asked to.
    #[inline]
    pub(super) fn is_looking(&self) -> bool {
        self.looking.load(Ordering::Relaxed) != 0
    }

    /// The task begins to look. It looks afterwards.
    pub(super) fn begin(&self) {
        self.looking.store(1, Ordering::Relaxed);
    }

    /// The task ends. It looks once more afterwards: whoever has not seen this relies on it.
    pub(super) fn end(&self, fences: bool) {
        self.looking.store(0, Ordering::Relaxed);
        // Either the writer sees that nobody looks any more, or the look that follows sees the
        // record.
        stop(fences);
    }

    /// The message has come, or whoever was to send it is gone. The task looks afterwards.
    pub(super) fn answer(&self, fences: bool) {
        self.asked.store(0, Ordering::Relaxed);
        // Either the writer sees that the message has come, and sends another one, or the look that
        // follows sees the record.
        stop(fences);
    }

    /// Whether the writer that asks this has to send a message: nobody looks, and no message is on
    /// its way. It has settled what it wrote.
    #[inline]
    pub(super) fn must_ask(&self) -> bool {
        self.looking.load(Ordering::Relaxed) == 0
            && self.asked.load(Ordering::Relaxed) == 0
            && self.asked.swap(1, Ordering::Relaxed) == 0
    }

    /// The task stops looking seldom, and pays for both halves of the barrier then.
    pub(super) fn is_orderly(&self) -> bool {
        self.orderly.load(Ordering::Relaxed) != 0
    }

    /// Says so, before others ask.
    pub(super) fn set_orderly(&self) {
        self.orderly.store(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::super::order::settle;
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Ring {
        slots: [(Head, UnsafeCell<u64>); 2],
        read: AtomicU64,
        watch: Watch,
    }

    fn ring() -> Ring {
        let slot = || (Head { flag: AtomicU64::new(0), readers: AtomicU64::new(0) }, UnsafeCell::new(0));
        Ring {
            slots: [slot(), slot()],
            read: AtomicU64::new(0),
            watch: Watch { looking: AtomicU32::new(0), asked: AtomicU32::new(0), orderly: AtomicU32::new(0) },
        }
    }

    fn write(ring: &Ring, record: u64, readers: u64) {
        let (head, data) = &ring.slots[(record % 2) as usize];
        head.begin();
        // SAFETY: that nobody reads now is what the model checks.
        data.with_mut(|data| unsafe { *data = record * 10 });
        head.show(record, readers);
    }

    fn check(ring: &Ring, record: u64) {
        // SAFETY: the record is this reader's until it says that it has read it.
        ring.slots[(record % 2) as usize].1.with(|data| assert_eq!(unsafe { *data }, record * 10));
    }

    /// Records 0 and 3 are for the reader at place 1, 1 and 2 are not: the ring goes round under
    /// its eyes.
    #[test]
    fn loom_records_of_others_are_passed_by_and_own_ones_are_whole() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            let shared = Arc::new(ring());
            let writer = Arc::clone(&shared);
            let thread = thread::spawn(move || {
                write(&writer, 0, 2);
                write(&writer, 1, 1);
                // SYNC: as the real writer waits for who has not read what stands there.
                while writer.read.load(Ordering::Acquire) < 1 {
                    thread::yield_now();
                }
                write(&writer, 2, 1);
                write(&writer, 3, 2);
            });
            let (mut next, mut got) = (0, Vec::new());
            while got.len() < 2 {
                match shared.slots[(next % 2) as usize].0.find(next, 1) {
                    Found::Nothing => thread::yield_now(),
                    Found::Later(record) => next = record - 1,
                    Found::Others => next += 1,
                    Found::Mine => {
                        check(&shared, next);
                        got.push(next);
                        next += 1;
                    }
                }
                // SYNC: as the real reader says how far it is, by whichever way it got there.
                shared.read.store(next, Ordering::Release);
            }
            assert_eq!(got, [0, 3]);
            thread.join().unwrap();
        });
    }

    #[test]
    fn loom_a_record_is_seen_or_its_reader_is_asked_to_look() {
        loom::model(|| {
            let shared = Arc::new(ring());
            let writer = Arc::clone(&shared);
            shared.watch.begin();
            let thread = thread::spawn(move || {
                write(&writer, 0, 2);
                settle(true);
                writer.watch.must_ask()
            });
            shared.watch.end(true);
            let seen = shared.slots[0].0.find(0, 1) == Found::Mine;
            let asked = thread.join().unwrap();
            assert!(seen || asked);
        });
    }

    /// Record 1 is for the reader, which is asked to look, once. Record 0 was for others and is
    /// written over just then, for others again: nobody asks a second time.
    #[test]
    fn loom_one_look_finds_a_record_behind_one_that_is_written_over() {
        loom::model(|| {
            let shared = Arc::new(ring());
            write(&shared, 0, 1);
            write(&shared, 1, 2);
            settle(true);
            assert!(shared.watch.must_ask());
            let writer = Arc::clone(&shared);
            let thread = thread::spawn(move || write(&writer, 2, 1));
            shared.watch.answer(true);
            let (mut next, mut got) = (0, Vec::new());
            while shared.slots[(next % 2) as usize].0.has_news(next) {
                match shared.slots[(next % 2) as usize].0.find(next, 1) {
                    Found::Nothing => break,
                    Found::Later(record) => next = record - 1,
                    Found::Others => next += 1,
                    Found::Mine => {
                        check(&shared, next);
                        got.push(next);
                        next += 1;
                    }
                }
            }
            assert_eq!(got, [1]);
            thread.join().unwrap();
        });
    }

    /// Somebody has asked, and the reader answers while a writer shows a record.
    #[test]
    fn loom_who_relies_on_the_message_of_another_is_seen_by_the_look_that_it_brings() {
        loom::model(|| {
            let shared = Arc::new(ring());
            let writer = Arc::clone(&shared);
            assert!(shared.watch.must_ask());
            let thread = thread::spawn(move || {
                write(&writer, 0, 2);
                settle(true);
                writer.watch.must_ask()
            });
            shared.watch.answer(true);
            let seen = shared.slots[0].0.find(0, 1) == Found::Mine;
            let asked = thread.join().unwrap();
            assert!(seen || asked);
        });
    }
}
