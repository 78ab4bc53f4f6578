//! The same sums without noise, and the score of a policy: for the operator only.

use super::{DecisionForm, DecisionMap, Evaluated, Policy};
use crate::boundary::{OperatorOnly, Raw};
use crate::losses::Record;
use crate::scoreboard::Scoreboard;
use hushstream_noise::Source;

/// Exact sums of decisions, and what scores them. Computed from private data.
pub struct ExactDecisions {
    map: DecisionMap,
    form: DecisionForm,
    sums: Vec<i64>,
    total: Vec<f64>,
    waiting: u64,
}

/// Records after which exact sums become real numbers.
const TOGETHER: u64 = 1 << 12;

impl ExactDecisions {
    /// Empty sums.
    #[must_use]
    pub fn new(map: DecisionMap) -> Self {
        let learned = map.learned();
        Self {
            form: DecisionForm::new(&map, Evaluated::NOTHING),
            sums: vec![0; learned],
            total: vec![0.0; learned],
            waiting: 0,
            map,
        }
    }

    /// Decides for a record with a policy and the coin of a slot, scores it, and adds it.
    pub fn add(
        &mut self,
        policy: &Policy,
        (coins, slot): (&Source, u64),
        record: &Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) {
        let sums = Some(&mut self.sums[..]);
        let record = record.peek();
        self.form
            .add(&self.map, policy, (coins, slot), record, 1, board, sums);
        self.waiting += 1;
        if self.waiting == TOGETHER {
            self.drain();
        }
    }

    /// Scores what a policy would do for a record, on average.
    pub fn score(&mut self, policy: &Policy, record: &Raw<Record>, board: &mut Scoreboard) {
        self.form
            .score_policy(&self.map, policy, record.peek(), board);
    }

    /// Scores the decision that a policy draws for a record with the coin of a slot.
    pub fn score_drawn(
        &mut self,
        policy: &Policy,
        (coins, slot): (&Source, u64),
        record: &Raw<Record>,
        board: &mut Scoreboard,
    ) {
        let record = record.peek();
        self.form.add(
            &self.map,
            policy,
            (coins, slot),
            record,
            1,
            Some(board),
            None,
        );
    }

    fn drain(&mut self) {
        self.form.drain(&mut self.sums, &mut self.total);
        self.waiting = 0;
    }

    /// The sums of all blocks.
    pub fn total(&mut self) -> OperatorOnly<&[f64]> {
        self.drain();
        OperatorOnly::new(&self.total)
    }
}
