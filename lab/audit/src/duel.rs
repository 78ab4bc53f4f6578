//! Two neighbouring streams, one mechanism, and what an attacker sees of it.

use crate::AuditError;
use hushstream_account::Adjacency;
use hushstream_arena::{Dice, in_parallel};

/// Which of two neighbouring streams is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// One of them.
    Left,
    /// The other.
    Right,
}

impl World {
    /// −1 for left, +1 for right: what a canary multiplies its gradient by.
    pub fn sign(self) -> f64 {
        match self {
            Self::Left => -1.0,
            Self::Right => 1.0,
        }
    }

    /// How much a canary pulls; nothing is the null record.
    pub(crate) fn pull(self, adjacency: Adjacency) -> Option<f64> {
        match (adjacency, self) {
            (Adjacency::ZeroOut, Self::Left) => None,
            _ => Some(self.sign()),
        }
    }
}

/// A pair of neighbouring streams, played against a fresh instance of a mechanism as often as one
/// likes.
///
/// Everything returned by [`Duel::play`] must be what an outsider may see, or what an outsider can
/// compute from it: only then does a bound say something about the guarantee.
///
/// ```
/// use hushstream_account::Budget;
/// use hushstream_audit::{AuditError, Duel, Effort, Target, World, audit};
/// use hushstream_recipes::RecipeName;
///
/// /// A mechanism that publishes the record as it is.
/// struct Naked;
///
/// impl Duel for Naked {
///     fn name(&self) -> String {
///         "a record without noise".to_owned()
///     }
///
///     fn play(&self, world: World, _seed: u64) -> Result<Vec<f64>, AuditError> {
///         Ok(vec![world.sign()])
///     }
/// }
///
/// let claim = Target::new(RecipeName::Pftal, None, Budget::approx(1.0, 1e-5)?)?.claim()?;
/// let verdict = audit(claim, &[Box::new(Naked)], Effort::runs(1000, 1e-3, 1))?;
/// assert!(verdict.violated());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Duel: Sync {
    /// What differs between the streams, for people.
    fn name(&self) -> String;

    /// Plays once with noise from `seed` and gives what was published, always equally many numbers.
    ///
    /// # Errors
    /// Whatever keeps the mechanism from running.
    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError>;

    /// A score that is large where the right world is more likely, if the noise's law tells one. A
    /// wrong one proves less, never too much.
    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let _ = seen;
        None
    }
}

/// Which runs: no two stages, worlds or duels of one audit share a seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runs {
    seed: u64,
    stage: u64,
    first: u64,
    count: u64,
}

impl Runs {
    /// None yet.
    pub(crate) fn new(seed: u64, stage: u64) -> Self {
        Self {
            seed,
            stage,
            first: 0,
            count: 0,
        }
    }

    /// Those after so many.
    pub(crate) fn after(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// So many of them.
    pub(crate) fn take(self, count: u64) -> Self {
        Self { count, ..self }
    }

    fn seed_of(self, world: World, index: u64) -> u64 {
        let side = u64::from(world == World::Right);
        let mut dice = Dice::new(self.seed);
        let mut mixed = dice.bits();
        for part in [self.stage, side, index] {
            mixed = Dice::new(mixed ^ part.wrapping_mul(0xd134_2543_de82_ef95)).bits();
        }
        mixed
    }
}

/// Plays many times, on as many threads as the machine has, and keeps what `keep` makes of each; in
/// the order of the seeds.
pub(crate) fn play_many<T: Send>(
    duel: &dyn Duel,
    world: World,
    runs: Runs,
    keep: impl Fn(Vec<f64>) -> T + Sync,
) -> Result<Vec<T>, AuditError> {
    const PORTION: u64 = 64;
    let portions: Vec<u64> = (0..runs.count.div_ceil(PORTION)).collect();
    let played = in_parallel(&portions, |portion| {
        let first = portion * PORTION;
        (first..runs.count.min(first + PORTION))
            .map(|index| {
                let seed = runs.seed_of(world, runs.first + index);
                duel.play(world, seed).map(&keep)
            })
            .collect::<Result<Vec<T>, AuditError>>()
    })?;
    Ok(played.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn seeds_do_not_meet() {
        let mut seen = HashSet::new();
        for seed in 0..3 {
            for stage in 0..4 {
                for world in [World::Left, World::Right] {
                    for index in 0..500 {
                        let runs = Runs::new(seed, stage);
                        assert!(seen.insert(runs.seed_of(world, index)));
                    }
                }
            }
        }
    }

    struct Echo;
    impl Duel for Echo {
        fn name(&self) -> String {
            "echo".into()
        }
        fn play(&self, _: World, seed: u64) -> Result<Vec<f64>, AuditError> {
            Ok(vec![seed as f64])
        }
    }

    #[test]
    fn runs_come_in_order_whatever_the_threads_do() {
        let runs = Runs::new(1, 2).take(1000);
        let once = play_many(&Echo, World::Left, runs, |seen| seen[0].to_bits()).unwrap();
        let again = play_many(&Echo, World::Left, runs, |seen| seen[0].to_bits()).unwrap();
        assert_eq!((once.len(), &once), (1000, &again));
    }
}
