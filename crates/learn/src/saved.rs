//! Saved states: a learner's iterate, and vectors of its length beside it, one after the other.

use hushstream_sets::ConvexSet;

use crate::{LearnError, check};

/// Reads N vectors back; the first is an iterate and must be in the set.
pub(crate) fn read<const N: usize>(
    set: &dyn ConvexSet,
    state: &[f64],
) -> Result<[Vec<f64>; N], LearnError> {
    let dimension = set.dimension();
    check::vector("saved state", state, N * dimension)?;
    check::inside("saved iterate", set, &state[..dimension])?;
    Ok(std::array::from_fn(|i| {
        state[i * dimension..(i + 1) * dimension].to_vec()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::Ball;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let ball = Ball::new(2, 1.0).unwrap();
        let [iterate, total] = read(&ball, &[0.5, 0.0, 7.0, 8.0]).unwrap();
        assert_eq!((iterate, total), (vec![0.5, 0.0], vec![7.0, 8.0]));
        assert!(read::<1>(&ball, &[0.5, 0.0, 7.0, 8.0]).is_err());
        assert!(read::<2>(&ball, &[2.0, 0.0, 7.0, 8.0]).is_err());
        assert!(read::<2>(&ball, &[0.5, 0.0, 7.0, f64::NAN]).is_err());
        assert!(read::<1>(&ball, &[]).is_err());
    }
}
