//! The adaptive adversaries of AFKT22 Theorems 4, 5 and 6 (appendix C; errata F10, F11).
//!
//! An expert guesses the signs of k columns: for k = 1 expert 2j guesses − for column j and 2j+1
//! guesses +. A round shows one person's row: a guess costs 1 if it differs from that row in one of
//! its columns. (Appendix C.3 prints the sign of the columns' sums instead. That is a function of
//! all rows in every round, so one person would be in all of them, and the proof's group privacy of
//! 2T/n rounds would fail.) As soon as the learner has followed a guess about a column, every
//! expert on that column costs 1 for ever. So a learner with little regret tells the signs of most
//! columns, one after another, which no private algorithm can; an expert on consensus columns that
//! were never followed has no loss. A learner that plays a mixture follows an expert drawn from it.
//!
//! Theorem 4 sends zero losses after T₀ rounds where ε is above 1/(√T₀ ln T₀): its proof needs no
//! more. Here the adversary plays on.

use crate::dice::Dice;
use crate::sign_matrix::SignMatrix;

/// Which theorem's adversary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theorem {
    /// A fingerprinting code among consensus columns, two experts a column.
    Four,
    /// Consensus columns alone: the linear lower bound for pure privacy at ε ≤ 1/10.
    Five,
    /// As four, with an expert for every pair of columns and every guess of their signs.
    Six,
}

/// Columns that an expert of Theorem 6 guesses.
const PAIR: usize = 2;
const MOST_EXPERTS: usize = 100_000;

impl Theorem {
    /// p: the adversary wins 0.9·p/k rounds.
    fn columns(self, rounds: u64) -> usize {
        let guessed = match self {
            Self::Four | Self::Five => 1,
            Self::Six => PAIR as u64,
        };
        (10 * guessed * rounds).div_ceil(9) as usize
    }

    /// d for this many rounds; nothing if there would be more than 10⁵ experts.
    pub(crate) fn experts(self, rounds: u64) -> Option<usize> {
        let columns = self.columns(rounds.min(1 << 40));
        let experts = match self {
            Self::Four | Self::Five => columns.checked_mul(2)?,
            Self::Six => columns.checked_mul(columns - 1)?.checked_mul(2)?,
        };
        (experts <= MOST_EXPERTS).then_some(experts)
    }
}

/// The adversary.
#[derive(Debug, Clone)]
pub struct Fingerprint {
    matrix: SignMatrix,
    /// Columns and guesses of each expert.
    guesses: Vec<([usize; PAIR], [bool; PAIR])>,
    marked: Vec<bool>,
    round: u64,
}

impl Fingerprint {
    /// An adversary for so many rounds.
    pub fn new(theorem: Theorem, rounds: u64, dice: &mut Dice) -> Self {
        let columns = theorem.columns(rounds);
        let matrix = match theorem {
            Theorem::Five => SignMatrix::consensus(columns / 1000 + 1, columns, dice),
            Theorem::Four | Theorem::Six => {
                // p = 1000·m² columns of n = m/ln m rows, as in the proof, and not fewer than 8.
                let m = (columns as f64 / 1000.0).sqrt();
                let rows = (m / m.max(2.0).ln()).ceil() as usize;
                SignMatrix::tardos(rows.max(8), columns, dice)
            }
        };
        Self::on(matrix, theorem == Theorem::Six)
    }

    fn on(matrix: SignMatrix, of_pairs: bool) -> Self {
        let columns = matrix.columns();
        let mut guesses = Vec::new();
        for first in 0..columns {
            if of_pairs {
                for second in first + 1..columns {
                    for code in 0..4 {
                        guesses.push(([first, second], [code & 1 == 1, code & 2 == 2]));
                    }
                }
            } else {
                guesses.extend([false, true].map(|sign| ([first; PAIR], [sign; PAIR])));
            }
        }
        Self {
            marked: vec![false; columns],
            guesses,
            round: 0,
            matrix,
        }
    }

    /// d.
    pub fn experts(&self) -> usize {
        self.guesses.len()
    }

    /// The losses of the present round, decided before its play is seen.
    pub fn losses(&self) -> Vec<f64> {
        let row = (self.round % self.matrix.rows() as u64) as usize;
        let cost = |(columns, signs): &([usize; PAIR], [bool; PAIR])| {
            let mut pairs = columns.iter().zip(signs);
            let wrong = pairs.any(|(&j, &sign)| self.marked[j] || self.matrix.sign(row, j) != sign);
            f64::from(u8::from(wrong))
        };
        self.guesses.iter().map(cost).collect()
    }

    /// The play of the present round, after which the next one begins: weights on the experts.
    pub fn sees(&mut self, play: &[f64], dice: &mut Dice) {
        let mut place = dice.uniform() * play.iter().sum::<f64>();
        let followed = play.iter().position(|weight| {
            place -= weight;
            place < 0.0
        });
        for column in followed.map_or([0; PAIR], |expert| self.guesses[expert].0) {
            self.marked[column] = true;
        }
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_hot(expert: usize, experts: usize) -> Vec<f64> {
        let mut play = vec![0.0; experts];
        play[expert] = 1.0;
        play
    }

    #[test]
    fn a_followed_column_costs_for_ever() {
        let mut dice = Dice::new(1);
        let mut adversary = Fingerprint::new(Theorem::Five, 9, &mut dice);
        assert_eq!(adversary.experts(), 20);
        for round in 0..9 {
            // One of the two guesses about an unknown column is right.
            let losses = adversary.losses();
            let ones = losses.iter().filter(|&&loss| loss > 0.5).count() as u64;
            assert_eq!(ones, 10 + round.min(3));
            let play = one_hot(2 * (round.min(2) as usize) + 1, 20);
            adversary.sees(&play, &mut dice);
        }
    }

    /// Each guess is compared with the row of the round alone, and 99.9 % of the columns agree in
    /// all rows.
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
        let mut adversary = Fingerprint::on(matrix.clone(), false);
        for round in 0..14 {
            let losses = adversary.losses();
            for j in 100..4000 {
                let sign = matrix.sign(round % 7, j);
                assert_eq!(
                    (losses[2 * j] > 0.5, losses[2 * j + 1] > 0.5),
                    (sign, !sign)
                );
            }
            adversary.sees(&one_hot(round, 8000), &mut dice);
        }
    }

    #[test]
    fn pairs_of_columns() {
        let mut dice = Dice::new(2);
        let mut pairs = Fingerprint::on(SignMatrix::tardos(4, 12, &mut dice), true);
        assert_eq!(pairs.experts(), 4 * 66);
        let right = |pairs: &Fingerprint| pairs.losses().iter().filter(|&&l| l < 0.5).count();
        assert_eq!(
            right(&pairs),
            66,
            "one guess of four is right about each pair"
        );
        pairs.sees(&one_hot(0, 264), &mut dice);
        assert_eq!(right(&pairs), 45, "two columns are known");
        assert_eq!(Theorem::Six.experts(10), Some(2 * 23 * 22));
        assert_eq!(Theorem::Six.experts(1000), None);
        assert_eq!(Theorem::Five.experts(9), Some(20));
    }
}
