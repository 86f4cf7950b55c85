//! Initialisation: join the job, open the transports, reach every task.

use super::connect::{Connected, connect, listed};
#[cfg(all(test, not(loom)))]
use super::flags::Flags;
use super::fork_guard::ForkGuard;
use super::init_errors::{boot_error, not_there};
use super::moderation::Moderation;
use super::shared::Attributes;
use super::sleepers::{LinkSleepers, Sleepers};
#[cfg(all(test, not(loom)))]
use super::tally::Tallies;
use super::window::PeerWindow;
use super::{CompletionQueue, Context, HandlerTable, RawHooks, Shared};
use crate::bootstrap::{self, Bootstrap};
use crate::config::{Config, Environment, Origin, SetError};
use crate::context::State;
use crate::crowding::Crowding;
use crate::error::{Error, Result};
use crate::lock::ContextLock;
use crate::state::Told;
#[cfg(all(test, not(loom)))]
use crate::state::{Barrier, Collectives, Exchanges, Peer};
use crate::status::StatusPage;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use crate::trace::{Subject, Trace};
use crate::transport::abi::TransportOps;
use crate::transport::{Candidate, Known, PeerId, Registry, Request, search_dirs};
use std::cell::UnsafeCell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

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

    /// The number of this context within its process; contexts of equal number in different tasks
    /// communicate with each other. Default 0.
    pub fn number(mut self, number: u32) -> Self {
        self.number = number;
        self
    }

    /// Reads the configuration from this environment instead of the process's.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Sets a configuration variable by name, overriding the environment.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Interrupt mode: whether a thread of the context serves arrivals while the program computes.
    /// Default true, as in the guide.
    pub fn interrupts(self, on: bool) -> Self {
        self.set("LAPIS_INTERRUPT", if on { "yes" } else { "no" })
    }

    /// Adds a transport that is linked into the program to the plugins that are found.
    pub fn transport(mut self, table: &'static TransportOps) -> Self {
        self.linked.push(table);
        self
    }

    /// Lists transports whose plugins may be loaded if the configuration allows them and they are
    /// found on the search path. All others must be linked, given by [`plugin`](Self::plugin), or
    /// named by LAPIS_TRANSPORT.
    pub fn know(mut self, transports: &[Known]) -> Self {
        self.known.extend_from_slice(transports);
        self
    }

    /// Adds a plugin file, or all plugins of a directory. A plugin that declares no
    /// [usage](crate::transport::Usage) is used only if it is named.
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> Self {
        self.plugin_paths.push(path.into());
        self
    }

    /// Joins the job by this bootstrap instead of the one that the environment announces.
    pub fn bootstrap(mut self, bootstrap: Box<dyn Bootstrap>) -> Self {
        self.bootstrap = Some(bootstrap);
        self
    }

    /// Gives the addresses at which each task receives datagrams, one for each path, so that the
    /// tasks need no bootstrap. This task, whose number MP_CHILD gives, binds its own.
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

    /// Sets the error handler: called with each error that belongs to no call, and the task it
    /// concerns; see [`RawHooks::error`].
    pub fn on_error(
        mut self,
        handler: impl Fn(&Context, &Error, PeerId) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.hooks.error = Some(Box::new(handler));
        self
    }

    /// Initialises the context. Collective: returns when all tasks of the job have called it.
    ///
    /// # Errors
    /// A configuration value is invalid; the job's tasks can't be found; a requested transport
    /// can't be used; no transport reaches some task. Each error names the remedy. After an error
    /// all resources have been released.
    #[doc(alias = "LAPI_Init")]
    pub fn init(mut self) -> Result<Context> {
        let (mut config, mut environment) = self.configure()?;
        let (mut registry, request) = self.discover(&mut config, &mut environment)?;
        let mut job = self.join(&config, &mut environment)?;
        let connected =
            connect(&mut registry, &request, &config, &environment, &mut *job, self.number, &self.addresses)?;
        let interrupts = *config.interrupt.get();
        let again = job.entry() == bootstrap::Entry::Again;
        let shared = self.shared(connected, job, config, registry.candidates().to_vec())?;
        let context = Context { shared: Arc::new(shared) };
        if again {
            context.locked().is_replaced(context.task());
        }
        if interrupts && context.tasks() > 1 {
            context.locked().set_interrupts_of_links(true);
            context.ensure_progress_thread()?;
        }
        context.locked().report_failover();
        context.locked().publish_status();
        Ok(context)
    }

    /// Joins the job.
    fn join(&mut self, config: &Config, environment: &mut Environment) -> Result<Box<dyn Bootstrap>> {
        if let Some(job) = self.bootstrap.take() {
            return Ok(job);
        }
        if !self.addresses.is_empty() {
            return listed(config, environment, &self.addresses, self.number);
        }
        if self.environment.is_none() {
            bootstrap::refuse_elevated().map_err(boot_error)?;
        }
        let options = bootstrap::Options::default().context(self.number).patience(*config.init_timeout.get());
        bootstrap::detect_in(&(&*environment).into(), &options).map_err(boot_error)
    }

    fn status_page(&self, job: &dyn Bootstrap) -> Result<StatusPage> {
        StatusPage::new(&job.job().id, job.task(), job.tasks(), self.number)
            .map_err(|source| Error::System { what: "mapping the page that shows the task's status", source })
    }

    /// What the threads of the context share, once all tasks are connected.
    fn shared(
        self,
        connected: Connected,
        job: Box<dyn Bootstrap>,
        config: Config,
        candidates: Vec<Candidate>,
    ) -> Result<Shared> {
        let Connected { links, datagrams, peers, windows, tallies, flags, crowded, collectives, hosts } =
            connected;
        let status = self.status_page(&*job)?;
        let subject = Subject {
            job: &job.job().id,
            task: job.task(),
            tasks: job.tasks(),
            context: self.number,
            host: hosts[job.task() as usize],
        };
        let trace = Trace::of(&config, &subject)?;
        let told = Told { counts: status.counts(), trace: trace.clone() };
        let crowding = Arc::new(Crowding::new(crowded));
        Ok(Shared {
            task: job.task(),
            tasks: job.tasks(),
            number: self.number,
            alive: ForkGuard::new()?,
            terminated: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            crowding: Arc::clone(&crowding),
            hosts,
            lock: ContextLock::new(Arc::clone(&crowding)),
            link_sleepers: LinkSleepers::new(&links, &peers),
            references: super::one_reference::Ledger::default(),
            state: UnsafeCell::new(State::new(links, datagrams, peers, collectives, told)),
            windows: windows.iter().map(|window| PeerWindow::new(window.as_ref())).collect(),
            listed: Mutex::new(self.addresses),
            handlers: HandlerTable::new(),
            extensions: super::extensions::Extensions::default(),
            completions: CompletionQueue::new(*config.handler_threads.get(), crowding),
            sleepers: Sleepers::new(),
            attributes: Attributes::of(&config),
            hooks: self.hooks,
            config,
            candidates,
            threads: Mutex::default(),
            progress_thread: AtomicBool::new(false),
            sleeping_until: AtomicU64::new(0),
            moderation: Moderation::default(),
            clock: Instant::now(),
            bootstrap: Mutex::new(job),
            users: AtomicUsize::new(1),
            beginnings: AtomicU32::new(0),
            tallies,
            direct_ended: Default::default(),
            flags,
            status,
            trace,
        })
    }

    /// A context of a task that can reach no task, not even itself.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn without_transports(self, job: Box<dyn Bootstrap>, config: Config) -> Result<Context> {
        let connected = Connected {
            links: Vec::new(),
            datagrams: Vec::new(),
            peers: vec![Peer::new()],
            windows: Vec::new(),
            tallies: Tallies::alone(),
            flags: Flags::new(0, 0, &[Vec::new()], &[]),
            crowded: false,
            collectives: Collectives::new(Barrier::default(), Exchanges::default()),
            hosts: Box::new([0]),
        };
        Ok(Context { shared: Arc::new(self.shared(connected, job, config, Vec::new())?) })
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
