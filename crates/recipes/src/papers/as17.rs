//! AS17 Tables 1 and 2.

use super::{Cell, Table, cited, without_privacy};

const EXPERTS: &str = "experts";
const SPHERE: &str = "linear over the sphere";
const CUBE: &str = "linear over the cube";
const LINEAR: &str = "linear";

const fn own(
    setting: &'static str,
    printed: &'static str,
    holds: &'static str,
    errata: &'static [&'static str],
) -> Cell {
    Cell {
        setting,
        whose: "AS17",
        printed,
        holds,
        errata,
    }
}

/// Table 1. D_Z in what holds is 2·E max|⟨x, Z⟩| for h Laplace noises a coordinate, each of the
/// scale that is named.
pub(super) const FULL_INFORMATION: Table = Table {
    paper: "AS17",
    number: "1",
    about: "full information; the last row hides the sizes of X and Y",
    cells: &[
        cited(EXPERTS, "before", "O~(sqrt(T log N)/eps)"),
        own(
            EXPERTS,
            "O(sqrt(T log N) + N log N log^2 T/eps)",
            "3/2 sqrt(D_R sum) + D_Z, scale N h/eps for losses in [0,1]^N (2N h/eps in [-1,1]^N); \
             oblivious losses",
            &["A1", "A7"],
        ),
        without_privacy(EXPERTS, "O(sqrt(T log N))"),
        cited(SPHERE, "before", "O~(sqrt(N T)/eps)"),
        own(
            SPHERE,
            "O(sqrt(T) + N log^2 T/eps)",
            "3/2 sqrt(D_R sum) + D_Z, scale 2 sqrt(N) h/eps (L2-Laplace of 2h/eps: about sqrt(2) \
             less); oblivious losses",
            &["A1", "A7"],
        ),
        without_privacy(SPHERE, "O(sqrt(T))"),
        cited(CUBE, "before", "O~(sqrt(N T)/eps)"),
        own(
            CUBE,
            "O(sqrt(N T) + N log^2 T/eps)",
            "3/2 sqrt(D_R sum) + D_Z, scale 2h/eps, and only for losses in the L1 ball, not the \
             cube; oblivious losses",
            &["A1", "A7", "A8"],
        ),
        without_privacy(CUBE, "O(sqrt(N T))"),
        cited(LINEAR, "before", "O~(sqrt(T)/eps)"),
        own(
            LINEAR,
            "O(sqrt(T) + log^2 T/eps)",
            "at (eps, delta): |X|(s sqrt(N) + T |Y|^2/(s sqrt(2 pi))), s = sigma sqrt(floor(log2 \
             T)), sigma = max(|Y| sqrt(T/(sqrt(N) ln T)), 2|Y| sqrt(h)/mu); oblivious losses",
            &["A3", "A7"],
        ),
        without_privacy(LINEAR, "O(sqrt(T))"),
    ],
};

const BANDIT_LINEAR: &str = "bandit, linear";
const ARMS: &str = "bandit, arms";

/// Table 2.
pub(super) const BANDIT: Table = Table {
    paper: "AS17",
    number: "2",
    about: "bandit; the first row hides the sizes of X and Y",
    cells: &[
        cited(BANDIT_LINEAR, "before", "O~(T^(2/3)/eps)"),
        own(
            BANDIT_LINEAR,
            "O~(sqrt(T)/eps)",
            "the printed rate with noise 2M/eps on the scalar feedback (as vectors: 2|Y|_1/eps)",
            &["A6"],
        ),
        without_privacy(BANDIT_LINEAR, "O(sqrt(T))"),
        cited(ARMS, "before", "O~(N T^(2/3)/eps)"),
        own(
            ARMS,
            "O~(sqrt(T N log N)/eps)",
            "O(sqrt(N T log N) log(N T)/eps), noise 2B/eps (B/eps for losses in [0, B])",
            &["A4", "A5"],
        ),
        without_privacy(ARMS, "O(sqrt(N T))"),
    ],
};
