//! Functions that combine arriving data with what is there (data distribution managers).

use crate::abi::ddm_func_t;
use lapis_core::sync::{AtomicUsize, Ordering};
use lapis_dgsp::ddm::Ddm;
use std::ffi::c_long;
use std::mem::MaybeUninit;

/// Where a context keeps its function.
#[derive(Default)]
pub(crate) struct Slot(AtomicUsize);

impl Slot {
    /// Replaces the function.
    pub(crate) fn set(&self, function: Option<ddm_func_t>) {
        self.0.store(function.map_or(0, |function| function as usize), Ordering::Relaxed);
    }

    /// The function, for messages whose packets hold whole atoms of so many bytes.
    pub(crate) fn get(&self, atom: u64) -> Option<Function> {
        let address = self.0.load(Ordering::Relaxed);
        // SAFETY: `set` took it from a function of this type.
        let call = (address != 0).then(|| unsafe { std::mem::transmute::<usize, ddm_func_t>(address) })?;
        Some(Function { call, atom: atom.max(1) as usize })
    }
}

/// A function of the program's.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    call: ddm_func_t,
    atom: usize,
}

/// Alignment that functions written for their operands may count on wherever the target's memory
/// has it.
const ALIGNMENT: usize = 16;

#[repr(align(16))]
struct Aligned([MaybeUninit<u8>; 4096]);

impl Ddm for Function {
    unsafe fn combine(
        &self,
        inbound: *const u8,
        inout: *mut u8,
        bytes: usize,
        operand: i32,
        operation: i32,
    ) -> i64 {
        let skew = inout.addr() % ALIGNMENT;
        if inbound.addr() % ALIGNMENT == skew {
            // SAFETY: the caller's promise; the function reads what it gets as `in`.
            return unsafe {
                (self.call)(inbound.cast_mut().cast(), inout.cast(), bytes as c_long, operand, operation)
            };
        }
        // Packets begin anywhere; operands in them are not where their type wants them.
        let mut room = Aligned([MaybeUninit::uninit(); _]);
        let most = room.0.len() - ALIGNMENT;
        let n = bytes.min(most - most % self.atom);
        // SAFETY: `n` bytes fit behind the skew; the rest is the caller's promise.
        unsafe {
            let at = room.0.as_mut_ptr().cast::<u8>().add(skew);
            at.copy_from_nonoverlapping(inbound, n);
            (self.call)(at.cast(), inout.cast(), n as c_long, operand, operation)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::{c_int, c_void};

    unsafe extern "C" fn add(
        from: *mut c_void,
        to: *mut c_void,
        bytes: c_long,
        operand: c_int,
        operation: c_int,
    ) -> c_long {
        assert_eq!((operand, operation), (7, 1));
        let (from, to) = (from.cast::<f64>(), to.cast::<f64>());
        assert!(from.is_aligned() && to.is_aligned());
        for i in 0..bytes as usize / 8 {
            // SAFETY: the caller's promise; aligned, as just seen.
            unsafe { *to.add(i) += *from.add(i) };
        }
        bytes
    }

    #[test]
    fn operands_are_aligned_wherever_the_packet_begins() {
        let slot = Slot::default();
        assert!(slot.get(8).is_none());
        slot.set(Some(add));
        let function = slot.get(8).unwrap();
        let numbers: Vec<f64> = (0..1500).map(f64::from).collect();
        for shift in [0, 1, 4, 9] {
            let mut packet = vec![0; shift];
            packet.extend(numbers.iter().flat_map(|n| n.to_ne_bytes()));
            let mut sums = vec![1.0f64; 1500];
            let (mut done, total) = (0, 12000);
            while done < total {
                // SAFETY: within both buffers.
                let took = unsafe {
                    function.combine(
                        packet.as_ptr().add(shift + done),
                        sums.as_mut_ptr().cast::<u8>().add(done),
                        total - done,
                        7,
                        1,
                    )
                };
                assert!(took > 0 && took % 8 == 0);
                done += took as usize;
            }
            assert!(sums.iter().zip(&numbers).all(|(sum, n)| *sum == n + 1.0));
        }
        slot.set(None);
        assert!(slot.get(8).is_none());
    }
}
