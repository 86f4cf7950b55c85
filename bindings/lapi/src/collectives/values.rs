//! Types of elements and operators, as C names them.

use super::outcome::{Outcome, exhausted, failure};
use super::table::{Absent, Shelf};
use crate::abi::*;
use lapis_collectives::{By, Operator, Side, Type};
use std::ffi::{c_ulong, c_void};
use std::sync::Arc;

/// The largest number of an operator of the library.
const OWN: lapis_op_t = Operator::ALL.len() as lapis_op_t;

/// An operator of the program.
struct UserOperator {
    fold: lapis_fold_t,
    commutes: bool,
    /// The program's own; a number, so that threads may hand it on.
    arg: usize,
}

/// The operators that a program has made.
#[derive(Default)]
pub(super) struct Operators(Shelf<Arc<UserOperator>>);

/// The type with this number.
#[inline]
pub(super) fn type_of(number: lapis_type_t) -> Outcome<Type> {
    let size = number ^ LAPIS_BYTES_FLAG;
    match Type::ALL.get(number.wrapping_sub(1) as usize) {
        Some(of) => Ok(*of),
        None if size > 0 && size < LAPIS_BYTES_FLAG => Ok(Type::Bytes(size)),
        None => {
            let why = format!("there is no type {number:#x}: 1 to {}, or LAPIS_BYTES(size)", Type::ALL.len());
            Err(failure(LAPIS_ERR_TYPE, why))
        }
    }
}

impl Operators {
    pub(super) fn insert(&self, fold: lapis_fold_t, commutes: bool, arg: *mut c_void) -> Outcome<lapis_op_t> {
        let made = UserOperator { fold, commutes, arg: arg.expose_provenance() };
        self.0.insert(Arc::new(made)).ok_or_else(|| exhausted("operators"))
    }

    pub(super) fn remove(&self, number: lapis_op_t) -> Outcome {
        self.taken(number)?;
        self.0.put(number, None);
        Ok(())
    }

    /// Takes an operator out; it is put back, or its number given back.
    fn taken(&self, number: lapis_op_t) -> Outcome<Arc<UserOperator>> {
        loop {
            match self.0.take(number) {
                Ok(found) => return Ok(found),
                // Another thread is just looking it up, which takes some nanoseconds: no wait.
                Err(Absent::InUse) => std::hint::spin_loop(),
                Err(Absent::Unknown) => return Err(unknown(number)),
            }
        }
    }

    /// The operator with this number, for elements of this type.
    #[inline]
    pub(super) fn find(&self, number: lapis_op_t, of: Type) -> Outcome<By<'static>> {
        match Operator::ALL.get(number.wrapping_sub(1) as usize) {
            Some(operator) => Ok(By::Operator(*operator)),
            None => self.users(number, of),
        }
    }

    fn users(&self, number: lapis_op_t, of: Type) -> Outcome<By<'static>> {
        let found = self.taken(number)?;
        self.0.put(number, Some(Arc::clone(&found)));
        let (commutes, size) = (found.commutes, of.size());
        let fold = move |from: &[u8], into: &mut [u8], side: Side| {
            let count = (into.len() / size) as c_ulong;
            let (from, into) = (from.as_ptr(), into.as_mut_ptr());
            let (left, right) =
                if side == Side::Before { (from, into.cast_const()) } else { (into.cast_const(), from) };
            let arg = std::ptr::with_exposed_provenance_mut(found.arg);
            // SAFETY: the program's own function, for as many elements as are there.
            unsafe { (found.fold)(left.cast(), right.cast(), into.cast(), count, arg) };
        };
        Ok(By::User { fold: Box::new(fold), commutes })
    }
}

fn unknown(number: lapis_op_t) -> std::ffi::c_int {
    let why = format!("there is no operator {number}: 1 to {OWN}, or what lapis_op_create gave");
    failure(LAPIS_ERR_OP, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lapis_core::sync::{AtomicBool, AtomicU32, Ordering};

    #[test]
    fn an_operator_can_be_freed_while_another_thread_looks_it_up() {
        unsafe extern "C" fn fold(
            _: *const c_void,
            _: *const c_void,
            _: *mut c_void,
            _: c_ulong,
            _: *mut c_void,
        ) {
        }
        let (all, number, over) = (Operators::default(), AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let _ = all.find(number.load(Ordering::Relaxed), Type::I32);
                }
            });
            let freed = (0..2000).all(|_| {
                let made = all.insert(fold, true, std::ptr::null_mut()).unwrap();
                number.store(made, Ordering::Relaxed);
                (0..20).for_each(|_| std::hint::spin_loop());
                all.remove(made).is_ok()
            });
            over.store(true, Ordering::Relaxed);
            assert!(freed);
        });
    }

    #[test]
    fn numbers_of_types_and_operators_are_those_of_the_header() {
        let types = [
            (LAPIS_I8, Type::I8),
            (LAPIS_I64, Type::I64),
            (LAPIS_U8, Type::U8),
            (LAPIS_U64, Type::U64),
            (LAPIS_F32, Type::F32),
            (LAPIS_F64, Type::F64),
            (LAPIS_C64, Type::C64),
            (LAPIS_BOOL, Type::Bool),
            (LAPIS_I32_AT, Type::I32At),
            (LAPIS_F64_AT, Type::F64At),
            (LAPIS_BYTES_FLAG | 24, Type::Bytes(24)),
        ];
        for (number, of) in types {
            assert_eq!(type_of(number), Ok(of));
        }
        for number in [0, 18, LAPIS_BYTES_FLAG, 2 * LAPIS_BYTES_FLAG, 3 * LAPIS_BYTES_FLAG + 8, u32::MAX] {
            assert_eq!(type_of(number), Err(LAPIS_ERR_TYPE), "{number:#x}");
        }
        let all = Operators::default();
        let operators = [
            (LAPIS_SUM, Operator::Sum),
            (LAPIS_PRODUCT, Operator::Product),
            (LAPIS_MIN, Operator::Min),
            (LAPIS_MAX, Operator::Max),
            (LAPIS_MIN_AT, Operator::MinAt),
            (LAPIS_MAX_AT, Operator::MaxAt),
            (LAPIS_AND, Operator::And),
            (LAPIS_OR, Operator::Or),
            (LAPIS_XOR, Operator::Xor),
            (LAPIS_BIT_AND, Operator::BitAnd),
            (LAPIS_BIT_OR, Operator::BitOr),
            (LAPIS_BIT_XOR, Operator::BitXor),
        ];
        for (number, operator) in operators {
            let found = all.find(number, Type::I32);
            assert!(matches!(found, Ok(By::Operator(by)) if by == operator), "{operator:?}");
        }
        for number in [0, 13, u32::MAX] {
            assert!(matches!(all.find(number, Type::I32), Err(LAPIS_ERR_OP)));
        }
    }
}
