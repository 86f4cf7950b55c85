//! Puts, gets and atomics that their targets refuse: each ends, with the reason, and fences and
//! everything else go on.

use crate::filled;
use lapis::core::error::{Access, Reason, Refusal};
use lapis::core::message::{GetArgs, PutArgs};
use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Context, Counter, Destination, Error, Notify, RemoteMemory, Result, Source};
use std::ptr::NonNull;
use std::sync::Arc;

/// In a slot of a lane, in one packet, in several, announced, and more than a slice of a copy.
const LENGTHS: [usize; 6] = [8, 1000, 5000, 40_000, 200_000, 3 << 20];
/// Nothing is mapped there in any process.
const NOWHERE: u64 = 0x100;
const LONGEST: usize = LENGTHS[LENGTHS.len() - 1];

/// Who the operations go to, and what the error handler has heard.
struct Trial<'a> {
    context: &'a Context,
    target: u32,
    /// What the target does not give: its address.
    place: u64,
    told: &'a AtomicU64,
    /// A counter at the target.
    counter: u64,
}

impl Trial<'_> {
    fn place(&self, len: usize) -> RemoteMemory {
        RemoteMemory { task: self.target, addr: self.place, len: len as u64 }
    }

    /// An error that has to be the target's refusal.
    #[track_caller]
    fn is<T: std::fmt::Debug>(&self, outcome: Result<T>, access: Access, len: usize) {
        let expected =
            Refusal { task: self.target, access, addr: self.place, len: len as u64, reason: Reason::Outside };
        match outcome {
            Err(Error::Refused(refusal)) => assert_eq!(refusal, expected),
            other => panic!("{expected}, but: {other:?}"),
        }
    }

    /// Those of whose end the caller is told.
    fn told_to_the_caller(&self, len: usize) -> Result<()> {
        let (context, there) = (self.context, self.place(len));
        let before = self.told.load(Ordering::Relaxed);
        let put = context.put_owned(there, filled(1, len))?;
        let get = context.get_owned(there)?;
        self.is(put.wait(), Access::Put, len);
        self.is(get.wait(), Access::Get, len);
        self.is(context.get_bytes(there, &mut vec![0; len]), Access::Get, len);
        self.is(context.fetch_add(there, 1), Access::Atomic, 8);
        assert_eq!(self.told.load(Ordering::Relaxed), before, "nobody is told twice");
        context.fence()
    }

    /// Those of which at most counters would be told: the error handler is.
    fn told_to_the_handler(&self, len: usize) -> Result<()> {
        let (context, there) = (self.context, self.place(len));
        let mut expected = self.told.load(Ordering::Relaxed);
        match context.put_bytes(there, &filled(1, len)) {
            // The data was the library's before the target had a say.
            Ok(()) => expected += 1,
            refused => self.is(refused, Access::Put, len),
        }
        let (data, mut back) = (filled(2, len), vec![0u8; len]);
        let (sent, done, here) = (Counter::new(0), Counter::new(0), Counter::new(0));
        // SAFETY: data, place and counters outlive the wait below, after which nothing is under
        // way.
        unsafe {
            context.put(PutArgs {
                target: self.target,
                remote: self.place,
                source: Source::Contiguous(data.as_ptr(), len as u64),
                target_counter: self.counter,
                origin: Notify::counter(&sent),
                completion: Notify::counter(&done),
                checked: true,
            })?;
            context.get(GetArgs {
                target: self.target,
                remote: self.place,
                len: len as u64,
                destination: Destination::Contiguous(NonNull::from(back.as_mut_slice()).cast()),
                target_counter: self.counter,
                origin: Notify::counter(&here),
                checked: true,
            })?;
        }
        expected += 2;
        context.wait_until(|| self.told.load(Ordering::Relaxed) >= expected)?;
        context.fence()?;
        assert_eq!(self.told.load(Ordering::Relaxed), expected, "once for each");
        assert_eq!((done.value(), here.value()), (0, 0), "counters count successes");
        Ok(())
    }
}

/// Everybody asks everybody else for what can't be had.
pub(crate) fn refused() -> Result<()> {
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let context = lapis::builder()
        .on_error(move |_, error, _| {
            assert!(matches!(error, Error::Refused(_)), "{error}");
            count.fetch_add(1, Ordering::Relaxed);
            true
        })
        .init()?;
    let (me, tasks) = (context.task(), context.tasks());
    let arrived = Counter::new(0);
    let mine = context.alloc(8 * tasks as usize)?;
    let counters = context.all_gather(&std::ptr::from_ref(&arrived).expose_provenance().to_le_bytes())?;
    let private = vec![0u8; LONGEST];
    let places = context.all_gather(&private.as_ptr().expose_provenance().to_le_bytes())?;
    let all = context.all_gather(&mine.remote().to_bytes())?;
    let (all, _) = all.as_chunks();
    for target in 0..tasks {
        let counter = counters[8 * target as usize..].first_chunk().map_or(0, |c| u64::from_le_bytes(*c));
        let private = places[8 * target as usize..].first_chunk().map_or(0, |c| u64::from_le_bytes(*c));
        // A task's own memory is its own to name, but for the safe interface.
        for (place, len) in [NOWHERE, private].into_iter().flat_map(|place| LENGTHS.map(|len| (place, len))) {
            if target != me {
                let trial = Trial { context: &context, target, place, told: &told, counter };
                trial.told_to_the_caller(len)?;
                trial.told_to_the_handler(len)?;
            }
        }
        let far = RemoteMemory::from_bytes(&all[target as usize]);
        let own = far.part(8 * u64::from(me), 8).expect("a word of it");
        // All is as if nothing had been.
        assert_eq!(context.fetch_add(own, u64::from(me) + 1)?, 0);
        let mut back = [0; 8];
        context.get_bytes(own, &mut back)?;
        assert_eq!(u64::from_ne_bytes(back), u64::from(me) + 1);
    }
    context.gfence()?;
    assert_eq!(arrived.value(), 0, "nothing has come");
    assert!(private.iter().all(|byte| *byte == 0), "what is given to nobody is as it was");
    let least = 4 * LENGTHS.len() as u64 * u64::from(tasks - 1);
    println!("refused: {}", told.load(Ordering::Relaxed) >= least);
    context.terminate()
}
