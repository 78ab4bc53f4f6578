//! How long the noise of a release is: on average, and with what probability longer.
//!
//! Write s for the standard deviation of one coordinate of the worst release, d for the dimension
//! and ℓ(β) = √(2 ln(1/β)). A release's noise is Z = Σ w_j·ξ_j over its nodes.
//!
//! **On average** E‖Z‖ ≤ s√d, by Jensen, whatever the noise.
//!
//! **Rarely longer.** P[‖Z‖ > q] ≤ β for
//!
//! | noise | q |
//! |---|---|
//! | Gaussian | s(√d + ℓ(β)) |
//! | L2-Laplace | s(1 + ℓ(β/2)/√(d + 1))(√d + ℓ(β/2)), or s√d(√(2x) + x/√(d + 1)) with x = ln(2d/β): the smaller |
//! | Laplace | s(√d + ℓ(β/3)/√2 + (1 + ℓ(β/3d)/√2)·ℓ(β/3)), or s√d(√(2x) + x/√2): the smaller |
//!
//! *Proof.* (G) A function of independent standard normals that changes by at most m times their
//! distance exceeds its mean by m·ℓ(β) with probability at most β (Gaussian concentration).
//! *Gaussian*: ‖Z‖ is such a function with m = s and a mean of at most s√d. *L2-Laplace* of scale c
//! is c‖a‖·b with standard normals a ∈ ℝ^(d+1), b ∈ ℝᵈ. Given all a_j, Z is normal with variance V
//! = Σ(w_j c_j)²‖a_j‖² in each coordinate. √V is the length of the vector of all w_j c_j a_j: its
//! mean is at most s, and m = max|w_j c_j| ≤ s/√(d + 1), as s² = (d + 1)Σ(w_j c_j)². Apply (G) to
//! √V, then, given V, to ‖Z‖, with β/2 each. *Laplace* of scale b is b‖a‖·g with standard normal a
//! ∈ ℝ², g ∈ ℝ. Given the a's, coordinate i is √V_i·g_i. √(ΣV_i) is a length with mean at most s√d
//! and m ≤ s/√2; each √V_i has mean at most s and the same m, all d together with β/3. Given the
//! V_i, ‖Z‖ has mean at most √(ΣV_i) and m = max √V_i. Or, for few dimensions: a coordinate X of
//! L2-Laplace noise has ln E e^(λX) = −((d + 1)/2)·ln(1 − λ²c²) ≤ ((d + 1)/2)·λ²c²/(1 − λc), one of
//! Laplace noise the same with 2 for d + 1. So Z_i is sub-gamma with variance s² and a scale of at
//! most s/√(d + 1), or s/√2, and ±Z_i exceeds s√(2x) plus x times the scale with probability at
//! most e^(−x) each. ∎
//!
//! Samplers round to integers of a scale of 2³⁰: at most one unit a node and coordinate, 2⁻³⁰√n of
//! s√d for n releases and weights of any size (Cauchy and Schwarz), which is added. Their total
//! variation is far below any β in use.

use hushstream_mechanism::sums::{Noise, SumPlan};

/// β of the bounds that hold with high probability: in at most one of a hundred runs is any
/// release's noise longer than assumed.
pub const NOISE_BETA: f64 = 0.01;

/// A bound on the mean length of every release's noise.
pub(crate) fn mean_length(plan: &SumPlan) -> f64 {
    plan.prefix_sd_max() * f64::from(plan.request().dimension).sqrt()
}

/// A length that no release's noise exceeds, all releases together, but with probability `beta`.
pub(crate) fn rare_length(plan: &SumPlan, beta: f64) -> f64 {
    let request = plan.request();
    let each = beta / request.releases as f64;
    let d = f64::from(request.dimension);
    // A cover uses fewer than 2⁸ nodes, a filter n.
    let nodes = (request.releases as f64).max(256.0);
    let rounding = nodes.sqrt() / (1_u64 << 30) as f64 * d.sqrt();
    plan.prefix_sd_max() * (quantile(request.noise, d, each) + rounding)
}

/// q of the table, for s = 1.
fn quantile(noise: Noise, d: f64, beta: f64) -> f64 {
    let tail = |beta: f64| (-2.0 * beta.ln()).max(0.0).sqrt();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let few = |scale: f64| {
        let x = (2.0 * d / beta).ln().max(0.0);
        d.sqrt() * ((2.0 * x).sqrt() + x * scale)
    };
    match noise {
        Noise::Gaussian => d.sqrt() + tail(beta),
        Noise::L2Laplace => {
            let (each, scale) = (tail(beta / 2.0), (d + 1.0).sqrt().recip());
            few(scale).min((1.0 + each * scale) * (d.sqrt() + each))
        }
        Noise::Laplace => {
            let each = tail(beta / 3.0);
            let widest = 1.0 + half * tail(beta / (3.0 * d));
            few(half).min(d.sqrt() + half * each + widest * each)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_noise::{DiscreteLaplace, Instance, Key, L2Laplace, RoundedGaussian, Source};

    /// Lengths of sums of `nodes` draws, in units of their standard deviation s.
    fn lengths(noise: Noise, d: u32, nodes: u64, draws: u64) -> Vec<f64> {
        const SCALE: u64 = 1 << 30;
        let key = Key::insecure_from_seed(7);
        let source = Source::open(&key, Instance::from_bytes([1; 16]), 0);
        let s = (noise.variance(d) * nodes as f64).sqrt() * SCALE as f64;
        let mut node = vec![0_i64; d as usize];
        (0..draws)
            .map(|draw| {
                let mut total = vec![0.0; d as usize];
                for j in 0..nodes {
                    let address = draw * nodes + j;
                    match noise {
                        Noise::Gaussian => {
                            RoundedGaussian::STANDARD.fill(&source, address, 0, &mut node);
                        }
                        Noise::Laplace => {
                            let law = DiscreteLaplace::new(SCALE).unwrap();
                            law.fill(&source, address, 0, &mut node);
                        }
                        Noise::L2Laplace => {
                            let law = L2Laplace::new(d, SCALE).unwrap();
                            law.fill(&source, address, 0, &mut node);
                        }
                    }
                    for (total, &z) in total.iter_mut().zip(&node) {
                        *total += z as f64 / s;
                    }
                }
                total.iter().map(|z: &f64| z * z).sum::<f64>().sqrt()
            })
            .collect()
    }

    /// Fixed seed. The bound is exceeded in fewer than β of the draws, and it is not idle: the mean
    /// length alone is exceeded often.
    #[test]
    fn lengths_stay_below_their_quantiles() {
        for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
            for (d, nodes) in [(1, 1), (2, 5), (20, 3)] {
                let lengths = lengths(noise, d, nodes, 4000);
                let share = |bound: f64| {
                    lengths.iter().filter(|length| **length > bound).count() as f64 / 4000.0
                };
                for beta in [0.2, 0.05, 0.01] {
                    let bound = quantile(noise, d.into(), beta);
                    let over = share(bound);
                    assert!(over <= beta, "{noise} d={d}: {over} > {beta}");
                }
                // Not many times too long either, where β is small enough to be of use.
                let bound = quantile(noise, d.into(), 0.01);
                assert!(share(bound / 4.0) > 0.01, "{noise} d={d}: {bound} is idle");
                assert!(share(f64::from(d).sqrt()) > 0.2);
            }
        }
    }

    #[test]
    fn quantiles_by_hand() {
        let close =
            |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}");
        // e^(−2): ℓ = 2.
        let beta = (-2.0_f64).exp();
        close(quantile(Noise::Gaussian, 9.0, beta), 5.0);
        close(
            quantile(Noise::L2Laplace, 99.0, 2.0 * beta),
            1.2 * (99.0_f64.sqrt() + 2.0),
        );
        // One coordinate, x = ln(2/β) = 2; and many: d = 900, ℓ(β/3) = 2, ℓ(β/2700)² = 4 + 2 ln
        // 900.
        close(
            quantile(Noise::Laplace, 1.0, 2.0 * beta),
            2.0 + 2.0_f64.sqrt(),
        );
        let widest = 1.0 + (2.0 + 900.0_f64.ln()).sqrt();
        close(
            quantile(Noise::Laplace, 900.0, 3.0 * beta),
            30.0 + 2.0_f64.sqrt() + 2.0 * widest,
        );
    }
}
