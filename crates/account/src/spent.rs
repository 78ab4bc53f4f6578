//! The total cost of a sequence of mechanisms, in constant memory and constant time per charge.
//!
//! **Non-adaptive sizes.** The mechanisms may be chosen adaptively, but the *sizes* of the charges
//! must have been fixed in advance (or depend on nothing private and nothing released). Where a
//! size depends on earlier releases, spend through a [`Filter`](crate::Filter) and report its
//! budget; reading ε off this sum and stopping accordingly would not be covered.
//!
//! Split the charges into Gaussian (Σμ²), zCDP (Σρ), and those with an ε (Σε, and Σρ of
//! the same charges), the last possibly with Σδ. For every ε and δ the best of these valid claims
//! is reported:
//! * everything by zCDP, at δ − Σδ;
//! * Gaussian and zCDP by zCDP at δ − Σδ, the rest by basic composition, Σε;
//! * no zCDP charge: Gaussian exactly by GDP at δ − Σδ, the rest by basic composition. Alone,
//!   Gaussians are exact, and pure charges are pure.
//!
//! The precision slack (1 + e^ε)·τ of draws that are not exact is added to δ (see
//! [`precision_slack`](crate::precision_slack)).

use crate::gdp::root_up;
use crate::round::{add_up, mul_up, sub_down, widen_up};
use crate::slack::{checked_tau, slack};
use crate::{AccountError, Charge, Price, tradeoff, zcdp};

/// The running total of charges whose sizes were fixed in advance.
///
/// ```
/// use hushstream_account::{AccountError, Charge, Mu, Spent};
///
/// let mut spent = Spent::new();
/// for _ in 0..100 {
///     spent.add(&Charge::Gaussian(Mu::new(0.01)?))?;
/// }
/// // Gaussian charges add in squares: a hundred times 0.01 is 0.1.
/// assert!((spent.mu().unwrap() - 0.1).abs() < 1e-9);
/// let one = Mu::new(0.1)?.epsilon_at(1e-6)?;
/// assert!((spent.epsilon_at(1e-6)? / one - 1.0).abs() < 1e-9);
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Σμ² of the Gaussian charges.
    mu_squared: f64,
    /// Σρ of the zCDP charges.
    rho: f64,
    /// Σε of the charges that basic composition can add, …
    epsilon: f64,
    /// … Σρ of the same charges, …
    rho_of_epsilon: f64,
    /// … and Σδ.
    delta: f64,
    /// Σ of total-variation errors of the draws.
    tau: f64,
}

impl Spent {
    /// Nothing spent yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one charge; every sum is rounded up.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if a sum overflows; nothing is added then.
    pub fn add(&mut self, charge: &Charge) -> Result<(), AccountError> {
        let mut next = *self;
        match *charge {
            Charge::Gaussian(mu) => next.mu_squared = add_up(self.mu_squared, mu.squared()),
            Charge::Zcdp(rho) => next.rho = add_up(self.rho, rho.get()),
            Charge::Pure(epsilon)
            | Charge::RoundedLaplace(epsilon)
            | Charge::BoundedRange(epsilon) => {
                next.epsilon = add_up(self.epsilon, epsilon.get());
                next.rho_of_epsilon = add_up(self.rho_of_epsilon, charge.rho()?.get());
            }
            Charge::Approximate(budget) => {
                next.epsilon = add_up(self.epsilon, budget.epsilon());
                next.rho_of_epsilon = add_up(self.rho_of_epsilon, charge.rho()?.get());
                next.delta = add_up(self.delta, budget.delta());
            }
        }
        for sum in [next.rho_of_everything(), next.epsilon] {
            AccountError::finite("the sum of charges", sum)?;
        }
        *self = next;
        Ok(())
    }

    /// Adds the price of a run: its charge and the error of its draws.
    ///
    /// # Errors
    /// As [`Spent::add`]; nothing is added then.
    pub fn add_price(&mut self, price: &Price) -> Result<(), AccountError> {
        self.add(&price.charge)?;
        self.add_slack(price.tau())
    }

    /// Adds the total-variation error of draws that one record affects.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 ≤ τ ≤ 1.
    pub fn add_slack(&mut self, tau: f64) -> Result<(), AccountError> {
        self.tau = add_up(self.tau, checked_tau(tau)?).min(1.0);
        Ok(())
    }

    /// An upper bound on δ at this ε, precision slack included, at most 1.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 ≤ ε < ∞.
    pub fn delta_at(&self, epsilon: f64) -> Result<f64, AccountError> {
        let epsilon = AccountError::epsilon_asked(epsilon)?;
        let lost = add_up(self.delta, slack(epsilon, self.tau));
        Ok(add_up(self.ideal_delta(epsilon), lost).min(1.0))
    }

    /// An upper bound on the smallest ε ≥ 0 at this δ, precision slack included. δ = 0 is
    /// allowed if every charge is pure and every draw exact.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 ≤ δ < 1; [`AccountError::DeltaOutOfReach`] if the
    /// charges' own δ and the precision slack leave nothing; [`AccountError::NeedsDelta`] if δ = 0
    /// and a charge is not pure.
    pub fn epsilon_at(&self, delta: f64) -> Result<f64, AccountError> {
        let valid = (0.0..1.0).contains(&delta);
        AccountError::unless(valid, "delta", delta, "at least 0 and below 1")?;
        // The slack grows with ε: raise ε until it covers its own slack. Each pass but the last
        // raises ε by a factor larger than rounding changes of the slack; with a real τ two passes
        // are enough.
        let mut epsilon = 0.0;
        for _ in 0..64 {
            let lost = add_up(self.delta, slack(epsilon, self.tau));
            if lost > delta {
                return Err(AccountError::DeltaOutOfReach {
                    delta,
                    at_least: lost,
                });
            }
            let needed = self.ideal_epsilon(sub_down(delta, lost))?;
            if needed <= epsilon || self.tau <= 0.0 {
                return Ok(needed.max(epsilon));
            }
            epsilon = widen_up(needed, 4096.0);
        }
        Err(AccountError::DeltaOutOfReach {
            delta,
            at_least: add_up(self.delta, slack(epsilon, self.tau)),
        })
    }

    /// The μ of the total, rounded up, if there are charges and all are Gaussian.
    #[must_use]
    pub fn mu(&self) -> Option<f64> {
        let gaussian_only = self.rho <= 0.0 && self.epsilon <= 0.0 && self.mu_squared > 0.0;
        gaussian_only.then(|| root_up(self.mu_squared))
    }

    /// The ρ of the total, rounded up, unless a charge has a δ or nothing was spent.
    #[must_use]
    pub fn rho(&self) -> Option<f64> {
        let rho = self.rho_of_everything();
        (self.delta <= 0.0 && rho > 0.0).then_some(rho)
    }

    /// The total-variation error of all draws.
    #[must_use]
    pub fn tau(&self) -> f64 {
        self.tau
    }

    fn rho_of_gaussian_and_zcdp(&self) -> f64 {
        add_up(mul_up(0.5, self.mu_squared), self.rho)
    }

    fn rho_of_everything(&self) -> f64 {
        add_up(self.rho_of_gaussian_and_zcdp(), self.rho_of_epsilon)
    }

    /// δ at ε without the δ of charges and without slack.
    fn ideal_delta(&self, epsilon: f64) -> f64 {
        let mut best = zcdp::delta_upper(self.rho_of_everything(), epsilon);
        if epsilon >= self.epsilon {
            let rest = sub_down(epsilon, self.epsilon);
            best = best.min(zcdp::delta_upper(self.rho_of_gaussian_and_zcdp(), rest));
            if self.rho <= 0.0 {
                best = best.min(tradeoff::delta_upper(root_up(self.mu_squared), rest));
            }
        }
        best
    }

    /// ε at δ without the δ of charges and without slack; δ may be zero.
    fn ideal_epsilon(&self, delta: f64) -> Result<f64, AccountError> {
        let concentrated = self.rho_of_gaussian_and_zcdp();
        if delta <= 0.0 {
            return if concentrated <= 0.0 {
                Ok(self.epsilon)
            } else {
                Err(AccountError::NeedsDelta {
                    noise: "Gaussian or zCDP noise",
                })
            };
        }
        let mut best = zcdp::epsilon_upper(self.rho_of_everything(), delta);
        best = best.min(add_up(
            zcdp::epsilon_upper(concentrated, delta),
            self.epsilon,
        ));
        // One evaluation tells whether the Gaussian curve can do better; only then search it.
        let (mu, room) = (root_up(self.mu_squared), best - self.epsilon);
        if self.rho <= 0.0
            && room > 0.0
            && tradeoff::delta_upper(mu, room) <= delta
            && let Some(gaussian) = tradeoff::epsilon_upper(mu, delta)
        {
            best = best.min(add_up(gaussian, self.epsilon));
        }
        AccountError::finite("epsilon", best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Epsilon, Mu, Rho};

    fn gaussian(mu: f64) -> Charge {
        Charge::Gaussian(Mu::new(mu).unwrap())
    }

    fn pure(epsilon: f64) -> Charge {
        Charge::Pure(Epsilon::new(epsilon).unwrap())
    }

    fn spent(charges: &[Charge]) -> Spent {
        let mut spent = Spent::new();
        charges.iter().for_each(|c| spent.add(c).unwrap());
        spent
    }

    #[test]
    fn gaussians_alone_are_exact() {
        let sum = spent(&[gaussian(0.3), gaussian(0.4)]);
        let direct = Mu::new(0.5).unwrap().epsilon_at(1e-6).unwrap();
        assert!((sum.epsilon_at(1e-6).unwrap() / direct - 1.0).abs() < 1e-13);
        assert!((sum.mu().unwrap() - 0.5).abs() < 1e-15);
        assert!(sum.epsilon_at(0.0).is_err());
    }

    #[test]
    fn pure_alone_stays_pure_and_many_become_concentrated() {
        let few = spent(&[pure(0.5), pure(0.5)]);
        assert!((few.epsilon_at(0.0).unwrap() - 1.0).abs() < 1e-15);
        assert!(few.delta_at(1.0).unwrap() <= 0.0);
        assert!(few.mu().is_none());
        let draw = Charge::BoundedRange(Epsilon::new(0.02).unwrap());
        let many = spent(&[draw; 1000]);
        assert!((many.epsilon_at(1e-6).unwrap() - 1.4716).abs() < 5e-5);
        assert!((many.epsilon_at(0.0).unwrap() - 20.0).abs() < 1e-11);
    }

    #[test]
    fn the_best_valid_claim_wins() {
        // Many small pure charges beside a Gaussian: zCDP wins. A large one: basic composition
        // wins.
        let mut small = spent(&[pure(0.1); 20]);
        small.add(&gaussian(1.0)).unwrap();
        let basic = Mu::new(1.0).unwrap().epsilon_at(1e-6).unwrap() + 2.0;
        assert!(small.epsilon_at(1e-6).unwrap() < basic);
        let large = spent(&[gaussian(0.01), pure(20.0)]);
        let basic = Mu::new(0.01).unwrap().epsilon_at(1e-6).unwrap() + 20.0;
        assert!((large.epsilon_at(1e-6).unwrap() - basic).abs() < 1e-12);
    }

    #[test]
    fn own_delta_is_never_lost() {
        let approximate = Charge::Approximate(Budget::approx(0.5, 1e-6).unwrap());
        let sum = spent(&[approximate, gaussian(0.2)]);
        assert!(matches!(
            sum.epsilon_at(1e-7),
            Err(AccountError::DeltaOutOfReach { .. })
        ));
        assert!(sum.delta_at(1e4).unwrap() >= 1e-6);
        assert!(sum.rho().is_none());
        let alone = spent(&[approximate]).epsilon_at(1e-6).unwrap();
        assert!((alone - 0.5).abs() < 1e-15);
    }

    #[test]
    fn slack_is_added_and_consistent() {
        let mut sum = spent(&[gaussian(0.236)]);
        let ideal = sum.epsilon_at(1e-6).unwrap();
        sum.add_slack(1e-8).unwrap();
        let with_slack = sum.epsilon_at(1e-6).unwrap();
        assert!(with_slack > ideal);
        let back = sum.delta_at(with_slack).unwrap();
        assert!((0.99e-6..=1e-6 * (1.0 + 1e-9)).contains(&back), "{back}");
        sum.add_slack(1e-6).unwrap();
        assert!(sum.epsilon_at(1e-6).is_err());
        assert!(sum.add_slack(-1.0).is_err() && sum.add_slack(f64::NAN).is_err());
    }

    /// At ε = 50 the slack of one run is most of δ, and of two runs more than δ.
    #[test]
    fn the_slack_of_several_runs_is_in_their_joint_claim() {
        let delta = 1e-6;
        let fixed = Budget::approx(50.0, delta).unwrap();
        let tau = 0.6 * delta / (1.0 + 50.0_f64.exp());
        let price = Price::new(gaussian(1e-3), fixed, tau).unwrap();
        let mut sum = Spent::new();
        sum.add_price(&price).unwrap();
        assert!(sum.delta_at(50.0).unwrap() < delta);
        sum.add_price(&price).unwrap();
        let told = sum.delta_at(50.0).unwrap();
        assert!((told / (1.2 * delta) - 1.0).abs() < 1e-6, "{told}");
    }

    #[test]
    fn overflow_adds_nothing() {
        let mut sum = spent(&[gaussian(1.0)]);
        let before = sum;
        assert!(sum.add(&gaussian(1e200)).is_err());
        let huge = Charge::Zcdp(Rho::new(f64::MAX).unwrap());
        assert!(sum.add(&huge).is_err());
        assert_eq!(sum, before);
        assert!(Spent::new().epsilon_at(0.0).unwrap() <= 0.0);
    }
}
