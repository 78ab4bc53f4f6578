//! The figures for the operator, computed once more by the test from the published releases; and
//! how to have none of them.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use serde_json::Value;
use std::fmt::Write;

/// Rows of a table with a constant, by the public schema: numbers to −1 … 1, categories to one of
/// three, scaled to the stated length.
fn features(line: &str, length: f64) -> (Vec<f64>, f64) {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |field: &str| field.parse::<f64>().unwrap();
    let mut x = vec![2.0 * number(fields[0]) - 1.0, number(fields[1]) / 5.0 - 1.0];
    x.extend(["x", "y", "z"].map(|c| f64::from(u8::from(c == fields[2]))));
    x.push(1.0);
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm > length {
        x.iter_mut().for_each(|x| *x *= length / norm);
    }
    (x, number(fields[4]))
}

/// The weights that each record was asked with: those of the last release of an earlier batch.
fn weights_before(folder: &Folder, batch: usize, count: usize, dimension: usize) -> Vec<Vec<f64>> {
    let mut models = vec![vec![0.0; dimension]];
    for (number, line) in (1..).zip(folder.text("releases").lines()) {
        let release: Value = serde_json::from_str(line).unwrap();
        assert_eq!(release["release"], number);
        models.push(serde_json::from_value(release["weights"].clone()).unwrap());
    }
    (0..count)
        .map(|row| models[(row / batch).min(models.len() - 1)].clone())
        .collect()
}

fn close(told: &Value, expected: f64) {
    let told = told.as_f64().unwrap();
    assert!(
        (told - expected).abs() < 1e-9 * expected.abs().max(1.0),
        "{told} {expected}"
    );
}

#[test]
fn signs_are_scored_before_they_are_learned() {
    let folder = Folder::with_rows(64);
    let told = folder.json(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --recipe pqftl --sum blt --batch 4 --seed-insecure 1 \
         --releases releases"
    ));
    let length = told["parameters"]["length"].as_f64().unwrap();
    let data = rows(64, 1);
    let records: Vec<(Vec<f64>, f64)> = data
        .lines()
        .skip(1)
        .map(|line| features(line, length))
        .collect();
    let weights = weights_before(&folder, 4, 64, 6);
    let scored: Vec<(f64, bool)> = records
        .iter()
        .zip(&weights)
        .map(|((x, y), w)| (x.iter().zip(w).map(|(x, w)| x * w).sum(), *y > 0.5))
        .collect();
    // Second order: a score is twice the probability, minus one.
    let chance = |score: f64| ((1.0 + score) / 2.0).clamp(0.001, 0.999);
    check_signs(&told["metrics"], &scored, chance);
    assert_eq!(told["scored"], 64);
    // How much of the noise's length records reach is not public, so no forecast is made.
    assert!(told["parameters"]["rows_until_signal"].is_null());
}

/// Metrics of scores and labels, by their definitions.
fn check_signs(told: &Value, scored: &[(f64, bool)], chance: impl Fn(f64) -> f64) {
    let all = scored.len() as f64;
    let mean = |of: &dyn Fn(&(f64, bool)) -> f64| scored.iter().map(of).sum::<f64>() / all;
    let is = |truth: bool| f64::from(u8::from(truth));
    let of_truth = |(score, positive): &(f64, bool)| {
        let chance = chance(*score);
        if *positive { chance } else { 1.0 - chance }
    };
    close(
        &told["accuracy"],
        mean(&|(score, positive)| is((*score > 0.0) == *positive)),
    );
    close(&told["log_loss"], mean(&|one| -of_truth(one).ln()));
    close(&told["brier"], mean(&|one| (1.0 - of_truth(one)).powi(2)));
    let positives = mean(&|one| is(one.1));
    close(&told["majority"], positives.max(1.0 - positives));
    let same = scored.windows(2).filter(|two| two[0].1 == two[1].1).count();
    close(&told["last_label"], same as f64 / (all - 1.0));
    let (mut won, mut pairs) = (0.0, 0.0);
    for (positive, _) in scored.iter().filter(|one| one.1) {
        for (negative, _) in scored.iter().filter(|one| !one.1) {
            won += is(positive > negative) + is((positive - negative).abs() < 1e-12) / 2.0;
            pairs += 1.0;
        }
    }
    let (auc, error) = (&told["auc"], told["auc_error"].as_f64().unwrap());
    let off = (auc.as_f64().unwrap() - won / pairs).abs();
    assert!(off <= error + 1e-12, "{auc} {} {error}", won / pairs);
}

/// Scores of a logistic run go far beyond ±1, where they were once all tied.
#[test]
fn logistic_scores_have_their_own_probabilities() {
    let folder = Folder::with_rows(600);
    let told = folder.json(&format!(
        "learn d.csv {SCHEMA} --epsilon 50 --delta 1e-6 --recipe pftal-convex --sum blt --batch 4 \
         --seed-insecure 1 --releases releases --without-privacy"
    ));
    let length = told["parameters"]["length"].as_f64().unwrap();
    let weights = weights_before(&folder, 4, 600, 6);
    let data = rows(600, 1);
    let records = data.lines().skip(1).map(|line| features(line, length));
    let scored: Vec<(f64, bool)> = records
        .zip(&weights)
        .map(|((x, y), w)| (x.iter().zip(w).map(|(x, w)| x * w).sum(), y > 0.5))
        .collect();
    assert!(scored.iter().any(|one| one.0.abs() > 2.0));
    let metrics = &told["metrics"];
    check_signs(metrics, &scored, |score| 1.0 / (1.0 + (-score).exp()));
    assert!(metrics["auc"].as_f64().unwrap() > 0.85, "{metrics}");
    assert!(metrics["auc_error"].as_f64().unwrap() < 1e-3, "{metrics}");
    let twin = &told["without_privacy"]["metrics"];
    for key in metrics.as_object().unwrap().keys() {
        assert!(twin[key].is_f64(), "{key}");
    }
    // A hinge loss tells no probabilities.
    let told = folder.json(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --loss hinge --seed-insecure 1"
    ));
    assert!(told["metrics"]["auc"].is_f64());
    for key in ["log_loss", "brier", "calibration_error"] {
        assert!(told["metrics"][key].is_null(), "{key}");
    }
}

#[test]
fn numbers_are_scored_within_their_bounds() {
    let folder = Folder::with_rows(64);
    // The column b, from 0 to 10, out of the others.
    let told = folder.json(&format!(
        "learn d.csv --target b --target-bounds 0:10 --features a,y --bounds a=0:1,y=0:1 {BUDGET} \
         --recipe pqftl --batch 4 --seed-insecure 1 --releases releases"
    ));
    let weights = weights_before(&folder, 4, 64, 3);
    let data = rows(64, 1);
    let length = told["parameters"]["length"].as_f64().unwrap();
    let (mut squares, mut sizes) = (0.0, 0.0);
    let mut targets = Vec::new();
    for (line, w) in data.lines().skip(1).zip(&weights) {
        let field = |place| line.split(',').nth(place).unwrap().parse::<f64>().unwrap();
        let x = [2.0 * field(0) - 1.0, 2.0 * field(4) - 1.0, 1.0];
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let score: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
        // The middle of the bounds is public, and weights are learned from there.
        let predicted = 5.0 + score * (length / norm).min(1.0);
        let error = predicted.clamp(0.0, 10.0) - field(1);
        squares += error * error / 64.0;
        sizes += error.abs() / 64.0;
        targets.push(field(1));
    }
    let mean = targets.iter().sum::<f64>() / 64.0;
    let constant = targets.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 64.0;
    close(&told["metrics"]["mse"], squares);
    close(&told["metrics"]["mae"], sizes);
    close(&told["metrics"]["constant"], constant);
    close(&told["metrics"]["r2"], 1.0 - squares / constant);
    assert!(told["loss"]["average"].is_null());
}

/// Small runs whose metrics scikit-learn has computed from their releases: see `oracle/metrics.py`.
#[test]
fn metrics_are_those_of_scikit_learn() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../vectors/metrics.json")).unwrap();
    assert_eq!(cases.len(), 4);
    for case in &cases {
        let folder = Folder::new();
        folder.write("d.csv", case["table"].as_str().unwrap());
        let told = folder.json(&format!("learn d.csv {}", case["flags"].as_str().unwrap()));
        for (key, expected) in case["metrics"].as_object().unwrap() {
            let (own, expected) = (&told["metrics"][key], expected.as_f64().unwrap());
            let off = (own.as_f64().unwrap() - expected).abs();
            // Scores that share a bin count as ties.
            let allowed = if key == "auc" { 5e-4 } else { 1e-9 };
            assert!(off < allowed, "{}, {key}: {own} {expected}", case["name"]);
        }
    }
}

/// Bounds and targets moved by a constant: the same noise, the same weights, the same errors.
#[test]
fn where_the_bounds_of_a_number_lie_costs_nothing() {
    let folder = Folder::new();
    let run = |shift: i32| {
        let mut text = "a,b\n".to_owned();
        for n in 0..200 {
            let _ = writeln!(text, "{},{}", n % 7, n % 5 + shift);
        }
        folder.write("d.csv", text);
        let flags = format!(
            "--target b --bounds a=0:8 --target-bounds {shift}:{}",
            shift + 4
        );
        let budget = "--epsilon 5 --delta 1e-6 --seed-insecure 1 --model model";
        let mut runs = Vec::new();
        for recipe in [
            "pqftl --batch 10",
            "pftal-convex --batch 10",
            "pigd-convex",
            "pol",
            "limited-updates",
            "cover",
            "sparse-ftrl",
        ] {
            let told = folder.json(&format!("learn d.csv {flags} {budget} --recipe {recipe}"));
            runs.push(told["metrics"].clone());
            let model: Value = serde_json::from_str(&folder.text("model")).unwrap();
            runs.push(model["weights"].clone());
            assert_eq!(model["offset"], f64::from(shift + 2));
            let (out, _) = folder.succeeds("predict model d.csv");
            let first: f64 = out.lines().nth(1).unwrap().parse().unwrap();
            runs.push((1e9 * (first - f64::from(shift))).round().into());
        }
        runs
    };
    assert_eq!(run(0), run(1000));
}

#[test]
fn quiet_runs_tell_nothing_that_is_computed_from_private_data() {
    let folder = Folder::with_rows(300);
    let flags = format!("learn d.csv {SCHEMA} {BUDGET} --seed-insecure 1 --quiet");
    let told = folder.json(&flags);
    for key in ["scored", "metrics", "without_privacy", "nulls", "clipped"] {
        assert!(told[key].is_null(), "{key}");
    }
    for part in ["loss", "regret"] {
        assert!(
            told[part].as_object().unwrap().values().all(Value::is_null),
            "{part}"
        );
    }
    assert_eq!(told["operator_only"], serde_json::json!([]));
    // Labels the other way round: but for the time, every word is the same.
    let words = |folder: &Folder| {
        let (out, error) = folder.succeeds(&flags);
        let timeless = |line: &&str| !line.contains(" per second");
        let error: Vec<&str> = error.lines().filter(timeless).collect();
        format!("{out}{}", error.join("\n"))
    };
    let one = words(&folder);
    let data = folder.text("d.csv");
    folder.write(
        "d.csv",
        data.replace(",1\n", ",2\n")
            .replace(",0\n", ",1\n")
            .replace(",2\n", ",0\n"),
    );
    assert_ne!(folder.text("d.csv"), data);
    assert_eq!(words(&folder), one);
    // And without --quiet they are not.
    let loud = folder.json(&flags.replace(" --quiet", ""));
    let keys: Vec<&str> = loud["operator_only"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key.as_str().unwrap())
        .collect();
    let absent = [
        "without_privacy",
        "rewards",
        "off_policy",
        "targets_clipped",
    ];
    assert!(
        keys.contains(&"metrics")
            && keys
                .iter()
                .all(|key| !loud[*key].is_null() || absent.contains(key))
    );
}
