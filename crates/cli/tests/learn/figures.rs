//! The figures for the operator, computed once more by the test from the published releases; and how to have none of them.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use serde_json::Value;

/// Rows of a table with a constant, by the public schema: numbers to −1 … 1, categories to one of three, scaled to the stated length.
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
        "learn d.csv {SCHEMA} {BUDGET} --batch 4 --seed-insecure 1 --releases releases"
    ));
    let length = told["parameters"]["length"].as_f64().unwrap();
    let data = rows(64, 1);
    let records: Vec<(Vec<f64>, f64)> = data
        .lines()
        .skip(1)
        .map(|line| features(line, length))
        .collect();
    let (mut right, mut squares, mut commonest, mut same) = (0, 0.0, 0, 0);
    let (mut positives, mut last) = (0_usize, 0.0);
    let weights = weights_before(&folder, 4, 64, 6);
    for (seen, ((x, y), w)) in records.iter().zip(&weights).enumerate() {
        let score: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
        let positive = *y > 0.5;
        right += usize::from((score > 0.0) == positive);
        squares += (score.clamp(-1.0, 1.0) - (2.0 * y - 1.0)).powi(2);
        commonest += usize::from((2 * positives > seen) == positive);
        same += usize::from((last > 0.5) == positive);
        positives += usize::from(positive);
        last = *y;
    }
    close(&told["accuracy"], right as f64 / 64.0);
    close(&told["loss"]["average"], squares / 64.0);
    close(
        &told["baselines"]["constant"],
        f64::from(commonest as u32) / 64.0,
    );
    close(
        &told["baselines"]["no_change"],
        f64::from(same as u32) / 64.0,
    );
    assert_eq!(told["scored"], 64);
}

#[test]
fn numbers_are_scored_within_their_bounds() {
    let folder = Folder::with_rows(64);
    // The column b, from 0 to 10, out of the others.
    let told = folder.json(&format!(
        "learn d.csv --target b --target-bounds 0:10 --features a,y --bounds a=0:1,y=0:1 {BUDGET} --batch 4 --seed-insecure 1 --releases releases"
    ));
    let weights = weights_before(&folder, 4, 64, 3);
    let data = rows(64, 1);
    let (mut error, mut constant, mut sum) = (0.0, 0.0, 0.0);
    let length = told["parameters"]["length"].as_f64().unwrap();
    for (seen, (line, w)) in data.lines().skip(1).zip(&weights).enumerate() {
        let field = |place| line.split(',').nth(place).unwrap().parse::<f64>().unwrap();
        let x = [2.0 * field(0) - 1.0, 2.0 * field(4) - 1.0, 1.0];
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let score: f64 = x.iter().zip(w).map(|(x, w)| x * w).sum();
        let score = score * (length / norm).min(1.0);
        error += (score.clamp(0.0, 10.0) - field(1)).powi(2);
        constant += (sum / seen.max(1) as f64 - field(1)).powi(2);
        sum += field(1);
    }
    close(&told["loss"]["average"], error / 64.0);
    close(&told["loss"]["baseline"], constant / 64.0);
    assert!(told["accuracy"].is_null());
}

#[test]
fn quiet_runs_tell_nothing_that_is_computed_from_private_data() {
    let folder = Folder::with_rows(300);
    let flags = format!("learn d.csv {SCHEMA} {BUDGET} --seed-insecure 1 --quiet");
    let told = folder.json(&flags);
    for key in [
        "scored",
        "accuracy",
        "ranking",
        "without_privacy",
        "nulls",
        "clipped",
    ] {
        assert!(told[key].is_null(), "{key}");
    }
    for part in ["loss", "baselines", "regret"] {
        assert!(
            told[part].as_object().unwrap().values().all(Value::is_null),
            "{part}"
        );
    }
    assert_eq!(told["operator_only"], serde_json::json!([]));
    // Labels the other way round: but for the time, every word is the same.
    let words = |folder: &Folder| {
        let (out, error) = folder.succeeds(&flags);
        let timeless = |line: &&str| !line.contains(" a second");
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
    let absent = ["without_privacy", "rewards", "off_policy"];
    assert!(
        keys.contains(&"accuracy")
            && keys
                .iter()
                .all(|key| !loud[*key].is_null() || absent.contains(key))
    );
}
