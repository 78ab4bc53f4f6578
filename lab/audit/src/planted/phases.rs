//! Bugs in phased gradient descent: what is clipped, where a phase begins, and from what.

use super::handmade::{Handmade, duel, scored};
use super::{InDuel, Planted, gaussian};
use crate::duel::World;
use crate::{AuditError, Claim, Duel};
use hushstream_arena::{add, dot};
use hushstream_mechanism::sums::Noise;
use hushstream_sets::{Ball, BoxSet, ConvexSet};

/// η.
const STEP: f64 = 0.05;

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "gradients clipped, not data",
            what: "curvature is unbounded then, steps expand, and one record moves the others'",
            claim: gaussian(1.0),
            duel: clipped_gradients,
        }),
        Box::new(InDuel {
            name: "start not projected",
            what: "a phase begins at the noisy end of the last, outside the set, where slopes are \
                larger than priced",
            claim: gaussian(1.0),
            duel: unprojected,
        }),
        Box::new(InDuel {
            name: "secret start",
            what: "a phase begins at the end of the last without its noise",
            claim: gaussian(1.0),
            duel: secret,
        }),
    ]
}

/// One step on ½(⟨w, x⟩ − y)², its gradient no longer than `clip`, back into the set.
fn step(
    set: &dyn ConvexSet,
    at: &mut [f64],
    (features, target): (&[f64], f64),
    clip: f64,
) -> Result<(), AuditError> {
    let slope = dot(at, features) - target;
    let norm = dot(features, features).sqrt();
    let shrink = (clip / (slope.abs() * norm).max(1e-300)).min(1.0);
    add(at, features.iter().map(|x| -(STEP * shrink * slope * x)));
    set.project(at)?;
    Ok(())
}

/// A Gaussian vector of this standard deviation.
fn noise(sd: f64, dimension: u32) -> Handmade {
    Handmade::new(Noise::Gaussian, dimension, sd)
}

/// A first record with a small target, then one with a huge feature on each axis, then many without
/// any. Clipped gradients turn the huge ones' errors, of either sign, into whole steps; clipped
/// data make them small again.
fn clipped_gradients(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const CLIP: f64 = 2.0;
    const REST: u32 = 395;
    let set = Ball::new(4, 1.0)?;
    let average = |world: World| -> Result<Vec<f64>, AuditError> {
        let mut at = vec![0.0; 4];
        let mut stream = vec![(vec![0.5; 4], 0.01 * world.sign())];
        for axis in 0..4 {
            let mut features = vec![0.0; 4];
            features[axis] = if faulty { 1e6 } else { 1.0 };
            stream.push((features, 0.0));
        }
        let mut mean = vec![0.0; 4];
        let count = f64::from(REST) + stream.len() as f64;
        let last = stream.len() - 1;
        for (number, (features, target)) in stream.iter().enumerate() {
            step(&set, &mut at, (features, *target), CLIP)?;
            // The others have no slope: the walk stays where it is.
            let times = if number == last {
                f64::from(REST + 1)
            } else {
                1.0
            };
            add(&mut mean, at.iter().map(|at| times * at / count));
        }
        Ok(mean)
    };
    let (left, right) = (average(World::Left)?, average(World::Right)?);
    let noise = noise(2.0 * CLIP * STEP / claim.promised(), 4);
    Ok(duel(
        "targets ±0.01 of the first record",
        move |world, source| {
            let mean = if world == World::Left { &left } else { &right };
            noise.onto(source, 1, mean.clone())
        },
    ))
}

/// A phase that begins where large noise has led it, along the first axis of a square; its one
/// record pulls along the second in proportion to that.
fn unprojected(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let set = BoxSet::cube(2, 1.0)?;
    // Features of length 1, targets up to 1, weights up to √2.
    let slope = 1.0 + std::f64::consts::SQRT_2;
    let noise_before = noise(40.0, 1);
    let noise_after = noise(2.0 * slope * STEP / claim.promised(), 2);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    Ok(scored(
        "features (1, 1) and (1, -1)",
        move |world, source| {
            let mut at = vec![noise_before.node(source, 1)?[0], 0.0];
            if !faulty {
                set.project(&mut at)?;
            }
            let features = [half, half * world.sign()];
            step(&set, &mut at, (&features, 0.0), f64::INFINITY)?;
            noise_after.onto(source, 2, at)
        },
        // Both coordinates move against the start: the sign of their product is the record's.
        |seen| Some(-seen[0] * seen[1]),
    ))
}

/// Two phases with steps η and η/4 on the line: the first record is in the first phase, the second
/// phase's records have no slope, and only its end leaves.
fn secret(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let first = noise(2.0 * STEP / claim.promised(), 1);
    let second = noise(2.0 * STEP / 4.0 / claim.promised(), 1);
    Ok(duel(
        "slopes -1 and 1 in the first phase",
        move |world, source| {
            let mut start = -STEP * world.sign();
            if !faulty {
                start += first.node(source, 1)?[0];
            }
            Ok(vec![start + second.node(source, 2)?[0]])
        },
    ))
}
