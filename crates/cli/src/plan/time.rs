//! Measures the time per round: runs the planned sum or recipe on zeros for a moment, with
//! simulated noise and with ledger and journal in memory.

use anyhow::Result;
use hushstream_account::FilterKind;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{PrivateSum, SumPlan};
use hushstream_mechanism::{
    Contribution, Grant, GuaranteeKind, Ledger, MemoryStorage, Participation, Raw, Transcript,
    Windowed,
};
use hushstream_noise::Key;
use hushstream_recipes::{Recipe, SumRun};
use std::time::{Duration, Instant};

/// Nanoseconds per record of a sum.
pub(crate) fn of_sum(plan: &SumPlan) -> Result<f64> {
    if plan.request().kind.is_windowed() {
        sum::<Windowed>(plan)
    } else {
        sum::<Transcript>(plan)
    }
}

/// Nanoseconds per record of a recipe, learner included.
pub(crate) fn of_recipe(recipe: &Recipe) -> Result<f64> {
    if recipe.plan().request().kind.is_windowed() {
        run::<Windowed>(recipe)
    } else {
        run::<Transcript>(recipe)
    }
}

pub(super) fn paid(plan: &SumPlan) -> Result<(Ledger, Grant)> {
    let request = plan.request();
    let kind = if request.noise.is_pure() {
        FilterKind::Pure
    } else {
        FilterKind::Gaussian
    };
    let mut ledger = Ledger::simulated(request.budget, kind, plan.scope())?;
    let grant = ledger.debit(plan.charge()?, plan.scope())?;
    Ok((ledger, grant))
}

fn sum<G: GuaranteeKind>(plan: &SumPlan) -> Result<f64> {
    let (mut ledger, grant) = paid(plan)?;
    let request = plan.request();
    let mut sum = PrivateSum::<G>::open(
        plan.clone(),
        grant,
        &Key::insecure_from_seed(0),
        &mut ledger,
        MemoryStorage::default(),
    )?;
    let most = plan.most_releases().saturating_mul(request.batch);
    measured(most, |round| {
        let record = Raw::seal(Contribution::Dense(vec![0.0; request.dimension as usize]));
        if request.participation == Participation::OncePerRecord {
            sum.add(record)?;
        } else {
            sum.add_for(round, record)?;
        }
        if round % 64 == 63 {
            sum.sync(&mut ledger)?;
        }
        Ok(())
    })
}

fn run<G: GuaranteeKind>(recipe: &Recipe) -> Result<f64> {
    let (mut ledger, grant) = paid(recipe.plan())?;
    let storage = MemoryStorage::default();
    let key = Key::insecure_from_seed(0);
    let mut run = SumRun::<G>::open(recipe.clone(), grant, &key, &mut ledger, storage)?;
    let persons = recipe.request().participation != Participation::OncePerRecord;
    let dimension = recipe.request().set.dimension();
    measured(recipe.request().rounds, |round| {
        let features = Features::Dense(vec![0.0; dimension]);
        let record = Record {
            features,
            target: 0.0,
        };
        run.learn(persons.then_some(round), Raw::seal(record))?;
        if round % 64 == 63 {
            run.sync(&mut ledger)?;
        }
        Ok(())
    })
}

/// The time of all rounds, or of as many as fit into a moment.
pub(super) fn measured(most: u64, mut play: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    let mut rounds = 0_u64;
    while rounds < most && (rounds < 4 || start.elapsed() < Duration::from_millis(60)) {
        play(rounds)?;
        rounds += 1;
    }
    Ok(start.elapsed().as_nanos() as f64 / rounds as f64)
}
