//! WDP20 Table I.

use super::{Cell, Table};

const fn own(
    setting: &'static str,
    printed: &'static str,
    holds: &'static str,
    errata: &'static [&'static str],
) -> Cell {
    Cell {
        setting,
        whose: "WDP20",
        printed,
        holds,
        errata,
    }
}

/// Table I. In what holds, h = bit_length(W), and N is the length of a prefix sum's noise.
pub(super) const COMPARISON: Table = Table {
    paper: "WDP20",
    number: "I",
    about: "constrained online convex optimisation, strongly convex losses",
    cells: &[
        Cell {
            setting: "POCG, (eps, delta), two projections",
            whose: "JKT12",
            printed: "O(sqrt(d) sqrt(T) ln^2(T/delta)/eps)",
            holds: "the printed rate at (3 eps, 2 delta)",
            errata: &["J8", "J9"],
        },
        Cell {
            setting: "PQFTL, (eps, delta), linear equation",
            whose: "JKT12",
            printed: "O(sqrt(d) ln(1/delta) ln^1.5 T/eps)",
            holds: "(1 + ln T)(G^2/2 + G(N_u + rho N_V))/alpha with N_V of order d, noise for R^2 \
                and not R",
            errata: &["J1", "J2", "J3", "J5"],
        },
        Cell {
            setting: "PFTAL, eps, one projection",
            whose: "ST13",
            printed: "O(d ln^2.5 T/eps)",
            holds: "(1 + ln T)((L + HD)^2/2 + 2L^2 d' h^1.5/eps)/H, h = bit_length(T-1), d' = \
                sqrt(d(d+1))",
            errata: &["S1"],
        },
        own(
            "projection, window eps",
            "O(d log2^1.5 W ln T/eps)",
            "(1 + ln T)((L + mu D)^2/2 + L N)/mu, N at most 2L sqrt(2d(d+1)) h^1.5/eps; protects \
             an item for W releases only",
            &["W1", "W2", "W6", "W7"],
        ),
        own(
            "projection, window (eps, delta)",
            "O(sqrt(d) log2^1.5 W ln(1/delta) ln T/eps)",
            "(1 + ln T)((L + mu D)^2/2 + L N)/mu, N at most 2L h sqrt(2d)/mu(eps, delta): log W, \
             16 to 22 times less noise; W releases only",
            &["W1", "W2", "W5", "W6", "W7"],
        ),
        own(
            "linear oracle, window eps",
            "O(d log2^1.5 W ln T/eps)",
            "as with projection plus 2L C1 (1 + ln T)/mu + C0 mu D^2/2, C0 = (25 rho^2)^2, while \
             noise increments stay below 4(L + mu D)(1 + C_W)",
            &["W1", "W3", "W7", "W8"],
        ),
        own(
            "linear oracle, window (eps, delta)",
            "O(max(sqrt(d) eps, log2^1.5 W ln(1/delta)) sqrt(d) (L + mu D)^2 ln T/(mu eps))",
            "as above with Gaussian N",
            &["W1", "W3", "W5", "W7", "W8"],
        ),
    ],
};
