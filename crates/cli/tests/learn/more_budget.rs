//! The automatic choice does not get worse with a larger budget.

use crate::common::Folder;
use std::fmt::Write as _;

const BOUNDS: &str = "a=0:1,b=0:1,c=0:1,d=0:1,e=0:1,f=0:1,g=0:1,h=0:1";

/// Rows of eight columns that say nearly the same, and what follows from it: a number, a class.
fn sizes(rows: u64, from: u64) -> String {
    let mut text = "a,b,c,d,e,f,g,h,number,class\n".to_owned();
    let mut state = from;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    for _ in 0..rows {
        let size = (uniform() + uniform()) / 2.0;
        (0..8).for_each(|_| {
            let _ = write!(text, "{:.4},", 0.97 * size + 0.03 * uniform());
        });
        let number = (4.0 * (size - 0.5)).tanh() + 0.2 * (uniform() - 0.5);
        let _ = writeln!(text, "{number:.4},{}", u8::from(uniform() < size));
    }
    text
}

/// Columns that say the same make steps overshoot that fit each of them. At ε = 10 such a model
/// was further from the truth than the mean of the target, and its probabilities were of no use.
#[test]
fn columns_that_say_the_same_are_learned_from_at_every_budget() {
    let folder = Folder::new();
    folder.write("old.csv", sizes(6000, 1));
    folder.write("new.csv", sizes(2000, 2));
    for epsilon in ["1", "10", "30"] {
        let learn = format!(
            "learn old.csv --test new.csv --bounds {BOUNDS} --shuffle 1 --epsilon {epsilon} \
             --delta 1e-6 --adjacency zero-out --seed-insecure 1"
        );
        let number = "--target number --target-bounds=-1.1:1.1 --ignore class";
        let told = folder.json(&format!("{learn} {number}"));
        let explained = told["metrics"]["r2"].as_f64().unwrap();
        assert!(explained > 0.9, "{epsilon}: {explained}");
        let told = folder.json(&format!("{learn} --target class --ignore number"));
        let loss = told["metrics"]["log_loss"].as_f64().unwrap();
        assert!(loss < 0.65, "{epsilon}: {loss}");
    }
}
