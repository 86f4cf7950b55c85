//! Global memory access.

use super::{call, process};
use crate::operation::{Atomic, Operator};
use crate::process::Process;
use std::ffi::c_int;

/// What ends within its call and cannot fail needs none of [`call`]'s care, which takes as long as
/// a store to mapped memory.
#[inline(always)]
fn at_once(f: impl FnOnce(&'static Process) -> Option<u64>) -> Option<u64> {
    process().ok().and_then(f)
}

/// Copies between any two processes' memory; gives a handle, or 0.
//= ACP 1.0, acp_copy
#[unsafe(no_mangle)]
pub extern "C" fn acp_copy(dst: u64, src: u64, size: usize, order: u64) -> u64 {
    let len = size as u64;
    at_once(|process| process.copy_at_once(dst, src, len, order))
        .unwrap_or_else(|| call("acp_copy", 0, || process()?.begin_copy(dst, src, len, order)))
}

#[inline(always)]
fn atomic(name: &'static str, dst: u64, src: u64, atomic: Atomic, order: u64) -> u64 {
    at_once(|process| process.atomic_at_once(dst, src, atomic, order))
        .unwrap_or_else(|| call(name, 0, || process()?.begin_atomic(dst, src, atomic, order)))
}

/// Compares 4 bytes and swaps them if they are `oldval`.
//= ACP 1.0, acp_cas4
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas4(dst: u64, src: u64, oldval: u32, newval: u32, order: u64) -> u64 {
    let operator = Operator::CompareAndSwap;
    let what = Atomic { operator, width: 4, operand: newval.into(), compare: oldval.into() };
    atomic("acp_cas4", dst, src, what, order)
}

/// Compares 8 bytes and swaps them if they are `oldval`.
//= ACP 1.0, acp_cas8
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas8(dst: u64, src: u64, oldval: u64, newval: u64, order: u64) -> u64 {
    let what = Atomic { operator: Operator::CompareAndSwap, width: 8, operand: newval, compare: oldval };
    atomic("acp_cas8", dst, src, what, order)
}

macro_rules! calls {
    ($($name:ident $operator:ident $word:ty: $doc:literal $citation:literal;)*) => {
        $(
            #[doc = $doc]
            #[doc = ""]
            #[doc = $citation]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(dst: u64, src: u64, value: $word, order: u64) -> u64 {
                let (operator, width) = (Operator::$operator, size_of::<$word>() as u32);
                let what = Atomic { operator, width, operand: value.into(), compare: 0 };
                atomic(stringify!($name), dst, src, what, order)
            }
        )*
    };
}

//= ACP 1.0, acp_add4 to acp_swap8
calls! {
    acp_swap4 Swap u32: "Swaps 4 bytes." "*ACP 1.0, acp_swap4.*";
    acp_swap8 Swap u64: "Swaps 8 bytes." "*ACP 1.0, acp_swap8.*";
    acp_add4 Add u32: "Adds to 4 bytes." "*ACP 1.0, acp_add4.*";
    acp_add8 Add u64: "Adds to 8 bytes." "*ACP 1.0, acp_add8.*";
    acp_xor4 Xor u32: "Exclusive or of 4 bytes." "*ACP 1.0, acp_xor4.*";
    acp_xor8 Xor u64: "Exclusive or of 8 bytes." "*ACP 1.0, acp_xor8.*";
    acp_or4 Or u32: "Or of 4 bytes." "*ACP 1.0, acp_or4.*";
    acp_or8 Or u64: "Or of 8 bytes." "*ACP 1.0, acp_or8.*";
    acp_and4 And u32: "And of 4 bytes." "*ACP 1.0, acp_and4.*";
    acp_and8 And u64: "And of 8 bytes." "*ACP 1.0, acp_and8.*";
}

/// Waits for an access and all before it.
//= ACP 1.0, acp_complete
#[unsafe(no_mangle)]
pub extern "C" fn acp_complete(handle: u64) {
    if process().is_ok_and(|process| process.is_complete(handle)) {
        return;
    }
    call("acp_complete", (), || process()?.complete(handle));
}

/// Whether an access, or one before it, is incomplete: 1, else 0.
//= ACP 1.0, acp_inquire
#[unsafe(no_mangle)]
pub extern "C" fn acp_inquire(handle: u64) -> c_int {
    call("acp_inquire", 0, || Ok(c_int::from(process()?.inquire(handle)?)))
}
