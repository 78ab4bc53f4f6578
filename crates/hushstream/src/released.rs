//! Released values: paid for, durable, and free to publish.

/// A value that was paid for and is on disk. It may be published, and so may anything computed from
/// it.
///
/// Only a [`Run`](crate::Run) makes one.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Learner::classify()
///     .features(1)
///     .records(64)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// for i in 0..32 {
///     run.learn(&[f64::from(i % 2), f64::from(i % 2)])?;
/// }
/// let model: Released<Model> = run.model()?;
/// assert!(model.value().weights.iter().all(|weight| weight.is_finite()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Released<T> {
    value: T,
    release: u64,
}

impl<T> Released<T> {
    /// Wraps a value that a sync has covered.
    pub(crate) fn new(release: u64, value: T) -> Self {
        Self { value, release }
    }

    /// The value, which may be published.
    #[must_use]
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value, taken out.
    #[must_use]
    pub fn into_value(self) -> T {
        self.value
    }

    /// Its number among the releases of its run, from 1; 0 before the first release.
    #[must_use]
    pub fn release(&self) -> u64 {
        self.release
    }
}
