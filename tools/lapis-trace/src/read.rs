//! Reading a trace file.

use lapis_core::trace::{EVENT, EventKind, HEADER, MAGIC, NOBODY};

/// The events of one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) job: String,
    pub(crate) task: u32,
    pub(crate) tasks: u32,
    pub(crate) context: u32,
    pub(crate) process: u32,
    /// The first task of the same machine.
    pub(crate) host: u32,
    /// When all tasks had met, by this machine's clock.
    pub(crate) met: u64,
    pub(crate) events: Vec<Event>,
    /// Whether its end is there.
    pub(crate) whole: bool,
}

/// One event. Times are nanoseconds, first by the machine's clock, then since all tasks had met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time: i64,
    pub(crate) kind: EventKind,
    pub(crate) what: u8,
    pub(crate) peer: Option<u32>,
    pub(crate) thread: u32,
    pub(crate) numbers: [u64; 2],
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().unwrap_or_default()))
}

fn short(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap_or_default()))
}

impl Trace {
    /// Reads a file's bytes, as far as they go.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let (header, rest) = bytes
            .split_at_checked(HEADER)
            .ok_or_else(|| format!("{} bytes are less than a header, which has {HEADER}", bytes.len()))?;
        if header[..8] != MAGIC {
            return Err("it is no trace of this version".into());
        }
        let name = &header[48..112];
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        let events: Vec<Event> = rest.chunks_exact(EVENT).filter_map(event).collect();
        Ok(Self {
            job: String::from_utf8_lossy(&name[..end]).into_owned(),
            task: short(header, 8),
            tasks: short(header, 12),
            context: short(header, 16),
            process: short(header, 20),
            host: short(header, 24),
            met: long(header, 32),
            whole: events.last().is_some_and(|event| event.kind == EventKind::End),
            events,
        })
    }
}

/// What a later version adds is left out.
fn event(bytes: &[u8]) -> Option<Event> {
    let peer = short(bytes, 12);
    Some(Event {
        time: long(bytes, 0).cast_signed(),
        kind: EventKind::of(bytes[8])?,
        what: bytes[9],
        peer: (peer != NOBODY).then_some(peer),
        thread: short(bytes, 16),
        numbers: [long(bytes, 24), long(bytes, 32)],
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file with one wait of a task, from `begin` to `end`.
    pub(crate) fn file(task: u32, host: u32, met: u64, begin: u64, end: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for word in [task, 2, 0, 100 + task, host, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(met.to_le_bytes());
        bytes.extend(0u64.to_le_bytes());
        bytes.extend(b"job");
        bytes.resize(HEADER, 0);
        for (time, kind) in [(begin, 1u8), (end, 2), (end, 9)] {
            let mut event = [0; EVENT];
            event[..8].copy_from_slice(&time.to_le_bytes());
            (event[8], event[9]) = (kind, 1);
            event[12..16].copy_from_slice(&NOBODY.to_le_bytes());
            event[24..32].copy_from_slice(&begin.to_le_bytes());
            bytes.extend(event);
        }
        bytes
    }

    #[test]
    fn a_file_is_read_as_far_as_it_goes() {
        let bytes = file(1, 0, 50, 70, 90);
        for cut in 0..bytes.len() {
            match Trace::parse(&bytes[..cut]) {
                Ok(trace) => {
                    assert_eq!(trace.events.len(), (cut - HEADER) / EVENT);
                    assert!(!trace.whole);
                }
                Err(_) => assert!(cut < HEADER),
            }
        }
        let trace = Trace::parse(&bytes).unwrap();
        assert_eq!((trace.task, trace.met, trace.whole, trace.job.as_str()), (1, 50, true, "job"));
        assert_eq!(Trace::parse(&[0; 200]).unwrap_err(), "it is no trace of this version");
    }
}
