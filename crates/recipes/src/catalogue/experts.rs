//! Recipes on private selection, and `limited-updates`, which is one among experts.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use crate::experts::Among;
use hushstream_mechanism::select::Method;

pub(super) const DARTBOARD: Entry = Entry {
    recipe: RecipeName::Dartboard,
    name: "dartboard",
    source: "AFKT22 Algorithm 1",
    errata: &["F1", "F2", "F3", "F4", "F7"],
    guarantee: "transcript",
    when: "expert advice with many experts: a loss for each is seen, one is followed",
    mechanism: MechanismKind::Selection,
    printed: "eta T + ln d/eta + 2T exp(-Tp/3); O(sqrt(T ln d) + (T ln(1/delta))^(1/3) ln \
        d/eps)",
    holds: "ln d/kappa + kappa T/8 + 1 with calibrated kappa, p and K, against losses fixed in \
        advance",
    hears: &[Wish::Restart],
    rules: Rules::Choice(Method::Dartboard, Among::Experts),
};

pub(super) const DARTBOARD_BATCHED: Entry = Entry {
    recipe: RecipeName::DartboardBatched,
    name: "dartboard-batched",
    source: "AFKT22 section 3.1.1",
    errata: &["F1", "F2", "F3", "F4", "F5", "F6"],
    guarantee: "transcript",
    when: "as dartboard with a small budget: the expert is held for a batch of rounds",
    mechanism: MechanismKind::Selection,
    printed: "eta T + B ln d/eta + 2T exp(-Tp/3B); O(T^(2/5) ln^(1/5)(1/delta) ln^(4/5) \
        d/eps^(4/5))",
    holds: "ln d/kappa + kappa B T/8 + 1 with calibrated kappa, p, K and B, against losses \
        fixed in advance",
    hears: &[Wish::Restart],
    rules: Rules::Choice(Method::BatchedDartboard, Among::Experts),
};

pub(super) const HEDGE_BATCHED: Entry = Entry {
    recipe: RecipeName::HedgeBatched,
    name: "hedge-batched",
    source: "beyond the papers: Hedge in batches, bounded-range draws (Cesar and Rogers 2021)",
    errata: &[],
    guarantee: "transcript",
    when: "as dartboard-batched; one parameter less, and better for very small budgets",
    mechanism: MechanismKind::Selection,
    printed: "not in the papers",
    holds: "sqrt(T B ln d/2) with B = 2 sqrt(ln d/rho) (replace-one), against losses fixed in \
        advance",
    hears: &[Wish::Restart],
    rules: Rules::Choice(Method::BatchedHedge, Among::Experts),
};

pub(super) const COVER: Entry = Entry {
    recipe: RecipeName::Cover,
    name: "cover",
    source: "AFKT22 Theorem 7",
    errata: &["F1", "F3", "F8"],
    guarantee: "transcript",
    when: "convex losses in one to three dimensions, short runs; learn with one or two \
        features",
    mechanism: MechanismKind::Selection,
    printed: "LD O(sqrt(T d log T) + T^(1/3) d log^(1/3)(1/delta) log T/eps)",
    holds: "L D times the dartboard's bound on the net's points, plus L radius T, against \
        losses fixed in advance",
    hears: &[Wish::Loss, Wish::Set, Wish::Radius, Wish::Restart],
    rules: Rules::Choice(Method::Dartboard, Among::Points),
};

pub(super) const LIMITED_UPDATES: Entry = Entry {
    recipe: RecipeName::LimitedUpdates,
    name: "limited-updates",
    source: "AFKT22 Algorithm 2",
    errata: &["F9"],
    guarantee: "transcript; pure or approximate",
    when: "losses are drawn from one distribution; the horizon need not be known; learn for \
        experts, two classes or a number",
    mechanism: MechanismKind::Batch,
    printed: "sum 2^i Delta_(2^i): experts O(sqrt(T log d) + log d log T/eps), convex \
        O(LD(sqrt(T) + sqrt(d) log T/eps))",
    holds: "the printed rates with Delta_(2^(i-1)), for stochastic losses only; experts with a gap g \
        O(ln d/g + log d log(1/g)/eps) at any T; convex losses smooth, or of linear models, d for \
        sqrt(d) if pure",
    hears: &[Wish::Loss, Wish::Set, Wish::Radius],
    rules: Rules::Choice(Method::LimitedUpdates, Among::Experts),
};
