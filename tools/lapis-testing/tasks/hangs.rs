//! Jobs that hang, each in a way of its own: `hang KIND SEED`. The seed says which task is at
//! fault.

use crate::join;
use lapis::core::sync::{AtomicU32, Ordering};
use lapis::{Context, Counter, Delivery, HandlerId, Result};
use std::sync::Arc;
use std::time::Duration;

const KNOCK: HandlerId = HandlerId(1);
const DONE: HandlerId = HandlerId(2);

/// Longer than any test looks.
const FOR_EVER: Duration = Duration::from_secs(600);

struct Job {
    context: Context,
    me: u32,
    tasks: u32,
    /// The task at fault.
    at_fault: u32,
    counter: Arc<Counter>,
}

/// Joins, says so, and hangs.
pub(crate) fn hang(kind: &str, seed: &str) -> Result<()> {
    let seed: u32 = seed.parse().unwrap_or(0);
    // Every other seed polls.
    let context = match seed % 2 {
        0 => join()?,
        _ => lapis::builder().interrupts(false).init()?,
    };
    let (me, tasks) = (context.task(), context.tasks());
    let counter = Arc::new(Counter::new(0));
    let here = Arc::clone(&counter);
    context.set_handler(KNOCK, move |_, _| {
        here.increment();
        Delivery::bury()
    })?;
    let job = Job { context, me, tasks, at_fault: seed % tasks, counter };
    if kind == "slow-handler" {
        job.handler_that_blocks()?;
    }
    if kind == "waiting-handler" {
        job.handler_that_waits()?;
    }
    // A neighbour may knock before a task with a handler that hangs has left the barrier.
    let hangs_at_once = matches!(kind, "slow-handler" | "waiting-handler");
    if hangs_at_once {
        println!("ready");
    }
    job.context.gfence()?;
    if !hangs_at_once {
        println!("ready");
    }
    match kind {
        "missing-send" => job.missing_send(),
        "crossed-waits" => job.crossed_waits(),
        "crossed-locks" => job.crossed_locks(),
        "wrong-counter" => job.wrong_counter(),
        "wrong-value" => job.wrong_value(),
        "dead-peer" => job.dead_peer(),
        "computes" => job.computes(),
        "blocked-outside" => job.blocked_outside(),
        "stopped" => job.stopped(),
        "no-fence" => job.no_fence(),
        "lost-rail" => job.lost_rail(),
        "slow-handler" | "waiting-handler" => job.knock_and_fence(),
        other => panic!("no hang is called `{other}`"),
    }
}

impl Job {
    fn is_at_fault(&self) -> bool {
        self.me == self.at_fault
    }

    fn next(&self) -> u32 {
        (self.me + 1) % self.tasks
    }

    fn wait(&self, value: i32) -> Result<()> {
        self.context.wait_counter(&self.counter, value).map(|_| ())
    }

    /// One task does not send to its neighbour, and goes on to the end.
    fn missing_send(&self) -> Result<()> {
        if !self.is_at_fault() {
            self.context.send(self.next(), KNOCK, &[], b"x")?;
        }
        self.wait(1)?;
        self.context.gfence()
    }

    /// Each task waits until another one's word is changed by it, in a ring: all wait before they
    /// would send.
    fn crossed_waits(&self) -> Result<()> {
        let next = self.next();
        self.context.wait_until_by(next, || self.counter.value() > 0)?;
        self.context.send((self.me + self.tasks - 1) % self.tasks, KNOCK, &[], b"x")
    }

    /// Two tasks have a lock each, and want the other one's.
    fn crossed_locks(&self) -> Result<()> {
        let lock = self.context.alloc(8)?;
        let all = self.context.all_gather(&lock.remote().to_bytes())?;
        let (all, _) = all.as_chunks();
        let lock_of = |task: u32| lapis::RemoteMemory::from_bytes(&all[task as usize]);
        let pair = [self.at_fault, (self.at_fault + 1) % self.tasks];
        let Some(place) = pair.iter().position(|task| *task == self.me) else { return self.context.gfence() };
        assert_eq!(self.context.compare_and_swap(lock_of(self.me), 0, 1)?, 0);
        self.context.send(pair[1 - place], KNOCK, &[], b"x")?;
        self.wait(1)?;
        while self.context.compare_and_swap(lock_of(pair[1 - place]), 0, 1)? != 0 {
            self.context.progress()?;
        }
        self.context.gfence()
    }

    /// Messages count another counter than the one that one task waits for.
    fn wrong_counter(&self) -> Result<()> {
        let other = Counter::new(0);
        if self.is_at_fault() {
            self.context.wait_counter(&other, 1)?;
        } else {
            // When the other one has waited for a while.
            std::thread::sleep(Duration::from_millis(500));
            self.context.send(self.at_fault, KNOCK, &[], b"x")?;
        }
        self.context.gfence()
    }

    /// One task waits for one message more than there are.
    fn wrong_value(&self) -> Result<()> {
        self.context.send(self.next(), KNOCK, &[], b"x")?;
        self.wait(if self.is_at_fault() { 2 } else { 1 })?;
        self.context.gfence()
    }

    /// One task ends without a word; the launcher lets the others go on.
    fn dead_peer(&self) -> Result<()> {
        if self.is_at_fault() {
            std::process::exit(5);
        }
        // Waits that don't give up when somebody dies.
        self.context.wait_quietly(|| false, None).map(|_| ())
    }

    fn computes(&self) -> Result<()> {
        if self.is_at_fault() {
            loop {
                std::hint::spin_loop();
            }
        }
        self.context.gfence()
    }

    fn blocked_outside(&self) -> Result<()> {
        if self.is_at_fault() {
            std::thread::sleep(FOR_EVER);
        }
        self.context.gfence()
    }

    fn stopped(&self) -> Result<()> {
        if self.is_at_fault() {
            // SAFETY: sends a signal to this process alone.
            unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
        }
        self.context.gfence()
    }

    /// One task waits for a message in place of the fence where the others are.
    fn no_fence(&self) -> Result<()> {
        if self.is_at_fault() {
            self.wait(1)?;
        }
        self.context.gfence()
    }

    /// One task's sockets are others from now on: nothing that goes there is acknowledged.
    fn lost_rail(&self) -> Result<()> {
        if self.is_at_fault() {
            replace_datagram_sockets();
            return self.context.wait_quietly(|| false, None).map(|_| ());
        }
        let confirmed = self.context.send_and_confirm(self.at_fault, KNOCK, &[], b"x".to_vec())?;
        confirmed.wait()?;
        self.context.gfence()
    }

    /// A header handler that never returns.
    fn handler_that_blocks(&self) -> Result<()> {
        let at_fault = self.is_at_fault();
        self.context.set_handler(DONE, move |_, _| {
            if at_fault {
                std::thread::sleep(FOR_EVER);
            }
            Delivery::bury()
        })
    }

    /// A completion handler that waits for a message which only the handler behind it would count.
    fn handler_that_waits(&self) -> Result<()> {
        let at_fault = self.is_at_fault();
        let answers = Arc::new(AtomicU32::new(0));
        self.context.set_handler(DONE, move |_, _| {
            let answers = Arc::clone(&answers);
            Delivery::bury().then(move |context: &Context| {
                if at_fault && answers.fetch_add(1, Ordering::Relaxed) == 0 {
                    let never = Counter::new(0);
                    let _ = context.wait_counter(&never, 1);
                }
            })
        })
    }

    fn knock_and_fence(&self) -> Result<()> {
        if !self.is_at_fault() {
            let confirmed = self.context.send_and_confirm(self.at_fault, DONE, &[], b"x".to_vec())?;
            confirmed.wait()?;
        }
        self.context.gfence()
    }
}

/// Puts fresh sockets in the place of this process's datagram sockets of the network.
fn replace_datagram_sockets() {
    // SAFETY: the calls take and give numbers; what is replaced is closed by the kernel.
    unsafe {
        let other = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0);
        assert!(other >= 0, "a socket can be had");
        for fd in (3..1024).filter(|fd| *fd != other) {
            let option = |name| {
                let mut value: libc::c_int = 0;
                let mut len = size_of::<libc::c_int>() as libc::socklen_t;
                let place = (&raw mut value).cast();
                let known = libc::getsockopt(fd, libc::SOL_SOCKET, name, place, &raw mut len) == 0;
                known.then_some(value)
            };
            let network = matches!(option(libc::SO_DOMAIN), Some(libc::AF_INET | libc::AF_INET6));
            if network && option(libc::SO_TYPE) == Some(libc::SOCK_DGRAM) {
                libc::dup2(other, fd);
            }
        }
    }
}
