//! With a budget that leaves room they find what is there to be found, within their bounds; and
//! they say what they promise.

use crate::*;
use hushstream_learn::bandits::{Exp4, OnePoint, PublicAdvice};
use hushstream_mechanism::MemoryStorage;
use hushstream_noise::Key;
use hushstream_recipes::{BanditRun, ExpertsRun, LimitedUpdatesRun, ValuesRun};

#[test]
fn experts_within_their_bounds() {
    let rounds = 4000;
    for recipe in [
        RecipeName::Dartboard,
        RecipeName::DartboardBatched,
        RecipeName::HedgeBatched,
    ] {
        let recipe = experts(recipe, Some(rounds), None).plan().unwrap();
        let bound = recipe.regret_bound().unwrap();
        let mut regret = 0.0;
        for seed in 0..4 {
            let key = Key::insecure_from_seed(seed);
            let (mut ledger, grant) = pay_experts(&recipe);
            let storage = MemoryStorage::default();
            let mut run =
                ExpertsRun::open(recipe.clone(), grant, &key, &mut ledger, storage).unwrap();
            for _ in 0..rounds {
                let losses = vec![0.9, 0.7, 0.1, 0.8, 0.9];
                regret += (losses[*run.expert().for_the_operator()] - 0.1) / 4.0;
                run.learn_losses(None, Raw::seal(losses)).unwrap();
            }
            assert!(
                run.learn_losses(None, Raw::seal(vec![0.0; 5])).is_err(),
                "{rounds} were planned"
            );
        }
        assert!(
            regret < 1.5 * bound,
            "{} {regret} {bound}",
            recipe.description()
        );
        let nothing = rounds as f64 * 0.58;
        assert!(
            regret < 0.6 * nothing,
            "{} {regret} {nothing}",
            recipe.description()
        );
    }
}

#[test]
fn cover_finds_the_minimum_of_convex_losses() {
    let rounds = 2000;
    let mut request = cover(rounds);
    request.budget = budget(20.0);
    let recipe = request.plan().unwrap();
    assert!((900..3000).contains(&recipe.points().len()));
    let (mut ledger, grant) = pay_experts(&recipe);
    let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
    let mut run = ExpertsRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
    let mut late = 0.0;
    for t in 0..rounds {
        if t >= rounds / 2 {
            late += run.question().for_the_operator()[0] / (rounds / 2) as f64;
        }
        run.learn(None, point(&[0.5])).unwrap();
    }
    assert!((late - 0.5).abs() < 0.25, "{late}");
    let text = run.guarantee().unwrap().to_string();
    assert!(
        text.contains("F8") && text.contains("AFKT22 Theorem 7"),
        "{text}"
    );
}

#[test]
fn limited_updates_find_a_mean() {
    let recipe = limited();
    let (mut ledger, grant) = paid(
        budget(1.0),
        recipe.plan().filter(),
        recipe.plan().scope(),
        recipe.plan().charge().unwrap(),
    );
    let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
    let mut run = LimitedUpdatesRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
    for t in 0..(1 << 15) - 1 {
        let sign = if t % 2 == 0 { 1.0 } else { -1.0 };
        run.learn(None, point(&[0.4 + 0.2 * sign, -0.3 + 0.1 * sign]))
            .unwrap();
        assert_eq!(run.rounds(), t + 1);
    }
    let at = run.question().for_the_operator().to_vec();
    let error = ((at[0] - 0.4).powi(2) + (at[1] + 0.3).powi(2)).sqrt();
    assert!(error < 0.15, "{at:?}");
    // One point at the end of every octave of 1, 2, …, 2¹⁴ records.
    assert_eq!(run.sync(&mut ledger).unwrap().len(), 15);
    let text = run.guarantee().unwrap().to_string();
    assert!(text.contains("AFKT22 Algorithm 2"), "{text}");
}

/// Losses in [0, 1] are summed around their middle, ½, which is public: steps must add it back. On
/// the ball the best point of (0.9, 0.1) is its opposite, −0.91 a record; without the middle steps
/// would follow (0.4, −0.4) to a point that has −0.57.
#[test]
fn limited_updates_step_along_the_middle_of_losses() {
    let loss: Arc<dyn Loss> = Arc::new(LinearLoss::new(2, 0.0, 1.0).unwrap());
    for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        let recipe = LimitedUpdatesRequest {
            loss: loss.clone(),
            set: ball(),
            budget: budget(30.0),
            adjacency,
            participation: Participation::OncePerRecord,
        };
        let recipe = recipe.plan().unwrap();
        // Two gradients are √2 apart, and with their middle up to √2 long.
        assert!((recipe.plan().slope() - 2.0_f64.sqrt()).abs() < 1e-12);
        let (charge, scope) = (recipe.plan().charge().unwrap(), recipe.plan().scope());
        let (mut ledger, grant) = paid(budget(30.0), FilterKind::Gaussian, scope, charge);
        let (key, storage) = (Key::insecure_from_seed(3), MemoryStorage::default());
        let mut run = LimitedUpdatesRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
        for _ in 0..4095 {
            run.learn(None, point(&[0.9, 0.1])).unwrap();
        }
        let at = run.question().for_the_operator().to_vec();
        let value = 0.9 * at[0] + 0.1 * at[1];
        assert!(value < -0.85, "{adjacency:?} {at:?} {value}");
        // Records that say nothing count as the middle, (½, ½).
        for _ in 4095..16_383 {
            run.learn(None, point(&[f64::NAN, 0.0])).unwrap();
        }
        let at = run.question().for_the_operator().to_vec();
        assert!(at[0] < -0.6 && at[1] < -0.6, "{adjacency:?} {at:?}");
    }
}

#[test]
fn bandits_within_their_bounds() {
    let rounds = 20_000;
    let arms = [0.9, 0.8, 0.1, 0.7, 0.9];
    for recipe in [RecipeName::Exp2, RecipeName::Exp2Batched] {
        let mut request = bandit(recipe, Actions::Arms(5), Some(rounds));
        request.range = Range::ZeroTo(1.0);
        request.budget = Budget::pure(0.2).unwrap();
        let recipe = request.plan().unwrap();
        let bound = recipe.regret_bound().unwrap();
        let (mut ledger, grant) = pay_bandit(&recipe);
        let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
        let mut run = BanditRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
        let mut regret = 0.0;
        for _ in 0..rounds {
            regret += arms[run.play().for_the_operator().action.unwrap()] - 0.1;
            run.learn_losses(None, Raw::seal(arms.to_vec())).unwrap();
        }
        assert!(regret < bound, "{regret} {bound}");
    }
    // Holding an arm for about 1/ε rounds pays at small ε.
    let bound = |recipe| {
        let mut request = bandit(recipe, Actions::Arms(5), Some(10_000_000));
        request.budget = Budget::pure(0.02).unwrap();
        request.plan().unwrap().regret_bound().unwrap()
    };
    let (single, held) = (bound(RecipeName::Exp2), bound(RecipeName::Exp2Batched));
    assert!(held < 0.5 * single, "{held} {single}");
}

/// With the public advice of experts (EXP4): the best arm changes in every round, one of fifty
/// experts knows it, and the regret against that expert is below the learner's own bound.
#[test]
fn advice_is_followed() {
    let (rounds, shape) = (20_000, (50, 2));
    let mut request = bandit(RecipeName::Exp2, Actions::Arms(2), Some(rounds));
    request.budget = Budget::pure(4.0).unwrap();
    let plain = request.plan().unwrap();
    let noise = plain.noise_size();
    let rates = Exp4::rates(shape, rounds, noise);
    let bound = Exp4::regret_bound(&rates, shape, rounds, noise);
    let advice: PublicAdvice = Arc::new(|t, j| match j {
        0 => (t % 2) as usize,
        j => ((t / 2 + t * j as u64) / 3 % 2) as usize,
    });
    let recipe =
        plain.with_learner(move || Box::new(Exp4::new(shape, advice.clone(), rates).unwrap()));
    // The bound of EXP2 is for EXP2.
    assert_eq!(recipe.regret_bound(), None);
    let (mut ledger, grant) = pay_bandit(&recipe);
    let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
    let mut run = BanditRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
    let mut regret = 0.0;
    for t in 0..rounds {
        let mut losses = vec![1.0; 2];
        losses[(t % 2) as usize] = -1.0;
        regret += losses[run.play().for_the_operator().action.unwrap()] + 1.0;
        run.learn_losses(None, Raw::seal(losses)).unwrap();
    }
    assert!(
        regret < bound && regret < 0.6 * rounds as f64,
        "{regret} {bound}"
    );
}

#[test]
fn values_find_a_minimum() {
    let rounds = 60_000;
    let mut request = values(rounds).request().clone();
    request.budget = budget(50.0);
    assert!(values(rounds).radius() < 0.1, "T^(-1/3)");
    request.radius = Some(0.3); // steadier than the stated one, and a quadratic has no bias
    let recipe = request.plan().unwrap();
    let (mut ledger, grant) = paid(
        budget(50.0),
        FilterKind::Gaussian,
        recipe.plan().scope(),
        recipe.plan().charge().unwrap(),
    );
    let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
    let mut run = ValuesRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
    let mut mean = [0.0; 2];
    for t in 0..rounds {
        if t >= rounds / 2 {
            for (mean, value) in mean
                .iter_mut()
                .zip(run.question().for_the_operator().iter())
            {
                *mean += value / (rounds / 2) as f64;
            }
        }
        run.learn(None, point(&[0.5, -0.2])).unwrap();
    }
    let error = ((mean[0] - 0.5).powi(2) + (mean[1] + 0.2).powi(2)).sqrt();
    assert!(error < 0.15, "{mean:?}");
    assert!(run.guarantee().unwrap().to_string().contains("S8"));
}

/// A triangle that is a hundred times as long as wide is played in its rounder image: the price and
/// the range of what is summed are those of a round one, the certified regret is that of the
/// triangle that it becomes, and the learner finds the corner that it could not tell from the
/// others.
#[test]
fn thin_sets_are_played_in_a_rounder_image() {
    let rounds = 20_000;
    let corners = |thin: f64| vec![vec![0.0, 0.0], vec![2.0, 0.0], vec![1.0, thin]];
    let request = |thin: f64, radius: Option<f64>| ValuesRequest {
        loss: Arc::new(LinearLoss::within(2, LossSet::Box(-1.0, 1.0)).unwrap()),
        set: Arc::new(VertexPolytope::new(&corners(thin)).unwrap()),
        range: Range::Symmetric(2.1),
        budget: budget(50.0),
        radius,
        ..values(rounds).request().clone()
    };
    let (round, thin) = (request(2.0, None), request(0.02, None));
    let own = OnePoint::stated_radius(thin.set.as_ref(), rounds, 4.0);
    let still = request(0.02, Some(own)).plan().unwrap();
    let (round, thin) = (round.plan().unwrap(), thin.plan().unwrap());
    assert!(thin.played().inner_radius() > 50.0 * still.played().inner_radius());
    assert_eq!(
        thin.plan().charge().unwrap(),
        round.plan().charge().unwrap()
    );
    let bounds = [&round, &thin, &still].map(|recipe| recipe.regret_bound().unwrap().value);
    assert!(
        bounds[1] < 1.5 * bounds[0] && bounds[2] > 10.0 * bounds[1],
        "{bounds:?}"
    );
    assert!(thin.description().contains("rounder") && !still.description().contains("rounder"));
    // The loss falls to the right: (2, 0) is best, at −1.8, the middle has −0.9.
    let last = |recipe: ValuesRecipe| {
        let (charge, scope) = (recipe.plan().charge().unwrap(), recipe.plan().scope());
        let set = recipe.request().set.clone();
        let (mut ledger, grant) = paid(budget(50.0), FilterKind::Gaussian, scope, charge);
        let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
        let mut run = ValuesRun::open(recipe, grant, &key, &mut ledger, storage).unwrap();
        let mut sum = 0.0;
        for _ in 0..rounds {
            let play = run.question().for_the_operator().to_vec();
            assert!(set.contains(&play, 1e-6), "{play:?}");
            sum += -0.9 * play[0] / rounds as f64;
            run.learn(None, point(&[-0.9, 0.1])).unwrap();
        }
        sum
    };
    let (moved, fixed) = (last(thin), last(still));
    assert!(moved < -1.4 && fixed > -1.3, "{moved} {fixed}");
}

/// What is chosen automatically is never worse than what could have been named, and a small budget
/// holds plays for longer.
#[test]
fn the_automatic_choice_has_the_least_bound() {
    for epsilon in [0.01, 0.1, 1.0, 10.0] {
        let request = |recipe| ExpertsRequest {
            advice: Advice::Experts(1000),
            budget: budget(epsilon),
            ..experts(recipe, Some(1 << 14), None)
        };
        let chosen = request(RecipeName::Dartboard).automatic().unwrap();
        for recipe in [
            RecipeName::Dartboard,
            RecipeName::DartboardBatched,
            RecipeName::HedgeBatched,
        ] {
            let named = request(recipe).plan().unwrap().regret_bound().unwrap();
            assert!(chosen.regret_bound().unwrap() <= named);
        }
    }
    let arms = |epsilon: f64| {
        let mut request = bandit(RecipeName::Exp2, Actions::Arms(5), Some(1 << 20));
        request.budget = Budget::pure(epsilon).unwrap();
        request.automatic().unwrap()
    };
    assert!(arms(0.02).batch() > arms(0.5).batch());
}
