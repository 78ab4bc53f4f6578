//! Limits, kinds, dominance of trade-off functions, and an analyst who changes kinds.

use super::*;
use crate::{Epsilon, Mu};

fn budget() -> Budget {
    Budget::approx(1.0, 1e-6).unwrap()
}

fn pure(epsilon: f64) -> Charge {
    Charge::Pure(Epsilon::new(epsilon).unwrap())
}

fn approximate(epsilon: f64, delta: f64) -> Charge {
    Charge::Approximate(Budget::approx(epsilon, delta).unwrap())
}

fn gaussian(mu: f64) -> Charge {
    Charge::Gaussian(Mu::new(mu).unwrap())
}

#[test]
fn the_whole_budget_fits_once() {
    for (epsilon, delta) in [
        (1e-3, 1e-12),
        (1.0, 1e-6),
        (20.0, 1e-3),
        (1e5, 1e-9),
        (1.0, 0.1),
    ] {
        let budget = Budget::approx(epsilon, delta).unwrap();
        let mu = Mu::within(budget).unwrap();
        let mut filter = Filter::open(budget, FilterKind::Gaussian).unwrap();
        filter.try_spend(Charge::Gaussian(mu)).unwrap();
        assert!(filter.try_spend(gaussian(1e-3 * mu.get())).is_err());

        let rho = Rho::within(budget).unwrap();
        let mut filter = Filter::open(budget, FilterKind::Zcdp).unwrap();
        filter.try_spend(Charge::Zcdp(rho)).unwrap();
        let mut filter = Filter::open(budget, FilterKind::Zcdp).unwrap();
        let mu = rho.to_gaussian().unwrap();
        filter.try_spend(Charge::Gaussian(mu)).unwrap();
    }
    let mut filter = Filter::open(Budget::pure(1.0).unwrap(), FilterKind::Pure).unwrap();
    filter.try_spend(pure(0.5)).unwrap();
    filter.try_spend(pure(0.5)).unwrap();
    assert!(filter.try_spend(pure(1e-300)).is_err());
}

#[test]
fn refusal_spends_nothing_and_speaks_of_shares() {
    let mut filter = Filter::open(Budget::pure(2.0).unwrap(), FilterKind::Pure).unwrap();
    filter.try_spend(pure(1.5)).unwrap();
    let before = filter.clone();
    let refused = filter.try_spend(pure(1.0)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "it needs 50 % of the budget, and 75 % is used; use a smaller charge or a larger budget"
    );
    assert_eq!(filter, before);
    filter.try_spend(pure(0.5)).unwrap();
}

#[test]
fn every_currency_takes_every_kind() {
    let kinds = [
        FilterKind::Gaussian,
        FilterKind::Zcdp,
        FilterKind::Approximate,
    ];
    let fixed = Budget::approx(0.05, 1e-8).unwrap();
    let mu = Mu::within(fixed).unwrap();
    let range = Epsilon::new(0.05).unwrap();
    let charges = [
        Charge::Gaussian(mu),
        pure(0.05),
        Charge::RoundedLaplace(range),
        Charge::BoundedRange(range),
        approximate(0.05, 1e-8),
        Charge::Zcdp(Rho::within(fixed).unwrap()),
    ];
    for kind in kinds {
        let mut filter = Filter::reserving(budget(), kind, 1e-7).unwrap();
        for charge in charges {
            let price = Price::new(charge, fixed, 1e-30).unwrap();
            filter.try_spend(price).unwrap();
        }
        assert!(filter.used() > 0.0 && filter.used_delta() >= 1e-8);
    }
    // The refusal of a pure budget names the missing δ; without the (ε, δ) of its plan a Gaussian
    // charge has no ε.
    let mut only_pure = Filter::open(Budget::pure(1.0).unwrap(), FilterKind::Pure).unwrap();
    for charge in [charges[0], charges[4]] {
        let refused = only_pure.try_spend(charge).unwrap_err().to_string();
        assert!(refused.contains("give the budget a delta"), "{refused}");
    }
    only_pure.try_spend(charges[3]).unwrap();
    let mut adding = Filter::open(budget(), FilterKind::Approximate).unwrap();
    let refused = adding.try_spend(charges[0]).unwrap_err();
    assert!(matches!(refused, Refused::WrongKind { .. }), "{refused}");
}

#[test]
fn an_approximate_filter_adds_both() {
    let mut filter = Filter::open(budget(), FilterKind::Approximate).unwrap();
    filter.try_spend(approximate(0.5, 5e-7)).unwrap();
    let before = filter.clone();
    let refused = filter.try_spend(approximate(0.25, 6e-7)).unwrap_err();
    assert!(
        refused.to_string().contains("a delta of 6.000e-7"),
        "{refused}"
    );
    assert!(filter.try_spend(approximate(0.75, 1e-9)).is_err());
    assert_eq!(filter, before);
    filter.try_spend(approximate(0.25, 5e-7)).unwrap();
    filter.try_spend(pure(0.25)).unwrap();
    assert!(filter.try_spend(approximate(1e-9, 1e-12)).is_err());
}

#[test]
fn concentrated_filters_need_delta() {
    let pure = Budget::pure(1.0).unwrap();
    assert!(Filter::open(pure, FilterKind::Gaussian).is_err());
    assert!(Filter::open(pure, FilterKind::Zcdp).is_err());
    assert!(Filter::reserving(budget(), FilterKind::Gaussian, 1e-6).is_err());
    let overflow = gaussian(1e200);
    for kind in [FilterKind::Gaussian, FilterKind::Zcdp] {
        let mut filter = Filter::open(budget(), kind).unwrap();
        assert!(filter.try_spend(overflow).is_err());
    }
}

/// The precision of draws is paid at the budget's ε, which is larger than each run's.
#[test]
fn the_precision_of_draws_is_paid_out_of_delta() {
    let budget = Budget::approx(50.0, 1e-6).unwrap();
    let fixed = Budget::approx(1.0, 1e-7).unwrap();
    let tau = 4e-8 / (1.0 + 50.0_f64.exp());
    let price = Price::new(gaussian(0.1), fixed, tau).unwrap();
    let mut filter = Filter::reserving(budget, FilterKind::Gaussian, 1e-7).unwrap();
    filter.try_spend(price).unwrap();
    filter.try_spend(price).unwrap();
    assert!((filter.used_delta() / 8e-8 - 1.0).abs() < 1e-6);
    let refused = filter.try_spend(price).unwrap_err();
    assert!(matches!(refused, Refused::OverDelta { .. }), "{refused}");
    // The reserve is not available to the noise: both together are δ.
    let all = Mu::new((filter.limits.most).sqrt()).unwrap();
    assert!(all.delta_at(50.0).unwrap() + filter.room() <= 1e-6 * (1.0 + 1e-12));
    // Without a stated reserve the first run sets it, and a second does not fit.
    let mut first = Filter::open(budget, FilterKind::Gaussian).unwrap();
    first.try_spend(price).unwrap();
    assert!((first.room() / 4e-8 - 1.0).abs() < 1e-6);
    assert!(first.try_spend(price).is_err());
    let mut only_pure = Filter::open(Budget::pure(1.0).unwrap(), FilterKind::Pure).unwrap();
    let laplace = Price::new(pure(0.5), fixed, 1e-30).unwrap();
    only_pure.try_spend(laplace).unwrap();
    only_pure.try_spend(laplace).unwrap();
    let (epsilon, delta) = only_pure.promise();
    assert!(epsilon <= 1.0 && delta > 1e-30 && delta < 1e-19);
}

/// Φ(x) to about 1e-16 of itself on either side.
fn phi(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The z with Φ(−z) = p, by bisection.
fn tail_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if phi(-middle) >= p {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Trade-off functions of the worst pairs lie above that of the Gaussian that stands for them, and
/// touch it.
#[test]
fn the_gaussian_of_a_charge_dominates_its_trade_off_function() {
    let below = |mu: f64, a: f64, b: f64| {
        // G_μ(α) ≤ f(α) on a grid of α, f linear between (0, 1), (a, b), (1, 0).
        let worst = (0..=400_i32).map(|i| {
            let alpha = if i <= 200 {
                a * f64::from(i) / 200.0
            } else {
                a + (1.0 - a) * f64::from(i - 200) / 200.0
            };
            let line = if alpha <= a {
                1.0 - (1.0 - b) * alpha / a
            } else {
                b * (1.0 - alpha) / (1.0 - a)
            };
            let gauss = match alpha {
                alpha if alpha <= 0.0 => 1.0,
                alpha if alpha >= 1.0 => 0.0,
                alpha => phi(tail_quantile(alpha) - mu),
            };
            line - gauss
        });
        worst.fold(f64::INFINITY, f64::min)
    };
    for epsilon in [1e-3, 0.1, 0.5, 1.0, 3.0, 8.0, 20.0] {
        let whole = Epsilon::new(epsilon).unwrap();
        let mu = Mu::of_pure(whole).get();
        let p = 1.0 / (1.0 + f64::exp(epsilon));
        assert!(below(mu, p, p) >= -1e-13, "{epsilon}");
        assert!(below(0.999 * mu, p, p) < -1e-9 * p, "{epsilon}");
        let mu = Mu::of_bounded_range(whole).get();
        let mut least = f64::INFINITY;
        for step in 1..100_i32 {
            let t = epsilon * f64::from(step) / 100.0;
            let a = f64::exp_m1(epsilon - t) / f64::exp_m1(epsilon);
            let b = f64::exp_m1(t) / f64::exp_m1(epsilon);
            assert!(below(mu, a, b) >= -1e-13, "{epsilon} {t}");
            least = least.min(mu - (tail_quantile(a) + tail_quantile(b)));
        }
        assert!((-1e-9..1e-3 * mu).contains(&least), "{epsilon}: {least}");
    }
    let of_pure = |epsilon: f64| Mu::of_pure(Epsilon::new(epsilon).unwrap()).get();
    // From arbitrary-precision arithmetic; never below, also where p underflows or ε is tiny.
    for (epsilon, mu) in [
        (1.0, 1.232_035_385_344_901),
        (1e-9, 1.253_314_137_315_500_3e-9),
    ] {
        let found = of_pure(epsilon);
        assert!(
            found >= mu * (1.0 - 1e-15) && found <= mu * (1.0 + 1e-12),
            "{found}"
        );
    }
    assert!((74.0..75.0).contains(&of_pure(700.0)));
    assert!((2.0..3.0).contains(&(of_pure(1e6) / 1e3)));
}

/// δ(ε; μ) for every real ε.
fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    let x = epsilon / mu - 0.5 * mu;
    (phi(-x) - epsilon.exp() * phi(-x - mu)).max(0.0)
}

/// The δ of an analyst who spends the share `first` of a Gaussian budget in one charge, looks at
/// the privacy loss, and then takes whichever gains more: a pure charge of `pure`, or the Gaussian
/// rest. An integral over the loss, which is N(m/2, m).
fn switching(budget: Budget, most: f64, first: f64, pure: f64) -> f64 {
    let (m, rest) = (first * most, ((1.0 - first) * most).sqrt());
    let gain = |loss: f64| (1.0 - (budget.epsilon() - loss).exp()).max(0.0);
    let likely = 1.0 / (1.0 + (-pure).exp());
    let (low, high, steps) = (
        0.5 * m - 10.0 * m.sqrt(),
        0.5 * m + 12.0 * m.sqrt(),
        4000_i32,
    );
    let width = (high - low) / f64::from(steps);
    (0..=steps)
        .map(|step| {
            let loss = low + width * f64::from(step);
            let density =
                (-(loss - 0.5 * m).powi(2) / (2.0 * m)).exp() / (std::f64::consts::TAU * m).sqrt();
            let switched = likely * gain(loss + pure) + (1.0 - likely) * gain(loss - pure);
            let stayed = gaussian_delta(rest, budget.epsilon() - loss);
            density * switched.max(stayed) * width
        })
        .sum()
}

/// The largest pure charge that fits after Gaussians of this Σμ²: by the rule "ε at δ of what is
/// spent", and by the filter.
fn largest_pure(budget: Budget, spent: f64) -> [f64; 2] {
    let spent = gaussian(spent.sqrt());
    let largest = |admits: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (0.0, budget.epsilon());
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if admits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    };
    let converted = largest(&|epsilon| {
        let mut sum = crate::Spent::new();
        sum.add(&spent).unwrap();
        sum.add(&pure(epsilon)).unwrap();
        sum.epsilon_at(budget.delta()).unwrap() <= budget.epsilon()
    });
    let filtered = largest(&|epsilon| {
        let mut filter = Filter::open(budget, FilterKind::Gaussian).unwrap();
        filter.try_spend(spent).unwrap();
        filter.try_spend(pure(epsilon)).is_ok()
    });
    [converted, filtered]
}

#[test]
fn an_analyst_who_changes_kinds_stays_within_delta_and_breaks_the_sum_that_is_converted_at_the_end()
{
    let budget = budget();
    let most = Mu::within(budget).unwrap();
    for first in [0.02, 0.05, 0.2, 0.5, 0.9] {
        let [converted, filtered] = largest_pure(budget, first * most.squared());
        assert!(filtered > 0.0);
        let broken = switching(budget, most.squared(), first, converted);
        let kept = switching(budget, most.squared(), first, filtered);
        assert!(kept <= budget.delta() * (1.0 + 1e-9), "{first}: {kept}");
        assert!(kept >= 0.99 * budget.delta(), "{first}: {kept}");
        if first < 0.1 {
            assert!(broken > 1.4 * budget.delta(), "{first}: {broken}");
        }
    }
}

/// The δ of an analyst who spends a Gaussian budget `most` in pieces, looks at the privacy loss
/// after each, and stops at the best moment for one pure charge, `pure[k]` after piece k.
///
/// By dynamic programming from the last piece back. Σμ² grows by one factor at each piece, from
/// `most`·shareⁿ⁻¹ on. After Σμ² = m the loss is N(m/2, m): (loss − m/2)/√m is a stationary
/// Gaussian chain, and its values are a grid.
fn many_looks(budget: Budget, most: f64, share: f64, pure: &[f64]) -> f64 {
    const STEP: f64 = 0.02;
    let grid: Vec<f64> = (-500..=600).map(|i| STEP * f64::from(i)).collect();
    let gain = |loss: f64| (1.0 - (budget.epsilon() - loss).exp()).max(0.0);
    let normal = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    // E f(centre + width·N(0, 1)).
    let mean = |values: &[f64], centre: f64, width: f64| -> f64 {
        let (low, high) = (centre - 8.0 * width, centre + 8.0 * width);
        let from = ((low - grid[0]) / STEP).max(0.0) as usize;
        let near = grid.iter().zip(values).skip(from);
        let near = near.take_while(|(x, _)| **x <= high);
        let terms = near.map(|(x, value)| value * normal((x - centre) / width));
        terms.sum::<f64>() * STEP / width
    };
    let mut later: Option<Vec<f64>> = None;
    let mut spent = most;
    for &pure in pure.iter().rev() {
        let likely = 1.0 / (1.0 + (-pure).exp());
        let value = |&x: &f64| {
            let loss = 0.5 * spent + spent.sqrt() * x;
            let switched = likely * gain(loss + pure) + (1.0 - likely) * gain(loss - pure);
            let stayed = match &later {
                Some(later) => mean(later, share.sqrt() * x, (1.0 - share).sqrt()),
                None => gain(loss),
            };
            switched.max(stayed)
        };
        later = Some(grid.iter().map(value).collect());
        spent *= share;
    }
    mean(&later.unwrap(), 0.0, 1.0)
}

/// With many looks the rule "ε at δ of what is spent" loses a factor: at every scale of the loss
/// there is one more chance that a pure charge pays. A hundred looks come to 15.7·δ, 280 to 19.2·δ.
/// Under the filter looks gain nothing: the best is to go on with Gaussians.
#[test]
fn an_analyst_who_looks_often_breaks_the_converted_sum_by_a_factor() {
    let budget = budget();
    let most = Mu::within(budget).unwrap().squared();
    let (share, looks) = (0.9_f64, 100);
    let spent = (0..looks).rev().map(|k| most * share.powi(k));
    let pure: Vec<[f64; 2]> = spent.map(|spent| largest_pure(budget, spent)).collect();
    let [broken, kept] = [0, 1].map(|rule| {
        let pure: Vec<f64> = pure.iter().map(|pure| pure[rule]).collect();
        many_looks(budget, most, share, &pure) / budget.delta()
    });
    // The whole Gaussian, and no choice: the grid is off by this much.
    let grid = many_looks(budget, most, share, &[0.0]) / budget.delta();
    assert!((1.0..1.0003).contains(&grid), "{grid}");
    assert!((15.7..15.8).contains(&broken), "{broken}");
    assert!(kept <= grid * (1.0 + 1e-8), "{kept} {grid}");
    assert!(pure[0][1] > 0.1, "there is a choice");
}
