//! Members of a collective, and running schedules among them.

use crate::steps_of_teams::{self as schedule, Step};
use lapis_core::{Context, Delivery, Error, HandlerId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a collective failed.
#[derive(Debug, thiserror::Error)]
pub enum CollectiveError {
    /// Communication failed, most often because a member died.
    #[error(transparent)]
    Lapis(#[from] Error),
    /// A member sent data of another size: the members' calls don't match.
    #[error(
        "task {from} sent {got} bytes where {expected} belong: do all members make the same call with equal lengths?"
    )]
    Mismatch {
        /// Who.
        from: u32,
        /// Bytes that came.
        got: usize,
        /// Bytes that this task's call implies.
        expected: usize,
    },
    /// A member was purged or started anew since the team was made, so that messages of the team may be lost.
    #[error(
        "the team is over: task {task}, a member, was purged or started anew; without a restart another team can be made"
    )]
    Over {
        /// The member.
        task: u32,
    },
}

type Result<T, E = CollectiveError> = std::result::Result<T, E>;

/// A type whose values travel as their bytes.
pub trait Element: Copy {
    /// Bytes of a value.
    const SIZE: usize;
    /// Appends the value's bytes.
    fn put(self, out: &mut Vec<u8>);
    /// The value of these `SIZE` bytes.
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($t:ty),*) => {$(
        impl Element for $t {
            const SIZE: usize = size_of::<Self>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn take(bytes: &[u8]) -> Self {
                Self::from_le_bytes(std::array::from_fn(|i| bytes[i]))
            }
        }
    )*};
}
elements!(u8, i32, u32, i64, u64, f32, f64);

/// Adds: for [`Team::all_reduce`].
pub fn sum<T: std::ops::Add<Output = T>>(a: T, b: T) -> T {
    a + b
}

/// The smaller one; for floating point, not-a-number loses.
pub fn min<T: PartialOrd>(a: T, b: T) -> T {
    if b < a { b } else { a }
}

/// The larger one.
pub fn max<T: PartialOrd>(a: T, b: T) -> T {
    if b > a { b } else { a }
}

/// What has arrived, by sender, call and place in the sender's stream.
#[derive(Default)]
struct Inbox {
    /// The member because of which the team is over, from whoever noticed first.
    over: Option<u32>,
    messages: HashMap<(u32, u64, u32), Vec<u8>>,
}

/// Tasks that call collectives together. All members create it with the same list and make the same calls in the same order.
///
/// A team owns the header handler it was given. Calls block and make progress; they are not for handlers.
///
/// A team is over when one of its members is purged (LAPI_Purge_totask) or started anew: calls of all members, those under way
/// included, give [`CollectiveError::Over`]. Another team can be made afterwards, unless a task of the job was started anew: that takes all
/// tasks, whose calls don't match any more ([`Error::CollectivesOver`]). Teams without that task go on.
pub struct Team {
    context: Context,
    handler: HandlerId,
    members: Vec<u32>,
    me: usize,
    calls: u64,
    inbox: Arc<Mutex<Inbox>>,
    /// How often everything had begun anew with each member when the team was made.
    beginnings: Vec<u32>,
}

impl Team {
    /// The team of all tasks. All of them make this call.
    ///
    /// # Errors
    /// `handler` lies outside the table; a task died.
    pub fn of_all(context: &Context, handler: HandlerId) -> Result<Self> {
        let members = (0..context.tasks()).collect();
        let me = context.task() as usize;
        Self::begin(context, handler, members, me)
    }

    /// The team of these tasks, in this order. **All tasks of the job make this call**, with the same list; those that are not
    /// members get `None`. Teams whose lives overlap need different handlers.
    ///
    /// # Errors
    /// `handler` lies outside the table; a task died.
    pub fn new(context: &Context, handler: HandlerId, members: Vec<u32>) -> Result<Option<Self>> {
        match members.iter().position(|m| *m == context.task()) {
            Some(me) => Self::begin(context, handler, members, me).map(Some),
            None => {
                context.barrier()?;
                Ok(None)
            }
        }
    }

    fn begin(context: &Context, handler: HandlerId, members: Vec<u32>, me: usize) -> Result<Self> {
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let arrivals = Arc::clone(&inbox);
        context.set_handler(handler, move |_, message| {
            let key = key_of(message.user_header, message.source);
            if key.1 == OVER {
                arrivals.lock().unwrap_or_else(PoisonError::into_inner).over.get_or_insert(key.2);
                return Delivery::bury();
            }
            let arrivals = Arc::clone(&arrivals);
            Delivery::collect(message, move |data| {
                arrivals.lock().unwrap_or_else(PoisonError::into_inner).messages.insert(key, data);
            })
        })?;
        // No message comes before every member has its handler.
        context.barrier()?;
        let beginnings = members.iter().map(|member| context.beginnings_with(*member)).collect();
        Ok(Self { context: context.clone(), handler, members, me, calls: 0, inbox, beginnings })
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it has no members: never.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The calling task's place among the members.
    pub fn rank(&self) -> usize {
        self.me
    }

    /// Returns when all members have called.
    ///
    /// # Errors
    /// A member died.
    pub fn barrier(&mut self) -> Result<()> {
        let steps = schedule::barrier(self.me, self.len());
        self.run::<u8>(&steps, &mut [], 0, |a, _| a)
    }

    /// Gives everybody the data of the member at place `root`.
    ///
    /// # Errors
    /// A member died; lengths differ.
    ///
    /// # Panics
    /// `root` is no place in the team.
    pub fn broadcast<T: Element>(&mut self, data: &mut [T], root: usize) -> Result<()> {
        assert!(root < self.len(), "root {root} of a team of {}", self.len());
        let steps = schedule::broadcast(self.me, self.len(), root);
        let len = data.len();
        self.run(&steps, data, len, |a, _| a)
    }

    /// Combines everybody's data element by element; everybody gets the result. `op` is commutative and associative.
    ///
    /// # Errors
    /// A member died; lengths differ.
    pub fn all_reduce<T: Element>(&mut self, data: &mut [T], op: impl Fn(T, T) -> T) -> Result<()> {
        let steps = schedule::all_reduce(self.me, self.len());
        let len = data.len();
        self.run(&steps, data, len, op)
    }

    /// Everybody's data, in the order of the members.
    ///
    /// # Errors
    /// A member died; lengths differ.
    pub fn all_gather<T: Element + Default>(&mut self, mine: &[T]) -> Result<Vec<T>> {
        let mut all = vec![T::default(); mine.len() * self.len()];
        all[self.me * mine.len()..][..mine.len()].copy_from_slice(mine);
        let steps = schedule::all_gather(self.me, self.len());
        self.run(&steps, &mut all, mine.len(), |a, _| a)?;
        Ok(all)
    }

    fn run<T: Element>(
        &mut self,
        steps: &[Step],
        data: &mut [T],
        block: usize,
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        let outcome = self.run_steps(steps, data, block, op);
        if let Err(CollectiveError::Over { task }) = outcome
            && self.told_over().is_none()
        {
            self.spread(task);
        }
        outcome
    }

    fn told_over(&self) -> Option<u32> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).over
    }

    /// Fails if the team is over.
    fn goes_on(&self) -> Result<()> {
        let changed = || {
            let mut both = self.members.iter().zip(&self.beginnings);
            both.find(|(member, before)| self.context.beginnings_with(**member) != **before).map(|(m, _)| *m)
        };
        self.told_over().or_else(changed).map_or(Ok(()), |task| Err(CollectiveError::Over { task }))
    }

    /// Tells the others that the team is over: they may be waiting for messages that won't come. All but the member that is the cause:
    /// it knows as much, or knows of no team.
    fn spread(&self, task: u32) {
        let others = self.members.iter().filter(|member| **member != self.context.task() && **member != task);
        for member in others {
            // Whom that doesn't reach has noticed by itself, or is gone.
            let _ = self.context.send(*member, self.handler, &header(OVER, task), &[]);
        }
    }

    fn run_steps<T: Element>(
        &mut self,
        steps: &[Step],
        data: &mut [T],
        block: usize,
        op: impl Fn(T, T) -> T,
    ) -> Result<()> {
        self.goes_on()?;
        self.calls += 1;
        let mut sent = HashMap::new();
        let mut received = HashMap::new();
        for step in steps {
            match step {
                Step::Send { to, blocks } => {
                    let mut bytes = Vec::with_capacity((blocks.len() * block) * T::SIZE);
                    data[blocks.start * block..blocks.end * block].iter().for_each(|v| v.put(&mut bytes));
                    let number = count(&mut sent, *to);
                    self.context.send(
                        self.members[*to],
                        self.handler,
                        &header(self.calls, number),
                        &bytes,
                    )?;
                }
                Step::Receive { from, blocks } | Step::Combine { from, blocks } => {
                    let number = count(&mut received, *from);
                    let place = &mut data[blocks.start * block..blocks.end * block];
                    let bytes = self.take(*from, number, place.len() * T::SIZE)?;
                    let values = bytes.chunks_exact(T::SIZE).map(T::take);
                    let combine = matches!(step, Step::Combine { .. });
                    for (mine, theirs) in place.iter_mut().zip(values) {
                        *mine = if combine { op(*mine, theirs) } else { theirs };
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits for a message of this call.
    fn take(&self, from: usize, number: u32, expected: usize) -> Result<Vec<u8>> {
        let from = self.members[from];
        let key = (from, self.calls, number);
        let mut found = None;
        let mut beginnings = None;
        let mut over = Ok(());
        self.context.wait_until(|| {
            let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
            found = inbox.messages.remove(&key);
            let told = inbox.over.is_some();
            drop(inbox);
            let now = Some(self.context.beginnings());
            if found.is_none() && (told || std::mem::replace(&mut beginnings, now) != now) {
                over = self.goes_on();
            }
            found.is_some() || over.is_err()
        })?;
        over?;
        let bytes = found.unwrap_or_default();
        if bytes.len() == expected {
            Ok(bytes)
        } else {
            Err(CollectiveError::Mismatch { from, got: bytes.len(), expected })
        }
    }
}

/// In place of a call's number: the team is over because of the task in place of the message's number.
const OVER: u64 = u64::MAX;

fn count(counts: &mut HashMap<usize, u32>, who: usize) -> u32 {
    let n = counts.entry(who).or_insert(0);
    *n += 1;
    *n
}

fn header(call: u64, number: u32) -> [u8; 12] {
    let mut out = [0; 12];
    out[..8].copy_from_slice(&call.to_le_bytes());
    out[8..].copy_from_slice(&number.to_le_bytes());
    out
}

fn key_of(user_header: &[u8], source: u32) -> (u32, u64, u32) {
    let byte = |i: usize| user_header.get(i).copied().unwrap_or(0);
    let call = u64::from_le_bytes(std::array::from_fn(byte));
    let number = u32::from_le_bytes(std::array::from_fn(|i| byte(8 + i)));
    (source, call, number)
}
