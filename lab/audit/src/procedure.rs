//! An audit: fit the attacks, choose one, prove a bound, each on runs of its own.
//!
//! 1. **Fit.** Both streams of every duel are played; attacks with parameters are fitted.
//! 2. **Choose.** They are played again; the duel, attack, threshold and direction that promise the
//!    largest bound are kept: one event, fixed before the last step.
//! 3. **Prove.** The chosen duel is played with fresh noise; two counts give the bound, by Clopper
//!    and Pearson (`bound.rs`).
//!
//! Whatever was searched in the first two steps, the last has one event only: there is nothing to
//! correct for. The number of runs is fixed before any is played.

use crate::AuditError;
use crate::attack::Attack;
use crate::bound::{Claim, Rates};
use crate::duel::{Duel, Runs, World, play_many};
use hushstream_account::ParameterError;
use std::time::{Duration, Instant};

/// The number of runs of each world, and the confidence of the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// To fit attacks, for every duel.
    pub fit: u64,
    /// To choose among them, for every duel.
    pub choose: u64,
    /// To prove.
    pub prove: u64,
    /// Probability that the bound is wrong: 1 − confidence.
    pub error: f64,
    /// Fixes all noise.
    pub seed: u64,
}

impl Effort {
    /// So many proving runs, half as many choosing runs and a fifth as many fitting runs, of which
    /// there is a number that is enough.
    pub fn runs(prove: u64, error: f64, seed: u64) -> Self {
        Self {
            fit: (prove / 5).clamp(200, 20_000),
            choose: (prove / 2).clamp(200, 200_000),
            prove,
            error,
            seed,
        }
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
                let runs = Runs::new(seed, u64::MAX, trial);
                play_many(duel.as_ref(), World::Left, runs, drop)?;
            }
            let seconds = start.elapsed().as_secs_f64();
            if seconds > 0.02 * time.as_secs_f64() || trial >= 1 << 16 {
                break seconds / (trial * duels.len().max(1) as u64) as f64;
            }
            trial *= 2;
        };
        // prove·(1 + duels·(1/5 + 1/2)) runs of two worlds; scoring takes its share too.
        let weight = 2.3 * (1.0 + 0.7 * duels.len() as f64);
        let most = (time.as_secs_f64() / (cost * weight)).clamp(1000.0, 4e7);
        Ok(Self::runs(most as u64, error, seed))
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
    /// The proved rates, with probability 1 − `error`.
    pub rates: Rates,
    /// The error probability.
    pub error: f64,
    /// Runs altogether.
    pub runs: u64,
    /// The streams and the attack that did best.
    pub attack: String,
    /// How long it took.
    pub seconds: f64,
    /// (alarms, hits) as measured for every threshold, in the direction of the attack: for a
    /// picture, not for a proof.
    pub curve: Vec<(f64, f64)>,
}

impl Verdict {
    /// Whether the claim is refuted.
    pub fn violated(&self) -> bool {
        self.claim.is_refuted_by(self.rates)
    }

    /// What is proved of what is claimed: of μ for Gaussian claims, of ε for pure ones, of δ
    /// otherwise.
    pub fn tightness(&self) -> f64 {
        self.claim.aim(self.rates).max(0.0) / self.claim.promised()
    }
}

/// One event: the score on one side of a threshold, taken as a sign of one world.
#[derive(Debug, Clone, Copy)]
struct Event {
    threshold: f64,
    /// Whether the event is a score at or above the threshold.
    above: bool,
    /// The world it speaks for.
    speaks_for: World,
    /// The bound it promises.
    promise: f64,
}

impl Event {
    fn holds(&self, score: f64) -> bool {
        (score >= self.threshold) == self.above
    }
}

/// Holds an audit.
///
/// # Errors
/// An effort out of range; no duels; a duel that cannot be played.
pub fn audit(claim: Claim, duels: &[Box<dyn Duel>], effort: Effort) -> Result<Verdict, AuditError> {
    effort.check()?;
    let start = Instant::now();
    let mut best: Option<(Event, &dyn Duel, Attack)> = None;
    for (number, duel) in (0_u64..).zip(duels) {
        let duel = duel.as_ref();
        let runs = |stage, count| Runs::new(effort.seed, 4 * number + stage, count);
        let fitting = |world| play_many(duel, world, runs(0, effort.fit), |seen| seen);
        let attacks = Attack::candidates(duel, &fitting(World::Left)?, &fitting(World::Right)?);
        let choosing = |world| {
            play_many(duel, world, runs(1, effort.choose), |seen| {
                let scores = attacks.iter().map(|attack| attack.score(duel, &seen));
                scores.collect::<Vec<f64>>()
            })
        };
        let (left, right) = (choosing(World::Left)?, choosing(World::Right)?);
        for (i, attack) in attacks.into_iter().enumerate() {
            let column =
                |runs: &[Vec<f64>]| -> Vec<f64> { runs.iter().map(|run| run[i]).collect() };
            let event = best_event(claim, &column(&left), &column(&right), effort);
            if best
                .as_ref()
                .is_none_or(|(kept, ..)| event.promise > kept.promise)
            {
                best = Some((event, duel, attack));
            }
        }
    }
    let Some((event, duel, attack)) = best else {
        let allowed = "at least one, which publishes something";
        return Err(ParameterError::new("duels", duels.len() as f64, allowed).into());
    };
    let runs = Runs::new(effort.seed, 2, effort.prove);
    let proving = |world| play_many(duel, world, runs, |seen| attack.score(duel, &seen));
    let (left, right) = (proving(World::Left)?, proving(World::Right)?);
    let (quiet, loud) = match event.speaks_for {
        World::Right => (&left, &right),
        World::Left => (&right, &left),
    };
    let count = |scores: &[f64]| scores.iter().filter(|&&s| event.holds(s)).count() as u64;
    let rates = Rates::proved(count(loud), count(quiet), effort.prove, effort.error);
    let played = effort.prove + duels.len() as u64 * (effort.fit + effort.choose);
    Ok(Verdict {
        claim,
        rates,
        error: effort.error,
        runs: 2 * played,
        attack: format!("{}: {attack}", duel.name()),
        seconds: start.elapsed().as_secs_f64(),
        curve: curve(quiet, loud, event.above),
    })
}

/// The event that promises most for the proving runs, among every score that was seen, on both
/// sides and for both worlds.
fn best_event(claim: Claim, left: &[f64], right: &[f64], effort: Effort) -> Event {
    let (left, right) = (sorted(left), sorted(right));
    let both: Vec<f64> = quantiles(&left).chain(quantiles(&right)).collect();
    let mut thresholds = sorted(&both);
    thresholds.dedup_by(|a, b| a.to_bits() == b.to_bits());
    let z = caution(effort);
    let mut best = Event {
        threshold: 0.0,
        above: true,
        speaks_for: World::Right,
        promise: f64::NEG_INFINITY,
    };
    for threshold in thresholds {
        let at_least =
            |scores: &[f64]| (scores.len() - scores.partition_point(|&s| s < threshold)) as u64;
        let (a, b) = (at_least(&left), at_least(&right));
        let n = left.len() as u64;
        for (above, speaks_for, hits, alarms) in [
            (true, World::Right, b, a),
            (true, World::Left, a, b),
            (false, World::Left, n - a, n - b),
            (false, World::Right, n - b, n - a),
        ] {
            if hits <= alarms {
                continue; // proves nothing
            }
            let promise = claim.aim(approximately(hits, alarms, n, z));
            if promise > best.promise {
                best = Event {
                    threshold,
                    above,
                    speaks_for,
                    promise,
                };
            }
        }
    }
    best
}

/// How many standard deviations of the choosing runs lie between what they show and what is
/// promised: the proving runs will subtract their own, and what looked best among many will look
/// less good again.
fn caution(effort: Effort) -> f64 {
    let proving = crate::normal::quantile_high(1.0 - effort.error / 2.0).min(12.0);
    2.0 + proving * (effort.choose as f64 / effort.prove as f64).sqrt()
}

/// Rates that are `z` standard deviations worse than the counts (Wilson's interval): an
/// approximation, fast enough for thousands of thresholds.
fn approximately(hits: u64, alarms: u64, runs: u64, z: f64) -> Rates {
    let n = runs as f64;
    let wilson = |count: u64, side: f64| {
        let p = count as f64 / n;
        let middle = p + z * z / (2.0 * n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
        ((middle + side * half) / (1.0 + z * z / n)).clamp(0.0, 1.0)
    };
    Rates {
        hits: wilson(hits, -1.0),
        alarms: wilson(alarms, 1.0),
    }
}

/// At most a few hundred of the sorted scores: all of them for few runs.
fn quantiles(sorted: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let step = (sorted.len() / 256).max(1);
    let ends = sorted.iter().take(16).chain(sorted.iter().rev().take(16));
    sorted.iter().step_by(step).chain(ends).copied()
}

fn sorted(scores: &[f64]) -> Vec<f64> {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn curve(quiet: &[f64], loud: &[f64], above: bool) -> Vec<(f64, f64)> {
    let (quiet, loud) = (sorted(quiet), sorted(loud));
    let share = |scores: &[f64], threshold: f64| {
        let below = scores.partition_point(|&s| s < threshold) as f64 / scores.len() as f64;
        if above { 1.0 - below } else { below }
    };
    let mut points = vec![(0.0, 0.0), (1.0, 1.0)];
    for threshold in quantiles(&quiet).chain(quantiles(&loud)) {
        points.push((share(&quiet, threshold), share(&loud, threshold)));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    points.dedup();
    points
}
