//! How operands of reductions are combined.

use crate::Call;
use crate::element::{Element, Kernel, Operator, Type, kernel};
use crate::error::{CollectiveError, Result};
use lapis_core::context::MustReturn;
use lapis_schedules::Side;

/// How the elements of a reduction are combined.
pub enum Combine<'f, T> {
    /// By an operator of the library.
    Operator(Operator),
    /// By a commutative function.
    Commutative(Box<dyn Fn(T, T) -> T + Send + Sync + 'f>),
    /// By a function whose operands are kept in the order of ranks.
    Ordered(Box<dyn Fn(T, T) -> T + Send + Sync + 'f>),
}

impl<T> From<Operator> for Combine<'_, T> {
    fn from(operator: Operator) -> Self {
        Self::Operator(operator)
    }
}

impl<'f, T> Combine<'f, T> {
    /// An associative and commutative function, which makes no calls to Lapis. If it panics, the
    /// process ends: the operation could be neither finished nor given up.
    pub fn commutative(f: impl Fn(T, T) -> T + Send + Sync + 'f) -> Self {
        Self::Commutative(Box::new(f))
    }

    /// An associative function, which makes no calls to Lapis. If it panics, the process ends.
    pub fn ordered(f: impl Fn(T, T) -> T + Send + Sync + 'f) -> Self {
        Self::Ordered(Box::new(f))
    }

    /// The same on bytes.
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
    /// No combination.
    Nothing,
    /// By an operator of the library.
    Operator(Operator),
    /// By a function of elements' bytes. Its arguments are the incoming operand, the present one,
    /// which becomes the result, and the side of the incoming one.
    User {
        /// The function, which makes no calls to Lapis. If it panics, the process ends.
        fold: Box<UserFold<'f>>,
        /// Whether operands must keep their order.
        commutes: bool,
    },
}

/// Folds bytes of whole elements: `from`, `into`, and the side of `from`.
pub(crate) type UserFold<'a> = dyn Fn(&[u8], &mut [u8], Side) + Send + Sync + 'a;

/// Has the program's function fold.
pub(crate) fn fold_by(fold: &UserFold<'_>, from: &[u8], into: &mut [u8], side: Side) {
    MustReturn::during("a function that folds", || fold(from, into, side));
}

/// How elements are folded.
pub(crate) enum Fold {
    /// Nothing is folded.
    None,
    /// By a loop, in any order.
    Kernel(Kernel),
    /// By the program's function.
    User(Box<UserFold<'static>>),
}

impl Fold {
    /// For a call on elements of this type.
    pub(crate) fn of(call: &Call<'_>, of: Type, by: By<'static>) -> Result<Self> {
        match by {
            _ if !call.folds() => Ok(Self::None),
            By::Operator(operator) => kernel(of, operator)
                .map(Self::Kernel)
                .ok_or(CollectiveError::Operator { operator: Some(operator), element: of }),
            By::User { fold, .. } => Ok(Self::User(fold)),
            By::Nothing => Err(CollectiveError::Operator { operator: None, element: of }),
        }
    }
}
