//! Teams: the members of collectives, and calls of them.

use crate::call::Given;
use crate::combine::By;
use crate::combine::Fold;
use crate::element::{Element, Type};
use crate::engine::{Engine, Held, Members, Op};
use crate::error::{CollectiveError, Result};
use crate::key::Key;
use crate::select::{self, Overrides, Shape, Way};
use crate::{Call, Signature};
use lapis_core::Context;
use lapis_core::config::Origin;
use lapis_core::sync::{AtomicBool, Ordering};
use lapis_schedules::group::{Group, GroupError, Split};
use lapis_schedules::levels::Hosts;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Operations kept ready for the next call that is like an earlier one.
const KEPT: usize = 8;

/// Of the operations that hold more memory than this, the last one is kept, unless it holds much
/// more.
const LARGE: usize = 1 << 20;
const TOO_LARGE: usize = 8 << 20;

/// Tasks that call collectives together: a [`Group`] that communicates. All members make the same
/// calls in the same order.
///
/// Creating and dropping a team is local and takes no messages; members create teams of equal
/// groups in the same order. Clones share the team. Handlers must not call collectives.
///
/// A team ends when a member dies, is purged (LAPI_Purge_totask) or restarted, or when calls don't
/// match: calls of all members, including those in progress, then fail with an error that names the
/// member. Another team can be created afterwards, but not with a task that was restarted: its new
/// process has not created the teams that the others have created. Such a team fails when it is
/// created, at all members ([`Error::CollectivesOver`](lapis_core::Error)). Teams without that task
/// continue.
#[derive(Clone)]
pub struct Team(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) context: Context,
    pub(crate) engine: Arc<Engine>,
    pub(crate) members: NonNull<Members>,
    pub(crate) group: Group,
    me: usize,
    pub(crate) hosts: OnceLock<Option<Hosts>>,
    pub(crate) overrides: Overrides,
    reproducible: AtomicBool,
    /// Used under the context's lock.
    pub(crate) kept: UnsafeCell<Vec<(Key, Box<Op>)>>,
}

// SAFETY: `members` and `kept` are used under the context's lock; the rest is Sync by
// itself.
unsafe impl Send for Inner {}
// SAFETY: `members` and `kept` are used under the context's lock.
unsafe impl Sync for Inner {}

impl Team {
    /// The team of all tasks of the job.
    ///
    /// # Errors
    /// The context can't be used; a task was restarted.
    pub fn world(context: &Context) -> Result<Self> {
        context.collectives_go_on()?;
        Self::of(context, Group::all(context.tasks()))
    }

    /// The team of a group's tasks. Only the members call this.
    ///
    /// # Errors
    /// The group has no members, or tasks that the job does not have, or does not contain the
    /// calling task; one of several members was restarted.
    #[doc(alias = "lapis_team_of")]
    pub fn of(context: &Context, group: Group) -> Result<Self> {
        group.check(context.tasks())?;
        let task = context.task();
        let me = group.rank(task).ok_or(GroupError::NotMember { task, members: group.len() })?;
        if group.len() > 1 {
            context.collectives_go_on_among(group.iter())?;
        }
        let engine = Engine::of(context)?;
        let text = context.config().collectives.get().as_deref().unwrap_or_default();
        let measured = context.config().collectives.origin() == Origin::Tuning;
        let hosts = || group.iter().map(|task| context.host_of(task));
        // Hosts may have files that differ, and members must agree.
        let text = if measured && hosts().any(|host| host != context.host_of(task)) { "" } else { text };
        let overrides = match Overrides::parse(text) {
            Err(why) if measured => {
                // Another version may have written it. Members of one host read the same file.
                tracing::warn!("tuning file: LAPIS_COLLECTIVES=`{text}`: {why}; it does not count");
                Overrides::default()
            }
            parsed => parsed.map_err(|why| CollectiveError::Variable { why })?,
        };
        let held = Held::new(context);
        // SAFETY: the lock is held; `Inner` gives it back.
        let members = unsafe { engine.register(group.clone()) };
        drop(held);
        let inner = Inner {
            context: context.clone(),
            engine,
            members,
            group,
            me,
            hosts: OnceLock::new(),
            overrides,
            reproducible: AtomicBool::new(false),
            kept: UnsafeCell::new(Vec::with_capacity(KEPT)),
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Splits the team: members of equal colour form a team, in the order of their keys, then of
    /// their ranks. Returns `None` for a colour of `None`. Collective: all members call.
    ///
    /// # Errors
    /// As for any collective.
    #[doc(alias = "lapis_team_split")]
    pub fn split(&self, colour: Option<u32>, key: i64) -> Result<Option<Self>> {
        let said = [colour.map_or(-1, i64::from), key];
        let mut all = vec![0i64; 2 * self.len()];
        self.all_gather(&said, &mut all)?;
        let told: Vec<Split> = all
            .chunks_exact(2)
            .map(|said| Split { colour: u32::try_from(said[0]).ok(), key: said[1] })
            .collect();
        match self.group().split(&told, self.rank())? {
            Some(group) => Self::of(self.context(), group).map(Some),
            None => Ok(None),
        }
    }

    /// Makes results of reductions independent of lengths, hosts and transports: floating-point
    /// results are then the same, bit for bit, in every job of as many members. All members must
    /// set the same. Long data takes longer.
    #[doc(alias = "lapis_team_reproducible")]
    pub fn set_reproducible(&self, on: bool) {
        self.0.reproducible.store(on, Ordering::Relaxed);
    }

    pub(crate) fn is_reproducible(&self) -> bool {
        self.0.reproducible.load(Ordering::Relaxed)
    }

    /// The context.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The members.
    pub fn group(&self) -> &Group {
        &self.0.group
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.group.len()
    }

    /// Whether it has no members: never.
    pub fn is_empty(&self) -> bool {
        self.0.group.is_empty()
    }

    /// The calling task's rank.
    pub fn rank(&self) -> usize {
        self.0.me
    }

    /// The hosts of the members; `None` if all share one.
    pub fn hosts(&self) -> Option<&Hosts> {
        let find = || {
            let context = self.context();
            let hosts = Hosts::of(self.group().iter().map(|task| u64::from(context.host_of(task))));
            (hosts.len() > 1).then_some(hosts)
        };
        self.0.hosts.get_or_init(find).as_ref()
    }

    /// The numbers of elements of input and output that a call needs at this member.
    ///
    /// # Errors
    /// Invalid arguments.
    pub fn needs(&self, call: &Call<'_>, of: Type) -> Result<(usize, usize)> {
        call.check(self.rank(), self.len(), of.size())?;
        Ok(call.needs(self.rank(), self.len()))
    }

    pub(crate) fn shape(&self, of: Type, reorder: bool) -> Shape<'_> {
        Shape {
            me: self.rank(),
            n: self.len(),
            hosts: self.hosts(),
            size: of.size(),
            reorder,
            reproducible: self.is_reproducible(),
        }
    }

    /// An operation ready to run.
    pub(crate) fn prepare(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'static>,
    ) -> Result<(NonNull<Op>, Option<Key>)> {
        let inner = &*self.0;
        let key = Key::of(call, of, &by, self.is_reproducible());
        if let Some(key) = &key {
            let _held = Held::new(&inner.context);
            // SAFETY: the lock is held; the reference ends here.
            let kept = unsafe { &mut *inner.kept.get() };
            if let Some(at) = kept.iter().position(|(known, _)| known == key) {
                let (known, op) = kept.swap_remove(at);
                return Ok((NonNull::from(Box::leak(op)), Some(known)));
            }
        }
        Ok((self.prepare_new(call, of, by)?, key))
    }

    /// The same, even if one like it is kept.
    pub(crate) fn prepare_new(&self, call: &Call<'_>, of: Type, by: By<'static>) -> Result<NonNull<Op>> {
        let inner = &*self.0;
        let operator = if let By::Operator(operator) = by { Some(operator) } else { None };
        let signature = Signature::of(call, of, operator);
        call.check(self.rank(), self.len(), of.size())?;
        // A broadcast goes in segments, and members may count its bytes in different elements.
        let (call, of) = match call {
            Call::Broadcast { .. } => (&call.scaled(of.size()), Type::U8),
            _ => (call, of),
        };
        let reorder = !matches!(by, By::User { commutes: false, .. });
        let fold = Fold::of(call, of, by)?;
        let shape = self.shape(of, reorder);
        let all = || select::script(call, &shape, select::choose(call, &shape, &inner.overrides));
        let (known, board) = self.memory();
        let by_memory = if known && !board { None } else { self.rounds(call, of, reorder) };
        let (rounds, script) = match by_memory {
            None => (None, all()),
            Some((mut rounds, script)) => {
                rounds.instead = (!known).then(all);
                (Some(Box::new(rounds)), script)
            }
        };
        let op = Op::new(&script, self.group(), of.size(), fold, signature, call.name(), rounds);
        Ok(NonNull::from(Box::leak(Box::new(op))))
    }

    /// Whether shared memory has been looked for, and whether there is any.
    fn memory(&self) -> (bool, bool) {
        let _held = Held::new(self.context());
        // SAFETY: the lock is held; the reference ends here.
        let memory = unsafe { &(*self.0.members.as_ptr()).memory };
        (memory.is_known(), memory.board.is_some())
    }

    /// Takes back an operation of [`prepare`](Self::prepare).
    ///
    /// # Safety
    /// It is not in progress, and not used again.
    pub(crate) unsafe fn give_back(&self, op: NonNull<Op>, key: Option<Key>) {
        // SAFETY: it came from a box, and this is its end.
        let op = unsafe { Box::from_raw(op.as_ptr()) };
        let Some(key) = key else { return };
        let _held = Held::new(self.context());
        // SAFETY: the lock is held; the reference ends here.
        let kept = unsafe { &mut *self.0.kept.get() };
        if op.holds() > LARGE {
            kept.retain(|(_, op)| op.holds() <= LARGE);
            if op.holds() > TOO_LARGE {
                return;
            }
        }
        if kept.len() == KEPT {
            kept.remove(0);
        }
        kept.push((key, op));
    }

    /// Begins a prepared operation.
    ///
    /// # Safety
    /// The buffers are as long as the call says, and not used otherwise until the operation has
    /// ended. `op` belongs to the team, and is not in progress.
    pub(crate) unsafe fn begin(&self, call: &Call<'_>, op: NonNull<Op>, input: *const u8, output: *mut u8) {
        let copies = std::ptr::eq(input, output) && call.reads_while_writing();
        // SAFETY: the caller's promise.
        unsafe {
            let copied = if copies { call.needs(self.rank(), self.len()).0 * (*op.as_ptr()).size } else { 0 };
            self.begin_prepared(op, copied, input, output);
        }
    }

    /// The same, of whose input so many bytes are copied first.
    ///
    /// # Safety
    /// As for [`begin`](Self::begin). An operation that has layouts uses their memory, and no
    /// buffers.
    pub(crate) unsafe fn begin_prepared(
        &self,
        op: NonNull<Op>,
        copied: usize,
        input: *const u8,
        output: *mut u8,
    ) {
        let (mut input, mut output) = (input, output);
        // SAFETY: the caller's promise; it is touched under the lock once it is under way.
        unsafe {
            if let Some(packed) = (*op.as_ptr()).pack() {
                (input, output) = packed;
            } else if copied > 0 {
                let copy = &mut (*op.as_ptr()).input;
                copy.clear();
                copy.extend_from_slice(std::slice::from_raw_parts(input, copied));
                input = copy.as_ptr();
            }
            let _held = Held::new(self.context());
            if op.as_ref().rounds.is_some() {
                self.discover_memory();
            }
            self.0.engine.start(self.context(), self.0.members, op, input, output);
        }
    }

    /// Calls and waits.
    ///
    /// # Errors
    /// Invalid arguments; calls that don't match; a member that is gone or silent; a call from
    /// within a handler.
    ///
    /// # Safety
    /// `input` and `output` are valid for the lengths that [`Call::needs`] gives. They are equal
    /// for calls in place.
    pub unsafe fn call_raw(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'_>,
        input: *const u8,
        output: *mut u8,
    ) -> Result<()> {
        let given = Given { input, output, lens: (usize::MAX, usize::MAX) };
        // SAFETY: the caller's promise.
        unsafe { self.call_with(call, of, by, &given) }
    }

    /// # Safety
    /// As for [`call_raw`](Self::call_raw), as far as the lengths that are given reach.
    #[inline(always)]
    pub(crate) unsafe fn call_with(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'_>,
        given: &Given,
    ) -> Result<()> {
        self.context().may_block(call.name())?;
        let key = Key::of(call, of, &by, self.is_reproducible());
        if let Some(key) = &key
            // SAFETY: the caller's promise.
            && let Some(ended) = unsafe { self.call_again(key, given) }
        {
            return ended.map_err(|e| *e);
        }
        // SAFETY: functions are used until the operation has ended, which this call waits for; then
        // they go.
        let by: By<'static> = unsafe { std::mem::transmute(by) };
        // SAFETY: the caller's promise.
        unsafe { self.call_anew(call, of, by, key, given) }
    }

    /// A call without a kept plan.
    ///
    /// # Safety
    /// As for [`call_with`](Self::call_with); functions live until the call returns.
    #[inline(never)]
    unsafe fn call_anew(
        &self,
        call: &Call<'_>,
        of: Type,
        by: By<'static>,
        key: Option<Key>,
        given: &Given,
    ) -> Result<()> {
        let (input, output) = given.lens;
        call.check_buffers(self.rank(), self.len(), of.size(), input, output)?;
        let by = if self.way(call, of, true) == Some(Way::Host) {
            // SAFETY: the caller's promise.
            match unsafe { self.call_through_memory(call, of, by, key, given) } {
                Ok(ended) => return ended,
                Err(by) => by,
            }
        } else {
            by
        };
        let (op, key) = self.prepare(call, of, by)?;
        // SAFETY: the caller's promise; this call waits for the end.
        unsafe {
            self.begin(call, op, given.input, given.output);
            let ended = self.0.engine.wait(self.context(), self.0.members, op);
            self.give_back(op, key);
            ended
        }
    }

    #[inline]
    pub(crate) fn call<T: Element>(
        &self,
        call: &Call<'_>,
        by: By<'_>,
        input: &[T],
        output: &mut [T],
    ) -> Result<()> {
        let lens = (input.len(), output.len());
        let given = Given { input: input.as_ptr().cast(), output: output.as_mut_ptr().cast(), lens };
        // SAFETY: the buffers are borrowed for the call.
        unsafe { self.call_with(call, T::TYPE, by, &given) }
    }

    #[inline]
    pub(crate) fn call_in_place<T: Element>(
        &self,
        call: &Call<'_>,
        by: By<'_>,
        data: &mut [T],
    ) -> Result<()> {
        let (len, data) = (data.len(), data.as_mut_ptr().cast());
        let given = Given { input: data, output: data, lens: (len, len) };
        // SAFETY: the data is borrowed for the call.
        unsafe { self.call_with(call, T::TYPE, by, &given) }
    }
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Team")
            .field("rank", &self.rank())
            .field("members", &self.len())
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.context.is_of_this_process() {
            // Another thread of the parent may have had the lock, and gives it back only there.
            return;
        }
        let _held = Held::new(&self.context);
        // SAFETY: the lock is held; operations under way keep the team.
        unsafe {
            let board = (*self.members.as_ptr()).memory.board.take();
            if let Some(mut board) = board.filter(|_| self.context.is_usable()) {
                board.disarm();
                board.leave();
                self.engine.bury_board(&self.context, *board);
            }
            self.engine.forget(self.members);
        }
    }
}
