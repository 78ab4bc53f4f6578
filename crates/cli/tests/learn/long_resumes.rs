//! A run that is resumed late: far more rows are passed over than the threads that read and draw ahead hold at a time.

use crate::common::{BUDGET, Folder, SCHEMA, rows};

const ROWS: u64 = 9_000;
const BROKEN: usize = 8_000;

#[test]
fn rows_that_were_learned_from_are_passed_over() {
    let whole = rows(ROWS, 1);
    let line = whole.lines().nth(BROKEN).unwrap();
    let broken = whole.replacen(line, "not, a, row", 1);
    let recipes = [
        "--target y --ignore who --hash-bits 14".to_owned(),
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
        folder.write("d.csv", &broken);
        let kept = format!("{learn} --ledger two --state state");
        let message = folder.fails(&kept);
        assert!(
            message.contains(&format!("line {}", BROKEN + 1)),
            "{message}"
        );
        folder.write("d.csv", &whole);
        folder.succeeds(&format!("{kept} --resume"));
        assert_eq!(folder.read("model"), model, "{recipe}");
    }
}
