//! Capturing the logs of transports: an unexpected warning fails a case.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Keeps the lines logged.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Mutex<Vec<(Level, String)>>>);

impl Collector {
    /// The lines at WARN and ERROR of which none of `expected` is a part, and the whole log.
    pub(crate) fn unexpected(&self, expected: &[String]) -> (Vec<String>, String) {
        let lines = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let bad = lines
            .iter()
            .filter(|(level, text)| *level <= Level::WARN && !expected.iter().any(|e| text.contains(e)))
            .map(|(level, text)| format!("{level} {text}"));
        let all = lines.iter().map(|(level, text)| format!("    {level} {text}\n"));
        (bad.collect(), all.collect())
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(format!("{}:", event.metadata().target()));
        event.record(&mut text);
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}
