//! Recipes, sums and promises by name: each runs, and says what it promises and no more.

use crate::common::{BUDGET, Folder, SCHEMA};
use serde_json::Value;

fn guarantee(folder: &Folder, flags: &str) -> (Value, String) {
    let flags = format!("learn d.csv {SCHEMA} --seed-insecure 1 {flags}");
    let told = folder.json(&flags)["guarantee"].clone();
    (told, folder.succeeds(&flags).0)
}

#[test]
fn every_sum_serves() {
    let folder = Folder::with_rows(400);
    for (sum, flags) in [
        ("tree", BUDGET),
        ("tree-padded", BUDGET),
        ("honaker", BUDGET),
        ("smooth", "--epsilon 1"),
        ("blt", BUDGET),
        ("kary", "--epsilon 1"),
        ("octave", BUDGET),
    ] {
        for recipe in ["pftal-convex", "pqftl"] {
            let told = folder.json(&format!(
                "learn d.csv {SCHEMA} {flags} --recipe {recipe} --sum {sum} --batch 10 --seed-insecure 1"
            ));
            let named = told["parameters"]["sum"].as_str().unwrap();
            assert!(named.starts_with(sum), "{named}");
            assert_eq!(told["recipe"], recipe);
            let epsilon = told["guarantee"]["epsilon"].as_f64().unwrap();
            assert!(epsilon <= 1.0 && epsilon > 0.99, "{sum}: {epsilon}");
        }
    }
}

#[test]
fn windows_promise_windows() {
    let folder = Folder::with_rows(400);
    let flags = format!("{BUDGET} --recipe coco-l --window 16 --strong-convexity 0.1");
    let (told, words) = guarantee(&folder, &flags);
    assert_eq!(told["window"], 16);
    assert!(words.contains("window"), "{words}");
    let (told, words) = guarantee(&folder, BUDGET);
    assert!(
        told["window"].is_null() && !words.contains("window"),
        "{words}"
    );
}

#[test]
fn persons_are_protected_and_limited() {
    let folder = Folder::with_rows(400);
    let flags = format!("{BUDGET} --person who --max-per-person 2");
    let (told, words) = guarantee(&folder, &flags);
    assert_eq!(told["participations"], 2);
    assert!(words.contains("person"), "{words}");
    // With one record a person all further ones are empty: as many as there are repeated names.
    let told = folder.json(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --person who --max-per-person 1 --batch 1 --seed-insecure 1"
    ));
    let data = folder.text("d.csv");
    let names: Vec<&str> = data
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(3).unwrap())
        .collect();
    // The last record is never asked, so it does not count either way.
    let mut met = std::collections::HashSet::new();
    let again = names[..399]
        .iter()
        .filter(|name| !met.insert(**name))
        .count();
    assert_eq!(told["nulls"], again);
}

#[test]
fn pure_noise_and_unknown_horizons() {
    let folder = Folder::with_rows(400);
    let (told, words) = guarantee(&folder, "--epsilon 1");
    // Only what finite precision costs.
    assert!(told["delta"].as_f64().unwrap() < 1e-25, "{told}");
    assert!(words.contains("L2-Laplace"), "{words}");
    let flags = format!("{BUDGET} --horizon unknown");
    let (_, words) = guarantee(&folder, &flags);
    assert!(words.contains("octave"), "{words}");
    let told = folder.json(&format!("learn d.csv {SCHEMA} {flags} --seed-insecure 1"));
    assert_eq!(told["rounds"], 400);
    assert_eq!(told["parameters"]["sum"], "octave");
}
