//! The best fixed point in hindsight, by solvers that share nothing with the learners.
//!
//! Linear losses: one linear minimisation. Everything else: accelerated projected gradient (FISTA
//! with restarts) on the total loss, stopped by a *proved* gap: for a convex f over a set with a
//! linear minimiser, f(x) − min f ≤ max_y ⟨∇f(x), x − y⟩.

use crate::task::{Task, record};
use crate::vector::{add, dot};
use hushstream_mechanism::Contribution;
use hushstream_mechanism::losses::Loss;
use hushstream_sets::{ConvexSet, SetError};

/// The gap, relative to the number of rounds, at which the solver stops.
const GAP: f64 = 1e-8;
const STEPS: usize = 20_000;

/// A point and its total loss, with a bound on how far the loss is from the least.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The point.
    pub point: Vec<f64>,
    /// Its total loss.
    pub loss: f64,
    /// Total loss minus the least possible, at most.
    pub gap: f64,
}

/// The best fixed point for these rows.
///
/// # Errors
/// A set that cannot project or minimise.
pub fn best_in_hindsight(
    task: Task,
    set: &dyn ConvexSet,
    loss: &dyn Loss,
    rows: impl IntoIterator<Item = (Vec<f64>, f64)>,
) -> Result<Best, SetError> {
    let dimension = set.dimension();
    if task.linear(dimension).is_some() {
        let mut total = vec![0.0; dimension];
        for (features, _) in rows {
            add(&mut total, features);
        }
        let mut point = vec![0.0; dimension];
        set.minimise(&total, &mut point)?;
        let loss = dot(&total, &point);
        return Ok(Best {
            point,
            loss,
            gap: 0.0,
        });
    }
    let rows: Vec<_> = rows.into_iter().collect();
    let rows = &rows[..];
    let rounds = rows.len().max(1) as f64;
    // Curvature of the mean loss.
    let smoothness = loss.smoothness().unwrap_or(1.0).max(1e-9);
    let mut point = vec![0.0; dimension];
    set.centre(&mut point)?;
    let mut ahead = point.clone();
    let mut momentum = 1.0_f64;
    let mut best = Best {
        point: point.clone(),
        loss: f64::INFINITY,
        gap: f64::INFINITY,
    };
    for step in 0..STEPS {
        let gradient = mean_gradient(loss, rows, &ahead);
        let mut next: Vec<f64> = ahead
            .iter()
            .zip(&gradient)
            .map(|(x, g)| x - g / smoothness)
            .collect();
        set.project(&mut next)?;
        // Restart when the momentum points uphill.
        let uphill: f64 = gradient
            .iter()
            .zip(next.iter().zip(&point))
            .map(|(g, (n, p))| g * (n - p))
            .sum();
        let (weight, following) = if uphill > 0.0 {
            (0.0, 1.0)
        } else {
            let following = f64::midpoint(1.0, (1.0 + 4.0 * momentum * momentum).sqrt());
            ((momentum - 1.0) / following, following)
        };
        ahead = next
            .iter()
            .zip(&point)
            .map(|(n, p)| n + weight * (n - p))
            .collect();
        momentum = following;
        point = next;
        if step % 10 == 9 || step + 1 == STEPS {
            let gradient = mean_gradient(loss, rows, &point);
            let mut lowest = vec![0.0; dimension];
            set.minimise(&gradient, &mut lowest)?;
            let gap = dot(&gradient, &point) - dot(&gradient, &lowest);
            if gap < best.gap {
                best.gap = gap;
                best.point.clone_from(&point);
            }
            if gap <= GAP {
                break;
            }
        }
    }
    best.loss = rows
        .iter()
        .map(|row| loss.value(&record(row), &best.point))
        .sum();
    best.gap *= rounds;
    Ok(best)
}

fn mean_gradient(loss: &dyn Loss, rows: &[(Vec<f64>, f64)], weights: &[f64]) -> Vec<f64> {
    let mut total = vec![0.0; weights.len()];
    for row in rows {
        if let Contribution::Dense(gradient) = loss.gradient(record(row), weights) {
            add(&mut total, gradient);
        }
    }
    let rounds = rows.len().max(1) as f64;
    total.iter_mut().for_each(|total| *total /= rounds);
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Environment, Game};

    #[test]
    fn gaps_are_proved_and_small() {
        for task in Task::ALL {
            let set = task.set(3).unwrap();
            let loss = task.loss(3);
            let mut environment = Environment::new(Game::Stochastic, 3, 400, 5);
            let rows: Vec<_> = (1..=400)
                .map(|t| task.row(&mut environment, t, &[]))
                .collect();
            let best = best_in_hindsight(task, set.as_ref(), loss.as_ref(), rows.clone()).unwrap();
            assert!(best.gap <= 400.0 * GAP * 1.01, "{task}: {}", best.gap);
            // No point of a net is better.
            for point in set.net(0.4).unwrap() {
                let other: f64 = rows
                    .iter()
                    .map(|row| loss.value(&record(row), &point))
                    .sum();
                assert!(
                    other >= best.loss - best.gap - 1e-6,
                    "{task}: {other} < {}",
                    best.loss
                );
            }
        }
    }

    #[test]
    fn the_best_point_of_distances_is_the_mean() {
        let set = Task::Mean.set(2).unwrap();
        let loss = Task::Mean.loss(2);
        let rows = vec![(vec![0.2, 0.0], 0.0), (vec![0.4, 0.6], 0.0)];
        let best =
            best_in_hindsight(Task::Mean, set.as_ref(), loss.as_ref(), rows.clone()).unwrap();
        assert!((best.point[0] - 0.3).abs() < 1e-7 && (best.point[1] - 0.3).abs() < 1e-7);
    }
}
