//! An audit: fit the attacks, choose one, prove a bound, each on runs of its own.
//!
//! 1. **Fit.** Both streams of every duel are played; attacks with parameters are fitted.
//! 2. **Choose.** They are played again; the better half of the duels is kept and played on, until
//!    one is left, with the attack and the thresholds that promise most.
//! 3. **Prove.** The chosen duel is played with fresh noise, batch by batch, and bets are placed
//!    against promises of growing size (`evidence.rs`). It ends when enough is proved.
//!
//! Whatever was searched in the first two steps, the last has one attack only: there is nothing to
//! correct for. Its number of runs need not be fixed.

use crate::AuditError;
use crate::attack::Attack;
use crate::bound::Claim;
use crate::duel::{Duel, Runs, World, play_many};
use crate::evidence::{Bet, Evidence, Moments, Tails, growth};
use hushstream_account::ParameterError;
use std::time::{Duration, Instant};

/// The number of runs of each world, and the confidence of the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// To fit attacks, for the duel that is chosen; for others an eighth of it.
    pub fit: u64,
    /// To choose among them, for the duel that is chosen; others are given up earlier.
    pub choose: u64,
    /// To prove, at the most.
    pub prove: u64,
    /// The share of the claim that is enough: the audit ends when it is proved. From 1 on the claim
    /// is refuted.
    pub enough: f64,
    /// Probability that the bound is wrong: 1 − confidence.
    pub error: f64,
    /// Fixes all noise.
    pub seed: u64,
}

impl Effort {
    /// So many proving runs, a quarter as many choosing runs and a fifth as many fitting runs, of
    /// which there is a number that is enough: what is bet is learned from the proving runs too.
    pub fn runs(prove: u64, error: f64, seed: u64) -> Self {
        Self {
            fit: (prove / 5).clamp(200, 10_000),
            choose: (prove / 4).clamp(400, 20_000),
            prove,
            enough: f64::INFINITY,
            error,
            seed,
        }
    }

    /// The same, and no more once this share of the claim is proved.
    #[must_use]
    pub fn until(self, enough: f64) -> Self {
        Self { enough, ..self }
    }

    /// As many as fit into a time, measured on a few runs whose results are not looked at.
    ///
    /// # Errors
    /// A duel that cannot be played; an error probability outside (0, 1).
    pub fn within(
        time: Duration,
        duels: &[Box<dyn Duel>],
        error: f64,
        seed: u64,
    ) -> Result<Self, AuditError> {
        // Twice as many each time, until it takes long enough to be measured.
        let mut trial = 64;
        let cost = loop {
            let start = Instant::now();
            for duel in duels {
                let runs = Runs::new(seed, u64::MAX).take(trial);
                play_many(duel.as_ref(), World::Left, runs, drop)?;
            }
            let seconds = start.elapsed().as_secs_f64();
            if seconds > 0.02 * time.as_secs_f64() || trial >= 1 << 16 {
                break seconds / (trial * duels.len().max(1) as u64) as f64;
            }
            trial *= 2;
        };
        // Two worlds, and scoring takes its share too. A round of choosing plays about half of
        // `choose` runs for all that are left.
        let most = time.as_secs_f64() / (2.3 * cost);
        let rounds = f64::from(halvings(duels.len()));
        let runs = |prove: f64| Self::runs(prove as u64, error, seed);
        let played = |prove: f64| {
            let Self { fit, choose, .. } = runs(prove);
            let fitted = fit + duels.len() as u64 * (fit / 8).max(200);
            prove + fitted as f64 + choose as f64 * (1.0 + 0.5 * rounds)
        };
        let (mut low, mut high) = (1000.0, 4e7);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if played(middle) <= most {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(runs(low))
    }

    fn check(self) -> Result<(), AuditError> {
        let parameter =
            |parameter, given, allowed| Err(ParameterError::new(parameter, given, allowed).into());
        if !(self.error > 0.0 && self.error < 1.0) {
            let confidence = 1.0 - self.error;
            return parameter("confidence", confidence, "between 0 and 1, both excluded");
        }
        if self.fit.min(self.choose).min(self.prove) == 0 {
            return parameter("runs", 0.0, "at least 1");
        }
        Ok(())
    }
}

/// What came of an audit.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The claimed guarantee.
    pub claim: Claim,
    /// No smaller μ is possible; this, and each of the next two, with probability 1 − `error`.
    pub mu: f64,
    /// No smaller ε is possible at the claimed δ.
    pub epsilon: f64,
    /// No smaller δ is possible at the claimed ε.
    pub delta: f64,
    /// What is proved of what is claimed: of μ for Gaussian claims, of ε for others.
    pub share: f64,
    /// The error probability, of the three bounds each and of a refutation.
    pub error: f64,
    /// Runs altogether.
    pub runs: u64,
    /// The streams and the attack that did best.
    pub attack: String,
    /// How long it took.
    pub seconds: f64,
    /// What the attack made of the first proving runs in the left world and in the right one, in
    /// the order of the runs: for pictures, and for other people's auditors.
    pub scores: [Vec<f64>; 2],
}

impl Verdict {
    /// Whether the claim is refuted: its μ, or the (ε, δ) that is stated beside it.
    pub fn violated(&self) -> bool {
        self.claim.is_refuted(self.mu, (self.epsilon, self.delta))
    }

    /// (alarms, hits) as measured for every threshold, on the upper side: for a picture, not for a
    /// proof.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let sorted = self.scores.clone().map(|mut scores| {
            scores.sort_by(f64::total_cmp);
            scores
        });
        let mut points = vec![(0.0, 0.0), (1.0, 1.0)];
        for threshold in candidates(&sorted) {
            let (alarms, hits) = (tail(&sorted[0], threshold), tail(&sorted[1], threshold));
            points.push(if hits < alarms {
                (1.0 - alarms, 1.0 - hits)
            } else {
                (alarms, hits)
            });
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        points.dedup();
        points
    }
}

/// A duel while it is being chosen: its attacks, and each one's scores in both worlds.
struct Candidate<'a> {
    number: u64,
    duel: &'a dyn Duel,
    attacks: Vec<Attack>,
    scores: Vec<[Vec<f64>; 2]>,
    /// The best attack, and what it promises.
    best: (usize, f64),
}

impl<'a> Candidate<'a> {
    /// With attacks that are fitted to these runs.
    fn fitted(number: u64, duel: &'a dyn Duel, runs: Runs) -> Result<Self, AuditError> {
        let fitting = |world| play_many(duel, world, runs, |seen| seen);
        let attacks = Attack::candidates(duel, &fitting(World::Left)?, &fitting(World::Right)?);
        let scores = attacks.iter().map(|_| [Vec::new(), Vec::new()]).collect();
        Ok(Self {
            number,
            duel,
            attacks,
            scores,
            best: (0, f64::NEG_INFINITY),
        })
    }

    fn played(&self) -> u64 {
        self.scores.first().map_or(0, |[left, _]| left.len() as u64)
    }

    /// Plays on until so many runs were seen.
    fn play(&mut self, claim: Claim, count: u64, effort: Effort) -> Result<(), AuditError> {
        let played = self.played();
        let runs = Runs::new(effort.seed, 4 * self.number + 1).after(played);
        let runs = runs.take(count.saturating_sub(played));
        for (side, world) in [(0, World::Left), (1, World::Right)] {
            let (duel, attacks) = (self.duel, &self.attacks);
            let columns = play_many(duel, world, runs, |seen| {
                let scores = attacks.iter().map(|attack| attack.score(duel, &seen));
                scores.collect::<Vec<f64>>()
            })?;
            for (i, scores) in self.scores.iter_mut().enumerate() {
                scores[side].extend(columns.iter().map(|run| run[i]));
                scores[side].sort_by(f64::total_cmp);
            }
        }
        let promises = self
            .scores
            .iter()
            .map(|sorted| promise(claim, sorted, effort));
        let best = promises.enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        self.best = best.unwrap_or((0, f64::NEG_INFINITY));
        Ok(())
    }
}

/// How often a list is halved until one is left.
fn halvings(count: usize) -> u32 {
    count.max(1).next_power_of_two().ilog2()
}

/// The duel that promises most, and the runs that it took: all are played a little, the better half
/// on, and so forth. The last one is fitted and played anew.
fn choose<'a>(
    claim: Claim,
    duels: &'a [Box<dyn Duel>],
    effort: Effort,
) -> Result<(Option<Candidate<'a>>, u64), AuditError> {
    let little = |count: u64, part: u64| (count / part).max(count.min(200));
    let fit = |number: u64, duel: &'a dyn Duel, stage: u64, count: u64| {
        let runs = Runs::new(effort.seed, 4 * number + stage).take(count);
        Candidate::fitted(number, duel, runs)
    };
    let mut left: Vec<(u64, &'a dyn Duel)> = (0..).zip(duels.iter().map(AsRef::as_ref)).collect();
    let mut runs = 0;
    if left.len() > 1 {
        let first = little(effort.fit, 8);
        let fitted = left
            .iter()
            .map(|&(number, duel)| fit(number, duel, 0, first));
        let mut candidates = fitted.collect::<Result<Vec<_>, AuditError>>()?;
        runs += first * candidates.len() as u64;
        for round in (1..=halvings(candidates.len())).rev() {
            for candidate in &mut candidates {
                let before = candidate.played();
                candidate.play(claim, little(effort.choose, 1 << round), effort)?;
                runs += candidate.played() - before;
            }
            candidates.sort_by(|a, b| b.best.1.total_cmp(&a.best.1));
            candidates.truncate(candidates.len().div_ceil(2));
        }
        left = candidates
            .iter()
            .map(|best| (best.number, best.duel))
            .collect();
    }
    let Some(&(number, duel)) = left.first() else {
        return Ok((None, runs));
    };
    let mut last = fit(number, duel, 3, effort.fit)?;
    last.play(claim, effort.choose, effort)?;
    let last = (!last.attacks.is_empty()).then_some(last);
    Ok((last, runs + effort.fit + effort.choose))
}

/// Holds an audit.
///
/// # Errors
/// An effort out of range; a claim of nothing, of which no share can be proved; no duels; a duel
/// that cannot be played.
pub fn audit(claim: Claim, duels: &[Box<dyn Duel>], effort: Effort) -> Result<Verdict, AuditError> {
    effort.check()?;
    claim.check()?;
    let start = Instant::now();
    let (Some(mut chosen), mut runs) = choose(claim, duels, effort)? else {
        let allowed = "at least one, which publishes something";
        return Err(ParameterError::new("duels", duels.len() as f64, allowed).into());
    };
    let (best, promised) = chosen.best;
    let attack = chosen.attacks.swap_remove(best);
    let duel = chosen.duel;
    let sorted = chosen.scores.swap_remove(best);
    let (thresholds, seen) = thresholds(claim, &sorted, promised);
    let mut evidence = Evidence::after(claim, seen, 1.0, effort.error);
    let fresh = Runs::new(effort.seed, 2);
    let (mut played, mut kept) = (0, [Vec::new(), Vec::new()]);
    while played < effort.prove && evidence.share() < effort.enough {
        let most = (played / 4).max(128).min(effort.prove - played);
        let batch = fresh.after(played).take(most);
        let scores = |world| play_many(duel, world, batch, |seen| attack.score(duel, &seen));
        let (left, right) = (scores(World::Left)?, scores(World::Right)?);
        evidence.take(&cells(&thresholds, &left, &right));
        for (all, scores) in kept.iter_mut().zip([left, right]) {
            all.extend(scores.into_iter().take(KEPT.saturating_sub(all.len())));
        }
        played += most;
    }
    runs += played;
    Ok(Verdict {
        claim,
        mu: evidence.mu(),
        epsilon: evidence.epsilon(),
        delta: evidence.delta(),
        share: evidence.share(),
        error: effort.error,
        runs: 2 * runs,
        attack: format!("{}: {attack}", duel.name()),
        seconds: start.elapsed().as_secs_f64(),
        scores: kept,
    })
}

/// So many scores of each world are handed on.
const KEPT: usize = 100_000;

/// So many thresholds at the most are bet on: few, so that stakes are soon learned.
const THRESHOLDS: usize = 8;

/// Pairs of runs by the thresholds that they reach.
fn cells(thresholds: &[f64], left: &[f64], right: &[f64]) -> Vec<Tails> {
    let cell = |score: &f64| thresholds.partition_point(|threshold| threshold <= score);
    let mut counts = vec![vec![0.0; thresholds.len() + 1]; thresholds.len() + 1];
    for (l, r) in left.iter().zip(right) {
        counts[cell(r)][cell(l)] += 1.0;
    }
    let tails = |reached: usize| -> Vec<f64> {
        (0..thresholds.len())
            .map(|k| f64::from(u8::from(k < reached)))
            .collect()
    };
    let mut cells = Vec::new();
    for (r, row) in counts.iter().enumerate() {
        for (l, &runs) in row.iter().enumerate().filter(|(_, runs)| **runs > 0.0) {
            cells.push(Tails {
                runs,
                ..Tails::new(&tails(r), &tails(l))
            });
        }
    }
    cells
}

/// The share of sorted scores at or above a threshold.
fn tail(sorted: &[f64], threshold: f64) -> f64 {
    let below = sorted.partition_point(|&score| score < threshold);
    (sorted.len() - below) as f64 / sorted.len().max(1) as f64
}

/// Every score that was seen, or a hundred of them.
fn candidates([left, right]: &[Vec<f64>; 2]) -> Vec<f64> {
    let mut candidates: Vec<f64> = quantiles(left).chain(quantiles(right)).collect();
    candidates.sort_by(f64::total_cmp);
    candidates.dedup_by(|a, b| a.to_bits() == b.to_bits());
    let step = candidates.len().div_ceil(96).max(1);
    candidates.into_iter().step_by(step).collect()
}

/// The share of the claim that sorted scores promise to prove: by the best single threshold, with
/// two standard deviations taken off, since what looks best among many will look less good again.
/// Negative if nothing.
fn promise(claim: Claim, scores: &[Vec<f64>; 2], effort: Effort) -> f64 {
    const CAUTION: f64 = 2.0;
    let runs = scores[0].len() as f64;
    let rates: Vec<(f64, f64)> = candidates(scores)
        .into_iter()
        .map(|threshold| (tail(&scores[0], threshold), tail(&scores[1], threshold)))
        .collect();
    let (error, _) = claim.errors(effort.error);
    let needed = -libm::log(error) / effort.prove as f64;
    let wealth = |share: f64| {
        let tangents = claim.share(share).tangents();
        let best = rates
            .iter()
            .map(|&(a, b)| growth(&tangents, (a.min(b), a.max(b)), runs, CAUTION));
        best.fold(0.0, f64::max) / needed
    };
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..9 {
        let middle = f64::midpoint(low, high);
        if wealth(middle) >= 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    if low > 0.0 {
        low
    } else {
        wealth(1.0 / 128.0) - 1.0
    }
}

/// The thresholds that the best bet against the promised share stands on, and the moments of what
/// was seen at them.
fn thresholds(claim: Claim, scores: &[Vec<f64>; 2], promised: f64) -> (Vec<f64>, Moments) {
    let mut kept = candidates(scores);
    let moments = |thresholds: &[f64]| {
        let tails = |world: usize| -> Vec<f64> {
            thresholds
                .iter()
                .map(|&t| tail(&scores[world], t))
                .collect()
        };
        Moments::independent(&tails(1), &tails(0), scores[0].len() as f64)
    };
    let seen = moments(&kept);
    let bet = Bet::against(
        &claim.share(promised.max(1.0 / 128.0)).tangents(),
        &seen,
        1.0,
    );
    let mut best: Vec<f64> = bet.thresholds(&seen).into_iter().map(|k| kept[k]).collect();
    best.truncate(THRESHOLDS);
    if best.is_empty() {
        best.push(kept.swap_remove(kept.len() / 2));
    }
    best.sort_by(f64::total_cmp);
    let seen = moments(&best);
    (best, seen)
}

/// At most a few hundred of the sorted scores: all of them for few runs.
fn quantiles(sorted: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let step = (sorted.len() / 256).max(1);
    let ends = sorted.iter().take(16).chain(sorted.iter().rev().take(16));
    sorted.iter().step_by(step).chain(ends).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_arena::Dice;

    /// One normal of variance 1, from −½ or from ½: 1-Gaussian, and nothing less.
    struct Normal;

    impl Duel for Normal {
        fn name(&self) -> String {
            "normal".into()
        }

        fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
            Ok(vec![0.5 * world.sign() + Dice::new(seed).normal()])
        }
    }

    fn audited(claim: Claim) -> Result<Verdict, AuditError> {
        audit(claim, &[Box::new(Normal)], Effort::runs(2000, 1e-3, 1))
    }

    #[test]
    fn the_epsilon_that_is_printed_beside_mu_is_audited_too() {
        let claim = |epsilon| Claim::Gaussian {
            mu: 1.0,
            epsilon,
            delta: 1e-5,
        };
        let (wrong, right) = (audited(claim(0.5)).unwrap(), audited(claim(4.4)).unwrap());
        assert!(wrong.violated() && !right.violated(), "{wrong:?} {right:?}");
        for verdict in [wrong, right] {
            assert!((0.7..1.0).contains(&verdict.share), "{verdict:?}");
        }
        // Where the pair promises nothing, μ has the whole error.
        let nothing = Claim::Gaussian {
            mu: 1.0,
            epsilon: 0.0,
            delta: 1.0,
        };
        assert_eq!(nothing.errors(1e-3), (1e-3, 1e-3));
        assert!(!audited(nothing).unwrap().violated());
    }

    #[test]
    fn a_claim_of_nothing_has_no_share() {
        for (name, claim) in [
            (
                "mu",
                Claim::Gaussian {
                    mu: 0.0,
                    epsilon: 1.0,
                    delta: 0.1,
                },
            ),
            ("epsilon", Claim::Pure { epsilon: 0.0 }),
            ("epsilon", Claim::Pure { epsilon: f64::NAN }),
            (
                "epsilon",
                Claim::Approximate {
                    epsilon: 0.0,
                    delta: 0.5,
                },
            ),
        ] {
            let told = audited(claim).unwrap_err().to_string();
            assert!(told.contains(name) && told.contains("above 0"), "{told}");
        }
    }
}
