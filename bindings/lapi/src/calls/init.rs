//! LAPI_Init and LAPI_Term.

use super::{attention, recovery, udp};
use crate::abi::*;
use crate::code::Code;
use crate::diagnostics;
use crate::error_handler::Errors;
use crate::failure::{self, Outcome, cold};
use crate::handlers::{arrivals, notify};
use crate::handles::{self, Instance, Reservation};
use crate::threads::Threads;
use lapis_core::bootstrap;
use lapis_core::config::{Config, Environment, EuiLib, MsgApi, UseShm};
use lapis_core::context::RawHooks;
use lapis_core::sync::{AtomicBool, AtomicU64};
use lapis_core::{Context, Error};
use std::ffi::c_int;
use std::sync::Once;

//= LAPI Guide, LAPI_Init, initializes a context
pub(crate) unsafe extern "C" fn init(hndl: *mut lapi_handle_t, info: *mut lapi_info_t) -> c_int {
    cold("LAPI_Init", || {
        if hndl.is_null() {
            return Err(LAPI_ERR_HNDL_INVALID);
        }
        // SAFETY: by the guide, NULL or a lapi_info_t.
        let Some(info) = (unsafe { info.as_mut() }) else { return Err(LAPI_ERR_INFO_NULL) };
        if info.info6 != 0 {
            return Err(LAPI_ERR_INFO_NONZERO);
        }
        let instance = start(info)?;
        // SAFETY: not null; by the guide, the place for the handle.
        unsafe { *hndl = instance.handle };
        Ok(())
    })
}

fn start(info: &mut lapi_info_t) -> Outcome<&'static Instance> {
    let persistent = !info.adapter_name.is_null();
    // SAFETY: has no preconditions.
    if persistent && unsafe { libc::geteuid() } != 0 {
        return Err(LAPI_ERR_PSS_NON_ROOT);
    }
    let environment = Environment::of_process();
    let config = configure(&environment)?;
    let by_hand = is_by_hand(&config, &environment);
    check_environment(&config, by_hand)?;
    let reservation = handles::reserve(info.instance_no).map_err(failed)?;
    // SAFETY: by the guide, add_info is NULL or a lapi_extend_t, and its handler follows its
    // prototype.
    let addresses = unsafe { udp::addresses(&reservation, info, &config, by_hand) }?;
    let context = open(info, &reservation, &environment, addresses).map_err(|error| {
        let code = failed(error);
        if *config.use_shm.get() == UseShm::Only { without_shared_memory(code) } else { code }
    })?;
    info.protocol = protocol(&context);
    let instance = Instance {
        handle: reservation.handle(),
        persistent,
        code: Code::of_process(),
        packet_size: super::attributes::packet_size(&context),
        collective: AtomicBool::new(false),
        watches: Default::default(),
        gets: Default::default(),
        send_handlers: Default::default(),
        silent: Default::default(),
        ddm: Default::default(),
        blocks: Default::default(),
        collectives: Default::default(),
        purges: AtomicU64::new(0),
        context,
    };
    let instance = reservation.publish(instance);
    // Only now: a handler that runs at once must find the handle in use.
    if *config.interrupt.get()
        && let Err(error) = instance.context.set_interrupts(true)
    {
        let code = failed(error);
        // The program has no handle to do so. If it can't end now, that is the lesser trouble.
        let _ = end(instance.handle);
        return Err(code);
    }
    attention::at_init(instance, &config);
    leave_at_exit();
    Ok(instance)
}

/// Says why initialisation failed: unlike other calls it happens once, and its number says little.
fn failed(error: Error) -> c_int {
    diagnostics::install(None);
    tracing::error!(target: "lapis::init", "LAPI_Init: {}", error.with_causes());
    error.code().value()
}

/// What stands in the way of the only transport allowed: it is not there at all, or it can't be set
/// up.
//= LAPI Guide, LAPI_Init, LAPI_ERR_SHM_KE_NOT_LOADED and LAPI_ERR_SHM_SETUP
fn without_shared_memory(code: c_int) -> c_int {
    match code {
        LAPI_ERR_CSS_LOAD_FAILED => LAPI_ERR_SHM_KE_NOT_LOADED,
        LAPI_ERR_NO_CONNECTIVITY | LAPI_ERR_UNKNOWN => LAPI_ERR_SHM_SETUP,
        code => code,
    }
}

fn configure(environment: &Environment) -> Outcome<Config> {
    // Warnings come once more when core reads the environment, which is where they are told.
    let (config, _) = Config::from_env(environment).map_err(|error| failed(error.into()))?;
    diagnostics::install(Some(&config));
    Ok(config)
}

/// Whether no launcher has started the tasks: nobody but the program, or a store that the tasks
/// share, says where they are.
fn is_by_hand(config: &Config, environment: &Environment) -> bool {
    match bootstrap::announcement(&environment.into()) {
        Ok(announced) => announced.is_none_or(|job| job.is_by_hand()),
        // A launcher that tells no task where the others are, or variables that are wrong: those
        // who join the job say so, unless the user has described it.
        Err(_) => config.procs.get().is_some(),
    }
}

/// Network statements and MP_MSG_API.
fn check_environment(config: &Config, by_hand: bool) -> Outcome {
    //= LAPI Guide, Setting environment variables, MP_MSG_API=mpi does not provide for LAPI
    if *config.msg_api.get() == Some(MsgApi::Mpi) {
        tracing::error!(target: "lapis::init", "LAPI_Init: MP_MSG_API=mpi leaves LAPI out; set it to lapi, or lapi,mpi");
        return Err(LAPI_ERR_NO_NETSTR_SET);
    }
    if config.inet_addr.get().is_some() && config.network.get().is_some() {
        tracing::error!(target: "lapis::init", "LAPI_Init: set MP_LAPI_INET_ADDR or MP_LAPI_NETWORK, not both");
        return Err(LAPI_ERR_BOTH_NETSTR_SET);
    }
    let several = config.procs.get().is_some_and(|n| n > 1);
    let needs_window = *config.euilib.get() == EuiLib::Us && *config.use_shm.get() != UseShm::Only;
    if by_hand && several && needs_window && config.network.get().is_none() {
        tracing::error!(target: "lapis::init", "LAPI_Init: MP_EUILIB=us needs MP_LAPI_NETWORK when tasks are started by hand");
        return Err(LAPI_ERR_NO_NETSTR_SET);
    }
    Ok(())
}

fn open(
    info: &lapi_info_t,
    reservation: &Reservation,
    environment: &Environment,
    addresses: udp::Addresses,
) -> Result<Context, Error> {
    // SAFETY: by the guide, NULL or a com_thread_info_t.
    let threads = unsafe { info.lapi_thread_attr.as_ref().map(|info| Threads::of(info)) }.unwrap_or_default();
    let errors = Errors::new(info.err_hndlr, threads.clone());
    let mut hooks = RawHooks {
        header: Some(arrivals::header),
        completion: Some(notify::completion),
        counted: Some(recovery::counted),
        error: Some(Box::new(move |context, error, peer| errors.tell(context, error, peer))),
        failover: Some(Box::new(attention::failover_troubled)),
        ..RawHooks::default()
    };
    threads.tell(&mut hooks);
    let mut builder = Context::builder()
        .number(reservation.number())
        .environment(environment.clone())
        // Handlers must not run before the handle is published.
        .interrupts(false)
        .transport(lapis_loopback::table())
        .know(lapis_standard::TRANSPORTS)
        .addresses(addresses)
        .hooks(hooks);
    //= LAPI Guide, LAPI_Init, num_compl_hndlr_thr
    if info.num_compl_hndlr_thr > 0 {
        builder = builder.set("LAPIS_HANDLER_THREADS", info.num_compl_hndlr_thr.min(64).to_string());
    }
    builder.init()
}

//= LAPI Guide, LAPI_Init, protocol is set to what was initialized
fn protocol(context: &Context) -> lapi_dev_t {
    let (me, tasks) = (context.task(), context.tasks());
    let mut names: Vec<_> =
        (0..tasks).filter(|task| *task != me).filter_map(|task| context.transport_to(task)).collect();
    names.sort_unstable();
    names.dedup();
    // Shared memory alone only if nothing else is in use.
    match names.iter().find(|name| **name != "shm").or(names.first()) {
        None => LAPI_SELF_DEV,
        Some(&"shm") => LAPI_SHM_DEV,
        Some(&"udp") => LAPI_UDP_DEV,
        Some(&"hps") => LAPI_HPS_DEV,
        Some(&"rdma") => LAPI_RDMA_DEV,
        Some(_) => LAPI_OTHER_DEV,
    }
}

/// Programs may end without LAPI_Term: the other tasks must not take that for a failure.
fn leave_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn leave() {
        for instance in handles::all() {
            instance.context.leave();
        }
    }
    // SAFETY: the function is static and takes care of itself whenever it runs.
    ONCE.call_once(|| unsafe {
        libc::atexit(leave);
    });
}

//= LAPI Guide, LAPI_Term, terminates a context
pub(crate) unsafe extern "C" fn term(hndl: lapi_handle_t) -> c_int {
    cold("LAPI_Term", || {
        drop(handles::get(hndl)?);
        end(hndl)
    })
}

fn end(hndl: lapi_handle_t) -> Outcome {
    let context = &handles::live(hndl)?.context;
    // A context that can't end now stays in use, and whoever holds its lock can use the handle
    // until it is given back.
    context.lock_to_end().map_err(failure::of_wait("LAPI_Term"))?;
    let withdrawn = handles::withdraw(hndl);
    context.unlock();
    let instance = withdrawn?;
    if let Err(error) = context.terminate() {
        handles::restore(instance);
        return Err(failure::of_wait("LAPI_Term")(error));
    }
    instance.blocks.clear();
    handles::retire(instance);
    Ok(())
}
