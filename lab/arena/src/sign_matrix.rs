//! Sign matrices whose column means are hard to learn privately: rows are persons, columns are
//! questions.

use crate::dice::Dice;

/// n rows of p signs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SignMatrix {
    rows: Vec<Vec<bool>>,
}

impl SignMatrix {
    /// AFKT22 Theorem 5: every column is the same sign in all rows.
    pub(crate) fn consensus(rows: usize, columns: usize, dice: &mut Dice) -> Self {
        let row: Vec<bool> = (0..columns).map(|_| dice.coin(0.5)).collect();
        Self {
            rows: vec![row; rows.max(1)],
        }
    }

    /// AFKT22 Theorems 4 and 6: a fingerprinting code (Tardos), whose columns have a bias from the
    /// arcsine law on [a, 1 − a], a = 1/(300·rows), padded with constant columns of both signs, all
    /// permuted. One column of a thousand is coded: the proofs need 99.9 % consensus columns.
    pub(crate) fn tardos(rows: usize, columns: usize, dice: &mut Dice) -> Self {
        let rows = rows.max(1);
        let least = 1.0 / (300.0 * rows as f64);
        let from = least.sqrt().asin();
        let coded = columns / 1000;
        let mut built: Vec<Vec<bool>> = (0..columns)
            .map(|column| {
                if column >= coded {
                    return vec![column % 2 == 0; rows];
                }
                let angle = from + dice.uniform() * (std::f64::consts::FRAC_PI_2 - 2.0 * from);
                let bias = angle.sin().powi(2);
                (0..rows).map(|_| dice.coin(bias)).collect()
            })
            .collect();
        for last in (1..columns).rev() {
            let other = (dice.uniform() * (last + 1) as f64) as usize;
            built.swap(last, other.min(last));
        }
        let row = |index: usize| built.iter().map(|column| column[index]).collect();
        Self {
            rows: (0..rows).map(row).collect(),
        }
    }

    /// n.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// p.
    pub(crate) fn columns(&self) -> usize {
        self.rows[0].len()
    }

    /// The sign at (row, column): true is +.
    pub(crate) fn sign(&self, row: usize, column: usize) -> bool {
        self.rows[row][column]
    }
}
