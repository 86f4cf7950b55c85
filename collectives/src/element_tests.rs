//! Folding of special values: the bits depend neither on the order nor on the grouping.

use super::{Element, Located, Operator, kernel};

const LENGTH: usize = 11;

/// `a` with `b` folded into it, by the loop for as many elements as fill registers and more.
fn fold<T: Element>(by: Operator, a: T, b: T) -> T {
    let fold = kernel(T::TYPE, by).expect("an operator of this type");
    let (mut into, from) = ([a; LENGTH], [b; LENGTH]);
    // SAFETY: arrays of so many elements of the loop's type.
    unsafe { fold(into.as_mut_ptr().cast(), from.as_ptr().cast(), LENGTH) };
    let [first, .., last] = into;
    assert_eq!(bytes(first), bytes(last), "in a register and alone");
    first
}

fn bytes<T: Element>(value: T) -> Vec<u8> {
    // SAFETY: elements are plain bytes.
    unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) }.to_vec()
}

fn is_one_for_all_orders<T: Element>(by: Operator, values: &[T]) {
    for &a in values {
        assert_eq!(bytes(fold(by, a, fold(by, a, a))), bytes(fold(by, a, a)));
        for &b in values {
            let both = fold(by, a, b);
            let hex = |value| (bytes(a), bytes(b), bytes(value));
            assert_eq!(hex(both), hex(fold(by, b, a)), "{by:?} of {:?}", T::TYPE);
            for &c in values {
                let (left, right) = (fold(by, both, c), fold(by, a, fold(by, b, c)));
                assert_eq!(hex(left), hex(right), "{by:?} of {:?} and {:?}", T::TYPE, bytes(c));
            }
        }
    }
}

macro_rules! specials {
    ($of:ty) => {{
        let none = [0, 1, <$of>::NAN.to_bits() & 0xff, 2];
        let mut values = vec![0.0, 1.0, 2.5, <$of>::MIN_POSITIVE, <$of>::MAX, <$of>::INFINITY];
        // Quiet and signalling ones, with several payloads.
        values.extend(none.map(|payload| <$of>::from_bits(<$of>::NAN.to_bits() | payload)));
        values.push(<$of>::from_bits(<$of>::INFINITY.to_bits() | 5));
        values.push(<$of>::from_bits(1));
        let negated: Vec<$of> = values.iter().map(|value| -value).collect();
        values.extend(negated);
        values
    }};
}

#[test]
fn the_least_and_greatest_have_the_same_bits_in_all_orders() {
    for by in [Operator::Min, Operator::Max] {
        is_one_for_all_orders(by, &specials!(f32));
        is_one_for_all_orders(by, &specials!(f64));
        is_one_for_all_orders(by, &[i32::MIN, -1, 0, 1, i32::MAX]);
        is_one_for_all_orders(by, &[0, 1, u64::MAX]);
    }
}

#[test]
fn the_least_and_greatest_with_their_places_have_the_same_bits_in_all_orders() {
    for by in [Operator::MinAt, Operator::MaxAt] {
        let places = |value| [0, 3].map(|at| Located { value, at });
        is_one_for_all_orders(by, &specials!(f32).into_iter().flat_map(places).collect::<Vec<_>>());
        let places = |value| [0, 3].map(|at| Located { value, at });
        is_one_for_all_orders(by, &specials!(f64).into_iter().flat_map(places).collect::<Vec<_>>());
        is_one_for_all_orders(by, &[-1, 0, 7].map(|value| Located { value, at: 2 }));
    }
}

#[test]
fn zeros_are_ordered_by_sign_and_a_number_wins_over_not_a_number() {
    for (a, b) in [(0.0f32, -0.0f32), (-0.0, 0.0)] {
        assert!(fold(Operator::Min, a, b).is_sign_negative());
        assert!(fold(Operator::Max, a, b).is_sign_positive());
    }
    for none in [f64::NAN, -f64::NAN] {
        for by in [Operator::Min, Operator::Max] {
            for number in [0.0, -0.0, -3.5, f64::INFINITY, f64::NEG_INFINITY] {
                assert_eq!(fold(by, none, number).to_bits(), number.to_bits());
            }
            assert_eq!(fold(by, none, f64::NAN).to_bits(), u64::MAX);
        }
    }
}

#[test]
fn of_equal_values_the_first_place_wins_whatever_their_sign() {
    let at = |value: f32, at| Located { value, at };
    for by in [Operator::MinAt, Operator::MaxAt] {
        assert_eq!(fold(by, at(0.0, 4), at(-0.0, 2)).at, 2);
        assert_eq!(fold(by, at(-0.0, 4), at(0.0, 2)).at, 2);
        assert_eq!(fold(by, at(f32::NAN, 1), at(5.0, 2)), at(5.0, 2));
    }
}
