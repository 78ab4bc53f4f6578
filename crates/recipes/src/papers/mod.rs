//! The papers' tables of regret bounds, cell by cell: as printed, and as it holds with the errata
//! applied.
//!
//! Facts and figures only. T rounds, (ε, δ) the budget, h = bit_length(T − 1) the levels of a tree,
//! p, N or d the dimension as the paper has it, μ(ε,δ) the Gaussian privacy parameter; replace-one.
//! What a paper cites from others and this project has not derived again is marked so.

mod afkt22;
mod as17;
mod st13;
mod wdp20;

/// A cell that repeats somebody else's result.
const CITED: &str = "cited there; not derived again here";
/// A cell about learning without privacy: no erratum concerns it.
const SAME: &str = "as printed";

/// One table of one paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Table {
    /// The paper.
    pub paper: &'static str,
    /// Its number there.
    pub number: &'static str,
    /// The subject of the comparison.
    pub about: &'static str,
    /// Its cells, row by row.
    pub cells: &'static [Cell],
}

/// One bound of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The row: a class of losses, an adversary, an algorithm.
    pub setting: &'static str,
    /// The column: whose bound.
    pub whose: &'static str,
    /// As printed.
    pub printed: &'static str,
    /// As it holds.
    pub holds: &'static str,
    /// The errata that make the difference.
    pub errata: &'static [&'static str],
}

/// All tables, in the order of the papers.
pub const TABLES: &[Table] = &[
    st13::FULL_INFORMATION,
    st13::BANDIT,
    as17::FULL_INFORMATION,
    as17::BANDIT,
    afkt22::APPROXIMATE,
    afkt22::PURE,
    wdp20::COMPARISON,
];

impl Cell {
    /// Whether the printed bound stands as it is.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.holds == SAME
    }
}

const fn without_privacy(setting: &'static str, printed: &'static str) -> Cell {
    Cell {
        setting,
        whose: "without privacy",
        printed,
        holds: SAME,
        errata: &[],
    }
}

const fn cited(setting: &'static str, whose: &'static str, printed: &'static str) -> Cell {
    Cell {
        setting,
        whose,
        printed,
        holds: CITED,
        errata: &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_cell_names_its_errata_and_they_are_listed() {
        let listed = include_str!("../../../../ERRATA.md");
        for table in TABLES {
            for cell in table.cells {
                let changed = !cell.stands() && cell.holds != CITED;
                assert_eq!(changed, !cell.errata.is_empty(), "{cell:?}");
                for erratum in cell.errata {
                    let known = [format!("| {erratum} |"), format!("{erratum} (")];
                    let found = known.iter().any(|text| listed.contains(text));
                    assert!(found, "{erratum} is not in ERRATA.md: {cell:?}");
                }
            }
        }
    }

    #[test]
    fn the_tables_have_the_papers_shape() {
        let shape: Vec<_> = TABLES
            .iter()
            .map(|table| (table.paper, table.number, table.cells.len()))
            .collect();
        assert_eq!(
            shape,
            [
                ("ST13", "1", 9),
                ("ST13", "2", 8),
                ("AS17", "1", 12),
                ("AS17", "2", 6),
                ("AFKT22", "1a", 4),
                ("AFKT22", "1b", 4),
                ("WDP20", "I", 7),
            ]
        );
    }
}
