//! Texts: the error messages of a plugin's set-up calls, and the names of capabilities.

use super::abi::{self, ErrorText};
use super::types::{Caps, RegionInfo, TransportError};

/// Room for a plugin's explanation.
pub(super) struct TextBuffer {
    bytes: Vec<u8>,
    raw: ErrorText,
}

impl TextBuffer {
    pub(super) fn new() -> Self {
        let mut bytes = vec![0u8; 1024];
        let raw = ErrorText { buf: bytes.as_mut_ptr(), capacity: 1024, len: 0 };
        Self { bytes, raw }
    }

    pub(super) fn as_raw(&mut self) -> *mut ErrorText {
        &mut self.raw
    }

    pub(super) fn text(&self) -> String {
        let len = (self.raw.len as usize).min(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[..len]).into_owned()
    }
}

/// Runs a set-up call; its success (0 or "again") or its error with the plugin's text.
pub(super) fn with_text(f: impl FnOnce(*mut ErrorText) -> i32) -> Result<i32, TransportError> {
    let mut text = TextBuffer::new();
    let status = f(text.as_raw());
    if status >= 0 {
        return Ok(status);
    }
    let words = text.text();
    Err(error_of(status, if words.is_empty() { format!("no reason given (status {status})") } else { words }))
}

/// The region that a call writes, if it succeeds.
pub(super) fn region(
    call: impl FnOnce(*mut RegionInfo, *mut ErrorText) -> i32,
) -> Result<RegionInfo, TransportError> {
    let mut out = RegionInfo { addr: 0, len: 0, id: 0, key: 0 };
    with_text(|text| call(&raw mut out, text))?;
    Ok(out)
}

pub(super) fn outcome(status: i32, call: &str) -> Result<(), TransportError> {
    if status >= 0 { Ok(()) } else { Err(error_of(status, format!("{call} failed with status {status}"))) }
}

pub(super) fn error_of(status: i32, text: String) -> TransportError {
    match status {
        abi::status::UNSUPPORTED => TransportError::Unsupported,
        abi::status::INVALID => TransportError::Invalid(text),
        abi::status::UNREACHABLE => TransportError::Unreachable(text),
        abi::status::EXHAUSTED => TransportError::Exhausted(text),
        abi::status::PANICKED => {
            // The other side's text is this very error's, in words.
            let text = text.strip_prefix("the transport panicked: ").map(str::to_owned).unwrap_or(text);
            TransportError::Panicked(text)
        }
        _ => TransportError::Io(text),
    }
}

/// The bits as names joined by ` | `, unknown ones as a number.
pub(super) fn caps_text(bits: u64) -> String {
    let known = Caps::from_bits_truncate(bits);
    let mut names: Vec<String> = known.iter_names().map(|(name, _)| name.to_owned()).collect();
    let unknown = bits & !known.bits();
    if unknown != 0 {
        names.push(format!("{unknown:#x}"));
    }
    names.join(" | ")
}
