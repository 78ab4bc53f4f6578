//! What an attacker computes from what is published.
//!
//! An attack is a score; the audit adds a threshold. Which attack is tried costs nothing: it is
//! chosen on runs of its own.
//!
//! - *Matched filter*: w = Σ⁻¹(m₁ − m₀), with means and covariance measured on runs of their own
//!   (Fisher's discriminant). For releases that are jointly Gaussian with the same covariance in
//!   both worlds, which those of Gaussian sums are, this is the likelihood ratio as the number of
//!   fitting runs grows, whatever the strategy or decoder.
//! - *Likelihood*: the duel's own, where the noise's law tells one (Laplace and L2-Laplace nodes).
//! - *One number*: a single coordinate of what is published.
//! - *Nearness*: how close what is published comes to the mean of the right world. It finds noise
//!   with too much mass in the middle.
//! - *Transcripts*: where only few different transcripts occur (plays, choices), how much more
//!   often each was seen in the right world. As fitting runs grow, the likelihood ratio of whatever
//!   the mechanism really does.
//! - *Zeros*: how many numbers are exactly zero. It finds noise that was not added.

use crate::duel::Duel;
use hushstream_arena::{add, solve};
use std::collections::HashMap;
use std::fmt;

/// So many coordinates enter a matched filter at the most: those that differ most between the
/// worlds.
const WIDEST: usize = 64;

/// So many fitting runs an average transcript must have for its share in each world to mean
/// something.
const REPEATED: usize = 8;

/// A score.
#[derive(Debug, Clone)]
pub enum Attack {
    /// Fisher's discriminant.
    MatchedFilter {
        /// (coordinate, weight).
        weights: Vec<(usize, f64)>,
    },
    /// The duel's own score.
    Likelihood,
    /// One coordinate.
    OneNumber(usize),
    /// Distance from a point, in units of each coordinate's spread, with its sign changed.
    Nearness {
        /// (coordinate, centre, spread).
        centre: Vec<(usize, f64, f64)>,
    },
    /// ln of how much more often a transcript was seen in the right world.
    Transcripts {
        /// By the bits of its numbers.
        scores: HashMap<Vec<u64>, f64>,
    },
    /// Exact zeros.
    Zeros,
}

/// Mean and spread of one coordinate in both worlds.
struct Moments {
    left: f64,
    right: f64,
    spread: f64,
}

impl Attack {
    /// Every attack that makes sense for runs of both worlds.
    pub(crate) fn candidates(duel: &dyn Duel, left: &[Vec<f64>], right: &[Vec<f64>]) -> Vec<Self> {
        let (Some(first), Some(_)) = (left.first(), right.first()) else {
            return Vec::new();
        };
        let moments: Vec<Moments> = (0..first.len())
            .map(|i| coordinate(i, left, right))
            .collect();
        // The most telling coordinates first; those that never vary and never differ tell nothing.
        let mut telling: Vec<usize> = (0..moments.len())
            .filter(|&i| moments[i].spread > 0.0)
            .collect();
        let strength =
            |i: &usize| (moments[*i].right - moments[*i].left).abs() / moments[*i].spread;
        telling.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
        telling.truncate(WIDEST);
        let mut attacks = Vec::new();
        if let Some(weights) = discriminant(&telling, &moments, left, right) {
            attacks.push(Self::MatchedFilter { weights });
        }
        if duel.likelihood(first).is_some() {
            attacks.push(Self::Likelihood);
        }
        attacks.extend(telling.iter().take(4).map(|&i| Self::OneNumber(i)));
        for middle in [|at: &Moments| at.right, |at: &Moments| at.left] {
            let centre = telling
                .iter()
                .map(|&i| (i, middle(&moments[i]), moments[i].spread));
            let centre = centre.collect();
            attacks.push(Self::Nearness { centre });
        }
        if let Some(scores) = transcripts(left, right) {
            attacks.push(Self::Transcripts { scores });
        }
        if left.iter().chain(right).any(|seen| zeros(seen) > 0.0) {
            attacks.push(Self::Zeros);
        }
        attacks
    }

    /// Large where the right world is more likely, or small; the audit tries both.
    pub(crate) fn score(&self, duel: &dyn Duel, seen: &[f64]) -> f64 {
        let score = match self {
            Self::MatchedFilter { weights } => weights.iter().map(|&(i, w)| w * seen[i]).sum(),
            Self::Likelihood => duel.likelihood(seen).unwrap_or(0.0),
            Self::OneNumber(i) => seen[*i],
            Self::Nearness { centre } => {
                let squares = centre.iter().map(|&(i, at, spread)| {
                    let away = (seen[i] - at) / spread;
                    away * away
                });
                -squares.sum::<f64>()
            }
            Self::Transcripts { scores } => scores.get(&bits(seen)).copied().unwrap_or(0.0),
            Self::Zeros => zeros(seen),
        };
        if score.is_nan() { 0.0 } else { score }
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MatchedFilter { weights } => write!(f, "matched filter of {}", weights.len()),
            Self::Likelihood => f.write_str("likelihood ratio"),
            Self::OneNumber(i) => write!(f, "number {} alone", i + 1),
            Self::Nearness { .. } => f.write_str("distance from the expected"),
            Self::Transcripts { scores } => write!(f, "shares of {} transcripts", scores.len()),
            Self::Zeros => f.write_str("exact zeros"),
        }
    }
}

fn zeros(seen: &[f64]) -> f64 {
    seen.iter().filter(|value| value.abs() <= 0.0).count() as f64
}

fn bits(seen: &[f64]) -> Vec<u64> {
    seen.iter().map(|value| value.to_bits()).collect()
}

/// The log-ratio of every transcript's counts, a half added to each; nothing where most transcripts
/// occur once.
fn transcripts(left: &[Vec<f64>], right: &[Vec<f64>]) -> Option<HashMap<Vec<u64>, f64>> {
    let most = (left.len() + right.len()) / REPEATED;
    let mut counts: HashMap<Vec<u64>, [f64; 2]> = HashMap::new();
    for (world, runs) in [left, right].into_iter().enumerate() {
        for run in runs {
            counts.entry(bits(run)).or_insert([0.5; 2])[world] += 1.0;
            if counts.len() > most {
                return None;
            }
        }
    }
    let score = |[left, right]: [f64; 2]| libm::log(right / left);
    let scores = counts.into_iter().map(|(key, pair)| (key, score(pair)));
    Some(scores.collect())
}

fn mean(runs: &[Vec<f64>], i: usize) -> f64 {
    runs.iter().map(|run| run[i]).sum::<f64>() / runs.len() as f64
}

fn coordinate(i: usize, left: &[Vec<f64>], right: &[Vec<f64>]) -> Moments {
    let (low, high) = (mean(left, i), mean(right, i));
    let squares = |runs: &[Vec<f64>], mean: f64| -> f64 {
        runs.iter().map(|run| (run[i] - mean).powi(2)).sum()
    };
    let count = (left.len() + right.len()) as f64;
    let spread = ((squares(left, low) + squares(right, high)) / count).sqrt();
    // A number that is fixed in each world but not the same in both tells everything: give it a
    // spread of next to nothing.
    let floor = 1e-9 * (high - low).abs();
    Moments {
        left: low,
        right: high,
        spread: spread.max(floor),
    }
}

/// Σ⁻¹(m₁ − m₀) in standardised coordinates, with a little added to the diagonal so that exact
/// dependence becomes a very large weight.
fn discriminant(
    telling: &[usize],
    moments: &[Moments],
    left: &[Vec<f64>],
    right: &[Vec<f64>],
) -> Option<Vec<(usize, f64)>> {
    const RIDGE: f64 = 1e-10;
    let d = telling.len();
    if d == 0 {
        return None;
    }
    let mut rows = vec![vec![0.0; d + 1]; d];
    let mut unit = vec![0.0; d];
    for (world, runs) in [(0, left), (1, right)] {
        for run in runs {
            for (value, &i) in unit.iter_mut().zip(telling) {
                let at = [moments[i].left, moments[i].right][world];
                *value = (run[i] - at) / moments[i].spread;
            }
            for (row, a) in rows.iter_mut().zip(&unit) {
                add(row, unit.iter().map(|b| a * b));
            }
        }
    }
    let count = (left.len() + right.len()) as f64;
    for (k, row) in rows.iter_mut().enumerate() {
        row.iter_mut().for_each(|cell| *cell /= count);
        row[k] += RIDGE;
        let i = telling[k];
        row[d] = (moments[i].right - moments[i].left) / moments[i].spread;
    }
    let solved = solve(rows)?;
    let weights = telling.iter().zip(solved);
    Some(weights.map(|(&i, w)| (i, w / moments[i].spread)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuditError, World};
    use hushstream_arena::Dice;

    struct Nothing;
    impl Duel for Nothing {
        fn name(&self) -> String {
            String::new()
        }
        fn play(&self, _: World, _: u64) -> Result<Vec<f64>, AuditError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn a_matched_filter_finds_a_difference_that_no_single_number_shows() {
        // x = noise, y = noise ± 0.01: only y − x tells the worlds apart.
        let mut dice = Dice::new(5);
        let mut runs = |sign: f64| -> Vec<Vec<f64>> {
            (0..400)
                .map(|_| {
                    let noise = dice.normal();
                    vec![noise, noise + sign * 0.01, 7.0]
                })
                .collect()
        };
        let (left, right) = (runs(-1.0), runs(1.0));
        let attacks = Attack::candidates(&Nothing, &left, &right);
        let Attack::MatchedFilter { weights } = &attacks[0] else {
            panic!("{attacks:?}")
        };
        assert_eq!(weights.len(), 2, "what never varies tells nothing");
        let score = |run: &Vec<f64>| attacks[0].score(&Nothing, run);
        let low = left.iter().map(score).fold(f64::MIN, f64::max);
        let high = right.iter().map(score).fold(f64::MAX, f64::min);
        assert!(low < high);
    }
}
