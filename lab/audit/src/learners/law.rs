//! The exact law of a private selection's plays, from its public parameters: what the best attacker
//! knows.
//!
//! Whether an expert was kept or drawn again is hidden, and so is how many draws are left; both are
//! summed out, play by play.

use hushstream_arena::add;
use hushstream_mechanism::select::Board;

/// How plays come about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Law {
    /// A shrinking dartboard, or Hedge.
    Board(Board),
    /// One draw with this rate at the end of every octave, from its items alone.
    Doubling(f64),
}

impl Law {
    /// ln P(plays | the first one), where `item(k)` is what the experts lost in item k, from 1, for
    /// so many experts.
    pub(crate) fn ln_probability(
        &self,
        experts: usize,
        plays: &[usize],
        item: impl Fn(u64) -> Vec<f64>,
    ) -> f64 {
        let mut totals = vec![0.0; experts];
        let moves = (1_u64..).zip(plays.windows(2));
        match *self {
            Self::Doubling(rate) => {
                let mut sum = 0.0;
                for (number, pair) in moves {
                    add(&mut totals, item(number));
                    if (number + 1).is_power_of_two() {
                        sum += libm::log(chosen(&totals, rate, pair[1]));
                        totals.fill(0.0);
                    } else if pair[0] != pair[1] {
                        return f64::NEG_INFINITY;
                    }
                }
                sum
            }
            Self::Board(board) => {
                let most = usize::try_from(board.resamples()).unwrap_or(usize::MAX);
                let most = most.min(plays.len());
                // How likely the plays so far are together with so many draws.
                let mut after = vec![0.0; most + 1];
                after[0] = 1.0;
                for (number, pair) in moves {
                    let losses = item(number);
                    add(&mut totals, losses.iter().copied());
                    let same = f64::from(u8::from(pair[0] == pair[1]));
                    let keep = (1.0 - board.forced()) * libm::exp(-board.rate() * losses[pair[0]]);
                    let drawn = (1.0 - keep) * chosen(&totals, board.rate(), pair[1]);
                    let before = std::mem::replace(&mut after, vec![0.0; most + 1]);
                    for (used, probability) in before.into_iter().enumerate() {
                        if used == most {
                            after[used] += probability * same;
                        } else {
                            after[used] += probability * keep * same;
                            after[used + 1] += probability * drawn;
                        }
                    }
                }
                libm::log(after.iter().sum())
            }
        }
    }
}

/// The probability of one expert under weights e^(−rate·total).
fn chosen(totals: &[f64], rate: f64, expert: usize) -> f64 {
    let least = totals.iter().copied().fold(f64::INFINITY, f64::min);
    let weight = |total: &f64| libm::exp(-rate * (total - least));
    weight(&totals[expert]) / totals.iter().map(weight).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over all plays of three items the probabilities add up to one, and one draw of two experts
    /// is a logistic function.
    #[test]
    fn it_is_a_law() {
        let item = |number: u64| vec![1.0, 0.25 * number as f64, 0.0];
        for law in [
            Law::Board(Board::new(0.5, 0.3, 2).unwrap()),
            Law::Board(Board::new(0.5, 1.0, 3).unwrap()),
            Law::Doubling(0.7),
        ] {
            let mut sum = 0.0;
            for code in 0..27_usize {
                let plays = [1, code % 3, code / 3 % 3, code / 9];
                sum += libm::exp(law.ln_probability(3, &plays, item));
            }
            assert!((sum - 1.0).abs() < 1e-12, "{law:?}: {sum}");
        }
        let one = Law::Doubling(2.0).ln_probability(2, &[0, 1], |_| vec![1.0, 0.0]);
        assert!((libm::exp(one) - 1.0 / (1.0 + libm::exp(-2.0))).abs() < 1e-12);
    }
}
