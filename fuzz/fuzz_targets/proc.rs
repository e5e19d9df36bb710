//! See `headway_hostile::targets`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| headway_hostile::targets::parse("proc", bytes));
