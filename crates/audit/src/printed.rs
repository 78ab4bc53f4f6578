//! The papers as printed: every row of the errata that breaks privacy and whose recipe exists, attacked until it shows.
//!
//! **Unsound on purpose**: these are the papers' own constants, on public synthetic streams of zeros and ones. A tree with printed noise is read where it is weakest:
//! release 2ᵏ is a single node that contains the first record, so the releases 1, 2, 4, … show all of a record's nodes, one at a time. Of a dartboard the attacker knows the law.

use crate::duel::{Duel, World};
use crate::normal::phi;
use crate::planted::{Handmade, HandmadeDuel, with_vector_noise};
use crate::printed_batches as batches;
use crate::printed_offline::{self as offline, Chosen};
use crate::procedure::{Effort, Verdict, audit};
use crate::{AuditError, Claim};
use hushstream_account::{Adjacency, Mu};
use hushstream_mechanism::select::Board;
use hushstream_mechanism::sums::{BinaryTree, Noise};

/// ε of every printed claim.
const EPSILON: f64 = 1.0;
/// δ of every printed claim that has one.
const DELTA: f64 = 1e-6;

/// A printed constant.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// Its row in ERRATA.md.
    pub erratum: &'static str,
    /// Paper and place.
    pub place: &'static str,
    /// With which parameters.
    pub setting: String,
    /// What is claimed.
    pub claim: Claim,
    mechanism: Mechanism,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mechanism {
    /// A binary tree.
    Tree {
        noise: Noise,
        /// n.
        releases: u64,
        /// Distance of two records.
        reach: f64,
        /// The printed standard deviation or scale.
        scale: f64,
    },
    /// ⟨Z, play⟩ for answers −1 and 1 to the play (¼, …, ¼), Z of this scale.
    Vector { scale: f64 },
    /// A dartboard on batches that share their border.
    Overlapping(Board),
    /// A model whose radius the data chose: what was chosen in the two worlds.
    Chosen([Chosen; 2]),
}

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
        rows.push(Self::as_vector());
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

    /// L2-Laplace of scale L(⌈log₂T⌉ + 1)/ε, L = pB/β for one-point gradients, of which two with the same direction are 2pB/β apart: S1, S8.
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

    /// Laplace of scale B/ε on one feedback in [−B, B]; in one dimension ‖Y‖₁ is B: A4, A6.
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

    /// ⟨Z, play⟩ with Laplace Z of scale B/ε off the unit vectors, losses in the unit ball: A4.
    fn as_vector() -> Self {
        Self {
            erratum: "A4",
            place: "AS17 Theorem 4.1",
            setting: "N = 16, play (1/4, ..., 1/4), losses in the unit ball".into(),
            claim: Claim::Pure { epsilon: EPSILON },
            mechanism: Mechanism::Vector {
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

    /// L2-Laplace of scale (L + μD)(⌈log₂W⌉ + 1)/ε, in one dimension, where gradients span 2L − μD: W1.
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

    /// What holds: δ at the claimed ε for Gaussian noise, ε otherwise.
    ///
    /// # Errors
    /// None for the rows of [`Printed::all`].
    pub fn truth(&self) -> Result<f64, AuditError> {
        Ok(match self.mechanism {
            Mechanism::Tree {
                noise,
                releases,
                reach,
                scale,
            } => {
                let levels = f64::from(BinaryTree::depth(releases));
                if noise.is_pure() {
                    levels * reach / scale
                } else {
                    Mu::of_noise(levels.sqrt() * reach, scale)?.delta_at(EPSILON)?
                }
            }
            // Far out, the ratio of a sum of Laplace numbers is that of its largest.
            Mechanism::Vector { scale } => 2.0 / (0.25 * scale),
            Mechanism::Overlapping(board) => batches::truth(board),
            Mechanism::Chosen([left, right]) => {
                // The smaller ball's ends are reached in one world only, what lies beyond them in the other only; inside it the densities are alike.
                let share = |chosen: Chosen| {
                    let beyond = |side: f64| phi((side * chosen.mean - left.radius) / chosen.noise);
                    beyond(1.0) + beyond(-1.0)
                };
                share(left).max(share(right))
            }
        })
    }

    /// Enough runs of each world to see it at 99.9 %: those that a δ needs grow as it falls, most ε are seen at once.
    ///
    /// # Errors
    /// None for the rows of [`Printed::all`].
    pub fn enough_runs(&self) -> Result<u64, AuditError> {
        Ok(match self.truth()? {
            truth if truth < 0.0025 => 1_500_000,
            truth if truth < 0.01 => 400_000,
            _ if matches!(self.mechanism, Mechanism::Overlapping(_)) => 400_000,
            _ => 40_000,
        })
    }

    /// Its streams.
    #[must_use]
    pub fn duel(&self) -> Box<dyn Duel> {
        match self.mechanism {
            Mechanism::Tree {
                noise,
                releases,
                reach,
                scale,
            } => tree(noise, BinaryTree::depth(releases), reach, scale),
            Mechanism::Vector { scale } => with_vector_noise(scale),
            Mechanism::Overlapping(board) => batches::duel(board),
            Mechanism::Chosen(worlds) => chosen(worlds),
        }
    }

    /// Attacks it.
    ///
    /// # Errors
    /// Those of an audit.
    pub fn audit(&self, effort: Effort) -> Result<Verdict, AuditError> {
        audit(self.claim, &[self.duel()], effort)
    }
}

fn tree(noise: Noise, levels: u32, reach: f64, scale: f64) -> Box<dyn Duel> {
    let sum = Handmade::line(noise, scale);
    let (half, pure) = (0.5 * reach, noise.is_pure());
    Box::new(HandmadeDuel {
        name: if levels == 1 {
            "one record"
        } else {
            "first record, releases 1, 2, 4, ..."
        },
        play: move |world: World, seed| {
            let source = Handmade::source(seed);
            let item = [half * world.sign()];
            let release = |k: u32| sum.release(&source, &item, 1 << k, |node| node);
            (0..levels).map(release).collect()
        },
        likelihood: move |seen: &[f64]| {
            let ratio = |value: &f64| (value + half).abs() - (value - half).abs();
            pure.then(|| seen.iter().map(ratio).sum())
        },
    })
}

fn chosen([left, right]: [Chosen; 2]) -> Box<dyn Duel> {
    let sum = Handmade::line(Noise::Gaussian, 1.0);
    Box::new(HandmadeDuel {
        name: "a record that decides about the radius",
        play: move |world: World, seed| {
            let noise = sum.node(&Handmade::source(seed), 1)?[0];
            let chosen = match world {
                World::Left => left,
                World::Right => right,
            };
            Ok(vec![chosen.model(noise).abs()])
        },
        likelihood: |_: &[f64]| None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures that ERRATA.md gives.
    #[test]
    fn the_truth_is_what_the_errata_say() {
        let rows = Printed::all();
        let truth = |erratum: &str, setting: &str| {
            let row = rows
                .iter()
                .find(|row| row.erratum == erratum && row.setting.starts_with(setting));
            row.unwrap().truth().unwrap()
        };
        for (erratum, setting, expected) in [
            ("J1", "T = 2, log2", 5.3e-2),
            ("J1", "T = 4, log2", 3.6e-3),
            ("J1", "T = 16, ln", 1.9e-3),
            ("J2", "R = 10", 5.5e-2),
            ("J12", "T = 10000, alpha = 0.1", 0.235),
            ("J13", "T = 8", 0.977),
            ("S1", "T = 4", 4.0 / 3.0),
            ("S8", "T = 4", 4.0 / 3.0),
            ("A4", "N = 16", 8.0),
            ("F5", "B = 2", 1.469),
            ("A1", "T = 2, log2", 2.0),
            ("A1", "T = 2, ln", 2.885),
            ("A3", "N = 1", 8.7e-3),
            ("A4", "one play", 2.0),
            ("A6", "one play", 2.0),
            ("W1", "W = 2", 1.9 / 1.1),
        ] {
            let found = truth(erratum, setting);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{erratum} {setting}: {found} instead of {expected}"
            );
        }
    }
}
