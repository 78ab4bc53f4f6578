//! The inverse of a BLT strategy, which is again a BLT, and the coefficients of prefix sums.
//!
//! With u = 1/z and s = 1 − u the generating function of C is 1 + Σ_i ω_i/(u−θ_i) = 1 − Σ_i
//! ω_i/(s−α_i). Its zeros s = α̂_j are the poles of the inverse: they solve the *secular equation*
//!
//! g(s) = Σ_i ω_i/(s − α_i) = 1.
//!
//! As every ω_i > 0, g falls from +∞ to −∞ between neighbouring α, and from +∞ to at most 1 on
//! (α_m, α_m + Σω]: exactly one root in each of these m intervals, α_1 < α̂_1 < α_2 < … < α_m <
//! α̂_m ≤ α_m + Σω ≤ 2. So C⁻¹ has coefficients 1, Σ_j ω̂_jθ̂_j^{k−1} with θ̂_j = 1 − α̂_j and the
//! residue
//!
//! ω̂_j = −1/Σ_i ω_i/(α̂_j−α_i)² < 0. (The same as Π_i(θ̂_j−θ_i)/Π_{i≠j}(θ̂_j−θ̂_i), but a sum of
//! positive terms.)
//!
//! Dividing by 1 − z gives B = A·C⁻¹: b_k = β + Σ_j γ_jθ̂_j^k, with β = 1/C(1) = 1/(1 + Σω_i/α_i)
//! and γ_j = −ω̂_j/α̂_j > 0. Hence
//!
//! Σ_{k<t} b_k² = Σ γ_iγ_j·G(1 − θ̂_iθ̂_j, t), where β counts as one more γ, with θ̂ = 1.
//!
//! **Precision.** A root is sought as its distance from the *nearer* pole, by bisection on the
//! floats themselves, so that distance, and with it ω̂, is right to a few ulps even where pole and
//! root almost cancel.

use super::geometric::{geometric, joint};
use super::parameters::BltParameters;

/// The parameters of C⁻¹, and what prefix sums need of them.
#[derive(Debug, Clone, PartialEq)]
pub struct BltInverse {
    decay: Vec<f64>,
    weight: Vec<f64>,
    /// (α̂, γ) of every term of b_k, the constant β with α̂ = 0 first.
    terms: Vec<(f64, f64)>,
}

impl BltInverse {
    pub(super) fn of(blt: &BltParameters) -> Self {
        let poles = blt.decay();
        let total: f64 = blt.weight().iter().sum();
        let (mut decay, mut weight) = (
            Vec::with_capacity(poles.len()),
            Vec::with_capacity(poles.len()),
        );
        for (i, &pole) in poles.iter().enumerate() {
            let next = poles.get(i + 1);
            let secular = |origin: f64, offset: f64| -> f64 {
                blt.pairs().map(|(a, w)| w / ((origin - a) + offset)).sum()
            };
            // The half of the interval that holds the root says which pole is nearer.
            let half = next.map_or(total, |next| (next - pole) / 2.0);
            let (origin, offset) = match next {
                Some(&next) if secular(pole, half) > 1.0 => (
                    next,
                    -least(half, |distance| secular(next, -distance) <= 1.0, false),
                ),
                _ => (
                    pole,
                    least(half, |distance| secular(pole, distance) <= 1.0, true),
                ),
            };
            decay.push(origin + offset);
            let slope: f64 = blt
                .pairs()
                .map(|(a, w)| w / ((origin - a) + offset).powi(2))
                .sum();
            weight.push(-1.0 / slope);
        }
        let limit = 1.0 / (1.0 + blt.pairs().map(|(a, w)| w / a).sum::<f64>());
        let rest = decay.iter().zip(&weight).map(|(&a, &w)| (a, -w / a));
        let terms = std::iter::once((0.0, limit)).chain(rest).collect();
        Self {
            decay,
            weight,
            terms,
        }
    }

    /// 1 − θ̂_j, ascending; they interlace with the strategy's.
    #[must_use]
    pub fn decay(&self) -> &[f64] {
        &self.decay
    }

    /// ω̂_j < 0.
    #[must_use]
    pub fn weight(&self) -> &[f64] {
        &self.weight
    }

    /// β, what b_k tends to.
    pub(super) fn limit(&self) -> f64 {
        self.terms[0].1
    }

    /// (α̂_j, γ_j), in order.
    pub(super) fn terms(&self) -> impl Iterator<Item = (f64, f64)> {
        self.terms[1..].iter().copied()
    }

    /// b_k, the k-th coefficient of B = A·C⁻¹.
    #[must_use]
    pub fn prefix_coefficient(&self, k: u64) -> f64 {
        // b_k = b_0 + … telescopes badly; G(α̂, k+1) − G(α̂, k) = θ̂^k would cancel. Powers by sign
        // and logarithm instead.
        let power = |a: f64| {
            let size = if k == 0 {
                1.0
            } else {
                libm::exp(k as f64 * libm::log((1.0 - a).abs()))
            };
            if a > 1.0 && k % 2 == 1 { -size } else { size }
        };
        self.terms
            .iter()
            .map(|&(a, g)| {
                g * if a < 0.5 {
                    libm::exp(k as f64 * libm::log1p(-a))
                } else {
                    power(a)
                }
            })
            .sum()
    }

    /// sqrt(Σ_{k<t} b_k²): the standard deviation of the `t`-th prefix sum per unit of noise in the
    /// rows.
    #[must_use]
    pub fn prefix_sd(&self, t: u64) -> f64 {
        let mut square = 0.0;
        for &(a, g) in &self.terms {
            for &(b, h) in &self.terms {
                square += g * h * geometric(joint(a, b), t);
            }
        }
        square.sqrt()
    }

    /// The variance of the `t`-th prefix sum less the one `items` ≤ t before it, per unit of noise
    /// in the rows. The last `items` rows count with b_k as in any prefix sum; the others with
    /// b_{k+items} − b_k = Σ_j γ_j(θ̂_j^items − 1)·θ̂_j^k, k = 0, …, t − items − 1.
    #[must_use]
    pub fn difference_variance(&self, t: u64, items: u64) -> f64 {
        let lost = |(a, g): (f64, f64)| (a, g * a * geometric(a, items));
        let lost: Vec<_> = self.terms.iter().copied().map(lost).collect();
        let mut square = self.prefix_sd(items).powi(2);
        for &(a, g) in &lost {
            for &(b, h) in &lost {
                square += g * h * geometric(joint(a, b), t - items);
            }
        }
        square
    }

    /// The variance of Σ_t weights[t−1] · (prefix sum t) per unit of noise in the rows: the noise
    /// of row j is in prefix sum t with weight b_{t−j}, and the powers in b add up from the end.
    #[must_use]
    pub fn combined_variance(&self, weights: &[f64]) -> f64 {
        let mut following = vec![0.0; self.terms.len()];
        let squares = weights.iter().rev().map(|weight| {
            let mut row = 0.0;
            for (sum, &(a, g)) in following.iter_mut().zip(&self.terms) {
                *sum = weight + (1.0 - a) * *sum;
                row += g * *sum;
            }
            row * row
        });
        squares.sum()
    }
}

/// The smallest positive float up to `limit` where `holds` equals `wanted`, for a condition that
/// changes once on the way. Positive floats are ordered like their bits, so this is an integer
/// bisection: at most 64 steps, and no tolerance.
fn least(limit: f64, holds: impl Fn(f64) -> bool, wanted: bool) -> f64 {
    let (mut low, mut high) = (0_u64, limit.to_bits());
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(f64::from_bits(middle)) == wanted {
            high = middle;
        } else {
            low = middle;
        }
    }
    f64::from_bits(high)
}

#[cfg(test)]
mod tests {
    use super::super::parameters::tests::vector;
    use super::*;

    /// A·C⁻¹ by long division of power series, the definition.
    fn by_division(blt: &BltParameters, n: usize) -> (Vec<f64>, Vec<f64>) {
        let c: Vec<f64> = (0..n).map(|k| blt.coefficient(k as u64)).collect();
        let mut inverse = vec![1.0];
        for k in 1..n {
            inverse.push(-(1..=k).map(|i| c[i] * inverse[k - i]).sum::<f64>());
        }
        let prefix = inverse.iter().scan(0.0, |sum, x| {
            *sum += x;
            Some(*sum)
        });
        (prefix.collect(), inverse)
    }

    #[test]
    fn coefficients_match_long_division() {
        let small = BltParameters::new(vec![0.25], vec![0.5]).unwrap();
        let negative_root = BltParameters::new(vec![0.01, 0.9], vec![0.1, 0.8]).unwrap();
        let edge = BltParameters::new(vec![1.0], vec![1.0]).unwrap();
        for blt in [vector(), small, negative_root, edge] {
            let (prefix, inverse) = by_division(&blt, 300);
            let closed = blt.inverse();
            for (k, b) in prefix.iter().enumerate() {
                let got = closed.prefix_coefficient(k as u64);
                assert!((got - b).abs() < 1e-12, "b_{k}: {got} {b}");
            }
            let first: f64 = closed.weight().iter().sum();
            assert!((first - inverse[1]).abs() < 1e-14);
        }
    }

    #[test]
    fn residues_match_the_product_formula() {
        let blt = vector();
        let inverse = blt.inverse();
        for (j, &root) in inverse.decay().iter().enumerate() {
            let above: f64 = blt.decay().iter().map(|a| a - root).product();
            let below: f64 = inverse
                .decay()
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != j)
                .map(|(_, r)| r - root)
                .product();
            assert!((above / below / inverse.weight()[j] - 1.0).abs() < 1e-12);
        }
        let limit: f64 =
            blt.decay().iter().product::<f64>() / inverse.decay().iter().product::<f64>();
        assert!((inverse.terms[0].1 / limit - 1.0).abs() < 1e-12);
    }

    #[test]
    fn roots_interlace_even_when_a_buffer_hardly_counts() {
        let blt = BltParameters::new(vec![1e-13, 1e-6, 1e-3, 0.5], vec![1e-7, 1e-12, 1e-3, 1e-15])
            .unwrap();
        let (p, r) = (blt.decay(), blt.inverse());
        for j in 0..4 {
            assert!(r.decay()[j] >= p[j] && p.get(j + 1).is_none_or(|next| r.decay()[j] <= *next));
            assert!(r.weight()[j] < 0.0);
        }
        let (prefix, _) = by_division(&blt, 50);
        for (k, b) in prefix.iter().enumerate() {
            assert!((r.prefix_coefficient(k as u64) - b).abs() < 1e-14);
        }
    }
}
