//! Bugs of iterates that are released with noise: each drives two streams further apart than the
//! noise is for, or prices them wrongly.
//!
//! Steps are written by hand, on losses with slope at most 1 and curvature α: implicit ones are x ←
//! (t·x − g/α)/(t + 1), which one record moves by 2/(α(t+1)).

use super::handmade::{Handmade, duel};
use super::{InDuel, Planted, gaussian};
use crate::duel::World;
use crate::{AuditError, Claim, Duel};
use hushstream_arena::dot;
use hushstream_mechanism::sums::Noise;
use hushstream_noise::Source;

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "null record skipped",
            what: "a malformed record makes no step, and earlier ones lose its contraction",
            claim: gaussian(1.0),
            duel: skipped,
        }),
        Box::new(InDuel {
            name: "gradients clipped",
            what: "gradients of long records are cut off instead of the records: such steps do not \
                contract",
            claim: gaussian(1.0),
            duel: clipped_gradients,
        }),
        Box::new(InDuel {
            name: "inexact step not charged",
            what: "a solver that stops where it gains little, priced as if it were exact",
            claim: gaussian(1.0),
            duel: inexact,
        }),
        Box::new(InDuel {
            name: "average without 1/alpha",
            what: "pol with the printed 2L ln T/T, at a curvature of 0.1",
            claim: gaussian(1.0),
            duel: average,
        }),
        Box::new(InDuel {
            name: "printed gradient step",
            what: "steps of 2/(αt), noise for the 2G/(αt) of steps of 1/(αt)",
            claim: gaussian(1.0),
            duel: printed_step,
        }),
        Box::new(InDuel {
            name: "octaves for free",
            what: "each octave of iterates gets the whole budget, as octaves of sums may: but an \
                iterate holds all records before it",
            claim: gaussian(1.0),
            duel: octaves,
        }),
        Box::new(InDuel {
            name: "noise rescaled",
            what: "a release made again after a stop, with the same noise in another unit",
            claim: gaussian(1.0),
            duel: rescaled,
        }),
    ]
}

/// Where implicit steps on linear losses with gradients `gradients` and curvature α lead, step by
/// step; a gradient that is none is a null record, with its own step.
fn implicit(gradients: &[Option<f64>], alpha: f64) -> Vec<f64> {
    let mut x = 0.0;
    let steps = (1_u32..).zip(gradients).map(|(t, gradient)| {
        let t = f64::from(t);
        x = (t * x - gradient.unwrap_or(0.0) / alpha) / (t + 1.0);
        x
    });
    steps.collect()
}

/// 2/(α(t+1)).
fn moved(t: usize, alpha: f64) -> f64 {
    2.0 / (alpha * (t as f64 + 1.0))
}

/// The canary first, null records after it.
fn stream(world: World, steps: usize) -> Vec<Option<f64>> {
    let mut gradients = vec![None; steps];
    gradients[0] = Some(world.sign());
    gradients
}

/// Releases of iterates with the standard deviations `sigma`.
fn noisy(
    source: &Source,
    iterates: &[f64],
    sigma: impl Fn(usize) -> f64,
) -> Result<Vec<f64>, AuditError> {
    let standard = Handmade::line(Noise::Gaussian, 1.0);
    (1_usize..)
        .zip(iterates)
        .map(|(t, x)| Ok(x + sigma(t) * standard.node(source, t as u64)?[0]))
        .collect()
}

fn skipped(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const STEPS: usize = 16;
    let share = claim.promised() / (STEPS as f64).sqrt();
    Ok(duel("one record, then null ones", move |world, source| {
        let mut iterates = implicit(&stream(world, STEPS), 1.0);
        if faulty {
            let first = iterates[0];
            iterates.fill(first);
        }
        noisy(source, &iterates, |t| moved(t, 1.0) / share)
    }))
}

/// In eight dimensions: after the canary every record is a hyperplane between the two worlds, in a
/// direction of its own, and they are pushed apart along it. One release, at the end.
fn clipped_gradients(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const D: usize = 8;
    // A gradient step on the Huber loss with knee 1 and curvature 1; the first that contracts is
    // the second.
    let step = move |t: usize, x: &mut [f64; D], (v, y): &([f64; D], f64)| {
        let length = dot(v, v).sqrt();
        let shrink = if faulty { 1.0 } else { 1.0 / length.max(1.0) };
        let target = if faulty { *y } else { y.clamp(-1.0, 1.0) };
        let slope = (shrink * dot(v, x) - target).clamp(-1.0, 1.0);
        // Of length 1 at the most, either way.
        let pull = slope / length.max(1.0);
        for (x, v) in x.iter_mut().zip(v) {
            *x -= (pull * v + *x) / t as f64;
        }
    };
    let mut canary = [0.0; D];
    canary[0] = 1.0;
    let mut worlds = [[0.0; D]; 2];
    step(2, &mut worlds[0], &(canary.map(|v| -v), 1.0));
    step(2, &mut worlds[1], &(canary, 1.0));
    for axis in 1..D {
        let mut v = [0.0; D];
        let mut middle = [0.0; D];
        for i in 0..D {
            v[i] = 1e3 * (worlds[1][i] - worlds[0][i]);
            middle[i] = f64::midpoint(worlds[0][i], worlds[1][i]);
        }
        v[axis] += 1e6;
        let record = (v, dot(&v, &middle));
        for world in &mut worlds {
            step(axis + 2, world, &record);
        }
    }
    let scale = 2.0 / (D as f64 + 1.0) / claim.promised();
    let sum = Handmade::new(Noise::Gaussian, D as u32, scale);
    Ok(duel(
        "one record, then hyperplanes between the worlds",
        move |world, source| {
            let at = worlds[usize::from(world == World::Right)];
            sum.onto(source, 1, at.to_vec())
        },
    ))
}

fn inexact(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const STEPS: usize = 32;
    const TOLERANCE: f64 = 0.02;
    let sigma = moved(STEPS, 1.0) / claim.promised();
    Ok(duel("one record, then null ones", move |world, source| {
        let mut x = -0.5 * world.sign();
        for t in 2..=STEPS {
            let better = x * t as f64 / (t as f64 + 1.0);
            if !faulty || (better - x).abs() > TOLERANCE {
                x = better;
            }
        }
        noisy(source, &[x], |_| sigma)
    }))
}

fn average(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const ALPHA: f64 = 0.1;
    const STEPS: usize = 15;
    let rounds = STEPS as f64 + 1.0;
    let moved: f64 = if faulty {
        2.0 * libm::log(rounds) / rounds
    } else {
        (1..=STEPS).map(|t| moved(t, ALPHA)).sum::<f64>() / rounds
    };
    let sigma = moved / claim.promised();
    Ok(duel("one record, then null ones", move |world, source| {
        let iterates = implicit(&stream(world, STEPS), ALPHA);
        let mean = iterates.iter().sum::<f64>() / rounds;
        noisy(source, &[mean], |_| sigma)
    }))
}

/// Gradient steps x ← x − (2/(αt))(g + αx), α = 1, from the second on, where they contract.
fn printed_step(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const STEPS: usize = 4;
    let share = claim.promised() / (STEPS as f64 - 1.0).sqrt();
    let factor = if faulty { 2.0 } else { 4.0 };
    Ok(duel(
        "the first record that counts",
        move |world, source| {
            let mut x = 0.0;
            let mut iterates = vec![x];
            for t in 2..=STEPS {
                let gradient = if t == 2 { world.sign() } else { 0.0 };
                x -= 2.0 / t as f64 * (gradient + x);
                iterates.push(x);
            }
            noisy(source, &iterates, |t| factor / (t as f64 * share))
        },
    ))
}

fn octaves(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const STEPS: usize = 15;
    let mu = claim.promised();
    let share = move |t: usize| {
        let octave = f64::from(t.ilog2());
        let mut part = 1.0 / octave.exp2();
        if !faulty {
            part /= (octave + 1.0) * (octave + 2.0);
        }
        mu * part.sqrt()
    };
    Ok(duel("one record, then null ones", move |world, source| {
        let iterates = implicit(&stream(world, STEPS), 1.0);
        noisy(source, &iterates, |t| moved(t, 1.0) / share(t))
    }))
}

fn rescaled(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let sigma = moved(1, 1.0) / claim.promised();
    Ok(duel("the record before a stop", move |world, source| {
        let iterates = implicit(&stream(world, 1), 1.0);
        let mut seen = noisy(source, &iterates, |_| sigma)?;
        let again = if faulty { 1.01 * sigma } else { sigma };
        seen.extend(noisy(source, &iterates, |_| again)?);
        Ok(seen)
    }))
}
