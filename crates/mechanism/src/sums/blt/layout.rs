//! How wide the integers of a BLT encoder must be, decided before the first item.
//!
//! Let M = R·2ᶠ be the largest scaled coordinate (R = `radius`, f guard bits). From buf ← θ·buf + ε + X, 0 ≤ ε < 1:
//! |buf_j| ≤ (M+1)·(1−θ_j^n)/(1−θ_j) =: L_j after n steps, and a row is at most M + Σω_jL_j + 1. A layout is accepted only if, with W = 63 bits
//! (narrow) or 127 (wide),
//!
//! * buffers fit: L_j < 2^W;
//! * rows fit after noise of up to 16 standard deviations: M + Σω_jL_j + 1 + 2^{34+f} < 2^W;
//! * products fit an `i128`: a_j·L_j < 2¹²⁷, where a_j·L_j ≤ (M+1)·2⁶², and Σw_jL_j < 2¹²⁷ (for narrow buffers they always do).
//!
//! The floating evaluation has relative error below 2⁻⁴⁴ and is widened by as much, so "fits" is never a rounding accident. Under these checks
//! no operation of the encoder can overflow.

use serde::{Deserialize, Serialize};

use super::dyadic::{DyadicBlt, WEIGHT_BITS, up};
use super::error::BltError;

/// Noise of standard deviation 2^{30+f} is taken to stay below 2^{34+f}: sixteen deviations.
const NOISE_BITS: u32 = 34;
/// Guard bits beyond these are not worth having: narrow, because the floors are already negligible for a million releases…
const NARROW_GUARD: u32 = 16;
/// …and wide, because R·2^{f+62} must stay below 2¹²⁷.
const WIDE_GUARD: u32 = 32;

/// The integers that hold buffers and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Width {
    /// `i64`.
    Narrow,
    /// `i128`.
    Wide,
}

impl Width {
    const fn bits(self) -> u32 {
        match self {
            Self::Narrow => 63,
            Self::Wide => 127,
        }
    }
}

/// A width, and the number f of guard bits: rows are multiples of 2⁻ᶠ lattice units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    width: Width,
    guard_bits: u32,
}

/// Why a stream cannot be encoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// A number of releases out of range.
    #[error(transparent)]
    Releases(#[from] BltError),
    /// A stream without coordinates.
    #[error("the dimension is 0; at least one coordinate is needed")]
    Dimension,
    /// A radius that leaves no room for data.
    #[error(
        "the integer radius is {given}; it must be at least 1. A larger μ, fewer releases or fewer coordinates make it larger"
    )]
    Radius {
        /// The radius given.
        given: i64,
    },
    /// Numbers too large for the width.
    #[error(
        "{what} may need {needed:.1} bits where {available} are available; use fewer guard bits, a smaller radius or fewer releases"
    )]
    DoesNotFit {
        /// Which numbers.
        what: &'static str,
        /// log2 of the bound.
        needed: f64,
        /// Bits of the integer, without its sign.
        available: u32,
    },
    /// Floors that would cost more than tolerated, whatever fits.
    #[error(
        "rounding would cost {inflation:.3} lattice units where {tolerance:.3} are tolerated; use fewer releases or coordinates"
    )]
    Inflation {
        /// The least that fits.
        inflation: f64,
        /// What was tolerated.
        tolerance: f64,
    },
}

impl Layout {
    /// A layout by hand; whether it fits a stream is checked when an encoder is opened.
    #[must_use]
    pub fn new(width: Width, guard_bits: u32) -> Self {
        Self { width, guard_bits }
    }

    /// The narrow width with as many guard bits as fit, up to 16, if its inflation is at most `tolerance` lattice units; otherwise
    /// the wide one with up to 32. `radius` may be an upper bound (the one without inflation), as a smaller one fits all the more.
    ///
    /// # Errors
    /// A [`LayoutError`] if no layout fits or none is precise enough.
    pub fn choose(
        blt: &DyadicBlt,
        releases: u64,
        dimension: usize,
        radius: i64,
        tolerance: f64,
    ) -> Result<Self, LayoutError> {
        let mut refusal = LayoutError::Inflation {
            inflation: f64::INFINITY,
            tolerance,
        };
        for (width, most) in [(Width::Narrow, NARROW_GUARD), (Width::Wide, WIDE_GUARD)] {
            for guard_bits in (0..=most).rev() {
                let layout = Self { width, guard_bits };
                match layout.check(blt, releases, dimension, radius) {
                    Ok(()) => {
                        let inflation = blt.inflation(guard_bits, releases, dimension);
                        if inflation <= tolerance {
                            return Ok(layout);
                        }
                        // Fewer guard bits only make it worse.
                        refusal = LayoutError::Inflation {
                            inflation,
                            tolerance,
                        };
                        break;
                    }
                    Err(error @ LayoutError::DoesNotFit { .. }) => refusal = error,
                    Err(error) => return Err(error),
                }
            }
        }
        Err(refusal)
    }

    /// The width.
    #[must_use]
    pub fn width(self) -> Width {
        self.width
    }

    /// f.
    #[must_use]
    pub fn guard_bits(self) -> u32 {
        self.guard_bits
    }

    /// 2⁻ᶠ: the value of one unit of a row, in lattice units.
    #[must_use]
    pub fn unit(self) -> f64 {
        libm::exp2(-f64::from(self.guard_bits))
    }

    /// R·2ᶠ, rounded up.
    fn scaled(self, radius: i64) -> f64 {
        up(
            radius as f64 * libm::exp2(f64::from(self.guard_bits)),
            f64::EPSILON,
        )
    }

    /// The bounds L_j on the buffers after `steps` steps, rounded up; zero before the first.
    pub(super) fn limits(self, blt: &DyadicBlt, steps: u64, radius: i64) -> Vec<f64> {
        let largest = self.scaled(radius) + 1.0;
        blt.buffer_gains(steps)
            .iter()
            .map(|gain| up(largest * gain, f64::EPSILON))
            .collect()
    }

    /// Whether everything fits.
    pub(super) fn check(
        self,
        blt: &DyadicBlt,
        releases: u64,
        dimension: usize,
        radius: i64,
    ) -> Result<(), LayoutError> {
        BltError::check_releases(releases)?;
        if dimension == 0 {
            return Err(LayoutError::Dimension);
        }
        if radius < 1 {
            return Err(LayoutError::Radius { given: radius });
        }
        let (scaled, limits) = (self.scaled(radius), self.limits(blt, releases, radius));
        let product = |numerators: &[i64]| {
            limits
                .iter()
                .zip(numerators)
                .map(|(l, a)| l * *a as f64)
                .collect::<Vec<_>>()
        };
        let decays = product(blt.decay_numerators())
            .into_iter()
            .fold(0.0, f64::max);
        let weights: f64 = product(blt.weight_numerators()).iter().sum();
        let row = scaled
            + weights / libm::exp2(f64::from(WEIGHT_BITS))
            + 1.0
            + libm::exp2(f64::from(NOISE_BITS) + f64::from(self.guard_bits));
        let buffer = limits.iter().copied().fold(0.0, f64::max);
        let fits = |what, bound: f64, available: u32| {
            if up(bound, 1e-12) < libm::exp2(f64::from(available)) {
                Ok(())
            } else {
                Err(LayoutError::DoesNotFit {
                    what,
                    needed: libm::log2(bound),
                    available,
                })
            }
        };
        fits("buffers", buffer, self.width.bits())?;
        fits("released rows", row, self.width.bits())?;
        fits("decay products", decays, 127)?;
        fits("weighted sums", weights, 127)
    }
}

#[cfg(test)]
mod tests {
    use super::super::optimise;
    use super::super::parameters::tests::vector;
    use super::*;

    /// R for μ at (1, 1e-6), zero-out, inflation ignored.
    fn radius(blt: &DyadicBlt, n: u64) -> i64 {
        (2_f64.powi(30) / 4.2247 / blt.sensitivity(n)) as i64
    }

    #[test]
    fn a_million_releases_are_narrow_with_sixteen_guard_bits() {
        let blt = DyadicBlt::new(&vector()).unwrap();
        let layout = Layout::choose(&blt, 1 << 20, 1024, radius(&blt, 1 << 20), 1e5).unwrap();
        assert_eq!((layout.width(), layout.guard_bits()), (Width::Narrow, 16));
        // A larger budget means larger data; two bits of guard give way.
        let layout = Layout::choose(&blt, 1 << 20, 1024, 8 * radius(&blt, 1 << 20), 1e5).unwrap();
        assert_eq!((layout.width(), layout.guard_bits()), (Width::Narrow, 14));
    }

    #[test]
    fn over_provisioned_streams_are_wide() {
        for (log_n, m) in [(32, 7), (40, 7), (40, 8)] {
            let n = 1 << log_n;
            let blt = DyadicBlt::new(&optimise(n, m).unwrap()).unwrap();
            let layout = Layout::choose(&blt, n, 4096, radius(&blt, n), 1e6).unwrap();
            assert_eq!(
                (layout.width(), layout.guard_bits()),
                (Width::Wide, 32),
                "2^{log_n}"
            );
        }
    }

    #[test]
    fn refusals() {
        let blt = DyadicBlt::new(&vector()).unwrap();
        let choose = |n, d, r, tolerance| Layout::choose(&blt, n, d, r, tolerance);
        assert!(matches!(
            choose(0, 1, 1, 1.0),
            Err(LayoutError::Releases(_))
        ));
        assert!(matches!(choose(1, 0, 1, 1.0), Err(LayoutError::Dimension)));
        for bad in [0, -1, i64::MIN] {
            assert!(matches!(
                choose(1, 1, bad, 1.0),
                Err(LayoutError::Radius { .. })
            ));
        }
        assert!(matches!(
            choose(1 << 20, 1, 1 << 20, 1e-9),
            Err(LayoutError::Inflation { .. })
        ));
        assert!(
            choose(1 << 30, 1, i64::MAX, 1e9).is_ok(),
            "without guard bits even this fits 128"
        );
        let narrow = Layout::new(Width::Narrow, 0).check(&blt, 1 << 20, 1, i64::MAX);
        assert!(matches!(
            narrow,
            Err(LayoutError::DoesNotFit {
                what: "buffers",
                available: 63,
                ..
            })
        ));
        let wide = Layout::new(Width::Wide, 60).check(&blt, 1 << 20, 1, 1 << 30);
        assert!(matches!(
            wide,
            Err(LayoutError::DoesNotFit {
                what: "decay products",
                ..
            })
        ));
        let noisy = Layout::new(Width::Narrow, 29).check(&blt, 1, 1, 1);
        assert!(matches!(
            noisy,
            Err(LayoutError::DoesNotFit {
                what: "released rows",
                ..
            })
        ));
    }
}
