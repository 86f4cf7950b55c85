//! Programs by grammar, some broken.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapis_dgsp::fuzz_entry::execute(data));
