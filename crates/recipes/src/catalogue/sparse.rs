//! `sparse-ftrl`.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};

pub(super) const ENTRY: Entry = Entry {
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
    hears: &[Wish::Sum, Wish::Noise, Wish::Loss, Wish::Radius, Wish::Rate],
    rules: Rules::Alone,
};
