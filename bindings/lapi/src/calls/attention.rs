//! Attention messages: not errors, but worth knowing. They go to standard error, as MP_INFOLEVEL
//! says.
//!
//! * From level 1 on: what the user asked for and does not get (485 to 491, 502, 504), and timeouts
//!   of several tasks (500).
//! * From level 2 on: what is in use (499, 501, 509).
//!
//! Messages about failover: 485, setting it up failed; 486, the kernel does not report the state of
//! its links (which takes the place of the Network Availability Matrix); 490, only one path leads
//! to a task; 491, no path leads to a task any more, or the kernel has stopped reporting.
//!
//! Some messages of the guide's list never come. 487 to 489 are about programs that Linux does not
//! have. Shared memory that can't be set up is always 502, whatever step failed (505 to 508). There
//! is no checkpoint to restart from (503).

use crate::abi::*;
use crate::diagnostics;
use crate::handles::Instance;
use crate::sync::lock;
use lapis_core::config::{Config, Instances, UseShm};
use lapis_core::transport::{FailoverTrouble, Verdict};
use lapis_core::{Context, error};
use std::ffi::c_int;
use std::sync::Once;

/// Writes one message.
fn say(context: &Context, number: c_int, detail: &str) {
    let entry = error::CODES.iter().find(|entry| entry.code.value() == number);
    let text = entry.map_or("", |entry| entry.text);
    diagnostics::say(&format!("{number}: task {} of {}: {text} {detail}", context.task(), context.tasks()));
}

/// What initialisation has to say.
//= LAPI Guide, table 41, MP_INFOLEVEL of 2 and more
//= LAPI Guide, table 33, attention messages
pub(super) fn at_init(instance: &Instance, config: &Config) {
    let (context, level) = (&instance.context, *config.infolevel.get());
    if level >= 1 {
        without_msg_api(context, config);
        without_effect(context, config);
        shared_memory(context, config);
        failover(context, config);
    }
    if level >= 2 {
        say(context, LAPI_ATTN_VERSION, &diagnostics::version());
        if *config.use_bulk_xfer.get() {
            say(context, LAPI_ATTN_BULK_ENABLED, "");
        }
        let over_udp = others(context).filter(|peer| context.transport_to(*peer) == Some("udp")).count();
        if over_udp > 0 {
            say(context, LAPI_ATTN_FIRST_CONTACT, &format!("UDP leads to {over_udp} other tasks."));
        }
    }
}

/// What is set and means nothing in this job: windows of adapters, where nobody is reached through
/// them. Task 0 says it for all.
fn without_effect(context: &Context, config: &Config) {
    let by_windows = || others(context).any(|peer| context.transport_to(peer) == Some("hps"));
    if context.task() == 0
        && !by_windows()
        && let Some(listed) = config.listing().iter().find(|listed| listed.variable.name == "MP_LAPI_NETWORK")
        && let Some(value) = &listed.value
    {
        let name = listed.variable.name;
        diagnostics::say(&format!(
            "{name}={value} has no effect: no task is reached through windows of adapters, which \
             transport hps has; MP_LAPI_INET_ADDR leads UDP"
        ));
    }
}

/// LAPI of old did not start without MP_MSG_API. Nothing depends on it here, so that a missing one
/// is worth a line to those who want the program to run there, too: one for the job, however many
/// contexts its tasks have.
//= LAPI Guide, table 39, MP_MSG_API is to be set
fn without_msg_api(context: &Context, config: &Config) {
    static ONCE: Once = Once::new();
    if context.task() == 0 && config.msg_api.get().is_none() {
        ONCE.call_once(|| {
            diagnostics::say(
                "MP_MSG_API is not set: this LAPI starts without, others need lapi, or lapi,mpi",
            );
        });
    }
}

fn others(context: &Context) -> impl Iterator<Item = u32> {
    let me = context.task();
    (0..context.tasks()).filter(move |task| *task != me)
}

fn shared_memory(context: &Context, config: &Config) {
    if *config.use_shm.get() == UseShm::No {
        return;
    }
    if context.tasks() == 1 {
        return say(context, LAPI_ATTN_SHM_ONE_TASK, "");
    }
    let refusal = context.transports().iter().find_map(|c| match &c.verdict {
        Verdict::Refused(why) if c.name == "shm" => Some(why.to_string()),
        _ => None,
    });
    if let Some(why) = refusal.filter(|_| others(context).all(|t| context.transport_to(t) != Some("shm"))) {
        say(context, LAPI_ATTN_SHM_INIT, &why);
    }
}

/// Several instances are wanted, and some task is reached over one path only.
fn failover(context: &Context, config: &Config) {
    let wanted = match (config.inet_addr.get(), config.instances.get()) {
        (Some(list), _) => list.0.len() > 1,
        (None, Some(Instances::Count(count))) => *count > 1,
        (None, Some(Instances::Max)) => true,
        (None, None) => false,
    };
    if !wanted {
        return;
    }
    let single = others(context)
        .find(|peer| context.transport_to(*peer) == Some("udp") && context.paths_to(*peer).len() < 2);
    if let Some(peer) = single {
        let detail = format!("One path alone leads to task {peer}: there is nothing to fail over to.");
        say(context, LAPI_ATTN_FAILOVER_DEVICE, &detail);
    }
}

/// Paths can't take each other's place, although several are wanted.
//= LAPI Guide, table 33, attention messages
pub(super) fn failover_troubled(context: &Context, trouble: FailoverTrouble, detail: &str) {
    if *context.config().infolevel.get() >= 1 {
        let number = match trouble {
            FailoverTrouble::SetUp => LAPI_ATTN_FAILOVER_INTERNAL,
            FailoverTrouble::Unwatched => LAPI_ATTN_FAILOVER_NO_NAM,
            FailoverTrouble::Halted => LAPI_ATTN_FAILOVER_HALTED,
        };
        say(context, number, detail);
    }
}

/// A task was silent for TIMEOUT.
//= LAPI Guide, table 33, attention messages
pub(crate) fn timeout(instance: &Instance, peer: u32) {
    let mut silent = lock(&instance.silent);
    if silent.insert(peer) && silent.len() > 1 && *instance.context.config().infolevel.get() >= 1 {
        let list: Vec<String> = silent.iter().map(ToString::to_string).collect();
        say(&instance.context, LAPI_ATTN_TASK_TIMEOUT, &format!("Silent are tasks {}.", list.join(", ")));
    }
}
