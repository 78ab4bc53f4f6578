//! Sums of records made elsewhere, for workers that share a batch.

use crate::boundary::Raw;
use crate::lattice::{Contribution, Lattice, Outcome};

/// Counts of null and clipped records: for the operator only.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) nulls: u64,
    pub(crate) clipped: u64,
}

/// Records summed elsewhere: exact integers, so neither order nor split changes the result. As
/// private as the records.
pub struct PartialSum {
    pub(super) values: Vec<i64>,
    pub(super) lattice: Lattice,
    /// The life of the sum that it was made for.
    pub(super) life: [u8; 16],
    pub(super) records: u64,
    most: u64,
    pub(super) counts: Counts,
}

/// A partial sum that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartialSumError {
    /// The batch has no room for more records.
    #[error("a partial sum holds at most one batch of {0} records")]
    Full(u64),
    /// The two were made for different sums or different batches.
    #[error("partial sums of different sums or moments cannot be added")]
    OtherMoment,
}

impl PartialSum {
    pub(crate) fn new(lattice: Lattice, life: [u8; 16], most: u64) -> Self {
        Self {
            values: vec![0; lattice.dimension()],
            lattice,
            life,
            records: 0,
            most,
            counts: Counts::default(),
        }
    }

    /// Adds one record.
    ///
    /// # Errors
    /// The partial sum already holds a whole batch.
    pub fn add(&mut self, contribution: Raw<Contribution>) -> Result<(), PartialSumError> {
        if self.records == self.most {
            return Err(PartialSumError::Full(self.most));
        }
        match self.lattice.add(&contribution.open(), &mut self.values) {
            Outcome::Kept => {}
            Outcome::Clipped => self.counts.clipped += 1,
            Outcome::Null => self.counts.nulls += 1,
        }
        self.records += 1;
        Ok(())
    }

    /// Adds all records of another partial sum of the same batch.
    ///
    /// # Errors
    /// The two together exceed a batch, or belong to different batches.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "by value, so that no record can count twice"
    )]
    pub fn merge(&mut self, other: Self) -> Result<(), PartialSumError> {
        if other.lattice != self.lattice || other.life != self.life {
            return Err(PartialSumError::OtherMoment);
        }
        if self.records + other.records > self.most {
            return Err(PartialSumError::Full(self.most));
        }
        for (total, value) in self.values.iter_mut().zip(&other.values) {
            *total += value;
        }
        self.records += other.records;
        self.counts.nulls += other.counts.nulls;
        self.counts.clipped += other.counts.clipped;
        Ok(())
    }
}
