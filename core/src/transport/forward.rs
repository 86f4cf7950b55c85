//! What a plugin says by `tracing`, brought to its host.
//!
//! A loaded plugin has its own copy of core and of `tracing`, with a place of its own for the
//! subscriber: left empty, everything said there, by the plugin, by core's code within it or by any
//! crate that it uses, would be lost. The entry function that
//! [`export_transport!`](crate::export_transport) writes puts a subscriber there that hands each
//! event to the host's table.

use super::abi::HostTable;
use super::services::host_table;
use std::fmt::{Debug, Write};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// Sees to it that the host hears what is said by `tracing` in this copy of core. A plugin that has
/// installed a subscriber of its own keeps it, and a transport that is linked into its host shares
/// the host's.
///
/// # Safety
/// `host` is null or points to a valid table that lives as long as the process.
pub unsafe fn forward(host: *const HostTable, transport: &'static str) {
    // SAFETY: the caller promises null or a table that lives as long as the process.
    let Some(host) = (unsafe { host.as_ref() }) else { return };
    if !is_own(host) {
        // Refused if there is one already, which is meant to stay.
        let _ = set_global_default(Forward { host, transport });
    }
}

/// Whether the table is that of this copy of core.
fn is_own(host: &HostTable) -> bool {
    std::ptr::fn_addr_eq(host.log, host_table().log)
}

struct Forward {
    host: &'static HostTable,
    transport: &'static str,
}

impl Forward {
    fn lets_through(&self, level: Level) -> bool {
        let name = self.transport;
        // SAFETY: the range is valid for the call.
        unsafe { (self.host.log_enabled)(number(level), name.as_ptr(), name.len()) != 0 }
    }
}

/// The level's number at the border.
fn number(level: Level) -> u32 {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        _ => 5,
    }
}

impl Subscriber for Forward {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // What the host lets through may change.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && self.lets_through(*metadata.level())
    }

    fn event(&self, event: &Event<'_>) {
        let (name, mut text) = (self.transport, Text::default());
        event.record(&mut text);
        let text = text.message + &text.fields;
        let text = text.trim_start();
        // SAFETY: both ranges are valid for the call.
        unsafe {
            let level = number(*event.metadata().level());
            (self.host.log)(level, name.as_ptr(), name.len(), text.as_ptr(), text.len());
        }
    }

    // Spans don't cross the border: none is ever enabled.

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// An event as one line: the message, then the fields.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string can't fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::{Mutex, OnceLock};

    // tidy-allow(statics): functions of a C table see nothing else; one test uses it.
    static HEARD: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());

    unsafe extern "C" fn log(level: u32, target: *const u8, target_len: usize, text: *const u8, len: usize) {
        // SAFETY: the subscriber passes valid ranges.
        let [target, text] = unsafe {
            [(target, target_len), (text, len)]
                .map(|(at, len)| String::from_utf8_lossy(std::slice::from_raw_parts(at, len)))
        };
        HEARD.lock().unwrap().push((level, format!("{target}: {text}")));
    }

    unsafe extern "C" fn log_enabled(level: u32, _: *const u8, _: usize) -> i32 {
        i32::from(level <= 2)
    }

    #[test]
    fn events_arrive_with_their_fields_as_far_as_the_host_wants_them() {
        // tidy-allow(statics): the forwarder wants a table that lives for ever; one test uses it.
        static HOST: OnceLock<HostTable> = OnceLock::new();
        let host = HOST.get_or_init(|| HostTable { log, log_enabled, ..*host_table() });
        assert!(!is_own(host) && is_own(host_table()));
        tracing::subscriber::with_default(Forward { host, transport: "zoo" }, || {
            tracing::info!("not wanted");
            tracing::warn!(peer = 3, name = %"x", "the {} of it", "least");
            tracing::error!(code = 7);
            let _span = tracing::error_span!("spans pass over").entered();
        });
        let heard = HEARD.lock().unwrap();
        assert_eq!(*heard, [(2, "zoo: the least of it peer=3 name=x".into()), (1, "zoo: code=7".into())]);
    }
}
