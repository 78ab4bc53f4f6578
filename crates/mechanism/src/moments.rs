//! Second moments of a record, for least squares: (vvᵀ, κ·y·v) from features clipped to R and a
//! target clipped to Y, κ = R/Y.
//!
//! Coordinates: V_ii for every i, then √2·V_ij for i < j row by row, then κ·y·v_i: the isometric
//! form, in which independent noise on every coordinate is symmetric noise on the matrix. Its
//! length is √(‖v‖⁴ + κ²y²‖v‖²) ≤ √2·R². Products are formed here, from clipped data: a clip of the
//! product is no substitute (erratum J2 is a bound of R where R² is needed), and the distance of
//! two such points, 1.5 radii instead of 2, holds only because of where they come from.
//!
//! **Several classes** share one matrix: the target is the unit vector y ∈ ℝᴷ of the record's
//! class, and κ·y_k·v follows class by class. Length and distance depend on y only through ‖y‖ ≤ Y
//! = 1 and |⟨y, y'⟩| ≤ Y², as for a number, so K classes cost no more sensitivity than one; K
//! separate problems would cost √K.

use crate::lattice::Contribution;
use crate::losses::{Bounds, Features, Record, class};
use hushstream_account::ParameterError;

/// The map from records to second moments.
///
/// ```
/// use hushstream_mechanism::Moments;
/// use hushstream_mechanism::losses::Bounds;
///
/// let moments = Moments::new(3, Bounds::new(1.0, (-1.0, 1.0), 1.0)?);
/// assert_eq!(moments.dimension(), 9); // 3·4/2 products and 3 of features with target
/// assert!((moments.bound() - 2_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    features: usize,
    bounds: Bounds,
    /// K, if the target is a class.
    classes: Option<usize>,
}

impl Moments {
    /// Moments of records with this number of features; the bound on weights is not used.
    #[must_use]
    pub fn new(features: usize, bounds: Bounds) -> Self {
        Self {
            features,
            bounds,
            classes: None,
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
            features,
            bounds,
            classes: Some(classes),
        })
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

    /// Number of coordinates: p(p+1)/2 + K·p.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.features * (self.features + 1) / 2 + self.targets() * self.features
    }

    /// √2·R².
    #[must_use]
    pub fn bound(&self) -> f64 {
        std::f64::consts::SQRT_2 * self.bounds.features().powi(2)
    }

    /// κ = R/Y.
    #[must_use]
    pub fn weight(&self) -> f64 {
        self.bounds.features() / self.bounds.target_magnitude()
    }

    /// The public bounds.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// How far inside the bound clipped features are kept.
    ///
    /// *Claim*: their true length is at most R. With u = 2⁻⁵³, a sum of p squares is at least
    /// (1−u)^p of the true one, its root at least (1−u)^(p/2+1) of the true length; the quotient
    /// R/norm and two products add at most (1+u)³. So the length is at most R·(1 + (p/2 + 5)u)·(1 −
    /// margin), up to squares of pu, and a margin of (p + 16)u suffices for p < 2⁴⁰. A fixed margin
    /// of 10⁻¹⁴ suffices for p ≤ 170 only: with p = 200 a large value can swallow all the others,
    /// and the length is beyond R. (Even without it the distance held up to p = 6000, where
    /// `SumPlan::distance` has 10⁻¹² to spare.)
    fn margin(&self) -> f64 {
        let units = self.features as f64 + 16.0;
        (units * 0.5 * f64::EPSILON).max(1e-14)
    }

    /// The moments of a record, or null if it is malformed.
    pub(crate) fn of(&self, record: &Record) -> Contribution {
        let mut v = vec![0.0; self.features];
        match &record.features {
            Features::Dense(values) if values.len() == self.features => v.copy_from_slice(values),
            Features::Sparse(entries) => {
                let increasing = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if !increasing
                    || entries
                        .last()
                        .is_some_and(|last| last.0 as usize >= self.features)
                {
                    return Contribution::Null;
                }
                entries.iter().for_each(|&(i, value)| v[i as usize] = value);
            }
            Features::Dense(_) => return Contribution::Null,
        }
        let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        if !norm.is_finite() || !record.target.is_finite() {
            return Contribution::Null;
        }
        // Slightly inside the bound, so that rounding cannot leave it: the distance of two points
        // is proved for points inside.
        let shrink = self.bounds.shrink(norm) * (1.0 - self.margin());
        v.iter_mut().for_each(|v| *v *= shrink);
        let (block, y) = match self.classes {
            None => (0, self.bounds.clip_target(record.target)),
            Some(classes) => match class(record.target, classes) {
                Some(class) => (class, 1.0),
                None => return Contribution::Null,
            },
        };
        let mut out = Vec::with_capacity(self.dimension());
        out.extend(v.iter().map(|v| v * v));
        for (i, a) in v.iter().enumerate() {
            out.extend(v[i + 1..].iter().map(|b| std::f64::consts::SQRT_2 * a * b));
        }
        let weight = self.weight();
        let before = out.len() + block * self.features;
        out.resize(before, 0.0);
        out.extend(v.iter().map(|v| weight * y * v));
        out.resize(self.dimension(), 0.0);
        Contribution::Dense(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments() -> Moments {
        Moments::new(3, Bounds::new(2.0, (-5.0, 5.0), 1.0).unwrap())
    }

    fn of(values: [f64; 3], target: f64) -> Vec<f64> {
        let record = Record {
            features: Features::Dense(values.to_vec()),
            target,
        };
        let Contribution::Dense(out) = moments().of(&record) else {
            panic!()
        };
        out
    }

    fn length(values: &[f64]) -> f64 {
        values.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    #[test]
    fn layout_and_length() {
        let out = of([1.0, -0.5, 0.25], 2.0);
        let root = std::f64::consts::SQRT_2;
        let expected = [
            1.0,
            0.25,
            0.0625,
            -0.5 * root,
            0.25 * root,
            -0.125 * root,
            0.8,
            -0.4,
            0.2,
        ];
        assert!(
            out.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12),
            "{out:?}"
        );
        assert!(length(&of([9.0, 3.0, -4.0], 100.0)) <= moments().bound());
        assert!((length(&of([2.0, 0.0, 0.0], 5.0)) / moments().bound() - 1.0).abs() < 1e-12);
    }

    /// One value swallows the squares of all others, each just below half a unit in the last place:
    /// the norm is taken to be 1, and the true length is what the margin has to cover.
    #[test]
    fn clipped_features_are_inside_the_bound_whatever_their_number() {
        for p in [20, 200, 400, 2000] {
            let moments = Moments::new(p, Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap());
            let mut values = vec![(0.499_f64 * f64::EPSILON).sqrt(); p];
            values[0] = 1.0;
            let features = Features::Dense(values);
            // The trace of vvᵀ, which is ‖v‖², less 1, without rounding away what matters.
            let Contribution::Dense(out) = moments.of(&Record {
                features,
                target: 0.0,
            }) else {
                panic!()
            };
            let beyond = (out[0] - 1.0) + out[1..p].iter().sum::<f64>();
            assert!(beyond <= 0.0, "p = {p}: {beyond:e}");
        }
    }

    /// The largest distance of two points is 1.5 times the bound: random search, hill climbing, and
    /// the pair that attains it.
    #[test]
    fn two_points_are_at_most_one_and_a_half_radii_apart() {
        let apart = |a: &([f64; 3], f64), b: &([f64; 3], f64)| {
            let (a, b) = (of(a.0, a.1), of(b.0, b.1));
            length(&a.iter().zip(&b).map(|(a, b)| a - b).collect::<Vec<_>>()) / moments().bound()
        };
        let mut seed = 1_u64;
        let mut random = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
        };
        let mut best = 0.0_f64;
        for _ in 0..200 {
            let mut pair = [0; 2].map(|_| {
                (
                    [random() * 3.0, random() * 3.0, random() * 3.0],
                    random() * 6.0,
                )
            });
            let mut value = apart(&pair[0], &pair[1]);
            for _ in 0..300 {
                let mut next = pair;
                for (vector, target) in &mut next {
                    vector.iter_mut().for_each(|v| *v += 0.3 * random());
                    *target += random();
                }
                let moved = apart(&next[0], &next[1]);
                if moved > value {
                    (pair, value) = (next, moved);
                }
            }
            best = best.max(value);
        }
        assert!((1.48..=1.5).contains(&best), "{best}");
    }

    /// A record that is too long counts as the one at the bound in its direction: shrunk once, and
    /// a second time not at all.
    #[test]
    fn clipping_happens_once() {
        let (long, target) = ([9.0, 3.0, -4.0], 100.0);
        let norm = length(&long);
        let clipped = long.map(|value| 2.0 * value / norm);
        let (once, twice) = (of(long, target), of(clipped, 5.0));
        for (once, twice) in once.iter().zip(&twice) {
            assert!((once - twice).abs() < 1e-12, "{once} {twice}");
        }
        assert!((length(&once) / moments().bound() - 1.0).abs() < 1e-12);
    }

    /// Classes share the matrix; one class's block is filled, and the distance of two points stays
    /// 1.5 bounds.
    #[test]
    fn classes_cost_no_more_than_a_number() {
        let moments = Moments::of_classes(2, 1.0, 3).unwrap();
        let of = |features: [f64; 2], target| {
            let features = Features::Dense(features.to_vec());
            match moments.of(&Record { features, target }) {
                Contribution::Dense(out) => out,
                _ => panic!(),
            }
        };
        let out = of([0.6, 0.8], 1.0);
        assert_eq!(out.len(), 9);
        assert!(out[3..5].iter().chain(&out[7..]).all(|v| v.abs() < 1e-300));
        assert!((out[5] - 0.6).abs() < 1e-12 && (out[6] - 0.8).abs() < 1e-12);
        let mut farthest = 0.0_f64;
        for step in 0..=200 {
            let angle = f64::from(step) / 200.0 * std::f64::consts::PI;
            for class in [0.0, 1.0] {
                let a = of([1.0, 0.0], 0.0);
                let b = of([angle.cos(), angle.sin()], class);
                let apart: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
                farthest = farthest.max(length(&apart));
            }
        }
        assert!(farthest <= 1.5 * moments.bound() + 1e-12, "{farthest}");
        for bad in [-1.0, 3.0, 0.5, f64::NAN] {
            let features = Features::Dense(vec![0.1, 0.1]);
            let record = Record {
                features,
                target: bad,
            };
            assert!(matches!(moments.of(&record), Contribution::Null));
        }
        assert!(Moments::of_classes(2, 1.0, 1).is_err());
    }

    #[test]
    fn malformed_records_are_null() {
        let null = |features, target| {
            matches!(
                moments().of(&Record { features, target }),
                Contribution::Null
            )
        };
        assert!(null(Features::Dense(vec![1.0; 2]), 1.0));
        assert!(null(Features::Dense(vec![f64::NAN; 3]), 1.0));
        assert!(null(Features::Dense(vec![1e200; 3]), 1.0));
        assert!(null(Features::Dense(vec![1.0; 3]), f64::NAN));
        assert!(null(Features::Sparse(vec![(3, 1.0)]), 1.0));
        assert!(!null(Features::Sparse(vec![(0, 1.0), (2, 1.0)]), 1.0));
    }
}
