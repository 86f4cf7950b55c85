//! Any schedule of any shape, its members in any order.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lapis_schedules::fuzz_entry::any_schedule(data));
