//! A run that is resumed late: far more rows are passed over than the threads that read and draw
//! ahead hold at a time.

use crate::common::{BUDGET, Folder, SCHEMA, rows};

const ROWS: u64 = 9_000;
/// Rows that are there when the run begins.
const FIRST: usize = 8_000;

#[test]
fn rows_that_were_learned_from_are_passed_over() {
    let whole = rows(ROWS, 1);
    let first: String = whole.split_inclusive('\n').take(1 + FIRST).collect();
    let recipes = [
        "--target y --ignore who --hash-bits 14 --recipe sparse-ftrl".to_owned(),
        format!("{SCHEMA} --recipe pftal-convex --batch 1 --sum tree"),
        format!("{SCHEMA} --recipe pftal-convex --batch 1 --sum blt"),
    ];
    for recipe in recipes {
        let folder = Folder::in_memory();
        let learn = format!(
            "learn d.csv {recipe} {BUDGET} --rounds {ROWS} --seed-insecure 3 --model model"
        );
        folder.write("d.csv", &whole);
        folder.succeeds(&format!("{learn} --ledger one"));
        let model = folder.read("model");
        folder.write("d.csv", &first);
        let kept = format!("{learn} --ledger two --state state");
        let (_, told) = folder.succeeds(&kept);
        assert!(told.contains("ended after 8,000 of 9,000"), "{told}");
        folder.write("d.csv", &whole);
        folder.succeeds(&format!("{kept} --resume"));
        assert_eq!(folder.read("model"), model, "{recipe}");
    }
}
