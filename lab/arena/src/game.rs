//! Streams and adversaries: who decides what the next record is.
//!
//! A game is played in coordinates: each round has a *direction* vector, and the task (linear
//! losses, means, regression) turns it into a record. Stochastic and oblivious games fix everything
//! in advance; adaptive ones look at the learner's iterate.

use crate::dice::Dice;
use crate::fingerprint::{Fingerprint, Theorem};
use std::fmt;
use std::str::FromStr;

/// How the environment behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Game {
    /// Independent rounds around one hidden direction.
    Stochastic,
    /// The hidden direction flips its sign at the middle and at three quarters: doing nothing, or
    /// never forgetting, costs a constant per round.
    Switching,
    /// The hidden direction turns slowly.
    Drifting,
    /// Blocks of doubling length, each with its own direction.
    Blocks,
    /// The environment answers with whatever hurts the present iterate, most of the time.
    Adaptive,
    /// The adversary of one of AFKT22's lower bounds, for experts.
    Afkt(Theorem),
    /// The losses of the adaptive game, recorded, and played once more with fresh coins and noise:
    /// now they are fixed in advance.
    AdaptiveReplayed,
    /// The same for an adversary of AFKT22.
    AfktReplayed(Theorem),
}

impl Game {
    /// All games.
    pub const ALL: [Self; 12] = [
        Self::Stochastic,
        Self::Switching,
        Self::Drifting,
        Self::Blocks,
        Self::Adaptive,
        Self::Afkt(Theorem::Four),
        Self::Afkt(Theorem::Five),
        Self::Afkt(Theorem::Six),
        Self::AdaptiveReplayed,
        Self::AfktReplayed(Theorem::Four),
        Self::AfktReplayed(Theorem::Five),
        Self::AfktReplayed(Theorem::Six),
    ];

    /// The game that is recorded first, if this is one that is replayed.
    pub fn recorded(self) -> Option<Self> {
        match self {
            Self::AdaptiveReplayed => Some(Self::Adaptive),
            Self::AfktReplayed(theorem) => Some(Self::Afkt(theorem)),
            _ => None,
        }
    }

    /// Whether losses may depend on the plays.
    pub fn is_adaptive(self) -> bool {
        matches!(self, Self::Adaptive | Self::Afkt(_))
    }

    /// The number of experts, where the game itself decides it; an error if they would be too many.
    ///
    /// # Errors
    /// What is allowed.
    pub fn experts(self, rounds: u64) -> Result<Option<usize>, String> {
        let (Self::Afkt(theorem) | Self::AfktReplayed(theorem)) = self else {
            return Ok(None);
        };
        theorem.experts(rounds).map(Some).ok_or_else(|| {
            format!(
                "{rounds} rounds of {self} need more than 100,000 experts; allowed: at most 44,999 \
                 rounds of afkt4 and afkt5, 99 of afkt6"
            )
        })
    }
}

impl fmt::Display for Game {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stochastic => "stochastic",
            Self::Switching => "switching",
            Self::Drifting => "drifting",
            Self::Blocks => "blocks",
            Self::Adaptive => "adaptive",
            Self::Afkt(Theorem::Four) => "afkt4",
            Self::Afkt(Theorem::Five) => "afkt5",
            Self::Afkt(Theorem::Six) => "afkt6",
            Self::AdaptiveReplayed => "adaptive-replayed",
            Self::AfktReplayed(Theorem::Four) => "afkt4-replayed",
            Self::AfktReplayed(Theorem::Five) => "afkt5-replayed",
            Self::AfktReplayed(Theorem::Six) => "afkt6-replayed",
        })
    }
}

impl FromStr for Game {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        called("game", &Self::ALL, name)
    }
}

/// The one of these with a name.
pub(crate) fn called<T: Copy + fmt::Display>(
    what: &str,
    all: &[T],
    name: &str,
) -> Result<T, String> {
    let found = all.iter().find(|one| one.to_string() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(T::to_string).collect();
        format!(
            "no {what} is called {name}; there are: {}",
            names.join(", ")
        )
    })
}

/// A game in progress.
#[derive(Debug, Clone)]
pub struct Environment {
    game: Game,
    rounds: u64,
    hidden: Vec<f64>,
    other: Vec<f64>,
    /// An adversary of experts.
    fingerprint: Option<Fingerprint>,
    dice: Dice,
}

impl Environment {
    /// A game of `rounds` rounds in `dimension` coordinates.
    pub fn new(game: Game, dimension: usize, rounds: u64, seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x68_75_73_68);
        let hidden = unit(dimension, &mut dice);
        let other = unit(dimension, &mut dice);
        let fingerprint = match game {
            Game::Afkt(theorem) => Some(Fingerprint::new(theorem, rounds, &mut dice)),
            _ => None,
        };
        Self {
            fingerprint,
            game,
            rounds,
            hidden,
            other,
            dice,
        }
    }

    /// The vector of round t (from 1), of length about one: signal half, noise half.
    pub fn direction(&mut self, t: u64, iterate: &[f64]) -> Vec<f64> {
        let fraction = t as f64 / self.rounds.max(1) as f64;
        let signal: Vec<f64> = match self.game {
            Game::Stochastic | Game::Afkt(_) | Game::AdaptiveReplayed | Game::AfktReplayed(_) => {
                self.hidden.clone()
            }
            Game::Switching => {
                let sign = if (0.5..0.75).contains(&fraction) {
                    -1.0
                } else {
                    1.0
                };
                self.hidden.iter().map(|h| sign * h).collect()
            }
            Game::Drifting => {
                let (cos, sin) = ((3.0 * fraction).cos(), (3.0 * fraction).sin());
                self.hidden
                    .iter()
                    .zip(&self.other)
                    .map(|(a, b)| cos * a + sin * b)
                    .collect()
            }
            Game::Blocks => {
                let block = t.ilog2() as usize;
                (0..self.hidden.len())
                    .map(|i| self.hidden[(i + block) % self.hidden.len()])
                    .collect()
            }
            Game::Adaptive => {
                let length = iterate.iter().map(|x| x * x).sum::<f64>().sqrt();
                if length > 1e-9 && self.dice.coin(0.7) {
                    iterate.iter().map(|x| -x / length).collect()
                } else {
                    self.hidden.clone()
                }
            }
        };
        let scale = 0.5 / (signal.len() as f64).sqrt();
        signal
            .iter()
            .map(|s| 0.5 * s + scale * self.dice.normal())
            .collect()
    }

    /// The losses of experts in this round, if an adversary of experts decides them; it then sees
    /// the play.
    pub fn advice(&mut self, play: &[f64]) -> Option<Vec<f64>> {
        let adversary = self.fingerprint.as_mut()?;
        let losses = adversary.losses();
        adversary.sees(play, &mut self.dice);
        Some(losses)
    }

    /// One more draw of the game's dice.
    pub fn noise(&mut self) -> f64 {
        self.dice.normal()
    }
}

fn unit(dimension: usize, dice: &mut Dice) -> Vec<f64> {
    let values: Vec<f64> = (0..dimension).map(|_| dice.normal()).collect();
    let length = values.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
    values.iter().map(|v| v / length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_repeat_and_have_names() {
        for game in Game::ALL {
            assert_eq!(game.to_string().parse(), Ok(game));
            let play = || {
                let mut environment = Environment::new(game, 4, 100, 3);
                (1..=100)
                    .map(|t| environment.direction(t, &[0.1; 4]))
                    .collect::<Vec<_>>()
            };
            assert_eq!(play(), play());
        }
        assert!("chess".parse::<Game>().is_err());
    }

    #[test]
    fn switching_switches() {
        let mut environment = Environment::new(Game::Switching, 3, 4000, 3);
        let mut mean = |range: std::ops::RangeInclusive<u64>| -> Vec<f64> {
            let mut total = vec![0.0; 3];
            for t in range.clone() {
                for (total, value) in total.iter_mut().zip(environment.direction(t, &[])) {
                    *total += value / (range.end() - range.start()) as f64;
                }
            }
            total
        };
        let (early, late) = (mean(1..=1900), mean(2001..=2900));
        let product: f64 = early.iter().zip(&late).map(|(a, b)| a * b).sum();
        assert!(product < -0.15, "{product}");
    }
}
