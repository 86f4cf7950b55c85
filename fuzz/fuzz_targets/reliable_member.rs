//! A hostile member of the job.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    lapis_core::reliable::fuzz_entry::member(data);
});
