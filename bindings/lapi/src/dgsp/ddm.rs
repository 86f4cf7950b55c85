//! Functions that combine arriving data with what is there (data distribution managers).

use crate::abi::ddm_func_t;
use lapis_core::sync::{AtomicU64, Ordering};
use lapis_dgsp::ddm::Ddm;
use std::cell::Cell;
use std::ffi::{c_int, c_long, c_void};
use std::mem::MaybeUninit;

/// A function in Fortran: the same arguments, all by reference.
type FortranDdm =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_long, *mut c_int, *mut c_int) -> c_long;

/// Marks a function in Fortran: no program's code lies that high.
const BY_REFERENCE: u64 = 1 << 63;

thread_local! {
    /// The address of the function that a Fortran program is about to register on this thread. A
    /// profiling library in C may stand between its call and ours.
    static FROM_FORTRAN: Cell<u64> = const { Cell::new(0) };
}

/// A Fortran program registers this function with the next call of this thread, or has done so.
pub(crate) fn announce_fortran(function: Option<ddm_func_t>) {
    FROM_FORTRAN.set(address(function));
}

fn address(function: Option<ddm_func_t>) -> u64 {
    function.map_or(0, |function| function as usize as u64)
}

/// Where a context keeps its function: the address, with a mark if it is in Fortran.
#[derive(Default)]
pub(crate) struct Slot(AtomicU64);

impl Slot {
    /// Replaces the function.
    pub(crate) fn set(&self, function: Option<ddm_func_t>) {
        let address = address(function);
        let mark = if address != 0 && address == FROM_FORTRAN.get() { BY_REFERENCE } else { 0 };
        self.0.store(address | mark, Ordering::Relaxed);
    }

    /// The function, for messages whose packets hold whole atoms of so many bytes.
    pub(crate) fn get(&self, atom: u64) -> Option<Function> {
        let word = self.0.load(Ordering::Relaxed);
        let address = (word & !BY_REFERENCE) as usize;
        if address == 0 {
            return None;
        }
        // SAFETY: `set` took it from a function, which is called as its language calls.
        let call = unsafe {
            if word & BY_REFERENCE == 0 {
                Call::C(std::mem::transmute::<usize, ddm_func_t>(address))
            } else {
                Call::Fortran(std::mem::transmute::<usize, FortranDdm>(address))
            }
        };
        Some(Function { call, atom: atom.max(1) as usize })
    }
}

/// A function of the program's.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    call: Call,
    atom: usize,
}

#[derive(Clone, Copy)]
enum Call {
    C(ddm_func_t),
    Fortran(FortranDdm),
}

impl Call {
    /// # Safety
    /// The buffers are what the function expects.
    unsafe fn run(
        self,
        inbound: *mut u8,
        inout: *mut u8,
        bytes: usize,
        mut operand: i32,
        mut operation: i32,
    ) -> c_long {
        let mut bytes = bytes as c_long;
        // SAFETY: the caller's promise; variables live until the function returns.
        unsafe {
            match self {
                Self::C(call) => call(inbound.cast(), inout.cast(), bytes, operand, operation),
                Self::Fortran(call) => {
                    call(inbound.cast(), inout.cast(), &mut bytes, &mut operand, &mut operation)
                }
            }
        }
    }
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
            return unsafe { self.call.run(inbound.cast_mut(), inout, bytes, operand, operation) };
        }
        // Packets begin anywhere; operands in them are not where their type wants them.
        let mut room = Aligned([MaybeUninit::uninit(); _]);
        let most = room.0.len() - ALIGNMENT;
        let n = bytes.min(most - most % self.atom);
        // SAFETY: `n` bytes fit behind the skew; the rest is the caller's promise.
        unsafe {
            let at = room.0.as_mut_ptr().cast::<u8>().add(skew);
            at.copy_from_nonoverlapping(inbound, n);
            self.call.run(at, inout, n, operand, operation)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    unsafe extern "C" fn fortran(
        _: *mut c_void,
        sum: *mut c_void,
        bytes: *mut c_long,
        operand: *mut c_int,
        operation: *mut c_int,
    ) -> c_long {
        // SAFETY: the test passes these.
        unsafe { *sum.cast::<c_long>() = *bytes * 100 + c_long::from(*operand * 10 + *operation) };
        7
    }

    #[test]
    fn a_function_in_fortran_gets_its_numbers_by_reference_and_only_that_one() {
        let slot = Slot::default();
        // SAFETY: never called as this type.
        let given = Some(unsafe { std::mem::transmute::<FortranDdm, ddm_func_t>(fortran) });
        announce_fortran(given);
        slot.set(Some(add));
        assert!(matches!(slot.get(8).unwrap().call, Call::C(_)), "another one is C's");
        slot.set(given);
        announce_fortran(None);
        let mut sum: c_long = 0;
        let from = 0_u64;
        // SAFETY: as the function wants it.
        let done =
            unsafe { slot.get(8).unwrap().combine((&raw const from).cast(), (&raw mut sum).cast(), 5, 4, 3) };
        assert_eq!((done, sum), (7, 543));
        slot.set(None);
        assert!(slot.get(8).is_none());
    }
}
