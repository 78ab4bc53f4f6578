//! Learners whose iterates move little when one record changes, so that they can be released with
//! noise.

use crate::losses::Record;
use hushstream_account::Adjacency;

/// Evidence that a bound on sensitivity is proved in this crate. The type is private to the crate,
/// so no other learner can claim it.
pub struct ProvedHere(pub(super) ());

/// How a record was used. It depends on private data: counts of it are for the operator only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Used unchanged.
    Kept,
    /// Longer than its bound.
    Clipped,
    /// Malformed: the step was made with the null loss.
    Null,
}

/// An online learner on raw records, with a **proved** bound on how far one record can move its
/// iterates (JKT12's Definition 3).
///
/// Its code runs on private data; it may have no effect besides the state it is given. The
/// mechanism journals that state after every step and adds noise to [`iterate`](Self::iterate) in
/// proportion to [`sensitivity`](Self::sensitivity). It trusts that number: **a bound that is too
/// small is a breach of privacy, and nothing here can detect it.**
///
/// Three rules that such proofs have failed on:
/// - *Null is a step.* A missing or malformed record is `None` and must be stepped on with a public
///   null loss that contracts like any other (the regulariser alone). Skipping the step loses the
///   contraction of all earlier records.
/// - *Clip data, not gradients.* A clipped gradient is the gradient of no convex function, and
///   steps along it need not contract.
/// - *Floats and solvers err.* A step that is off by τ_j adds up to 2Σ_j τ_j to the bound (less
///   what later steps contract).
///
/// ```
/// use hushstream_account::Adjacency;
/// use hushstream_mechanism::losses::{Features, Record};
/// use hushstream_mechanism::perturb::{Fate, StableLearner};
///
/// /// The mean so far of targets clipped to [0, 1]; a null counts as 0.
/// /// One record of t moves it by 1/t.
/// struct Mean;
///
/// impl StableLearner for Mean {
///     fn describe(&self) -> String { "mean of targets in [0, 1]".into() }
///     fn assumption(&self) -> String { "targets are clipped to [0, 1]".into() }
///     fn dimension(&self) -> usize { 1 }
///     fn reach(&self) -> f64 { 1.0 }
///     fn start(&self) -> Vec<f64> { vec![0.0] }
///     fn step(&self, _t: u64, state: &mut [f64], record: Option<&Record>) -> Fate {
///         let target = record.map(|record| record.target).filter(|y| y.is_finite());
///         let Some(target) = target else { return Fate::Null };
///         state[0] += target.clamp(0.0, 1.0);
///         if (0.0..=1.0).contains(&target) { Fate::Kept } else { Fate::Clipped }
///     }
///     fn iterate(&self, t: u64, state: &[f64], out: &mut [f64]) {
///         out[0] = state[0] / t.max(1) as f64;
///     }
///     /// A sum of t numbers up to 1 errs by t²·2⁻⁵³ at most, in both worlds, and the quotient
///     /// by one rounding more.
///     fn sensitivity(&self, t: u64, _: Adjacency) -> f64 {
///         1.0 / t as f64 + (t + 2) as f64 * f64::EPSILON
///     }
/// }
/// # let mut state = Mean.start();
/// # let record = Record { features: Features::Dense(vec![]), target: 0.5 };
/// # assert_eq!(Mean.step(1, &mut state, Some(&record)), Fate::Kept);
/// ```
pub trait StableLearner: Send + Sync {
    /// A description that identifies the learner: stored with a run and compared when it is
    /// resumed.
    fn describe(&self) -> String;

    /// The assumptions of the bound, for the guarantee.
    fn assumption(&self) -> String;

    /// Length of an iterate.
    fn dimension(&self) -> usize;

    /// A bound on the length of every iterate. Longer iterates are clamped, coordinate by
    /// coordinate.
    fn reach(&self) -> f64;

    /// The public state before any record.
    fn start(&self) -> Vec<f64>;

    /// Step t (1, 2, …) on a record, or on the null loss.
    fn step(&self, t: u64, state: &mut [f64], record: Option<&Record>) -> Fate;

    /// The iterate after t steps.
    fn iterate(&self, t: u64, state: &[f64], out: &mut [f64]);

    /// s_t: how far apart the iterates after t steps can be on two streams that differ in one
    /// record, floating-point error of both included. 0 only if the iterate does not depend on data
    /// at all.
    fn sensitivity(&self, t: u64, adjacency: Adjacency) -> f64;

    /// Whether the bound is proved in this crate; otherwise the guarantee states that it rests on
    /// the learner's own proof.
    #[doc(hidden)]
    fn proof(&self) -> Option<ProvedHere> {
        None
    }
}
