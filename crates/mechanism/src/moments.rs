//! Second moments of a record, for least squares: (vvᵀ, κ·y·v) from features clipped to R and a target clipped to Y, κ = R/Y.
//!
//! Coordinates: V_ii for every i, then √2·V_ij for i < j row by row, then κ·y·v_i: the isometric form, in which independent noise on every coordinate is
//! symmetric noise on the matrix. Its length is √(‖v‖⁴ + κ²y²‖v‖²) ≤ √2·R². Products are formed here, from clipped data: a clip of the
//! product is no substitute (erratum J2 is a bound of R where R² is needed), and the distance of two such points, 1.5 radii instead of 2, holds only because
//! of where they come from.

use crate::lattice::Contribution;
use crate::losses::{Bounds, Features, Record};

/// The map from records to second moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    features: usize,
    bounds: Bounds,
}

impl Moments {
    /// Moments of records with so many features; the bound on weights is not used.
    #[must_use]
    pub fn new(features: usize, bounds: Bounds) -> Self {
        Self { features, bounds }
    }

    /// p.
    #[must_use]
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of coordinates: p(p+1)/2 + p.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.features * (self.features + 1) / 2 + self.features
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
        // A little inside the bound, so that rounding cannot leave it: the distance of two points is proved for points inside.
        let shrink = self.bounds.shrink(norm) * (1.0 - 1e-14);
        v.iter_mut().for_each(|v| *v *= shrink);
        let y = self.bounds.clip_target(record.target);
        let mut out = Vec::with_capacity(self.dimension());
        out.extend(v.iter().map(|v| v * v));
        for (i, a) in v.iter().enumerate() {
            out.extend(v[i + 1..].iter().map(|b| std::f64::consts::SQRT_2 * a * b));
        }
        let weight = self.weight();
        out.extend(v.iter().map(|v| weight * y * v));
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

    /// The largest distance of two points is 1.5 times the bound: random search, hill climbing, and the pair that attains it.
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
