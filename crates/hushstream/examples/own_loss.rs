//! A loss of your own, below the door: a private median. `cargo run --example own_loss`
use hushstream::account::FilterKind;
use hushstream::engine::{Objective, RecipeRequest, SumRun};
use hushstream::mechanism::losses::{Features, Loss, Record};
use hushstream::mechanism::{Contribution, MemoryStorage, Participation, Raw, Transcript};
use hushstream::noise::Key;
use hushstream::prelude::{Budget, Ledger, RecipeName, ReplaceOne};
use hushstream::sets::Ball;
use std::sync::Arc;

/// The distance of the weight from the record's target: the median has the least.
#[derive(Debug)]
struct Distance;

impl Loss for Distance {
    fn name(&self) -> &str {
        "distance"
    }
    fn dimension(&self) -> usize {
        1
    }
    fn lipschitz(&self) -> f64 {
        1.0
    }
    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        (weights[0] - record.target).abs()
    }
    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
        Contribution::Dense(vec![(weights[0] - record.target).signum()])
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let budget = Budget::approx(1.0, 1e-6)?;
    #[rustfmt::skip]
    let recipe = RecipeRequest {
        recipe: RecipeName::PftalConvex, objective: Objective::Convex(Arc::new(Distance)),
        set: Arc::new(Ball::new(1, 1.0)?), rounds: 1000, batch: 10, budget, adjacency: ReplaceOne,
        participation: Participation::OncePerRecord, sum: None, noise: None, window: None,
        curvature: None, learning_rate: None, tuned: false,
    }.plan()?;
    let (charge, scope) = (recipe.plan().charge()?, recipe.plan().scope());
    let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope)?;
    let grant = ledger.debit(charge, scope)?;
    let (key, journal) = (Key::from_os()?, MemoryStorage::default());
    let mut run = SumRun::<Transcript>::open(recipe, grant, &key, &mut ledger, journal)?;
    for i in 0..1000 {
        let (features, target) = (Features::Dense(vec![1.0]), f64::from(i % 10) / 10.0);
        run.learn(None, Raw::seal(Record { features, target }))?;
    }
    if let Some(last) = run.sync(&mut ledger)?.last() {
        println!("median of 0, 0.1, …, 0.9: about {:.2}", last.value()[0]);
    }
    Ok(())
}
