//! How operands of reductions are combined.

use crate::Call;
use crate::element::{Element, Kernel, Operator, Type, kernel};
use crate::error::{CollectiveError, Result};
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

/// Folds bytes of whole elements: `from` and `into`, and on which side `from` stands.
pub(crate) type UserFold<'a> = dyn Fn(&[u8], &mut [u8], Side) + Send + Sync + 'a;

/// How elements are folded.
pub(crate) enum Fold {
    /// Nothing is.
    None,
    /// By a loop that does not mind order.
    Kernel(Kernel),
    /// By the program.
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
