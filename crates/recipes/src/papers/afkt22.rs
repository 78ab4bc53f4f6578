//! AFKT22 Tables 1a and 1b: experts, logarithms of T and 1/δ left out.

use super::{Cell, Table, cited};

const STOCHASTIC: &str = "stochastic";
const OBLIVIOUS: &str = "oblivious";
const ADAPTIVE: &str = "adaptive";

/// No bound is printed for adaptive adversaries.
const fn adaptive(lower: &'static str) -> Cell {
    Cell {
        setting: ADAPTIVE,
        whose: "AFKT22",
        printed: "none",
        holds: lower,
        errata: &["F10"],
    }
}

/// Table 1a.
pub(super) const APPROXIMATE: Table = Table {
    paper: "AFKT22",
    number: "1a",
    about: "experts, (eps, delta)",
    cells: &[
        cited(
            "all",
            "before",
            "sqrt(T log d) + min(sqrt(T log d)/eps, sqrt(d) log d/eps)",
        ),
        Cell {
            setting: STOCHASTIC,
            whose: "AFKT22",
            printed: "sqrt(T log d) + log d/eps",
            holds: "sum over i of 2^i Delta(2^(i-1)): the printed rate; pure, each record in one \
                run",
            errata: &["F9"],
        },
        Cell {
            setting: OBLIVIOUS,
            whose: "AFKT22",
            printed: "sqrt(T log d) + T^(1/3) log d/eps",
            holds: "eta T + ln d/eta + 1 at (p, eta, K) chosen by Renyi accounting; needs (1-p) \
                eta <= p; at d = 100, 10 to 17 times below the printed constants",
            errata: &["F2", "F3", "F4", "F7"],
        },
        adaptive("none; at least min(T, 1/(eps log T)^2) for d >= 2T"),
    ],
};

/// Table 1b.
pub(super) const PURE: Table = Table {
    paper: "AFKT22",
    number: "1b",
    about: "experts, eps",
    cells: &[
        cited("all", "before", "sqrt(T log d) + d log d/eps"),
        Cell {
            setting: STOCHASTIC,
            whose: "AFKT22",
            printed: "sqrt(T log d) + log d/eps",
            holds: "sum over i of 2^i Delta(2^(i-1)): the printed rate",
            errata: &["F9"],
        },
        Cell {
            setting: OBLIVIOUS,
            whose: "AFKT22",
            printed: "sqrt(T) log d/eps",
            holds: "eta T + ln d/eta + 1 with eps = eps_Z + 2 ln(1/(1-eta))(K-1); at d = 100, 5 to \
                6 times below the printed constants",
            errata: &["F3", "F4"],
        },
        adaptive("none; linear in T for eps <= 1/10, d >= 2T"),
    ],
};
