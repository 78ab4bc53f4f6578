//! How wide the integers of a BLT encoder must be, decided before the first item.
//!
//! Let M = R·2ᶠ be the largest scaled coordinate (R = `radius`, f guard bits). From buf ← θ·buf +
//! ε + X, |ε| ≤ 1, it follows that |buf_j| ≤ (M+1)·(1−θ_j^n)/(1−θ_j) =: L_j after n steps. A
//! weighted sum is at most M + Σω_jL_j + m, as each of its at most m roundings adds at most one. A
//! layout is accepted only if, with W = 51 bits (double) or 127 (wide),
//!
//! * buffers fit: L_j < 2^W, or 2⁵³ for doubles;
//! * weighted sums fit: M + Σω_jL_j + m < 2^W;
//! * rows fit after noise of up to 16 standard deviations: (M + Σω_jL_j + m)/2^{f−g} + 1 + 2^{34+g}
//!   < 2^W, with g = f bits below the lattice in the rows, or none (double);
//! * products fit an `i128`: a_j·L_j < 2¹²⁷, where a_j·L_j ≤ (M+1)·2⁶², and Σw_jL_j < 2¹²⁷.
//!
//! The floating evaluation has relative error below 2⁻⁴⁴ and is widened by 10⁻¹², so "fits" is
//! never a rounding accident, and 2^W − 1 fits too. Under these checks no operation of the encoder
//! can overflow.

use serde::{Deserialize, Serialize};

use super::dyadic::{DyadicBlt, WEIGHT_BITS, up};
use super::error::BltError;

/// Noise of standard deviation 2^{30+g} stays below 2^{34+g}, sixteen deviations.
const NOISE_BITS: u32 = 34;
/// Guard bits beyond these are not worth having: in doubles, because the roundings are already
/// negligible for a million releases…
const DOUBLE_GUARD: u32 = 16;
/// …and wide, because R·2^{f+62} must stay below 2¹²⁷.
const WIDE_GUARD: u32 = 32;

/// What holds buffers and rows. Journals name them by these numbers; 0 was another width once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Width {
    /// `i128`.
    Wide = 1,
    /// Integers in `f64`.
    Double = 2,
}

impl From<Width> for u8 {
    fn from(width: Width) -> Self {
        width as Self
    }
}

impl TryFrom<u8> for Width {
    type Error = &'static str;

    fn try_from(stored: u8) -> Result<Self, Self::Error> {
        match stored {
            1 => Ok(Self::Wide),
            2 => Ok(Self::Double),
            _ => Err("this width of a filter is not supported by this version"),
        }
    }
}

impl Width {
    /// W.
    const fn bits(self) -> u32 {
        match self {
            Self::Double => 51,
            Self::Wide => 127,
        }
    }

    const fn buffer_bits(self) -> u32 {
        match self {
            Self::Double => 53,
            Self::Wide => self.bits(),
        }
    }
}

/// A width, and the number f of guard bits: buffers are multiples of 2⁻ᶠ lattice units.
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
        "{what} may need {needed:.1} bits where {available} are available; use fewer guard bits, a \
         smaller radius or fewer releases"
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
        "rounding would cost {inflation:.3} lattice units where {tolerance:.3} are tolerated; use \
         fewer releases or coordinates"
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

    /// The first width, doubles before wide, that with as many guard bits as fit, up
    /// to 16 (wide: 32), has an inflation of at most `tolerance` lattice units. `radius` may be an
    /// upper bound (the one without inflation), as a smaller one fits all the more.
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
        for (width, most) in [(Width::Double, DOUBLE_GUARD), (Width::Wide, WIDE_GUARD)] {
            for guard_bits in (0..=most).rev() {
                let layout = Self { width, guard_bits };
                match layout.check(blt, releases, dimension, radius) {
                    Ok(()) => {
                        let inflation = blt.inflation(layout, releases, dimension);
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

    /// How many of them rows keep, and noise must have: all, but none in doubles.
    #[must_use]
    pub fn row_bits(self) -> u32 {
        match self.width {
            Width::Double => 0,
            Width::Wide => self.guard_bits,
        }
    }

    /// The value of one unit of a row, in lattice units.
    #[must_use]
    pub fn unit(self) -> f64 {
        libm::exp2(-f64::from(self.row_bits()))
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
        let sum = scaled + weights / libm::exp2(f64::from(WEIGHT_BITS)) + limits.len() as f64;
        let row_bits = f64::from(self.row_bits());
        let row = sum * libm::exp2(row_bits - f64::from(self.guard_bits))
            + 1.0
            + libm::exp2(f64::from(NOISE_BITS) + row_bits);
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
        fits("buffers", buffer, self.width.buffer_bits())?;
        fits("weighted sums", sum, self.width.bits())?;
        fits("released rows", row, self.width.bits())?;
        fits("decay products", decays, 127)?;
        fits("products of weights", weights, 127)
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

    /// Larger data leave less room for guard bits, also in the wide ones.
    #[test]
    fn guard_bits_give_way_to_data() {
        let blt = DyadicBlt::new(&vector()).unwrap();
        for (log_radius, guard_bits) in [(36, 28), (40, 24), (62, 2)] {
            let layout = Layout::choose(&blt, 1 << 20, 1024, 1 << log_radius, 1e7).unwrap();
            assert_eq!(
                (layout.width(), layout.guard_bits()),
                (Width::Wide, guard_bits)
            );
        }
    }

    /// Doubles lose their guard bits, and at last their use, as streams grow longer.
    #[test]
    fn up_to_a_million_releases_are_doubles() {
        for (n, width, guard_bits) in [
            (1 << 10, Width::Double, 16),
            (1 << 16, Width::Double, 11),
            (400_000, Width::Double, 9),
            (1 << 20, Width::Double, 8),
            (1 << 22, Width::Wide, 32),
        ] {
            let blt = DyadicBlt::new(&optimise(n, 4).unwrap()).unwrap();
            let layout = Layout::choose(&blt, n, 54, radius(&blt, n) / 2, 2.5e5).unwrap();
            assert_eq!(
                (layout.width(), layout.guard_bits()),
                (width, guard_bits),
                "{n}"
            );
            assert_eq!(
                layout.row_bits(),
                if width == Width::Double { 0 } else { 32 }
            );
        }
    }

    /// What a journal says of a width must never come to mean another.
    #[test]
    fn widths_are_stored_by_their_numbers() {
        let stored = |width: Width| postcard::to_allocvec(&width).unwrap();
        assert!(postcard::from_bytes::<Width>(&[0]).is_err());
        assert_eq!(stored(Width::Wide), [1]);
        assert_eq!(stored(Width::Double), [2]);
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
        let double = Layout::new(Width::Double, 0).check(&blt, 1 << 20, 1, i64::MAX);
        assert!(matches!(
            double,
            Err(LayoutError::DoesNotFit {
                what: "buffers",
                available: 53,
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
        let sums = Layout::new(Width::Double, 0).check(&blt, 1, 1, 1 << 51);
        assert!(matches!(
            sums,
            Err(LayoutError::DoesNotFit {
                what: "weighted sums",
                available: 51,
                ..
            })
        ));
        let noisy = Layout::new(Width::Wide, 93).check(&blt, 1, 1, 1);
        assert!(matches!(
            noisy,
            Err(LayoutError::DoesNotFit {
                what: "released rows",
                ..
            })
        ));
    }
}
