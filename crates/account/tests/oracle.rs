//! The crate against independent answers: mpmath at 80 digits where an exact one exists,
//! dp-accounting's brackets where not.
//!
//! `oracle/accounting.py` writes `vectors/accounting.json`. Every test checks two things: a claim
//! is never below the truth, and where both sides are exact they agree within 1e-9. The last tests
//! plant errors and check that the same comparisons flag them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::LazyLock;

use hushstream_account::{Budget, Charge, Epsilon, Mu, RenyiCurve, Rho, Spent};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    gdp: Vec<Gdp>,
    gdp_extremes: Vec<Gdp>,
    zcdp: Vec<Zcdp>,
    conversions: Vec<Conversion>,
    renyi: Vec<Renyi>,
    compositions: Vec<Composition>,
}

#[derive(Deserialize)]
struct Gdp {
    epsilon: f64,
    delta: f64,
    mu: String,
    mu_float: f64,
    delta_at: String,
    epsilon_at: String,
}

#[derive(Deserialize)]
struct Zcdp {
    rho: f64,
    epsilon: f64,
    delta: f64,
    epsilon_at: String,
    delta_at: String,
}

#[derive(Deserialize)]
struct Conversion {
    epsilon: f64,
    laplace: String,
    pure: String,
}

#[derive(Deserialize)]
struct Renyi {
    kind: String,
    parameters: Vec<f64>,
    values: Vec<String>,
    epsilon_at: Vec<BestOrder>,
}

#[derive(Deserialize)]
struct BestOrder {
    delta: f64,
    count: u64,
    epsilon: String,
    order: f64,
}

#[derive(Deserialize)]
struct Composition {
    charges: Vec<Part>,
    results: Vec<Bracket>,
}

#[derive(Deserialize)]
struct Part {
    kind: String,
    value: serde_json::Value,
    count: u64,
}

#[derive(Deserialize)]
struct Bracket {
    delta: f64,
    lower: f64,
    upper: f64,
    renyi: Option<f64>,
    probe: f64,
    probe_delta_lower: f64,
}

static VECTORS: LazyLock<Vectors> =
    LazyLock::new(|| serde_json::from_str(include_str!("vectors/accounting.json")).unwrap());

/// The flaw of a claim about a quantity whose true value is known.
#[derive(Debug, PartialEq)]
enum Flaw {
    ClaimsLessLoss,
    NotTight,
}

/// A loss (ε, δ, ρ, a divergence) must not be below the truth, nor above it by more than
/// `tolerance` relative or `absolute`.
///
/// The truth is parsed to the nearest float. Rounding is monotone, so a float that is not below the
/// real truth is not below its nearest float either: the comparison raises no false alarm.
fn loss_near(ours: f64, truth: &str, tolerance: f64, absolute: f64) -> Result<f64, Flaw> {
    let truth: f64 = truth.parse().unwrap();
    if ours.is_nan() || ours < truth {
        Err(Flaw::ClaimsLessLoss)
    } else if ours - truth <= tolerance * truth {
        Ok(if truth > 0.0 { ours / truth - 1.0 } else { 0.0 })
    } else if ours - truth <= absolute {
        Ok(0.0)
    } else {
        Err(Flaw::NotTight)
    }
}

/// The same without an absolute part.
fn loss(ours: f64, truth: &str, tolerance: f64) -> Result<f64, Flaw> {
    loss_near(ours, truth, tolerance, 0.0)
}

/// A parameter derived from a budget must not be above the truth, nor below it by more than
/// `tolerance` relative.
fn allowance(ours: f64, truth: &str, tolerance: f64) -> Result<f64, Flaw> {
    let truth: f64 = truth.parse().unwrap();
    if ours.is_nan() || ours > truth {
        Err(Flaw::ClaimsLessLoss)
    } else if truth - ours <= tolerance * truth {
        Ok(1.0 - ours / truth)
    } else {
        Err(Flaw::NotTight)
    }
}

fn mu_within(epsilon: f64, delta: f64) -> f64 {
    Mu::within(Budget::approx(epsilon, delta).unwrap())
        .unwrap()
        .get()
}

/// `absolute` allows for a tiny ε beside a large δ, where a roundoff of δ is no longer one of ε.
fn check_gdp(vectors: &[Gdp], tolerance: f64, absolute: f64) {
    let mut worst = [0.0_f64; 3];
    for v in vectors {
        let place = format!("epsilon {} delta {}", v.epsilon, v.delta);
        let mu = Mu::new(v.mu_float).unwrap();
        let ours = [
            allowance(mu_within(v.epsilon, v.delta), &v.mu, tolerance),
            loss(mu.delta_at(v.epsilon).unwrap(), &v.delta_at, tolerance),
            loss_near(
                mu.epsilon_at(v.delta).unwrap(),
                &v.epsilon_at,
                tolerance,
                absolute,
            ),
        ];
        for (result, worst) in ours.into_iter().zip(&mut worst) {
            *worst = worst.max(result.unwrap_or_else(|flaw| panic!("{place}: {flaw:?}")));
        }
    }
    println!(
        "{} points: mu {:.1e}, delta {:.1e}, epsilon {:.1e}",
        vectors.len(),
        worst[0],
        worst[1],
        worst[2]
    );
}

#[test]
fn gaussian_grid() {
    assert!(VECTORS.gdp.len() >= 200);
    check_gdp(&VECTORS.gdp, 1e-9, 0.0);
    for (least, most) in [(0.0, 0.05), (0.05, 0.5), (0.5, 5.0), (5.0, 100.0)] {
        let inside = |v: &&Gdp| (least..most).contains(&v.epsilon);
        let worst = VECTORS.gdp.iter().filter(inside).fold(0.0_f64, |worst, v| {
            let mu = Mu::new(v.mu_float).unwrap();
            let error = loss(mu.delta_at(v.epsilon).unwrap(), &v.delta_at, 1e-9).unwrap();
            worst.max(error)
        });
        println!("epsilon in [{least}, {most}): delta too high by at most {worst:.1e}");
    }
}

#[test]
fn gaussian_extremes() {
    check_gdp(&VECTORS.gdp_extremes, 1e-9, 1e-9);
}

#[test]
fn zcdp_grid() {
    let mut worst = 0.0_f64;
    for v in &VECTORS.zcdp {
        let rho = Rho::new(v.rho).unwrap();
        let place = format!("rho {} epsilon {} delta {}", v.rho, v.epsilon, v.delta);
        for result in [
            loss(rho.epsilon_at(v.delta).unwrap(), &v.epsilon_at, 1e-9),
            loss(rho.delta_at(v.epsilon).unwrap(), &v.delta_at, 1e-9),
        ] {
            worst = worst.max(result.unwrap_or_else(|flaw| panic!("{place}: {flaw:?}")));
        }
        // The ρ of a budget spends no more than the budget, and nearly all of it.
        let allowed = Rho::within(Budget::approx(v.epsilon, v.delta).unwrap()).unwrap();
        let spent = allowed.epsilon_at(v.delta).unwrap();
        assert!(spent <= v.epsilon && spent >= v.epsilon * (1.0 - 1e-9));
    }
    println!("zCDP: {worst:.1e}");
}

#[test]
fn conversions_into_zcdp() {
    let mut worst = 0.0_f64;
    for v in &VECTORS.conversions {
        let epsilon = Epsilon::new(v.epsilon).unwrap();
        worst = worst.max(loss(Rho::of_laplace(epsilon).get(), &v.laplace, 1e-14).unwrap());
        worst = worst.max(loss(Rho::of_pure(epsilon).get(), &v.pure, 1e-14).unwrap());
    }
    println!("conversions: {worst:.1e}");
}

#[test]
fn renyi_curves() {
    let mut worst = [0.0_f64; 3];
    for v in &VECTORS.renyi {
        let place = format!("{} {:?}", v.kind, v.parameters);
        let epsilon = || Epsilon::new(v.parameters[0]).unwrap();
        // The divergence of two coins is a small difference: its margin is absolute.
        let (curve, slack) = match v.kind.as_str() {
            "laplace" => (RenyiCurve::laplace(epsilon()), 0.0),
            "pure" => (RenyiCurve::pure(epsilon()), 0.0),
            "coin" => (RenyiCurve::coin(v.parameters[0], v.parameters[1]), 1e-12),
            other => panic!("unknown curve {other}"),
        };
        let curve = curve.unwrap();
        // The vectors hold the orders 1 + 2^k, every sixteenth of the grid.
        for (ours, truth) in curve.bounds().iter().step_by(16).zip(&v.values) {
            let result = loss_near(*ours, truth, 1e-11, slack);
            let error = result.unwrap_or_else(|flaw| panic!("{place}: {flaw:?} {ours} {truth}"));
            if slack <= 0.0 {
                worst[0] = worst[0].max(error);
            }
        }
        let (least, most) = (RenyiCurve::orders()[0], RenyiCurve::orders()[384]);
        for best in &v.epsilon_at {
            let ours = curve.times(best.count).unwrap();
            let ours = ours.epsilon_at(best.delta).unwrap();
            // Tight only if the best order lies inside the grid.
            let inside = (least..most).contains(&best.order);
            let grid = if v.kind == "coin" { 5e-2 } else { 5e-4 };
            let tolerance = if inside { grid } else { f64::INFINITY };
            // An ε near zero is a difference of large terms: there the bound is absolute.
            let result = loss_near(ours, &best.epsilon, tolerance, 1e-4);
            let error = result.unwrap_or_else(|flaw| panic!("{place}: {flaw:?} {ours}"));
            if inside {
                let kind = if v.kind == "coin" { 2 } else { 1 };
                worst[kind] = worst[kind].max(error);
            }
        }
    }
    println!(
        "Renyi: curves {:.1e}, epsilon on the grid of orders {:.1e}, of a coin {:.1e}",
        worst[0], worst[1], worst[2]
    );
}

fn charge(part: &Part) -> Charge {
    let number = || part.value.as_f64().unwrap();
    let epsilon = || Epsilon::new(number()).unwrap();
    match part.kind.as_str() {
        "gaussian" => Charge::Gaussian(Mu::new(number()).unwrap()),
        "laplace" => Charge::RoundedLaplace(epsilon()),
        "response" | "discrete-laplace" => Charge::Pure(epsilon()),
        "discrete-gaussian" => Charge::Zcdp(Rho::new(number()).unwrap()),
        "bounded-range" => Charge::BoundedRange(epsilon()),
        "approximate" => {
            let parts: Vec<f64> = serde_json::from_value(part.value.clone()).unwrap();
            Charge::Approximate(Budget::approx(parts[0], parts[1]).unwrap())
        }
        other => panic!("unknown charge {other}"),
    }
}

fn spent(parts: &[Part]) -> Spent {
    let mut spent = Spent::new();
    for part in parts {
        for _ in 0..part.count {
            spent.add(&charge(part)).unwrap();
        }
    }
    spent
}

/// The Rényi curve of a composition, unless a charge has none.
fn curve(parts: &[Part]) -> Option<RenyiCurve> {
    let mut total = RenyiCurve::from_bound(|_| 0.0).unwrap();
    for part in parts {
        let one = match charge(part) {
            Charge::Gaussian(mu) => RenyiCurve::gaussian(mu),
            Charge::Pure(epsilon) => RenyiCurve::pure(epsilon),
            Charge::RoundedLaplace(epsilon) => RenyiCurve::laplace(epsilon),
            Charge::Zcdp(rho) => RenyiCurve::zcdp(rho),
            Charge::BoundedRange(range) => RenyiCurve::bounded_range(range),
            _ => return None,
        };
        total = total
            .compose(&one.unwrap().times(part.count).unwrap())
            .unwrap();
    }
    Some(total)
}

#[test]
fn compositions_never_claim_less_than_the_truth() {
    let mixed = VECTORS.compositions.iter().filter(|c| c.charges.len() > 1);
    assert!(mixed.count() >= 40);
    let (mut worst_spent, mut worst_curve) = (0.0_f64, 0.0_f64);
    for composition in &VECTORS.compositions {
        let total = spent(&composition.charges);
        let curve = curve(&composition.charges);
        let gaussian_only = composition.charges.iter().all(|p| p.kind == "gaussian");
        for bracket in &composition.results {
            let place = format!(
                "{:?} at {}",
                composition
                    .charges
                    .iter()
                    .map(|p| (&p.kind, &p.value, p.count))
                    .collect::<Vec<_>>(),
                bracket.delta
            );
            let ours = total.epsilon_at(bracket.delta).unwrap();
            assert!(ours >= bracket.lower, "{place}: {ours}");
            let delta = total.delta_at(bracket.probe).unwrap();
            assert!(delta >= bracket.probe_delta_lower, "{place}: {delta}");
            if gaussian_only {
                assert!(ours <= bracket.upper * (1.0 + 1e-9), "{place}: {ours}");
            }
            if let (Some(curve), Some(renyi)) = (&curve, bracket.renyi) {
                let by_curve = curve.epsilon_at(bracket.delta).unwrap();
                assert!(by_curve >= bracket.lower, "{place}: {by_curve}");
                assert!(curve.delta_at(bracket.probe).unwrap() >= bracket.probe_delta_lower);
                worst_spent = worst_spent.max(ours / renyi);
                worst_curve = worst_curve.max(by_curve / renyi);
            }
        }
    }
    println!(
        "against another Renyi accountant: running sum at most {worst_spent:.4}, \
         curve at most {worst_curve:.4} times"
    );
    // Curves use the same theory: no looser than usual. The running sum keeps one ρ where they keep
    // a curve, and pays for it.
    assert!(worst_curve < 1.001 && worst_spent < 1.4);
}

#[test]
fn planted_errors_in_mu_are_flagged() {
    let mut caught = 0;
    for v in &VECTORS.gdp {
        // Twice the δ that was allowed; a Δ that forgets replace-one; rounding to nearest with a
        // small bias.
        let twice = mu_within(v.epsilon, 2.0 * v.delta);
        let forgot = 2.0 * mu_within(v.epsilon, v.delta);
        let biased = v.mu_float * (1.0 + 1e-12);
        for wrong in [twice, forgot, biased] {
            let found = allowance(wrong, &v.mu, 1e-9);
            assert_eq!(found, Err(Flaw::ClaimsLessLoss), "{}", v.epsilon);
            caught += 1;
        }
        // Half the δ is safe but wasteful: the other check sees it.
        let half = mu_within(v.epsilon, 0.5 * v.delta);
        assert_eq!(allowance(half, &v.mu, 1e-9), Err(Flaw::NotTight));
    }
    assert_eq!(caught, 3 * VECTORS.gdp.len());
}

#[test]
fn the_classical_formula_is_flagged() {
    // σ = √(2 ln(1.25/δ))/ε at ε = 10, δ = 1e-6 has a larger μ than that budget allows.
    let (epsilon, delta) = (10.0, 1e-6);
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-12;
    let at = |v: &&Gdp| close(v.epsilon, epsilon) && close(v.delta, delta);
    let vector = VECTORS.gdp.iter().find(at).unwrap();
    let classical = epsilon / (2.0 * (1.25 / delta).ln()).sqrt();
    assert_eq!(
        allowance(classical, &vector.mu, 1e-9),
        Err(Flaw::ClaimsLessLoss)
    );
}

#[test]
fn a_charge_left_out_is_flagged() {
    let mut flagged = 0;
    for composition in VECTORS.compositions.iter().filter(|c| c.charges.len() > 1) {
        let without_last = spent(&composition.charges[..composition.charges.len() - 1]);
        let below = |bracket: &Bracket| {
            without_last
                .epsilon_at(bracket.delta)
                .is_ok_and(|ours| ours < bracket.lower)
        };
        flagged += usize::from(composition.results.iter().any(below));
    }
    // Zero-concentrated bounds are loose by a few percent, so a small charge can hide in them; most
    // cannot.
    assert!(flagged >= 30, "{flagged}");
}
