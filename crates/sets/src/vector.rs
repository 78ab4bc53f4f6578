//! Arithmetic on slices, and the argument checks of all public methods.

use crate::SetError;
use hushstream_account::ParameterError;
use pulp::{Arch, Simd, WithSimd};
use std::hint::black_box;

/// ⟨a, b⟩, as far as both reach. The order of the additions is fixed, so that the sum is the same
/// on every processor: eight lanes, of which the last four numbers may use half, then the rest.
///
/// ```
/// assert_eq!(hushstream_sets::dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
/// ```
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    Arch::new().dispatch(Dot(a, b))
}

/// [`in_lanes`], compiled a second time for wider vectors.
struct Dot<'a>(&'a [f64], &'a [f64]);

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        in_lanes(self.0, self.1)
    }
}

/// ⟨a, a⟩ and ⟨a, b⟩, each as [`dot`] gives it: in one pass if they are equally long. Inlined, for
/// loops that are compiled for wider vectors.
#[must_use]
#[inline(always)]
pub fn square_and_dot(a: &[f64], b: &[f64]) -> [f64; 2] {
    if a.len() != b.len() {
        return [in_lanes(a, a), in_lanes(a, b)];
    }
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let (mut squares, mut products) = ([0.0; 8], [0.0; 8]);
    for (a, b) in a.iter().zip(b) {
        add_products::<8>(&mut squares, a, a);
        add_products::<8>(&mut products, a, b);
    }
    // Or the compiler sees pairs in the last additions, and shuffles every number into them.
    let [mut squares, mut products] = black_box([squares, products]);
    let ((a, a_rest), (b, b_rest)) = (a_rest.as_chunks(), b_rest.as_chunks());
    for (a, b) in a.iter().zip(b) {
        add_products::<4>(&mut squares, a, a);
        add_products::<4>(&mut products, a, b);
    }
    let (mut squares_rest, mut products_rest) = ([0.0], [0.0]);
    for (a, b) in a_rest.iter().zip(b_rest) {
        add_products(&mut squares_rest, &[*a], &[*a]);
        add_products(&mut products_rest, &[*a], &[*b]);
    }
    [sum(squares, squares_rest), sum(products, products_rest)]
}

#[inline(always)]
fn in_lanes(a: &[f64], b: &[f64]) -> f64 {
    let length = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..length].as_chunks(), b[..length].as_chunks());
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        add_products::<8>(&mut lanes, a, b);
    }
    let ((a, a_rest), (b, b_rest)) = (a_rest.as_chunks(), b_rest.as_chunks());
    for (a, b) in a.iter().zip(b) {
        add_products::<4>(&mut lanes, a, b);
    }
    let mut rest = [0.0];
    for (a, b) in a_rest.iter().zip(b_rest) {
        add_products(&mut rest, &[*a], &[*b]);
    }
    sum(lanes, rest)
}

/// The lanes and the rest, in the stated order.
#[inline(always)]
fn sum([a, b, c, d, e, f, g, h]: [f64; 8], [rest]: [f64; 1]) -> f64 {
    (((a + e) + (c + g)) + ((b + f) + (d + h))) + rest
}

#[inline(always)]
fn add_products<const N: usize>(lanes: &mut [f64], a: &[f64; N], b: &[f64; N]) {
    for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
        *lane += a * b;
    }
}

/// Whether all numbers are finite. Vectorises: 0·x is 0 for a finite x and NaN otherwise.
///
/// ```
/// use hushstream_sets::all_finite;
///
/// assert!(all_finite(&[1.0, -2.0]));
/// assert!(!all_finite(&[1.0, f64::NAN]));
/// ```
#[must_use]
#[inline(always)]
pub fn all_finite(values: &[f64]) -> bool {
    let (fours, rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, value) in sums.iter_mut().zip(four) {
            *sum += value * 0.0;
        }
    }
    let rest: f64 = rest.iter().map(|value| value * 0.0).sum();
    (sums.iter().sum::<f64>() + rest).abs() <= 0.0
}

/// ‖a‖, also if the squares overflow or underflow.
#[inline(always)]
pub(crate) fn norm(a: &[f64]) -> f64 {
    norm_from(dot(a, a), a)
}

/// ‖a‖ from a known ⟨a, a⟩.
#[inline(always)]
pub(crate) fn norm_from(square: f64, a: &[f64]) -> f64 {
    if square.is_finite() && square > f64::MIN_POSITIVE / f64::EPSILON {
        return square.sqrt();
    }
    let largest = a
        .iter()
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let square: f64 = a.iter().map(|value| (value / largest).powi(2)).sum();
    largest * square.sqrt()
}

pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&difference(a, b))
}

pub(crate) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// target += factor·vector.
pub(crate) fn add(target: &mut [f64], factor: f64, vector: &[f64]) {
    for (target, value) in target.iter_mut().zip(vector) {
        *target += factor * value;
    }
}

/// `value` in one coordinate, 0 in the others.
pub(crate) fn along(dimension: usize, coordinate: usize, value: f64) -> Vec<f64> {
    let mut vector = vec![0.0; dimension];
    vector[coordinate] = value;
    vector
}

/// The largest norm of some vectors.
pub(crate) fn largest_norm<'a>(vectors: impl IntoIterator<Item = &'a Vec<f64>>) -> f64 {
    let norms = vectors.into_iter().map(|vector| norm(vector));
    norms.fold(0.0, f64::max)
}

/// Subtracts the projection of `vector` onto the span of orthonormal vectors. Twice, because once
/// loses orthogonality to rounding.
pub(crate) fn orthogonalise(vector: &mut [f64], basis: &[Vec<f64>]) {
    for _ in 0..2 {
        for direction in basis {
            let along = dot(direction, vector);
            add(vector, -along, direction);
        }
    }
}

/// The index of the smallest coordinate, the first of several; 0 for an empty slice.
pub(crate) fn first_smallest(values: &[f64]) -> usize {
    let mut best = 0;
    for (index, &value) in values.iter().enumerate() {
        if value < values[best] {
            best = index;
        }
    }
    best
}

/// Refuses a slice of another length.
///
/// # Errors
/// [`SetError::Dimension`].
#[inline]
pub fn check_length(
    parameter: &'static str,
    slice: &[f64],
    expected: usize,
) -> Result<(), SetError> {
    if slice.len() != expected {
        return Err(SetError::Dimension {
            parameter,
            given: slice.len(),
            expected,
        });
    }
    Ok(())
}

/// Writes an answer into the caller's slice.
pub(crate) fn write(
    parameter: &'static str,
    out: &mut [f64],
    values: &[f64],
) -> Result<(), SetError> {
    check_length(parameter, out, values.len())?;
    out.copy_from_slice(values);
    Ok(())
}

/// Checks the arguments of a minimiser.
pub(crate) fn check_minimise(
    direction: &[f64],
    out: &[f64],
    dimension: usize,
) -> Result<(), SetError> {
    check("direction", direction, dimension)?;
    check_length("minimiser", out, dimension)
}

/// Refuses a slice of another length, or with a number that is not finite.
///
/// # Errors
/// [`SetError::Dimension`], [`SetError::NotFinite`].
#[inline(always)]
pub fn check(parameter: &'static str, slice: &[f64], expected: usize) -> Result<(), SetError> {
    check_length(parameter, slice, expected)?;
    // The fast check vectorises; look for the index only if it fails.
    if all_finite(slice) {
        return Ok(());
    }
    match slice.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(SetError::NotFinite {
            parameter,
            index,
            given: slice[index],
        }),
        None => Ok(()),
    }
}

/// Refuses a number that is not positive and finite.
///
/// # Errors
/// [`SetError::Parameter`].
pub fn check_positive(parameter: &'static str, value: f64) -> Result<(), SetError> {
    let positive = value.is_finite() && value > 0.0;
    let refusal = || ParameterError::new(parameter, value, "a finite number above 0");
    positive.then_some(()).ok_or_else(|| refusal().into())
}

/// Refuses a number that is negative or not finite.
///
/// # Errors
/// [`SetError::Parameter`].
pub fn check_not_negative(parameter: &'static str, value: f64) -> Result<(), SetError> {
    let allowed = value.is_finite() && value >= 0.0;
    let refusal = || ParameterError::new(parameter, value, "a finite number of 0 or more");
    allowed.then_some(()).ok_or_else(|| refusal().into())
}

pub(crate) fn check_dimension(dimension: usize, least: usize) -> Result<(), SetError> {
    if dimension < least {
        return Err(ParameterError::new(
            "dimension",
            dimension,
            if least <= 1 { "1 or more" } else { "2 or more" },
        )
        .into());
    }
    Ok(())
}

/// A bound on the Euclidean rounding error of d coordinates, each computed with about d operations
/// on numbers up to `size`.
pub(crate) fn rounding(dimension: usize, size: f64) -> f64 {
    let d = dimension as f64;
    4.0 * d.sqrt() * (d + 4.0) * f64::EPSILON * size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stated order, number by number.
    fn by_hand(a: &[f64], b: &[f64]) -> f64 {
        let (mut lanes, mut rest) = ([0.0; 8], 0.0);
        let whole = a.len() / 4 * 4;
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            if i < whole {
                let in_eights = i < whole / 8 * 8;
                lanes[if in_eights { i % 8 } else { i % 4 }] += a * b;
            } else {
                rest += a * b;
            }
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        (((a + e) + (c + g)) + ((b + f) + (d + h))) + rest
    }

    #[test]
    fn the_order_is_the_stated_one() {
        for length in 0..70 {
            let number = |i: usize, by: f64| (i as f64 * by).sin() * 10_f64.powi(i as i32 % 7);
            let a: Vec<f64> = (0..length).map(|i| number(i, 1.7)).collect();
            let b: Vec<f64> = (0..length + 1).map(|i| number(i, 0.9)).collect();
            let wanted = [by_hand(&a, &a), by_hand(&a, &b)].map(f64::to_bits);
            assert_eq!(square_and_dot(&a, &b).map(f64::to_bits), wanted, "{length}");
            assert_eq!([dot(&a, &a), dot(&a, &b)].map(f64::to_bits), wanted);
            assert_eq!(in_lanes(&a, &b).to_bits(), wanted[1]);
        }
    }

    /// Any numbers, of any length: one pass over both gives the bits of the stated order.
    #[test]
    fn the_order_is_the_stated_one_for_strange_numbers() {
        let strange = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            -2.5e-310,
            0.0,
            -0.0,
            1.7e308,
            -1e200,
            1e-200,
        ];
        for length in 0..=200 {
            for place in 0..strange.len() {
                let number = |i: usize, by: f64| match (i * 7 + place) % 61 {
                    0 => strange[(i + place) % strange.len()],
                    _ => (i as f64 * by).sin(),
                };
                let a: Vec<f64> = (0..length).map(|i| number(i, 1.7)).collect();
                for longer in [0, 3] {
                    let b: Vec<f64> = (0..length + longer).map(|i| number(i + 1, 0.9)).collect();
                    let wanted = [by_hand(&a, &a), by_hand(&a, &b)];
                    for (found, wanted) in square_and_dot(&a, &b).into_iter().zip(wanted) {
                        let same = found.to_bits() == wanted.to_bits();
                        assert!(
                            same || found.is_nan() && wanted.is_nan(),
                            "{length} {place}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn norms_survive_extreme_scales() {
        for scale in [1e-300, 1e-160, 1.0, 1e160, 1e300] {
            let norm = norm(&[3.0 * scale, 4.0 * scale]);
            assert!((norm / (5.0 * scale) - 1.0).abs() < 1e-14, "{norm}");
        }
        assert!(norm(&[0.0, 0.0]) == 0.0);
    }

    #[test]
    fn numbers_that_are_not_finite_are_found_at_every_index() {
        for length in 0..11 {
            let mut values = vec![-f64::MAX; length];
            assert!(all_finite(&values));
            for place in 0..length {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    values[place] = bad;
                    assert!(!all_finite(&values));
                }
                values[place] = 0.0;
            }
        }
    }

    #[test]
    fn bad_slices_are_named() {
        let message = check("point", &[0.0, f64::NAN], 2).unwrap_err().to_string();
        assert!(message.contains("point[1] = NaN"), "{message}");
        assert!(check("point", &[0.0], 2).is_err());
    }
}
