//! Bugs of a tree that is read only where records have features.

use super::handmade::{Handmade, duel};
use super::{InDuel, Planted, gaussian};
use crate::duel::World;
use crate::{AuditError, Claim, Duel};
use hushstream_arena::add;
use hushstream_mechanism::sums::{BinaryTree, Cover, Noise};
use hushstream_noise::Source;

pub(super) fn all() -> Vec<Box<dyn Planted>> {
    vec![
        Box::new(InDuel {
            name: "zero where untouched",
            what: "a sparse read gives 0 for a coordinate that no record has touched",
            claim: gaussian(1.0),
            duel: untouched,
        }),
        Box::new(InDuel {
            name: "noise since first touch",
            what: "a coordinate's slot is made when a record first has it, and earlier nodes add \
                no noise to it",
            claim: gaussian(1.0),
            duel: late,
        }),
        Box::new(InDuel {
            name: "sparse noise redrawn",
            what: "each read of a coordinate draws its nodes' noise anew",
            claim: gaussian(1.0),
            duel: redrawn,
        }),
        Box::new(InDuel {
            name: "questions from exact sums",
            what: "models are noisy in all coordinates, but records are asked with weights of \
                exact sums",
            claim: gaussian(1.0),
            duel: asked,
        }),
    ]
}

/// d.
const FEATURES: usize = 4;
/// n: a record lies in two nodes at the most.
const RELEASES: u64 = 3;

/// The tree on all coordinates, priced for zero-out.
fn tree(claim: Claim) -> Handmade {
    let levels = f64::from(BinaryTree::depth(RELEASES));
    let scale = levels.sqrt() / claim.promised();
    Handmade::new(Noise::Gaussian, FEATURES as u32, scale)
}

/// All coordinates of release t, where the canary touched coordinate 2 in round 2 or never did;
/// `noise` tells which nodes are drawn for a coordinate, and where.
fn read(
    tree: &Handmade,
    source: &Source,
    (world, t): (World, u64),
    noise: impl Fn(usize, u64) -> Option<u64>,
) -> Result<Vec<f64>, AuditError> {
    let mut sums = vec![0.0; FEATURES];
    sums[0] = 1.0;
    if t >= 2 && world == World::Right {
        sums[2] = 1.0;
    }
    for term in BinaryTree.terms(t) {
        for (coordinate, sum) in sums.iter_mut().enumerate() {
            if let Some(address) = noise(coordinate, term.node) {
                *sum += tree.node(source, address)?[coordinate];
            }
        }
    }
    Ok(sums)
}

/// Whether a record has touched a coordinate up to round t.
fn touched(world: World, coordinate: usize, t: u64) -> bool {
    coordinate == 0 || (coordinate == 2 && world == World::Right && t >= 2)
}

fn untouched(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    let tree = tree(claim);
    let name = "a record of one feature, or none";
    Ok(duel(name, move |world, source| {
        let mut seen = Vec::new();
        for t in 1..=RELEASES {
            seen.extend(read(&tree, source, (world, t), |coordinate, node| {
                (!faulty || touched(world, coordinate, t)).then_some(node)
            })?);
        }
        Ok(seen)
    }))
}

/// The canary has every feature, faintly. Release 3 is the node of rounds 1 and 2 and that of round
/// 3: without the canary no slot is old enough for the first.
fn late(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const MANY: u32 = 16;
    let tree = Handmade {
        dimension: MANY,
        ..tree(claim)
    };
    let nodes = BinaryTree.terms(RELEASES);
    let older = BinaryTree.terms(2)[0].node;
    let name = "a record of all features, or none";
    Ok(duel(name, move |world, source| {
        let there = world == World::Right;
        let each = f64::from(there) / f64::from(MANY).sqrt();
        let mut seen = vec![each; MANY as usize];
        let drawn = nodes
            .iter()
            .filter(|term| !faulty || there || term.node != older);
        for term in drawn {
            add(&mut seen, tree.node(source, term.node)?);
        }
        Ok(seen)
    }))
}

fn redrawn(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const READS: u64 = 8;
    let tree = tree(claim);
    let name = "a record of one feature, or none";
    Ok(duel(name, move |world, source| {
        let mut seen = Vec::new();
        for turn in 0..READS {
            let anew = if faulty { turn << 32 } else { 0 };
            let sums = read(&tree, source, (world, 2), |_, node| Some(node + anew))?;
            seen.push(sums[2]);
        }
        Ok(seen)
    }))
}

/// Each later record answers, in a coordinate of its own, whether what it reads of coordinate 0 is
/// large.
fn asked(faulty: bool, claim: Claim) -> Result<Box<dyn Duel>, AuditError> {
    const ROUNDS: u64 = 7;
    let levels = f64::from(BinaryTree::depth(ROUNDS));
    let tree = Handmade {
        dimension: ROUNDS as u32,
        scale: levels.sqrt() / claim.promised(),
        ..tree(claim)
    };
    let name = "a record of one feature, or none";
    Ok(duel(name, move |world, source| {
        let mut exact = vec![0.0; ROUNDS as usize];
        let (mut released, mut seen) = (exact.clone(), Vec::new());
        for t in 1..=ROUNDS {
            if t == 1 {
                exact[0] = f64::from(world == World::Right);
            } else {
                let read = if faulty { exact[0] } else { released[0] };
                exact[t as usize - 1] = if read > 0.5 { 1.0 } else { -1.0 };
            }
            released.clone_from(&exact);
            for term in BinaryTree.terms(t) {
                add(&mut released, tree.node(source, term.node)?);
            }
            seen.extend(&released);
        }
        Ok(seen)
    }))
}
