//! How operands of reductions are combined.

use crate::element::{Element, Operator};
use crate::engine::UserFold;
use lapis_schedules::Side;

/// How elements are combined.
pub enum Combine<'f, T> {
    /// By an operator of the library.
    Operator(Operator),
    /// By a function that minds no order.
    Commutative(Box<dyn Fn(T, T) -> T + Send + Sync + 'f>),
    /// By a function whose operands stay in the order of ranks.
    Ordered(Box<dyn Fn(T, T) -> T + Send + Sync + 'f>),
}

impl<T> From<Operator> for Combine<'_, T> {
    fn from(operator: Operator) -> Self {
        Self::Operator(operator)
    }
}

impl<'f, T> Combine<'f, T> {
    /// A function that is associative and commutative. It calls nothing of Lapis.
    pub fn commutative(f: impl Fn(T, T) -> T + Send + Sync + 'f) -> Self {
        Self::Commutative(Box::new(f))
    }

    /// A function that is associative. It calls nothing of Lapis.
    pub fn ordered(f: impl Fn(T, T) -> T + Send + Sync + 'f) -> Self {
        Self::Ordered(Box::new(f))
    }

    /// The same, of bytes.
    pub(crate) fn of_bytes(self) -> By<'f>
    where
        T: Element,
    {
        let each = |f: Box<dyn Fn(T, T) -> T + Send + Sync + 'f>| -> Box<UserFold<'f>> {
            Box::new(move |from, into, side| {
                for (a, b) in from.chunks_exact(size_of::<T>()).zip(into.chunks_exact_mut(size_of::<T>())) {
                    // SAFETY: as many bytes as a value has, which may be any (`Element`).
                    unsafe {
                        let (from, here) = (
                            a.as_ptr().cast::<T>().read_unaligned(),
                            b.as_ptr().cast::<T>().read_unaligned(),
                        );
                        let value = if side == Side::Before { f(from, here) } else { f(here, from) };
                        b.as_mut_ptr().cast::<T>().write_unaligned(value);
                    }
                }
            })
        };
        match self {
            Self::Operator(operator) => By::Operator(operator),
            Self::Commutative(f) => By::User { fold: each(f), commutes: true },
            Self::Ordered(f) => By::User { fold: each(f), commutes: false },
        }
    }
}

/// How bytes are combined.
pub enum By<'f> {
    /// They are not.
    Nothing,
    /// By an operator of the library.
    Operator(Operator),
    /// By a function of elements' bytes: what comes, what is there and becomes the result, and on
    /// which side what comes stands.
    User {
        /// The function. It calls nothing of Lapis.
        fold: Box<UserFold<'f>>,
        /// Whether it minds order.
        commutes: bool,
    },
}
