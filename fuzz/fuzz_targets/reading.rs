#![no_main]
#![allow(dead_code)]

#[path = "../../crates/formats/tests/it/describe.rs"]
mod describe;
#[path = "../../crates/formats/tests/it/differential.rs"]
mod differential;
#[path = "../../crates/formats/tests/it/fuzz.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::reading(input));
