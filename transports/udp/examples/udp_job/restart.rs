//! A task dies in the midst of traffic and is restarted; the others go on with it.

use super::{DATA, interrupts, pattern, wait_patiently};
use lapis::{Context, Delivery, Destination, Error, Result};
use lapis_collectives::{CollectiveError, Group, Operator, Team};
use lapis_patience::Patience;
use std::collections::HashSet;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Messages that each side sends the other after the restart.
const AFTER: u32 = 200;

/// What a message says about itself: who sent it, in which of its lives, after how many deaths of
/// the victim it was sent, and its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Mark {
    source: u32,
    life: u32,
    deaths: u32,
    number: u32,
}

impl Mark {
    fn bytes(self) -> [u8; 16] {
        let mut out = [0; 16];
        for (slot, word) in out.chunks_mut(4).zip([self.source, self.life, self.deaths, self.number]) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    fn of(bytes: &[u8]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
        Self { source: word(0), life: word(1), deaths: word(2), number: word(3) }
    }

    fn data(self) -> Vec<u8> {
        const SIZES: [usize; 5] = [0, 8, 900, 9000, 60_000];
        let seed = u64::from(self.source) << 48 | u64::from(self.deaths) << 32 | u64::from(self.number);
        pattern(seed, SIZES[self.number as usize % SIZES.len()])
    }
}

#[derive(Default)]
struct Heard {
    marks: Mutex<HashSet<Mark>>,
    faults: AtomicU64,
    /// The process that is about to die.
    last_words: AtomicU64,
    farewells: AtomicU64,
    /// Who has sent which message while the news of a death came.
    between: Mutex<HashSet<(u32, u32)>>,
}

/// The last words of a task that is about to die.
const LAST_WORDS: u32 = u32::MAX;

/// The last words of a task that has nothing to wait for.
const FAREWELL: u32 = u32::MAX - 1;

/// Says in place of a life which message was being sent while the news of the death came: it may be
/// for either process. [`NONE`]: none was.
const BETWEEN: u32 = u32::MAX - 2;
const NONE: u32 = u32::MAX;

impl Heard {
    fn listen(context: &Context) -> Result<Arc<Self>> {
        let heard = Arc::new(Self::default());
        let here = Arc::clone(&heard);
        context.set_handler(DATA, move |_, message| {
            let mark = Mark::of(message.user_header);
            if mark.number == LAST_WORDS {
                here.last_words.store(mark.life.into(), Ordering::Relaxed);
                return Delivery::bury();
            }
            if mark.number == BETWEEN {
                here.between.lock().unwrap().insert((mark.source, mark.life));
                return Delivery::bury();
            }
            if mark.number == FAREWELL {
                here.farewells.fetch_add(1, Ordering::Relaxed);
                return Delivery::bury();
            }
            let mut buffer = vec![0u8; message.len as usize].into_boxed_slice();
            let into =
                NonNull::new(buffer.as_mut_ptr()).map_or(Destination::Discard, Destination::Contiguous);
            let here = Arc::clone(&here);
            Delivery { into, ..Delivery::bury() }.then(move |_| {
                let fresh = here.marks.lock().unwrap().insert(mark);
                if !fresh || *buffer != mark.data()[..] {
                    here.faults.fetch_add(1, Ordering::Relaxed);
                }
            })
        })?;
        Ok(heard)
    }

    fn count(&self, of: impl Fn(&Mark) -> bool) -> usize {
        self.marks.lock().unwrap().iter().filter(|m| of(m)).count()
    }
}

/// A folder in which survivors say that they have purged and resumed the victim, and how many there
/// are.
pub(crate) struct Signs {
    folder: PathBuf,
    survivors: usize,
}

impl Signs {
    /// `aware FOLDER SURVIVORS`, or anything else for none.
    pub(crate) fn of(args: &[String]) -> Option<Self> {
        let [how, folder, survivors] = args else { return None };
        let survivors = survivors.parse().ok()?;
        (how == "aware").then(|| Self { folder: folder.into(), survivors })
    }

    fn give(&self, task: u32) {
        std::fs::write(self.folder.join(task.to_string()), "").expect("the test made the folder");
    }

    fn await_all(&self) {
        let mut patience = Patience::with_myself(Duration::from_secs(60));
        while std::fs::read_dir(&self.folder).expect("the test made the folder").count() < self.survivors {
            assert!(!patience.is_over(), "the survivors have not resumed this task");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// With `signs` the others know that the victim dies, purge it and resume it at once; else they
/// hear of it from their error handlers when its new process speaks to them.
pub(crate) fn run(signs: Option<&Signs>) -> Result<()> {
    let aware = signs.is_some();
    let life = std::env::var("LAPIS_JOB_RESTARTS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    if life > 0
        && let Some(signs) = signs
    {
        signs.await_all();
    }
    let told = Arc::new(AtomicU64::new(0));
    let here = Arc::clone(&told);
    let context = lapis::builder()
        .transport(lapis_udp::table())
        .interrupts(interrupts())
        .on_error(move |context, error, peer| {
            assert!(matches!(error, Error::TargetDown { .. }), "task {} was told: {error}", context.task());
            assert_eq!(peer, context.tasks() - 1);
            here.fetch_add(1, Ordering::Relaxed);
            true
        })
        .init()?;
    let heard = Heard::listen(&context)?;
    let teams = (life == 0).then(|| Teams::make(&context)).transpose()?;
    let (me, victim) = (context.task(), context.tasks() - 1);
    let others: Vec<u32> = (0..context.tasks()).filter(|t| *t != me).collect();
    if life == 0 {
        context.gfence()?;
    }
    match (me == victim, life) {
        (true, 0) => die(&context, &others, aware),
        (true, _) => live_again(&context, &heard, &others, life)?,
        (false, _) => survive(&context, &heard, &others, victim, signs.ok_or(&told))?,
    }
    assert_eq!(heard.faults.load(Ordering::Relaxed), 0, "messages came twice or spoilt");
    collectives_are_over(&context, victim);
    if let Some(teams) = &teams {
        teams.only_that_of_all_is_over(victim, false);
    }
    for to in &others {
        let mark = Mark { source: me, life, deaths: 1, number: FAREWELL };
        context.send(*to, DATA, &mark.bytes(), &[])?;
    }
    wait(&context, "farewells", || heard.farewells.load(Ordering::Relaxed) == others.len() as u64)?;
    println!("ok task {me} life {life} told {}", told.load(Ordering::Relaxed));
    context.terminate()
}

/// What every task finds once one was restarted.
fn collectives_are_over(context: &Context, victim: u32) {
    let outcomes = [context.barrier(), context.gfence(), context.all_gather(&[0; 8]).map(|_| ())];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(Error::CollectivesOver { task }) if task == victim), "{outcome:?}");
    }
    let team = Team::world(context).map(|team| team.len());
    assert!(matches!(team, Err(CollectiveError::Lapis(Error::CollectivesOver { .. }))), "{team:?}");
}

/// A team of all tasks, and one without the victim.
struct Teams {
    all: Team,
    some: Option<Team>,
}

impl Teams {
    fn make(context: &Context) -> Result<Self> {
        let whole = |e| match e {
            CollectiveError::Lapis(e) => e,
            other => panic!("{other}"),
        };
        let all = Team::world(context).map_err(whole)?;
        let group = Group::all(context.tasks() - 1);
        let some = group.rank(context.task()).map(|_| Team::of(context, group));
        let teams = Self { all, some: some.transpose().map_err(whole)? };
        let mut told = vec![0; teams.all.len()];
        teams.all.all_gather(&[7u32], &mut told).map_err(whole)?;
        assert!(told.iter().all(|word| *word == 7));
        if let Some(some) = &teams.some {
            some.barrier().map_err(whole)?;
        }
        context.gfence()?;
        Ok(teams)
    }

    /// `any`: whichever task.
    fn only_that_of_all_is_over(&self, victim: u32, any: bool) {
        let mut all = vec![0; self.all.len()];
        for over in [self.all.barrier(), self.all.all_gather(&[7u32], &mut all)] {
            assert!(matches!(over, Err(CollectiveError::Over { task }) if any || task == victim), "{over:?}");
        }
        if let Some(some) = &self.some {
            let n = some.len() as u32;
            let mut sum = [1u32];
            some.all_reduce(&mut sum, Operator::Sum).expect("the victim is no member");
            assert_eq!(sum, [n]);
            let mut all = vec![0; some.len()];
            some.all_gather(&[some.rank() as u32], &mut all).expect("the victim is no member");
            assert!(all.into_iter().eq(0..n));
        }
    }
}

/// The last task dies while the others wait for it in a fence of all, and is restarted.
pub(crate) fn fenced() -> Result<()> {
    let life = std::env::var("LAPIS_JOB_RESTARTS").is_ok();
    let context = lapis::builder()
        .transport(lapis_udp::table())
        .interrupts(interrupts())
        .on_error(|_, _, _| true)
        .init()?;
    let heard = Heard::listen(&context)?;
    let (me, victim) = (context.task(), context.tasks() - 1);
    if !life {
        context.gfence()?;
        if me == victim {
            // SAFETY: sends a signal to this process alone.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        let outcome = context.gfence();
        assert!(matches!(outcome, Err(Error::CollectivesOver { task }) if task == victim), "{outcome:?}");
    }
    collectives_are_over(&context, victim);
    for to in (0..context.tasks()).filter(|to| *to != me) {
        context.send(to, DATA, &Mark { source: me, life: 0, deaths: 1, number: FAREWELL }.bytes(), &[])?;
    }
    wait(&context, "farewells", || heard.farewells.load(Ordering::Relaxed) == u64::from(victim))?;
    println!("ok task {me}");
    context.terminate()
}

/// Task 0 purges and resumes the last one while all others wait in a barrier, and again while they
/// wait in one of a team.
pub(crate) fn teams() -> Result<()> {
    let context = super::join()?;
    let (me, victim) = (context.task(), context.tasks() - 1);
    let heard = Heard::listen(&context)?;
    let teams = Teams::make(&context)?;
    let disturb = || {
        if me == 0 {
            std::thread::sleep(Duration::from_millis(100));
            context.purge(victim)?;
            context.resume(victim)?;
        }
        Ok::<(), Error>(())
    };
    // The victim may hear from others that a team is over, before it hears from task 0. What it
    // then sends to that is lost, and a fence says so.
    let settle = |purges| {
        if me == 0 {
            let mark = Mark { source: me, life: 0, deaths: purges, number: FAREWELL };
            context.send(victim, DATA, &mark.bytes(), &[])?;
        }
        let hears_of_it = || heard.farewells.load(Ordering::Relaxed) == u64::from(purges);
        if me == victim { wait(&context, "the purge", hears_of_it) } else { Ok(()) }
    };
    disturb()?;
    context.gfence()?;
    teams.only_that_of_all_is_over(victim, true);
    settle(1)?;
    context.gfence()?;
    let teams = Teams::make(&context)?;
    disturb()?;
    // Others than these two can't see the purge: they are told.
    teams.only_that_of_all_is_over(victim, true);
    settle(2)?;
    println!("ok task {me}");
    context.gfence()
}

fn send(context: &Context, to: u32, mark: Mark) -> Result<()> {
    context.send(to, DATA, &mark.bytes(), &mark.data())
}

fn die(context: &Context, others: &[u32], aware: bool) -> ! {
    let source = context.task();
    for number in 0..300 {
        for to in others {
            send(context, *to, Mark { source, life: 0, deaths: 0, number }).expect("all are there");
        }
    }
    if aware {
        for to in others {
            let mark = Mark { source, life: std::process::id(), deaths: 0, number: LAST_WORDS };
            context.send(*to, DATA, &mark.bytes(), &[]).expect("all are there");
        }
        context.fence().expect("they take their time");
    }
    // SAFETY: sends a signal to this process alone.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    unreachable!("SIGKILL was sent to this process")
}

fn wait(context: &Context, what: &str, done: impl FnMut() -> bool) -> Result<()> {
    let seen = wait_patiently(context, done)?;
    assert!(seen, "task {} waited for {what}", context.task());
    Ok(())
}

/// Purges the victim once its process has ended. A thread of its own: the task may be in a send
/// that waits for room at the victim.
fn purge_when_dead(context: &Context, heard: &Heard, victim: u32, purged: &AtomicBool) {
    let mut patience = Patience::with_myself(Duration::from_secs(30));
    let lives = || match heard.last_words.load(Ordering::Relaxed) {
        0 => true,
        process => {
            std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        }
    };
    while lives() {
        assert!(!patience.is_over(), "the victim lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
    context.purge(victim).expect("it is a task");
    purged.store(true, Ordering::Relaxed);
}

fn survive(
    context: &Context,
    heard: &Heard,
    others: &[u32],
    victim: u32,
    news: std::result::Result<&Signs, &Arc<AtomicU64>>,
) -> Result<()> {
    let source = context.task();
    let (mut number, mut between) = (0, NONE);
    let purged = AtomicBool::new(false);
    let dead = || match news {
        Ok(_) => purged.load(Ordering::Relaxed),
        Err(told) => told.load(Ordering::Relaxed) > 0,
    };
    std::thread::scope(|threads| {
        if news.is_ok() {
            threads.spawn(|| purge_when_dead(context, heard, victim, &purged));
        }
        let mut patience = Patience::with_myself(Duration::from_secs(30));
        while !dead() {
            assert!(!patience.is_over(), "task {source} heard of no death");
            // A send that waits for room ends when the new process is heard, or with the purge.
            match send(context, victim, Mark { source, life: 0, deaths: 0, number }) {
                Ok(()) => {
                    between = if dead() { number } else { NONE };
                    number += 1;
                }
                Err(Error::Purged { .. } | Error::TargetDown { .. }) => {}
                Err(other) => return Err(other),
            }
            context.progress()?;
        }
        Ok(())
    })?;
    if let Ok(signs) = news {
        let refused = send(context, victim, Mark { source, life: 0, deaths: 0, number });
        assert!(matches!(refused, Err(Error::Purged { .. })), "{refused:?}");
        context.resume(victim)?;
        signs.give(source);
    }
    let mark = Mark { source, life: between, deaths: 1, number: BETWEEN };
    context.send(victim, DATA, &mark.bytes(), &[])?;
    for number in 0..AFTER {
        for to in others {
            send(context, *to, Mark { source, life: 0, deaths: 1, number })?;
        }
    }
    wait(context, "messages after the restart", || {
        heard.count(|m| m.deaths == 1) == AFTER as usize * others.len()
    })?;
    context.fence()?;
    let early = heard.count(|m| m.source == victim && m.deaths == 0);
    assert!(early <= 300, "{early} messages of the first life");
    Ok(())
}

fn live_again(context: &Context, heard: &Heard, others: &[u32], life: u32) -> Result<()> {
    // Not before the others have done whatever they do about the death.
    for other in others {
        wait(context, "the first word of a survivor", || heard.count(|m| m.source == *other) > 0)?;
    }
    let source = context.task();
    for number in 0..AFTER {
        for to in others {
            send(context, *to, Mark { source, life, deaths: 1, number })?;
        }
    }
    context.fence()?;
    wait(context, "all words of the survivors", || heard.count(|_| true) >= AFTER as usize * others.len())?;
    wait(context, "what was being sent", || heard.between.lock().unwrap().len() == others.len())?;
    let between = heard.between.lock().unwrap();
    let before = heard.count(|m| m.deaths == 0 && !between.contains(&(m.source, m.number)));
    assert_eq!(before, 0, "messages for the former process were taken for the new one's");
    Ok(())
}

/// Two contexts, one after the other. In between the clock is set, by a file that a preloaded
/// library looks for.
pub(crate) fn recreated(rounds: u64) -> Result<()> {
    super::mix(rounds)?;
    if let Some(file) = std::env::var_os("CLOCK_WHEN") {
        std::fs::write(file, "").expect("the test made the folder");
    }
    super::mix(rounds)
}
