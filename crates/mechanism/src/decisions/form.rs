//! From a record to the integers of its decision.

use super::evaluation::Judged;
use super::policy::draw;
use super::{DecisionMap, Evaluated, Outcomes, Policy};
use crate::feedback::Logged;
use crate::lattice::Outcome;
use crate::losses::{Features, Record};
use crate::moments::Block;
use crate::scoreboard::Scoreboard;
use hushstream_noise::Source;

/// The blocks of all arms, and memory that records share. As private as the records.
pub(crate) struct DecisionForm {
    blocks: Vec<Block>,
    /// Coordinates of a block.
    size: usize,
    evaluated: Evaluated,
    features: Vec<(u32, f64)>,
    probabilities: Vec<f64>,
    other: Vec<f64>,
    others: Vec<(u32, f64)>,
    losses: Vec<f64>,
}

/// A decision before it is added.
struct Played {
    arm: usize,
    probability: f64,
}

impl DecisionForm {
    pub(crate) fn new(map: &DecisionMap, evaluated: Evaluated) -> Self {
        let moments = map.moments();
        let blocks = (0..map.arms()).map(|_| Block::new(moments));
        Self {
            blocks: blocks.collect(),
            size: moments.dimension(),
            evaluated,
            features: Vec::new(),
            probabilities: Vec::new(),
            other: Vec::new(),
            others: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// Whether it is for this map.
    pub(crate) fn is_for(&self, map: &DecisionMap) -> bool {
        let moments = map.moments();
        self.blocks.len() == map.arms() && self.blocks.iter().all(|block| block.is_for(moments))
    }

    /// Decides for a record, or reads its decision, and adds it to the sums; the board scores it
    /// first. A record that is not admitted is decided and scored, and adds nothing.
    #[expect(clippy::too_many_arguments, reason = "one call, of the sum")]
    pub(crate) fn add(
        &mut self,
        map: &DecisionMap,
        policy: &Policy,
        (coins, slot): (&Source, u64),
        record: &Record,
        radius: i64,
        board: Option<&mut Scoreboard>,
        sums: Option<&mut [i64]>,
    ) -> Outcome {
        let outcomes = map.outcomes();
        let Some((context, rest)) = self.mapped(map, record) else {
            return Outcome::Null;
        };
        policy.probabilities(&self.features, &mut self.probabilities);
        let Some(played) = self.played(outcomes, (coins, slot), rest) else {
            return Outcome::Null;
        };
        let reward = outcomes.reward(rest, played.arm);
        if let Some(board) = board {
            self.score(board, outcomes, rest, &played, reward);
        }
        let Some(sums) = sums else {
            return Outcome::Null;
        };
        // A missing reward is the middle.
        let reward = reward.unwrap_or(0.0);
        let (learned, evaluated) = sums.split_at_mut(self.blocks.len() * self.size);
        if evaluated.len() != self.evaluated.coordinates() {
            return Outcome::Null;
        }
        let own = &mut learned[played.arm * self.size..][..self.size];
        let moments = Record {
            features: Features::Sparse(std::mem::take(&mut self.features)),
            target: reward,
        };
        let outcome = self.blocks[played.arm].add(&moments, own);
        if let Features::Sparse(features) = moments.features {
            self.features = features;
        }
        if outcome != Outcome::Null {
            self.evaluate(map, (context, reward), &played, radius, evaluated);
        }
        outcome
    }

    /// A record's context, whose features are in `self.features`, and what follows it.
    fn mapped<'a>(
        &mut self,
        map: &DecisionMap,
        record: &'a Record,
    ) -> Option<(&'a [f64], &'a [f64])> {
        let columns = map.context().columns();
        let (context, rest) = map.outcomes().split(record, columns, map.arms())?;
        let is_context = map.context().map(context, &mut self.features);
        is_context.then_some((context, rest))
    }

    /// The arm and its probability.
    fn played(
        &self,
        outcomes: Outcomes,
        (coins, slot): (&Source, u64),
        rest: &[f64],
    ) -> Option<Played> {
        if outcomes.draws() {
            let arm = draw(&self.probabilities, coins, slot);
            let probability = self.probabilities[arm];
            return Some(Played { arm, probability });
        }
        let (arm, probability) = outcomes.logged(rest, self.blocks.len())?;
        Some(Played { arm, probability })
    }

    /// Adds y, and w·y and w of every policy, as integers that are checked.
    fn evaluate(
        &mut self,
        map: &DecisionMap,
        (context, reward): (&[f64], f64),
        played: &Played,
        radius: i64,
        sums: &mut [i64],
    ) {
        let Some(evaluation) = map.evaluation().filter(|_| !sums.is_empty()) else {
            return;
        };
        let steps = self.evaluated.steps(radius);
        let integer = |value: f64, low: i64, high: i64| {
            // A cast saturates, and takes what is no number to 0.
            let scaled = (value * 2.0 * steps as f64).round_ties_even() as i64;
            scaled.clamp(low, high)
        };
        let (signed, positive) = sums.split_at_mut(self.evaluated.signed as usize);
        signed[0] += integer(reward, -steps, steps);
        for (k, judged) in evaluation.judged.iter().enumerate() {
            let chance = match judged {
                Judged::Current => self.probabilities[played.arm],
                Judged::Frozen(policy) => {
                    // Its features are its own; a context of this sum is one of its.
                    if policy.map().map(context, &mut self.others) {
                        policy.probabilities(&self.others, &mut self.other);
                        self.other[played.arm]
                    } else {
                        0.0
                    }
                }
            };
            let weight = (chance / played.probability).min(evaluation.most) / evaluation.most;
            let share = integer(weight, 0, 2 * steps);
            let half = share / 2;
            signed[1 + k] += integer(weight * reward, -half, half);
            positive[k] += share;
        }
    }

    /// Turns the sums of a complete item into lattice integers.
    pub(crate) fn close(&mut self, sums: &mut [i64], radius: i64) {
        let own = sums.chunks_exact_mut(self.size);
        for (block, own) in self.blocks.iter_mut().zip(own) {
            block.close(own, radius);
        }
    }

    /// Scores what the policy would do for a record, on average, without a coin.
    pub(crate) fn score_policy(
        &mut self,
        map: &DecisionMap,
        policy: &Policy,
        record: &Record,
        board: &mut Scoreboard,
    ) {
        let outcomes = map.outcomes();
        let Some((_, rest)) = self.mapped(map, record) else {
            return;
        };
        policy.probabilities(&self.features, &mut self.probabilities);
        if outcomes.draws() {
            self.find_losses(outcomes, rest);
            board.note_losses(&self.losses, &self.probabilities);
        } else if let Some((arm, probability)) = outcomes.logged(rest, map.arms()) {
            let played = Played { arm, probability };
            let reward = outcomes.reward(rest, arm);
            self.score(board, outcomes, rest, &played, reward);
        }
    }

    /// Adds the sums, as real numbers, to a total, and begins them anew.
    pub(crate) fn drain(&mut self, sums: &mut [i64], total: &mut [f64]) {
        let own = sums.chunks_exact_mut(self.size);
        let own = own.zip(total.chunks_exact_mut(self.size));
        for (block, (sums, total)) in self.blocks.iter_mut().zip(own) {
            block.drain(sums, total);
        }
    }

    fn find_losses(&mut self, outcomes: Outcomes, rest: &[f64]) {
        self.losses.clear();
        let loss = |arm| 0.5 - outcomes.reward(rest, arm).unwrap_or(0.0);
        self.losses.extend((0..self.blocks.len()).map(loss));
    }

    /// The operator's figures: losses of all arms, or a row of a log.
    fn score(
        &mut self,
        board: &mut Scoreboard,
        outcomes: Outcomes,
        rest: &[f64],
        played: &Played,
        reward: Option<f64>,
    ) {
        if !outcomes.draws() {
            let row = Logged {
                arm: played.arm,
                loss: reward.map(|reward| 0.5 - reward),
                weight: 1.0 / played.probability,
            };
            board.note_logged(&row, &self.probabilities);
            return;
        }
        self.find_losses(outcomes, rest);
        self.other.clear();
        self.other.resize(self.blocks.len(), 0.0);
        self.other[played.arm] = 1.0;
        board.note_losses(&self.losses, &self.other);
    }
}
