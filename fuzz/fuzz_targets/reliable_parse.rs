//! Any bytes for the parser of datagrams.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapis_core::reliable::fuzz_entry::parse(data));
