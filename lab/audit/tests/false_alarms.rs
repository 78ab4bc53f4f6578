//! A thousand audits of correct mechanisms: as few false alarms as the confidence says.
#![cfg(feature = "long")]
#![allow(clippy::unwrap_used)]

use hushstream_account::Budget;
use hushstream_audit::{Effort, Target, audit};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_recipes::RecipeName;

/// At 99.9 %, a thousand audits give one false alarm on average at the most; more than nine has a
/// probability below 1.2·10⁻⁷.
#[test]
fn a_thousand_audits_give_at_most_nine_violations() {
    let (gaussian, pure) = (Budget::approx(8.0, 1e-5), Budget::pure(1.0));
    let (gaussian, pure) = (gaussian.unwrap(), pure.unwrap());
    let tree = |noise: Noise| Target {
        noise,
        ..Target::new(
            RecipeName::PftalConvex,
            Some(SumKind::Tree),
            if noise.is_pure() { pure } else { gaussian },
        )
        .unwrap()
    };
    // Those whose audits are tightest, so that a bound has the best chance to be wrong.
    let targets = [
        Target {
            releases: 1,
            ..tree(Noise::Laplace)
        },
        Target {
            releases: 1,
            ..tree(Noise::Gaussian)
        },
        Target {
            releases: 3,
            ..tree(Noise::Gaussian)
        },
        Target {
            releases: 3,
            ..tree(Noise::L2Laplace)
        },
    ];
    let mut violations = 0;
    for target in targets {
        let (claim, duels) = (target.claim().unwrap(), target.duels().unwrap());
        for seed in 0..250 {
            let verdict = audit(claim, &duels[..1], Effort::runs(1000, 1e-3, seed)).unwrap();
            violations += u32::from(verdict.violated());
        }
    }
    assert!(violations <= 9, "{violations} of 1000");
}
