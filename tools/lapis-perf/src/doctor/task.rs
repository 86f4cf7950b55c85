//! One of the two tasks: does what programs do, and tells whether it came out right.
//!
//! Checks of content go on after a difference, so that both tasks stay in step; an error of a call
//! ends the task, and with it the job.

use super::finding::Finding;
use anyhow::{Context as _, Result, ensure};
use lapis::core::sync::{AtomicU64, Ordering};
use lapis::{Context, Delivery, HandlerId, Memory, RemoteMemory};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// A message with its number, of which the order is looked at.
const NUMBERED: HandlerId = HandlerId(1);
/// A message of any length that is kept.
const KEPT: HandlerId = HandlerId(2);
/// A message that says: go on.
const SIGNAL: HandlerId = HandlerId(3);
/// A message that wakes the program's own thread, which is in no call.
const WAKE: HandlerId = HandlerId(4);

/// What is done, in this order.
pub(super) const CHECKS: &[&str] = &[
    "start",
    "messages",
    "answers",
    "puts",
    "short puts",
    "gets",
    "atomics",
    "registration",
    "rails",
    "sleeping",
    "end",
];

/// Messages of the stream, far more than any transport has outstanding.
const STREAM: u64 = 5000;
/// Rounds of what goes back and forth: enough for paths that are taken after some messages only.
const ROUNDS: u64 = 500;
/// The longest transfer of the usual checks.
const LONG: usize = 1 << 20;
/// The longest of all: its memory is registered for it.
const LONGEST: usize = 16 << 20;
/// How long a waiting task is left alone, so that it sleeps.
const NAP: Duration = Duration::from_millis(20);
/// How long the program's own thread waits outside of any call.
const DEAF: Duration = Duration::from_secs(30);

/// What has come.
#[derive(Default)]
struct Inbox {
    numbered: AtomicU64,
    /// Numbered messages that came before an earlier one.
    early: AtomicU64,
    signals: AtomicU64,
    kept: Mutex<Vec<Vec<u8>>>,
}

impl Inbox {
    fn kept(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn has_kept(&self) -> bool {
        !self.kept.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// What the checks use.
struct Room {
    context: Context,
    inbox: Arc<Inbox>,
    /// This task's memory, and the other one's.
    near: Memory,
    far: RemoteMemory,
    woken: mpsc::Receiver<()>,
    /// Signals that this task has waited for.
    taken: std::cell::Cell<u64>,
}

type Check = fn(&Room) -> Result<Result<String, String>>;

/// Takes part, and prints what it found.
pub(super) fn run(transport: &str) -> Result<()> {
    lapis_log::install();
    let leads = std::env::var("LAPIS_TASK").is_ok_and(|task| task == "0");
    let begin = |check: &str| {
        if leads {
            println!("{}", Finding::begun(check).line())
        }
    };
    begin(CHECKS[0]);
    let room = match Room::enter(transport) {
        Ok(room) => room,
        Err(error) => {
            println!("{}", Finding::failed(CHECKS[0], format!("{error:#}")).line());
            return Err(error);
        }
    };
    if leads {
        println!("{}", Finding::ok(CHECKS[0], format!("two tasks reach each other over {transport}")).line());
    }
    let checks: [Check; 9] = [
        Room::messages,
        Room::answers,
        Room::puts,
        Room::short_puts,
        Room::gets,
        Room::atomics,
        Room::registration,
        Room::rails,
        Room::sleeping,
    ];
    for (name, check) in CHECKS[1..].iter().zip(checks) {
        begin(name);
        let outcome = check(&room).and_then(|outcome| {
            room.context.gfence()?;
            Ok(outcome)
        });
        let finding = match outcome {
            Ok(Ok(text)) if leads => Finding::ok(name, text),
            Ok(Ok(_)) => continue,
            Ok(Err(text)) => Finding::failed(name, room.signed(&text)),
            Err(error) => {
                println!("{}", Finding::failed(name, room.signed(&format!("{error:#}"))).line());
                return Err(error);
            }
        };
        println!("{}", finding.line());
    }
    let end = CHECKS[CHECKS.len() - 1];
    begin(end);
    drop(room.near);
    room.context.terminate()?;
    if leads {
        println!("{}", Finding::ok(end, "both tasks have left in order".to_owned()).line());
    }
    Ok(())
}

/// Bytes that no other round or task has.
fn pattern(task: u32, round: u64, len: usize) -> Vec<u8> {
    let seed = round.wrapping_mul(31).wrapping_add(u64::from(task) * 101 + 7);
    (0..len as u64).map(|at| (at.wrapping_mul(7) ^ at >> 8).wrapping_add(seed) as u8).collect()
}

/// How bytes differ from those that they should be.
fn difference(is: &[u8], should: &[u8]) -> Option<String> {
    if is.len() != should.len() {
        return Some(format!("{} bytes instead of {}", is.len(), should.len()));
    }
    let count = is.iter().zip(should).filter(|(a, b)| a != b).count();
    let first = is.iter().zip(should).position(|(a, b)| a != b)?;
    Some(format!("{count} of {} bytes differ, the first at {first}", is.len()))
}

/// The first difference of many comparisons.
#[derive(Default)]
struct Judge(Option<String>);

impl Judge {
    fn look(&mut self, what: &str, is: &[u8], should: &[u8]) {
        if self.0.is_none() {
            self.0 = difference(is, should).map(|text| format!("{what}: {text}"));
        }
    }

    fn verdict(self, good: String) -> Result<Result<String, String>> {
        Ok(self.0.map_or(Ok(good), Err))
    }
}

impl Room {
    fn enter(transport: &str) -> Result<Self> {
        let context = lapis::builder().set("LAPIS_TRANSPORT", transport).interrupts(false).init()?;
        ensure!(context.tasks() == 2, "the job has {} tasks instead of 2", context.tasks());
        let inbox = Arc::new(Inbox::default());
        let (give, woken) = mpsc::channel();
        Self::listen(&context, &inbox, give)?;
        let near = context.alloc(LONGEST)?;
        let all = context.all_gather(&near.remote().to_bytes())?;
        let (each, _) = all.as_chunks();
        let far = each.get(1 - context.task() as usize).context("an exchange of addresses left one out")?;
        let (far, taken) = (RemoteMemory::from_bytes(far), std::cell::Cell::new(0));
        context.gfence()?;
        Ok(Self { context, inbox, near, far, woken, taken })
    }

    fn listen(context: &Context, inbox: &Arc<Inbox>, give: mpsc::Sender<()>) -> Result<()> {
        let here = Arc::clone(inbox);
        context.set_handler(NUMBERED, move |_, message| {
            let number =
                message.data().and_then(|data| data.try_into().ok()).map_or(u64::MAX, u64::from_le_bytes);
            if number != here.numbered.fetch_add(1, Ordering::Relaxed) {
                here.early.fetch_add(1, Ordering::Relaxed);
            }
            Delivery::bury()
        })?;
        let here = Arc::clone(inbox);
        context.set_handler(KEPT, move |_, message| {
            let here = Arc::clone(&here);
            Delivery::collect(message, move |bytes| {
                here.kept.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
            })
        })?;
        let here = Arc::clone(inbox);
        context.set_handler(SIGNAL, move |_, _| {
            here.signals.fetch_add(1, Ordering::Relaxed);
            Delivery::bury()
        })?;
        context.set_handler(WAKE, move |_, _| {
            let _ = give.send(());
            Delivery::bury()
        })?;
        Ok(())
    }

    fn signed(&self, text: &str) -> String {
        format!("task {}: {text}", self.context.task())
    }

    fn other(&self) -> u32 {
        1 - self.context.task()
    }

    fn leads(&self) -> bool {
        self.context.task() == 0
    }

    fn signal(&self) -> Result<()> {
        Ok(self.context.send(self.other(), SIGNAL, &[], &[])?)
    }

    /// Waits for one more signal.
    fn await_signal(&self) -> Result<()> {
        let number = self.taken.get() + 1;
        self.taken.set(number);
        Ok(self.context.wait_until(|| self.inbox.signals.load(Ordering::Relaxed) >= number)?)
    }

    fn messages(&self) -> Result<Result<String, String>> {
        for number in 0..STREAM {
            self.context.send(self.other(), NUMBERED, &[], &number.to_le_bytes())?;
        }
        self.context.wait_until(|| self.inbox.numbered.load(Ordering::Relaxed) == STREAM)?;
        let early = self.inbox.early.load(Ordering::Relaxed);
        let mut judge = Judge::default();
        for len in [0, 100, 5000, LONG] {
            let data = pattern(self.context.task(), len as u64, len);
            self.context.send(self.other(), KEPT, &[], &data)?;
            self.context.wait_until(|| self.inbox.has_kept())?;
            for bytes in self.inbox.kept() {
                judge.look(
                    &format!("a message of {len} bytes"),
                    &bytes,
                    &pattern(self.other(), len as u64, len),
                );
            }
            self.context.gfence()?;
        }
        let order = match early {
            0 => "in the order sent".to_owned(),
            some => format!("{some} of them before an earlier one, which programs must expect"),
        };
        judge.verdict(format!("{STREAM} short ones each way, {order}; others of up to {} MiB", LONG >> 20))
    }

    /// Some transports write such messages straight into memory, and rely on the order in which
    /// their bytes become visible.
    fn answers(&self) -> Result<Result<String, String>> {
        let mut judge = Judge::default();
        for round in 0..ROUNDS {
            let len = 1 + (round % 64) as usize;
            let data = pattern(self.context.task(), round, len);
            if self.leads() {
                self.context.send(self.other(), KEPT, &[], &data)?;
            }
            self.context.wait_until(|| self.inbox.has_kept())?;
            for bytes in self.inbox.kept() {
                judge.look(&format!("answer {round}"), &bytes, &pattern(self.other(), round, len));
            }
            if !self.leads() {
                self.context.send(self.other(), KEPT, &[], &data)?;
            }
        }
        judge.verdict(format!("{ROUNDS} short messages back and forth, each whole when it was seen"))
    }

    /// A put that has ended is at the target: a message sent then must not be ahead of it.
    fn puts(&self) -> Result<Result<String, String>> {
        let mut judge = Judge::default();
        let lengths = [1, 8, 48, 64, 1000, 4096, 70_000, LONG];
        for (round, len) in (0..ROUNDS / 2).zip(lengths.into_iter().cycle()) {
            // The longest ones seldom, for machines are slow.
            let len = if len == LONG && round > 50 { 2048 } else { len };
            let data = pattern(self.context.task(), round, len);
            let there = self.far.part(0, len as u64).context("memory is too small")?;
            self.context.put_owned(there, data)?.wait()?;
            self.signal()?;
            self.await_signal()?;
            let mut seen = vec![0; len];
            self.near.read(0, &mut seen);
            judge.look(&format!("put {round} when it was done"), &seen, &pattern(self.other(), round, len));
            // Not before both have looked.
            self.signal()?;
            self.await_signal()?;
        }
        judge.verdict(format!("of up to {} MiB, there when they were done", LONG >> 20))
    }

    /// Puts of which nobody is told, which a fence confirms.
    fn short_puts(&self) -> Result<Result<String, String>> {
        let mut judge = Judge::default();
        for round in 0..ROUNDS / 5 {
            for word in 0..8 {
                let there = self.far.part(word * 64, 40).context("memory is too small")?;
                self.context.put_bytes(there, &pattern(self.context.task(), round + word, 40))?;
            }
            self.context.fence()?;
            self.signal()?;
            self.await_signal()?;
            for word in 0..8 {
                let mut seen = vec![0; 40];
                self.near.read(word as usize * 64, &mut seen);
                let should = pattern(self.other(), round + word, 40);
                judge.look(&format!("short put {word} of round {round} after a fence"), &seen, &should);
            }
            self.signal()?;
            self.await_signal()?;
        }
        judge.verdict(format!("{} of 40 bytes, there after a fence", ROUNDS / 5 * 8))
    }

    fn gets(&self) -> Result<Result<String, String>> {
        self.near.write(0, &pattern(self.context.task(), 0, LONG));
        self.context.gfence()?;
        let mut judge = Judge::default();
        let should = pattern(self.other(), 0, LONG);
        for len in [1, 8, 1000, 4096, 70_000, LONG] {
            let mut seen = vec![0; len];
            let there = self.far.part(0, len as u64).context("memory is too small")?;
            self.context.get_bytes(there, &mut seen)?;
            judge.look(&format!("a get of {len} bytes"), &seen, &should[..len]);
        }
        judge.verdict(format!("of up to {} MiB", LONG >> 20))
    }

    /// Both add to both variables.
    fn atomics(&self) -> Result<Result<String, String>> {
        self.near.write(0, &[0; 8]);
        self.context.gfence()?;
        let mut last = None;
        let mut order = true;
        for _ in 0..ROUNDS {
            let there = self.far.part(0, 8).context("memory is too small")?;
            let before = self.context.fetch_add(there, 1)?;
            order &= last.replace(before).is_none_or(|last| last < before);
            let here = self.near.remote().part(0, 8).context("memory is too small")?;
            self.context.fetch_add(here, 1)?;
        }
        self.context.gfence()?;
        let sum = self.near.atomic_u64(0).load(Ordering::Relaxed);
        Ok(match order && sum == 2 * ROUNDS {
            true => Ok(format!("{} additions of both tasks, none lost", 4 * ROUNDS)),
            false => Err(format!("{} additions came to {sum}", 2 * ROUNDS)),
        })
    }

    /// Long data of the program's own memory, which transports register for the one transfer.
    fn registration(&self) -> Result<Result<String, String>> {
        let data = pattern(self.context.task(), 3, LONGEST);
        self.context.put_owned(self.far, data)?.wait()?;
        self.context.gfence()?;
        let mut seen = vec![0; LONGEST];
        self.near.read(0, &mut seen);
        let mut judge = Judge::default();
        judge.look("a long put", &seen, &pattern(self.other(), 3, LONGEST));
        let own = self.context.get_owned(self.far)?.wait()?;
        judge.look("a long get", &own, &pattern(self.context.task(), 3, LONGEST));
        judge.verdict(format!("{} MiB of memory that was not registered before, put and got", LONGEST >> 20))
    }

    fn rails(&self) -> Result<Result<String, String>> {
        let rails = self.context.rails()?;
        let name = self.context.transport_to(self.other()).unwrap_or_default();
        let notes = self.context.transport_notes();
        let note = notes.iter().find(|(of, _)| *of == name).map_or("", |(_, note)| note.as_str());
        Ok(Ok(match rails {
            None => "none: memory of one host".to_owned(),
            Some(count) => format!("{count}; {note}"),
        }))
    }

    /// Waits that sleep, and messages to a task that makes no call.
    fn sleeping(&self) -> Result<Result<String, String>> {
        for _ in 0..3 {
            if self.leads() {
                std::thread::sleep(NAP);
                self.signal()?;
                self.await_signal()?;
            } else {
                self.await_signal()?;
                self.signal()?;
            }
        }
        self.context.set_interrupts(true)?;
        self.context.gfence()?;
        let heard = if self.leads() {
            self.context.send(self.other(), WAKE, &[], &[])?;
            self.await_signal()?;
            true
        } else {
            // The program's own thread is outside; the signal tells the other one either way.
            let heard = self.woken.recv_timeout(DEAF).is_ok();
            self.signal()?;
            heard
        };
        self.context.gfence()?;
        self.context.set_interrupts(false)?;
        Ok(match heard {
            true => Ok("waits were woken, and a message came to a task that made no call".to_owned()),
            false => Err("in interrupt mode a message waited for the program's next call".to_owned()),
        })
    }
}
