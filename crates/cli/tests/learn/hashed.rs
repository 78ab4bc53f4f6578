//! Hashed features: `sparse-ftrl` from VW text and libsvm, and the model that it publishes.

use crate::common::{BUDGET, Dice, Folder};
use std::fmt::Write;

const FEATURES: u64 = 1 << 12;

/// The same records as VW text and as libsvm. Each has a few of many features, named by their
/// numbers; those from 0 to 3 tell the class.
fn records(count: u64) -> [String; 2] {
    let (mut dice, mut texts) = (Dice(9), [String::new(), String::new()]);
    for _ in 0..count {
        let class = dice.below(2);
        let telling = 2 * dice.below(2) + class;
        let rest = 4 + dice.below(FEATURES - 4);
        let label = if class == 0 { -1 } else { 1 };
        let _ = writeln!(texts[0], "{label} | {telling} {rest}");
        let _ = writeln!(texts[1], "{label} {}:1 {}:1", telling + 1, rest + 1);
    }
    texts
}

fn folder(count: u64) -> Folder {
    let folder = Folder::new();
    let [vw, libsvm] = records(count);
    folder.write("d.vw", vw);
    folder.write("d.libsvm", libsvm);
    folder
}

const INPUTS: [&str; 2] = ["d.vw --hash-bits 12", "d.libsvm --dim 4096"];

fn weights(folder: &Folder, flags: &str) -> Vec<f64> {
    folder.succeeds(&format!(
        "learn {flags} --recipe sparse-ftrl --norm 1.5 --seed-insecure 1 --model model"
    ));
    let model: serde_json::Value = serde_json::from_str(&folder.text("model")).unwrap();
    let weights = model["weights"].as_array().unwrap();
    weights
        .iter()
        .map(|weight| weight.as_f64().unwrap())
        .collect()
}

#[test]
fn both_formats_make_the_same_model_and_noise_is_everywhere() {
    let folder = folder(2000);
    let [vw, libsvm] = INPUTS.map(|input| weights(&folder, &format!("{input} {BUDGET}")));
    assert_eq!(vw, libsvm);
    // The intercept is one more.
    assert_eq!(vw.len() as u64, FEATURES + 1);
    // 2000 records touch fewer than half of the features: the others have noise all the same.
    assert!(vw.iter().all(|weight| weight.abs() > 0.0));
}

#[test]
fn what_noise_explains_is_left_out_and_what_was_learned_is_kept() {
    let folder = folder(20_000);
    for input in INPUTS {
        let generous = format!("{input} --epsilon 8 --delta 1e-6");
        let all = weights(&folder, &generous);
        let kept = weights(&folder, &format!("{generous} --thresholded"));
        // Of the many that tell nothing hardly one stands out.
        let spread = kept[4..FEATURES as usize].iter().filter(|w| w.abs() > 0.0);
        assert!(spread.count() < 10);
        for (place, sign) in [-1.0, 1.0, -1.0, 1.0].into_iter().enumerate() {
            assert!(sign * kept[place] > 0.0, "{place}: {}", kept[place]);
            assert_eq!(kept[place].to_bits(), all[place].to_bits());
        }
        let file = input.split(' ').next().unwrap();
        let told = folder.json(&format!("predict model {file}"));
        assert!(
            told["metrics"]["accuracy"].as_f64().unwrap() > 0.9,
            "{told}"
        );
    }
}

#[test]
fn a_rate_that_is_too_large_does_not_hide_what_was_learned() {
    let folder = folder(20_000);
    let large = format!(
        "{} --epsilon 8 --delta 1e-6 --learning-rate 10 --thresholded",
        INPUTS[0]
    );
    let kept = weights(&folder, &large);
    assert!(kept[..4].iter().all(|weight| weight.abs() > 0.0));
}

#[test]
fn others_have_few_weights() {
    let folder = Folder::with_rows(100);
    let flags = format!(
        "learn d.csv {} {BUDGET} --model model --thresholded --ledger l",
        crate::common::SCHEMA
    );
    assert!(
        folder
            .fails(&flags)
            .contains("millions of weights of sparse-ftrl")
    );
}

#[test]
fn records_that_are_too_long_are_counted() {
    let folder = folder(50);
    for input in INPUTS {
        let run = |norm: &str| {
            folder.json(&format!(
                "learn {input} --recipe sparse-ftrl --norm {norm} {BUDGET} --seed-insecure 1"
            ))
        };
        // Each has two features of weight 1.
        assert_eq!(run("1")["clipped"], 50, "{input}");
        assert_eq!(run("0.01")["clipped"], 50, "{input}");
        assert_eq!(run("1.5")["clipped"], 0, "{input}");
    }
}

#[test]
fn why_it_is_not_chosen_is_told() {
    let folder = folder(3);
    let flags = format!("learn d.vw --hash-bits 14 --norm 1.5 {BUDGET} --seed-insecure 1");
    let told = |flags: &str| {
        let (out, err) = folder.succeeds(flags);
        out + &err
    };
    assert!(told(&flags).contains("chosen: sparse-ftrl"));
    let other = told(&format!("{flags} --releases releases"));
    assert!(other.contains("not sparse-ftrl"), "{other}");
}
