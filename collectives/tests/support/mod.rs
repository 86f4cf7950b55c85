//! Jobs of several tasks, each a thread of this process with a context of its own.

use lapis_core::Context;
use lapis_core::bootstrap::{self, Address, Environment, Listener, Options, Server, ServerConfig};
use lapis_patience::Patience;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Poll, Wake};
use std::time::Duration;

/// Transports, by the settings that choose them.
pub(crate) type Settings = &'static [(&'static str, &'static str)];

/// Shared memory alone.
pub(crate) const SHM: Settings = &[("LAPI_USE_SHM", "only")];

/// Datagrams alone.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) const UDP: Settings = &[("LAPI_USE_SHM", "no")];

/// Datagrams alone, of which some are lost, come twice or out of turn.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) const LOSSY: Settings =
    &[("LAPI_USE_SHM", "no"), ("LAPIS_CHAOS", "seed=11,drop=2%,dup=1%,reorder=2%,mtu=1400")];

/// Runs `body` in a job of so many tasks; fails if it does not end.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn job(tasks: u32, settings: Settings, body: impl Fn(&Context) + Clone + Send + 'static) {
    job_of(tasks, settings, false, body);
}

/// The same in interrupt mode: messages are served while the program does something else.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn interrupted_job(
    tasks: u32,
    settings: Settings,
    body: impl Fn(&Context) + Clone + Send + 'static,
) {
    job_of(tasks, settings, true, body);
}

/// The stage that a job has reached, which its tasks know without messages.
#[allow(dead_code, reason = "not every test file uses it")]
#[derive(Clone, Default)]
pub(crate) struct Stage(Arc<AtomicU32>);

#[allow(dead_code, reason = "not every test file uses it")]
impl Stage {
    pub(crate) fn reach(&self, stage: u32) {
        self.0.fetch_max(stage, Ordering::Release);
    }

    pub(crate) fn is_reached(&self, stage: u32) -> bool {
        self.0.load(Ordering::Acquire) >= stage
    }

    /// Waits without making progress.
    pub(crate) fn wait_for(&self, stage: u32) {
        while !self.is_reached(stage) {
            std::thread::yield_now();
        }
    }
}

/// Wakes a thread.
struct Thread(std::thread::Thread);

impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Awaits something; the thread sleeps until it is woken.
#[allow(dead_code, reason = "not every test file uses it")]
pub(crate) fn sleep_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Thread(std::thread::current())).into();
    let mut polled = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut polled) {
            return value;
        }
        std::thread::park();
    }
}

fn job_of(
    tasks: u32,
    settings: Settings,
    interrupts: bool,
    body: impl Fn(&Context) + Clone + Send + 'static,
) {
    let secret = bootstrap::random_secret().unwrap();
    let name = format!("unix:@lapis-team-{}-{:02x?}", std::process::id(), &secret[..4]);
    let address: Address = name.replace([' ', '[', ']', ','], "").parse().unwrap();
    let listener = Listener::bind(&address).unwrap();
    let server = Server::start(listener, ServerConfig::new(tasks, secret), |_| {}).unwrap();
    let hex: String = secret.iter().map(|b| format!("{b:02x}")).collect();
    let (tell, told) = mpsc::channel();
    for task in 0..tasks {
        let (at, id) = (server.address().to_string(), format!("team-{}", std::process::id()));
        let environment = Environment::of([
            ("LAPIS_KVS", at.as_str()),
            ("LAPIS_JOB_ID", id.as_str()),
            ("LAPIS_JOB_SECRET", hex.as_str()),
            ("LAPIS_TASK", task.to_string().as_str()),
            ("LAPIS_TASKS", tasks.to_string().as_str()),
        ]);
        let (tell, body) = (tell.clone(), body.clone());
        std::thread::spawn(move || {
            let job = bootstrap::detect_in(&environment, &Options::default()).unwrap();
            let mut builder = Context::builder()
                .environment(lapis_core::config::Environment::from_pairs(settings.iter().copied()))
                .bootstrap(job)
                .transport(lapis_loopback::table())
                .transport(lapis_shm::table())
                .interrupts(interrupts);
            if settings != SHM {
                builder = builder.transport(lapis_udp::table());
            }
            let context = builder.init().unwrap();
            body(&context);
            // A body may have ended it itself.
            if context.is_usable() {
                context.gfence().unwrap();
                context.terminate().unwrap();
            }
            tell.send(task).unwrap();
        });
    }
    drop(tell);
    let mut ended = Vec::new();
    let mut patience = Patience::with_myself(Duration::from_secs(60));
    for _ in 0..tasks {
        match patience.receive(&told) {
            Ok(task) => ended.push(task),
            Err(e) => panic!("of {tasks} tasks only {ended:?} ended: {e}"),
        }
    }
}
