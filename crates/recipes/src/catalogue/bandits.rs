//! Recipes for bandits.

use super::{Entry, GRADIENTS, MechanismKind, RecipeName, Rules, Wish};
use crate::bandits::{BanditRules, Plays};
use hushstream_mechanism::sums::SumKind;

pub(super) const EXP2: Entry = Entry {
    recipe: RecipeName::Exp2,
    name: "exp2",
    source: "AS17 Theorem 4.1 (Algorithm 4 with EXP2)",
    errata: &["A4", "A5"],
    guarantee: "transcript of plays and noisy answers",
    when: "bandits with arms, or finitely many actions with linear losses; learn --task bandit",
    mechanism: MechanismKind::Feedback,
    printed: "O(sqrt(N T log T log N)/eps)",
    holds: "ln N/eta + eta N T (1+v)/(1-gamma) + 2 gamma T + O(1): sqrt(N T log N) log(NT)/eps; on K points in N dimensions ln K for ln N, and gamma 4N times larger",
    hears: &[Wish::Noise, Wish::Restart],
    rules: Rules::Bandit(BanditRules {
        plays: Plays::Choices,
        holds: false,
    }),
};

pub(super) const EXP2_BATCHED: Entry = Entry {
    recipe: RecipeName::Exp2Batched,
    name: "exp2-batched",
    source: "beyond the papers: EXP2 on means of batches (after arXiv 2505.21790)",
    errata: &["A4", "A5"],
    guarantee: "transcript of plays and noisy answers",
    when: "bandits with a small budget: an arm is held for about 1/eps rounds; learn --task \
        bandit",
    mechanism: MechanismKind::Feedback,
    printed: "O(sqrt(N T/eps)) for its own learner",
    holds: "B times exp2's bound for T/B rounds with noise 1/(eps B): about sqrt(N T log \
        N/eps) log T",
    hears: &[Wish::Noise, Wish::Restart],
    rules: Rules::Bandit(BanditRules {
        plays: Plays::Choices,
        holds: true,
    }),
};

pub(super) const SCRIBLE: Entry = Entry {
    recipe: RecipeName::Scrible,
    name: "scrible",
    source: "AS17 Theorem 4.5 (Algorithm 4 with SCRiBLE)",
    errata: &["A6"],
    guarantee: "transcript of plays and noisy answers",
    when: "linear bandits on a ball, box, simplex or polytope; learn --task bandit mixes the \
        arms of a table",
    mechanism: MechanismKind::Feedback,
    printed: "O(sqrt(T log T) sqrt(N^2 nu (M^2 + N |X|_2^2 |Y|_1^2/eps^2))), M the largest \
        |<l, x>|",
    holds: "2 eta N^2 T (1+v) + nu ln T/eta + O(1), v the variance of scalar noise",
    hears: &[Wish::Noise, Wish::Restart],
    rules: Rules::Bandit(BanditRules {
        plays: Plays::Set,
        holds: false,
    }),
};

pub(super) const PFTAL_BANDIT: Entry = Entry {
    recipe: RecipeName::PftalBandit,
    name: "pftal-bandit",
    source: "ST13 Algorithm 3",
    errata: &["S1", "S2", "S7", "S8", "S9"],
    guarantee: "transcript of plays",
    when: "convex losses of which only the value at the play is seen; learn, for one of two \
        classes or a number",
    mechanism: MechanismKind::Values(SumKind::Tree),
    printed: "O~(p T^(2/3) chi) oblivious, O~(p T^(3/4) chi) adaptive",
    holds: "the printed rates with sensitivity 2pB/beta (pB/beta for values in [0, B])",
    hears: GRADIENTS,
    rules: Rules::Alone,
};
