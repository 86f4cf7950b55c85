//! Types of elements, operators, and the loops that fold them.
//!
//! Loops read and write without alignment: compilers make wide instructions of them all the same,
//! chosen by the processor when an operation is set up.

/// The types of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// Signed integers.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// Unsigned integers.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// Floating point.
    F32,
    /// 64 bits.
    F64,
    /// [`Complex`] of 32-bit numbers.
    C32,
    /// [`Complex`] of 64-bit numbers.
    C64,
    /// [`Logical`].
    Bool,
    /// [`Located`] `i32` at `i32`.
    I32At,
    /// [`Located`] `i64` at `i64`.
    I64At,
    /// [`Located`] `f32` at `i32`.
    F32At,
    /// [`Located`] `f64` at `i64`.
    F64At,
    /// Opaque elements of this many bytes.
    Bytes(u32),
}

/// The operators of reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// Integers wrap around.
    Sum,
    /// Integers wrap around.
    Product,
    /// Minimum; of a number and not-a-number, the number. Of floating-point numbers -0 is less than
    /// +0, and the result of two that are not-a-number has all its bits set: so all members get the
    /// same bits.
    Min,
    /// Maximum; otherwise as the minimum.
    Max,
    /// The minimum and its location; of equal values, the first location. -0 equals +0, and
    /// not-a-number comes behind all numbers.
    MinAt,
    /// The maximum and its location; otherwise as for the minimum.
    MaxAt,
    /// Logical: values other than 0 are true. Of two operands and more the result is 0 or 1; a
    /// single one, as of the first member's scan, stays as it is.
    And,
    /// Logical.
    Or,
    /// Logical.
    Xor,
    /// Bitwise.
    BitAnd,
    /// Bitwise.
    BitOr,
    /// Bitwise.
    BitXor,
}

/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

/// A value and its location.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Located<T, I> {
    /// The value.
    pub value: T,
    /// The location.
    pub at: I,
}

/// True if not 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Logical(pub u8);

/// A type whose values are plain bytes.
///
/// # Safety
/// Any bytes are a valid value, there is no padding, and `TYPE` describes the type.
pub unsafe trait Element: Copy + Send + 'static {
    /// The type of these elements.
    const TYPE: Type;
}

macro_rules! elements {
    ($($t:ty => $name:ident),*) => {$(
        // SAFETY: numbers, or pairs of numbers of equal size.
        unsafe impl Element for $t { const TYPE: Type = Type::$name; }
    )*};
}
elements! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64,
    Complex<f32> => C32, Complex<f64> => C64, Logical => Bool, Located<i32, i32> => I32At, Located<i64, i64> => I64At,
    Located<f32, i32> => F32At, Located<f64, i64> => F64At
}

impl Type {
    /// All types with operators.
    pub const ALL: [Self; 17] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
        Self::C32,
        Self::C64,
        Self::Bool,
        Self::I32At,
        Self::I64At,
        Self::F32At,
        Self::F64At,
    ];

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C32 | Self::I32At | Self::F32At => 8,
            Self::C64 | Self::I64At | Self::F64At => 16,
            Self::Bytes(size) => size as usize,
        }
    }
}

impl Operator {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Sum,
        Self::Product,
        Self::Min,
        Self::Max,
        Self::MinAt,
        Self::MaxAt,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
    ];
}

/// Folds `n` elements of `from` into `into`.
pub(crate) type Kernel = unsafe fn(into: *mut u8, from: *const u8, n: usize);

/// One operation on one type.
trait Apply<T> {
    fn apply(a: T, b: T) -> T;
}

/// # Safety
/// Both are valid for `n` elements of `T`, whose bytes may be anything.
#[inline(always)]
unsafe fn each<T: Copy, A: Apply<T>>(into: *mut u8, from: *const u8, n: usize) {
    let (into, from) = (into.cast::<T>(), from.cast::<T>());
    for i in 0..n {
        // SAFETY: the caller's promise.
        unsafe {
            let value = A::apply(into.add(i).read_unaligned(), from.add(i).read_unaligned());
            into.add(i).write_unaligned(value);
        }
    }
}

/// # Safety
/// As for [`each`].
unsafe fn plain<T: Copy, A: Apply<T>>(into: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, A>(into, from, n) }
}

/// # Safety
/// As for [`each`]; the processor has these instructions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi2")]
unsafe fn wide<T: Copy, A: Apply<T>>(into: *mut u8, from: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { each::<T, A>(into, from, n) }
}

#[cfg(target_arch = "x86_64")]
fn pick<T: Copy, A: Apply<T>>() -> Kernel {
    let has = |yes: bool| yes && !cfg!(miri);
    if has(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"))
        && is_x86_feature_detected!("bmi2")
    {
        wide::<T, A>
    } else {
        plain::<T, A>
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn pick<T: Copy, A: Apply<T>>() -> Kernel {
    plain::<T, A>
}

macro_rules! operations {
    ($($name:ident<$t:ident: $bound:path> |$a:ident, $b:ident| $value:expr;)*) => {$(
        struct $name;
        impl<$t: $bound> Apply<$t> for $name {
            #[inline(always)]
            fn apply($a: $t, $b: $t) -> $t { $value }
        }
    )*};
}

/// What integers and floating point have in common.
trait Number: Copy + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Whether it is itself: not-a-number is not.
    fn is_number(self) -> bool;
    /// The lesser one: of each two the same bits, in whatever order they come. The same holds of
    /// three and more.
    fn lesser(self, other: Self) -> Self;
    /// The greater one, likewise.
    fn greater(self, other: Self) -> Self;
    /// Whether it comes before an equal one with other bits.
    fn bits_precede(self, other: Self) -> bool;
}

/// Bits, and truth.
trait Whole: Copy {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn holds(self) -> bool;
    fn of(truth: bool) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline(always)]
            fn is_number(self) -> bool { true }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self { self.min(other) }
            #[inline(always)]
            fn greater(self, other: Self) -> Self { self.max(other) }
            #[inline(always)]
            fn bits_precede(self, _: Self) -> bool { false }
        }
        impl Whole for $t {
            #[inline(always)]
            fn and(self, other: Self) -> Self { self & other }
            #[inline(always)]
            fn or(self, other: Self) -> Self { self | other }
            #[inline(always)]
            fn xor(self, other: Self) -> Self { self ^ other }
            #[inline(always)]
            fn holds(self) -> bool { self != 0 }
            #[inline(always)]
            fn of(truth: bool) -> Self { Self::from(truth) }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

/// The bits of `a` if the comparison holds and of `b` otherwise, and the same with both exchanged:
/// what the processor's instructions for minimum and maximum give. So the first is not-a-number
/// only if `b` is, and the second only if `a` is. Of two numbers both give the same bits, except of
/// zeros of unlike signs.
macro_rules! each_first {
    ($a:expr, $b:expr, $wins:tt) => {
        (
            (if $a $wins $b { $a } else { $b }).to_bits(),
            (if $b $wins $a { $b } else { $a }).to_bits(),
        )
    };
}

/// All bits if it is not-a-number, no bits otherwise.
macro_rules! set_if_none {
    ($a:expr, $bits:ty) => {
        if $a.is_nan() { <$bits>::MAX } else { 0 }
    };
}

macro_rules! floats {
    ($($t:ty, $bits:ty);*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, other: Self) -> Self { self + other }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self * other }
            #[inline(always)]
            fn is_number(self) -> bool { !self.is_nan() }
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                let (a, b) = each_first!(self, other, <);
                let (a_is_none, b_is_none) = (set_if_none!(self, $bits), set_if_none!(other, $bits));
                // The sign of -0 stays; where one is not-a-number, the other's bits do.
                <$t>::from_bits((a & !b_is_none) | (b & !a_is_none) | (a_is_none & b_is_none))
            }
            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                let (a, b) = each_first!(self, other, >);
                let (a_is_none, b_is_none) = (set_if_none!(self, $bits), set_if_none!(other, $bits));
                // The sign of +0 stays; where one is not-a-number, the other's bits do.
                <$t>::from_bits((a | b_is_none) & (b | a_is_none))
            }
            #[inline(always)]
            fn bits_precede(self, other: Self) -> bool { self.to_bits().cast_signed() < other.to_bits().cast_signed() }
        }
    )*};
}
floats!(f32, u32; f64, u64);

operations! {
    Sum<T: Number> |a, b| a.plus(b);
    Product<T: Number> |a, b| a.times(b);
    Min<T: Number> |a, b| a.lesser(b);
    Max<T: Number> |a, b| a.greater(b);
    And<T: Whole> |a, b| T::of(a.holds() & b.holds());
    Or<T: Whole> |a, b| T::of(a.holds() | b.holds());
    Xor<T: Whole> |a, b| T::of(a.holds() ^ b.holds());
    BitAnd<T: Whole> |a, b| a.and(b);
    BitOr<T: Whole> |a, b| a.or(b);
    BitXor<T: Whole> |a, b| a.xor(b);
}

impl<T: Number> Apply<Complex<T>> for Sum {
    #[inline(always)]
    fn apply(a: Complex<T>, b: Complex<T>) -> Complex<T> {
        Complex { re: a.re.plus(b.re), im: a.im.plus(b.im) }
    }
}

impl Apply<Complex<f32>> for Product {
    #[inline(always)]
    fn apply(a: Complex<f32>, b: Complex<f32>) -> Complex<f32> {
        Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }
}

impl Apply<Complex<f64>> for Product {
    #[inline(always)]
    fn apply(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
        Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }
}

struct MinAt;
struct MaxAt;

impl<T: Number, I: Copy + PartialOrd> Apply<Located<T, I>> for MinAt {
    #[inline(always)]
    fn apply(a: Located<T, I>, b: Located<T, I>) -> Located<T, I> {
        nearer(a, b, b.value < a.value, b.value.bits_precede(a.value))
    }
}

impl<T: Number, I: Copy + PartialOrd> Apply<Located<T, I>> for MaxAt {
    #[inline(always)]
    fn apply(a: Located<T, I>, b: Located<T, I>) -> Located<T, I> {
        nearer(a, b, b.value > a.value, a.value.bits_precede(b.value))
    }
}

#[inline(always)]
fn nearer<T: Number, I: Copy + PartialOrd>(
    a: Located<T, I>,
    b: Located<T, I>,
    wins: bool,
    bits_win: bool,
) -> Located<T, I> {
    let equal = a.value == b.value || (!a.value.is_number() && !b.value.is_number());
    let takes = wins
        || (!a.value.is_number() && b.value.is_number())
        || (equal && (b.at < a.at || b.at == a.at && bits_win));
    if takes { b } else { a }
}

/// The loops of one kind of type, by operator.
macro_rules! numbers {
    ($by:expr, $t:ty) => {
        match $by {
            Operator::Sum => Some(pick::<$t, Sum>()),
            Operator::Product => Some(pick::<$t, Product>()),
            Operator::Min => Some(pick::<$t, Min>()),
            Operator::Max => Some(pick::<$t, Max>()),
            _ => None,
        }
    };
}

macro_rules! bits {
    ($by:expr, $t:ty) => {
        match $by {
            Operator::And => Some(pick::<$t, And>()),
            Operator::Or => Some(pick::<$t, Or>()),
            Operator::Xor => Some(pick::<$t, Xor>()),
            Operator::BitAnd => Some(pick::<$t, BitAnd>()),
            Operator::BitOr => Some(pick::<$t, BitOr>()),
            Operator::BitXor => Some(pick::<$t, BitXor>()),
            _ => None,
        }
    };
}

macro_rules! complex {
    ($by:expr, $t:ty) => {
        match $by {
            Operator::Sum => Some(pick::<$t, Sum>()),
            Operator::Product => Some(pick::<$t, Product>()),
            _ => None,
        }
    };
}

macro_rules! located {
    ($by:expr, $t:ty) => {
        match $by {
            Operator::MinAt => Some(pick::<$t, MinAt>()),
            Operator::MaxAt => Some(pick::<$t, MaxAt>()),
            _ => None,
        }
    };
}

/// The loop for an operator on a type; `None` if it means nothing there.
pub(crate) fn kernel(of: Type, by: Operator) -> Option<Kernel> {
    match of {
        Type::I8 => numbers!(by, i8).or(bits!(by, i8)),
        Type::I16 => numbers!(by, i16).or(bits!(by, i16)),
        Type::I32 => numbers!(by, i32).or(bits!(by, i32)),
        Type::I64 => numbers!(by, i64).or(bits!(by, i64)),
        Type::U8 => numbers!(by, u8).or(bits!(by, u8)),
        Type::U16 => numbers!(by, u16).or(bits!(by, u16)),
        Type::U32 => numbers!(by, u32).or(bits!(by, u32)),
        Type::U64 => numbers!(by, u64).or(bits!(by, u64)),
        Type::F32 => numbers!(by, f32),
        Type::F64 => numbers!(by, f64),
        Type::C32 => complex!(by, Complex<f32>),
        Type::C64 => complex!(by, Complex<f64>),
        Type::Bool => bits!(by, u8).filter(|_| matches!(by, Operator::And | Operator::Or | Operator::Xor)),
        Type::I32At => located!(by, Located<i32, i32>),
        Type::I64At => located!(by, Located<i64, i64>),
        Type::F32At => located!(by, Located<f32, i32>),
        Type::F64At => located!(by, Located<f64, i64>),
        Type::Bytes(_) => None,
    }
}

#[cfg(test)]
#[path = "element_tests.rs"]
mod tests;
