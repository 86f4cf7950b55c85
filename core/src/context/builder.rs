//! Initialisation: join the job, open the transports, reach every task.

use super::adaptive_spin::AdaptiveSpin;
use super::adaptive_wait::Crowding;
use super::connect::{Connected, connect, listed};
use super::init_errors::{boot_error, not_there};
use super::restart::PeerWindow;
use super::{Attributes, Context, Shared, Sleepers, fork_guard::ForkGuard};
use crate::bootstrap::{self, Bootstrap};
use crate::config::{Config, Environment, Origin, SetError};
use crate::error::{Error, Result};
use crate::handlers::{CompletionQueue, Delivery, HandlerTable, Incoming};
use crate::lock::ContextLock;
use crate::state::State;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use crate::transport::abi::TransportOps;
use crate::transport::{Caps, FailoverTrouble, Known, Link, PeerId, Registry, Request, Sleeper, search_dirs};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What an interface above core plugs into a context: how to call the handlers whose addresses it
/// passes around, and whom to tell of errors that belong to no call.
#[derive(Default)]
pub struct RawHooks {
    /// Calls a header handler by an address that the interface gave out. Runs in the dispatcher,
    /// under the lock.
    pub header: Option<unsafe fn(&Context, handler: u64, &Incoming<'_>) -> Delivery>,
    /// Calls a completion handler by function and argument.
    pub completion: Option<unsafe fn(&Context, function: usize, argument: *mut c_void)>,
    /// Told when an operation with a peer counts a counter that has a
    /// [tag](crate::Counter::set_tag), just before it counts.
    pub counted: Option<fn(&Context, &crate::Counter, PeerId)>,
    /// Called by each thread of the context when it starts.
    pub thread_start: Option<Box<dyn Fn() + Send + Sync>>,
    /// Stack size of the context's threads, in bytes.
    pub stack_size: Option<usize>,
    /// Called with errors that belong to no call and the peer they concern. True: handled, go on
    /// without the peer; false: waits that may need the peer fail.
    pub error: Option<Box<ErrorHandler>>,
    /// Called with what keeps one network path from taking another's place, and the details.
    /// Without it, that is logged.
    pub failover: Option<Box<FailoverHandler>>,
}

/// See [`RawHooks::error`].
pub type ErrorHandler = dyn Fn(&Context, &Error, PeerId) -> bool + Send + Sync;

/// See [`RawHooks::failover`]. Runs under the lock.
pub type FailoverHandler = dyn Fn(&Context, FailoverTrouble, &str) + Send + Sync;

/// Sets up a [`Context`].
///
/// ```no_run
/// let context = lapis_core::Context::builder().interrupts(false).init()?;
/// println!("task {} of {}", context.task(), context.tasks());
/// # Ok::<(), lapis_core::Error>(())
/// ```
#[derive(Default)]
#[must_use = "nothing happens before `init`"]
pub struct ContextBuilder {
    number: u32,
    environment: Option<Environment>,
    settings: Vec<(String, String)>,
    linked: Vec<&'static TransportOps>,
    known: Vec<Known>,
    plugin_paths: Vec<PathBuf>,
    bootstrap: Option<Box<dyn Bootstrap>>,
    addresses: Vec<Vec<SocketAddr>>,
    hooks: RawHooks,
}

impl ContextBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Which context of the process this is. Contexts of equal number in different tasks talk to
    /// each other. Default 0.
    pub fn number(mut self, number: u32) -> Self {
        self.number = number;
        self
    }

    /// Reads the configuration from this environment instead of the process's.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets a configuration variable by name, over whatever the environment says.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Whether arrivals are served while the program computes, by a thread of the context. Default
    /// yes, as in the guide.
    pub fn interrupts(self, on: bool) -> Self {
        self.set("LAPIS_INTERRUPT", if on { "yes" } else { "no" })
    }

    /// Offers a transport that is linked into the program, beside the plugins that are found.
    pub fn transport(mut self, table: &'static TransportOps) -> Self {
        self.linked.push(table);
        self
    }

    /// Tells of transports whose plugins may be loaded, where the configuration wants such and they
    /// are found in the places that are searched. Without it only those are that are linked, given
    /// by [`plugin`](Self::plugin) or named by LAPIS_TRANSPORT.
    pub fn know(mut self, transports: &[Known]) -> Self {
        self.known.extend_from_slice(transports);
        self
    }

    /// Offers a plugin file, or all plugins of a directory. One that declares no
    /// [usage](crate::transport::Usage) is used where it is named.
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> Self {
        self.plugin_paths.push(path.into());
        self
    }

    /// Joins the job by this bootstrap instead of what the environment announces.
    pub fn bootstrap(mut self, bootstrap: Box<dyn Bootstrap>) -> Self {
        self.bootstrap = Some(bootstrap);
        self
    }

    /// Tells where each task receives datagrams, one address for each path, so that the tasks need
    /// not meet: this one, of the number that MP_CHILD says, binds its own.
    ///
    /// *LAPI Guide, "Using UDP/IP mode".*
    pub fn addresses(mut self, by_task: Vec<Vec<SocketAddr>>) -> Self {
        self.addresses = by_task;
        self
    }

    /// Plugs in an interface above core.
    pub fn hooks(mut self, hooks: RawHooks) -> Self {
        self.hooks = hooks;
        self
    }

    /// Called with errors that belong to no call, with the task they concern; see
    /// [`RawHooks::error`].
    pub fn on_error(
        mut self,
        handler: impl Fn(&Context, &Error, PeerId) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.hooks.error = Some(Box::new(handler));
        self
    }

    /// Initialises the context. Collective: returns when all tasks of the job have come here.
    ///
    /// # Errors
    /// A bad configuration value; a job whose tasks can't be found; a transport that was asked for
    /// and can't be used; a task that no transport reaches. Each says what to do. Nothing is left
    /// behind.
    #[doc(alias = "LAPI_Init")]
    pub fn init(self) -> Result<Context> {
        let (mut config, mut environment) = self.configure()?;
        let (mut registry, request) = self.discover(&mut config, &mut environment)?;
        let mut job = match self.bootstrap {
            Some(job) => job,
            None if !self.addresses.is_empty() => {
                listed(&config, &mut environment, &self.addresses, self.number)?
            }
            None => {
                if self.environment.is_none() {
                    bootstrap::refuse_elevated().map_err(boot_error)?;
                }
                let options = bootstrap::Options::default().context(self.number);
                bootstrap::detect_in(&(&environment).into(), &options).map_err(boot_error)?
            }
        };
        let Connected { links, datagrams, peers, windows, tallies, crowded, hosts } =
            connect(&mut registry, &request, &config, &environment, &mut *job, self.number, &self.addresses)?;
        let interrupts = *config.interrupt.get();
        let again = job.entry() == bootstrap::Entry::Again;
        let shared = Shared {
            task: job.task(),
            tasks: job.tasks(),
            number: self.number,
            alive: ForkGuard::new()?,
            terminated: AtomicBool::new(false),
            crowding: Crowding::new(crowded),
            hosts,
            lock: ContextLock::new(),
            link_sleepers: sleepers(&links),
            references: super::one_reference::Ledger::default(),
            state: UnsafeCell::new(State::new(links, datagrams, peers)),
            windows: windows.iter().map(PeerWindow::new).collect(),
            listed: Mutex::new(self.addresses),
            handlers: HandlerTable::new(),
            extensions: super::service::Extensions::default(),
            completions: CompletionQueue::new(*config.handler_threads.get()),
            sleepers: Sleepers::new(),
            attributes: Attributes {
                interrupts: AtomicBool::new(interrupts),
                checks: AtomicBool::new(*config.error_chk.get()),
                timeout_s: AtomicU32::new(config.timeout.get().as_secs() as u32),
                adaptive_spin: AdaptiveSpin::new(*config.spin.get()),
            },
            hooks: self.hooks,
            config,
            candidates: registry.candidates().to_vec(),
            threads: Mutex::default(),
            progress_thread: AtomicBool::new(false),
            polling: AtomicU32::new(0),
            sleeping_until: AtomicU64::new(0),
            clock: Instant::now(),
            bootstrap: Mutex::new(job),
            users: AtomicUsize::new(1),
            beginnings: AtomicU32::new(0),
            tallies,
        };
        let context = Context { shared: Arc::new(shared) };
        if again {
            context.locked().end_collectives(context.task());
        }
        if interrupts && context.tasks() > 1 {
            for link in &mut context.locked().links.open {
                link.set_interrupts(true);
            }
            context.ensure_progress_thread()?;
        }
        context.locked().report_failover();
        Ok(context)
    }

    /// The configuration, as far as it is known before plugins are loaded, and the variables as a
    /// transport may ask for them: the environment under the builder's settings.
    fn configure(&self) -> Result<(Config, Environment)> {
        let environment = self.environment.clone().unwrap_or_else(Environment::of_process);
        let (mut config, warnings) = Config::from_env(&environment)?;
        warnings.iter().for_each(|w| tracing::warn!("{w}"));
        for known in &self.known {
            config.declare(known.name, known.declaration.variables, &environment)?;
        }
        for (name, value) in &self.settings {
            match config.set(name, value, Origin::Builder) {
                Ok(Some(w)) => tracing::warn!("{w}"),
                // A plugin may declare it.
                Ok(None) | Err(SetError::UnknownName { .. }) => {}
                Err(e) => return Err(e.into()),
            }
        }
        // Here, so that a mistake shows before anything is opened.
        config.faults()?;
        Ok((config, environment))
    }

    /// Finds the transports, and reads the variables that they declare. What is wrong with the
    /// configuration then shows before the job is joined.
    fn discover(&self, config: &mut Config, environment: &mut Environment) -> Result<(Registry, Request)> {
        let mut registry = Registry::new();
        registry.know(&self.known);
        for table in &self.linked {
            registry.register(table);
        }
        let request = Request {
            selection: config.selection(),
            explicit: self.plugin_paths.clone(),
            dirs: search_dirs(config.transport_path.get()),
            chaos: config.faults()?,
        };
        let found = registry.discover(&request);
        for plugin in registry.transports() {
            if let Some(variables) = plugin.variables() {
                config.declare(plugin.name(), variables, environment)?;
            }
        }
        for warning in config.unknown_names(environment, &registry.unread()) {
            tracing::warn!("{warning}");
        }
        found.map_err(|e| not_there(&registry, &request, &e))?;
        for (name, value) in &self.settings {
            config.set(name, value, Origin::Builder)?;
            environment.set(name, value);
        }
        Ok((registry, request))
    }
}

/// What a thread sleeps in. To a link that leads to this task alone nothing comes while all its
/// threads sleep: it counts only if there is no other.
fn sleepers(links: &[Link]) -> Box<[Sleeper]> {
    let waits = || links.iter().filter(|link| link.caps().contains(Caps::WAIT));
    let others: Vec<_> =
        waits().filter(|link| !link.caps().contains(Caps::SELF_ONLY)).map(Link::sleeper).collect();
    if others.is_empty() { waits().map(Link::sleeper).collect() } else { others.into() }
}
