//! Least squares by following the leader on noisy moments (JKT12 Algorithm 4, "PQFTL").
//!
//! **As implemented.** f_t(x) = ½(y_t − ⟨v_t, x⟩)² + (α/2)‖x‖², ‖v_t‖ ≤ R, |y_t| ≤ Y. The sums hold
//! (vvᵀ, κ·y·v) in the layout of [`crate::MomentsLayout`]; V̂_t, û_t are read from them, V̂⁺ is V̂
//! with negative eigenvalues set to 0, and
//!
//! x̂_{t+1} = Π( (tα·I + V̂_t⁺)⁻¹·û_t ), Π the projection to the ball of radius
//! ρ = min(RY/α, Y/(2√α)), x̂_1 = 0.
//!
//! **Classes.** With K classes there are K vectors û, one matrix, and x̂ is K vectors; y is the
//! unit vector of the class, and every bound holds with Euclidean norms of all K together.
//!
//! **A fixed ridge** λ ([`LeastSquares::ridge`]) adds λ·I to the matrix in every round. It is for
//! the noise, not for the losses: with noise of operator norm n in V̂ and a smaller ridge, the
//! inverse amplifies noise. The bound below then has λρ²/2 more (the leader of the losses and
//! (λ/2)‖x‖²).
//!
//! Without noise nothing is clipped or projected: ‖x‖ ≤ tRY/(tα), and ≤ √t·Y·max_s
//! s/(tα + s²) = Y/(2√α).
//!
//! **Errata.** J3: noise makes V̂ non-symmetric in the paper, and indefinite; here it is symmetric
//! by its layout and clipped. J5: the radius; the ½ is kept.
//!
//! **Regret**, stated: Õ(R⁶·log(1/δ)·√d·log^1.5 T/(εα³)). Proved here, for every stream within the
//! bounds, and noise of Frobenius norm at most N_V in V̂ and of norm at most N_u in û, with
//! G = R(Rρ + Y) + αρ:
//!
//! regret ≤ (1 + ln T)·(G²/2 + G(N_u + ρ·N_V))/α.
//!
//! *Proof.* The leader x_{t+1} pays ‖∇f_t(x_t)‖²/(2tα) per round, as in the proof for the
//! approximate leader. With M̂ = tα + V̂⁺: x̂ − x = M̂⁻¹((û − u) − (V̂⁺ − V)x), and clipping is the
//! projection onto a convex cone that holds V, so ‖V̂⁺ − V‖ ≤ ‖V̂ − V‖: the distance is at most
//! (N_u + ρN_V)/(tα), and the ball holds x. ∎
//!
//! **Cost** O(p²) to read a sum, and at rounds that are *due* (the powers of two below k and every
//! k-th round, [`LeastSquares::every`]: a public function of the round alone) two Cholesky
//! factorisations of p³/3 operations if V̂ is positive definite, otherwise an eigendecomposition of
//! about 10p³, when the iterate is first asked for. Between due rounds, which are at most k apart,
//! it stays: the leader moves by at most G/(αj) in round j, which at most k − 1 rounds feel, so
//! G²/2 becomes (k − ½)G². The noise that round t feels is that of the due round s(t) before it,
//! and Σ1/s(t) ≤ ⌈log₂ k⌉ + 1 + ln(T/k): a term of at most 1 for each power of two below k and of
//! at most 1/m for each m·k. So 1 + ln T before the noise grows by ⌈log₂ k⌉ − ln k. The default is
//! every round for p ≤ 12 and k = ⌈p/12⌉ above, which keeps the work at O(p²) per round.

use hushstream_account::ParameterError;
use hushstream_sets::{Ball, ConvexSet};
use nalgebra::DMatrix;
use nalgebra::linalg::{Cholesky, SymmetricEigen};
use std::sync::OnceLock;

use crate::{LearnError, Learner, MomentsLayout, check};

/// The learner of JKT12 Algorithm 4.
///
/// ```
/// use hushstream_learn::{LearnError, Learner, LeastSquares};
///
/// let mut learner = LeastSquares::new(1, 1.0, 1.0, 0.01)?;
/// let layout = learner.layout();
/// let mut sum = vec![0.0; layout.len()]; // a private run releases it with noise
/// for t in 1..=100 {
///     let x = f64::from(t) / 100.0;
///     let mut record = vec![0.0; layout.len()];
///     layout.write(&[x], 0.5 * x, &mut record)?;
///     sum.iter_mut().zip(record).for_each(|(sum, value)| *sum += value);
///     learner.observe(&sum)?;
/// }
/// assert!((learner.iterate()[0] - 0.5).abs() < 0.02);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LeastSquares {
    layout: MomentsLayout,
    alpha: f64,
    ridge: f64,
    ball: Ball,
    slope: f64,
    /// k.
    every: u64,
    rounds: u64,
    /// The last due round and its sum.
    due: (u64, Vec<f64>),
    /// The iterate of that round, once it has been asked for.
    iterate: OnceLock<Vec<f64>>,
}

impl LeastSquares {
    /// A learner for p = `dimension` features of norm at most R = `feature_bound`, targets of size
    /// at most Y = `target_bound`, and α = `regularisation`.
    ///
    /// # Errors
    /// No features; bounds or an α that are not positive and finite, or whose radius is not.
    pub fn new(
        dimension: usize,
        feature_bound: f64,
        target_bound: f64,
        regularisation: f64,
    ) -> Result<Self, LearnError> {
        let layout = MomentsLayout::new(dimension, feature_bound, target_bound)?;
        check::positive("regularisation α", regularisation)?;
        let far = feature_bound * target_bound / regularisation;
        let near = target_bound / (2.0 * regularisation.sqrt());
        let radius = far.min(near);
        check::positive("radius min(RY/α, Y/(2√α))", radius)?;
        let slope =
            feature_bound * (feature_bound * radius + target_bound) + regularisation * radius;
        Ok(Self {
            layout,
            alpha: regularisation,
            ridge: 0.0,
            ball: Ball::new(dimension, radius)?,
            slope,
            every: dimension.div_ceil(12) as u64,
            rounds: 0,
            due: (0, Vec::new()),
            iterate: OnceLock::from(vec![0.0; dimension]),
        })
    }

    /// Recomputes the iterate in every k-th round, and at powers of two before the first of them.
    ///
    /// # Errors
    /// A k of 0.
    pub fn every(mut self, rounds: u64) -> Result<Self, LearnError> {
        if rounds == 0 {
            return Err(ParameterError::new("rounds to recompute", 0, "1 or more").into());
        }
        self.every = rounds;
        Ok(self)
    }

    /// Adds λ·I to the matrix in every round.
    ///
    /// # Errors
    /// A λ that is negative or not finite.
    pub fn ridge(mut self, ridge: f64) -> Result<Self, LearnError> {
        check::not_negative("ridge λ", ridge)?;
        self.ridge = ridge;
        Ok(self)
    }

    /// Learns K classes: the iterate is K vectors, one after another.
    ///
    /// # Errors
    /// No class, or more than 65,536.
    pub fn classes(mut self, classes: usize) -> Result<Self, LearnError> {
        self.layout = self.layout.with_targets(classes)?;
        let weights = classes * self.layout.dimension();
        self.ball = Ball::new(weights, self.radius())?;
        self.iterate = OnceLock::from(vec![0.0; weights]);
        Ok(self)
    }

    /// Learns from sums whose κ is `weight`·R/Y.
    ///
    /// # Errors
    /// A weight that is not positive and finite.
    pub fn weighted(mut self, weight: f64) -> Result<Self, LearnError> {
        self.layout = self.layout.weighted(weight)?;
        Ok(self)
    }

    /// The layout of records in the sums.
    #[must_use]
    pub fn layout(&self) -> MomentsLayout {
        self.layout
    }

    /// ρ, the largest norm of an iterate.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.ball.largest_norm()
    }

    /// The regret bound for noise of norms at most `matrix_noise` (Frobenius) and `target_noise`
    /// (proof in the source file).
    #[must_use]
    pub fn regret_bound(&self, matrix_noise: f64, target_noise: f64, horizon: u64) -> f64 {
        let k = self.every;
        let harmonic = check::harmonic(horizon);
        let leader = harmonic * (k as f64 - 0.5) * self.slope * self.slope;
        let noise = self.slope * (target_noise + self.radius() * matrix_noise);
        let late = f64::from(k.next_power_of_two().ilog2()) - (k as f64).ln();
        let ridge = self.ridge * self.radius() * self.radius() / 2.0;
        (leader + (harmonic + late) * noise) / self.alpha + ridge
    }

    /// The trivial bound on the regret: the slope G times the diameter of the ball, per round.
    #[must_use]
    pub fn trivial_regret(&self, horizon: u64) -> f64 {
        horizon as f64 * self.slope * 2.0 * self.radius()
    }

    /// The iterate of the last due round.
    fn solved(&self) -> Result<Vec<f64>, LearnError> {
        let (t, sum) = &self.due;
        let (matrix, mut targets) = self.layout.read(sum)?;
        for value in &mut targets {
            *value = value.clamp(f64::MIN, f64::MAX);
        }
        let answer = self.solve(*t as f64, &matrix, &targets)?;
        check::project(&self.ball, answer)
    }

    /// ((tα + λ)·I + V⁺)⁻¹ of the last due round, its lower triangle row by row; 1/λ before the
    /// first.
    pub(crate) fn inverse(&self) -> Result<Vec<f64>, LearnError> {
        let p = self.layout.dimension();
        let (t, sum) = &self.due;
        let matrix = if sum.is_empty() {
            vec![0.0; p * p]
        } else {
            self.layout.read(sum)?.0
        };
        let identity = (0..p * p).map(|i| f64::from(u8::from(i % (p + 1) == 0)));
        let one = Self {
            layout: self.layout.with_targets(p)?,
            ..self.clone()
        };
        let whole = one.solve(*t as f64, &matrix, &identity.collect::<Vec<_>>())?;
        let rows = (0..p).flat_map(|i| whole[i * p..i * p + i + 1].to_vec());
        Ok(rows.collect())
    }

    /// ((tα + λ)·I + V⁺)⁻¹·u for every u, also for moments near the largest floats.
    fn solve(&self, t: f64, matrix: &[f64], targets: &[f64]) -> Result<Vec<f64>, LearnError> {
        let p = self.layout.dimension();
        let ridge = t * self.alpha + self.ridge;
        let scale = check::power_of_two(check::largest(matrix));
        let size = check::power_of_two(check::largest(targets));
        let matrix = DMatrix::from_iterator(p, p, matrix.iter().map(|value| value / scale));
        let columns = self.layout.targets();
        let targets = targets.iter().map(|value| value / size);
        let targets = DMatrix::from_iterator(p, columns, targets);

        if Cholesky::new(matrix.clone()).is_some() {
            let mut regularised = matrix.clone();
            for i in 0..p {
                regularised[(i, i)] += ridge / scale;
            }
            if let Some(factor) = Cholesky::new(regularised) {
                let answer = factor.solve(&targets) * (size / scale);
                if answer.iter().all(|value| value.is_finite()) {
                    return Ok(answer.as_slice().to_vec());
                }
            }
        }
        let most = 1000 + 100 * p;
        let eigen = SymmetricEigen::try_new(matrix, f64::EPSILON, most).ok_or_else(|| {
            ParameterError::new("sum of moments", "no eigenvalues", "a matrix that has them")
        })?;
        let mut along = eigen.eigenvectors.tr_mul(&targets);
        for mut column in along.column_iter_mut() {
            for (value, eigenvalue) in column.iter_mut().zip(eigen.eigenvalues.iter()) {
                // Clamped so that the sum below is not ∞ − ∞; the projection shortens it anyway.
                *value = (*value / (ridge + scale * eigenvalue.max(0.0))).clamp(-1e150, 1e150);
            }
        }
        let answer = eigen.eigenvectors * along;
        Ok(answer.iter().map(|value| value * size).collect())
    }
}

impl Learner for LeastSquares {
    fn name(&self) -> &'static str {
        "least-squares"
    }

    fn sum_dimension(&self) -> usize {
        self.layout.len()
    }

    fn iterate(&self) -> &[f64] {
        // The sum was checked, and a finite symmetric matrix has eigenvalues; if an iteration did
        // not find them, the learner would be where it began.
        let start = || vec![0.0; self.layout.targets() * self.layout.dimension()];
        self.iterate
            .get_or_init(|| self.solved().unwrap_or_else(|_| start()))
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        check::vector("prefix sum", prefix, self.layout.len())?;
        let t = self.rounds + 1;
        let k = self.every;
        if t < k && t.is_power_of_two() || t.is_multiple_of(k) {
            self.due.0 = t;
            self.due.1.clear();
            self.due.1.extend_from_slice(prefix);
            self.iterate = OnceLock::new();
        }
        self.rounds = t;
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        check::inside("saved iterate", &self.ball, state)?;
        self.iterate = OnceLock::from(state.to_vec());
        self.rounds = rounds;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_iterate_moves_in_its_rounds() {
        assert_eq!(LeastSquares::new(12, 1.0, 1.0, 1.0).unwrap().every, 1);
        let mut learner = LeastSquares::new(54, 1.0, 1.0, 1.0).unwrap();
        assert_eq!(learner.every, 5);
        learner = learner.every(12).unwrap();
        let mut sum = vec![0.0; learner.layout().len()];
        let mut moved = Vec::new();
        for t in 1..=40 {
            let before = learner.iterate().to_vec();
            sum.iter_mut()
                .for_each(|value| *value += 1.0 / f64::from(t));
            learner.observe(&sum).unwrap();
            if learner.iterate() != before {
                moved.push(t);
            }
        }
        assert_eq!(moved, [1, 2, 4, 8, 12, 24, 36]);
    }

    /// A negative eigenvalue is ignored, not inverted: V̂ = diag(−5, 3), t = 1, α = 1, û = (0.1,
    /// 0.4).
    #[test]
    fn indefinite_moments_are_clipped() {
        let mut learner = LeastSquares::new(2, 1.0, 1.0, 1.0).unwrap();
        learner.observe(&[-5.0, 3.0, 0.0, 0.1, 0.4]).unwrap();
        let x = learner.iterate();
        assert!(
            (x[0] - 0.1).abs() < 1e-15 && (x[1] - 0.1).abs() < 1e-15,
            "{x:?}"
        );
    }

    /// Two classes of one feature, V̂ = 4, û = (3, 1): with α = 1 and λ = 5 after one round,
    /// x̂ = û/(4 + 1 + 5).
    #[test]
    fn classes_share_the_matrix_and_a_ridge_is_added() {
        let learner = LeastSquares::new(1, 2.0, 1.0, 1.0).unwrap();
        let mut learner = learner.ridge(5.0).unwrap().classes(2).unwrap();
        let kappa = learner.layout().kappa();
        learner.observe(&[4.0, 3.0 * kappa, kappa]).unwrap();
        let x = learner.iterate();
        assert!((x[0] - 0.3).abs() < 1e-15 && (x[1] - 0.1).abs() < 1e-15);
        assert!(learner.clone().ridge(-1.0).is_err() && learner.classes(0).is_err());
    }

    #[test]
    fn the_radius_is_the_corrected_one() {
        let learner = LeastSquares::new(3, 100.0, 100.0, 100.0).unwrap();
        assert!((learner.radius() - 5.0).abs() < 1e-14);
        let learner = LeastSquares::new(3, 1.0, 1.0, 100.0).unwrap();
        assert!((learner.radius() - 0.01).abs() < 1e-15);
        assert!(LeastSquares::new(3, 1.0, 1.0, 0.0).is_err());
        assert!(LeastSquares::new(0, 1.0, 1.0, 1.0).is_err());
        assert!(learner.every(0).is_err());
    }
}
