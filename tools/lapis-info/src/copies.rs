//! Which copies move data between tasks of a host.

use lapis_copies::{Attempts, Choice as Chosen, Copies as Limits, Source, VARIABLE};
use lapis_core::config::{Config, Environment, processor};
use lapis_core::transport::lane::INLINE;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// Lengths of messages, puts and gets, in bytes.
const BYTES: [u64; 9] = [8, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];

/// The shortest message that takes more than a packet of a window, and the most data that a packet
/// of a window's lane has.
const LONG: u64 = 16 << 10;
const IN_LANE: u64 = 32 << 10;

/// The table, and what it comes to.
#[derive(Debug, Serialize)]
pub(crate) struct Copies {
    processor: String,
    /// Where the limits come from.
    source: String,
    /// The tuning file that counts, or would.
    file: Option<String>,
    limits: String,
    choices: Vec<Choice>,
}

/// What is taken for so many bytes.
#[derive(Debug, Serialize)]
struct Choice {
    bytes: u64,
    message_near: &'static str,
    message_far: &'static str,
    /// A put or get of memory that Lapis allocated.
    mapped: &'static str,
    /// Of any memory.
    any: &'static str,
    windows: InWindows,
}

/// The same between windows of a host's adapters.
#[derive(Debug, Serialize)]
struct InWindows {
    message_near: &'static str,
    message_far: &'static str,
    /// A put or get.
    any: &'static str,
}

impl Copies {
    /// As a job that started here would have them.
    pub(crate) fn gather(environment: &Environment, config: &Config) -> Result<Self, String> {
        let processor = processor();
        let file = environment.tuning_path();
        let value = environment.get(VARIABLE).map(|text| (text, environment.origin(VARIABLE)));
        let chosen = Chosen::of(value, &processor).map_err(|why| format!("{VARIABLE}: {why}"))?;
        let source = source(&chosen, file, file.and_then(Attempts::of));
        let (limits, file) = (chosen.copies, file.map(|path| path.display().to_string()));
        let word = |name: &str| {
            let listed = config.listing().into_iter().find(|listed| listed.variable.name == name);
            listed.and_then(|listed| listed.value).unwrap_or_default()
        };
        let forced = (word("LAPIS_SHM_COPY"), word("LAPIS_HPS_COPY"));
        let choices = BYTES.map(|bytes| choice(&limits, bytes, (&forced.0, &forced.1))).into();
        Ok(Self { processor, source, file, limits: limits.to_string(), choices })
    }

    /// For people.
    pub(crate) fn write(&self, out: &mut String) {
        let _ = writeln!(out, "\nCopies\n  processor: {}\n  limits:    {}", self.processor, self.limits);
        let _ = writeln!(out, "  from:      {}", self.source);
        let _ = writeln!(out, "  file:      {}", self.file.as_deref().unwrap_or("none"));
        let _ = writeln!(
            out,
            "\n  {:>8}  {:12} {:12} {:20} put, get: any memory",
            "bytes", "message near", "message far", "put, get: mapped"
        );
        for choice in &self.choices {
            let _ = writeln!(
                out,
                "  {:>8}  {:12} {:12} {:20} {}",
                choice.bytes, choice.message_near, choice.message_far, choice.mapped, choice.any
            );
        }
        let _ = writeln!(
            out,
            "\n  {:>8}  {:12} {:12} put, get (windows of a host's adapters: hps)",
            "bytes", "message near", "message far"
        );
        for Choice { bytes, windows, .. } in &self.choices {
            let InWindows { message_near, message_far, any } = windows;
            let _ = writeln!(out, "  {bytes:>8}  {message_near:12} {message_far:12} {any}");
        }
        out.push_str(
            "\n  line: in the slot that tells of the message. caches, past: two copies through the data\n  \
             ring, both tasks at work, by ordinary stores (wide loads from 1 KiB on) or past the caches.\n  \
             stores: the caller's own. attach: the kernel's copy. timed: attach or packets, whichever took\n  \
             less time with this peer of late. fifo: through the window's FIFO. lane: as a message of that\n  \
             length. Near or far is found out while messages go.\n",
        );
    }
}

/// Where limits come from, in words.
fn source(chosen: &Chosen, file: Option<&Path>, attempts: Option<Attempts>) -> String {
    let path = file.map_or_else(|| "?".to_owned(), |file| file.display().to_string());
    let mut text = match (chosen.source, attempts) {
        (Source::Environment, _) => format!("environment variable {VARIABLE}"),
        (Source::TuningFile, _) => format!("tuning file {path}"),
        (Source::FirstStart, _) => format!("measured at a job's start: tuning file {path}"),
        (Source::Shipped, _) => "shipped for this kind of processor".to_owned(),
        (Source::Usual, None) if file.is_some() => {
            "what is usual: the first job will measure it here".to_owned()
        }
        (Source::Usual, None) => "what is usual: there is no tuning file".to_owned(),
        (Source::Usual, Some(Attempts { count, why })) => format!(
            "what is usual: {count} {} to measure it did not count, a later job tries again\n             \
             (the last one: {why})",
            if count == 1 { "attempt" } else { "attempts" }
        ),
    };
    if let Some(why) = &chosen.problem {
        let _ = write!(text, "; the value in tuning file {path} does not count: {why}");
    }
    text
}

fn choice(limits: &Limits, bytes: u64, (forced, windows): (&str, &str)) -> Choice {
    let message = |far: bool| match limits.past(far) {
        _ if bytes <= INLINE as u64 => "line",
        _ if forced == "cma" && bytes > 16 << 10 => "attach",
        Some(past) if bytes >= past.into() => "past",
        _ => "caches",
    };
    let any = match forced {
        "double" => "packets",
        _ if bytes < limits.attach => "packets",
        "cma" => "attach",
        _ => "timed",
    };
    let (message_near, message_far) = (message(false), message(true));
    let windows = in_windows(limits, bytes, windows);
    Choice { bytes, message_near, message_far, mapped: "stores", any, windows }
}

fn in_windows(limits: &Limits, bytes: u64, forced: &str) -> InWindows {
    let through = forced == "windows";
    let message = |far: bool| match limits.past(far) {
        _ if through || bytes < LONG => "fifo",
        Some(past) if bytes.min(IN_LANE) >= past.into() => "past",
        _ => "caches",
    };
    let any = match bytes {
        _ if through => "fifo",
        _ if bytes >= limits.attach => "timed",
        _ if bytes < LONG => "fifo",
        _ => "lane",
    };
    InWindows { message_near: message(false), message_far: message(true), any }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_core::config::Origin;

    #[test]
    fn the_source_says_what_was_tried_and_what_does_not_count() {
        let of = |value: Option<&str>, attempts| {
            let chosen = Chosen::of(value.map(|text| (text, Origin::Tuning)), "Nobody-1-2").unwrap();
            source(&chosen, Some(Path::new("/t")), attempts)
        };
        assert_eq!(of(Some("far=3"), None), "tuning file /t");
        assert_eq!(of(Some("far=3,measured=start"), None), "measured at a job's start: tuning file /t");
        assert!(of(Some("far"), None).ends_with("tuning file /t does not count: `far` is not NAME=NUMBER"));
        assert_eq!(of(None, None), "what is usual: the first job will measure it here");
        let text = of(None, Some(Attempts { count: 2, why: "busy".to_owned() }));
        assert!(text.contains("2 attempts") && text.contains("(the last one: busy)"), "{text}");
    }

    #[test]
    fn each_length_has_the_copy_that_the_limits_say() {
        let limits = Limits { far: 100, near_past: None, far_past: Some(4096), attach: 16384 };
        let all = BYTES.map(|bytes| choice(&limits, bytes, ("auto", "auto")));
        assert_eq!(all[0].message_far, "line");
        assert_eq!(
            (all[2].message_far, all[3].message_far, all[3].message_near),
            ("caches", "past", "caches")
        );
        assert_eq!((all[3].any, all[4].any), ("packets", "timed"));
        assert_eq!(choice(&limits, 1 << 20, ("cma", "auto")).message_near, "attach");
        assert_eq!(choice(&limits, 1 << 20, ("double", "auto")).any, "packets");
        let windows = |bytes, limits: &Limits, forced| {
            let InWindows { message_near, message_far, any } = in_windows(limits, bytes, forced);
            (message_near, message_far, any)
        };
        assert_eq!(windows(4096, &limits, "auto"), ("fifo", "fifo", "fifo"));
        assert_eq!(windows(16384, &limits, "auto"), ("caches", "past", "timed"));
        assert_eq!(windows(1 << 20, &limits, "windows"), ("fifo", "fifo", "fifo"));
        let others = Limits { far_past: Some(64 << 10), attach: 32 << 10, ..limits };
        assert_eq!(windows(16384, &others, "auto"), ("caches", "caches", "lane"));
        assert_eq!(windows(1 << 20, &others, "auto"), ("caches", "caches", "timed"), "packets are shorter");
    }
}
