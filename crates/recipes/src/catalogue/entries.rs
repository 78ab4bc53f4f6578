//! The entries, recipe by recipe.

use super::{Entry, MechanismKind, RecipeName};
use hushstream_mechanism::sums::SumKind;

/// All recipes.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        recipe: RecipeName::Pftal,
        name: "pftal",
        source: "ST13 Algorithm 1",
        errata: &["S1", "S2", "S6", "S7"],
        guarantee: "transcript",
        when: "every loss is strongly convex by itself (means, regularised losses)",
        mechanism: MechanismKind::Sum(SumKind::Tree),
        printed: "O(p (L+H|C|)^2 log^2.5 T / (eps H))",
        holds: "(1+ln T)((L+HD)^2/2 + L*N)/H, D the diameter, N the length of a release's noise",
    },
    Entry {
        recipe: RecipeName::PftalConvex,
        name: "pftal-convex",
        source: "ST13 Algorithm 1 on regularised losses (section 2.1.1 and appendix C)",
        errata: &["S1", "S2", "S3"],
        guarantee: "transcript",
        when: "convex losses of a linear model: the general-purpose learner; on BLT sums it is \
            DP-FTRL",
        mechanism: MechanismKind::Sum(SumKind::Tree),
        printed: "O(sqrt(p log^2.5 T * T / eps) (L + ...))",
        holds: "about |C| sqrt(L (L+N) (1+ln T) T), N the length of a release's noise",
    },
    Entry {
        recipe: RecipeName::Pqftl,
        name: "pqftl",
        source: "JKT12 Algorithm 4",
        errata: &["J1", "J2", "J3", "J5"],
        guarantee: "transcript",
        when: "least squares in few dimensions: second-order learning needs fewer rounds",
        mechanism: MechanismKind::Sum(SumKind::Tree),
        printed: "O~(R^6 log(1/delta) sqrt(d) log^1.5 T / (eps alpha^3))",
        holds: "polylogarithmic in T; noise of the second moments calibrated with R^2, symmetric, \
            eigenvalues clipped",
    },
    Entry {
        recipe: RecipeName::Ftrl,
        name: "ftrl",
        source: "AS17 Algorithms 1 and 2",
        errata: &["A1", "A2", "A7", "A8"],
        guarantee: "transcript",
        when: "expert advice and other linear losses: privacy costs an additive polylogarithm",
        mechanism: MechanismKind::Sum(SumKind::PaddedTree),
        printed: "sqrt(D_R sum max|l|^2) + D_Lap",
        holds: "3/2 sqrt(D_R sum max|l|^2) + D_Lap with noise of one law (tree-padded, smooth), \
            against losses fixed in advance",
    },
    Entry {
        recipe: RecipeName::Ftpl,
        name: "ftpl",
        source: "AS17 Algorithm 3",
        errata: &["A1", "A3", "A8"],
        guarantee: "transcript, delta > 0",
        when: "linear losses over a set that can only be minimised over (paths, spanning trees)",
        mechanism: MechanismKind::Sum(SumKind::PaddedTree),
        printed: "O(N^(1/4) |X| |Y| sqrt(T) + N |X| log^1.5 T log(log T/delta)/eps)",
        holds: "the printed rate with |Y| in both terms, against losses fixed in advance",
    },
    Entry {
        recipe: RecipeName::CocoP,
        name: "coco-p",
        source: "WDP20 Algorithm 1",
        errata: &["W1", "W2", "W5", "W6", "W7"],
        guarantee: "window: not privacy of the transcript",
        when: "a record only needs protection for a while, and projections are cheap",
        mechanism: MechanismKind::Sum(SumKind::Window(0)),
        printed: "O(d (L+mu D)^2 log^1.5 W ln(d/beta) ln T / (mu eps))",
        holds: "the printed rate with sensitivity 2L (replace-one) instead of L + mu D",
    },
    Entry {
        recipe: RecipeName::CocoL,
        name: "coco-l",
        source: "WDP20 Algorithm 2",
        errata: &["W1", "W3", "W5", "W7", "W8"],
        guarantee: "window: not privacy of the transcript",
        when: "as coco-p, on sets where only a linear minimiser is cheap; useful constants only in \
            few dimensions",
        mechanism: MechanismKind::Sum(SumKind::Window(0)),
        printed: "as coco-p",
        holds: "as coco-p with constants (25 rho^2)^2; the tuned variant has the same privacy and \
            an empirical regret; with a linear minimiser only (spectrahedron) online Frank-Wolfe, \
            order T^(2/3)",
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
        recipe: RecipeName::LimitedUpdates,
        name: "limited-updates",
        source: "AFKT22 Algorithm 2",
        errata: &["F9"],
        guarantee: "transcript; experts pure, convex losses delta > 0",
        when: "losses are drawn from one distribution; the horizon need not be known; learn for \
            experts, two classes or a number (smooth losses)",
        mechanism: MechanismKind::Batch,
        printed: "sum 2^i Delta_(2^i): experts O(sqrt(T log d) + log d log T/eps), convex \
            O(LD(sqrt(T) + sqrt(d) log T/eps))",
        holds: "the printed rates with Delta_(2^(i-1)), for stochastic losses only; convex losses \
            must be smooth",
    },
    Entry {
        recipe: RecipeName::Exp2,
        name: "exp2",
        source: "AS17 Theorem 4.1 (Algorithm 4 with EXP2)",
        errata: &["A4", "A5"],
        guarantee: "transcript of plays and noisy answers",
        when: "bandits with arms, or finitely many actions with linear losses; learn --task bandit",
        mechanism: MechanismKind::Feedback,
        printed: "O(sqrt(N T log T log N)/eps)",
        holds: "ln N/eta + eta N T (1+v)/(1-gamma) + 2 gamma T + O(1): sqrt(N T log N) log(NT)/eps; on K points in N dimensions ln K for ln N, and gamma 4N times larger",
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
        recipe: RecipeName::PftalBandit,
        name: "pftal-bandit",
        source: "ST13 Algorithm 3",
        errata: &["S1", "S2", "S7", "S8", "S9"],
        guarantee: "transcript of plays",
        when: "convex losses of which only the value at the play is seen; from the library",
        mechanism: MechanismKind::Values(SumKind::Tree),
        printed: "O~(p T^(2/3) chi) oblivious, O~(p T^(3/4) chi) adaptive",
        holds: "the printed rates with sensitivity 2pB/beta (pB/beta for values in [0, B])",
    },
    Entry {
        recipe: RecipeName::SparseFtrl,
        name: "sparse-ftrl",
        source: "ST13 appendix C with a fixed rate, read coordinate by coordinate",
        errata: &["J1", "S1", "S2"],
        guarantee: "transcript, delta > 0",
        when: "sparse records with thousands to millions of hashed features (VW text, libsvm)",
        mechanism: MechanismKind::SparseTree,
        printed: "-",
        holds: "|w|^2/(2 eta) + eta T L^2/2 + eta L T s sqrt(2k/pi) for records of k features \
            (without sqrt(2k/pi) where the box does not bind), s the noise of one coordinate of a \
            release, against losses fixed in advance",
    },
    Entry {
        recipe: RecipeName::Tables,
        name: "tables",
        source: "beyond the papers: hats and cells on noisy sums of residuals and counts",
        errata: &[],
        guarantee: "transcript",
        when: "a table of records: a curve for every column, and tables of triples where there are \
            records enough; the default",
        mechanism: MechanismKind::Sum(SumKind::BLT),
        printed: "not in the papers",
        holds: "none is proved: steps of one size, and averages of the iterates",
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
    Entry {
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
    },
];
