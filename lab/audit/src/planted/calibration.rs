//! Bugs in a constant: the mechanism is right, its noise is not.

use super::handmade::{Handmade, duel, ones, scored};
use super::{InDuel, Planted, gaussian};
use crate::learners::Nodes;
use crate::{AuditError, Claim, Duel};
use hushstream_mechanism::sums::{BinaryTree, Noise, SumKind};

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "sensitivity halved",
            what: "Laplace tree, noise for half the distance of two records",
            claim: Claim::Pure { epsilon: 1.5 },
            duel: |faulty, claim| laplace_tree(if faulty { 0.5 } else { 1.0 }, claim),
        }),
        Box::new(InDuel {
            name: "kappa forgotten",
            what: "replace-one priced like zero-out: the radius of the ball instead of its diameter",
            claim: gaussian(1.0),
            duel: |faulty, claim| tree(3, if faulty { 1.0 } else { 2.0 }, levels(3), &[1], claim),
        }),
        Box::new(InDuel {
            name: "column norm forgotten",
            what: "noise for one node, though a record lies in several",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                let levels = if faulty { 1.0 } else { levels(3) };
                tree(3, 2.0, levels, &[1], claim)
            },
        }),
        Box::new(InDuel {
            name: "participations forgotten",
            what: "a person's two records priced as one",
            claim: gaussian(1.0),
            duel: |faulty, claim| {
                // Two columns of a tree with h levels: 2h + 2(h − 1).
                let squared = if faulty {
                    levels(3)
                } else {
                    4.0 * levels(3) - 2.0
                };
                tree(3, 2.0, squared, &[1, 2], claim)
            },
        }),
        Box::new(InDuel {
            name: "one level too few",
            what: "four releases priced with two levels instead of three",
            claim: gaussian(2.0),
            duel: |faulty, claim| tree(4, 2.0, levels(if faulty { 3 } else { 4 }), &[1], claim),
        }),
        Box::new(InDuel {
            name: "R for R²",
            what: "pqftl with products of features and target bounded by R, not R² (R = 3)",
            claim: gaussian(1.0),
            duel: super::content::moments,
        }),
    ]
}

fn levels(releases: u64) -> f64 {
    f64::from(BinaryTree::depth(releases))
}

/// A Gaussian tree with n releases, whose noise is for nodes that `reach`·√(`squared`) moves.
fn tree(
    n: u64,
    reach: f64,
    squared: f64,
    canaries: &'static [u64],
    claim: Claim,
) -> Result<Box<dyn Duel>, AuditError> {
    let sum = Handmade::line(Noise::Gaussian, reach * squared.sqrt() / claim.promised());
    Ok(duel("first records", move |world, source| {
        sum.publish(source, &ones(n, canaries, world), n, |node, _| node)
    }))
}

/// A Laplace tree with three releases, its noise `share` of what it should be.
fn laplace_tree(share: f64, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let epsilon = claim.promised();
    let sum = Handmade::line(Noise::Laplace, share * 2.0 * levels(3) / epsilon);
    let nodes = Nodes::of(SumKind::Tree, 3, 3, (2.0, epsilon));
    Ok(scored(
        "first record",
        move |world, source| sum.publish(source, &ones(3, &[1], world), 3, |node, _| node),
        move |seen| {
            let nodes = nodes.as_ref()?;
            Some(nodes.ratio(seen, &[-1.0; 3], &[1.0; 3]))
        },
    ))
}
