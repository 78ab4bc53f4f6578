//! Bugs in what is released, how often, and with which noise.

use super::handmade::{Handmade, duel, ones};
use super::{InDuel, Planted, gaussian};
use crate::{AuditError, Claim, Duel};
use hushstream_mechanism::sums::{BinaryTree, Noise};

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "noise redrawn",
            what: "fresh noise on a node each time it is read",
            claim: gaussian(1.0),
            duel: redrawn,
        }),
        Box::new(InDuel {
            name: "one release too many",
            what: "a fourth release of a sum priced for three",
            claim: gaussian(2.0),
            duel: too_many,
        }),
        Box::new(InDuel {
            name: "overlapping batches",
            what: "the last record of a batch is the first of the next",
            claim: gaussian(1.0),
            duel: overlapping,
        }),
        Box::new(InDuel {
            name: "address reused",
            what: "after a crash that lost a published record, another one gets its noise",
            claim: gaussian(1.0),
            duel: reused,
        }),
    ]
}

/// A correctly priced tree for n releases.
fn tree(n: u64, claim: Claim) -> Handmade {
    let columns = f64::from(BinaryTree::depth(n)).sqrt();
    Handmade::line(Noise::Gaussian, 2.0 * columns / claim.promised())
}

fn redrawn(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const READS: u64 = 7;
    let sum = tree(READS, claim);
    Ok(duel("first record", move |world, source| {
        let address = |node: u64, t: u64| if faulty { node + (t << 32) } else { node };
        sum.publish(source, &ones(READS, &[1], world), READS, address)
    }))
}

fn too_many(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let sum = tree(3, claim);
    let releases = if faulty { 4 } else { 3 };
    Ok(duel("first record", move |world, source| {
        sum.publish(source, &ones(4, &[1], world), releases, |node, _| node)
    }))
}

fn overlapping(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const BATCH: usize = 2;
    let sum = tree(3, claim);
    Ok(duel("last record of a batch", move |world, source| {
        let records = ones(6, &[2], world);
        let batch = |k: usize| {
            let first = (k * BATCH).saturating_sub(usize::from(faulty));
            records[first..(k + 1) * BATCH].iter().sum::<f64>()
        };
        let items: Vec<f64> = (0..3).map(batch).collect();
        sum.publish(source, &items, 3, |node, _| node)
    }))
}

fn reused(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let sum = tree(3, claim);
    Ok(duel("the record before a crash", move |world, source| {
        let mut seen = sum.publish(source, &ones(2, &[2], world), 2, |node, _| node)?;
        // The crash lost record 2, whose release is out; a public record comes in its place.
        let instance = if faulty { 0 } else { 1 << 32 };
        let rest = sum.publish(source, &[0.0; 3], 3, |node, t| {
            if t == 1 { node } else { node + instance }
        })?;
        seen.extend(&rest[1..]);
        Ok(seen)
    }))
}
