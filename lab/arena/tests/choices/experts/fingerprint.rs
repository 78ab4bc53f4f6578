//! The adaptive adversaries of AFKT22 Theorems 4, 5 and 6 (appendix C; errata F10, F11), and the
//! same losses once more for a learner that they cannot see.
//!
//! An expert guesses the signs of k columns: for k = 1 expert 2j guesses − for column j and 2j+1
//! guesses +. A round shows one person's row: a guess costs 1 if it differs from that row in one of
//! its columns. (Appendix C.3 prints the sign of the columns' sums instead. That is a function of
//! all rows in every round, so one person would be in all of them, and the proof's group privacy of
//! 2T/n rounds would fail.) As soon as the learner has followed a guess about a column, every
//! expert on that column costs 1 for ever. So a learner with little regret tells the signs of most
//! columns, one after another, which no private algorithm can; an expert on consensus columns that
//! were never followed has no loss. [`Fingerprint::replay`] repeats the marks at the rounds at
//! which they fell, whatever is played then: the same losses, now fixed in advance.

use super::duel::Advisor;
use super::matrix::SignMatrix;

/// The adversary.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    matrix: SignMatrix,
    /// Columns and guesses of each expert, for k > 1.
    guesses: Vec<(Vec<usize>, Vec<bool>)>,
    marked: Vec<bool>,
    /// (round, column) of each mark.
    marks: Vec<(u64, usize)>,
    round: u64,
    rounds: u64,
    /// Rounds after which only zero losses are sent (Theorem 4 for larger ε).
    until: u64,
}

impl Fingerprint {
    /// Theorems 4 and 5: two experts a column, T = 0.9·p rounds, of which the first `until` hurt.
    pub(crate) fn new(matrix: SignMatrix, until: Option<u64>) -> Self {
        let rounds = (9 * matrix.columns() as u64) / 10;
        Self {
            marked: vec![false; matrix.columns()],
            guesses: Vec::new(),
            marks: Vec::new(),
            round: 0,
            rounds,
            until: until.unwrap_or(rounds),
            matrix,
        }
    }

    /// Theorem 6: an expert for each set of k columns and each guess of their signs, T = 0.9·p/k
    /// rounds. Nothing, if there would be more than 10⁵ experts.
    pub(crate) fn of_subsets(matrix: SignMatrix, k: usize) -> Option<Self> {
        let columns = matrix.columns();
        if k == 0 || k > columns.min(16) {
            return None;
        }
        let mut count = 1_u64 << k;
        for taken in 0..k as u64 {
            count = count * (columns as u64 - taken) / (taken + 1);
            if count > 100_000 << k {
                return None;
            }
        }
        if count > 100_000 {
            return None;
        }
        let mut subsets: Vec<Vec<usize>> = vec![Vec::new()];
        for _ in 0..k {
            subsets = subsets
                .iter()
                .flat_map(|subset| {
                    let next = subset.last().map_or(0, |last| last + 1);
                    (next..columns).map(move |column| [&subset[..], &[column]].concat())
                })
                .collect();
        }
        let mut built = Self::new(matrix, None);
        for subset in subsets {
            for code in 0..1_u32 << k {
                let signs = (0..k).map(|bit| code >> bit & 1 == 1).collect();
                built.guesses.push((subset.clone(), signs));
            }
        }
        built.rounds /= k as u64;
        built.until = built.rounds;
        Some(built)
    }

    /// The same losses once more, fixed in advance.
    pub(crate) fn replay(&self) -> Replay {
        let mut again = self.clone();
        again.marked.fill(false);
        again.round = 0;
        Replay {
            marks: std::mem::take(&mut again.marks),
            again,
            next: 0,
        }
    }

    fn mark(&mut self, column: usize) {
        if !self.marked[column] {
            self.marked[column] = true;
            self.marks.push((self.round, column));
        }
    }

    fn present(&self) -> Vec<f64> {
        if self.round >= self.until {
            return vec![0.0; self.experts()];
        }
        let row = (self.round % self.matrix.rows() as u64) as usize;
        let cost = |wrong: bool| f64::from(u8::from(wrong));
        if self.guesses.is_empty() {
            let column = |j: usize| {
                let plus = self.matrix.sign(row, j);
                [cost(self.marked[j] || plus), cost(self.marked[j] || !plus)]
            };
            return (0..self.matrix.columns()).flat_map(column).collect();
        }
        let guess = |(columns, signs): &(Vec<usize>, Vec<bool>)| {
            let known = columns.iter().any(|&j| self.marked[j]);
            let right = columns
                .iter()
                .zip(signs)
                .all(|(&j, &sign)| self.matrix.sign(row, j) == sign);
            cost(known || !right)
        };
        self.guesses.iter().map(guess).collect()
    }
}

impl Advisor for Fingerprint {
    fn experts(&self) -> usize {
        if self.guesses.is_empty() {
            2 * self.matrix.columns()
        } else {
            self.guesses.len()
        }
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn losses(&mut self) -> Vec<f64> {
        self.present()
    }

    fn sees(&mut self, played: usize) {
        if self.round < self.until {
            if self.guesses.is_empty() {
                self.mark(played / 2);
            } else {
                for column in self.guesses[played].0.clone() {
                    self.mark(column);
                }
            }
        }
        self.round += 1;
    }
}

/// The recorded losses of a [`Fingerprint`], whatever is played.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    again: Fingerprint,
    marks: Vec<(u64, usize)>,
    next: usize,
}

impl Advisor for Replay {
    fn experts(&self) -> usize {
        self.again.experts()
    }

    fn rounds(&self) -> u64 {
        self.again.rounds
    }

    fn losses(&mut self) -> Vec<f64> {
        self.again.present()
    }

    fn sees(&mut self, _: usize) {
        while let Some(&(round, column)) = self.marks.get(self.next)
            && round == self.again.round
        {
            self.again.marked[column] = true;
            self.next += 1;
        }
        self.again.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_arena::Dice;

    #[test]
    fn a_followed_column_costs_for_ever_and_a_replay_repeats_it() {
        let mut dice = Dice::new(1);
        let mut adversary = Fingerprint::new(SignMatrix::consensus(3, 10, &mut dice), None);
        let mut recorded = Vec::new();
        for round in 0..adversary.rounds() {
            let losses = adversary.losses();
            // One of the two guesses about an unknown column is right.
            let ones = losses.iter().filter(|&&loss| loss > 0.5).count() as u64;
            assert_eq!(ones, 10 + round.min(3));
            recorded.push(losses);
            adversary.sees(2 * (round.min(2) as usize) + 1);
        }
        let mut replay = adversary.replay();
        for losses in recorded {
            assert_eq!(replay.losses(), losses);
            replay.sees(19);
        }
    }

    /// Sets of one column are the experts of Theorem 4, loss by loss, also where rows disagree.
    #[test]
    fn a_guess_is_compared_with_the_row_of_the_round() {
        let mut dice = Dice::new(3);
        let matrix = SignMatrix::tardos(7, 4000, &mut dice);
        let split = |j: usize| (0..7).any(|row| matrix.sign(row, j) != matrix.sign(0, j));
        let split = (0..4000).filter(|&j| split(j)).count();
        assert!(
            (1..=4).contains(&split),
            "99.9 % of the columns are constant"
        );
        let mut single = Fingerprint::of_subsets(matrix.clone(), 1).unwrap();
        let mut columns = Fingerprint::new(matrix, None);
        for round in 0..14 {
            assert!(single.losses() == columns.losses(), "round {round}");
            single.sees(round);
            columns.sees(round);
        }
    }

    #[test]
    fn subsets_and_zero_losses() {
        let mut dice = Dice::new(2);
        let matrix = SignMatrix::tardos(4, 12, &mut dice);
        let mut pairs = Fingerprint::of_subsets(matrix.clone(), 2).unwrap();
        assert_eq!((pairs.experts(), pairs.rounds()), (4 * 66, 5));
        let right = pairs.losses().iter().filter(|&&loss| loss < 0.5).count();
        assert_eq!(right, 66, "one guess of four is right about each pair");
        pairs.sees(0);
        let right = pairs.losses().iter().filter(|&&loss| loss < 0.5).count();
        assert_eq!(right, 45, "two columns are known");
        assert!(Fingerprint::of_subsets(matrix.clone(), 0).is_none());
        assert!(Fingerprint::of_subsets(SignMatrix::tardos(4, 500, &mut dice), 3).is_none());
        let mut short = Fingerprint::new(matrix, Some(2));
        for _ in 0..2 {
            assert!(short.losses().iter().any(|&loss| loss > 0.0));
            short.sees(0);
        }
        assert!(short.losses().iter().all(|&loss| loss == 0.0));
    }
}
