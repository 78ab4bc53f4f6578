//! The same sums without noise, for the operator only: the input of a learner without privacy.
//!
//! A run's report compares the private learner with the same learner on these sums. Nothing
//! computed from them may be published.

use crate::boundary::{OperatorOnly, Raw};
use crate::lattice::Contribution;
use crate::losses::{Features, Loss, Record};
use crate::moments::{Block, Moments};
use crate::tables::{Response, TableForm, TableMap};

/// Exact running sums of what records would contribute.
pub struct ExactSum {
    total: Vec<f64>,
    /// Second moments that are not yet in the total, as integers.
    moments: Option<(Block, Vec<i64>)>,
}

impl ExactSum {
    /// An empty sum.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self {
            total: vec![0.0; dimension],
            moments: None,
        }
    }

    /// Adds a record's gradient at `weights`; its offset, if the loss has one, is not added back.
    pub fn add_gradient(&mut self, loss: &dyn Loss, weights: &[f64], record: &Raw<Record>) {
        self.add(loss.gradient(record.peek().duplicate(), weights));
    }

    /// Adds a record's second moments, always the same ones.
    pub fn add_moments(&mut self, moments: &Moments, record: &Raw<Record>) {
        let (block, sums) = self.moments.get_or_insert_with(|| {
            let sums = vec![0; moments.dimension()];
            (Block::new(moments), sums)
        });
        block.add(record.peek(), sums);
    }

    /// Adds a record's losses of experts; a vector of another length adds nothing.
    pub fn add_losses(&mut self, record: &Raw<Record>) {
        let record = record.peek();
        if record.features_in(self.total.len()) {
            record.features.add_to(&mut self.total);
        }
    }

    fn add(&mut self, contribution: Contribution) {
        let features = match contribution {
            Contribution::Dense(values) => Features::Dense(values),
            Contribution::Sparse(entries) => Features::Sparse(entries),
            _ => return,
        };
        features.add_to(&mut self.total);
    }

    /// The sum so far.
    #[must_use]
    pub fn total(&mut self) -> OperatorOnly<&[f64]> {
        if let Some((block, sums)) = &mut self.moments {
            block.drain(sums, &mut self.total);
        }
        OperatorOnly::new(&self.total)
    }
}

/// Exact running sums of residuals times hats and cells.
pub struct ExactTables {
    map: TableMap,
    response: Response,
    form: TableForm,
    total: Vec<i64>,
}

impl ExactTables {
    /// So fine that nothing is lost, and sums of 2²⁵ records fit.
    const RADIUS: i64 = 1 << 38;

    /// An empty sum, with counts or without.
    #[must_use]
    pub fn new(map: TableMap, response: Response, counted: bool) -> Self {
        let blocks = response.scores() + usize::from(counted);
        Self {
            form: TableForm::new(&map, response, 16 * u8::from(counted), Self::RADIUS),
            total: vec![0; blocks * map.dimension()],
            map,
            response,
        }
    }

    /// Adds a record's residuals at `weights`.
    pub fn add(&mut self, weights: &[f64], record: &Raw<Record>) {
        let (map, response) = (&self.map, self.response);
        self.form.add(
            map,
            response,
            weights,
            record.peek(),
            None,
            Some(&mut self.total),
        );
    }

    /// The sum so far.
    #[must_use]
    pub fn total(&self) -> OperatorOnly<Vec<f64>> {
        let unit = self.response.residual_bound() / Self::RADIUS as f64;
        OperatorOnly::new(self.total.iter().map(|&sum| sum as f64 * unit).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::losses::Bounds;

    #[test]
    fn sums_are_exact_and_nulls_add_nothing() {
        let moments = Moments::new(1, Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap());
        let mut sum = ExactSum::new(moments.dimension());
        for (x, target) in [(0.5, 1.0), (0.25, -1.0), (f64::NAN, 1.0)] {
            let features = Features::Dense(vec![x]);
            sum.add_moments(&moments, &Raw::seal(Record { features, target }));
        }
        let total = sum.total();
        let total = total.for_the_operator();
        let kappa = 0.5_f64.sqrt();
        assert!((total[0] - 0.3125).abs() < 1e-12 && (total[1] - 0.25 * kappa).abs() < 1e-12);
    }
}
