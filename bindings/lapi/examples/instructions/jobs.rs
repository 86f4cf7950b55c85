//! The tasks that talk to each other: contexts of one process.

use lapis_core::bootstrap::{Environment, Listener, Options, Server, ServerConfig, detect_in, random_secret};
use lapis_core::context::HandlerId;
use lapis_core::{Context, Delivery, Destination, Error};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Counts messages of one packet, which are looked at where they are.
pub(crate) const BALL: HandlerId = HandlerId(1);
/// Counts longer ones, too.
pub(crate) const BALE: HandlerId = HandlerId(2);

thread_local! {
    pub(crate) static CAUGHT: Cell<u64> = const { Cell::new(0) };
}

/// Where a job of two tasks meets.
pub(crate) struct Meeting {
    address: String,
    secret: [u8; 32],
    /// The same as the environment has it.
    hex: String,
}

impl Meeting {
    pub(crate) fn new(name: &str) -> Self {
        let address = format!("unix:@lapis-instructions-{}-{name}", std::process::id());
        let secret = random_secret().expect("random numbers");
        Self { address, secret, hex: secret.iter().map(|b| format!("{b:02x}")).collect() }
    }

    /// What tells a task of the job where it belongs.
    pub(crate) fn environment<'a>(&'a self, task: &'a str) -> [(&'static str, &'a str); 5] {
        [
            ("LAPIS_KVS", &self.address),
            ("LAPIS_JOB_ID", "instructions"),
            ("LAPIS_JOB_SECRET", &self.hex),
            ("LAPIS_TASK", task),
            ("LAPIS_TASKS", "2"),
        ]
    }

    /// What the first task makes of it, and the other task's context.
    pub(crate) fn of_two<T>(
        &self,
        (over, trace): (&str, Option<&str>),
        first: impl FnOnce() -> T,
    ) -> Result<(T, Context)> {
        let listener = Listener::bind(&self.address.parse().expect("an address")).expect("a socket");
        let server = Server::start(listener, ServerConfig::new(2, self.secret), |_| {}).expect("a store");
        // Lives as long as the process.
        std::mem::forget(server);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| self.join("1", (over, trace)));
            let first = first();
            Ok((first, other.join().expect("the other task joins")?))
        })
    }

    fn join(&self, task: &str, (over, trace): (&str, Option<&str>)) -> Result<Context> {
        let environment = Environment::of(self.environment(task));
        let job = detect_in(&environment, &Options::default()).expect("the job's store");
        let builder = Context::builder().bootstrap(job).set("LAPIS_TRANSPORT", over).interrupts(false);
        let builder = match trace {
            Some(folder) => builder.set("LAPIS_TRACE", folder),
            None => builder,
        };
        let context = builder.transport(lapis_loopback::table()).init()?;
        context.set_handler(BALL, |_, _| {
            CAUGHT.set(CAUGHT.get() + 1);
            Delivery::bury()
        })?;
        context.set_handler(BALE, |_, message| {
            CAUGHT.set(CAUGHT.get() + 1);
            // Packets of one piece are looked at where they are; others need a place.
            thread_local! {
                static PLACE: Cell<*mut u8> = const { Cell::new(null_mut()) };
            }
            if PLACE.get().is_null() {
                PLACE.set(vec![0u8; 1 << 20].leak().as_mut_ptr());
            }
            match NonNull::new(PLACE.get()) {
                Some(place) if message.data().is_none() => {
                    Delivery { into: Destination::Contiguous(place), ..Delivery::bury() }
                }
                _ => Delivery::bury(),
            }
        })?;
        context.gfence()?;
        Ok(context)
    }
}

/// Two contexts of one job over a transport, which write traces into a folder if there is one.
pub(crate) fn pair(over: &str, trace: Option<&str>) -> Result<(Context, Context)> {
    let meeting = Meeting::new(&format!("{over}-{}", trace.is_some()));
    let (a, b) = meeting.of_two((over, trace), || meeting.join("0", (over, trace)))?;
    Ok((a?, b))
}

/// Lets both look at everything, which they do again some messages after: so each row begins at the
/// same place of that rhythm, however many messages went before it.
pub(crate) fn settle(a: &Context, b: &Context) {
    for context in [a, b, a, b] {
        while context.progress().expect("the peer is there").events > 0 {}
    }
}

/// Polls until all messages that are under way have come: one call finds what waits in a lane.
pub(crate) fn receive(context: &Context, until: u64) {
    while CAUGHT.get() < until {
        context.progress().expect("the peer is there");
    }
}
