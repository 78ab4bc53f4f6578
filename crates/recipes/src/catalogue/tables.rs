//! `tables`.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use hushstream_mechanism::sums::SumKind;

pub(super) const ENTRY: Entry = Entry {
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
    hears: &[Wish::Sum, Wish::Noise, Wish::Loss, Wish::Rate],
    rules: Rules::Alone,
};
