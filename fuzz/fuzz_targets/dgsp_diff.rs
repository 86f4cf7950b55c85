//! Two engines agree.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapis_dgsp::fuzz_entry::differ(data));
