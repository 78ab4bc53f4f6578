//! Second moments of a record, for least squares: exact integers, whose distance is proved in
//! integers.
//!
//! **From a record to integers.** Features v are clipped to length R and scaled by Q/R, Q = 2¹²;
//! the target y is clipped to Y and scaled by S/Y, S = 2¹⁵. Both are rounded to the nearest
//! integers q, s. What comes out is checked: Σq_i² ≤ Q² and |s| ≤ S. Features that rounding took
//! out of the ball are truncated instead, which shortens them; if that fails too the record is
//! null. So whatever the floats did, a record is integers within these bounds, or nothing. A batch
//! is summed exactly: M = Σqqᵀ and u = Σs·q (`block.rs`).
//!
//! **To the lattice.** A complete item is mapped to the lattice once: M_ii for every i, then
//! √2·M_ij for i < j row by row, then κ·u_i, where M is in units of Q² and u of QS. This is the
//! isometric form: independent noise on every coordinate is symmetric noise on the matrix. κ is the
//! weight of the target's block ([`TargetWeight`]). In these units a record's point is (vvᵀ, κ·y·v)
//! with ‖v‖ ≤ 1, |y| ≤ 1, of length at most √(1 + κ²): that is the bound, and the radius is its
//! image. So with c = radius/√(1 + κ²) the integers are trunc(c·M_ii/Q²), trunc(√2·c·M_ij/Q²) and
//! trunc(κ·c·u_i/QS), where c, √2·c and κ·c are fixed-point numbers rounded *down* by integer
//! square roots ([`Image`]).
//!
//! *Claim.* Two items that differ in one record are at most δ·radius + √D apart, D coordinates,
//! with δ² = (2 + 2κ² + κ⁴/2)/(1 + κ²) for κ² ≤ 2 and 4κ²/(1 + κ²) above; if one of the two records
//! is null, radius + √D.
//!
//! *Proof.* For two points of the form above, with z = ⟨v, w⟩,
//! ‖·‖² = ‖v‖⁴ + ‖w‖⁴ − 2z² + κ²(y²‖v‖² + y'²‖w‖² − 2yy'z) ≤ 2 + 2κ² − 2z² + 2κ²|z|, which is
//! largest at |z| = min(κ²/2, 1). A null is the point 0, at a distance of at most √(1 + κ²). The
//! multipliers are no larger than c, √2·c, κ·c, coordinate by coordinate, and the map is linear: so
//! before truncation the distance is at most c times that. Truncation adds less than 1 to the
//! distance of two numbers, hence at most √D to that of two vectors. ∎
//!
//! Truncation does not lengthen: an item of B records is no longer than B·radius.
//!
//! **Several classes** share one matrix: the target is the unit vector y ∈ ℝᴷ of the record's
//! class, and κ·y_k·v follows class by class. The proof uses y only through ‖y‖ ≤ 1 and |⟨y, y'⟩| ≤
//! 1, so K classes cost no more sensitivity than one number; K separate problems would cost √K.
//!
//! **What rounding costs.** A feature moves by at most R/2¹³ (R/2¹² if truncated), a target by
//! Y/2¹⁶. Random rounding errors put a ridge of n·R²/(12·2²⁴) on the matrix of n records, 10⁻⁵ of
//! its eigenvalues at p = 2000 features spread over the ball. [`Moments::rounding`] is the worst
//! case.
//!
//! Products are formed here, from clipped data: a clip of the product is no substitute (erratum J2
//! is a bound of R where R² is needed), and δ < 2 holds only because of where the points come from.

mod block;

pub(crate) use block::Block;

use crate::losses::Bounds;
use hushstream_account::{Adjacency, ParameterError};
use serde::{Deserialize, Serialize};

/// Q, the integer image of the bound on features, as a power of two.
const FEATURE_BITS: u32 = 12;
/// S, that of the bound on targets.
const TARGET_BITS: u32 = 15;
/// The most records of an item: its sums stay below 2⁶¹.
pub(crate) const MOST_RECORDS: u64 = 1 << (61 - FEATURE_BITS - TARGET_BITS);
/// Bits of a multiplier behind the point.
const POINT: u32 = 16;

/// κ², the weight of the target's part of second moments against the matrix: a number of
/// sixteenths, so that it is exact.
///
/// ```
/// use hushstream_account::Adjacency;
/// use hushstream_mechanism::TargetWeight;
///
/// let equal = TargetWeight::sixteenths(16)?; // κ = 1
/// assert!((equal.distance(Adjacency::ReplaceOne) - 1.5).abs() < 1e-12);
/// assert_eq!(TargetWeight::default().squared(), 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct TargetWeight(u8);

impl TargetWeight {
    /// κ² = `count`/16.
    ///
    /// # Errors
    /// 0, or more than 64.
    pub fn sixteenths(count: u8) -> Result<Self, ParameterError> {
        if (1..=64).contains(&count) {
            Ok(Self(count))
        } else {
            let allowed = "1 to 64 sixteenths";
            Err(ParameterError::new("weight of the target", count, allowed))
        }
    }

    /// κ².
    #[must_use]
    pub fn squared(self) -> f64 {
        f64::from(self.0) / 16.0
    }

    /// How many radii two neighbouring points are apart: δ of the source file's proof, rounded up.
    #[must_use]
    pub fn distance(self, adjacency: Adjacency) -> f64 {
        let k = self.squared();
        let squared = match adjacency {
            Adjacency::ZeroOut => return 1.0,
            Adjacency::ReplaceOne if k <= 2.0 => (2.0 + 2.0 * k + k * k / 2.0) / (1.0 + k),
            Adjacency::ReplaceOne => 4.0 * k / (1.0 + k),
        };
        squared.sqrt() * (1.0 + 4.0 * f64::EPSILON)
    }
}

impl Default for TargetWeight {
    /// κ² = ½.
    fn default() -> Self {
        Self(8)
    }
}

impl TryFrom<u8> for TargetWeight {
    type Error = ParameterError;

    fn try_from(count: u8) -> Result<Self, ParameterError> {
        Self::sixteenths(count)
    }
}

impl From<TargetWeight> for u8 {
    fn from(weight: TargetWeight) -> Self {
        weight.0
    }
}

/// The map from records to second moments.
///
/// ```
/// use hushstream_mechanism::Moments;
/// use hushstream_mechanism::losses::Bounds;
///
/// let moments = Moments::new(3, Bounds::new(1.0, (-1.0, 1.0), 1.0)?);
/// assert_eq!(moments.dimension(), 9); // 3·4/2 products and 3 of features with target
/// assert!((moments.bound() - 1.5_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Moments {
    features: usize,
    bounds: Bounds,
    /// K, if the target is a class.
    classes: Option<usize>,
    weight: TargetWeight,
}

/// Moments as questions have them.
#[derive(Serialize, Deserialize)]
struct Written {
    features: u32,
    length: f64,
    target: (f64, f64),
    weights: f64,
    classes: Option<u32>,
    weight: TargetWeight,
}

impl From<Moments> for Written {
    fn from(moments: Moments) -> Self {
        let bounds = &moments.bounds;
        Self {
            features: moments.features as u32,
            length: bounds.features(),
            target: bounds.target(),
            weights: bounds.weights(),
            classes: moments.classes.map(|classes| classes as u32),
            weight: moments.weight,
        }
    }
}

impl TryFrom<Written> for Moments {
    type Error = ParameterError;

    fn try_from(written: Written) -> Result<Self, ParameterError> {
        const MOST: u32 = 1 << 16;
        if written.features > MOST {
            let allowed = "at most 65536";
            return Err(ParameterError::new("features", written.features, allowed));
        }
        let features = written.features as usize;
        let moments = match written.classes {
            Some(classes) => Self::of_classes(features, written.length, classes as usize)?,
            None => {
                let bounds = Bounds::new(written.length, written.target, written.weights)?;
                Self::new(features, bounds)
            }
        };
        Ok(moments.weighted(written.weight))
    }
}

impl Moments {
    /// Moments of records with this number of features; the bound on weights is not used.
    #[must_use]
    pub fn new(features: usize, bounds: Bounds) -> Self {
        Self {
            features,
            bounds,
            classes: None,
            weight: TargetWeight::default(),
        }
    }

    /// Moments of records whose target is a class 0, 1, …, `classes` − 1, and whose features have
    /// length at most `length`.
    ///
    /// # Errors
    /// A length that is not positive and finite; fewer than two classes, or more than 65,536.
    pub fn of_classes(
        features: usize,
        length: f64,
        classes: usize,
    ) -> Result<Self, ParameterError> {
        let bounds = Bounds::new(length, (0.0, 1.0), 1.0)?;
        if !(2..=1 << 16).contains(&classes) {
            return Err(ParameterError::new(
                "number of classes",
                classes as f64,
                "2 to 65536",
            ));
        }
        Ok(Self {
            classes: Some(classes),
            ..Self::new(features, bounds)
        })
    }

    /// The same with another weight of the target's part.
    #[must_use]
    pub fn weighted(mut self, weight: TargetWeight) -> Self {
        self.weight = weight;
        self
    }

    /// Number of target vectors: K, or 1 for a number.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.classes.unwrap_or(1)
    }

    /// p, the number of features.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Coordinates of the matrix: p(p+1)/2.
    fn products(&self) -> usize {
        self.features * (self.features + 1) / 2
    }

    /// Number of coordinates: p(p+1)/2 + K·p.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.products() + self.targets() * self.features
    }

    /// √(1 + κ²)·R².
    #[must_use]
    pub fn bound(&self) -> f64 {
        (1.0 + self.weight.squared()).sqrt() * self.bounds.features().powi(2)
    }

    /// κ².
    #[must_use]
    pub fn weight(&self) -> TargetWeight {
        self.weight
    }

    /// κ·R/Y, by which y·v is multiplied in the sums.
    #[must_use]
    pub fn target_scale(&self) -> f64 {
        let kappa = self.weight.squared().sqrt();
        kappa * self.bounds.features() / self.bounds.target_magnitude()
    }

    /// The public bounds.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// How far at most rounding moves a record's moments: features by √p·R/Q together, which moves
    /// vvᵀ by 2R times that and κ·(R/Y)·y·v by κ·R times that; and the target by Y/2S.
    #[must_use]
    pub fn rounding(&self) -> f64 {
        let (length, kappa) = (self.bounds.features(), self.weight.squared().sqrt());
        let features = (self.features as f64).sqrt() / f64::from(1 << FEATURE_BITS);
        let target = 0.5 / f64::from(1 << TARGET_BITS);
        length * length * ((2.0 + kappa) * features + kappa * target)
    }

    /// Whether these integers can be the exact sums M = Σqqᵀ, u = Σs·q of so many records: squares
    /// are not negative and ΣM_ii ≤ n·Q²; M_ij² ≤ M_ii·M_jj; Σ_k u_ki² ≤ n·S²·M_ii, where k counts
    /// targets. Each follows from the inequality of Cauchy and Schwarz. In arithmetic that cannot
    /// wrap: sums are below 2⁶², so squares are below 2¹²⁴.
    pub(crate) fn holds(&self, sums: &[i64], records: u64) -> bool {
        let (p, products) = (self.features, self.products());
        let within = |value: &i64| value.unsigned_abs() < 1 << 62;
        if sums.len() != self.dimension() || records > MOST_RECORDS || !sums.iter().all(within) {
            return false;
        }
        let square = |value: i64| u128::from(value.unsigned_abs()).pow(2);
        let (squares, rest) = sums.split_at(p);
        let (pairs, targets) = rest.split_at(products - p);
        let most = u128::from(records) << (2 * FEATURE_BITS);
        let positive = squares.iter().all(|&value| value >= 0);
        let size = |value: &i64| u128::from(value.unsigned_abs());
        if !positive || squares.iter().map(size).sum::<u128>() > most {
            return false;
        }
        let mut pairs = pairs.iter();
        for (i, a) in squares.iter().enumerate() {
            for b in &squares[i + 1..] {
                let Some(&pair) = pairs.next() else {
                    return false;
                };
                if square(pair) > size(a) * size(b) {
                    return false;
                }
            }
            let column = targets.iter().skip(i).step_by(p);
            let total = column.fold(0, |sum: u128, &u| sum.saturating_add(square(u)));
            if total > (u128::from(records) * size(a)) << (2 * TARGET_BITS) {
                return false;
            }
        }
        true
    }

    /// The real values of the integers of a record's sums: of squares, products and targets.
    pub(crate) fn units(&self) -> [f64; 3] {
        let area = self.bounds.features().powi(2);
        let kappa = self.weight.squared().sqrt();
        let square = area / f64::from(1 << (2 * FEATURE_BITS));
        let target = kappa * area / f64::from(1 << (FEATURE_BITS + TARGET_BITS));
        [square, std::f64::consts::SQRT_2 * square, target]
    }

    /// Visits squares, products and targets of sums with their kind: 0, 1, 2.
    pub(crate) fn kinds(&self) -> [(usize, std::ops::Range<usize>); 3] {
        let (p, products) = (self.features, self.products());
        [(0, 0..p), (1, p..products), (2, products..self.dimension())]
    }
}

/// The map of an item's exact sums to the lattice: three multipliers, c, √2·c and κ·c of the
/// source file's proof, with [`POINT`] bits behind the point.
pub(crate) struct Image([i64; 3]);

impl Image {
    /// For a radius up to 2⁴⁰, so that no product below reaches 2¹¹⁸.
    pub(crate) fn new(weight: TargetWeight, radius: i64) -> Self {
        let kappa = u128::from(weight.0);
        let square = u128::from(radius.unsigned_abs()).pow(2) << (2 * POINT);
        // ⌊√(share·radius²/(1 + κ²))⌋, all in sixteenths.
        let root = |share: u128| (share * square / (16 + kappa)).isqrt() as i64;
        Self([root(16), root(32), root(kappa)])
    }

    /// The lattice integers of exact sums, in their place.
    pub(crate) fn apply(&self, moments: &Moments, sums: &mut [i64]) {
        const SHIFTS: [u32; 3] = [
            2 * FEATURE_BITS + POINT,
            2 * FEATURE_BITS + POINT,
            FEATURE_BITS + TARGET_BITS + POINT,
        ];
        for (kind, range) in moments.kinds() {
            let (multiplier, shift) = (i128::from(self.0[kind]), SHIFTS[kind]);
            for sum in &mut sums[range] {
                let product = i128::from(*sum) * multiplier;
                // Toward zero: a shift alone rounds down. At most batch·radius, below 2⁶¹.
                let up = (product >> 127) & ((1 << shift) - 1);
                *sum = ((product + up) >> shift) as i64;
            }
        }
    }
}

#[cfg(test)]
mod tests;
