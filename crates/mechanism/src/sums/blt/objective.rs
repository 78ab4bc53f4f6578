//! What the optimiser minimises, ln(sens·err) as a function of the poles α and zeros α̂ of C, with
//! its exact gradient.
//!
//! Both factors are one expression. A rational function with poles p_i and zeros z_j has residues
//! ±r_i with ln r_i = Σ_j ln|p_i−z_j| − Σ_{j≠i} ln|p_i−p_j|, and the energy of its first t
//! coefficients is
//!
//! E(p, z, t) = Σ_{ij} r_ir_j·G(p_i + p_j − p_ip_j, t).
//!
//! sens² = 1 + E(α, α̂, n−1), because ω_i is the residue of C at α_i; err² = E({0} ∪ α̂, α, n),
//! because dividing C⁻¹ by 1 − z adds the pole 0, and its residues are β and γ_j. With interlacing
//! α_1 < α̂_1 < α_2 < … all residues have the sign that makes the sum positive. Derivatives: ∂ln
//! r_i/∂z_j = −1/(p_i−z_j), ∂ln r_i/∂p_j = 1/(p_i−p_j), ∂ln r_i/∂p_i = the rest, with opposite
//! signs; and ∂(p_i+p_j−p_ip_j)/∂p_i = 1 − p_j.

use super::geometric::{geometric, geometric_slope, joint};

/// ln(sens·err) and its derivatives.
pub(super) struct Objective {
    pub(super) value: f64,
    /// By every α_i.
    pub(super) by_pole: Vec<f64>,
    /// By every α̂_j.
    pub(super) by_zero: Vec<f64>,
}

impl Objective {
    /// At poles `pole` and zeros `zero`, interlacing in (0, 1), for `releases` ≥ 2.
    pub(super) fn at(pole: &[f64], zero: &[f64], releases: u64) -> Self {
        let strategy = Energy::of(pole, zero, releases - 1);
        let with_one: Vec<f64> = std::iter::once(0.0).chain(zero.iter().copied()).collect();
        let prefix = Energy::of(&with_one, pole, releases);
        let square = 1.0 + strategy.value;
        let blend = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter()
                .zip(b)
                .map(|(a, b)| 0.5 * (a / square + b / prefix.value))
                .collect()
        };
        Self {
            value: 0.5 * (libm::log(square) + libm::log(prefix.value)),
            by_pole: blend(&strategy.by_pole, &prefix.by_zero),
            by_zero: blend(&strategy.by_zero, &prefix.by_pole[1..]),
        }
    }
}

/// |residue| at every pole.
pub(super) fn residues(pole: &[f64], zero: &[f64]) -> Vec<f64> {
    let residue = |(i, p): (usize, &f64)| {
        // Alternate factors, so that no partial product leaves the range of floats.
        let mut product = 1.0;
        let mut others = pole
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != i)
            .map(|(_, q)| p - q);
        for z in zero {
            product *= p - z;
            if let Some(factor) = others.next() {
                product /= factor;
            }
        }
        others
            .fold(product, |product, factor| product / factor)
            .abs()
    };
    pole.iter().enumerate().map(residue).collect()
}

struct Energy {
    value: f64,
    by_pole: Vec<f64>,
    by_zero: Vec<f64>,
}

impl Energy {
    fn of(pole: &[f64], zero: &[f64], terms: u64) -> Self {
        let r = residues(pole, zero);
        let mut energy = Self {
            value: 0.0,
            by_pole: vec![0.0; pole.len()],
            by_zero: vec![0.0; zero.len()],
        };
        for (i, &p) in pole.iter().enumerate() {
            // ∂E/∂ln r_i, collected over j.
            let mut by_log = 0.0;
            for (j, &q) in pole.iter().enumerate() {
                let distance = joint(p, q);
                let sum = geometric(distance, terms);
                by_log += 2.0 * r[i] * r[j] * sum;
                energy.by_pole[i] +=
                    2.0 * r[i] * r[j] * (1.0 - q) * geometric_slope(distance, terms, sum);
            }
            energy.value += by_log / 2.0;
            for (j, &z) in zero.iter().enumerate() {
                energy.by_zero[j] -= by_log / (p - z);
                energy.by_pole[i] += by_log / (p - z);
            }
            for (j, &q) in pole.iter().enumerate() {
                if j != i {
                    energy.by_pole[i] -= by_log / (p - q);
                    energy.by_pole[j] += by_log / (p - q);
                }
            }
        }
        energy
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters::BltParameters;
    use super::*;

    const POLE: [f64; 3] = [1e-4, 5e-3, 0.11];
    const ZERO: [f64; 3] = [8e-4, 2e-2, 0.43];

    #[test]
    fn value_equals_the_closed_forms() {
        let blt = BltParameters::new(POLE.to_vec(), residues(&POLE, &ZERO)).unwrap();
        for n in [2, 3, 100, 1 << 16, 1 << 40] {
            let (got, known) = (
                Objective::at(&POLE, &ZERO, n).value,
                blt.worst_prefix_sd(n).ln(),
            );
            assert!((got - known).abs() < 1e-12, "{n}: {got} {known}");
        }
    }

    #[test]
    fn gradient_equals_difference_quotients() {
        for n in [2, 3, 100, 1 << 16, 1 << 40] {
            let exact = Objective::at(&POLE, &ZERO, n);
            for i in 0..3 {
                let quotient = |is_pole: bool| {
                    let (mut low, mut high) = ((POLE, ZERO), (POLE, ZERO));
                    let scale = if is_pole { POLE[i] } else { ZERO[i] } * 1e-6;
                    if is_pole {
                        (low.0[i], high.0[i]) = (POLE[i] - scale, POLE[i] + scale);
                    } else {
                        (low.1[i], high.1[i]) = (ZERO[i] - scale, ZERO[i] + scale);
                    }
                    let value = |at: &([f64; 3], [f64; 3])| Objective::at(&at.0, &at.1, n).value;
                    ((value(&high) - value(&low)) / 2e-6, scale / 1e-6)
                };
                for (is_pole, got) in [(true, exact.by_pole[i]), (false, exact.by_zero[i])] {
                    let (numeric, scale) = quotient(is_pole);
                    assert!(
                        (got * scale - numeric).abs() < 1e-8,
                        "n {n} {i} {is_pole}: {} {numeric}",
                        got * scale
                    );
                }
            }
        }
    }
}
