//! Cross-memory attach: the kernel copies between two address spaces.

#![allow(clippy::disallowed_types, reason = "a floor must not depend on the library that is held against it")]

use super::Ask;
use super::process_pair::{self, Shared};
use anyhow::{Result, bail};
use lapis_bench::clock;
use lapis_bench::record::Record;
use std::io;
use std::sync::atomic::Ordering;

const STOP: u64 = u64::MAX;

pub(super) fn read(ask: &Ask) -> Result<Vec<Record>> {
    each(ask, "cma_read", libc::process_vm_readv)
}

pub(super) fn write(ask: &Ask) -> Result<Vec<Record>> {
    each(ask, "cma_write", libc::process_vm_writev)
}

type Call = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

fn each(ask: &Ask, name: &str, call: Call) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    for size in ask.sizes.iter().copied().filter(|&s| s > 0) {
        let summary = one(ask, size as usize, call)?;
        records.push(Record::latency(&format!("{name}_lat"), size, summary).of("floor", "shm"));
        records.push(Record::bandwidth(&format!("{name}_bw"), size, summary).of("floor", "shm"));
    }
    Ok(records)
}

fn one(ask: &Ask, size: usize, call: Call) -> Result<lapis_bench::stats::Summary> {
    let shared = Shared::new(4096)?;
    let state = shared.line(0);
    // Allocated before the fork: both processes know the address; each writes its copy, so that it
    // has its own pages.
    let mut memory = vec![0u8; size];
    let address = memory.as_mut_ptr();
    let fill = |value: u8| {
        // SAFETY: address points to size bytes that nobody else accesses by reference meanwhile.
        unsafe { std::ptr::write_bytes(address, value, size) };
    };
    process_pair::run(
        |partner| {
            fill(1);
            process_pair::wait_for(state, 1);
            let vector = libc::iovec { iov_base: address.cast(), iov_len: size };
            let mut failure = None;
            let summary = clock::per_operation(ask.budget, |count| {
                for _ in 0..count {
                    // SAFETY: both vectors describe size bytes at the same address, valid in both
                    // processes; the partner does not look at its memory meanwhile.
                    let copied = unsafe { call(partner, &vector, 1, &vector, 1, 0) };
                    if copied != size as isize {
                        failure = Some((copied, io::Error::last_os_error()));
                    }
                }
            });
            // SYNC: pairs with the partner's Acquire load.
            state.store(STOP, Ordering::Release);
            match failure {
                Some((-1, error)) => bail!("cross-memory attach of {size} bytes is refused: {error}"),
                Some((copied, _)) => bail!("cross-memory attach copied {copied} of {size} bytes"),
                None => Ok(summary),
            }
        },
        || {
            fill(2);
            // SYNC: pairs with the leader's Acquire load.
            state.store(1, Ordering::Release);
            process_pair::wait_for(state, STOP);
            Ok(())
        },
    )
}
