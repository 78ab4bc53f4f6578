//! A recipe for experts against whoever advises: simulated noise, public losses, and the regret
//! that comes out.

use hushstream_arena::Dice;
use hushstream_mechanism::{Ledger, MemoryStorage, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{ExpertsRecipe, ExpertsRun};

/// Who decides the losses.
pub(crate) trait Advisor {
    /// d.
    fn experts(&self) -> usize;
    /// T.
    fn rounds(&self) -> u64;
    /// The losses of the present round, decided before its play is seen.
    fn losses(&mut self) -> Vec<f64>;
    /// The play of the present round, after which the next one begins.
    fn sees(&mut self, played: usize);
}

/// Losses with fixed means and independent rounds: Bernoulli.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    means: Vec<f64>,
    rounds: u64,
    dice: Dice,
}

impl Fixed {
    /// Experts with these mean losses.
    pub(crate) fn new(means: Vec<f64>, rounds: u64, seed: u64) -> Self {
        Self {
            means,
            rounds,
            dice: Dice::new(seed),
        }
    }
}

impl Advisor for Fixed {
    fn experts(&self) -> usize {
        self.means.len()
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn losses(&mut self) -> Vec<f64> {
        let dice = &mut self.dice;
        let toss = |&mean: &f64| f64::from(u8::from(dice.coin(mean)));
        self.means.iter().map(toss).collect()
    }

    fn sees(&mut self, _: usize) {}
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Duel {
    /// Loss of the plays.
    pub(crate) loss: f64,
    /// Loss of the best expert in hindsight.
    pub(crate) best: f64,
    /// Loss of always following the first expert that was played.
    pub(crate) nothing: f64,
}

impl Duel {
    /// Loss of the plays minus that of the best expert.
    pub(crate) fn regret(&self) -> f64 {
        self.loss - self.best
    }
}

struct Count {
    totals: Vec<f64>,
    loss: f64,
    first: Option<usize>,
}

impl Count {
    fn new(experts: usize) -> Self {
        Self {
            totals: vec![0.0; experts],
            loss: 0.0,
            first: None,
        }
    }

    fn add(&mut self, losses: &[f64], played: usize) {
        self.first.get_or_insert(played);
        self.loss += losses[played];
        for (total, loss) in self.totals.iter_mut().zip(losses) {
            *total += loss;
        }
    }

    fn outcome(&self) -> Duel {
        Duel {
            loss: self.loss,
            best: self.totals.iter().copied().fold(f64::INFINITY, f64::min),
            nothing: self.first.map_or(0.0, |first| self.totals[first]),
        }
    }
}

/// Plays the recipe against an advisor.
pub(crate) fn duel(recipe: &ExpertsRecipe, advisor: &mut dyn Advisor, seed: u64) -> Duel {
    let plan = recipe.plan();
    let (scope, budget) = (plan.scope(), recipe.request().budget);
    let mut ledger = Ledger::simulated(budget, plan.filter(), scope).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), scope).unwrap();
    let key = Key::insecure_from_seed(seed);
    let storage = MemoryStorage::default();
    let mut run = ExpertsRun::open(recipe.clone(), grant, &key, &mut ledger, storage).unwrap();
    let mut count = Count::new(advisor.experts());
    for _ in 0..advisor.rounds() {
        let losses = advisor.losses();
        let played = *run.expert().for_the_operator();
        count.add(&losses, played);
        run.learn_losses(Raw::seal(losses)).unwrap();
        run.sync(&mut ledger).unwrap();
        advisor.sees(played);
    }
    count.outcome()
}

/// Hedge without privacy, drawn anew every round, against an advisor.
#[cfg(feature = "long")]
pub(crate) fn hedge(advisor: &mut dyn Advisor, seed: u64) -> Duel {
    let (experts, rounds) = (advisor.experts(), advisor.rounds());
    let rate = (8.0 * (experts.max(2) as f64).ln() / rounds.max(1) as f64).sqrt();
    let mut dice = Dice::new(seed ^ 0x6865_6467);
    let mut count = Count::new(experts);
    for _ in 0..rounds {
        let losses = advisor.losses();
        let least = count.totals.iter().copied().fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = count
            .totals
            .iter()
            .map(|total| (rate * (least - total)).exp())
            .collect();
        let mut place = dice.uniform() * weights.iter().sum::<f64>();
        let played = weights
            .iter()
            .position(|weight| {
                place -= weight;
                place < 0.0
            })
            .unwrap_or(experts - 1);
        count.add(&losses, played);
        advisor.sees(played);
    }
    count.outcome()
}
