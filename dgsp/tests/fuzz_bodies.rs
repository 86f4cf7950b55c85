//! The fuzz targets' bodies over the committed corpus and over seeded random inputs.

use lapis_dgsp::fuzz_entry::{differ, execute, verify_raw};
use std::time::{Duration, Instant};

/// Random inputs of each body, and every how many of the corpus's files: Miri takes seconds for
/// each.
const ROUNDS: u64 = if cfg!(miri) { 20 } else { 4000 };
const EVERY: usize = if cfg!(miri) { 3 } else { 1 };

/// SplitMix64: the same inputs on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self) -> Vec<u8> {
        let n = (self.next() % 160) as usize;
        (0..n).map(|_| self.next() as u8).collect()
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|r| r.parse().ok())
}

/// So many inputs (`LAPIS_FUZZ_ROUNDS`), the same on every machine; or as many as go into a time
/// (`LAPIS_FUZZ_SECONDS`).
fn seeded(target: fn(&[u8])) {
    let mut random = Random(1);
    if let Some(seconds) = number("LAPIS_FUZZ_SECONDS") {
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            target(&random.bytes());
        }
        return;
    }
    for _ in 0..number("LAPIS_FUZZ_ROUNDS").unwrap_or(ROUNDS) {
        target(&random.bytes());
    }
}

fn corpus(target: fn(&[u8]), name: &str) {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(name);
    let files: Vec<_> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("the corpus {} is part of the repository: {e}", dir.display()))
        .map(|entry| entry.expect("a directory entry").path())
        .collect();
    assert!(!files.is_empty(), "the corpus {} is empty", dir.display());
    for file in files.iter().step_by(EVERY) {
        target(&std::fs::read(file).expect("a readable corpus file"));
    }
}

#[test]
#[cfg_attr(miri, ignore = "safe code only: nothing is moved")]
fn raw_bytes() {
    corpus(verify_raw, "dgsp_verify");
    seeded(verify_raw);
}

#[test]
#[cfg_attr(miri, ignore = "safe code only: nothing is moved")]
fn programs_by_grammar() {
    corpus(execute, "dgsp_exec");
    seeded(execute);
}

#[test]
fn two_engines_agree() {
    corpus(differ, "dgsp_diff");
    seeded(differ);
}
