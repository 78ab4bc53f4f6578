//! What the experiments share.

use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_arena::{Environment, Game, Task, best_in_hindsight, record};
use hushstream_mechanism::losses::Loss;
use hushstream_mechanism::{GuaranteeKind, Ledger, MemoryStorage, Participation, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{Objective, Recipe, RecipeName, RecipeRequest, SumRun};
use hushstream_sets::ConvexSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// T = 2¹⁰…2¹⁷, or every second of them.
pub(crate) fn lengths() -> Vec<u64> {
    if cfg!(feature = "long") {
        (10..=17).map(|power| 1 << power).collect()
    } else {
        (11..=17).step_by(2).map(|power| 1 << power).collect()
    }
}

/// (1, 10⁻⁶).
pub(crate) fn budget() -> Budget {
    Budget::approx(1.0, 1e-6).unwrap()
}

/// A request of `recipe` with nothing special.
pub(crate) fn request(
    recipe: RecipeName,
    objective: Objective,
    set: Arc<dyn ConvexSet>,
    rounds: u64,
) -> RecipeRequest {
    RecipeRequest {
        recipe,
        objective,
        set,
        rounds,
        batch: 1,
        budget: budget(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        sum: None,
        noise: None,
        window: None,
        curvature: None,
        learning_rate: None,
        tuned: false,
    }
}

/// A switching game, recorded, with what the best fixed point and the set's centre pay.
pub(crate) struct Recorded {
    pub(crate) rows: Vec<(Vec<f64>, f64)>,
    pub(crate) best: f64,
    pub(crate) nothing: f64,
}

impl Recorded {
    pub(crate) fn new(
        task: Task,
        set: &dyn ConvexSet,
        loss: &dyn Loss,
        rounds: u64,
        seed: u64,
    ) -> Self {
        let dimension = set.dimension();
        let mut environment = Environment::new(Game::Switching, dimension, rounds, seed);
        let rows: Vec<_> = (1..=rounds)
            .map(|t| task.row(&mut environment, t, &[]))
            .collect();
        let mut centre = vec![0.0; dimension];
        set.centre(&mut centre).unwrap();
        let paid = rows.iter().map(|row| loss.value(&record(row), &centre));
        Self {
            nothing: paid.sum(),
            best: best_in_hindsight(task, set, loss, rows.clone())
                .unwrap()
                .loss,
            rows,
        }
    }

    /// The regret of a recipe with the noise of this seed.
    pub(crate) fn regret<G: GuaranteeKind>(
        &self,
        recipe: Recipe,
        loss: &dyn Loss,
        seed: u64,
    ) -> f64 {
        let plan = recipe.plan();
        let kind = if plan.request().noise.is_pure() {
            FilterKind::Pure
        } else {
            FilterKind::Gaussian
        };
        let (scope, budget) = (plan.scope(), recipe.request().budget);
        let mut ledger = Ledger::simulated(budget, kind, scope).unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), scope).unwrap();
        let key = Key::insecure_from_seed(seed);
        let storage = MemoryStorage::default();
        let mut run = SumRun::<G>::open(recipe, grant, &key, &mut ledger, storage).unwrap();
        let mut total = 0.0;
        for (t, row) in (1_u64..).zip(&self.rows) {
            total += loss.value(&record(row), run.question().for_the_operator());
            run.learn(None, Raw::seal(record(row))).unwrap();
            if t.is_multiple_of(512) {
                run.sync(&mut ledger).unwrap();
            }
        }
        total - self.best
    }
}

/// The means over seeds of several numbers, on as many threads as the machine has.
pub(crate) fn means<const N: usize>(
    seeds: Range<u64>,
    play: impl Fn(u64) -> [f64; N] + Sync,
) -> [f64; N] {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicU64::new(seeds.start);
    let mut all = std::thread::scope(|scope| {
        let worker = || {
            let mut mine = Vec::new();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return mine;
                }
                mine.push((seed, play(seed)));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let results = workers.into_iter().map(|worker| worker.join().unwrap());
        results.flatten().collect::<Vec<_>>()
    });
    // In the order of seeds: sums of floats depend on it.
    all.sort_by_key(|(seed, _)| *seed);
    let count = all.len() as f64;
    std::array::from_fn(|i| all.iter().map(|(_, values)| values[i]).sum::<f64>() / count)
}
