//! Laws that hold for every parameter: order, outward round trips, independence of the order of
//! composition.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hushstream_account::{Budget, Charge, Epsilon, Filter, FilterKind, Mu, RenyiCurve, Rho, Spent};
use proptest::prelude::*;

/// A positive number, uniform on a logarithmic scale between powers of ten.
fn log_uniform(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|exponent| 10.0_f64.powf(exponent))
}

fn any_charge() -> impl Strategy<Value = Charge> {
    (0..6, log_uniform(-4.0, 0.5), log_uniform(-12.0, -8.0)).prop_map(|(kind, size, delta)| {
        let epsilon = Epsilon::new(size).unwrap();
        match kind {
            0 => Charge::Gaussian(Mu::new(size).unwrap()),
            1 => Charge::Pure(epsilon),
            2 => Charge::RoundedLaplace(epsilon),
            3 => Charge::Zcdp(Rho::new(size).unwrap()),
            4 => Charge::BoundedRange(epsilon),
            _ => Charge::Approximate(Budget::approx(size, delta).unwrap()),
        }
    })
}

fn total<'a>(charges: impl IntoIterator<Item = &'a Charge>) -> Spent {
    let mut spent = Spent::new();
    for charge in charges {
        spent.add(charge).unwrap();
    }
    spent
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn gaussian_loss_is_monotone(
        mu in log_uniform(-4.0, 2.0),
        epsilon in log_uniform(-4.0, 3.0),
        delta in log_uniform(-200.0, -0.1),
        factor in 1.001..3.0_f64,
    ) {
        let (small, large) = (Mu::new(mu).unwrap(), Mu::new(factor * mu).unwrap());
        prop_assert!(small.delta_at(epsilon).unwrap() <= large.delta_at(epsilon).unwrap());
        prop_assert!(small.delta_at(factor * epsilon).unwrap() <= small.delta_at(epsilon).unwrap());
        prop_assert!(small.epsilon_at(delta).unwrap() <= large.epsilon_at(delta).unwrap());
        prop_assert!(small.epsilon_at(delta / factor).unwrap() >= small.epsilon_at(delta).unwrap());
        let within = |e, d| Mu::within(Budget::approx(e, d).unwrap()).unwrap();
        prop_assert!(within(epsilon, delta) <= within(factor * epsilon, delta));
        prop_assert!(within(epsilon, delta / factor) <= within(epsilon, delta));
    }

    #[test]
    fn concentrated_loss_is_monotone(
        rho in log_uniform(-8.0, 3.0),
        epsilon in log_uniform(-4.0, 3.0),
        delta in log_uniform(-200.0, -0.1),
        factor in 1.001..3.0_f64,
    ) {
        let (small, large) = (Rho::new(rho).unwrap(), Rho::new(factor * rho).unwrap());
        prop_assert!(small.delta_at(epsilon).unwrap() <= large.delta_at(epsilon).unwrap());
        prop_assert!(small.epsilon_at(delta).unwrap() <= large.epsilon_at(delta).unwrap());
        prop_assert!(small.epsilon_at(delta / factor).unwrap() >= small.epsilon_at(delta).unwrap());
    }

    #[test]
    fn round_trips_go_outward(mu in log_uniform(-4.0, 2.0), delta in log_uniform(-250.0, -0.1)) {
        // The reported ε spends at most δ, but not much less; a budget's μ costs at most the
        // budget.
        let spender = Mu::new(mu).unwrap();
        let epsilon = spender.epsilon_at(delta).unwrap();
        let back = spender.delta_at(epsilon).unwrap();
        prop_assert!(back <= delta * (1.0 + 1e-10));
        if epsilon > 1e-6 {
            prop_assert!(back >= delta * (1.0 - 1e-8));
            let mu_back = Mu::within(Budget::approx(epsilon, delta).unwrap()).unwrap();
            prop_assert!(mu_back.epsilon_at(delta).unwrap() <= epsilon);
            prop_assert!((mu_back.get() / mu - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn exact_gaussian_accounting_beats_zcdp(
        mu in log_uniform(-3.0, 1.5),
        delta in log_uniform(-30.0, -1.0),
    ) {
        let mu = Mu::new(mu).unwrap();
        let rho = Rho::of_gaussian(mu).unwrap();
        let curve = RenyiCurve::gaussian(mu).unwrap();
        let (exact, by_rho) = (mu.epsilon_at(delta).unwrap(), rho.epsilon_at(delta).unwrap());
        prop_assert!(exact <= by_rho);
        // A grid of orders cannot beat the best order.
        prop_assert!(by_rho <= curve.epsilon_at(delta).unwrap() * (1.0 + 1e-12) + 1e-300);
    }

    #[test]
    fn order_of_composition_matters_only_in_rounding(
        charges in prop::collection::vec(any_charge(), 1..12),
    ) {
        let (forward, backward) = (total(&charges), total(charges.iter().rev()));
        let (a, b) = (forward.epsilon_at(1e-6).unwrap(), backward.epsilon_at(1e-6).unwrap());
        prop_assert!((a - b).abs() <= 1e-9 * a);
        let (a, b) = (forward.delta_at(1.0).unwrap(), backward.delta_at(1.0).unwrap());
        prop_assert!((a - b).abs() <= 1e-9 * a + 1e-300);
    }

    #[test]
    fn spending_more_never_costs_less(
        charges in prop::collection::vec(any_charge(), 1..8),
        tau in log_uniform(-30.0, -10.0),
    ) {
        let mut spent = Spent::new();
        let (mut epsilon, mut delta) = (0.0, 0.0);
        for charge in &charges {
            spent.add(charge).unwrap();
            let next = (spent.epsilon_at(1e-6).unwrap(), spent.delta_at(2.0).unwrap());
            prop_assert!(next.0 >= epsilon * (1.0 - 1e-9) && next.1 >= delta * (1.0 - 1e-9));
            (epsilon, delta) = next;
        }
        spent.add_slack(tau).unwrap();
        prop_assert!(spent.delta_at(2.0).unwrap() >= delta);
        if let Ok(with_slack) = spent.epsilon_at(1e-6) {
            prop_assert!(with_slack >= epsilon);
            prop_assert!(spent.delta_at(with_slack).unwrap() <= 1e-6 * (1.0 + 1e-9));
        }
    }

    #[test]
    fn admitted_charges_stay_within_the_budget(
        sizes in prop::collection::vec(log_uniform(-4.0, 0.0), 1..40),
    ) {
        let budget = Budget::approx(1.0, 1e-6).unwrap();
        for kind in [
            FilterKind::Gaussian,
            FilterKind::Zcdp,
            FilterKind::Pure,
            FilterKind::Approximate,
        ] {
            let mut filter = Filter::open(budget, kind).unwrap();
            let mut spent = Spent::new();
            for &size in &sizes {
                let charge = match kind {
                    FilterKind::Gaussian => Charge::Gaussian(Mu::new(size).unwrap()),
                    FilterKind::Zcdp => Charge::Zcdp(Rho::new(size).unwrap()),
                    FilterKind::Pure => Charge::Pure(Epsilon::new(size).unwrap()),
                    FilterKind::Approximate => {
                        Charge::Approximate(Budget::approx(size, size * 1e-6).unwrap())
                    }
                };
                if filter.try_spend(charge).is_ok() {
                    spent.add(&charge).unwrap();
                }
            }
            prop_assert!(filter.used() <= 1.0 && filter.used_delta() <= filter.room());
            let epsilon = spent.epsilon_at(budget.delta()).unwrap();
            prop_assert!(epsilon <= budget.epsilon() * (1.0 + 1e-12));
        }
    }
}
