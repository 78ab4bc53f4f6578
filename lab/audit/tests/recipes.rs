//! Every recipe: no bound above its claim, and close to it where that is possible.
#![allow(clippy::unwrap_used)]

use hushstream_account::Budget;
use hushstream_audit::{Effort, Target, audit};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_recipes::{CATALOGUE, RecipeName};

/// Budgets for which a few thousand runs tell much: μ = 1.67, and ε = 2.
fn budgets() -> (Budget, Budget) {
    (
        Budget::approx(8.0, 1e-5).unwrap(),
        Budget::pure(2.0).unwrap(),
    )
}

/// A correct recipe is flagged with probability below 10⁻⁷; seeds are fixed besides.
const ERROR: f64 = 1e-7;

#[test]
fn no_bound_exceeds_its_claim() {
    let (gaussian, pure) = budgets();
    for target in Target::all(gaussian, pure) {
        let effort = Effort::runs(600, ERROR, 7);
        let verdict = audit(target.claim().unwrap(), &target.duels().unwrap(), effort).unwrap();
        assert!(!verdict.violated(), "{target}: {verdict:?}");
    }
}

/// None is forgotten.
#[test]
fn every_recipe_is_audited() {
    let (gaussian, pure) = budgets();
    let targets = Target::all(gaussian, pure);
    for entry in CATALOGUE {
        let audited = targets.iter().any(|target| target.recipe == entry.recipe);
        assert!(audited, "{}", entry.name);
    }
}

/// Where the truth is close to the claim, so is the bound: one draw among eight experts, one noisy
/// answer, one phase, the sum under one-point gradients.
#[test]
fn draws_answers_phases_and_values_are_audited_closely() {
    let (gaussian, pure) = budgets();
    for (recipe, budget, runs, share) in [
        (RecipeName::Dartboard, pure, 12_000, 0.65),
        (RecipeName::DartboardBatched, pure, 12_000, 0.65),
        (RecipeName::HedgeBatched, pure, 12_000, 0.65),
        (RecipeName::Cover, pure, 12_000, 0.3),
        (RecipeName::LimitedUpdates, pure, 12_000, 0.65),
        (RecipeName::LimitedUpdates, gaussian, 4000, 0.8),
        (RecipeName::Exp2, pure, 10_000, 0.8),
        (RecipeName::Exp2, gaussian, 4000, 0.8),
        (RecipeName::Exp2Batched, pure, 10_000, 0.8),
        (RecipeName::Exp2Batched, gaussian, 4000, 0.8),
        (RecipeName::Scrible, pure, 10_000, 0.8),
        (RecipeName::Scrible, gaussian, 4000, 0.8),
        (RecipeName::PftalBandit, pure, 12_000, 0.75),
        (RecipeName::PftalBandit, gaussian, 4000, 0.8),
    ] {
        let target = Target::new(recipe, None, budget).unwrap();
        let first = &target.duels().unwrap()[..1];
        let effort = Effort::runs(runs, 1e-3, 5);
        let verdict = audit(target.claim().unwrap(), first, effort).unwrap();
        assert!(verdict.share >= share, "{target}: {}", verdict.share);
        assert!(!verdict.violated());
    }
}

/// The one phase of the second octave, with pure noise.
#[test]
fn pure_phases_are_audited_closely() {
    let (_, pure) = budgets();
    let target = Target {
        noise: Noise::L2Laplace,
        ..Target::new(RecipeName::LimitedUpdates, None, pure).unwrap()
    };
    is_tight(&target, 25_000);
}

/// After its one draw a dartboard stays; if it drew on, sixteen plays would prove more than its
/// claim.
#[test]
fn a_spent_dartboard_stays() {
    let target = Target::spent_dartboard(budgets().1).unwrap();
    let first = &target.duels().unwrap()[..1];
    let effort = Effort::runs(6000, ERROR, 5);
    let verdict = audit(target.claim().unwrap(), first, effort).unwrap();
    assert!(!verdict.violated(), "{verdict:?}");
    assert!(verdict.share > 0.2, "{}", verdict.share);
}

/// A tight audit, not an empty one.
#[test]
fn gaussian_sums_are_audited_to_four_fifths() {
    let (gaussian, _) = budgets();
    for sum in SumKind::ALL {
        if sum.accepts(Noise::Gaussian).is_err() {
            continue;
        }
        let mut target = Target::new(RecipeName::PftalConvex, Some(sum), gaussian).unwrap();
        if sum == SumKind::Eras {
            // The price is that of an era's last release.
            target.releases = 256;
        }
        is_tight(&target, 4000);
    }
}

#[test]
fn laplace_sums_of_up_to_four_levels_are_audited_to_four_fifths() {
    let (_, pure) = budgets();
    let plain = |sum| Target {
        noise: Noise::Laplace,
        ..Target::new(RecipeName::PftalConvex, Some(sum), pure).unwrap()
    };
    // Four levels: eight releases of a tree.
    let deep = Target {
        releases: 8,
        ..plain(SumKind::Tree)
    };
    let sums = SumKind::ALL.into_iter();
    let carrying = sums.filter(|sum| sum.accepts(Noise::Laplace).is_ok());
    for target in carrying.map(plain).chain([deep]) {
        is_tight(&target, 25_000);
    }
}

/// A record among others of its batch is as exposed as one alone, and no more.
#[test]
fn records_in_batches_are_audited_to_four_fifths() {
    let (gaussian, _) = budgets();
    for sum in [SumKind::Tree, SumKind::BLT] {
        let plain = Target::new(RecipeName::PftalConvex, Some(sum), gaussian).unwrap();
        is_tight(&Target { batch: 3, ..plain }, 4000);
    }
}

/// Every iterate of these moves by its whole sensitivity.
#[test]
fn gaussian_iterates_are_audited_to_four_fifths() {
    let (gaussian, _) = budgets();
    for (recipe, releases) in [
        (RecipeName::Pigd, 1),
        (RecipeName::Pigd, 7),
        (RecipeName::Pgiga, 3),
        (RecipeName::Pocp, 3),
        // Of the budget of an unknown horizon fifteen releases use √(4/5).
        (RecipeName::PocpAnytime, 15),
        (RecipeName::Pol, 3),
        (RecipeName::SparseFtrl, 3),
    ] {
        let plain = Target::new(recipe, None, gaussian).unwrap();
        is_tight(&Target { releases, ..plain }, 8000);
    }
}

#[test]
fn pure_iterates_are_audited_to_four_fifths() {
    let (_, pure) = budgets();
    for (recipe, releases) in [
        (RecipeName::Pigd, 1),
        (RecipeName::Pigd, 3),
        (RecipeName::Pgiga, 3),
        (RecipeName::Pocp, 3),
        (RecipeName::Pol, 7),
    ] {
        let plain = Target::new(recipe, None, pure).unwrap();
        is_tight(&Target { releases, ..plain }, 25_000);
    }
}

/// The record that most noise tells of, four fifths of the claim, and not more than it.
fn is_tight(target: &Target, runs: u64) {
    let deepest = &target.duels().unwrap()[..1];
    let verdict = audit(
        target.claim().unwrap(),
        deepest,
        Effort::runs(runs, 1e-3, 5),
    )
    .unwrap();
    assert!(verdict.share >= 0.8, "{target}: {}", verdict.share);
    assert!(!verdict.violated());
}

/// The order of the records in a batch must not matter: floats become integers before they are
/// added.
#[test]
fn the_product_sums_exactly() {
    use hushstream_account::{Adjacency, FilterKind};
    use hushstream_mechanism::sums::{Geometry, PrivateSum, SumRequest};
    use hushstream_mechanism::{
        Contribution, Ledger, MemoryStorage, Participation, Raw, Transcript,
    };
    let records: Vec<f64> = (0..500_u32)
        .map(|i| (f64::from(i) * 0.7).sin() * 0.9)
        .collect();
    let release = |records: &[f64]| {
        let plan = SumRequest {
            kind: SumKind::Tree,
            noise: Noise::Gaussian,
            releases: 1,
            dimension: 1,
            bound: 1.0,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: records.len() as u64,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            budget: budgets().0,
        }
        .plan()
        .unwrap();
        let kind = FilterKind::Gaussian;
        let mut ledger = Ledger::simulated(budgets().0, kind, plan.scope()).unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let key = hushstream_noise::Key::insecure_from_seed(4);
        let storage = MemoryStorage::default();
        let mut sum =
            PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, storage).unwrap();
        let mut last = None;
        for &record in records {
            last = sum
                .add(Raw::seal(Contribution::Dense(vec![record])))
                .unwrap();
        }
        sum.sync(&mut ledger).unwrap();
        sum.publish(last.unwrap()).unwrap().into_value()[0].to_bits()
    };
    assert!(!hushstream_audit::planted::order_matters(
        &records, 10, 1, release
    ));
}
