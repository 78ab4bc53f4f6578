//! Bugs in private selections: how often is drawn, from which losses, and at what rate.

use super::handmade::duel;
use super::{InDuel, Planted};
use crate::duel::World;
use crate::{AuditError, Claim, Duel};
use hushstream_account::{Epsilon, RenyiCurve};
use hushstream_arena::add;
use hushstream_noise::Source;

/// δ of the claim of overlapping batches: so large that a few thousand runs tell.
const DELTA: f64 = 0.05;
/// Draws from batches of losses.
const DRAWS: u32 = 16;

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "draws beyond the last",
            what: "a dartboard with one draw draws on when it is spent (AFKT22 line 12, erratum \
                F1)",
            // The coin costs max(κ, 0.04), the draw 2κ; κ = ½.
            claim: Claim::Pure { epsilon: 1.5 },
            duel: drawing_on,
        }),
        Box::new(InDuel {
            name: "overlapping batches of losses",
            what: "Hedge on batches that share their border: a record counts twice (erratum F5)",
            claim: Claim::Approximate {
                epsilon: hedge().unwrap_or(f64::INFINITY),
                delta: DELTA,
            },
            duel: overlapping,
        }),
        Box::new(InDuel {
            name: "2Δ forgotten",
            what: "the exponential mechanism with weights e^(-ε·loss) instead of e^(-ε·loss/2)",
            claim: Claim::Pure { epsilon: 1.0 },
            duel: halved,
        }),
        Box::new(InDuel {
            name: "net not scaled",
            what: "losses on a net that are not divided by slope times diameter, here 6 (erratum \
                F8)",
            claim: Claim::Pure { epsilon: 1.0 },
            duel: unscaled,
        }),
    ]
}

/// A shrinking dartboard as one would write it in an afternoon, in floats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dartboard {
    /// κ.
    pub(crate) rate: f64,
    /// p.
    pub(crate) forced: f64,
    /// K − 1.
    pub(crate) draws: u64,
}

impl Dartboard {
    /// The plays after each item, the first of all before them.
    pub(crate) fn play(&self, source: &Source, first: usize, items: &[Vec<f64>]) -> Vec<f64> {
        let mut totals = vec![0.0; items.first().map_or(1, Vec::len)];
        let (mut played, mut left) = (first, self.draws);
        let mut seen = vec![played as f64];
        for (item, address) in items.iter().zip(1..) {
            let mut cursor = source.cursor(address, 0);
            let mut uniform = || (cursor.next_word() >> 11) as f64 / (1_u64 << 53) as f64;
            add(&mut totals, item.iter().copied());
            let keep = (1.0 - self.forced) * libm::exp(-self.rate * item[played]);
            if left > 0 && uniform() >= keep {
                left -= 1;
                played = drawn(&totals, self.rate, uniform());
            }
            seen.push(played as f64);
        }
        seen
    }
}

/// The expert in whose share of the weights e^(−rate·total) the point lies.
fn drawn(totals: &[f64], rate: f64, point: f64) -> usize {
    let weights: Vec<f64> = totals.iter().map(|sum| libm::exp(-rate * sum)).collect();
    let mut rest = point * weights.iter().sum::<f64>();
    for (expert, weight) in weights.iter().enumerate() {
        rest -= weight;
        if rest < 0.0 {
            return expert;
        }
    }
    weights.len() - 1
}

/// Loss 1 with one expert alone on the left, with all others on the right.
pub(crate) fn aimed(experts: usize, aim: usize, world: World) -> Vec<f64> {
    (0..experts)
        .map(|expert| f64::from(u8::from((expert == aim) == (world == World::Left))))
        .collect()
}

fn drawing_on(faulty: bool, _: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const ITEMS: usize = 16;
    let board = Dartboard {
        rate: 0.5,
        forced: 0.9,
        draws: if faulty { u64::MAX } else { 1 },
    };
    Ok(duel("first item of sixteen", move |world, source| {
        let mut items = vec![vec![0.0; 2]; ITEMS];
        items[0] = aimed(2, 1, world);
        Ok(board.play(source, 0, &items))
    }))
}

/// κ of the batches.
const RATE: f64 = 0.25;

/// What sixteen draws of range 2κ cost at δ.
fn hedge() -> Option<f64> {
    let one = RenyiCurve::bounded_range(Epsilon::new(2.0 * RATE).ok()?).ok()?;
    one.times(u64::from(DRAWS)).ok()?.epsilon_at(DELTA).ok()
}

fn overlapping(faulty: bool, _: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const BATCH: usize = 2;
    let hedge = Dartboard {
        rate: RATE,
        forced: 1.0,
        draws: u64::MAX,
    };
    Ok(duel(
        "the record at the border of two batches",
        move |world, source| {
            let mut records = vec![vec![0.0; 2]; BATCH * DRAWS as usize + 1];
            records[BATCH] = aimed(2, 1, world);
            // The twin's border belongs to the batch that it begins; shifted, so that both hold it
            // from the first batch on.
            let shift = if faulty { 0 } else { 1 };
            let items: Vec<Vec<f64>> = (0..DRAWS as usize)
                .map(|k| batch(&records[BATCH * k + shift..=BATCH * (k + 1)]))
                .collect();
            Ok(hedge.play(source, 0, &items))
        },
    ))
}

/// The sum of a batch.
pub(crate) fn batch(records: &[Vec<f64>]) -> Vec<f64> {
    (0..records[0].len())
        .map(|expert| records.iter().map(|record| record[expert]).sum())
        .collect()
}

fn halved(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let draw = Dartboard {
        rate: claim.promised() / if faulty { 1.0 } else { 2.0 },
        forced: 1.0,
        draws: 1,
    };
    Ok(duel("one draw of four", move |world, source| {
        Ok(draw.play(source, 0, &[aimed(4, 1, world)]))
    }))
}

fn unscaled(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const POINTS: [f64; 2] = [-3.0, 3.0];
    let draw = Dartboard {
        rate: claim.promised() / 2.0,
        forced: 1.0,
        draws: 1,
    };
    let range = if faulty { 1.0 } else { 6.0 };
    Ok(duel(
        "slopes -1 and 1 on a net of two points",
        move |world, source| {
            let values = POINTS.map(|point| world.sign() * point);
            let least = values[0].min(values[1]);
            let losses = values.map(|value| (value - least) / range).to_vec();
            Ok(draw.play(source, 0, &[losses]))
        },
    ))
}
