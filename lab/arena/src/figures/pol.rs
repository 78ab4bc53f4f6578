//! JKT12 §5: one private model at the end, against the batch learners that the section compares
//! with: output and objective perturbation of regularised logistic regression (Chaudhuri,
//! Monteleoni and Sarwate 2011, Algorithms 1 and 2, the ones that diffprivlib ships), all at pure
//! ε.
//!
//! Synthetic records: features of length at most 1 in ten dimensions, labels by a hidden direction
//! with noise. Everyone has the same ridge Λ = 0.01; accuracy is on as many fresh records.
//! The baselines are simulated in plain floats, replace-one:
//!
//! - *output*: the minimiser of mean loss + (Λ/2)‖w‖² moves by at most 2/(nΛ); noise of density
//!   ∝ e^(−nΛε‖b‖/2).
//! - *objective*: the minimiser of the same + ⟨b, w⟩/n + (Δ/2)‖w‖², b of density ∝ e^(−ε'‖b‖/2), ε'
//!   = ε − 2 ln(1 + c/(nΛ)), c = ¼; where ε' is not positive, Δ = c/(n(e^(ε/4) − 1)) − Λ and ε' =
//!   ε/2.
//! - *pol*: `pol` with all iterates, and with the later half, as it is shipped.

use super::{Row, rows};
use crate::dice::Dice;
use crate::play::{ArenaError, open};
use crate::task::dense;
use crate::vector::{dot, solve};
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Regularised};
use hushstream_mechanism::{LedgerError, NoStorage, Participation, Raw};
use hushstream_noise::Key;
use hushstream_recipes::{
    Averaged, Insider, IteratePlayer, IterateRequest, RecipeError, RecipeName,
};
use hushstream_sets::Ball;
use std::fmt;
use std::sync::Arc;

/// Records, unless another number is asked for.
pub const ROUNDS: u64 = 20_000;
/// From little to much.
pub const EPSILONS: [f64; 5] = [0.03, 0.1, 0.3, 1.0, 3.0];

const D: usize = 10;
const RIDGE: f64 = 0.01;
/// Weights are kept in a ball of this radius: the minimiser is no longer than √(2 ln 2/Λ) ≈ 12.
const RADIUS: f64 = 12.0;

/// Who learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Regularised logistic regression.
    NonPrivate,
    /// `pol`, the average of all iterates.
    Pol,
    /// `pol`, the average of the later half.
    PolLater,
    /// Output perturbation.
    Output,
    /// Objective perturbation.
    Objective,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::NonPrivate,
        Self::Pol,
        Self::PolLater,
        Self::Output,
        Self::Objective,
    ];
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NonPrivate => "non-private",
            Self::Pol => "pol",
            Self::PolLater => "pol, later half",
            Self::Output => "output perturbation",
            Self::Objective => "objective perturbation",
        })
    }
}

/// Plays the figure: for each ε in order, the accuracy of the methods in order.
///
/// # Errors
/// Records or an ε that the recipe refuses.
pub fn figure(rounds: u64, repeats: u64, epsilons: &[f64]) -> Result<Vec<Row<Method>>, ArenaError> {
    rows(
        epsilons,
        &Method::ALL,
        repeats,
        |method| method != Method::NonPrivate,
        |method, epsilon, seed| accuracy(method, epsilon, rounds, seed),
    )
}

type Records = Vec<(Vec<f64>, f64)>;

fn accuracy(method: Method, epsilon: f64, rounds: u64, seed: u64) -> Result<f64, ArenaError> {
    let mut dice = Dice::new(seed ^ 0x706f_6c00);
    let hidden: Vec<f64> = (0..D).map(|_| dice.normal()).collect();
    let (learned, fresh) = (
        sample(&hidden, rounds, &mut dice),
        sample(&hidden, rounds, &mut dice),
    );
    let n = rounds as f64;
    let plain = vec![0.0; D];
    let weights = match method {
        Method::NonPrivate => minimiser(&learned, RIDGE, &plain),
        Method::Output => {
            let noise = noise(n * RIDGE * epsilon / 2.0, &mut dice);
            let mut weights = minimiser(&learned, RIDGE, &plain);
            weights.iter_mut().zip(noise).for_each(|(w, b)| *w += b);
            weights
        }
        Method::Objective => {
            let curvature = 0.25;
            let left = epsilon - 2.0 * (curvature / (n * RIDGE)).ln_1p();
            let (ridge, left) = if left > 0.0 {
                (RIDGE, left)
            } else {
                let needed = curvature / (n * (epsilon / 4.0).exp_m1());
                (RIDGE.max(needed), epsilon / 2.0)
            };
            let noise = noise(left / 2.0, &mut dice);
            let linear: Vec<f64> = noise.iter().map(|b| b / n).collect();
            minimiser(&learned, ridge, &linear)
        }
        Method::Pol => pol(&learned, epsilon, Averaged::All, seed)?,
        Method::PolLater => pol(&learned, epsilon, Averaged::LaterHalf, seed)?,
    };
    let right = fresh.iter().filter(|(x, y)| dot(x, &weights) * y > 0.0);
    Ok(right.count() as f64 / n)
}

fn sample(hidden: &[f64], rounds: u64, dice: &mut Dice) -> Records {
    let length = dot(hidden, hidden).sqrt();
    (0..rounds)
        .map(|_| {
            let mut x: Vec<f64> = (0..D).map(|_| dice.normal()).collect();
            let norm = dot(&x, &x).sqrt();
            x.iter_mut().for_each(|value| *value /= norm.max(1.0));
            let score = dot(&x, hidden) / length + 0.1 * dice.normal();
            (x, if score >= 0.0 { 1.0 } else { -1.0 })
        })
        .collect()
}

/// A vector of density ∝ e^(−β‖b‖): a length of Gamma(d, 1/β) in a uniform direction.
fn noise(beta: f64, dice: &mut Dice) -> Vec<f64> {
    let length: f64 = (0..D).map(|_| -(1.0 - dice.uniform()).ln()).sum::<f64>() / beta;
    let direction: Vec<f64> = (0..D).map(|_| dice.normal()).collect();
    let norm = dot(&direction, &direction).sqrt();
    direction
        .iter()
        .map(|value| value * length / norm)
        .collect()
}

/// The minimiser of mean logistic loss + (ridge/2)‖w‖² + ⟨linear, w⟩, by Newton's method.
fn minimiser(records: &Records, ridge: f64, linear: &[f64]) -> Vec<f64> {
    let n = records.len() as f64;
    let mut weights = vec![0.0; D];
    for _ in 0..30 {
        // Hessian and, as last column, gradient.
        let mut system = vec![vec![0.0; D + 1]; D];
        for (i, row) in system.iter_mut().enumerate() {
            row[i] += ridge;
            row[D] += ridge * weights[i] + linear[i];
        }
        for (x, y) in records {
            let wrong = 1.0 / (1.0 + (y * dot(x, &weights)).exp());
            for i in 0..D {
                for j in 0..D {
                    system[i][j] += wrong * (1.0 - wrong) * x[i] * x[j] / n;
                }
                system[i][D] -= wrong * y * x[i] / n;
            }
        }
        let Some(step) = solve(system) else { break };
        // Newton's steps on logistic loss may overshoot: none is longer than 1.
        let shorter = 1.0 / dot(&step, &step).sqrt().max(1.0);
        weights
            .iter_mut()
            .zip(&step)
            .for_each(|(w, s)| *w -= shorter * s);
        if dot(&step, &step) < 1e-20 {
            break;
        }
    }
    weights
}

fn pol(
    records: &Records,
    epsilon: f64,
    average: Averaged,
    seed: u64,
) -> Result<Vec<f64>, ArenaError> {
    let budget = Budget::pure(epsilon).map_err(LedgerError::from)?;
    let bounds = Bounds::new(1.0, (-1.0, 1.0), RADIUS).map_err(RecipeError::from)?;
    let plain = LinearModel::new(D, Link::Logistic, bounds).map_err(RecipeError::from)?;
    let loss = Regularised::new(Arc::new(plain), RIDGE, RADIUS).map_err(RecipeError::from)?;
    let recipe = IterateRequest {
        recipe: RecipeName::Pol,
        insider: Insider::Loss(Arc::new(loss)),
        set: Arc::new(Ball::new(D, RADIUS)?),
        rounds: records.len() as u64,
        budget,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        noise: None,
        curvature: None,
        steps: None,
        weighting: None,
        average,
    }
    .plan()?;
    let plan = recipe.plan();
    let paid = (
        budget,
        plan.charge().map_err(RecipeError::from)?,
        plan.scope(),
    );
    let key = Key::insecure_from_seed(seed);
    let (mut run, mut ledger) = open::<IteratePlayer>(recipe, paid, &key, NoStorage)?;
    for (x, y) in records {
        run.learn(None, Raw::seal(dense(x.clone(), *y)))?;
    }
    Ok(run.model(&mut ledger)?.into_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everyone learns with a large budget, and nobody beats regression without noise by much.
    #[test]
    fn the_shape_is_right() {
        let rows = figure(2000, 2, &[0.03, 3.0]).unwrap();
        let best = rows[0].mean;
        assert!(best > 0.85, "{rows:?}");
        for row in &rows[5..] {
            assert!(row.mean > best - 0.1 && row.mean < best + 0.02, "{rows:?}");
        }
        assert!(rows[1..5].iter().all(|row| row.mean < best), "{rows:?}");
        let minimum = |linear: f64| {
            let mut dice = Dice::new(3);
            let records = sample(&[1.0; D], 500, &mut dice);
            let linear = vec![linear; D];
            (minimiser(&records, 0.1, &linear), records, linear)
        };
        // The gradient is 0 at the minimiser.
        let (weights, records, linear) = minimum(0.05);
        for i in 0..D {
            let data: f64 = records
                .iter()
                .map(|(x, y)| -y * x[i] / (1.0 + (y * dot(x, &weights)).exp()))
                .sum();
            let slope = data / 500.0 + 0.1 * weights[i] + linear[i];
            assert!(slope.abs() < 1e-8, "{slope}");
        }
    }
}
