//! Bugs in curves and tables: what a record adds is r ⊗ φ and φ, as far apart as two radii only
//! while φ ≥ 0 has length 1, and every reading is another item.

use super::handmade::{Handmade, duel};
use super::{InDuel, Planted, gaussian};
use crate::{AuditError, Claim, Duel, World};
use hushstream_mechanism::sums::Noise;

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "counts not priced",
            what: "zero-out: noise for the residuals of a record, though it is counted too",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let apart = if faulty { 1.0 } else { 2.0_f64.sqrt() };
                release(apart, claim, [Vec::new(), added(1.0, &[1.0])])
            },
        }),
        Box::new(InDuel {
            name: "negative feature",
            what: "a centred column among hats: counts of features that are negative are not free",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let records = if faulty {
                    [added(1.0, &[-1.0]), added(1.0, &[1.0])]
                } else {
                    [added(1.0, &[0.0, 1.0]), added(1.0, &[1.0, 0.0])]
                };
                release(2.0, claim, records)
            },
        }),
        Box::new(InDuel {
            name: "a pass counted as one",
            what: "four passes with fresh noise, priced as one: 2 instead of 2√4",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let passes: u64 = 4;
                let apart = 2.0 * if faulty { 1.0 } else { (passes as f64).sqrt() };
                let sum = Handmade::line(Noise::Gaussian, apart / claim.promised());
                Ok(duel("a record of every pass", move |world, source| {
                    let item = |pass| sum.onto(source, pass, vec![world.sign()]);
                    Ok((1..=passes)
                        .map(item)
                        .collect::<Result<Vec<_>, _>>()?
                        .concat())
                }))
            },
        }),
        Box::new(InDuel {
            name: "a cell that two tables share",
            what: "two cells of length √½ at one coordinate, where they add up to √2",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let half = std::f64::consts::FRAC_1_SQRT_2;
                let cells = if faulty {
                    vec![2.0 * half]
                } else {
                    vec![half; 2]
                };
                release(2.0, claim, [added(-1.0, &cells), added(1.0, &cells)])
            },
        }),
    ]
}

/// What a record adds: its residual times its features, and its features.
fn added(residual: f64, features: &[f64]) -> Vec<f64> {
    let sums = features.iter().map(|feature| residual * feature);
    sums.chain(features.iter().copied()).collect()
}

/// One release with noise for records that are so far apart. The empty record adds nothing.
fn release(
    apart: f64,
    claim: Claim,
    [left, right]: [Vec<f64>; 2],
) -> Result<Box<dyn Duel>, AuditError> {
    let sum = Handmade::new(
        Noise::Gaussian,
        right.len() as u32,
        apart / claim.promised(),
    );
    Ok(duel("one record", move |world, source| {
        let mut values = match world {
            World::Left => left.clone(),
            World::Right => right.clone(),
        };
        values.resize(right.len(), 0.0);
        sum.onto(source, 1, values)
    }))
}
