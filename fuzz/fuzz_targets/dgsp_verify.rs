//! Raw bytes for a program.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapis_dgsp::fuzz_entry::verify_raw(data));
