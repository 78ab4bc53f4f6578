//! The papers as printed: every row of the errata that breaks privacy and whose recipe exists,
//! attacked until it shows.
//!
//! **Unsound on purpose**: these are the papers' own constants, on public synthetic streams of
//! zeros and ones. A tree with printed noise is read where it is weakest: release 2ᵏ is a single
//! node that contains the first record, so the releases 1, 2, 4, … show all of a record's nodes,
//! one at a time. Of a dartboard the attacker knows the law.

mod batches;
mod offline;
mod rows;

use crate::duel::{Duel, World};
use crate::normal::phi;
use crate::planted::{Handmade, duel, scored};
use crate::procedure::{Effort, Verdict, audit};
use crate::{AuditError, Claim};
use hushstream_account::Mu;
use hushstream_mechanism::select::Board;
use hushstream_mechanism::sums::{BinaryTree, Noise};
use offline::Chosen;

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
    /// The paper's claim.
    pub claim: Claim,
    mechanism: Mechanism,
}

/// A binary tree.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tree {
    noise: Noise,
    /// n.
    releases: u64,
    /// Distance of two records.
    reach: f64,
    /// The printed standard deviation or scale.
    scale: f64,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mechanism {
    Tree(Tree),
    /// A dartboard on batches that share their border.
    Overlapping(Board),
    /// A model whose radius the data chose: what was chosen in the two worlds.
    Chosen([Chosen; 2]),
}

impl Printed {
    /// What holds: δ at the claimed ε for Gaussian noise, ε otherwise.
    ///
    /// # Errors
    /// None for the rows of [`Printed::all`].
    pub fn truth(&self) -> Result<f64, AuditError> {
        Ok(match self.mechanism {
            Mechanism::Tree(tree) => {
                let levels = f64::from(BinaryTree::depth(tree.releases));
                if tree.noise.is_pure() {
                    levels * tree.reach / tree.scale
                } else {
                    Mu::of_noise(levels.sqrt() * tree.reach, tree.scale)?.delta_at(EPSILON)?
                }
            }
            Mechanism::Overlapping(board) => batches::truth(board),
            Mechanism::Chosen([left, right]) => {
                // The smaller ball's ends are reached in one world only, what lies beyond them in
                // the other only; inside it the densities are alike.
                let share = |chosen: Chosen| {
                    let beyond = |side: f64| phi((side * chosen.mean - left.radius) / chosen.noise);
                    beyond(1.0) + beyond(-1.0)
                };
                share(left).max(share(right))
            }
        })
    }

    /// Enough runs of each world to see it at 99.9 %: those that a δ needs grow as it falls, most ε
    /// are seen at once.
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
    pub fn duel(&self) -> Box<dyn Duel> {
        match self.mechanism {
            Mechanism::Tree(printed) => tree(printed),
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

fn tree(printed: Tree) -> Box<dyn Duel> {
    let sum = Handmade::line(printed.noise, printed.scale);
    let levels = BinaryTree::depth(printed.releases);
    let (half, pure) = (0.5 * printed.reach, printed.noise.is_pure());
    let several = "first record, releases 1, 2, 4, ...";
    scored(
        if levels == 1 { "one record" } else { several },
        move |world, source| {
            let item = [half * world.sign()];
            let release = |k: u32| sum.release(source, &item, 1 << k, |node| node);
            (0..levels).map(release).collect()
        },
        move |seen| {
            let ratio = |value: &f64| (value + half).abs() - (value - half).abs();
            pure.then(|| seen.iter().map(ratio).sum())
        },
    )
}

fn chosen([left, right]: [Chosen; 2]) -> Box<dyn Duel> {
    let sum = Handmade::line(Noise::Gaussian, 1.0);
    let name = "a record that decides about the radius";
    duel(name, move |world, source| {
        let noise = sum.node(source, 1)?[0];
        let chosen = if world == World::Left { left } else { right };
        Ok(vec![chosen.model(noise).abs()])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_account::Budget;

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

    /// J8: the noise of JKT12 Algorithm 2 against what its claim of (3ε, 2δ) needs. With s_t =
    /// 2L/(αt) and β/t for σ_t, μ² is the sum of T − 1 equal terms.
    #[test]
    fn the_noise_of_iterates_is_ten_to_sixteen_times_too_large() {
        let factor = |epsilon: f64, rounds: f64| {
            let power = (rounds * libm::log(2.0 / DELTA) / (2.0 * epsilon)).sqrt();
            let inner = libm::log(rounds / DELTA) + epsilon.sqrt() / power;
            let beta = power * (2.0 / epsilon * inner).sqrt();
            let claimed = Budget::approx(3.0 * epsilon, 2.0 * DELTA).unwrap();
            Mu::within(claimed).unwrap().get() * beta / (rounds - 1.0).sqrt()
        };
        let (short, long) = (1024.0, f64::from(1 << 20));
        for (epsilon, least, most) in [(0.1, 13.9, 16.1), (1.0, 11.5, 13.4), (3.0, 10.0, 11.6)] {
            let found = (factor(epsilon, short), factor(epsilon, long));
            assert!(found.0 > least && found.1 < most, "{epsilon}: {found:?}");
        }
    }
}
