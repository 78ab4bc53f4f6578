//! Decisions as the input of a private sum.

use super::error::SumError;
use super::plan::Geometry;
use super::sum::PrivateSum;
use crate::boundary::{GuaranteeKind, Pending, Raw};
use crate::decisions::{DecisionForm, DecisionMap, Policy};
use crate::lattice::Outcome;
use crate::losses::Record;
use crate::scoreboard::Scoreboard;
use hushstream_noise::Source;

impl<G: GuaranteeKind> PrivateSum<G> {
    /// The number of the next record, from 0: the slot whose coin it is decided with. Rounds that
    /// were lost with an old journal count, so no slot comes twice.
    #[must_use]
    pub fn slot(&self) -> u64 {
        let batch = self.plan().request().batch;
        self.steps().saturating_mul(batch) + self.mechanism.in_batch
    }

    /// Decides for one record with the policy and the coin of its slot, or reads the decision that
    /// it tells, and adds its second moments to the block of its arm. The operator's board, if
    /// there is one, scores the decision.
    ///
    /// # Errors
    /// A plan of another geometry, a policy for other contexts or arms; as [`PrivateSum::add`] and
    /// [`PrivateSum::add_for`].
    pub fn add_decision(
        &mut self,
        person: Option<u64>,
        map: &DecisionMap,
        policy: &Policy,
        coins: &Source,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<Pending<Vec<f64>, G>>, SumError> {
        let request = self.plan().request();
        let Geometry::Decisions { evaluated, .. } = request.geometry else {
            return Err(SumError::Geometry);
        };
        // The price is for these blocks, and for features and rewards of these bounds.
        let fits = request.geometry == map.geometry(request.adjacency)
            && request.dimension as usize == map.dimension()
            && request.bound.to_bits() == map.moments().bound().to_bits()
            && policy.arms() == map.arms()
            && policy.map() == map.context();
        let form = self.mechanism.decisions.as_ref();
        if !fits || form.is_some_and(|form| !form.is_for(map)) {
            return Err(SumError::Geometry);
        }
        let slot = self.slot();
        self.add_any(person, |sum, is_admitted| {
            let radius = sum.lattice.radius();
            let new = || DecisionForm::new(map, evaluated);
            let form = sum.decisions.get_or_insert_with(new);
            let record = record.open();
            let values = is_admitted.then_some(&mut sum.item.values[..]);
            let outcome = form.add(map, policy, (coins, slot), &record, radius, board, values);
            sum.count(if is_admitted { outcome } else { Outcome::Null });
        })
    }
}
