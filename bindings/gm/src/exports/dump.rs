//! What programs print while they are being mended: bytes, and a list of buffers.

use std::ffi::{CString, c_int, c_ulong, c_void};
use std::sync::{Mutex, PoisonError};

/// Bytes in a line.
const LINE: usize = 16;

/// Buffers that the program has told of: address and size.
static BUFFERS: Mutex<Vec<(usize, c_int)>> = Mutex::new(Vec::new());

/// Prints a line in the order of what the program prints itself.
fn print(line: &str) {
    let Ok(line) = CString::new(line) else { return };
    // SAFETY: a string; puts adds the line's end.
    unsafe { libc::puts(line.as_ptr()) };
}

/// An address within the memory, the bytes there, and the characters that they are.
fn hex_line(at: usize, bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' };
    let text: String = bytes.iter().map(shown).collect();
    format!("{at:08x}  {:47}  {text}", digits.join(" "))
}

/// Prints memory to standard output, 16 bytes a line: place, digits, characters.
///
/// # Safety
/// `ptr` is NULL or has `len` bytes that can be read.
//= GM, gm_hex_dump
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gm_hex_dump(ptr: *const c_void, len: c_ulong) {
    if ptr.is_null() || len == 0 {
        return;
    }
    // SAFETY: the program has so many bytes there.
    let bytes = unsafe { std::slice::from_raw_parts(ptr.cast::<u8>(), len as usize) };
    for (n, line) in bytes.chunks(LINE).enumerate() {
        print(&hex_line(n * LINE, line));
    }
}

/// Notes a buffer of the program's for gm_dump_buffers.
//= GM, gm_register_buffer
#[unsafe(no_mangle)]
pub extern "C" fn gm_register_buffer(addr: *mut c_void, size: c_int) {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner).push((addr.addr(), size));
}

/// Takes such a note back. 0: it was there; -1: it was not.
//= GM, gm_unregister_buffer
#[unsafe(no_mangle)]
pub extern "C" fn gm_unregister_buffer(addr: *mut c_void, size: c_int) -> c_int {
    let mut buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(at) = buffers.iter().position(|buffer| *buffer == (addr.addr(), size)) else { return -1 };
    buffers.remove(at);
    0
}

/// Prints the noted buffers to standard output, one a line: address and size.
//= GM, gm_dump_buffers
#[unsafe(no_mangle)]
pub extern "C" fn gm_dump_buffers() {
    for (at, size) in BUFFERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        print(&format!("buffer {at:#x}, size {size}"));
    }
}

#[cfg(test)]
mod tests {
    use super::hex_line;

    #[test]
    fn bytes_are_shown_as_digits_and_as_characters() {
        assert_eq!(hex_line(16, b"a\0z"), format!("00000010  {:47}  a.z", "61 00 7a"));
        assert_eq!(hex_line(0, b"0123456789abcdef").len(), 10 + 47 + 2 + 16);
    }
}
