//! The public rule from a released coordinate to a weight: follow the regularised leader with a
//! fixed rate, in a box.
//!
//! w_j = clamp(−η·ŝ_j, −r, r) minimises η⟨ŝ, w⟩ + ‖w‖²/2 over the box, coordinate by coordinate.
//!
//! **Regret** against w* in the box, for gradients of length at most L and a stream fixed in
//! advance: with exact sums ‖w*‖²/(2η) + η·T·L²/2 (of the regularised leader). Noise ν_t in ŝ_t
//! moves w_t by at most η·|ν_t,j| in coordinate j, so a record with features x loses at most its
//! slope times η·Σ|x_j|·|ν_t,j|, in expectation η·slope·‖x‖₁·σ_t·√(2/π), σ_t the standard deviation
//! of one coordinate. So privacy adds at most η·√(2k/π)·L·Σσ_t for records of k features. Where the
//! box does not bind, errors of both signs cancel: η·slope·|⟨x, ν_t⟩| has expectation below
//! η·slope·‖x‖₂·σ_t, whatever k is, and privacy adds at most η·L·Σσ_t. Any rate has this bound;
//! `rate.rs` describes the default.

/// φ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    rate: f64,
    half_side: f64,
}

impl Rule {
    /// Rate η and half the side r of the box; `None` if one is not positive and finite.
    #[must_use]
    pub fn new(rate: f64, half_side: f64) -> Option<Self> {
        let fits = |value: f64| value > 0.0 && value.is_finite();
        (fits(rate) && fits(half_side)).then_some(Self { rate, half_side })
    }

    /// η.
    #[must_use]
    pub fn rate(self) -> f64 {
        self.rate
    }

    /// r.
    #[must_use]
    pub fn half_side(self) -> f64 {
        self.half_side
    }

    /// The weight for a released coordinate.
    #[inline]
    #[must_use]
    pub fn weight(self, released: f64) -> f64 {
        self.within(self.step(released))
    }

    /// The weight before the box.
    #[inline]
    pub(super) fn step(self, released: f64) -> f64 {
        -self.rate * released
    }

    /// The nearest number in the box.
    #[inline]
    pub(super) fn within(self, step: f64) -> f64 {
        step.clamp(-self.half_side, self.half_side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_the_clamped_step() {
        let rule = Rule::new(0.5, 1.0).unwrap();
        assert!((rule.weight(1.0) + 0.5).abs() < 1e-15);
        assert!((rule.weight(-100.0) - 1.0).abs() < 1e-15);
        assert!(Rule::new(0.0, 1.0).is_none() && Rule::new(1.0, f64::NAN).is_none());
    }
}
