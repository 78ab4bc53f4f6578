//! Recipes for decisions.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use hushstream_mechanism::sums::SumKind;

pub(super) const IGW: Entry = Entry {
    recipe: RecipeName::Igw,
    name: "igw",
    source: "beyond the papers: inverse gap weighting (Foster, Rakhlin 2020) on noisy second \
        moments of every arm",
    errata: &[],
    guarantee: "joint: policies, and the decisions for everybody else",
    when: "decisions that depend on a context: learn --task decide",
    mechanism: MechanismKind::Sum(SumKind::BLT),
    printed: "not in the papers",
    holds: "sum of 2(K-1)/gamma + gamma/4 times the summed squared error of estimates, which \
        second moments bound: plan prints it",
    hears: &[Wish::Sum, Wish::Noise, Wish::Ridge],
    rules: Rules::Alone,
};

pub(super) const LINUCB_JDP: Entry = Entry {
    recipe: RecipeName::LinucbJdp,
    name: "linucb-jdp",
    source: "beyond the papers: linear upper bounds (Shariff, Sheffet 2018) on the same sums",
    errata: &[],
    guarantee: "joint: policies, and the decisions for everybody else",
    when: "to compare with igw: it plays the largest upper bound, so its records evaluate no other \
        policy",
    mechanism: MechanismKind::Sum(SumKind::BLT),
    printed: "O~(d^(3/4) sqrt(T)/sqrt(eps)) for changing contexts",
    holds: "the width X + eta/sqrt(Gamma) + 2 S sqrt(Gamma), derived again with this noise",
    hears: &[Wish::Sum, Wish::Noise],
    rules: Rules::Alone,
};
