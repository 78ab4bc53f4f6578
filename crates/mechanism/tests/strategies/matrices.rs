//! A strategy as two matrices, and that their product is the prefix sum.

use crate::plans::{LARGEST, covering};
use hushstream_mechanism::sums::{
    BalancedDigits, BinaryTree, ConstantWeight, Cover, Noise, SumKind,
};
use std::collections::BTreeMap;

/// One strategy, materialised.
pub(crate) struct Matrices {
    /// strategy[node][item]
    pub(crate) strategy: Vec<Vec<f64>>,
    /// decoder[release][node]
    pub(crate) decoder: Vec<Vec<f64>>,
}

impl Matrices {
    pub(crate) fn of_cover(cover: &dyn Cover, releases: u64) -> Self {
        let mut nodes: BTreeMap<u64, usize> = BTreeMap::new();
        for t in 1..=releases {
            for term in cover.terms(t) {
                let next = nodes.len();
                nodes.entry(term.node).or_insert(next);
            }
        }
        let mut strategy = vec![vec![0.0; releases as usize]; nodes.len()];
        for (&node, &row) in &nodes {
            let (first, last) = cover.items(node);
            for item in first..=last.min(releases) {
                strategy[row][item as usize - 1] = 1.0;
            }
        }
        let decoder = (1..=releases)
            .map(|t| {
                let mut row = vec![0.0; nodes.len()];
                for term in cover.terms(t) {
                    row[nodes[&term.node]] += f64::from(term.sign);
                }
                row
            })
            .collect();
        Self { strategy, decoder }
    }

    /// All complete dyadic nodes, with the estimate from below written as weights.
    pub(crate) fn of_honaker(releases: u64) -> Self {
        let mut nodes = Vec::new();
        for level in 0..=releases.ilog2() {
            let size = 1 << level;
            nodes.extend((1..=releases / size).map(|index| (level, index * size)));
        }
        let place =
            |level: u32, end: u64| nodes.iter().position(|&node| node == (level, end)).unwrap();
        let strategy = nodes
            .iter()
            .map(|&(level, end)| {
                let inside = end - (1 << level)..end;
                (0..releases)
                    .map(|item| f64::from(u8::from(inside.contains(&item))))
                    .collect()
            })
            .collect();
        // weights[place] of the best estimate of each node, from its children up.
        let mut weights: Vec<Vec<f64>> = Vec::new();
        let mut variances: Vec<f64> = Vec::new();
        for &(level, end) in &nodes {
            let mut row = vec![0.0; nodes.len()];
            let mut variance = 1.0;
            let mut own = 1.0;
            if level > 0 {
                let children = [
                    place(level - 1, end - (1 << (level - 1))),
                    place(level - 1, end),
                ];
                let below: f64 = children.iter().map(|&child| variances[child]).sum();
                own = below / (1.0 + below);
                variance = own;
                for child in children {
                    for (row, weight) in row.iter_mut().zip(&weights[child]) {
                        *row += (1.0 - own) * weight;
                    }
                }
            }
            row[place(level, end)] = own;
            weights.push(row);
            variances.push(variance);
        }
        let decoder = (1..=releases)
            .map(|t| {
                let mut row = vec![0.0; nodes.len()];
                let mut end = 0;
                for level in (0..64).rev().filter(|level| t >> level & 1 == 1) {
                    end += 1 << level;
                    for (row, weight) in row.iter_mut().zip(&weights[place(level, end)]) {
                        *row += weight;
                    }
                }
                row
            })
            .collect();
        Self { strategy, decoder }
    }

    pub(crate) fn of(kind: SumKind, noise: Noise, releases: u64) -> Self {
        let power = if noise.is_pure() { 2 } else { 1 };
        match kind {
            SumKind::Tree | SumKind::PaddedTree => Self::of_cover(&BinaryTree, releases),
            SumKind::Honaker => Self::of_honaker(releases),
            SumKind::Smooth => {
                let code = ConstantWeight::cheapest(releases, |w, depth| w * depth.powi(power));
                Self::of_cover(&code, releases)
            }
            SumKind::Kary => Self::of_cover(&BalancedDigits::cheapest(releases), releases),
            SumKind::Fresh => {
                let matrix = |one: fn(u64, u64) -> bool| -> Vec<Vec<f64>> {
                    let entry = |row, column| f64::from(u8::from(one(row, column)));
                    let row = |row| (0..releases).map(|column| entry(row, column)).collect();
                    (0..releases).map(row).collect()
                };
                Self {
                    strategy: matrix(|node, item| node == item),
                    decoder: matrix(|t, node| node <= t),
                }
            }
            other => panic!("{other} has tests of its own"),
        }
    }

    pub(crate) fn check_product(&self, name: &str) {
        for (t, row) in (1..).zip(&self.decoder) {
            for item in 1..=self.decoder.len() {
                let entry: f64 = row
                    .iter()
                    .zip(&self.strategy)
                    .map(|(b, c)| b * c[item - 1])
                    .sum();
                let expected = f64::from(u8::from(item <= t));
                assert!(
                    (entry - expected).abs() < 1e-12,
                    "{name}: release {t}, item {item}: {entry}"
                );
            }
        }
    }

    /// The norm of the sum of these columns: L1 or L2.
    pub(crate) fn columns(&self, items: &[usize], noise: Noise) -> f64 {
        let nodes = self
            .strategy
            .iter()
            .map(|row| items.iter().map(|&item| row[item]).sum::<f64>());
        if noise.is_pure() {
            nodes.map(f64::abs).sum()
        } else {
            nodes.map(|v| v * v).sum::<f64>().sqrt()
        }
    }
}

#[test]
fn decoder_times_strategy_is_the_prefix_sum() {
    for (kind, noise) in covering() {
        for releases in 1..=LARGEST {
            Matrices::of(kind, noise, releases)
                .check_product(&format!("{kind} {noise} n={releases}"));
        }
    }
}
