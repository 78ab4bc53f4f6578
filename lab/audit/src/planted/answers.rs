//! Bugs in private answers: with which noise one number leaves, how often, and what its range is.

use super::handmade::{Handmade, duel, scored};
use super::{InDuel, Planted};
use crate::{AuditError, Claim, Duel};
use hushstream_mechanism::sums::Noise;

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "vector noise",
            what: "⟨Z, play⟩ with Laplace Z of scale 2·max|l_i|/ε, right for unit vectors, for \
                another play (AS17's B is max|⟨l, play⟩|/‖play‖∞: four times that)",
            claim: Claim::Pure { epsilon: 2.0 },
            duel: vector,
        }),
        Box::new(InDuel {
            name: "answered twice",
            what: "an answer that is retried gets fresh noise, and both leave",
            claim: Claim::Pure { epsilon: 1.5 },
            duel: twice,
        }),
        Box::new(InDuel {
            name: "divided by the batch twice",
            what: "the noise of a mean of four made smaller again",
            claim: Claim::Pure { epsilon: 1.0 },
            duel: divided,
        }),
        Box::new(InDuel {
            name: "product not clipped",
            what: "⟨loss, play⟩ in nine dimensions taken to lie where the losses' coordinates do",
            claim: Claim::Pure { epsilon: 1.0 },
            duel: unclipped,
        }),
        Box::new(InDuel {
            name: "p/β forgotten",
            what: "a one-point gradient with noise for the value, not for (p/β)·value",
            claim: Claim::Pure { epsilon: 1.0 },
            duel: one_point,
        }),
    ]
}

/// Losses in the unit ball, N = 16, the play (¼, …, ¼): answers −1 and 1, and B = 4.
fn with_vector_noise(scale: f64) -> Box<dyn Duel> {
    let noise = Handmade::new(Noise::Laplace, 16, scale);
    duel(
        "answers -1 and 1 to the play (1/4, ...)",
        move |world, source| {
            let vector = noise.node(source, 1)?;
            let product: f64 = vector.iter().map(|z| 0.25 * z).sum();
            Ok(vec![world.sign() + product])
        },
    )
}

/// An answer −1 or 1 with noise of this scale, so many times.
fn scalar(scale: f64, times: u64) -> Box<dyn Duel> {
    let noise = Handmade::line(Noise::Laplace, scale);
    scored(
        "answers -1 and 1",
        move |world, source| {
            (1..=times)
                .map(|address| Ok(world.sign() + noise.node(source, address)?[0]))
                .collect()
        },
        |seen| {
            let ratio = |value: &f64| (value + 1.0).abs() - (value - 1.0).abs();
            Some(seen.iter().map(ratio).sum())
        },
    )
}

fn vector(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let scale = 2.0 / claim.promised();
    Ok(if faulty {
        with_vector_noise(scale)
    } else {
        scalar(scale, 1)
    })
}

fn twice(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    Ok(scalar(2.0 / claim.promised(), if faulty { 2 } else { 1 }))
}

fn divided(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const BATCH: f64 = 4.0;
    let right = 2.0 / (BATCH * claim.promised());
    let scale = if faulty { right / BATCH } else { right };
    let noise = Handmade::line(Noise::Laplace, scale);
    Ok(duel(
        "one of four answers, -1 or 1",
        move |world, source| noise.onto(source, 1, vec![world.sign() / BATCH]),
    ))
}

fn unclipped(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let noise = Handmade::line(Noise::Laplace, 2.0 / claim.promised());
    let most = if faulty { f64::INFINITY } else { 1.0 };
    Ok(duel(
        "losses -1 and 1 everywhere, play (1/3, ...)",
        move |world, source| {
            let product: f64 = [1.0 / 3.0; 9].iter().map(|x| world.sign() * x).sum();
            noise.onto(source, 1, vec![product.clamp(-most, most)])
        },
    ))
}

fn one_point(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const DIMENSION: u32 = 2;
    let factor = f64::from(DIMENSION) / 0.5;
    let bound = if faulty { 1.0 } else { factor };
    let noise = Handmade::new(Noise::L2Laplace, DIMENSION, 2.0 * bound / claim.promised());
    // Both persons meet the same direction, which the play shows.
    Ok(duel(
        "values -1 and 1 in one direction",
        move |world, source| {
            let value = factor * world.sign();
            noise.onto(source, 1, vec![value * 0.6, value * 0.8])
        },
    ))
}
