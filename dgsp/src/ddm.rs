//! Data distribution manager functions: what a CONTROL instruction puts between the message and the
//! target buffer.
//!
//! *LAPI Guide, LAPI_Util, LAPI_REG_DDM_FUNC.* The C binding wraps the user's function pointer in
//! [`Ddm`]; [`Accumulate`] is a predefined one, for programs that need a reduction.
#![allow(unsafe_code, reason = "DDM functions work on the user's raw memory")]

use crate::error::{Error, ErrorCode, Fault};

/// A DDM function.
pub trait Ddm {
    /// Combines `bytes` bytes of the message at `inbound` into the target buffer at `inout`.
    /// Answers how many bytes it took; if fewer than it got, it is called again for the rest.
    ///
    /// # Safety
    /// `inbound` is readable, and `inout` readable and writable, for `bytes` bytes; they don't
    /// overlap. Neither need be aligned.
    unsafe fn combine(
        &self,
        inbound: *const u8,
        inout: *mut u8,
        bytes: usize,
        operand: i32,
        operation: i32,
    ) -> i64;
}

/// Operand types of [`Accumulate`]: what its CONTROL instructions carry as `operand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[allow(missing_docs, reason = "Rust's own names")]
pub enum Operand {
    I8 = 0,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// Operations of [`Accumulate`]: what its CONTROL instructions carry as `operation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Operation {
    /// The message's value.
    Replace = 0,
    /// Sum; integers wrap.
    Sum,
    /// Product; integers wrap.
    Product,
    /// The smaller value.
    Min,
    /// The larger value.
    Max,
    /// Bitwise and; integers only.
    And,
    /// Bitwise or; integers only.
    Or,
    /// Bitwise exclusive or; integers only.
    Xor,
}

/// Element-wise reduction into the target buffer. It takes nothing, which fails the transfer, of
/// operands or operations that it doesn't know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accumulate;

impl Operand {
    /// Bytes of one operand: the atom size that the gather side must declare.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

impl Ddm for Accumulate {
    unsafe fn combine(
        &self,
        inbound: *const u8,
        inout: *mut u8,
        bytes: usize,
        operand: i32,
        operation: i32,
    ) -> i64 {
        macro_rules! by_operand {
            ($($value:literal $t:ty,)*) => {
                match operand {
                    $($value => match <$t as Number>::operation(operation) {
                        // SAFETY: the caller's promise.
                        Some(f) => unsafe { each(inbound, inout, bytes, f) },
                        None => 0,
                    },)*
                    _ => 0,
                }
            };
        }
        by_operand!(0 i8, 1 u8, 2 i16, 3 u16, 4 i32, 5 u32, 6 i64, 7 u64, 8 f32, 9 f64,)
    }
}

trait Number: Copy {
    fn operation(operation: i32) -> Option<fn(Self, Self) -> Self>;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn operation(operation: i32) -> Option<fn(Self, Self) -> Self> {
                Some(match operation {
                    0 => |new, _| new,
                    1 => Self::wrapping_add,
                    2 => Self::wrapping_mul,
                    3 => Ord::min,
                    4 => Ord::max,
                    5 => |new, old| new & old,
                    6 => |new, old| new | old,
                    7 => |new, old| new ^ old,
                    _ => return None,
                })
            }
        }
    )*};
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Number for $t {
            fn operation(operation: i32) -> Option<fn(Self, Self) -> Self> {
                Some(match operation {
                    0 => |new, _| new,
                    1 => |new, old| new + old,
                    2 => |new, old| new * old,
                    3 => Self::min,
                    4 => Self::max,
                    _ => return None,
                })
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);
floats!(f32 f64);

/// # Safety
/// As [`Ddm::combine`].
unsafe fn each<T: Copy>(inbound: *const u8, inout: *mut u8, bytes: usize, f: fn(T, T) -> T) -> i64 {
    let whole = bytes / size_of::<T>();
    for i in 0..whole {
        // SAFETY: element `i` ends within `bytes`, on both sides.
        unsafe {
            let new = inbound.cast::<T>().add(i).read_unaligned();
            let place = inout.cast::<T>().add(i);
            place.write_unaligned(f(new, place.read_unaligned()));
        }
    }
    (whole * size_of::<T>()) as i64
}

/// Calls a DDM function until it has taken all bytes.
///
/// # Safety
/// As [`Ddm::combine`].
pub(crate) unsafe fn apply_all(
    ddm: &dyn Ddm,
    inbound: *const u8,
    inout: *mut u8,
    bytes: usize,
    operand: i32,
    operation: i32,
) -> Result<(), Error> {
    let mut done = 0;
    while done < bytes {
        let given = bytes - done;
        // SAFETY: the rest of the bytes that the caller promises.
        let took = unsafe { ddm.combine(inbound.add(done), inout.add(done), given, operand, operation) };
        match usize::try_from(took) {
            Ok(n) if (1..=given).contains(&n) => done += n,
            _ => return Err(Error::whole(ErrorCode::Ctl, Fault::Ddm { took, given })),
        }
    }
    Ok(())
}
