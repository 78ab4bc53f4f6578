//! Bandit learners: unbiased estimates, plays inside the set, regret without and with noise,
//! resuming.
#![allow(clippy::unwrap_used)]

use hushstream_learn::bandits::{
    AnswerSize, BanditLearner, Coins, Epochs, Exp2, Exp2Actions, Exp2Rates, Exp4,
    FeedbackNoiseSize, OnePoint, PublicAdvice, Scrible, sphere,
};
use hushstream_sets::{Ball, BoxSet, ConvexSet, HalfspacePolytope, Simplex};
use std::sync::Arc;

/// SplitMix64: the test's own coins.
fn dice(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn laplace(coins: &mut Coins<'_>, scale: f64) -> f64 {
    -scale * coins.sign() * (1.0 - coins.uniform()).ln()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn rates() -> Exp2Rates {
    Exp2Rates {
        learning: 0.05,
        exploration: 0.2,
        reach: 50.0,
    }
}

/// Σ_a p_a·⟨l̃(a), x⟩ = ⟨l, x⟩ for every action x, exactly: the expectation is a finite sum.
#[test]
fn exp2_estimates_are_unbiased() {
    let actions: Vec<Vec<f64>> = (0..9)
        .map(|i| {
            let angle = 0.7 * f64::from(i);
            vec![angle.cos(), angle.sin(), 0.1 * angle]
        })
        .collect();
    let loss = [0.3, -0.8, 0.4];
    let mut learner = Exp2Actions::new(actions.clone(), rates()).unwrap();
    let mut bits = dice(1);
    let mut coins = Coins::new(&mut bits);
    for _ in 0..20 {
        let p = learner.probabilities();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut mean = vec![0.0; actions.len()];
        for (action, p) in p.iter().enumerate() {
            let answer = dot(&loss, &actions[action]);
            for (mean, estimate) in mean
                .iter_mut()
                .zip(learner.estimates(action, answer).unwrap())
            {
                *mean += p * estimate;
            }
        }
        for (mean, action) in mean.iter().zip(&actions) {
            assert!((mean - dot(&loss, action)).abs() < 1e-9);
        }
        let play = learner.play(&mut coins).unwrap();
        assert!((play.propensity - p[play.action.unwrap()]).abs() < 1e-15);
        learner.observe(dot(&loss, &play.point)).unwrap();
    }
}

fn sets() -> Vec<Arc<dyn ConvexSet>> {
    let rows = [vec![-1.0, 0.0], vec![0.0, -1.0], vec![1.0, 2.0]];
    vec![
        Arc::new(Ball::new(3, 1.0).unwrap()),
        Arc::new(BoxSet::cube(2, 1.0).unwrap()),
        Arc::new(Simplex::new(4).unwrap()),
        Arc::new(HalfspacePolytope::new(&rows, &[0.0, 0.0, 2.0]).unwrap()),
    ]
}

/// The mean over axes and signs of l̂ is the loss pulled back to the free coordinates, exactly;
/// plays stay in the set.
#[test]
fn scrible_estimates_are_unbiased_and_plays_inside() {
    for set in sets() {
        let mut learner = Scrible::new(set.as_ref(), 0.02, 50.0).unwrap();
        let barrier = set.barrier().unwrap();
        let loss: Vec<f64> = (0..set.dimension()).map(|i| 0.3 - 0.2 * i as f64).collect();
        let pulled = barrier.pull_back(&loss).unwrap();
        let mut bits = dice(2);
        let mut coins = Coins::new(&mut bits);
        for _ in 0..300 {
            let all = learner.possibilities().unwrap();
            let mut mean = vec![0.0; pulled.len()];
            for [point, estimate] in &all {
                assert!(set.contains(point, 1e-9), "{set:?} {point:?}");
                let answer = dot(&loss, point);
                for (mean, value) in mean.iter_mut().zip(estimate) {
                    *mean += answer * value / all.len() as f64;
                }
            }
            for (mean, exact) in mean.iter().zip(&pulled) {
                assert!(
                    (mean - exact).abs() < 1e-6 * (1.0 + exact.abs()),
                    "{set:?} {mean} {exact}"
                );
            }
            let play = learner.play(&mut coins).unwrap();
            let noise = laplace(&mut coins, 1.0);
            learner.observe(dot(&loss, &play.point) + noise).unwrap();
        }
    }
}

/// The one-point gradient of a quadratic is unbiased: ∇f_β = ∇f for quadratics. 200,000 draws; the
/// limit is six standard errors.
#[test]
fn one_point_gradients_are_unbiased() {
    let set: Arc<dyn ConvexSet> = Arc::new(Ball::new(3, 1.0).unwrap());
    let geometry = OnePoint::new(&set, 0.3).unwrap();
    let at = [0.2, -0.1, 0.3];
    let f = |w: &[f64]| 0.5 * w[0] * w[0] + w[1] * w[2] + 0.3 * w[2];
    let slope = [at[0], at[2], at[1] + 0.3];
    let mut bits = dice(3);
    let mut coins = Coins::new(&mut bits);
    let draws = 200_000;
    let (mut mean, mut square) = ([0.0; 3], [0.0; 3]);
    for _ in 0..draws {
        let u = sphere(3, &mut coins);
        assert!((dot(&u, &u) - 1.0).abs() < 1e-12);
        let play = geometry.play(&at, &u);
        assert!(set.contains(&play, 1e-9));
        let value = geometry.factor() * f(&play);
        for ((mean, square), u) in mean.iter_mut().zip(&mut square).zip(&u) {
            *mean += value * u / f64::from(draws);
            *square += (value * u).powi(2) / f64::from(draws);
        }
    }
    for ((mean, square), exact) in mean.iter().zip(&square).zip(&slope) {
        let error = ((square - mean * mean) / f64::from(draws)).sqrt();
        assert!((mean - exact).abs() < 6.0 * error, "{mean} {exact} {error}");
    }
}

/// Every learner finds the best action with noisy answers, within its bound, and beats uniform
/// play.
#[test]
fn regret_is_within_the_bound() {
    let rounds = 20_000;
    let noise = FeedbackNoiseSize::Laplace(1.0);
    let arms = [0.9, 0.8, 0.2, 0.7, 0.9];
    let stated = Exp2Rates::stated(5, rounds, noise);
    let mut learner = Exp2::new(5, stated).unwrap();
    let mut bits = dice(4);
    let mut coins = Coins::new(&mut bits);
    let mut regret = 0.0;
    for _ in 0..rounds {
        let arm = learner.play(&mut coins).unwrap().action.unwrap();
        regret += arms[arm] - 0.2;
        let noisy = arms[arm] + laplace(&mut coins, 1.0);
        learner.observe(noisy).unwrap();
    }
    let bound = stated.regret_bound(5, rounds, noise, AnswerSize::ANY);
    assert!(
        regret < bound && regret < 0.5 * 0.5 * rounds as f64,
        "{regret} {bound}"
    );

    for set in sets() {
        let (rate, reach) = Scrible::stated(set.as_ref(), rounds, noise).unwrap();
        let mut learner = Scrible::new(set.as_ref(), rate, reach).unwrap();
        let scale = 1.0 / set.largest_norm();
        let mut loss = vec![0.0; set.dimension()];
        loss[0] = scale;
        let mut best = vec![0.0; set.dimension()];
        set.minimise(&loss, &mut best).unwrap();
        let mut centre = vec![0.0; set.dimension()];
        set.centre(&mut centre).unwrap();
        let mut regret = 0.0;
        for _ in 0..rounds {
            let point = learner.play(&mut coins).unwrap().point;
            let value = dot(&loss, &point);
            regret += value - dot(&loss, &best);
            learner.observe(value + laplace(&mut coins, 1.0)).unwrap();
        }
        let nothing = (dot(&loss, &centre) - dot(&loss, &best)) * rounds as f64;
        let bound = learner.regret_bound(rounds, noise);
        assert!(
            regret < bound && regret < 0.8 * nothing,
            "{set:?} {regret} {bound} {nothing}"
        );
    }
}

/// η|⟨l̃, x⟩| ≤ 1 for every play, every action x, every answer within reach and all weights: the
/// condition of the regret's proof. Uniform weights, and all weight on one action, in sets of all
/// shapes.
#[test]
fn estimates_on_points_stay_within_the_proofs_reach() {
    let mut bits = dice(12);
    let mut coins = Coins::new(&mut bits);
    let noise = FeedbackNoiseSize::Laplace(1.0);
    for (dimension, count) in [(1, 2), (2, 3), (2, 40), (3, 7), (5, 30), (8, 60)] {
        for flat in [1.0, 0.05] {
            let actions: Vec<Vec<f64>> = (0..count)
                .map(|_| {
                    let mut action = sphere(dimension, &mut coins);
                    action[0] *= flat;
                    action
                })
                .collect();
            for rounds in [10, 1_000_000] {
                let mut learner = Exp2Actions::tuned(actions.clone(), rounds, noise).unwrap();
                let rates = learner.rates();
                assert!(rates.exploration <= 0.5 + 1e-12);
                let mut weights = vec![0.0; count];
                for favoured in 0..=count.min(9) {
                    learner.restore(0, &weights).unwrap();
                    for play in 0..count {
                        let estimates = learner.estimates(play, rates.reach).unwrap();
                        let most = estimates
                            .iter()
                            .fold(0.0, |most, e| f64::max(most, e.abs()));
                        let most = rates.learning * most;
                        assert!(most <= 1.0 + 1e-9, "{dimension} {count} {flat}: {most}");
                    }
                    weights.fill(-1e3);
                    weights[favoured.min(count - 1)] = 0.0;
                }
            }
        }
    }
}

/// On points the learner finds the best one, within its bound.
#[test]
fn regret_on_points_is_within_the_bound() {
    let (rounds, noise) = (20_000, FeedbackNoiseSize::Laplace(0.1));
    let points: Vec<Vec<f64>> = (0..8)
        .map(|k| vec![f64::from(k).cos(), f64::from(k).sin()])
        .collect();
    let loss = [0.6, -0.8];
    let values: Vec<f64> = points.iter().map(|point| dot(&loss, point)).collect();
    let best = values.iter().copied().fold(f64::INFINITY, f64::min);
    let mut learner = Exp2Actions::tuned(points, rounds, noise).unwrap();
    let bound = learner.regret_bound(rounds, noise);
    let mut bits = dice(13);
    let mut coins = Coins::new(&mut bits);
    let mut regret = 0.0;
    for _ in 0..rounds {
        let action = learner.play(&mut coins).unwrap().action.unwrap();
        regret += values[action] - best;
        let noisy = values[action] + laplace(&mut coins, 0.1);
        learner.observe(noisy).unwrap();
    }
    let uniform = (values.iter().sum::<f64>() / 8.0 - best) * rounds as f64;
    assert!(
        regret < bound && regret < 0.6 * uniform,
        "{regret} {bound} {uniform}"
    );
}

/// Advice of so many experts on three arms: expert 0 knows which is best, and the others guess.
fn advice(best: fn(u64) -> usize) -> PublicAdvice {
    Arc::new(move |t, j| match j {
        0 => best(t),
        j => (dice(t * 1000 + j as u64)() % 3) as usize,
    })
}

/// Σ_i p_i·l̂_j(i) is the loss of the arm that expert j advises, for every j, and p is a law: the
/// expectation is a finite sum. Losses of log-weights are read off the state.
#[test]
fn estimates_of_experts_are_unbiased() {
    let losses = [0.3, -0.8, 0.4];
    let advice = advice(|t| (t % 3) as usize);
    let mut learner = Exp4::new((7, 3), advice.clone(), rates()).unwrap();
    let mut bits = dice(3);
    for t in 0..20 {
        let arms = learner.probabilities();
        assert!((arms.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((learner.experts().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut means = [0.0; 7];
        for (arm, p) in arms.iter().enumerate() {
            let mut other = learner.clone();
            // Coins that choose this arm.
            let before: f64 = arms[..arm].iter().sum();
            let place = ((before + p / 2.0) * (1_u64 << 53) as f64) as u64;
            let mut bits = || place << 11;
            let play = other.play(&mut Coins::new(&mut bits)).unwrap();
            assert_eq!(play.action, Some(arm));
            other.observe(losses[arm]).unwrap();
            // Log-weights are known up to a constant, and expert 0 is compared with the others.
            let moved: Vec<f64> = (0..7)
                .map(|j| (learner.state()[j] - other.state()[j]) / rates().learning)
                .collect();
            for (mean, moved_j) in means.iter_mut().zip(&moved) {
                *mean += p * (moved_j - moved[0]);
            }
        }
        for (j, mean) in means.iter().enumerate() {
            let exact = losses[advice(t, j)] - losses[advice(t, 0)];
            assert!((mean - exact).abs() < 1e-9, "{t} {j}: {mean} {exact}");
        }
        learner.play(&mut Coins::new(&mut bits)).unwrap();
        learner.observe(0.5).unwrap();
    }
}

/// The best arm changes in every round, and one expert of two hundred knows it: within the bound,
/// far below any fixed arm, and below what the experts as arms are certified.
#[test]
fn regret_against_the_best_expert_is_within_the_bound() {
    let (rounds, noise, shape) = (30_000, FeedbackNoiseSize::Laplace(0.5), (200, 3));
    let rates = Exp4::rates(shape, rounds, noise);
    let bound = Exp4::regret_bound(&rates, shape, rounds, noise);
    let of_arms = Exp2Rates::stated(200, rounds, noise);
    assert!(bound < 0.3 * of_arms.regret_bound(200, rounds, noise, AnswerSize::ANY));
    let best = |t: u64| (t % 3) as usize;
    let mut learner = Exp4::new(shape, advice(best), rates).unwrap();
    let mut bits = dice(17);
    let mut coins = Coins::new(&mut bits);
    let mut regret = 0.0;
    for t in 0..rounds {
        let arm = learner.play(&mut coins).unwrap().action.unwrap();
        let loss = if arm == best(t) { 0.0 } else { 1.0 };
        regret += loss;
        let noisy = loss + laplace(&mut coins, 0.5);
        learner.observe(noisy).unwrap();
    }
    let fixed = 2.0 / 3.0 * rounds as f64;
    assert!(
        regret < bound && regret < 0.5 * fixed,
        "{regret} {bound} {fixed}"
    );
    assert!(Exp4::new((1, 3), advice(best), rates).is_err());
    assert!(Exp4::new((3, 1), advice(best), rates).is_err());
}

#[test]
fn learners_continue_bit_for_bit() {
    let make: Vec<fn() -> Box<dyn BanditLearner>> = vec![
        || Box::new(Exp4::new((5, 3), advice(|t| (t % 3) as usize), rates()).unwrap()),
        || Box::new(Exp2::new(4, rates()).unwrap()),
        || {
            let corners = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0, 1.0]];
            Box::new(Exp2Actions::new(corners, rates()).unwrap())
        },
        || Box::new(Scrible::new(&Ball::new(2, 1.0).unwrap(), 0.05, 9.0).unwrap()),
        || {
            Box::new(
                Epochs::octaves(|rounds| {
                    let noise = FeedbackNoiseSize::Laplace(1.0);
                    let rates = Exp2Rates::stated(3, rounds, noise);
                    Ok(Box::new(Exp2::new(3, rates)?))
                })
                .unwrap(),
            )
        },
    ];
    for make in make {
        let (mut whole, mut broken) = (make(), make());
        for round in 0..40 {
            let (mut a, mut b) = (dice(round), dice(round));
            let here = whole.play(&mut Coins::new(&mut a)).unwrap();
            let there = broken.play(&mut Coins::new(&mut b)).unwrap();
            assert_eq!(here, there);
            let answer = (round % 7) as f64 / 3.0 - 1.0;
            whole.observe(answer).unwrap();
            broken.observe(answer).unwrap();
            assert!(whole.observe(answer).is_err(), "an answer without a play");
            let (rounds, state) = (broken.rounds(), broken.state());
            broken = make();
            broken.restore(rounds, &state).unwrap();
        }
        assert!(whole.restore(1, &[f64::NAN]).is_err());
    }
}

/// All outcomes of a batch of two logged rounds: the mean and the mean square of their answers are
/// at most the stated ones, and equal at the least propensity.
#[test]
fn weighted_answers_are_as_small_as_stated() {
    let most = 8.0;
    for batch in [1_u64, 2] {
        let size = AnswerSize::of_weights(most, batch);
        for (propensity, tight) in [(1.0 / most, true), (0.5, false)] {
            // Matches among the rounds, each worth 1/propensity, in units of the greatest weight.
            let (mut mean, mut square) = (0.0, 0.0);
            for matches in 0..=batch {
                let ways = if batch == 2 && matches == 1 { 2.0 } else { 1.0 };
                let chance = ways
                    * f64::powi(propensity, matches as i32)
                    * f64::powi(1.0 - propensity, (batch - matches) as i32);
                let answer = matches as f64 / propensity / batch as f64 / most;
                mean += chance * answer;
                square += chance * answer * answer;
            }
            assert!((mean - size.mean).abs() < 1e-12);
            assert!(square <= size.square);
            assert!(!tight || square > 0.85 * size.square, "{square} {size:?}");
        }
        let noise = FeedbackNoiseSize::Laplace(0.1);
        let rates = |size| Exp2Rates::for_answers(8, 10_000, noise, size);
        assert!(rates(size).learning > 1.5 * rates(AnswerSize::ANY).learning);
    }
}
