//! How often a positive record is scored above a negative one: the area under the curve of true against false positives.
//!
//! Scores between −1 and 1 are counted by height, in 512 steps, so memory does not grow with the number of records; within a step they count as tied.

const HEIGHTS: usize = 512;

/// Counts of scores of negative and positive records, by height.
pub(crate) struct Ranks([Vec<u64>; 2]);

impl Default for Ranks {
    fn default() -> Self {
        Self([vec![0; HEIGHTS], vec![0; HEIGHTS]])
    }
}

impl Ranks {
    /// Counts a record; its score lies between −1 and 1.
    pub(crate) fn add(&mut self, score: f64, is_positive: bool) {
        let height = ((score + 1.0) / 2.0 * HEIGHTS as f64) as usize;
        self.0[usize::from(is_positive)][height.min(HEIGHTS - 1)] += 1;
    }

    /// The area, ties counted half; nothing without records of both kinds.
    pub(crate) fn area(&self) -> Option<f64> {
        let [negative, positive] = &self.0;
        let total = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
        let pairs = total(negative) * total(positive);
        let (mut below, mut won) = (0.0, 0.0);
        for (&negatives, &positives) in negative.iter().zip(positive) {
            won += positives as f64 * (below + negatives as f64 / 2.0);
            below += negatives as f64;
        }
        (pairs > 0.0).then(|| won / pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_order_count_whole_and_ties_half() {
        let mut ranks = Ranks::default();
        assert_eq!(ranks.area(), None);
        for (score, is_positive) in [(1.0, true), (0.5, true), (-1.0, true), (-1.0, false)] {
            ranks.add(score, is_positive);
        }
        assert!((ranks.area().unwrap() - 2.5 / 3.0).abs() < 1e-15);
    }
}
