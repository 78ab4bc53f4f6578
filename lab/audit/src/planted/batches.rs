//! Bugs in how batches of partial sums are taken, when their sums were made elsewhere.

use super::handmade::{Handmade, duel, ones};
use super::{InDuel, Planted, gaussian};
use crate::{AuditError, Claim, Duel};
use hushstream_mechanism::sums::{BinaryTree, Noise};

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "batch counted twice",
            what: "a batch that comes again after a crash is one more item",
            claim: gaussian(1.0),
            duel: twice,
        }),
        Box::new(InDuel {
            name: "two queries on one run",
            what: "a second query, of another checkpoint, reads its source from the beginning",
            claim: gaussian(1.0),
            duel: queries,
        }),
        Box::new(InDuel {
            name: "stale question",
            what: "integers of the first octave's lattice are added to an item of the fourth",
            claim: gaussian(1.0),
            duel: stale,
        }),
    ]
}

/// The scale of a node's noise in a tree of n items.
fn scale(items: u64, claim: Claim) -> f64 {
    2.0 * f64::from(BinaryTree::depth(items)).sqrt() / claim.promised()
}

/// A tree over items that are batches of a record each, of which only `places` hold the canary.
fn taken(
    claim: Claim,
    items: u64,
    places: &'static [u64],
    what: &'static str,
) -> Result<Box<dyn Duel>, AuditError> {
    let sum = Handmade::line(Noise::Gaussian, scale(items, claim));
    Ok(duel(what, move |world, source| {
        sum.publish(source, &ones(items, places, world), items, |node, _| node)
    }))
}

fn twice(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let places: &[u64] = if faulty { &[1, 2] } else { &[1] };
    taken(claim, 3, places, "record of a batch that comes again")
}

fn queries(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    // Either query has two batches.
    let places: &[u64] = if faulty { &[1, 3] } else { &[1] };
    taken(claim, 4, places, "record that both queries read")
}

fn stale(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    // An octave's radius is smaller the deeper its tree is, at the same noise of a node.
    const ITEMS: u64 = 8;
    let (first, fourth) = (scale(1, claim), scale(ITEMS, claim));
    let sum = Handmade::line(Noise::Gaussian, fourth);
    Ok(duel("record that answers late", move |world, source| {
        let mut items = ones(ITEMS, &[1], world);
        if faulty {
            items[0] *= fourth / first;
        }
        sum.publish(source, &items, ITEMS, |node, _| node)
    }))
}
