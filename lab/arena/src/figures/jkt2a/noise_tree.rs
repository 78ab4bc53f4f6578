//! The noise of the paper's binary tree, without privacy's care: floating-point draws from public
//! dice.

use crate::Dice;

/// One cached draw a node, with a deviation for each coordinate.
pub(in crate::figures) struct NoiseTree {
    sigmas: Vec<f64>,
    levels: Vec<Vec<f64>>,
    dice: Dice,
}

impl NoiseTree {
    pub(in crate::figures) fn new(sigmas: Vec<f64>, seed: u64) -> Self {
        Self {
            sigmas,
            levels: Vec::new(),
            dice: Dice::new(seed ^ 0x6e_6f_69_73),
        }
    }

    /// What is in the prefix sum of t items; t = 1, 2, … in turn.
    pub(in crate::figures) fn at(&mut self, t: u64) -> Vec<f64> {
        // The node that is completed by item t is the largest that ends there; smaller ones that
        // end there are in no prefix sum.
        let completed = t.trailing_zeros() as usize;
        self.levels
            .resize(self.levels.len().max(completed + 1), Vec::new());
        let dice = &mut self.dice;
        self.levels[completed] = self.sigmas.iter().map(|s| s * dice.normal()).collect();
        let mut total = vec![0.0; self.sigmas.len()];
        for (_, level) in (0..).zip(&self.levels).filter(|(bit, _)| t >> bit & 1 == 1) {
            total.iter_mut().zip(level).for_each(|(sum, n)| *sum += n);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prefix of t items has as many nodes as t has binary ones, and those that two prefixes
    /// share have the same noise in both.
    #[test]
    fn nodes_are_drawn_once() {
        let mut tree = NoiseTree::new(vec![2.0; 20_000], 3);
        let prefixes: Vec<Vec<f64>> = (1..=13).map(|t| tree.at(t)).collect();
        let square = |values: &mut dyn Iterator<Item = f64>| {
            values.map(|value| value * value).sum::<f64>() / (4.0 * 20_000.0)
        };
        for (t, prefix) in (1_u64..).zip(&prefixes) {
            let nodes = square(&mut prefix.iter().copied());
            assert!(
                (nodes / f64::from(t.count_ones()) - 1.0).abs() < 0.05,
                "{t}: {nodes}"
            );
        }
        let apart = |t: usize, u: usize| {
            let (a, b) = (&prefixes[t - 1], &prefixes[u - 1]);
            square(&mut a.iter().zip(b).map(|(a, b)| a - b))
        };
        // {4, 2, 1} and {4, 2}; {8, 4} and {8, 2, 1}; {8, 4, 1} and {4, 1}, whose fours are not the
        // same items.
        for (t, u, nodes) in [(7, 6, 1.0), (12, 11, 3.0), (13, 5, 5.0)] {
            assert!(
                (apart(t, u) / nodes - 1.0).abs() < 0.05,
                "{t} {u}: {}",
                apart(t, u)
            );
        }
    }
}
