//! The rows: which constant is printed where, and with which parameters it is attacked.

use super::offline::Chosen;
use super::{DELTA, EPSILON, Mechanism, Printed, Tree, batches, offline};
use crate::Claim;
use crate::duel::World;
use hushstream_account::Adjacency;
use hushstream_mechanism::Participation;
use hushstream_mechanism::select::Exposure;
use hushstream_mechanism::sums::Noise;

const PURE: Claim = Claim::Pure { epsilon: EPSILON };
const APPROXIMATE: Claim = Claim::Approximate {
    epsilon: EPSILON,
    delta: DELTA,
};

impl Printed {
    /// All of them.
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

    /// A binary tree with printed noise: (n, distance of two records, printed deviation or scale).
    fn tree(
        (erratum, place): (&'static str, &'static str),
        setting: impl Into<String>,
        noise: Noise,
        (releases, reach, scale): (u64, f64, f64),
    ) -> Self {
        Self {
            erratum,
            place,
            setting: setting.into(),
            claim: if noise.is_pure() { PURE } else { APPROXIMATE },
            mechanism: Mechanism::Tree(Tree {
                noise,
                releases,
                reach,
                scale,
            }),
        }
    }

    /// σ² = (R²/ε²)·log²T·ln(log T/δ), n = T: J1.
    fn jkt_tree(rounds: u64, natural: bool) -> Self {
        let log = logarithm(rounds, natural);
        let sigma = log / EPSILON * libm::log(log / DELTA).sqrt();
        let setting = format!("T = {rounds}, {}", base(natural));
        let place = ("J1", "JKT12 Algorithm 5");
        Self::tree(place, setting, Noise::Gaussian, (rounds, 2.0, sigma))
    }

    /// Bound R for y·v, half the budget, R = 10, T = 2¹⁰: J2.
    fn jkt_moments() -> Self {
        let (radius, rounds) = (10.0, 1 << 10);
        let log = logarithm(rounds, false);
        let share = 0.5;
        let noise = log / (share * EPSILON) * libm::log(log / (share * DELTA)).sqrt();
        Self::tree(
            ("J2", "JKT12 Algorithm 4 line 8"),
            "R = 10, T = 2^10, log2",
            Noise::Gaussian,
            (rounds - 1, 2.0 * radius * radius, radius * noise),
        )
    }

    /// β without 1/α: J12.
    fn jkt_offline(rounds: u64, alpha: f64, radius: f64) -> Self {
        let reach = offline::reach(rounds, (alpha, radius));
        let noise = offline::noise(rounds, (alpha, radius), (EPSILON, DELTA));
        Self::tree(
            ("J12", "JKT12 (37), Algorithm 6"),
            format!("T = {rounds}, alpha = {alpha}, |x*| = {radius}"),
            Noise::Gaussian,
            (1, reach, noise),
        )
    }

    /// ‖x*‖ of 0.1 or 0.2, whichever does better on records that were held out: J13.
    fn jkt_radius() -> Self {
        let choose = |world| Chosen::by_validation(world, [0.1, 0.2], (EPSILON, DELTA));
        Self {
            erratum: "J13",
            place: "JKT12 section 5",
            setting: "T = 8, |x*| of 0.1 or 0.2 by cross-validation".into(),
            claim: APPROXIMATE,
            mechanism: Mechanism::Chosen([choose(World::Left), choose(World::Right)]),
        }
    }

    /// L2-Laplace of scale L(⌈log₂T⌉ + 1)/ε, L = pB/β for one-point gradients, of which two with
    /// the same direction are 2pB/β apart: S1, S8.
    fn st_tree(erratum: &'static str, place: &'static str, setting: &str) -> Self {
        let rounds = 4;
        let setting = format!("T = {rounds}, {setting}");
        let numbers = (rounds - 1, 2.0, levels(rounds) / EPSILON);
        Self::tree((erratum, place), setting, Noise::L2Laplace, numbers)
    }

    /// Laplace of scale ‖Y‖₁·log T/ε: A1.
    fn as_tree(rounds: u64, natural: bool) -> Self {
        let setting = format!("T = {rounds}, {}, losses in [-1, 1]", base(natural));
        let numbers = (rounds - 1, 2.0, logarithm(rounds, natural) / EPSILON);
        Self::tree(("A1", "AS17 Lemma 3.3"), setting, Noise::Laplace, numbers)
    }

    /// Laplace of scale B/ε on one feedback in [−B, B]: A4. On a set with losses in [−1, 1] and the
    /// play 1, in one dimension, B = ‖Y‖₁ = 1 and the play's noise is that of Theorem 4.5: A6.
    fn as_feedback(erratum: &'static str, place: &'static str) -> Self {
        let setting = "one play, losses in [-1, 1]";
        let numbers = (1, 2.0, 1.0 / EPSILON);
        Self::tree((erratum, place), setting, Noise::Laplace, numbers)
    }

    /// Batches Σ from Bt to B(t+1), with parameters that cost ε = 1 when batches are disjoint: F5.
    fn overlapping() -> Option<Self> {
        let board = batches::board().ok()?;
        Some(Self {
            erratum: "F5",
            place: "AFKT22 section 3.1.1",
            setting: "B = 2, eta = 0.2, p = 1/8, K = 3, d = 8".into(),
            claim: Claim::Pure {
                epsilon: board.pure_epsilon(Exposure::of(
                    Adjacency::ReplaceOne,
                    Participation::OncePerRecord,
                )),
            },
            mechanism: Mechanism::Overlapping(board),
        })
    }

    /// σ = max(‖Y‖√(T/(√N·log T)), (√N/ε)·log T·log(log T/δ)), N = 1, ‖Y‖ = 100, T = 2¹⁰: A3.
    fn as_perturbed() -> Self {
        let (length, rounds) = (100.0, 1 << 10);
        let log = logarithm(rounds, true);
        let regret = length * (rounds as f64 / log).sqrt();
        let sigma = regret.max(log / EPSILON * libm::log(log / DELTA));
        Self::tree(
            ("A3", "AS17 Theorem 3.5"),
            "N = 1, losses of length 100, T = 2^10, ln",
            Noise::Gaussian,
            (rounds - 1, 2.0 * length, sigma),
        )
    }

    /// L2-Laplace of scale (L + μD)(⌈log₂W⌉ + 1)/ε, in one dimension, where gradients span 2L − μD:
    /// W1.
    fn window(width: u64, curvature: f64) -> Self {
        let scale = (1.0 + curvature) * levels(width) / EPSILON;
        Self::tree(
            ("W1", "WDP20 Theorem 1"),
            format!("W = {width}, one dimension, mu*D = {curvature}*L"),
            Noise::L2Laplace,
            // The first W releases after an item are those that count.
            (width, 2.0 - curvature, scale),
        )
    }
}

/// ⌈log₂⌉ + 1.
fn levels(rounds: u64) -> f64 {
    f64::from(rounds.next_power_of_two().ilog2()) + 1.0
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
