//! Local linear optimisation oracles (Garber and Hazan 2016), the steps of `coco-l` (WDP20
//! Algorithm 2).
//!
//! For a point x of the set, a radius r and a gradient g the oracle returns a point p with
//!
//! 1. p in the set,
//! 2. ‖x − p‖ ≤ ρ·r,
//! 3. ⟨p, g⟩ ≤ ⟨y, g⟩ for every y in the set with ‖x − y‖ ≤ r.
//!
//! The learner then moves to (1 − a)·x + a·p and calls the oracle again from there. Some oracles
//! answer from x alone ([`DirectOracle`]: ball, box, simplex, L1 ball); the others keep x as a
//! convex combination of vertices ([`crate::DecomposedOracle`]), which must follow the learner:
//! hence [`LocalOracle::advance`].

use std::fmt::Debug;

use hushstream_account::ParameterError;

use crate::{ConvexSet, SetError, vector};

/// The allowed distance of a point from the set or from the oracle's point, in units of 1 + the
/// set's largest norm.
pub(crate) const ON_TRACK: f64 = 1e-9;

/// A local linear oracle: a step that is as good as any step of length `radius`, and at most ρ
/// times as long.
///
/// ```
/// use hushstream_sets::{ConvexSet, Simplex};
///
/// let mut oracle = Simplex::new(4)?.local_oracle()?;
/// // A mass of √4·0.1/2 moves from coordinate 0 to coordinate 3.
/// let p = oracle.step(&[0.25; 4], 0.1, &[3.0, 1.0, 2.0, 0.0])?;
/// assert!((p[0] - 0.15).abs() < 1e-12 && (p[3] - 0.35).abs() < 1e-12);
/// let x = oracle.advance(0.5)?; // (x + p)/2
/// assert!((x[3] - 0.30).abs() < 1e-12);
/// # Ok::<(), hushstream_sets::SetError>(())
/// ```
pub trait LocalOracle: Send + Debug {
    /// ρ, the largest length of a step over `radius`. It is at least 1 for every oracle.
    fn rho(&self) -> f64;

    /// Sets the current point of the oracle and discards its state. The first
    /// [`step`](Self::step) does this by itself.
    ///
    /// # Errors
    /// A point that is further than 10⁻⁹·(1 + largest norm) from the set.
    fn start(&mut self, point: &[f64]) -> Result<(), SetError>;

    /// The answer for `point`, which must be the current point of the oracle, and the gradient
    /// `slope`.
    ///
    /// # Errors
    /// A point that differs from the current one by more than 10⁻⁹·(1 + largest norm); a negative
    /// radius; slices that do not fit.
    fn step(&mut self, point: &[f64], radius: f64, slope: &[f64]) -> Result<Vec<f64>, SetError>;

    /// Moves to (1 − fraction)·x + fraction·p, with p the last answer. Continue from the returned
    /// point: it equals the oracle's current point to the last bit.
    ///
    /// # Errors
    /// A fraction outside 0 to 1; no answer to move to.
    fn advance(&mut self, fraction: f64) -> Result<Vec<f64>, SetError>;

    /// The state to save between an advance and the next step, in order to continue bit for bit:
    /// weights and vertices, in order. Empty for an oracle that answers from the point alone.
    fn decomposition(&self) -> Vec<(f64, Vec<f64>)>;

    /// Restores a saved [`decomposition`](Self::decomposition).
    ///
    /// # Errors
    /// Weights that are not positive with sum 1, or vertices that do not fit.
    fn restore(&mut self, saved: &[(f64, Vec<f64>)]) -> Result<(), SetError>;
}

/// A set that answers from the point alone.
pub(crate) trait LocalRule: ConvexSet {
    fn local_rho(&self) -> f64;
    /// `answer` starts as a copy of `point`; all arguments are checked.
    fn move_within(&self, point: &[f64], radius: f64, gradient: &[f64], answer: &mut [f64]);
}

/// An oracle whose only state is the last question and its answer.
#[derive(Debug)]
pub(crate) struct DirectOracle<S> {
    set: S,
    last: Option<(Vec<f64>, Vec<f64>)>,
}

impl<S> DirectOracle<S> {
    pub(crate) fn new(set: S) -> Self {
        Self { set, last: None }
    }
}

impl<S: LocalRule> LocalOracle for DirectOracle<S> {
    fn rho(&self) -> f64 {
        self.set.local_rho().max(1.0)
    }

    fn start(&mut self, point: &[f64]) -> Result<(), SetError> {
        self.last = None;
        let mut nearest = point.to_vec();
        self.set.project(&mut nearest)?;
        check_on_track(&self.set, point, &nearest)
    }

    fn step(&mut self, point: &[f64], radius: f64, slope: &[f64]) -> Result<Vec<f64>, SetError> {
        check_question(self.set.dimension(), radius, slope)?;
        self.start(point)?;
        let mut answer = point.to_vec();
        self.set.move_within(point, radius, slope, &mut answer);
        self.last = Some((point.to_vec(), answer.clone()));
        Ok(answer)
    }

    fn advance(&mut self, fraction: f64) -> Result<Vec<f64>, SetError> {
        check_fraction(fraction)?;
        let (from, to) = self.last.take().ok_or_else(no_answer)?;
        let pairs = from.iter().zip(&to);
        Ok(pairs
            .map(|(from, to)| (1.0 - fraction) * from + fraction * to)
            .collect())
    }

    fn decomposition(&self) -> Vec<(f64, Vec<f64>)> {
        Vec::new()
    }

    fn restore(&mut self, saved: &[(f64, Vec<f64>)]) -> Result<(), SetError> {
        if !saved.is_empty() {
            return Err(ParameterError::new(
                "saved decomposition",
                format!("{} vertices", saved.len()),
                "none for this oracle",
            )
            .into());
        }
        self.last = None;
        Ok(())
    }
}

pub(crate) fn check_on_track<S: ConvexSet + ?Sized>(
    set: &S,
    point: &[f64],
    expected: &[f64],
) -> Result<(), SetError> {
    let distance = vector::distance(point, expected);
    let allowed = ON_TRACK * (1.0 + set.largest_norm());
    if distance <= allowed {
        return Ok(());
    }
    Err(SetError::Outside {
        parameter: "point of the local oracle",
        set: set.name(),
        distance,
        allowed,
    })
}

pub(crate) fn check_question(dimension: usize, radius: f64, slope: &[f64]) -> Result<(), SetError> {
    vector::check("gradient", slope, dimension)?;
    vector::check_not_negative("radius", radius)
}

pub(crate) fn check_fraction(fraction: f64) -> Result<(), SetError> {
    if (0.0..=1.0).contains(&fraction) {
        Ok(())
    } else {
        Err(ParameterError::new("fraction", fraction, "0 to 1").into())
    }
}

pub(crate) fn no_answer() -> SetError {
    ParameterError::new(
        "advance",
        "called before step",
        "one advance after each step",
    )
    .into()
}

#[cfg(test)]
mod tests {
    use crate::{ConvexSet, Simplex};

    #[test]
    fn misuse_is_refused() {
        let mut oracle = Simplex::new(3).unwrap().local_oracle().unwrap();
        let centre = [1.0 / 3.0; 3];
        assert!(oracle.advance(0.5).is_err());
        assert!(oracle.step(&[0.5, 0.5, 0.5], 0.1, &[1.0; 3]).is_err());
        assert!(oracle.step(&centre, -0.1, &[1.0; 3]).is_err());
        assert!(oracle.step(&centre, 0.1, &[f64::NAN; 3]).is_err());
        assert!(oracle.restore(&[(1.0, vec![1.0, 0.0, 0.0])]).is_err());
        oracle.step(&centre, 0.1, &[1.0; 3]).unwrap();
        assert!(oracle.advance(1.5).is_err());
    }
}
