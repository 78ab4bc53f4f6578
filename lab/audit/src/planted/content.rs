//! Bugs in what becomes of a record, and in the shape of its noise.

use super::handmade::{Handmade, UNIT, duel};
use super::{InDuel, Planted, gaussian};
use crate::{AuditError, Claim, Duel};
use hushstream_learn::{Learner, LeastSquares, MomentsLayout};
use hushstream_mechanism::sums::Noise;
use hushstream_noise::{DiscreteLaplace, RoundedGaussian};

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "exponential radius",
            what: "L2-Laplace noise with a length drawn as an exponential, not as a Gamma",
            claim: Claim::Pure { epsilon: 1.0 },
            duel: exponential_radius,
        }),
        Box::new(InDuel {
            name: "clipping after noise",
            what: "noise for a bounded record, the bound enforced on the noisy result",
            claim: gaussian(1.0),
            duel: clipped_late,
        }),
    ]
}

fn exponential_radius(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const DIMENSION: u32 = 3;
    let sum = Handmade::new(Noise::L2Laplace, DIMENSION, 2.0 / claim.promised());
    Ok(duel("one record", move |world, source| {
        let mut seen = if faulty {
            let mut direction = [0; DIMENSION as usize];
            RoundedGaussian::STANDARD.fill(source, 1, 0, &mut direction);
            let squares = direction.iter().map(|v| (*v as f64).powi(2));
            let norm = squares.sum::<f64>().sqrt();
            // The size of a Laplace number is exponential.
            let mut length = [0];
            DiscreteLaplace::new(UNIT)?.fill(source, 1, 0, &mut length);
            let length = length[0].unsigned_abs() as f64 / UNIT as f64 * sum.scale;
            direction.map(|v| v as f64 / norm * length).to_vec()
        } else {
            sum.node(source, 1)?
        };
        seen[0] += world.sign();
        Ok(seen)
    }))
}

fn clipped_late(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let sum = Handmade::line(Noise::Gaussian, 2.0 / claim.promised());
    Ok(duel(
        "a record far outside the bound",
        move |world, source| {
            let noise = sum.node(source, 1)?[0];
            let record = 50.0 * world.sign();
            Ok(vec![if faulty {
                (record + noise).clamp(-1.0, 1.0)
            } else {
                record.clamp(-1.0, 1.0) + noise
            }])
        },
    ))
}

/// Least squares on two records' moments, one release; R = 3, targets ±1. With a correct bound
/// √2·R² two points are at most 1.5 times as far apart.
pub(super) fn moments(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const R: f64 = 3.0;
    let layout = MomentsLayout::new(1, R, 1.0)?;
    let power = if faulty { R } else { R * R };
    let bound = std::f64::consts::SQRT_2 * power;
    let sum = Handmade::new(Noise::Gaussian, 2, 1.5 * bound / claim.promised());
    Ok(duel("targets 1 and -1", move |world, source| {
        let mut moments = vec![0.0; layout.len()];
        layout.write(&[R], world.sign(), &mut moments)?;
        let mut learner = LeastSquares::new(1, R, 1.0, 1.0)?;
        learner.observe(&sum.onto(source, 1, moments)?)?;
        Ok(learner.iterate().to_vec())
    }))
}
