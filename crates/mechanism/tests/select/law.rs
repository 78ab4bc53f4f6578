//! The law of a dartboard's plays, by enumeration: written from AFKT22 Algorithm 1, not from the
//! code under test.

use hushstream_mechanism::select::Board;

/// Possible mistakes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// Drawing on after the last draw (the reading that erratum F1 warns of).
    DrawsForever,
}

/// P(x_1, x_2, …) for every sequence of plays, indexed in base `experts`, the first play the most
/// significant digit. `items` holds the loss vectors after which a play follows.
pub(crate) fn law(board: &Board, items: &[Vec<f64>], experts: usize, bug: Bug) -> Vec<f64> {
    let limit = board.resamples() as usize;
    // For each prefix of plays: the probability of it together with each number of draws used.
    let mut prefixes = vec![vec![0.0; limit + 1]; experts];
    for prefix in &mut prefixes {
        prefix[0] = 1.0 / experts as f64;
    }
    let mut totals = vec![0.0; experts];
    for item in items {
        for (total, loss) in totals.iter_mut().zip(item) {
            *total += loss;
        }
        let weights: Vec<f64> = totals.iter().map(|l| (-board.rate() * l).exp()).collect();
        let whole: f64 = weights.iter().sum();
        let mut next = vec![vec![0.0; limit + 1]; prefixes.len() * experts];
        for (index, prefix) in prefixes.iter().enumerate() {
            let current = index % experts;
            let stay = (1.0 - board.forced()) * (-board.rate() * item[current]).exp();
            for (used, &mass) in prefix.iter().enumerate() {
                if mass == 0.0 {
                    continue;
                }
                let exhausted = used == limit;
                let keeps = if exhausted && bug == Bug::None {
                    1.0
                } else {
                    stay
                };
                next[index * experts + current][used] += mass * keeps;
                let after = if exhausted { used } else { used + 1 };
                for (expert, weight) in weights.iter().enumerate() {
                    next[index * experts + expert][after] += mass * (1.0 - keeps) * weight / whole;
                }
            }
        }
        prefixes = next;
    }
    prefixes.iter().map(|prefix| prefix.iter().sum()).collect()
}

/// The largest log-ratio of two laws.
pub(crate) fn loss(a: &[f64], b: &[f64]) -> f64 {
    let ratios = a.iter().zip(b).map(|(a, b)| (a / b).ln().abs());
    ratios.fold(0.0, f64::max)
}

/// The δ of two laws at ε: how much of the first is above e^ε times the second.
pub(crate) fn hockey_stick(a: &[f64], b: &[f64], epsilon: f64) -> f64 {
    let over = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a - epsilon.exp() * b).max(0.0));
    over.sum()
}

/// Every sequence of `length` loss vectors on the grid.
pub(crate) fn sequences(grid: &[Vec<f64>], length: usize) -> impl Iterator<Item = Vec<Vec<f64>>> {
    let count = grid.len().pow(length as u32);
    (0..count).map(move |mut code| {
        (0..length)
            .map(|_| {
                let digit = code % grid.len();
                code /= grid.len();
                grid[digit].clone()
            })
            .collect()
    })
}

/// All loss vectors with coordinates from `values`.
pub(crate) fn grid(values: &[f64], experts: usize) -> Vec<Vec<f64>> {
    let single: Vec<Vec<f64>> = values.iter().map(|&value| vec![value]).collect();
    sequences(&single, experts)
        .map(|digits| digits.into_iter().flatten().collect())
        .collect()
}
