//! The private state of a selection, and its step: integers and exact draws only.

use super::board::{Board, FORCED_BITS, RATE_BITS};
use super::plan::Schedule;
use crate::durable::packed;
use hushstream_noise::{Coin, Dyadic, ExponentialChoice, NoiseError, Source};
use serde::{Deserialize, Serialize};

/// Bits of a loss after the point.
pub(crate) const LOSS_BITS: u32 = 24;

/// Lanes of the two draws that an item may need.
const COINS: u32 = 0;
const CHOICE: u32 = 1;

/// The state of a selection. Private, except for the played expert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Play {
    /// Losses of this epoch, in units of 2⁻²⁴.
    #[serde(with = "packed")]
    pub(crate) totals: Vec<u64>,
    /// The played expert: the release.
    #[serde(with = "postcard::fixint::le")]
    pub(crate) current: u32,
    /// Draws used in this epoch.
    #[serde(with = "postcard::fixint::le")]
    pub(crate) used: u64,
    /// Items, over all epochs.
    pub(crate) items: u64,
}

impl Play {
    /// The state before any item: a uniform expert.
    pub(crate) fn begin(experts: u32, source: &Source) -> Result<Self, NoiseError> {
        let mut play = Self {
            totals: vec![0; experts as usize],
            current: 0,
            used: 0,
            items: 0,
        };
        play.draw(1, source)?;
        Ok(play)
    }

    /// Takes in one item, the sums of a batch, and moves or stays.
    pub(crate) fn step(
        &mut self,
        item: &[u64],
        schedule: &Schedule,
        source: &Source,
    ) -> Result<(), NoiseError> {
        for (total, loss) in self.totals.iter_mut().zip(item) {
            *total += loss;
        }
        self.items += 1;
        // An octave ends with items 1, 3, 7, …: the next item's number is a power of two.
        let ends = (self.items + 1).is_power_of_two();
        match schedule {
            Schedule::Whole(board) => self.move_or_stay(board, item, source),
            Schedule::Seasons { items, .. } if self.items.is_multiple_of(*items) => {
                self.forget();
                self.draw(1, source)
            }
            Schedule::Seasons { board, .. } => self.move_or_stay(board, item, source),
            Schedule::Octaves(_) if ends => {
                self.forget();
                self.draw(1, source)
            }
            Schedule::Octaves(boards) => {
                let octave = self.items.ilog2() as usize;
                let board = boards[octave.min(boards.len() - 1)];
                self.move_or_stay(&board, item, source)
            }
            Schedule::Doubling { rate } if ends => {
                self.draw(*rate, source)?;
                self.forget();
                Ok(())
            }
            Schedule::Doubling { .. } => Ok(()),
        }
    }

    /// AFKT22 Algorithm 1 lines 7–14, with the branch that erratum F1 misses: without draws left
    /// the expert stays.
    fn move_or_stay(
        &mut self,
        board: &Board,
        item: &[u64],
        source: &Source,
    ) -> Result<(), NoiseError> {
        if self.used >= board.resamples {
            return Ok(());
        }
        let mut coins = source.cursor(self.items, COINS);
        let forced = Coin::ratio(board.forced, 1 << FORCED_BITS)?.toss(&mut coins);
        let exponent = board.rate * item[self.current as usize];
        let stays =
            !forced && Coin::exp_minus(exponent, 1 << (RATE_BITS + LOSS_BITS))?.toss(&mut coins);
        if stays {
            return Ok(());
        }
        self.used += 1;
        self.draw(board.rate, source)
    }

    fn draw(&mut self, rate: u64, source: &Source) -> Result<(), NoiseError> {
        let choice = ExponentialChoice::new(Dyadic::new(rate, RATE_BITS + LOSS_BITS)?);
        let chosen = choice.draw(&self.totals, &mut source.cursor(self.items, CHOICE))?;
        self.current = chosen as u32; // at most 2³² experts
        Ok(())
    }

    fn forget(&mut self) {
        self.totals.fill(0);
        self.used = 0;
    }
}
