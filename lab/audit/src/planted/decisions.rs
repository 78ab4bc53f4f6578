//! Bugs in decisions: the block of an arm must keep the clock of all arms, and its noise.

use super::handmade::{Handmade, duel};
use super::{InDuel, Planted, gaussian};
use crate::{AuditError, Claim, Duel, World};
use hushstream_mechanism::sums::{BinaryTree, Noise};

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "an arm on its own clock",
            what: "an item of a block is the next record of its arm: another arm shifts all later",
            claim: gaussian(1.0),
            duel: own_clock,
        }),
        Box::new(InDuel {
            name: "no noise where nobody played",
            what: "the block of an arm is released with noise once somebody has played it",
            claim: gaussian(1.0),
            duel: unplayed,
        }),
        Box::new(InDuel {
            name: "reward not clipped",
            what: "a reward of 3 counts as it is, in a range of −1 to 1",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let most = if faulty { 3.0 } else { 1.0 };
                let sum = Handmade::line(Noise::Gaussian, 2.0 / claim.promised());
                Ok(duel("a reward beyond its range", move |world, source| {
                    let reward = (3.0 * world.sign()).clamp(-most, most);
                    sum.onto(source, 1, vec![reward])
                }))
            },
        }),
        Box::new(InDuel {
            name: "policy before its sync",
            what: "a decision from a release that a crash forgets, whose record is noised anew",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let sum = Handmade::line(Noise::Gaussian, 2.0 / claim.promised());
                Ok(duel("the record before a crash", move |world, source| {
                    let mut seen = sum.onto(source, 1, vec![world.sign()])?;
                    // The journal never had the item: the new instance takes the record again.
                    let address = if faulty { 1 << 32 } else { 1 };
                    seen.extend(sum.onto(source, address, vec![world.sign()])?);
                    Ok(seen)
                }))
            },
        }),
        Box::new(InDuel {
            name: "coin from the noise",
            what: "the coins of decisions are read where the noise is: others' decisions tell it",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let sum = Handmade::line(Noise::Gaussian, 2.0 / claim.promised());
                Ok(duel("one record, and a decision", move |world, source| {
                    let mut seen = sum.onto(source, 1, vec![world.sign()])?;
                    let address = if faulty { 1 } else { 2 };
                    let coin = sum.node(source, address)?[0];
                    // Eight decisions by the same coin, each with another threshold.
                    let side = |k: i32| f64::from(u8::from(coin > f64::from(k) * 0.5 - 2.0));
                    seen.extend((0..8).map(side));
                    Ok(seen)
                }))
            },
        }),
    ]
}

/// The canary plays arm 0 or arm 1; all others play arm 0 and earn 1 and −1 in turn.
fn own_clock(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const ITEMS: u64 = 7;
    // Two records in different blocks are √2 apart; a tree of three levels.
    let columns = f64::from(BinaryTree::depth(ITEMS)).sqrt();
    let sum = Handmade::line(Noise::Gaussian, 2.0_f64.sqrt() * columns / claim.promised());
    Ok(duel("the arm of the first record", move |world, source| {
        let turn = |k: u64| if k.is_multiple_of(2) { 1.0 } else { -1.0 };
        let mine = usize::from(world == World::Right);
        let mut arms: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for t in 0..ITEMS {
            let arm = if t == 0 { mine } else { 0 };
            arms[arm].push(turn(t));
            if !faulty {
                arms[1 - arm].push(0.0);
            }
        }
        for block in &mut arms {
            block.resize(ITEMS as usize, 0.0);
        }
        let mut seen = Vec::new();
        for (block, items) in (0..).zip(&arms) {
            let address = |node: u64, _: u64| node + (block << 32);
            seen.extend(sum.publish(source, items, ITEMS, address)?);
        }
        Ok(seen)
    }))
}

/// The canary plays arm 0 or arm 1, which nobody else plays, and earns 0.
fn unplayed(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let sum = Handmade::new(Noise::Gaussian, 2, 2.0_f64.sqrt() / claim.promised());
    Ok(duel(
        "an arm that nobody else plays",
        move |world, source| {
            let played = usize::from(world == World::Right);
            let mut values = vec![0.0; 2];
            values[played] = 1.0;
            let mut seen = sum.onto(source, 1, values)?;
            if faulty {
                seen[1 - played] = 0.0;
            }
            Ok(seen)
        },
    ))
}
