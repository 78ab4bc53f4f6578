//! The lattice costs what its documentation says. Contributions are truncated toward zero, so an
//! item loses less than one unit in every coordinate: a prefix of t items is off by less than t
//! units in a coordinate, t·√d units in length, before noise. Noise is taken out by drawing it
//! again.

use crate::disk::Machine;
use crate::game::*;
use hushstream_mechanism::losses::{Distance, Features, Loss, Record};
use hushstream_mechanism::sums::{BinaryTree, Cover, Noise, PrivateSum, SumKind};
use hushstream_mechanism::{Contribution, Ledger, MemoryStorage, Receipt, Transcript};
use hushstream_noise::{DiscreteLaplace, Instance, L2Laplace, RoundedGaussian, Source};
use hushstream_recipes::{Ask, Objective, Recipe, RecipeName};
use hushstream_sets::{Ball, Simplex};
use std::sync::Arc;

const ROUNDS: u64 = 300;
const D: usize = 3;

/// One lattice unit, in the units of the data.
fn unit(recipe: &Recipe) -> f64 {
    recipe.plan().request().bound / recipe.plan().radius() as f64
}

/// The noise in release t of a binary tree, in the units of the data.
fn noise_of(recipe: &Recipe, receipt: Receipt) -> Vec<f64> {
    let request = recipe.plan().request();
    let instance = Instance::from_bytes(receipt.instance);
    let source = Source::open(&key(), instance, receipt.mechanism * 128);
    let mut total = vec![0_i64; request.dimension as usize];
    for term in BinaryTree.terms(receipt.step) {
        let mut node = vec![0; total.len()];
        match request.noise {
            Noise::Gaussian => RoundedGaussian::STANDARD.fill(&source, term.node, 0, &mut node),
            Noise::Laplace => {
                let law = DiscreteLaplace::new(1 << 30).unwrap();
                law.fill(&source, term.node, 0, &mut node);
            }
            Noise::L2Laplace => {
                let law = L2Laplace::new(request.dimension, 1 << 30).unwrap();
                law.fill(&source, term.node, 0, &mut node);
            }
        }
        total
            .iter_mut()
            .zip(node)
            .for_each(|(total, z)| *total += z);
    }
    total.iter().map(|&z| z as f64 * unit(recipe)).collect()
}

/// Plays the sum behind a recipe over the fixed stream, takes the noise out of every release, and
/// compares with the exact sum of `item(t, question)`.
fn check(recipe: &Recipe, item: impl Fn(u64, &[f64]) -> Vec<f64>) {
    let plan = recipe.plan();
    let request = plan.request();
    let mut ledger =
        Ledger::simulated(request.budget, filter(request.noise), plan.scope()).unwrap();
    let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
    let storage = MemoryStorage::default();
    let mut sum =
        PrivateSum::<Transcript>::open(plan.clone(), grant, &key(), &mut ledger, storage).unwrap();
    let mut learner = recipe.learner().unwrap();
    let mut exact = vec![0.0; request.dimension as usize];
    let (unit, root) = (unit(recipe), f64::from(request.dimension).sqrt());
    let mut worst = 0.0_f64;
    for t in 1..ROUNDS {
        let weights = learner.iterate();
        for (exact, value) in exact.iter_mut().zip(item(t, weights)) {
            *exact += value;
        }
        let answer = match recipe.ask() {
            Ask::Gradient(loss) => sum.add_gradient(None, loss.as_ref(), weights, record(D, t)),
            Ask::Moments(moments) => sum.add_moments(None, moments, record(D, t)),
        };
        sum.sync(&mut ledger).unwrap();
        let release = sum.publish(answer.unwrap().unwrap()).unwrap();
        learner.observe(release.value()).unwrap();
        let noise = noise_of(recipe, release.receipt());
        let errors: Vec<f64> = release
            .value()
            .iter()
            .zip(noise.iter().zip(&exact))
            .map(|(value, (noise, exact))| value - noise - exact)
            .collect();
        // Floats round relative to the noise, which is some 2^30 units: a little of a unit.
        let allowed = unit * (t as f64 + 0.01);
        let case = format!("{} t={t}: {errors:?}, allowed {allowed}", name(recipe));
        assert!(errors.iter().all(|error| error.abs() < allowed), "{case}");
        assert!(norm(&errors) < allowed * root, "{case}");
        worst = worst.max(norm(&errors) / unit);
    }
    assert!(
        worst > 10.0,
        "{}: truncation shows, {worst} units",
        name(recipe)
    );
}

/// ∇f at a point, clipped to the bound as documented; zero for a malformed record.
fn clipped_gradient(recipe: &Recipe, t: u64, weights: &[f64]) -> Vec<f64> {
    let values = match recipe.loss().unwrap().gradient(open_record(D, t), weights) {
        Contribution::Dense(values) => values,
        Contribution::Sparse(entries) => {
            let mut values = vec![0.0; D];
            entries.iter().for_each(|&(i, v)| values[i as usize] = v);
            values
        }
        Contribution::Null => vec![0.0; D],
    };
    let request = recipe.plan().request();
    let length = if request.noise == Noise::Laplace {
        values.iter().map(|v| v.abs()).sum()
    } else {
        norm(&values)
    };
    let shrink = if length > request.bound {
        request.bound / length
    } else {
        1.0
    };
    values.iter().map(|v| v * shrink).collect()
}

/// (vvᵀ, √2 off the diagonal; κ·y·v) of features and target, clipped to R = Y = 1 and rounded to
/// multiples of 2⁻¹² and 2⁻¹⁵, κ² = ½; zero for a malformed record.
fn second_moments(t: u64) -> Vec<f64> {
    let record = open_record(D, t);
    let v = match record.features {
        Features::Dense(values) if values.len() == D && values.iter().all(|v| v.is_finite()) => {
            values
        }
        Features::Dense(_) => return vec![0.0; 9],
        Features::Sparse(entries) => {
            let mut values = vec![0.0; D];
            entries.iter().for_each(|&(i, v)| values[i as usize] = v);
            values
        }
    };
    let length = norm(&v).max(1.0);
    let whole: Vec<f64> = v.iter().map(|v| v / length * 4096.0).collect();
    let mut v: Vec<f64> = whole.iter().map(|v| v.round() / 4096.0).collect();
    if norm(&v) > 1.0 {
        v = whole.iter().map(|v| v.trunc() / 4096.0).collect();
    }
    let y = (record.target.clamp(-1.0, 1.0) * 32768.0).round() / 32768.0 * 0.5_f64.sqrt();
    let root = std::f64::consts::SQRT_2;
    let off = [(0, 1), (0, 2), (1, 2)].map(|(i, j)| root * v[i] * v[j]);
    let squares = v.iter().map(|v| v * v);
    squares.chain(off).chain(v.iter().map(|v| y * v)).collect()
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// A loss that takes its gradients for shorter than they are: the lattice clips them.
struct Misjudged(Distance);

impl Loss for Misjudged {
    fn name(&self) -> &str {
        "misjudged"
    }

    fn dimension(&self) -> usize {
        self.0.dimension()
    }

    fn lipschitz(&self) -> f64 {
        0.4
    }

    fn strong_convexity(&self) -> f64 {
        self.0.strong_convexity()
    }

    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        self.0.value(record, weights)
    }

    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
        self.0.gradient(record, weights)
    }
}

#[test]
fn gradients_lose_less_than_a_unit_each() {
    let ball = || Ball::new(D, 1.0).unwrap();
    let misjudged = Misjudged(Distance::new(D, 1.0, 1.0).unwrap());
    let misjudged = Objective::Convex(Arc::new(misjudged));
    for start in [
        request(RecipeName::Pftal, distance(D), ball(), ROUNDS),
        request(RecipeName::Pftal, misjudged, ball(), ROUNDS),
        request(RecipeName::PftalConvex, logistic(D), ball(), ROUNDS),
        request(
            RecipeName::Ftrl,
            linear(D),
            Simplex::new(D).unwrap(),
            ROUNDS,
        ),
    ] {
        for noise in NOISES {
            let recipe = on(start.clone(), SumKind::Tree, noise).plan().unwrap();
            check(&recipe, |t, weights| clipped_gradient(&recipe, t, weights));
        }
    }
}

#[test]
fn second_moments_lose_less_than_a_unit_each() {
    let start = request(
        RecipeName::Pqftl,
        least_squares(D),
        Ball::new(D, 1.0).unwrap(),
        ROUNDS,
    );
    for noise in [Noise::Gaussian, Noise::L2Laplace] {
        let recipe = on(start.clone(), SumKind::Tree, noise).plan().unwrap();
        check(&recipe, |t, _| second_moments(t));
    }
}

/// From records to published iterates: each is where exact gradients at the earlier ones, plus the
/// noise, lead, up to √d units divided by H.
#[test]
fn published_iterates_are_off_by_the_lattice_alone() {
    let set = Ball::new(D, 1.0).unwrap();
    let recipe = request(RecipeName::Pftal, distance(D), set, ROUNDS);
    let recipe = recipe.plan().unwrap();
    let set = &recipe.request().set;
    let (mut run, mut ledger) = Machine::default().open::<Transcript>(&recipe).unwrap();
    let (mut gradients, mut iterates) = (vec![0.0; D], vec![0.0; D]);
    let mut noisy = 0.0_f64;
    for t in 1..ROUNDS {
        let question = run.question().for_the_operator().to_vec();
        for (i, value) in clipped_gradient(&recipe, t, &question)
            .into_iter()
            .enumerate()
        {
            gradients[i] += value;
            iterates[i] += question[i];
        }
        play(&mut run, t);
        let released = run.sync(&mut ledger).unwrap().remove(0);
        let noise = noise_of(&recipe, released.receipt());
        let h = recipe.curvature() * t as f64;
        let lead = |noise: &[f64]| {
            let mut lead: Vec<f64> = (0..D)
                .map(|i| iterates[i] / t as f64 - (gradients[i] + noise[i]) / h)
                .collect();
            set.project(&mut lead).unwrap();
            lead
        };
        let apart = |lead: Vec<f64>| {
            let pairs = released.value().iter().zip(lead);
            norm(&pairs.map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        let allowed = unit(&recipe) * (D as f64).sqrt() / recipe.curvature() + 1e-12;
        let off = apart(lead(&noise));
        assert!(off < allowed, "t={t}: {off} > {allowed}");
        noisy = noisy.max(apart(lead(&[0.0; D])));
    }
    assert!(noisy > 0.1, "noise shows: {noisy}");
}
