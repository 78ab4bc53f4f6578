//! Checks that all learners share, and arithmetic on slices that tolerates noise of any size.

use hushstream_account::ParameterError;
use hushstream_sets::{Capability, ConvexSet, SetError, Unable};

use crate::LearnError;

pub(crate) use hushstream_sets::{
    check as vector, check_length as length, check_not_negative as not_negative,
    check_positive as positive,
};

/// Coordinates are clamped to ±this before a projection, so that differences and norms stay
/// finite.
pub(crate) const HUGE: f64 = 1e300;

pub(crate) fn can(set: &dyn ConvexSet, capability: Capability) -> Result<(), LearnError> {
    if set.can(capability) {
        Ok(())
    } else {
        Err(Unable::new(set, capability).into())
    }
}

/// Checks that a point is in the set, for a first or restored iterate.
pub(crate) fn inside(
    parameter: &'static str,
    set: &dyn ConvexSet,
    point: &[f64],
) -> Result<(), LearnError> {
    vector(parameter, point, set.dimension())?;
    let allowed = 1e-9 * (1.0 + set.largest_norm());
    if set.contains(point, allowed) {
        return Ok(());
    }
    let mut nearest = point.to_vec();
    let distance = match set.project(&mut nearest) {
        Ok(_) => norm(&difference(point, &nearest)),
        Err(_) => f64::INFINITY,
    };
    let set = set.name();
    Err(LearnError::Set(SetError::Outside {
        parameter,
        set,
        distance,
        allowed,
    }))
}

/// Reads N vectors from a saved state; the first is an iterate and must be in the set.
pub(crate) fn saved<const N: usize>(
    set: &dyn ConvexSet,
    state: &[f64],
) -> Result<[Vec<f64>; N], LearnError> {
    let dimension = set.dimension();
    vector("saved state", state, N * dimension)?;
    inside("saved iterate", set, &state[..dimension])?;
    Ok(std::array::from_fn(|i| {
        state[i * dimension..(i + 1) * dimension].to_vec()
    }))
}

/// Checks that no round was played: the sum over no items comes before the first one.
pub(crate) fn not_begun(rounds: u64) -> Result<(), LearnError> {
    if rounds == 0 {
        return Ok(());
    }
    Err(ParameterError::new(
        "initial sum",
        format!("after {rounds} rounds"),
        "before the first round",
    )
    .into())
}

pub(crate) fn centre(set: &dyn ConvexSet) -> Result<Vec<f64>, LearnError> {
    let mut centre = vec![0.0; set.dimension()];
    set.centre(&mut centre)?;
    Ok(centre)
}

/// Clamps a coordinate that may have overflowed to ±10³⁰⁰.
#[inline(always)]
pub(crate) fn hold(value: f64) -> f64 {
    value.clamp(-HUGE, HUGE)
}

/// Projects a point that may have overflowed.
pub(crate) fn project(set: &dyn ConvexSet, mut target: Vec<f64>) -> Result<Vec<f64>, LearnError> {
    target.iter_mut().for_each(|value| *value = hold(*value));
    set.project(&mut target)?;
    Ok(target)
}

/// The same direction, divided by a power of two if it is so long that products could overflow.
pub(crate) fn direction(vector: &[f64]) -> Vec<f64> {
    let largest = largest(vector);
    let scale = if largest > 1e100 {
        power_of_two(largest).recip()
    } else {
        1.0
    };
    vector.iter().map(|value| value * scale).collect()
}

/// A power of two within a factor of two of the value; 1 for 0.
pub(crate) fn power_of_two(value: f64) -> f64 {
    let exponent = if value > 0.0 { libm::ilogb(value) } else { 0 };
    libm::scalbn(1.0, exponent.clamp(-1000, 1000))
}

pub(crate) fn largest(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0, |most, value| most.max(value.abs()))
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// ‖a‖, also if squares overflow.
pub(crate) fn norm(a: &[f64]) -> f64 {
    let scale = power_of_two(largest(a));
    let squares: f64 = a.iter().map(|value| (value / scale).powi(2)).sum();
    scale * squares.sqrt()
}

/// 1 + ln T, the bound on the harmonic sum in regret bounds.
pub(crate) fn harmonic(horizon: u64) -> f64 {
    1.0 + libm::log((horizon.max(1)) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::Ball;

    #[test]
    fn lengths_survive_any_scale() {
        for scale in [1e-300, 1.0, 1e300] {
            assert!((norm(&[3.0 * scale, 4.0 * scale]) / (5.0 * scale) - 1.0).abs() < 1e-14);
        }
        assert!(norm(&[0.0, 0.0]) == 0.0);
        let short = direction(&[3e300, -4e300]);
        assert!((short[0] / short[1] + 0.75).abs() < 1e-15 && short[1].abs() < 2.0);
    }

    #[test]
    fn errors_name_the_argument() {
        let message = vector("prefix sum", &[0.0, f64::NAN], 2).unwrap_err();
        assert!(message.to_string().contains("prefix sum[1] = NaN"));
        let message = vector("prefix sum", &[0.0], 2).unwrap_err();
        assert!(
            message
                .to_string()
                .contains("has 1 coordinates; allowed: 2")
        );
        let message = positive("rate", -1.0).unwrap_err();
        assert!(message.to_string().contains("rate = -1"));
    }

    #[test]
    fn saved_states_are_read_and_checked() {
        let ball = Ball::new(2, 1.0).unwrap();
        let [iterate, total] = saved(&ball, &[0.5, 0.0, 7.0, 8.0]).unwrap();
        assert_eq!((iterate, total), (vec![0.5, 0.0], vec![7.0, 8.0]));
        assert!(saved::<1>(&ball, &[0.5, 0.0, 7.0, 8.0]).is_err());
        assert!(saved::<2>(&ball, &[2.0, 0.0, 7.0, 8.0]).is_err());
        assert!(saved::<2>(&ball, &[0.5, 0.0, 7.0, f64::NAN]).is_err());
        assert!(saved::<1>(&ball, &[]).is_err());
    }
}
