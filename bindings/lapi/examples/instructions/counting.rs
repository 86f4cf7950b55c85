//! What callgrind counts, and how the rows are told.

use std::hint::black_box;

/// Operations of a batch. As many messages fit a lane, and are found there by one look at it.
pub(crate) const BATCH: u64 = 16;
pub(crate) const BATCHES: u64 = 120;
/// Parts of equal length, each counted by itself: `cargo xtask bench instructions` knows their
/// number and takes the median.
pub(crate) const PARTS: u64 = 5;
/// Batches before those that count: caches, biases and choices have settled by then.
pub(crate) const WARM_UP: u64 = 120;

/// What callgrind knows by name: it counts what runs within this function,
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lapis_counted(times: u64, operation: &mut Operation<'_>) {
    for _ in 0..times {
        (operation.0)();
    }
}

/// from here on,
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lapis_begin() {
    black_box("begin");
}

/// and writes down what it has counted when this is called. (Functions that do the same would be
/// one.)
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn lapis_end() {
    black_box("end");
}

pub(crate) struct Operation<'a>(&'a mut dyn FnMut());

pub(crate) fn count(name: &str, bytes: usize, operation: impl FnMut()) {
    count_within(name, bytes, BATCH, || {}, operation, || {});
}

/// Counts batches of operations alone: `before` and `after` run around each.
pub(crate) fn count_within(
    name: &str,
    bytes: usize,
    times: u64,
    before: impl FnMut(),
    operation: impl FnMut(),
    after: impl FnMut(),
) {
    count_batches(name, bytes, (times, BATCH), before, operation, after);
}

/// The same where `operation` is called so many times in a batch, for so many operations.
pub(crate) fn count_batches(
    name: &str,
    bytes: usize,
    (times, operations): (u64, u64),
    mut before: impl FnMut(),
    mut operation: impl FnMut(),
    mut after: impl FnMut(),
) {
    println!("{name}\t{bytes}\t{}", BATCHES * operations);
    for batch in 0..WARM_UP + BATCHES {
        if batch == WARM_UP {
            lapis_begin();
        }
        before();
        lapis_counted(black_box(times), &mut Operation(&mut operation));
        after();
        if batch >= WARM_UP && (batch + 1 - WARM_UP).is_multiple_of(BATCHES / PARTS) {
            lapis_end();
        }
    }
}
