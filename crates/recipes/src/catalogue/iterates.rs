//! Recipes on perturbed iterates.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use crate::iterates::{Calibration, IterateRules, TakenSteps};
use hushstream_mechanism::perturb::Timing;

const ITERATES: &[Wish] = &[
    Wish::Noise,
    Wish::Loss,
    Wish::Set,
    Wish::Radius,
    Wish::Curvature,
];

pub(super) const PIGD: Entry = Entry {
    recipe: RecipeName::Pigd,
    name: "pigd",
    source: "JKT12 Algorithm 2",
    errata: &["J8", "J9", "J10", "J11"],
    guarantee: "transcript",
    when: "strongly convex losses where every release is an iterate of its own; any loss of a \
        linear model, corners included",
    mechanism: MechanismKind::Iterate,
    printed: "C (L^2/alpha + |C|) sqrt(d) ln^2(T/delta) sqrt(T)/eps, at (3 eps, 2 delta)",
    holds: "L sqrt(d) sum sigma_t + alpha |x*|^2/2 + L'^2 (1+ln T)/(2 alpha), at (eps, delta); \
        sum sigma_t = (sum s_t^(2/3))^1.5/mu, s_t = 2L/(alpha (t+1))",
    hears: ITERATES,
    rules: Rules::Iterate(IterateRules {
        steps: TakenSteps::Minimisations,
        timing: Timing::Every,
        curvature: Calibration::Own,
    }),
};

pub(super) const PIGD_CONVEX: Entry = Entry {
    recipe: RecipeName::PigdConvex,
    name: "pigd-convex",
    source: "JKT12 Section 6.1",
    errata: &["J8", "J9", "J11", "J15"],
    guarantee: "transcript",
    when: "as pigd, for losses without curvature; pftal-convex has the better rate",
    mechanism: MechanismKind::Iterate,
    printed: "O~(T^(2/3))",
    holds: "O~(d^(1/4) T^(3/4)/sqrt(eps)) for Lipschitz losses, with curvature a t^(3/4) and a \
        by the horizon",
    hears: ITERATES,
    rules: Rules::Iterate(IterateRules {
        steps: TakenSteps::Minimisations,
        timing: Timing::Every,
        curvature: Calibration::Balanced(0.75),
    }),
};

pub(super) const PGIGA: Entry = Entry {
    recipe: RecipeName::Pgiga,
    name: "pgiga",
    source: "JKT12 Algorithm 3",
    errata: &["J6", "J7", "J8", "J9", "J10"],
    guarantee: "transcript",
    when: "as pigd, for smooth losses and gradients instead of minimisations",
    mechanism: MechanismKind::Iterate,
    printed: "4 sqrt(d) (G/alpha + |C|) G ln^2(T/delta) sqrt(T)/eps + (2G^2/alpha)(1+log T) + \
        2 L_G^2 G |C|/alpha^2",
    holds: "G sqrt(d) sum sigma_t + G^2 (1+ln T)/(2 alpha) + t_q G |C|, t_q = \
        ceil((alpha+L_G)/(2 alpha)), s_t = 2G/(alpha t); twice s_t with the printed step",
    hears: ITERATES,
    rules: Rules::Iterate(IterateRules {
        steps: TakenSteps::Gradients,
        timing: Timing::Every,
        curvature: Calibration::Own,
    }),
};

pub(super) const POCP: Entry = Entry {
    recipe: RecipeName::Pocp,
    name: "pocp",
    source: "JKT12 Algorithm 1",
    errata: &["J8", "J9", "J11"],
    guarantee: "transcript, as far as the learner's own proof holds",
    when: "a learner of your own whose sensitivity you can prove (follow-the-leader, \
        regularised or quadratic, are worked examples)",
    mechanism: MechanismKind::Iterate,
    printed: "2 sqrt(d) L (lambda + |C|) sqrt(T) ln^2(T/delta)/eps + R(T), at (3 eps, 2 delta)",
    holds: "L sqrt(d) sum sigma_t + R(T), at (eps, delta)",
    hears: ITERATES,
    rules: Rules::Iterate(IterateRules {
        steps: TakenSteps::Any,
        timing: Timing::Every,
        curvature: Calibration::Own,
    }),
};

pub(super) const POCP_ANYTIME: Entry = Entry {
    recipe: RecipeName::PocpAnytime,
    name: "pocp-anytime",
    source: "JKT12 Algorithm 7",
    errata: &["J8", "J11", "J14"],
    guarantee: "transcript, however long",
    when: "as pigd or pocp, and nobody knows how many records will come",
    mechanism: MechanismKind::Iterate,
    printed: "as pocp, at (3 eps log T, delta log T + 2 T^(-2 eps))",
    holds: "as pocp at (eps, delta) for every T, with 3.1 (2^10) to 5.9 (2^20) times the noise \
        of a known T",
    hears: ITERATES,
    rules: Rules::Iterate(IterateRules {
        steps: TakenSteps::Any,
        timing: |_| Timing::Unknown,
        curvature: Calibration::Own,
    }),
};

pub(super) const POL: Entry = Entry {
    recipe: RecipeName::Pol,
    name: "pol",
    source: "JKT12 Algorithm 6",
    errata: &["J11", "J12", "J13"],
    guarantee: "one model",
    when: "a model at the end is all that is wanted: the least noise of all; learn takes the \
        average of the later half",
    mechanism: MechanismKind::Iterate,
    printed: "eps_g, once T >= C max(sqrt(d) L (L+eps_g/|x*|) sqrt(ln(1/gamma) \
        ln(1/delta))/(eps_g eps), ...)",
    holds: "eps_g/2 + L sigma (sqrt(d)+sqrt(2 ln(2/gamma))) + Kakade and Tewari's terms, sigma \
        = 2L(H_T-1)/(alpha T mu), alpha = eps_g/rho^2",
    hears: ITERATES,
    rules: Rules::Iterate(IterateRules {
        steps: TakenSteps::Any,
        timing: Timing::Last,
        curvature: Calibration::OwnOrBalanced,
    }),
};
