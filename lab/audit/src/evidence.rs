//! Evidence that may be looked at after every run: bets against what is claimed.
//!
//! **What a promise says.** A promise is a region of pairs (a, b), how often a test may answer
//! "right" in the left world and in the right one. μ-Gaussian privacy (Dong, Roth and Su 2022) and
//! (ε, δ) have convex regions, the same in both directions. A convex region is what lies below its
//! tangents: with c(s) the largest b − s·a in it, every test of what is published has
//!
//! > b − s·a − c(s) ≤ 0 for every slope s > 0, and a − s·b − c(s) ≤ 0 likewise.
//!
//! **A bet.** Play both worlds once, and let a *stock* pay Z = 1[right is at or above t] − s·1[left
//! is at or above t] − c(s), for a threshold t, a slope and a direction. If the promise holds, Z
//! pays nothing on average, so 1 + Σ v·Z with stakes v ≥ 0, small enough that the sum stays
//! positive, has an expectation of at most 1.
//!
//! **Theorem.** Multiply these factors run by run, the stakes of each chosen in any way from runs
//! *before* it. If the promise holds, the probability that the product ever reaches 1/α is at most
//! α (Ville 1939). So one may look at any time, stop for any reason, and go on.
//!
//! **A ladder.** Promises θ₁, θ₂, … that allow more and more are tested side by side on the same
//! runs. What is reported is the last θ before the first that is not refuted. It is wrong only if
//! the *first* true promise of the ladder is refuted: with probability at most α, for the whole
//! ladder and for all time.
//!
//! Several thresholds at once find a Gaussian difference with fewer runs than one threshold does,
//! and no half of the error goes to either world. No law of the noise is assumed, and none of the
//! scores: only that runs are independent.
//!
//! **Many canaries in a run.** Averages of indicators over canaries may take the indicators' place,
//! for the region is convex (`tests/long_stream.rs`).

use crate::bound::{Claim, Promise};

/// So much of what there is may be lost in a run, at the most.
const MOST_LOST: f64 = 0.9;

/// How often scores were at or above each threshold, in one run of both worlds: zeros and ones, or
/// averages over canaries.
#[derive(Debug, Clone, PartialEq)]
pub struct Tails {
    /// In the right world, then in the left one, threshold by threshold.
    pub(crate) tails: Vec<f64>,
    /// How many runs were like this.
    pub(crate) runs: f64,
}

impl Tails {
    /// Of one run, with equally many thresholds in both worlds.
    pub fn new(right: &[f64], left: &[f64]) -> Self {
        Self {
            tails: right.iter().chain(left).copied().collect(),
            runs: 1.0,
        }
    }
}

/// First and second moments of tails.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    runs: f64,
    first: Vec<f64>,
    second: Vec<Vec<f64>>,
}

impl Moments {
    /// One run of which half was always above and half always below: no tail is ever certain.
    fn prior(size: usize) -> Self {
        Self {
            runs: 1.0,
            first: vec![0.5; size],
            second: vec![vec![0.5; size]; size],
        }
    }

    /// From the shares of `runs` independent runs at or above rising thresholds, in each world.
    pub(crate) fn independent(right: &[f64], left: &[f64], runs: f64) -> Self {
        let tails: Vec<f64> = right.iter().chain(left).copied().collect();
        let mut moments = Self::prior(tails.len());
        let half = right.len();
        moments.runs += runs;
        for (i, &x) in tails.iter().enumerate() {
            moments.first[i] += runs * x;
            for (j, &y) in tails.iter().enumerate() {
                let same_world = (i < half) == (j < half);
                let both = if same_world { x.min(y) } else { x * y };
                moments.second[i][j] += runs * both;
            }
        }
        moments
    }

    fn add(&mut self, seen: &Tails) {
        self.runs += seen.runs;
        for (i, &x) in seen.tails.iter().enumerate() {
            self.first[i] += seen.runs * x;
            for (cell, &y) in self.second[i].iter_mut().zip(&seen.tails) {
                *cell += seen.runs * x * y;
            }
        }
    }

    fn mean(&self, i: usize) -> f64 {
        self.first[i] / self.runs
    }

    fn product(&self, i: usize, j: usize) -> f64 {
        self.second[i][j] / self.runs
    }
}

/// Pays tail `hit` − slope·tail `alarm` − excess.
#[derive(Debug, Clone, Copy)]
struct Stock {
    hit: usize,
    alarm: usize,
    slope: f64,
    excess: f64,
}

impl Stock {
    fn mean(&self, seen: &Moments) -> f64 {
        seen.mean(self.hit) - self.slope * seen.mean(self.alarm) - self.excess
    }

    /// The mean, less half a standard deviation of it: what looks best among several is worth less.
    fn cautious(&self, seen: &Moments) -> f64 {
        let mean = self.mean(seen);
        let variance = self.product(self, seen) - mean * mean;
        mean - 0.5 * (variance.max(0.0) / seen.runs).sqrt()
    }

    /// The expected product of what two stocks pay.
    fn product(&self, other: &Self, seen: &Moments) -> f64 {
        let of = |i: usize, weight: f64| {
            weight
                * (seen.product(i, other.hit)
                    - other.slope * seen.product(i, other.alarm)
                    - other.excess * seen.mean(i))
        };
        of(self.hit, 1.0) + of(self.alarm, -self.slope) - self.excess * other.mean(seen)
    }
}

/// The stake for a mean, a mean square and the largest loss, and how fast wealth grows with it: to
/// second order, as Kelly bets.
fn stake(mean: f64, square: f64, worst: f64) -> (f64, f64) {
    let stake = (mean / square).min(MOST_LOST / worst).max(0.0);
    (stake, stake * (mean - 0.5 * stake * square))
}

/// How fast wealth grows against a promise with these tangents, at the most, with one stock on a
/// test that showed these rates in so many runs, each taken `caution` standard deviations worse
/// (Wilson's interval).
pub(crate) fn growth(
    tangents: &[(f64, f64)],
    (alarms, hits): (f64, f64),
    runs: f64,
    caution: f64,
) -> f64 {
    let wilson = |p: f64, side: f64| {
        let square = caution * caution / runs;
        let half = caution * (p * (1.0 - p) / runs + square / (4.0 * runs)).sqrt();
        (p + square / 2.0 + side * half) / (1.0 + square)
    };
    let (b, a) = (wilson(hits, -1.0), wilson(alarms, 1.0));
    let rates = tangents.iter().map(|&(slope, excess)| {
        let variance = b * (1.0 - b) + slope * slope * a * (1.0 - a);
        let mean = b - slope * a - excess;
        stake(mean, variance + mean * mean, slope + excess).1
    });
    rates.fold(0.0, f64::max)
}

/// Stakes on stocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bet(Vec<(Stock, f64)>);

impl Bet {
    /// The best against the promise with these tangents for what was seen so far, of tails that are
    /// `most` at the most: for each threshold the best slope and direction, then stakes on all of
    /// them together (the largest second-order growth, by coordinates).
    pub(crate) fn against(tangents: &[(f64, f64)], seen: &Moments, most: f64) -> Self {
        let half = seen.first.len() / 2;
        let mut stocks = Vec::new();
        for k in 0..half {
            let mut best: Option<(f64, Stock)> = None;
            for (hit, alarm) in [(k, half + k), (half + k, k)] {
                if seen.mean(hit) <= seen.mean(alarm) {
                    continue; // proves nothing
                }
                for &(slope, excess) in tangents {
                    let stock = Stock {
                        hit,
                        alarm,
                        slope,
                        excess,
                    };
                    let mean = stock.cautious(seen);
                    let worst = most * slope + excess;
                    let rate = || stake(mean, stock.product(&stock, seen), worst).1;
                    if mean > 0.0 && best.is_none_or(|(kept, _)| rate() > kept) {
                        best = Some((rate(), stock));
                    }
                }
            }
            stocks.extend(best.map(|(_, stock)| stock));
        }
        let means: Vec<f64> = stocks.iter().map(|stock| stock.cautious(seen)).collect();
        let products: Vec<Vec<f64>> = stocks
            .iter()
            .map(|a| stocks.iter().map(|b| a.product(b, seen)).collect())
            .collect();
        let mut stakes = vec![0.0; stocks.len()];
        for _ in 0..40 {
            for k in 0..stocks.len() {
                let taken: f64 = products[k].iter().zip(&stakes).map(|(p, v)| p * v).sum();
                let own = products[k][k];
                stakes[k] = ((means[k] - taken + own * stakes[k]) / own).max(0.0);
            }
        }
        let bet = Self(stocks.into_iter().zip(stakes).collect());
        let worst: f64 = bet
            .0
            .iter()
            .map(|(s, v)| v * (most * s.slope + s.excess))
            .sum();
        let factor = if worst > MOST_LOST {
            MOST_LOST / worst
        } else {
            1.0
        };
        Self(bet.0.into_iter().map(|(s, v)| (s, factor * v)).collect())
    }

    /// The thresholds that it bets on, those first that bring most.
    pub(crate) fn thresholds(&self, seen: &Moments) -> Vec<usize> {
        let half = seen.first.len() / 2;
        let brings = |(stock, stake): &(Stock, f64)| stake * stock.mean(seen);
        let mut used: Vec<_> = self.0.iter().filter(|(_, stake)| *stake > 0.0).collect();
        used.sort_by(|a, b| brings(b).total_cmp(&brings(a)));
        used.into_iter()
            .map(|(stock, _)| stock.hit % half)
            .collect()
    }

    /// ln of what a run multiplies wealth by.
    fn growth(&self, tails: &[f64]) -> f64 {
        let pays = self.0.iter().map(|(stock, stake)| {
            stake * (tails[stock.hit] - stock.slope * tails[stock.alarm] - stock.excess)
        });
        libm::log1p(pays.sum())
    }
}

/// One promise that is tested.
#[derive(Debug, Clone)]
struct Rung {
    /// μ, ε or δ.
    value: f64,
    tangents: Vec<(f64, f64)>,
    /// ln of the wealth.
    wealth: f64,
    refuted: bool,
}

/// Promises that allow more and more.
#[derive(Debug, Clone)]
struct Ladder(Vec<Rung>);

impl Ladder {
    fn new(values: impl IntoIterator<Item = f64>, promise: impl Fn(f64) -> Promise) -> Self {
        let rung = |value| Rung {
            value,
            tangents: promise(value).tangents(),
            wealth: 0.0,
            refuted: false,
        };
        Self(values.into_iter().map(rung).collect())
    }

    /// Percents of a value, and steps of 5 % above it, up to fifty times as much.
    fn around(value: f64) -> impl Iterator<Item = f64> {
        let percents = (1..100).map(move |percent| value * f64::from(percent) / 100.0);
        let beyond = (0..80).map(move |step| value * libm::pow(1.05, f64::from(step)));
        percents.chain(beyond)
    }

    fn take(&mut self, seen: &Moments, batch: &[Tails], most: f64, enough: f64) {
        for rung in self.0.iter_mut().filter(|rung| !rung.refuted) {
            let bet = Bet::against(&rung.tangents, seen, most);
            if bet.0.is_empty() {
                continue;
            }
            let gains = batch.iter().map(|run| run.runs * bet.growth(&run.tails));
            rung.wealth += gains.sum::<f64>();
            rung.refuted = rung.wealth >= enough;
        }
    }

    /// The largest value that is refuted with all below it.
    fn proved(&self) -> f64 {
        let refuted = self.0.iter().take_while(|rung| rung.refuted);
        refuted.last().map_or(0.0, |rung| rung.value)
    }
}

/// What runs have proved so far about a claim, at any time.
#[derive(Debug, Clone)]
pub struct Evidence {
    claim: Claim,
    mu: Ladder,
    epsilon: Ladder,
    delta: Ladder,
    seen: Moments,
    most: f64,
    /// ln of the wealth that refutes a μ, and an ε or a δ, with a margin for rounding.
    enough: (f64, f64),
}

impl Evidence {
    /// None yet. `earlier` are other runs, if there are any, which stakes may be learned from.
    /// Tails are at most `most`, and each of the bounds is wrong with probability at most `error`.
    /// So is a refutation, whichever bound it comes from: the error is shared
    /// ([`Evidence::refutes`]).
    pub fn new(claim: Claim, earlier: &[Tails], most: f64, error: f64) -> Self {
        let size = earlier.first().map_or(0, |run| run.tails.len());
        let mut seen = Moments::prior(size);
        earlier.iter().for_each(|run| seen.add(run));
        Self::after(claim, seen, most, error)
    }

    pub(crate) fn after(claim: Claim, seen: Moments, most: f64, error: f64) -> Self {
        let (epsilon, delta) = claim.budget();
        let (error_of_mu, error_of_budget) = claim.errors(error);
        let needed = |error: f64| -libm::log(error) + 1e-6;
        let around = |value: f64, otherwise| if value > 0.0 { value } else { otherwise };
        let mut deltas: Vec<f64> = (1..350).map(|k| libm::pow(1.05, -f64::from(k))).collect();
        deltas.push(delta);
        deltas.sort_by(f64::total_cmp);
        Self {
            claim,
            mu: Ladder::new(Ladder::around(claim.mu().unwrap_or(2.0)), Promise::Gaussian),
            epsilon: Ladder::new(Ladder::around(around(epsilon, 1.0)), |epsilon| {
                Promise::Approximate { epsilon, delta }
            }),
            delta: Ladder::new(deltas, |delta| Promise::Approximate { epsilon, delta }),
            seen,
            most,
            enough: (needed(error_of_mu), needed(error_of_budget)),
        }
    }

    /// Runs in batches: stakes are chosen before each batch.
    pub fn take(&mut self, batch: &[Tails]) {
        if let (true, Some(first)) = (self.seen.first.is_empty(), batch.first()) {
            self.seen = Moments::prior(first.tails.len());
        }
        let (mu, budget) = self.enough;
        for (ladder, enough) in [
            (&mut self.mu, mu),
            (&mut self.epsilon, budget),
            (&mut self.delta, budget),
        ] {
            ladder.take(&self.seen, batch, self.most, enough);
        }
        batch.iter().for_each(|run| self.seen.add(run));
    }

    /// No smaller μ is possible.
    pub fn mu(&self) -> f64 {
        self.mu.proved()
    }

    /// No smaller ε is possible at the claimed δ.
    pub fn epsilon(&self) -> f64 {
        self.epsilon.proved()
    }

    /// No smaller δ is possible at the claimed ε.
    pub fn delta(&self) -> f64 {
        self.delta.proved()
    }

    /// Whether the claim is refuted: its μ, or the (ε, δ) that is stated beside it.
    pub fn refutes(&self) -> bool {
        self.claim
            .is_refuted(self.mu(), (self.epsilon(), self.delta()))
    }

    /// What is proved of what is claimed: of μ for Gaussian claims, of ε for others. The claim is
    /// refuted from 1 on, and perhaps before: see [`Evidence::refutes`].
    pub fn share(&self) -> f64 {
        let proved = match self.claim {
            Claim::Gaussian { .. } => self.mu(),
            _ => self.epsilon(),
        };
        proved / self.claim.promised()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_arena::Dice;

    type Play = fn(&mut Dice, f64, usize) -> Vec<Tails>;

    /// Pairs of runs from normals that are `mu` apart, at thresholds around the middle.
    fn pairs(dice: &mut Dice, mu: f64, count: usize) -> Vec<Tails> {
        let mut tails = |middle: f64| {
            let x = middle + dice.normal();
            [-1.0, 0.0, 1.0].map(|t| f64::from(u8::from(x >= t)))
        };
        let pair = |_| Tails::new(&tails(0.5 * mu), &tails(-0.5 * mu));
        (0..count).map(pair).collect()
    }

    /// The same with Laplace noise, at the ends of its likelihood ratio.
    fn laplace(dice: &mut Dice, epsilon: f64, count: usize) -> Vec<Tails> {
        let mut tails = |side: f64| {
            let sign = if dice.coin(0.5) { 1.0 } else { -1.0 };
            let x = 0.5 * side * epsilon - sign * libm::log(dice.uniform());
            [-0.5 * epsilon, 0.5 * epsilon].map(|t| f64::from(u8::from(x >= t)))
        };
        let pair = |_| Tails::new(&tails(1.0), &tails(-1.0));
        (0..count).map(pair).collect()
    }

    fn gaussian(mu: f64) -> Claim {
        Claim::Gaussian {
            mu,
            epsilon: 1.0,
            delta: 0.5,
        }
    }

    /// A mechanism that loses all that is claimed: at an error of 1 %, looked at after every one of
    /// 40 batches. More than 13 refutations of 200 have a probability below 10⁻⁷.
    #[test]
    fn the_truth_is_refuted_as_rarely_as_stated_however_often_one_looks() {
        let truths: [(Promise, Play, f64); 2] = [
            (Promise::Gaussian(1.5), pairs, 1.5),
            (
                Promise::Approximate {
                    epsilon: 1.0,
                    delta: 0.0,
                },
                laplace,
                1.0,
            ),
        ];
        for (promise, play, value) in truths {
            let mut refuted = 0;
            for seed in 0..200 {
                let mut dice = Dice::new(seed);
                let mut ladder = Ladder::new([value], |_| promise);
                let mut seen = Moments::prior(play(&mut dice, value, 1)[0].tails.len());
                for _ in 0..40 {
                    let batch = play(&mut dice, value, 25);
                    ladder.take(&seen, &batch, 1.0, libm::log(100.0));
                    batch.iter().for_each(|run| seen.add(run));
                }
                refuted += u32::from(ladder.proved() > 0.0);
            }
            assert!(refuted <= 13, "{promise:?}: {refuted} of 200");
        }
    }

    #[test]
    fn most_of_the_truth_is_proved_and_half_noise_is_refuted() {
        let mut dice = Dice::new(7);
        for (claim, play, truth) in [
            (gaussian(1.5), pairs as Play, 1.5),
            (Claim::Pure { epsilon: 1.0 }, laplace, 1.0),
        ] {
            for (noise, least, most) in [(1.0, 0.8, 1.0), (0.5, 1.4, 2.1)] {
                let mut play = |count| play(&mut dice, truth / noise, count);
                let mut evidence = Evidence::new(claim, &play(500), 1.0, 1e-7);
                for _ in 0..20 {
                    evidence.take(&play(1000));
                }
                let share = evidence.share();
                assert!(
                    (least..most).contains(&share),
                    "{claim:?}, {noise}: {share}"
                );
            }
        }
    }

    /// Nothing is proved of a mechanism that shows nothing, or by no runs.
    #[test]
    fn nothing_proves_nothing() {
        let mut dice = Dice::new(1);
        let mut evidence = Evidence::new(gaussian(1.0), &pairs(&mut dice, 0.0, 100), 1.0, 1e-7);
        assert!(evidence.share().abs() < 1e-300);
        evidence.take(&pairs(&mut dice, 0.0, 5000));
        let bounds = [evidence.mu(), evidence.epsilon(), evidence.delta()];
        assert!(
            bounds.iter().all(|bound| bound.abs() < 1e-300),
            "{bounds:?}"
        );
    }

    /// A Gaussian claim is two promises, and the second may be false alone: 1-Gaussian privacy is
    /// (4.4, 1e-5), and not (0.5, 1e-5).
    #[test]
    fn a_false_epsilon_beside_a_true_mu_is_refuted() {
        for (epsilon, is_false) in [(0.5, true), (4.4, false)] {
            let claim = Claim::Gaussian {
                mu: 1.0,
                epsilon,
                delta: 1e-5,
            };
            let mut dice = Dice::new(3);
            // No runs to learn stakes from: they are learned on the way.
            let mut evidence = Evidence::new(claim, &[], 1.0, 1e-7);
            for _ in 0..20 {
                evidence.take(&pairs(&mut dice, 1.0, 100));
            }
            assert_eq!(evidence.refutes(), is_false, "{claim:?}: {evidence:?}");
            assert!(evidence.share() < 1.0);
        }
    }

    #[test]
    fn certain_knowledge_refutes_everything() {
        let certain = Tails {
            runs: 2000.0,
            ..Tails::new(&[1.0], &[0.0])
        };
        let claim = Claim::Approximate {
            epsilon: 1.0,
            delta: 0.1,
        };
        let mut evidence = Evidence::new(claim, std::slice::from_ref(&certain), 1.0, 1e-7);
        evidence.take(&[certain]);
        let bounds = (evidence.mu(), evidence.epsilon(), evidence.delta());
        assert!(
            bounds.0 > 4.0 && bounds.1 > 3.0 && bounds.2 > 0.9,
            "{bounds:?}"
        );
    }
}
