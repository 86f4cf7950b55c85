//! A stranger's bytes for an engine with a secret.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapis_core::reliable::fuzz_entry::stranger(data));
