//! What must be the same is the same: windows that never close and the tree, dual averaging and the
//! approximate leader, sums that release the same values.

use crate::disk::Machine;
use crate::game::*;
use hushstream_learn::{DualAveraging, FollowTheApproximateLeader, Learner};
use hushstream_mechanism::sums::{Noise, PrivateSum, SumKind};
use hushstream_mechanism::{GuaranteeKind, Ledger, MemoryStorage, Transcript, Windowed};
use hushstream_recipes::{Ask, Recipe, RecipeName, RecipeRequest};
use hushstream_sets::{Ball, BoxSet, Simplex};

/// Every iterate that a run over the fixed stream publishes.
fn iterates<G: GuaranteeKind>(recipe: &Recipe) -> Vec<(u64, Vec<u64>)> {
    let (mut run, mut ledger) = Machine::default().open::<G>(recipe).unwrap();
    (1..=recipe.request().rounds).for_each(|t| play(&mut run, t));
    publish(&mut run, &mut ledger)
}

/// A window at least as wide as the run has the tree's nodes, the tree's depth, and the tree's
/// noise at the same addresses.
#[test]
fn a_window_as_wide_as_the_run_is_the_tree() {
    for rounds in [2, 3, 64, 65, 400] {
        for noise in NOISES {
            let start = |recipe| request(recipe, distance(3), Ball::new(3, 1.0).unwrap(), rounds);
            let tree = on(start(RecipeName::Pftal), SumKind::Tree, noise);
            let tree = tree.plan().unwrap();
            let expected = iterates::<Transcript>(&tree);
            assert_eq!(expected.len() as u64, rounds - 1);
            for width in [rounds - 1, rounds, rounds + 1, 2 * rounds, 1 << 40] {
                let window = on(start(RecipeName::CocoP), SumKind::Window(width), noise);
                let window = window.plan().unwrap();
                assert_eq!(window.plan().radius(), tree.plan().radius());
                let case = format!("T={rounds} W={width} {noise}");
                assert_eq!(iterates::<Windowed>(&window), expected, "{case}");
            }
        }
    }
}

#[test]
fn a_narrow_window_is_not_the_tree() {
    let start = |recipe| request(recipe, distance(3), Ball::new(3, 1.0).unwrap(), 64);
    let tree = iterates::<Transcript>(&start(RecipeName::Pftal).plan().unwrap());
    let narrow = on(
        start(RecipeName::CocoP),
        SumKind::Window(8),
        Noise::Gaussian,
    );
    assert_ne!(iterates::<Windowed>(&narrow.plan().unwrap()), tree);
}

/// `pftal-convex` feeds only ∇f_t to the sum. `pftal` on f_t + (H/2)‖w − c‖², fed the same released
/// sums plus the public part H·Σ(ŵ_τ − c), moves the same way.
#[test]
fn pftal_convex_is_pftal_on_the_regularised_losses() {
    const ROUNDS: u64 = 500;
    let sums = [
        (SumKind::Tree, Noise::Gaussian),
        (SumKind::BLT, Noise::Gaussian),
        (SumKind::Kary, Noise::L2Laplace),
    ];
    // A box that is not centred at zero.
    let set = || BoxSet::new(&[-0.1, -0.5, 0.1], &[0.4, 0.3, 0.6]).unwrap();
    let mut centre = vec![0.0; 3];
    hushstream_sets::ConvexSet::centre(&set(), &mut centre).unwrap();
    for (sum, noise) in sums {
        let start = request(RecipeName::PftalConvex, logistic(3), set(), ROUNDS);
        let recipe = on(start, sum, noise).plan().unwrap();
        let h = recipe.curvature();
        let published = iterates::<Transcript>(&recipe);

        let set = recipe.request().set.clone();
        let mut averaging = DualAveraging::new(set.clone(), h).unwrap();
        let mut leader = FollowTheApproximateLeader::new(set, h).unwrap();
        let mut regulariser = vec![0.0; 3];
        for ((t, prefix), (_, iterate)) in (1..).zip(prefixes(&recipe, ROUNDS)).zip(&published) {
            for (total, (w, c)) in regulariser
                .iter_mut()
                .zip(leader.iterate().iter().zip(&centre))
            {
                *total += h * (w - c);
            }
            let both: Vec<f64> = prefix
                .iter()
                .zip(&regulariser)
                .map(|(v, r)| v + r)
                .collect();
            averaging.observe(&prefix).unwrap();
            leader.observe(&both).unwrap();
            let case = format!("{sum} {noise} t={t}");
            assert_eq!(&bits(averaging.iterate()), iterate, "{case}");
            for (a, b) in averaging.iterate().iter().zip(leader.iterate()) {
                assert!((a - b).abs() < 1e-9, "{case}: {a} {b}");
            }
        }
        assert_eq!(published.len() as u64, ROUNDS - 1);
    }
}

/// The sums behind a recipe's run over the fixed stream: the same plan, key and number, so the same
/// noise.
fn prefixes(recipe: &Recipe, rounds: u64) -> Vec<Vec<f64>> {
    let plan = recipe.plan();
    let request = plan.request();
    let mut ledger =
        Ledger::simulated(request.budget, filter(request.noise), plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let storage = MemoryStorage::default();
    let mut sum =
        PrivateSum::<Transcript>::open(plan.clone(), grant, &key(), &mut ledger, storage).unwrap();
    let mut learner = recipe.learner().unwrap();
    let Ask::Gradient(loss) = recipe.ask() else {
        panic!("gradients are wanted")
    };
    (1..rounds)
        .map(|t| {
            let record = record(request.dimension as usize, t);
            let answer = sum.add_gradient(None, loss.as_ref(), learner.iterate(), record);
            sum.sync(&mut ledger).unwrap();
            let release = sum.publish(answer.unwrap().unwrap()).unwrap();
            learner.observe(release.value()).unwrap();
            release.into_value()
        })
        .collect()
}

/// What a learner does depends on the released values and on the recipe's public numbers, not on
/// the sum that released them.
#[test]
fn equal_releases_lead_to_equal_iterates_whatever_the_sum() {
    let values: Vec<Vec<f64>> = (1..64)
        .map(|t| {
            (0..3)
                .map(|i| f64::from((t * 29 + i * 13) % 41 - 20))
                .collect()
        })
        .collect();
    let drive = |request: RecipeRequest| {
        let recipe = request.plan().unwrap();
        let mut learner = recipe.learner().unwrap();
        let wide = learner.sum_dimension();
        let padded = |prefix: &Vec<f64>| prefix.iter().copied().cycle().take(wide).collect();
        let mut moves = vec![bits(learner.iterate())];
        for prefix in values.iter().map(padded) {
            let prefix: Vec<f64> = prefix;
            learner.observe(&prefix).unwrap();
            moves.push(bits(learner.iterate()));
        }
        moves
    };
    for mut request in every_recipe(3, 64) {
        // What would be calibrated to the sum's noise is stated.
        request.curvature = Some(0.3);
        request.learning_rate = Some(0.2);
        request.tuned = true;
        let mut cells = cells_of(&request, 10).into_iter();
        let expected = drive(cells.next().unwrap());
        for cell in cells {
            assert_eq!(drive(cell), expected, "{}", request.recipe);
        }
    }
    // The window recipe with projections has the tree recipe's learner.
    let start = |recipe| {
        let set = Simplex::new(3).unwrap();
        request(recipe, distance(3), set, 64)
    };
    assert_eq!(
        drive(start(RecipeName::CocoP)),
        drive(start(RecipeName::Pftal))
    );
}
