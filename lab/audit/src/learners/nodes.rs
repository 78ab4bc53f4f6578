//! The likelihood ratio of released sums with pure noise, for strategies in which every release
//! brings one noise of its own.
//!
//! Release t is S_t + Σ ±ξ(node), by the strategy's public cover. With as many nodes as releases
//! the covers form a square matrix; its inverse gives back every node's noise under either
//! hypothesis about the canary, and the log-likelihood ratio is Σ (|ξ₋| − |ξ₊|)/scale. Octaves have
//! one block for each tree, with its own scale.

use hushstream_arena::solve;
use hushstream_mechanism::sums::{BalancedDigits, BinaryTree, Cover, SumKind, Window};

/// What an outsider knows of the noise.
#[derive(Debug, Clone)]
pub(crate) struct Nodes {
    /// Row i gives node i's noise from the released sums.
    inverse: Vec<Vec<f64>>,
    /// 1/scale of each node's noise.
    rates: Vec<f64>,
}

impl Nodes {
    /// The first `seen` of `releases` releases of a sum whose items are `reach` apart in two
    /// worlds, with ε for all.
    pub(crate) fn of(
        kind: SumKind,
        releases: u64,
        seen: u64,
        (reach, epsilon): (f64, f64),
    ) -> Option<Self> {
        // (tree, node, sign) of every release; a cover's tree is 0.
        let plain = |cover: &dyn Cover, t: u64| -> Vec<(u32, u64, f64)> {
            let terms = cover.terms(t).into_iter();
            terms
                .map(|term| (0, term.node, f64::from(term.sign)))
                .collect()
        };
        let digits = BalancedDigits::cheapest(releases);
        let terms = |t: u64| -> Option<Vec<(u32, u64, f64)>> {
            Some(match kind {
                SumKind::Tree => plain(&BinaryTree, t),
                SumKind::Window(width) => plain(&Window { width }, t),
                SumKind::Kary => plain(&digits, t),
                SumKind::Fresh => (1..=t).map(|item| (0, item, 1.0)).collect(),
                SumKind::Octave => {
                    let octave = t.ilog2();
                    let roots = (0..octave).flat_map(|m| {
                        let root = BinaryTree.terms(1 << m).into_iter();
                        root.map(move |term| (m, term.node, 1.0))
                    });
                    let here = BinaryTree.terms(t - (1 << octave) + 1).into_iter();
                    let here = here.map(|term| (octave, term.node, 1.0));
                    roots.chain(here).collect()
                }
                _ => return None,
            })
        };
        let covers: Vec<_> = (1..=seen).map(terms).collect::<Option<_>>()?;
        let mut names: Vec<(u32, u64)> = covers.iter().flatten().map(|&(o, n, _)| (o, n)).collect();
        names.sort_unstable();
        names.dedup();
        let size = names.len();
        if size != covers.len() {
            return None;
        }
        let depth = |octave: u32| match kind {
            SumKind::Octave => f64::from(octave + 1),
            SumKind::Window(width) => f64::from(Window { width }.depth(releases)),
            SumKind::Kary => f64::from(digits.depth()),
            SumKind::Fresh => 1.0,
            _ => f64::from(BinaryTree::depth(releases)),
        };
        let rates = names
            .iter()
            .map(|&(octave, _)| epsilon / (reach * depth(octave)));
        let matrix: Vec<Vec<f64>> = covers
            .iter()
            .map(|cover| {
                let mut row = vec![0.0; size];
                for &(octave, node, sign) in cover {
                    let place = names.binary_search(&(octave, node)).unwrap_or(0);
                    row[place] += sign;
                }
                row
            })
            .collect();
        // Column by column: the noise that each release alone would show.
        let columns: Vec<Vec<f64>> = (0..size)
            .map(|k| {
                let mut rows = matrix.clone();
                for (i, row) in rows.iter_mut().enumerate() {
                    row.push(if i == k { 1.0 } else { 0.0 });
                }
                solve(rows)
            })
            .collect::<Option<_>>()?;
        let inverse = (0..size)
            .map(|i| columns.iter().map(|column| column[i]).collect())
            .collect();
        Some(Self {
            inverse,
            rates: rates.collect(),
        })
    }

    /// The log-likelihood ratio of the sums, when canaries are worth `left` or `right` in each of
    /// them.
    pub(crate) fn ratio(&self, sums: &[f64], left: &[f64], right: &[f64]) -> f64 {
        let noise = |row: &[f64], canary: &[f64]| -> f64 {
            let shown = sums.iter().zip(canary).map(|(sum, canary)| sum - canary);
            row.iter()
                .zip(shown)
                .map(|(weight, value)| weight * value)
                .sum()
        };
        let nodes = self.inverse.iter().zip(&self.rates);
        nodes
            .map(|(row, rate)| rate * (noise(row, left).abs() - noise(row, right).abs()))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_ratio_is_epsilon() {
        for kind in [
            SumKind::Tree,
            SumKind::Kary,
            SumKind::Octave,
            SumKind::Window(3),
        ] {
            let releases = if kind == SumKind::Kary { 4 } else { 7 };
            // A window protects its first item in three releases.
            let seen = if kind == SumKind::Window(3) {
                3
            } else {
                releases
            };
            let nodes = Nodes::of(kind, releases, seen, (2.0, 1.5)).unwrap();
            // Octave m's first item is in m + 1 nodes; elsewhere the first item is in the most.
            let canary = if kind == SumKind::Octave { 4 } else { 1 };
            let shift = |pull: f64| -> Vec<f64> {
                (1..=seen)
                    .map(|t| if t >= canary { pull } else { 0.0 })
                    .collect()
            };
            // So much positive noise on every node that each one's ratio is at its end.
            let size = nodes.inverse.len();
            let rows: Vec<Vec<f64>> = (0..size)
                .map(|i| nodes.inverse[i].iter().copied().chain([50.0]).collect())
                .collect();
            let sums = solve(rows).unwrap();
            let ratio = nodes.ratio(&sums, &shift(-1.0), &shift(1.0));
            assert!((ratio - 1.5).abs() < 1e-9, "{kind}: {ratio}");
        }
        assert!(Nodes::of(SumKind::Smooth, 7, 7, (2.0, 1.0)).is_none());
    }
}
