//! A thousand charges, all different, added up and turned into ε at δ = 1e-6.

use crate::timing::{Measured, measure};
use hushstream_account::{Charge, Epsilon, Mu, RenyiCurve, Spent};
use std::hint::black_box;

const CHARGES: usize = 1000;
const DELTA: f64 = 1e-6;

/// Sensitivity over scale of the charge `index`; `peers/accounting.py` has the same.
fn size(index: usize) -> f64 {
    0.01 + 0.03 * index as f64 / CHARGES as f64
}

fn charges(mixed: bool) -> Vec<Charge> {
    (0..CHARGES)
        .map(|index| {
            if mixed && index % 2 == 1 {
                Charge::RoundedLaplace(Epsilon::new(size(index)).expect("positive"))
            } else {
                Charge::Gaussian(Mu::new(size(index)).expect("positive"))
            }
        })
        .collect()
}

/// As the ledger does it.
pub(crate) fn spent(mixed: bool) -> Measured {
    let charges = charges(mixed);
    let mut epsilon = f64::NAN;
    measure(|| {
        let mut spent = Spent::new();
        for charge in black_box(&charges) {
            spent.add(charge).expect("finite");
        }
        epsilon = black_box(spent.epsilon_at(DELTA).expect("finite"));
        1
    })
    .with_epsilon(epsilon)
}

/// By Rényi curves, charge after charge: the method of dp-accounting's `RdpAccountant`.
pub(crate) fn curves(mixed: bool) -> Measured {
    let charges = charges(mixed);
    let mut epsilon = f64::NAN;
    measure(|| {
        let curve = |charge: &Charge| match *charge {
            Charge::RoundedLaplace(ratio) => RenyiCurve::laplace(ratio),
            Charge::Gaussian(mu) => RenyiCurve::gaussian(mu),
            _ => unreachable!("charges() makes no others"),
        };
        let mut curves = black_box(&charges).iter().map(curve);
        let first = curves.next().expect("a thousand").expect("finite");
        let total = curves
            .try_fold(first, |total, next| total.compose(&next?))
            .expect("finite");
        epsilon = black_box(total.epsilon_at(DELTA).expect("finite"));
        1
    })
    .with_epsilon(epsilon)
}
