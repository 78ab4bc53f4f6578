//! ST13 Tables 1 and 2.

use super::{Cell, Table, cited, without_privacy};

const EXPERTS: &str = "experts (linear, simplex)";
const LIPSCHITZ: &str = "Lipschitz";
const STRONG: &str = "Lipschitz, strongly convex";

/// Table 1.
pub(super) const FULL_INFORMATION: Table = Table {
    paper: "ST13",
    number: "1",
    about: "full information; lines 2 and 3 hide L and H",
    cells: &[
        cited(EXPERTS, "DNPR10", "O~(p sqrt(T)/eps)"),
        Cell {
            setting: EXPERTS,
            whose: "ST13",
            printed: "O(sqrt(p T log^2.5 T/eps))",
            holds: "O(L sqrt((1 + 2p h^1.5/eps)(1 + ln T) T)); losses in {0,1}^p have L = \
                sqrt(p)/2, centred, so it grows like p",
            errata: &["S1", "S3"],
        },
        without_privacy(EXPERTS, "Omega(sqrt(T log p))"),
        Cell {
            setting: LIPSCHITZ,
            whose: "JKT12",
            printed: "O~(sqrt(p) T^(2/3) log(1/delta)/eps)",
            holds: "T^(3/4) from what is proved (T^(2/3) if smooth), at (3 eps, 2 delta)",
            errata: &["J9", "J15"],
        },
        Cell {
            setting: LIPSCHITZ,
            whose: "ST13",
            printed: "O(sqrt(p T log^2.5 T/eps))",
            holds: "O(|C| L sqrt((1 + 2p h^1.5/eps)(1 + ln T) T))",
            errata: &["S1", "S3"],
        },
        without_privacy(LIPSCHITZ, "Omega(sqrt(T))"),
        Cell {
            setting: STRONG,
            whose: "JKT12",
            printed: "O~(sqrt(p T) log^2(1/delta)/eps)",
            holds: "the printed rate at (3 eps, 2 delta); its noise is 13 to 15 times what the budget asks for",
            errata: &["J8", "J9"],
        },
        Cell {
            setting: STRONG,
            whose: "ST13",
            printed: "O(p log^2.5 T/eps)",
            holds: "(1 + ln T)((L + HD)^2/2 + 2L^2 p' h^1.5/eps)/H, p' = sqrt(p(p+1))",
            errata: &["S1"],
        },
        without_privacy(STRONG, "Omega(log T)"),
    ],
};

const ADAPTIVE: &str = "Lipschitz, strongly convex, adaptive";
const OBLIVIOUS: &str = "Lipschitz, strongly convex, oblivious";

const fn bandit(setting: &'static str, printed: &'static str, holds: &'static str) -> Cell {
    Cell {
        setting,
        whose: "ST13",
        printed,
        holds,
        errata: &["S1", "S8"],
    }
}

/// Table 2.
pub(super) const BANDIT: Table = Table {
    paper: "ST13",
    number: "2",
    about: "bandit; L, H, r and R hidden",
    cells: &[
        bandit(
            EXPERTS,
            "O~(p T^(3/4)/eps)",
            "the printed rate with sensitivity 2pB/beta (pB/beta for f in [0, B])",
        ),
        without_privacy(EXPERTS, "O(sqrt(T)) (AHR08)"),
        bandit(
            LIPSCHITZ,
            "O~(p T^(3/4)/eps)",
            "the printed rate with sensitivity 2pB/beta (pB/beta for f in [0, B])",
        ),
        without_privacy(LIPSCHITZ, "O(p T^(3/4)) (FKM05)"),
        bandit(
            ADAPTIVE,
            "O~(p T^(3/4)/eps)",
            "the printed rate with sensitivity 2pB/beta, beta = p/T^(1/4) < r",
        ),
        without_privacy(ADAPTIVE, "O(p^(2/3) T^(3/4)) (ADX10)"),
        bandit(
            OBLIVIOUS,
            "O~(p T^(2/3)/eps)",
            "the printed rate with sensitivity 2pB/beta, beta = p/T^(1/3) < r",
        ),
        without_privacy(OBLIVIOUS, "O(p^(2/3) T^(2/3)) (ADX10)"),
    ],
};
