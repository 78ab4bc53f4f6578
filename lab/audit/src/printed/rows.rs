//! The rows: which constant is printed where, and with which parameters it is attacked.

use super::offline::Chosen;
use super::{DELTA, EPSILON, Mechanism, Printed, batches, offline};
use crate::Claim;
use crate::duel::World;
use hushstream_account::Adjacency;
use hushstream_mechanism::sums::Noise;

impl Printed {
    /// All of them.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut rows = Vec::new();
        for (rounds, natural) in [(2_u64, false), (4, false), (4, true), (16, true)] {
            rows.push(Self::jkt_tree(rounds, natural));
        }
        rows.push(Self::jkt_moments());
        for (alpha, radius) in [(0.1, 2.0), (0.01, 20.0)] {
            rows.push(Self::jkt_offline(10_000, alpha, radius));
        }
        rows.push(Self::jkt_radius());
        rows.push(Self::st_tree("S1", "ST13 Algorithm 2", "one dimension"));
        rows.push(Self::st_tree(
            "S8",
            "ST13 Algorithm 3",
            "one dimension, values in [-B, B], bound pB/beta",
        ));
        for natural in [false, true] {
            rows.push(Self::as_tree(2, natural));
        }
        rows.push(Self::as_feedback("A4", "AS17 Theorem 4.1"));
        rows.push(Self::as_feedback("A6", "AS17 Theorem 4.5"));
        rows.push(Self::as_perturbed());
        rows.push(Self::window(2, 0.1));
        rows.extend(Self::overlapping());
        rows
    }

    /// σ² = (R²/ε²)·log²T·ln(log T/δ), n = T: J1.
    fn jkt_tree(rounds: u64, natural: bool) -> Self {
        let log = logarithm(rounds, natural);
        Self {
            erratum: "J1",
            place: "JKT12 Algorithm 5",
            setting: format!("T = {rounds}, {}", base(natural)),
            claim: Claim::Approximate {
                epsilon: EPSILON,
                delta: DELTA,
            },
            mechanism: Mechanism::Tree {
                noise: Noise::Gaussian,
                releases: rounds,
                reach: 2.0,
                scale: log / EPSILON * libm::log(log / DELTA).sqrt(),
            },
        }
    }

    /// Bound R for y·v, half the budget, R = 10, T = 2¹⁰: J2.
    fn jkt_moments() -> Self {
        let (radius, rounds) = (10.0, 1 << 10);
        let log = logarithm(rounds, false);
        let share = 0.5;
        let noise = log / (share * EPSILON) * libm::log(log / (share * DELTA)).sqrt();
        Self {
            erratum: "J2",
            place: "JKT12 Algorithm 4 line 8",
            setting: "R = 10, T = 2^10, log2".into(),
            claim: Claim::Approximate {
                epsilon: EPSILON,
                delta: DELTA,
            },
            mechanism: Mechanism::Tree {
                noise: Noise::Gaussian,
                releases: rounds - 1,
                reach: 2.0 * radius * radius,
                scale: radius * noise,
            },
        }
    }

    /// β without 1/α: J12.
    fn jkt_offline(rounds: u64, alpha: f64, radius: f64) -> Self {
        Self {
            erratum: "J12",
            place: "JKT12 (37), Algorithm 6",
            setting: format!("T = {rounds}, alpha = {alpha}, |x*| = {radius}"),
            claim: Claim::Approximate {
                epsilon: EPSILON,
                delta: DELTA,
            },
            mechanism: Mechanism::Tree {
                noise: Noise::Gaussian,
                releases: 1,
                reach: offline::reach(rounds, (alpha, radius)),
                scale: offline::noise(rounds, (alpha, radius), (EPSILON, DELTA)),
            },
        }
    }

    /// ‖x*‖ of 0.1 or 0.2, whichever does better on records that were held out: J13.
    fn jkt_radius() -> Self {
        let choose = |world| Chosen::by_validation(world, [0.1, 0.2], (EPSILON, DELTA));
        Self {
            erratum: "J13",
            place: "JKT12 section 5",
            setting: "T = 8, |x*| of 0.1 or 0.2 by cross-validation".into(),
            claim: Claim::Approximate {
                epsilon: EPSILON,
                delta: DELTA,
            },
            mechanism: Mechanism::Chosen([choose(World::Left), choose(World::Right)]),
        }
    }

    /// L2-Laplace of scale L(⌈log₂T⌉ + 1)/ε, L = pB/β for one-point gradients, of which two with
    /// the same direction are 2pB/β apart: S1, S8.
    fn st_tree(erratum: &'static str, place: &'static str, setting: &str) -> Self {
        let rounds = 4_u64;
        Self {
            erratum,
            place,
            setting: format!("T = {rounds}, {setting}"),
            claim: Claim::Pure { epsilon: EPSILON },
            mechanism: Mechanism::Tree {
                noise: Noise::L2Laplace,
                releases: rounds - 1,
                reach: 2.0,
                scale: (f64::from(rounds.next_power_of_two().ilog2()) + 1.0) / EPSILON,
            },
        }
    }

    /// Laplace of scale ‖Y‖₁·log T/ε: A1.
    fn as_tree(rounds: u64, natural: bool) -> Self {
        Self {
            erratum: "A1",
            place: "AS17 Lemma 3.3",
            setting: format!("T = {rounds}, {}, losses in [-1, 1]", base(natural)),
            claim: Claim::Pure { epsilon: EPSILON },
            mechanism: Mechanism::Tree {
                noise: Noise::Laplace,
                releases: rounds - 1,
                reach: 2.0,
                scale: logarithm(rounds, natural) / EPSILON,
            },
        }
    }

    /// Laplace of scale B/ε on one feedback in [−B, B]: A4. On a set with losses in [−1, 1] and the
    /// play 1, in one dimension, B = ‖Y‖₁ = 1 and the play's noise is that of Theorem 4.5: A6.
    fn as_feedback(erratum: &'static str, place: &'static str) -> Self {
        Self {
            erratum,
            place,
            setting: "one play, losses in [-1, 1]".into(),
            claim: Claim::Pure { epsilon: EPSILON },
            mechanism: Mechanism::Tree {
                noise: Noise::Laplace,
                releases: 1,
                reach: 2.0,
                scale: 1.0 / EPSILON,
            },
        }
    }

    /// Batches Σ from Bt to B(t+1), with parameters that cost ε = 1 when batches are disjoint: F5.
    fn overlapping() -> Option<Self> {
        let board = batches::board().ok()?;
        Some(Self {
            erratum: "F5",
            place: "AFKT22 section 3.1.1",
            setting: "B = 2, eta = 0.2, p = 1/8, K = 3, d = 8".into(),
            claim: Claim::Pure {
                epsilon: board.pure_epsilon(Adjacency::ReplaceOne),
            },
            mechanism: Mechanism::Overlapping(board),
        })
    }

    /// σ = max(‖Y‖√(T/(√N·log T)), (√N/ε)·log T·log(log T/δ)), N = 1, ‖Y‖ = 100, T = 2¹⁰: A3.
    fn as_perturbed() -> Self {
        let (length, rounds) = (100.0, 1 << 10);
        let log = logarithm(rounds, true);
        let regret = length * (rounds as f64 / log).sqrt();
        Self {
            erratum: "A3",
            place: "AS17 Theorem 3.5",
            setting: "N = 1, losses of length 100, T = 2^10, ln".into(),
            claim: Claim::Approximate {
                epsilon: EPSILON,
                delta: DELTA,
            },
            mechanism: Mechanism::Tree {
                noise: Noise::Gaussian,
                releases: rounds - 1,
                reach: 2.0 * length,
                scale: regret.max(log / EPSILON * libm::log(log / DELTA)),
            },
        }
    }

    /// L2-Laplace of scale (L + μD)(⌈log₂W⌉ + 1)/ε, in one dimension, where gradients span 2L − μD:
    /// W1.
    fn window(width: u64, curvature: f64) -> Self {
        let levels = f64::from(width.next_power_of_two().ilog2()) + 1.0;
        Self {
            erratum: "W1",
            place: "WDP20 Theorem 1",
            setting: format!("W = {width}, one dimension, mu*D = {curvature}*L"),
            claim: Claim::Pure { epsilon: EPSILON },
            mechanism: Mechanism::Tree {
                noise: Noise::L2Laplace,
                // The first W releases after an item are those that count.
                releases: width,
                reach: 2.0 - curvature,
                scale: (1.0 + curvature) * levels / EPSILON,
            },
        }
    }
}

fn logarithm(rounds: u64, natural: bool) -> f64 {
    let rounds = rounds as f64;
    if natural {
        libm::log(rounds)
    } else {
        libm::log2(rounds)
    }
}

fn base(natural: bool) -> &'static str {
    if natural { "ln" } else { "log2" }
}
